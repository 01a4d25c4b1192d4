"""Claim: the gates keep bad work out; what they cost, and when more judgments would do as well.

Simulated judges of several kinds work through whole campaigns by the studio's own commands. A judge leaves after
one to six assignments, and the next one comes, until every document has the wanted number of judgments. Judges know
the true grades and err according to their kind (`studio/demo.py`); a patient spammer tosses coins and waits long enough
for the time gate. Errors of two judges are independent here, which favours more judgments over gates. The last table
uses the real qualification test of `possent`.
"""

from __future__ import annotations

import csv
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl

import adjudge
from adjudge.studio.campaign import load_campaign
from adjudge.studio.demo import SimulatedJudge, add_judge, work_assignment
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Store
from adjudge.studio.records import Pair
from adjudge.studio.studio import open_store
from studies.benchmarks.claim import DATA, Claim, say
from studies.benchmarks.studio_campaign import Size, write_campaign

SIZE = Size(topics=40, documents=20, gold=40, words=5, graded=1)
SEEDS = range(6)
MOST_ASSIGNMENTS = 6  # of one judge
LEARNED = 0.5  # share of the excess of wrongly accepted documents that a judge loses with each review
PER_ITEM, MORE = 3, (4, 6)  # judgments per document; and without gates, for about the cost of gates
OFF: Mapping[str, Mapping[str, Any]] = {
    "gate": {"seconds": 0.0, "binary": 0.0, "ndcg": 0.0},
    "assignment": {"gold_sets": 0},
    "qualification": {"required": False},
}
LABEL_QUALITY = ("vote: accuracy", "consensus: accuracy", "consensus: log loss")
ACCURACY = {"good": (0.85, 0.97), "careless": (0.7, 0.85), "drifting": (0.85, 0.95), "lenient": (0.85, 0.95)}
CROWDS: Mapping[str, Mapping[str, float]] = {
    "mostly good": {"good": 0.65, "careless": 0.15, "drifting": 0.1, "lenient": 0.05, "spammer": 0.05},
    "a third are spammers": {"good": 0.4, "careless": 0.15, "lenient": 0.1, "spammer": 0.2, "patient": 0.15},
    "half are lenient": {"good": 0.35, "careless": 0.15, "lenient": 0.5},
}


class Setup(NamedTuple):
    """Which gates a campaign has, and whether its judges learn from the review."""

    name: str
    settings: Mapping[str, Mapping[str, Any]]
    learn: bool = False


class Measured(NamedTuple):
    """The result of a campaign."""

    vote: float  # accuracy
    consensus: float  # accuracy
    loss: float  # log loss of the consensus
    judged: float  # documents that judges worked on, per document of the campaign
    paid: float  # the same, of accepted assignments only
    judges: float  # who came


class PatientSpammer(SimulatedJudge):
    """A spammer who waits."""

    def __init__(self, name: str, rng: np.random.Generator) -> None:
        super().__init__(name, 0.5, "spammer", rng)

    def _seconds(self, documents: int) -> list[float]:
        """Return times that pass the gate."""
        return [round(float(seconds), 1) for seconds in self.rng.uniform(7, 12, documents)]


class Pupil(SimulatedJudge):
    """A judge whose leniency shrinks with each review of a wrongly accepted document."""

    reviews = 0

    def chance(self, grade: int) -> float:
        """Return the probability that the judge calls a document of this grade relevant, after the reviews so far."""
        before, right = super().chance(grade), 1 - self.accuracy
        return before if grade or self.kind != "lenient" else right + (before - right) * (1 - LEARNED) ** self.reviews


def setups() -> Iterator[Setup]:
    """Yield the campaigns that are compared."""
    yield Setup("none", OFF)
    qualification, gold, time = {"qualification": {}}, {"assignment": {}, "gate": {"seconds": 0.0}}, {"gate": {}}
    yield Setup("qualification", OFF | qualification)
    yield Setup("time", OFF | time)
    yield Setup("gold sets", OFF | gold)
    yield Setup("qualification, gold sets", OFF | qualification | gold)
    yield Setup("all", OFF | qualification | gold | time)
    yield Setup("all, and the review teaches", OFF | qualification | gold | time, learn=True)


def draw_judge(name: str, shares: Mapping[str, float], learn: bool, rng: np.random.Generator) -> SimulatedJudge:
    """Return the next judge who comes."""
    kind = str(rng.choice(list(shares), p=list(shares.values())))
    stream = rng.spawn(1)[0]
    if kind == "patient":
        return PatientSpammer(name, stream)
    accuracy = rng.uniform(*ACCURACY[kind]) if kind in ACCURACY else 0.5
    return (Pupil if learn else SimulatedJudge)(name, accuracy, kind, stream)


def read_truth(folder: Path) -> dict[Pair, int]:
    """Return the grade of every pair of a generated campaign, which the title of its document ends with."""
    with (folder / "documents.jsonl").open() as lines:
        grades = {row["document"]: int(row["title"].split()[-1]) for row in map(json.loads, lines)}
    pairs = []
    for name in ("pool", "sets"):
        with (folder / f"{name}.csv").open() as table:
            pairs += [(row["topic"], row["document"]) for row in csv.DictReader(table)]
    return {pair: grades[pair[1]] for pair in pairs}


class Work(NamedTuple):
    """A set that a judge worked on."""

    judge: int
    use: str  # work, gold or qualification
    accepted: bool
    items: tuple[int, ...]
    labels: tuple[int | None, ...]


def run_campaign(setup: Setup, shares: Mapping[str, float], per_item: int, seed: int) -> Measured:
    """Simulate a campaign from its first judge to its last judgment, and measure its labels and its cost."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "campaign"
        write_campaign(folder, SIZE, {**setup.settings, "redundancy": {"judgments": per_item}})
        truth, now = read_truth(folder), [1.7e9]
        with patch("secrets.SystemRandom", lambda: Random(seed)):  # ids of items are drawn in secret
            store = open_store(load_campaign(folder), clock=lambda: now[0])
        with closing(store):
            return measure_work(do_work(store, setup, shares, truth, rng, now), store.ledger, truth)


def do_work(
    store: Store,
    setup: Setup,
    shares: Mapping[str, float],
    truth: dict[Pair, int],
    rng: np.random.Generator,
    now: list[float],
) -> list[Work]:
    """Let judges come and work, one after the other, until nothing is left to judge; return all sets."""
    came, items, work = 0, store.ledger.items, []
    wanted = store.ledger.campaign.settings.redundancy.judgments
    while (items.judged[items.pooled] < wanted).any():
        came += 1
        judge = draw_judge(f"judge {came}", shares, setup.learn, rng)
        person = add_judge(store, judge.name)
        for _ in range(int(rng.integers(1, MOST_ASSIGNMENTS + 1))):
            if not work_assignment(store, person, judge, truth, rng, now):
                break
            done = _last_sets(store.ledger, person)
            work += done
            if isinstance(judge, Pupil):
                judge.reviews += any(_wrongly_accepted(part, store.ledger, truth) for part in done)
    return work


def _last_sets(ledger: Ledger, person: int) -> list[Work]:
    """Return the sets of a judge's last assignment."""
    last = ledger.assignments[ledger.people[person].last or 0]
    accepted = last.kind == "work" and last.outcome in ("passed", "submitted")
    return [
        Work(person, part.use, accepted, tuple(part.items), tuple(answer.label for answer in part.answers))
        for part in last.sets
    ]


def _wrongly_accepted(part: Work, ledger: Ledger, truth: Mapping[Pair, int]) -> bool:
    """Return whether the review shows an irrelevant document of this set that was judged relevant."""
    pairs = [ledger.items.pairs[item] for item in part.items]
    return part.use == "gold" and any(
        label == 1 and not truth[pair] for label, pair in zip(part.labels, pairs, strict=True)
    )


def measure_work(work: Sequence[Work], ledger: Ledger, truth: Mapping[Pair, int]) -> Measured:
    """Return the quality of the labels of a campaign, and what they cost."""
    accepted = [part for part in work if part.accepted]
    rows = [(item, part.judge, label) for part in accepted for item, label in zip(part.items, part.labels, strict=True)]
    table = pl.DataFrame(rows, ["item", "judge", "label"], orient="row")
    relevant = [int(truth.get(pair, 0) > 0) for pair in ledger.items.pairs]
    every = pl.DataFrame({"item": range(len(relevant)), "label": relevant})
    gold = sorted({item for part in accepted if part.use == "gold" for item in part.items})
    quality = label_quality(table, every[np.flatnonzero(ledger.items.pooled)], every[gold] if gold else None)
    judged, paid = (sum(len(part.items) for part in parts) / ledger.items.pooled.sum() for parts in (work, accepted))
    return Measured(*quality, float(judged), float(paid), len({part.judge for part in work}))


def label_quality(table: pl.DataFrame, truth: pl.DataFrame, gold: pl.DataFrame | None) -> tuple[float, float, float]:
    """Return the accuracy of the vote, and the accuracy and log loss of the consensus."""
    judgments = adjudge.read(table, labels=[0, 1])
    vote = adjudge.score(adjudge.fit(judgments, "majority"), truth).values
    consensus = adjudge.score(adjudge.fit(judgments, gold=gold), truth).values
    return vote["accuracy"], consensus["accuracy"], consensus["log_loss"]


def verdict(rows: Sequence[Sequence[str]]) -> str:
    """Return how all gates compare with more judgments per document and no gate, from the rows of the table."""
    gated, more = next(row for row in rows if row[0] == "all"), rows[-1]
    return (
        f"With all gates the consensus is right on {gated[3]} of the documents for {gated[5]} units of work, of which "
        f"{gated[6]} are paid; without gates and with {more[1]} judgments per document on {more[3]} for {more[5]}, all "
        "paid."
    )


def simulated(crowd: str) -> Claim:
    """Measure the gates, one by one and together, on campaigns of one kind of crowd."""
    campaigns = [(setup, PER_ITEM) for setup in setups()] + [(next(setups()), more) for more in MORE]
    rows = []
    for setup, per_item in campaigns:
        say(f"{crowd}: {setup.name}, {per_item} per document")
        runs = np.array([run_campaign(setup, CROWDS[crowd], per_item, seed) for seed in SEEDS])
        mean, error = runs.mean(axis=0), runs.std(axis=0, ddof=1) / np.sqrt(len(runs))
        shown = [f"{value:.3f} +- {off:.3f}" for value, off in zip(mean[:3], error[:3], strict=True)]
        rows.append([setup.name, str(per_item), *shown, *(f"{value:.1f}" for value in mean[3:5]), f"{mean[5]:.0f}"])
    shares = ", ".join(f"{share:.0%} {kind}" for kind, share in CROWDS[crowd].items())
    return Claim(
        f"Simulated judges: {crowd}",
        f"{shares}. {SIZE.topics * SIZE.documents:,} documents; means over {len(SEEDS)} campaigns, with standard "
        "errors. The cost is the number of documents that judges worked on, gold and qualification included, per "
        'document of the campaign; "paid" is that of accepted assignments only. '
        f"{verdict(rows)}",
        ["gates", "judgments per document", *LABEL_QUALITY, "cost", "paid", "judges"],
        rows,
    )


RULES = ((20, 0), (4, 3), (20, 12), (20, 14), (20, 16))  # questions that are asked, and right answers that pass
THINNED = 3  # judgments per item
DRAWS = 10  # of the questions that are asked, and of the judgments


def qualified() -> Claim:
    """Measure what the real qualification test of possent does."""
    folder = DATA / "possent"
    labels, gold, asked, keys = (
        pl.read_csv(folder / f"{name}.csv").rename({"label": label})
        for name, label in (
            ("labels", "label"),
            ("gold", "truth"),
            ("qualification", "label"),
            ("qualification_gold", "truth"),
        )
    )
    marked = asked.join(keys, on="item").with_columns(right=pl.col("label") == pl.col("truth"))
    work = labels.join(gold, on="item").with_columns(right=pl.col("label") == pl.col("truth"))
    rows = []
    for questions, correct in RULES:
        say(f"possent: {correct} of {questions}")
        drawn = [
            _work_of_qualified(marked, work, questions, correct, np.random.default_rng(seed)) for seed in range(DRAWS)
        ]
        judges, share, right, *quality = np.mean(drawn, axis=0)
        rule = "nobody is asked" if not correct else f"{correct} of {questions}"
        rows.append([rule, f"{judges:.0f}", f"{share:.0%}", f"{right:.3f}", *(f"{value:.3f}" for value in quality)])
    score = marked.group_by("worker").agg(score=pl.col("right").mean())
    accuracy = work.group_by("worker").agg(accuracy=pl.col("right").mean())
    tau = score.join(accuracy, on="worker").select(pl.corr("score", "accuracy", method="spearman")).item()
    return Claim(
        "A real qualification test",
        f"`possent`: {len(score)} workers answered 20 questions before they judged tweets. The score of the test and "
        f"the share of right judgments afterwards have a rank correlation (Spearman) of {tau:.2f}. Label quality is "
        f"that of {THINNED} random judgments per item by workers who pass, means over {DRAWS} draws; the paper asks "
        "for 3 right answers to 4 questions.",
        ["right answers that pass", "workers", "judgments", "right judgments", *LABEL_QUALITY],
        rows,
    )


def _work_of_qualified(
    marked: pl.DataFrame, work: pl.DataFrame, questions: int, correct: int, rng: np.random.Generator
) -> tuple[float, ...]:
    """Return how many workers pass, their share of judgments, how often they are right, and the label quality."""
    asked = rng.permutation(marked["item"].unique(maintain_order=True).to_numpy())[:questions]
    score = marked.filter(pl.col("item").is_in(asked.tolist())).group_by("worker").agg(pl.col("right").sum())
    passed = score.filter(pl.col("right") >= correct)["worker"]
    kept = work.filter(pl.col("worker").is_in(passed.to_list()))
    order = kept.with_columns(drawn=pl.Series(rng.random(len(kept)))).sort("item", "drawn")
    thinned = order.filter(pl.int_range(pl.len()).over("item") < THINNED)
    table = thinned.select("item", pl.col("worker").alias("judge"), "label")
    truth = work.select("item", pl.col("truth").alias("label")).unique(maintain_order=True)
    return len(passed), len(kept) / len(work), kept["right"].mean(), *label_quality(table, truth, None)


def measure() -> Iterator[Claim]:
    """Run the whole study."""
    yield from map(simulated, CROWDS)
    yield qualified()

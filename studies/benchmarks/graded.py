"""Claim: ranks sharpen labels: ``graded`` ranks better than the consensus of labels, with no worse probabilities.

Simulated campaigns: 16 topics of 15 documents (half have grade 0, three in ten grade 1, two in ten grade 2), sets of
five documents of a topic, three judgments per document unless stated, twelve judges of the kinds of the studio's demo
(nine in the demo's own crowd). "Shared errors": on so many documents, four in five judges see the same wrong grade.
nDCG has the gain 2^grade - 1; log loss is that of relevance (grade 1 or 2), with probabilities bounded by 1e-6.
"Labels" is model consensus of the labels alone; "graded" is `adjudge rank --method graded` without gold. Means over the
campaigns, and the standard error of the difference. The two constants of the method's caution (the power of w and the
bound on certainty) were chosen on campaigns of these kinds, of other random numbers.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sqlalchemy import create_engine

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.data.formats import open_source
from adjudge.data.rankings import Rankings, read_labelled_rankings
from adjudge.errors import AdjudgeWarning
from adjudge.models.ranking.graded import (
    grade_prior,
    label_confusion,
    label_consensus,
    rank_intervals,
    sample,
    split_by_label,
    tempered,
)
from adjudge.models.ranking.worth import RankOptions
from adjudge.studio.demo import CROWD, SimulatedJudge, demo_truth, make_demo, simulate_demo
from adjudge.studio.desk.exports import ExportOptions, export
from studies.benchmarks.claim import Claim, description, say

RUNS = 12
TOPICS, DOCUMENTS, IN_A_SET, SETS = 16, 15, 5, 5  # sets of an assignment that are not gold
SHARES = (0.5, 0.3, 0.2)
FOLLOW = 0.8  # share of judges who see the wrong grade of a misleading document
GAIN = np.array([0.0, 1.0, 3.0])
LABEL = np.array([0, 1, 1])  # of each grade
BOUND = 1e-6
DRAWN = 200  # draws of the grades of a held-out set
COLUMNS = ("topic", "item", "judge", "label", "rank", "set")


class Crowd(NamedTuple):
    """A crowd of simulated judges, and the campaign that they work on."""

    judges: Sequence[tuple[str, float]]  # kind, accuracy
    misleading: float = 0.0  # share of documents
    redundancy: int = 3
    topics: int = TOPICS


CROWDS: Mapping[str, Crowd] = {
    "good judges": Crowd([("good", 0.9)] * 12),
    "the demo's crowd": Crowd([(kind, accuracy) for _, accuracy, kind in CROWD]),
    "the demo's crowd, 8 topics, 2 judgments": Crowd([(kind, a) for _, a, kind in CROWD], 0.0, 2, 8),
    "sloppy judges, half of them rank at random": Crowd([("good", 0.75)] * 6 + [("careless", 0.75)] * 6),
    "half spammers": Crowd([("good", 0.9)] * 6 + [("spammer", 0.5)] * 6),
    "shared errors, 1 in 5": Crowd([("good", 0.9)] * 12, 0.2),
    "shared errors, 3 in 10": Crowd([("good", 0.9)] * 12, 0.3),
    "shared errors, 1 in 5, 5 judgments": Crowd([("good", 0.9)] * 12, 0.2, 5),
    "good judges, 5 judgments": Crowd([("good", 0.9)] * 12, 0.0, 5),
}


class Campaign(NamedTuple):
    """Judgments with ranks, and the true grades of the items."""

    table: pl.DataFrame
    truth: Mapping[tuple[str, str], int]


def measure() -> Iterator[Claim]:
    """Measure campaigns, the demo, the calibration of the model's own data, held-out sets, and run time."""
    warnings.simplefilter("ignore", AdjudgeWarning)
    yield campaigns()
    yield demo()
    yield variants()
    yield own_data()
    yield held_out()
    yield speed()


def simulate(crowd: Crowd, seed: int) -> Campaign:
    """Return a campaign: judges take assignments in turn until no set of five documents is left for them."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(len(SHARES), (crowd.topics, DOCUMENTS), p=SHARES)
    wrong = (truth + rng.integers(1, 3, truth.shape)) % 3
    misleads = rng.random(truth.shape) < crowd.misleading
    streams = rng.spawn(len(crowd.judges))
    judges = [
        SimulatedJudge(f"j{n}", *who[::-1], stream)
        for n, (who, stream) in enumerate(zip(crowd.judges, streams, strict=True))
    ]
    done, rows, sets = np.zeros((len(judges), *truth.shape), bool), [], 0
    while True:
        before = sets
        for j, judge in enumerate(judges):
            for topic, documents in _open_sets(done, j, crowd.redundancy, rng):
                follows = misleads[topic, documents] & (rng.random(IN_A_SET) < FOLLOW)
                seen = np.where(follows, wrong[topic, documents], truth[topic, documents])
                for document, answer in zip(documents, judge.answers(seen.tolist()), strict=True):
                    rows.append((f"t{topic}", f"d{document}", judge.name, answer.label, answer.rank, sets))
                done[j, topic, documents] = True
                sets += 1
        if sets == before:
            break
    grades = {(f"t{t}", f"d{d}"): int(truth[t, d]) for t in range(crowd.topics) for d in range(DOCUMENTS)}
    return Campaign(pl.DataFrame(rows, COLUMNS, orient="row"), grades)


def _open_sets(done: Any, j: int, redundancy: int, rng: np.random.Generator) -> Iterator[tuple[int, Codes]]:
    """Yield the sets of an assignment of a judge: the topics and documents with the fewest judgments first."""
    count, taken = done.sum(axis=0), 0
    for topic in np.argsort(count.sum(axis=1) + rng.random(count.shape[0])).tolist():
        free = np.flatnonzero((count[topic] < redundancy) & ~done[j, topic])
        if free.size >= IN_A_SET and taken < SETS:
            taken += 1
            yield topic, free[np.argsort(count[topic, free] + rng.random(free.size))[:IN_A_SET]]


class Scores(NamedTuple):
    """How good a consensus is."""

    ndcg: float
    loss: float


def score(relevant: Floats, gain: Floats, truth: Codes, topic: Codes) -> Scores:
    """Return nDCG by expected gain, and the log loss of P(relevant)."""
    p = np.clip(relevant, BOUND, 1 - BOUND)
    loss = -np.log(np.where(truth > 0, p, 1 - p)).mean()
    values = []
    for t in np.unique(topic):
        worth, order = GAIN[truth[topic == t]], np.argsort(-gain[topic == t], kind="stable")
        discount = 1 / np.log2(np.arange(worth.size) + 2)
        if worth.sum() > 0:
            values.append((worth[order] @ discount) / (np.sort(worth)[::-1] @ discount))
    return Scores(float(np.mean(values)), float(loss))


def rankings_of(table: pl.DataFrame) -> Rankings:
    """Return the rankings and labels of a campaign."""
    return read_labelled_rankings(open_source(table), {})


def truths(rankings: Rankings, truth: Mapping[tuple[str, str], int]) -> Codes:
    """Return the true grade of each item (I)."""
    assert rankings.topics is not None
    topics = rankings.topics.gather(rankings.topic).to_list()
    return np.array([truth[pair] for pair in zip(topics, rankings.items.to_list(), strict=True)])


def both(table: pl.DataFrame, truth: Mapping[tuple[str, str], int], seed: int = 0) -> tuple[Scores, Scores]:
    """Return the scores of labels alone and of ``graded``."""
    result = adjudge.rank(table, "graded", seed=seed)
    data, grades = result.rankings, result.grades
    assert data.judgments is not None
    assert grades is not None
    y, base = truths(data, truth), adjudge.fit(data.judgments, "consensus").posterior[:, 1]
    return score(base, base, y, data.topic), score(1 - grades[:, 0], result.score, y, data.topic)


def row(name: str, labels: Sequence[Scores], graded: Sequence[Scores]) -> tuple[str, ...]:
    """Return a row: both methods, and the difference with its standard error."""
    cells = [name]
    for k, digits in ((0, 3), (1, 4)):
        first, second = (np.array([each[k] for each in scores]) for scores in (labels, graded))
        gap = second - first
        error = f" +- {gap.std(ddof=1) / np.sqrt(gap.size):.{digits}f}" if gap.size > 1 else ""
        cells += [f"{first.mean():.{digits}f}", f"{second.mean():.{digits}f}", f"{gap.mean():+.{digits}f}{error}"]
    return tuple(cells)


HEAD = ("nDCG, labels", "nDCG, graded", "difference", "log loss, labels", "log loss, graded", "difference")


def campaigns() -> Claim:
    """Compare ``graded`` with the consensus of labels on simulated campaigns."""
    rows = []
    for name, crowd in CROWDS.items():
        pairs = [both(*simulate(crowd, seed), seed) for seed in range(RUNS)]
        rows.append(row(name, [pair[0] for pair in pairs], [pair[1] for pair in pairs]))
        say(" | ".join(rows[-1]))
    return Claim(f"Simulated campaigns, {RUNS} of each kind", description(__doc__), ("crowd", *HEAD), rows)


def demo() -> Claim:
    """Compare both on the demo of the studio, as its simulated judges leave it."""
    labels, graded, sets = [], [], 0
    truth = demo_truth()
    for seed in range(RUNS):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "demo"
            make_demo(path)
            simulate_demo(path, seed)
            file = path / "judgments.csv"
            engine = create_engine(f"sqlite:///{path / 'studio.db'}")
            with engine.connect() as connection, file.open("wb") as out:
                export(connection, "judgments", ExportOptions(path), out)
            engine.dispose()
            table = (
                pl.read_csv(file)
                .rename({"document": "item"})
                .select("topic", "item", "judge", "label", "rank", "assignment")
            )
        first, second = both(table, truth, seed)
        labels.append(first)
        graded.append(second)
        sets += rankings_of(table).judge.size
    how = (
        f"{RUNS} demos (`adjudge serve --demo`) with other seeds, {sets / RUNS:.0f} sets each on average, without gold."
    )
    return Claim("The demo of the studio", how, ("crowd", *HEAD), [row("the demo", labels, graded)])


def joint_labels(rankings: Rankings, weight: float, seed: int) -> Floats:
    """Return grades by the other way: confusions and grades are estimated together, and judges are independent."""
    judgments = rankings.judgments
    assert judgments is not None
    assert rankings.label is not None
    gold, orders = np.full(len(rankings.items), -1), split_by_label(rankings, rankings.label)
    base = adjudge.fit(judgments, "hybrid-confusion", inference="map").posterior
    item = judgments.item()
    for _ in range(3):
        drawn = sample(orders, grade_prior(base, LABEL, gold), len(rankings.judges), weight, RankOptions(seed=seed))
        binary = np.stack([drawn.chance[:, 0], 1 - drawn.chance[:, 0]], axis=1)
        confusion = label_confusion(judgments, binary)  # (J, 2, 2)
        evidence = np.log(confusion[judgments.judge, :, judgments.label])
        logs = np.stack([np.bincount(item, evidence[:, k], gold.size) for k in (0, 1)], axis=1) + np.log(
            binary.mean(axis=0)
        )
        base = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    return drawn.chance


def variants() -> Claim:
    """Compare ways to combine labels and ranks."""
    rows = []
    for name in ("good judges", "the demo's crowd", "shared errors, 1 in 5", "shared errors, 1 in 5, 5 judgments"):
        found: dict[str, list[Scores]] = {}
        for seed in range(RUNS // 2):
            table, truth = simulate(CROWDS[name], seed)
            data = rankings_of(table)
            assert data.judgments is not None
            assert data.label is not None
            y, gold = truths(data, truth), np.full(len(data.items), -1)
            base, weight = label_consensus(data.judgments, gold)
            prior, orders = grade_prior(base, LABEL, gold), split_by_label(data, data.label)
            options = RankOptions(seed=seed)
            drawn = sample(orders, prior, len(data.judges), weight, options).chance
            full = sample(orders, prior, len(data.judges), 1.0, options).chance
            ways = {
                "labels alone": np.stack([base[:, 0], base[:, 1], 0 * base[:, 0]], axis=1),
                "confusions and grades together, independent judges": joint_labels(data, 1.0, seed),
                "consensus, ranks count fully": full,
                "consensus, ranks count by w": drawn,
                "graded: by w, and by w^2 within bounds on relevance": tempered(drawn, prior, base, weight**2),
            }
            for way, chance in ways.items():
                found.setdefault(way, []).append(score(1 - chance[:, 0], chance @ GAIN, y, data.topic))
        for way, scores in found.items():
            rows.append((name, way, *(f"{np.mean([each[k] for each in scores]):.{3 + k}f}" for k in (0, 1))))
            say(" | ".join(rows[-1]))
    how = (
        f"Means over {RUNS // 2} campaigns. The first way to combine both is a model of independent judges, whose "
        "confusions and ranks are estimated together (three rounds); the others start from the calibrated consensus of "
        "the labels. Graded ranks by the probabilities of the fourth way and reports those of the last."
    )
    return Claim("Ways to combine labels and ranks", how, ("crowd", "way", "nDCG", "log loss"), rows)


def own_data() -> Claim:
    """Draw campaigns from the model itself: parameters must be found, and probabilities and intervals must hold."""
    chance, hits, within, sizes, found = [], [], [], [], []
    v, log_odds = np.array([0.0, 1.5, 3.0]), np.array([-2.0, 2.0])
    for seed in range(RUNS):
        rng = np.random.default_rng(seed)
        items, judges, sets = 300, 12, 360
        topic = np.repeat(np.arange(20), items // 20)
        p = 1 / (1 + np.exp(-rng.choice(log_odds, items) - rng.normal(0, 1, items)))
        z = np.where(rng.random(items) < p, 1 + (rng.random(items) < 0.4), 0)
        beta = np.exp(rng.normal(0, 0.5, judges))
        rows = []
        for s in range(sets):
            j, t = s % judges, int(rng.integers(20))
            chosen = rng.choice(np.flatnonzero(topic == t), IN_A_SET, replace=False)
            order = chosen[np.argsort(-(beta[j] * v[z[chosen]] + rng.gumbel(size=IN_A_SET)))]
            rows += [(t, int(i), j, 0, r, s) for r, i in enumerate(order, 1)]
        data = rankings_of(pl.DataFrame(rows, COLUMNS, orient="row"))
        order_of = data.items.to_numpy()
        base = np.stack([1 - p, p], axis=1)[order_of]
        assert data.label is not None
        drawn = sample(
            split_by_label(data, data.label),
            grade_prior(base, LABEL, np.full(order_of.size, -1)),
            judges,
            1.0,
            RankOptions(seed=seed),
        )
        true, interval = z[order_of], rank_intervals(drawn.chance, data.topic, seed)
        tie = np.lexsort((rng.random(true.size), -true, data.topic))
        position = np.empty(true.size, int)
        position[tie] = np.arange(true.size) - np.searchsorted(data.topic, data.topic) + 1
        within.append(((interval[:, 0] <= position) & (position <= interval[:, 1])).mean())
        sizes.append((interval[:, 1] - interval[:, 0]).mean())
        chance.append(drawn.chance.ravel())
        hits.append(np.eye(3)[true].ravel())
        names = data.judges.cast(pl.Int64).to_numpy()
        found.append(
            (
                *(drawn.worth * drawn.reliability.mean())[1:],
                np.corrcoef(np.log(drawn.reliability), np.log(beta[names]))[0, 1],
            )
        )
    p, hit = np.concatenate(chance), np.concatenate(hits)
    bins = np.minimum((p * 5).astype(int), 4)
    measured = [(f"probability {p[bins == k].mean():.2f}", f"true in {hit[bins == k].mean():.2f}") for k in range(5)]
    worth = np.mean(found, axis=0)
    measured.append(
        ("90 % interval of the rank", f"holds the true rank in {np.mean(within):.3f}, {np.mean(sizes):.1f} ranks wide")
    )
    measured.append(
        (
            "log worths of grades 1 and 2 for the mean judge",
            f"{worth[0]:.2f}, {worth[1]:.2f} (true: {v[1] * np.exp(0.125):.2f}, {v[2] * np.exp(0.125):.2f})",
        )
    )
    measured.append(("correlation of log reliabilities with the true ones", f"{worth[2]:.2f}"))
    how = (
        f"{RUNS} campaigns drawn from the model, with known probabilities of labels: 300 items, 360 sets of five, 12 "
        "judges. Five bins of all probabilities of grades, with the share that was true. True ranks have items of the "
        "same grade in random order."
    )
    return Claim("Data of the model itself", how, ("quantity", "measured"), measured)


def held_out() -> Claim:
    """Predict the order of held-out sets."""
    rows = []
    for name in ("good judges", "the demo's crowd", "half spammers", "shared errors, 1 in 5"):
        values = np.zeros(4)
        for seed in range(RUNS // 2):
            table, _ = simulate(CROWDS[name], seed)
            test = pl.col("set").is_in(table["set"].unique().sort().sample(fraction=0.1, seed=seed).to_list())
            values += _held_out_values(rankings_of(table.filter(~test)), rankings_of(table.filter(test)), seed)
        rows.append((name, f"{values[0]:.0f}", *(f"{value / values[0]:.3f}" for value in values[1:])))
        say(" | ".join(rows[-1]))
    how = (
        f"Of {RUNS // 2} campaigns, one set in ten is held out, and the order of its documents with the same label is "
        "predicted by Plackett-Luce. The table has the log-likelihood per choice among two documents or more; "
        'graded has the mean likelihood over draws of the grades. "Labels" has log worths in proportion to '
        "P(relevant) of the consensus, with the factor that is best for the held-out sets."
    )
    return Claim("Held-out sets", how, ("crowd", "choices", "at random", "labels", "graded"), rows)


def _held_out_values(known: Rankings, test: Rankings, seed: int) -> Floats:
    """Return the number of choices in held-out sets, and their log-likelihood at random, by labels and by grades."""
    assert known.judgments is not None
    assert known.label is not None
    assert test.label is not None
    nothing = np.full(len(known.items), -1)
    base, weight = label_consensus(known.judgments, nothing)
    orders, judges = split_by_label(known, known.label), len(known.judges)
    drawn = sample(orders, grade_prior(base, LABEL, nothing), judges, weight, RankOptions(seed=seed))
    place = {pair: i for i, pair in enumerate(_pairs(known))}
    judge_place = {name: j for j, name in enumerate(known.judges)}
    pairs, parts, rng = _pairs(test), split_by_label(test, test.label), np.random.default_rng(seed)
    below = np.cumsum(drawn.chance, axis=1)[:, :-1]
    totals, factors = np.zeros(2), np.linspace(0, 6, 25)
    by_labels, by_grades = np.zeros(factors.size), 0.0
    for c, judge in enumerate(parts.judge):
        names = [pairs[i] for i in parts.item[parts.start[c] : parts.start[c + 1]]]
        item = np.array([place[name] for name in names if name in place])
        if item.size < 2:
            continue
        totals += (item.size - 1, -np.log(np.arange(1, item.size + 1)).sum())
        by_labels += [_plackett_luce(factor * base[item, 1]) for factor in factors]
        grades = (rng.random((DRAWN, item.size))[:, :, None] > below[item]).sum(axis=2)
        worths = drawn.reliability[judge_place[test.judges[int(judge)]]] * drawn.worth[grades]
        by_grades += np.log(np.mean([np.exp(_plackett_luce(worth)) for worth in worths]))
    return np.array([*totals, by_labels.max(), by_grades])


def _pairs(rankings: Rankings) -> list[tuple[str, str]]:
    """Return topic and item of each item."""
    assert rankings.topics is not None
    return list(zip(rankings.topics.gather(rankings.topic), rankings.items, strict=True))


def _plackett_luce(log_worth: Floats) -> float:
    """Return the log-likelihood of an order, best first."""
    return float((log_worth - np.logaddexp.accumulate(log_worth[::-1])[::-1]).sum())


def speed() -> Claim:
    """Time the method on large campaigns."""
    rows = []
    for topics in (112, 448):
        crowd = Crowd([("good", 0.9)] * (topics // 4), topics=topics)
        table, _ = simulate(crowd, 0)
        adjudge.rank(table.head(100), "graded")  # compiles
        began, cpu = time.perf_counter(), time.process_time()
        result = adjudge.rank(table, "graded")
        seconds = time.process_time() - cpu
        say(f"{time.perf_counter() - began:.1f} s")
        rows.append(
            (f"{table.height:,}", f"{len(result.rankings.items):,}", f"{len(result.judges):,}", f"{seconds:.1f}")
        )
    return Claim(
        "Run time", "CPU seconds from a frame to the result.", ("judgments", "items", "judges", "seconds"), rows
    )


def main() -> None:
    """Print all claims."""
    for claim in measure():
        print(claim.markdown())


if __name__ == "__main__":
    main()

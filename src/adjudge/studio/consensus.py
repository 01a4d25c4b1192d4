"""The live consensus: a model fitted to the judgments so far, and the files that hold its result.

Judgments of excluded people and "cannot tell" do not count. Gold is gold.csv without the documents whose contest was
upheld. The fit continues from the last one if it can. A model that cannot be fitted yet is replaced by the majority
vote, and the summary says so.

``refresh_consensus`` computes it in another process and writes the files to the folder ``consensus`` of a campaign,
each completely or not at all. Assignment reads them with ``Beliefs``, the desk with the functions ``read_...``; a file
that is missing or cannot be read means that there is no consensus yet.

- belief.npy: P(relevant) of every item, by its id;
- grades.npz: of model graded, the probabilities of grades and the rank of every item, with an interval;
- judges.npz: the ids of people, their confusions (J, 2, 2), and the typical one (2, 2);
- summary.json, judges.json, items.json, charts.json: what the desk shows.
"""

from __future__ import annotations

import json
import math
import os
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping
from math import log2
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from adjudge.arrays import Codes, Floats
from adjudge.errors import AdjudgeError, AdjudgeWarning
from adjudge.studio.record.items import TYPICAL
from adjudge.studio.record.schema import (
    contests,
    corrections,
    counts,
    items,
    judgments,
    people,
    rulings,
    slots,
    standings,
)
from adjudge.studio.records import Gold, Pair

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit
    from adjudge.studio.campaign import Campaign

LABELS = ("irrelevant", "relevant")
VOTES = "majority"
GRADED, LABELS_OF_GRADED = "graded", "consensus"  # the model of labels and ranks, and that of its labels alone
SOFTENED = "judgments"  # softens probabilities of a model that has no calibration of its own
TOLERANCE = 1e-6  # of the log-likelihood per judgment: enough for a desk that is refreshed every few seconds
RESTART = 1.5  # growth of the number of judgments after which a fit starts from the beginning
STEADY = 2.0  # pseudo-judgments of a typical judge in each row of a confusion matrix
SURE = 1e-4  # the smallest probability of a label, so that further judgments can change it
DRAWS = 200  # for the interval of agreement
PIECE = 20_000  # rows that are Python objects at a time
FOLDER = "consensus"
BELIEF, CONFUSION, SUMMARY, JUDGES, ITEMS = "belief.npy", "judges.npz", "summary.json", "judges.json", "items.json"
GRADES = "grades.npz"
UNKNOWN = 0.5  # P(relevant) of an item without any data


class AcceptedJudgments(NamedTuple):
    """The judgments that count, by the ids of the tables."""

    item: Codes  # (N)
    person: Codes  # (N)
    relevance: Codes  # (N) 0, 1
    at: Floats  # (N)
    items: int  # the highest id of an item
    names: Mapping[int, str]  # of people
    gold: Mapping[int, int]  # item -> 1 if relevant, else 0
    pairs: Mapping[int, Pair]  # of the items
    rank: Codes = np.empty(0, np.int64)  # (N) 0 without a rank
    assignment: Codes = np.empty(0, np.int64)  # (N) 0 without an assignment
    grades: Mapping[int, int] = MappingProxyType({})  # item -> grade of its gold


def accepted_judgments(connection: Connection, gold: Mapping[Pair, Gold]) -> AcceptedJudgments:
    """Return the judgments that count, and the gold that was not overruled."""
    names = {row.id: row.name for row in connection.execute(select(people.c.id, people.c.name))}
    overruled = _overruled(connection)
    columns = select(items.c.id, items.c.topic, items.c.document)
    pairs = {number: (topic, document) for number, topic, document in connection.execute(columns)}
    grades = {number: gold[pair].grade for number, pair in pairs.items() if pair in gold and number not in overruled}
    labels = {number: int(grade >= 1) for number, grade in grades.items()}
    item, person, relevance, at, rank, assignment = _columns(connection)
    last = max(pairs, default=0)
    return AcceptedJudgments(item, person, relevance, at, last, names, labels, pairs, rank, assignment, grades)


def mark(connection: Connection, gold: Mapping[Pair, Gold]) -> str:
    """Return a text that changes with everything that can change the consensus."""
    last = [connection.scalar(select(func.max(table.c.id))) or 0 for table in (judgments, standings, rulings, items)]
    graded = sum(_number(pair, entry.grade) for pair, entry in gold.items())
    return " ".join(map(str, (*last, len(gold), graded % (1 << 61))))


def _number(pair: Pair, grade: int) -> int:
    """Return a hash of a graded pair that is the same in every process."""
    return zlib.crc32(f"{pair[0]}\0{pair[1]}\0{grade}".encode())


def _overruled(connection: Connection) -> set[int]:
    """Return the items whose gold was ruled wrong and was not corrected since."""
    last = select(corrections.c.item, func.max(corrections.c.at)).group_by(corrections.c.item)
    corrected = {item: at for item, at in connection.execute(last)}  # noqa: C416 - a result is no mapping
    upheld = (
        select(slots.c.item, func.max(rulings.c.at))
        .join(contests, (contests.c.set == slots.c.set) & (contests.c.slot == slots.c.slot))
        .join(rulings, rulings.c.contest == contests.c.id)
        .where(rulings.c.upheld == 1)
        .group_by(slots.c.item)
    )
    return {item for item, at in connection.execute(upheld) if corrected.get(item, -1.0) < at}


def _columns(connection: Connection) -> tuple[Codes, Codes, Codes, Floats, Codes, Codes]:
    """Return the columns of the judgments that count, read in pieces; a missing rank or assignment is 0."""
    optional = (func.coalesce(judgments.c.rank, 0), func.coalesce(judgments.c.assignment, 0))
    columns = (judgments.c.item, judgments.c.person, judgments.c.relevance, judgments.c.at, *optional)
    query = select(*columns).where(counts()).order_by(judgments.c.id)
    pieces = [np.empty((0, 6))]
    rows: Any = connection.execution_options(yield_per=PIECE).execute(query)
    pieces += [np.array([tuple(row) for row in part], dtype=np.float64) for part in rows.partitions()]
    table = np.concatenate(pieces)
    item, person, relevance = table[:, :3].T.astype(np.int64)
    rank, assignment = table[:, 4:].T.astype(np.int64)
    return item, person, relevance, table[:, 3].copy(), rank, assignment


class ItemGrades(NamedTuple):
    """The grades of judged items and their ranks in the topic, from labels and ranks together."""

    item: Codes  # (I) ids
    chance: Floats  # (I, 3) probability of each grade
    score: Floats  # (I) expected gain, by which items are ranked
    rank: Codes  # (I)
    interval: Codes  # (I, 2) 90 % interval of the rank


class Consensus(NamedTuple):
    """Beliefs about items and judges, and the fit that they come from."""

    belief: Floats  # (I) P(relevant), by the item's id
    person: Codes  # (J)
    confusion: Floats  # (J, 2, 2)
    typical: Floats  # (2, 2)
    summary: dict[str, Any]
    fit: Fit | None = None  # None if there are no judgments
    judgments: Judgments | None = None
    grades: ItemGrades | None = None  # of model graded


def consensus(rows: AcceptedJudgments, model: str, earlier: Fit | None = None, afresh_from: int = 0) -> Consensus:
    """Return the consensus of the judgments that count.

    It continues from an ``earlier`` fit of the same model until there are ``RESTART`` times as many judgments as the
    ``afresh_from`` of the last fit from the beginning, so that no local optimum of the first judgments stays.
    """
    began = time.perf_counter()
    if not rows.item.size:
        belief = _with_gold(np.full(rows.items + 1, UNKNOWN), rows)
        summary = {"model": model, "asked": model, "note": "there are no judgments yet", "judgments": 0, "afresh": 0}
        return Consensus(belief, np.empty(0, np.int64), np.empty((0, 2, 2)), TYPICAL, _with_times(summary, began))
    of_labels = LABELS_OF_GRADED if model == GRADED else model
    judgments, gold = encode_judgments(rows, of_labels)
    start = earlier if rows.item.size < RESTART * afresh_from else None
    fit, note, warm = _fit_model(judgments, gold, of_labels, start)
    belief = _belief(fit, judgments, rows)
    grades = item_grades(rows) if model == GRADED else None
    if grades is not None:
        belief[grades.item] = (1 - grades.chance[:, 0]).clip(SURE, 1 - SURE)
    elif model == GRADED:
        note = note or f"{LABELS_OF_GRADED} is used: {GRADED} needs ranks and both labels, and there are none yet"
    belief = _with_gold(belief, rows)
    person, confusion, typical = _confusions(fit, judgments, rows)
    summary = {
        "model": fit.model if grades is None else GRADED,
        "asked": model,
        "note": note,
        "judgments": len(judgments),
        "items": int(np.unique(rows.item).size),
        "judges": len(judgments.judges),
        "gold": len(rows.gold),
        "evidence": fit.evidence[-1] if fit.evidence else None,
        "converged": fit.converged,
        "passes": fit.passes,
        "warm": warm,
        "afresh": afresh_from if warm else len(judgments),
        "calibration": "" if fit.calibration is None else fit.calibration.words,
        "expected": _expected(fit),
        "prevalence": _prevalence(fit),
        **_agreement(judgments),
    }
    return Consensus(belief, person, confusion, typical, _with_times(summary, began), fit, judgments, grades)


def item_grades(rows: AcceptedJudgments) -> ItemGrades | None:
    """Return the grades of judged items, given the grades of gold; None without ranks, or with one label only.

    A ranking is what a person says of a topic in an assignment.
    """
    import polars as pl

    from adjudge.data.judgments import from_codes
    from adjudge.data.rankings import Rankings
    from adjudge.data.scale import Scale
    from adjudge.models.ranking.rank import rank_by
    from adjudge.models.ranking.worth import RankOptions

    ranked = np.flatnonzero(rows.rank > 0)
    if not ranked.size or np.unique(rows.relevance).size < 2:
        return None
    ids, people = np.unique(rows.item), np.unique(rows.person)
    topics, topic = np.unique([rows.pairs[number][0] for number in ids.tolist()], return_inverse=True)
    ids, topic = ids[np.argsort(topic, kind="stable")], np.sort(topic)  # items of a topic are adjacent
    position = np.zeros(rows.items + 1, np.int64)
    position[ids] = np.arange(ids.size)
    item, judge = position[rows.item], np.searchsorted(people, rows.person)
    names: dict[str, Any] = {
        "items": pl.Series("item", ids),
        "judges": pl.Series("judge", people),
        "topics": pl.Series("topic", topics),
    }
    labels = from_codes(item, judge, rows.relevance, scale=Scale((0, 1), ordinal=True), topic=topic, **names)
    key = np.stack([topic[item[ranked]], judge[ranked], rows.assignment[ranked]])
    keys, ranking = np.unique(key, axis=1, return_inverse=True)
    order = np.lexsort((rows.rank[ranked], ranking.ravel()))
    entry = ranked[order]
    rankings = Rankings(
        **names,
        topic=topic,
        start=np.searchsorted(ranking.ravel()[order], np.arange(keys.shape[1] + 1)),
        judge=keys[1].astype(np.int32),
        item=item[entry].astype(np.int32),
        level=rows.rank[entry].astype(np.int32),
        label=rows.relevance[entry],
        judgments=labels,
        gold=np.array([rows.grades.get(number, -1) for number in ids.tolist()]),
    )
    result = rank_by(GRADED, rankings, RankOptions(reliability=True))
    assert result.grades is not None
    assert result.interval is not None
    return ItemGrades(ids, result.grades, result.score, result.rank, result.interval)


def _with_times(summary: dict[str, Any], began: float) -> dict[str, Any]:
    """Return a summary with the time at which it was made, and how long it took."""
    return {**summary, "at": time.time(), "seconds": round(time.perf_counter() - began, 3)}


def encode_judgments(rows: AcceptedJudgments, model: str) -> tuple[Judgments, Codes]:
    """Return judgments as the models read them, and the gold labels of their items (I), -1 without gold."""
    import polars as pl

    from adjudge.data.judgments import from_codes
    from adjudge.data.scale import Scale
    from adjudge.inference.model import model_named

    people, judge = np.unique(rows.person, return_inverse=True)
    items, item = np.unique(rows.item, return_inverse=True)
    topics: dict[str, int] = {}
    topic = [topics.setdefault(rows.pairs[number][0], len(topics)) for number in items.tolist()]
    table = from_codes(
        item,
        judge,
        rows.relevance,
        items=pl.Series("item", items),
        judges=pl.Series("judge", [rows.names[number] for number in people.tolist()]),
        scale=Scale(LABELS, ordinal=model_named(model).labels.ordered),
        topics=pl.Series("topic", list(topics)),
        topic=np.array(topic, np.int32),
        time=pl.Series("time", (rows.at * 1e6).astype(np.int64)).cast(pl.Datetime("us")),
    )
    return table, np.array([rows.gold.get(number, -1) for number in items.tolist()], np.int32)


def _fit_model(judgments: Judgments, gold: Codes, model: str, earlier: Fit | None) -> tuple[Fit, str, bool]:
    """Return a fit, a note about it, and whether it continued from the earlier one."""
    from adjudge.inference.fit import fit
    from adjudge.inference.model import model_named

    def infer(name: str, start: Fit | None = None) -> Fit:
        quickest = model_named(name).inferences[-1]
        options: dict[str, Any] = {"inference": quickest, "workers": 1, "ties": "first"}
        as_is = name == VOTES or model_named(name).by_kind  # votes stay votes, and the consensus calibrates itself
        options["calibrate"] = None if as_is else SOFTENED
        if quickest == "map":
            options["tolerance"] = TOLERANCE
        return fit(judgments, name, gold, start=start, **options)

    if not _has_overlap(judgments, gold) and model != VOTES:
        note = f"majority vote is used: {model} needs an item with two judges, or with one judge and gold"
        return infer(VOTES), note, False
    if earlier is not None:
        try:
            return infer(model, earlier), "", True
        except AdjudgeError:
            pass  # a fit of another model, or a model that cannot continue: start from the beginning
    try:
        return infer(model), "", False
    except (AdjudgeError, ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        return infer(VOTES), f"majority vote is used: {model} could not be fitted: {error}", False


def _expected(fit: Fit) -> list[float] | None:
    """Return the share of labels that is expected to be right, and the ends of its 90 % interval, if it is known."""
    calibration = fit.calibration
    return [calibration.expected, *calibration.interval] if calibration is not None and calibration.margin else None


def _prevalence(fit: Fit) -> float:
    """Return the prevalence of relevance by the model: softened probabilities would overestimate a rare label."""
    softened = fit.calibration is not None and fit.calibration.by == SOFTENED and fit.calibration.changes
    prevalence = fit.params.label_prevalence[1] if softened else fit.posterior[:, 1].mean()
    return float(np.clip(prevalence, 0, 1))


def _has_overlap(judgments: Judgments, gold: Codes) -> bool:
    """Return whether judges can be compared: some item has two of them, or one and gold."""
    count = np.diff(judgments.start)
    return bool((count > 1).any() or ((count > 0) & (gold >= 0)).any())


def _belief(fit: Fit, judgments: Judgments, rows: AcceptedJudgments) -> Floats:
    """Return P(relevant) of every item by its id; of one without judgments, the mean of the others."""
    p = fit.posterior[:, 1]
    if fit.model == VOTES:  # smoothed, because one vote is not certain
        votes = np.bincount(judgments.item(), judgments.label, len(judgments.items))
        p = (votes + 0.5) / (np.diff(judgments.start) + 1)
    belief = np.full(rows.items + 1, float(np.clip(p.mean(), 0.05, 0.95)))
    belief[judgments.items.to_numpy()] = p
    return belief.clip(SURE, 1 - SURE)


def _with_gold(belief: Floats, rows: AcceptedJudgments) -> Floats:
    """Return the beliefs with the labels of gold."""
    belief[0] = UNKNOWN  # ids begin at 1
    if rows.gold:
        belief[list(rows.gold)] = list(rows.gold.values())
    return belief


def _confusions(fit: Fit, judgments: Judgments, rows: AcceptedJudgments) -> tuple[Codes, Floats, Floats]:
    """Return people, their confusion matrices and the typical one; with few judgments they are near the typical one."""
    from adjudge.diagnostics.evidence import gather_evidence, typical_confusion

    _, evidence = gather_evidence(fit, judgments)
    typical = typical_confusion(evidence)
    judged = evidence.tally.sum(axis=2, keepdims=True)
    confusion = (evidence.tally + STEADY * typical) / (judged + STEADY)
    return np.unique(rows.person), confusion, typical


def _agreement(judgments: Judgments) -> dict[str, Any]:
    """Return the agreement of judges, in numbers and in a sentence."""
    from adjudge.metrics.agreement import agreement

    result = agreement(judgments, draws=DRAWS, pairs=1)
    alpha = next(row for row in result.rows if row.measure == "alpha_nominal")
    ends = None if alpha.value is None else [alpha.value, alpha.low, alpha.high]
    return {"alpha": ends, "raw_agreement": result.values["raw_agreement"], "agreement": result.sentence}


# The files, as assignment reads them


class Beliefs:
    """The newest consensus of a campaign; without one, the beliefs before any data."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder) / FOLDER
        self.array: Floats = np.empty(0)  # (I) P(relevant) by the item's id
        self.typical: Floats = TYPICAL
        self.upto = 0  # the id of the last judgment that it knows
        self.due = False  # whether the cards of the desk must still be written
        self._confusion: dict[int, Floats] = {}
        self._read_at = -1
        self.refresh()

    def refresh(self) -> bool:
        """Read the files if they are new, and return whether they were."""
        try:
            written = (self.folder / SUMMARY).stat().st_mtime_ns
            if written == self._read_at:
                return False
            summary = json.loads((self.folder / SUMMARY).read_text("utf-8"))
            belief = np.load(self.folder / BELIEF, allow_pickle=False)
            with np.load(self.folder / CONFUSION, allow_pickle=False) as file:
                person, confusion, typical = file["person"], file["confusion"], file["typical"]
        except (OSError, ValueError, KeyError):
            return False  # none yet, or one is being written: keep what was read before
        self.array, self.typical, self._read_at = belief, typical, written
        self._confusion = dict(zip(person.tolist(), confusion, strict=True))
        self.upto, self.due = int(summary.get("upto", 0)), not summary.get("mark", "")
        return True

    def age(self, now: float) -> float:
        """Return the seconds since the consensus was written, by the machine's clock; NaN if there is none."""
        return now - self._read_at / 1e9 if self._read_at >= 0 else math.nan

    def belief(self, item: int) -> float:
        """Return P(relevant) of an item."""
        return float(self.array[item]) if 0 <= item < self.array.size else UNKNOWN

    def confusion(self, person: int) -> Floats:
        """Return the confusion matrix of a person (2, 2), truths by labels; the typical one for unknown people."""
        return self._confusion.get(person, self.typical)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that readers see either the old or the new content, never a part."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(content)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def json_bytes(value: Any) -> bytes:
    """Return a value as strict JSON; numbers must be finite."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


# The files, as the desk reads them


class JudgeCards(NamedTuple):
    """What the consensus says about judges."""

    cards: Mapping[int, Mapping[str, Any]]  # by person
    drift: str
    reliability: str = ""  # whether labels are right as often as the consensus says


class ItemBelief(NamedTuple):
    """What the consensus says about one item."""

    item: int
    topic: str
    document: str
    relevance: float  # the probability that it is relevant
    judgments: int
    grades: tuple[float, ...] = ()  # the probability of each grade, of model graded
    score: float = 0.0  # expected gain
    rank: int = 0  # in its topic
    low: int = 0  # ends of the 90 % interval of the rank
    high: int = 0

    @property
    def label(self) -> int:
        """Return the more likely relevance."""
        return int(self.relevance >= 0.5)

    @property
    def grade(self) -> int:
        """Return the most likely grade; without grades, the more likely relevance."""
        return int(np.argmax(self.grades)) if self.grades else self.label

    @property
    def probability(self) -> float:
        """Return the probability of the label."""
        return max(self.relevance, 1 - self.relevance)

    @property
    def entropy(self) -> float:
        """Return the entropy of the relevance, in bits."""
        return -sum(p * log2(p) for p in (self.relevance, 1 - self.relevance) if p > 0)


def read_summary(folder: Path) -> dict[str, Any] | None:
    """Return the numbers of the last consensus."""
    summary = _read(folder, SUMMARY)
    return summary if isinstance(summary, dict) else None


def read_judge_cards(folder: Path) -> JudgeCards:
    """Return the cards of judges by the person's number, and a sentence on drift."""
    content = _read(folder, JUDGES)
    if not isinstance(content, dict):
        return JudgeCards({}, "")
    cards = {card["person"]: card for card in content["judges"]}
    return JudgeCards(cards, content["drift"], content.get("reliability", ""))


def read_looks(folder: Path) -> Mapping[str, Any]:
    """Return the items that deserve a second look, by reason."""
    looks = _read(folder, ITEMS)
    return looks if isinstance(looks, Mapping) else {}


def read_belief(folder: Path) -> Floats | None:
    """Return the probability that each item is relevant, (I,) by its number."""
    try:
        return np.asarray(np.load(folder / FOLDER / BELIEF, allow_pickle=False), np.float64)
    except (OSError, ValueError):
        return None


def fresh_belief(connection: Connection, campaign: Campaign) -> Floats | None:
    """Return the probability that each item is relevant given every judgment, (I,) by its number; None without any.

    The belief in the folder is used if no judgment came since; otherwise the model is fitted in memory, so that the
    folder may be read-only and a studio that is running is not disturbed.
    """
    if not connection.scalar(select(func.count()).select_from(judgments)):
        return None
    model = campaign.settings.consensus.model
    summary, belief = read_summary(campaign.folder) or {}, read_belief(campaign.folder)
    if belief is not None and summary.get("mark") == f"{model} {mark(connection, campaign.gold)}":
        return belief
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return np.asarray(consensus(accepted_judgments(connection, campaign.gold), model).belief, np.float64)


def read_grades(folder: Path) -> ItemGrades | None:
    """Return the grades of items; None if the last consensus has none."""
    try:
        with np.load(folder / FOLDER / GRADES, allow_pickle=False) as file:
            return ItemGrades(*(file[name] for name in ItemGrades._fields))
    except (OSError, ValueError, KeyError):
        return None


def fresh_grades(connection: Connection, campaign: Campaign) -> ItemGrades | None:
    """Return the grades of items given every judgment; None if the model of the campaign is not graded.

    As ``fresh_belief``, it uses the file in the folder if no judgment came since.
    """
    model = campaign.settings.consensus.model
    if model != GRADED:
        return None
    if (read_summary(campaign.folder) or {}).get("mark") == f"{model} {mark(connection, campaign.gold)}":
        return read_grades(campaign.folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return item_grades(accepted_judgments(connection, campaign.gold))


def read_item_beliefs(
    connection: Connection,
    folder: Path,
    fresh: Floats | None = None,
    fresh_grades: ItemGrades | None = None,
    within: range | None = None,
) -> Iterator[ItemBelief] | None:
    """Return what the consensus, or a fresh one, says about items in order; None without a consensus.

    ``within`` are the numbers of the items, by default all.
    """
    belief = read_belief(folder) if fresh is None else fresh
    grades = read_grades(folder) if fresh is None else fresh_grades
    return None if belief is None else _iterate_items(connection, belief, grades, within)


def _iterate_items(
    connection: Connection, belief: Floats, grades: ItemGrades | None, within: range | None
) -> Iterator[ItemBelief]:
    """Yield items with their belief and the number of their judgments by judges who are not excluded."""
    tallied = select(judgments.c.item, func.count().label("n")).where(counts())
    if within is not None:
        tallied = tallied.where(judgments.c.item.between(within.start, within.stop - 1))
    tally = tallied.group_by(judgments.c.item).subquery()
    query = (
        select(items.c.id, items.c.topic, items.c.document, func.coalesce(tally.c.n, 0))
        .select_from(items.outerjoin(tally, tally.c.item == items.c.id))
        .order_by(items.c.id)
    )
    if within is not None:
        query = query.where(items.c.id.between(within.start, within.stop - 1))
    position = {} if grades is None else {number: i for i, number in enumerate(grades.item.tolist())}
    for item, topic, document, n in connection.execution_options(yield_per=2_000).execute(query):
        if item < len(belief) and np.isfinite(belief[item]):
            yield ItemBelief(item, topic, document, float(belief[item]), n, *_grade_fields(grades, position.get(item)))


def _grade_fields(grades: ItemGrades | None, i: int | None) -> tuple[Any, ...]:
    """Return the fields of an ``ItemBelief`` that model graded fills in, for the item at this position."""
    if grades is None or i is None:
        return ()
    low, high = grades.interval[i].tolist()
    return tuple(grades.chance[i].tolist()), float(grades.score[i]), int(grades.rank[i]), low, high


def _read(folder: Path, name: str) -> Any:
    """Return the content of a JSON file of the consensus, or None."""
    try:
        return json.loads((folder / FOLDER / name).read_text("utf-8"))
    except (OSError, ValueError):
        return None

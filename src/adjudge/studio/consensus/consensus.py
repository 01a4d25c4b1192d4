"""The live consensus: a model fitted to the judgments so far, as beliefs about items and confusions of judges.

Judgments of excluded people and "cannot tell" do not count. Gold is gold.csv without the documents whose contest was
upheld. The fit continues from the last one if it can. A model that cannot be fitted yet is replaced by the majority
vote, and the summary says so. ``refresh`` runs this beside the server and writes the files that ``beliefs`` reads.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from adjudge.arrays import Codes, Floats
from adjudge.errors import AdjudgeError
from adjudge.studio.consensus.beliefs import UNKNOWN
from adjudge.studio.gates.information import TYPICAL
from adjudge.studio.record.schema import contests, counts, items, judgments, people, rulings, slots, standings
from adjudge.studio.records import Gold, Pair

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit


LABELS = ("irrelevant", "relevant")
VOTES = "majority"
CALIBRATION = "judgments"  # softens probabilities if the errors of judges are correlated
TOLERANCE = 1e-6  # of the log-likelihood per judgment: enough for a desk that is refreshed every few seconds
RESTART = 1.5  # growth of the number of judgments after which a fit starts from the beginning
STEADY = 2.0  # pseudo-judgments of a typical judge in each row of a confusion matrix
SURE = 1e-4  # the smallest probability of a label, so that further judgments can change it
DRAWS = 200  # for the interval of agreement
PIECE = 20_000  # rows that are Python objects at a time


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


def accepted_judgments(connection: Connection, gold: Mapping[Pair, Gold]) -> AcceptedJudgments:
    """Return the judgments that count, and the gold that was not overruled."""
    names = {row.id: row.name for row in connection.execute(select(people.c.id, people.c.name))}
    overruled = _overruled(connection)
    columns = select(items.c.id, items.c.topic, items.c.document)
    pairs = {number: (topic, document) for number, topic, document in connection.execute(columns)}
    labels = {number: int(gold[pair].grade >= 1) for number, pair in pairs.items() if pair in gold}
    valid = {number: truth for number, truth in labels.items() if number not in overruled}
    item, person, relevance, at = _columns(connection)
    return AcceptedJudgments(item, person, relevance, at, max(pairs, default=0), names, valid, pairs)


def mark(connection: Connection, gold: Mapping[Pair, Gold]) -> str:
    """Return a text that changes with everything that can change the consensus."""
    last = [connection.scalar(select(func.max(table.c.id))) or 0 for table in (judgments, standings, rulings, items)]
    graded = sum(_number(pair, entry.grade) for pair, entry in gold.items())
    return " ".join(map(str, (*last, len(gold), graded % (1 << 61))))


def _number(pair: Pair, grade: int) -> int:
    """Return a hash of a graded pair that is the same in every process."""
    return zlib.crc32(f"{pair[0]}\0{pair[1]}\0{grade}".encode())


def _overruled(connection: Connection) -> set[int]:
    """Return the items whose gold was ruled wrong."""
    upheld = (
        select(slots.c.item)
        .join(contests, (contests.c.set == slots.c.set) & (contests.c.slot == slots.c.slot))
        .join(rulings, rulings.c.contest == contests.c.id)
        .where(rulings.c.upheld == 1)
    )
    return set(connection.scalars(upheld))


def _columns(connection: Connection) -> tuple[Codes, Codes, Codes, Floats]:
    """Return the columns of the judgments that count, read in pieces."""
    columns = (judgments.c.item, judgments.c.person, judgments.c.relevance, judgments.c.at)
    query = select(*columns).where(counts()).order_by(judgments.c.id)
    pieces = [np.empty((0, 4))]
    rows: Any = connection.execution_options(yield_per=PIECE).execute(query)
    pieces += [np.array([tuple(row) for row in part], dtype=np.float64) for part in rows.partitions()]
    table = np.concatenate(pieces)
    item, person, relevance = table[:, :3].T.astype(np.int64)
    return item, person, relevance, table[:, 3].copy()


class Consensus(NamedTuple):
    """Beliefs about items and judges, and the fit that they come from."""

    belief: Floats  # (I) P(relevant), by the item's id
    person: Codes  # (J)
    confusion: Floats  # (J, 2, 2)
    typical: Floats  # (2, 2)
    summary: dict[str, Any]
    fit: Fit | None = None  # None if there are no judgments
    judgments: Judgments | None = None


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
    judgments, gold = encode_judgments(rows, model)
    start = earlier if rows.item.size < RESTART * afresh_from else None
    fit, note, warm = _fit_model(judgments, gold, model, start)
    belief = _with_gold(_belief(fit, judgments, rows), rows)
    person, confusion, typical = _confusions(fit, judgments, rows)
    summary = {
        "model": fit.model,
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
        "prevalence": _prevalence(fit),
        **_agreement(judgments),
    }
    return Consensus(belief, person, confusion, typical, _with_times(summary, began), fit, judgments)


def _with_times(summary: dict[str, Any], began: float) -> dict[str, Any]:
    """Return a summary with the time at which it was made, and how long it took."""
    return {**summary, "at": time.time(), "seconds": round(time.perf_counter() - began, 3)}


def encode_judgments(rows: AcceptedJudgments, model: str) -> tuple[Judgments, Codes]:
    """Return judgments as the models read them, and the gold labels of their items (I), -1 without gold."""
    import polars as pl

    from adjudge.data.judgments import from_codes
    from adjudge.data.scale import Scale
    from adjudge.inference.registry import model_named

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
    from adjudge.inference.registry import model_named

    def infer(name: str, start: Fit | None = None) -> Fit:
        quickest = model_named(name).inferences[-1]
        options: dict[str, Any] = {"inference": quickest, "workers": 1, "ties": "first"}
        options["calibrate"] = "none" if name == VOTES else CALIBRATION
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


def _prevalence(fit: Fit) -> float:
    """Return the prevalence of relevance by the model: softened probabilities would overestimate a rare label."""
    softened = fit.calibration is not None and fit.calibration.changes
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

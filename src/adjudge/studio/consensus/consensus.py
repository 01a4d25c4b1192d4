"""The live consensus: what the judgments so far say of items and judges, worked out beside the server.

``python -m adjudge.studio.consensus.consensus FOLDER`` reads the database of a campaign, fits the model of its
settings, going on from the last fit, and leaves its files in the campaign's folder (see ``beliefs``): first what
assignment needs, then cards and lists for the desk, which take longer and are therefore left as they are while they are
young and little is new. Where nothing is new it does nothing. A model that cannot be fitted yet is replaced by a count
of votes, and the summary says so.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
import warnings
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from adjudge.arrays import Codes, Floats
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, Problems
from adjudge.studio.campaign import gold_file
from adjudge.studio.consensus import beliefs
from adjudge.studio.consensus.beliefs import UNKNOWN, Beliefs, json_bytes, replace_file
from adjudge.studio.gates.information import TYPICAL
from adjudge.studio.record.schema import contests, counts, items, judgments, people, rulings, slots, standings
from adjudge.studio.record.store import database_url, open_engine
from adjudge.studio.records import Gold, Pair
from adjudge.studio.settings import Settings, load_settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit


# The judgments that count, as the consensus reads them from the tables of a campaign.
#
# Left out are those of people who are excluded, and answers that cannot tell. Gold is what gold.csv says, without the
# documents of which a contest was upheld.

PIECE = 20_000  # rows held as Python objects at a time


class Accepted(NamedTuple):
    """Who said what of which item, by their numbers in the tables."""

    item: Codes  # (N)
    person: Codes  # (N)
    relevance: Codes  # (N) 0, 1
    at: Floats  # (N)
    items: int  # the highest number of an item
    names: Mapping[int, str]  # of people
    gold: Mapping[int, int]  # item -> 1 if relevant, else 0
    pairs: Mapping[int, Pair]  # of the items


def accepted(connection: Connection, gold: Mapping[Pair, Gold]) -> Accepted:
    """Return the judgments that count, and the gold that stands."""
    names = {row.id: row.name for row in connection.execute(select(people.c.id, people.c.name))}
    wrong = _overruled(connection)
    known = select(items.c.id, items.c.topic, items.c.document)
    pairs = {number: (topic, document) for number, topic, document in connection.execute(known)}
    told = {number: int(gold[pair].grade >= 1) for number, pair in pairs.items() if pair in gold}
    stands = {number: truth for number, truth in told.items() if number not in wrong}
    item, person, relevance, at = _columns(connection)
    return Accepted(item, person, relevance, at, max(pairs, default=0), names, stands, pairs)


def mark(connection: Connection, gold: Mapping[Pair, Gold]) -> str:
    """Return a text that changes when there is anything new for the consensus to learn from."""
    last = [connection.scalar(select(func.max(table.c.id))) or 0 for table in (judgments, standings, rulings, items)]
    graded = sum(_number(pair, said.grade) for pair, said in gold.items())
    return " ".join(map(str, (*last, len(gold), graded % (1 << 61))))


def _number(pair: Pair, grade: int) -> int:
    """Return a number for a graded pair that is the same in every process."""
    return zlib.crc32(f"{pair[0]}\0{pair[1]}\0{grade}".encode())


def _overruled(connection: Connection) -> set[int]:
    """Return the items whose gold was ruled to be wrong."""
    upheld = (
        select(slots.c.item)
        .join(contests, (contests.c.set == slots.c.set) & (contests.c.slot == slots.c.slot))
        .join(rulings, rulings.c.contest == contests.c.id)
        .where(rulings.c.upheld == 1)
    )
    return set(connection.scalars(upheld))


def _columns(connection: Connection) -> tuple[Codes, Codes, Codes, Floats]:
    """Return the columns of the judgments that count, read a piece at a time."""
    columns = (judgments.c.item, judgments.c.person, judgments.c.relevance, judgments.c.at)
    told = select(*columns).where(counts()).order_by(judgments.c.id)
    pieces = [np.empty((0, 4))]
    rows: Any = connection.execution_options(yield_per=PIECE).execute(told)
    pieces += [np.array([tuple(row) for row in part], dtype=np.float64) for part in rows.partitions()]
    table = np.concatenate(pieces)
    item, person, relevance = table[:, :3].T.astype(np.int64)
    return item, person, relevance, table[:, 3].copy()


__all__ = ["Beliefs", "Consensus", "consensus", "main", "refresh"]

LABELS = ("irrelevant", "relevant")
VOTES = "majority"
HONEST = "judgments"  # probabilities are hedged where judges are seen to err together
KEPT = "fit"  # the folder of the last fit
TOLERANCE = 1e-6  # rise of the log likelihood a judgment: for a desk that is drawn anew in seconds
AFRESH = 1.5  # a fit begins anew when there are so many times the judgments of the last that did
STEADY = 2.0  # judgments of a typical judge that each row of a confusion begins with
SURE = 1e-4  # no item is surer than this, so that further judgments can change it
DRAWS = 200  # for the interval of agreement
NEWS = 1.05  # times the judgments: from then on cards are drawn anew
PATIENCE = 60.0  # seconds after which they are drawn anew for any news
QUICK = 2.0  # seconds of work: cards that took less are drawn anew every time
POLITE = 10  # by how much the server and its judges come first


class Consensus(NamedTuple):
    """What is believed of items and judges, and how that was found."""

    belief: Floats  # (I) P(relevant), by the item's number
    person: Codes  # (J)
    confusion: Floats  # (J, 2, 2)
    typical: Floats  # (2, 2)
    summary: dict[str, Any]
    fit: Fit | None = None  # None where nobody has judged
    judgments: Judgments | None = None


def consensus(rows: Accepted, model: str, earlier: Fit | None = None, afresh_from: int = 0) -> Consensus:
    """Return the consensus of the judgments that count.

    It goes on from an ``earlier`` fit of the same model until there are ``AFRESH`` times as many judgments as the
    ``afresh_from`` of the last fit that began anew, so that no accident of the first few stays.
    """
    began = time.perf_counter()
    if not rows.item.size:
        belief = _told(np.full(rows.items + 1, UNKNOWN), rows)
        summary = {"model": model, "asked": model, "note": "nothing is judged yet", "judgments": 0, "afresh": 0}
        return Consensus(belief, np.empty(0, np.int64), np.empty((0, 2, 2)), TYPICAL, _times(summary, began))
    judgments, gold = encoded_judgments(rows, model)
    onward = earlier if rows.item.size < AFRESH * afresh_from else None
    fit, note, warm = _fitted(judgments, gold, model, onward)
    belief = _told(_belief(fit, judgments, rows), rows)
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
        "prevalence": _common(fit),
        **_agreement(judgments),
    }
    return Consensus(belief, person, confusion, typical, _times(summary, began), fit, judgments)


def _times(summary: dict[str, Any], began: float) -> dict[str, Any]:
    """Return a summary with when it was made and how long that took."""
    return {**summary, "at": time.time(), "seconds": round(time.perf_counter() - began, 3)}


def encoded_judgments(rows: Accepted, model: str) -> tuple[Judgments, Codes]:
    """Return judgments as the models read them, and what gold says of their items (I), -1 where nothing."""
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
        scale=Scale(LABELS, ordinal=model_named(model).ordered),
        topics=pl.Series("topic", list(topics)),
        topic=np.array(topic, np.int32),
        time=pl.Series("time", (rows.at * 1e6).astype(np.int64)).cast(pl.Datetime("us")),
    )
    return table, np.array([rows.gold.get(number, -1) for number in items.tolist()], np.int32)


def _fitted(judgments: Judgments, gold: Codes, model: str, earlier: Fit | None) -> tuple[Fit, str, bool]:
    """Return a fit, what must be said of it, and whether it went on from the earlier one."""
    from adjudge.inference.fit import fit
    from adjudge.inference.registry import model_named

    def infer(name: str, start: Fit | None = None) -> Fit:
        quickest = model_named(name).inferences[-1]
        usual: dict[str, Any] = {"inference": quickest, "workers": 1, "ties": "first"}
        usual["calibrate"] = "none" if name == VOTES else HONEST
        if quickest == "map":
            usual["tolerance"] = TOLERANCE
        return fit(judgments, name, gold, start=start, **usual)

    if not _comparable(judgments, gold) and model != VOTES:
        said = f"votes are counted: before {model} can tell judges apart, two of them, or one and gold, must meet"
        return infer(VOTES), said, False
    if earlier is not None:
        try:
            return infer(model, earlier), "", True
        except AdjudgeError:
            pass  # of another model, or one that does not go on: begin anew
    try:
        return infer(model), "", False
    except (AdjudgeError, ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
        return infer(VOTES), f"votes are counted, for {model} could not be fitted: {error}", False


def _common(fit: Fit) -> float:
    """Return how common relevance is, as the model has it: hedged probabilities would make what is rare commoner."""
    hedged = fit.calibration is not None and fit.calibration.changes
    common = fit.params.label_prevalence[1] if hedged else fit.posterior[:, 1].mean()
    return float(np.clip(common, 0, 1))


def _comparable(judgments: Judgments, gold: Codes) -> bool:
    """Say whether anything can be learned of judges: on some item there are two, or one and gold."""
    count = np.diff(judgments.start)
    return bool((count > 1).any() or ((count > 0) & (gold >= 0)).any())


def _belief(fit: Fit, judgments: Judgments, rows: Accepted) -> Floats:
    """Return P(relevant) of every item by its number; of one that nobody has judged, how common relevance is."""
    p = fit.posterior[:, 1]
    if fit.model == VOTES:  # one vote is no certainty
        said = np.bincount(judgments.item(), judgments.label, len(judgments.items))
        p = (said + 0.5) / (np.diff(judgments.start) + 1)
    belief = np.full(rows.items + 1, float(np.clip(p.mean(), 0.05, 0.95)))
    belief[judgments.items.to_numpy()] = p
    return belief.clip(SURE, 1 - SURE)


def _told(belief: Floats, rows: Accepted) -> Floats:
    """Return the beliefs with what gold says."""
    belief[0] = UNKNOWN  # numbers begin at 1
    if rows.gold:
        belief[list(rows.gold)] = list(rows.gold.values())
    return belief


def _confusions(fit: Fit, judgments: Judgments, rows: Accepted) -> tuple[Codes, Floats, Floats]:
    """Return people, how each errs, and how judges typically do; who has said little is near the typical judge."""
    from adjudge.diagnostics.evidence import gather_evidence, typical_confusion

    _, evidence = gather_evidence(fit, judgments)
    typical = typical_confusion(evidence)
    rows_said = evidence.tally.sum(axis=2, keepdims=True)
    confusion = (evidence.tally + STEADY * typical) / (rows_said + STEADY)
    return np.unique(rows.person), confusion, typical


def _agreement(judgments: Judgments) -> dict[str, Any]:
    """Return how much judges agree, in numbers and in a sentence."""
    from adjudge.metrics.agreement import agreement

    found = agreement(judgments, draws=DRAWS, pairs=1)
    alpha = next(row for row in found.rows if row.measure == "alpha_nominal")
    ends = None if alpha.value is None else [alpha.value, alpha.low, alpha.high]
    return {"alpha": ends, "raw_agreement": found.values["raw_agreement"], "agreement": found.sentence}


def refresh(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Bring the files of the consensus up to date, and return their summary; nothing is done where nothing is new."""
    place = Path(folder)
    settings, gold = _campaign(place)
    target = place / beliefs.FOLDER
    before = _summary(target)
    engine = _engine(settings, place)
    try:
        with engine.connect() as connection:
            now = f"{settings.consensus.model} {mark(connection, gold)}"
            if before.get("mark") == now:
                return before
            rows = accepted(connection, gold)
    finally:
        engine.dispose()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        found = consensus(rows, settings.consensus.model, _earlier(target), before.get("afresh", 0))
        summary = {**found.summary, "upto": int(now.split()[1]), "mark": "", "portrayed": before.get("portrayed")}
        _write(found, summary, target)
        if not _portray(before, found):
            return summary
        return _write_portraits(found, rows, {**summary, "mark": now}, target)


def _portray(before: dict[str, Any], found: Consensus) -> bool:
    """Say whether cards and lists are to be drawn anew: that is quick, enough is new, or they are old."""
    last = before.get("portrayed") or {"judgments": 0, "at": 0.0, "seconds": 0.0}
    judgments, old = found.summary["judgments"], time.time() - last["at"] > PATIENCE
    much = judgments >= NEWS * last["judgments"] or judgments < last["judgments"]
    return bool(old or much or last["seconds"] < QUICK)


def _write(found: Consensus, summary: dict[str, Any], target: Path) -> None:
    """Write what assignment needs, the summary last: it says that there is something new."""
    target.mkdir(exist_ok=True)
    packed = {"person": found.person, "confusion": found.confusion, "typical": found.typical}
    replace_file(target / beliefs.BELIEF, _saved(np.save, found.belief))
    replace_file(target / beliefs.CONFUSION, _saved(np.savez, **packed))
    if found.fit is not None:
        from adjudge.inference.save import save

        save(found.fit, target / KEPT)
    replace_file(target / beliefs.SUMMARY, json_bytes(summary))


def _write_portraits(found: Consensus, rows: Accepted, summary: dict[str, Any], target: Path) -> dict[str, Any]:
    """Write what the desk shows, and return the summary with the time that took."""
    from adjudge.studio.consensus.portraits import item_rows, judge_rows

    began, worked = time.perf_counter(), time.process_time()
    judges: dict[str, Any] = {"labels": list(LABELS), "judges": [], "drift": ""}
    looks: dict[str, Any] = {}
    if found.fit is not None and found.judgments is not None:
        looks = item_rows(found.fit, found.judgments, rows.pairs)
        judges = judge_rows(found.fit, found.judgments, {name: number for number, name in rows.names.items()})
    replace_file(target / beliefs.ITEMS, json_bytes(looks))
    replace_file(target / beliefs.JUDGES, json_bytes(judges))
    drawn = {"judgments": summary["judgments"], "at": time.time(), "seconds": round(time.process_time() - worked, 3)}
    seconds = round(summary["seconds"] + time.perf_counter() - began, 3)
    whole = {**summary, "seconds": seconds, "portrayed": drawn}
    replace_file(target / beliefs.SUMMARY, json_bytes(whole))
    return whole


def _saved(save: Any, *arrays: Any, **named: Any) -> bytes:
    """Return arrays as the bytes of a file."""
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def _summary(target: Path) -> dict[str, Any]:
    """Return the last summary, empty where there is none to be read."""
    try:
        found = json.loads((target / beliefs.SUMMARY).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _earlier(target: Path) -> Fit | None:
    """Return the last fit; None where there is none, or none that can be read."""
    from adjudge.inference.save import load

    try:
        return load(target / KEPT)
    except (AdjudgeError, OSError):
        return None


def _campaign(place: Path) -> tuple[Settings, dict[Pair, Gold]]:
    """Return the settings and the gold of a campaign: all that is needed here of its files."""
    problems = Problems()
    settings = load_settings(place, problems)
    gold, _ = gold_file.read_gold(place / gold_file.FILE, problems, gold_file.FILE)
    problems.refuse(str(place))
    return settings, gold


def _engine(settings: Settings, place: Path) -> Any:
    """Return the way to the campaign's database, to read it only."""
    url = database_url(place, settings.store.database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise InputError("there is no database yet: `adjudge serve` makes it", str(url.database))
    return open_engine(url, read_only=True)


def main(arguments: list[str]) -> int:
    """Refresh the consensus of a folder as a process of its own, behind all others; return its exit code."""
    if len(arguments) != 1:
        print("usage: python -m adjudge.studio.consensus.consensus FOLDER", file=sys.stderr)
        return 2
    if hasattr(os, "nice"):
        os.nice(POLITE)
    try:
        summary = refresh(arguments[0])
    except AdjudgeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    done = f"{summary['model']}: {summary['judgments']:,} judgments in {summary['seconds']:.1f} s"
    print(f"{done}; {summary['note']}" if summary["note"] else done)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Refreshing the consensus of a campaign: ``python -m adjudge.studio.refresh_consensus FOLDER``.

It runs in another process than the server, reads the database, computes the consensus, and writes the files that
``consensus`` reads: first what assignment needs, then the judge cards and lists of the desk. These take longer, and are
therefore not written again while they are recent and little is new. Without new judgments it does nothing.
"""

from __future__ import annotations

import io
import os
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sqlalchemy import Engine

from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, Problems
from adjudge.studio.campaign_files import GOLD_FILE, read_gold
from adjudge.studio.charts import CHARTS, chart_values, read_charts
from adjudge.studio.consensus import (
    BELIEF,
    CONFUSION,
    FOLDER,
    GRADES,
    ITEMS,
    JUDGES,
    LABELS,
    SUMMARY,
    AcceptedJudgments,
    Consensus,
    accepted_judgments,
    consensus,
    json_bytes,
    mark,
    read_summary,
    replace_file,
)
from adjudge.studio.copying import PAIRS, TOO_LITTLE, Pairs, find_pairs, pairs_json
from adjudge.studio.record.private import private_files
from adjudge.studio.record.store import database_url, open_engine
from adjudge.studio.records import Gold, Pair
from adjudge.studio.settings import Settings, load_settings

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.diagnostics.drift import Change, Drift
    from adjudge.diagnostics.judges import Card
    from adjudge.inference.result import Fit


MOST = 20  # items to look at, for each reason
FIT_FOLDER = "fit"  # of the last fit
NEWS = 1.05  # growth of the number of judgments after which cards are written again
PATIENCE = 60.0  # seconds after which they are written again for any new judgment
QUICK = 2.0  # seconds: cards that took less are written every time
POLITE = 10  # niceness of the process


def refresh(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """Bring the files of the consensus up to date, and return their summary; without new judgments, do nothing."""
    path = Path(folder)
    settings, gold = _read_files(path)
    target = path / FOLDER
    before = read_summary(path) or {}
    engine = _open_database(settings, path)
    try:
        with engine.connect() as connection:
            now = f"{settings.consensus.model} {mark(connection, gold)}"
            if before.get("mark") == now:
                return before
            rows = accepted_judgments(connection, gold)
    finally:
        engine.dispose()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        result = consensus(rows, settings.consensus.model, _last_fit(target), before.get("afresh", 0))
        summary = {**result.summary, "upto": int(now.split()[1]), "mark": "", "portrayed": before.get("portrayed")}
        _write(result, summary, target)
        if not _cards_are_due(before, result):
            return summary
        complete = _write_cards(result, rows, {**summary, "mark": now}, target)
        charts = chart_values(result, rows, settings.redundancy.target, read_charts(path))
        replace_file(target / CHARTS, json_bytes(charts))
        return complete


def _cards_are_due(before: dict[str, Any], result: Consensus) -> bool:
    """Return whether cards and lists must be written: if that is quick, enough is new, or they are old."""
    last = before.get("portrayed") or {"judgments": 0, "at": 0.0, "seconds": 0.0}
    judgments, old = result.summary["judgments"], time.time() - last["at"] > PATIENCE
    much = judgments >= NEWS * last["judgments"] or judgments < last["judgments"]
    return bool(old or much or last["seconds"] < QUICK)


def _write(result: Consensus, summary: dict[str, Any], target: Path) -> None:
    """Write what assignment needs; the summary is last, because it shows that there is something new."""
    target.mkdir(exist_ok=True)
    packed = {"person": result.person, "confusion": result.confusion, "typical": result.typical}
    replace_file(target / BELIEF, _array_bytes(np.save, result.belief))
    replace_file(target / CONFUSION, _array_bytes(np.savez, **packed))
    if result.grades is None:
        (target / GRADES).unlink(missing_ok=True)
    else:
        replace_file(target / GRADES, _array_bytes(np.savez, **result.grades._asdict()))
    if result.fit is not None:
        from adjudge.inference.save import save

        save(result.fit, target / FIT_FOLDER)
    replace_file(target / SUMMARY, json_bytes(summary))


def _write_cards(result: Consensus, rows: AcceptedJudgments, summary: dict[str, Any], target: Path) -> dict[str, Any]:
    """Write the cards and lists of the desk, and return the summary with the time they took."""
    began, worked = time.perf_counter(), time.process_time()
    judges: dict[str, Any] = {"labels": list(LABELS), "judges": [], "drift": ""}
    second_looks: dict[str, Any] = {}
    pairs = Pairs(TOO_LITTLE)
    if result.fit is not None and result.judgments is not None:
        second_looks = item_rows(result.fit, result.judgments, rows.pairs)
        judges = judge_rows(result.fit, result.judgments, {name: number for number, name in rows.names.items()})
        pairs = find_pairs(result.fit, result.judgments, rows)
    replace_file(target / PAIRS, json_bytes(pairs_json(pairs)))
    replace_file(target / ITEMS, json_bytes(second_looks))
    replace_file(target / JUDGES, json_bytes(judges))
    drawn = {"judgments": summary["judgments"], "at": time.time(), "seconds": round(time.process_time() - worked, 3)}
    seconds = round(summary["seconds"] + time.perf_counter() - began, 3)
    complete = {**summary, "seconds": seconds, "portrayed": drawn}
    replace_file(target / SUMMARY, json_bytes(complete))
    return complete


def _array_bytes(save: Any, *arrays: Any, **named: Any) -> bytes:
    """Return arrays as the bytes of a file."""
    file = io.BytesIO()
    save(file, *arrays, **named)
    return file.getvalue()


def _last_fit(target: Path) -> Fit | None:
    """Return the last fit; None if there is none that can be read."""
    from adjudge.inference.save import load

    try:
        return load(target / FIT_FOLDER)
    except (AdjudgeError, OSError):
        return None


def _read_files(folder: Path) -> tuple[Settings, dict[Pair, Gold]]:
    """Return the settings and the gold of a campaign."""
    problems = Problems()
    settings = load_settings(folder, problems)
    gold, _ = read_gold(folder / GOLD_FILE, problems, GOLD_FILE)
    problems.refuse(str(folder))
    return settings, gold


def _open_database(settings: Settings, folder: Path) -> Engine:
    """Return an engine that only reads the campaign's database."""
    url = database_url(folder, settings.store.database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise InputError("there is no database yet: start the campaign with `adjudge serve`", str(url.database))
    return open_engine(url, read_only=True)


def main(arguments: list[str]) -> int:
    """Refresh the consensus of a folder, and return the exit code."""
    if len(arguments) != 1:
        print("usage: python -m adjudge.studio.refresh_consensus FOLDER", file=sys.stderr)
        return 2
    try:
        with private_files():  # they name judges and gold
            summary = refresh(arguments[0])
    except AdjudgeError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    done = f"{summary['model']}: {summary['judgments']:,} judgments in {summary['seconds']:.1f} s"
    print(f"{done}; {summary['note']}" if summary["note"] else done)
    return 0


def judge_rows(fit: Fit, judgments: Judgments, people: Mapping[str, int]) -> dict[str, Any]:
    """Return a card for every judge, with their confusion matrix, its intervals and whether they changed."""
    from adjudge.diagnostics.judges import cards
    from adjudge.reports.page import card_lines

    drift = _drift(fit, judgments)
    judge_cards = cards(fit, judgments)
    rows = [
        {
            **_card(card),
            "person": people[card.judge],
            "lines": [list(line) for line in card_lines(card, fit.scale.names)],
            "drift": None if drift is None else _change(drift, j),
        }
        for j, card in enumerate(judge_cards)
    ]
    sentence = "There is too little data to see whether judges changed." if drift is None else drift.sentence
    return {"labels": list(fit.scale.names), "judges": rows, "drift": sentence, "reliability": judge_cards.reliability}


def _card(card: Card) -> dict[str, Any]:
    """Return a card as plain numbers: an estimate is its value and the ends of its 90 % interval."""
    from adjudge.diagnostics.judges import ESTIMATES

    matrices = {name: getattr(card, name).tolist() for name in ("confusion", "confusion_low", "confusion_high")}
    estimates = {column: _numbers(getattr(card, name)) for column, name in ESTIMATES.items()}
    plain = ("judge", "judgments", "items", "topics", "seconds", "p_chance", "p_adversarial", "sentence")
    values = {name: getattr(card, name) for name in plain}
    return {**values, **estimates, **matrices, "reasons": dict(card.reasons)}


def _numbers(estimate: Sequence[float] | None) -> list[float] | None:
    """Return an estimate as a list; None if there is none."""
    return None if estimate is None else [float(number) for number in estimate]


def _drift(fit: Fit, judgments: Judgments) -> Drift | None:
    """Return which judges changed; None if that cannot be computed."""
    from adjudge.diagnostics.drift import drift

    try:
        return drift(fit, judgments)
    except AdjudgeError:
        return None


def _change(drift: Drift, j: int) -> dict[str, Any] | None:
    """Return the change of one judge; None if they have too few judgments."""
    change: Change | None = drift.changes[j]
    if change is None:
        return None
    return {
        "changed": change.changed,
        "flagged": bool(drift.flagged[j]),
        "time": drift.time[j],
        "judgment": change.position,
        "before": list(change.before),
        "after": list(change.after),
    }


def item_rows(fit: Fit, judgments: Judgments, pairs: Mapping[int, tuple[str, str]]) -> dict[str, Any]:
    """Return the items that deserve a second look, by reason: uncertain, contested, gold, helpful."""
    from adjudge.diagnostics.second_looks import second_looks

    def row(look: Any) -> dict[str, Any]:
        number = int(look.item)
        topic, document = pairs[number]
        return {**look._asdict(), "item": number, "topic": topic, "document": document}

    looks_by_reason = second_looks(fit, judgments, most=MOST)
    return {reason: [row(look) for look in looks] for reason, looks in looks_by_reason.by_reason().items()}


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(POLITE)
    sys.exit(main(sys.argv[1:]))

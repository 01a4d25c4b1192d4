"""Judges and items as the desk shows them, in plain lists and numbers: cards, drift, and what to look at.

Everything here is of ``judges`` and ``report``; it runs in the consensus' own process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from adjudge.errors import AdjudgeError

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.diagnostics.cards import Card
    from adjudge.diagnostics.drift import Change, Drift
    from adjudge.inference.result import Fit


MOST = 20  # items to look at, for each reason


def judge_rows(fit: Fit, judgments: Judgments, people: Mapping[str, int]) -> dict[str, Any]:
    """Return a card for every judge, with her matrix, its intervals and whether she changed."""
    from adjudge.diagnostics.cards import cards
    from adjudge.reports.judge_section import lines

    moved = _drift(fit, judgments)
    known = cards(fit, judgments)
    rows = [
        {
            **_card(card),
            "person": people[card.judge],
            "lines": [list(line) for line in lines(card, fit.scale.names)],
            "drift": None if moved is None else _change(moved, j),
        }
        for j, card in enumerate(known)
    ]
    said = "Whether judges changed cannot be told yet." if moved is None else moved.sentence
    return {"labels": list(fit.scale.names), "judges": rows, "drift": said, "reliability": known.reliability}


def _card(card: Card) -> dict[str, Any]:
    """Return a card in plain numbers: an estimate is its value and the ends of its 90 % interval."""
    from adjudge.diagnostics.cards import ESTIMATES

    matrices = {name: getattr(card, name).tolist() for name in ("confusion", "confusion_low", "confusion_high")}
    estimates = {column: _numbers(getattr(card, name)) for column, name in ESTIMATES.items()}
    plain = ("judge", "judgments", "items", "topics", "seconds", "p_chance", "p_adversarial", "sentence")
    values = {name: getattr(card, name) for name in plain}
    return {**values, **estimates, **matrices, "reasons": dict(card.reasons)}


def _numbers(estimate: Sequence[float] | None) -> list[float] | None:
    """Return an estimate as a list, None where there is none."""
    return None if estimate is None else [float(number) for number in estimate]


def _drift(fit: Fit, judgments: Judgments) -> Drift | None:
    """Return who changed; None where that cannot be asked."""
    from adjudge.diagnostics.drift import drift

    try:
        return drift(fit, judgments)
    except AdjudgeError:
        return None


def _change(moved: Drift, j: int) -> dict[str, Any] | None:
    """Return what is said of one judge's changes; None where she has too few judgments."""
    change: Change | None = moved.changes[j]
    if change is None:
        return None
    return {
        "changed": change.changed,
        "flagged": bool(moved.flagged[j]),
        "time": moved.time[j],
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

    found = second_looks(fit, judgments, most=MOST)
    return {why: [row(look) for look in looks] for why, looks in found.by_reason().items()}

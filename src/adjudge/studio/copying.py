"""Pairs of judges who agree more than chance: the test of ``diagnostics.collusion`` on the live record, for the desk.

``refresh_consensus`` computes it in its own process together with the cards of judges and writes ``pairs.json``; the
desk only reads that file. A pair is named if it agrees more than the consensus explains, on all documents that both
judged; how often both gave the same wrong answer to gold is counted beside it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjudge.errors import AdjudgeError
from adjudge.studio.consensus import FOLDER, AcceptedJudgments

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.inference.result import Fit

PAIRS = "pairs.json"
TOO_LITTLE = "There is too little data to see whether judges copy from each other."
MOST = 400_000  # judgments; with more, the test would take minutes


class Pair(NamedTuple):
    """Two judges who agree more than chance."""

    people: tuple[int, int]
    names: tuple[str, str]
    shared: int  # documents that both judged
    agreed: int
    expected: float  # agreement of two independent judges who are as good
    wrong: float  # common wrong answers
    expected_wrong: float
    gold: int  # gold that both judged
    gold_wrong: int  # to which both gave the same wrong answer
    rate: float  # share of false alarms among the pairs that are named


class Pairs(NamedTuple):
    """The result of the test: the pairs that are named, and a sentence."""

    sentence: str
    pairs: tuple[Pair, ...] = ()


def find_pairs(fit: Fit, judgments: Judgments, rows: AcceptedJudgments) -> Pairs:
    """Return the pairs of judges who agree more than the fit allows.

    Parameters
    ----------
    fit, judgments
        The consensus, and the judgments that it was made from.
    rows
        The same judgments by the numbers of people and items, with gold.
    """
    from adjudge.diagnostics.collusion import collusion

    if len(judgments) > MOST:
        return Pairs(
            f"There are more than {MOST:,} judgments: fit an export, and use `adjudge monitor` to find copying."
        )
    try:
        result = collusion(fit, judgments)
    except AdjudgeError:
        return Pairs(TOO_LITTLE)
    if not result.first.size:
        return Pairs(TOO_LITTLE)
    people = np.unique(rows.person)  # in the order of the judges of the fit
    test = result.test
    pairs = []
    for k in np.flatnonzero(result.flagged).tolist():
        first, second = int(people[result.first[k]]), int(people[result.second[k]])
        figures = (int(result.shared[k]), int(test.agreed[k]), float(test.expected[k]))
        errors = (float(test.wrong[k]), float(test.expected_wrong[k]))
        gold = _common_gold(rows, first, second)
        names = (rows.names[first], rows.names[second])
        pairs.append(Pair((first, second), names, *figures, *errors, *gold, float(result.rate[k])))
    return Pairs(result.sentence, tuple(pairs))


def _common_gold(rows: AcceptedJudgments, first: int, second: int) -> tuple[int, int]:
    """Return how many gold items two people judged, and to how many they gave the same wrong answer."""
    first_answers, second_answers = (_answers_to_gold(rows, person) for person in (first, second))
    common = first_answers.keys() & second_answers.keys()
    return len(common), sum(first_answers[item] == second_answers[item] != rows.gold[item] for item in common)


def _answers_to_gold(rows: AcceptedJudgments, person: int) -> dict[int, int]:
    """Return a person's answers to gold."""
    by_person = rows.person == person
    return {
        item: label
        for item, label in zip(rows.item[by_person].tolist(), rows.relevance[by_person].tolist(), strict=True)
        if item in rows.gold
    }


def pairs_json(pairs: Pairs) -> dict[str, Any]:
    """Return pairs as JSON values."""
    return {"sentence": pairs.sentence, "pairs": [pair._asdict() for pair in pairs.pairs]}


def read_pairs(folder: Path) -> Pairs:
    """Return the pairs of the last consensus of a campaign; without one, there are none."""
    try:
        content: Mapping[str, Any] = json.loads((folder / FOLDER / PAIRS).read_text("utf-8"))
        pairs = [
            Pair(**{**row, "people": tuple(row["people"]), "names": tuple(row["names"])}) for row in content["pairs"]
        ]
        return Pairs(content["sentence"], tuple(pairs))
    except (OSError, ValueError, KeyError, TypeError):
        return Pairs("")

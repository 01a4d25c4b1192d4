"""One sentence about a judge, and whether they are a poor judge: those of the first rule that holds.

A rule claims no more than the 90 % interval supports. Rules are data: ``RULES`` holds the condition, the standing and
the sentence of each, and ``WORDS`` computes the words in braces. A judge is poor if their labels are no better, or
hardly better, than guessing, and useful if they are surely better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.diagnostics.evidence import Estimate
from adjudge.errors import quote

FEW = 5  # judgments below which nothing is said about a judge
FEW_FOR_BLAME = 10  # judgments below which nothing negative is said
ENOUGH_ITEMS = 3.0  # items of a truth that a judge must have judged before their labels for it are described
SURE = 0.95  # probability from which a claim is made
RANDOM = 0.2  # largest absolute Youden's J of a judge who is said to answer at random
WEAK = 0.3  # largest Youden's J of a judge who is said to be hardly better than guessing
NOTABLE = 0.1  # smallest rate of a confusion that is named, at the low end of its interval
FREQUENT = 0.25  # rate from which a confusion is named however common it is among judges
EXCESS = 1.25  # a rarer confusion is named from this multiple of the typical judge's rate
LEANING = 0.25  # levels of the scale, at the near end of the interval, from which a shift is named
GOOD, EXCELLENT = 0.8, 0.95  # chances of being right, at the low end of the interval
GOOD_SO_FAR, PROMISING = 0.85, 0.6  # chances of being right, expected and at the low end, of a promising judge
WIDE = 0.3  # width of the interval of the chance of being right that leaves it open
NAMED = 2  # confusions in a sentence
POOR, USEFUL, UNCLEAR = "poor", "useful", "unclear"  # standings of judges

FRACTIONS = (  # a share, as a number of things, and as a part of a quantity
    (0.01, "very few", "hardly any"),
    (1 / 30, "one in thirty", "a thirtieth"),
    (1 / 20, "one in twenty", "a twentieth"),
    (1 / 10, "one in ten", "a tenth"),
    (1 / 8, "one in eight", "an eighth"),
    (1 / 7, "one in seven", "a seventh"),
    (1 / 6, "one in six", "a sixth"),
    (1 / 5, "one in five", "a fifth"),
    (1 / 4, "one in four", "a quarter"),
    (1 / 3, "one in three", "a third"),
    (2 / 5, "two in five", "two fifths"),
    (1 / 2, "half the", "half"),
    (3 / 5, "three in five", "three fifths"),
    (2 / 3, "two in three", "two thirds"),
    (3 / 4, "three in four", "three quarters"),
    (4 / 5, "four in five", "four fifths"),
    (9 / 10, "nine in ten", "nine tenths"),
    (0.98, "nearly all", "nearly all"),
)


class JudgeFacts(NamedTuple):
    """The numbers that rules depend on."""

    names: tuple[str, ...]  # (K)
    judgments: int
    checkable: int  # judgments of items that another judge judged, too, or whose truth is known
    labels: Floats  # (K) how often each label was given
    truths: Floats  # (K) expected truths of the items
    right: Estimate
    informedness: Estimate
    p_chance: float
    p_adversarial: float
    cell: Floats  # (K, K) confusion matrix
    low: Floats  # (K, K) the low ends of its intervals
    typical: Floats  # (K, K) confusion matrix of the typical judge
    shift: Estimate | None  # levels too high, if the labels are ordered


class Rule(NamedTuple):
    """A condition, and what it says about a judge."""

    name: str
    holds: Callable[[JudgeFacts], bool]
    sentence: str
    standing: str = USEFUL


def share_of_items(share: float) -> str:
    """Return a share as a number of items: ``one in three``, ``half the``."""
    return min(FRACTIONS, key=lambda fraction: abs(fraction[0] - share))[1]


def share_of_total(share: float) -> str:
    """Return a share as a part of a total: ``a third``, ``half``."""
    return min(FRACTIONS, key=lambda fraction: abs(fraction[0] - share))[2]


def some_names(names: Sequence[object], most: int = 5) -> str:
    """Return the first names, and how many more there are.

    >>> some_names(["ann", "bob", "cy"], most=2)
    "'ann', 'bob' and 1 more"
    """
    more = len(names) - most
    return ", ".join(map(quote, names[:most])) + (f" and {more:,} more" if more > 0 else "")


def notable_confusions(cell: Floats, low: Floats, truths: Floats, typical: Floats) -> list[tuple[int, int]]:
    """Return the confusions (truth, label) of a judge that are worth naming, the one that costs most labels first.

    The judge must have judged enough items of the truth, surely make the confusion in a tenth of cases, and make it
    more often than the typical judge or in a quarter of cases.
    """
    often = (low >= FREQUENT) | (low > EXCESS * typical)
    worth_naming = (low >= NOTABLE) & often & (truths[:, None] >= ENOUGH_ITEMS) & ~np.eye(truths.size, dtype=bool)
    rows, columns = np.nonzero(worth_naming)
    order = np.argsort(-(truths[:, None] * cell)[rows, columns], kind="stable")
    return [(int(rows[n]), int(columns[n])) for n in order]


def first_rule(facts: JudgeFacts) -> Rule:
    """Return the first rule that holds."""
    return next(rule for rule in RULES if rule.holds(facts))


def assess(facts: JudgeFacts) -> tuple[str, str]:
    """Return one sentence about a judge, and their standing."""
    rule = first_rule(facts)
    return rule.sentence.format_map(_Words(facts)), rule.standing


class _Words(dict[str, str]):
    """The words of a sentence, each computed when it is used."""

    def __init__(self, facts: JudgeFacts) -> None:
        super().__init__()
        self.facts = facts

    def __missing__(self, word: str) -> str:
        return WORDS[word](self.facts)


def _always_one(facts: JudgeFacts) -> bool:
    """Whether the judge gave a single label although enough items have another truth."""
    only = int(facts.labels.argmax())
    single = facts.labels.sum() - facts.labels[only] == 0
    return bool(single and facts.truths.sum() - facts.truths[only] >= ENOUGH_ITEMS)


def _surely(facts: JudgeFacts, probability: float) -> bool:
    """Whether a negative claim is probable enough and rests on enough judgments."""
    return probability >= SURE and facts.judgments >= FEW_FOR_BLAME


def _leans(facts: JudgeFacts) -> bool:
    """Whether the labels are surely too high, or surely too low."""
    return facts.shift is not None and (facts.shift.low > LEANING or facts.shift.high < -LEANING)


def _patterns(facts: JudgeFacts) -> list[tuple[int, int]]:
    """Return the confusions that the sentence names."""
    return notable_confusions(facts.cell, facts.low, facts.truths, facts.typical)[:NAMED]


def _confusions(facts: JudgeFacts) -> str:
    """Return the confusions in words."""
    shares = [(facts.cell[truth, label], truth, label) for truth, label in _patterns(facts)]
    return " and ".join(
        f"{share_of_items(share)} {quote(facts.names[truth])} items {quote(facts.names[label])}"
        for share, truth, label in shares
    )


def _otherwise(facts: JudgeFacts) -> str:
    """Return an addition about the items of all other truths, if their labels are good."""
    named = [truth for truth, _ in _patterns(facts)]
    rest = np.delete(facts.truths, named)
    right = rest @ np.delete(np.diagonal(facts.cell), named)
    return "; otherwise reliable" if rest.sum() >= ENOUGH_ITEMS and right >= GOOD * rest.sum() else ""


def _levels(facts: JudgeFacts) -> str:
    """Return the size of the shift in levels of the scale."""
    off = abs(facts.shift.value) if facts.shift is not None else 0.0
    if off >= 0.9:
        return f"{off:.1f} levels"
    share = share_of_total(off)
    return f"{share} {'a' if share == 'half' else 'of a'} level"


WORDS: Mapping[str, Callable[[JudgeFacts], str]] = {
    "n": lambda facts: f"{facts.judgments:,}",
    "label": lambda facts: quote(facts.names[int(facts.labels.argmax())]),
    "levels": _levels,
    "direction": lambda facts: "high" if facts.shift is not None and facts.shift.value > 0 else "low",
    "confusions": _confusions,
    "otherwise": _otherwise,
    "right": lambda facts: share_of_items(facts.right.value),
}

RULES = (
    Rule(
        "one label",
        lambda facts: len(facts.names) == 1,
        "There is only one label, so nothing can be said about the judge.",
        UNCLEAR,
    ),
    Rule("few", lambda facts: facts.judgments < FEW, "Too few judgments ({n}) for an assessment.", UNCLEAR),
    Rule(
        "alone",
        lambda facts: not facts.checkable,
        "Nobody else judged these items, so the labels cannot be checked.",
        UNCLEAR,
    ),
    Rule("one answer", _always_one, "Always gives the label {label}.", POOR),
    Rule(
        "opposite",
        lambda facts: len(facts.names) == 2 and _surely(facts, facts.p_adversarial) and facts.right.high < 0.5,
        "Gives the opposite of the truth more often than not; check whether the labels were swapped.",
        POOR,
    ),
    Rule(
        "worse",
        lambda facts: _surely(facts, facts.p_adversarial),
        "Wrong more often than a random guess; check whether labels were swapped.",
        POOR,
    ),
    Rule(
        "random",
        lambda facts: -RANDOM < facts.informedness.low <= 0 and facts.informedness.high < RANDOM,
        "Answers at random: the labels carry no information.",
        POOR,
    ),
    Rule(
        "weak",
        lambda facts: facts.informedness.low > 0 and facts.informedness.high < WEAK,
        "Hardly better than guessing: the labels carry little information.",
        POOR,
    ),
    Rule(
        "no better", lambda facts: _surely(facts, facts.p_chance), "No better than guessing, and perhaps worse.", POOR
    ),
    Rule(
        "open",
        lambda facts: facts.informedness.low <= 0,
        "Not yet distinguishable from guessing ({n} judgments).",
        UNCLEAR,
    ),
    Rule("leaning", _leans, "Rates {levels} too {direction} on average."),
    Rule("confusing", lambda facts: bool(_patterns(facts)), "Calls {confusions}{otherwise}."),
    Rule("excellent", lambda facts: facts.right.low >= EXCELLENT, "Very reliable."),
    Rule("reliable", lambda facts: facts.right.low >= GOOD, "Reliable."),
    Rule(
        "promising",
        lambda facts: facts.right.low >= PROMISING and facts.right.value >= GOOD_SO_FAR,
        "Reliable so far ({n} judgments).",
    ),
    Rule(
        "wide",
        lambda facts: facts.right.high - facts.right.low > WIDE,
        "Better than guessing; more judgments are needed to say how much.",
    ),
    Rule("even", lambda facts: True, "Right on about {right} items; no single confusion stands out."),
)

"""A judge in one sentence, for a lead: the first rule that holds, in plain words.

A rule claims no more than the 90 % interval supports. Rules are data: ``RULES`` holds each with when it holds and what
it says, and ``WORDS`` what stands in for each word in braces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.diagnostics.evidence import Estimate
from adjudge.errors import quote

FEW = 5  # judgments below which nothing is said of a judge
ACCUSED = 10  # judgments below which nothing bad is
MET = 3.0  # items of a truth that a judge must have met before anything is said of how she labels it
SURE = 0.95  # the probability from which on something is said of her
BLIND = 0.2  # informedness, either way, that she may at most have and still be said to answer at random
WEAK = 0.3  # the same for hardly better
NOTABLE = 0.1  # the least rate of a confusion, at the low end of its interval, that deserves a word
PLAIN = 0.25  # the rate from which on it does so however common it is among judges
BEYOND = 1.25  # times the rate of the typical judge, from which on a rarer one does
LEANING = 0.25  # places on the scale, at the near end of the interval, that deserve a word
GOOD, EXCELLENT = 0.8, 0.95  # chances of being right, of a judge at the low end of the interval
SO_FAR, PROMISING = 0.85, 0.6  # chances of being right, expected and at the low end, that are good for a beginning
WIDE = 0.3  # an interval of the chance of being right that leaves it open
NAMED = 2  # confusions in a sentence

FRACTIONS = (  # a share, how many of things it is, and which part of a whole
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


class Seen(NamedTuple):
    """What rules are about."""

    names: tuple[str, ...]  # (K)
    judgments: int
    others: int  # of these, how many are of items that someone else judged too, or whose truth is known
    said: Floats  # (K) labels given
    met: Floats  # (K) truths of the items, expected
    right: Estimate
    informedness: Estimate
    p_chance: float
    p_adversarial: float
    cell: Floats  # (K, K) the matrix
    low: Floats  # (K, K) the low ends of its intervals
    typical: Floats  # (K, K) the matrix of the typical judge
    shift: Estimate | None  # places too high, where labels are in an order


class Rule(NamedTuple):
    """When a sentence holds, and the sentence."""

    name: str
    holds: Callable[[Seen], bool]
    says: str


def how_many(share: float) -> str:
    """Return a share as so many of things: ``one in three``, ``half the``."""
    return min(FRACTIONS, key=lambda fraction: abs(fraction[0] - share))[1]


def part(share: float) -> str:
    """Return a share as a part of a whole: ``a third``, ``half``."""
    return min(FRACTIONS, key=lambda fraction: abs(fraction[0] - share))[2]


def notable(cell: Floats, low: Floats, met: Floats, typical: Floats) -> list[tuple[int, int]]:
    """Return the confusions (truth, label) of a judge that deserve a word, the one that costs most labels first.

    One does where she has met the truth, does it surely in a tenth of cases, and more than the typical judge does or
    in a quarter of cases.
    """
    often = (low >= PLAIN) | (low > BEYOND * typical)
    deserving = (low >= NOTABLE) & often & (met[:, None] >= MET) & ~np.eye(met.size, dtype=bool)
    truths, labels = np.nonzero(deserving)
    order = np.argsort(-(met[:, None] * cell)[truths, labels], kind="stable")
    return [(int(truths[n]), int(labels[n])) for n in order]


def rule_of(seen: Seen) -> Rule:
    """Return the first rule that holds."""
    return next(rule for rule in RULES if rule.holds(seen))


def sentence(seen: Seen) -> str:
    """Return a judge in one sentence."""
    return rule_of(seen).says.format_map(_Words(seen))


class _Words(dict[str, str]):
    """The words of a sentence, each found when it is asked for."""

    def __init__(self, seen: Seen) -> None:
        super().__init__()
        self.seen = seen

    def __missing__(self, word: str) -> str:
        return WORDS[word](self.seen)


def _always_one(seen: Seen) -> bool:
    """Whether only one label was given, and not because all items deserve it."""
    given = int(seen.said.argmax())
    return bool(seen.said.sum() - seen.said[given] == 0 and seen.met.sum() - seen.met[given] >= MET)


def _surely(seen: Seen, probability: float) -> bool:
    """Whether something bad is sure enough, and rests on enough, to be said."""
    return probability >= SURE and seen.judgments >= ACCUSED


def _leans(seen: Seen) -> bool:
    """Whether labels are surely too high, or too low."""
    return seen.shift is not None and (seen.shift.low > LEANING or seen.shift.high < -LEANING)


def _patterns(seen: Seen) -> list[tuple[int, int]]:
    """Return the confusions that are named."""
    return notable(seen.cell, seen.low, seen.met, seen.typical)[:NAMED]


def _confusions(seen: Seen) -> str:
    """Return the confusions in words."""
    shares = [(seen.cell[truth, label], truth, label) for truth, label in _patterns(seen)]
    return " and ".join(
        f"{how_many(share)} {quote(seen.names[truth])} items {quote(seen.names[label])}"
        for share, truth, label in shares
    )


def _otherwise(seen: Seen) -> str:
    """Return a word for the items of all other truths, where the labels of these are good."""
    named = [truth for truth, _ in _patterns(seen)]
    met = np.delete(seen.met, named)
    right = met @ np.delete(np.diagonal(seen.cell), named)
    return "; otherwise reliable" if met.sum() >= MET and right >= GOOD * met.sum() else ""


def _levels(seen: Seen) -> str:
    """Return how far labels are off, in levels of the scale."""
    off = abs(seen.shift.value) if seen.shift is not None else 0.0
    return f"{part(off)} {'a' if part(off) == 'half' else 'of a'} level" if off < 0.9 else f"{off:.1f} levels"


WORDS: Mapping[str, Callable[[Seen], str]] = {
    "n": lambda seen: f"{seen.judgments:,}",
    "label": lambda seen: quote(seen.names[int(seen.said.argmax())]),
    "levels": _levels,
    "way": lambda seen: "high" if seen.shift is not None and seen.shift.value > 0 else "low",
    "confusions": _confusions,
    "otherwise": _otherwise,
    "right": lambda seen: how_many(seen.right.value),
}

RULES = (
    Rule("one label", lambda seen: len(seen.names) == 1, "There is only one label, which tells nothing of a judge."),
    Rule("few", lambda seen: seen.judgments < FEW, "Too few judgments ({n}) to tell."),
    Rule("alone", lambda seen: not seen.others, "Nobody else judged these items: nothing to hold the labels against."),
    Rule("one answer", _always_one, "Always says {label}."),
    Rule(
        "opposite",
        lambda seen: len(seen.names) == 2 and _surely(seen, seen.p_adversarial) and seen.right.high < 0.5,
        "Says the opposite of the truth more often than not; check whether the labels were swapped.",
    ),
    Rule(
        "worse",
        lambda seen: _surely(seen, seen.p_adversarial),
        "Wrong more often than a blind guess would be; check whether labels were swapped.",
    ),
    Rule(
        "random",
        lambda seen: -BLIND < seen.informedness.low <= 0 and seen.informedness.high < BLIND,
        "Answers at random: knowing the label tells nothing.",
    ),
    Rule(
        "weak",
        lambda seen: seen.informedness.low > 0 and seen.informedness.high < WEAK,
        "Hardly better than guessing: knowing the label tells little.",
    ),
    Rule("no better", lambda seen: _surely(seen, seen.p_chance), "No better than guessing, and perhaps worse."),
    Rule("open", lambda seen: seen.informedness.low <= 0, "Cannot be told from guessing yet ({n} judgments)."),
    Rule("leaning", _leans, "Rates {levels} too {way} on average."),
    Rule("confusing", lambda seen: bool(_patterns(seen)), "Calls {confusions}{otherwise}."),
    Rule("excellent", lambda seen: seen.right.low >= EXCELLENT, "Very reliable."),
    Rule("reliable", lambda seen: seen.right.low >= GOOD, "Reliable."),
    Rule(
        "promising",
        lambda seen: seen.right.low >= PROMISING and seen.right.value >= SO_FAR,
        "Reliable so far ({n} judgments).",
    ),
    Rule(
        "wide",
        lambda seen: seen.right.high - seen.right.low > WIDE,
        "Better than guessing; more judgments will tell how much.",
    ),
    Rule("even", lambda seen: True, "Right on about {right} items; no one confusion stands out."),
)

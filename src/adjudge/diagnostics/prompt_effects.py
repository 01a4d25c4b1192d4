"""``prompt_effects``: how the prompt of a model changes its labels, and how the order of two options does.

The labels of a prompt are compared with those of the other prompts of the same model on the same items. Every item
gives one difference, and the intervals and tests are from the spread of these differences among items. All tests of a
panel are corrected together (Holm), because one of many prompts always looks unusual.

Positions are compared if two judges of a model differ in the order of the options only: their prompts (or their
names) are the same but for a word such as ab and ba, or original and swapped. Their labels must name the option,
whatever its position. A judge without position bias gives the same label in both orders, and chooses the option that
is shown first as often as the other.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.panel import Panel
from adjudge.diagnostics.effective_judges import SURE, Estimate
from adjudge.errors import UsageError, quote
from adjudge.metrics.significance import holm

LEVEL = 0.05  # of tests, all together
FEWEST_ITEMS = 20  # shared items below which prompts are not compared
ORDERS = {  # word -> whether the options are in their original order
    "ab": True, "ba": False, "12": True, "21": False, "original": True, "swapped": False, "swap": False,
    "forward": True, "reverse": False, "reversed": False, "unswapped": True,
}  # fmt: skip
TIES = ("tie", "ties", "draw", "equal", "both", "neither")  # a third label that names no option


class PromptEffect(NamedTuple):
    """What one prompt changes, compared with the other prompts of its model on the same items."""

    model: str
    prompt: str
    measure: str  # share of a label, or accuracy on gold
    items: int
    share: float  # of the labels of this prompt
    others: float  # the mean of the other prompts
    difference: Estimate
    p: float  # corrected for all tests of the panel
    unusual: bool


class PositionEffect(NamedTuple):
    """What the order of the options changes for one prompt of a model."""

    model: str
    prompt: str  # without the word for the order
    items: int
    flips: Estimate  # share of items whose label changes with the order
    first: Estimate | None  # share of labels for the option that is shown first; None if labels do not name two options
    p: float | None  # of a first share of one half, corrected for all tests of the panel
    biased: bool


def prompt_effects(judgments: Judgments, gold: Codes | None = None) -> tuple[PromptEffect, ...]:
    """Return the effects of prompts, the most certain first; no judge repeats an item.

    A panel without two prompts of a model is a ``UsageError``.
    """
    panel = _panel(judgments)
    pairs = [(model, prompt) for model, prompt in zip(panel.model, panel.prompt, strict=True)]
    groups = sorted({(model, prompt) for model, prompt in pairs if model is not None and prompt is not None})
    several = {model for model, _ in groups if sum(model == other for other, _ in groups) > 1}
    if not several:
        raise UsageError("no model has two prompts: give judges with the columns model and prompt")
    code: dict[tuple[str | None, str | None], int] = {group: n for n, group in enumerate(groups)}
    group = np.array([code.get(pair, -1) for pair in pairs])
    raw: list[tuple[PromptEffect, float]] = []
    for model in sorted(several):
        of_model = [n for n, each in enumerate(groups) if each[0] == model]
        rows = np.flatnonzero(np.isin(group[judgments.judge], of_model))
        raw += _model_effects(judgments, gold, rows, group, [(n, groups[n]) for n in of_model])
    if not raw:
        raise UsageError(f"no two prompts of a model have {FEWEST_ITEMS} items in common")
    adjusted = holm(np.array([p for _, p in raw]))
    effects = [each._replace(p=float(p), unusual=bool(p < LEVEL)) for (each, _), p in zip(raw, adjusted, strict=True)]
    return tuple(sorted(effects, key=lambda each: (each.p, -abs(each.difference.value))))


def _model_effects(
    judgments: Judgments, gold: Codes | None, rows: Codes, group: Codes, prompts: Sequence[tuple[int, tuple[str, str]]]
) -> list[tuple[PromptEffect, float]]:
    """Return the effects of the prompts of one model with their p-values, from its judgments ``rows``."""
    item, prompt, label = judgments.item()[rows], group[judgments.judge[rows]], judgments.label[rows]
    names, K = judgments.scale.names, len(judgments.scale)
    codes = range(1, 2) if K == 2 else range(K)
    measures = [(f"share of {quote(names[k])}", (label == k).astype(float), np.ones(rows.size, bool)) for k in codes]
    if gold is not None and (gold[item] >= 0).any():
        measures.append(("accuracy", (label == gold[item]).astype(float), gold[item] >= 0))
    effects = []
    for n, (model, name) in prompts:
        for measure, value, used in measures:
            with_prompt = used & (prompt == n)
            with_others = used & (prompt != n)
            mine, theirs = _item_means(item, value, with_prompt, with_others)
            if mine.size < FEWEST_ITEMS:
                continue
            difference, p = _paired(mine - theirs)
            means = float(mine.mean()), float(theirs.mean())
            effects.append((PromptEffect(model, name, measure, mine.size, *means, difference, p, False), p))
    return effects


def _item_means(item: Codes, value: Floats, first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return the means of two groups of judgments on each item that both have."""
    size = int(item.max(initial=0)) + 1
    counts = [np.bincount(item[rows], minlength=size) for rows in (first, second)]
    sums = [np.bincount(item[rows], value[rows], size) for rows in (first, second)]
    both = (counts[0] > 0) & (counts[1] > 0)
    return sums[0][both] / counts[0][both], sums[1][both] / counts[1][both]


def _paired(difference: Floats, null: float = 0.0) -> tuple[Estimate, float]:
    """Return the mean of differences of items with its interval, and p of the hypothesis that it is ``null``."""
    mean = float(difference.mean())
    error = float(difference.std(ddof=1) / np.sqrt(difference.size)) if difference.size > 1 else 0.0
    if error == 0:
        return Estimate(mean, mean, mean), 1.0 if mean == null else 0.0
    return Estimate(mean, mean - SURE * error, mean + SURE * error), float(2 * ndtr(-abs(mean - null) / error))


def position_effects(judgments: Judgments) -> tuple[PositionEffect, ...]:
    """Return the effects of the order of two options, the most certain first; no judge repeats an item."""
    panel = _panel(judgments)
    pairs = _orders(panel, [str(name) for name in judgments.judges.to_list()])
    if not pairs:
        raise UsageError("no two judges of a model differ in the order of the options only")
    names = [name.lower() for name in judgments.scale.names]
    two = len(names) == 2 or (len(names) == 3 and names[2] in TIES)
    item, results = judgments.item(), []
    for (model, prompt), (original, swapped) in pairs.items():
        labels = np.full((2, len(judgments.items)), -1)
        for side, judge in enumerate((original, swapped)):
            rows = judgments.judge == judge
            labels[side, item[rows]] = judgments.label[rows]
        both = (labels >= 0).all(axis=0)
        if both.sum() < FEWEST_ITEMS:
            continue
        straight, turned = labels[:, both]
        flips, _ = _paired((straight != turned).astype(float))
        chosen = (straight < 2) | (turned < 2)
        shown_first = (straight == 0) / 2 + (turned == 1) / 2 + ((straight > 1) / 4 + (turned > 1) / 4)  # a tie is half
        first, p = _paired(shown_first[chosen], 0.5) if two and chosen.sum() > 1 else (None, None)
        results.append(PositionEffect(model, prompt, int(both.sum()), flips, first, p, False))
    if not results:
        raise UsageError(f"no two judges that differ in the order of the options have {FEWEST_ITEMS} items in common")
    tested = [n for n, each in enumerate(results) if each.p is not None]
    adjusted = holm(np.array([results[n].p for n in tested], float))
    for n, p in zip(tested, adjusted.tolist(), strict=True):
        results[n] = results[n]._replace(p=p, biased=p < LEVEL)
    return tuple(sorted(results, key=lambda each: (1.0 if each.p is None else each.p, -each.flips.value)))


def _orders(panel: Panel, judges: Sequence[str]) -> dict[tuple[str, str], tuple[int, int]]:
    """Return (model, rest of the prompt) -> the judges with the original and the swapped order."""
    sides: dict[tuple[str, str], dict[bool, int]] = {}
    for j, judge in enumerate(judges):
        words = re.split(r"[^A-Za-z0-9]+", panel.prompt[j] or judge)
        orders = [word for word in words if word.lower() in ORDERS]
        if len(orders) == 1:
            rest = " ".join(word for word in words if word and word != orders[0])
            sides.setdefault((panel.model[j] or panel.family[j], rest), {}).setdefault(ORDERS[orders[0].lower()], j)
    alone = {key: each for key, each in sides.items() if len(each) == 2}
    return {key: (each[True], each[False]) for key, each in alone.items()}


def _panel(judgments: Judgments) -> Panel:
    """Return the panel; refuse judgments without one."""
    if judgments.panel is None:
        raise UsageError("nothing says which models and prompts the judges are: give judges")
    return judgments.panel

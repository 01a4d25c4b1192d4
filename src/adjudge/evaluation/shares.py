"""Estimates of the share of items that have a label, from what judges say about all items and gold of a random sample.

There are I items. Judges give item i the probability f_i of having the label; its truth y_i, 1 or 0, is known for the
gold items only. Gold item i was drawn with the probability pi_i and stands for w_i = 1 / pi_i items. In a simple random
sample pi is the share of gold items. Four estimates:

- *gold alone*: the weighted mean of y, with the interval of Wilson (1927);
- *rogan-gladen* (Rogan and Gladen 1978): (q + sp - 1) / (se + sp - 1), where q is the share of items whose consensus is
  the label, and the sensitivity se and the specificity sp of the consensus are those on gold, with the interval of Lang
  and Reiczigel (2014);
- *ppi++* (Angelopoulos, Duchi and Zrnic 2023): lambda mean f + mean_gold (y - lambda f), where lambda is cov(y, f) /
  var(f), between 0 and 1, with an interval of Student's t;
- *post-stratified*: items are put into strata by f, and sum_h W_h p_h adds the weighted means of y on the gold items of
  each stratum; the interval adds the squares of what Wilson's intervals of the strata leave on either side (MOVER; Zou
  and Donner 2008).

With rho the correlation of y and f, the variances of gold alone, of post-stratified and ppi++, and of rogan-gladen are
in large samples as 1 : 1 - rho^2 : (1 - rho^2) / rho^2, so that rogan-gladen is never the narrowest. The interval of
ppi++ is too narrow while gold shows few errors of the judges: without any it has no width. That of the strata is not,
and is used wherever the judges' probabilities differ enough to make strata. These are made before the truth of any gold
item is looked at, so that the choice does not depend on it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student

from adjudge.arrays import Codes, Flags, Floats

LEVEL = 0.95  # of each side: intervals have 90 %
Z = float(norm.ppf(LEVEL))
MOST_STRATA = 5
FEWEST = 2  # gold items of a stratum
ALONE, STRATIFIED = "gold alone", "post-stratified"
SMALLEST = 1e-12


class Items(NamedTuple):
    """Items, what judges say about them, and the truths of those that are gold."""

    chance: Floats  # (I) of having the label, by the judges
    called: Flags  # (I) whether the label of the consensus is it
    truth: Floats  # (I) 1 if the item has the label, 0 if not, nan if it is not gold
    probability: Floats | None = None  # (I) of being drawn, of gold items; None for a simple random sample

    @property
    def gold(self) -> Codes:
        """The positions of the gold items."""
        return np.flatnonzero(~np.isnan(self.truth))

    def take(self, rows: Codes) -> Items:
        """Return some of the items."""
        probability = None if self.probability is None else self.probability[rows]
        return Items(self.chance[rows], self.called[rows], self.truth[rows], probability)

    def drawn_with(self) -> Floats:
        """Return the probability with which each gold item was drawn (G)."""
        gold = self.gold
        return np.full(gold.size, gold.size / self.chance.size) if self.probability is None else self.probability[gold]


class Share(NamedTuple):
    """An estimate of a share, with the ends of its 90 % interval."""

    value: float
    low: float
    high: float


class Strata(NamedTuple):
    """The share in every stratum, by its gold items."""

    stratum: Codes  # (I)
    weight: Floats  # (H) the share of the items
    share: Floats  # (H)
    inverse: Floats  # (H) 1 / effective number of gold items; 0 if all items are gold


def wilson(share: Floats | float, inverse: Floats | float) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's interval of a share, by the ``inverse`` of the number of items that it was seen on.

    >>> [round(float(end), 4) for end in wilson(0.1, 1 / 50)]
    [0.0495, 0.1915]
    """
    share, added = np.asarray(share), Z**2 * np.asarray(inverse)
    centre, half = share + added / 2, np.sqrt(added * share * (1 - share) + added**2 / 4)
    return (centre - half) / (1 + added), (centre + half) / (1 + added)


def gold_alone(items: Items, population: bool = False) -> Share:
    """Return the share among gold items, with Wilson's interval; ``population`` for items like these, not for these."""
    pi = items.drawn_with()
    value = float(np.average(items.truth[items.gold], weights=1 / pi))
    low, high = wilson(value, _inverse_size(pi) + population / items.chance.size)
    return Share(value, float(low), float(high))


def rogan_gladen(items: Items, population: bool = False) -> Share | None:
    """Return the share that the consensus shows, corrected for its errors; None if it is no better than chance.

    The interval is that of Lang and Reiczigel (2014). The share of these items that the consensus calls is known, so
    that its variance only counts for a population.
    """
    pi, y, called = items.drawn_with(), items.truth[items.gold] == 1, items.called[items.gold]
    if y.all() or not y.any():
        return None
    rates, variances = [], []
    for members, right in ((y, called), (~y, ~called)):
        inverse = _inverse_size(pi[members])
        rate = (np.average(right[members], weights=1 / pi[members]) + inverse) / (1 + 2 * inverse)
        rates.append(float(rate))
        variances.append(float(rate * (1 - rate) * inverse / (1 + 2 * inverse)))
    added = population * Z**2 / items.called.size
    apparent = (float(items.called.mean()) + added / 2) / (1 + added)
    youden = sum(rates) - 1
    if youden <= 0:
        return None
    share = float(np.clip((apparent + rates[1] - 1) / youden, 0, 1))
    shift = 2 * Z**2 * (share * variances[0] - (1 - share) * variances[1])
    apparent_variance = population * apparent * (1 - apparent) / (items.called.size + Z**2)
    half = Z * np.sqrt(apparent_variance + share**2 * variances[0] + (1 - share) ** 2 * variances[1]) / youden
    return Share(share, *_within(share + shift - half, share + shift + half))


def ppi(items: Items, population: bool = False) -> Share | None:
    """Return what judges say plus the mean error on gold, with a tuned lambda; None for fewer than two gold items."""
    gold, pi = items.gold, items.drawn_with()
    if gold.size < 2:
        return None
    y, f, weight = items.truth[gold], items.chance[gold], 1 / pi
    covariance = np.cov(y, f, aweights=weight)[0, 1]
    tuned = float(np.clip(covariance / max(float(items.chance.var(ddof=1)), SMALLEST), 0, 1))
    error = y - tuned * f
    mean = float(np.average(error, weights=weight))
    value = tuned * float(items.chance.mean()) + mean
    bounded = min(max(value, 0.0), 1.0)
    variance = ((1 - pi) * (weight * (error - mean)) ** 2).sum() / weight.sum() ** 2 * gold.size / (gold.size - 1)
    variance += population * bounded * (1 - bounded) / items.chance.size
    half = float(student.ppf(LEVEL, gold.size - 1)) * np.sqrt(variance)
    return Share(bounded, *_within(value - half, value + half))


def post_stratified(items: Items, population: bool = False) -> Share:
    """Return the sum of the shares of strata, with an interval that adds the squares of Wilson's intervals."""
    return _combined(measured_strata(items), items.chance.size, population)


ESTIMATORS: Mapping[str, Callable[[Items, bool], Share | None]] = {
    ALONE: gold_alone,
    "rogan-gladen": rogan_gladen,
    "ppi++": ppi,
    STRATIFIED: post_stratified,
}


def strata(items: Items) -> Codes:
    """Return the stratum of every item (I), by the judges' probabilities, without looking at the truths of gold.

    The items are split where this reduces sum_h W_h f_h (1 - f_h) most, which is the variance that is left if judges
    are right, until a split would save less than one gold item or leave a stratum with fewer than two.
    """
    size, order = items.chance.size, np.argsort(items.chance, kind="stable")
    f = items.chance[order]
    total: Floats = np.concatenate([[0.0], np.cumsum(f)])
    gold: Codes = np.concatenate([[0], np.cumsum(~np.isnan(items.truth[order]))])

    def left(a: Codes | int, b: Codes | int) -> Floats:
        mean = (total[b] - total[a]) / (b - a)
        variance: Floats = (b - a) / size * mean * (1 - mean)
        return variance

    edges, least = [0, size], float(left(0, size)) / gold[-1]
    while len(edges) <= MOST_STRATA:
        best, gain = 0, least
        for a, b in pairwise(edges):
            cut = np.arange(a + 1, b)
            cut = cut[(f[cut] > f[cut - 1]) & (gold[cut] - gold[a] >= FEWEST) & (gold[b] - gold[cut] >= FEWEST)]
            if not cut.size:
                continue
            gains = left(a, b) - left(a, cut) - left(cut, b)
            if gains.max() > gain:
                best, gain = int(cut[gains.argmax()]), float(gains.max())
        if not best:
            break
        edges = sorted([*edges, best])
    stratum = np.empty(size, np.int64)
    stratum[order] = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
    return stratum


def measured_strata(items: Items) -> Strata:
    """Return the strata of items, with the share that gold shows in each."""
    stratum = strata(items)
    counts = np.bincount(stratum)
    measured = [items.take(np.flatnonzero(stratum == h)) for h in range(counts.size)]
    drawn = [each.drawn_with() for each in measured]
    share = [np.average(each.truth[each.gold], weights=1 / pi) for each, pi in zip(measured, drawn, strict=True)]
    return Strata(stratum, counts / stratum.size, np.array(share), np.array([_inverse_size(pi) for pi in drawn]))


def _combined(measured: Strata, size: int, population: bool) -> Share:
    """Return the share of all strata of so many items together."""
    weight, share = measured.weight, measured.share
    value = float(weight @ share)
    low, high = wilson(share, measured.inverse + population / (weight * size))
    between = population * Z**2 * float(weight @ (share - value) ** 2) / size
    below, above = (np.sqrt(((weight * (share - end)) ** 2).sum() + between) for end in (low, high))
    return Share(value, *_within(value - below, value + above))


class Residuals(NamedTuple):
    """What every gold item adds to the error of an estimate."""

    position: Codes  # (G) of the gold items
    effect: Floats  # (G) on the estimate
    not_drawn: Floats  # (G) 1 - probability of being drawn
    deviation: Floats  # (G) y - estimate


def residuals(items: Items) -> Residuals:
    """Return the effects of gold items on the post-stratified estimate, or on gold alone where it has one stratum."""
    measured, gold, pi = measured_strata(items), items.gold, items.drawn_with()
    stratum, weight = measured.stratum[gold], 1 / pi
    scale = measured.weight / np.bincount(stratum, weight, measured.weight.size)
    effect = scale[stratum] * weight * (items.truth[gold] - measured.share[stratum])
    return Residuals(gold, effect, 1 - pi, items.truth[gold] - float(measured.weight @ measured.share))


def difference(
    first: Share, second: Share, parts: tuple[Residuals, Residuals], keys: tuple[Codes, Codes], population: bool
) -> Share:
    """Return the difference of two shares; items with the same key are pairs, such as two answers to one prompt.

    The interval is that of Zou and Donner (2008), with the correlation of the two estimates. Only pairs of which both
    items are gold show it, and it counts as far as gold was drawn by pairs: not at all if items were drawn one by one.
    """
    correlation = _correlation(parts, keys, population)
    value = first.value - second.value

    def half(a: float, b: float) -> float:
        return float(np.sqrt(max(a**2 + b**2 - 2 * correlation * a * b, 0.0)))

    below = half(first.value - first.low, second.high - second.value)
    above = half(first.high - first.value, second.value - second.low)
    return Share(value, max(-1.0, value - below), min(1.0, value + above))


def _correlation(parts: tuple[Residuals, Residuals], keys: tuple[Codes, Codes], population: bool) -> float:
    """Return the correlation of two estimates, by the pairs of which both items are gold."""
    first, second = (key[part.position] for part, key in zip(parts, keys, strict=True))
    at = np.intersect1d(first, second, return_indices=True)[1:]
    pairs, shared = at[0].size, np.intersect1d(keys[0], keys[1])
    if pairs < FEWEST or any(np.unique(key).size < key.size for key in keys):
        return 0.0  # too few pairs, or several items of a system with one key
    drawn = [np.isin(each, shared).sum() / shared.size for each in (first, second)]
    together = max(0.0, 1 - drawn[0] * drawn[1] * shared.size / pairs)  # 1 - pi_A pi_B / pi_AB
    covariance = together * float((parts[0].effect[at[0]] * parts[1].effect[at[1]]).sum())
    variances = [float((part.not_drawn * part.effect**2).sum()) for part in parts]
    if population:
        sizes = [key.size for key in keys]
        both = float((parts[0].deviation[at[0]] * parts[1].deviation[at[1]]).mean())
        covariance += both * shared.size / (sizes[0] * sizes[1])
        variances = [
            v + float((part.deviation**2).mean()) / n for v, part, n in zip(variances, parts, sizes, strict=True)
        ]
    scale = np.sqrt(variances[0] * variances[1])
    return float(np.clip(covariance / scale, -1, 1)) if scale > SMALLEST else 0.0


def gold_needed(weight: Floats, share: Floats, size: int, width: float, population: bool) -> int | None:
    """Return how many gold items of ``size`` items give an interval of a width, None if all of them do not.

    Strata (H) with these weights and shares are expected, and gold is spread over them in proportion.
    """

    def enough(gold: int) -> bool:
        inverse = (1 / gold - 1 / size) / weight
        expected = _combined(Strata(np.empty(0, np.int64), weight, share, inverse), size, population)
        return expected.high - expected.low <= width

    needed = 1 + bisect_left(range(1, size + 1), True, key=enough)
    return needed if needed <= size else None


def _inverse_size(probability: Floats) -> float:
    """Return 1 / effective number of gold items, which were drawn with these probabilities (Kish)."""
    weight = 1 / probability
    return float(((1 - probability) * weight**2).sum() / weight.sum() ** 2)


def _within(low: float, high: float) -> tuple[float, float]:
    """Return the ends of an interval as shares."""
    return float(min(max(low, 0.0), 1.0)), float(min(max(high, 0.0), 1.0))

"""``effective_judges``: how many independent judges the judges of a panel are worth, and who errs together.

Judges who make the same errors count less than their number. An item with n judgments whose errors have the
correlation r is worth n / (1 + (n - 1) r) independent ones (Kish 1965). The correlation of errors is measured in one
of two ways.

With gold, an error is a label that is not the truth. Errors are compared with the share of errors that the judge
makes on items of the same truth, so that a judge who likes one label too much does not look correlated with others
who do. The mean over pairs of judgments of an item is linear in the judgments: sum of pairs = (square of the sum -
sum of squares) / 2.

Without gold, ``inference.correlation`` estimates it from the excess agreement of pairs over what the posterior of the
other judges explains. Errors that all judges share look like the truth there, so that the number of judges comes out
too large. On the sets with gold of ``docs/explanation/measured/panels.md``, the number by gold was exp(OFFSET) times
as large on average, with a standard deviation of SPREAD in the logarithm. The estimate is corrected by this, and the
interval includes it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.errors import UsageError
from adjudge.inference.correlation import MOST, REACH, SLOPE, correlation_of
from adjudge.inference.correlation import effective_judges as worth
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named
from adjudge.inference.params import Params
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR

OFFSET, SPREAD = -0.22, 0.24  # mean and standard deviation of log(number by gold / number without), on real sets
SURE = 1.645  # standard errors of a 90 % interval
MODEL = "dawid-skene"
MOST_FAMILIES = 40  # families of a table of correlations; the judges of smaller ones are counted in the means only
GOLD, JUDGMENTS = "gold", "judgments"  # what an estimate is from


class Estimate(NamedTuple):
    """A value with the ends of its 90 % interval."""

    value: float
    low: float
    high: float


class EffectiveJudges(NamedTuple):
    """How many independent judgments the judgments of an item are worth."""

    source: str  # gold or judgments
    judgments: float  # per item, on average
    number: Estimate
    correlation: Estimate  # of errors of two judges of an item
    items: int  # with two judgments or more

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        by = "by their errors on gold" if self.source == GOLD else "by their agreement, without gold"
        count, number = f"{self.judgments:.1f}".removesuffix(".0"), self.number
        text = f"{count} judgments per item are worth about {number.value:.1f} independent ones"
        return f"{text} ({number.low:.1f} to {number.high:.1f}), {by}."


class FamilyCorrelations(NamedTuple):
    """How much the errors of judges of the same family, and of two families, go together."""

    source: str  # gold: correlation of errors; judgments: excess agreement, which understates it
    families: tuple[str, ...]  # (F) the largest, by judgments
    sizes: Codes  # (F) judges of each
    matrix: Floats  # (F, F), nan where no item has such a pair
    within: Estimate | None  # mean over pairs of judges of one family, None if there is no such pair
    between: Estimate | None  # mean over pairs of judges of two families

    @property
    def measure(self) -> str:
        """What the numbers are."""
        return "correlation of errors" if self.source == GOLD else "excess agreement"

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        subject = f"The {self.measure} of two judges"
        parts = [
            f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f}) {where}"
            for where, estimate in (("within a family", self.within), ("between families", self.between))
            if estimate is not None
        ]
        note = "" if self.source == GOLD else "; without gold, errors that all judges share are not seen"
        return f"{subject} is {' and '.join(parts)}{note}."


class Residuals(NamedTuple):
    """Errors on gold, less the share of errors of the judge on items of the same truth, in standard deviations."""

    item: Codes  # (M)
    judge: Codes  # (M)
    score: Floats  # (M)


class Independent(NamedTuple):
    """A fit of independent errors, from which excess agreement is measured."""

    params: Params
    correlation: float
    error: float  # its standard error


def error_residuals(judgments: Judgments, gold: Codes) -> Residuals:
    """Return the errors of judges on gold items; judges whose errors do not vary are left out."""
    J, K, item = len(judgments.judges), len(judgments.scale), judgments.item()
    rows = gold[item] >= 0
    item, judge, truth = item[rows], judgments.judge[rows], gold[item[rows]]
    error = (judgments.label[rows] != truth).astype(float)
    cell = judge * K + truth
    count = np.bincount(cell, minlength=J * K)
    error_rate = np.bincount(cell, error, J * K) / np.maximum(count, 1)
    left = error - error_rate[cell]
    spread = np.sqrt(np.bincount(judge, left**2, J) / np.maximum(np.bincount(judge, minlength=J), 1))
    varies = spread[judge] > FLOOR**0.5
    return Residuals(item[varies], judge[varies], left[varies] / spread[judge[varies]])


def effective_by_gold(judgments: Judgments, gold: Codes) -> EffectiveJudges:
    """Return the effective number of judges from their errors on gold."""
    errors = error_residuals(judgments, gold)
    mean = _mean_of_pairs(errors, np.zeros(len(judgments.judges), np.int32), len(judgments.items))[0]
    if mean is None:
        raise UsageError("no gold item has two judges who err on some gold items and not on others")
    return _effective(judgments, mean, GOLD)


def fit_independent(judgments: Judgments, seed: int = 0) -> Independent:
    """Return a fit of independent errors with the correlation that the judgments show nevertheless."""
    if unanimous(judgments):
        raise UsageError("all judges agree on every item, so that agreement says nothing about errors")
    model = model_named(MODEL)
    block, _ = model.block(judgments)
    params = infer(model, judgments).params
    counts = np.zeros((len(judgments.items), len(judgments.scale)))
    np.add.at(counts, (judgments.item(), judgments.label), 1)
    measured = correlation_of(block, params, counts, seed)
    return Independent(params, measured.errors, SLOPE * measured.error)


def effective_by_judgments(judgments: Judgments, fitted: Independent) -> EffectiveJudges:
    """Return the effective number of judges from their agreement alone."""
    count = _shared(judgments)
    if not count.size:
        raise UsageError("no item has two judges, so that agreement cannot be measured")

    def number(correlation: float) -> float:
        return float(worth(count, float(np.clip(correlation, 0, 1))).mean())

    middle, step = number(fitted.correlation), 1e-4
    slope = (np.log(number(fitted.correlation + step)) - np.log(middle)) / step
    error = float(np.hypot(SPREAD, slope * fitted.error))
    total = float(count.mean())
    value, low, high = (float(np.clip(middle * np.exp(OFFSET + sign * SURE * error), 1, total)) for sign in (0, -1, 1))
    correlation = Estimate(*(_correlation_for(count, each) for each in (value, high, low)))
    return EffectiveJudges(JUDGMENTS, total, Estimate(value, low, high), correlation, count.size)


def family_correlations(
    judgments: Judgments, family: Codes, names: tuple[str, ...], source: Residuals | Independent, seed: int = 0
) -> FamilyCorrelations:
    """Return how much errors go together within and between families.

    Parameters
    ----------
    judgments
        The judgments; no judge repeats an item.
    family, names
        The family of each judge (J), and the names of families.
    source
        Errors on gold, or a fit of independent errors.
    seed
        The seed of the pairs that are compared without gold.
    """
    largest, position = _largest(judgments, family, len(names))
    sizes = np.bincount(family, minlength=len(names))[largest]
    if isinstance(source, Residuals):
        within, between = _mean_of_pairs(source, family, len(judgments.items))
        matrix = _gold_matrix(source, position[family], largest.size)
    else:
        within, between, matrix = _excess_matrix(judgments, family, position, largest.size, source.params, seed)
    if within is None and between is None:
        raise UsageError("no item has two judges whose errors could be compared")
    kind = GOLD if isinstance(source, Residuals) else JUDGMENTS
    return FamilyCorrelations(kind, tuple(names[f] for f in largest), sizes, matrix, within, between)


def unanimous(judgments: Judgments) -> bool:
    """Whether all judges of every item agree."""
    first = judgments.label[np.minimum(judgments.start[:-1], max(len(judgments) - 1, 0))] if len(judgments) else 0
    return bool((judgments.label == np.repeat(first, np.diff(judgments.start))).all())


def _shared(judgments: Judgments) -> Floats:
    """Return the number of judgments of the items that have two or more."""
    count = np.diff(judgments.start).astype(float)
    return count[count > 1]


def _effective(judgments: Judgments, correlation: Estimate, source: str) -> EffectiveJudges:
    """Return the effective number for a correlation of errors with its interval."""
    count = _shared(judgments)
    value, low, high = (float(worth(count, float(np.clip(r, 0, 1))).mean()) for r in correlation)
    return EffectiveJudges(source, float(count.mean()), Estimate(value, high, low), correlation, count.size)


def _correlation_for(count: Floats, number: float) -> float:
    """Return the correlation with which the judgments are worth this number on average, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if float(worth(count, middle).mean()) > number else (low, middle)
    return (low + high) / 2


def _mean_of_pairs(errors: Residuals, family: Codes, items: int) -> tuple[Estimate | None, Estimate | None]:
    """Return the mean product of two scores of an item, over pairs of one family and over pairs of two families."""
    pairs_all, sums_all = _pairs(errors.item, errors.score, items)
    group = errors.item.astype(np.int64) * (int(family.max(initial=0)) + 1) + family[errors.judge]
    values, group = np.unique(group, return_inverse=True)
    pairs, sums = _pairs(group, errors.score, values.size)
    of_item = values // (int(family.max(initial=0)) + 1)
    pairs, sums = (np.bincount(of_item, each, items).astype(float) for each in (pairs, sums))
    return _ratio(sums, pairs), _ratio(sums_all - sums, pairs_all - pairs)


def _pairs(group: Codes, score: Floats, groups: int) -> tuple[Floats, Floats]:
    """Return the number of ordered pairs within each group, and the sum of their products."""
    count = np.bincount(group, minlength=groups).astype(float)
    sums: Floats = np.square(np.bincount(group, score, groups)) - np.bincount(group, score**2, groups)
    return count * np.maximum(count - 1, 0), sums


def _ratio(sums: Floats, pairs: Floats) -> Estimate | None:
    """Return the ratio of two totals over items, with its interval from the spread among items; None without pairs."""
    total, items = float(pairs.sum()), int((pairs > 0).sum())
    if items < 2:
        return None
    value = float(sums.sum()) / total
    error = float(np.sqrt(np.square(sums - value * pairs).sum() * items / (items - 1))) / total
    return Estimate(value, max(value - SURE * error, -1.0), min(value + SURE * error, 1.0))


def _largest(judgments: Judgments, family: Codes, families: int) -> tuple[Codes, Codes]:
    """Return the families with the most judgments, in order of appearance, and the position of each, -1 if none."""
    count = np.bincount(family[judgments.judge], minlength=families)
    largest = np.sort(np.argsort(-count, kind="stable")[:MOST_FAMILIES])
    position = np.full(families, -1)
    position[largest] = np.arange(largest.size)
    return largest, position


def _gold_matrix(errors: Residuals, position: Codes, size: int) -> Floats:
    """Return the mean product of two scores of an item for every pair of families (F, F)."""
    selected = position[errors.judge] >= 0
    item, column, score = errors.item[selected], position[errors.judge[selected]], errors.score[selected]
    rows, item = np.unique(item, return_inverse=True)
    cell, cells = item * size + column, rows.size * size
    sums = np.bincount(cell, score, cells).reshape(-1, size)
    count = np.bincount(cell, minlength=cells).reshape(-1, size).astype(float)
    total = sums.T @ sums - np.diag(np.bincount(column, score**2, size))
    pairs = count.T @ count - np.diag(count.sum(axis=0))
    return _divided(total.astype(float), pairs)


def _divided(total: Floats, pairs: Floats) -> Floats:
    """Return a ratio, nan where there are no pairs."""
    return np.divide(total, pairs, out=np.full_like(total, np.nan), where=pairs > 0)


def _excess_matrix(
    judgments: Judgments, family: Codes, position: Codes, size: int, params: Params, seed: int
) -> tuple[Estimate | None, Estimate | None, Floats]:
    """Return the excess agreement of pairs within and between families, and of every pair of families (F, F)."""
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(judgments)), judgments.item()))
    judge, label = judgments.judge[order], judgments.label[order].astype(np.int64)
    K = len(judgments.scale)
    logs = np.ascontiguousarray(np.log(np.maximum(params.confusion, FLOOR)).transpose(0, 2, 1)).reshape(-1, K)
    prior = np.log(np.maximum(params.label_prevalence, FLOOR))
    table = np.zeros((3, size + 1, size + 1))  # pairs, agreed, expected; the last row is of all other families
    sums = np.zeros((2, 3, len(judgments.items)))  # within and between, the same three, item by item
    _compare_families(
        judgments.start, judge, label, family.astype(np.int64), position.astype(np.int64), prior, logs, table, sums
    )
    table = table + table.transpose(0, 2, 1)
    pairs, agreed, expected = (part[:size, :size] for part in table)
    matrix = _divided(agreed - expected, pairs - expected)
    return _excess(sums[0]), _excess(sums[1]), matrix


def _excess(sums: Floats) -> Estimate | None:
    """Return the excess agreement as a share of the disagreements that independent errors give, with its interval."""
    pairs, agreed, expected = sums
    return _ratio(agreed - expected, pairs - expected) if (pairs > 0).sum() > 1 else None


@compiled
def _compare_families(
    start: Codes,
    judge: Codes,
    label: Codes,
    family: Codes,
    position: Codes,
    prior: Floats,
    logs: Floats,
    table: Floats,
    sums: Floats,
) -> None:
    """Add up pairs of judgments of items, given the judgments of all other families; ``logs`` is (J * K, Z).

    If an item has no other family, the other judges of the two families take its place.
    """
    Z = prior.size
    rest, other = np.empty(Z), table.shape[1] - 1
    for i in range(start.size - 1):
        first, last = start[i], min(start[i + 1], start[i] + MOST)
        n = last - first
        for step in range(1, min(REACH, n // 2) + 1):
            for m in range(n if 2 * step < n else n // 2):
                a, b = first + m, first + (m + step) % n
                if judge[a] == judge[b]:
                    continue
                f, g = family[judge[a]], family[judge[b]]
                rest[:] = prior
                outside = 0
                for k in range(first, last):
                    h = family[judge[k]]
                    if h not in (f, g):
                        rest += logs[judge[k] * Z + label[k]]
                        outside += 1
                if not outside:
                    for k in range(first, last):
                        if judge[k] != judge[a] and judge[k] != judge[b]:
                            rest += logs[judge[k] * Z + label[k]]
                            outside += 1
                if not outside:
                    continue
                rest[:] = np.exp(rest - rest.max())
                mass, same = rest.sum(), 0.0
                for z in range(Z):
                    both = 0.0
                    for k in range(Z):
                        both += np.exp(logs[judge[a] * Z + k, z] + logs[judge[b] * Z + k, z])
                    same += rest[z] / mass * both
                alike = 1.0 if label[a] == label[b] else 0.0
                s, t = position[f], position[g]
                s, t = (s if s >= 0 else other), (t if t >= 0 else other)
                kind = 0 if f == g else 1
                for part, value in enumerate((1.0, alike, same)):
                    table[part, s, t] += value
                    sums[kind, part, i] += value

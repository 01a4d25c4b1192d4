"""Degrees of relevance observed through Gaussian noise (Xia et al. 2011, section 2.2; paper 002).

An item has a degree B_i in (0, 1), and a judge a noise variance A_j. The judge observes x ~ N(B_i, A_j) on [0, 1] and
says 1 if x is above the threshold T_j: one half, or learned (``gaussian-biased``). The E-step takes B_i on a
Gauss-Legendre grid under a flat prior: states are degrees, and every judge a matrix of two labels by G degrees. The
M-step maximises the expected log-likelihood of every judge over a grid of variances (and thresholds), for all judges by
a product of matrices; the maximum of a fixed set never falls, and so the evidence never does. An item is a 1 if
E[B_i] > 0.5, and E[B_i] ranks; gold keeps B_i on its side.

>>> import adjudge
>>> crowd = adjudge.simulate("carpenter", seed=1, topics=1, items=30, judges=5, judgments=90, gold=1)
>>> adjudge.fit(crowd.judgments, "gaussian").judges.columns[3:]
['variance', 'threshold']
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.components import EQUAL, SOFT, TWO, Confusion, ItemEffects, JudgeParams
from adjudge.inference.model import ACCURATE, Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR

# A judge observes x ~ N(B, A) on [0, 1] and says 1 if x > T. The printed integrals of paper 002 stop at 0 and 1, so
# both are divided by the mass between: they sum to one.

ROOT2 = math.sqrt(2.0)


def chances(log_variance: Floats, threshold: Floats, degree: Floats) -> Floats:
    """Return p(says 0) and p(says 1) of judges (J) for every degree (J, G, 2)."""
    chance = np.empty((log_variance.size, degree.size, 2))
    _chances(np.exp(log_variance / 2), threshold, degree, chance)
    return chance


@compiled
def _chances(deviation: Floats, threshold: Floats, degree: Floats, chance: Floats) -> None:
    """Fill in the two chances of every judge and degree."""
    for j in range(deviation.size):
        for g in range(degree.size):
            at = (threshold[j] - degree[g]) / deviation[j]
            below = _mass(-degree[g] / deviation[j], at)
            above = _mass(at, (1 - degree[g]) / deviation[j])
            chance[j, g, 0] = below / (below + above)
            chance[j, g, 1] = above / (below + above)


@compiled
def _mass(low: float, high: float) -> float:
    """Return the mass of a standard normal between two points, exact in both tails."""
    if low > 0:
        return 0.5 * (math.erfc(low / ROOT2) - math.erfc(high / ROOT2))
    if high < 0:
        return 0.5 * (math.erfc(-high / ROOT2) - math.erfc(-low / ROOT2))
    return 1 - 0.5 * (math.erfc(-low / ROOT2) + math.erfc(high / ROOT2))


_NODE, _WEIGHT = np.polynomial.legendre.leggauss(24)
DEGREE, PRIOR = (_NODE + 1) / 2, _WEIGHT / 2  # (G) on (0, 1), summing to one
SIDE = (DEGREE > 0.5).astype(np.int64)  # (G) the label that a degree stands for
VARIANCES = np.geomspace(1e-3, 10, 241)  # from sharper than the grid to a coin; steps of 4 %
THRESHOLDS = np.linspace(0.1, 0.9, 33)  # one half among them
HALF = np.array([0.5])
AT_ONCE = 1_000  # judges whose candidates are held in memory together
BEGIN = np.array([np.log(0.1), 0.5])  # if nothing is known of a judge


def degree_prior(params: Params) -> Floats:
    """Return p(degree) (1, G), flat on (0, 1)."""
    return PRIOR[None]


def degree_labels(K: int) -> Codes:
    """Return the label that each degree stands for (G); with one label there is one side."""
    return SIDE if K == 2 else np.zeros_like(SIDE)


def degree_rows(params: Params) -> Floats:
    """Return p(label | degree) of judges (J, G, K), rounded to the grid after acceleration."""
    J, _, K = params.confusion.shape
    if not params.skill.size:
        return _matrices(np.tile(BEGIN, (J, 1)), K)
    log_variance, threshold = params.skill.T
    skill = np.column_stack([_nearest(np.log(VARIANCES), log_variance), _nearest(THRESHOLDS, threshold)])
    return _matrices(skill, K)


def expected_degree(posterior: Floats, block: Block) -> Floats:
    """Return E[B_i] as the probability of the second label, gold fixed, and once more as it is (I, K + 1)."""
    degree = posterior @ DEGREE
    fixed = np.where(block.gold >= 0, block.gold, degree)
    columns = (1 - fixed, fixed, degree) if block.labels == 2 else (np.ones_like(fixed), degree)
    return np.column_stack(columns)


def likeliest(thresholds: Floats) -> Callable[[Tally, Params], JudgeParams]:
    """Return the M-step over all variances and these thresholds."""

    @cache  # when first used: kernels are not for import
    def candidates() -> tuple[Floats, Floats]:
        log_variance, threshold = (side.ravel() for side in np.meshgrid(np.log(VARIANCES), thresholds))
        logs = np.log(np.maximum(chances(log_variance, threshold, DEGREE), FLOOR))
        return np.column_stack([log_variance, threshold]), logs.reshape(log_variance.size, -1)  # (C, 2), (C, G * 2)

    def estimate(tally: Tally, start: Params) -> JudgeParams:
        J, G, K = tally.label.shape
        skill, logs = candidates()
        counts = np.zeros((J + 1, G, 2))  # the last row is everybody
        counts[:-1, :, :K], counts[-1, :, :K] = tally.label, tally.label.sum(axis=0)
        few = np.array_split(counts.reshape(J + 1, -1), J // AT_ONCE + 1)
        best = skill[np.concatenate([(some @ logs.T).argmax(axis=1) for some in few])]
        best[counts.sum(axis=(1, 2)) == 0] = BEGIN
        confusion = _by_side(_matrices(best, K), K)
        return JudgeParams(confusion[:-1], confusion[-1], best[:-1], best[-1])

    return estimate


def noise_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return each judge's noise variance A_j and threshold T_j."""
    return {"variance": np.exp(params.skill[:, 0]), "threshold": params.skill[:, 1]}


def _nearest(grid: Floats, value: Floats) -> Floats:
    """Return the points of an even grid next to values."""
    step = np.rint((value - grid[0]) / (grid[1] - grid[0]))
    nearest: Floats = grid[np.clip(step, 0, grid.size - 1).astype(np.int64)]
    return nearest


def _matrices(skill: Floats, K: int) -> Floats:
    """Return p(label | degree) of judges (J, G, K); with one label there is nothing to get wrong."""
    chance = chances(skill[:, 0], skill[:, 1], DEGREE)
    return chance if K == 2 else np.ones_like(chance[:, :, :1])


def _by_side(confusion: Floats, K: int) -> Floats:
    """Return p(label | side) of judges (J, K, K), the mean over the degrees of each side."""
    share = PRIOR * (np.arange(2)[:, None] == SIDE) * 2  # (2, G)
    mean: Floats = np.einsum("kg,jgl->jkl", share[:K], confusion)
    return mean


def _gaussian(name: str, summary: str, thresholds: Floats) -> Model:
    """Return the model with judges' thresholds among these."""
    return Model(
        name,
        summary,
        "Xia et al. 2011, section 2.2",
        prevalence=EQUAL,
        confusion=Confusion(likeliest(thresholds), degree_rows, columns=noise_columns),
        assignment=SOFT,
        items=ItemEffects(("degree",), degree_labels, degree_prior, expected_degree, degrees=True),
        labels=TWO,
        starts={"equal": None, ACCURATE: None},
    )


MODELS = (
    _gaussian("gaussian", "degrees of relevance seen through noise, a variance for every judge", HALF),
    _gaussian("gaussian-biased", "the same, with a threshold for every judge", THRESHOLDS),
)

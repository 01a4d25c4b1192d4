"""Many tests at once: how many of those that stand out are expected to do so by chance.

If a model is only nearly right, all tests are a little too large. If there are enough tests, the middle half of them
therefore estimates the centre and the spread of the null distribution (Efron 2004), as far as these are beyond doubt,
and a test must stand out from that. This never makes it easier to stand out than under the model.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from adjudge.arrays import Floats

CONTROLS = ("bh", "by")
ENOUGH = 20  # tests from which the null distribution is estimated
QUARTILES = 1.349  # standard deviations between the quartiles of a normal distribution
SURE = 1.645  # standard errors that leave little doubt
MEDIAN_ERROR, SPREAD_ERROR = 1.253, 1.167  # standard errors of a median and of a spread by quartiles, times sqrt(n)
SMALLEST = 1e-300  # p-values below this are treated as equal


def q_values(p: Floats, control: str = "bh") -> Floats:
    """Return, for each test, the smallest false discovery rate at which it is a discovery.

    Benjamini and Hochberg (1995) need tests that are independent or positively dependent. Benjamini and Yekutieli
    (2001) need neither, at the price of a factor of 1 + 1/2 + ... + 1/m.
    """
    m = p.size
    order = np.argsort(p, kind="stable")
    factor = np.sum(1 / np.arange(1, m + 1)) if control == "by" else 1.0
    rising = factor * m * p[order] / np.arange(1, m + 1)
    rate = np.empty(m)
    rate[order] = np.minimum(np.minimum.accumulate(rising[::-1])[::-1], 1.0)
    return rate


def empirical_null(p: Floats) -> tuple[Floats, float, float]:
    """Return p-values under the estimated null distribution, and its centre and spread: 0 and 1 under the model."""
    if p.size < ENOUGH:
        return p, 0.0, 1.0
    z = norm.isf(np.clip(p, SMALLEST, 1 - 1e-15))
    low, middle, high = np.quantile(z, (0.25, 0.5, 0.75))
    doubt = SURE / np.sqrt(p.size)
    spread = max(float(high - low) / QUARTILES * (1 - SPREAD_ERROR * doubt), 1.0)
    centre = max(float(middle) - MEDIAN_ERROR * doubt * spread, 0.0)
    return norm.sf((z - centre) / spread), centre, spread

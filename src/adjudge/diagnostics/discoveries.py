"""Many tests at once: how many of those that stand out are expected to do so by chance.

Where a model is only nearly right, all tests are a little too large. So, where there are enough, the middle half of
them says how far and how widely they lie by themselves (Efron 2004), as far as that is beyond doubt, and a test must
stand out from that; it is never made easier to stand out than under the model.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from adjudge.arrays import Floats

CONTROLS = ("bh", "by")
ENOUGH = 20  # tests from which on they say how far they lie by themselves
QUARTERS = 1.349  # standard deviations between the quartiles of a normal distribution
SURE = 1.645  # standard errors that leave little doubt
MEDIAN, MIDDLE_HALF = 1.253, 1.167  # standard errors of a median, and of a spread by quartiles, times sqrt(n)
SMALLEST = 1e-300  # p-values below are all the same


def adjusted(p: Floats, control: str = "bh") -> Floats:
    """Return, for each test, the least false discovery rate at which it is a discovery.

    Benjamini and Hochberg (1995), who need tests that are independent or go together; or Benjamini and Yekutieli
    (2001), who need nothing and pay with a factor of 1 + 1/2 + ... + 1/m.
    """
    m = p.size
    order = np.argsort(p, kind="stable")
    factor = np.sum(1 / np.arange(1, m + 1)) if control == "by" else 1.0
    rising = factor * m * p[order] / np.arange(1, m + 1)
    found = np.empty(m)
    found[order] = np.minimum(np.minimum.accumulate(rising[::-1])[::-1], 1.0)
    return found


def against_crowd(p: Floats) -> tuple[Floats, float, float]:
    """Return p-values against how tests lie by themselves, and where and how widely that is: 0 and 1 by the model."""
    if p.size < ENOUGH:
        return p, 0.0, 1.0
    z = norm.isf(np.clip(p, SMALLEST, 1 - 1e-15))
    low, middle, high = np.quantile(z, (0.25, 0.5, 0.75))
    doubt = SURE / np.sqrt(p.size)
    spread = max(float(high - low) / QUARTERS * (1 - MIDDLE_HALF * doubt), 1.0)
    centre = max(float(middle) - MEDIAN * doubt * spread, 0.0)
    return norm.sf((z - centre) / spread), centre, spread

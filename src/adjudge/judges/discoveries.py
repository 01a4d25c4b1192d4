"""Many tests at once: how many of those that stand out are expected to do so by chance."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats

CONTROLS = ("bh", "by")


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

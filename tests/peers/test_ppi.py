"""PPI++ against ppi-python, the package of its authors."""

import numpy as np
import pytest
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

from adjudge.evaluation.shares import Items, ppi


@pytest.mark.parametrize(("size", "gold", "error"), [(1_000, 100, 0.1), (5_000, 400, 0.3), (3_000, 60, 0.45)])
def test_the_share_and_its_interval_agree(size, gold, error):
    """For a population; theirs is normal and ours is Student's t, so that widths differ by a few percent at most."""
    rng = np.random.default_rng(0)
    y = (rng.random(size) < 0.3).astype(float)
    f = np.where(rng.random(size) < error, 1 - y, y) * 0.9 + 0.1 * rng.random(size)
    truth = np.where(np.arange(size) < gold, y, np.nan)
    ours = ppi(Items(f, f > 0.5, truth), population=True)
    labelled, rest = (y[:gold], f[:gold]), f[gold:]
    low, high = (float(end[0]) for end in ppi_mean_ci(*labelled, rest, alpha=0.1))
    assert ours.value == pytest.approx(float(ppi_mean_pointestimate(*labelled, rest)[0]), abs=5e-4)
    assert ours.high - ours.low == pytest.approx(high - low, rel=0.04)

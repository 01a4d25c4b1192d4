"""Ties are settled by the seed and the name of an item alone."""

import numpy as np
import polars as pl

from adjudge.inference.infer import lots, settled
from adjudge.inference.options import Options

NAMES = pl.Series([f"item{n}" for n in range(4_000)])


def test_a_tie_is_broken_by_name_and_seed_alone():
    """The order of rows and what else there is have no say."""
    posterior = np.tile([0.4, 0.4, 0.2], (NAMES.len(), 1))
    label = settled(posterior, NAMES, Options(seed=3))
    order = np.random.default_rng(0).permutation(NAMES.len())
    assert (settled(posterior[order], NAMES.gather(order), Options(seed=3)) == label[order]).all()
    assert (settled(posterior[:7], NAMES[:7], Options(seed=3)) == label[:7]).all()
    assert (settled(posterior, NAMES, Options(seed=4)) != label).mean() > 0.45


def test_all_that_tie_are_as_likely_and_no_other():
    """A third each."""
    label = settled(np.tile([0.3, 0.1, 0.3, 0.3], (NAMES.len(), 1)), NAMES, Options())
    share = np.bincount(label, minlength=4) / label.size
    assert share[1] == 0
    assert np.abs(share[[0, 2, 3]] - 1 / 3).max() < 0.03


def test_the_first_where_that_is_asked_for():
    """The scale's order."""
    assert settled(np.full((3, 2), 0.5), NAMES[:3], Options(ties="first")).tolist() == [0, 0, 0]


def test_numbers_are_the_names_they_are_written_as():
    """So that a CSV and a frame agree."""
    assert (lots(pl.Series([1, 2, 30]), 5) == lots(pl.Series(["1", "2", "30"]), 5)).all()
    assert (lots(NAMES, 2**70) >= 0).all()

"""One coin per judge."""

import numpy as np

from adjudge.inference.components import coin_column
from adjudge.inference.params import accurate


def test_the_coin_column_is_the_diagonal():
    """A one-coin judge has one number."""
    np.testing.assert_allclose(coin_column(accurate(2, 2, trust=3), ("a", "b"))["p_right"], 0.8)

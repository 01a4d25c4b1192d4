"""Arrays that cross rooms are not changed, and rows are reduced as numpy does it."""

import numpy as np
import pytest

from adjudge.arrays import frozen, row_maxima, row_sums


def test_frozen_arrays_refuse_writes():
    """The view is read-only; the array it looks at stays its owner's."""
    own = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        frozen(own)[0] = 1
    own[0] = 1


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 2), (4, 30)])
def test_sums_and_maxima_of_rows(shape):
    """They are those of numpy, for tables without rows and with many columns too."""
    numbers = np.random.default_rng(0).standard_normal(shape)
    np.testing.assert_allclose(row_sums(numbers), numbers.sum(axis=1))
    np.testing.assert_array_equal(row_maxima(numbers), numbers.max(axis=1))

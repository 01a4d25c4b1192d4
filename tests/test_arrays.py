"""Arrays that cross rooms are not changed."""

import numpy as np
import pytest

from adjudge.arrays import frozen


def test_frozen_arrays_refuse_writes():
    """The view is read-only; the array it looks at stays its owner's."""
    own = np.zeros(3)
    with pytest.raises(ValueError, match="read-only"):
        frozen(own)[0] = 1
    own[0] = 1

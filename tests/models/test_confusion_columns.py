"""A judge's matrix as columns."""

import numpy as np

from adjudge.models.base import accurate
from adjudge.models.confusion_columns import confusion_columns


def test_columns_name_said_and_truth():
    """One column a cell: what is said, given what is true."""
    columns = confusion_columns(accurate(2, 2, trust=3), ("no", "yes"))
    assert list(columns) == ["p_no_if_no", "p_yes_if_no", "p_no_if_yes", "p_yes_if_yes"]
    np.testing.assert_allclose(columns["p_yes_if_no"], 1 / 5)

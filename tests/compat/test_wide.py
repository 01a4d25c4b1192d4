"""Wide arrays of labels as judgments."""

import numpy as np
import pandas as pd

from adjudge.compat.wide import is_missing, wide_judgments


def test_cells_become_judgments():
    """-1 is no judgment; a soft judge comes last, with a weight per label."""
    code = np.array([[0, -1], [1, 1]])
    judgments = wide_judgments(code, 2)
    assert judgments.table.rows() == [(0, 0, 0), (1, 0, 1), (1, 1, 1)]
    soft = wide_judgments(code, 2, np.array([[0.25, 0.75], [1.0, 0.0]]))
    assert soft.table.rows() == [
        (0, 0, 0, 1.0),
        (0, 2, 0, 0.25),
        (0, 2, 1, 0.75),
        (1, 0, 1, 1.0),
        (1, 1, 1, 1.0),
        (1, 2, 0, 1.0),
    ]


def test_what_is_missing():
    """None, NaN and pandas.NA; no integer, no text and no empty text."""
    assert is_missing(np.array([1, 2])).tolist() == [False, False]
    assert is_missing(np.array([1.0, np.nan])).tolist() == [False, True]
    assert is_missing(np.array([None, np.nan, pd.NA, "", "a", 0], dtype=object)).tolist() == [True] * 3 + [False] * 3

"""Filters of answers."""

import pandas as pd
import pytest

from adjudge.compat.crowdkit.postprocessing import entropy_threshold
from adjudge.errors import AdjudgeWarning

TABLE = pd.DataFrame(
    {
        "task": [1, 2, 3, 4] * 3 + [1],
        "worker": ["x"] * 4 + ["y"] * 4 + ["z"] * 4 + ["w"],
        "label": [0, 1, 0, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1],
    }
)


def test_who_always_gives_the_same_label_is_removed():
    """The worker with the least entropy goes; one with a single answer stays."""
    assert entropy_threshold(TABLE)["worker"].unique().tolist() == ["x", "z", "w"]


def test_removing_most_answers_is_said():
    """The warning names the two options."""
    with pytest.warns(AdjudgeWarning) as caught:
        entropy_threshold(TABLE, percentile=90)
    assert str(caught[0].message) == (
        "Removed >= 1/2 of answers with entropy_threshold. This might lead to poor annotation quality. "
        "Lower percentile, or raise min_answers."
    )


def test_workers_with_few_answers_are_kept():
    """If nobody has enough answers, nothing changes."""
    pd.testing.assert_frame_equal(entropy_threshold(TABLE, min_answers=9), TABLE)

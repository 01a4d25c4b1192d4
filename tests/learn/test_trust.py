"""Prior trust from a column, from counts of approvals, and by judge; and what is not trust."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import adjudge
from adjudge.errors import InputError, UsageError
from adjudge.learn.trust import with_trust

ROWS = {"item": ["a", "a", "b"], "worker": ["x", "y", "x"], "label": [1, 0, 1]}


def trust(given: Any = None, **columns: Any) -> list[float]:
    """Return the trust of judges x and y."""
    return with_trust(pl.DataFrame({**ROWS, **columns}), given)[1].tolist()


def test_a_column_of_trust_is_found_by_its_name() -> None:
    """A column called trust is taken unless another is named; the mean of a judge's rows counts."""
    assert trust(trust=[0.5, 0.7, 0.9]) == pytest.approx([0.7, 0.7])
    assert trust("score", trust=[0, 0, 0], score=["0.5", " 1 ", ""]) == [0.5, 1]


def test_nothing_known_is_nan() -> None:
    """No column, no trust; an empty value tells nothing."""
    assert np.isnan(trust()).all()
    assert np.isnan(trust(trust=[1, None, 1])).tolist() == [False, True]


def test_approvals_count_as_a_plus_1_of_b_plus_2() -> None:
    """Two columns of counts, or a rate of a hundred."""
    assert trust("approved/judged", approved=[8, 0, 8], judged=[8, 0, 8]) == [0.9, 0.5]
    assert trust("rate / 100", rate=[100, 50, 100]) == pytest.approx([101 / 102, 0.5])


@pytest.mark.parametrize(
    "given",
    [
        {"x": 0.25, "y": 1},
        {"x": "0.25", "y": "1", "z": "0"},
        pd.Series([0.25, 1.0], index=["x", "y"]),
        pl.DataFrame({"judge": ["y", "x"], "trust": [1.0, 0.25]}),
        pd.DataFrame({"worker": ["y", "x"], "reputation": [1.0, 0.25]}),
    ],
)
def test_trust_by_judge(given: Any) -> None:
    """A mapping, a series or a frame; judges nobody asked for do no harm."""
    assert trust(given) == [0.25, 1]
    judgments = adjudge.read(pl.DataFrame(ROWS))
    assert with_trust(judgments, given)[1].tolist() == [0.25, 1]


def test_trust_in_a_file_by_judge(tmp_path: Path) -> None:
    """A path object is a table by judge; approvals have their usual names."""
    path = tmp_path / "trust.csv"
    path.write_text("worker,approved,judged\nx,0,0\n y ,8,8\n")
    assert trust(path) == [0.5, 0.9]


def test_numbers_as_judges_match_their_text(tmp_path: Path) -> None:
    """Judge 1 of a frame is judge 1 of a file."""
    path = tmp_path / "trust.csv"
    path.write_text("judge,trust\n1,0.5\n2,1\n")
    frame = pd.DataFrame({"item": ["a", "a"], "judge": [1.0, 2.0], "label": [1, 0], "trust": [0.5, 1.0]})
    assert with_trust(frame, path)[1].tolist() == with_trust(frame)[1].tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("given", "columns", "message"),
    [
        (
            None,
            {"trust": [1, 97, 1]},
            "table, row 1: trust '97' is not a number from 0 to 1; for a rate in percent, ",
        ),
        (None, {"trust": ["1", "high", "1"]}, "row 1: trust 'high' is not a number"),
        (None, {"trust": [1.0, 1.0, float("inf")]}, "row 2: trust 'inf' is not a number"),
        ("score", {}, r"there is no column 'score' for the trust \(columns: 'item', 'worker', 'label'\)"),
        (
            "a/b",
            {"a": [1, 3, 1], "b": [2, 2, 2]},
            "row 1: a '3' is not from 0 to b; for a rate in percent",
        ),
        (
            pl.DataFrame({"judge": ["x"], "p": [1], "q": [1]}),
            {},
            "has no column 'trust' .*: rename the column",
        ),
        ({"u": 1.0}, {}, "has no trust for any of the 2 judges \\('x', 'y', ...\\)"),
    ],
)
def test_what_is_not_trust_is_refused(given: Any, columns: dict[str, Any], message: str) -> None:
    """Where, what, and what to do."""
    with pytest.raises(InputError, match=message):
        trust(given, **columns)


def test_judgments_that_are_read_have_no_columns_left() -> None:
    """A column can only be named where it is still there."""
    with pytest.raises(UsageError, match="trust 'score' is the name of a column, but a Judgments has no"):
        with_trust(adjudge.read(pl.DataFrame(ROWS)), "score")

"""The claims of paper 001."""

import numpy as np
import polars as pl
import pytest

from adjudge.data.judgments import from_codes
from adjudge.data.scale import Scale
from studies.comparison import STUDIES, run
from studies.curves import Curves, Point
from studies.ordinal import JUDGMENTS_AXES, LABELS_AXES, METHODS, Ordinal, Task
from studies.paper_001 import Reach, curve_sections, duels, reach, rows


@pytest.fixture(scope="module")
def comparison(crowds):
    """Return the comparison on a small crowd."""
    return run(STUDIES["ordinal"], crowds, ["c"], draws=5)


def curves(axes):
    """Return curves of which the median has the smallest error."""
    values = {name: {"accuracy": np.full(2, 0.5), "error": np.full(2, 0.25)} for name in METHODS}
    values["median"]["error"] = np.full(2, 0.125)
    return Curves(axes, tuple(Point("c", 3, name, values[name]) for name in METHODS), 2)


def test_every_claim_has_a_row(comparison):
    """With a verdict, and the data behind it; duels are those of the page."""
    scores = {name: {"accuracy": 0.5, "error": 0.25} for name in METHODS}
    outcome = Ordinal(comparison, curves(JUDGMENTS_AXES), curves(LABELS_AXES), (Task("c", "t", 4, 5.0, 0.5, scores),))
    reached = {"c": {"glad": Reach(0.1, 0.0, 0.0), "ordinal": Reach(0.0, 0.0, 0.25)}}
    claims = rows(outcome, reached)
    assert {claim.reproduced for claim in claims} <= {"yes", "in shape", "no", "not tested"}
    by = {claim.says: claim for claim in claims}
    assert by["the expected value is a weighted mean of the judgments"].reproduced == "no"
    far = by["GLAD sometimes gives labels that are very far from the collected judgments"]
    assert far.reproduced == "no"
    assert "`c` 10.0 % and 0.0 % (ordinal: 0.0 % and 0.0 %)" in far.ours
    won, lost, shares = duels(comparison)["c"]
    assert f"`c` {won} : {lost}" in claims[6].ours
    assert shares.shape == (3,)
    assert "with the fewest judgments, the smallest error has `median` (`c`, 3)" in claims[-3].ours


def test_curves_have_tables_and_pictures(comparison):
    """The smallest error is bold."""
    text = "".join(curve_sections(Ordinal(comparison, curves(JUDGMENTS_AXES))))
    assert "![ordered labels by the number of judgments](paper-001-judgments.svg)" in text
    assert "| c | 3 | 0.500 (0.250) | 0.500 (0.250) | **0.500 (0.125)** | 0.500 (0.250) | 0.500 (0.250) |" in text


def test_reach_counts_labels_that_nobody_gave():
    """The vote gives labels that somebody gave, and the mean of 0 and 4 lies between them."""
    scale = Scale((0, 1, 2, 3, 4), ordinal=True)
    item, judge = np.array([0, 0, 1, 1], np.int32), np.array([0, 1, 0, 1])
    names = {"items": pl.Series(["a", "b"]), "judges": pl.Series(["x", "y"])}
    judgments = from_codes(item, judge, np.array([0, 4, 1, 1], np.uint8), scale=scale, **names)
    assert reach(judgments, "majority") == Reach(0, 0, 0)
    assert reach(judgments, "mean") == Reach(0.5, 0.5, 0)

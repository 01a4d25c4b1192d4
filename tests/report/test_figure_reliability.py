"""The figure of calibration."""

from xml.etree import ElementTree

import numpy as np
import pytest

from adjudge.report.calibrating import Found
from adjudge.report.calibrating_cells import BINS, Cell, Job, Way
from adjudge.report.figure_reliability import NOTE, pooled, svg


def cell(name, model, items, right):
    """Return a cell of a model that says .97 of everything."""
    bins = np.zeros((3, BINS))
    bins[:, 19] = items, 0.97 * items, right * items
    ways = {way: Way(right, 0.1, 0.1, 0.1, bins) for way in ("own", "judgments")}
    return Cell(Job("", "", name, model, 0, "", 1), items, 2, ways, 0.0, 0.0, "", 0.0)


@pytest.fixture
def found():
    """Return two sets, of which one is ten times as large."""
    models = ("majority", "dawid-skene")
    return Found(tuple(cell(*one) for m in models for one in (("a", m, 10, 0.5), ("b", m, 100, 0.9))))


def test_every_set_has_the_same_weight(found):
    """However many items it has."""
    share, says, right = pooled(found, "majority", "own")
    assert share.sum() == pytest.approx(1)
    assert (says[19], right[19]) == pytest.approx((0.97, 0.7))


def test_before_and_after_stand_side_by_side(found):
    """With what is said and what is right above."""
    words = {element.text for element in ElementTree.fromstring(svg(found)).iter() if element.text}
    titles = {f"{model}, {way}" for model in ("majority", "dawid-skene") for way in ("own", "by judgments")}
    assert titles | {"says 97%, right in 70%", NOTE.format(sets=2)} <= words

"""Starts, and what an ordered scale needs."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.models.ordinal import nearest


def test_halves_go_up():
    """A point between two labels is the upper one, rounding aside."""
    assert nearest(np.array([1.5, 1.4999, 0.0, 2.5 - 1e-12])).tolist() == [2, 1, 0, 3]


def test_an_order_is_needed():
    """A nominal scale is refused with how to give the order."""
    table = pl.DataFrame({"item": ["a"], "judge": ["x"], "label": ["good"]})
    with pytest.raises(adjudge.UsageError) as caught:
        adjudge.fit(table, "ordinal")
    assert str(caught.value) == (
        "model 'ordinal' needs ordered labels, and 'good' have no order: give it, lowest first, "
        "with labels= and ordinal=True"
    )


@pytest.mark.parametrize("start", ["mean", "median", "mean-trimmed", "median-trimmed"])
def test_every_start_is_there(start):
    """And each comes to rest on a crowd of ordinal judges."""
    fit = adjudge.fit(adjudge.simulate("ordinal", items=200, judges=10).judgments, "ordinal", start=start)
    assert fit.converged
    assert {"expected", "between"} < set(fit.labels.columns)


def test_accurate_is_no_start_of_a_hard_model():
    """Its choices are named."""
    crowd = adjudge.simulate("ordinal", items=50, judges=5).judgments
    with pytest.raises(adjudge.UsageError, match="start 'accurate' is not one of 'mean', 'median', 'mean-trimmed'"):
        adjudge.fit(crowd, "ordinal", start="accurate")

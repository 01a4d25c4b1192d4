"""Judgments in the codes of a fit."""

import warnings

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference.fitted import as_fitted, gold_informed, refuse_other_gold
from adjudge.inference.result import draws_of

ROWS = {"item": list("aabbcc"), "judge": ["x", "y"] * 3, "label": [0, 0, 1, 1, 0, 1], "topic": list("sstt") + ["u"] * 2}


@pytest.fixture(scope="module")
def fit():
    """Return a short hierarchical fit with topics and gold."""
    with pytest.warns(adjudge.AdjudgeWarning, match="have not converged"):
        return adjudge.fit(pl.DataFrame(ROWS), "hierarchical", {"a": "0"}, run=adjudge.Run(2, 10, 20))


def test_rows_in_another_order_are_the_same_judgments(fit):
    """Judges, topics and gold are those of the fit, whatever the order of the file."""
    block = as_fitted(fit, adjudge.read(pl.DataFrame(ROWS).reverse()))
    items = adjudge.read(pl.DataFrame(ROWS).reverse()).items.to_list()
    assert [dict(zip("abc", [0, -1, -1], strict=True))[item] for item in items] == block.gold.tolist()
    assert [fit.topics[t] for t in block.topic.tolist()] == [
        dict(zip("abc", "stu", strict=True))[item] for item in items
    ]
    assert block.judges == 2
    assert sorted(block.cell.tolist()) == sorted(adjudge.read(pl.DataFrame(ROWS)).block().cell.tolist())


def test_what_the_fit_never_met_is_refused(fit):
    """Other items, or other judges."""
    for column, name in (("judge", "z"), ("item", "q")):
        strange = pl.DataFrame({**{key: values[:2] for key, values in ROWS.items()}, column: [name, name]})
        with pytest.raises(adjudge.UsageError, match=f"it has no {column} '{name}'"):
            as_fitted(fit, adjudge.read(strange, labels=fit.scale.labels))


def test_a_part_of_the_judgments_is_refused(fit):
    """The fit knows how much each judge said."""
    part = pl.DataFrame({**ROWS, "label": [0, 0, 1, 1, 0, 1]}).head(5)
    with pytest.raises(adjudge.UsageError, match="it has 6 and these are 5, or not as many of each judge"):
        as_fitted(fit, adjudge.read(part, labels=fit.scale.labels))


def test_fits_that_were_told_other_gold_are_not_compared(fit):
    """Neither other truths, nor the same ones read otherwise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)
        plain = adjudge.fit(pl.DataFrame(ROWS), "hybrid-confusion", run=adjudge.Run(2, 10, 20))
        apart = adjudge.Prior(gold_informs=False)
        other = adjudge.fit(pl.DataFrame(ROWS), "hierarchical", {"a": "0"}, run=adjudge.Run(2, 10, 20), prior=apart)
    refuse_other_gold(fit, fit)
    for entry in (plain, other):
        with pytest.raises(adjudge.UsageError, match="have different gold"):
            refuse_other_gold(fit, entry)


def test_draws_and_what_gold_informs(fit):
    """Both are read from the fit."""
    assert draws_of(fit).prevalence.shape == (2, 20, 3, 2)
    assert gold_informed(fit)
    with pytest.raises(adjudge.UsageError, match="has no draws"):
        draws_of(adjudge.fit(pl.DataFrame(ROWS), "majority"))


def test_tables_of_a_sampled_fit_have_intervals(fit):
    """Judges, matrices, prevalence by topic, ranks and diagnostics."""
    assert {"sensitivity_low", "informedness_high", "bits", "no_better_than_chance"} <= {*fit.judges.columns}
    assert fit.confusion.columns[-2:] == ["probability_low", "probability_high"]
    assert fit.prevalence["topic"].to_list() == ["s", "s", "t", "t", "u", "u"]
    assert (fit.prevalence["prevalence_low"] < fit.prevalence["prevalence_high"]).all()
    assert fit.ranks["expected"].to_list() == [1, 1, 1]  # one item a topic
    named = fit.diagnostics["parameter"].to_list()
    assert {"kappa[topics]", "phi[0, 1]", "prevalence[s, 0]", "confusion[x, 1, 0]"} <= {*named}
    assert len(named) == 3 * 2 + 3 + 6 + 8
    np.testing.assert_allclose(fit.prevalence["prevalence"], fit.params.prevalence.reshape(-1))

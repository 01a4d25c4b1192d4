"""The effective number of judges and the correlations of families: closed forms, and panels with known correlations."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.effective_judges import (
    MOST_FAMILIES,
    effective_by_gold,
    effective_by_judgments,
    error_residuals,
    family_correlations,
    fit_independent,
    unanimous,
)
from adjudge.errors import UsageError


def crowd(*columns, truth=None):
    """Return judgments with one judge per column of labels, and the truths of the items."""
    rows = [(f"i{i}", f"j{j}", label) for j, column in enumerate(columns) for i, label in enumerate(column)]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"), labels=["0", "1"])
    gold = np.zeros(len(judgments.items), np.int32) if truth is None else np.array(truth, np.int32)
    return judgments, gold


@pytest.mark.parametrize(
    ("second", "correlation", "number"),
    [("1010", 1, 1), ("1100", 0, 2), ("0101", -1, 2)],
    ids=["same", "none", "opposite"],
)
def test_two_judges_by_hand(second, correlation, number):
    """Two judges with the same errors are one, without correlation they are two, and never more than two."""
    result = effective_by_gold(*crowd("1010", second))
    assert result.correlation.value == pytest.approx(correlation)
    assert result.number.value == pytest.approx(number)
    assert (result.judgments, result.items, result.source) == (2, 4, "gold")


def test_three_judges_by_hand():
    """The mean over pairs: one pair with the correlation 1, and two without any."""
    result = effective_by_gold(*crowd("1010", "1010", "1100"))
    assert result.correlation.value == pytest.approx(1 / 3)
    assert result.number.value == pytest.approx(3 / (1 + 2 / 3))
    assert result.sentence == (
        f"3 judgments per item are worth about 1.8 independent ones ({result.number.low:.1f} to "
        f"{result.number.high:.1f}), by their errors on gold."
    )


def test_errors_are_compared_given_the_truth():
    """Judges who all miss one label are not correlated: given the truth, their errors do not vary."""
    judgments, gold = crowd("0000", "0000", truth=[0, 0, 1, 1])
    assert error_residuals(judgments, gold).score.size == 0
    with pytest.raises(UsageError, match="no gold item has two judges who err on some gold items and not on others"):
        effective_by_gold(judgments, gold)


def test_gold_interval_covers():
    """The 90 % interval by gold holds the true number of a simulated panel in about 90 % of panels."""
    true, inside = 8 / (1 + 7 * 0.3), 0
    for seed in range(60):
        panel = adjudge.simulate("panel", seed, items=250, people=0, families=1, machines=8, within=0.3, between=0.3)
        number = effective_by_gold(panel.judgments, panel.truth).number
        inside += number.low <= true <= number.high
    assert inside / 60 >= 0.8


@pytest.mark.parametrize("correlation", [0.05, 0.2, 0.4])
def test_interval_without_gold_covers(correlation):
    """The interval by agreement is wide enough for simulated panels, although it never sees the truth."""
    inside = 0
    for seed in range(20):
        sizes = {"within": correlation, "between": correlation}
        panel = adjudge.simulate("panel", seed, items=300, people=0, families=1, machines=10, **sizes)
        number = effective_by_judgments(panel.judgments, fit_independent(panel.judgments)).number
        inside += number.low <= 10 / (1 + 9 * correlation) <= number.high
    assert inside / 20 >= 0.8


def test_families_of_a_simulated_panel():
    """Correlations within and between families are found by gold, and their order without gold."""
    panel = adjudge.simulate("panel", 3, items=2_000, people=0, within=0.6, between=0.15)
    judgments = panel.judgments
    family, names = judgments.panel.family_codes()
    by_gold = family_correlations(judgments, family, names, error_residuals(judgments, panel.truth))
    assert by_gold.families == ("model 1", "model 2", "model 3")
    assert by_gold.sizes.tolist() == [4, 4, 4]
    np.testing.assert_allclose(by_gold.matrix, np.where(np.eye(3, dtype=bool), 0.6, 0.15), atol=0.06)
    assert by_gold.within.low <= 0.6 <= by_gold.within.high
    assert by_gold.between.low <= 0.15 <= by_gold.between.high
    free = family_correlations(judgments, family, names, fit_independent(judgments))
    assert free.within.low > free.between.high
    assert (np.diag(free.matrix) > free.matrix[~np.eye(3, dtype=bool)].max()).all()
    assert free.sentence.startswith("The excess agreement of two judges is 0.")
    assert free.sentence.endswith("between families; without gold, errors that all judges share are not seen.")


def test_excess_agreement_is_zero_for_independent_judges():
    """Judges who err independently have no excess agreement beyond chance, in families or not."""
    panel = adjudge.simulate("panel", 5, items=1_500, people=0, within=0.0, between=0.0)
    family, names = panel.judgments.panel.family_codes()
    free = family_correlations(panel.judgments, family, names, fit_independent(panel.judgments))
    assert abs(free.within.value) < 0.05
    assert abs(free.between.value) < 0.05


def test_many_families_are_cut():
    """A table of correlations has the largest families only; judges of the others count in the means."""
    panel = adjudge.simulate("panel", 1, items=60, people=MOST_FAMILIES + 5, families=1, machines=2)
    family, names = panel.judgments.panel.family_codes()
    for source in (error_residuals(panel.judgments, panel.truth), fit_independent(panel.judgments)):
        result = family_correlations(panel.judgments, family, names, source)
        assert len(result.families) == MOST_FAMILIES
        assert result.matrix.shape == (MOST_FAMILIES, MOST_FAMILIES)
        assert result.within is not None
        assert result.between is not None


def test_unanimous_judges():
    """Agreement on everything says nothing about errors."""
    judgments, _ = crowd("0101", "0101", "0101")
    assert unanimous(judgments)
    with pytest.raises(UsageError, match="all judges agree on every item, so that agreement says nothing about errors"):
        fit_independent(judgments)
    assert not unanimous(crowd("0101", "0111")[0])


def test_items_of_one_judge():
    """Without an item that two judges share, there is nothing to compare."""
    rows = pl.DataFrame({"item": ["a", "b", "c"], "judge": ["x", "y", "y"], "label": ["0", "1", "0"]})
    judgments = adjudge.read(rows)
    shared = fit_independent(crowd("0101", "0111", "0110")[0])
    with pytest.raises(UsageError, match="no item has two judges, so that agreement cannot be measured"):
        effective_by_judgments(judgments, shared)

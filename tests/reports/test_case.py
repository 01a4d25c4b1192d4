"""A fit with all that can be said of it."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.reports.case import build_case

ROWS = {
    "item": ["a", "a", "a", "b", "b", "c"],
    "judge": ["x", "y", "z", "x", "y", "x"],
    "label": ["no", "no", "yes", "yes", "no", "yes"],
}


@pytest.fixture
def case():
    """Return the case of a vote on three items."""
    judgments = adjudge.read(pl.DataFrame(ROWS))
    return build_case(adjudge.fit(judgments, "majority"), judgments)


def test_votes_are_in_the_order_of_the_fit(case):
    """Of an item nobody judged there are none."""
    np.testing.assert_allclose(case.votes, [[2 / 3, 1 / 3], [0.5, 0.5], [0, 1]])
    gold = pl.DataFrame({"item": ["d", "a"], "label": ["no", "yes"]})
    with pytest.warns(adjudge.AdjudgeWarning, match="nobody judged gold item"):
        fit = adjudge.fit(case.judgments, "dawid-skene", gold)
    votes = build_case(fit, case.judgments).votes
    assert np.isnan(votes[fit.items.to_list().index("d")]).all()
    np.testing.assert_allclose(votes[fit.items.to_list().index("a")], [2 / 3, 1 / 3])


def test_a_vote_overrules_no_vote(case):
    """And a tie is none; a fit that was told otherwise does."""
    assert case.overruled.tolist() == [False, False, False]
    fitted = adjudge.fit(case.judgments, "dawid-skene", pl.DataFrame({"item": ["a"], "label": ["yes"]}))
    assert not build_case(fitted, case.judgments).overruled[0]  # that was gold
    crowd = adjudge.simulate("carpenter", seed=7, topics=5, items=100, judges=20, judgments=800, gold=5).judgments
    reference = build_case(adjudge.fit(crowd, "dawid-skene"), crowd)
    assert reference.overruled.any()
    winner = reference.votes[reference.overruled].argmax(axis=1)
    assert (winner != reference.fit.label[reference.overruled]).all()


def test_a_fit_is_held_against_truths_that_it_was_not_told(case):
    """What it was told it knows, and is no test of it."""
    assert case.unused_truths is None
    truth = pl.DataFrame({"item": ["c", "a"], "label": ["yes", "yes"]})
    codes, shares = build_case(case.fit, case.judgments, truth).unused_truths
    assert codes.tolist() == [1, 1]
    np.testing.assert_allclose(shares, case.fit.posterior[[0, 2]])
    fitted = adjudge.fit(case.judgments, "dawid-skene", pl.DataFrame({"item": ["a"], "label": ["yes"]}))
    codes, shares = build_case(fitted, case.judgments, truth).unused_truths
    assert codes.size == 1
    np.testing.assert_allclose(shares, fitted.posterior[[2]])


def test_reliability_is_by_judgments_alone(case):
    """Of a truth that was told the fit is certain, of what judges say of it not; other truths count too."""
    assert case.known_truths[0].size == 0
    fitted = adjudge.fit(case.judgments, "dawid-skene", pl.DataFrame({"item": ["a"], "label": ["yes"]}))
    truth = pl.DataFrame({"item": ["c"], "label": ["yes"]})
    codes, shares = build_case(fitted, case.judgments, truth).known_truths
    assert codes.tolist() == [1, 1]
    assert (fitted.posterior[0] == [0, 1]).all()
    assert 0 < shares[0, 1] < 1
    np.testing.assert_allclose(shares[1], fitted.posterior[2])

"""The vote: shares as probabilities, ties as one is told, matrices by counting."""

import numpy as np
import polars as pl
import pytest

import adjudge

TIED = pl.DataFrame({"item": ["a", "a"] * 20, "judge": ["x", "y"] * 20, "label": ["no", "yes"] * 20}).with_columns(
    item=pl.Series([f"i{n // 2}" for n in range(40)])
)


def labels(ties, seed=0):
    """Return the labels of twenty tied items."""
    return adjudge.fit(TIED, "majority", ties=ties, seed=seed).labels["label"].to_list()


def test_first_is_the_first_of_the_scale():
    """Ties go to the label that comes first."""
    assert labels("first") == ["no"] * 20


def test_all_gives_all():
    """Tied labels are given together."""
    assert labels("all") == ["no|yes"] * 20


def test_random_is_random_by_seed():
    """Both labels come up; the same seed gives the same, another one others."""
    assert set(labels("random")) == {"no", "yes"}
    assert labels("random", 1) == labels("random", 1) != labels("random", 2)


def test_unknown_ties_are_refused():
    """The message names the choices."""
    with pytest.raises(adjudge.UsageError, match="ties 'coin' is not one of 'random', 'first', 'all'"):
        adjudge.fit(TIED, "majority", ties="coin")


def test_matrices_follow_by_counting():
    """Judge y disagrees with the majority on one of three items."""
    table = pl.DataFrame(
        {
            "item": ["a", "a", "a", "b", "b", "b", "c", "c", "c"],
            "judge": ["x", "y", "z"] * 3,
            "label": ["0", "0", "0", "1", "0", "1", "1", "1", "1"],
        }
    )
    fit = adjudge.fit(table, "majority")
    np.testing.assert_allclose(fit.params.confusion[1], [[1, 0], [0.5, 0.5]])
    np.testing.assert_allclose(fit.accuracy, [1, 2 / 3, 1])
    assert fit.evidence == ()


CROWD = adjudge.simulate("dawid-skene", seed=4, items=200, judges=15, labels=3, per_item=5)


def skills(answer):
    """Return how often each judge of the crowd agrees with an answer (I)."""
    table = CROWD.judgments
    agrees = answer[table.item()] == table.label
    return np.bincount(table.judge, agrees) / np.bincount(table.judge)


def weighted_votes(skill):
    """Return the sums of the judges' skills by item and label (I, K)."""
    table = CROWD.judgments
    votes = np.zeros((len(table.items), 3))
    np.add.at(votes, (table.item(), table.label), skill[table.judge])
    return votes


def test_wawa_weighs_by_agreement_with_the_majority():
    """Skills and weighted shares, written out; tied majorities count by halves, so untied ones are compared."""
    majority = adjudge.fit(CROWD.judgments, "majority")
    odd = adjudge.fit(CROWD.judgments, "wawa")
    tied = (majority.posterior == majority.posterior.max(axis=1, keepdims=True)).sum(axis=1) > 1
    weights = odd.judges["vote_weight"].to_numpy()
    assert np.abs(weights - skills(majority.label)).max() < tied.sum() / 20
    votes = weighted_votes(weights)
    np.testing.assert_allclose(odd.posterior, votes / votes.sum(axis=1, keepdims=True))


def test_zbs_repeats_until_skills_are_those_of_its_own_answer():
    """At convergence, the weight of a judge is their share of agreement with the weighted labels."""
    fit = adjudge.fit(CROWD.judgments, "zbs")
    assert fit.converged
    np.testing.assert_allclose(fit.judges["vote_weight"].to_numpy(), skills(fit.label))
    assert (weighted_votes(skills(fit.label)).argmax(axis=1) == fit.label).all()


def test_weighted_vote_learns_from_gold_alone():
    """A judge wrong on the one gold item counts 1/3, one right counts 2/3, one who did not judge it 1/2."""
    rows = [("g", "x", "1"), ("g", "y", "0"), ("a", "y", "0"), ("a", "z", "1"), ("b", "x", "0"), ("b", "z", "1")]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    fit = adjudge.fit(table, "weighted-vote", gold={"g": "1"})
    assert dict(zip(fit.judges["judge"], fit.judges["vote_weight"], strict=True)) == pytest.approx(
        {"x": 2 / 3, "y": 1 / 3, "z": 1 / 2}
    )
    assert fit.labels["label"].to_list() == ["1", "1", "0"]
    assert fit.labels["p_1"].to_list() == pytest.approx([1, 0.6, 3 / 7])


def test_weighted_vote_without_gold_is_the_vote():
    """Nobody is known to be better than anybody."""
    weighted, plain = (adjudge.fit(CROWD.judgments, model).posterior for model in ("weighted-vote", "majority"))
    np.testing.assert_allclose(weighted, plain)

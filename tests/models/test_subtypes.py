"""Label subtypes: items that mislead everybody are found to be hard cases of their label."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference.params import accurate
from adjudge.kernels.truth import truth_posterior
from adjudge.models.subtypes import MODELS, by_clarity


@pytest.fixture(scope="module")
def ponds():
    """Return birds on a pond: ducks, gulls that nobody takes for ducks, and grebes that most do; judges know or do not.

    Half of the judges know a grebe from a duck.
    """
    rng = np.random.default_rng(0)
    kind = rng.choice(3, 240, p=[0.4, 0.35, 0.25])  # duck, gull, grebe
    item, judge = np.repeat(np.arange(240), 20), np.tile(np.arange(20), 240)
    says_duck = np.where(judge[:, None] < 9, [0.95, 0.05, 0.1], [0.85, 0.05, 0.75])[np.arange(item.size), kind[item]]
    label = (rng.random(item.size) < says_duck).astype(int)
    return adjudge.read(pl.DataFrame({"item": item, "judge": judge, "label": label}), item="item", judge="judge"), kind


def test_a_third_kind_is_found(ponds):
    """The grebes stand apart as hard cases, and are foretold far better than by one kind a label."""
    table, kind = ponds
    fit = adjudge.fit(table, "subtypes")
    birds = kind[[int(name) for name in fit.items]]
    hard = fit.labels["hard"].to_numpy()
    assert hard[birds == 2].mean() > 0.9
    assert hard[birds == 1].mean() < 0.2
    assert adjudge.held_out(table, "subtypes").mean > adjudge.held_out(table, "hybrid-confusion").mean + 0.02


def test_items_begin_as_clear_cases_by_their_votes():
    """A unanimous item is a clear case of its label, a tied one a hard case of either."""
    table = {"item": ["a", "a", "b", "b"], "judge": ["x", "y"] * 2, "label": [1, 1, 0, 1]}
    tally = by_clarity(adjudge.read(pl.DataFrame(table)).block(), accurate(2, 2))
    np.testing.assert_allclose(tally.truth[0], [0, 0.5, 1, 0.5])  # 0 clear, 0 hard, 1 clear, 1 hard


def test_steps_are_those_of_a_confusion_model_with_four_truths(ponds):
    """The E-step is Bayes' rule over label and kind; rows and prevalence are modes under the prior of paper 003."""
    block, (model,), start = ponds[0].block(), MODELS, accurate(20, 2)
    params = model.estimate(by_clarity(block, start), start)
    tally = model.assign(block, params)
    rows = np.exp(params.skill.reshape(20, 4, 2))
    np.testing.assert_allclose(rows.sum(axis=2), 1)
    expected, evidence = truth_posterior(block, params.prevalence, rows)
    result = truth_posterior(block, *model.states(params))[0]
    np.testing.assert_allclose(result, expected, atol=1e-12)
    assert tally.evidence == pytest.approx(evidence)
    after = model.estimate(tally, start)
    counts = tally.label + 3 * np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    np.testing.assert_allclose(np.exp(after.skill), (counts / counts.sum(axis=2, keepdims=True)).reshape(20, 8))
    np.testing.assert_allclose(after.prevalence, tally.truth / tally.truth.sum())


def test_prevalence_is_told_by_label(ponds):
    """The kinds of a label add up."""
    fit = adjudge.fit(ponds[0], "subtypes")
    assert fit.prevalence["prevalence"].sum() == pytest.approx(1)
    assert fit.prevalence.height == 2

"""The consensus model: its formula, and honest probabilities where judges share errors."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference.params import accurate
from adjudge.kernels.block import Tally
from adjudge.models.consensus import shrunk_rows


def test_judges_are_shrunk_to_the_crowd():
    """The rows are (count + 5 crowd) / (row + 5), and the crowd's own have five counts of a weak diagonal."""
    counts = np.array([[[8.0, 2.0], [1.0, 4.0]], [[0.0, 0.0], [3.0, 3.0]]])
    crowd = np.array([[8 + 4, 2 + 1], [4 + 1, 7 + 4]], float)
    crowd /= crowd.sum(axis=1, keepdims=True)
    params = shrunk_rows(Tally(np.ones((1, 2)), counts, 0.0), accurate(2, 2))
    np.testing.assert_allclose(params.population, crowd)
    np.testing.assert_allclose(params.confusion[0, 0], (counts[0, 0] + 5 * crowd[0]) / 15)
    np.testing.assert_allclose(params.confusion[1, 0], crowd[0])  # a judge who never met this truth


def misleading_crowd(seed, items=1200, judges=30, per_item=9):
    """Return judgments of items that mislead from none to most of their judges, and the truth."""
    rng = np.random.default_rng(seed)
    truth, judge = rng.integers(0, 2, items), np.argsort(rng.random((items, judges)), axis=1)[:, :per_item]
    right = rng.random(judge.shape) < rng.beta(2, 0.9, (items, 1))
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    rows = {"item": np.repeat(np.arange(items), per_item), "judge": judge.ravel(), "label": label.ravel()}
    return adjudge.read(pl.DataFrame(rows)), truth


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_shared_errors_do_not_make_it_over_confident(seed):
    """It claims less than Dawid-Skene, is within its interval, and has a far smaller log loss."""
    judgments, truth = misleading_crowd(seed)
    fits = {name: adjudge.fit(judgments, name) for name in ("consensus", "dawid-skene")}
    order = np.array([int(name) for name in judgments.items])
    loss = {
        name: -np.log(np.clip(fit.posterior[np.arange(order.size), truth[order]], 1e-3, 1)).mean()
        for name, fit in fits.items()
    }
    right = (fits["consensus"].label == truth[order]).mean()
    claimed = fits["consensus"].calibration
    assert abs(claimed.expected - right) < claimed.margin
    assert loss["consensus"] < loss["dawid-skene"] - 0.1


@pytest.mark.parametrize("seed", [1, 2])
def test_independent_judges_are_believed(seed):
    """Where Dawid and Skene's model is true and judgments are many, the log loss is that of their model."""
    crowd = adjudge.simulate("dawid-skene", seed=seed, items=1000, judges=40, per_item=12)
    losses = {}
    for name in ("consensus", "dawid-skene"):
        chance = adjudge.fit(crowd.judgments, name).posterior[np.arange(crowd.truth.size), crowd.truth]
        losses[name] = -np.log(np.clip(chance, 1e-3, 1)).mean()
    assert losses["consensus"] < losses["dawid-skene"] + 0.02


def test_an_update_is_the_fit_of_all_judgments():
    """It goes as many rounds from the vote, and is calibrated again."""
    judgments, _ = misleading_crowd(4, items=200)
    late = judgments.item() % 4 == 0
    first, rest = (judgments.take(np.flatnonzero(part)) for part in (~late, late))
    updated = adjudge.update(adjudge.fit(first, "consensus"), rest, first)
    together = adjudge.fit(updated.judgments, "consensus")
    assert updated.stopped == together.stopped == "finished"
    np.testing.assert_array_equal(updated.posterior, together.posterior)
    assert updated.calibration == together.calibration


def test_its_own_probabilities_can_be_asked_for():
    """With ``calibrate="none"`` they are Bayes' rule with the judges' confusions."""
    judgments = adjudge.dataset("anesthesia")
    fit = adjudge.fit(judgments, "consensus", calibrate="none")
    logs = np.tile(np.log(fit.params.prevalence[0]), (len(judgments.items), 1))
    for item, judge, label in zip(judgments.item(), judgments.judge, judgments.label, strict=True):
        logs[item] += np.log(fit.params.confusion[judge, :, label])
    expected = np.exp(logs - logs.max(axis=1, keepdims=True))
    np.testing.assert_allclose(fit.posterior, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)
    assert fit.calibration is None

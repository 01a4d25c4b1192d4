"""Calibration by crowds: the weights that were learned, applied as the formula says, and what is said about them."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.inference.calibration import Calibration, by_crowds, crowd_contexts, evidence_rule, learned_weights, mixed
from adjudge.inference.correlation import Correlation
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named

ROWS = {"item": [*"aaaabbbcc"], "judge": [*"uvwxuvwuv"], "label": [0, 0, 1, 0, 1, 1, 2, 2, 0]}


@pytest.fixture(scope="module")
def judgments():
    """Return nine judgments with three labels."""
    return adjudge.read(pl.DataFrame(ROWS), labels=[0, 1, 2])


def test_the_formula_item_by_item(judgments):
    """A loop over items gives the same probabilities."""
    fit, block = infer(model_named("consensus"), judgments), judgments.block()
    prevalence = fit.params.label_prevalence
    calibration = by_crowds(Correlation(0.2, 0.4, 0.07, 0.01), 0.3, fit.posterior, block, prevalence)
    weight, slope = np.reshape(calibration.weights, (2, 3))
    learned = learned_weights()
    contexts = crowd_contexts(0.4, 9 / 4, fit.params.label_prevalence)
    np.testing.assert_allclose(weight, np.array(learned["by_crowd"]) @ contexts)
    probability = mixed(calibration, fit.posterior, block)
    for i, name in enumerate(judgments.items):
        labels = [label for item, label in zip(ROWS["item"], ROWS["label"], strict=True) if item == name]
        n, prevalence = len(labels), np.array(calibration.prevalence)
        vote = (np.bincount(labels, minlength=3) + 1 / 3) / (n + 1)
        evidence = np.log(fit.posterior[i]) - np.log(prevalence)
        evidence = (evidence - evidence.max()) / (1 + (n - 1) * 0.2)
        evidence = calibration.cap * np.tanh(evidence / calibration.cap)
        features = np.column_stack([np.log(vote), evidence, np.log(prevalence)])
        logs = features @ (weight + slope * (np.log(n) - 1.2))
        likely = np.exp(logs) / np.exp(logs).sum()
        likely = (1 - calibration.hedge) * likely + calibration.hedge * vote
        np.testing.assert_allclose(probability[i], 0.7 * likely + 0.3 * fit.posterior[i])
    assert calibration.expected == pytest.approx(probability.max(axis=1).mean())


def test_correlated_errors_bound_the_evidence():
    """Little correlation gives a wide bound and little of the vote, strong correlation the narrowest and most."""
    little, strong = evidence_rule(0.02), evidence_rule(0.5)
    assert (little.cap, strong.cap) == (25.0, 4.0)
    assert (little.vote, strong.vote) == (pytest.approx(0.015), 0.15)


def test_gold_stays_certain(judgments):
    """A known truth has probability one."""
    fit = adjudge.fit(judgments, "consensus", gold={"b": 2})
    assert fit.posterior[1].tolist() == [0.0, 0.0, 1.0]
    assert fit.label[1] == 2


def test_a_saved_fit_predicts_as_before(judgments, tmp_path):
    """The weights are saved with the fit, and the items of the fit are predicted alike."""
    fit = adjudge.fit(judgments, "consensus")
    adjudge.save(fit, tmp_path / "fit", judgments)
    loaded = adjudge.load(tmp_path / "fit")
    assert loaded.calibration == fit.calibration
    np.testing.assert_allclose(adjudge.predict(loaded, judgments).posterior, fit.posterior, atol=1e-12)


def test_other_models_have_no_such_weights(judgments):
    """The weights belong to the evidence of the consensus model."""
    message = "calibrate 'crowds' works with model 'consensus' only: its weights were learned for that model"
    with pytest.raises(UsageError, match=message):
        adjudge.fit(judgments, "dawid-skene", calibrate="crowds")


def test_words():
    """What is said: the worth of the judgments, and the expected share of right labels with its interval."""
    calibration = Calibration("crowds", correlation=0.25, judgments=5.0, expected=0.9, margin=0.15)
    assert calibration.words == (
        "5.0 judgments per item are worth about 2.5 independent ones (estimated correlation of errors 0.25); 90% of "
        "the labels are expected to be right (75% to 100%: on crowds that were left out of training, nine in ten such "
        "intervals held the true share)"
    )
    alone = replace(calibration, judgments=1.0)
    assert alone.words.startswith("items have one judgment each, which says little about the judges; 90%")

"""Weights from what a model is sure of: by formula, for every model, and beside the paper's."""

import doctest
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import adjudge
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.learn import posterior_weights as module
from adjudge.learn.posterior_weights import KINDS, posterior_weights, soft_labels
from adjudge.learn.weights import weights

TWO = adjudge.simulate("carpenter", seed=2, topics=3, items=60, judges=8, judgments=300, gold=6)
THREE = adjudge.simulate("liu-wang", seed=1, items=80)


def sure(posterior: list[list[float]], kind: str) -> Any:
    """Return the raw weights of items with these posteriors."""
    labels = "abc"[: len(posterior[0])]
    fit = replace(
        adjudge.fit(THREE.judgments, "majority"),
        items=THREE.judgments.items.head(len(posterior)),
        scale=adjudge.Scale(tuple(labels)),
        posterior=np.array(posterior),
        label=np.array(posterior).argmax(axis=1),
    )
    return posterior_weights(fit, kind, mean_one=False).weight.tolist()


def test_two_labels_are_as_the_formulas_say() -> None:
    """|2p - 1| and 1 - H(p): certain is 1, open is 0."""
    posterior = [[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]
    assert sure(posterior, "margin") == pytest.approx([1, 0, 0.5])
    bits = 1 + 0.25 * np.log2(0.25) + 0.75 * np.log2(0.75)
    assert sure(posterior, "entropy") == pytest.approx([1, 0, bits])


def test_more_labels_are_on_the_same_scale() -> None:
    """From 0 if nothing is known to 1 if all is known."""
    posterior = [[0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0.0]]
    assert sure(posterior, "margin") == pytest.approx([1, 0, 0])
    assert sure(posterior, "entropy") == pytest.approx([1, 0, 1 - 1 / np.log2(3)], abs=1e-12)


def test_one_label_is_certain() -> None:
    """There is nothing else it could be."""
    assert sure([[1.0]], "margin") == sure([[1.0]], "entropy") == [1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", adjudge.MODELS)
def test_every_model_gives_weights(model: str, kind: str) -> None:
    """Whatever the model, weights are finite, not negative, and have a mean of 1."""
    judgments, reference = TWO.judgments, adjudge.MODELS[model]
    judgments = replace(judgments, scale=replace(judgments.scale, ordinal=reference.labels.ordered))
    chains = {"run": adjudge.Run(chains=1, warmup=10, draws=10)} if reference.sampler is not None else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "(the chains|label switching)", AdjudgeWarning)
        result = posterior_weights(adjudge.fit(judgments, model, gold=TWO.gold, **chains), kind)
    assert len(result) == 60
    assert np.isfinite(result.weight).all()
    assert (result.weight >= 0).all()
    assert result.weight.mean() == pytest.approx(1)
    assert result.table.columns == ["item", "topic", "label", "weight", "probability", "soft"]
    assert result.judges.columns == ["judge", "judgments", "accuracy"]


def test_the_margin_of_the_vote_is_the_papers_scheme_l() -> None:
    """Where all items have as many judgments, L and the margin of vote shares are the same weights."""
    panel = adjudge.simulate("dawid-skene", seed=3, items=50, judges=9, labels=2, per_item=5).judgments
    margin = posterior_weights(adjudge.fit(panel, "majority"))
    labels = weights(panel, "L")
    np.testing.assert_allclose(margin.weight, labels.weight)
    assert margin.label == labels.label


def test_soft_labels_are_probabilities_of_the_last_label() -> None:
    """Of two the last, of more what is named."""
    fit = adjudge.fit(TWO.judgments)
    assert soft_labels(fit)["probability"].to_list() == fit.posterior[:, 1].tolist()
    three = adjudge.fit(THREE.judgments)
    both = soft_labels(three, positive=["A", "C"])["probability"].to_numpy()
    np.testing.assert_allclose(both, 1 - three.posterior[:, 1])
    with pytest.raises(UsageError, match="labels 'A', 'B', 'C': name the label, or labels, of the probability"):
        soft_labels(three)
    for wrong in ("D", []):
        with pytest.raises(UsageError, match="is not one of the labels 'A', 'B', 'C'"):
            soft_labels(three, positive=wrong)


def test_tables_are_of_the_kind_that_was_fitted() -> None:
    """A fit of a pandas frame gives pandas frames."""
    frame = pd.DataFrame({"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": [1, 1, 0]})
    fit = adjudge.fit(frame, "majority")
    assert isinstance(posterior_weights(fit).table, pd.DataFrame)
    assert isinstance(soft_labels(fit), pd.DataFrame)


def test_what_cannot_be_is_refused() -> None:
    """An unknown kind, and a fit that is sure of nothing."""
    fit = adjudge.fit(TWO.judgments, "majority")
    with pytest.raises(UsageError, match="kind 'odds' is not one of 'margin', 'entropy'"):
        posterior_weights(fit, "odds")
    with pytest.raises(UsageError, match="the weights of all 60 items are 0, so nothing can be learned"):
        posterior_weights(replace(fit, posterior=np.full((60, 2), 0.5)))


def test_examples_work() -> None:
    """Every >>> gives what it says."""
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)

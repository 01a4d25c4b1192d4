"""A fit's judgments, ready to leave votes out."""

import numpy as np
import pytest

import adjudge
from adjudge.judges.others import by_label, seen_by
from adjudge.models.registry import MODELS

CROWD = adjudge.simulate("ordinal", 3, items=80, judges=6, labels=2)
CLIMBED = [name for name in MODELS if "map" in MODELS[name].inferences]


@pytest.mark.parametrize("model", CLIMBED)
def test_every_model_can_be_asked(model):
    """Whatever its own parameters are, there are chances, and none is 0."""
    fit = adjudge.fit(CROWD.judgments, model, inference="map")
    seen = seen_by(fit, CROWD.judgments)
    assert seen.others().shape == (len(CROWD.judgments), 2)
    np.testing.assert_allclose(seen.others().sum(axis=1), 1)
    np.testing.assert_allclose(seen.confusion.sum(axis=2), 1, rtol=1e-6)
    assert (seen.confusion > 0).all()
    assert by_label(fit.params).shape[1] == 2


def test_a_judge_of_few_judgments_is_nearly_average():
    """One of many is nearly what the fit says."""
    fit = adjudge.fit(CROWD.judgments, "dawid-skene")
    usual = fit.params.population / fit.params.population.sum(axis=1, keepdims=True)
    none = seen_by(fit, CROWD.judgments, np.zeros(6)).confusion
    np.testing.assert_allclose(none, np.broadcast_to(usual, none.shape), atol=1e-5)
    np.testing.assert_allclose(
        seen_by(fit, CROWD.judgments, np.full(6, 1e9)).confusion, fit.params.confusion, atol=1e-6
    )

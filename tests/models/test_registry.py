"""The registry is where models are known from."""

import pytest

from adjudge.errors import UsageError
from adjudge.models.registry import MODELS, model_named


def test_names_are_keys():
    """Every model is found under its own name, and says one line and its paper."""
    for name, model in MODELS.items():
        assert model_named(name) is model
        assert model.name == name
        assert model.summary
        assert model.paper


def test_an_unknown_model_lists_the_known():
    """The error names them all."""
    with pytest.raises(UsageError) as error:
        model_named("magic")
    assert str(error.value) == f"model 'magic' is not one of {', '.join(repr(name) for name in MODELS)}"
    assert "'dawid-skene'" in str(error.value)

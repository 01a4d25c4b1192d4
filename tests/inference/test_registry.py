"""The registry is where models are known from."""

import tomllib
from pathlib import Path

import pytest

from adjudge.errors import UsageError
from adjudge.inference.registry import MODELS, model_named

ROOT = Path(__file__).parents[2]


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


def test_the_contract_names_every_room():
    """Models do not know each other: each file of the registry is in the contract that holds it."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    named = next(c["modules"] for c in contracts if c["name"] == "Models do not know each other")
    rooms = {part.__module__ for model in MODELS.values() for part in (model.assign, model.estimate, model.posterior)}
    shared = {"adjudge.inference.components", "adjudge.inference.model"}
    assert rooms - shared <= set(named)
    assert all((ROOT / "src" / f"{room.replace('.', '/')}.py").exists() for room in named)
    text = (ROOT / "src/adjudge/models/builtin.py").read_text()
    assert all(room.rsplit(".", 1)[1] in text for room in named)

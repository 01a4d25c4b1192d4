"""The files of the built-in models: each is listed, has an example that runs, and imports no other model."""

import doctest
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from adjudge.inference.model import MODELS
from adjudge.models import builtin

ROOT = Path(__file__).parents[2]
FILES = sorted(path.stem for path in (ROOT / "src/adjudge/models").glob("*.py") if path.stem[0] != "_")
OTHERS = {"builtin", "linear_judges", "multilabel", "scores"}  # these are no models of one label per judgment
MODULES = [f"adjudge.models.{name}" for name in FILES if name not in OTHERS]


def test_every_model_is_listed():
    """A model of a file that is not in ``builtin`` would be known to nobody."""
    listed = {model.name for module in MODULES for model in import_module(module).MODELS}
    assert listed == {model.name for model in builtin.MODELS} == set(MODELS)


@pytest.mark.parametrize("module", MODULES)
def test_every_model_has_an_example_that_runs(module):
    """The docstring of its file says what it is, in formula and paper, and shows it."""
    failed, tried = doctest.testmod(import_module(module))
    assert tried > 0
    assert failed == 0


def test_the_contract_names_every_model():
    """The one of pyproject.toml that keeps models apart lists all their files, and no other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    named = next(c["modules"] for c in contracts if c["name"] == "Models do not know each other")
    assert named == MODULES

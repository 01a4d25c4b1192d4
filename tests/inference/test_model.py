"""The start of paper 003, and what a model says of itself."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.inference.components import no_columns
from adjudge.inference.model import MODELS, model_named
from adjudge.inference.params import accurate


def test_accurate_start_is_the_normalised_prior():
    """Diagonal (lambda + 1) / (lambda + K), off it 1 / (lambda + K), prevalence 1 / K."""
    start = accurate(2, 4, trust=3)
    np.testing.assert_allclose(np.diag(start.confusion[1]), 4 / 7)
    np.testing.assert_allclose(start.confusion[1][~np.eye(4, dtype=bool)], 1 / 7)
    np.testing.assert_allclose(start.prevalence, [[0.25] * 4])
    assert start.confusion.shape == (2, 4, 4)


def test_no_columns_is_no_columns():
    """A model may have nothing to say of judges."""
    assert no_columns(accurate(1, 2), ("a", "b")) == {}


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


def test_a_model_is_a_name():
    """Anything else is refused in a sentence."""
    with pytest.raises(UsageError, match=r"^a model is a name such as 'dawid-skene', got dict$"):
        model_named({})


PACKAGE = '''"""One coin per judge, and a prevalence per topic."""

from adjudge.inference.components import ONE_COIN, PER_TOPIC, SOFT
from adjudge.inference.model import Model

MODEL = Model(
    "one-coin-topics",
    "each judge is right with one probability, and every topic has its own prevalence",
    "Dawid & Skene 1979, with one parameter per judge",
    prevalence=PER_TOPIC,
    confusion=ONE_COIN,
    assignment=SOFT,
    auto_rank=5,
)
'''
USE = """
import sys
import adjudge
from adjudge.inference.select import candidates

crowd = sys.argv[1]
fit = adjudge.fit(crowd, "one-coin-topics")
print(fit.model, fit.params.prevalence.shape, candidates()[0])
compared = adjudge.compare(crowd, ["majority", "one-coin-topics"])
print(sorted(compared.models))
print("one-coin-topics" in adjudge.choose(crowd).scores)
adjudge.save(fit, sys.argv[2])
print(adjudge.predict(adjudge.load(sys.argv[2]), crowd).model)
print(adjudge.fit(crowd, "one-coin", prevalence="topic").evidence == fit.evidence)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder with an installed package that registers a model, and the environment to use it in."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "coins.py").write_text(PACKAGE)
    about = folder / "coins-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: coins\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[adjudge.models]\ncoins = coins:MODEL\n")
    crowd = adjudge.simulate("carpenter", seed=3, topics=3, items=40, judges=6, judgments=160, gold=1)
    names = crowd.judgments
    item = names.item()
    pl.DataFrame(
        {
            "item": names.items.gather(item),
            "judge": names.judges.gather(names.judge),
            "label": names.label,
            "topic": names.topics.gather(names.topic[item]),
        }
    ).write_csv(folder / "crowd.csv")
    path = os.pathsep.join([str(folder), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return folder, {**os.environ, "PYTHONPATH": path}


def test_a_model_of_another_package_is_a_model_like_any_other(installed, tmp_path):
    """An entry point is all it takes: fit, compare, auto, saved fits and predictions know it."""
    folder, environment = installed
    command = [sys.executable, "-W", "ignore", "-c", USE, str(folder / "crowd.csv"), str(tmp_path / "fit")]
    message = subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout
    assert message.splitlines() == [
        "one-coin-topics (3, 2) one-coin-topics",
        "['majority', 'one-coin-topics']",
        "True",
        "one-coin-topics",
        "True",
    ]


def test_the_command_line_knows_a_model_of_another_package(installed):
    """It is listed, and can be named."""
    folder, environment = installed
    for words, part in ((["models"], "one-coin-topics"), (["fit", "crowd.csv", "-m", "one-coin-topics"], "p_right")):
        command = [sys.executable, "-m", "adjudge", *words]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=True)
        assert part in done.stdout


def test_two_models_of_one_name_are_refused(installed):
    """The error names the model and the package that came second."""
    folder, environment = installed
    twice = folder / "again-1.0.dist-info"
    twice.mkdir()
    (twice / "METADATA").write_text("Metadata-Version: 2.1\nName: again\nVersion: 1.0\n")
    (twice / "entry_points.txt").write_text("[adjudge.models]\nagain = adjudge.models.vote:MODELS\n")
    command = [sys.executable, "-m", "adjudge", "models"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "model 'majority' of package 'again' has the name of another model" in done.stderr
    assert done.returncode == 2

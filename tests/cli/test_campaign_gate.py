"""``adjudge campaign gate``."""

import warnings

import pytest
import typer
from typer.testing import CliRunner

from adjudge.cli.campaign_gate import gate
from adjudge.collect.files.demo import make_demo
from adjudge.errors import AdjudgeWarning, InputError, UsageError


@pytest.fixture
def demo(tmp_path):
    """Return the folder of a demo campaign."""
    make_demo(tmp_path / "trial")
    return tmp_path / "trial"


def run(*arguments):
    """Run the command alone, as it will be gathered."""
    app = typer.Typer()
    app.command()(gate)
    answer = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        raise answer.exception
    return answer


def test_every_gold_set_has_a_row(demo):
    """With what is attainable and how often the gate errs; those of the demo can all be passed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        said = run(demo).stdout
    assert "gold sets; binary >= 0.85, NDCG >= 0.62 of the printed ideal" in said
    assert "gold set" in said
    assert "85 % right" in said
    assert "nobody can pass" not in said


def test_all_compositions_are_shown_with_those_nobody_can_pass(demo):
    """21 of five documents."""
    said = run(demo, "--compositions").stdout
    assert "21 compositions of a gold set" in said
    assert said.count("nobody can pass") == 3
    assert "0.590" in said
    assert "0/0" in said


def test_thresholds_are_solved_for(demo):
    """As campaign.toml writes them, with what they do."""
    said = run(demo, "--solve", "0.05", "--accuracy", "0.95").stdout
    assert "[gate]\nbinary = " in said
    assert 'ndcg_of = "printed"' in said
    assert "At worst it refuses" in said


def test_a_set_that_nobody_can_pass_is_an_error(demo):
    """With the reason: a gate of 1 cannot be reached where grades are tied."""
    text = (demo / "campaign.toml").read_text()
    (demo / "campaign.toml").write_text(text.replace("ndcg = 0.62", "ndcg = 1.0"))
    with pytest.raises(InputError, match=r"the best strict ranking reaches 0\.\d+ of the printed ideal, below 1"):
        run(demo)


def test_two_questions_at_once_are_refused(demo):
    """With what to leave out."""
    with pytest.raises(UsageError, match="leave out --compositions"):
        run(demo, "--solve", "0.1", "--compositions")

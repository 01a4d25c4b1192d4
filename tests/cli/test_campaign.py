"""``adjudge campaign``: folders made and checked."""

import re
import shlex
import warnings

import pytest
import typer
from typer.testing import CliRunner

from adjudge.cli.campaign import gate
from adjudge.errors import AdjudgeWarning, InputError, UsageError
from adjudge.studio.demo import make_demo


@pytest.mark.parametrize("command", ["new", "check"])
def test_help_teaches_with_examples_that_work(run, command):
    """Every command of a campaign shows examples, and they run."""
    shown = re.findall(r"^\s*\$ (adjudge.*)$", run("campaign", command, "--help").out, re.MULTILINE)
    assert any(f"campaign {command}" in line for line in shown)
    for line in shown:
        answer = run(*shlex.split(line)[1:])
        assert answer.code == 0, answer.err


def test_the_demo_is_made_and_checked(run):
    """With figures, and the next line to type."""
    made = run("campaign", "new", "my trial", "--demo")
    assert (made.code, made.err) == (0, "")
    assert made.out.startswith("wrote my trial\n  topics              8\n  documents           96\n")
    assert made.out.endswith("\nNext: check the settings in my trial/campaign.toml, then: adjudge serve 'my trial'\n")
    checked = run("campaign", "check", "my trial")
    assert (checked.code, checked.err) == (0, "")
    assert "  judgments needed    270 (3 of each)\n" in checked.out
    assert checked.out.endswith("\nNo problems. Next: adjudge serve 'my trial'\n")


def test_all_sources(run, tmp_path):
    """Topics, documents, runs and gold; what a lead should know is a warning."""
    (tmp_path / "docs").mkdir()
    for n in range(12):
        (tmp_path / "docs" / f"d{n}.txt").write_text(f"text {n}")
    (tmp_path / "t.csv").write_text("topic,query\n1,q\n")
    for name in "xy":
        lines = (f"1 Q0 d{n} {n} {-n} x\n" for n in range(12))
        (tmp_path / f"{name}.run").write_text("".join(lines))
    (tmp_path / "g.qrels").write_text("".join(f"1 0 d{n} {(2, 1, 0, 1, 0)[n]}\n" for n in range(5)))
    options = ("--topics", "t.csv", "--documents", "docs", "--runs", "x.run", "--runs", "y.run", "--depth", "11")
    answer = run("campaign", "new", "c", *options, "--gold", "g.qrels", "--name", "Mine", "--seed", "3")
    assert answer.code == 0
    assert 'name = "Mine"' in (tmp_path / "c" / "campaign.toml").read_text()
    assert all(line.startswith("adjudge: warning: ") for line in answer.err.splitlines())
    again = run("campaign", "new", "c", *options)
    assert again.code == 1
    assert again.err.startswith("adjudge: c: contains 'campaign.toml'")
    assert run("campaign", "new", "c", *options, "--force").code == 0


def test_problems_are_all_listed(run, tmp_path):
    """With file and line; the exit code says that the data are wrong."""
    run("campaign", "new", "c", "--demo")
    for name, text in (("campaign.toml", "[oops]\n"), ("pool.csv", "sleep,nothing\n")):
        path = tmp_path / "c" / name
        path.write_text(path.read_text() + text)
    answer = run("campaign", "check", "c")
    assert (answer.code, answer.out) == (1, "")
    assert answer.err == (
        "adjudge: c: there are 2 problems\n"
        "  campaign.toml, line 110: there is no table [oops]\n"
        "  pool.csv, line 92: there is no document 'nothing' in documents.jsonl\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--topics", "t.csv"),
            "a campaign needs --topics and --documents (`adjudge campaign new trial/ --demo` needs",
        ),
        (("--demo", "--gold", "g"), "--demo has its own topics and documents: leave out --demo, or all other options"),
    ],
)
def test_calls_that_cannot_be_meant(run, arguments, message):
    """Are refused with what to do."""
    answer = run("campaign", "new", "c", *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"adjudge: {message}")


def test_the_depth_is_that_of_the_room():
    """Said twice so that help needs no heavy import, and held together here."""
    from adjudge.cli import campaign
    from adjudge.studio.campaign.pool_and_gold import DEPTH

    assert campaign.DEPTH == DEPTH


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

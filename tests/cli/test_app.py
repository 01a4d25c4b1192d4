"""What all commands share: help that teaches, and the ways to end."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from typer.main import get_command

from adjudge import __version__, cli
from adjudge.cli.app import app

COMMANDS = ["", *get_command(app).commands]


def examples(text):
    """Return the command lines a help text shows."""
    return [shlex.split(line.strip()[2:])[1:] for line in re.findall(r"^\s*\$ adjudge.*$", text, re.MULTILINE)]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_teaches_with_examples_that_work(run, command):
    """Every command's help shows an example, and every example runs."""
    help_text = run(*filter(None, [command]), "--help").out
    displayed = examples(help_text)
    assert displayed
    assert command == "" or any(arguments[0] == command for arguments in displayed)
    for arguments in displayed:
        if arguments[0] == "serve":  # would go on until it is stopped: tests/cli/test_serve.py starts and stops it
            continue
        answer = run(*arguments)
        assert answer.code == 0, answer.err


@pytest.mark.parametrize(("words", "completed"), [("adjudge fi", "fit"), ("adjudge fit --mo", "--model")])
def test_the_shell_completes_commands_and_options(words, completed):
    """The shell asks the program, as the script of --show-completion tells it to."""
    position = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_ADJUDGE_COMPLETE": "complete_bash"}
    command, variables = [sys.executable, "-m", "adjudge"], {**os.environ, **position}
    assert subprocess.run(command, env=variables, capture_output=True, text=True).stdout == f"{completed}\n"


def test_completion_is_for_the_whole_program(run):
    """The help lists how to install it."""
    assert "--install-completion" in run("--help").out
    assert "--install-completion" not in run("rerank", "--help").out


def test_version(run):
    """--version says it."""
    assert run("--version").out == f"adjudge {__version__}\n"


def test_no_arguments_is_help(run):
    """A bare call explains."""
    assert "Consensus:" in run().out + run().err


def test_module_is_the_command(tmp_path):
    """``python -m adjudge`` works, and a reader of a pipe who leaves early is no error."""
    line = f"{shlex.quote(sys.executable)} -m adjudge datasets anesthesia | head -1"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout == "item,judge,label\n"
    assert done.stderr == ""


def test_a_full_disk_is_one_line(tmp_path):
    """What cannot be written is said, without a traceback."""
    line = f"{shlex.quote(sys.executable)} -m adjudge datasets anesthesia > /dev/full"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr) == (1, "adjudge: cannot write: No space left on device\n")


def test_a_terminal_that_knows_only_ascii(tmp_path):
    """Names it cannot show are escaped."""
    (tmp_path / "l.csv").write_text("item,judge,label\n\u00e4,x,1\n", encoding="utf8")
    command = [sys.executable, "-m", "adjudge", "fit", "l.csv", "--model", "majority"]
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xe4" in done.stdout


def test_ctrl_c_before_there_is_a_command_is_no_traceback(monkeypatch, capsys):
    """While the command line is still being loaded."""

    def interrupted(**_):
        raise KeyboardInterrupt

    def end(code):
        raise SystemExit(code)

    monkeypatch.setattr("adjudge.cli.main", interrupted)
    monkeypatch.setattr("os._exit", end)
    with pytest.raises(SystemExit) as ended:
        cli.run()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "adjudge: interrupted\n"

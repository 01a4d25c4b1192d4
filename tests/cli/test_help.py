"""The layout of help: sections, nothing cut, the same in a pipe."""

import re
from typing import Annotated

import pytest
import typer
from typer.main import get_command

from adjudge.cli.app import SECTIONS, app
from adjudge.cli.help import add_commands, command_group
from adjudge.inference.model import MODELS

COMMANDS = [
    (name, *inner)
    for name, command in get_command(app).commands.items()
    for inner in ([], *([part] for part in getattr(command, "commands", ())))
]


@pytest.fixture(params=["80", "100"])
def width(request, monkeypatch):
    """Set the width of the terminal."""
    monkeypatch.setenv("COLUMNS", request.param)
    return int(request.param)


def headings(text):
    """Return the headings of sections."""
    return re.findall(r"^(\S.*):$", text, re.MULTILINE)


def test_commands_are_grouped_and_no_description_is_cut(run, width):
    """Every command is in a section, with its first sentence in full."""
    text = run("--help").out
    assert headings(text) == [*SECTIONS, "Options"]
    assert "..." not in text.replace("[ARGS]...", "")
    plain = " ".join(text.split())
    for name, command in get_command(app).commands.items():
        sentence = " ".join(command.help.split("\n\n")[0].split()).rstrip(".")
        assert f"{name} {sentence}"[:60] in plain
    assert max(map(len, text.splitlines())) <= width


def test_fit_has_its_options_in_sections(run):
    """In the order in which one decides."""
    names = headings(run("fit", "--help").out)
    assert [name.partition(" (")[0] for name in names] == [
        *("Arguments", "Input", "Model", "Prior", "Sampling", "Calibration", "Large data", "Output", "Options")
    ]


def test_options_of_fit_say_which_models_they_concern(run):
    """By name, or as EM models, sampled models or all models."""
    text = run("fit", "--help").out
    sections = dict(zip(headings(text), re.split(r"^\S.*:$", text, flags=re.MULTILINE)[1:], strict=True))
    parts = [text for name, text in sections.items() if name in ("Model", "Prior", "Calibration")]
    options = re.findall(r"^  (--.*?)(?=^  -|\Z)", "".join(parts), re.MULTILINE | re.DOTALL)
    assert len(options) > 10
    for option in options:
        if not option.startswith("--seed"):
            assert re.search(r"(All|EM) models|hybrid-confusion|hierarchical", option), option
    sampled = {name for name, model in MODELS.items() if "gibbs" in model.inferences}
    assert f"Sampling ({' and '.join(sorted(sampled, reverse=True))})" in sections


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_help_fits_into_its_width(run, command, width):
    """Examples apart, which are one line each; arguments are shown without their Python type."""
    text = run(*command, "--help").out
    assert all(len(line) <= width or line.startswith("  $ ") for line in text.splitlines())
    assert "<list" not in text
    assert headings(text)[-1] == "Options"


def test_values_with_a_hyphen_are_not_broken(run, width):
    """A line of an option never ends within a value such as trec-task2."""
    text = run("fit", "--help").out
    sections = text[text.index("Arguments:") :]
    assert "trec-task2 or trec-task2-run" in " ".join(sections.split())
    assert not re.search(r"\w-$", sections, re.MULTILINE)
    assert sections.isascii()


def test_a_command_in_a_section(capsys):
    """A trailing underscore is not part of its name, and options keep their own section."""

    def import_(
        name: Annotated[str, typer.Argument(help="Who.")] = "x",
        deep: Annotated[bool, typer.Option("--deep", rich_help_panel="Depth", help="How deep.")] = False,
    ) -> None:
        """Do it. And more."""

    group = command_group(help="All of it.")
    add_commands(group, "Work", (import_,), without_arguments=(import_,))
    add_commands(group, None, (headings,))
    with pytest.raises(SystemExit):
        group(["--help"])
    assert "Work:\n  import    Do it\n" in capsys.readouterr().out.replace("Do it.", "Do it")
    with pytest.raises(SystemExit):
        group(["import", "--help"])
    assert "Depth:\n  --deep" in capsys.readouterr().out

"""``adjudge panel``."""

import doctest
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest


@pytest.fixture
def crowd(run, tmp_path):
    """Return the folder of a small simulated panel."""
    answer = run("simulate", "panel", "--size", "items=80", "--out", "crowd")
    assert answer.out.endswith("crowd/labels.csv, with gold.csv, truth.csv and judges.csv\n")
    return tmp_path / "crowd"


def test_a_panel_is_shown(run, crowd):
    """Every part has its sentence and, if it is defined, its table."""
    answer = run(
        "panel", "crowd/labels.csv", "--judges", "crowd/judges.csv", "--gold", "crowd/truth.csv", "--rows", "3"
    )
    assert (answer.code, answer.err) == (0, "")
    plain = " ".join(answer.out.split())
    assert plain.startswith("Effective number of judges: 15 judgments per item are worth about")
    assert "Families (the first 3 of 6) family judges j1 j2 j3 model 1 model 2 model 3" in plain
    assert "Values of judges (the first 3 of 15)" in plain
    assert "Positions: Not defined because no two judges of a model differ in the order of the options only." in plain
    assert "Machines in place of a person (the first 3 of 12)" in plain


def test_options_in_place_of_arguments(run, tmp_path):
    """Advice names the options of the command."""
    (tmp_path / "labels.csv").write_text("item,judge,label\na,x,0\na,y,1\nb,x,1\nb,y,1\nc,x,0\nc,y,0\n")
    answer = run("panel", "labels.csv")
    assert answer.code == 0
    plain = " ".join(answer.out.split())
    assert "Nothing says which judges are people and which are machines: give --judges." in plain
    assert "without gold nobody knows who is right: give --gold to choose judges" in plain
    answer = run("panel", "labels.csv", "--show", "prompts", "--format", "csv")
    assert (answer.code, answer.err) == (
        2,
        "adjudge: --show prompts: not defined because nothing says which models and prompts the judges are: "
        "give --judges\n",
    )


def test_tables_for_programs(run, crowd):
    """One part is printed as CSV, JSON lines or Parquet."""
    arguments = (
        "panel",
        "crowd/labels.csv",
        "--gold",
        "crowd/truth.csv",
    )  # the columns of the table say what judges are
    rows = run(*arguments, "--show", "values", "--format", "csv").out.splitlines()
    assert rows[0] == "judge,kind,family,measure,value,low,high,accuracy,left_out"
    assert len(rows) == 16
    lines = run(*arguments, "--show", "stand-in", "--format", "jsonl", "--epsilon", "0.2").out.splitlines()
    assert {json.loads(line)["epsilon"] for line in lines} == {0.2}
    table = pl.read_csv(io.StringIO(run(*arguments, "--show", "families", "--format", "csv").out))
    assert table.height == 18


def test_page_and_pictures(run, crowd, tmp_path):
    """--out writes a page or the picture of families."""
    for name in ("panel.html", "families.svg", "families.png"):
        answer = run("panel", "crowd/labels.csv", "--show", "families", "--out", name)
        assert answer.code == 0, answer.err
        assert answer.out.endswith(f"wrote {name}\n")
        assert (tmp_path / name).stat().st_size > 1_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--show", "colour"),
            "--show 'colour' is not one of 'effective', 'families', 'values', 'prompts', 'positions', 'stand-in'",
        ),
        (
            ("--format", "csv"),
            "--format needs one part: name it with --show, one of 'effective', 'families', 'values', 'prompts', "
            "'positions', 'stand-in'",
        ),
        (("--out", "panel.pdf"), "--out panel.pdf must end in one of '.html', '.svg', '.png'"),
        (("--show", "values", "--format", "xml"), "format 'xml' is not one of 'csv', 'jsonl', 'parquet'"),
    ],
)
def test_wrong_options(run, crowd, arguments, message):
    """What cannot be done is said in one line."""
    answer = run("panel", "crowd/labels.csv", *arguments)
    assert (answer.code, answer.err) == (2, f"adjudge: {message}\n")


def test_the_page_shows_what_the_commands_print(run):
    """Every command of docs/how-to/panel.md, one after the other; three dots stand for what is left out."""
    page = (Path(__file__).parents[2] / "docs/how-to/panel.md").read_text()
    parts = [
        part for block in re.findall(r"```console\n(.*?)```", page, re.S) for part in block.split("$ adjudge ")[1:]
    ]
    assert len(parts) == 6
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for part in parts:
        command, _, displayed = part.partition("\n")
        answer = run(*command.split())
        assert answer.code == 0
        assert doctest.OutputChecker().check_output(displayed, answer.out, flags), answer.out

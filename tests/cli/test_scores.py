"""``adjudge scores``."""

import re
import shlex
from pathlib import Path

import pytest


@pytest.fixture
def essays(run, tmp_path):
    """Return the example that the command writes."""
    assert run("scores", "--example", "essays.csv").out == "wrote essays.csv\n"
    return tmp_path / "essays.csv"


def test_scores_are_shown_and_written(run, essays):
    """Values, judges, how the fit ended, and what the scale is; two files with --out."""
    answer = run("scores", "essays.csv", "--inference", "em", "--noise", "normal", "--out", "out", "--rows", "2")
    assert (answer.code, answer.err) == (0, "")
    assert "Scores (2 of 6 items)" in answer.out
    assert "Judges, least noise first (2 of 4)" in answer.out
    assert "noise normal: it was asked for" in answer.out
    assert (
        "Values have the scale of the average judgment (mean bias 0, mean scale 1); --gold changes that." in answer.out
    )
    assert answer.out.endswith("wrote scores.csv and judges.csv to out\n")
    head, *lines = (essays.parent / "out" / "scores.csv").read_text().splitlines()
    assert head == "item,value,low,high,judgments"
    assert len(lines) == 6
    assert "sentence" in (essays.parent / "out" / "judges.csv").read_text().splitlines()[0]


def test_values_for_programs(run, essays):
    """One table, and nothing else; gold is kept."""
    (essays.parent / "gold.csv").write_text("item,score\nessay1,12\nessay6,90\n")
    answer = run("scores", "essays.csv", "--gold", "gold.csv", "--inference", "em", "--format", "csv")
    lines = answer.out.splitlines()
    assert lines[0] == "item,value,low,high,judgments,gold"
    assert lines[1] == "essay1,12.0,12.0,12.0,4,true"


def test_short_chains_are_a_warning(run, essays):
    """With what to do."""
    answer = run("scores", "essays.csv", "--draws", "20", "--warmup", "5", "--format", "csv")
    assert answer.code == 0
    assert answer.err.startswith("adjudge: warning: the chains have not converged: R-hat of ")
    assert answer.err.endswith("; increase --draws\n")


def test_inputs_are_not_overwritten(run, essays):
    """A file that --out would write cannot be the input."""
    essays.rename(essays.parent / "scores.csv")
    answer = run("scores", "scores.csv", "--out", ".")
    assert answer.code == 2
    assert answer.err == "adjudge: --out . would overwrite the input scores.csv: name another folder\n"


def test_wrong_scores_are_one_line(run, essays):
    """With the row."""
    essays.write_text("item,judge,score\na,x,good\n")
    answer = run("scores", "essays.csv")
    assert (answer.code, answer.err) == (
        1,
        "adjudge: essays.csv, row 2: score 'good' is not a finite number: scores are numbers, such as 72 or 0.5\n",
    )


def test_the_page_says_what_the_commands_say(run):
    """Every command of docs/how-to/scores.md, one after the other; three dots stand for what is left out."""
    page = (Path(__file__).parents[2] / "docs/how-to/scores.md").read_text()
    parts = [
        part for block in re.findall(r"```console\n(.*?)```", page, re.S) for part in block.split("$ adjudge ")[1:]
    ]
    assert len(parts) == 6
    for part in parts:
        line, expected = part.split("\n", 1)
        answer = run(*shlex.split(line))
        pieces = [piece.strip() for piece in expected.split("...")]
        text = answer.out + answer.err
        for piece in pieces:
            assert piece in text, line
            text = text[text.index(piece) + len(piece) :]

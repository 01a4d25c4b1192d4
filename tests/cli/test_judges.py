"""``adjudge judges``."""

import doctest
import io
import json
import re
from pathlib import Path

import polars as pl
import pytest

CROWD = ("simulate", "liu-wang", "--size", "items=300", "--size", "gold=30", "--out", "crowd")


@pytest.fixture
def fitted(run):
    """Write a fit of a simulated crowd with gold, and return its folder."""
    run(*CROWD)
    assert run("fit", "crowd/labels.csv", "--gold", "crowd/gold.csv", "--out", "fit").code == 0
    return "fit"


def test_judges_and_confusions_are_shown(run, fitted):
    """Every judge with an interval and a sentence, best first, and what their errors cost."""
    answer = run("judges", fitted)
    assert answer.code == 0
    assert "Judges by informedness: 3" in answer.out
    lines = [line for line in answer.out.splitlines() if line.startswith("j")]
    assert [line.split()[0] for line in lines] == ["judge", "j1", "j2", "j3"]
    assert lines[0].split()[:6] == ["judge", "judgments", "right", "informedness", "bits", "P(chance)"]
    assert "Reliable." in lines[1]
    assert "Confusions, of 1" in answer.out
    assert "'C' called 'B' costs " in answer.out
    assert "Such items: 'i" in answer.out
    assert "Items whose truth is least certain" not in answer.out


def test_items_are_shown_when_asked_for(run, fitted):
    """All four reasons, with the labels given."""
    answer = run("judges", fitted, "--items", "--rows", "3")
    assert answer.code == 0
    for title in (
        "Items whose truth is least certain",
        "Items whose labels are most surprising, given their judges",
        "Items whose gold the judges contradict: none",
        "Items for which one more judgment helps most",
    ):
        assert title in answer.out
    assert "bits of uncertainty" in answer.out


def test_of_many_judges_the_first_and_last_are_shown(run, labels):
    """As many as rows say."""
    run("fit", str(labels), "--model", "dawid-skene", "--out", "fit")
    answer = run("judges", "fit", "--rows", "1", "--sort", "judge")
    assert "Judges by judge: the first and last 1 of 3" in answer.out
    assert [line[:3] for line in answer.out.splitlines()[2:5]] == ["x  ", "...", "z  "]
    assert "No confusion of labels was found." in answer.out


def test_one_card_has_everything(run, fitted):
    """Numbers with intervals, reasons where there are none, and the matrix."""
    answer = run("judges", fitted, "--judge", "j2")
    assert answer.code == 0
    assert answer.out.startswith("Judge 'j2': Calls ")
    assert "chance of being right            0." in answer.out
    assert "not defined because the judgments have no times" in answer.out
    assert "How often each true label (rows) is given each label (columns)" in answer.out
    assert "given minus true" in answer.out


def test_one_card_of_two_labels_with_topics(run, labels):
    """Sensitivity is of the last label."""
    run("fit", str(labels), "--out", "fit")
    answer = run("judges", "fit", "--judge", "x")
    assert "of 'yes'" in answer.out
    assert [line.split() for line in answer.out.splitlines() if line.startswith("topics")] == [["topics", "4"]]


def test_a_matrix_of_many_labels_is_not_shown(run, tmp_path):
    """It would not be read."""
    rows = [f"i{n},{judge},{n % 12}" for n in range(24) for judge in "xyz"]
    (tmp_path / "many.csv").write_text("item,judge,label\n" + "\n".join(rows) + "\n")
    run("fit", "many.csv", "--out", "fit")
    answer = run("judges", "fit", "--judge", "x")
    assert answer.code == 0
    assert "The confusions of 12 labels are too many to show: fit.confusion in Python has them." in answer.out


def test_an_unknown_judge_is_refused_with_those_near(run, fitted):
    """So that a slip of the finger is seen."""
    answer = run("judges", fitted, "--judge", "j22")
    assert answer.code == 2
    assert answer.err == "adjudge: judge 'j22' is not in the fit; similar names: 'j2'\n"


def test_machines_get_cards_or_items(run, fitted):
    """In the order asked for, one judge's alone, or the items."""
    table = pl.read_csv(io.StringIO(run("judges", fitted, "--format", "csv", "--sort", "bits").out))
    assert table.height == 3
    assert table["bits"].is_sorted(descending=True)
    body = [json.loads(line) for line in run("judges", fitted, "--format", "jsonl", "--judge", "j3").out.splitlines()]
    assert [row["judge"] for row in body] == ["j3"]
    assert body[0]["seconds"] is None
    items = pl.read_csv(io.StringIO(run("judges", fitted, "--items", "--format", "csv", "--rows", "2").out))
    assert items["why"].to_list() == ["uncertain"] * 2 + ["contested"] * 2 + ["helpful"] * 2


@pytest.mark.parametrize("sort", ["right", "judgments", "agreement", "seconds", "chance"])
def test_judges_in_every_order(run, labels, sort):
    """What is not defined comes last, and nothing breaks."""
    run("fit", str(labels), "--out", "fit")
    assert run("judges", "fit", "--sort", sort).code == 0


def test_other_orders_and_formats_are_refused(run, fitted):
    """With those there are."""
    answer = run("judges", fitted, "--sort", "beauty")
    assert answer.code == 2
    assert answer.err == (
        "adjudge: sort 'beauty' is not one of 'informedness', 'right', 'bits', 'judgments', 'agreement', 'seconds', "
        "'chance', 'judge'\n"
    )
    answer = run("judges", fitted, "--format", "xml")
    assert answer.code == 2
    assert answer.err == "adjudge: format 'xml' is not one of 'csv', 'jsonl', 'parquet'\n"


def test_judgments_may_be_given_again(run, fitted, tmp_path):
    """With columns of any name; times are read from them."""
    rows = pl.read_csv(tmp_path / "crowd/labels.csv").rename({"judge": "who"})
    rows.with_columns(time=pl.int_range(rows.height) * 4).write_csv(tmp_path / "again.csv")
    answer = run("judges", fitted, "--judgments", "again.csv", "--judge-column", "who", "--judge", "j1")
    assert answer.code == 0
    assert "seconds between judgments        12.00" in answer.out


def test_names_are_no_commands_to_the_screen(run, tmp_path):
    """Whatever a judge or an item is called, it is written out, and not too long."""
    rows = [f"{'long' * 30}{n},[red]eve\x1b[2J,{n % 2}" for n in range(9)]
    (tmp_path / "odd.csv").write_text("item,judge,label\n" + "\n".join(rows) + "\n")
    run("fit", "odd.csv", "--out", "fit")
    for more in ((), ("--items",), ("--judge", "[red]eve\x1b[2J")):
        answer = run("judges", "fit", *more)
        assert answer.code == 0
        assert "\x1b" not in answer.out
        assert "[red]eve" in answer.out


def test_the_page_shows_what_the_commands_print(run):
    """Every command of docs/how-to/judge-card.md, one after the other; three dots stand for what is left out."""
    page = (Path(__file__).parents[2] / "docs/how-to/judge-card.md").read_text()
    message = [
        part for block in re.findall(r"```console\n(.*?)```", page, re.S) for part in block.split("$ adjudge ")[1:]
    ]
    assert len(message) == 5
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    for part in message:
        command, _, displayed = part.partition("\n")
        answer = run(*command.split())
        assert answer.code == 0
        assert doctest.OutputChecker().check_output(displayed, answer.out, flags), answer.out

"""``adjudge monitor``."""

import json

import pytest

SIZES = ("--size", "items=600", "--size", "judges=15", "--size", "labels=3", "--size", "guessing=1")
CROWD = ("simulate", "drifting", *SIZES, "--seed", "3", "--out", "crowd")


@pytest.fixture
def fitted(run):
    """Write a fit of a crowd in which some judges change, its judgments beside it."""
    assert run(*CROWD).code == 0
    assert run("fit", "crowd/labels.csv", "--model", "dawid-skene", "--out", "fit").code == 0


def test_all_sections_are_shown(run, fitted):
    """Each with a sentence, and rows for those who are named."""
    answer = run("monitor", "fit", "--gold", "crowd/gold.csv", "--new", "crowd/labels.csv", "--rows", "2")
    assert answer.code == 0, answer.err
    assert " of 15 judges changed: 'j" in answer.out
    assert "Control charts: " in answer.out
    assert "Streaks: " in answer.out
    assert "Pairs: No pair of judges agreed more than the model allows, of 105 pairs" in answer.out
    assert "Gold: Gold set of 60 items: 15 judges, right on " in answer.out
    assert "New work: No judge's new work is worse than the earlier fit expects, of 15 judges it knows." in answer.out
    assert "p_changed" in answer.out
    assert " (the first 2 of " in answer.out
    assert "not shown" not in answer.out


def test_what_cannot_be_shown_says_why(run, labels):
    """Without times, gold and new work there are pairs."""
    assert run("fit", str(labels), "--out", "fit").code == 0
    answer = run("monitor", "fit")
    assert answer.code == 0
    for title in ("Changes", "Control charts", "Streaks"):
        assert f"{title}: not shown because the judgments have no times (give --judgments and --time)." in answer.out
    assert "Gold: not shown because no truth is known: give --gold." in answer.out
    assert "New work: not shown because there are no new judgments: give --new." in answer.out
    assert "Pairs: " in answer.out


def test_the_gold_of_a_fit_is_used(run):
    """Without being given again."""
    run(*CROWD)
    run("fit", "crowd/labels.csv", "--gold", "crowd/gold.csv", "--model", "dawid-skene", "--out", "fit")
    assert "Gold: Gold set of 60 items" in run("monitor", "fit", "--show", "gold").out


@pytest.mark.parametrize("section", ["drift", "chart", "streaks", "collusion", "gold", "new"])
def test_every_section_is_for_machines(run, fitted, section):
    """As CSV and as JSON lines, the same rows."""
    more = ("--gold", "crowd/gold.csv", "--new", "crowd/labels.csv", "--show", section)
    table, lines = (run("monitor", "fit", *more, "--format", kind) for kind in ("csv", "jsonl"))
    assert table.code == lines.code == 0
    rows = [json.loads(line) for line in lines.out.splitlines()]
    assert table.out.splitlines()[0] == ",".join(rows[0])
    assert len(table.out.splitlines()) == len(rows) + 1
    assert "NaN" not in table.out + lines.out


def test_a_time_that_is_none_is_pointed_at(run, fitted, tmp_path):
    """By its row in the table that was given; in a fit's own, by judge and item."""
    lines = (tmp_path / "crowd/labels.csv").read_text().splitlines()
    lines[16] = lines[16].rpartition(",")[0] + ",yesterday"
    (tmp_path / "bad.csv").write_text("\n".join(lines) + "\n")
    answer = run("monitor", "fit", "--judgments", "bad.csv")
    assert answer.code == 1
    assert answer.err == (
        "adjudge: bad.csv, row 17: time 'yesterday' is neither a number nor a date such as 2026-05-01 or "
        "2026-05-01T09:30\n"
    )
    assert run("fit", "bad.csv", "--model", "dawid-skene", "--out", "other").code == 0
    stored = run("monitor", "other", "--show", "drift")
    assert stored.code == 1
    assert "time 'yesterday' of judge '" in stored.err


def test_what_cannot_be_is_refused(run, fitted):
    """With what can."""
    refused = {
        ("--show", "mood"): "--show 'mood' is not one of 'drift', 'chart', 'streaks', 'collusion', 'gold', 'new'",
        ("--show", "drift", "--format", "xml"): "format 'xml' is not one of 'csv', 'jsonl'",
        ("--format", "csv"): "--format needs one section: name it with --show, one of 'drift', 'chart'",
        ("--judgments", "-", "--new", "-"): "only one table can come from standard input",
        ("--show", "gold", "--format", "csv"): "--show gold: not defined because no truth is known: give --gold",
    }
    for arguments, message in refused.items():
        answer = run("monitor", "fit", *arguments)
        assert answer.code == 2
        assert message in answer.err


def test_judgments_that_were_not_fitted_are_refused(run, fitted, tmp_path):
    """A judge is compared with the fit of their own judgments."""
    (tmp_path / "new.csv").write_text("item,judge,label\ni1,stranger,0\n")
    answer = run("monitor", "fit", "--judgments", "new.csv")
    assert answer.code == 2
    assert "the fit was not made from these judgments: it has no judge 'stranger'" in answer.err


def test_one_label_only_leaves_the_rest_to_be_told(run, tmp_path):
    """What cannot be told of judges who all say the same does not stop the others."""
    (tmp_path / "one.csv").write_text("item,judge,label\na,x,u\nb,x,u\nb,y,u\n")
    assert run("fit", "one.csv", "--out", "one").code == 0
    answer = run("monitor", "one")
    assert answer.code == 0
    assert "Pairs: not shown because judges cannot be distinguished: their only label is 'u'." in answer.out
    assert "New work: not shown because there are no new judgments" in answer.out

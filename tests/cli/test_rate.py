"""``adjudge rate``."""

import json

import pytest


@pytest.fixture
def answers(run):
    """Return the command line in a folder with judgments of the answers of two systems, items and gold."""
    assert run("rate", "--example", ".").out == "wrote labels.csv, items.csv, gold.csv to .\n"
    return run


ALL = ("rate", "labels.csv", "--label", "pass", "--gold", "gold.csv", "--items", "items.csv")


def test_shares_are_shown(answers):
    """Shares, all estimates, differences and the note; columns that are empty are left out."""
    answer = answers(*ALL)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "Share of items with the label pass"
    assert lines[1].split("  ")[0] == "system"
    assert "Estimates" in lines
    assert "Differences of systems" in lines
    assert "Gold items for the width" not in lines
    assert sum("  yes" in line for line in lines) == 2
    assert lines[-1].startswith("note: 90 % intervals for these items: they hold whatever the judges' errors are")
    plain = answers("rate", "labels.csv", "--label", "pass", "--gold", "gold.csv").out
    assert plain.splitlines()[1].split()[0] == "items"
    assert "Differences" not in plain


def test_without_gold_there_is_a_warning_and_a_plan(answers):
    """What the judges say, and the gold items that judges of several qualities would need."""
    answer = answers("rate", "labels.csv", "--label", "pass", "--width", "0.1")
    assert answer.code == 0
    assert "Gold items for the width" in answer.out
    assert answer.out.endswith(
        "note: without gold there is no interval: these shares are on the judges' scale, not the truth's\n"
        "note: give the true labels of a random sample of the items as gold\n"
    )


def test_machines_get_a_table(answers, tmp_path):
    """One of four tables; all are written to a folder."""
    answer = answers(*ALL, "--format", "csv", "--out", "tables", "--width", "0.1")
    assert answer.out.splitlines()[0] == "system,group,items,gold,value,low,high,judges,estimator,saved"
    assert answer.err.startswith("adjudge: warning: 90 % intervals for these items")
    pairs = answers(*ALL, "--format", "jsonl", "--table", "pairs", "--population").out.splitlines()
    assert {json.loads(line)["first"] for line in pairs} == {"base"}
    written = sorted(path.name for path in (tmp_path / "tables").iterdir())
    assert written == ["estimates.csv", "pairs.csv", "plan.csv", "shares.csv"]
    assert (tmp_path / "tables" / "shares.csv").read_text() == answer.out
    assert answers(*ALL, "--out", "tables").out.endswith(
        "wrote shares.csv, estimates.csv, pairs.csv, plan.csv to tables\n"
    )


def test_a_saved_fit_may_have_used_gold(answers):
    """Its judgments are fitted again without gold, and a note says so."""
    assert answers("fit", "labels.csv", "--gold", "gold.csv", "--out", "fit").code == 0
    answer = answers("rate", "fit", *ALL[2:])
    assert "note: the fit used gold: the judgments were fitted again without it" in answer.out
    assert answer.out.splitlines()[:9] == answers(*ALL).out.splitlines()[:9]


def test_many_rows_are_cut(answers):
    """The title says how many there are."""
    assert "(the first 2 of 6)" in answers(*ALL, "--rows", "2").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--table", "share"),
            "table 'share' is not one of 'shares', 'estimates', 'pairs', 'plan': did you mean 'shares'?",
        ),
        (("--width", "7"), "width 7.0 is not a number between 0 and 1"),
        (("--out", "gold.csv"), "--out gold.csv is a file: name a folder"),
    ],
)
def test_messages(answers, arguments, message):
    """Wrong options are refused before anything is written."""
    answer = answers(*ALL, *arguments)
    assert (answer.code, answer.out, answer.err) == (2, "", f"adjudge: {message}\n")

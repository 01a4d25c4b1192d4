"""``adjudge weights``."""

import polars as pl
import pytest

from adjudge.inference.save import load
from adjudge.learn.posterior_weights import posterior_weights
from adjudge.learn.weights import SCHEMES, weights

ROWS = "item,judge,label,trust\na,x,1,1\na,y,1,0.5\na,z,0,1\nb,x,0,1\nb,y,0,0.5\nc,z,1,1\n"


@pytest.fixture
def table(tmp_path):
    """Return a small file of judgments with trust."""
    path = tmp_path / "trust.csv"
    path.write_text(ROWS)
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_prints_what_python_computes(run, table, scheme):
    """The command only prints."""
    answer = run("weights", "trust.csv", "--scheme", scheme, "--format", "csv")
    assert answer.out == weights(str(table), scheme).table.write_csv()


def test_people_see_items_and_judges(run, table):
    """The heaviest first, and what is 0 is said."""
    answer = run("weights", "trust.csv", "--scheme", "L", "--judges")
    assert "Items by weight, L: 3" in answer.out
    assert "Judges by weight (3 of 3)" in answer.out
    assert "prior" in answer.out
    many = run("weights", "trust.csv", "--scheme", "L", "--rows", "1")
    assert "the first and last 1 of 3" in many.out
    assert "Judges" not in many.out


def test_items_that_weigh_nothing_are_counted(run, tmp_path):
    """A tie teaches nothing."""
    (tmp_path / "t.csv").write_text("item,judge,label\na,x,1\na,y,0\nb,x,1\n")
    assert "1 of 2 items have weight 0: learners ignore them" in run("weights", "t.csv", "-s", "L").out


def test_files_have_the_format_of_their_name(run, table, tmp_path):
    """CSV, JSON lines and Parquet; items, or judges alone."""
    for name, read in (("w.csv", pl.read_csv), ("w.jsonl", pl.read_ndjson), ("w.parquet", pl.read_parquet)):
        answer = run("weights", "trust.csv", "--out", name)
        assert f"wrote the weights to {name}" in answer.out
        assert read(tmp_path / name).columns == ["item", "label", "weight", "judgments", "positive", "vote"]
    run("weights", "trust.csv", "--judges", "--out", "w.csv")
    assert pl.read_csv(tmp_path / "w.csv")["prior"].to_list() == [1, 0.5, 1]
    (tmp_path / "untrusted.csv").write_text("item,judge,label\na,x,1\na,y,1\nb,x,0\n")
    answer = run("weights", "untrusted.csv", "--scheme", "L", "--judges", "--format", "csv")
    assert answer.out.startswith("judge,judgments,agreements,activity,agreement,weight\n")


def test_trust_by_column_by_counts_and_by_table(run, table, tmp_path):
    """Three ways to say the same."""
    (tmp_path / "counts.csv").write_text(
        ROWS.replace("trust", "ok,all").replace(",0.5\n", ",0,0\n").replace(",1\n", ",8,8\n")
    )
    by_counts = run("weights", "counts.csv", "--trust", "ok/all", "--raw", "--scheme", "P", "--format", "csv")
    assert pl.read_csv(by_counts.out.encode())["weight"].to_list() == pytest.approx([2.3, 1.4, 0.9])
    (tmp_path / "by.csv").write_text("judge,trust\nx,0.9\ny,0.5\nz,0.9\n")
    by_table = run("weights", "trust.csv", "--trust-table", "by.csv", "--raw", "--scheme", "P", "--format", "csv")
    assert by_table.out == by_counts.out
    assert "no column 'honour' for the trust" in run("weights", "trust.csv", "--trust", "honour").err


def test_warnings_go_to_standard_error(run, tmp_path):
    """Nobody's trust is known: the weights are there, and a word beside."""
    (tmp_path / "t.csv").write_text("item,judge,label\na,x,1\nb,x,0\n")
    answer = run("weights", "t.csv", "--format", "csv")
    assert answer.code == 0
    assert "no judge has a prior trust, so P is 1 for all" in answer.err
    assert answer.out.startswith("item,label,weight")


def test_more_labels_need_two_sides(run, tmp_path):
    """The message says what to type, and it works."""
    (tmp_path / "t.csv").write_text("item,judge,label\na,x,1\nb,x,0\nc,x,2\n")
    refused = run("weights", "t.csv", "--scheme", "L")
    assert refused.code == 2
    assert "--positive 2" in refused.err
    answer = run("weights", "t.csv", "--scheme", "L", "--positive", "1,2", "--format", "csv")
    assert pl.read_csv(answer.out.encode())["label"].to_list() == ["1|2", "0", "1|2"]


def test_a_fit_is_weighed_by_what_it_is_sure_of(run, table, tmp_path):
    """By margin unless said; the command only prints."""
    run("fit", "trust.csv", "--model", "majority", "--out", "fit")
    reference = load(tmp_path / "fit")
    assert run("weights", "--fit", "fit", "--format", "csv").out == posterior_weights(reference).table.write_csv()
    answer = run("weights", "--fit", "fit", "--kind", "entropy", "--raw", "--format", "csv")
    assert answer.out == posterior_weights(reference, "entropy", mean_one=False).table.write_csv()
    assert "Judges by accuracy" in run("weights", "--fit", "fit", "--judges").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["trust.csv", "--fit", "fit"], "give either a table of judgments, or the folder of a fit with --fit"),
        (["--raw"], "give either a table of judgments, or the folder of a fit with --fit"),
        (["trust.csv", "--kind", "margin"], "--kind margin needs a fit: give its folder with --fit"),
        (
            ["--fit", "fit", "--scheme", "L"],
            "--scheme applies to a table of judgments, and cannot be combined with --fit",
        ),
        (["--fit", "fit", "--trust-table", "t.csv"], "--trust-table applies to a table of judgments"),
        (["--fit", "fit", "--item", "doc"], "--item applies to a table of judgments"),
        (["trust.csv", "--trust", "a", "--trust-table", "b"], "give only one"),
        (["trust.csv", "--format", "xml"], "format 'xml' is not one of 'csv', 'jsonl', 'parquet'"),
        (["trust.csv", "--out", "weights"], "--out weights must end in one of '.csv', '.jsonl', '.parquet'"),
        (["trust.csv", "--out", "trust.csv"], "--out trust.csv would overwrite an input"),
        (["trust.csv", "--scheme", "X"], "scheme 'X' is not one of 'L', 'P', 'LP', 'TC', 'LTC', 'LPTC'"),
        (["-", "--trust-table", "-"], "only one table can come from standard input"),
    ],
)
def test_what_does_not_fit_is_refused(run, table, arguments, message):
    """Before anything is computed, with what to do."""
    answer = run("weights", *arguments)
    assert (answer.code, message in answer.err) == (2, True), answer.err


def test_a_fit_that_has_not_converged_is_said(run, table):
    """The weights are there, and a word beside."""
    run("simulate", "liu-wang", "--size", "items=60")
    run("fit", "crowd/labels.csv", "--model", "dawid-skene", "--out", "fit", "--iterations", "2")
    assert "the fit in fit has not converged" in run("weights", "--fit", "fit", "--format", "csv").err

"""``adjudge compare``."""

import io
import re
import sys
from types import SimpleNamespace

import polars as pl
import pytest

from adjudge.cli.compare import verdict_lines

MODELS = ("--models", "majority, dawid-skene")


@pytest.fixture
def crowd(run):
    """Leave a simulated crowd in the folder."""
    run("simulate", "liu-wang", "--size", "items=120", "--out", "crowd")


def test_people_see_a_table_the_agreement_and_a_verdict(run, crowd):
    """With gold: accuracy and macro F1 with intervals, log loss, and p against the best, which has none."""
    answer = run("compare", "crowd/labels.csv", "--gold", "crowd/truth.csv", *MODELS, "--draws", "50")
    assert (answer.code, answer.err) == (0, "")
    lines = [line.rstrip() for line in answer.out.splitlines()]
    best, other = lines[2].split()[0], lines[3].split()[0]
    assert lines[0] == "Models on 120 items, scored on 120; best first"
    assert re.sub(" {2,}", "|", lines[1]) == (
        "model|held-out|+-|as vote|seconds|accuracy, 95 %|macro_f1, 95 %|log_loss|p"
    )
    assert {best, other} == {"majority", "dawid-skene"}
    assert re.search(r" 0\.\d{3} \.\d{3}-\.\d{3}  0\.\d{3} \.\d{3}-\.\d{3} +\d\.\d{3} +-$", lines[2])
    assert re.search(r" \d\.\d{3} +(\d\.\d{3}|<\.001)$", lines[3])
    assert lines[5] == "Items with the same label, in percent"
    assert lines[7].split()[:3] == ["1", best, "100"]
    assert lines[8].split()[0::3] == ["2", "100"]
    assert lines[-1].startswith(f"{best} is best by accuracy; ")
    assert lines[-1].endswith(" significantly worse (exact McNemar test with Holm's correction, p < 0.05)")


@pytest.mark.parametrize(
    ("alike", "verdict"),
    [
        ((), "all others are significantly worse"),
        (("glad",), "mace, kos are significantly worse"),
        (("mace", "glad"), "kos is significantly worse"),
        (("mace", "glad", "kos"), "no other is significantly worse"),
    ],
)
def test_the_verdict_names_the_models_that_are_worse(alike, verdict):
    """By name, unless it is all of them or none."""
    names = ("majority", "mace", "glad", "kos")
    result = SimpleNamespace(
        models=dict.fromkeys(names),
        alike=alike,
        best="majority",
        criterion="accuracy",
        scored=False,
        choice=None,
        left_out={},
    )
    assert verdict_lines(result) == [f"majority is best by accuracy; {verdict} (by more than two standard errors)"]


def test_without_gold_held_out_likelihood_decides(run, labels):
    """No scores, no p, and a sentence that says by what."""
    answer = run("compare", "labels.csv", *MODELS, "--folds", "2")
    assert answer.out.splitlines()[0] == "Models on 12 items; best first"
    assert answer.out.splitlines()[1].split() == ["model", "held-out", "+-", "as", "vote", "seconds"]
    assert " is best by held-out likelihood; " in answer.out
    assert "significantly worse (by more than two standard errors)" in answer.out


def test_models_that_refuse_are_named_with_the_reason(run, labels):
    """Together where the reason is the same."""
    answer = run("compare", "labels.csv", "--folds", "2")
    assert answer.code == 0
    (line,) = [line for line in answer.out.splitlines() if "needs ordered labels" in line]
    names, reason = line.removeprefix("left out: ").split(": ", 1)
    assert "ordinal" in names.split(", ")
    assert reason.startswith("needs ordered labels, and 'no', 'yes' have no order")


def test_a_named_model_that_refuses_is_an_error(run, labels):
    """Exit code 2 and its sentence."""
    answer = run("compare", "labels.csv", "--models", "ordinal")
    assert answer.code == 2
    assert answer.err.startswith("adjudge: model 'ordinal' needs ordered labels")
    assert run("compare", "labels.csv", "--models", "ordinal", "--labels", "no,yes", "--ordinal").code == 0


def test_one_model_is_the_only_one(run, labels):
    """Best of one is no praise."""
    assert "majority is the only model" in run("compare", "labels.csv", "--models", "majority").out


def test_out_writes_the_whole_table(run, crowd, tmp_path):
    """In the format its name says, and people still see theirs."""
    gold = ("--gold", "crowd/truth.csv", "--draws", "20")
    for name, reader in {"t.csv": pl.read_csv, "t.jsonl": pl.read_ndjson, "t.parquet": pl.read_parquet}.items():
        answer = run("compare", "crowd/labels.csv", *MODELS, *gold, "--out", name)
        assert answer.out.startswith("Models on 120 items")
        assert answer.out.endswith(f"wrote {name}\n")
        table = reader(tmp_path / name)
        assert set(table["model"]) == {"majority", "dawid-skene"}
        assert {"accuracy", "accuracy_low", "accuracy_high", "p_value", "f1_A_low"} < set(table.columns)


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_machines_get_formats(run, labels, form, monkeypatch):
    """--format prints the table and nothing else."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    assert run("compare", "labels.csv", *MODELS, "--format", form).code == 0
    readers = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}
    table = readers[form](io.BytesIO(buffer.getvalue()))
    assert table.columns == ["model", "vote_agreement", "held_out", "held_out_se", "seconds"]


def test_columns_and_formats_of_both_tables_can_be_named(run, tmp_path):
    """--item holds for gold as well, where it has that column; a TREC file is its own gold."""
    (tmp_path / "l.tab").write_text("url,who,says\na,x,0\na,y,0\nb,x,1\nb,y,1\n")
    (tmp_path / "g.csv").write_text("url,label,says\na,1,0\nb,0,0\n")
    named = ("--item", "url", "--judge", "who", "--label", "says", "--input-format", "csv")
    answer = run("compare", "l.tab", *named, "--gold", "g.csv", "--models", "majority", "--draws", "5")
    assert "scored on 2;" in answer.out
    assert " 0.500 " in answer.out
    (tmp_path / "t.txt").write_text("7 h x d1 1 0\n7 h y d1 1 1\n7 h x d2 -1 0\n")
    formats = ("--input-format", "trec-task2", "--gold-format", "trec-task2")
    assert "scored on 1;" in run("compare", "t.txt", *formats, "--gold", "t.txt", "--models", "majority").out


def test_gold_that_nobody_judged_is_said(run, labels, tmp_path):
    """In the title, once."""
    (tmp_path / "gold.csv").write_text("item,label\nd0,no\nd1,yes\nz,no\n")
    answer = run("compare", "labels.csv", "--gold", "gold.csv", "--models", "majority", "--draws", "5")
    assert answer.out.splitlines()[0] == (
        "Models on 12 items, scored on 2; 1 gold items that nobody judged; best first"
    )
    assert "nobody judged" not in answer.err


def test_draws_without_a_value_are_said_with_the_whole_table(run, labels, tmp_path):
    """Precision needs the one scored item answered 'yes'; people do not see it, and accuracy every draw has."""
    (tmp_path / "gold.csv").write_text("item,label\nd0,no\nd1,yes\nd2,no\n")
    gold = ("--gold", "gold.csv", "--models", "majority", "--draws", "40")
    (line,) = run("compare", "labels.csv", *gold, "--format", "csv").err.splitlines()
    message = (
        r"adjudge: warning: precision of majority is not defined in \d+ of 40 draws, which are left out \(and \d+ more"
    )
    assert re.match(message, line)
    assert run("compare", "labels.csv", *gold).err == ""


def test_an_interrupt_shows_what_is_finished(run, labels, monkeypatch):
    """And says so; the exit code is that of an interrupt."""
    from adjudge.metrics import compare

    real = compare.held_out

    def interrupted(table, model, **named):
        if model == "dawid-skene":
            raise KeyboardInterrupt
        return real(table, model, **named)

    monkeypatch.setattr(compare, "held_out", interrupted)
    answer = run("compare", "labels.csv", *MODELS)
    assert answer.code == 130
    assert "majority is the only model" in answer.out
    assert answer.err == "adjudge: warning: interrupted; only these models were compared: majority\n"
    nothing = run("compare", "labels.csv", "--models", "dawid-skene")
    assert (nothing.code, nothing.out) == (130, "")


def test_a_fit_that_has_not_converged_is_said(run, labels, monkeypatch):
    """Its row is there, and a warning."""
    from dataclasses import replace

    from adjudge.metrics import compare

    real = compare.fit
    monkeypatch.setattr(
        compare, "fit", lambda *a, **k: replace(real(*a, **k), stopped="stopped at the cap of 9 passes")
    )
    answer = run("compare", "labels.csv", "--models", "majority")
    assert answer.code == 0
    assert answer.err == "adjudge: warning: majority has not converged: stopped at the cap of 9 passes\n"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--out", "labels.csv"), "--out labels.csv would overwrite an input: name another file"),
        (("--out", "table.xls"), "--out table.xls must end in one of '.csv', '.jsonl', '.parquet'"),
        (("--format", "qrels"), "format 'qrels' is not one of 'csv', 'jsonl', 'parquet'"),
        (("--models", ","), "there is no model to compare: name some of 'consensus'"),
        (("--models", "magic"), "model 'magic' is not one of 'consensus'"),
    ],
)
def test_calls_that_cannot_be_meant(run, labels, options, message):
    """Refused with exit code 2, and nothing is written."""
    before = labels.read_text()
    answer = run("compare", "labels.csv", *options)
    assert answer.code == 2
    assert answer.err.startswith(f"adjudge: {message}")
    assert labels.read_text() == before


def test_only_one_table_comes_from_standard_input(run):
    """Refused before anything is read."""
    answer = run("compare", "-", "--gold", "-")
    assert (answer.code, answer.err) == (2, "adjudge: only one table can come from standard input\n")


def test_many_models_leave_out_a_matrix_that_does_not_fit(run, labels, monkeypatch):
    """On a narrow screen the matrix goes, the table stays."""
    from adjudge.cli import output

    assert "in percent" in run("compare", "labels.csv", *MODELS).out
    monkeypatch.setattr(output, "WIDTH", 20)
    assert "in percent" not in run("compare", "labels.csv", *MODELS).out


def test_the_draws_are_those_of_the_room():
    """Said twice so that help needs no heavy import, and held together here."""
    import inspect

    from adjudge.cli import compare
    from adjudge.metrics.significance import DRAWS

    assert inspect.signature(compare.compare).parameters["draws"].default == DRAWS

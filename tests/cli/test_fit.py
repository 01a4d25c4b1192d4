"""``adjudge fit``, in memory and with ``--blocks``."""

import io
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.cli.fit import parse_size
from adjudge.errors import UsageError


def test_out_writes_labels_judges_and_the_fit(run, labels, tmp_path):
    """The files of the issue: labels.csv, judges.csv, and a fit that loads."""
    answer = run("fit", "labels.csv", "--model", "dawid-skene", "--out", "fit/")
    assert answer.code == 0
    assert answer.out.rstrip().endswith("wrote labels.csv, judges.csv and the fit to fit/")
    table = pl.read_csv(tmp_path / "fit" / "labels.csv")
    assert table.columns == ["item", "label", "probability", "p_no", "p_yes", "entropy", "topic"]
    assert table["label"].to_list() == ["no", "yes"] * 6
    assert pl.read_csv(tmp_path / "fit" / "judges.csv").columns[:4] == ["judge", "judgments", "accuracy", "p_no_if_no"]
    assert adjudge.load(tmp_path / "fit").model == "dawid-skene"


def test_the_prevalence_of_topics_is_written(run, tmp_path):
    """With one prevalence per topic, EM fits write a table of them too; a later fit without it removes the table."""
    rows = [
        (f"{topic}{n}", judge, n % 4 > 0 if topic == "s" else n % 4 == 0)
        for topic in "st"
        for n in range(8)
        for judge in "abc"
    ]
    table = {
        "item": [row[0] for row in rows],
        "judge": [row[1] for row in rows],
        "label": [int(row[2]) for row in rows],
    }
    pl.DataFrame({**table, "topic": [row[0][0] for row in rows]}).write_csv(tmp_path / "labels.csv")
    arguments = ("fit", str(tmp_path / "labels.csv"), "--model", "one-coin", "--out", str(tmp_path / "fit"))
    printed = run(*arguments, "--prevalence", "topic").out
    assert printed.endswith(f"wrote labels.csv, judges.csv, prevalence.csv and the fit to {tmp_path / 'fit'}\n")
    written = pl.read_csv(tmp_path / "fit" / "prevalence.csv")
    assert written.columns == ["topic", "label", "prevalence"]
    assert written.filter(pl.col("label") == 1)["prevalence"].to_list() == pytest.approx([0.75, 0.25], abs=0.01)
    run(*arguments)
    assert not (tmp_path / "fit" / "prevalence.csv").exists()


def test_families_are_named_with_difficulty(run, labels):
    """One line says that families have effects of their own; without the table of judges there is none."""
    (labels.parent / "judges.csv").write_text("judge,family\nx,f\ny,f\nz,g\n")
    options = ("fit", "labels.csv", "--model", "hybrid-confusion", "--difficulty", "--draws", "20", "--warmup", "20")
    line = "adjudge: the judges of a family find the same items hard (2 families of 3 judges): on an item, a family"
    assert run(*options, "--families", "--judges", "judges.csv").err.count(line) == 1
    assert line not in run(*options, "--judges", "judges.csv").err


def test_people_see_tables(run, labels):
    """Without --out: consensus, judges, how it ended; nothing is written."""
    answer = run("fit", "labels.csv", "--rows", "2")
    assert "Consensus (2 of 12 items)" in answer.out
    assert "Judges, best first (3)" in answer.out
    assert "consensus: 12 items, 3 judges, finished after" in answer.out
    assert "of the labels are expected to be right (" in answer.err
    assert [path.name for path in labels.parent.iterdir()] == ["labels.csv"]


def test_of_many_judges_the_best_and_worst_are_shown(run, tmp_path):
    """More judges than rows: both ends of the list."""
    run("simulate", "dawid-skene", "--size", "items=100", "--size", "judges=30", "--out", "crowd")
    assert "Judges, the best and the worst 3 of 30" in run("fit", "crowd/labels.csv", "--rows", "3").out


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_machines_get_formats(run, labels, tmp_path, form, monkeypatch):
    """--format prints the labels and nothing else."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    assert run("fit", "labels.csv", "--model", "majority", "--format", form).code == 0
    content = buffer.getvalue()
    readers = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}
    assert readers[form](io.BytesIO(content))["label"].to_list() == ["no", "yes"] * 6


def test_an_unknown_format_writes_nothing(run, labels, tmp_path):
    """A usage error, before anything is written."""
    answer = run("fit", "labels.csv", "--format", "xml", "--out", "fit")
    assert (answer.code, answer.err) == (
        2,
        "adjudge: format 'xml' is not one of 'csv', 'jsonl', 'parquet', 'qrels', 'run', 'trec-task2-run', "
        "'trec-task2-run-quantised'\n",
    )
    assert not (tmp_path / "fit").exists()


def test_gold_is_used_and_unjudged_gold_warned_of(run, labels, tmp_path):
    """Gold fixes truths; an item nobody judged is one line of warning."""
    (tmp_path / "gold.csv").write_text("item,label\nd0,yes\nd99,no\n")
    answer = run("fit", "labels.csv", "--gold", "gold.csv", "--format", "csv")
    assert answer.code == 0
    assert (
        "adjudge: warning: gold.csv, row 3: nobody judged gold item 'd99' (1 such of 2, kept with their truth)\n"
        in answer.err
    )
    assert "\nd99,no,1.0,1.0,0.0,0.0," in answer.out


def test_bad_data_is_one_line_and_exit_code_1(run, labels, tmp_path):
    """Where, what, what to do; nothing written."""
    answer = run("fit", "labels.csv", "--labels", "no", "--out", "fit")
    assert answer.code == 1
    assert (
        answer.err == "adjudge: labels.csv, row 5: label 'yes' is not one of 'no' (give --labels to extend the scale)\n"
    )
    assert answer.out == ""
    assert not (tmp_path / "fit").exists()


def test_usage_errors_exit_2(run, labels):
    """An unknown model, an unknown option, a missing argument."""
    assert run("fit", "labels.csv", "--model", "magic").err.startswith(
        "adjudge: model 'magic' is not one of 'consensus'"
    )
    for arguments in (("labels.csv", "--model", "magic"), ("labels.csv", "--nonsense"), ("labels.csv", "--rows", "0")):
        assert run("fit", *arguments).code == 2


def test_a_fit_that_hits_the_cap_says_so(run, labels, tmp_path):
    """Not converged is a warning, and the result is there."""
    run(
        "simulate",
        "carpenter",
        "--size",
        "items=200",
        "--size",
        "judges=20",
        "--size",
        "judgments=900",
        "--size",
        "topics=2",
        "--size",
        "gold=5",
    )
    answer = run("fit", "crowd/labels.csv", "--model", "dawid-skene", "--iterations", "2")
    assert answer.code == 0
    assert "adjudge: warning: the fit has not converged: stopped at the cap of 2 passes\n" in answer.err


def test_an_interrupt_writes_what_was_found(run, labels, tmp_path, monkeypatch):
    """Ctrl-C loses nothing: the fit so far is written, the exit code says it was interrupted."""
    from adjudge.cli.output import FitProgress

    def interrupted(self, passes, evidence):
        if passes == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "__call__", interrupted)
    answer = run("fit", "labels.csv", "--model", "dawid-skene", "--out", "fit")
    assert answer.code == 130
    assert adjudge.load(tmp_path / "fit").stopped == "interrupted"


def test_standard_input(run, labels, monkeypatch):
    """``-`` reads from a pipe."""

    class Pipe:
        buffer = io.BytesIO(labels.read_bytes())

    monkeypatch.setattr(sys, "stdin", Pipe)
    assert "12 items, 3 judges" in run("fit", "-").out


def test_columns_and_scale_can_be_named(run, tmp_path):
    """Unusual names, an ordinal scale, repeats."""
    (tmp_path / "t.csv").write_text("thing,who,says\na,x,low\na,x,low\na,y,high\nb,x,high\n")
    answer = run(
        *("fit", "t.csv", "--item", "thing", "--judge", "who", "--label", "says"),
        *("--labels", "low, high", "--ordinal", "--repeats", "merge", "--out", "fit"),
    )
    assert answer.code == 0
    assert "repeats: merge left out 1 judgments" in answer.err
    about = json.loads((tmp_path / "fit" / "fit.json").read_text())
    assert about["scale"] == {"labels": ["low", "high"], "ordinal": True}


def test_threads_and_plain_em_are_options(run, labels):
    """They change how, not what."""
    options = ("--model", "dawid-skene", "--no-accelerate", "--threads", "2", "--start", "accurate")
    plain = run("fit", "labels.csv", *options, "--format", "csv").out
    assert plain.splitlines()[1].startswith("d0,no,")


def test_trec_files_are_printed(run, labels):
    """--format qrels and trec-task2-run, for judgments with topics."""
    assert run("fit", "labels.csv", "--format", "qrels").out.splitlines()[:2] == ["t0 0 d0 no", "t0 0 d1 yes"]
    assert run("fit", "labels.csv", "--format", "trec-task2-run").out.splitlines()[0].startswith("t0 d0 ")


def test_gold_may_have_the_columns_of_the_judgments(run, tmp_path):
    """--item url holds for both files; a TREC file carries its own gold."""
    (tmp_path / "l.csv").write_text("url,judge,label\na,x,0\na,y,1\nb,x,1\n")
    (tmp_path / "g.csv").write_text("url,label\na,1\n")
    assert "\na,1,1.0," in run("fit", "l.csv", "--item", "url", "--gold", "g.csv", "--format", "csv").out
    (tmp_path / "t.txt").write_text("7 h x d1 1 0\n7 h y d1 1 1\n7 h x d2 -1 0\n")
    formats = ("--input-format", "trec-task2", "--gold-format", "trec-task2")
    assert "\n7_d1,1,1.0," in run("fit", "t.txt", *formats, "--gold", "t.txt", "--format", "csv").out


def test_late_surprises_come_early(run, labels, tmp_path):
    """An --out that is a file is refused before anything is read."""
    (tmp_path / "taken").write_text("")
    assert run("fit", "nothing.csv", "--out", "taken").err == "adjudge: taken: is a file; --out needs a folder\n"
    assert run("fit", "nothing.csv", "--model", "magic").code == 2


def test_what_is_read_is_not_written_over(run, labels, tmp_path):
    """--out . would replace labels.csv, the judgments, by labels.csv, the consensus."""
    before = labels.read_text()
    answer = run("fit", "labels.csv", "--out", ".")
    assert answer.code == 2
    assert answer.err == "adjudge: --out . would overwrite the input labels.csv: name another folder\n"
    assert labels.read_text() == before


def test_an_interrupt_leaves_an_earlier_fit_alone(run, labels, tmp_path, monkeypatch):
    """What was found goes beside it."""
    from adjudge.cli.output import FitProgress

    run("fit", "labels.csv", "--out", "fit")

    def interrupted(self, passes, evidence):
        raise KeyboardInterrupt

    monkeypatch.setattr(FitProgress, "__call__", interrupted)
    assert run("fit", "labels.csv", "--out", "fit").code == 130
    assert adjudge.load(tmp_path / "fit").converged
    assert adjudge.load(tmp_path / "fit-interrupted").stopped == "interrupted"
    assert "has not converged: interrupted" in run("predict", "fit-interrupted", "labels.csv").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fit", "-", "--gold", "-"), "adjudge: only one table can come from standard input\n"),
        (("fit", "labels.csv", "--out", ""), "adjudge: --out is empty: name a folder\n"),
    ],
)
def test_calls_that_cannot_be_meant(run, labels, arguments, message):
    """Refused with exit code 2."""
    answer = run(*arguments)
    assert (answer.code, answer.err) == (2, message)


def test_an_interrupt_of_the_comparison_leaves_the_consensus(run, labels, monkeypatch):
    """While models are tried there is the consensus already: it is printed, with the exit code of an interrupt."""

    def interrupted(*args, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("adjudge.inference.select.held_out", interrupted)
    head, *rows = labels.read_text().splitlines()
    turned = [row.replace(",yes,", ",no,") if n % 7 == 3 else row for n, row in enumerate(rows)]  # not unanimous
    labels.write_text("\n".join([head, *turned]) + "\n")
    answer = run("fit", str(labels), "--model", "auto")
    assert answer.code == 130
    assert "consensus: 12 items, 3 judges, interrupted" in answer.out
    assert "auto: the comparison of models was interrupted, so that it is the consensus alone" in answer.out


def test_blocks_give_the_labels_of_memory(run, labels, tmp_path):
    """From two files, made once and used again by another model."""
    text = labels.read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join(text[:20]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join([text[0], *text[20:]]) + "\n")
    answer = run("fit", "a.csv", "b.csv", "--blocks", "blocks", "--model", "dawid-skene", "--out", "fit")
    assert answer.code == 0
    assert "wrote labels/, judges.csv and the fit to fit" in answer.out
    assert "36 judgments of 12 items in 1 block" in answer.err
    assert "probabilities are the model's own, which are over-confident: leave out --model" in answer.err
    written = pl.read_parquet(tmp_path / "fit" / "labels" / "*.parquet").sort("item")
    memory = adjudge.fit(labels, "dawid-skene").labels.sort("item")
    assert written["label"].equals(memory["label"])
    assert (written["probability"] - memory["probability"]).abs().max() < 1e-9
    assert pl.read_csv(tmp_path / "fit" / "judges.csv").height == 3
    stamp = (tmp_path / "blocks" / "manifest.json").stat().st_mtime_ns
    assert run("fit", "a.csv", "b.csv", "--blocks", "blocks", "--model", "majority", "--out", "vote").code == 0
    assert (tmp_path / "blocks" / "manifest.json").stat().st_mtime_ns == stamp


def test_blocks_have_a_calibrated_consensus(run, labels, tmp_path):
    """It is the default, makes a claim, and has the probabilities of memory if no test of independence was passed."""
    answer = run("fit", "labels.csv", "--blocks", "blocks", "--out", "fit")
    assert "of the labels are expected to be right" in answer.err
    written = pl.read_parquet(tmp_path / "fit" / "labels" / "*.parquet").sort("item")
    memory = adjudge.fit(labels)
    assert memory.calibration.independent == 0
    assert (written["probability"] - memory.labels.sort("item")["probability"]).abs().max() < 1e-9
    assert adjudge.load(tmp_path / "fit").calibration == memory.calibration


def test_a_fit_of_blocks_judges_new_items(run, labels, tmp_path):
    """It is a saved fit."""
    run("fit", "labels.csv", "--blocks", "blocks", "--out", "fit")
    (tmp_path / "new.csv").write_text("item,judge,label\nn1,x,yes\nn1,y,yes\nn2,z,no\n")
    answer = run("predict", "fit", "new.csv", "--format", "csv")
    assert answer.code == 0
    assert "n1,yes" in answer.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("labels.csv", "labels.csv"), "2 files can only be read together with --blocks FOLDER; name one table"),
        (("labels.csv", "--engine", "dask"), "--engine needs --blocks FOLDER"),
        (("labels.csv", "--memory", "1GB"), "--memory needs --blocks FOLDER"),
        (("labels.csv", "--blocks", "b"), "give --out FOLDER, and leave out --format"),
        (
            ("labels.csv", "--blocks", "b", "--out", "f", "--model", "auto"),
            "--model auto compares models in memory: name a model",
        ),
        (("labels.csv", "--blocks", "b", "--out", "f", "--engine", "ray"), "engine 'ray' is not one of"),
        (
            ("labels.csv", "--blocks", "b", "--out", "f", "--master", "local"),
            "--master needs --engine spark, but the engine is threads",
        ),
        (
            ("labels.csv", "--blocks", "b", "--out", "f", "--scheduler", "tcp://x"),
            "--scheduler needs --engine dask, but the engine is threads",
        ),
        (("labels.csv", "--blocks", "b", "--out", "f", "--memory", "much"), "memory 'much' is not a size"),
        (
            ("labels.csv", "--blocks", "b", "--out", "f", "--calibrate", "judgments"),
            "calibration by judgments needs all judgments in memory",
        ),
        (("nothing.csv", "--blocks", "b", "--out", "f"), "nothing.csv: there is no such file"),
        (
            ("labels.csv", "--blocks", "b", "--out", "f", "--time", "when"),
            "--blocks does not store times: leave out --time",
        ),
    ],
)
def test_what_does_not_go_together_is_said(run, labels, arguments, said):
    """In one line, before any work is done."""
    answer = run("fit", *arguments)
    assert answer.code == (1 if arguments[0] == "nothing.csv" else 2)  # 1: the input's fault, 2: the command's
    assert said in answer.err
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(("text", "size"), [("500MB", 5e8), ("2 GiB", 2e9), ("1.5g", 1.5e9), ("4096", 4096)])
def test_sizes(text, size):
    """As people write them."""
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "0", "-1", "1.2.3MB", "9 lives"])
def test_what_is_no_size(text):
    """Is refused."""
    with pytest.raises(UsageError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize("blocks", [(), ("--blocks", "blocks")], ids=["memory", "blocks"])
def test_a_fit_keeps_the_table_of_judges(run, labels, tmp_path, blocks):
    """--judges is stored with the fit, in memory and from blocks, and update adds to it."""
    (tmp_path / "judges.csv").write_text("judge,kind,model\nx,human,\ny,llm,m\nz,llm,m\n")
    answer = run("fit", "labels.csv", "--judges", "judges.csv", "--model", "dawid-skene", "--out", "fit", *blocks)
    assert answer.code == 0, answer.err
    panel = adjudge.load(tmp_path / "fit").panel
    assert dict(zip(adjudge.load(tmp_path / "fit").judge_names, panel.kind, strict=True)) == {
        "x": "person",
        "y": "machine",
        "z": "machine",
    }
    assert "kind,family,model" in (tmp_path / "fit" / "judges.csv").read_text().splitlines()[0]
    (tmp_path / "new.csv").write_text("item,judge,label,topic\nd0,w,no,t0\nd1,w,yes,t0\n")
    (tmp_path / "more.csv").write_text("judge,kind\nw,expert\n")
    answer = run("update", "fit", "new.csv", "--judges", "more.csv", "--online", "--out", "both")
    assert answer.code == 0, answer.err
    assert adjudge.load(tmp_path / "both").panel.kind[-1] == "expert"


def test_how_certain_labels_are_is_said(run):
    """The default says which share is right and what gold is worth; a named model, when it is not to be believed."""
    run("simulate", "dawid-skene", "--size=items=200", "--size=judges=20", "--size=labels=2", "--size=per_item=5")
    default = run("fit", "crowd/labels.csv", "--rows", "1").err
    assert "of the labels are expected to be right (" in default
    assert "gold items would correct about " in default
    with_gold = run("fit", "crowd/labels.csv", "--gold", "crowd/gold.csv", "--rows", "1").err
    assert "adjudge: probabilities were learned from " in with_gold
    assert "do not believe" not in default + with_gold
    rng = np.random.default_rng(0)  # judges who answer at random, which Dawid-Skene takes for skill
    rows = [f"i{n},j{j},{rng.integers(2)}" for n in range(60) for j in rng.choice(30, 3, replace=False)]
    Path("noise.csv").write_text("\n".join(["item,judge,label", *rows, ""]))
    named = run("fit", "noise.csv", "--model", "dawid-skene", "--rows", "1").err
    assert named.startswith("adjudge: do not believe these probabilities: dawid-skene claims that ")


def test_renamed_truths_are_printed(run):
    """After the passes stands that EM had permuted the labels."""
    run("simulate", "liu-wang", "--size", "items=20", "--size", "gold=0", "--seed", "3", "--out", "crowd")
    text = " ".join(run("fit", "crowd/labels.csv", "--model", "single-confusion", "--seed", "3").out.split())
    assert "passes; truths were renamed to match the judges' labels (label switching), log evidence" in text


def test_judges_are_not_left_out_of_blocks(run, tmp_path):
    """The message says what to do instead."""
    (tmp_path / "half.csv").write_text("judge\n1\n")
    run("datasets", "anesthesia", "--out", "labels.csv")
    answer = run("fit", "labels.csv", "--without-judges", "half.csv", "--blocks", "blocks", "--out", "fit")
    assert answer.err == (
        "adjudge: --without-judges cannot be used with --blocks: leave the judgments out of the files\n"
    )

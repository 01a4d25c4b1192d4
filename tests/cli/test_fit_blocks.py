"""``adjudge fit --blocks``: judgments beyond memory from the command line."""

import polars as pl
import pytest

import adjudge
from adjudge.cli.fit_blocks import parse_size
from adjudge.errors import UsageError


def test_blocks_give_the_labels_of_memory(run, labels, tmp_path):
    """From two files, made once and used again by another model."""
    text = labels.read_text().splitlines()
    (tmp_path / "a.csv").write_text("\n".join(text[:20]) + "\n")
    (tmp_path / "b.csv").write_text("\n".join([text[0], *text[20:]]) + "\n")
    answer = run("fit", "a.csv", "b.csv", "--blocks", "blocks", "--out", "fit")
    assert answer.code == 0
    assert "wrote labels/, judges.csv and the fit to fit" in answer.out
    assert "36 judgments of 12 items in 1 block" in answer.err
    assert "probabilities are not calibrated: calibration needs the judgments in memory" in answer.err
    written = pl.read_parquet(tmp_path / "fit" / "labels" / "*.parquet").sort("item")
    memory = adjudge.fit(labels, calibrate="none").labels.sort("item")
    assert written["label"].equals(memory["label"])
    assert (written["probability"] - memory["probability"]).abs().max() < 1e-9
    assert pl.read_csv(tmp_path / "fit" / "judges.csv").height == 3
    stamp = (tmp_path / "blocks" / "manifest.json").stat().st_mtime_ns
    assert run("fit", "a.csv", "b.csv", "--blocks", "blocks", "--model", "majority", "--out", "vote").code == 0
    assert (tmp_path / "blocks" / "manifest.json").stat().st_mtime_ns == stamp


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
            "calibration needs all judgments in memory",
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

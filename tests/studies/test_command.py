"""``python -m studies``."""

import io
import re
import sys
from xml.etree import ElementTree

import polars as pl
import pytest

STUDY = ("study", "ordinal", "--data", "crowds", "--sets", "a", "--draws", "20")


@pytest.fixture
def crowd(run):
    """Leave a simulated crowd in a folder of sets."""
    run("simulate", "ordinal", "--size", "items=60", "--size", "gold=40", "--out", "crowds/a")


def test_without_a_name_studies_are_listed(run):
    """With their papers and sets."""
    answer = run("study")
    assert (answer.code, answer.err) == (0, "")
    assert "Faridani et al. 2013 (paper 001)" in answer.out
    assert "ordinal, sets: web_search, adult2, nyt_3p, trec2011_task2" in answer.out
    assert "spectrum, crowds of 5, 10, 20, 50" in answer.out


def test_people_see_a_table_of_each_set(run, crowd):
    """Most accurate first, with intervals, and p against the best, which has none."""
    answer = run(*STUDY)
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "a: 40 items with gold, most accurate first; intervals of 95 %"
    assert re.split(" {2,}", lines[1].strip()) == (
        ["method", "accuracy", "rounded_accuracy", "mae", "closest", "p accuracy", "p mae"]
    )
    assert len(lines) == 2 + 10
    assert re.search(r"^\S.* +0\.\d{3} \.\d{3}-1?\.\d{3} .* +- ", lines[2])


def test_out_writes_the_table_and_the_figure(run, crowd, tmp_path):
    """And people still see theirs."""
    answer = run(*STUDY, "--out", "results")
    assert answer.code == 0
    assert answer.out.endswith("wrote study_ordinal.csv to results\nwrote study_ordinal.svg to results\n")
    table = pl.read_csv(tmp_path / "results" / "study_ordinal.csv")
    assert table["set"].unique().to_list() == ["a"]
    assert {"accuracy", "mae_low", "closest_high", "mae_p"} < set(table.columns)
    assert "dawid-skene" in set(ElementTree.parse(tmp_path / "results" / "study_ordinal.svg").getroot().itertext())


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_machines_get_formats(run, crowd, form, monkeypatch):
    """--format prints the whole table and nothing else."""
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer))
    assert run(*STUDY, "--format", form, "--out", "results").code == 0
    readers = {"csv": pl.read_csv, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}
    table = readers[form](io.BytesIO(buffer.getvalue()))
    assert table.height == 10
    assert {"set", "method", "items"} < set(table.columns)


def test_without_the_extra_the_table_is_there_all_the_same(run, crowd, tmp_path, monkeypatch):
    """Printed and written; then the line to type."""
    monkeypatch.setitem(sys.modules, "altair", None)
    answer = run(*STUDY, "--out", "results")
    assert answer.code == 1
    assert answer.out.startswith("a: 40 items")
    assert answer.err == (
        "adjudge: the figure needs 'adjudge[report]', which is not installed: pip install 'adjudge[report]'\n"
    )
    assert [path.name for path in (tmp_path / "results").iterdir()] == ["study_ordinal.csv"]


def test_an_interrupt_shows_the_sets_that_are_finished(run, crowd, monkeypatch):
    """And says so; the exit code is that of an interrupt."""
    from studies import comparison

    run("simulate", "ordinal", "--size", "items=50", "--out", "crowds/b")
    real = comparison.fit

    def interrupted(judgments, model, **options):
        if len(judgments.items) == 50:
            raise KeyboardInterrupt
        return real(judgments, model, **options)

    monkeypatch.setattr(comparison, "fit", interrupted)
    answer = run("study", "ordinal", "--data", "crowds", "--sets", "a,b", "--draws", "5", "--out", "results")
    assert answer.code == 130
    assert answer.out.startswith("a: 40 items")
    assert "wrote study_ordinal.svg to results" in answer.out
    assert answer.err == "adjudge: warning: interrupted; finished: a\n"
    nothing = run("study", "ordinal", "--data", "crowds", "--sets", "b")
    assert (nothing.code, nothing.out) == (130, "")


def test_what_the_reader_must_know_is_said(run, crowd, monkeypatch):
    """A fit that has not converged, and a method that refuses."""
    from dataclasses import replace

    from adjudge.errors import UsageError
    from studies import comparison

    real = comparison.fit

    def odd(judgments, model, **options):
        if model == "median":
            raise UsageError("no")
        stopped = {"glad": "stopped at the cap of 9 passes"}.get(model, "converged")
        return replace(real(judgments, model, **options), stopped=stopped)

    monkeypatch.setattr(comparison, "fit", odd)
    assert run(*STUDY).err.splitlines() == [
        "adjudge: warning: glad has not converged on a: stopped at the cap of 9 passes",
        "adjudge: warning: left out: median on a: no",
    ]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (("magic",), 2, "study 'magic' is not one of 'ordinal', 'vote', 'spectrum', 'memory', 'trec2011'"),
        (("vote", "--format", "qrels"), 2, "format 'qrels' is not one of 'csv', 'jsonl', 'parquet'"),
        (("vote", "--out", ""), 2, "--out is empty: name a folder"),
        (("vote", "--data", "none"), 1, "none: there is no such folder: name one that holds sets"),
        (("vote", "--data", "crowds"), 1, "crowds/bluebirds/labels.csv: there is no such file; the sets of crowds are"),
        (("vote", "--data", "crowds", "--sets", ","), 2, "there is no set to study: name some with --sets"),
        (("vote", "--data", "crowds", "--sets", "a"), 2, "set 'a' has 5 labels"),
    ],
)
def test_calls_that_cannot_be_meant(run, crowd, options, code, message):
    """Refused before any work, with what to do."""
    answer = run("study", *options)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"adjudge: {message}")


def test_the_draws_are_those_of_the_room():
    """Said twice so that help needs no heavy import, and held together here."""
    import inspect

    from adjudge.metrics.significance import DRAWS
    from studies import command

    assert inspect.signature(command.study).parameters["draws"].default == DRAWS


@pytest.fixture
def short(monkeypatch):
    """Let chains be short, and everything happen in one process."""
    from adjudge.inference.chains import Run
    from studies import command, comparison, memory, spectrum, trec2011

    def quick(real):
        def call(*arguments, **options):
            chains = {"run": Run(2, 20, 20)} if options.get("run") else {}
            return real(*arguments, **{**options, **chains})

        return call

    for module in (spectrum, comparison, trec2011):
        monkeypatch.setattr(module, "fit", quick(module.fit))
    monkeypatch.setattr(command, "_cores", lambda: 1)
    assert memory.fit_method is spectrum.fit_method


def test_the_spectrum_is_shown_and_written(run, short, tmp_path):
    """The true matrices, then a table of each measure; and a figure."""
    answer = run("study", "spectrum", "--runs", "2", "--sizes", "20,5", "--out", "results")
    assert (answer.code, answer.err) == (0, "")
    lines = answer.out.splitlines()
    assert lines[0] == "Parameters of the simulated crowds: prevalence, and the confusion matrices of the judges"
    assert "accuracy of labels, mean of 2 runs" in lines
    assert answer.out.endswith("wrote study_spectrum.csv to results\nwrote study_spectrum.svg to results\n")
    table = pl.read_csv(tmp_path / "results" / "study_spectrum.csv")
    assert table["items"].unique(maintain_order=True).to_list() == [5, 20]
    assert {"accuracy", "mae_low", "p_A"} < set(table.columns)


def test_memory_is_shown_by_set(run, short, crowd):
    """In both modes."""
    answer = run("study", "memory", "--data", "crowds", "--sets", "a", "--runs", "2", "--sizes", "1,3")
    assert (answer.code, answer.err) == (0, "")
    assert "a: accuracy, memoryless, mean of 2 runs" in answer.out
    assert "a: accuracy, with memory, mean of 2 runs" in answer.out


def test_trec2011_writes_runs_and_figures(run, short, tmp_path):
    """For every reading of what gold tells; that short chains have not converged is said."""
    sizes = ("topics=3", "items=60", "judges=12", "judgments=300", "gold=30")
    run("simulate", "carpenter", *(word for size in sizes for word in ("--size", size)), "--out", "crowds/t")
    answer = run("study", "trec2011", "--data", "crowds", "--sets", "t", "--draws", "5", "--out", "results")
    assert answer.code == 0
    assert "The hierarchical model with all gold" in answer.out
    assert "has not converged" in answer.err
    written = {path.name for path in (tmp_path / "results").iterdir()}
    assert {f"study_trec2011_{name}.run" for name in ("unsupervised", "gold_informs", "gold_apart")} < written
    assert {f"study_trec2011_figure{n}.svg" for n in (1, 2, 3, 4)} < written
    for name, fields in {"gold_apart.run": 6, "gold_apart_quantised.txt": 4, "gold_apart_fractional.txt": 4}.items():
        first = (tmp_path / "results" / f"study_trec2011_{name}").read_text().splitlines()[0].split()
        assert len(first) == fields


def test_an_interrupt_shows_the_sizes_that_are_finished(run, short, monkeypatch):
    """And says so."""
    from studies import spectrum

    real = spectrum.simulate

    def interrupted(*arguments, **sizes):
        if sizes["items"] == 30:
            raise KeyboardInterrupt
        return real(*arguments, **sizes)

    monkeypatch.setattr(spectrum, "simulate", interrupted)
    answer = run("study", "spectrum", "--runs", "2", "--sizes", "10,30")
    assert answer.code == 130
    assert answer.err == "adjudge: warning: interrupted; finished: items 10\n"
    assert run("study", "spectrum", "--runs", "2", "--sizes", "30", "--out", "results").code == 130


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("spectrum", "--data", "crowds"), "study 'spectrum' has no --data; studies with this option are 'ordinal'"),
        (("vote", "--runs", "3"), "study 'vote' has no --runs; studies with this option are 'ordinal', 'spectrum'"),
        (("spectrum", "--sizes", "5,x"), "'5,x' is not of the form 5,50,500"),
        (("spectrum", "--sizes", "0"), "adjudge: there is no crowd of 0 items"),
    ],
)
def test_options_that_say_nothing(run, options, message):
    """Are refused, with what would do."""
    answer = run("study", *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err

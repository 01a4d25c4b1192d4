"""``adjudge evaluate``."""

import json

import pytest

from adjudge.cli import score as score_command
from adjudge.cli.evaluate import MANY, MEASURES
from adjudge.cli.options import MEASURE_NAMES
from adjudge.data.runs import example, read_grades, read_run, run_text
from adjudge.metrics.leaderboard import MANY as MANY_RUNS
from adjudge.metrics.ranking import DEFAULT, known_measures

QUICK = ("--draws", "100", "--fit", "fit")


@pytest.fixture
def search(run, tmp_path):
    """Return the command line in a folder with two runs and a fit."""
    for name, text in example().items():
        (tmp_path / name).write_text(text)
    assert run("fit", "labels.csv", "--model", "dawid-skene", "--out", "fit").code == 0
    return run


def test_systems_are_shown_with_what_decides(search):
    """Three tables and the notes; runs are named with --runs, without it, or both."""
    answer = search("evaluate", "--runs", "bm25.run", "dense.run", *QUICK)
    assert (answer.code, answer.err) == (0, "")
    assert "Systems on 10 topics, 100 draws of the labels; 90 % intervals" in answer.out
    assert "variance: labels, topics" in " ".join(answer.out.split())
    assert "Probability that the first is better (and of a tie)" in answer.out
    assert "Labels that would change P(dense is better than bm25) by MAP most" in answer.out
    assert "note: labels are drawn item by item from the posterior: joint draws need a fit" in answer.out
    assert search("evaluate", "bm25.run", "dense.run", *QUICK).out == answer.out
    assert search("evaluate", "--runs", "bm25.run", "--runs", "dense.run", *QUICK).out == answer.out


def test_kept_truths_are_drawn_together(search):
    """A sampled fit with its truths needs no such note."""
    sampled = ("--model", "hierarchical", "--keep-truths", "--warmup", "50", "--draws", "50", "--out", "kept")
    assert search("fit", "labels.csv", *sampled).code == 0
    answer = search("evaluate", "bm25.run", "dense.run", "--fit", "kept", "--draws", "100")
    assert answer.code == 0
    assert "item by item" not in answer.out


def test_machines_get_a_table(search):
    """Systems, pairs or documents; notes are for people."""
    answer = search("evaluate", "bm25.run", "dense.run", *QUICK, "--format", "csv")
    assert answer.out.splitlines()[0] == (
        "run,measure,value,labels_low,labels_high,topics_low,topics_high,low,high,share_labels,share_topics"
    )
    assert len(answer.out.splitlines()) == 7
    assert "adjudge: warning: labels are drawn item by item" in answer.err
    pairs = search("evaluate", "bm25.run", "dense.run", *QUICK, "--format", "jsonl", "--table", "pairs").out
    assert {row["first"] for row in map(json.loads, pairs.splitlines())} == {"bm25"}
    some = search(
        *("evaluate", "bm25.run", "dense.run", *QUICK, "--format", "csv", "--table", "documents"),
        *("--budget", "3", "--pair", "bm25,dense", "--measures", "P@5"),
    )
    assert some.out.splitlines()[0] == "topic,document,judged,chance,first_rank,second_rank,effect,moves"
    assert len(some.out.splitlines()) == 4


def test_all_tables_are_written(search, tmp_path):
    """To a folder, whole; one run has no pairs and no documents, but their columns."""
    answer = search("evaluate", "bm25.run", *QUICK, "--out", "found")
    assert "wrote systems.csv, pairs.csv, documents.csv to found" in answer.out
    assert "note: deciding documents are not defined because there is only one run" in answer.out
    assert (tmp_path / "found" / "pairs.csv").read_text().startswith("measure,first,second,difference,low,high,better")
    assert len((tmp_path / "found" / "documents.csv").read_text().splitlines()) == 1
    assert "Labels that would move" not in search("evaluate", "bm25.run", "dense.run", *QUICK, "--budget", "0").out


def test_nothing_to_ask_is_said(search, tmp_path):
    """Where all labels are certain."""
    rows = [line.split(",") for line in example()["labels.csv"].splitlines()]
    (tmp_path / "sure.csv").write_text("".join(f"{i},{t},{j},{v}\n" for i, t, j, v in rows if j in ("judge", "ann")))
    assert search("fit", "sure.csv", "--model", "majority", "--out", "sure").code == 0
    answer = search("evaluate", "bm25.run", "dense.run", "--fit", "sure", "--draws", "20")
    assert "no further label could decide between dense and bm25 by MAP" in answer.out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--fit", "fit"], 2, "there is no run: give at least one"),
        (["bm25.run", "--fit", "nothing"], 1, "nothing: is not a saved fit: fit.json is missing"),
        (["nothing.run", "--fit", "fit"], 1, "nothing.run: there is no such file"),
        (["truth.qrels", "--fit", "fit"], 1, "truth.qrels, row 1: 4 fields, expected 6: topic, Q0, document, rank,"),
        (["bm25.run", "bm25.run", "--fit", "fit"], 2, "two runs are called 'bm25.run': give every run once, with its"),
        (
            ["bm25.run", "--fit", "fit", "--format", "xml"],
            2,
            "format 'xml' is not one of 'csv', 'jsonl', 'parquet', 'latex'",
        ),
        (
            ["bm25.run", "--fit", "fit", "--table", "x"],
            2,
            "table 'x' is not one of 'systems', 'pairs', 'leaderboard', 'documents'",
        ),
        (["bm25.run", "--fit", "fit", "--pair", "a"], 2, "--pair a does not name two runs: write A,B"),
        (["bm25.run", "--fit", "fit", "--unjudged", "x"], 2, "unjudged 'x' is not one of 'zero', 'prevalence'"),
        (["bm25.run", "--fit", "fit", "--out", "bm25.run"], 2, "--out bm25.run is a file: name a folder"),
        (["bm25.run", "--fit", "fit", "--level", "nan"], 2, "level nan is not above 0, the grade of a document"),
        (["bm25.run", "--fit", "fit", "--level", "9"], 2, "no label is relevant at level 9: the grades of the fit are"),
        (["bm25.run", "--fit", "fit", "--baseline", "x"], 2, "the baseline 'x' is not one of the runs 'bm25'"),
        (["bm25.run", "--fit", "fit", "--picture", "x.pdf"], 2, "--picture x.pdf must end in .svg, .png or .html"),
        (["bm25.run", "--fit", "fit", "--picture", "no/x.svg"], 2, "--picture no/x.svg: the folder does not exist;"),
        (
            ["bm25.run", "--fit", "fit", "--audit", "9", "--format", "latex"],
            2,
            "format 'latex' is not one of 'csv', 'jsonl', 'parquet'",
        ),
        (["-", "-", "--fit", "fit"], 2, "only one table can come from standard input"),
    ],
)
def test_what_is_wrong_is_one_line(search, arguments, code, said):
    """No traceback for bad input, and the exit codes of the other commands."""
    answer = search("evaluate", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"adjudge: {said}"), answer.err
    assert answer.err.count("\n") == 1


def test_the_usual_measures_are_those_of_the_room():
    """Said twice so that help needs no heavy import, and held together here."""
    assert ",".join(DEFAULT) == MEASURES
    assert MANY_RUNS == MANY == score_command.MANY
    assert known_measures() == MEASURE_NAMES


def _fill_in(folder, name="audit.csv"):
    """Fill in the labels of an audit from the true labels."""
    truth = {tuple(line.split()[::2]): line.split()[3] for line in (folder / "truth.qrels").read_text().splitlines()}
    head, *rows = (folder / name).read_text().splitlines()
    filled = [f"{row}{truth[tuple(row.split(',')[:2])]}" for row in rows]
    (folder / name).write_text("\n".join([head, *filled, ""]))


def test_an_audit_is_drawn_filled_in_and_used(search, tmp_path):
    """The same command draws the documents, and evaluates with their labels; a second round may follow."""
    runs = ("evaluate", "bm25.run", "dense.run", "--fit", "fit")
    drawn = search(*runs, "--audit", "60", "--out", ".")
    assert drawn.code == 0
    assert drawn.out.endswith("documents to ./audit.csv: experts fill in the label of every row\n")
    assert search(*runs, "--answers", "audit.csv").code == 1
    _fill_in(tmp_path)
    answer = search(*runs, "--answers", "audit.csv", "--out", "certified")
    assert (answer.code, answer.err) == (0, "")
    assert "audited documents; 90 % intervals" in answer.out
    assert "note: intervals hold whatever the judges' errors are" in answer.out
    assert (
        "note: labels saved: so many more expert labels would give the same interval without the judges" in answer.out
    )
    assert (tmp_path / "certified" / "pairs.csv").read_text().startswith("measure,first,second,difference,low,high")
    assert search(*runs, "--answers", "audit.csv", "--audit", "30", "--out", ".").code == 0
    _fill_in(tmp_path, "audit-2.csv")
    both = search(*runs, "--answers", "audit.csv", "--answers", "audit-2.csv", "--format", "csv")
    assert both.out.startswith("run,measure,value,low,high,topics_low,topics_high,judges,correction,saved\n")


def test_an_audit_needs_a_place(search):
    """Without --out and --format nothing could be labelled."""
    answer = search("evaluate", "bm25.run", "--fit", "fit", "--audit", "60")
    assert answer.code != 0
    assert "--audit needs a folder for audit.csv (--out), or --format to print it" in answer.err


def test_an_audited_evaluation_has_two_tables(search, tmp_path):
    """Documents that decide are those of evaluations without an audit."""
    runs = ("evaluate", "bm25.run", "dense.run", "--fit", "fit")
    assert search(*runs, "--audit", "60", "--out", ".").code == 0
    _fill_in(tmp_path)
    answer = search(*runs, "--answers", "audit.csv", "--format", "csv", "--table", "documents")
    assert "table 'documents' is not part of an audited evaluation: systems, pairs and leaderboard are" in answer.err


@pytest.fixture
def ten(search, tmp_path):
    """Return the command line in a folder with ten more runs."""
    grades = read_grades(tmp_path / "truth.qrels")
    for n in range(10):
        far = [
            (t, d, grade + n * ((7 * i) % 11) / 20) for t, x in grades.items() for i, (d, grade) in enumerate(x.items())
        ]
        run: dict[str, dict[str, float]] = {}
        for topic, document, score in far:
            run.setdefault(topic, {})[document] = score
        (tmp_path / f"sys_{n}.run").write_text(run_text(read_run(run, f"sys_{n}")))
    return search


TEN = [f"sys_{n}.run" for n in range(10)]


def test_many_runs_are_a_leaderboard(ten, tmp_path):
    """Instead of 45 pairs, which remain to be had; the documents are those that decide on the order."""
    answer = ten("evaluate", *TEN, *QUICK, "--budget", "2", "--out", "result", "--picture", "board.svg")
    assert (answer.code, answer.err) == (0, "")
    assert "Leaderboard. Systems on 10 topics, 100 draws of the labels; 90 % intervals" in answer.out
    assert (
        "best: probability of being the best; ranks: 90 % interval of each rank by MAP; groups: runs that" in answer.out
    )
    assert "Probability that the first is better" not in answer.out
    assert "Labels that would change the probabilities that each run is better than the next (added up)" in answer.out
    assert answer.out.endswith("wrote systems.csv, leaderboard.csv, documents.csv to result\nwrote board.svg\n")
    assert (tmp_path / "board.svg").read_text().startswith("<svg")
    pairs = ten("evaluate", *TEN, *QUICK, "--format", "csv", "--table", "pairs", "--budget", "0").out
    assert len(pairs.splitlines()) == 1 + 3 * 45
    board = ten("evaluate", *TEN, *QUICK, "--format", "csv", "--table", "leaderboard", "--budget", "0").out
    assert board.splitlines()[0] == ("measure,run,value,low,high,best,rank,rank_low,rank_high,first_group,last_group")
    assert len(board.splitlines()) == 31


def test_runs_are_compared_with_a_baseline(ten):
    """By its name or its file, which need not be among the runs."""
    answer = ten("evaluate", *TEN, "--baseline", "bm25.run", *QUICK, "--budget", "1")
    assert "all together" in answer.out
    assert "Labels that would change the probabilities that each run is better than bm25 (added up)" in answer.out
    table = ("--format", "csv", "--table", "pairs", "--budget", "0")
    by_file = ten("evaluate", *TEN, "--baseline", "bm25.run", *QUICK, *table).out
    assert by_file == ten("evaluate", *TEN, "bm25.run", "--baseline", "bm25", *QUICK, *table).out
    assert len(by_file.splitlines()) == 31


def test_tables_are_printed_for_latex(ten, tmp_path):
    """Results as papers print them, and the other tables as they are."""
    answer = ten("evaluate", "bm25.run", "sys_0.run", *QUICK, "--format", "latex", "--baseline", "bm25")
    assert "run & MAP & nDCG@10 & P@10" in answer.out
    assert r"$^{\dagger}$ marks runs that are better than bm25" in answer.out
    assert r"(all marks together hold with 90 \% probability)" in answer.out
    assert "(b) bm25" in ten("evaluate", "bm25.run", "sys_0.run", *QUICK, "--format", "latex").out
    documents = ten("evaluate", "bm25.run", "sys_0.run", *QUICK, "--format", "latex", "--table", "documents").out
    assert r"topic & document & judged & chance & first\_rank & second\_rank & effect & moves" in documents
    runs = ("evaluate", "bm25.run", "sys_0.run", "--fit", "fit")
    assert ten(*runs, "--audit", "80", "--out", ".").code == 0
    _fill_in(tmp_path)
    certified = ten(*runs, "--answers", "audit.csv", "--format", "latex").out
    assert "audited documents; 90 \\% intervals." in certified
    assert r"\textbf" in certified


def test_many_audited_runs_are_a_leaderboard(ten, tmp_path):
    """Without the probability of being the best, which an audit does not give; the picture is a page here."""
    runs = ("evaluate", *TEN, "--fit", "fit", "--measures", "MAP")
    assert ten(*runs, "--audit", "60", "--out", ".").code == 0
    _fill_in(tmp_path)
    answer = ten(*runs, "--answers", "audit.csv", "--picture", "board.html", "--out", "certified")
    assert "Leaderboard. Systems on 10 topics, " in answer.out
    assert (
        "\nranks: 90 % interval of each rank by MAP; groups: runs that share one cannot be distinguished" in answer.out
    )
    assert "wrote systems.csv, leaderboard.csv to certified" in answer.out
    assert "<h1>Leaderboard</h1>" in (tmp_path / "board.html").read_text()
    based = ten(*runs, "--answers", "audit.csv", "--baseline", "sys_9")
    assert "Differences; p on these topics, with Holm's correction" in based.out

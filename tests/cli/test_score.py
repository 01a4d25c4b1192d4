"""``adjudge score``."""

import pytest

import adjudge


def test_a_fit_is_scored(run, labels, tmp_path):
    """A saved fit against a table of truths."""
    run("fit", "labels.csv", "--out", "fit")
    (tmp_path / "gold.csv").write_text("item,label\nd0,no\nd1,yes\nd2,yes\nd3,yes\n")
    answer = run("score", "fit", "gold.csv")
    assert answer.code == 0
    assert "Scores on 4 items" in answer.out
    assert "accuracy" in answer.out
    assert "Items by truth (rows) and answer (columns)" in answer.out
    assert "0.750" in answer.out
    assert "log loss" in answer.out.replace("_", " ")


def test_truths_that_contradict_a_claim_are_said(run, labels, tmp_path):
    """The judges agree, and the truths are the opposite; a fit that claims nothing, and truths it used, are not."""
    wrong = "item,label\n" + "".join(f"d{n},{'no' if n % 2 else 'yes'}\n" for n in range(12))
    (tmp_path / "gold.csv").write_text(wrong)
    run("fit", "labels.csv", "--out", "fit")
    low, high = adjudge.load("fit").calibration.interval
    claimed = f"{low:.0%} to {high:.0%}"
    warning = f"Warning: 0% of the 12 labels with a known truth are right, outside the claimed {claimed}."
    assert warning in run("score", "fit", "gold.csv").out.splitlines()
    right = wrong.replace("yes", "?").replace("no", "yes").replace("?", "no")
    (tmp_path / "right.csv").write_text(right)
    run("fit", "labels.csv", "--model", "majority", "--out", "vote")
    run("fit", "labels.csv", "--gold", "gold.csv", "--out", "told")
    for fit, truth in (("fit", "right.csv"), ("vote", "gold.csv"), ("told", "gold.csv")):
        assert "Warning" not in run("score", fit, truth).out


def test_a_plain_table_is_scored(run, tmp_path):
    """Any table of item and label."""
    (tmp_path / "a.csv").write_text("item,label\nx,1\ny,0\n")
    (tmp_path / "gold.csv").write_text("item,label\nx,1\ny,1\n")
    assert "0.500" in run("score", "a.csv", "gold.csv").out


def test_a_table_of_labels_in_an_order_is_scored(run, tmp_path):
    """Numbers by their own order, other labels by the one that is given."""
    (tmp_path / "a.csv").write_text("item,label\nx,low\ny,high\n")
    (tmp_path / "gold.csv").write_text("item,label\nx,low\ny,mid\n")
    assert "mae" not in run("score", "a.csv", "gold.csv").out
    answer = run("score", "a.csv", "gold.csv", "--ordinal", "--labels", "low,mid,high")
    assert answer.code == 0
    assert [line.split()[:2] for line in answer.out.splitlines() if line.startswith("mae")] == [["mae", "0.500"]]
    assert "quadratic_kappa" in answer.out
    refusal = run("score", "a.csv", "gold.csv", "--ordinal")
    assert refusal.code == 2
    assert refusal.err.startswith("adjudge: the order of the labels 'high', 'low', 'mid' is not known: give it")


def test_a_missing_gold_file_is_said(run, tmp_path):
    """One line, exit code 1."""
    (tmp_path / "a.csv").write_text("item,label\nx,1\n")
    answer = run("score", "a.csv", "nothing.csv")
    assert answer.code == 1
    assert answer.err.startswith("adjudge: nothing.csv: there is no such file")


def test_the_bound_is_the_one_of_the_room(run):
    """Said twice so that help needs no heavy import, and held together here."""
    from adjudge.cli import score
    from adjudge.metrics import probabilities, ranking

    assert score.BOUND == probabilities.BOUND
    assert ",".join(ranking.DEFAULT) == score.MEASURES


RUN = "1 Q0 d1 1 1 a\n1 Q0 d2 2 1 a\n1 Q0 d3 3 1 a\n1 Q0 d4 4 .5 a\n1 Q0 d5 5 .5 a\n2 Q0 d1 1 1 a\n"
QRELS = "1 0 d1 0\n1 0 d2 1\n1 0 d3 0\n1 0 d4 1\n1 0 d5 2\n2 0 d1 0\n3 0 d1 1\n"


def test_a_run_is_scored(run, tmp_path):
    """Told by its six fields; the numbers are trec_eval's."""
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "truth.qrels").write_text(QRELS)
    answer = run("score", "a.run", "truth.qrels", "--measures", "map,ndcg@3", "--per-topic")
    assert (answer.code, answer.err) == (0, "")
    assert "not defined because topic 2 has no relevant document; 0 as in trec_eval" in " ".join(answer.out.split())
    assert "Runs on 2 topics" in answer.out
    for value in ("0.533", "0.267", "0.202", "0.101"):
        assert value in answer.out
    assert "note: no run has 1 of 3 topics with grades, which are left out" in answer.out
    expected = run("score", "a.run", "truth.qrels", "--measures", "rr", "--ties", "expected", "--format", "csv").out
    assert expected.splitlines()[1].startswith("a,MRR,0.30555")
    complete = run("score", "a.run", "truth.qrels", "--measures", "map", "--complete", "--format", "csv")
    assert complete.out.splitlines()[0] == "run,measure,value,low,high,topics,note"
    assert complete.out.splitlines()[1].startswith("a,MAP,0.1777777")
    assert "adjudge: warning: a returns nothing for 1 of 3 topics, which count as 0" in complete.err


def test_runs_are_compared(run, tmp_path):
    """Several runs: their differences with p, and what nobody judged."""
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "b.run").write_text(RUN.replace("d4", "new"))
    (tmp_path / "qrels.txt").write_text(QRELS)
    answer = run("score", "a.run", "b.run", "qrels.txt")
    assert "Differences; p of a randomisation test with Holm's correction" in answer.out
    assert "note: 16.7% of the documents in b are not judged and have grade 0" in answer.out


def test_what_is_wrong_with_runs_is_one_line(run, tmp_path):
    """Options of runs without one, several tables, unknown names."""
    (tmp_path / "a.csv").write_text("item,label\nx,1\n")
    (tmp_path / "a.run").write_text(RUN)
    (tmp_path / "q.qrels").write_text(QRELS)
    for arguments, code, result in (
        (
            ["a.csv", "a.csv", "--per-topic"],
            2,
            "a.csv is not a run, but an option for runs is given (--measures makes it a run)",
        ),
        (["a.csv", "a.csv", "a.csv"], 2, "score takes one set of labels or several runs, but got 2 sets of labels"),
        (["a.run", "q.qrels", "--format", "xml"], 2, "format 'xml' is not one of 'csv', 'jsonl', 'parquet', 'latex'"),
        (
            ["a.run", "q.qrels", "--measures", "NERR"],
            2,
            "there is no measure 'NERR' (did you mean ERR?): measures are MAP",
        ),
        (["a.csv", "q.qrels", "--measures", "MAP"], 1, "a.csv: there is no column 'topic': a run has topic, document"),
        (["a.run", "a.run"], 1, "a.run, row 1: 6 fields, expected 4: topic, iteration, document, label"),
        (["-", "-", "--measures", "MAP"], 2, "only one table can come from standard input"),
    ):
        answer = run("score", *arguments)
        assert (answer.code, answer.out) == (code, "")
        assert answer.err.startswith(f"adjudge: {result}"), answer.err
        assert answer.err.count("\n") == 1


def test_a_broken_run_is_told_as_a_run(run, tmp_path):
    """Not as a table without rows."""
    (tmp_path / "truth.qrels").write_text("1 0 d1 1\n")
    for line, result in (("1 Q0 d1 1 x tag", "score 'x' is not a number"), ("1 Q0 d1 1 .5", "5 fields, expected 6")):
        (tmp_path / "bad.run").write_text(f"{line}\n")
        answer = run("score", "bad.run", "truth.qrels")
        assert answer.code == 1
        assert answer.err.startswith(f"adjudge: bad.run, row 1: {result}")


def test_one_step_from_a_consensus_to_the_scores_of_trec(run, tmp_path):
    """A run and a task 2 run of the same fit have the same MAP, beside the measures of labels and probabilities."""
    run("evaluate", "--example", "search")
    for form, name in (("run", "x.run"), ("trec-task2-run", "x.txt"), ("trec-task2-run-quantised", "q.txt")):
        (tmp_path / name).write_text(run("fit", "search/labels.csv", "-m", "dawid-skene", "--format", form).out)
    by_run = run("score", "x.run", "search/truth.qrels", "--measures", "MAP", "--format", "csv", "--judged").out
    table = run("score", "x.txt", "search/truth.qrels", "--format", "csv").out
    values = dict(line.split(",")[:2] for line in table.splitlines()[1:])
    assert {"precision", "recall", "specificity", "map", "ndcg", "log_loss", "rmse"} < set(values)
    assert float(values["map"]) == pytest.approx(float(by_run.splitlines()[1].split(",")[2]))
    quantised = run("score", "q.txt", "search/truth.qrels", "--format", "csv").out.splitlines()
    assert f"map,{values['map']}" in [",".join(line.split(",")[:2]) for line in quantised]


def test_values_of_labels(run, tmp_path):
    """One option for fit and score; the fit keeps them."""
    rows = "a,x,bad\na,y,good\nb,x,good\nb,y,good\nc,x,bad\nc,y,bad\n"
    (tmp_path / "t.csv").write_text(f"item,judge,label\n{rows}")
    (tmp_path / "gold.csv").write_text("item,label\na,bad\nb,good\nc,bad\n")
    assert run("fit", "t.csv", "-m", "ordinal", "--values", "good=3,bad=0", "--out", "fit").code == 0
    for answers, options in (("fit", ()), ("fit/labels.csv", ("--values", "bad=0,good=3"))):
        table = run("score", answers, "gold.csv", *options, "--format", "csv").out
        values = dict(line.split(",")[:2] for line in table.splitlines()[1:])
        assert float(values["label_rmse"]) in (0.0, pytest.approx(3**0.5))
        assert 0 < float(values["expected_mae"]) < 1.5
    answer = run("score", "fit", "gold.csv", "--values", "good")
    assert (answer.code, answer.err.splitlines()[-1]) == (
        2,
        "Error: Invalid value for --values: 'good' is not of the form label=number, such as good=3",
    )


def _many(folder):
    """Write grades and ten runs, each worse than the one before."""
    (folder / "q.qrels").write_text("".join(f"{t} 0 d{d} {int(d < 3)}\n" for t in range(30) for d in range(10)))
    for n in range(10):
        lines = [
            f"{t} Q0 d{d} 1 {(d < 3) + n * ((3 * d + 5 * t + n) % 7) / 9} x\n" for t in range(30) for d in range(10)
        ]
        (folder / f"r{n}.run").write_text("".join(lines))
    return [f"r{n}.run" for n in range(10)]


def test_many_runs_are_a_leaderboard(run, tmp_path):
    """The pairs, the places and LaTeX are to be had with --format."""
    runs = _many(tmp_path)
    answer = run("score", *runs, "q.qrels")
    assert "Leaderboard. Runs on 30 topics; 90 % intervals over topics" in answer.out
    assert "Differences" not in answer.out
    pairs = run("score", *runs, "q.qrels", "--format", "csv", "--table", "pairs").out
    assert len(pairs.splitlines()) == 1 + 3 * 45
    board = run("score", *runs, "q.qrels", "--format", "csv", "--table", "leaderboard").out
    assert board.splitlines()[1].startswith("MAP,r0,1.0,")
    latex = run("score", *runs, "q.qrels", "--format", "latex", "--measures", "MAP").out
    assert "marks runs that cannot be distinguished from the best (all marks together hold with 90" in latex
    assert "r0 & \\textbf{1.000} " in latex
    table = run("score", *runs, "q.qrels", "--format", "latex", "--table", "pairs", "--measures", "MAP").out
    assert "measure & first & second & difference & p & adjusted & topics" in table
    wrong = run("score", *runs, "q.qrels", "--table", "x")
    assert wrong.err == "adjudge: table 'x' is not one of 'systems', 'pairs', 'leaderboard'\n"


def test_runs_are_compared_with_a_baseline(run, tmp_path):
    """By its name or its file; Holm's correction is for these pairs."""
    runs = _many(tmp_path)[:4]
    answer = run("score", *runs, "q.qrels", "--baseline", "r9.run", "--format", "csv", "--table", "pairs")
    rows = [line.split(",")[:3] for line in answer.out.splitlines()[1:]]
    assert rows[:4] == [["MAP", f"r{n}", "r9"] for n in range(4)]
    assert len(rows) == 12
    latex = run("score", *runs, "q.qrels", "--baseline", "r3", "--format", "latex").out
    assert "marks runs that are better than r3" in latex
    assert "(p \\textless{} 0.05, randomisation test with Holm's correction)" in latex


def test_labels_are_printed_for_latex(run, tmp_path):
    """The table of measures."""
    (tmp_path / "a.csv").write_text("item,label\nx,1\ny,0\n")
    assert "accuracy & 1.000 & " in run("score", "a.csv", "a.csv", "--format", "latex").out


def test_files_of_other_tools_are_runs(run, tmp_path):
    """The JSON of ranx, and a table with the columns of ir_measures."""
    (tmp_path / "q.json").write_text('{"1": {"a": 1}}')
    (tmp_path / "ranx.json").write_text('{"1": {"a": 1.0, "b": 2.0}}')
    (tmp_path / "irm.csv").write_text("query_id,doc_id,score\n1,a,2\n1,b,1\n")
    answer = run("score", "ranx.json", "irm.csv", "q.json", "--measures", "MRR", "--format", "csv")
    assert [line.split(",")[:3] for line in answer.out.splitlines()[1:]] == [
        ["ranx", "MRR", "0.5"],
        ["irm", "MRR", "1.0"],
    ]

"""``adjudge rank``."""

import pytest

from adjudge.models.ranking.rank import METHODS

HEAD = "topic,item,judge,rank\n"


@pytest.fixture
def ranks(run):
    """Return the name of the example's file."""
    assert run("rank", "--example", "ranks.csv").out == "wrote ranks.csv\n"
    return "ranks.csv"


def test_people_see_items_judges_and_the_end(run, ranks):
    """The judge who turns everything round comes last."""
    answer = run("rank", ranks)
    assert (answer.code, answer.err) == (0, "")
    assert "Ranking (5 of 5 items)" in answer.out
    assert "Judges, highest agreement first (5 of 5)" in answer.out
    assert [line.split()[0] for line in answer.out.splitlines() if line.startswith(("ann", "eve"))] == ["ann", "eve"]
    assert "plackett-luce: 5 items, 5 judges, 5 rankings, converged after" in answer.out


def test_machines_get_a_table(run, ranks):
    """As CSV, JSON lines or Parquet."""
    lines = run("rank", ranks, "--method", "borda", "--format", "csv").out.splitlines()
    assert lines[0] == "topic,item,rank,score,se,judges"
    assert lines[1].startswith("t1,a,1,0.7333")
    assert run("rank", ranks, "--format", "jsonl").out.startswith('{"topic":"t1","item":"a","rank":1,')
    assert run("rank", ranks, "--format", "parquet").out.startswith("PAR1")


def test_files_are_written(run, ranks, tmp_path):
    """The ranking and the judges, in a folder."""
    answer = run("rank", ranks, "--out", "out", "--rows", "2")
    assert answer.out.endswith("wrote ranking.csv and judges.csv to out\n")
    assert (tmp_path / "out/ranking.csv").read_text().startswith("topic,item,rank,score,se,judges\nt1,a,1,")
    assert (tmp_path / "out/judges.csv").read_text().startswith("judge,rankings,reliability,tau\nann,1,")


def test_preferences_are_told_by_their_columns(run, tmp_path):
    """With the place and ties reported."""
    (tmp_path / "p.csv").write_text("a,b,vote\np,q,A\nq,s,a\np,s,n\n")
    answer = run("rank", "p.csv", "--left", "a", "--right", "b", "--winner", "vote", "--position-bias")
    assert answer.code == 0
    assert "bradley-terry: 3 items, 1 judges, 3 preferences, converged" in answer.out
    assert "position bias" in answer.out
    assert "tie odds" in answer.out.replace("\n", " ")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["bad.csv"], 1, "bad.csv, row 3: judge 'x' of topic 't' gives rank 3 and no rank 2: give the items"),
        (["good.csv", "--items", "known.csv"], 1, "good.csv, row 3: item 'b' of topic 't' is not among the 1 items of"),
        (["good.csv", "--method", "kemeny"], 2, "method 'kemeny' is not one of 'borda', 'plackett-luce', 'bradley-t"),
        (["good.csv", "--method", "bradley-terry"], 1, "good.csv: no column for the left (columns: 'topic', 'item',"),
        (["good.csv", "--rank", "place"], 1, "good.csv: there is no column 'place' for the rank (columns: 'topic',"),
        (["good.csv", "--format", "qrels"], 2, "format 'qrels' is not one of 'csv', 'jsonl', 'parquet'"),
        (["ranking.csv", "--out", "."], 2, "--out . would overwrite the input ranking.csv: name another folder"),
        (["nothing.csv"], 1, "nothing.csv: there is no such file"),
        (["good.csv", "--spread", "-1"], 2, "spread -1.0 is not a number from 0.01 to 1000"),
        (["-", "--items", "-"], 2, "only one table can come from standard input"),
    ],
)
def test_what_is_wrong_is_one_line(run, tmp_path, arguments, code, said):
    """No traceback for bad input, and the exit codes of the other commands."""
    (tmp_path / "bad.csv").write_text(HEAD + "t,a,x,1\nt,b,x,3\n")
    (tmp_path / "known.csv").write_text("item\na\n")
    for name in ("good.csv", "ranking.csv"):
        (tmp_path / name).write_text(HEAD + "t,a,x,1\nt,b,x,2\n")
    answer = run("rank", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"adjudge: {said}")
    assert answer.err.count("\n") == 1


def test_sets_are_distinguished(run, tmp_path):
    """By their column, or declared to be ties."""
    (tmp_path / "s.csv").write_text("item,judge,rank,hit\na,x,1,1\nb,x,2,1\na,y,1,2\nc,y,2,2\nc,x,1,3\nd,x,2,3\n")
    assert "4 items, 2 judges, 3 rankings" in run("rank", "s.csv", "--set", "hit").out
    assert "4 items, 2 judges, 2 rankings" in run("rank", "s.csv", "--ties").out
    assert run("rank", "s.csv").err == (
        "adjudge: s.csv, row 6: judge 'x' gives the ranks 1 to 2 more than once, as in 2 sets: name the column that "
        "tells the sets apart with --set, or say with --ties that equal ranks are ties\n"
    )


def test_grades_come_from_labels_and_ranks(run, tmp_path):
    """With known grades, and labels in words."""
    rows = [
        f"t,{item},{judge},{rank},{'yes' if rank < 3 else 'no'}"
        for judge in "xyz"
        for rank, item in enumerate("abcd", 1)
    ]
    (tmp_path / "g.csv").write_text("\n".join(["topic,item,judge,rank,label", *rows, ""]))
    (tmp_path / "gold.csv").write_text("topic,item,grade\nt,a,2\n")
    answer = run("rank", "g.csv", "--method", "graded", "--labels", "no,yes", "--gold", "gold.csv", "--format", "csv")
    lines = [line.split(",") for line in answer.out.splitlines()]
    assert ",".join(lines[0]) == "topic,item,rank,low,high,score,se,grade,expected,relevant,p_0,p_1,p_2,judges"
    assert [line[1] for line in lines[1:3]] == ["a", "b"]
    assert lines[1][7:13] == ["2", "2.0", "1.0", "0.0", "0.0", "1.0"]


def test_a_climb_that_did_not_end_is_said(run, ranks, monkeypatch):
    """The result is shown, with a warning."""
    monkeypatch.setattr("adjudge.models.ranking.worth.STEPS", 1)
    assert run("rank", ranks).err == (
        "adjudge: warning: the ranking has not converged: stopped at the cap of 1 steps\n"
    )


def test_help_names_every_method(run):
    """Said twice so that help needs no heavy import, and held together here."""
    text = run("rank", "--help").out
    assert all(method in text for method in METHODS)

"""``adjudge agreement``."""

import json

import pytest

from adjudge.cli import agreement as command
from adjudge.metrics.agreement import DRAWS, MEASURES


@pytest.fixture
def some(tmp_path):
    """Write judgments of two topics, four items and three judges, one item judged by one of them."""
    rows = ["a,x,1,t1", "a,y,1,t1", "a,z,2,t1", "b,x,2,t1", "b,y,2,t1", "c,x,3,t2", "c,y,1,t2", "c,z,3,t2", "d,x,1,t2"]
    (tmp_path / "some.csv").write_text("item,judge,label,topic\n" + "\n".join(rows) + "\n")
    return "some.csv"


def test_people_see_measures_pairs_and_a_sentence(run, some):
    """With what was left out, and what is not defined."""
    answer = run("agreement", some)
    assert (answer.code, answer.err) == (0, "")
    assert "Agreement of 3 judges on 3 items; 1 items with fewer than two judges are left out" in answer.out
    assert "raw_agreement" in answer.out
    assert "of 7 pairs of votes" in answer.out
    assert "not defined because the labels have no known order" in answer.out
    assert "Judges who share the most items (3 pairs)" in answer.out
    assert "two judges agree on 43 % of the items that both judged, alpha_nominal is " in answer.out


def test_labels_in_an_order_have_all_measures(run, some):
    """With --ordinal, and as many pairs as were asked for."""
    answer = run("agreement", some, "--ordinal", "--rows", "1")
    assert "not defined" not in answer.out.replace("not defined in", "")
    assert "Judges who share the most items (1 pairs)" in answer.out


def test_repeats_are_said(run):
    """The anaesthetist who judged three times."""
    run("datasets", "anesthesia", "--out", "labels.csv")
    answer = run("agreement", "labels.csv")
    assert "Agreement of 5 judges on 45 items; 90 repeated judgments share their judge's vote" in answer.out


def test_machines_get_a_table(run, some):
    """Of the measures or of the pairs, as CSV, JSON lines or Parquet; the seed decides."""
    lines = run("agreement", some, "--format", "csv").out.splitlines()
    assert lines[0] == "measure,value,low,high,note"
    assert [line.split(",")[0] for line in lines[1:]] == [*MEASURES, "cohen_kappa"]
    first = json.loads(run("agreement", some, "--format", "jsonl", "--pairs").out.splitlines()[0])
    assert (first["first"], first["second"], first["shared"]) == ("x", "y", 3)
    assert run("agreement", some, "--format", "parquet").out.startswith("PAR1")
    again = run("agreement", some, "--format", "csv", "--seed", "1").out.splitlines()
    assert again != lines
    assert again == run("agreement", some, "--format", "csv", "--seed", "1").out.splitlines()


def test_topics_are_measured_apart(run, some):
    """For people a line each, for machines a row for each measure."""
    answer = run("agreement", some, "--by-topic")
    assert "Agreement by topic (2 of 2 topics)" in answer.out
    assert [line.split()[:4] for line in answer.out.splitlines()[-2:]] == [
        ["t1", "2", "3", "0.500"],
        ["t2", "1", "3", "0.333"],
    ]
    assert "(1 of 2 topics)" in run("agreement", some, "--by-topic", "--rows", "1").out
    lines = run("agreement", some, "--by-topic", "--format", "csv").out.splitlines()
    assert lines[0] == "topic,measure,value,low,high,note"
    assert len(lines) == 1 + 2 * (len(MEASURES) + 1)


def test_a_single_judge_is_an_answer(run, tmp_path):
    """Nothing is defined, and nothing is wrong."""
    (tmp_path / "one.csv").write_text("item,judge,label\na,x,1\nb,x,0\n")
    answer = run("agreement", "one.csv")
    assert answer.code == 0
    assert answer.out.endswith("\nnot defined because there is a single judge\n")
    assert answer.out.count("not defined because there is a single judge") == 7
    assert run("agreement", "one.csv", "--format", "csv").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["nothing.csv"], 1, "nothing.csv: there is no such file"),
        (["some.csv", "--format", "qrels"], 2, "format 'qrels' is not one of 'csv', 'jsonl', 'parquet'"),
        (
            ["some.csv", "--pairs"],
            2,
            "--pairs needs --format and cannot be combined with --by-topic; the tables show the pairs",
        ),
        (
            ["some.csv", "--pairs", "--by-topic", "--format", "csv"],
            2,
            "--pairs needs --format and cannot be combined with --by-topic",
        ),
        (["plain.csv", "--by-topic"], 2, "the judgments have no topics: name their column with --topic"),
    ],
)
def test_what_is_wrong_is_one_line(run, some, tmp_path, arguments, code, said):
    """No traceback, and the exit codes of the other commands."""
    (tmp_path / "plain.csv").write_text("item,judge,label\na,x,1\na,y,0\n")
    answer = run("agreement", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err.startswith(f"adjudge: {said}")
    assert answer.err.count("\n") == 1


def test_what_is_said_twice_is_the_same(run):
    """Help needs no heavy import: its number of draws and the measures of topics are held together here."""
    text = run("agreement", "--help").out
    assert f"[default: {DRAWS}" in " ".join(text.split())
    assert set(command.TOPIC_MEASURES) < {*MEASURES, "cohen_kappa"}

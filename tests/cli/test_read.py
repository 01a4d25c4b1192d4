"""``adjudge read``."""

import json


def test_how_a_file_is_read_is_shown(run, tmp_path):
    """Columns by their roles, the scale, the counts, the format, and the first rows."""
    (tmp_path / "votes.csv").write_text("task;worker;answer\na;ann;no\na;bob;yes\nb;ann;yes\n")
    answer = run("read", "votes.csv", "--rows", "2")
    assert (answer.code, answer.err) == (0, "")
    plain = " ".join(answer.out.split())
    assert plain.startswith("How votes.csv is read property value")
    for part in ("task", "worker", "answer", "csv, utf-8"):
        assert part in plain
    assert "Judgments (2 of 3, sorted by item) item judge label a ann no a bob yes" in plain


def test_options_change_how_it_is_read(run, tmp_path):
    """As they do for every command that reads judgments."""
    (tmp_path / "votes.csv").write_text("url,who,said,label\na,ann,2,x\na,ann,2,x\n")
    columns = ("--item", "url", "--judge", "who", "--label", "said")
    answer = run(
        "read", "votes.csv", *columns, "--labels", "1,2", "--ordinal", "--repeats", "merge", "--format", "jsonl"
    )
    assert answer.code == 0
    assert [json.loads(line) for line in answer.out.splitlines()] == [{"item": "a", "judge": "ann", "label": "2"}]
    assert "repeats: merge left out 1 judgments" in answer.err


def test_what_is_wrong_is_one_line(run, tmp_path):
    """With file and row, as everywhere."""
    (tmp_path / "votes.csv").write_text("item,judge,label\na,ann,2\n")
    answer = run("read", "votes.csv", "--labels", "0,1")
    assert answer.code == 1
    assert (
        answer.err
        == "adjudge: votes.csv, row 2: label '2' is not one of '0', '1' (give --labels to extend the scale)\n"
    )
    assert run("read", "votes.csv", "--format", "qrels").err == (
        "adjudge: format 'qrels' is not one of 'csv', 'jsonl', 'parquet'\n"
    )


def test_kinds_of_judges_are_shown(run, tmp_path):
    """A table of judges adds their kinds and families to the summary, and columns to the judgments."""
    (tmp_path / "votes.csv").write_text("item,judge,label\na,ann,no\na,g1,yes\nb,ann,yes\nb,g2,yes\n")
    (tmp_path / "judges.csv").write_text("judge,kind,model\nann,human,\ng1,llm,gpt\ng2,llm,gpt\n")
    answer = run("read", "votes.csv", "--judges", "judges.csv")
    assert (answer.code, answer.err) == (0, "")
    plain = " ".join(answer.out.split())
    assert "kinds of judges 1 person, 2 machine" in plain
    assert "families 2 ('gpt' 2, 'ann' 1)" in plain
    rows = run("read", "votes.csv", "--judges", "judges.csv", "--format", "csv").out.splitlines()
    assert rows[:2] == ["item,judge,label,judge_kind,judge_family,judge_model", "a,ann,no,person,ann,"]
    (tmp_path / "judges.csv").write_text("judge,kind\nann,cat\n")
    assert run("read", "votes.csv", "--judges", "judges.csv").err == (
        "adjudge: judges.csv, row 2: the kind of a judge is 'cat': write 'person', 'expert', 'machine', or leave it "
        "empty if it is unknown\n"
    )

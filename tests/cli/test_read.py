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


def test_what_is_left_out_and_merged_is_shown(run, tmp_path):
    """Missing labels, abstentions, spellings and columns that are not used are in the summary, and notes say so."""
    (tmp_path / "votes.csv").write_text(
        "item,judge,label,text\na,ann,Yes,x\na,bob,yes,x\nb,ann,NaN,y\nb,bob,skip,y\nb,cat,no,y\na,cat,,x\n"
    )
    answer = run("read", "votes.csv", "--abstain", "skip")
    assert answer.code == 0
    assert answer.err.splitlines() == [
        "adjudge: warning: votes.csv: 2 of 6 judgments have no label (empty, 'NaN') and 1 of 6 judgments are "
        "abstentions ('skip'); they are left out",
        "adjudge: warning: votes.csv: 'Yes', 'yes' are read as one label, 'Yes' (--keep-case keeps labels in different "
        "case apart)",
    ]
    plain = " ".join(answer.out.split())
    for part in (
        "columns not used 'text'",
        "missing labels 2",
        "merged spellings 'Yes', 'yes' are read as one label, 'Yes'",
        "abstentions 1 (25.0% of the judgments and abstentions)",
        "judgments per item 1.5 (1 to 2)",
        "labels 'Yes', 'no' (nominal)",
    ):
        assert part in plain
    kept = run("read", "votes.csv", "--keep-case", "--missing", "", "--format", "csv")
    assert kept.out.splitlines()[1:] == ["a,ann,Yes", "a,bob,yes", "b,ann,NaN", "b,bob,skip", "b,cat,no"]


def test_the_shape_of_a_file_is_shown(run, tmp_path):
    """A wide table is recognised, printed with one judgment per row, and read by the other commands."""
    (tmp_path / "wide.csv").write_text(
        "item,ann,bob,cat\n" + "".join(f"i{n},yes,{'no' if n % 3 else 'yes'},yes\n" for n in range(9))
    )
    answer = run("read", "wide.csv")
    note = "adjudge: warning: wide.csv: every row is read as an item, and 3 columns as judges ('ann', 'bob', 'cat')\n"
    assert (answer.code, answer.err) == (0, note)
    plain = " ".join(answer.out.split())
    assert "shape wide table (a row per item, a column per judge)" in plain
    assert "judge column names of columns label column cells" in plain
    assert run("read", "wide.csv", "--format", "csv").out.splitlines()[:3] == [
        "item,judge,label",
        "i0,ann,yes",
        "i0,bob,yes",
    ]
    agreement = run("agreement", "wide.csv")
    assert agreement.code == 0
    assert note in agreement.err


def test_abstentions_are_on_the_cards_of_judges(run, tmp_path):
    """From the table to the fit, its folder and the cards."""
    rows = [
        f"i{n},{judge},{'skip' if judge == 'cat' and n % 2 else 'no' if n % 3 else 'yes'}"
        for n in range(12)
        for judge in ("ann", "bob", "cat")
    ]
    (tmp_path / "votes.csv").write_text("item,judge,label\n" + "\n".join(rows) + "\n")
    assert run("fit", "votes.csv", "--model", "majority", "--abstain", "skip", "--out", "fit").code == 0
    table = run("judges", "fit")
    assert table.code == 0
    head, *lines = [line.split() for line in table.out.splitlines() if line.startswith(("judge ", "ann", "bob", "cat"))]
    assert head[:3] == ["judge", "judgments", "abstained"]
    assert {line[0]: line[2] for line in lines} == {"ann": "0.0%", "bob": "0.0%", "cat": "50.0%"}
    assert "abstentions 6 50.0% of the judgments and abstentions" in " ".join(
        run("judges", "fit", "--judge", "cat").out.split()
    )

"""``adjudge search``."""

import pytest

from adjudge.data.runs import read_run

XML = (
    "q.xml: looks like XML or TREC topics, which cannot be read here: give a table of queries with query_id and text, "
    "or lines of name, tab, text"
)


@pytest.fixture
def lambs(run):
    """Return the example's files."""
    assert run("search", "--example", "lambs").out == "wrote passages.jsonl, queries.tsv to lambs\n"
    return "lambs/passages.jsonl", "lambs/queries.tsv"


def test_people_see_what_is_found(run, lambs):
    """The first rows, best first."""
    answer = run("search", *lambs, "--rows", "2")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("Results (2 of 3 rows)\ntopic  document")
    assert "q1     d1" in answer.out


def test_a_run_is_written(run, lambs, tmp_path):
    """TREC's six fields, which evaluate reads."""
    answer = run("search", *lambs, "--depth", "1", "--out", "bm25.run", "--name", "mine")
    assert answer.out.endswith("wrote 2 rows of 2 queries to bm25.run\n")
    lines = (tmp_path / "bm25.run").read_text().splitlines()
    assert [line.split()[:4] + line.split()[5:] for line in lines] == [
        ["q1", "Q0", "d1", "1", "mine"],
        ["q2", "Q0", "d2", "1", "mine"],
    ]
    assert read_run(tmp_path / "bm25.run").ranked == {"q1": ["d1"], "q2": ["d2"]}


def test_machines_get_a_table(run, lambs):
    """As a run, CSV, JSON lines or Parquet."""
    assert run("search", *lambs, "--format", "trec").out.startswith("q1 Q0 d1 1 ")
    assert run("search", *lambs, "--format", "csv").out.startswith("topic,document,score\nq1,d1,")
    assert run("search", *lambs, "--format", "jsonl").out.startswith('{"topic":"q1","document":"d1","score":')
    assert run("search", *lambs, "--format", "parquet").out.startswith("PAR1")


def test_an_index_is_kept(run, lambs):
    """And searched again, with the same result."""
    first = run("search", *lambs, "--keep", "index", "--format", "trec", "--k1", "0.9", "--no-stem")
    again = run("search", "index", lambs[1], "--format", "trec")
    assert (again.code, again.out) == (0, first.out)
    answer = run("search", "index", lambs[1], "--b", "0.5")
    assert answer.code == 2
    assert answer.err == "adjudge: index is an index already: its b cannot be changed\n"


def test_what_finds_nothing_is_said(run, lambs, tmp_path):
    """Once, with how many."""
    (tmp_path / "q.csv").write_text("qid,query\n1,lamb\n2,wolf\n3,the\n")
    answer = run("search", lambs[0], "q.csv", "--format", "csv")
    assert answer.code == 0
    assert answer.err == "adjudge: warning: 2 of 3 queries find no passage and are not in the run\n"
    (tmp_path / "q.csv").write_text("qid,query\n2,wolf\n")
    answer = run("search", lambs[0], "q.csv", "--out", "empty.run")
    assert answer.err == "adjudge: warning: 1 of 1 queries finds no passage and is not in the run\n"
    assert (tmp_path / "empty.run").read_text() == ""


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["twice.csv", "q.tsv"], 1, "twice.csv, row 3: passage 'd1' is in row 2 already: keep one of them"),
        (["p.csv", "nothing.tsv"], 1, "nothing.tsv: there is no such file"),
        (["nothing.csv", "q.tsv"], 1, "nothing.csv: there is no such file"),
        ([".", "q.tsv"], 1, ".: holds no index: there is no index.json or no postings.npz"),
        (["p.csv", "q.tsv", "--format", "xls"], 2, "format 'xls' is not one of 'trec', 'csv', 'jsonl', 'parquet'"),
        (["p.csv", "q.tsv", "--out", "p.csv"], 2, "--out p.csv would overwrite an input: name another file"),
        (["p.csv", "q.tsv", "--out", "."], 2, "--out . is a folder: name a file"),
        (["p.csv", "q.tsv", "--name", "a b"], 2, "--name 'a b' is empty or has blanks, which a run file cannot hold"),
        (["p.csv", "q.tsv", "--b", "2"], 2, "b 2 is not a number from 0 to 1"),
        (["p.csv", "q.tsv", "--keep", "p.csv"], 2, "--keep p.csv is a file: name a folder"),
        (["p.csv", "q.tsv", "--keep", ""], 2, "--keep is empty: name a folder"),
        (["p.csv", "q.xml"], 1, XML),
        (["lists.jsonl", "q.tsv"], 1, "lists.jsonl, row 1: column 'text' holds lists or records, expected text"),
        (["index", "q.tsv"], 1, "index: the index is damaged: make it again"),
        (["-", "-"], 2, "only one table can come from standard input"),
    ],
)
def test_what_is_wrong_is_one_line(run, tmp_path, arguments, code, said):
    """No traceback for bad input, and the exit codes of the other commands."""
    (tmp_path / "p.csv").write_text("id,text\nd1,lamb\n")
    (tmp_path / "twice.csv").write_text("id,text\nd1,lamb\nd1,wolf\n")
    (tmp_path / "q.tsv").write_text("q1\tlamb\n")
    (tmp_path / "q.xml").write_text("<topics><topic>lamb</topic></topics>\n")
    (tmp_path / "lists.jsonl").write_text('{"id": "d1", "text": ["lamb"]}\n')
    (tmp_path / "index").mkdir()
    (tmp_path / "index/index.json").write_text("{")
    (tmp_path / "index/postings.npz").write_text("")
    answer = run("search", *arguments)
    assert (answer.code, answer.out) == (code, "")
    assert answer.err == f"adjudge: {said}\n"


def test_a_depth_of_nothing_and_one_beyond_all(run, lambs):
    """The first is refused, the second finds what there is."""
    answer = run("search", *lambs, "--depth", "0")
    assert (answer.code, answer.out) == (2, "")
    assert "Invalid value for '--depth'" in answer.err
    assert run("search", *lambs, "--depth", "1000000", "--format", "trec").out.count("\n") == 3


def test_empty_texts(run, lambs, tmp_path):
    """A passage without text is never found, a query without finds nothing, and the exit code is 0."""
    (tmp_path / "p.csv").write_text("id,text\nd1,lamb\nd2,\nd3,the\n")
    (tmp_path / "q.tsv").write_text("q1\tlamb\nq2\t\nq3\tthe who\n")
    answer = run("search", "p.csv", "q.tsv", "--format", "csv")
    assert answer.code == 0
    assert answer.out.startswith("topic,document,score\nq1,d1,")
    assert answer.out.count("\n") == 2
    assert answer.err == "adjudge: warning: 2 of 3 queries find no passage and are not in the run\n"


def test_the_passages_of_the_example_feed_a_campaign_too(run, tmp_path):
    """What is to be judged again goes there: one file serves both."""
    run("search", "--example", "ex")
    (tmp_path / "topics.csv").write_text("topic,title\nq1,Who had a little lamb?\n")
    (tmp_path / "pool.csv").write_text("topic,document\nq1,d1\nq1,d3\n")
    result = ("--topics", "topics.csv", "--documents", "ex/passages.jsonl", "--pool", "pool.csv")
    assert run("campaign", "new", "again", *result).code == 0

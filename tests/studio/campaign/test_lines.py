"""Text files with the number of every line."""

import gzip

import pytest

from adjudge.errors import InputError
from adjudge.studio.campaign.lines import (
    CampaignProblems,
    Problems,
    called,
    content,
    decoded,
    is_qrels,
    json_rows,
    qrels_rows,
    table_rows,
    text,
    whole,
)

COLUMNS = {"topic": ("topic", "qid"), "grade": ("grade",)}


def rows(given, needed=("topic",)):
    """Return the rows of a table, and what is wrong with it."""
    problems = Problems()
    return [*table_rows(given, "t.csv", problems, COLUMNS, needed)], problems.found


@pytest.mark.parametrize("data", ["Größe".encode(), "Größe".encode("utf-8-sig"), "Größe".encode("cp1252")])
def test_encodings(data):
    """UTF-8 with and without a mark, and what old Windows wrote."""
    assert decoded(data) == "Größe"
    assert decoded("Größe".encode("utf-16")) == "Größe"


def test_files_are_unpacked(tmp_path):
    """By what they hold, not by what they are called."""
    (tmp_path / "a").write_bytes(gzip.compress(b"hello"))
    assert text(tmp_path / "a", Problems()) == "hello"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "there is no such file"),
        (gzip.compress(b"hello" * 99, mtime=0)[:-9], "the compressed file is damaged or cut off"),
        (b"x" * 11, "has more than 10 bytes"),
        (gzip.compress(b"x" * 11, mtime=0), "has more than 10 bytes"),
    ],
)
def test_files_that_cannot_be_read(tmp_path, data, problem):
    """Are a problem, and no exception; what is packed counts as large as it is unpacked."""
    problems = Problems()
    if data is not None:
        (tmp_path / "a").write_bytes(data)
    assert content(tmp_path / "a", problems, "a", most=10 if "more" in problem else 9999) is None
    assert problems.found == [f"a: {problem}"]
    problems = Problems()
    assert content(tmp_path, problems, "b") is None
    assert problems.found == ["b: is a folder, not a file"]


@pytest.mark.parametrize("delimiter", [",", "\t", ";"])
def test_tables(delimiter):
    """Commas, tabs or semicolons; other names of columns, other cases, outer blanks, empty lines, quoted breaks."""
    given = '\nQID,x,Grade\n1 ,a,0\n\n"2\n3",b,"""1"""\n4,c,2'.replace(",", delimiter)
    found, problems = rows(given)
    assert [(line, row["topic"], row["grade"]) for line, row in found] == [
        (3, "1", "0"),
        (5, "2\n3", '"1"'),
        (7, "4", "2"),
    ]
    assert problems == []


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("", "t.csv: is empty, expected a header with topic"),
        ("a,b\n1,2\n", "t.csv, line 1: there is no column 'topic' (or 'qid'); the columns are 'a', 'b'"),
        (
            "topic,b\n1,2\n1,2,3\n",
            "t.csv, line 3: 3 values, expected 2, as in the header; values with commas need quotes",
        ),
        ('topic,b\n1,2\n"1,2\n', "t.csv, line 3: is not a table: unexpected end of data"),
    ],
)
def test_tables_that_are_none(given, problem):
    """Say where and why."""
    assert rows(given)[1] == [problem]


def test_json_lines():
    """Objects, with their lines; the rest are problems."""
    problems = Problems()
    found = [*json_rows('{"a": 1}\r\n\nnope\n[1]\n{"b": "\u2028"}' + "\n" + "[" * 100_000, "t", problems)]
    assert [tuple(row) for row in found] == [(1, {"a": 1}), (5, {"b": "\u2028"})]
    assert problems.found[:2] == [
        "t, line 3: is not JSON: Expecting value",
        "t, line 4: is JSON, but no object in braces",
    ]
    assert len(problems.found) == 3


def test_qrels():
    """Four fields; anything else is a problem."""
    given = "1 0 d1 2\n\n1\t0\td2\t0\n1 0 d3\n"
    problems = Problems()
    assert is_qrels(given)
    assert [(row.line, row.values["document"]) for row in qrels_rows(given, "q", problems)] == [(1, "d1"), (3, "d2")]
    assert problems.found == ["q, line 4: 3 fields, expected 4: topic, iteration, document, grade"]
    assert not is_qrels("topic\tdocument\tgrade\treason\n")
    assert not is_qrels("a, b, c, d\n")


def test_values_by_any_of_their_names():
    """The first name that has a value counts."""
    assert called({"ID ": 3, "title": None}, ("document", "id")) == 3
    assert called({"title": None}, ("title",)) is None


def test_halves_of_characters_are_replaced():
    """So that every text can be written."""
    assert whole("a\ud800b\u00e9") == "a?b\u00e9"


def test_nothing_found_refuses_nothing():
    """A campaign without problems goes on."""
    assert Problems().refuse("here") is None


def test_every_problem_has_a_line_of_its_own():
    """With file and line where there is one."""
    problems = Problems()
    problems.add("is missing", "a.csv")
    problems.add("is odd", "b.csv", 7)
    with pytest.raises(InputError) as refused:
        problems.refuse("trial")
    assert str(refused.value) == "trial: there are 2 problems\n  a.csv: is missing\n  b.csv, line 7: is odd"
    assert refused.value.exit_code == 1


def test_one_problem_is_one():
    """And said so."""
    assert str(CampaignProblems(["a: b"], "x")) == "x: there is a problem\n  a: b"


def test_of_many_the_first_are_shown():
    """The rest are counted, and kept for who wants them."""
    error = CampaignProblems([str(n) for n in range(1060)], "x")
    assert str(error).splitlines()[-2:] == ["  49", "  and 1,010 more"]
    assert len(error.problems) == 1060

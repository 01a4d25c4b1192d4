"""Reading the files of an import."""

import pytest

from adjudge.errors import InputError
from adjudge.studio.desk.imports import read_judgments


def test_csv_and_json_lines_read_alike():
    """The same rows, in either form."""
    table = b"\xef\xbb\xbftopic,document,judge,label,rank,seconds\noak,oak-1,llm,relevant,1,2.5\noak,oak-2,llm,0,,\n"
    lines = b'{"topic":"oak","document":"oak-1","judge":"llm","label":1,"rank":1,"seconds":2.5}\n\n' + (
        b'{"topic":"oak","document":"oak-2","judge":"llm","label":"irrelevant"}\n'
    )
    first, second = read_judgments(table, "a.csv").checked(), read_judgments(lines, "a.jsonl").checked()
    assert [entry[1:] for entry in first] == [entry[1:] for entry in second]
    assert first[0][1:7] == ("oak", "oak-1", "llm", 1, 1, 2.5)


def test_every_problem_is_listed_with_its_row():
    """Nothing is taken from a file with problems, and all of them are told at once."""
    table = (
        b"topic,document,judge,label,rank\noak,,ann,1,\noak,d,ann,perhaps,\noak,d,,1,\noak,d,ann,1,0\noak,d,ann,1,x\n"
    )
    with pytest.raises(InputError) as refused:
        read_judgments(table, "a.csv").checked()
    message = str(refused.value)
    assert message.startswith("a.csv: 5 problems, nothing was imported")
    for line in (
        "line 2: no document",
        "line 3: the label is 'perhaps', expected relevant or irrelevant",
        "line 4: no judge",
        "line 5: rank is '0', expected a whole number from 1 to 1,000",
        "line 6: rank is 'x', expected a number",
    ):
        assert line in message


def test_lines_are_those_of_the_file():
    """Also after a cell of two lines, after an empty line, and between lines of JSON that are none."""
    table = b'topic,document,judge,label,comment\noak,d,ann,1,"two\nlines"\n\noak,d,ann,perhaps,\n'
    assert [problem.split(":")[0] for problem in read_judgments(table, "a.csv").problems] == ["line 5"]
    lines = b'{"topic":"oak","document":"d","judge":"a","label":1}\nno json\n[1]\n\n{"topic":"oak"}\n{'
    read = read_judgments(lines, "a.jsonl")
    assert [problem.split(":")[0] for problem in read.problems] == ["line 2", "line 3", "line 5", "line 6"]


def test_long_lists_of_problems_are_cut():
    """Twenty are told one by one."""
    table = b"topic,document,judge,label\n" + b"oak,d,ann,perhaps\n" * 30
    with pytest.raises(InputError, match=r"30 problems[^$]*and 10 more"):
        read_judgments(table, "a.csv").checked()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "a.csv: the file holds no judgments"),
        (b"topic,\xff\x81", "a.csv, row 1: byte 0x81 is neither UTF-8 nor windows-1252 text; save the file as UTF-8"),
        (b'{"topic": ', "a.csv: 1 problem, nothing was imported\n  line 1: is not JSON"),
        (
            b"topic,document,judge,label\na,b\n",
            "a.csv: 1 problem, nothing was imported\n  line 2: 2 values, expected 4 as in the header",
        ),
        (
            b'topic,document,judge,label\na,"b\n',
            "a.csv: 1 problem, nothing was imported\n  line 2: a quotation mark is opened and not closed",
        ),
    ],
)
def test_files_that_cannot_be_read_say_where(content, told):
    """The file, the row, what is wrong."""
    with pytest.raises(InputError) as refused:
        read_judgments(content, "a.csv").checked()
    assert str(refused.value).startswith(told)


def test_a_judge_may_be_given_for_all():
    """Where the file does not say whose they are, the call does."""
    (first,) = read_judgments(b"topic,document,label\noak,d,1\n", "a.csv", judge="llm").checked()
    assert first.judge == "llm"


@pytest.mark.parametrize(
    ("field", "value"),
    [("rank", "1e300"), ("rank", "1001"), ("judge", "a\\u0000b"), ("document", "\\ud800"), ("comment", "x\\udfff")],
)
def test_what_no_table_can_keep_is_refused(field, value):
    """Ranks beyond reason, NUL, and halves of characters, each with its row, in words that can be printed."""
    row = {"topic": "oak", "document": "d", "judge": "ann", "label": "1", field: value}
    line = "{" + ", ".join(f'"{name}": "{text}"' for name, text in row.items()) + "}"
    with pytest.raises(InputError, match=f"line 1: {field}") as refused:
        read_judgments(line.encode(), "a.jsonl").checked()
    str(refused.value).encode()


def test_names_are_read_as_they_are_kept():
    """Blanks and wide letters are no other judge."""
    (first,) = read_judgments("topic,document,judge,label\noak,d, \uff21nn   B ,1\n".encode(), "a.csv").checked()
    assert first.judge == "Ann B"

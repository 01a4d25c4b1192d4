"""Gold from tables and qrels."""

import pytest

from adjudge.errors import Problems
from adjudge.studio.campaign.gold_file import gold_text, read_gold
from adjudge.studio.records import Gold


def read(tmp_path, text):
    """Return the gold of a file, and what is wrong with it."""
    (tmp_path / "g").write_text(text, newline="")
    problems = Problems()
    return read_gold(tmp_path / "g", problems, "g")[0], problems.messages


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('topic,document,grade,reason\n1,a,2,"so, it is"\n', "so, it is"),
        ("topic,doc,label\n1,a,2\n", ""),
        ("1 0 a 2\n", ""),
    ],
)
def test_formats(tmp_path, text, reason):
    """With a reason or without."""
    assert read(tmp_path, text) == ({("1", "a"): Gold(2, reason)}, [])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("topic,document,grade\n1,a,3\n", "g, line 2: document 'a' of topic '1' has the grade '3', expected 0, 1 or 2"),
        ("1 0 a -1\n", "g, line 1: document 'a' of topic '1' has the grade '-1', expected 0, 1 or 2"),
        ("topic,document,grade\n1,a,\n", "g, line 2: document 'a' of topic '1' has the grade '', expected 0, 1 or 2"),
        ("topic,document,grade\n1,a,1\n1,a,0\n", "g, line 3: document 'a' of topic '1' is in line 2 already"),
        (
            "topic,document\n1,a\n",
            "g, line 1: there is no column 'grade' (or 'label', 'relevance', 'gold', 'rel', 'rating'); the columns are "
            "'topic', 'document'",
        ),
    ],
)
def test_problems(tmp_path, text, problem):
    """Each with its line."""
    assert read(tmp_path, text)[1] == [problem]


def test_what_is_written_is_read(tmp_path):
    """Reasons may have several lines."""
    gold = {("1", "a"): Gold(0, 'no\n"no"'), ("1", "b"): Gold(2, "")}
    assert read(tmp_path, gold_text(gold)) == (gold, [])

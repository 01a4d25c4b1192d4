"""Tutoring sets as files of a campaign."""

import pytest

from adjudge.diagnostics.tutor import Lesson
from adjudge.errors import Problems, UsageError
from adjudge.studio.campaign_files import SetContext, read_gold, read_sets
from adjudge.studio.settings import Settings
from adjudge.studio.tutoring import tutoring_files


def lesson(item: str, topic: str | None = "t1", label: str = "0", side: str = "confused") -> Lesson:
    """Return an item that shows how 0 is taken for 1."""
    return Lesson("x", "0", "1", side, item, topic, label, 1.0, "1", "You called it '1'; it is '0'.")


def test_the_files_are_those_that_a_campaign_reads(tmp_path):
    """Grades with reasons, and qualification sets of five; what does not fill a set is gold alone."""
    lessons = [lesson(f"t1_d{n}") for n in range(4)] + [
        lesson(f"t1_e{n}", label="1", side="contrast") for n in range(3)
    ]
    files = tutoring_files([*lessons, lesson("t2_d0", "t2"), lessons[0]])
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    problems = Problems()
    gold, _ = read_gold(tmp_path / "gold.csv", problems)
    assert not problems.messages
    assert len(gold) == 8
    assert gold["t1", "d0"] == (0, "Its label is '0', which is easily taken for '1'.")
    assert gold["t1", "e0"] == (1, "Its label is '1', which is easily taken for '0'.")
    documents = {document for _, document in gold}
    sets = read_sets(tmp_path / "sets.csv", SetContext({"t1", "t2"}, documents, gold, Settings()), problems)
    assert [(fixed.name, fixed.use, fixed.documents) for fixed in sets] == [
        ("tutor-t1-1", "qualification", ("d0", "d1", "d2", "d3", "e0"))
    ]
    assert not any("tutor-t1-1" in message for message in problems.messages)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lesson("d", None),
            "item 'd' has no topic, and the studio judges documents of topics: fit judgments with a column of topics",
        ),
        (lesson("d", label="bad"), "label 'bad' is not a grade of the studio, which are 0, 1 and 2"),
    ],
)
def test_what_is_no_campaign(wrong, message):
    """Items without a topic, and labels that are no grades, are refused."""
    with pytest.raises(UsageError) as error:
        tutoring_files([wrong])
    assert str(error.value) == message

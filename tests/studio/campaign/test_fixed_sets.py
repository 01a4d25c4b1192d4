"""Sets that the files fix: what they may be, and what keeps a campaign from beginning."""

import pytest

from adjudge.errors import Problems
from adjudge.studio.campaign.fixed_sets import Context, infeasible_reason, read_sets, sets_text
from adjudge.studio.records import FixedSet, Gold
from adjudge.studio.settings import Assignment, Gate, Qualification, Settings

DOCUMENTS = [f"d{n}" for n in range(10)]
GOLD = {("1", f"d{n}"): Gold(n % 3, "") for n in range(6)}
EASY = Settings(
    assignment=Assignment(documents=2, gold_sets=0),
    qualification=Qualification(documents=2, required=False),
)


def read(tmp_path, text, settings=EASY, gold=GOLD):
    """Return the sets of a file, and what is wrong with them."""
    (tmp_path / "sets.csv").write_text("set,use,topic,document\n" + text)
    problems = Problems()
    return read_sets(tmp_path / "sets.csv", Context({"1", "2"}, DOCUMENTS, gold, settings), problems), problems.messages


def rows(name, use, *documents, topic="1"):
    """Return the rows of one set."""
    return "".join(f"{name},{use},{topic},{document}\n" for document in documents)


def test_sets_keep_the_order_of_documents(tmp_path):
    """As the rows have it."""
    sets = (FixedSet("a", "gold", "1", ("d2", "d0")), FixedSet("b", "monitoring", "2", ("d7", "d6")))
    text = sets_text(sets).partition("\n")[2]
    assert read(tmp_path, text) == (sets, [])


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (
            rows("a", "golden", "d1"),
            [", line 2: set 'a' has the use 'golden', expected one of 'gold', 'qualification', 'monitoring'"],
        ),
        (rows("", "gold", "d1"), [", line 2: set is empty: give every set a name"]),
        (
            rows("a", "gold", "d1") + rows("a", "monitoring", "d2"),
            [", line 3: set 'a' has two uses, 'gold' and 'monitoring': a set has one"],
        ),
        (
            rows("a", "gold", "d1") + rows("a", "gold", "d2", topic="2"),
            [", line 3: set 'a' has two topics, '1' and '2': a set has one"],
        ),
        (
            rows("a", "gold", "x", topic="9"),
            [
                ", line 2: set 'a': there is no topic '9' in topics.jsonl",
                ", line 2: set 'a': there is no document 'x' in documents.jsonl",
            ],
        ),
        (rows("a", "gold", "d1", "d1"), [", line 3: set 'a' has document 'd1' twice"]),
        (
            rows("a", "monitoring", "d1", "d2", "d3"),
            [", line 2: set 'a' has 3 documents, expected 2 (assignment.documents)"],
        ),
        (
            rows("a", "qualification", "d1"),
            [", line 2: set 'a' has 1 documents, expected 2 (qualification.documents)"],
        ),
        (
            rows("a", "gold", "d1", "d8"),
            [", line 2: gold set 'a': document 'd8' of topic '1' has no grade in gold.csv"],
        ),
        (
            rows("a", "gold", "d1", "d0") + rows("b", "monitoring", "d2", "d1"),
            [", line 4: set 'b': document 'd1' of topic '1' is in set 'a' already: a judge would meet it twice"],
        ),
        (
            rows("a", "qualification", "d7", "d8"),
            [", line 2: qualification set 'a' has no document with a grade in gold.csv: it needs one"],
        ),
        (
            rows("a", "gold", "d0", "d3"),
            [
                ", line 2: gold set 'a' cannot be passed by anybody: 2 documents of grade 0: NDCG is 0/0 if no "
                "document is relevant"
            ],
        ),
    ],
)
def test_problems(tmp_path, text, problems):
    """Each with its line."""
    assert read(tmp_path, text)[1] == [f"sets.csv{problem}" for problem in problems]


@pytest.mark.parametrize(
    ("settings", "text", "problem"),
    [
        (
            EASY.model_copy(update={"assignment": Assignment(documents=2)}),
            "",
            "an assignment needs 1 gold set (assignment.gold_sets), but there are none",
        ),
        (
            EASY.model_copy(update={"assignment": Assignment(documents=2, gold_sets=2)}),
            rows("a", "gold", "d1", "d0"),
            "an assignment needs 2 gold sets (assignment.gold_sets), but there are 1",
        ),
        (
            EASY.model_copy(update={"qualification": Qualification(documents=2)}),
            "",
            "judges must qualify on 4 qualification sets (qualification.jobs), but there are none: add some, or set "
            "qualification.required = false",
        ),
        (
            EASY.model_copy(update={"qualification": Qualification(jobs=2, documents=2, correct=3)}),
            rows("a", "qualification", "d1", "d0")
            + rows("b", "qualification", "d2", "d9") * 1
            + rows("c", "qualification", "d3", "d8"),
            "qualification.correct is 3, but 2 qualification sets may have only 2 graded documents: nobody could pass",
        ),
    ],
)
def test_too_few(tmp_path, settings, text, problem):
    """A campaign that asks for more than its sets can give cannot begin."""
    assert read(tmp_path, text, settings)[1] == [f"sets.csv: {problem}"]


def test_a_file_that_is_missing(tmp_path):
    """Is one problem."""
    problems = Problems()
    assert read_sets(tmp_path / "none.csv", Context((), (), {}, EASY), problems) == ()
    assert problems.messages == ["sets.csv: there is no such file"]


def test_the_printed_trap(tmp_path):
    """Five documents of one grade reach .590 of the printed ideal, which nobody can pass at .62; at .5 all can."""
    assert infeasible_reason((1, 1, 1, 1, 1), Settings()).endswith("reaches 0.590 of the printed ideal, below 0.62")
    assert infeasible_reason((1, 1, 1, 1, 1), Settings(gate=Gate(ndcg=0.5))) == ""
    assert infeasible_reason((1, 1, 1, 1, 1), Settings(gate=Gate(ndcg_of="attainable"))) == ""

"""Imports of judgments and of answers to prompts."""

import json

import pytest
from sqlalchemy import select

from adjudge.errors import InputError, UsageError
from adjudge.studio.access import Signer
from adjudge.studio.desk.imports import (
    ImportedJudgment,
    import_file_offline,
    import_judgments,
    read_file,
    recorded_labels,
    sort_by_line,
)
from adjudge.studio.desk.prompts import program_prompts
from adjudge.studio.record import schema
from adjudge.studio.record.audit import first_broken_entry
from adjudge.studio.studio import Studio

SIGNER = Signer(b"k" * 32)
GIVEN = [
    ImportedJudgment(1, "oak", "oak-0", "LLM one", 1),
    ImportedJudgment(2, "elm", "elm-3", "LLM one", None, 2, 1.5, "hm"),
]
pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def audited(desk):
    """Return the last entry of the audit log: who, what, detail."""
    with desk.store.reading() as connection:
        rows = connection.execute(select(schema.audit).order_by(schema.audit.c.id)).mappings().all()
    assert first_broken_entry(rows) is None
    return rows[-1]["who"], rows[-1]["what"], json.loads(rows[-1]["detail"])


def asked(desk, judge, limit=None, share=0.2):
    """Return the prompts a judge is given."""
    with desk.store.reading() as connection:
        return [json.loads(line) for line in program_prompts(connection, desk.campaign, SIGNER, judge, limit, share)]


def is_gold(desk, row):
    """Return whether a prompt is about gold, which only the key's owner can tell."""
    return "gold" in desk.store.ledger.items.pairs[SIGNER.read_prompt_id(row["id"])][1]


def test_a_program_goes_the_whole_way(desk):
    """Prompts out, answers in: it is a judge then, its gold is counted, and it is not asked the same again."""
    prompts = asked(desk, "my-model", share=0.25)
    gold = [row for row in prompts if is_gold(desk, row)]
    assert (len(prompts), len(gold)) == (16, 4)
    lines = [json.dumps({"id": row["id"], "answer": "relevant"}) for row in prompts[1:]]
    content = "\n".join([json.dumps({"id": prompts[0]["id"], "answer": "?"}), *lines]).encode()
    studio = Studio(desk.campaign, desk.store, SIGNER)
    result = import_file_offline(studio, content, "answers.jsonl", "my-model")
    assert (result["taken"], result["judges"], len(result["unread"])) == (15, ["my-model"], 1)
    assert result["hidden_gold"]["of"] == sum(is_gold(desk, row) for row in prompts[1:])
    again = import_file_offline(studio, content, "answers.jsonl", "my-model")
    assert (again["taken"], again["skipped"]) == (0, 15)
    left = asked(desk, "MY-MODEL", share=0)
    assert {row["id"] for row in left} <= {prompts[0]["id"]}


def test_a_limit_is_kept(desk):
    """No more prompts than asked for, gold included."""
    assert len(asked(desk, "my-model", limit=5)) == 5


def test_answers_need_a_judge_and_judgments_no_problems(desk):
    """Otherwise nothing is read."""
    ledger = desk.store.ledger
    with pytest.raises(UsageError, match="need the name of the judge"):
        read_file(ledger, SIGNER, b'{"id": "x", "answer": 1}', "a", "")
    read, program = read_file(ledger, SIGNER, b"topic,document,judge,label\noak,oak-1,ann,perhaps\n", "a", "")
    assert not program
    with pytest.raises(InputError, match="1 problem, nothing was imported"):
        read.checked()


def test_all_that_is_wrong_with_a_file_is_said_at_once(desk):
    """Labels that cannot be read and documents that are not there, by line; nothing is taken then."""
    content = b"topic,document,judge,label\noak,x,zoe,1\noak,oak-1,zoe,perhaps\noak,oak-2,zoe,1\noak,y,zoe,1\n"
    result = import_file_offline(Studio(desk.campaign, desk.store, SIGNER), content, "a.csv", "")
    assert [entry.split(":")[0] for entry in result["problems"]] == ["line 2", "line 3", "line 5"]
    assert (result["taken"], result["unread"]) == (0, [])
    assert "zoe" not in desk.store.ledger.named


def test_imports_make_judges_and_count(desk):
    """A new judge without a password, two judgments of which the one that tells something counts."""
    before = int(desk.store.ledger.items.judged.sum())
    result = desk.do(import_judgments, desk.lead, GIVEN, {}, "a.csv")
    assert len(result.pop("labels")) == 2
    assert result == {"taken": 2, "skipped": 0, "judges": ["llm one"], "problems": []}
    person = desk.store.ledger.people[desk.store.ledger.named["llm one"]]
    assert (person.name, person.role, person.password, person.outside) == ("LLM one", "judge", "", None)
    assert int(desk.store.ledger.items.judged.sum()) == before + 1
    who, case, detail = audited(desk)
    assert (who, case, len(detail.pop("judgments"))) == ("lea", "judgments imported", 64)
    assert detail == {"source": "a.csv", "taken": 2, "skipped": 0, "judges": ["llm one"], "first": 13}


def known(desk, *names):
    """Return the labels on record of some judges."""
    with desk.store.reading() as connection:
        return recorded_labels(connection, names)


def test_imports_again_are_skipped(desk):
    """The same file twice is one import, also where a row stands in it twice."""
    desk.do(import_judgments, None, [*GIVEN, GIVEN[0]], {}, "a.csv")
    last = audited(desk)
    result = desk.do(import_judgments, None, GIVEN, known(desk, "llm one"), "a.csv")
    assert (result["taken"], result["skipped"], result["problems"]) == (0, 2, [])
    assert audited(desk) == last


def test_imports_that_contradict_take_nothing(desk):
    """Every row that does not fit is listed, and even those that fit stay out."""
    desk.do(import_judgments, None, GIVEN, {}, "a.csv")
    rows = [
        ImportedJudgment(1, "oak", "oak-0", "llm ONE", 0),
        ImportedJudgment(2, "oak", "nowhere", "llm one", 0),
        ImportedJudgment(3, "oak", "oak-1", "lea", 0),
        ImportedJudgment(4, "oak", "oak-1", "new", 0),
    ]
    result = desk.do(import_judgments, None, rows, known(desk, "llm one"), "a.csv")
    assert result["taken"] == 0
    assert result["problems"] == [
        "line 1: 'llm ONE' has already judged it relevant",
        "line 2: topic 'oak' with document 'nowhere' is not in this campaign",
        "line 3: 'lea' is a lead, not a judge",
    ]
    assert "new" not in desk.store.ledger.named


def test_imports_leave_open_assignments_alone(desk):
    """What a judge has before them is not judged by an import as well."""
    topic, document = desk.store.ledger.items.pairs[desk.open.sets[0].items[0]]
    result = desk.do(import_judgments, None, [ImportedJudgment(7, topic, document, "Cid", 1)], {}, "a.csv")
    assert result["problems"] == [
        "line 7: 'Cid' has it in an open assignment: take the assignment back, or remove the row"
    ]
    assert result["taken"] == 0


@pytest.mark.parametrize("name", ["prolific:5f1c", "x" * 101, "a\u202eb"])
def test_imports_make_no_judge_of_a_name_nobody_may_have(desk, name):
    """Names are held to what they are held to at the door."""
    result = desk.do(import_judgments, None, [ImportedJudgment(1, "oak", "oak-0", name, 1)], {}, "a.csv")
    assert result["problems"][0].startswith("line 1: judge ")
    assert name.casefold() not in desk.store.ledger.named


def test_a_token_is_named_in_the_log(desk):
    """Not the command line, when a program brought judgments in."""
    desk.do(import_judgments, "nightly", GIVEN, {}, "a.csv")
    assert audited(desk)[0] == "API token nightly"


def test_labels_on_record_are_found_by_name(reading, desk):
    """Of the judges asked for, whatever the size of their letters, and of no others."""
    reference = recorded_labels(reading, ["ANN"])
    assert {name for name, _ in reference} == {"ann"}
    assert len(reference) == 12
    assert recorded_labels(reading, ["nobody"]) == {}


def test_problems_are_in_the_order_of_their_lines():
    """By number, not by letters."""
    assert sort_by_line(["line 10: b", "line 9: a"]) == ["line 9: a", "line 10: b"]

"""The list of all items: filters, order and file."""

import csv
import io

import numpy as np
import pytest

from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk.decisions import read_work
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.desk.item_list import HEADER, choose_items, item_rows, item_table, items_csv, read_filter
from adjudge.studio.records import Refused
from adjudge.studio.work import commands

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


@pytest.fixture
def chosen(desk):
    """Return a way to choose items of the small campaign; every judged item is probably relevant."""
    desk.store.ledger.belief = np.full(len(desk.store.ledger.items.pairs), 0.9)

    def choose(sort="", **fields):
        with desk.store.reading() as connection:
            table = item_table(connection, desk.store.ledger)
            ids = choose_items(connection, table, read_filter(fields), desk.store.ledger, sort)
            return list(item_rows(table, ids, desk.store.ledger))

    return choose


def test_all_items_are_listed_by_topic_and_document(chosen):
    """Those of the pool and gold, each with its numbers."""
    rows = chosen()
    assert len(rows) == 24
    assert [(row.topic, row.document) for row in rows] == sorted((row.topic, row.document) for row in rows)
    gold = next(row for row in rows if row.gold is not None)
    assert (gold.state, gold.relevance) == ("", float(gold.gold > 0))


def test_items_are_filtered_by_their_state(desk, chosen):
    """Ann judged eight of the twelve once, of two that are needed; cid has some now."""
    assert len(chosen(state="new")) == 4
    assert {(row.judgments, row.relevance) for row in chosen(state="begun")} == {(1, 0.9)}
    assert len(chosen(state="begun", topic="oak")) + len(chosen(state="begun", topic="elm")) == 8
    assert chosen(state="finished") == []
    assert all(row.leased for row in chosen(assigned="yes"))
    assert len(chosen(assigned="yes")) == sum(len(entry.items) for entry in desk.open.sets if entry.use == "work")


def test_items_are_filtered_by_label_and_numbers(chosen):
    """What nobody judged has no probability, and fits no range."""
    assert len(chosen(label="relevant", gold="no")) == 8
    assert len(chosen(low="80", high="95")) == 8
    assert chosen(low="91", gold="no") == []
    assert len(chosen(least="1", gold="no")) == 8
    assert len(chosen(most="0", gold="no")) == 4
    assert chosen(sure="yes") == []
    assert len(chosen(sure="no")) == 24


def test_items_are_found_by_document_topic_and_query(chosen):
    """Whatever the case; marks of patterns are plain text."""
    assert [row.document for row in chosen(find="OAK-3")] == ["oak-3"]
    assert {row.topic for row in chosen(find="elm")} == {"elm"}
    assert chosen(find="%") == []


def test_disagreement_and_contests_are_found(desk, chosen):
    """Excluded judges disagree with nobody; a contest waits until somebody decides."""
    row = chosen(state="begun")[0]
    label = 1 - row.relevant
    desk.do(import_judgments, None, [ImportedJudgment(1, row.topic, row.document, "zoe", label)], {}, "a.csv")
    assert [split.document for split in chosen(split="yes")] == [row.document]
    assert chosen(sort="-split")[0].document == row.document
    desk.do(lead.change_standing, desk.lead, desk.store.ledger.named["zoe"], "excluded", "copies")
    assert chosen(split="yes") == []
    gold = next(entry for entry in desk.returned.sets if entry.use == "gold")
    desk.do(commands.contest, desk.bob, gold.token, 0, "no")
    (contested,) = chosen(contested="open")
    assert (contested.item, contested.contested) == (gold.items[0], "open")
    with desk.store.reading() as connection:
        work = read_work(connection, desk.returned.id)
    desk.do(lead.rule, desk.lead, 1, False, "", work)
    assert chosen(contested="open") == []
    assert [entry.contested for entry in chosen(contested="any")] == ["decided"]


def test_items_are_sorted_by_a_column(chosen):
    """Those without a value come last in both directions; an unknown column is the usual order."""
    for sort, sign in (("relevance", 1), ("-relevance", -1)):
        values = [row.relevance for row in chosen(sort=sort)]
        known = [sign * value for value in values if value is not None]
        assert known == sorted(known)
        assert values[-4:] == [None] * 4
    assert chosen(sort="nonsense") == chosen()


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("state", "done", "one of new, begun, finished"),
        ("low", "101", "a number from 0 to 100"),
        ("most", "nan", "a number from 0 to 1,000,000"),
        ("split", "maybe", "one of yes, no"),
    ],
)
def test_filters_that_cannot_be_read_are_refused_in_words(field, value, expected):
    """With the field and what it may be."""
    with pytest.raises(Refused) as refused:
        read_filter({field: value})
    assert str(refused.value) == f"{field} is '{value}', expected {expected}."


def test_the_file_has_the_rows_of_the_list(desk, chosen):
    """In its order, with numbers for programs."""
    with desk.store.reading() as connection:
        table = item_table(connection, desk.store.ledger)
        ids = choose_items(connection, table, read_filter({"state": "begun"}), desk.store.ledger, "-document")
    text = b"".join(items_csv(table, ids, desk.store.ledger)).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == HEADER
    assert [row["document"] for row in rows] == [row.document for row in chosen("-document", state="begun")]
    assert (rows[0]["probability_relevant"], rows[0]["judgments"], rows[0]["gold_grade"]) == ("0.9000", "1", "")

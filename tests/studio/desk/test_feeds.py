"""Rows of the record for programs, page by page."""

import pytest

from adjudge.studio.desk import decisions
from adjudge.studio.desk.feeds import assignment_feed, consensus_feed, judgment_feed, people_feed
from adjudge.studio.refresh_consensus import refresh

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def test_judgments_are_followed_by_their_ids(desk, reading):
    """Pages of any size make the whole; each row has its judge, or a pseudonym."""
    every = judgment_feed(reading, 0, 1_000, pseudonyms=False)
    assert [row["id"] for row in every] == list(range(1, 13))
    pages, after = [], 0
    while page := judgment_feed(reading, after, 5, pseudonyms=False):
        pages += page
        after = page[-1]["id"]
    assert pages == every
    assert {row["judge"] for row in every} == {"ann"}
    assert judgment_feed(reading, 11, 5, pseudonyms=True)[0]["judge"] == "judge-2"
    assert {row["use"] for row in every} == {"work", "gold"}
    assert all(row["counts"] and row["relevance"] in (0, 1) for row in every)


def test_judgments_of_excluded_judges_do_not_count(desk):
    """They stay in the feed, so that ids have no gaps, and say so."""
    desk.do(decisions.change_standing, desk.lead, desk.ann, "excluded", "bots")
    with desk.store.reading() as connection:
        assert {row["counts"] for row in judgment_feed(connection, 0, 99, pseudonyms=False)} == {False}


def test_assignments_have_their_outcomes(desk, reading):
    """Scores are those of the grading; open ones have none."""
    rows = assignment_feed(reading, 0, 99, pseudonyms=False, state=None)
    assert [(row["id"], row["judge"], row["outcome"], row["failed"]) for row in rows] == [
        (1, "ann", "passed", []),
        (2, "ann", "passed", []),
        (3, "bob", "returned", ["binary", "time"]),
        (4, "cid", None, []),
    ]
    assert rows[2]["outcomes"] == [{"outcome": "returned", "at": pytest.approx(2e9 + 900)}]
    assert (rows[2]["binary"] < 0.85, rows[2]["fastest"]) == (True, 3)
    assert (rows[3]["outcomes"], rows[3]["binary"]) == ([], None)
    by_state = {state: assignment_feed(reading, 0, 99, pseudonyms=True, state=state) for state in ("open", "ended")}
    assert [row["id"] for row in by_state["open"]] == [4]
    assert [row["judge"] for row in by_state["ended"]] == ["judge-2", "judge-2", "judge-3"]
    assert [row["id"] for row in assignment_feed(reading, 1, 2, pseudonyms=False, state=None)] == [2, 3]


def test_a_submitted_assignment_keeps_its_scores(desk):
    """The last outcome is that of the submission, and both are listed."""
    from adjudge.studio.work.commands import submit

    desk.do(submit, desk.ann, desk.second.token)
    with desk.store.reading() as connection:
        row = assignment_feed(connection, 1, 1, pseudonyms=False, state="ended")[0]
    assert (row["outcome"], row["binary"]) == ("submitted", 1)
    assert [step["outcome"] for step in row["outcomes"]] == ["passed", "submitted"]
    assert "code" not in row


def test_people_have_role_and_standing(desk, reading):
    """In pages, with pseudonyms if asked for."""
    rows = people_feed(reading, desk.store.ledger, 0, 99, pseudonyms=False)
    assert [(row["name"], row["role"], row["standing"], row["passed"], row["returned"]) for row in rows] == [
        ("lea", "lead", "new", 0, 0),
        ("ann", "judge", "new", 2, 0),
        ("bob", "judge", "new", 0, 1),
        ("cid", "judge", "new", 0, 0),
    ]
    assert [row["name"] for row in people_feed(reading, desk.store.ledger, 1, 2, pseudonyms=True)] == [
        "judge-2",
        "judge-3",
    ]


def test_the_consensus_is_read_by_items(desk):
    """None before there is one; then judged items with label and probability, in spans of numbers."""
    with desk.store.reading() as connection:
        assert consensus_feed(connection, desk.folder, 0, 9) is None
    refresh(desk.folder)
    with desk.store.reading() as connection:
        every = consensus_feed(connection, desk.folder, 0, 999)
        pieces = [row for after in range(0, 30, 4) for row in consensus_feed(connection, desk.folder, after, 4)]
    assert len(every) == 12
    assert pieces == every
    assert all(row["judgments"] == 1 and row["grades"] is None for row in every)
    assert all(row["probability"] == max(row["relevance"], 1 - row["relevance"]) for row in every)

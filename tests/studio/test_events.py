"""Events for programs, as they follow from the audit log."""

import pytest

from adjudge.studio.desk import decisions
from adjudge.studio.desk.decisions import read_past, read_work
from adjudge.studio.events import read_events
from adjudge.studio.work import commands

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def events_of(made, after=0, most=500, names=False):
    """Return the events of a campaign, and the number of the last entry."""
    with made.store.reading() as connection:
        return read_events(connection, after, most, names)


def test_grading_a_judge_is_an_event(desk):
    """With the judge's pseudonym and the failed criteria, in the order of the log; nothing names gold."""
    events, last = events_of(desk)
    assert [(event.type, event.data) for event in events] == [
        ("assignment.passed", {"assignment": 1, "failed": [], "kind": "work", "person": 2, "judge": "judge-2"}),
        ("assignment.passed", {"assignment": 2, "failed": [], "kind": "work", "person": 2, "judge": "judge-2"}),
        (
            "assignment.returned",
            {"assignment": 3, "failed": ["binary", "time"], "kind": "work", "person": 3, "judge": "judge-3"},
        ),
    ]
    assert last == desk.store.ledger.link.id
    assert len({event.id for event in events}) == 3
    assert events[0].at == 2e9 + 300
    assert events_of(desk, names=True)[0][2].data["judge"] == "bob"


def test_events_come_in_pieces(desk):
    """Whoever asks after the last number gets the rest, whatever the size of a piece."""
    every, last = events_of(desk)
    for most in (1, 2, 3):
        pieces, after = [], 0
        while (piece := events_of(desk, after, most))[1] > after:
            pieces += piece[0]
            after = piece[1]
        assert (pieces, after) == (every, last)


def test_decisions_are_events(desk):
    """A pause, a reinstatement, an exclusion, an approval, and the campaign's own pause."""
    start = desk.store.ledger.link.id
    desk.time[0] += 1
    desk.do(decisions.change_standing, desk.lead, desk.ann, "paused", "away until Monday")
    desk.time[0] += 1
    with desk.store.reading() as connection:
        past = read_past(connection, desk.ann)
    desk.do(decisions.reinstate, desk.lead, desk.ann, past)
    desk.time[0] += 1
    with desk.store.reading() as connection:
        work = read_work(connection, desk.returned.id)
    desk.do(decisions.approve, desk.lead, "a secret reason", work)
    desk.time[0] += 1
    desk.do(decisions.change_standing, desk.lead, desk.cid, "excluded", "a secret reason")
    desk.time[0] += 1
    desk.do(decisions.switch_campaign, desk.lead, True)
    desk.do(decisions.switch_campaign, desk.lead, False)
    events, _ = events_of(desk, start)
    assert [(event.type, event.data.get("judge")) for event in events] == [
        ("judge.paused", "judge-2"),
        ("judge.reinstated", "judge-2"),
        ("assignment.approved", "judge-3"),
        ("judge.excluded", "judge-4"),
        ("campaign.paused", None),
        ("campaign.resumed", None),
    ]
    assert "secret" not in str(events)


def test_a_qualification_is_two_events(crowd):
    """The assignment passed, and its judge is qualified; both have the number of one entry and ids of their own."""
    made = crowd("[gate]\nseconds = 0\n")
    made.through(made.person("ann"))
    events, _ = events_of(made)
    assert [event.type for event in events] == ["assignment.passed", "judge.qualified"]
    assert events[0].data["kind"] == "qualification"
    assert events[1].data == {"person": 1, "judge": "judge-1", "standing": "qualified"}
    assert events[0].number == events[1].number
    assert events[0].id != events[1].id


def test_giving_up_the_last_attempt_to_qualify_is_an_event(crowd):
    """The judge is unqualified then, although nothing was graded."""
    made = crowd("[gate]\nseconds = 0\n")
    ann = made.person("ann")
    token = made.open_work(ann).token
    made.do(commands.release, ann, token)
    events, _ = events_of(made)
    assert [(event.type, event.data["judge"]) for event in events] == [("judge.unqualified", "judge-1")]


def test_contests_are_events_without_their_document(crowd):
    """Neither the set nor the slot is told: they say which document is gold."""
    made = crowd("[qualification]\nrequired = false\n[gate]\nseconds = 0\nbinary = 0\nndcg = 0\n")
    judge, lead = made.person("ann"), made.person("lea", "lead")
    work = made.through(judge, right=False)
    gold = next(entry for entry in work.sets if entry.use == "gold")
    made.do(commands.contest, judge, gold.token, 0, "I think it is relevant")
    with made.store.reading() as connection:
        record = read_work(connection, work.id)
    made.do(decisions.rule, lead, 1, True, "indeed", record)
    opened, ruled = events_of(made)[0][-2:]
    judged = {"assignment": 1, "kind": "work", "person": 1, "judge": "judge-1"}
    assert (opened.type, opened.data) == ("contest.opened", judged)
    assert (ruled.type, ruled.data) == ("contest.ruled", {**judged, "contest": 1, "approved": False, "upheld": True})

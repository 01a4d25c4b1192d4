"""The numbers of the lead's overview."""

from dataclasses import replace

import pytest
from sqlalchemy import create_engine

from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk.decisions import read_work
from adjudge.studio.desk.overview import (
    active_judges,
    earnings,
    file_changes,
    gate_rates,
    live,
    open_assignments,
    pace,
    progress,
)
from adjudge.studio.record import schema
from adjudge.studio.settings import Redundancy
from adjudge.studio.work import commands

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def far(desk, redundancy=None):
    """Return how far the campaign of a test is."""
    ledger = desk.store.ledger
    return progress(
        ledger.items, list(desk.campaign.topics), redundancy or desk.campaign.settings.redundancy, ledger.belief
    )


def test_progress_counts_what_was_accepted(desk):
    """Two passed assignments of two sets of two; the returned one and the open one bring nothing forward."""
    total = far(desk).total
    assert (total.items, total.judged, total.needed, total.settled) == (12, 8, 24, 0)
    assert {row.topic: row.items for row in far(desk).topics} == {"oak": 6, "elm": 6}
    assert total.share == pytest.approx(1 / 3)


def test_progress_loses_the_judgments_of_the_excluded(desk):
    """What an excluded judge did is set aside, and wanted again."""
    desk.do(lead.change_standing, desk.lead, desk.ann, "excluded", "answers at random")
    assert far(desk).total.judged == 0


def test_settled_items_need_no_more(desk):
    """With one judgment wanted, the eight judged items are done."""
    total = far(desk, desk.campaign.settings.redundancy.model_copy(update={"judgments": 1})).total
    assert (total.judged, total.needed, total.settled) == (8, 12, 8)


def test_adaptive_redundancy_says_what_it_saved(desk):
    """Items settled by one judgment, where a fixed number would have taken three each."""
    adaptive = Redundancy(adaptive=True, judgments=3, least=1, most=1)
    assert far(desk, adaptive).saved == 16
    assert far(desk).saved is None


def test_pace_is_of_the_last_hour_or_of_all_time(reading, desk):
    """Eight accepted in the minutes there were, of 18 answers with gold; later, at the pace of the whole time."""
    now = desk.time[0]
    soon = pace(reading, now, 24)
    assert soon.last_hour == 18
    assert soon.per_hour == pytest.approx(8 * 3600 / 600)
    assert soon.hours_left == pytest.approx(24 / soon.per_hour)
    later = pace(reading, now + 36_000, 24)
    assert later.last_hour == 0
    assert 0 < later.per_hour < 2


def test_pace_counts_judgments_when_they_were_given(desk):
    """What is approved a day later was not made in that hour, whatever its rows say; an open set's answers are."""
    desk.time[0] += 86_400
    with desk.store.reading() as connection:
        past = read_work(connection, desk.returned.id)
    desk.do(lead.approve, desk.lead, "all right", past)
    with desk.store.reading() as connection:
        after = pace(connection, desk.time[0], 24)
    assert after.last_hour == 0
    assert after.per_hour == pytest.approx(12 / 24.25, rel=0.02)
    answer = {"key": "a", "slot": 0, "relevance": 1, "told": True, "rank": None, "seconds": 5.0, "comment": ""}
    desk.do(commands.save_answers, desk.cid, desk.open.sets[0].token, [answer])
    with desk.store.reading() as connection:
        assert pace(connection, desk.time[0], 24)[:2] == (1, desk.time[0])


def test_pace_without_judgments_promises_nothing(fresh_desk):
    """No judgment, no pace, no end in sight."""
    with fresh_desk.store.reading() as connection:
        assert pace(connection, 2e9, 24) == (0, None, 0.0, None)


def test_active_judges_answered_a_moment_ago(reading, desk):
    """Bob answered last; ann before, within five minutes or not."""
    assert active_judges(reading, desk.time[0], within=250) == 1
    assert active_judges(reading, desk.time[0], within=100_000) == 2
    assert active_judges(reading, desk.time[0] + 10_000) == 0


def test_gate_rates_by_criterion(reading):
    """Two passed; one was returned for its answers on gold and for its haste, so for neither alone."""
    rates = gate_rates(reading)
    assert (rates.passed, rates.returned, rates.graded) == (2, 1, 3)
    assert rates.pass_rate == pytest.approx(2 / 3)
    assert [(rate.name, rate.failed, rate.only) for rate in rates.criteria] == [
        ("binary", 1, 0),
        ("ndcg", 0, 0),
        ("time", 1, 0),
    ]
    assert gate_rates(reading, "qualification").pass_rate is None


def test_gate_rates_of_one_judge(desk):
    """Bob alone, after one more that fails on time only."""
    desk.work(desk.bob, right=True, seconds=3.0)
    with desk.store.reading() as connection:
        rates = gate_rates(connection, person=desk.bob)
    assert (rates.passed, rates.returned) == (0, 2)
    assert [(rate.failed, rate.only) for rate in rates.criteria] == [(1, 0), (0, 0), (2, 1)]


def test_pay_is_due_once_for_what_was_accepted(desk):
    """A submitted assignment is one assignment, however many outcomes it has; an approved one counts too."""
    desk.do(commands.submit, desk.ann, desk.second.token)
    with desk.store.reading() as connection:
        assert [
            (earning.name, earning.assignments, earning.amount) for earning in earnings(connection, [(0.0, 1.5)])
        ] == [("ann", 2, 3.0)]


def test_open_assignments_are_those_that_are_out(reading, desk):
    """Cid's, and nobody else's."""
    assert [
        (open_assignment.name, open_assignment.id, open_assignment.kind)
        for open_assignment in open_assignments(reading)
    ] == [("cid", desk.open.id, "work")]
    assert open_assignments(reading, desk.ann) == []


def test_live_gathers_all(reading, desk):
    """The overview of the whole campaign; there is no consensus yet."""
    now = live(reading, desk.store.ledger, desk.time[0])
    assert (now.paused, now.pay, now.unruled, now.consensus) == (False, 3.0, 0, None)
    assert [rates.kind for rates in now.gates] == ["work", "qualification"]


def test_what_is_as_it_was_needs_no_word(reading, desk):
    """Nor does a campaign that nobody has worked on."""
    assert file_changes(reading, desk.campaign) == []
    engine = create_engine("sqlite://")
    schema.METADATA.create_all(engine)
    with engine.connect() as connection:
        assert file_changes(connection, desk.campaign) == []


def test_what_is_gone_and_what_is_new_is_said(reading, desk):
    """Only what was judged is missed, and named; new pairs are counted."""
    judged = {desk.store.ledger.items.pairs[item] for entry in desk.first.sets for item in entry.items}
    removed = next(pair for pair in desk.campaign.pool if pair in judged)
    left = [pair for pair in desk.campaign.pool if pair != removed]
    edited = replace(desk.campaign, pool=(*left, *(("oak", f"fresh-{n}") for n in range(5))))
    assert file_changes(reading, edited) == [
        f"1 pair is judged but no longer in the files; the judgments are kept: '{' '.join(removed)}'",
        "5 pairs are new since work began: 'oak fresh-0', 'oak fresh-1', 'oak fresh-2' and 2 more",
    ]

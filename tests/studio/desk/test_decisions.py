"""What the lead does, as commands."""

import json

import pytest
from sqlalchemy import select

from adjudge.studio.access import hash_token, parse_scopes
from adjudge.studio.desk import decisions as lead
from adjudge.studio.desk.decisions import check_unchanged, last_rows, read_past, read_work
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.record import schema
from adjudge.studio.record.audit import find_faults, first_broken_entry
from adjudge.studio.record.ledger import load_ledger
from adjudge.studio.record.store import Change
from adjudge.studio.records import Refused
from adjudge.studio.work import commands, grading

pytestmark = pytest.mark.usefixtures("database")  # on SQLite and on PostgreSQL


def audited(desk):
    """Return the last entry of the audit log: who, what, detail."""
    with desk.store.reading() as connection:
        rows = connection.execute(select(schema.audit).order_by(schema.audit.c.id)).mappings().all()
    assert first_broken_entry(rows) is None
    return rows[-1]["who"], rows[-1]["what"], json.loads(rows[-1]["detail"])


def finished(desk, assignment):
    """Return an assignment as it is in the tables."""
    with desk.store.reading() as connection:
        return read_work(connection, assignment)


def past(desk, person):
    """Return where somebody stood before being stopped."""
    with desk.store.reading() as connection:
        return read_past(connection, person)


def test_a_paused_campaign_gives_nothing_new(desk):
    """Until it goes on."""
    desk.do(lead.switch_campaign, desk.lead, True)
    with pytest.raises(Refused, match="paused"):
        desk.open_work(desk.bob)
    desk.do(lead.switch_campaign, desk.lead, False)
    assert audited(desk)[:2] == ("lea", "campaign resumed")
    assert desk.open_work(desk.bob).outcome == ""


def test_invitations_are_checked(desk):
    """A role that there is, days that make sense, a name that is free."""
    assert desk.do(lead.invite, desk.lead, "judge", " dora  d ", 3) == 1
    assert desk.store.ledger.invitations[1]["name"] == "dora d"
    for role, name, days, word in (("king", "x", 3, "role"), ("judge", "x", 0, "days"), ("judge", "ANN", 3, "name")):
        with pytest.raises(Refused) as refused:
            desk.do(lead.invite, desk.lead, role, name, days)
        assert refused.value.code == word


def test_exclusion_needs_a_reason_and_takes_work_back(desk):
    """The open assignment of the excluded goes to others, and they get no more."""
    with pytest.raises(Refused, match=r"^Please give a reason: the judge sees it, and it is stored in the audit log"):
        desk.do(lead.change_standing, desk.lead, desk.cid, "excluded", "  ")
    out = desk.store.ledger.items.leased.sum()
    desk.do(lead.change_standing, desk.lead, desk.cid, "excluded", "copies")
    assert desk.store.ledger.items.leased.sum() == out - 4
    detail = {"judge": "cid", "reason": "copies", "assignment": desk.open.id, "outcome": "released"}
    assert audited(desk) == ("lea", "judge excluded", detail)
    with pytest.raises(Refused, match="copies"):
        desk.open_work(desk.cid)


def test_reinstated_judges_may_work_again(desk):
    """Once they were stopped; not before."""
    with pytest.raises(Refused, match=r"can already work\.$"):
        desk.do(lead.reinstate, desk.lead, desk.ann, past(desk, desk.ann))
    desk.do(lead.change_standing, desk.lead, desk.bob, "paused", "wait")
    desk.do(lead.reinstate, desk.lead, desk.bob, past(desk, desk.bob))
    assert desk.open_work(desk.bob).outcome == ""


@pytest.mark.parametrize("before", ["new", "qualified", "unqualified"])
def test_reinstating_restores_what_was_before(desk, before):
    """Paused, then excluded, then reinstated: somebody new has still to qualify."""
    if before != "new":
        row = {"id": 1, "at": 2e9, "person": desk.bob, "standing": before, "reason": "", "by": None}
        desk.do(lambda ledger, now: Change([(schema.standings, row)]))
    desk.do(lead.change_standing, desk.lead, desk.bob, "paused", "wait")
    desk.do(lead.change_standing, desk.lead, desk.bob, "excluded", "copies")
    desk.do(lead.reinstate, desk.lead, desk.bob, past(desk, desk.bob))
    assert desk.store.ledger.people[desk.bob].standing == before


def test_nothing_is_decided_on_what_is_no_longer_so(desk):
    """Of two leads who read the same and decide at once, the second is told to look again."""
    work, stood = finished(desk, desk.returned.id), past(desk, desk.bob)
    desk.work(desk.bob)  # the ledger forgets the returned one
    work = finished(desk, desk.returned.id)
    desk.do(lead.approve, desk.lead, "", work)
    with pytest.raises(Refused) as refused:
        desk.do(lead.approve, desk.lead, "", work)
    assert refused.value.code == "stale"
    desk.do(lead.change_standing, desk.lead, desk.bob, "paused", "wait")
    with pytest.raises(Refused) as refused:
        desk.do(lead.reinstate, desk.lead, desk.bob, stood)
    assert refused.value.code == "stale"


@pytest.mark.parametrize(("who", "standing"), [("lead", "paused"), ("nobody", "paused"), ("ann", "crowned")])
def test_only_judges_have_such_standings(desk, who, standing):
    """A lead cannot be paused, nor can nobody, nor is anybody crowned."""
    with pytest.raises(Refused):
        desk.do(lead.change_standing, desk.lead, getattr(desk, who, 99), standing, "because")


def test_an_open_assignment_is_taken_back_once(desk):
    """Its items are free again; one that is over is refused."""
    desk.do(lead.reassign, desk.lead, desk.open.id)
    assert desk.store.ledger.items.leased.sum() == 0
    assert audited(desk)[1] == "assignment taken back"
    with pytest.raises(Refused, match=r"^This assignment is already over\.$"):
        desk.do(lead.reassign, desk.lead, desk.open.id)


def test_approval_makes_judgments_of_returned_work(desk):
    """Six judgments more, and they count; twice is refused."""
    before = desk.store.ledger.items.judged.sum()
    desk.do(lead.approve, desk.lead, "an honest mistake", finished(desk, desk.returned.id))
    assert desk.store.ledger.items.judged.sum() == before + 4
    assert desk.store.ledger.people[desk.bob].passed == 1
    with desk.store.reading() as connection:
        assert find_faults(connection, desk.campaign) == []
    with pytest.raises(Refused, match="Only an assignment that was returned"):
        desk.do(lead.approve, desk.lead, "", finished(desk, desk.returned.id))


def test_approval_lets_a_judge_go_on_whom_the_studio_stopped(desk):
    """After two more returned assignments bob is paused; with one of the three approved they are below the limit."""
    for _ in range(2):
        desk.work(desk.bob, seconds=3.0)
    assert desk.store.ledger.people[desk.bob].standing == "paused"
    desk.do(lead.approve, desk.lead, "", finished(desk, desk.returned.id))
    assert desk.store.ledger.people[desk.bob].standing == "new"  # as before


def test_approval_leaves_alone_whom_the_lead_stopped(desk):
    """A pause with a reason of the lead's own is not lifted by the way."""
    desk.do(lead.change_standing, desk.lead, desk.bob, "paused", "wait for the new guidelines")
    desk.do(lead.approve, desk.lead, "", finished(desk, desk.returned.id))
    assert desk.store.ledger.people[desk.bob].standing == "paused"


def test_approving_a_qualification_qualifies_who_failed_it(desk):
    """And nobody else: one who is excluded stays so."""
    work = finished(desk, desk.returned.id)
    work.assignment.kind = "qualification"
    bob = desk.store.ledger.people[desk.bob]
    with pytest.raises(Refused, match="bob is new"):
        desk.do(lead.approve, desk.lead, "", work)
    bob.standing = "unqualified"
    desk.do(lead.approve, desk.lead, "", work)
    assert bob.standing == "qualified"


def test_approval_reaches_assignments_the_ledger_has_forgotten(desk):
    """A judge who has moved on can still be approved; a restart comes to the same."""
    desk.work(desk.bob)
    desk.do(lead.approve, desk.lead, "", finished(desk, desk.returned.id))
    ledger = desk.store.ledger
    with desk.store.reading() as connection:
        again = load_ledger(connection, desk.campaign)
    assert again.items.judged.tolist() == ledger.items.judged.tolist()
    assert again.people[desk.bob].passed == ledger.people[desk.bob].passed == 2
    assert again.people[desk.bob].returned == ledger.people[desk.bob].returned == 0


def test_approval_skips_what_was_judged_meanwhile(desk):
    """An item that came in by import is not judged twice."""
    work = finished(desk, desk.returned.id)
    item = next(entry for entry in work.assignment.sets if entry.use == "work").items[0]
    topic, document = desk.store.ledger.items.pairs[item]
    desk.do(import_judgments, desk.lead, [ImportedJudgment(1, topic, document, "bob", 1)], {}, "a.csv")
    desk.do(lead.approve, desk.lead, "", finished(desk, desk.returned.id))
    with desk.store.reading() as connection:
        rows = connection.execute(select(schema.judgments.c.item).where(schema.judgments.c.person == desk.bob)).all()
    assert len(rows) == len(set(rows)) == 6


def contest(desk, held, slot):
    """Contest a document of gold, and return the number of the contest."""
    first = next(first for first in held.sets if first.use == "gold")
    desk.do(commands.contest, held.person, first.token, slot, "it is right")
    return max(desk.store.ledger.contests)


def test_upholding_approves_what_passes_without_the_document(fresh_desk):
    """Right but for one document: once gold is found wrong there, the work is accepted."""
    desk = fresh_desk
    boss, who = desk.person("lea", "lead"), desk.person("ann")
    stored = desk.open_work(who)
    for entry in stored.sets:
        desk.time[0] += 100
        answers = [
            {"key": f"k{n}", "slot": n, "relevance": 1, "told": True, "rank": n + 1, "seconds": 9.0, "comment": ""}
            for n in range(2)
        ]
        desk.do(commands.finish_set, who, entry.token, answers)
    gold = next(entry for entry in stored.sets if entry.use == "gold")
    number = contest(desk, stored, grading.gold_grades(desk.store.ledger, gold).index(0))
    assert desk.do(lead.rule, boss, number, True, "a slip", finished(desk, stored.id)) is True
    assert audited(desk)[1] == "contest upheld"
    assert desk.store.ledger.items.judged.sum() == 4
    with desk.store.reading() as connection:
        assert find_faults(connection, desk.campaign) == []
    with pytest.raises(Refused, match=r"^There is already a ruling on this contest\.$"):
        desk.do(lead.rule, boss, number, False, "", finished(desk, stored.id))


def test_a_ruling_on_a_qualification_of_the_past_is_only_recorded(desk):
    """Whoever is qualified, or excluded, by now stays so."""
    number = contest(desk, desk.returned, 0)
    work = finished(desk, desk.returned.id)
    work.assignment.kind = "qualification"
    assert desk.do(lead.rule, desk.lead, number, True, "", work) is False
    assert desk.store.ledger.people[desk.bob].standing == "new"


def test_upholding_does_not_approve_what_fails_otherwise(desk):
    """Bob was too fast as well: the ruling is recorded, the assignment stays returned."""
    number = contest(desk, desk.returned, 0)
    assert desk.do(lead.rule, desk.lead, number, True, "", finished(desk, desk.returned.id)) is False
    assert finished(desk, desk.returned.id).assignment.outcome == "returned"
    assert len(finished(desk, desk.returned.id).upheld) == 1


def test_rejecting_changes_nothing_else(desk):
    """The ruling is all there is; a contest that there is not is refused."""
    number = contest(desk, desk.returned, 0)
    work = finished(desk, desk.returned.id)
    assert desk.do(lead.rule, desk.lead, number, False, "gold is right", work) is False
    with pytest.raises(Refused, match="no such contest"):
        desk.do(lead.rule, desk.lead, 99, True, "", work)


def test_tokens_are_shown_once_and_kept_as_hashes(desk):
    """The text is in no row; a revoked token stays revoked."""
    text = desk.do(lead.new_api_token, desk.lead, "nightly", "export read")
    row = desk.store.ledger.tokens[hash_token(text)]
    assert parse_scopes(row["scope"]) == {"export", "read"}
    assert text not in json.dumps(audited(desk))
    desk.do(lead.revoke_token, desk.lead, row["id"])
    assert row["id"] in desk.store.ledger.revoked
    assert desk.do(lead.revoke_token, desk.lead, row["id"]) is True
    for name, scope in (("", "read"), ("x", "everything"), ("x", "")):
        with pytest.raises(Refused):
            desk.do(lead.new_api_token, desk.lead, name, scope)
    with pytest.raises(Refused, match="no such token"):
        desk.do(lead.revoke_token, desk.lead, 99)


def test_work_is_read_as_the_ledger_had_it(reading, desk):
    """Sets in order with items, answers and times: the same record as the one in memory."""
    work = read_work(reading, desk.returned.id)
    for read, stored in zip(work.assignment.sets, desk.returned.sets, strict=True):
        assert (read.id, read.use, read.items, read.answers) == (stored.id, stored.use, stored.items, stored.answers)
        assert read.finished == stored.finished
    assert work.assignment.outcome == "returned"
    assert work.judged == work.upheld == frozenset()
    assert read_work(reading, 999) is None
    assert len(read_work(reading, desk.first.id).judged) == 12


def test_what_was_read_holds_until_its_tables_grow(desk):
    """Other tables do not matter."""
    with desk.store.reading() as connection:
        observed = last_rows(connection, schema.standings, schema.rulings)
    desk.work(desk.ann)
    check_unchanged(desk.store.ledger, observed)
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "wait")
    with pytest.raises(Refused, match="try again"):
        check_unchanged(desk.store.ledger, observed)


def test_the_past_says_who_stopped_a_judge(desk):
    """Nobody yet; the lead; the studio itself, after three returns."""
    with desk.store.reading() as connection:
        assert read_past(connection, desk.ann)[:2] == ("new", False)
    desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "wait")
    for _ in range(2):
        desk.work(desk.bob, seconds=3.0)
    with desk.store.reading() as connection:
        assert read_past(connection, desk.ann)[:2] == ("new", False)
        assert read_past(connection, desk.bob)[:2] == ("new", True)


def test_an_archived_campaign_is_only_read(desk):
    """It is archived once nobody has open work; then nobody joins, works or decides, until it is reopened."""
    with pytest.raises(Refused, match="Judges have 1 open assignment: pause the campaign"):
        desk.do(lead.archive_campaign, desk.lead, True)
    desk.do(lead.reassign, desk.lead, desk.open.id)
    with pytest.raises(Refused, match="The campaign is not archived"):
        desk.do(lead.archive_campaign, desk.lead, False)
    desk.do(lead.archive_campaign, desk.lead, True)
    assert desk.store.ledger.archived
    with pytest.raises(Refused, match="The campaign is archived"):
        desk.open_work(desk.ann)
    for command in (
        lambda: desk.do(lead.invite, desk.lead, "judge", "new", 14),
        lambda: desk.do(lead.change_standing, desk.lead, desk.ann, "paused", "wait"),
        lambda: desk.person("new"),
    ):
        with pytest.raises(Refused, match="This campaign is archived: it can be read and exported"):
            command()
    desk.do(lead.new_api_token, desk.lead, "archive", "export")
    desk.do(lead.archive_campaign, desk.lead, False)
    assert desk.open_work(desk.ann).sets

import contextlib
import math
import re

import numpy as np
import pytest
from sqlalchemy import func, select

from adjudge.studio.desk.decisions import change_standing, switch_campaign
from adjudge.studio.record import schema as s
from adjudge.studio.record.ledger import load_ledger
from adjudge.studio.record.store import Change
from adjudge.studio.records import Refused
from adjudge.studio.work import commands as c
from adjudge.studio.work.commands import ALPHABET, GROUPS, LETTERS, new_code, new_token
from adjudge.studio.work.grading import gold_grades

FREE = "[qualification]\nrequired = false\n"


def rows_of(made, table):
    """Return how many rows a table has."""
    with made.store.reading() as connection:
        return connection.scalar(select(func.count()).select_from(table))


def test_assignment_has_six_sets_of_different_topics_and_one_of_gold(crowd):
    """The paper's assignment: six sets of five, one topic each, one of them gold."""
    created = crowd(FREE, monitoring=0)
    stored = created.open_work(created.person("ann"))
    assert [len(entry.items) for entry in stored.sets] == [5] * 6
    assert sorted(entry.use for entry in stored.sets) == ["gold"] + ["work"] * 5


def test_no_topic_comes_twice(crowd):
    """Gold and monitoring have topics of their own too: a topic that came twice would tell which sets they are."""
    created = crowd(FREE, topics=8)
    for n in range(6):
        stored = created.open_work(created.person(f"judge {n}"))
        assert len({created.store.ledger.items.pairs[entry.items[0]][0] for entry in stored.sets}) == 6


def test_gold_stands_anywhere(crowd):
    """Gold is as often at one place as at another."""
    created = crowd(FREE, monitoring=0, topics=40)
    places = []
    for n in range(40):
        stored = created.open_work(created.person(f"judge {n}"))
        places += [entry.position for entry in stored.sets if entry.use == "gold"]
    assert set(places) == set(range(6))


def test_taking_twice_gives_the_same(crowd):
    """An open assignment is given again, on any machine."""
    created = crowd(FREE)
    ann = created.person("ann")
    assert created.open_work(ann) is created.open_work(ann)
    assert rows_of(created, s.assignments) == 1


def test_monitoring_is_for_everyone_once(crowd):
    """Every judge has each monitoring set once."""
    created = crowd(FREE, topics=12)
    for name in ("ann", "bob"):
        who = created.person(name)
        uses = [sorted(entry.use for entry in created.through(who).sets) for _ in range(2)]
        assert uses[0].count("monitoring") == 1
        assert uses[1].count("monitoring") == 0


def test_qualification_comes_first(crowd):
    """Who is new has four jobs of five, each with one gold pair; who passes may work."""
    created = crowd()
    ann = created.person("ann")
    stored = created.through(ann)
    assert stored.kind == "qualification"
    assert [len(entry.items) for entry in stored.sets] == [5] * 4
    assert stored.outcome == "passed"
    assert created.store.ledger.people[ann].standing == "qualified"
    assert rows_of(created, s.judgments) == 0
    assert created.open_work(ann).kind == "work"


def test_failing_the_qualification_ends_it(crowd):
    """Who fails the only attempt gets no work, and is told why."""
    created = crowd()
    ann = created.person("ann")
    assert created.through(ann, right=False).outcome == "returned"
    with pytest.raises(Refused, match="qualification was not passed"):
        created.open_work(ann)


def test_second_attempt_where_there_is_one(crowd):
    """With two attempts, failing once leaves another."""
    created = crowd("[qualification]\nattempts = 2\n")
    ann = created.person("ann")
    created.through(ann, right=False)
    assert created.through(ann).outcome == "passed"


def test_passing_makes_judgments_and_returning_none(crowd):
    """Judgments of an assignment count if it passes; slots are free again either way."""
    created = crowd(FREE, monitoring=0)
    ann, bob = created.person("ann"), created.person("bob")
    stored = created.through(ann)
    items = created.store.ledger.items
    work = [item for entry in stored.sets if entry.use == "work" for item in entry.items]
    assert stored.outcome == "passed"
    assert rows_of(created, s.judgments) == 30
    assert set(items.judged[work]) == {1}
    assert created.through(bob, right=False).outcome == "returned"
    assert rows_of(created, s.judgments) == 30
    assert items.judged.sum() == 25
    assert not items.leased.any()


@pytest.mark.parametrize(("seconds", "outcome"), [(6.0, "passed"), (5.9, "returned")])
def test_haste_is_returned(crowd, seconds, outcome):
    """A document judged in less than six seconds refuses the whole assignment."""
    created = crowd(FREE, monitoring=0)
    stored = created.through(created.person("ann"), seconds=seconds)
    assert stored.outcome == outcome
    assert stored.failed == (() if outcome == "passed" else ("time",))


def test_claimed_time_is_bounded_by_the_studios_clock(crowd):
    """A page that claims ten seconds a document within one second is not believed."""
    created = crowd(FREE, monitoring=0)
    ann = created.person("ann")
    stored = created.open_work(ann)
    for entry in stored.sets:
        created.time[0] += 1
        created.do(c.finish_set, ann, entry.token, created.answers(entry, seconds=10.0))
    assert stored.failed == ("time",)


def test_incompatible_sets_cannot_be_left_but_are_saved(crowd):
    """The answers that came along are kept; the problems name the two documents."""
    created = crowd(FREE)
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    inputs = created.answers(first)
    for slot, (relevance, rank) in enumerate([(1, 5), (0, 1), (1, 2), (1, 3), (1, 4)]):
        inputs[slot] |= {"relevance": relevance, "rank": rank}
    _, wrong = created.do(c.finish_set, ann, first.token, inputs)
    assert any(problem.kind == "order" and problem.slots == (0, 1) for problem in wrong)
    assert first.finished is None
    assert rows_of(created, s.answers) == 5


def test_an_answer_sent_twice_is_one(crowd):
    """A key that is known adds nothing, and is acknowledged."""
    created = crowd(FREE)
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    inputs = created.answers(first)[:2]
    assert created.do(c.save_answers, ann, first.token, inputs) == ["0", "1"]
    assert created.do(c.save_answers, ann, first.token, inputs) == ["0", "1"]
    assert rows_of(created, s.answers) == 2


def test_finishing_twice_is_once(crowd):
    """A finished set stays finished, and can no longer be changed."""
    created = crowd(FREE)
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    inputs = created.answers(first)
    created.do(c.finish_set, ann, first.token, inputs)
    created.do(c.finish_set, ann, first.token, inputs)
    assert rows_of(created, s.finishes) == 1
    with pytest.raises(Refused, match="can no longer be changed"):
        created.do(c.save_answers, ann, first.token, inputs)


def test_later_sets_wait(crowd):
    """The set after next cannot be answered yet."""
    created = crowd(FREE)
    ann = created.person("ann")
    stored = created.open_work(ann)
    with pytest.raises(Refused, match="set before this one"):
        created.do(c.save_answers, ann, stored.sets[1].token, [])


@pytest.mark.parametrize(("change", "told"), [({"slot": 5}, "no slot 5"), ({"rank": 6}, "no rank 6")])
def test_answers_off_the_set_are_refused(crowd, change, told):
    """Slots and ranks are those of the set."""
    created = crowd(FREE)
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    with pytest.raises(Refused, match=told):
        created.do(c.save_answers, ann, first.token, [created.answers(first)[0] | change])


def test_others_are_told_nothing(crowd):
    """A set is its judge's alone."""
    created = crowd(FREE)
    token = created.open_work(created.person("ann")).sets[0].token
    with pytest.raises(Refused, match="no such set"):
        created.do(c.save_answers, created.person("bob"), token, [])


def test_leases_end(crowd):
    """An assignment nobody works on goes back after an hour; work holds it."""
    created = crowd(FREE)
    ann, bob = created.person("ann"), created.person("bob")
    first, second = created.open_work(ann), created.open_work(bob)
    created.time[0] += 3_000
    created.do(c.save_answers, bob, second.sets[0].token, created.answers(second.sets[0])[:1])
    created.time[0] += 700
    assert created.do(c.expire) == 1
    assert (first.outcome, second.outcome) == ("expired", "")
    with pytest.raises(Refused, match="is over"):
        created.do(c.save_answers, ann, first.sets[0].token, [])
    work = [item for entry in first.sets if entry.use == "work" for item in entry.items]
    stored = [item for entry in second.sets if entry.use == "work" for item in entry.items]
    assert created.store.ledger.items.leased.sum() == len(stored)
    assert created.store.ledger.items.leased[list(set(work) - set(stored))].sum() == 0


def test_keeping_alive_holds_the_lease(crowd):
    """A judge who reads for long keeps what they have."""
    created = crowd(FREE)
    ann = created.person("ann")
    stored = created.open_work(ann)
    for _ in range(3):
        created.time[0] += 3_000
        created.do(c.keep_alive, ann, stored.sets[0].token)
        assert created.do(c.expire) == 0


def test_no_item_beyond_its_judgments(crowd):
    """When all is judged three times there is nothing left, and no item has more."""
    created = crowd(FREE + "[pay]\nmost_returns = 100\n", topics=6, monitoring=0)
    people = [created.person(f"judge {n}") for n in range(6)]
    for _ in range(8):
        for who in people:
            with contextlib.suppress(Refused):
                created.through(who)
    items = created.store.ledger.items
    assert set(items.judged[items.pooled]) == {3}
    with created.store.reading() as connection:
        twice = select(s.judgments.c.item).group_by(s.judgments.c.item, s.judgments.c.person).having(func.count() > 1)
        assert connection.execute(twice).all() == []


def test_gold_is_never_repeated_and_runs_out(crowd):
    """A judge meets a gold set once; when none is left there is no more work, and the reason is said."""
    created = crowd(FREE, topics=2, pool=100, gold=1, monitoring=0, jobs=0)
    ann = created.person("ann")
    met = [entry.name for _ in range(2) for entry in created.through(ann).sets if entry.use == "gold"]
    assert sorted(met) == ["gold-0-0", "gold-1-0"]
    with pytest.raises(Refused, match="every check set"):
        created.open_work(ann)


def test_cannot_tell_is_kept_and_asked_of_another(crowd):
    """Who cannot tell has not judged: the item still needs all of its judgments, by others."""
    created = crowd(FREE, monitoring=0)
    ann = created.person("ann")
    stored = created.open_work(ann)
    for entry in stored.sets:
        created.time[0] += 60
        inputs = created.answers(entry)
        if entry.use == "work":
            inputs[0] |= {"relevance": None}
        created.do(c.finish_set, ann, entry.token, inputs)
    ledger = created.store.ledger
    unsure = [entry.items[0] for entry in stored.sets if entry.use == "work"]
    assert not ledger.items.judged[unsure].any()
    assert all(item in ledger.people[ann].met for item in unsure)


def test_three_returns_pause_a_judge(crowd):
    """Whose assignments are returned three times is paused, and told so."""
    created = crowd(FREE, topics=12)
    ann = created.person("ann")
    for _ in range(3):
        created.through(ann, right=False)
    with pytest.raises(Refused, match="3 assignments did not pass"):
        created.open_work(ann)


def test_submitting_gives_one_code(crowd):
    """The code of an assignment stays the same; one that was returned has none."""
    created = crowd(FREE)
    ann, bob = created.person("ann"), created.person("bob")
    stored = created.through(ann)
    _, code = created.do(c.submit, ann, stored.token)
    assert len(code) >= 9
    assert created.do(c.submit, ann, stored.token)[1] == code
    with pytest.raises(Refused, match="passed its checks"):
        created.do(c.submit, bob, created.through(bob, right=False).token)


def test_contesting_gold(crowd):
    """Gold can be contested once it has been shown, once for each document."""
    created = crowd(FREE)
    ann = created.person("ann")
    stored = created.open_work(ann)
    gold = next(entry for entry in stored.sets if entry.use == "gold")
    with pytest.raises(Refused, match="finished and reviewed"):
        created.do(c.contest, ann, gold.token, 0, "no")
    created.through(ann, right=False)
    for _ in range(2):
        created.do(c.contest, ann, gold.token, 0, "it is about oaks")
    assert rows_of(created, s.contests) == 1
    other = next(entry for entry in stored.sets if entry.use == "work")
    with pytest.raises(Refused, match="shows no mistake"):
        created.do(c.contest, ann, other.token, 0, "no")


def test_releasing_frees_the_items(crowd):
    """Who gives an assignment up may have the same documents again, and others may."""
    created = crowd(FREE)
    ann = created.person("ann")
    stored = created.open_work(ann)
    created.do(c.release, ann, stored.token)
    assert not created.store.ledger.items.leased.any()
    assert created.open_work(ann) is not stored


def test_adaptive_items_stop_when_sure(crowd):
    """With adaptive redundancy an item of which enough is known is not given out again; others are, up to the most."""
    created = crowd(FREE + "[redundancy]\nadaptive = true\nleast = 2\nmost = 4\ntarget = 0.9\n", topics=6, monitoring=0)
    ledger = created.store.ledger
    sure = int(np.flatnonzero(ledger.items.pooled)[0])
    ledger.belief = np.full(len(ledger.items.pairs), 0.5)
    ledger.belief[sure] = 0.99
    for n in range(12):
        try:
            created.through(created.person(f"judge {n}"))
        except Refused:
            break
    judged = ledger.items.judged
    assert judged[sure] == 2
    assert judged[ledger.items.pooled].max() == 4


def test_contesting_is_for_work_that_was_done(crowd):
    """Who gives an assignment up learns nothing of gold by contesting it."""
    created = crowd(FREE)
    ann = created.person("ann")
    stored = created.open_work(ann)
    created.do(c.release, ann, stored.token)
    for entry in stored.sets:
        with pytest.raises(Refused, match="finished and reviewed"):
            created.do(c.contest, ann, entry.token, 0, "no")


def test_contesting_tells_nothing_of_a_qualification_that_may_be_repeated(crowd):
    """Its right answers are not shown, so an attempt to contest must not tell them either, right or wrong."""
    created = crowd("[qualification]\nattempts = 2\n")
    ann = created.person("ann")
    stored = created.through(ann, right=False)
    for entry in stored.sets:
        for slot in range(5):
            with pytest.raises(Refused, match="shows no mistake"):
                created.do(c.contest, ann, entry.token, slot, "no")
    last = created.through(ann, right=False)  # the last attempt, whose answers are shown
    graded = [
        (entry, slot)
        for entry in last.sets
        for slot, grade in enumerate(gold_grades(created.store.ledger, entry))
        if grade
    ]
    for entry, slot in graded:
        created.do(c.contest, ann, entry.token, slot, "it is about oaks")
    assert rows_of(created, s.contests) == len(graded) > 0


def test_gold_that_was_ruled_wrong_grades_nobody(crowd):
    """A document whose contest was upheld is not graded any more, and its set is not given out again."""
    created = crowd(FREE, gold=1)
    ann, bob = created.person("ann"), created.person("bob")
    gold = next(entry for entry in created.through(ann, right=False).sets if entry.use == "gold")
    early = created.open_work(bob)
    created.do(c.contest, ann, gold.token, 0, "wrong")
    ledger = created.store.ledger

    def uphold(ledger, now):
        row = {"id": 1, "at": now, "contest": 1, "upheld": 1, "reason": "", "by": None}
        return Change([(s.rulings, row)])

    created.do(uphold)
    assert ledger.overruled == {gold.items[0]}
    assert gold_grades(ledger, gold)[0] is None
    assert early.id in ledger.assignments
    for n in range(20):
        stored = created.open_work(created.person(f"judge {n}"))
        assert gold.name not in {entry.name for entry in stored.sets}


def test_sets_with_a_document_one_has_judged_are_not_given(crowd):
    """Gold made of documents that a judge met as work is not gold for that judge, and loses nobody's work."""
    created = crowd(FREE, topics=2, pool=100, gold=1, monitoring=0, jobs=0)
    ann = created.person("ann")
    ledger = created.store.ledger
    for entry in created.campaign.sets:
        if entry.name == "gold-0-0":
            ledger.people[ann].met.add(ledger.items.ids[entry.topic, entry.documents[0]])
    assert [entry.name for entry in created.open_work(ann).sets if entry.use == "gold"] == ["gold-1-0"]


def test_what_was_judged_elsewhere_meanwhile_stays(crowd):
    """A judgment imported while its item was out is kept as it was; the rest of the assignment is accepted."""
    created = crowd(FREE, monitoring=0)
    ann = created.person("ann")
    stored = created.open_work(ann)
    item = next(entry.items[0] for entry in stored.sets if entry.use == "work")

    def bring(ledger, now):
        row = {"id": 1, "at": now, "item": item, "person": ann, "assignment": None, "use": "imported"}
        return Change([(s.judgments, {**row, "relevance": 0, "rank": None, "seconds": None, "comment": ""})])

    created.do(bring)
    assert created.through(ann).outcome == "passed"
    assert rows_of(created, s.judgments) == 30
    assert created.store.ledger.items.judged[item] == 1


def test_a_lead_s_pause_outlives_the_qualification(crowd):
    """What a person decided is not undone by an outcome."""
    created = crowd()
    ann = created.person("ann")
    created.open_work(ann)

    def pause(ledger, now):
        row = {"id": 1, "at": now, "person": ann, "standing": "paused", "reason": "fraud?", "by": None}
        return Change([(s.standings, row)])

    created.do(pause)
    assert created.through(ann).outcome == "passed"
    assert created.store.ledger.people[ann].standing == "paused"


def test_a_second_attempt_is_no_open_book(crowd):
    """Right answers are not shown while an attempt is left, and other jobs come first."""
    from adjudge.studio.work.views import review_view

    created = crowd("[qualification]\nattempts = 2\njobs = 2\ncorrect = 2\n")
    ann = created.person("ann")
    first = created.through(ann, right=False)
    assert review_view(created.store.ledger, first)["mistakes"] == []
    second = created.through(ann, right=False)
    assert not {entry.name for entry in first.sets} & {entry.name for entry in second.sets}
    assert len(review_view(created.store.ledger, second)["mistakes"]) == 2


def test_leases_count_from_the_start_of_the_studio(crowd):
    """After a night off, judges have a lease's time to come back."""
    created = crowd(FREE)
    stored = created.open_work(created.person("ann"))
    created.time[0] += 50_000
    assert created.do(c.expire, created.time[0] - 100) == 0
    created.time[0] += 4_000
    assert created.do(c.expire, created.time[0] - 4_100) == 1
    assert stored.outcome == "expired"


def test_what_a_worker_passed_and_left_is_handed_in(crowd):
    """A crowd's worker who closed the page has submitted after a lease, and may take on more."""
    created = crowd(FREE)
    ann = created.person("ann")
    created.do(c.take_assignment, ann, np.random.default_rng(0), "prolific session")
    stored = created.through(ann)
    assert created.do(c.hand_in) == 0
    created.time[0] += 4_000
    assert created.do(c.hand_in) == 1
    assert stored.outcome == "submitted"
    assert stored.code
    assert created.do(c.hand_in) == 0


def test_work_on_what_is_gone_is_taken_back(crowd):
    """An open assignment with a document that the files no longer have goes back at the start."""
    created = crowd(FREE)
    stored = created.open_work(created.person("ann"))
    assert created.do(c.release_broken) == 0
    removed = created.store.ledger.items.pairs[stored.sets[0].items[0]][1]
    del created.campaign.documents._numbers[removed]
    assert created.do(c.release_broken) == 1
    assert stored.outcome == "released"


def test_a_code_is_short_unambiguous_and_unguessable():
    """Three groups of four letters without look-alikes, of more than 50 bits."""
    assert re.fullmatch(r"[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}-[2-9A-HJKMNP-Z]{4}", new_code())
    assert GROUPS * LETTERS * math.log2(len(ALPHABET)) > 50
    assert not set("01ILO") & set(ALPHABET)
    assert len(set(ALPHABET)) == len(ALPHABET)


def test_every_letter_comes_up():
    """None is left out by the draw, and no code comes twice."""
    codes = [new_code() for _ in range(500)]
    assert len(set(codes)) == 500
    assert set("".join(codes)) == {*ALPHABET, "-"}


def test_a_token_fits_an_address():
    """128 bits in 22 letters that need no escaping."""
    tokens = {new_token() for _ in range(200)}
    assert len(tokens) == 200
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", token) for token in tokens)


def sent(n, slot=0):
    """Return an answer of a page, the n-th."""
    return [{"key": f"n{n}", "slot": slot, "relevance": n % 2, "told": True, "rank": 1, "seconds": 9.0, "comment": ""}]


def test_answers_beyond_the_quota_are_refused(crowd):
    """Who changes their mind 20 times is not hindered; endless changes end with a sentence, also after a restart."""
    created = crowd(f"{FREE}[limits]\nanswers_per_document = 20\n")
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    for n in range(20):
        created.do(c.save_answers, ann, first.token, sent(n))
    created.do(c.save_answers, ann, first.token, sent(19))  # sent again: it is stored already
    message = "The answer to this document was changed 20 times. The last one that was saved counts."
    with pytest.raises(Refused, match=f"^{re.escape(message)}$"):
        created.do(c.save_answers, ann, first.token, sent(20))
    created.do(c.save_answers, ann, first.token, sent(20, slot=1))  # another document
    created.store._stale = True  # as after a restart: the ledger is read again from the rows
    with pytest.raises(Refused, match="was changed 20 times"):
        created.do(c.save_answers, ann, first.token, sent(21))


def test_a_set_whose_quota_is_used_up_can_be_finished(crowd):
    """The page sends all answers once more when the set is finished; that cannot be repeated without end either."""
    created = crowd(f"{FREE}[limits]\nanswers_per_document = 20\n")
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    for n in range(20):
        created.do(c.save_answers, ann, first.token, sent(n))
    for n in range(c.FINISHING - 1):  # one document alone is no set
        assert created.do(c.finish_set, ann, first.token, sent(20 + n))[1]
    assert created.do(c.finish_set, ann, first.token, created.answers(first, tag="last"))[1] == []
    second = created.store.ledger.assignments[first.assignment].sets[1]
    for n in range(20 + c.FINISHING):
        created.do(c.finish_set, ann, second.token, sent(n))
    with pytest.raises(Refused, match="was changed"):
        created.do(c.finish_set, ann, second.token, sent(99))


def test_the_studio_pauses_once_and_says_why(crowd):
    """A pause of the studio has its reason; the lead's pause has none, and resuming deletes it."""
    created = crowd(FREE)
    lead = created.person("lea", "lead")
    for _ in range(2):
        created.do(c.pause, "It grows.")
    switches = created.store.ledger.switches
    assert (switches["paused"], switches["pause reason"], rows_of(created, s.switches)) == ("1", "It grows.", 2)
    created.do(switch_campaign, lead, False)
    assert (switches["paused"], switches["pause reason"]) == ("0", "")
    created.do(switch_campaign, lead, True)
    assert (switches["paused"], switches["pause reason"], rows_of(created, s.switches)) == ("1", "", 5)


def test_a_campaign_is_noted_as_finished_once(crowd):
    """When every document has its judgments and nobody works; and again when an exclusion makes new work."""
    created = crowd(FREE + "[gate]\nseconds = 0\n[redundancy]\njudgments = 1\n", topics=6, pool=5, monitoring=0)
    assert created.do(c.note_finished) is None
    ann, bob = created.person("ann"), created.person("bob")
    created.through(ann)
    created.open_work(bob)
    assert created.do(c.note_finished) is None
    created.through(bob)
    assert created.do(c.note_finished) is True
    assert created.do(c.note_finished) is None
    created.do(change_standing, created.person("lea", "lead"), ann, "excluded", "bots")
    assert created.do(c.note_finished) is False
    with created.store.reading() as connection:
        actions = [what for (what,) in connection.execute(select(s.audit.c.what).where(s.audit.c.who == "studio"))]
    assert actions[-2:] == ["campaign finished", "campaign has work again"]


DRAWN = FREE + "[assignment]\ndraw_gold = true\n"


def gold_of(stored):
    """Return the gold set of an assignment."""
    (gold,) = (entry for entry in stored.sets if entry.use == "gold")
    return gold


def test_drawn_gold_differs_between_judges(file_crowd):
    """Each judge gets a gold set of their own, with all documents graded, and no document twice."""
    created = file_crowd(DRAWN, monitoring=0, gold=3)
    sets = []
    for n in range(6):
        gold = gold_of(created.open_work(created.person(f"judge {n}")))
        assert gold.name == ""
        assert None not in gold_grades(created.store.ledger, gold)
        sets.append(frozenset(gold.items))
    assert len(set(sets)) == 6


def test_nobody_gets_drawn_gold_twice_until_there_is_none(file_crowd):
    """A judge who has met too many of the graded documents gets no more work."""
    created = file_crowd(DRAWN, monitoring=0, topics=4, pool=100, gold=2)
    ann = created.person("ann")
    met = [item for _ in range(4) for item in gold_of(created.through(ann)).items]
    assert len(set(met)) == len(met) == 20
    with pytest.raises(Refused, match="You have met every check set"):
        [created.through(ann) for _ in range(5)]


def test_gold_of_work_that_was_given_up_or_ran_out_does_not_come_again(crowd):
    """A judge who takes work and gives it up, again and again, would know gold by how often it comes."""
    created = crowd(DRAWN, monitoring=0, topics=4, pool=100, gold=2)
    ann = created.person("ann")
    met = []
    for n in range(4):
        stored = created.open_work(ann)
        met += gold_of(stored).items
        if n % 2:
            created.do(c.release, ann, stored.token)
        else:
            created.time[0] += 10**5
            created.do(c.expire)
    assert len(set(met)) == len(met) == 20
    stored = created.open_work(ann)  # so that none of the assignments before is the last one
    with created.store.reading() as connection:
        again = load_ledger(connection, created.campaign)
    assert all(item in again.people[ann].met for item in met)
    assert not any(item in again.people[ann].met for part in stored.sets for item in part.items)
    assert again.items.leased.tolist() == created.store.ledger.items.leased.tolist()


def test_how_often_gold_was_shown_is_known_after_a_restart(file_crowd):
    """Also of sets that are long over: the least shown documents are drawn first."""
    created = file_crowd(DRAWN, monitoring=0, gold=2)
    ann, bob = created.person("ann"), created.person("bob")
    created.through(ann)
    created.through(ann)
    created.open_work(bob)
    with created.store.reading() as connection:
        again = load_ledger(connection, created.campaign)
    assert created.store.ledger.items.shown.sum() == 15
    assert again.items.shown.tolist() == created.store.ledger.items.shown.tolist()


def test_gold_that_was_ruled_wrong_is_not_drawn(file_crowd):
    """As with fixed sets."""
    created = file_crowd(DRAWN, monitoring=0, topics=4, pool=20, gold=2)
    graded = created.store.ledger.items.gold.values()
    created.store.ledger.overruled |= {id_ for by_grade in graded for ids in by_grade for id_ in ids[1:]}
    with pytest.raises(Refused, match="You have met every check set"):
        created.open_work(created.person("ann"))


def test_a_qualification_that_is_given_up_is_used(file_crowd):
    """Its documents were shown: taking it again and again would let a judge read them all."""
    created = file_crowd("[qualification]\nattempts = 2\njobs = 2\ncorrect = 2\n")
    ann, ledger = created.person("ann"), created.store.ledger
    first = created.open_work(ann)
    created.do(c.release, ann, first.token)
    assert ledger.people[ann].attempts == 1
    second = created.open_work(ann)
    assert not {entry.name for entry in first.sets} & {entry.name for entry in second.sets}
    created.do(c.release, ann, second.token)
    with pytest.raises(Refused, match="qualification was not passed"):
        created.open_work(ann)
    with created.store.reading() as connection:
        assert load_ledger(connection, created.campaign).people[ann].attempts == 2


def test_a_qualification_that_ran_out_is_continued(file_crowd):
    """With the same documents and the answers so far, in the same order; no attempt is used."""
    created = file_crowd()
    ann, ledger = created.person("ann"), created.store.ledger
    first = created.open_work(ann)
    created.do(c.save_answers, ann, first.sets[0].token, created.answers(first.sets[0])[:2])
    answers = [list(part.answers) for part in first.sets]
    created.time[0] += 10**5
    created.do(c.expire)
    second = created.open_work(ann)
    assert second is not first
    assert [part.items for part in second.sets] == [part.items for part in first.sets]
    assert [part.answers for part in second.sets] == answers
    assert not {part.token for part in first.sets} & {part.token for part in second.sets}
    assert ledger.people[ann].attempts == 0
    assert created.through(ann).outcome == "passed"


def test_a_hasty_set_is_held_and_not_returned(file_crowd):
    """The page asks to hold it: the set stays open with the seconds that each document needs; then it is finished."""
    created = file_crowd(FREE, monitoring=0)
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    answers = created.answers(first)
    answers[1]["seconds"] = answers[3]["seconds"] = 2.5
    created.time[0] += 60
    _, found = created.do(c.finish_set, ann, first.token, answers, hold=True)
    assert [(problem.kind, problem.slots) for problem in found] == [("brief", (1,)), ("brief", (3,))]
    assert first.finished is None
    now = created.time[0]
    assert c.missing_seconds(created.store.ledger, now, first, first.answers) == [0.0, 3.5, 0.0, 3.5, 0.0]
    later = [row | {"key": f"later {row['slot']}", "seconds": 10.0} for row in answers]
    assert created.do(c.finish_set, ann, first.token, later, hold=True)[1] == []


def test_the_clock_of_the_studio_decides_what_is_missing(file_crowd):
    """Claims of a page beyond the time that has passed do not count; a qualification has no time gate."""
    created = file_crowd(FREE, monitoring=0)
    first = created.open_work(created.person("ann")).sets[0]
    created.time[0] += 10
    answers = created.answers(first)
    claimed = [c.Answer(1, True, 1, row["seconds"]) for row in answers]
    assert c.missing_seconds(created.store.ledger, created.time[0], first, claimed) == [4.0] * 5
    qualifying = file_crowd()
    part = qualifying.open_work(qualifying.person("bob")).sets[0]
    assert c.missing_seconds(qualifying.store.ledger, qualifying.time[0], part, part.answers) == [0.0] * 5

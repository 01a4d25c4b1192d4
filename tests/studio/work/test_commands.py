import contextlib
import math
import re

import numpy as np
import pytest
from sqlalchemy import func, select

from adjudge.studio.record import schema as s
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
    made = crowd(FREE, monitoring=0)
    held = made.open_work(made.person("ann"))
    assert [len(one.items) for one in held.sets] == [5] * 6
    assert sorted(one.use for one in held.sets) == ["gold"] + ["work"] * 5


def test_no_topic_comes_twice(crowd):
    """Gold and monitoring have topics of their own too: a topic that came twice would tell which sets they are."""
    made = crowd(FREE, topics=8)
    for n in range(6):
        held = made.open_work(made.person(f"judge {n}"))
        assert len({made.store.ledger.items.pairs[one.items[0]][0] for one in held.sets}) == 6


def test_gold_stands_anywhere(crowd):
    """Gold is as often at one place as at another."""
    made = crowd(FREE, monitoring=0, topics=40)
    places = []
    for n in range(40):
        held = made.open_work(made.person(f"judge {n}"))
        places += [one.position for one in held.sets if one.use == "gold"]
    assert set(places) == set(range(6))


def test_taking_twice_gives_the_same(crowd):
    """An open assignment is given again, on any machine."""
    made = crowd(FREE)
    ann = made.person("ann")
    assert made.open_work(ann) is made.open_work(ann)
    assert rows_of(made, s.assignments) == 1


def test_monitoring_is_for_everyone_once(crowd):
    """Every judge has each monitoring set once."""
    made = crowd(FREE, topics=12)
    for name in ("ann", "bob"):
        who = made.person(name)
        uses = [sorted(one.use for one in made.through(who).sets) for _ in range(2)]
        assert uses[0].count("monitoring") == 1
        assert uses[1].count("monitoring") == 0


def test_qualification_comes_first(crowd):
    """Who is new has four jobs of five, each with one gold pair; who passes may work."""
    made = crowd()
    ann = made.person("ann")
    held = made.through(ann)
    assert held.kind == "qualification"
    assert [len(one.items) for one in held.sets] == [5] * 4
    assert held.outcome == "passed"
    assert made.store.ledger.people[ann].standing == "qualified"
    assert rows_of(made, s.judgments) == 0
    assert made.open_work(ann).kind == "work"


def test_failing_the_qualification_ends_it(crowd):
    """Who fails the only attempt gets no work, and is told why."""
    made = crowd()
    ann = made.person("ann")
    assert made.through(ann, right=False).outcome == "returned"
    with pytest.raises(Refused, match="qualification was not passed"):
        made.open_work(ann)


def test_second_attempt_where_there_is_one(crowd):
    """With two attempts, failing once leaves another."""
    made = crowd("[qualification]\nattempts = 2\n")
    ann = made.person("ann")
    made.through(ann, right=False)
    assert made.through(ann).outcome == "passed"


def test_passing_makes_judgments_and_returning_none(crowd):
    """Judgments of an assignment count if it passes; slots are free again either way."""
    made = crowd(FREE, monitoring=0)
    ann, bob = made.person("ann"), made.person("bob")
    held = made.through(ann)
    items = made.store.ledger.items
    work = [item for one in held.sets if one.use == "work" for item in one.items]
    assert held.outcome == "passed"
    assert rows_of(made, s.judgments) == 30
    assert set(items.judged[work]) == {1}
    assert made.through(bob, right=False).outcome == "returned"
    assert rows_of(made, s.judgments) == 30
    assert items.judged.sum() == 25
    assert not items.leased.any()


@pytest.mark.parametrize(("seconds", "outcome"), [(6.0, "passed"), (5.9, "returned")])
def test_haste_is_returned(crowd, seconds, outcome):
    """A document judged in less than six seconds refuses the whole assignment."""
    made = crowd(FREE, monitoring=0)
    held = made.through(made.person("ann"), seconds=seconds)
    assert held.outcome == outcome
    assert held.failed == (() if outcome == "passed" else ("time",))


def test_claimed_time_is_bounded_by_the_studios_clock(crowd):
    """A page that claims ten seconds a document within one second is not believed."""
    made = crowd(FREE, monitoring=0)
    ann = made.person("ann")
    held = made.open_work(ann)
    for one in held.sets:
        made.time[0] += 1
        made.do(c.finish_set, ann, one.token, made.answers(one, seconds=10.0))
    assert held.failed == ("time",)


def test_incompatible_sets_cannot_be_left_but_are_saved(crowd):
    """The answers that came along are kept; the problems name the two documents."""
    made = crowd(FREE)
    ann = made.person("ann")
    one = made.open_work(ann).sets[0]
    given = made.answers(one)
    for slot, (relevance, rank) in enumerate([(1, 5), (0, 1), (1, 2), (1, 3), (1, 4)]):
        given[slot] |= {"relevance": relevance, "rank": rank}
    _, wrong = made.do(c.finish_set, ann, one.token, given)
    assert any(problem.kind == "order" and problem.slots == (0, 1) for problem in wrong)
    assert one.finished is None
    assert rows_of(made, s.answers) == 5


def test_an_answer_sent_twice_is_one(crowd):
    """A key that is known adds nothing, and is acknowledged."""
    made = crowd(FREE)
    ann = made.person("ann")
    one = made.open_work(ann).sets[0]
    given = made.answers(one)[:2]
    assert made.do(c.save_answers, ann, one.token, given) == ["0", "1"]
    assert made.do(c.save_answers, ann, one.token, given) == ["0", "1"]
    assert rows_of(made, s.answers) == 2


def test_finishing_twice_is_once(crowd):
    """A finished set stays finished, and can no longer be changed."""
    made = crowd(FREE)
    ann = made.person("ann")
    one = made.open_work(ann).sets[0]
    given = made.answers(one)
    made.do(c.finish_set, ann, one.token, given)
    made.do(c.finish_set, ann, one.token, given)
    assert rows_of(made, s.finishes) == 1
    with pytest.raises(Refused, match="can no longer be changed"):
        made.do(c.save_answers, ann, one.token, given)


def test_later_sets_wait(crowd):
    """The set after next cannot be answered yet."""
    made = crowd(FREE)
    ann = made.person("ann")
    held = made.open_work(ann)
    with pytest.raises(Refused, match="set before this one"):
        made.do(c.save_answers, ann, held.sets[1].token, [])


@pytest.mark.parametrize(("change", "told"), [({"slot": 5}, "no slot 5"), ({"rank": 6}, "no rank 6")])
def test_answers_off_the_set_are_refused(crowd, change, told):
    """Slots and ranks are those of the set."""
    made = crowd(FREE)
    ann = made.person("ann")
    one = made.open_work(ann).sets[0]
    with pytest.raises(Refused, match=told):
        made.do(c.save_answers, ann, one.token, [made.answers(one)[0] | change])


def test_others_are_told_nothing(crowd):
    """A set is its judge's alone."""
    made = crowd(FREE)
    token = made.open_work(made.person("ann")).sets[0].token
    with pytest.raises(Refused, match="no such set"):
        made.do(c.save_answers, made.person("bob"), token, [])


def test_leases_end(crowd):
    """An assignment nobody works on goes back after an hour; work holds it."""
    made = crowd(FREE)
    ann, bob = made.person("ann"), made.person("bob")
    first, second = made.open_work(ann), made.open_work(bob)
    made.time[0] += 3_000
    made.do(c.save_answers, bob, second.sets[0].token, made.answers(second.sets[0])[:1])
    made.time[0] += 700
    assert made.do(c.expire) == 1
    assert (first.outcome, second.outcome) == ("expired", "")
    with pytest.raises(Refused, match="is over"):
        made.do(c.save_answers, ann, first.sets[0].token, [])
    work = [item for one in first.sets if one.use == "work" for item in one.items]
    held = [item for one in second.sets if one.use == "work" for item in one.items]
    assert made.store.ledger.items.leased.sum() == len(held)
    assert made.store.ledger.items.leased[list(set(work) - set(held))].sum() == 0


def test_keeping_alive_holds_the_lease(crowd):
    """A judge who reads for long keeps what they have."""
    made = crowd(FREE)
    ann = made.person("ann")
    held = made.open_work(ann)
    for _ in range(3):
        made.time[0] += 3_000
        made.do(c.keep_alive, ann, held.sets[0].token)
        assert made.do(c.expire) == 0


def test_no_item_beyond_its_judgments(crowd):
    """When all is judged three times there is nothing left, and no item has more."""
    made = crowd(FREE + "[pay]\nmost_returns = 100\n", topics=6, monitoring=0)
    people = [made.person(f"judge {n}") for n in range(6)]
    for _ in range(8):
        for who in people:
            with contextlib.suppress(Refused):
                made.through(who)
    items = made.store.ledger.items
    assert set(items.judged[items.pooled]) == {3}
    with made.store.reading() as connection:
        twice = select(s.judgments.c.item).group_by(s.judgments.c.item, s.judgments.c.person).having(func.count() > 1)
        assert connection.execute(twice).all() == []


def test_gold_is_never_repeated_and_runs_out(crowd):
    """A judge meets a gold set once; when none is left there is no more work, and the reason is said."""
    made = crowd(FREE, topics=2, pool=100, gold=1, monitoring=0, jobs=0)
    ann = made.person("ann")
    met = [one.name for _ in range(2) for one in made.through(ann).sets if one.use == "gold"]
    assert sorted(met) == ["gold-0-0", "gold-1-0"]
    with pytest.raises(Refused, match="every check set"):
        made.open_work(ann)


def test_cannot_tell_is_kept_and_asked_of_another(crowd):
    """Who cannot tell has not judged: the item still needs all of its judgments, by others."""
    made = crowd(FREE, monitoring=0)
    ann = made.person("ann")
    held = made.open_work(ann)
    for one in held.sets:
        made.time[0] += 60
        given = made.answers(one)
        if one.use == "work":
            given[0] |= {"relevance": None}
        made.do(c.finish_set, ann, one.token, given)
    ledger = made.store.ledger
    unsure = [one.items[0] for one in held.sets if one.use == "work"]
    assert not ledger.items.judged[unsure].any()
    assert all(item in ledger.people[ann].met for item in unsure)


def test_three_returns_pause_a_judge(crowd):
    """Whose assignments are returned three times is paused, and told so."""
    made = crowd(FREE, topics=12)
    ann = made.person("ann")
    for _ in range(3):
        made.through(ann, right=False)
    with pytest.raises(Refused, match="3 assignments did not pass"):
        made.open_work(ann)


def test_submitting_gives_one_code(crowd):
    """The code of an assignment stays the same; one that was returned has none."""
    made = crowd(FREE)
    ann, bob = made.person("ann"), made.person("bob")
    held = made.through(ann)
    _, code = made.do(c.submit, ann, held.token)
    assert len(code) >= 9
    assert made.do(c.submit, ann, held.token)[1] == code
    with pytest.raises(Refused, match="passed its checks"):
        made.do(c.submit, bob, made.through(bob, right=False).token)


def test_contesting_gold(crowd):
    """Gold can be contested once it has been shown, once for each document."""
    made = crowd(FREE)
    ann = made.person("ann")
    held = made.open_work(ann)
    gold = next(one for one in held.sets if one.use == "gold")
    with pytest.raises(Refused, match="finished and reviewed"):
        made.do(c.contest, ann, gold.token, 0, "no")
    made.through(ann, right=False)
    for _ in range(2):
        made.do(c.contest, ann, gold.token, 0, "it is about oaks")
    assert rows_of(made, s.contests) == 1
    other = next(one for one in held.sets if one.use == "work")
    with pytest.raises(Refused, match="shows no mistake"):
        made.do(c.contest, ann, other.token, 0, "no")


def test_releasing_frees_the_items(crowd):
    """Who gives an assignment up may have the same documents again, and others may."""
    made = crowd(FREE)
    ann = made.person("ann")
    held = made.open_work(ann)
    made.do(c.release, ann, held.token)
    assert not made.store.ledger.items.leased.any()
    assert made.open_work(ann) is not held


def test_adaptive_items_stop_when_sure(crowd):
    """With adaptive redundancy an item of which enough is known is not given out again; others are, up to the most."""
    made = crowd(FREE + "[redundancy]\nadaptive = true\nleast = 2\nmost = 4\ntarget = 0.9\n", topics=6, monitoring=0)
    ledger = made.store.ledger
    sure = int(np.flatnonzero(ledger.items.pooled)[0])
    ledger.belief = np.full(len(ledger.items.pairs), 0.5)
    ledger.belief[sure] = 0.99
    for n in range(12):
        try:
            made.through(made.person(f"judge {n}"))
        except Refused:
            break
    judged = ledger.items.judged
    assert judged[sure] == 2
    assert judged[ledger.items.pooled].max() == 4


def test_contesting_is_for_work_that_was_done(crowd):
    """Who gives an assignment up learns nothing of gold by contesting it."""
    made = crowd(FREE)
    ann = made.person("ann")
    held = made.open_work(ann)
    made.do(c.release, ann, held.token)
    for one in held.sets:
        with pytest.raises(Refused, match="finished and reviewed"):
            made.do(c.contest, ann, one.token, 0, "no")


def test_gold_that_was_ruled_wrong_grades_nobody(crowd):
    """A document whose contest was upheld is not graded any more, and its set is not given out again."""
    made = crowd(FREE, gold=1)
    ann, bob = made.person("ann"), made.person("bob")
    gold = next(one for one in made.through(ann, right=False).sets if one.use == "gold")
    early = made.open_work(bob)
    made.do(c.contest, ann, gold.token, 0, "wrong")
    ledger = made.store.ledger

    def uphold(ledger, now):
        row = {"id": 1, "at": now, "contest": 1, "upheld": 1, "reason": "", "by": None}
        return Change([(s.rulings, row)])

    made.do(uphold)
    assert ledger.overruled == {gold.items[0]}
    assert gold_grades(ledger, gold)[0] is None
    assert early.id in ledger.assignments
    for n in range(20):
        held = made.open_work(made.person(f"judge {n}"))
        assert gold.name not in {one.name for one in held.sets}


def test_sets_with_a_document_one_has_judged_are_not_given(crowd):
    """Gold made of documents that a judge met as work is not gold for that judge, and loses nobody's work."""
    made = crowd(FREE, topics=2, pool=100, gold=1, monitoring=0, jobs=0)
    ann = made.person("ann")
    ledger = made.store.ledger
    for one in made.campaign.sets:
        if one.name == "gold-0-0":
            ledger.people[ann].met.add(ledger.items.ids[one.topic, one.documents[0]])
    assert [one.name for one in made.open_work(ann).sets if one.use == "gold"] == ["gold-1-0"]


def test_what_was_judged_elsewhere_meanwhile_stays(crowd):
    """A judgment imported while its item was out is kept as it was; the rest of the assignment is accepted."""
    made = crowd(FREE, monitoring=0)
    ann = made.person("ann")
    held = made.open_work(ann)
    item = next(one.items[0] for one in held.sets if one.use == "work")

    def bring(ledger, now):
        row = {"id": 1, "at": now, "item": item, "person": ann, "assignment": None, "use": "imported"}
        return Change([(s.judgments, {**row, "relevance": 0, "rank": None, "seconds": None, "comment": ""})])

    made.do(bring)
    assert made.through(ann).outcome == "passed"
    assert rows_of(made, s.judgments) == 30
    assert made.store.ledger.items.judged[item] == 1


def test_a_lead_s_pause_outlives_the_qualification(crowd):
    """What a person decided is not undone by an outcome."""
    made = crowd()
    ann = made.person("ann")
    made.open_work(ann)

    def pause(ledger, now):
        row = {"id": 1, "at": now, "person": ann, "standing": "paused", "reason": "fraud?", "by": None}
        return Change([(s.standings, row)])

    made.do(pause)
    assert made.through(ann).outcome == "passed"
    assert made.store.ledger.people[ann].standing == "paused"


def test_a_second_attempt_is_no_open_book(crowd):
    """Right answers are not shown while an attempt is left, and other jobs come first."""
    from adjudge.studio.work.views import review_view

    made = crowd("[qualification]\nattempts = 2\njobs = 2\ncorrect = 2\n")
    ann = made.person("ann")
    first = made.through(ann, right=False)
    assert review_view(made.store.ledger, first)["mistakes"] == []
    second = made.through(ann, right=False)
    assert not {one.name for one in first.sets} & {one.name for one in second.sets}
    assert len(review_view(made.store.ledger, second)["mistakes"]) == 2


def test_leases_count_from_the_start_of_the_studio(crowd):
    """After a night off, judges have a lease's time to come back."""
    made = crowd(FREE)
    held = made.open_work(made.person("ann"))
    made.time[0] += 50_000
    assert made.do(c.expire, made.time[0] - 100) == 0
    made.time[0] += 4_000
    assert made.do(c.expire, made.time[0] - 4_100) == 1
    assert held.outcome == "expired"


def test_what_a_worker_passed_and_left_is_handed_in(crowd):
    """A crowd's worker who closed the page has submitted after a lease, and may take on more."""
    made = crowd(FREE)
    ann = made.person("ann")
    made.do(c.take_assignment, ann, np.random.default_rng(0), "prolific session")
    held = made.through(ann)
    assert made.do(c.hand_in) == 0
    made.time[0] += 4_000
    assert made.do(c.hand_in) == 1
    assert held.outcome == "submitted"
    assert held.code
    assert made.do(c.hand_in) == 0


def test_work_on_what_is_gone_is_taken_back(crowd):
    """An open assignment with a document that the files no longer have goes back at the start."""
    made = crowd(FREE)
    held = made.open_work(made.person("ann"))
    assert made.do(c.release_broken) == 0
    gone = made.store.ledger.items.pairs[held.sets[0].items[0]][1]
    del made.campaign.documents._numbers[gone]
    assert made.do(c.release_broken) == 1
    assert held.outcome == "released"


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

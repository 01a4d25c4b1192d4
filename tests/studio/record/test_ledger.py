from types import SimpleNamespace

import numpy as np

from adjudge.studio.record import schema as s
from adjudge.studio.record.store import Change
from adjudge.studio.work import commands as c

FREE = "[qualification]\nrequired = false\n"


def stand(ledger, now, person, standing):
    """Change what a person may do."""
    row = {"id": ledger.next_id(s.standings), "at": now, "person": person, "standing": standing, "reason": "x"}
    return Change([(s.standings, {**row, "by": None})])


def test_excluding_sets_judgments_aside_and_reinstating_brings_them_back(file_crowd):
    """The items of an excluded judge need judging again."""
    made = file_crowd(FREE)
    ann, bob = made.person("ann"), made.person("bob")
    made.through(ann)
    made.through(bob)
    before = made.store.ledger.items.judged.copy()
    made.do(stand, ann, "excluded")
    assert made.store.ledger.items.judged.sum() == len(made.store.ledger.people[bob].counted)
    made.do(stand, ann, "qualified")
    assert made.store.ledger.items.judged.tolist() == before.tolist()


def test_only_the_last_assignment_is_kept(file_crowd):
    """Memory does not grow with what is long over; its sets can no longer be asked for."""
    made = file_crowd(FREE, topics=12)
    ann = made.person("ann")
    first = made.through(ann)
    second = made.open_work(ann)
    ledger = made.store.ledger
    assert list(ledger.assignments) == [second.id]
    assert set(ledger.set_of) == {one.token for one in second.sets}
    assert first.token not in ledger.assignment_of


def test_judgments_revise_what_is_believed(file_crowd):
    """Each accepted judgment moves its item by Bayes' rule; a newer consensus keeps those it did not know."""
    made = file_crowd(FREE, monitoring=0)
    ledger = made.store.ledger
    matrix = np.array([[0.8, 0.2], [0.1, 0.9]])

    def found(belief, upto):
        array = np.full(len(ledger.items.pairs), belief)
        return SimpleNamespace(array=array, typical=matrix, upto=upto, confusion=lambda person: matrix)

    ledger.believe(found(0.5, 0))
    held = made.through(made.person("ann"))
    item = next(one.items[0] for one in held.sets if one.use == "work")
    assert ledger.belief[item] == 0.9 / 1.1  # she calls everything relevant
    ledger.believe(found(0.4, 0))
    assert np.isclose(ledger.belief[item], 0.4 * 0.9 / (0.4 * 0.9 + 0.6 * 0.2))
    ledger.believe(found(0.4, 10**6))
    assert ledger.belief[item] == 0.4
    assert ledger.since == []


def test_a_judge_works_on_one_thing_at_a_time(file_crowd):
    """What is open counts as out, once a slot."""
    made = file_crowd(FREE)
    held = made.open_work(made.person("ann"))
    leased = made.store.ledger.items.leased
    assert leased.sum() == 5 * sum(one.use == "work" for one in held.sets)
    assert made.store.ledger.open_assignments() == [held]
    made.time[0] += 10**6
    made.do(c.expire)
    assert made.store.ledger.open_assignments() == []
    assert leased.sum() == 0

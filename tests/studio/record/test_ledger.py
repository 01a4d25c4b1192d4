"""The ledger: what rows change, and that a restart changes nothing."""

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np

from adjudge.studio.record import schema as s
from adjudge.studio.record.ledger import load_ledger
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
    assert ledger.belief[item] == 0.9 / 1.1  # this judge calls everything relevant
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


def state(ledger):
    """Return all that a ledger says, in a form that can be compared."""
    people = {}
    for number, person in ledger.people.items():
        fields = {slot: getattr(person, slot) for slot in person.__slots__ if slot not in ("met", "counted")}
        ids = np.arange(len(ledger.items.pairs))
        people[number] = fields | {"met": person.met.among(ids).tolist(), "counted": sorted(person.counted)}
    return {
        "people": people,
        "assignments": {number: asdict(one) for number, one in ledger.assignments.items()},
        "judged": ledger.items.judged.tolist(),
        "leased": ledger.items.leased.tolist(),
        "pooled": ledger.items.pooled.tolist(),
        "ids": {name: ledger._last_id.get(name) for name in sorted(ledger._last_id) if ledger._last_id[name]},
        "link": ledger.link,
        "switches": ledger.switches,
        "tokens": ledger.tokens,
    }


def test_a_restart_changes_nothing(crowd):
    """After every kind of event the ledger read back is the one that was."""
    made = crowd("[qualification]\nrequired = false\n[pay]\nmost_returns = 9\n", topics=12)
    people = [made.person(name) for name in ("ann", "bob", "cid", "dan", "eva")]
    for n, who in enumerate(people):
        made.through(who, right=n != 1)
        made.through(who, right=n != 2)
    held = made.store.ledger.assignments[made.store.ledger.people[people[0]].last]
    made.do(c.submit, people[0], held.token)
    opened = made.open_work(people[3])
    made.do(c.choose_language, people[3], "de")
    given = {"key": "a", "slot": 0, "relevance": None, "told": True, "rank": 2, "seconds": 3.0, "comment": "hm"}
    made.do(c.save_answers, people[3], opened.sets[0].token, [given])
    made.do(c.release, people[4], made.open_work(people[4]).token)
    with made.store.reading() as connection:
        again = load_ledger(connection, made.campaign)
    before, after = state(made.store.ledger), state(again)
    for one in (*before["assignments"].values(), *after["assignments"].values()):
        one.pop("active")  # a lease that was held without an answer starts from the last answer
    assert after == before


def test_numbers_of_items_tell_nothing(file_crowd):
    """Items are numbered by chance: the pool does not come before fixed sets, nor in the order of its file."""
    made = file_crowd(topics=12)
    pairs = [pair for pair in made.store.ledger.items.pairs if pair and pair[0]]
    pool = set(made.campaign.pool)
    kinds = [pair in pool for pair in pairs]
    assert True in kinds[kinds.index(False) :]
    assert [pair for pair in pairs if pair in pool] != list(made.campaign.pool)

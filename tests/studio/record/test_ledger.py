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
    created = file_crowd(FREE)
    ann, bob = created.person("ann"), created.person("bob")
    created.through(ann)
    created.through(bob)
    before = created.store.ledger.items.judged.copy()
    created.do(stand, ann, "excluded")
    assert created.store.ledger.items.judged.sum() == len(created.store.ledger.people[bob].counted)
    created.do(stand, ann, "qualified")
    assert created.store.ledger.items.judged.tolist() == before.tolist()


def test_only_the_last_assignment_is_kept(file_crowd):
    """Memory does not grow with what is long over; its sets can no longer be asked for."""
    created = file_crowd(FREE, topics=12)
    ann = created.person("ann")
    first = created.through(ann)
    second = created.open_work(ann)
    ledger = created.store.ledger
    assert list(ledger.assignments) == [second.id]
    assert set(ledger.set_of) == {entry.token for entry in second.sets}
    assert first.token not in ledger.assignment_of


def test_judgments_revise_what_is_believed(file_crowd):
    """Each accepted judgment moves its item by Bayes' rule; a newer consensus keeps those it did not know."""
    created = file_crowd(FREE, monitoring=0)
    ledger = created.store.ledger
    matrix = np.array([[0.8, 0.2], [0.1, 0.9]])

    def found(belief, upto):
        array = np.full(len(ledger.items.pairs), belief)
        return SimpleNamespace(array=array, typical=matrix, upto=upto, confusion=lambda person: matrix)

    ledger.believe(found(0.5, 0))
    stored = created.through(created.person("ann"))
    item = next(entry.items[0] for entry in stored.sets if entry.use == "work")
    assert ledger.belief[item] == 0.9 / 1.1  # this judge calls everything relevant
    ledger.believe(found(0.4, 0))
    assert np.isclose(ledger.belief[item], 0.4 * 0.9 / (0.4 * 0.9 + 0.6 * 0.2))
    ledger.believe(found(0.4, 10**6))
    assert ledger.belief[item] == 0.4
    assert ledger.since == []


def test_a_judge_works_on_one_thing_at_a_time(file_crowd):
    """What is open counts as out, once a slot."""
    created = file_crowd(FREE)
    stored = created.open_work(created.person("ann"))
    leased = created.store.ledger.items.leased
    assert leased.sum() == 5 * sum(entry.use == "work" for entry in stored.sets)
    assert created.store.ledger.open_assignments() == [stored]
    created.time[0] += 10**6
    created.do(c.expire)
    assert created.store.ledger.open_assignments() == []
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
        "assignments": {number: asdict(entry) for number, entry in ledger.assignments.items()},
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
    created = crowd("[qualification]\nrequired = false\n[pay]\nmost_returns = 9\n", topics=12)
    people = [created.person(name) for name in ("ann", "bob", "cid", "dan", "eva")]
    for n, who in enumerate(people):
        created.through(who, right=n != 1)
        created.through(who, right=n != 2)
    assignment = created.store.ledger.assignments[created.store.ledger.people[people[0]].last]
    created.do(c.submit, people[0], assignment.token)
    opened = created.open_work(people[3])
    created.do(c.choose_language, people[3], "de")
    inputs = {"key": "a", "slot": 0, "relevance": None, "told": True, "rank": 2, "seconds": 3.0, "comment": "hm"}
    created.do(c.save_answers, people[3], opened.sets[0].token, [inputs])
    created.do(c.release, people[4], created.open_work(people[4]).token)
    with created.store.reading() as connection:
        again = load_ledger(connection, created.campaign)
    before, after = state(created.store.ledger), state(again)
    for entry in (*before["assignments"].values(), *after["assignments"].values()):
        entry.pop("active")  # a lease that was held without an answer starts from the last answer
    assert after == before


def test_numbers_of_items_tell_nothing(file_crowd):
    """Items are numbered by chance: the pool does not come before fixed sets, nor in the order of its file."""
    created = file_crowd(topics=12)
    pairs = [pair for pair in created.store.ledger.items.pairs if pair and pair[0]]
    pool = set(created.campaign.pool)
    kinds = [pair in pool for pair in pairs]
    assert True in kinds[kinds.index(False) :]
    assert [pair for pair in pairs if pair in pool] != list(created.campaign.pool)

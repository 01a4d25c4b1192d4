from dataclasses import asdict

import numpy as np

from adjudge.studio.record.restore import restored
from adjudge.studio.work import commands as c


def told(ledger):
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
        again = restored(connection, made.campaign)
    before, after = told(made.store.ledger), told(again)
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

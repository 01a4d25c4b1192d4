import json

import pytest

from adjudge.studio.records import Refused
from adjudge.studio.work import commands as c
from adjudge.studio.work import views as v
from adjudge.studio.work.commands import submit

FREE = "[qualification]\nrequired = false\n"
SECRETS = ("gold", "because", "grade", "monitoring", "qualification", "use")


def test_a_set_says_nothing_of_what_it_is_for(file_crowd):
    """Gold, monitoring and ordinary sets have the same fields, and no word of gold."""
    created = file_crowd(FREE)
    stored = created.open_work(created.person("ann"))
    views = [v.set_view(created.store.ledger, entry) for entry in stored.sets]
    assert {entry.use for entry in stored.sets} == {"gold", "monitoring", "work"}
    assert len({json.dumps(sorted(view)) for view in views}) == 1
    assert len({json.dumps([sorted(row) for row in view["documents"]]) for view in views}) == 1
    assert not [word for word in SECRETS for view in views if word in json.dumps(view)]


def test_an_assignment_shows_the_set_at_hand_and_the_next(file_crowd):
    """Two sets are told at a time: the one before the judge, and the one to be fetched ahead."""
    created = file_crowd(FREE)
    ann = created.person("ann")
    stored = created.open_work(ann)
    for at, entry in enumerate(stored.sets):
        view = v.assignment_view(created.store.ledger, created.time[0], stored)
        assert (view["finished"], view["set"]["token"]) == (at, entry.token)
        assert (view["next"] or {}).get("token") == (stored.sets[at + 1].token if at < 5 else None)
        created.time[0] += 60
        created.do(c.finish_set, ann, entry.token, created.answers(entry))


def test_the_lease_counts_down(file_crowd):
    """A judge sees for how long the work is kept."""
    created = file_crowd(FREE)
    stored = created.open_work(created.person("ann"))
    assert v.seconds_left(created.store.ledger, created.time[0] + 100, stored) == 3_500
    assert v.seconds_left(created.store.ledger, created.time[0] + 99_999, stored) == 0


def test_saved_answers_come_back(file_crowd):
    """Whoever goes on elsewhere finds what was answered."""
    created = file_crowd(FREE)
    ann = created.person("ann")
    first = created.open_work(ann).sets[0]
    inputs = created.answers(first)[2] | {"comment": "hm", "relevance": None}
    created.do(c.save_answers, ann, first.token, [inputs])
    displayed = v.set_view(created.store.ledger, first)["documents"][2]
    result = {name: displayed[name] for name in ("relevance", "told", "rank", "seconds", "comment")}
    assert result == {"relevance": None, "told": True, "rank": inputs["rank"], "seconds": 10.0, "comment": "hm"}


def test_stages(file_crowd):
    """What a judge does next, in order: qualify, work, review, work again."""
    created = file_crowd()
    ann = created.person("ann")

    def stage():
        return v.state_view(created.store.ledger, created.time[0], ann)["stage"]

    rows = [stage()]
    created.through(ann)
    rows.append(stage())
    created.do(c.submit, ann, created.store.ledger.assignments[created.store.ledger.people[ann].last].token)
    rows.append(stage())
    created.open_work(ann)
    rows.append(stage())
    assert rows == ["qualification", "review", "work", "work"]


def test_a_returned_assignment_can_still_be_reviewed(file_crowd):
    """Its review comes with the state until the judge goes on."""
    created = file_crowd(FREE)
    ann = created.person("ann")
    created.through(ann, right=False)
    state = v.state_view(created.store.ledger, created.time[0], ann)
    assert state["stage"] == "work"
    assert not state["review"]["passed"]
    assert state["review"]["may"] == {"submit": False, "again": True}
    failed = [row["name"] for row in state["review"]["criteria"] if not row["passed"]]
    assert failed == ["binary", "ndcg"]


def test_monitoring_is_never_reviewed(file_crowd):
    """Only sets that are graded show right answers."""
    created = file_crowd(FREE)
    stored = created.through(created.person("ann"), right=False)
    tokens = {row["set"] for row in v.review_view(created.store.ledger, stored)["mistakes"]}
    assert tokens == {entry.token for entry in stored.sets if entry.use == "gold"}


def test_an_open_assignment_has_no_review(file_crowd):
    """Right answers are shown after the end."""
    created = file_crowd(FREE)
    stored = created.open_work(created.person("ann"))
    with pytest.raises(Refused, match="nothing to review"):
        v.review_view(created.store.ledger, stored)


def test_rules_are_told_in_advance(file_crowd):
    """The rules name the gates as the settings have them."""
    rules = v.rules_view(file_crowd().store.ledger, 2e9)
    assert {name: rules[name] for name in ("sets", "documents", "binary", "ndcg", "seconds")} == {
        "sets": 6,
        "documents": 5,
        "binary": 0.85,
        "ndcg": 0.62,
        "seconds": 6.0,
    }
    assert rules["qualification"] == {"jobs": 4, "gold": 4, "correct": 3, "attempts": 1}


def test_the_last_review_stays_within_reach(file_crowd):
    """Until the next assignment, also of work that was submitted: a known answer can still be contested."""
    created = file_crowd(FREE, monitoring=0)
    ann, ledger = created.person("ann"), created.store.ledger
    assert v.state_view(ledger, created.time[0], ann)["last"] is None
    stored = created.through(ann)
    created.do(submit, ann, stored.token)
    state = v.state_view(ledger, created.time[0], ann)
    assert (state["review"], state["last"]) == (None, stored.token)
    created.open_work(ann)
    assert v.state_view(ledger, created.time[0], ann)["last"] is None

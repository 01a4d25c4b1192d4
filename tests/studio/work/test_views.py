import json

import pytest

from adjudge.studio.records import Refused
from adjudge.studio.work import commands as c
from adjudge.studio.work import views as v

FREE = "[qualification]\nrequired = false\n"
SECRETS = ("gold", "because", "grade", "monitoring", "qualification", "use")


def test_a_set_says_nothing_of_what_it_is_for(file_crowd):
    """Gold, monitoring and ordinary sets have the same fields, and no word of gold."""
    made = file_crowd(FREE)
    held = made.open_work(made.person("ann"))
    views = [v.set_view(made.store.ledger, one) for one in held.sets]
    assert {one.use for one in held.sets} == {"gold", "monitoring", "work"}
    assert len({json.dumps(sorted(view)) for view in views}) == 1
    assert len({json.dumps([sorted(row) for row in view["documents"]]) for view in views}) == 1
    assert not [word for word in SECRETS for view in views if word in json.dumps(view)]


def test_an_assignment_shows_the_set_at_hand_and_the_next(file_crowd):
    """Two sets are told at a time: the one before the judge, and the one to be fetched ahead."""
    made = file_crowd(FREE)
    ann = made.person("ann")
    held = made.open_work(ann)
    for at, one in enumerate(held.sets):
        view = v.assignment_view(made.store.ledger, made.time[0], held)
        assert (view["finished"], view["set"]["token"]) == (at, one.token)
        assert (view["next"] or {}).get("token") == (held.sets[at + 1].token if at < 5 else None)
        made.time[0] += 60
        made.do(c.finish_set, ann, one.token, made.answers(one))


def test_the_lease_counts_down(file_crowd):
    """A judge sees for how long the work is kept."""
    made = file_crowd(FREE)
    held = made.open_work(made.person("ann"))
    assert v.seconds_left(made.store.ledger, made.time[0] + 100, held) == 3_500
    assert v.seconds_left(made.store.ledger, made.time[0] + 99_999, held) == 0


def test_saved_answers_come_back(file_crowd):
    """Whoever goes on elsewhere finds what was answered."""
    made = file_crowd(FREE)
    ann = made.person("ann")
    one = made.open_work(ann).sets[0]
    given = made.answers(one)[2] | {"comment": "hm", "relevance": None}
    made.do(c.save_answers, ann, one.token, [given])
    shown = v.set_view(made.store.ledger, one)["documents"][2]
    told = {name: shown[name] for name in ("relevance", "told", "rank", "seconds", "comment")}
    assert told == {"relevance": None, "told": True, "rank": given["rank"], "seconds": 10.0, "comment": "hm"}


def test_stages(file_crowd):
    """What a judge does next, in order: qualify, work, review, work again."""
    made = file_crowd()
    ann = made.person("ann")

    def stage():
        return v.state_view(made.store.ledger, made.time[0], ann)["stage"]

    seen = [stage()]
    made.through(ann)
    seen.append(stage())
    made.do(c.submit, ann, made.store.ledger.assignments[made.store.ledger.people[ann].last].token)
    seen.append(stage())
    made.open_work(ann)
    seen.append(stage())
    assert seen == ["qualification", "review", "work", "work"]


def test_a_returned_assignment_can_still_be_reviewed(file_crowd):
    """Its review comes with the state until the judge goes on."""
    made = file_crowd(FREE)
    ann = made.person("ann")
    made.through(ann, right=False)
    state = v.state_view(made.store.ledger, made.time[0], ann)
    assert state["stage"] == "work"
    assert not state["review"]["passed"]
    assert state["review"]["may"] == {"submit": False, "again": True}
    failed = [row["name"] for row in state["review"]["criteria"] if not row["passed"]]
    assert failed == ["binary", "ndcg"]


def test_monitoring_is_never_reviewed(file_crowd):
    """Only sets that are graded show right answers."""
    made = file_crowd(FREE)
    held = made.through(made.person("ann"), right=False)
    tokens = {row["set"] for row in v.review_view(made.store.ledger, held)["mistakes"]}
    assert tokens == {one.token for one in held.sets if one.use == "gold"}


def test_an_open_assignment_has_no_review(file_crowd):
    """Right answers are shown after the end."""
    made = file_crowd(FREE)
    held = made.open_work(made.person("ann"))
    with pytest.raises(Refused, match="nothing to review"):
        v.review_view(made.store.ledger, held)


def test_rules_are_told_in_advance(file_crowd):
    """The rules name the gates as the settings have them."""
    rules = v.rules_view(file_crowd().store.ledger)
    assert {name: rules[name] for name in ("sets", "documents", "binary", "ndcg", "seconds")} == {
        "sets": 6,
        "documents": 5,
        "binary": 0.85,
        "ndcg": 0.62,
        "seconds": 6.0,
    }
    assert rules["qualification"] == {"jobs": 4, "gold": 4, "correct": 3, "attempts": 1}

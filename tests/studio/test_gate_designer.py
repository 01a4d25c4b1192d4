"""The gate designer."""

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.studio import gate_designer
from adjudge.studio.gate_designer import (
    compose_sets,
    compositions,
    describe_grades,
    design,
    drawable_gold,
    gate_table,
    set_costs,
)
from adjudge.studio.records import FixedSet, Gold
from adjudge.studio.settings import Assignment, Gate, Qualification, Settings


def graded(topic, *grades):
    """Return gold of one topic with these grades."""
    return {(topic, f"{topic}{i}"): Gold(grade, "so it is") for i, grade in enumerate(grades)}


def grades_of(fixed, gold):
    """Return the grades of a set, in order."""
    return tuple(sorted(gold[fixed.topic, document].grade for document in fixed.documents))


def unqualified(**gate):
    """Return settings without qualification."""
    return Settings(qualification=Qualification(required=False), gate=Gate(**gate))


def test_all_that_is_said_to_be_there_is_there():
    """Names of other modules included."""
    assert all(hasattr(gate_designer, name) for name in gate_designer.__all__)


@pytest.mark.parametrize(
    ("grades", "reason"),
    [
        (
            [1] * 5,
            "5 documents of grade 1: the best strict ranking reaches 0.590 of the printed ideal, below 0.62",
        ),
        ([0] * 5, "5 documents of grade 0: NDCG is 0/0 if no document is relevant"),
        ([0, 0, 1, 1, 2], ""),
    ],
)
def test_impossible_sets_are_told_with_the_reason(grades, reason):
    """And no others."""
    result = design(grades, Gate())
    assert result.reason == reason
    assert result.feasible == (not reason)


def test_a_gate_that_asks_nothing_of_ranks_can_be_passed_on_every_set():
    """Also on 0/0."""
    assert all(design(grades, Gate(ndcg=0)).feasible for grades in compositions(5))


def test_over_the_attainable_ideal_every_set_with_a_relevant_document_can_be_passed():
    """A gate of 1 included."""
    for grades in compositions(5)[1:]:
        result = design(grades, Gate(ndcg=1.0, ndcg_of="attainable"))
        assert result.feasible
        assert result.best == 1


def test_a_gate_that_refuses_nobody_is_warned_of():
    """Even the worst ranking passes, and so does who calls everything relevant."""
    assert design([1, 1, 1, 1, 2], Gate()).warnings == (
        "4 documents of grade 1, 1 of grade 2: even the worst ranking has 0.674, so the rank gate refuses nobody",
        "4 documents of grade 1, 1 of grade 2: a judge who calls every document relevant is accepted in 100% of cases",
    )


def test_compositions_are_all_there_are():
    """21 of five documents."""
    assert len(compositions(5)) == len(set(compositions(5))) == 21
    assert compositions(1) == [(0,), (1,), (2,)]


def test_describe_grades():
    """One document, several."""
    assert describe_grades([0, 2, 2]) == "1 document of grade 0, 2 of grade 2"
    assert describe_grades((1, 1)) == "2 documents of grade 1"


def test_the_gate_table_has_every_gold_set_of_a_campaign():
    """In the order of its files, with the grades as the set has them; other sets are left out."""
    gold = graded("t", 1, 0, 0) | graded("u", 2, 2, 2)
    sets = (
        FixedSet("b", "gold", "u", ("u0", "u1")),
        FixedSet("q", "qualification", "t", ("t0", "t1")),
        FixedSet("a", "gold", "t", ("t1", "t0", "t2")),
    )
    rows = gate_table(SimpleNamespace(settings=Settings(), gold=gold, sets=sets, drawn=()))
    assert [(row.name, row.topic, row.grades) for row in rows] == [("b", "u", (2, 2)), ("a", "t", (0, 1, 0))]
    assert rows[1].design == design((0, 1, 0), Gate())


def test_sets_are_made_of_the_compositions_on_which_the_gate_errs_least():
    """Of three irrelevant and seven others, one set with an error of .21 rather than two bad ones."""
    gold = graded("t", 0, 0, 1, 1, 2, 2, 2, 1, 1, 1)
    created, notes = compose_sets(gold, unqualified(), np.random.default_rng(0))
    assert [grades_of(fixed, gold) for fixed in created] == [(0, 0, 1, 1, 2)]
    assert [fixed.use for fixed in created] == ["gold"]
    assert len(notes) == 1
    assert notes[0].startswith("topic 't': 3 documents of grade 1, 2 of grade 2 in no gold set; ")
    assert "a judge who calls every document relevant is accepted in 70% of cases" in notes[0]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 2), max_size=14), min_size=1, max_size=4),
    st.integers(0, 8),
    st.sampled_from(["printed", "attainable"]),
    st.integers(0, 5),
)
def test_no_set_can_fail_everybody_and_no_document_is_in_two(topics, pooled, ndcg_of, seed):
    """Whatever gold there is; every set has one topic and as many documents as the settings say."""
    gold = {pair: result for t, grades in enumerate(topics) for pair, result in graded(f"t{t}", *grades).items()}
    pool = [(f"t{t}", f"p{i}") for t in range(len(topics)) for i in range(pooled)]
    config = Settings(gate=Gate(ndcg_of=ndcg_of))
    created, notes = compose_sets(gold, config, np.random.default_rng(seed), pool)
    used = Counter((fixed.topic, document) for fixed in created for document in fixed.documents)
    assert not used or max(used.values()) == 1
    assert set(used) <= set(gold) | set(pool)
    assert len({fixed.name for fixed in created}) == len(created)
    for fixed in created:
        assert len(fixed.documents) == 5
        if fixed.use == "gold":
            assert design(grades_of(fixed, gold), config.gate).feasible
        else:
            assert any((fixed.topic, document) in gold for document in fixed.documents)
    if not any(fixed.use == "gold" for fixed in created):
        assert any("gold sets could be made, but every assignment needs 1" in note for note in notes)


def test_qualification_has_one_graded_document_a_set_relevant_and_irrelevant_by_turns():
    """The others are of the pool, as long as it has enough."""
    gold = graded("t", 0, 0, 0, 1, 2) | graded("u", 0, 0, 0, 1, 2)
    pool = [(topic, f"p{i}") for topic in "tu" for i in range(20)]
    created, _ = compose_sets(gold, Settings(), np.random.default_rng(1), pool)
    sets = [fixed for fixed in created if fixed.use == "qualification"]
    inside = [[gold[fixed.topic, d].grade for d in fixed.documents if (fixed.topic, d) in gold] for fixed in sets]
    assert [len(grades) for grades in inside] == [1, 1, 1, 1]
    assert sorted(grades[0] >= 1 for grades in inside) == [False, False, True, True]
    assert Counter(fixed.topic for fixed in sets) == {"t": 2, "u": 2}


def test_graded_documents_fill_up_where_the_pool_is_too_small():
    """Rather than no qualification."""
    gold = graded("t", *[0, 1, 2] * 4)
    created, _ = compose_sets(
        gold, Settings(qualification=Qualification(jobs=1)), np.random.default_rng(1), [("t", "p")]
    )
    fixed = created[0]
    assert fixed.use == "qualification"
    assert sum((fixed.topic, document) in gold for document in fixed.documents) == 4


def test_what_cannot_be_made_is_said():
    """Qualification, gold, and why documents are left over."""
    created, notes = compose_sets(graded("t", 0, 1), Settings(), np.random.default_rng(0))
    assert created == []
    assert notes == [
        "0 of 4 qualification sets could be made: each needs a graded document and 4 more of its topic",
        "topic 't': 1 document of grade 0, 1 of grade 1 left over, too few for a gold set of 5",
        "0 gold sets could be made, but every assignment needs 1: grade more documents",
    ]


def test_a_set_that_is_warned_of_is_better_than_none():
    """But is said to be so."""
    created, notes = compose_sets(graded("t", 1, 1, 1, 1, 2), unqualified(), np.random.default_rng(0))
    assert [fixed.name for fixed in created] == ["gold-t-1"]
    assert notes[0].startswith("set 'gold-t-1': 4 documents of grade 1, 1 of grade 2: even the worst ranking has 0.674")


def test_the_same_rng_makes_the_same_sets():
    """And another one others."""
    gold = graded("t", *[0, 0, 1, 1, 2] * 6)

    def sets(seed):
        return compose_sets(gold, Settings(assignment=Assignment(documents=5)), np.random.default_rng(seed))

    assert sets(1) == sets(1) != sets(2)


def drawing(**assignment):
    """Return settings by which gold sets are drawn."""
    return Settings(assignment=Assignment(draw_gold=True, **assignment))


def test_only_sets_that_somebody_can_pass_are_drawn():
    """Those with a warning cost more than any other."""
    costs = set_costs(5, Gate())
    assert (1, 1, 1, 1, 1) not in costs
    assert (0, 0, 0, 0, 0) not in costs
    assert (
        costs[1, 1, 1, 1, 2] > 10 > max(cost for grades, cost in costs.items() if not design(grades, Gate()).warnings)
    )


def test_gold_of_topics_without_a_feasible_set_is_not_drawn():
    """Nor documents of qualification and monitoring sets; fixed gold sets do not matter."""
    gold = graded("a", 0, 0, 1, 1, 2, 0) | graded("b", 1, 1, 1, 1, 1) | graded("c", 0, 1)
    sets = [FixedSet("q", "qualification", "a", ("a5",)), FixedSet("g", "gold", "a", ("a0", "a1"))]
    assert drawable_gold(gold, sets, drawing()) == tuple(("a", f"a{n}") for n in range(5))
    assert drawable_gold(gold, sets, Settings()) == ()
    assert drawable_gold(gold, sets, drawing(gold_sets=0)) == ()


def test_the_gate_table_of_drawn_gold_has_the_compositions():
    """Those that a topic can make, the ones with the smallest error first."""
    gold = graded("a", 0, 0, 1, 1, 2) | graded("b", 0, 0, 1, 1, 2, 0)
    campaign = SimpleNamespace(settings=drawing(), gold=gold, sets=(), drawn=tuple(gold))
    rows = gate_table(campaign)
    assert {row.name for row in rows} == {"drawn"}
    assert {row.grades: row.topic for row in rows} == {
        (0, 0, 1, 1, 2): "2 topics",
        (0, 0, 0, 1, 1): "1 topic",
        (0, 0, 0, 1, 2): "1 topic",
    }
    costs = [row.design.cost for row in rows]
    assert costs == sorted(costs)


def test_with_drawn_gold_only_qualification_sets_are_composed():
    """The rest of the gold is drawn later."""
    gold = graded("a", *([0, 1, 2, 0, 1] * 4)) | graded("b", *([0, 1, 2, 0, 1] * 4))
    sets, notes = compose_sets(gold, drawing(), np.random.default_rng(0))
    assert {fixed.use for fixed in sets} == {"qualification"}
    assert notes == []

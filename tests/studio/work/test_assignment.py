from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.studio.record.items import TYPICAL, Items, ItemSet
from adjudge.studio.records import FixedSet, Gold
from adjudge.studio.settings import Redundancy
from adjudge.studio.work import assignment as assign


def shelf(topics, documents):
    """Return items of some topics, all to be judged."""
    items = Items()
    pool = [(f"t{t}", f"d{t}-{n}") for t in range(topics) for n in range(documents)]
    for number, pair in enumerate(pool, 1):
        items.add(number, pair)
    items.pool(SimpleNamespace(pool=pool, drawn=(), topics={f"t{t}": None for t in range(topics)}))
    return items


def planned(items, sets, size, redundancy=None, met=None, belief=None, seed=0, taken=()):
    """Return the sets that a judge would be given."""
    redundancy, rng = redundancy or Redundancy(), np.random.default_rng(seed)
    may = assign.open_items(items, redundancy, belief)
    press = assign.priority(items, redundancy, belief, TYPICAL, rng)
    return assign.work_sets(items, met or ItemSet(0), (sets, size), may, press, rng, taken)


@given(st.integers(1, 8), st.integers(1, 12), st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_sets_are_of_one_topic_open_and_unmet(topics, documents, sets, size, seed):
    """Whatever is judged, out or met: no set mixes topics, repeats an item, or goes beyond what is asked for."""
    items, rng, met = shelf(topics, documents), np.random.default_rng(seed), ItemSet(0)
    items.judged[1:] = rng.integers(0, 4, len(items.pairs) - 1)
    items.leased[1:] = rng.integers(0, 2, len(items.pairs) - 1)
    for item in np.flatnonzero(rng.random(len(items.pairs)) < 0.3):
        met.add(int(item))
    result = planned(items, sets, size, met=met, seed=seed)
    given_out = [item for entry in result for item in entry]
    assert len(result) <= sets
    assert len(set(given_out)) == len(given_out)
    assert all(len({items.pairs[item][0] for item in entry}) == 1 for entry in result)
    assert all(items.judged[item] + items.leased[item] < 3 and item not in met for item in given_out)
    free = [i for i in range(1, len(items.pairs)) if items.judged[i] + items.leased[i] < 3 and i not in met]
    assert bool(result) == bool(free)


def test_full_sets_of_other_topics_come_first():
    """A set is short only when no topic can fill one."""
    items = shelf(3, 5)
    items.judged[1] = 3  # the first topic has four left
    sizes = [len(entry) for entry in planned(items, 2, 5)]
    assert sizes == [5, 5]
    assert sorted(len(entry) for entry in planned(items, 3, 5)) == [4, 5, 5]


def test_the_least_judged_go_out_first():
    """Items are covered once before they are covered twice."""
    items = shelf(1, 10)
    items.judged[1:6] = 1
    items.leased[6] = 1
    assert set(planned(items, 1, 4)[0]) == {7, 8, 9, 10}


def test_topics_repeat_only_when_there_are_too_few():
    """With two topics, four sets are two of each."""
    items = shelf(2, 10)
    topics = sorted(items.pairs[entry[0]][0] for entry in planned(items, 4, 5))
    assert topics == ["t0", "t0", "t1", "t1"]


def test_topics_that_are_taken_come_last():
    """A topic that another set of the assignment has is used again only where there is no other."""
    items = shelf(3, 5)
    assert [items.pairs[entry[0]][0] for entry in planned(items, 2, 5, taken={1})] != ["t1"]
    assert {items.pairs[entry[0]][0] for entry in planned(items, 2, 5, taken={1})} == {"t0", "t2"}
    assert sorted(items.pairs[entry[0]][0] for entry in planned(items, 3, 5, taken={1})) == ["t0", "t1", "t2"]


def test_what_nobody_can_tell_is_not_asked_of_everybody():
    """An item that as many judges could not tell as were to judge it is set aside."""
    items = shelf(1, 2)
    items.undecided[1:] = [3, 2]
    assert assign.open_items(items, Redundancy(), None)[1:].tolist() == [False, True]


def test_fixed_sets_of_different_topics():
    """Sets are of topics that differ and are not taken, where there are enough."""
    sets = [FixedSet(name, "gold", topic, ()) for name, topic in (("a", "x"), ("b", "x"), ("c", "y"))]
    assert [entry.name for entry in assign.choose_by_topic(sets, 2, ())] == ["a", "c"]
    assert [entry.name for entry in assign.choose_by_topic(sets, 1, ["x"])] == ["c"]
    assert [entry.name for entry in assign.choose_by_topic(sets, 3, ())] == ["a", "c", "b"]


def test_adaptive_takes_what_tells_most():
    """With adaptive redundancy the least sure items go out first, and settled ones not at all."""
    items, adaptive = shelf(1, 6), Redundancy(adaptive=True, least=1, most=5, target=0.9)
    items.judged[1:] = 2
    belief = np.array([0.5, 0.5, 0.95, 0.8, 0.05, 0.45, 0.7])
    assert set(planned(items, 1, 3, adaptive, belief=belief)[0]) == {1, 5, 6}
    assert not assign.open_items(items, adaptive, belief)[[2, 4]].any()


def test_adaptive_goes_one_at_a_time_beyond_the_least():
    """Beyond the least number an item waits until the judgment that is out comes back; the most is never passed."""
    items, adaptive = shelf(1, 4), Redundancy(adaptive=True, least=2, most=4, target=0.9)
    items.judged[1:] = [0, 2, 2, 3]
    items.leased[1:] = [1, 0, 1, 1]
    assert assign.open_items(items, adaptive, None)[1:].tolist() == [True, True, False, False]


def test_unmet_sets():
    """Fixed sets are for a use, and for who has not met them."""
    sets = [FixedSet("a", "gold", "t", ()), FixedSet("b", "gold", "t", ()), FixedSet("c", "monitoring", "t", ())]
    assert [unmet_set.name for unmet_set in assign.unmet_sets(sets, "gold", {"a"})] == ["b"]


def test_a_fixed_set_comes_in_any_order():
    """The place of a document in a gold set says nothing of its grade."""
    items = shelf(1, 5)
    first = FixedSet("a", "gold", "t0", tuple(f"d0-{n}" for n in range(5)))
    orders = {
        assign.shuffle_documents(assign.plan_fixed(first, items), np.random.default_rng(seed)).items
        for seed in range(20)
    }
    assert len(orders) > 10
    assert {frozenset(order) for order in orders} == {frozenset(range(1, 6))}


@pytest.mark.parametrize("known", [None, np.array([0.5, 0.9])])
def test_nothing_known_is_one_half(known):
    """Items that the last consensus did not know are as likely relevant as not."""
    belief = assign.item_beliefs(shelf(1, 3), known)
    assert belief[2:].tolist() == [0.5, 0.5]


COSTS = {(0, 0, 1): 0.1, (0, 1, 1): 0.2}


def graded_shelf(topics, documents, by_grade):
    """Return items of some topics to be judged, and of each topic graded ones to be drawn."""
    items = Items()
    pool = [(f"t{t}", f"d{t}-{n}") for t in range(topics) for n in range(documents)]
    grades = [grade for grade, n in enumerate(by_grade) for _ in range(n)]
    gold = {(f"t{t}", f"g{t}-{n}"): Gold(grade, "") for t in range(topics) for n, grade in enumerate(grades)}
    for number, pair in enumerate([*pool, *gold], 1):
        items.add(number, pair)
    items.pool(SimpleNamespace(pool=pool, gold=gold, drawn=tuple(gold), topics={f"t{t}": None for t in range(topics)}))
    return items


def drawn_sets(items, count=1, barred=(), used=(), seed=0):
    """Return the gold sets that are drawn."""
    return assign.draw_gold(items, count, COSTS, set(barred).__contains__, used, np.random.default_rng(seed))


def test_drawn_gold_is_of_one_topic_and_of_an_allowed_composition():
    """Each set differs; the sets of an assignment have different topics."""
    items = graded_shelf(3, 4, (4, 4, 0))
    gold = {id_: grade for by in items.gold.values() for grade, ids in enumerate(by) for id_ in ids}
    seen = set()
    for seed in range(30):
        plans = drawn_sets(items, 2, seed=seed)
        topics = [{items.pairs[id_][0] for id_ in plan.items} for plan in plans]
        assert all(plan.use == "gold" and not plan.name and len(set(plan.items)) == 3 for plan in plans)
        assert len(topics) == 2
        assert all(len(topic) == 1 for topic in topics)
        assert topics[0] != topics[1]
        assert all(tuple(sorted(gold[id_] for id_ in plan.items)) in COSTS for plan in plans)
        seen |= {frozenset(plan.items) for plan in plans}
    assert len(seen) > 20


def test_the_least_shown_gold_is_drawn_first():
    """Over many judges, every graded document is shown about equally often."""
    items = graded_shelf(4, 4, (4, 4, 0))
    for seed in range(160):
        for plan in drawn_sets(items, seed=seed):
            items.shown[list(plan.items)] += 1
    shown = [items.shown[id_] for by in items.gold.values() for ids in by for id_ in ids]
    assert sum(shown) == 480
    assert max(shown) - min(shown) <= 4


def test_barred_items_and_used_topics_are_not_drawn():
    """A used topic is drawn from only if there is no other; without enough documents there is no set."""
    items = graded_shelf(2, 4, (2, 2, 0))
    first = items.gold["t0"][0]
    assert {items.pairs[id_][0] for id_ in drawn_sets(items, used=("t1",))[0].items} == {"t0"}
    assert [items.pairs[plan.items[0]][0] for plan in drawn_sets(items, 2, used=("t1",))] == ["t0", "t1"]
    assert drawn_sets(items, barred=[*first, *items.gold["t1"][0]]) == []


def test_work_is_given_out_in_blocks_as_large_as_gold():
    """A set has documents of one block, unless no block can fill it."""
    items = graded_shelf(1, 24, (4, 4, 0))
    assert np.bincount(items.block[items.topic_items[0]]).tolist() == [8, 8, 8]
    for seed in range(10):
        assert len({items.block[item] for item in planned(items, 1, 5, seed=seed)[0]}) == 1
    items.judged[items.topic_items[0][:12]] = 3
    items.judged[items.topic_items[0][-4:]] = 3
    assert len(planned(items, 1, 5)[0]) == 5

"""How much work a campaign is, and what a lead should know of it."""

from dataclasses import replace

from adjudge.collect.files.advice import Workload, advice, workload
from adjudge.collect.records import FixedSet, Gold
from adjudge.collect.settings import Assignment, Settings

POOL = [(f"t{n // 50}", f"d{n}") for n in range(500)]


def gold_sets(count):
    """Return so many gold sets."""
    return [FixedSet(f"g{n}", "gold", "t0", tuple(f"g{n}-{i}" for i in range(5))) for n in range(count)]


def test_workload():
    """500 pairs are 100 sets, 1,500 judgments, and 300 sets in assignments of 5 that are not gold."""
    assert workload(POOL, Settings()) == Workload(100, 1500, 60)
    assert workload(POOL[:51], Settings()) == Workload(11, 153, 7)


def test_nothing_to_say():
    """Enough gold, full sets, all gold in use."""
    sets = gold_sets(10)
    gold = {("t0", "g0-0"): Gold(1, "")}
    assert advice(POOL, gold, sets, Settings()) == ()
    assert advice(POOL[:50], gold, sets[:2], Settings()) == ()  # two assignments are all that one judge can take
    assert advice([], {}, [], replace(Settings(), assignment=Assignment(gold_sets=0))) == ()


def test_few_gold_sets():
    """A judge meets a gold set once, so gold bounds how much she can do."""
    assert advice(POOL, {}, gold_sets(3), Settings()) == (
        "sets.csv: with 3 gold sets a judge can take 3 of the 60 assignments, so at least 20 judges are needed: grade "
        "more documents for fewer judges",
    )


def test_uneven_topics():
    """The last set of a topic would not be full."""
    pool = [("a", "1"), *(("b", str(n)) for n in range(5))]
    no_gold = replace(Settings(), assignment=Assignment(gold_sets=0))
    assert advice(pool, {}, [], no_gold) == (
        "pool.csv: a topic has a number of documents to judge that is no multiple of 5, the size of a set ('a' has 1): "
        "the last set is not full by itself",
    )
    many = [(f"t{n}", "1") for n in range(1200)]
    assert advice(many, {}, [], no_gold)[0].startswith("pool.csv: 1,200 topics have a number of documents")
    assert "('t0' has 1, 't1' has 1, 't2' has 1, ...)" in advice(many, {}, [], no_gold)[0]


def test_idle_gold():
    """Grades that no set uses."""
    gold = {("t0", "g0-0"): Gold(1, ""), ("t0", "x"): Gold(0, "")}
    assert advice(POOL, gold, gold_sets(10), Settings()) == (
        "gold.csv: 1 of 2 graded documents are in no set of sets.csv and are judged like any other, if at all (the "
        "first is 'x' of topic 't0')",
    )

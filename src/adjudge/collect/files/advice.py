"""What a lead should know of a campaign that can begin all the same; and how much work it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from adjudge.collect.records import FixedSet, Gold, Pair
from adjudge.collect.settings import Settings
from adjudge.errors import quote

ENOUGH = 10  # assignments that one judge should be able to take before the gold is used up


@dataclass(frozen=True)
class Workload:
    """How much there is to do, if every item gets the judgments of ``redundancy.judgments``."""

    sets: int  # into which the pool falls, once
    judgments: int
    assignments: int


def workload(pool: Collection[Pair], settings: Settings) -> Workload:
    """Return how much work a pool is."""
    each, k = settings.assignment, settings.redundancy.judgments
    sets = sum(-(-count // each.documents) for count in Counter(topic for topic, _ in pool).values())
    assignments = -(-sets * k // max(each.sets - each.gold_sets, 1))
    return Workload(sets, len(pool) * k, assignments)


def advice(
    pool: Sequence[Pair], gold: Mapping[Pair, Gold], sets: Sequence[FixedSet], settings: Settings
) -> tuple[str, ...]:
    """Return what a lead should know, a sentence each."""
    parts = (_few_gold(pool, sets, settings), _uneven(pool, settings), _idle_gold(gold, sets))
    return tuple(sentence for part in parts for sentence in part)


def _few_gold(pool: Sequence[Pair], sets: Sequence[FixedSet], settings: Settings) -> Iterable[str]:
    """Yield that the gold sets, none of which a judge meets twice, do not last."""
    asked = settings.assignment.gold_sets
    gold = sum(one.use == "gold" for one in sets)
    if not asked or not pool:
        return
    work = workload(pool, settings)
    each = gold // asked  # assignments that one judge can take
    alone = -(-work.assignments // settings.redundancy.judgments)  # that she would take if she judged everything
    if each and each < min(alone, ENOUGH):
        yield (
            f"sets.csv: with {gold:,} gold sets a judge can take {each:,} of the {work.assignments:,} assignments, so "
            f"at least {-(-work.assignments // each):,} judges are needed: grade more documents for fewer judges"
        )


def _uneven(pool: Sequence[Pair], settings: Settings) -> Iterable[str]:
    """Yield the topics whose documents do not fill sets."""
    size = settings.assignment.documents
    odd = [(topic, n) for topic, n in Counter(topic for topic, _ in pool).items() if n % size]
    if odd:
        named = ", ".join(f"{quote(topic)} has {n}" for topic, n in odd[:3]) + (", ..." if len(odd) > 3 else "")
        topics = "a topic has" if len(odd) == 1 else f"{len(odd):,} topics have"
        yield (
            f"pool.csv: {topics} a number of documents to judge that is no multiple of {size}, the size of a set "
            f"({named}): the last set is not full by itself"
        )


def _idle_gold(gold: Mapping[Pair, Gold], sets: Sequence[FixedSet]) -> Iterable[str]:
    """Yield that some gold is in no set."""
    used = {(one.topic, document) for one in sets for document in one.documents}
    idle = [pair for pair in gold if pair not in used]
    if idle:
        topic, document = idle[0]
        yield (
            f"gold.csv: {len(idle):,} of {len(gold):,} graded documents are in no set of sets.csv and are judged like "
            f"any other, if at all (the first is {quote(document)} of topic {quote(topic)})"
        )

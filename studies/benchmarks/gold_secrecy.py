"""Claim: judges who compare what they were shown find fixed gold sets; gold that is drawn for each judge stays hidden.

Whole campaigns are simulated by the studio's own commands: 24 accurate judges take assignments in random order until
nothing is left to judge. Some or all of them then compare the titles that they were shown and mark what they believe
is gold, in three ways. *Alike*: the documents of sets that two of them were given with the same documents. *Often*:
documents that more of them were given than judge a document. *Grouped*: documents that were in one set belong
together; in each topic with several such groups, the smallest one is marked, since there is less gold than work. Gold
is drawn with and without blocks, in which the studio gives out the other documents of a topic so that they form
groups as large as its gold.
"""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from adjudge.studio.campaign import load_campaign
from adjudge.studio.demo import SimulatedJudge, add_judge, work_assignment
from adjudge.studio.studio import open_store
from studies.benchmarks.claim import Claim, say
from studies.benchmarks.gate_quality import read_truth
from studies.benchmarks.studio_campaign import Size, write_campaign

JUDGES, PER_ITEM, SEEDS = 24, 3, range(3)
TOPICS, DOCUMENTS, SET_SIZE = 20, 40, 5
GOLD_SETS = (1, 2, 4)  # of each topic, if they are fixed
ATTACKERS = (24, 12, 6)
HOW = ("fixed", "drawn, without blocks", "drawn")  # are gold sets


class Shown(NamedTuple):
    """A set that a judge was given."""

    judge: int
    topic: str
    items: frozenset[int]


def show_campaign(how: str, gold_sets: int, seed: int) -> tuple[list[Shown], set[int]]:
    """Simulate a campaign; return all sets that judges were given, and the items that were gold in one of them."""
    size = Size(TOPICS, DOCUMENTS, gold_sets * TOPICS, words=5)
    rng, now = np.random.default_rng(seed), [1.7e9]
    settings = {
        "assignment": {"draw_gold": how != "fixed"},
        "qualification": {"required": False},
        "redundancy": {"judgments": PER_ITEM},
        "pay": {"most_returns": 1_000},
    }
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "campaign"
        write_campaign(folder, size, settings)
        truth = read_truth(folder)
        with patch("secrets.SystemRandom", lambda: Random(seed)):  # ids of items are drawn in secret
            store = open_store(load_campaign(folder), clock=lambda: now[0])
        with closing(store):
            ledger = store.ledger
            if how == "drawn, without blocks":
                ledger.items.block[:] = 0
            judges = [SimulatedJudge(f"judge {n}", 0.97, "good", stream) for n, stream in enumerate(rng.spawn(JUDGES))]
            people = {add_judge(store, judge.name): judge for judge in judges}
            shown, gold, at_work = list[Shown](), set[int](), list(people)
            while at_work:
                person = at_work[int(rng.integers(len(at_work)))]
                if not work_assignment(store, person, people[person], truth, rng, now):
                    at_work.remove(person)
                    continue
                for part in ledger.assignments[ledger.people[person].last or 0].sets:
                    shown.append(Shown(person, ledger.items.pairs[part.items[0]][0], frozenset(part.items)))
                    gold |= set(part.items) if part.use == "gold" else set()
            return shown, gold


def alike(shown: Sequence[Shown]) -> set[int]:
    """Return the items of sets that two judges were given with the same documents."""
    times = Counter(one.items for one in shown)
    return {item for items, n in times.items() if n > 1 for item in items}


def often(shown: Sequence[Shown]) -> set[int]:
    """Return the items that more judges were given than judge a document."""
    times = Counter(item for one in shown for item in one.items)
    return {item for item, n in times.items() if n > PER_ITEM}


def grouped(shown: Sequence[Shown]) -> set[int]:
    """Return, of each topic with several groups of items that were in one set together, the smallest group."""
    marked: set[int] = set()
    times = Counter(item for one in shown for item in one.items)
    by_topic: defaultdict[str, list[set[int]]] = defaultdict(list)
    for one in shown:
        groups = by_topic[one.topic]
        joined = set(one.items).union(*(group for group in groups if group & one.items))
        by_topic[one.topic] = [group for group in groups if not group & one.items] + [joined]
    for groups in by_topic.values():
        if len(groups) > 1:
            marked |= min(groups, key=lambda group: (len(group), -sum(times[item] for item in group) / len(group)))
    return marked


ATTACKS: tuple[Callable[[Sequence[Shown]], set[int]], ...] = (alike, often, grouped)


def attack(shown: Sequence[Shown], gold: set[int], attackers: int) -> list[float]:
    """Return the share of gold that each attack finds and its precision, and the share of gold in what they saw."""
    chosen = sorted({one.judge for one in shown})[:attackers]
    seen = [one for one in shown if one.judge in chosen]
    items = {item for one in seen for item in one.items}
    figures = []
    for find in ATTACKS:
        marked = find(seen)
        right = len(marked & gold)
        figures += [right / len(gold), right / len(marked) if marked else np.nan]
    return [*figures, len(items & gold) / len(items)]


def compare(gold_sets: int) -> Claim:
    """Measure the attacks on campaigns with so much gold."""
    rows = []
    for how in HOW:
        say(f"gold secrecy: {gold_sets} sets per topic, {how}")
        campaigns = [show_campaign(how, gold_sets, seed) for seed in SEEDS]
        times = np.mean([_times_shown(*campaign) for campaign in campaigns])
        for attackers in ATTACKERS:
            figures = np.array([attack(*campaign, attackers) for campaign in campaigns])
            with np.errstate(all="ignore"):
                means = [float(np.nanmean(column)) if (~np.isnan(column)).any() else np.nan for column in figures.T]
            words = ["-" if np.isnan(value) else f"{value:.2f}" for value in means]
            cells = [*(f"{words[k]} / {words[k + 1]}" for k in range(0, len(words) - 1, 2)), words[-1]]
            rows.append([how, f"{times:.1f}", f"{attackers} of {JUDGES}", *cells])
    graded = SET_SIZE * gold_sets
    return Claim(
        f"{graded} graded documents and {DOCUMENTS} others per topic",
        f"{TOPICS} topics, {PER_ITEM} judgments per document; means over {len(SEEDS)} campaigns. "
        "For each attack: the share of all gold that it finds / its precision. The last column is the precision of "
        "guessing: the share of gold among the documents that the attackers saw.",
        ["gold sets", "times shown", "attackers", "alike", "often", "grouped", "guessing"],
        rows,
    )


def _times_shown(shown: Sequence[Shown], gold: set[int]) -> float:
    """Return to how many judges a gold item was given, on average."""
    return sum(len(one.items & gold) for one in shown) / len(gold)


def measure() -> Iterator[Claim]:
    """Run the whole study."""
    yield from map(compare, GOLD_SETS)

"""Claim: with an audit, intervals of systems and of their differences hold, whatever the judges' errors are.

Collections have judgments of people or machines and expert labels of all documents that are used. Four runs are made
for each repetition: the expert label plus noise, and for every second run also what the judges like wrongly, so that
these runs share errors with the judges. Experts label an audit of m documents. An interval "covers" if it contains the
value that all expert labels give; a pair is decided if its interval does not contain 0. MAP, nDCG@10 and P@10 are
pooled. "posterior" trusts the judges' probabilities, "refitted" those of a fit with the audited labels as gold, "audit"
is `adjudge evaluate --audit`, "without judges" the same with the ranks of runs alone, and "random" draws documents with
equal probability and has no judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import logit

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.evaluation.audit import (
    AuditTopic,
    Estimate,
    Round,
    estimate,
    estimate_rounds,
    sampling_probabilities,
)
from adjudge.evaluation.expected_measures import expected_measure
from adjudge.metrics.ranking import parse_measures, values
from studies.benchmarks.claim import DATA, Claim, say

MEASURES = parse_measures("MAP,nDCG@10,P@10")
SIZES = (50, 100, 200)
REPETITIONS = 12
RUNS = 4
LURE = 0.8  # how much every second run likes what the judges like wrongly
MOST_DOCUMENTS, FEWEST_DOCUMENTS = 60, 8  # per topic
NORMAL = 1.645
METHODS = ("posterior", "refitted", "audit", "without judges", "random")


class World(NamedTuple):
    """A collection with expert labels."""

    name: str
    judgments: Judgments
    items: list[str]  # (I) the documents that are used, by topic
    topic: Codes  # (I) ascending
    truth: Codes  # (I) expert labels
    worth: Floats  # (K + 1)
    level: float
    chance: Floats  # (I, K) by the consensus of the judges
    lure: Floats  # (I) what the judges like beyond the truth
    ranked_by: Sequence[Floats] = ()  # (I) scores of real systems, if there are some


class Found(NamedTuple):
    """One interval."""

    method: str
    size: int
    level: bool  # of a value, not of a difference
    covers: bool
    half: float
    decided: bool
    wrong: bool  # the sign of a decided difference


def make_world(
    name: str, table: pl.DataFrame, gold: Mapping[str, int], topic_of: Mapping[str, str], level: int
) -> World:
    """Return a collection from judgments (item, judge, label), expert grades, and the topics of items."""
    judgments = adjudge.read(table.select("item", "judge", "label"))
    fit = adjudge.fit(judgments)
    row = {item: n for n, item in enumerate(fit.items.cast(str).to_list())}
    values_of = [int(value) for value in fit.scale.values]
    by_topic: dict[str, list[str]] = {}
    for item in sorted(set(gold) & row.keys()):
        by_topic.setdefault(topic_of[item], []).append(item)
    rng = np.random.default_rng(0)
    kept = [
        sorted(rng.permutation(items)[:MOST_DOCUMENTS].tolist())
        for _, items in sorted(by_topic.items())
        if len(items) >= FEWEST_DOCUMENTS
    ]
    items = [item for part in kept for item in part]
    truth = np.array([values_of.index(gold[item]) for item in items])
    chance = fit.posterior[[row[item] for item in items]]
    worth = np.array([*fit.scale.values, 0.0])
    liked = logit(np.clip(chance @ (worth[:-1] / worth.max()), 0.005, 0.995))
    rest = liked - np.polyval(np.polyfit(worth[truth], liked, 1), worth[truth])
    topic = np.repeat(np.arange(len(kept)), [len(part) for part in kept])
    return World(name, judgments, items, topic, truth, worth, float(level), chance, rest / rest.std())


def real_worlds() -> Iterator[World]:
    """Yield the collections with expert labels."""
    folder = DATA / "panels" / "llmjudge_dl23"
    table = _labels(folder / "labels.csv")
    gold = _gold(folder / "gold.csv")
    world = make_world("LLM panel, TREC DL 2023, four grades", table, gold, {i: i.split("_")[0] for i in gold}, 2)
    yield world
    yield _with_rerankers(world, table)
    folder = DATA / "panels" / "prompts_dl20_graded"
    topic_of = dict(pl.read_csv(folder / "items.csv", infer_schema=False).select("item", "topic").iter_rows())
    yield make_world(
        "prompts of LLMs, TREC DL 2020, four grades",
        _labels(folder / "labels.csv"),
        _gold(folder / "gold.csv"),
        topic_of,
        2,
    )
    for name, title in (("trec2011_task2", "crowd, TREC 2011"), ("nyt_2p", "crowd, news")):
        gold = _gold(DATA / name / "gold.csv")
        table = _labels(DATA / name / "labels.csv")
        yield make_world(title, table, gold, {item: item.split("_")[0] for item in gold}, 1)


def _labels(path: object) -> pl.DataFrame:
    """Return judgments with whole numbers as labels."""
    table = pl.read_csv(path, infer_schema=False)
    table = table.rename({"worker": "judge"}) if "worker" in table.columns else table
    return table.select("item", "judge", pl.col("label").cast(float).cast(int))


def _gold(path: object) -> dict[str, int]:
    """Return the expert grade of every item."""
    table = pl.read_csv(path, infer_schema=False).select("item", pl.col("label").cast(float).cast(int))
    return dict(table.iter_rows())


def _with_rerankers(world: World, table: pl.DataFrame) -> World:
    """Return the collection with four of its judges as rerankers, which are real systems."""
    position = {item: n for n, item in enumerate(world.items)}
    used = table.filter(pl.col("item").is_in(world.items))
    busiest = (
        used.group_by("judge").len().sort("len", "judge", descending=[True, False])["judge"][:: max(1, 33 // RUNS)]
    )
    scores = []
    for judge in busiest.to_list()[:RUNS]:
        own = np.zeros(len(position))
        for item, label in used.filter(pl.col("judge") == judge).select("item", "label").iter_rows():
            own[position[item]] = label
        scores.append(own)
    return world._replace(name="the same, with four of the judges as rerankers", ranked_by=tuple(scores))


def simulated_worlds() -> Iterator[World]:
    """Yield collections of simulated judges: good ones, and ones who are lured by what lures every second run."""
    for name, skill, lured, per_item in (
        ("simulated, good judges", 2.2, 0.0, 5),
        ("simulated, lured judges", 1.0, 0.8, 3),
    ):
        rng = np.random.default_rng(3)
        T, D, J = 25, 30, 30
        truth = (rng.random((T, D)) < rng.beta(2, 6, (T, 1))).astype(int).ravel()
        lure = rng.normal(size=T * D)
        skills, biases = np.abs(rng.normal(skill, 0.5, J)), rng.normal(0, 0.4, J)
        judge = np.array([rng.choice(J, per_item, replace=False) for _ in range(T * D)])
        odds = 1.2 * (skills[judge] * (2 * truth[:, None] - 1) + biases[judge] + lured * lure[:, None])
        label = (rng.random(judge.shape) < 1 / (1 + np.exp(-odds))).astype(int)
        names = [f"t{n // D}_d{n % D}" for n in range(T * D)]
        rows = [(names[n], f"j{judge[n, k]}", label[n, k]) for n in range(T * D) for k in range(per_item)]
        table = pl.DataFrame(rows, ["item", "judge", "label"], orient="row")
        gold = dict(zip(names, truth.tolist(), strict=True))
        world = make_world(name, table, gold, {item: item.split("_")[0] for item in names}, 1)
        at = {item: n for n, item in enumerate(names)}
        yield world._replace(lure=lure[[at[item] for item in world.items]])


def topics_of(world: World, chance: Floats, rng: np.random.Generator) -> list[AuditTopic]:
    """Return the topics of a collection with new runs."""
    size = world.truth.size
    common, grade = rng.normal(size=size), world.worth[world.truth] / world.worth.max()
    scores = [
        each + 1e-3 * rng.normal(size=size)
        if world.ranked_by
        else (1 + 0.25 * rng.normal()) * grade
        + 0.6 * common
        + 0.6 * rng.normal(size=size)
        + LURE * (r % 2) * world.lure
        for r, each in enumerate(world.ranked_by or [np.empty(0)] * RUNS)
    ]
    edges = np.flatnonzero(np.r_[True, np.diff(world.topic) > 0, True])
    return [
        AuditTopic(
            str(t),
            world.items[a:b],
            [np.argsort(-score[a:b], kind="stable") for score in scores],
            chance[a:b],
            np.ones(b - a, bool),
        )
        for t, (a, b) in enumerate(pairwise(edges))
    ]


def true_values(world: World, topics: Sequence[AuditTopic]) -> Floats:
    """Return the values of runs by all expert labels (R, M)."""
    edges = np.cumsum([0, *(len(topic.documents) for topic in topics)])
    by_topic = [
        values(topic.orders, world.truth[a:b, None].astype(np.uint16), world.worth, MEASURES, world.level)[:, :, 0]
        for topic, a, b in zip(topics, edges[:-1], edges[1:], strict=True)
    ]
    return np.mean(by_topic, axis=0)


def plain_estimates(world: World, topics: Sequence[AuditTopic]) -> Callable[[int, int, int], Estimate]:
    """Return estimates by the probabilities of labels alone, as if they were right and independent."""
    found = [
        [
            [expected_measure(o, t.with_unjudged(t.chance), world.worth, m, world.level) for m in MEASURES]
            for o in t.orders
        ]
        for t in topics
    ]
    chances = [topic.with_unjudged(topic.chance) for topic in topics]

    def of(run: int, measure: int, other: int = -1) -> Estimate:
        value, variance = 0.0, 0.0
        for t, chance in zip(found, chances, strict=True):
            mine = t[run][measure]
            influence, level = mine.influence, mine.value
            if other >= 0:
                influence, level = influence - t[other][measure].influence, level - t[other][measure].value
            mean = (chance * influence).sum(axis=1, keepdims=True)
            value += level
            variance += float((chance * (influence - mean) ** 2).sum())
        T = len(found)
        return Estimate(value / T, NORMAL * np.sqrt(variance) / T, np.nan, value / T, 0.0)

    return of


def audited(
    world: World, topics: Sequence[AuditTopic], probability: Floats, truth: Codes, judges: bool
) -> Callable[[int, int, int], Estimate]:
    """Return the estimates of an audit."""
    samples = list(estimate_rounds(topics, world.worth, MEASURES, world.level, [Round(probability, truth)], 0, judges))
    return lambda run, measure, other=-1: estimate(samples, run, measure, other)


def refitted(world: World, topics: Sequence[AuditTopic], truth: Codes) -> Callable[[int, int, int], Estimate]:
    """Return the estimates by a fit that has the audited labels as gold."""
    drawn = np.flatnonzero(truth >= 0)
    labels = [int(world.worth[truth[n]]) for n in drawn]
    gold = pl.DataFrame({"item": [world.items[n] for n in drawn], "label": labels})
    fit = adjudge.fit(world.judgments, gold=gold)
    row = {item: n for n, item in enumerate(fit.items.cast(str).to_list())}
    chance = fit.posterior[[row[item] for item in world.items]]
    edges = np.cumsum([0, *(len(topic.documents) for topic in topics)])
    known = [topic._replace(chance=chance[a:b]) for topic, a, b in zip(topics, edges[:-1], edges[1:], strict=True)]
    return plain_estimates(world, known)


def measure_world(world: World, repetitions: int = REPETITIONS, sizes: Sequence[int] = SIZES) -> list[Found]:
    """Return all intervals of all methods on a collection."""
    found: list[Found] = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([repetition, 77])
        topics = topics_of(world, world.chance, rng)
        exact = true_values(world, topics)
        found += _intervals("posterior", 0, plain_estimates(world, topics), exact)
        for size in sizes:
            if size > world.truth.size / 2:
                continue
            pi = sampling_probabilities(topics, world.worth, MEASURES, world.level, size)
            truth = np.where(rng.random(pi.size) < pi, world.truth, -1)
            found += _intervals("refitted", size, refitted(world, topics, truth), exact)
            found += _intervals("audit", size, audited(world, topics, pi, truth, True), exact)
            found += _intervals("without judges", size, audited(world, topics, pi, truth, False), exact)
            even = np.full(pi.size, size / pi.size)
            truth = np.where(rng.random(pi.size) < even, world.truth, -1)
            found += _intervals("random", size, audited(world, topics, even, truth, False), exact)
    return found


def _intervals(method: str, size: int, of: Callable[..., Estimate], exact: Floats) -> Iterator[Found]:
    """Yield the intervals of values and differences of one method."""
    R = len(exact)
    for m in range(len(MEASURES)):
        for a in range(R):
            each = of(a, m)
            yield Found(method, size, True, abs(each.value - exact[a, m]) <= each.half, each.half, False, False)
            for b in range(a + 1, R):
                each, difference = of(a, m, b), exact[a, m] - exact[b, m]
                decided = bool(abs(each.value) > each.half)
                wrong = decided and np.sign(each.value) != np.sign(difference)
                yield Found(method, size, False, abs(each.value - difference) <= each.half, each.half, decided, wrong)


def claim(world: World, found: Sequence[Found]) -> Claim:
    """Return the table of a collection."""
    rows = []
    for method in METHODS:
        for size in (0, *SIZES):
            mine = [each for each in found if each.method == method and each.size == size and each.half == each.half]
            if not mine:
                continue
            levels, pairs = ([each for each in mine if each.level == kind] for kind in (True, False))
            decided = [each for each in pairs if each.decided]
            rows.append(
                [
                    method,
                    str(size or "-"),
                    *(f"{np.mean([each.covers for each in part]):.2f}" for part in (levels, pairs)),
                    *(f"{np.mean([each.half for each in part]):.3f}" for part in (levels, pairs)),
                    f"{len(decided) / len(pairs):.0%}",
                    f"{np.mean([each.wrong for each in decided]):.1%}" if decided else "-",
                ]
            )
    topics = int(world.topic[-1]) + 1
    head = [
        "method",
        "m",
        "covers: values",
        "differences",
        "half-width: values",
        "differences",
        "decided",
        "of these wrong",
    ]
    return Claim(
        world.name[:1].upper() + world.name[1:],
        f"{world.truth.size:,} documents of {topics} topics; {REPETITIONS} repetitions.",
        head,
        rows,
    )


def measure() -> Iterator[Claim]:
    """Measure all collections."""
    for worlds in (real_worlds, simulated_worlds):
        for world in worlds():
            say(world.name)
            yield claim(world, measure_world(world))

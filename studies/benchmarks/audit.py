"""Claim: with an audit, intervals of systems and of their differences hold, whatever the judges' errors are.

Collections have judgments of people or machines and expert labels of all documents that are used. Four runs are made
for each repetition: the expert label plus noise that all runs share in part, and noise of their own. If a bias is
shared, every second run also likes what the judges like wrongly. Experts label an audit of m documents. An interval
"covers" if it contains the value that all expert labels give; a pair is decided if its difference is beyond chance with
Holm's correction for the six pairs of a measure (p at most .1), as `adjudge evaluate` decides it. "judges" draws labels
from the probabilities of the fit alone, "judges and runs" is `adjudge evaluate` without an audit, "refitted" draws
labels from a fit with the audited labels as gold, "audit" is `adjudge evaluate --audit`, "without judges" the same with
the ranks of runs alone, and "random" draws documents with equal probability and has no judges. Half-widths are means
over MAP, nDCG@10 and P@10. The coverage of "judges", "judges and runs" and "audit" is from 30 repetitions, that of
"without judges" and "random" from 6, and that of "refitted" from 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, pairwise
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import norm

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
from adjudge.evaluation.certify import error_parts, paired_p
from adjudge.evaluation.label_chances import POINTS, label_chances, label_prevalence
from adjudge.evaluation.uncertain_labels import draw_codes
from adjudge.inference.result import Fit
from adjudge.metrics.ranking import Measure, Pool, parse_measures, values
from adjudge.metrics.significance import holm
from studies.benchmarks.claim import DATA, Claim, say

MEASURES = parse_measures("MAP,nDCG@10,P@10")
WITH_MRR = parse_measures("MAP,nDCG@10,P@10,MRR")
SIZES = (50, 100, 200)
REPETITIONS, FEWER, REFITS = 30, 6, 2  # of audits; of comparisons without judges; of fits with gold
RUNS = 4
LURE = 0.8  # how much every second run likes what the judges like wrongly
MOST_DOCUMENTS, FEWEST_DOCUMENTS = 60, 8  # per topic
MOST_SEARCHED, MOST_TOPICS = 200, 60  # of collections with more topics than the first number, the second is used
DRAWS = 200
PROCESSES = 4
LARGE = 400  # documents from which 50 audited ones are left out
METHODS = ("judges", "judges and runs", "refitted", "audit", "without judges", "random")
PROTOTYPE = {  # half-widths of values and differences at 100 and 200 labels, and at 100 and 200 again
    "LLM panel, TREC DL 2023": ("0.134", "0.061", "0.158", "0.071"),
    "simulated, good judges": ("0.026", "0.016", "0.030", "0.017"),
    "simulated, lured judges": ("0.134", "0.068", "0.150", "0.068"),
}
OTHER_CROWDS = (
    *("rte", "temp", "wsd", "bluebirds", "ducks", "dog", "weather_amt", "possent", "product", "sentiment_polarity"),
    *("adult2", "web_search"),
    *(f"panels/{name}" for name in ("babe_bias", "tc_toxicity_EN", "tc_technology_EN", "alt_framing", "llmbar_all")),
    *(f"panels/{name}" for name in ("css_emotion", "alt_cebab_aspects")),
)  # crowds and panels that are no search collections, on which the judges' scale was learned
FEWEST_TRUTHS = 20  # items with and without a label, for a regression


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
    fit: Fit
    row: Codes  # (I) of the documents among the items of the fit
    prevalence: Floats  # (K) of labels, as `adjudge evaluate` estimates it
    ranked_by: Sequence[Floats] = ()  # (I) scores of real systems, if there are some
    shared: bool = True  # whether every second run shares a bias with the judges


class Found(NamedTuple):
    """One interval."""

    method: str
    measure: str
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
    kept = kept[:MOST_TOPICS] if len(kept) > MOST_SEARCHED else kept
    items = [item for part in kept for item in part]
    truth = np.array([values_of.index(gold[item]) for item in items])
    chance = fit.posterior[[row[item] for item in items]]
    worth = np.array([*fit.scale.values, 0.0])
    liked = logit(np.clip(chance @ (worth[:-1] / worth.max()), 0.005, 0.995))
    rest = liked - np.polyval(np.polyfit(worth[truth], liked, 1), worth[truth])
    topic = np.repeat(np.arange(len(kept)), [len(part) for part in kept])
    rows = np.array([row[item] for item in items])
    prevalence = label_prevalence(fit, judgments)
    return World(
        name, judgments, items, topic, truth, worth, float(level), chance, rest / rest.std(), fit, rows, prevalence
    )


def real_worlds() -> Mapping[str, Callable[[], World]]:
    """Return how each collection with expert labels is made, by its name."""
    return {
        "LLM panel, TREC DL 2023, four grades": _llm_panel,
        "the same panel, with four of its judges as rerankers": _rerankers,
        "prompts of LLMs, TREC DL 2020, four grades": _prompts,
        "crowd, TREC 2011": lambda: _crowd("crowd, TREC 2011", "trec2011_task2"),
        "crowd, news, two grades": lambda: _crowd("crowd, news, two grades", "nyt_2p"),
        "crowd, news, three grades": lambda: _crowd("crowd, news, three grades", "nyt_3p"),
        "crowd, passages for conversations": _conversations,
        "questions with one answer sentence in twenty, simulated crowd": _questions,
        "simulated, good judges": lambda: simulated_world("simulated, good judges", 2.2, 0.0, 5),
        "simulated, lured judges": lambda: simulated_world("simulated, lured judges", 1.0, 0.8, 3),
    }


def _llm_panel() -> World:
    """Return the panel of LLMs on TREC Deep Learning 2023."""
    folder = DATA / "panels" / "llmjudge_dl23"
    gold = _gold(folder / "gold.csv")
    topic_of = {item: item.split("_")[0] for item in gold}
    return make_world("LLM panel, TREC DL 2023, four grades", _labels(folder / "labels.csv"), gold, topic_of, 2)


def _rerankers() -> World:
    """Return the same panel with real systems."""
    return _with_rerankers(_llm_panel(), _labels(DATA / "panels" / "llmjudge_dl23" / "labels.csv"))


def _prompts() -> World:
    """Return the panel of prompts on TREC Deep Learning 2020."""
    folder = DATA / "panels" / "prompts_dl20_graded"
    topic_of = dict(pl.read_csv(folder / "items.csv", infer_schema=False).select("item", "topic").iter_rows())
    name = "prompts of LLMs, TREC DL 2020, four grades"
    return make_world(name, _labels(folder / "labels.csv"), _gold(folder / "gold.csv"), topic_of, 2)


def _crowd(title: str, name: str) -> World:
    """Return a crowd whose items are called topic_document."""
    gold = _gold(DATA / name / "gold.csv")
    return make_world(title, _labels(DATA / name / "labels.csv"), gold, {item: item.split("_")[0] for item in gold}, 1)


def _conversations() -> World:
    """Return workers who marked what answers a question in passages: a topic is a conversation.

    A passage is relevant to a worker who marked a sentence of it, and to the experts from grade 3 of 4.
    """
    folder = DATA / "cast_snippets"
    sentences = pl.read_csv(folder / "sentence_judgments_large.csv.gz", infer_schema=False)
    passage = pl.format("{}_{}", "turn", "passage").alias("item")
    table = sentences.group_by(passage, pl.col("worker").alias("judge")).agg(pl.col("label").cast(int).max())
    grades = pl.read_csv(folder / "trec_grades.csv", infer_schema=False)
    gold = dict(grades.select(passage, (pl.col("trec_grade").cast(int) >= 3).cast(int)).iter_rows())
    topic_of = {item: item.split("_")[0] for item in gold}
    return make_world("crowd, passages for conversations", table.sort("item", "judge"), gold, topic_of, 1)


def _questions() -> World:
    """Return questions with twenty candidate sentences of which about one answers, with a simulated crowd."""
    folder = DATA / "xquad_sentences"
    candidates = pl.read_csv(folder / "candidates.tsv.gz", separator="\t", infer_schema=False)
    pair = pl.format("{}_{}", "question", "passage").alias("item")
    gold = dict(candidates.select(pair, pl.col("gold").cast(int)).iter_rows())
    crowd = pl.read_csv(folder / "simulated_crowd.csv.gz", infer_schema=False)
    table = crowd.select(pair, pl.col("worker").alias("judge"), pl.col("label").cast(int))
    name = "questions with one answer sentence in twenty, simulated crowd"
    return make_world(name, table, gold, {item: item.split("_")[0] for item in gold}, 1)


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


def simulated_world(name: str, skill: float, lured: float, per_item: int, seed: int = 3) -> World:
    """Return a collection of simulated judges, who may be lured by what lures every second run."""
    rng = np.random.default_rng(seed)
    T, D, J = 25, 30, 30
    truth = (rng.random((T, D)) < rng.beta(2, 6, (T, 1))).astype(int).ravel()
    lure = rng.normal(size=T * D)
    skills, biases = np.abs(rng.normal(skill, 0.5, J)), rng.normal(0, 0.4, J)
    judge = np.array([rng.choice(J, per_item, replace=False) for _ in range(T * D)])
    odds = 1.2 * (skills[judge] * (2 * truth[:, None] - 1) + biases[judge] + lured * lure[:, None])
    label = (rng.random(judge.shape) < expit(odds)).astype(int)
    names = [f"t{n // D}_d{n % D}" for n in range(T * D)]
    rows = [(names[n], f"j{judge[n, k]}", label[n, k]) for n in range(T * D) for k in range(per_item)]
    table = pl.DataFrame(rows, ["item", "judge", "label"], orient="row")
    gold = dict(zip(names, truth.tolist(), strict=True))
    world = make_world(name, table, gold, {item: item.split("_")[0] for item in names}, 1)
    at = {item: n for n, item in enumerate(names)}
    return world._replace(lure=lure[[at[item] for item in world.items]])


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
        + LURE * world.shared * (r % 2) * world.lure
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


def true_values(world: World, topics: Sequence[AuditTopic], measures: Sequence[Measure] = MEASURES) -> Floats:
    """Return the values of runs by all expert labels (R, M)."""
    edges = np.cumsum([0, *(len(topic.documents) for topic in topics)])
    by_topic = [
        values(topic.orders, world.truth[a:b, None].astype(np.uint16), world.worth, measures, world.level)[:, :, 0]
        for topic, a, b in zip(topics, edges[:-1], edges[1:], strict=True)
    ]
    return np.mean(by_topic, axis=0)


class Estimates(NamedTuple):
    """The estimates of one method."""

    of: Callable[..., Estimate]  # of a run and a measure, less those of another run
    p: Callable[[int], Floats] | None = None  # (R, R) of the differences of runs by a measure; None by their intervals


def _from_draws(drawn: Floats) -> Estimates:
    """Return estimates from draws of the values of runs (R, M, S)."""

    def of(run: int, measure: int, other: int = -1) -> Estimate:
        difference = drawn[run, measure] - (drawn[other, measure] if other >= 0 else 0.0)
        low, high = np.quantile(difference, (0.05, 0.95))
        return Estimate((low + high) / 2, (high - low) / 2, np.nan, float(difference.mean()), 0.0)

    return Estimates(of)


def _drawn_values(world: World, topics: Sequence[AuditTopic], codes: Sequence[Codes]) -> Floats:
    """Return the values of runs (R, M, S) under drawn labels of the documents of every topic (D, S)."""
    by_topic = [
        values(topic.orders, code, world.worth, MEASURES, world.level)
        for topic, code in zip(topics, codes, strict=True)
    ]
    drawn: Floats = np.mean(by_topic, axis=0)
    return drawn


def judges_alone(world: World, topics: Sequence[AuditTopic], rng: np.random.Generator) -> Estimates:
    """Return the estimates by the probabilities of labels alone, as if they were right and independent."""
    return _from_draws(_drawn_values(world, topics, [draw_codes(topic.chance, DRAWS, rng) for topic in topics]))


def judges_and_runs(world: World, topics: Sequence[AuditTopic], rng: np.random.Generator) -> Estimates:
    """Return the estimates of `adjudge evaluate` without an audit, for these topics."""
    edges = _edges(topics)
    pools = [
        (Pool(topic.name, topic.documents, topic.orders, len(topic.documents)), world.row[a:b])
        for topic, (a, b) in zip(topics, pairwise(edges), strict=True)
    ]
    chances = label_chances(world.fit, pools, world.worth, world.level, world.prevalence, POINTS, rng)
    codes = [
        np.concatenate([draw_codes(chances.at(n, slice(a, b)), DRAWS // POINTS, rng) for n in range(POINTS)], axis=1)
        for a, b in pairwise(edges)
    ]
    return _from_draws(_drawn_values(world, topics, codes))


def _edges(topics: Sequence[AuditTopic]) -> list[int]:
    """Return where the documents of each topic begin, and the number of all."""
    edges: list[int] = np.cumsum([0, *(len(topic.documents) for topic in topics)]).tolist()
    return edges


def audited(
    world: World,
    topics: Sequence[AuditTopic],
    probability: Floats,
    truth: Codes,
    judges: bool,
    measures: Sequence[Measure] = MEASURES,
) -> Estimates:
    """Return the estimates of an audit."""
    samples = list(estimate_rounds(topics, world.worth, measures, world.level, [Round(probability, truth)], 0, judges))
    (errors, added), certain = error_parts(samples), sum(sample.certain for sample in samples)

    def of(run: int, measure: int, other: int = -1) -> Estimate:
        return estimate(samples, run, measure, other)

    def p(measure: int) -> Floats:
        value = np.array([of(run, measure).value for run in range(len(errors))])
        return paired_p(value, errors[:, measure], added[measure], certain)

    return Estimates(of, p)


def refitted(world: World, topics: Sequence[AuditTopic], truth: Codes, rng: np.random.Generator) -> Estimates:
    """Return the estimates by a fit that has the audited labels as gold."""
    drawn = np.flatnonzero(truth >= 0)
    labels = [int(world.worth[truth[n]]) for n in drawn]
    gold = pl.DataFrame({"item": [world.items[n] for n in drawn], "label": labels})
    chance = adjudge.fit(world.judgments, gold=gold).posterior[world.row]
    known = [topic._replace(chance=chance[a:b]) for topic, (a, b) in zip(topics, pairwise(_edges(topics)), strict=True)]
    return judges_alone(world, known, rng)


def measure_world(world: World, repetitions: int = REPETITIONS, sizes: Sequence[int] = SIZES) -> list[Found]:
    """Return all intervals of all methods on a collection."""
    found: list[Found] = []
    for repetition in range(repetitions):
        rng = np.random.default_rng([repetition, 77])
        topics = topics_of(world, world.chance, rng)
        exact = true_values(world, topics)
        found += _intervals("judges", 0, judges_alone(world, topics, rng), exact)
        found += _intervals("judges and runs", 0, judges_and_runs(world, topics, rng), exact)
        for size in sizes:
            if size > world.truth.size / 2 or (size == SIZES[0] and world.truth.size >= LARGE):
                continue
            pi = sampling_probabilities(topics, world.worth, MEASURES, world.level, size)
            truth = np.where(rng.random(pi.size) < pi, world.truth, -1)
            found += _intervals("audit", size, audited(world, topics, pi, truth, True), exact)
            if repetition < REFITS and world.shared:
                found += _intervals("refitted", size, refitted(world, topics, truth, rng), exact)
            if repetition < FEWER:
                found += _intervals("without judges", size, audited(world, topics, pi, truth, False), exact)
                even = np.full(pi.size, size / pi.size)
                truth = np.where(rng.random(pi.size) < even, world.truth, -1)
                found += _intervals("random", size, audited(world, topics, even, truth, False), exact)
    return found


def _intervals(
    method: str, size: int, estimates: Estimates, exact: Floats, measures: Sequence[Measure] = MEASURES
) -> Iterator[Found]:
    """Yield the intervals of values and differences of one method."""
    R, of = len(exact), estimates.of
    first, second = np.array(list(combinations(range(R), 2))).T
    for m, measure in enumerate(measures):
        for a in range(R):
            each = of(a, m)
            covers = abs(each.value - exact[a, m]) <= each.half
            yield Found(method, measure.name, size, True, covers, each.half, False, False)
        pairs = [(of(a, m, b), exact[a, m] - exact[b, m]) for a, b in zip(first, second, strict=True)]
        if estimates.p is None:
            ratio = np.array([abs(each.value) / each.half if each.half > 0 else np.inf for each, _ in pairs])
            single = 2 * norm.sf(ratio * norm.isf(0.05))  # 0.1 where an end of the interval is 0
        else:
            single = estimates.p(m)[first, second]
        for (each, difference), p in zip(pairs, holm(single), strict=True):
            covers, decided = abs(each.value - difference) <= each.half, bool(p <= 0.1)
            wrong = decided and np.sign(each.value) != np.sign(difference)
            yield Found(method, measure.name, size, False, covers, each.half, decided, wrong)


HEAD = (
    *("method", "m", "covers: values", "differences"),
    *(f"{measure.name}: values, differences" for measure in MEASURES),
    *("half-width: values", "differences", "decided", "of these wrong"),
)


def claim(world: World, found: Sequence[Found]) -> Claim:
    """Return the table of a collection."""
    rows = []
    for method in METHODS:
        for size in (0, *SIZES):
            mine = [each for each in found if each.method == method and each.size == size and each.half == each.half]
            if mine:
                rows.append([method, str(size or "-"), *_cells(mine)])
    bias = "" if world.ranked_by else f", {'a' if world.shared else 'no'} bias shared with every second run"
    how = f"{world.truth.size:,} documents of {int(world.topic[-1]) + 1} topics; {REPETITIONS} repetitions."
    return Claim(world.name[:1].upper() + world.name[1:] + bias, how, HEAD, rows)


def _cells(found: Sequence[Found]) -> list[str]:
    """Return coverages, half-widths and decisions."""
    levels, pairs = ([each for each in found if each.level == kind] for kind in (True, False))
    decided = [each for each in pairs if each.decided]

    def covers(part: Sequence[Found]) -> str:
        return f"{np.mean([each.covers for each in part]):.2f}"

    by_measure = [
        ", ".join(covers([each for each in part if each.measure == measure.name]) for part in (levels, pairs))
        for measure in MEASURES
    ]
    return [
        *(covers(part) for part in (levels, pairs)),
        *by_measure,
        *(f"{np.mean([each.half for each in part]):.3f}" for part in (levels, pairs)),
        f"{len(decided) / len(pairs):.0%}",
        f"{np.mean([each.wrong for each in decided]):.1%}" if decided else "-",
    ]


def binary(world: World) -> World:
    """Return a collection in which documents are relevant or not."""
    relevant = world.worth[:-1] >= world.level
    chance = np.stack([world.chance[:, ~relevant].sum(axis=1), world.chance[:, relevant].sum(axis=1)], axis=1)
    truth = relevant[world.truth].astype(np.int64)
    return world._replace(truth=truth, worth=np.array([0.0, 1.0, 0.0]), level=1.0, chance=chance)


def compare_with_prototype() -> Claim:
    """Measure half-widths on collections like those of the prototype: two grades, and MRR too."""
    worlds = {
        "LLM panel, TREC DL 2023": lambda _: _llm_panel(),
        "simulated, good judges": lambda n: simulated_world("", 2.2, 0.0, 5, seed=100 + n),
        "simulated, lured judges": lambda n: simulated_world("", 1.0, 0.8, 3, seed=100 + n),
    }
    rows = []
    for name, make in worlds.items():
        found, world = [], binary(make(0))
        for repetition in range(REPETITIONS):
            if name.startswith("simulated") and repetition % 4 == 0:
                world = binary(make(repetition))
            rng = np.random.default_rng([repetition, 78])
            topics = topics_of(world, world.chance, rng)
            exact = true_values(world, topics, WITH_MRR)
            for size in (100, 200):
                pi = sampling_probabilities(topics, world.worth, WITH_MRR, world.level, size)
                truth = np.where(rng.random(pi.size) < pi, world.truth, -1)
                found += _intervals("audit", size, audited(world, topics, pi, truth, True, WITH_MRR), exact, WITH_MRR)
        cells = []
        for n, (size, level) in enumerate(((100, True), (200, True), (100, False), (200, False))):
            mine = [each for each in found if each.size == size and each.level == level and each.half == each.half]
            half, covers = np.mean([each.half for each in mine]), np.mean([each.covers for each in mine])
            cells.append(f"{half:.3f} ({covers:.2f}); {PROTOTYPE[name][n]}")
        rows.append([name, *cells])
    head = ("collection", "values, m = 100", "m = 200", "differences, m = 100", "m = 200")
    how = (
        "Mean half-width of the audit (coverage); that of the prototype of this method. Relevance has two grades, MRR "
        f"is a fourth measure, and a bias is shared with every second run; {REPETITIONS} repetitions, of simulated "
        "collections with ten different crowds."
    )
    return Claim("Half-widths beside those of the prototype", how, head, rows)


def judges_scale() -> Claim:
    """Measure how far the judges' scale is off on crowds that are no search collections."""
    shifts, slopes, ratios = [], [], []
    for name in OTHER_CROWDS:
        table = pl.read_csv(DATA / name / "labels.csv", infer_schema=False)
        table = table.rename({"worker": "judge"}) if "worker" in table.columns else table
        fit = adjudge.fit(table.select("item", "judge", "label"))
        truth = dict(pl.read_csv(DATA / name / "gold.csv", infer_schema=False).select("item", "label").iter_rows())
        names, items = list(fit.scale.names), fit.items.cast(str).to_list()
        rows = [n for n, item in enumerate(items) if truth.get(item) in names]
        code = np.array([names.index(truth[items[n]]) for n in rows])
        for k in range(len(names)) if len(names) > 2 else (1,):
            is_k = (code == k).astype(float)
            if min(is_k.sum(), (1 - is_k).sum()) < FEWEST_TRUTHS:
                continue
            shift, (_, slope) = _regressions(np.clip(fit.posterior[rows, k], 0.002, 0.998), is_k)
            assert fit.calibration is not None
            shifts.append(shift)
            slopes.append(slope)
            ratios.append(abs(shift) / logit(0.5 + fit.calibration.margin))
    rows = [
        ["standard deviation of the shift", f"{np.sqrt(np.mean(np.square(shifts))):.2f}"],
        ["shift over the logit of 1/2 + margin, 90 % quantile", f"{np.quantile(ratios, 0.9):.2f}"],
        ["log slope, mean", f"{np.mean(slopes):.2f}"],
        ["log slope, standard deviation", f"{np.std(slopes):.2f}"],
    ]
    how = (
        f"{len(shifts)} labels of {len(OTHER_CROWDS)} crowds and panels with gold that are no search collections. The "
        "log odds of a label are regressed on those that the consensus gives: a shift alone, and a shift and a slope. "
        "`adjudge evaluate` uses these numbers; the collections below had no part in them."
    )
    return Claim("The judges' scale, on other crowds", how, ("quantity", "value"), rows)


def _regressions(p: Floats, truth: Floats) -> tuple[float, tuple[float, float]]:
    """Return the shift of log odds that explains the truths best, and the shift and the log slope that do."""
    odds, centre = logit(p), float(logit(p.mean()))

    def loss(shift: float, slope: float) -> float:
        chance = np.clip(expit(centre + shift + np.exp(slope) * (odds - centre)), 1e-12, 1 - 1e-12)
        return float(-np.log(np.where(truth > 0, chance, 1 - chance)).sum() + (shift**2 + slope**2) / 8)

    alone = minimize(lambda x: loss(x[0], 0.0), [0.0]).x
    both = minimize(lambda x: loss(*x), [0.0, 0.0]).x
    return float(alone[0]), (float(both[0]), float(both[1]))


def _claims(name: str) -> list[Claim]:
    """Measure one collection, without and with a shared bias, or one of the two tables before them."""
    say(name)
    if name in TABLES:
        return [TABLES[name]()]
    world = real_worlds()[name]()
    return [
        claim(each, measure_world(each))
        for each in ([world] if world.ranked_by else [world._replace(shared=shared) for shared in (False, True)])
    ]


TABLES: Mapping[str, Callable[[], Claim]] = {"scale": judges_scale, "prototype": compare_with_prototype}


def measure() -> Iterator[Claim]:
    """Measure all collections."""
    processes = get_context("spawn")  # a fork would copy locks of threads that it does not have
    with ProcessPoolExecutor(PROCESSES, processes) as pool:
        for claims in pool.map(_claims, [*TABLES, *real_worlds()]):
            yield from claims

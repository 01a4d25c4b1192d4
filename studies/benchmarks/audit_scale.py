"""Claim: an audit of 100 runs takes seconds, and its intervals for a population of topics hold.

Collections are simulated: every topic has a prevalence of its own, three judges are right with probability .85, and
runs rank documents by the true label plus noise. Times are CPU seconds over all threads, of one call each with MAP,
nDCG@10 and P@10, after a call on a small collection that compiles; reading of runs is included.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.evaluation.audit import AuditTopic, Round, estimate, estimate_rounds, sampling_probabilities
from adjudge.evaluation.certify import audit, certify
from adjudge.metrics.ranking import parse_measures, values
from studies.benchmarks.claim import Claim, description, say

TOPICS, DOCUMENTS, RETURNED, SIZE = 1_000, 200, 100, 200
RUNS = (3, 100)
MEASURES = parse_measures("MAP,nDCG@10,P@10,ERR(max_rel=1),RBP")
WORTH = np.array([0.0, 1.0, 0.0])
REPETITIONS, POOL = 60, 30
CASES = ((12, 60), (25, 50), (25, 100), (50, 100), (50, 200), (100, 100))  # topics, audited documents
POPULATION = 6_000  # topics that stand for all


def collection(runs: int, topics: int) -> tuple[Any, dict[str, pl.DataFrame], dict[tuple[str, str], int]]:
    """Return a fit, runs and the true label of every document."""
    rng = np.random.default_rng(0)
    truth = (rng.random((topics, DOCUMENTS)) < rng.beta(2, 6, (topics, 1))).astype(int)
    pairs = [(f"t{t}", f"d{d}") for t in range(topics) for d in range(DOCUMENTS)]
    items = ["_".join(pair) for pair in pairs]
    label = np.where(rng.random((3, truth.size)) < 0.85, truth.ravel(), 1 - truth.ravel())
    rows = {"item": items * 3, "judge": np.repeat(["a", "b", "c"], len(items)), "label": label.ravel()}
    fit = adjudge.fit(pl.DataFrame(rows | {"topic": [topic for topic, _ in pairs] * 3}), "majority")
    systems = {}
    for r in range(runs):
        best = np.argsort(-truth - rng.normal(0, 1 + 0.01 * r, truth.shape), axis=1)[:, :RETURNED]
        columns = {
            "topic": np.repeat([f"t{t}" for t in range(topics)], RETURNED),
            "document": [f"d{d}" for d in best.ravel()],
            "score": np.tile(np.arange(RETURNED, 0, -1.0), topics),
        }
        systems[f"run{r}"] = pl.DataFrame(columns)
    return fit, systems, dict(zip(pairs, truth.ravel().tolist(), strict=True))


def speed() -> Claim:
    """Measure how long an audit takes."""
    rows = []
    for runs in RUNS:
        seconds = {}
        for topics in (20, TOPICS):
            fit, systems, truth = collection(runs, topics)
            seconds["draw"], sample = _timed(lambda fit=fit, systems=systems: audit(fit, systems, SIZE))
            label = [truth[pair] for pair in sample.select("topic", "document").iter_rows()]
            answers = sample.with_columns(label=pl.Series(label))
            seconds["evaluate"], _ = _timed(lambda a=answers, fit=fit, systems=systems: certify(fit, systems, a))
        say(f"{runs} runs: {seconds}")
        rows.append([str(runs), *(f"{seconds[step]:.1f}" for step in ("draw", "evaluate"))])
    documents = f"{TOPICS * DOCUMENTS:,} documents of {TOPICS:,} topics"
    how = f"{documents}; every run returns {RETURNED} per topic; {SIZE} are audited."
    return Claim("Time of an audit", f"{how} {description(__doc__)}", ["runs", "draw, CPU s", "evaluate, CPU s"], rows)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU time of a call, and its result."""
    began = time.process_time()
    result = work()
    return time.process_time() - began, result


def draw_topics(rng: np.random.Generator, topics: int, lured: float) -> tuple[list[AuditTopic], Codes]:
    """Return topics of a population with two runs, the second of which shares errors with lured judges."""
    truth = (rng.random((topics, POOL)) < rng.beta(1.5, 4, (topics, 1))).astype(int)
    lure = rng.normal(size=truth.shape)
    odds = (1.5 if lured else 2.5) * (2 * truth - 1) + lured * lure + rng.normal(size=truth.shape)
    p = 1 / (1 + np.exp(-odds))
    own = 1 + 0.3 * rng.normal(size=(topics, 1))  # the first run is better in some topics than in others
    first = truth * own + rng.normal(0, 0.8, truth.shape)
    second = truth + rng.normal(0, 0.8, truth.shape) + 0.4 * lured * lure
    return [
        AuditTopic(
            str(t),
            [str(d) for d in range(POOL)],
            [np.argsort(-score[t]) for score in (first, second)],
            np.stack([1 - p[t], p[t]], axis=1),
            np.ones(POOL, bool),
        )
        for t in range(topics)
    ], truth.ravel()


def true_means(topics: Sequence[AuditTopic], truth: Codes) -> Floats:
    """Return the true means of both runs (R, M)."""
    parts = zip(topics, np.split(truth, len(topics)), strict=True)
    by_topic = [values(t.orders, y[:, None].astype(np.uint16), WORTH, MEASURES, 1.0)[:, :, 0] for t, y in parts]
    mean: Floats = np.mean(by_topic, axis=0)
    return mean


def population() -> Claim:
    """Measure how often intervals for a population of topics contain its mean."""
    rows = []
    for lured, name in ((0.0, "honest judges"), (2.0, "lured judges")):
        exact = true_means(*draw_topics(np.random.default_rng(99), POPULATION, lured))
        for topics, size in CASES:
            inside, apart, half = [], [], []
            for repetition in range(REPETITIONS):
                rng = np.random.default_rng([repetition, topics, size])
                drawn, truth = draw_topics(rng, topics, lured)
                pi = sampling_probabilities(drawn, WORTH, MEASURES, 1.0, size)
                answers = [Round(pi, np.where(rng.random(truth.size) < pi, truth, -1))]
                samples = list(estimate_rounds(drawn, WORTH, MEASURES, 1.0, answers, 0))
                for m in range(len(MEASURES)):
                    for r in range(2):
                        own = estimate(samples, r, m)
                        inside.append(abs(own.value - exact[r, m]) <= own.population)
                        half.append(own.population)
                    both = estimate(samples, 0, m, 1)
                    apart.append(abs(both.value - exact[0, m] + exact[1, m]) <= both.population)
            figures = [f"{np.mean(inside):.2f}", f"{np.mean(apart):.2f}", f"{np.mean(half):.3f}"]
            rows.append([name, str(topics), str(size), *figures])
            say(" ".join(rows[-1]))
    how = (
        f"90 % intervals of {', '.join(measure.name for measure in MEASURES)} for a population of topics, of which "
        f"some are drawn with {POOL} documents each; the true means are those of {POPULATION:,} topics. Lured judges "
        f"like what the second run likes wrongly. {REPETITIONS} repetitions, so that coverage is known to about .03."
    )
    head = ["collection", "topics", "m", "covers: values", "differences", "half-width: values"]
    return Claim("Intervals for a population of topics", how, head, rows)


def measure() -> Iterator[Claim]:
    """Measure times and coverage."""
    yield speed()
    yield population()

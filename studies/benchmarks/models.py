"""Claim: every model is linear in the number of judgments up to a million.

CPU time of an EM iteration (E-step and M-step, all threads counted, median of several, after a warm-up) and of a whole
fit. 5 judgments per item; five ordered labels, or two for models that need two. An exponent is the slope of the time
of an iteration between 100,000 and 1,000,000 judgments on log scales (1 is linear): once with 200 judgments per judge,
as in the other columns, and once with 500 judges at both sizes. With more judges, their tables exceed the cache, and
the first exponent is slightly above 1. m-msr compares all pairs of judges, so its time depends on the number of pairs
and not on the judgments. A vote or an average has no iterations; one pass is timed instead. A fit marked "about" was
not run: its time is the iteration count of the smaller fit times the time of an iteration at this size.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import adjudge
from adjudge.inference.infer import parallel_blocks, total_over
from adjudge.inference.model import MODELS
from adjudge.inference.params import accurate
from studies.benchmarks.claim import Claim, cpu_seconds, description

SIZES = (10_000, 100_000, 1_000_000)
FIXED = 500  # judges of the second exponent
LONG = 10.0  # seconds beyond which a fit is not run


def crowd(size: int, labels: int, judges: int) -> adjudge.Judgments:
    """Return simulated judgments with ordered labels, or with two labels."""
    design, sizes = ("ordinal", {"labels": labels}) if labels > 2 else ("dawid-skene", {"labels": 2})
    return adjudge.simulate(design, items=size // 5, judges=judges, **sizes).judgments


def repeated_step(judgments: adjudge.Judgments, name: str, pool: ThreadPoolExecutor) -> Callable[[], object]:
    """Return a function that runs one EM iteration of a model, starting from the result of the previous call."""
    model = MODELS[name]
    total = total_over(parallel_blocks(judgments.block()), pool)
    prior = accurate(len(judgments.judges), len(judgments.scale))
    begin = model.estimate(total(next(iter(model.starts.values())) or model.assign, prior), prior)
    at = [begin]

    def step() -> None:
        model.log_prior(at[0])
        at[0] = model.estimate(total(model.assign, at[0]), begin)

    return step


def pass_seconds(step: Callable[[], object]) -> float:
    """Return the median time of an EM iteration after a first one; fewer are timed if they are slow."""
    first = cpu_seconds(step, 1)
    return cpu_seconds(step, 9 if first < 1 else 2)


def fit_seconds(judgments: adjudge.Judgments, name: str, expected: float) -> tuple[str, int]:
    """Return the time of a fit as text, and its iterations; a fit that is expected to be long is not run."""
    if expected > LONG:
        return f"about {expected:,.0f}", 0
    began = time.process_time()
    passes = adjudge.fit(judgments, name, workers=1, inference="map").passes
    return f"{time.process_time() - began:.2f}", passes


def row(name: str, crowds: list[adjudge.Judgments], few: adjudge.Judgments, pool: ThreadPoolExecutor) -> list[str]:
    """Time a model at every size, and at the last with few judges."""
    passes, each, fits = 0, [], []
    for judgments in crowds:
        each.append(pass_seconds(repeated_step(judgments, name, pool)))
        fit, n = fit_seconds(judgments, name, passes * each[-1])
        passes = n or passes
        fits.append(fit)
    last = (each[-1], pass_seconds(repeated_step(few, name, pool)))
    nanoseconds = [f"{1e9 * seconds / len(crowd):,.0f}" for seconds, crowd in zip(each, crowds, strict=True)]
    return [f"`{name}`", *nanoseconds, *(f"{np.log10(seconds / each[-2]):.2f}" for seconds in last), str(passes), *fits]


def measure() -> Claim:
    """Time every model at every size."""
    crowds = {labels: [crowd(size, labels, size // 200) for size in SIZES] for labels in (2, 5)}
    few = {labels: crowd(SIZES[-1], labels, FIXED) for labels in (2, 5)}
    rows = []
    with ThreadPoolExecutor(1) as pool:
        for name, model in MODELS.items():
            if "map" not in model.inferences:
                continue  # sampled only: bayes.py
            labels = 2 if model.labels.binary else 5
            rows.append(row(name, crowds[labels], few[labels], pool))
            print(" ".join(rows[-1]), file=sys.stderr)
    sizes = [f"{size:,}" for size in SIZES]
    passes = [f"ns per judgment and iteration, {size}" for size in sizes]
    exponents = ("exponent, 200 per judge", f"exponent, {FIXED} judges")
    head = ("model", *passes, *exponents, "iterations", *(f"fit of {size}, s" for size in sizes))
    return Claim("Every model", description(__doc__), head, rows)


if __name__ == "__main__":
    print(measure().markdown())

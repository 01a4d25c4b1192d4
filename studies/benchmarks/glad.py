"""Claim: an EM iteration of GLAD takes at most a hundredth of the time of crowd-kit.

Same judgments, same run, one thread each, median CPU time of several rounds after a warm-up; 5 judgments per item, 200
per judge. An iteration is one E-step and one M-step. crowd-kit optimises the ease of every item together with the
abilities, with up to 25 conjugate gradient steps per iteration. adjudge integrates the ease out on 15 points and finds
the abilities by Newton steps.
Whole fits stop by the criterion of each library: adjudge uses the log-likelihood; crowd-kit stops when Q improves by
less than its tolerance per row, which can happen while the log-likelihood still increases. Accuracy is on the
available gold, with ties broken at random.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from crowdkit.aggregation import GLAD

import adjudge
from adjudge.data.simulate import simulate
from adjudge.inference.infer import parallel_blocks, total_over
from adjudge.inference.params import accurate
from adjudge.inference.registry import MODELS
from studies.benchmarks.claim import Claim, cpu_seconds

SHARED = Path(os.environ.get("ADJUDGE_SHARED", Path(__file__).parents[3] / "shared")) / "data"
SIZE = 100_000
GOAL = 100
SETS = ("rte", "product", "web_search")
HOW = [" ".join(part.split()) for part in __doc__.split("\n\n")[1].split("\nWhole ")]


def our_step(judgments: adjudge.Judgments, pool: ThreadPoolExecutor) -> Callable[[], object]:
    """Return one iteration of ours, over and over from where the last one ended."""
    model = MODELS["glad"]
    total = total_over(parallel_blocks(judgments.block()), pool)
    prior = accurate(len(judgments.judges), len(judgments.scale))
    begin = model.estimate(total(model.assign, prior), prior)
    at = [begin]

    def step() -> None:
        at[0] = model.estimate(total(model.assign, at[0]), begin)

    return step


def peer_step(judgments: adjudge.Judgments) -> Callable[[], object]:
    """Return one iteration of crowd-kit: the body of the loop in its ``fit``."""
    table, peer = in_their_names(judgments), GLAD()
    peer._init(table)
    at = [peer._e_step(peer._join_all(table, peer.alphas_, peer.betas_, peer.priors_))]

    def step() -> None:
        at[0] = peer._m_step(peer._e_step(at[0]))
        peer._compute_Q(at[0])

    return step


def in_their_names(judgments: adjudge.Judgments) -> pd.DataFrame:
    """Return judgments as crowd-kit takes them, in codes."""
    return pd.DataFrame({"task": judgments.item(), "worker": judgments.judge, "label": judgments.label})


def iterations() -> Claim:
    """Time one iteration of both, for two and five labels."""
    rows = []
    with ThreadPoolExecutor(1) as pool:
        for labels in (2, 5):
            judgments = simulate("dawid-skene", items=SIZE // 5, judges=SIZE // 200, labels=labels).judgments
            steps = (our_step(judgments, pool), peer_step(judgments))
            steps[0]()  # compiled, and pages touched
            ours, peer = (cpu_seconds(step, n) for step, n in zip(steps, (15, 3), strict=True))
            ratio = f"{peer / ours:,.0f}x (goal {GOAL}x)"
            rows.append((f"{SIZE:,}", str(labels), f"{1e3 * ours:,.1f}", f"{1e3 * peer:,.0f}", ratio))
            print(" ".join(rows[-1]), file=sys.stderr)
    head = ("judgments", "labels", "adjudge, ms", "crowd-kit, ms", "speed-up over crowd-kit")
    return Claim("One EM iteration of GLAD", HOW[0], head, rows)


def fits() -> Claim:
    """Time whole fits of both, and score them."""
    rows = []
    for name in SETS:
        judgments, gold = adjudge.read(str(SHARED / name / "labels.csv")), str(SHARED / name / "gold.csv")
        adjudge.fit(judgments, "glad", workers=1)  # compiled
        ours, fit = timed(lambda judgments=judgments: adjudge.fit(judgments, "glad", workers=1))
        peer, other = timed(lambda judgments=judgments: GLAD().fit(in_their_names(judgments)))
        label = other.labels_.sort_index().to_numpy()
        theirs = pl.DataFrame({"item": judgments.items, "label": np.array(judgments.scale.names)[label]})
        right = [f"{adjudge.score(one, gold).values['accuracy']:.4f}" for one in (fit, theirs)]
        same = f"{100 * np.mean(np.array(fit.label) == label):.1f} %"
        took = (f"{ours:.2f} ({fit.passes})", f"{peer:.1f} ({len(other.loss_history_)})", f"{peer / ours:,.0f}x")
        rows.append((f"`{name}`", *took, *right, same))
        print(" ".join(rows[-1]), file=sys.stderr)
    head = (
        "set",
        "adjudge, s (iterations)",
        "crowd-kit, s (iterations)",
        "speed-up",
        "adjudge, accuracy",
        "crowd-kit, accuracy",
        "same labels",
    )
    return Claim("Whole fits of GLAD", f"Whole {HOW[1]}", head, rows)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU time of some work, and what came of it."""
    began = time.process_time()
    outcome = work()
    return time.process_time() - began, outcome


def measure() -> list[Claim]:
    """Time iterations, then whole fits."""
    return [iterations(), fits()]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

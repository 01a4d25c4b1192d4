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

import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from crowdkit.aggregation import GLAD

import adjudge
from adjudge.data.simulate import simulate
from studies.benchmarks.claim import DATA, Claim, cpu_seconds
from studies.benchmarks.models import repeated_step

SIZE = 100_000
GOAL = 100
SETS = ("rte", "product", "web_search")
HOW = [" ".join(part.split()) for part in __doc__.split("\n\n")[1].split("\nWhole ")]


def peer_step(judgments: adjudge.Judgments) -> Callable[[], object]:
    """Return a function that runs one EM iteration of crowd-kit: the body of the loop in its ``fit``."""
    table, peer = crowdkit_table(judgments), GLAD()
    peer._init(table)
    at = [peer._e_step(peer._join_all(table, peer.alphas_, peer.betas_, peer.priors_))]

    def step() -> None:
        at[0] = peer._m_step(peer._e_step(at[0]))
        peer._compute_Q(at[0])

    return step


def crowdkit_table(judgments: adjudge.Judgments) -> pd.DataFrame:
    """Return judgments as a table of codes with the columns of crowd-kit."""
    return pd.DataFrame({"task": judgments.item(), "worker": judgments.judge, "label": judgments.label})


def iterations() -> Claim:
    """Time one iteration of both, for two and five labels."""
    rows = []
    with ThreadPoolExecutor(1) as pool:
        for labels in (2, 5):
            judgments = simulate("dawid-skene", items=SIZE // 5, judges=SIZE // 200, labels=labels).judgments
            steps = (repeated_step(judgments, "glad", pool), peer_step(judgments))
            steps[0]()  # compiles the kernels
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
        judgments, gold = adjudge.read(str(DATA / name / "labels.csv")), str(DATA / name / "gold.csv")
        adjudge.fit(judgments, "glad", workers=1)  # compiles the kernels
        ours, fit = timed(lambda judgments=judgments: adjudge.fit(judgments, "glad", workers=1))
        peer, other = timed(lambda judgments=judgments: GLAD().fit(crowdkit_table(judgments)))
        label = other.labels_.sort_index().to_numpy()
        theirs = pl.DataFrame({"item": judgments.items, "label": np.array(judgments.scale.names)[label]})
        right = [f"{adjudge.score(answer, gold).values['accuracy']:.4f}" for answer in (fit, theirs)]
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
    """Return the CPU time of a call, and its result."""
    began = time.process_time()
    outcome = work()
    return time.process_time() - began, outcome


def measure() -> list[Claim]:
    """Time iterations, then whole fits."""
    return [iterations(), fits()]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

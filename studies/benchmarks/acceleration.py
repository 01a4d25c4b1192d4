"""Claim: acceleration at least halves the EM iterations on real judgments, and never ends below plain EM.

Number of EM iterations until the log-likelihood is within 1e-6 per judgment of the final value of plain EM. Plain EM
is stopped here when it improves by less than 1e-10 per judgment, because it stays on plateaus with the default
tolerance. Both start from the majority vote. "Difference" is the final log-likelihood of accelerated EM minus that of
plain EM, in nats.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import adjudge
from studies.benchmarks.claim import Claim

SHARED = Path(os.environ.get("ADJUDGE_SHARED", Path(__file__).parents[3] / "shared")) / "data"
SETS = ("web_search", "trec2011_task2", "trec2011_task2_mini", "product", "adult2", "fact_eval", "sentiment_polarity")
CLOSE = 1e-6
LONG = {"tolerance": 1e-10, "iterations": 20_000}


def climbed(judgments: adjudge.Judgments, accelerate: bool) -> list[float]:
    """Return the evidence of every pass, the last one the end."""
    heard: list[float] = []
    fit = adjudge.fit(judgments, accelerate=accelerate, progress=lambda _, evidence: heard.append(evidence), **LONG)
    return [*heard, fit.evidence[-1]]


def measure() -> Claim:
    """Count passes on every set at hand."""
    rows = []
    for name in SETS:
        judgments = adjudge.read(str(SHARED / name / "labels.csv"))
        plain, leaping = climbed(judgments, False), climbed(judgments, True)
        goal = plain[-1] - CLOSE * len(judgments)
        counts = [next((n for n, e in enumerate(heard, 1) if e >= goal), 0) for heard in (plain, leaping)]
        ratio = f"{counts[0] / counts[1]:.1f}x" if counts[1] else "not reached"
        end = f"{leaping[-1] - plain[-1]:+.3f}"
        rows.append((f"`{name}`", f"{len(judgments):,}", str(counts[0]), str(counts[1]), ratio, end))
        print(" ".join(rows[-1]), file=sys.stderr)
    head = ("set", "judgments", "plain EM, iterations", "accelerated, iterations", "reduction", "difference")
    return Claim("EM iterations of Dawid-Skene", " ".join(__doc__.split("\n\n")[1].split()), head, rows)


if __name__ == "__main__":
    print(measure().markdown())

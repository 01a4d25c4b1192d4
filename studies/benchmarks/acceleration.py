"""Claim: acceleration at least halves the EM iterations on real judgments, and never ends below plain EM.

Number of EM iterations until the log-likelihood is within 1e-6 per judgment of the final value of plain EM. Plain EM
is stopped here when it improves by less than 1e-10 per judgment, because it stays on plateaus with the default
tolerance. Both start from the majority vote. "Difference" is the final log-likelihood of accelerated EM minus that of
plain EM, in nats.
"""

from __future__ import annotations

import sys

import adjudge
from studies.benchmarks.claim import DATA, Claim, description

SETS = ("web_search", "trec2011_task2", "trec2011_task2_mini", "product", "adult2", "fact_eval", "sentiment_polarity")
CLOSE = 1e-6
LONG = {"tolerance": 1e-10, "iterations": 20_000}


def evidence_history(judgments: adjudge.Judgments, accelerate: bool) -> list[float]:
    """Return the log-likelihood after every EM iteration."""
    history: list[float] = []
    fit = adjudge.fit(judgments, accelerate=accelerate, progress=lambda _, evidence: history.append(evidence), **LONG)
    return [*history, fit.evidence[-1]]


def measure() -> Claim:
    """Count the EM iterations on every set."""
    rows = []
    for name in SETS:
        judgments = adjudge.read(str(DATA / name / "labels.csv"))
        plain, accelerated = evidence_history(judgments, False), evidence_history(judgments, True)
        goal = plain[-1] - CLOSE * len(judgments)
        counts = [next((n for n, e in enumerate(history, 1) if e >= goal), 0) for history in (plain, accelerated)]
        ratio = f"{counts[0] / counts[1]:.1f}x" if counts[1] else "not reached"
        end = f"{accelerated[-1] - plain[-1]:+.3f}"
        rows.append((f"`{name}`", f"{len(judgments):,}", str(counts[0]), str(counts[1]), ratio, end))
        print(" ".join(rows[-1]), file=sys.stderr)
    head = ("set", "judgments", "plain EM, iterations", "accelerated, iterations", "reduction", "difference")
    return Claim("EM iterations of Dawid-Skene", description(__doc__), head, rows)


if __name__ == "__main__":
    print(measure().markdown())

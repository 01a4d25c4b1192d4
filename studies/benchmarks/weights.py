"""Claims: a million judgments are weighed in well under two seconds, and the simulated crowd is like that of paper 004.

CPU seconds, median of five, for one million judgments (200,000 items, 5,000 judges with 9 to 430 judgments each): from
encoded judgments, and from a pandas frame with a column of trust, including reading. For comparison, the same formula
in pandas (groupby and map); its weights are checked to be the same.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd

import adjudge
from adjudge.data.simulate import simulate
from adjudge.errors import AdjudgeWarning
from adjudge.learn.weights import SCHEMES, weights
from studies.benchmarks.claim import Claim, cpu_seconds, description

SIZES = {"topics": 1, "items": 200_000, "judges": 5_000}
REGIMES = (
    {},
    {"noise": 0.07},
    {"noise": 0.25},
    {"relation": -0.8},
    {"relation": 0.8},
    {"spammers": 0.2},
    {"spammers": 0.2, "relation": -0.8},
)
SEEDS = 5


def measure() -> Iterator[Claim]:
    """Time the schemes, and describe the crowds."""
    warnings.simplefilter("ignore", AdjudgeWarning)
    yield timed()
    yield crowds()


def timed() -> Claim:
    """Time every scheme from encoded judgments, from a frame, and in pandas."""
    crowd = simulate("rerank", **SIZES)
    table, trust = crowd.table.to_pandas(), dict(zip(crowd.judgments.judges, crowd.trust, strict=True))
    rows = []
    for scheme in SCHEMES:
        ours = weights(table, scheme).table["weight"]
        np.testing.assert_allclose(
            ours, in_pandas(table, scheme).reindex(crowd.judgments.items.to_list()), rtol=1e-8, atol=1e-12
        )
        encoded = cpu_seconds(lambda scheme=scheme: weights(crowd.judgments, scheme, trust=trust), 5)
        read = cpu_seconds(lambda scheme=scheme: weights(table, scheme), 5)
        plain = cpu_seconds(lambda scheme=scheme: in_pandas(table, scheme), 3)
        rows.append((scheme, f"{encoded:.3f}", f"{read:.3f}", f"{plain:.2f}", f"{plain / read:.1f}"))
        print(" ".join(rows[-1]), file=sys.stderr)
    head = ("scheme", "encoded, s", "from a frame, s", "pandas, s", "pandas / from a frame")
    return Claim("Weights of a million judgments", description(__doc__), head, rows)


def in_pandas(table: pd.DataFrame, scheme: str) -> pd.Series:
    """Return the weights by item, computed with pandas."""
    factors = SCHEMES[scheme]
    sign = table["label"].astype(int) * 2 - 1
    majority = np.sign(sign.groupby(table["item"]).transform("sum"))
    judge = pd.DataFrame({"judge": table["judge"], "agreed": (1 + sign * majority) / 2}).groupby("judge")["agreed"]
    done, agreed = judge.size(), judge.sum()
    W = pd.Series(1.0, done.index)
    if factors.prior:
        W = W * table.groupby("judge")["trust"].mean()
    if factors.activity:
        for count in (done, agreed):
            W = W * (count - count.min() + 1) / (count.max() - count.min() + 2)
    each = table["judge"].map(W) * (sign if factors.signed else 1)
    weight = each.groupby(table["item"]).sum().abs()
    return weight / weight.mean()


def crowds() -> Claim:
    """Describe the simulated crowd of paper 004 in several regimes."""
    rows = [_regime(regime) for regime in REGIMES]
    how = (
        "`simulate rerank` at the size of paper 004 (10,540 passages, 52,700 judgments, 108 judges), means of "
        f"{SEEDS} seeds. The paper has 51.8 % full agreement and 21 to 1,050 passages per judge. The first row shows "
        "the default settings, in which `noise` was fitted to the full agreement."
    )
    head = ("sizes", "full agreement", "kappa", "passages per judge", "activity ~ skill", "trust ~ skill")
    return Claim("The simulated crowd", how, (*head, "majority wrong", "Dawid-Skene wrong"), rows)


def _regime(sizes: dict[str, float]) -> tuple[str, ...]:
    """Return the row of one regime."""
    means = np.mean([_marginals(simulate("rerank", seed=seed, **sizes)) for seed in range(SEEDS)], axis=0)
    full, kappa, least, most, active, trusted, vote, model = means
    name = ", ".join(f"{size} {value:g}" for size, value in sizes.items()) or "as tuned"
    cells = (f"{full:.1%}", f"{kappa:.3f}", f"{least:,.0f} to {most:,.0f}", f"{active:.2f}", f"{trusted:.2f}")
    return (name, *cells, f"{vote:.1%}", f"{model:.1%}")


def _marginals(crowd: adjudge.data.simulation.Simulation) -> tuple[float, ...]:
    """Return the statistics of one crowd."""
    judgments = crowd.judgments
    yes, work = judgments.label.reshape(-1, 5).sum(axis=1), np.bincount(judgments.judge)
    agreeing = adjudge.agreement(judgments, draws=1).values["fleiss_kappa"]
    model = adjudge.fit(judgments, "dawid-skene").label
    return (
        float(np.mean((yes == 0) | (yes == 5))),
        agreeing,
        work.min(),
        work.max(),
        float(np.corrcoef(crowd.skill, work)[0, 1]),
        float(np.corrcoef(crowd.skill, crowd.trust)[0, 1]),
        float(np.mean((yes > 2) != crowd.truth)),
        float(np.mean(model != crowd.truth)),
    )


if __name__ == "__main__":
    for claim in measure():
        print(claim.markdown())

"""Claim: the selected model is at most a point worse than the vote, and better than every single model on average.

Accuracy on judged gold items, with ties counted by their shares, of the model that ``--model auto`` selects (seed 0)
and of single models. The selection does not use gold. "Best" is the best of all models that can be used for the labels
of the set, which is known only with gold. Seconds are the CPU time of the selection, including the fits of all
candidates to five folds. The penalties of `minimax-entropy` and the selection rule were tuned on these same sets, so
expect lower gains on others. The crowd of `xquad_sentences` is simulated, and `trec2011_task2_mini` is a part of
`trec2011_task2`.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
import polars as pl

import adjudge
from adjudge.arrays import Codes
from adjudge.data.gold import read_gold
from adjudge.inference.components import winners
from adjudge.inference.registry import MODELS
from adjudge.inference.select import choose, takes
from studies.benchmarks.claim import Claim

SHARED = Path(os.environ.get("ADJUDGE_SHARED", Path(__file__).parents[3] / "shared")) / "data"
SIMULATED = "xquad_sentences"
SETS = (
    "adult2",
    "bluebirds",
    "dog",
    "ducks",
    "fact_eval",
    "nyt_2p",
    "nyt_3p",
    "possent",
    "product",
    "rte",
    "sentiment_polarity",
    "temp",
    "trec2011_task2",
    "trec2011_task2_mini",
    "weather_amt",
    "web_search",
    "wsd",
    SIMULATED,
)
SHOWN = ("majority", "dawid-skene", "hybrid-confusion", "minimax-entropy")
VOTE = "majority"
SAMPLED = "hierarchical"  # is measured for itself, in bayes.py
ALIKE = [
    name for name in MODELS if not MODELS[name].labels.ordered and not MODELS[name].labels.binary and name != SAMPLED
]
SEEDS = (0, 1, 2)


class Chosen(NamedTuple):
    """What was chosen for a set by each seed, and how good every model is."""

    name: str
    items: int  # with gold
    models: tuple[str, ...]  # by seed
    seconds: float
    accuracy: dict[str, float]  # by model

    def of(self, seed: int) -> float:
        """Return the accuracy of what a seed chose."""
        return self.accuracy[self.models[seed]]

    @property
    def best(self) -> str:
        """The best model, known only with gold."""
        return max(self.accuracy, key=lambda model: self.accuracy[model])


def judged(name: str) -> tuple[adjudge.Judgments, Codes]:
    """Return the judgments of a set, in order where its labels have one, and the truths of their items."""
    if name == SIMULATED:
        pair = pl.concat_str("question", "passage", separator=" ").alias("item")
        labels = pl.read_csv(SHARED / name / "simulated_crowd.csv.gz").select(pair, "worker", "label")
        gold = pl.read_csv(SHARED / name / "candidates.tsv.gz", separator="\t").select(pair, label="gold")
        judgments = adjudge.read(labels)
        return judgments, read_gold(gold.join(labels, on="item", how="semi"), judgments)[1]
    meta = json.loads((SHARED / name / "meta.json").read_text(encoding="utf8"))
    order = {"labels": [label.split()[0] for label in meta["label_order"]], "ordinal": True} if meta["ordinal"] else {}
    judgments = adjudge.read(str(SHARED / name / "labels.csv"), **order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # gold of items that nobody judged
        return judgments, read_gold(str(SHARED / name / "gold.csv"), judgments)[1][: len(judgments.items)]


def accuracy(judgments: adjudge.Judgments, gold: Codes, model: str) -> float:
    """Return the share of gold items that a model gets right, ties by their shares."""
    known = np.flatnonzero(gold >= 0)
    answer = winners(np.array(adjudge.fit(judgments, model, inference=MODELS[model].inferences[-1]).posterior))
    return float(answer[known, gold[known]].mean())


def chosen(name: str) -> Chosen:
    """Choose a model for a set by every seed, and score all models."""
    judgments, gold = judged(name)
    began = time.process_time()
    first = choose(judgments, seed=SEEDS[0]).model
    seconds = time.process_time() - began
    models = (first, *(choose(judgments, seed=seed).model for seed in SEEDS[1:]))
    able = [model for model in MODELS if takes(model, judgments.scale) and model != SAMPLED]
    scores = {model: accuracy(judgments, gold, model) for model in able}
    found = Chosen(name, int((gold >= 0).sum()), models, seconds, scores)
    print(" ".join(cells(found)), file=sys.stderr)
    return found


def cells(one: Chosen) -> tuple[str, ...]:
    """Return a line of the table."""
    shown = [f"{one.accuracy[model]:.3f}" for model in SHOWN]
    against = f"{100 * (one.of(0) - one.accuracy[VOTE]):+.1f}"
    best = f"{one.accuracy[one.best]:.3f} `{one.best}`"
    words = (f"`{one.name}`", f"{one.items:,}", f"`{one.models[0]}`", f"{one.of(0):.3f}", against)
    return (*words, *shown, best, f"{one.seconds:.1f}")


def by_set(found: list[Chosen]) -> Claim:
    """Return the table of sets, with their mean."""
    means = [f"{fmean(one.accuracy[model] for one in found):.3f}" for model in SHOWN]
    gain = f"{100 * fmean(one.of(0) - one.accuracy[VOTE] for one in found):+.1f}"
    best = f"{fmean(one.accuracy[one.best] for one in found):.3f}"
    last = ("mean", "", "", f"{fmean(one.of(0) for one in found):.3f}", gain, *means, best)
    head = (
        "set",
        "gold",
        "selected",
        "accuracy",
        "difference from the vote, points",
        *(f"`{m}`" for m in SHOWN),
        "best",
        "s",
    )
    rows = [*map(cells, found), (*last, f"{sum(one.seconds for one in found):.0f}")]
    return Claim("By set", " ".join(__doc__.split("\n\n")[1].split()), head, rows)


def by_seed(found: list[Chosen]) -> Claim:
    """Return how much hangs on the folds."""
    single = {model: fmean(one.accuracy[model] for one in found) for model in ALIKE}
    best = max(single, key=lambda model: single[model])
    rows = []
    for s, seed in enumerate(SEEDS):
        worst = min(found, key=lambda one, s=s: one.of(s) - one.accuracy[VOTE])
        points = 100 * (worst.of(s) - worst.accuracy[VOTE])
        mean = fmean(one.of(s) for one in found)
        other = [f"`{one.name}`: `{one.models[s]}`" for one in found if one.models[s] != one.models[0]]
        loss = f"{points:+.1f} points (`{worst.name}`; goal -1)"
        ahead = f"{100 * (mean - single[best]):+.1f} points"
        rows.append((str(seed), f"{mean:.4f}", ahead, loss, ", ".join(other) or "-"))
    how = f"The seed assigns judgments to folds. The best single model on average is `{best}` with {single[best]:.4f}."
    head = (
        "seed",
        "mean accuracy",
        "difference from the best single model",
        "worst difference from the vote",
        "other selections",
    )
    return Claim("By seed", how, head, rows)


def by_model(found: list[Chosen]) -> Claim:
    """Return the mean accuracy of every single model that takes any labels, and its worst set."""
    rows = []
    for model in ALIKE:
        worst = min(found, key=lambda one, model=model: one.accuracy[model] - one.accuracy[VOTE])
        points = f"{100 * (worst.accuracy[model] - worst.accuracy[VOTE]):+.1f} (`{worst.name}`)"
        taken = sum(one.models[0] == model for one in found)
        rows.append((f"`{model}`", f"{fmean(one.accuracy[model] for one in found):.4f}", points, str(taken)))
    head = ("model", "mean accuracy", "worst difference from the vote, points", "times selected")
    how = "Only models that can be used with any labels; models for two labels or for ordered labels have no mean here."
    return Claim("By model", how, head, sorted(rows, key=lambda row: row[1], reverse=True))


def measure() -> list[Claim]:
    """Choose and score on every set."""
    found = [chosen(name) for name in SETS]
    return [by_set(found), by_seed(found), by_model(found)]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

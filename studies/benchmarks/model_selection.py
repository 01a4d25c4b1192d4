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
import sys
import time
import warnings
from statistics import fmean
from typing import NamedTuple

import numpy as np
import polars as pl

import adjudge
from adjudge.arrays import Codes
from adjudge.data.gold import read_gold
from adjudge.inference.components import winners
from adjudge.inference.model import MODELS
from adjudge.inference.select import choose, takes
from studies.benchmarks.claim import DATA, Claim, description
from studies.datasets import TRAINED_ON_SETS

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
SAMPLED = "hierarchical"  # is measured in bayes.py
ALIKE = [
    name
    for name in MODELS
    if not MODELS[name].labels.ordered and not MODELS[name].labels.binary and name not in (SAMPLED, *TRAINED_ON_SETS)
]
SEEDS = (0, 1, 2)


class Selection(NamedTuple):
    """The model that each seed selects for a set, and the accuracy of every model."""

    name: str
    items: int  # with gold
    models: tuple[str, ...]  # by seed
    seconds: float
    accuracy: dict[str, float]  # by model

    def of(self, seed: int) -> float:
        """Return the accuracy of the model that a seed selected."""
        return self.accuracy[self.models[seed]]

    @property
    def best(self) -> str:
        """The best model, known only with gold."""
        return max(self.accuracy, key=lambda model: self.accuracy[model])


def read_judged(name: str) -> tuple[adjudge.Judgments, Codes]:
    """Return the judgments of a set, with ordered labels if they have an order, and the truths of the items."""
    if name == SIMULATED:
        pair = pl.concat_str("question", "passage", separator=" ").alias("item")
        labels = pl.read_csv(DATA / name / "simulated_crowd.csv.gz").select(pair, "worker", "label")
        gold = pl.read_csv(DATA / name / "candidates.tsv.gz", separator="\t").select(pair, label="gold")
        judgments = adjudge.read(labels)
        return judgments, read_gold(gold.join(labels, on="item", how="semi"), judgments)[1]
    meta = json.loads((DATA / name / "meta.json").read_text(encoding="utf8"))
    order = {"labels": [label.split()[0] for label in meta["label_order"]], "ordinal": True} if meta["ordinal"] else {}
    judgments = adjudge.read(str(DATA / name / "labels.csv"), **order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # gold of items without judgments
        return judgments, read_gold(str(DATA / name / "gold.csv"), judgments)[1][: len(judgments.items)]


def accuracy(judgments: adjudge.Judgments, gold: Codes, model: str) -> float:
    """Return the accuracy of a model on gold items, with ties counted by their shares."""
    items = np.flatnonzero(gold >= 0)
    answer = winners(np.array(adjudge.fit(judgments, model, inference=MODELS[model].inferences[-1]).posterior))
    return float(answer[items, gold[items]].mean())


def select_and_score(name: str) -> Selection:
    """Select a model for a set with every seed, and score all models."""
    judgments, gold = read_judged(name)
    began = time.process_time()
    first = choose(judgments, seed=SEEDS[0]).model
    seconds = time.process_time() - began
    models = (first, *(choose(judgments, seed=seed).model for seed in SEEDS[1:]))
    able = [model for model in MODELS if takes(model, judgments.scale) and model not in (SAMPLED, *TRAINED_ON_SETS)]
    scores = {model: accuracy(judgments, gold, model) for model in able}
    result = Selection(name, int((gold >= 0).sum()), models, seconds, scores)
    print(" ".join(cells(result)), file=sys.stderr)
    return result


def cells(selection: Selection) -> tuple[str, ...]:
    """Return a row of the table."""
    accuracies = [f"{selection.accuracy[model]:.3f}" for model in SHOWN]
    against = f"{100 * (selection.of(0) - selection.accuracy[VOTE]):+.1f}"
    best = f"{selection.accuracy[selection.best]:.3f} `{selection.best}`"
    words = (
        f"`{selection.name}`",
        f"{selection.items:,}",
        f"`{selection.models[0]}`",
        f"{selection.of(0):.3f}",
        against,
    )
    return (*words, *accuracies, best, f"{selection.seconds:.1f}")


def by_set(selections: list[Selection]) -> Claim:
    """Return the table of sets, with their mean."""
    means = [f"{fmean(selection.accuracy[model] for selection in selections):.3f}" for model in SHOWN]
    gain = f"{100 * fmean(selection.of(0) - selection.accuracy[VOTE] for selection in selections):+.1f}"
    best = f"{fmean(selection.accuracy[selection.best] for selection in selections):.3f}"
    last = ("mean", "", "", f"{fmean(selection.of(0) for selection in selections):.3f}", gain, *means, best)
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
    rows = [*map(cells, selections), (*last, f"{sum(selection.seconds for selection in selections):.0f}")]
    return Claim("By set", description(__doc__), head, rows)


def by_seed(selections: list[Selection]) -> Claim:
    """Return the table of seeds: how much depends on the folds."""
    single = {model: fmean(selection.accuracy[model] for selection in selections) for model in ALIKE}
    best = max(single, key=lambda model: single[model])
    rows = []
    for s, seed in enumerate(SEEDS):
        worst = min(selections, key=lambda selection, s=s: selection.of(s) - selection.accuracy[VOTE])
        points = 100 * (worst.of(s) - worst.accuracy[VOTE])
        mean = fmean(selection.of(s) for selection in selections)
        other = [
            f"`{selection.name}`: `{selection.models[s]}`"
            for selection in selections
            if selection.models[s] != selection.models[0]
        ]
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


def by_model(selections: list[Selection]) -> Claim:
    """Return the mean accuracy of every single model that can be used with any labels, and its worst set."""
    rows = []
    for model in ALIKE:
        worst = min(selections, key=lambda selection, model=model: selection.accuracy[model] - selection.accuracy[VOTE])
        points = f"{100 * (worst.accuracy[model] - worst.accuracy[VOTE]):+.1f} (`{worst.name}`)"
        times_selected = sum(selection.models[0] == model for selection in selections)
        rows.append(
            (
                f"`{model}`",
                f"{fmean(selection.accuracy[model] for selection in selections):.4f}",
                points,
                str(times_selected),
            )
        )
    head = ("model", "mean accuracy", "worst difference from the vote, points", "times selected")
    how = "Only models that can be used with any labels; models for two labels or for ordered labels have no mean here."
    return Claim("By model", how, head, sorted(rows, key=lambda row: row[1], reverse=True))


def measure() -> list[Claim]:
    """Select and score models on every set."""
    selections = [select_and_score(name) for name in SETS]
    return [by_set(selections), by_seed(selections), by_model(selections)]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

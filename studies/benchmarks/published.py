"""Claim: we reach what papers print for a method on a set with the same method, within two standard errors.

Accuracy, and F1 of the positive label, as listed in ``../shared/data/published_results.csv``, for every method that we
implement on every set that we have. A tie counts by its shares, which is the expected result of breaking ties at
random. Two standard errors are those of the printed number on the available gold, which is often half of the paper's.
Zheng et al. count a gold item without judgments (1,184 of 1,517 on `adult2`) as a guess that is right with probability
1/K; we do the same for their numbers.
"""

from __future__ import annotations

import csv
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import polars as pl

import adjudge
from adjudge.arrays import Floats
from adjudge.data.gold import read_gold
from adjudge.inference.components import winners
from studies.benchmarks.claim import DATA, Claim, description

GOLD_ONLY = "trec2011_task2 restricted to gold_all"  # SQUARE's HCB: judgments of items with gold, and no others
METHODS = {
    "MV": "majority",
    "Majority": "majority",
    "Wawa": "wawa",
    "ZC": "zencrowd",
    "Zen": "zencrowd",
    "GLAD": "glad",
    "D&S": "dawid-skene",
    "DS": "dawid-skene",
    "LFC": "hybrid-confusion",  # Raykar et al. 2010 without features: beta priors on rows, by the mode
    "Raykar": "hybrid-confusion",
    "Minimax": "minimax-entropy",
    "MACE": "mace",
    "KOS": "kos",
    "M-MSR": "m-msr",
}
NEIGHBOURS = {"BCC": "hybrid-confusion", "iBCC (VB)": "hybrid-confusion", "EBCC": "subtypes"}
EXCEPTIONS = {  # why a row is not checked
    "other experiment": "judges were initialised with the results of a qualification test, or part of the gold was "
    "given to the model, in folds that are not available",
    "set not here": "its judgments are not available, or it is a mean over such sets, or the run of another team",
    "gold not here": "measured on 1,000 NIST labels that are not published",
    "checked elsewhere": "errors of the mean and median of scores: tests/models/test_average.py",
    "neighbour": "BCC, iBCC and EBCC average over the confusion matrix, ours takes its mode: not the same method",
    "no such model": "CATD, PM, Multi, CBCC, VI-BP, VI-MF, LFC_N, BWA and CUBAM are not implemented",
}
MISSES = {  # numbers that are checked and not reached
    (GOLD_ONLY, "DS_unsupervised", "accuracy"): "a third of its items is not published, with their gold, and "
    "maximum likelihood is worse with fewer judgments per judge; on all judgments of `trec2011_task2` it is above",
}
MISSED = "Numbers that we do not reach, each with its reason. A test checks that these are the only ones."
NEAR = (
    "The same model of a judge, but averaged over the confusion matrix instead of taken at its mode, and EBCC with "
    "more subtypes than our two. These are not the same methods. Our closest models are shown for comparison only."
)


class Row(NamedTuple):
    """A number that a paper prints."""

    folder: str
    method: str
    metric: str
    value: float
    source: str

    @property
    def key(self) -> tuple[str, str, str]:
        """Set, method and metric."""
        return self.folder, self.method, self.metric

    @property
    def plain_method(self) -> str:
        """The method without the suffix of SQUARE for "without gold"."""
        return self.method.removesuffix("_unsupervised")


class Checked(NamedTuple):
    """A printed number and ours."""

    row: Row
    model: str
    ours: float
    margin: float  # two standard errors

    @property
    def reached(self) -> bool:
        """Whether ours is at most two standard errors below the printed one."""
        return self.ours > self.row.value - self.margin


def rows() -> Iterator[Row]:
    """Return every row of the file."""
    with (DATA / "published_results.csv").open(encoding="utf8") as lines:
        for row in csv.DictReader(lines):
            yield Row(row["our_folder"], row["method"], row["metric"], float(row["value"]), row["source"])


def kind(row: Row) -> str:
    """Return "checked", or the exception of a row."""
    if "qualification" in row.metric or "supervised " in row.method:  # "DS_supervised 10%"
        return "other experiment"
    if row.folder != GOLD_ONLY and not (DATA / row.folder / "labels.csv").is_file():
        return "set not here"
    if "held-out" in row.source:
        return "gold not here"
    if row.folder == "emotion" and row.method in ("Mean", "Median"):
        return "checked elsewhere"
    if row.method in NEIGHBOURS:
        return "neighbour"
    return "checked" if row.plain_method in METHODS else "no such model"


def checked(row: Row) -> Checked:
    """Return a printed number with ours."""
    model = NEIGHBOURS.get(row.method) or METHODS[row.plain_method]
    matrix = confusion(row.folder, model, guess="Zheng" in row.source)
    both, either = matrix[-1, -1], matrix[-1].sum() + matrix[:, -1].sum() - matrix[-1, -1]
    p = row.value
    if row.metric == "accuracy":
        return Checked(row, model, matrix.trace() / matrix.sum(), 2 * np.sqrt(p * (1 - p) / matrix.sum()))
    share = p / (2 - p)  # F1 = 2 share / (1 + share), with the share of items, positive in either, that are in both
    error = 2 / (1 + share) ** 2 * np.sqrt(share * (1 - share) / either)
    return Checked(row, model, 2 * both / (either + both), 2 * error)


@cache
def confusion(folder: str, model: str, guess: bool) -> Floats:
    """Return gold items by truth and answer (K, K), ties shared; ``guess`` includes items without judgments."""
    judgments = table(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # gold of items without judgments
        gold = read_gold(str(DATA / folder.split()[0] / "gold.csv"), judgments)[1]
    answer = winners(np.array(adjudge.fit(judgments, model, inference="map").posterior))
    K, unjudged = answer.shape[1], gold.size - len(answer)
    answer = np.concatenate([answer, np.full((unjudged, K), guess / K)])
    return np.stack([answer[gold == k].sum(axis=0) for k in range(K)])


@cache
def table(folder: str) -> adjudge.Judgments:
    """Return the judgments of a set."""
    path = DATA / folder.split()[0]
    if folder != GOLD_ONLY:
        return adjudge.read(str(path / "labels.csv"))
    labels, gold = (pl.read_csv(path / f"{name}.csv", infer_schema=False) for name in ("labels", "gold"))
    return adjudge.read(labels.join(gold, on="item", how="semi"))


def measure() -> list[Claim]:
    """Return the checked numbers, the related methods, and the numbers that are not checked."""
    kinds = [(row, kind(row)) for row in rows()]
    checked_rows, neighbours = (
        [checked(row) for row, row_kind in kinds if row_kind == group] for group in ("checked", "neighbour")
    )
    head = ("set", "metric", "method", "printed", "two standard errors", "model", "ours")
    how = description(__doc__)
    count = Counter(row_kind for _, row_kind in kinds)
    reached = f"{sum(row.reached for row in checked_rows)} of {len(checked_rows)} numbers are reached. {how}"
    return [
        Claim("Checked", reached, (*head, "verdict"), [(*cells(row), verdict(row)) for row in checked_rows]),
        Claim(
            "Not reached", MISSED, ("set", "method", "metric", "reason"), [(*key, why) for key, why in MISSES.items()]
        ),
        Claim("Related methods", NEAR, head, [cells(row) for row in neighbours]),
        Claim(
            "Not checked",
            f"{len(kinds) - len(checked_rows)} of {len(kinds)} rows.",
            ("kind", "rows", "reason"),
            [(row_kind, str(count[row_kind]), why) for row_kind, why in EXCEPTIONS.items()],
        ),
    ]


def cells(checked: Checked) -> tuple[str, ...]:
    """Return a row of the table."""
    row = checked.row
    figures = (f"{row.value:.4f}", f"{checked.margin:.4f}", f"`{checked.model}`", f"{checked.ours:.4f}")
    return (row.folder, row.metric, row.plain_method, *figures)


def verdict(checked: Checked) -> str:
    """Return the verdict on a number."""
    if checked.reached:
        return "above" if checked.ours >= checked.row.value else "within"
    return "missed"


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

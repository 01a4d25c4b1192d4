"""The experiment of paper 003, section 4: whether it helps to remember judges.

R labels are drawn per item; two thirds of the items are used for learning, and the last third is labelled. Without
memory, a model is fitted to that third alone. With memory, it is fitted to the two thirds, and its confusions and
prevalence are used for the third. Gold is used for scoring alone. The set of the paper was not published: crowds of its
design (48 items, 148 judges, 125 ratings per item) are simulated, a new one in each run. Two real sets are added; all
items of the paper had gold, so their items without gold are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments, from_codes
from adjudge.data.simulate import DESIGNS, simulate
from adjudge.errors import UsageError
from adjudge.inference.chains import Run
from adjudge.inference.predict import predict
from adjudge.inference.result import Fit
from studies.curves import Axes, Curves, Stop, trace
from studies.datasets import Crowd, data_folder, read_crowd
from studies.outcome import StudyOptions, Table
from studies.spectrum import METHODS, fit_method

DESIGN = "monitoring"
SIMULATED: Mapping[str, Mapping[str, float]] = {  # sizes other than those of the design
    DESIGN: {},
    f"{DESIGN}-shift-0": {"shift": 0.0},  # judges err as in the model of Dawid and Skene: no item misleads them all
}
REAL = ("web_search", "adult2")
SETS = (*SIMULATED, *REAL)
FEWEST = 5  # ratings per item for which the paper shows matrices, in figure 7
RATINGS: Mapping[str, tuple[int, ...]] = {
    **dict.fromkeys(SIMULATED, (FEWEST, 10, 20, 30, 60)),
    "web_search": (1, 2, 3, 5),
    "adult2": (1, 3, 5, 10),
}  # up to the labels that the items have
USUAL = (1, 2, 3, 5)
SHORT_RUN = Run(chains=3, warmup=200, draws=100, thin=3)  # a quarter of the paper's: there are 3,600 fits

AXES = Axes(
    "memory",
    "accuracy with and without memory",
    "ratings",
    "labels of an item",
    {"memoryless": "accuracy, memoryless", "memory": "accuracy, with memory"},
    alike=True,
)
KEPT = ("majority", "single-confusion", "dawid-skene", "hybrid, lambda 3")  # methods of the spectrum
SHOWN = KEPT[2:]  # those whose matrices are in figure 7


def memory(options: StudyOptions, run: Run = SHORT_RUN) -> Curves:
    """Run the experiment on each set, for each number of labels per item."""
    names = list(dict.fromkeys(SETS if options.sets is None else options.sets))
    if not names:
        raise UsageError("there is no set to study: name some with --sets")
    crowds = {name: _real_crowd(name, options.data) for name in names if name not in SIMULATED}
    stops = []
    for name in names:
        ratings = sorted(set(options.sizes or RATINGS.get(name, USUAL)))
        if ratings[0] < 1:
            raise UsageError(f"an item cannot have {ratings[0]} labels: --sizes are whole numbers of at least 1")
        again = partial(once, crowds[name]) if name in crowds else partial(simulated_once, SIMULATED[name])
        stops += [Stop(name, R, partial(again, R, run)) for R in ratings]
    return trace(AXES, stops, options, [sets_table(names, crowds)])


def simulated_once(sizes: Mapping[str, float], ratings: int, run: Run, seed: int) -> dict[str, dict[str, float]]:
    """Simulate a monitoring set, and return what ``once`` returns, with figure 7 if items have few ratings."""
    crowd = simulate(DESIGN, seed, gold=0, **sizes)
    true = crowd.confusion if ratings == FEWEST else None
    return once(Crowd(DESIGN, crowd.judgments, crowd.truth, np.arange(crowd.truth.size)), ratings, run, seed, true)


def once(crowd: Crowd, ratings: int, run: Run, seed: int, true: Floats | None = None) -> dict[str, dict[str, float]]:
    """Draw labels and a split, and return the accuracy of every method on the last third, with and without memory.

    If the ``true`` matrices (J, K, K) of judges j1, j2, ... are given, the learned ones are summarised, too.
    """
    rng = np.random.default_rng(seed)
    rows = sample_labels(crowd.judgments, ratings, rng)
    third = split(len(crowd.judgments.items), rng)
    item = crowd.judgments.item()[rows]
    before, new = part(crowd.judgments, rows[~third[item]]), part(crowd.judgments, rows[third[item]])
    truth = crowd.truth[third]
    accuracy = {}
    for name in KEPT:
        alone, earlier = (fit_method(table, METHODS[name], run, seed) for table in (new, before))
        answers = {"memoryless": alone.label, "memory": predict(earlier, new).label}
        accuracy[name] = {mode: float((label == truth).mean()) for mode, label in answers.items()}
        if true is not None and name in SHOWN:
            accuracy[name] |= matrix_summary(earlier, true)
    return accuracy


def matrix_summary(fit: Fit, true: Floats) -> dict[str, float]:
    """Return the mean and the mean square over judges of every cell of their matrices, and the error of a matrix."""
    matrices = fit.params.confusion
    own = true[[int(name[1:]) - 1 for name in fit.judge_names.to_list()]]  # judges are called j1, j2, ...
    values = {"mae": float(np.abs(matrices - own).sum(axis=(1, 2)).mean())}
    for k, y in np.ndindex(matrices.shape[1:]):
        cell = matrices[:, k, y]
        values |= {f"cell_{k}{y}": float(cell.mean()), f"square_{k}{y}": float(np.square(cell).mean())}
        values |= {f"true_{k}{y}": float(own[:, k, y].mean())}
    return values


def _real_crowd(name: str, data: str | None) -> Crowd:
    """Return a set by its name, with the items that are scored."""
    return scored_only(read_crowd(data_folder(data), name, ("label",), ordinal=True))


def scored_only(crowd: Crowd) -> Crowd:
    """Return a crowd without the items that have no gold, so that items and truths have the same order."""
    scored = np.zeros(len(crowd.judgments.items), dtype=bool)
    scored[crowd.item] = True
    rows = np.flatnonzero(scored[crowd.judgments.item()])
    return Crowd(crowd.name, part(crowd.judgments, rows), crowd.truth, np.arange(crowd.item.size))


def sample_labels(judgments: Judgments, ratings: int, rng: np.random.Generator) -> Codes:
    """Return the rows of ``ratings`` random labels per item, or of all labels if an item has fewer."""
    item = judgments.item()
    order = np.lexsort((rng.random(len(judgments)), item))  # items stay in order, their labels are shuffled
    rank = np.arange(len(judgments)) - judgments.start[item]
    return np.sort(order[rank < ratings])


def split(items: int, rng: np.random.Generator) -> Flags:
    """Return which items are in the third that is labelled (I), at random."""
    third = np.zeros(items, dtype=bool)
    third[rng.permutation(items)[: max(1, items // 3)]] = True
    return third


def part(judgments: Judgments, rows: Codes) -> Judgments:
    """Return the judgments of these rows, without other items and judges."""
    items, item = np.unique(judgments.item()[rows], return_inverse=True)
    judges, judge = np.unique(judgments.judge[rows], return_inverse=True)
    names = {"items": judgments.items.gather(items), "judges": judgments.judges.gather(judges)}
    return from_codes(item.astype(np.int32), judge, judgments.label[rows], scale=judgments.scale, **names)


def sets_table(names: Sequence[str], crowds: Mapping[str, Crowd]) -> Table:
    """Return a table of the sets; those without a crowd are simulated."""
    head = ("set", "data", "items with gold", "judges", "labels of the scale", "judgments")
    rows: list[tuple[Any, ...]] = []
    for name in names:
        if name in crowds:
            table = crowds[name].judgments
            rows.append((name, "real", len(table.items), len(table.judges), len(table.scale), len(table)))
        else:
            size = {key: value for key, value in DESIGNS[DESIGN].sizes.items() if value is not None}
            counts = (int(size["items"]), int(size["judges"]), int(size["labels"]))
            rows.append((name, "simulated in each run", *counts, int(size["items"] * size["per_item"])))
    return Table("The sets: two thirds of the items are used for learning, a third for testing", head, rows)

"""The experiment of paper 003, section 4: whether it helps to remember judges.

R labels are drawn per item; two thirds of the items are used for learning, and the last third is labelled. Without
memory, a model is fitted to that third alone. With memory, it is fitted to the two thirds, and its confusions and
prevalence are used for the third. Gold is used for scoring alone. The set of the paper was not published; all of its
items had gold, so items without gold are left out here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from adjudge.arrays import Codes, Flags
from adjudge.data.judgments import Judgments, from_codes
from adjudge.errors import UsageError
from adjudge.inference.chains import Run
from adjudge.inference.model import MODELS
from adjudge.inference.predict import predict
from studies.curves import Axes, Curves, Stop, trace
from studies.datasets import Crowd, data_folder, read_crowd
from studies.outcome import StudyOptions, Table
from studies.spectrum import METHODS, fit_method

SETS = ("web_search", "adult2")
RATINGS: Mapping[str, tuple[int, ...]] = {
    "web_search": (1, 2, 3, 5),
    "adult2": (1, 3, 5, 10),
}  # up to the labels that the items have
USUAL = (1, 2, 3, 5)
SHORT_RUN = Run(chains=3, warmup=200, draws=100, thin=3)  # a quarter of the paper's: there are 1,600 fits

AXES = Axes(
    "memory",
    "accuracy with and without memory",
    "ratings",
    "labels of an item",
    {"memoryless": "accuracy, memoryless", "memory": "accuracy, with memory"},
    alike=True,
)
KEPT = ("majority", "single-confusion", "dawid-skene", "hybrid, lambda 3")  # methods of the spectrum


def memory(options: StudyOptions, run: Run = SHORT_RUN) -> Curves:
    """Run the experiment on each set, for each number of labels per item."""
    names = list(dict.fromkeys(SETS if options.sets is None else options.sets))
    if not names:
        raise UsageError("there is no set to study: name some with --sets")
    folder = data_folder(options.data)
    crowds = [scored_only(read_crowd(folder, name, ("label",), ordinal=True)) for name in names]
    stops = []
    for crowd in crowds:
        ratings = sorted(set(options.sizes or RATINGS.get(crowd.name, USUAL)))
        if ratings[0] < 1:
            raise UsageError(f"an item cannot have {ratings[0]} labels: --sizes are whole numbers of at least 1")
        stops += [Stop(crowd.name, R, partial(once, crowd, R, run)) for R in ratings]
    return trace(AXES, stops, options, [sets_table(crowds)])


def once(crowd: Crowd, ratings: int, run: Run, seed: int) -> dict[str, dict[str, float]]:
    """Draw labels and a split, and return the accuracy of every method on the last third, with and without memory."""
    rng = np.random.default_rng(seed)
    rows = sample_labels(crowd.judgments, ratings, rng)
    third = split(len(crowd.judgments.items), rng)
    item = crowd.judgments.item()[rows]
    before, new = part(crowd.judgments, rows[~third[item]]), part(crowd.judgments, rows[third[item]])
    truth = crowd.truth[third]
    accuracy = {}
    for name in KEPT:
        alone, earlier = (fit_method(table, METHODS[name], run, seed) for table in (new, before))
        # judges of the vote are remembered as well: their confusions against its labels are used as in Dawid-Skene
        remembered = predict(replace(earlier, definition=MODELS["dawid-skene"]), new)
        answers = {"memoryless": alone.label, "memory": remembered.label}
        accuracy[name] = {mode: float((label == truth).mean()) for mode, label in answers.items()}
    return accuracy


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


def sets_table(crowds: Sequence[Crowd]) -> Table:
    """Return a table of the sets."""
    head = ("set", "items with gold", "judges", "labels of the scale", "judgments")
    rows = [
        (c.name, len(c.judgments.items), len(c.judgments.judges), len(c.judgments.scale), len(c.judgments))
        for c in crowds
    ]
    return Table("The sets: two thirds of the items are used for learning, a third for testing", head, rows)

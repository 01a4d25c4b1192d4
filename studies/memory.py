"""The experiment of paper 003, section 4: whether it helps to remember judges.

Of every item R labels are drawn; two thirds of the items are for learning, the last third is answered. Memoryless, a
model is fitted to that third alone; with memory, it is fitted to the two thirds, and its judges and prevalence are kept
for the third. Gold is for scoring alone. The paper's set was not published; every item of it had gold, so that here,
too, only items take part that have.
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
from adjudge.inference.predict import predict
from adjudge.inference.registry import MODELS
from studies.crowds import Crowd, data_folder, read_crowd
from studies.curves import Axes, Curves, Stop, trace
from studies.outcome import Asked, Shown
from studies.spectrum import METHODS, fitted

SETS = ("web_search", "adult2")
RATINGS: Mapping[str, tuple[int, ...]] = {"web_search": (1, 2, 3, 5), "adult2": (1, 3, 5, 10)}  # up to what they have
USUAL = (1, 2, 3, 5)
SHORT_RUN = Run(chains=3, warmup=200, draws=100, thin=3)  # a quarter of the paper's: there are 1,600 fits to draw

AXES = Axes(
    "memory",
    "accuracy with and without memory",
    "ratings",
    "labels of an item",
    {"memoryless": "accuracy, memoryless", "memory": "accuracy, with memory"},
    alike=True,
)
KEPT = ("majority", "single-confusion", "dawid-skene", "hybrid, lambda 3")  # methods of the spectrum


def memory(asked: Asked, run: Run = SHORT_RUN) -> Curves:
    """Run the experiment on each set, at each number of labels an item."""
    names = list(dict.fromkeys(SETS if asked.sets is None else asked.sets))
    if not names:
        raise UsageError("there is no set to study: name some with --sets")
    folder = data_folder(asked.data)
    crowds = [scored_only(read_crowd(folder, name, ("label",), ordinal=True)) for name in names]
    stops = []
    for crowd in crowds:
        ratings = sorted(set(asked.sizes or RATINGS.get(crowd.name, USUAL)))
        if ratings[0] < 1:
            raise UsageError(f"an item cannot have {ratings[0]} labels: --sizes are whole numbers of at least 1")
        stops += [Stop(crowd.name, R, partial(once, crowd, R, run)) for R in ratings]
    return trace(AXES, stops, asked, [sets_shown(crowds)])


def once(crowd: Crowd, ratings: int, run: Run, seed: int) -> dict[str, dict[str, float]]:
    """Draw labels and a split, and return what every method reaches on the last third in both modes."""
    rng = np.random.default_rng(seed)
    rows = sampled(crowd.judgments, ratings, rng)
    third = split(len(crowd.judgments.items), rng)
    item = crowd.judgments.item()[rows]
    before, new = part(crowd.judgments, rows[~third[item]]), part(crowd.judgments, rows[third[item]])
    truth = crowd.truth[third]
    found = {}
    for name in KEPT:
        alone, known = (fitted(table, METHODS[name], run, seed) for table in (new, before))
        # the vote, too, has judges to remember: counted against its winners, and used by Bayes' rule as in the paper
        remembered = predict(replace(known, definition=MODELS["dawid-skene"]), new)
        answers = {"memoryless": alone.label, "memory": remembered.label}
        found[name] = {mode: float((label == truth).mean()) for mode, label in answers.items()}
    return found


def scored_only(crowd: Crowd) -> Crowd:
    """Return a crowd without the items that have no gold; then items and truths stand in one order."""
    scored = np.zeros(len(crowd.judgments.items), dtype=bool)
    scored[crowd.place] = True
    rows = np.flatnonzero(scored[crowd.judgments.item()])
    return Crowd(crowd.name, part(crowd.judgments, rows), crowd.truth, np.arange(crowd.place.size))


def sampled(judgments: Judgments, ratings: int, rng: np.random.Generator) -> Codes:
    """Return the rows of a random draw of so many labels of every item, or of all where it has fewer."""
    item = judgments.item()
    order = np.lexsort((rng.random(len(judgments)), item))  # items stay in order, their labels are shuffled
    place = np.arange(len(judgments)) - judgments.start[item]
    return np.sort(order[place < ratings])


def split(items: int, rng: np.random.Generator) -> Flags:
    """Return which items are the third to be answered (I), at random."""
    third = np.zeros(items, dtype=bool)
    third[rng.permutation(items)[: max(1, items // 3)]] = True
    return third


def part(judgments: Judgments, rows: Codes) -> Judgments:
    """Return the judgments of these rows, with their items and judges alone."""
    items, item = np.unique(judgments.item()[rows], return_inverse=True)
    judges, judge = np.unique(judgments.judge[rows], return_inverse=True)
    names = {"items": judgments.items.gather(items), "judges": judgments.judges.gather(judges)}
    return from_codes(item.astype(np.int32), judge, judgments.label[rows], scale=judgments.scale, **names)


def sets_shown(crowds: Sequence[Crowd]) -> Shown:
    """Return what the sets are."""
    head = ("set", "items with gold", "judges", "labels of the scale", "judgments")
    rows = [
        (c.name, len(c.judgments.items), len(c.judgments.judges), len(c.judgments.scale), len(c.judgments))
        for c in crowds
    ]
    return Shown("The sets: two thirds of the items are used for learning, a third for testing", head, rows)

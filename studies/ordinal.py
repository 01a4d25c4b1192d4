"""The study of paper 001: ordered labels on sets, and the curves that the paper asks for in its conclusion.

The paper plans to compare its algorithm with mean, median and GLAD, and to characterise them by the type of task, the
number of judgments of each item, and the number of labels. Here:

- judgments: a number of judgments is drawn per item of each set, again in each run;
- labels: neighbouring labels of a set are merged, so that judgments and gold have fewer labels, and crowds are
  simulated on scales of different lengths (design ordinal); there are five judgments per item, drawn in each run;
- tasks: all judgments of sets of different kinds are used, with the agreement of their judges.

Labels of the ordinal model, of mean and of median are their expected values, rounded; those of GLAD and of the vote are
the most likely ones, as in the paper. Errors are distances of expected values from gold, as a share of the scale, so
that scales of different lengths can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments, from_codes
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.data.simulate import simulate
from adjudge.data.write import frame, table_text
from adjudge.inference.fit import fit
from adjudge.metrics.agreement import agreement
from adjudge.metrics.compare import truths
from studies.comparison import STUDIES, Comparison, run
from studies.curves import Axes, Curves, Stop, trace
from studies.datasets import GOLD, LABELS, Crowd, data_folder, read_crowd
from studies.measures import rounded
from studies.memory import sample_labels
from studies.outcome import StudyOptions, Table

METHODS = ("ordinal", "mean", "median", "glad", "majority")
BY_LABEL = ("glad", "majority")  # methods whose label is the most likely one, not the rounded expected value
DRAWS = 20  # of the interval of the agreement, which is not shown
RUNS, RATINGS = 10, 5  # runs of each point; judgments per item where the number of labels varies
EMOTION, LEAST, MOST = "emotion", 0.0, 100.0  # a set of numeric scores, and the range that is cut into labels
STEPS = 5  # labels of that set where the number of labels does not vary
PER_ITEM: Mapping[str, tuple[int, ...]] = {
    "web_search": (1, 2, 3, 5),
    "adult2": (1, 2, 3, 5, 10),
    "nyt_3p": (1, 3, 5, 10, 15),
    EMOTION: (1, 2, 3, 5, 10),
}
SCALES: Mapping[str, tuple[int, ...]] = {
    "web_search": (2, 3, 4, 5),
    "adult2": (2, 3, 4),
    EMOTION: (2, 3, 5, 7, 11),
}
SIMULATED, LENGTHS, SIZE = "simulated", (2, 3, 5, 7, 9), 1_000  # the design ordinal
TASKS: Mapping[str, str] = {
    "web_search": "relevance of web pages, people",
    "trec2011_task2": "relevance of web pages, people, some of whom do not look",
    "nyt_3p": "relevance of news articles, people",
    "adult2": "adult content of web sites, people",
    EMOTION: f"emotion in headlines, people, in {STEPS} steps",
    "panels/llmjudge_dl23": "relevance of passages, machines",
}
JUDGMENTS_AXES = Axes(
    "judgments",
    "ordered labels by the number of judgments",
    "judgments",
    "judgments of an item",
    {"accuracy": "accuracy", "error": "mean absolute error (share of the scale)"},
    log=True,
)
LABELS_AXES = JUDGMENTS_AXES._replace(
    name="labels", title="ordered labels by the length of the scale", x="labels", axis="labels of the scale"
)


class Task(NamedTuple):
    """A set of some type of task: its size, the agreement of its judges, and the scores of every method."""

    set: str
    task: str
    labels: int
    per_item: float  # judgments
    alpha: float | None  # Krippendorff's, for ordered labels
    scores: Mapping[str, Mapping[str, float]]  # measures by method


@dataclass(frozen=True, eq=False)
class Ordinal:
    """The outcome: the comparison on sets, both curves, and the types of task."""

    comparison: Comparison
    judgments: Curves | None = None
    labels: Curves | None = None
    tasks: tuple[Task, ...] = ()

    @property
    def curves(self) -> Mapping[str, Curves]:
        """The curves by name."""
        named = {"judgments": self.judgments, "labels": self.labels}
        return {name: curves for name, curves in named.items() if curves is not None}

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the study."""
        return self.comparison.interrupted or any(curves.interrupted for curves in self.curves.values())

    def columns(self) -> dict[str, list[Any]]:
        """Return the comparison as named columns."""
        return self.comparison.columns()

    def tables(self) -> list[Table]:
        """Return the tables of the comparison, of both curves, and of the types of task."""
        tables = [*self.comparison.tables(), *(table for curves in self.curves.values() for table in curves.tables())]
        return [*tables, *(task_table(self.tasks, measure) for measure in JUDGMENTS_AXES.measures if self.tasks)]

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        return [*self.comparison.warnings(), *(text for curves in self.curves.values() for text in curves.warnings())]

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figures, and the curves as tables."""
        files = dict(self.comparison.files())
        for name, curves in self.curves.items():
            files[f"_{name}.csv"] = partial(_csv, curves)
            files[f"_{name}.svg"] = curves.files()[".svg"]
        return files


def ordinal(options: StudyOptions) -> Ordinal:
    """Run the comparison on sets and, unless sets are named, the curves and the types of task. Ctrl-C keeps a part."""
    folder, study = data_folder(options.data), STUDIES["ordinal"]
    comparison = run(study, folder, options.sets, seed=options.seed, draws=options.draws, progress=options.say)
    if options.sets is not None or comparison.interrupted:
        return Ordinal(comparison)
    runs = options._replace(runs=options.runs or RUNS)
    judgments = trace(JUDGMENTS_AXES, list(_judgment_stops(folder)), runs)
    if judgments.interrupted:
        return Ordinal(comparison, judgments)
    labels = trace(LABELS_AXES, list(_label_stops(folder)), runs)
    if labels.interrupted:
        return Ordinal(comparison, judgments, labels)
    return Ordinal(comparison, judgments, labels, tuple(tasks(folder, options)))


def _judgment_stops(folder: Path) -> Sequence[Stop]:
    """Return the points of the curves by the number of judgments."""
    crowds = {
        name: merged(set_of(folder, name), STEPS) if name == EMOTION else set_of(folder, name) for name in PER_ITEM
    }
    return [Stop(name, R, partial(by_judgments, crowds[name], R)) for name, sizes in PER_ITEM.items() for R in sizes]


def _label_stops(folder: Path) -> Sequence[Stop]:
    """Return the points of the curves by the number of labels."""
    crowds = {name: set_of(folder, name) for name in SCALES}
    stops = [Stop(name, K, partial(by_labels, crowds[name], K)) for name, sizes in SCALES.items() for K in sizes]
    return [*stops, *(Stop(SIMULATED, K, partial(on_simulation, K)) for K in LENGTHS)]


def set_of(folder: Path, name: str) -> Crowd:
    """Return a set with ordered labels; scores of emotions are within the range that is cut into labels."""
    if name != EMOTION:
        return read_crowd(folder, name, ("label3", "label"), ordinal=True)
    labels, gold = (str(folder / name / file) for file in (LABELS, GOLD))
    judgments = read(labels, ordinal=True)
    scale = [float(label) for label in judgments.scale.values]
    wide = read(
        labels, labels=[f"{value:g}" for value in sorted({*scale, *map(float, range(-100, 101))})], ordinal=True
    )
    truth = truths(gold, wide)[: len(wide.items)]
    item = np.flatnonzero(truth >= 0)
    return Crowd(name, wide, truth[item], item)


def merged(crowd: Crowd, K: int) -> Crowd:
    """Return a crowd with K labels: neighbouring labels are merged, numeric scores are cut into steps of one width."""
    value = np.array(crowd.judgments.scale.values)
    if crowd.name == EMOTION:
        share = (np.clip(value, LEAST, MOST) - LEAST) / (MOST - LEAST)
        code = np.minimum((share * K).astype(np.int64), K - 1)
    else:
        code = np.arange(value.size) * K // value.size
    scale = Scale(tuple(range(K)), ordinal=True)
    judgments = replace(crowd.judgments, label=code[crowd.judgments.label].astype(np.uint8), scale=scale)
    return Crowd(crowd.name, judgments, code[crowd.truth], crowd.item)


def by_judgments(crowd: Crowd, ratings: int, seed: int) -> dict[str, dict[str, float]]:
    """Draw judgments of every item, and return the scores of every method."""
    rows = sample_labels(crowd.judgments, ratings, np.random.default_rng(seed))
    return score_methods(taken(crowd.judgments, rows), crowd.item, crowd.truth, seed)


def by_labels(crowd: Crowd, K: int, seed: int) -> dict[str, dict[str, float]]:
    """Merge the labels of a set to K, draw judgments, and return the scores of every method."""
    return by_judgments(merged(crowd, K), RATINGS, seed)


def on_simulation(K: int, seed: int) -> dict[str, dict[str, float]]:
    """Simulate a crowd with K labels, and return the scores of every method."""
    crowd = simulate("ordinal", labels=K, items=SIZE, per_item=RATINGS, seed=seed)
    return score_methods(crowd.judgments, np.arange(crowd.truth.size), crowd.truth, seed)


def taken(judgments: Judgments, rows: Codes) -> Judgments:
    """Return the judgments of these rows, with all items."""
    item = judgments.item()[rows].astype(np.int32)
    names = {"items": judgments.items, "judges": judgments.judges}
    return from_codes(item, judgments.judge[rows], judgments.label[rows], scale=judgments.scale, **names)


def score_methods(judgments: Judgments, item: Codes, truth: Codes, seed: int) -> dict[str, dict[str, float]]:
    """Return the accuracy and the error of every method on the items that have gold."""
    value = np.array(judgments.scale.values)
    scores = {}
    for name in METHODS:
        result = fit(judgments, name, seed=seed)
        expected: Floats = result.posterior[item] @ value
        label = result.label[item] if name in BY_LABEL else rounded(expected, value)
        error = float(np.abs(expected - value[truth]).mean() / np.ptp(value))
        scores[name] = {"accuracy": float((label == truth).mean()), "error": error}
    return scores


def tasks(folder: Path, options: StudyOptions) -> list[Task]:
    """Return the scores of every method on all judgments of sets of different types."""
    rows = []
    for name, task in TASKS.items():
        options.say(f"types of task: {name}")
        crowd = merged(set_of(folder, name), STEPS) if name == EMOTION else set_of(folder, name)
        table = crowd.judgments
        alpha = {row.measure: row.value for row in agreement(table, draws=DRAWS).rows}["alpha_ordinal"]
        scores = score_methods(table, crowd.item, crowd.truth, options.seed)
        rows.append(Task(name, task, len(table.scale), len(table) / len(table.items), alpha, scores))
    return rows


def task_table(rows: Sequence[Task], measure: str) -> Table:
    """Return a measure by type of task and method."""
    head = ("set", "task", "labels", "judgments per item", "alpha", *METHODS)
    lines = [(*row[:5], *(row.scores[name][measure] for name in METHODS)) for row in rows]
    return Table(f"By type of task: {JUDGMENTS_AXES.measures[measure]}, all judgments", head, lines)


def _csv(curves: Curves) -> bytes:
    """Return curves as a table."""
    return table_text(frame(curves.columns()), "csv")

"""The claims of paper 001 with our results, and the curves that it asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from adjudge.arrays import Floats
from adjudge.data.judgments import Judgments
from adjudge.inference.fit import fit
from adjudge.kernels.truth import label_counts
from studies.comparison import Comparison
from studies.curves import Curves
from studies.markdown import Reproduction, section, table
from studies.measures import closest, distances, duel
from studies.ordinal import METHODS, RATINGS, SIZE, Ordinal, set_of, task_table

ORDINAL = "ordinal mean"
TWO_STEPS = 2  # a label that is so far from every judgment is very far from them
SETS = "the study's sets, whose gold stands for the expert; the paper's items and judgments are not published"


class Reach(NamedTuple):
    """How far the labels and values of a method are from the judgments that an item got, as shares of items."""

    unsaid: float  # the label is none of the given ones
    far: float  # the label is two or more steps from every given one
    outside: float  # the expected value is outside the range of the given labels


def duels(comparison: Comparison) -> dict[str, tuple[int, int, Floats]]:
    """Return for every set how often the ordinal model and GLAD are closer, and the shares of items of three methods.

    The shares are those of the ordinal model and the median, both rounded, and of GLAD; methods in a tie count fully.
    """
    rows = {}
    for name, results in comparison.by_set().items():
        by = {result.method: result for result in results}
        scored = [by[method].scored for method in (ORDINAL, "median", "glad")]
        far = distances([answers for answers in scored if answers is not None])
        distance = [far["rounded"][0], far["rounded"][1], far["label"][2]]
        rows[name] = (*duel(distance[0], distance[2]), closest(np.column_stack(distance), shared=False).mean(axis=0))
    return rows


def reach(judgments: Judgments, method: str) -> Reach:
    """Return how far the consensus of a method is from the judgments of each item."""
    counts, result = label_counts(judgments.block()), fit(judgments, method)  # (I, K)
    given = counts > 0
    position, value = np.arange(given.shape[1]), np.array(judgments.scale.values)
    step = np.where(given, np.abs(position - result.label[:, None]), given.shape[1]).min(axis=1)  # (I)
    low, high = value[given.argmax(axis=1)], value[given.shape[1] - 1 - given[:, ::-1].argmax(axis=1)]
    expected = result.posterior @ value
    outside = (expected < low - 0.5) | (expected > high + 0.5)  # by more than half a step
    return Reach(float((step > 0).mean()), float((step >= TWO_STEPS).mean()), float(outside.mean()))


def reaches(folder: Path, sets: Sequence[str]) -> dict[str, dict[str, Reach]]:
    """Return the reach of GLAD and of the ordinal model on each set."""
    crowds = {name: set_of(folder, name).judgments for name in sets}
    return {name: {method: reach(table_, method) for method in ("glad", "ordinal")} for name, table_ in crowds.items()}


def rows(outcome: Ordinal, reached: Mapping[str, Mapping[str, Reach]]) -> list[Reproduction]:
    """Return a row for every claim and experiment of the paper."""
    return [*_algorithm(outcome.comparison, reached), *_experiments(outcome.comparison, reached), *_future(outcome)]


def _algorithm(comparison: Comparison, reached: Mapping[str, Mapping[str, Reach]]) -> list[Reproduction]:
    """Return the rows about the algorithm."""
    starts = _spread(comparison)
    outside = {name: by["ordinal"].outside for name, by in reached.items()}
    return [
        Reproduction(
            "Algorithm, steps 1 to 5",
            "start from an average, count confusions, relabel until no label changes, report the expected value",
            "yes",
            "`tests/papers/test_001_ordinal.py` repeats the algorithm step by step",
            "simulated judgments, every initialisation",
        ),
        Reproduction(
            "section I, last formula",
            "argmax of log P(T) times the product of log P(data)",
            "no",
            "the logs are added, since their product is not a likelihood; the text before the formula says so",
            "none",
        ),
        Reproduction(
            "section II",
            "E sums k times an unnormalised product, divided by each judge's rate of labels",
            "in shape",
            "the probabilities of an item are normalised, which cancels the rates and keeps E on the scale "
            "(`tests/papers/test_001_ordinal.py`)",
            "simulated judgments",
        ),
        Reproduction(
            "Problem Statement",
            'the result may be "0.7 good + 0.3 very good"',
            "yes",
            "columns `expected` and `between`; a posterior with two peaks apart is called divided",
            "`tests/inference/test_components.py`",
        ),
        Reproduction(
            "Conclusion",
            "no parameter tuning is needed",
            "in shape",
            f"there is nothing to tune but the start; its four kinds differ by at most {starts[0]:.3f} in accuracy and "
            f"{starts[1]:.3f} in error on a set",
            SETS,
        ),
        Reproduction(
            "Conclusion",
            "the expected value is a weighted mean of the judgments",
            "no" if max(outside.values()) > 0 else "yes",
            "the expected value is outside the range of an item's judgments by more than half a step for "
            + ", ".join(f"{100 * share:.1f} % of the items of `{name}`" for name, share in outside.items()),
            "all items of the study's sets, with or without gold",
        ),
    ]


def _experiments(comparison: Comparison, reached: Mapping[str, Mapping[str, Reach]]) -> list[Reproduction]:
    """Return the rows about the two experiments."""
    counted = duels(comparison)
    won = [name for name, (first, second, _) in counted.items() if first > second]
    shares = {name: part for name, (_, _, part) in counted.items()}
    ordered = [name for name, part in shares.items() if part[0] >= part[1] >= part[2]]
    best = [name for name, part in shares.items() if part[0] >= part.max()]
    far = ", ".join(
        f"`{name}` {100 * by['glad'].unsaid:.1f} % and {100 * by['glad'].far:.1f} % "
        f"(ordinal: {100 * by['ordinal'].unsaid:.1f} % and {100 * by['ordinal'].far:.1f} %)"
        for name, by in reached.items()
    )
    chance = binomtest(18, 30).pvalue
    return [
        Reproduction(
            "Evaluation, first experiment",
            "5,000 titles, 5 judges, 5 labels; of 30 where they differ, an expert finds ours closer than GLAD, 18 : 12",
            "in shape" if len(won) > len(counted) / 2 else "no",
            "; ".join(f"`{name}` {first} : {second}" for name, (first, second, _) in counted.items())
            + f". 18 : 12 alone is no evidence (sign test, p = {chance:.2f})",
            SETS,
        ),
        Reproduction(
            "Evaluation",
            "GLAD sometimes gives labels that are very far from the collected judgments",
            "yes" if any(by["glad"].far > 0 for by in reached.values()) else "no",
            f"items whose label nobody gave, and whose label is {TWO_STEPS} or more steps from all judgments: {far}",
            "all items of the study's sets, with or without gold",
        ),
        Reproduction(
            "Evaluation, second experiment",
            "18 pairs of result pages, 3 experts, 4 labels; closest to the experts: ours 67 %, median 55 %, GLAD 38 %",
            "in shape" if len(best) > len(shares) / 2 else "no",
            "; ".join(
                f"`{name}` {', '.join(f'{100 * share:.0f} %' for share in part)}" for name, part in shares.items()
            )
            + f". Ours is closest on {len(best)} of {len(shares)} sets; the paper's order holds on {len(ordered)}",
            SETS,
        ),
    ]


def _future(outcome: Ordinal) -> list[Reproduction]:
    """Return the rows about the comparisons that the paper plans."""
    parts = []
    if outcome.judgments is not None:
        few, many = _leads(outcome.judgments, first=True), _leads(outcome.judgments, first=False)
        result = f"with the fewest judgments, the smallest error has {few}; with the most, {many}"
        parts.append(("by the number of judgments", result, "judgments are drawn from each set"))
    if outcome.labels is not None:
        few, many = _leads(outcome.labels, first=True), _leads(outcome.labels, first=False)
        result = f"with the fewest labels, the smallest error has {few}; with the most, {many}"
        parts.append(("by the number of labels", result, "labels of each set are merged; scales are simulated"))
    if outcome.tasks:
        leads = ", ".join(f"`{_least(task.scores)}` (`{task.set}`)" for task in outcome.tasks)
        parts.append(("by the type of task", f"the smallest error has {leads}", "six sets of five kinds"))
    return [
        Reproduction("Conclusion, future work", f"compare with mean, median and GLAD {what}", "yes", result, design)
        for what, result, design in parts
    ]


def curve_sections(outcome: Ordinal) -> list[str]:
    """Return the sections with both curves and the types of task."""
    parts = []
    how = {
        "judgments": "Judgments are drawn from every item of a set; all items are fitted, those with gold are scored.",
        "labels": "Neighbouring labels are merged in judgments and gold (scores of `emotion` are cut into steps of one "
        f"width). Every item has {RATINGS} judgments. `simulated` is the design `ordinal` with {SIZE:,} items.",
    }
    for name, curves in outcome.curves.items():
        text = f"""{how[name]} Numbers are means over {curves.runs} runs. Labels of `ordinal`, `mean` and `median` are
their rounded expected values, those of `glad` and `majority` the most likely ones. The error is the mean absolute error
of expected values, as a share of the scale, in parentheses."""
        picture = f"![{curves.axes.title}](paper-001-{name}.svg)"
        title = f"By the number of {name}"
        parts.append(section(title, " ".join(text.split()), picture, table(("set", name, *METHODS), _lines(curves))))
    if outcome.tasks:
        tables = [task_table(outcome.tasks, measure) for measure in ("accuracy", "error")]
        text = "All judgments of every set are used. alpha is Krippendorff's, for ordered labels."
        parts.append(section("By the type of task", text, *(f"{t.title}.\n\n{table(t.head, t.rows)}" for t in tables)))
    return parts


def _lines(curves: Curves) -> list[tuple[object, ...]]:
    """Return accuracy and error of every method at every point; the smallest error is bold."""
    lines = []
    for panel, x in curves.positions():
        points = {method: curves.at(x, method, panel) for method in METHODS}
        errors = {method: point.mean("error") or 0.0 for method, point in points.items()}
        least = min(errors.values())
        cells = []
        for method, point in points.items():
            text = f"{point.mean('accuracy'):.3f} ({errors[method]:.3f})"
            cells.append(f"**{text}**" if round(errors[method], 3) == round(least, 3) else text)
        lines.append((panel, x, *cells))
    return lines


def _leads(curves: Curves, first: bool) -> str:
    """Return which method has the smallest error at the first or last point of every set."""
    words = []
    for panel in curves.panels:
        _, x = curves.positions(panel)[0 if first else -1]
        means = {method: {"error": curves.at(x, method, panel).mean("error") or 0.0} for method in METHODS}
        words.append(f"`{_least(means)}` (`{panel}`, {x})")
    return ", ".join(words)


def _least(scores: Mapping[str, Mapping[str, float]]) -> str:
    """Return the method with the smallest error."""
    return min(scores, key=lambda method: scores[method]["error"])


def _spread(comparison: Comparison) -> tuple[float, float]:
    """Return by how much the initialisations of the ordinal model differ at most on a set, in accuracy and in error."""
    spans: dict[str, list[float]] = {"accuracy": [], "mae": []}
    for results in comparison.by_set().values():
        values = [result.values for result in results if result.method.startswith("ordinal ")]
        for measure, span in spans.items():
            numbers = [value[measure] or 0.0 for value in values]
            span.append(max(numbers) - min(numbers))
    return max(spans["accuracy"]), max(spans["mae"])

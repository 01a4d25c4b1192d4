"""Further measures of studies: errors of expected values, closest method, ROC area, bootstrap intervals.

A measure is a function of item weights (I), so that a bootstrap draw is another call with other weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.kernels.truth import ROUNDING
from adjudge.metrics import labels as matrix
from adjudge.metrics.labels import Scored
from adjudge.metrics.significance import LEVEL, Interval, Values, item_losses, resamples

TRACK = ("accuracy", "recall", "precision", "specificity", "map", "ndcg", "log_loss", "rmse")
Measured: TypeAlias = Callable[[Floats], Values]


def expected(scored: Scored) -> Floats:
    """Return the expected value of each item on the scale, the sum over k of value_k p_k (I)."""
    value: Floats = _probability(scored) @ np.array(scored.scale.values)
    return value


def rounded(point: Floats, value: Floats) -> Codes:
    """Return the code of the label whose value (K) is nearest to each point (I); halves are rounded up."""
    return np.searchsorted((value[1:] + value[:-1]) / 2, point + ROUNDING, side="right")


def closest(distance: Floats, shared: bool = True) -> Floats:
    """Return whether each method is closest to the truth (I, M): 1, or a share if several are equally close.

    If not ``shared``, each of several counts as 1, as in paper 001, where three shares sum to more than one.
    """
    nearest: Floats = (distance <= distance.min(axis=1, keepdims=True) + ROUNDING).astype(float)
    return nearest / nearest.sum(axis=1, keepdims=True) if shared else nearest


def duel(first: Floats, second: Floats) -> tuple[int, int]:
    """Return on how many items the first distance (I) is smaller than the second, and larger."""
    return int((first < second - ROUNDING).sum()), int((second < first - ROUNDING).sum())


def area(score: Floats, positive: Flags) -> Callable[[Floats], float | None]:
    """Return the area under the ROC curve: the probability that a positive item scores higher; ties count half."""
    rank = np.unique(score, return_inverse=True)[1]  # (I)

    def weighed(weight: Floats) -> float | None:
        yes, no = (np.bincount(rank, weight * side) for side in (positive, ~positive))  # by rank
        return matrix.ratio(float(yes @ (no.cumsum() - no / 2)), yes.sum() * no.sum())

    return weighed


def log_odds(probability: Floats, k: int) -> Floats:
    """Return log p_k / (1 - p_k) of two labels (I); it orders as p_k does, and near 1 does not tie as floats do."""
    logs = np.log(np.maximum(probability, np.finfo(float).tiny))
    odds: Floats = logs[:, k] - logs[:, 1 - k]
    return odds


def binary_measures(answers: Sequence[Scored]) -> list[Measured]:
    """Return the measures of two labels for each method; precision, recall, specificity and F1 are of the second."""
    return [_binary(scored) for scored in answers]


def track_scores(scored: Scored) -> dict[str, float | None]:
    """Return the scores of the TREC 2011 track for one method on two labels, and the losses of paper 000, section 9."""
    values = _binary(scored)(np.ones(scored.truth.size))
    ranked = {row.measure: row.value for row in matrix.ranking_rows(scored)}
    return {measure: {**values, **ranked}.get(measure) for measure in TRACK}


def ordinal_measures(answers: Sequence[Scored]) -> list[Measured]:
    """Return, for each method, accuracy, errors and the share of items where it is closest to the truth.

    ``accuracy`` is that of the most likely label; ``mae``, ``rmse`` and ``closest`` are those of the expected value.
    The prefix ``rounded_`` stands for the rounded expected value, ``label_`` for the most likely label.
    """
    distance = {kind: np.column_stack(columns) for kind, columns in distances(answers).items()}  # (I, M)
    parts = {
        "accuracy": distance["label"] == 0,
        "rounded_accuracy": distance["rounded"] == 0,
        "mae": distance["expected"],
        "rounded_mae": distance["rounded"],
        "label_mae": distance["label"],
        "rmse": distance["expected"] ** 2,
        "rounded_rmse": distance["rounded"] ** 2,
        "label_rmse": distance["label"] ** 2,
        "closest": closest(distance["expected"]),
        "rounded_closest": closest(distance["rounded"]),
    }
    return [_means({name: part[:, m] for name, part in parts.items()}) for m in range(len(answers))]


def distances(answers: Sequence[Scored]) -> Mapping[str, list[Floats]]:
    """Return the distances of expected values, rounded ones and labels to the truth, (I) for each method."""
    distance: dict[str, list[Floats]] = {"expected": [], "rounded": [], "label": []}
    for scored in answers:
        value, point = np.array(scored.scale.values), expected(scored)
        points = {"expected": point, "rounded": value[rounded(point, value)], "label": value[scored.answer]}
        for kind, answer in points.items():
            distance[kind].append(np.abs(answer - value[scored.truth]))
    return distance


def drawn(measured: Sequence[Measured], items: int, draws: int, seed: int) -> list[dict[str, Floats]]:
    """Return, for each method, every measure in each bootstrap draw of items (R), NaN if it is undefined."""
    rows: list[list[Values]] = [[] for _ in measured]  # (M, R)
    for weight in resamples(items, draws, seed):
        for of, row in zip(measured, rows, strict=True):
            row.append(of(weight))
    return [{name: np.array([value[name] for value in row], dtype=float) for name in row[0]} for row in rows]


def interval(values: Floats, level: float = LEVEL) -> Interval | None:
    """Return the central interval of draws (R), None if no draw has a value."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), defined.size, values.size - defined.size)


def _probability(scored: Scored) -> Floats:
    """Return the probabilities of all labels (I, K); a label without probabilities has probability 1."""
    return matrix.indicator(scored.answer, len(scored.scale)) if scored.probability is None else scored.probability


def _binary(scored: Scored) -> Measured:
    """Return the measures of one method on two labels."""
    K, k = len(scored.scale), len(scored.scale) - 1
    cell, loss = scored.truth.astype(np.intp) * K + scored.answer, item_losses(scored)["log_loss"]
    ranking = area(log_odds(_probability(scored), k), scored.truth == k)
    square = ((scored.truth == k) - _probability(scored)[:, k]) ** 2

    def measured(weight: Floats) -> Values:
        confusion = np.bincount(cell, weight, K * K).reshape(K, K)
        return {
            "accuracy": matrix.accuracy(confusion),
            "recall": matrix.recall(confusion, k),
            "precision": matrix.precision(confusion, k),
            "specificity": matrix.specificity(confusion, k),
            "f1": matrix.f1(confusion, k),
            "log_loss": matrix.ratio(float(weight @ loss), weight.sum()),
            "rmse": float(weight @ square / weight.sum()) ** 0.5,
            "auc": ranking(weight),
        }

    return measured


def _means(parts: Mapping[str, Floats]) -> Measured:
    """Return a function of item weights: the means of all parts (I), and roots of the means of squares."""
    columns = np.column_stack([*parts.values()]).astype(float)  # (I, L)

    def measured(weight: Floats) -> Values:
        means = (weight @ columns / weight.sum()).tolist()
        return {name: mean**0.5 if name.endswith("rmse") else mean for name, mean in zip(parts, means, strict=True)}

    return measured

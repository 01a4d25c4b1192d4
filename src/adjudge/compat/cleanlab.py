"""The functions of ``cleanlab.multiannotator``, computed by adjudge's consensus.

A classifier counts as one more judge: on every item, it gives each label as often as the label is probable, 0.7 times
"cat" and 0.3 times "dog". The likelihood of an item with truth z is thus multiplied by prod_k theta[z, k] ** p_k, a
log-linear pool, where the confusion theta of the classifier is learned together with those of the annotators. A
classifier that is often wrong, or sure without reason, therefore counts little; it needs no calibration of its own.

>>> import numpy as np
>>> labels = np.array([[0, 0, 1], [1, 1, np.nan], [0, np.nan, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]])
>>> get_majority_vote_label(labels).tolist()
[0, 1, 0, 1, 0, 1]
>>> list(get_label_quality_multiannotator(labels)["label_quality"])
['consensus_label', 'consensus_quality_score', 'annotator_agreement', 'num_annotations']
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.compat.value_errors import ArgumentValueError, DataValueError
from adjudge.compat.wide import is_missing, wide_judgments
from adjudge.errors import MissingExtra, quote, quoted
from adjudge.inference.fit import fit as fit_model
from adjudge.inference.result import Fit

try:
    import pandas as pd
except ModuleNotFoundError as error:
    raise MissingExtra("pandas", "adjudge.compat.cleanlab") from error

CONSENSUS = ("best_quality", "majority_vote")
QUALITY = ("crowdlab", "agreement")
TOLERANCE = 1e-3  # of probabilities that should sum to one


class Wide(NamedTuple):
    """The labels of annotators, checked."""

    code: Codes  # (N, M), -1 if there is none
    classes: int  # K
    index: Any  # of examples, None for an array
    annotators: Any  # names, None for an array


def get_label_quality_multiannotator(
    labels_multiannotator: Any,
    pred_probs: Any = None,
    *,
    consensus_method: str | Sequence[str] = "best_quality",
    quality_method: str = "crowdlab",
    calibrate_probs: bool = False,
    return_detailed_quality: bool = True,
    return_annotator_stats: bool = True,
    return_weights: bool = False,
    verbose: bool = True,
    label_quality_score_kwargs: Mapping[str, Any] | None = None,
    model: str = "consensus",
) -> dict[str, Any]:
    """Return the quality of consensus labels, of annotators' labels, and of annotators.

    Parameters
    ----------
    labels_multiannotator
        A frame or an array with one row per example and one column per annotator: labels 0 to K - 1, NaN if there is
        none.
    pred_probs
        The probabilities of a classifier (N, K), preferably predicted out of sample. They may be missing, unlike in
        cleanlab.
    consensus_method
        ``"best_quality"``, the most probable label, or ``"majority_vote"``. The first of a list is used, and columns
        for the others are added.
    quality_method
        The score of a label is its probability (``"crowdlab"``, the name of cleanlab's own method), or the share of
        annotators who agree with it (``"agreement"``).
    calibrate_probs, verbose
        Have no effect: the confusion of the classifier is learned, and nothing is printed.
    return_detailed_quality, return_annotator_stats, return_weights
        Which of the other tables are returned. A weight is (accuracy - 1/K) / (1 - 1/K), at least 0.
    label_quality_score_kwargs
        Is not supported.
    model
        A name of ``adjudge.MODELS``.

    Returns
    -------
    dict
        ``label_quality``, ``detailed_label_quality``, ``annotator_stats``, ``model_weight`` and ``annotator_weight``,
        with the columns of cleanlab.

    Examples
    --------
    >>> labels = np.array([[0, 0, 1], [1, 1, np.nan], [0, np.nan, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1]])
    >>> get_label_quality_multiannotator(labels)["label_quality"]["consensus_label"].tolist()
    [0, 1, 0, 1, 0, 1]
    """
    methods = [consensus_method] if isinstance(consensus_method, str) else list(consensus_method)
    _check_choice("consensus_method", methods, CONSENSUS)
    _check_choice("quality_method", [quality_method], QUALITY)
    if label_quality_score_kwargs:
        raise ArgumentValueError("label_quality_score_kwargs are not supported: a score is the probability of a label")
    if return_weights and quality_method != "crowdlab":
        raise ArgumentValueError("return_weights needs quality_method 'crowdlab'")
    wide = _wide(labels_multiannotator, pred_probs)
    _refuse_unlabelled(wide)
    fit = _fit(wide, pred_probs, model)
    posterior, has_label = np.array(fit.posterior), wide.code >= 0
    columns: dict[str, Any] = {}
    consensus: Codes = np.empty(0, np.int64)
    for number, method in enumerate(methods):
        label: Codes = fit.label.astype(np.int64)
        if method == "majority_vote":
            label = get_majority_vote_label(labels_multiannotator, pred_probs)
        agreement = (wide.code == label[:, None]).sum(axis=1) / has_label.sum(axis=1)
        score = posterior[np.arange(label.size), label] if quality_method == "crowdlab" else agreement
        consensus = consensus if number else label
        suffix = f"_{method}" if number else ""
        columns |= {f"consensus_label{suffix}": label, f"consensus_quality_score{suffix}": score}
        columns[f"annotator_agreement{suffix}"] = agreement
        if not number:
            columns["num_annotations"] = has_label.sum(axis=1)
    results: dict[str, Any] = {"label_quality": pd.DataFrame(columns, index=wide.index)}
    detailed = np.where(has_label, posterior[np.arange(len(posterior))[:, None], wide.code], np.nan)
    if return_detailed_quality:
        table = pd.DataFrame(detailed, index=wide.index, columns=wide.annotators)
        results["detailed_label_quality"] = table.add_prefix("quality_annotator_")
    accuracy = np.array(fit.accuracy)
    if return_annotator_stats:
        results["annotator_stats"] = _annotator_stats(wide, consensus, accuracy, quality_method)
    if return_weights:
        weight = np.maximum(accuracy - 1 / wide.classes, 0) / (1 - 1 / wide.classes)
        M = wide.code.shape[1]
        results["model_weight"] = None if pred_probs is None else float(weight[M])
        results["annotator_weight"] = weight[:M]
    return results


def get_majority_vote_label(labels_multiannotator: Any, pred_probs: Any = None, verbose: bool = True) -> Codes:
    """Return the label that most annotators gave to each example (N).

    Of tied labels, the one with the largest probability of the classifier is returned, else the one that is given most
    often to all examples, else the first. ``verbose`` has no effect.

    Examples
    --------
    >>> get_majority_vote_label(np.array([[0, 1], [1, np.nan], [1, 1]])).tolist()
    [1, 1, 1]
    """
    wide = _wide(labels_multiannotator, pred_probs)
    _refuse_unlabelled(wide)
    votes = np.stack([(wide.code == k).sum(axis=1) for k in range(wide.classes)], axis=1)  # (N, K)
    keys: list[Any] = [np.broadcast_to(votes.sum(axis=0), votes.shape)]
    if pred_probs is not None:
        keys.append(np.asarray(pred_probs, float))
    best = votes == votes.max(axis=1, keepdims=True)
    for key in reversed(keys):
        masked = np.where(best, key, -np.inf)
        best &= masked == masked.max(axis=1, keepdims=True)
    label: Codes = best.argmax(axis=1)
    return label


def get_active_learning_scores(
    labels_multiannotator: Any = None,
    pred_probs: Any = None,
    pred_probs_unlabeled: Any = None,
    *,
    model: str = "consensus",
) -> tuple[Floats, Floats]:
    """Return how sure the label of each example is, with labels and without: the lowest should be labelled next.

    A score is the probability of the most probable label, from the annotators and the classifier. Scores of both kinds
    of examples can be compared.

    Parameters
    ----------
    labels_multiannotator, pred_probs
        The labels and the probabilities of examples with labels; see ``get_label_quality_multiannotator``.
    pred_probs_unlabeled
        The probabilities of examples without labels (N', K). Without any labels, the score is the largest of them.
    model
        A name of ``adjudge.MODELS``.

    Examples
    --------
    >>> labels = np.array([[0, 0], [1, 1], [0, 1], [1, 1], [0, 0]])
    >>> scores, _ = get_active_learning_scores(labels)
    >>> int(scores.argmin())
    2
    """
    unlabelled = None if pred_probs_unlabeled is None else _probabilities(pred_probs_unlabeled, "pred_probs_unlabeled")
    if labels_multiannotator is None:
        if pred_probs is not None:
            raise ArgumentValueError("pred_probs needs labels_multiannotator: give both, or pred_probs_unlabeled only")
        if unlabelled is None:
            raise ArgumentValueError("give labels_multiannotator, pred_probs_unlabeled, or both")
        return np.empty(0), unlabelled.max(axis=1)
    wide = _wide(labels_multiannotator, pred_probs)
    _refuse_unlabelled(wide)
    N = len(wide.code)
    probabilities = None if pred_probs is None else _probabilities(pred_probs, "pred_probs")
    if unlabelled is not None:
        if probabilities is None:
            raise ArgumentValueError("pred_probs_unlabeled needs pred_probs too: the classifier is learned from them")
        if unlabelled.shape[1] != wide.classes:
            raise DataValueError(
                f"there are {unlabelled.shape[1]} columns, expected {wide.classes}", "pred_probs_unlabeled"
            )
        nothing = np.full((len(unlabelled), wide.code.shape[1]), -1, np.int32)
        wide = wide._replace(code=np.concatenate([wide.code, nothing]))
        probabilities = np.concatenate([probabilities, unlabelled])
    best = np.array(_fit(wide, probabilities, model).posterior).max(axis=1)
    return best[:N], best[N:]


def _fit(wide: Wide, pred_probs: Any, model: str) -> Fit:
    """Return the consensus of annotators and, if there is one, the classifier."""
    soft = None if pred_probs is None else _probabilities(pred_probs, "pred_probs")
    return fit_model(wide_judgments(wide.code, wide.classes, soft), model, ties="first")


def _wide(labels: Any, pred_probs: Any) -> Wide:
    """Return the labels of annotators as codes; refuse what is none."""
    source = "labels_multiannotator"
    is_frame = isinstance(labels, pd.DataFrame)
    if not is_frame and not isinstance(labels, np.ndarray):
        raise ArgumentValueError(f"{source} is a {type(labels).__name__}: give a pandas frame or a numpy array")
    values = labels.to_numpy(object) if is_frame else labels
    if values.ndim != 2 or not values.size:
        raise DataValueError(
            f"the shape is {values.shape}, expected one row per example, one column per annotator", source
        )
    missing = is_missing(values)
    code = np.full(values.shape, -1, np.int32)
    for n, m in np.argwhere(~missing)[: 0 if values.dtype.kind in "iuf" else None]:
        if isinstance(values[n, m], str):
            raise DataValueError(f"label {quote(values[n, m])} is not a number from 0 to K - 1", source, int(n) + 1)
    numbers = values[~missing].astype(float)
    if numbers.size and ((numbers < 0) | (numbers != np.floor(numbers))).any():
        bad = numbers[(numbers < 0) | (numbers != np.floor(numbers))][0]
        raise DataValueError(f"label {quote(bad)} is not a number from 0 to K - 1", source)
    code[~missing] = numbers.astype(np.int32)
    classes = int(code.max()) + 1
    if pred_probs is not None:
        table = _probabilities(pred_probs, "pred_probs")
        if len(table) != len(code):
            raise DataValueError(f"there are {len(table):,} rows, and {len(code):,} examples", "pred_probs")
        if table.shape[1] < classes:
            raise DataValueError(f"there are {table.shape[1]} columns, and the label {classes - 1}", "pred_probs")
        classes = table.shape[1]
    names = (labels.index, labels.columns) if is_frame else (None, None)
    return Wide(code, max(classes, 2), *names)


def _probabilities(table: Any, name: str) -> Floats:
    """Return a table of probabilities; refuse rows that do not sum to one."""
    values: Floats = np.asarray(table, float)
    if values.ndim != 2:
        raise DataValueError(f"the shape is {values.shape}, expected one row per example, one column per label", name)
    wrong = ~np.isfinite(values).all(axis=1) | (values < 0).any(axis=1) | (np.abs(values.sum(axis=1) - 1) > TOLERANCE)
    if wrong.any():
        raise DataValueError("the values are not probabilities that sum to one", name, int(np.argmax(wrong)) + 1)
    return values


def _refuse_unlabelled(wide: Wide) -> None:
    """Refuse examples and annotators without labels."""
    has_label = wide.code >= 0
    if not has_label.any(axis=1).all():
        row = int(np.argmin(has_label.any(axis=1))) + 1
        raise DataValueError("the example has no label: leave it out", "labels_multiannotator", row)
    if not has_label.any(axis=0).all():
        column = int(np.argmin(has_label.any(axis=0)))
        name = column if wide.annotators is None else wide.annotators[column]
        raise DataValueError(f"annotator {quote(name)} gave no label: leave them out", "labels_multiannotator")


def _check_choice(name: str, values: Sequence[str], choices: Sequence[str]) -> None:
    """Refuse values that are no choices."""
    strange = [value for value in values if value not in choices]
    if strange or not values:
        raise ArgumentValueError(f"{name} {quoted(strange)} is not one of {quoted(choices)}")


def _annotator_stats(wide: Wide, consensus: Codes, accuracy: Floats, quality_method: str) -> Any:
    """Return the table of annotators, the poorest first."""
    has_label = wide.code >= 0
    agrees = has_label & (wide.code == consensus[:, None])
    agreement = agrees.sum(axis=0) / has_label.sum(axis=0)
    times = np.stack([(wide.code == k).sum(axis=0) for k in range(wide.classes)], axis=1)  # (M, K)
    right = np.stack([(agrees & (wide.code == k)).sum(axis=0) for k in range(wide.classes)], axis=1)
    share = np.divide(right, times, out=np.full(times.shape, np.inf), where=times > 0)
    worst = [np.lexsort((-count, part))[0] for part, count in zip(share, times, strict=True)]  # then the most frequent
    columns = {
        "annotator_quality": accuracy[: has_label.shape[1]] if quality_method == "crowdlab" else agreement,
        "agreement_with_consensus": agreement,
        "worst_class": worst,
        "num_examples_labeled": has_label.sum(axis=0),
    }
    table = pd.DataFrame(columns, index=wide.annotators)
    return table.sort_values(["annotator_quality", "agreement_with_consensus"])

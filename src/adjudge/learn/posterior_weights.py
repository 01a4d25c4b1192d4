"""Weights and soft labels from a fit: the more certain the truth of an item, the higher its weight.

This goes beyond paper 004, whose weights describe judges by three heuristics; a posterior uses their confusion
matrices. With two labels and p = P(truth is the second), ``margin`` is |2p - 1| and ``entropy`` is 1 - H(p) in bits.
With more, the margin is between the two most likely labels and entropy is in units of log2 K, so that both are 1 for a
certain truth and 0 for a uniform posterior. With the model ``majority`` the posterior is the vote share, and the margin
is the paper's scheme L divided by the number of judgments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjudge.arrays import Floats, frozen
from adjudge.data.scale import Label
from adjudge.data.write import frame
from adjudge.errors import UsageError, not_one_of, quoted
from adjudge.inference.result import Fit
from adjudge.learn.weights import Weights, scale_to_mean_one


@dataclass(frozen=True)
class Kind:
    """A measure of the certainty of a truth, from 0 to 1."""

    name: str
    summary: str
    function: Callable[[Fit], Floats]


def margin(fit: Fit) -> Floats:
    """Return the difference between the two most likely labels of each item (I); |2p - 1| with two labels."""
    if len(fit.scale) == 1:
        return np.ones(len(fit.items))
    best = np.partition(fit.posterior, -2, axis=1)
    ahead: Floats = best[:, -1] - best[:, -2]
    return ahead


def certainty(fit: Fit) -> Floats:
    """Return 1 - H / log2 K of each item (I)."""
    if len(fit.scale) == 1:
        return np.ones(len(fit.items))
    sure: Floats = np.clip(1 - fit.entropy / np.log2(len(fit.scale)), 0.0, 1.0)
    return sure


KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("margin", "the difference between the two most likely labels: |2p - 1| with two labels", margin),
        Kind("entropy", "1 - entropy / log2 K", certainty),
    )
}


def posterior_weights(fit: Fit, kind: str = "margin", *, mean_one: bool = True) -> Weights:
    """Weight every item of a fit by the certainty of its truth; the label is the most likely one.

    Parameters
    ----------
    fit
        A fit of any model.
    kind
        ``"margin"`` or ``"entropy"``.
    mean_one
        Whether to scale the weights to a mean of 1.

    Returns
    -------
    Weights
        With ``table``, ``judges`` and ``sample_weight(index)``.

    Examples
    --------
    >>> from adjudge import fit, simulate
    >>> result = posterior_weights(fit(simulate("liu-wang", items=100).judgments, "dawid-skene"), "entropy")
    >>> result
    Weights(entropy of dawid-skene: 100 items, from 0.469 to 1.22)
    >>> result.table.columns
    ['item', 'label', 'weight', 'probability']
    """
    if kind not in KINDS:
        raise UsageError(not_one_of("kind", kind, KINDS))
    raw = KINDS[kind].function(fit)
    weight = scale_to_mean_one(raw) if mean_one else raw
    every = np.arange(len(fit.items))
    topics = None if fit.topics is None or fit.topic is None else [*fit.topics.to_list(), None]
    columns: dict[str, Any] = {"probability": fit.posterior[every, fit.label]}
    if len(fit.scale) == 2:
        columns["soft"] = fit.posterior[:, 1]
    return Weights(
        f"{kind} of {fit.model}",
        fit.items,
        frozen(weight),
        tuple(fit.scale.labels[k] for k in fit.label.tolist()),
        columns,
        {"judge": fit.judge_names, "judgments": fit.judged, "accuracy": fit.accuracy},
        None if topics is None or fit.topic is None else tuple(topics[t] for t in fit.topic.tolist()),
        fit.kind,
    )


def soft_labels(fit: Fit, positive: Label | Sequence[Label] | None = None) -> Any:
    """Return a table of items with the probability of the second of two labels, or of the ``positive`` labels.

    Parameters
    ----------
    fit
        A fit of any model.
    positive
        The label, or labels, whose probability is the soft label; needed if there are more than two labels.

    Returns
    -------
    frame
        With the columns ``item`` and ``probability``, in the caller's kind of frame.

    Examples
    --------
    >>> from adjudge import fit, simulate
    >>> soft_labels(fit(simulate("liu-wang", items=100).judgments, "dawid-skene"), positive=["A", "B"]).columns
    ['item', 'probability']
    """
    names = quoted(fit.scale.names)
    if positive is None:
        if len(fit.scale) != 2:
            raise UsageError(
                f"the fit has the labels {names}: name the label, or labels, of the probability with positive="
            )
        positive = fit.scale.labels[-1]
    several = positive if isinstance(positive, Sequence) and not isinstance(positive, str) else [positive]
    places = fit.scale.places(several)
    chosen = sorted({k for k in places if k is not None})
    if None in places or not chosen:
        raise UsageError(f"positive {positive!r} is not one of the labels {names}")
    return frame({"item": fit.items, "probability": fit.posterior[:, chosen].sum(axis=1)}, fit.kind)

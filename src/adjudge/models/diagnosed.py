"""Every parameter that was drawn, by name: its mean and interval, and whether the chains agree on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adjudge.arrays import Floats
from adjudge.models.answers import INTERVAL
from adjudge.models.chains import Draws
from adjudge.models.convergence import bulk_ess, mean_error, r_hat, tail_ess

MEASURES = ("mean", "sd", "low", "high", "r_hat", "bulk_ess", "tail_ess", "mean_error")


def populations(draws: Draws, labels: Sequence[str]) -> dict[str, list[object]]:
    """Return columns about phi and kappa, of the judges under each truth and of the topics."""
    of = [*labels, "topics"]
    P = draws.kappa.shape[2]
    phi = [(f"phi[{of[p]}, {label}]", draws.phi[:, :, p, k]) for p in range(P) for k, label in enumerate(labels)]
    kappa = [(f"kappa[{of[p]}]", draws.kappa[:, :, p]) for p in range(P)]
    return _columns([*phi, *kappa])


def everything(
    draws: Draws, labels: Sequence[str], judges: Sequence[str], topics: Sequence[str]
) -> dict[str, list[object]]:
    """Return columns about all that was drawn: populations, prevalence in topics, and judges' matrices."""
    parts = [populations(draws, labels)] if draws.kappa.size else []
    parts += [_columns(list(named)) for named in (_prevalence(draws, labels, topics), _cells(draws, labels, judges))]
    return {name: [value for part in parts for value in part[name]] for name in ("parameter", *MEASURES)}


def _prevalence(draws: Draws, labels: Sequence[str], topics: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield the prevalence of truths in topics."""
    for t, topic in enumerate(topics):
        for k, label in enumerate(labels):
            name = f"prevalence[{topic}, {label}]" if len(topics) > 1 else f"prevalence[{label}]"
            yield name, draws.prevalence[:, :, t, k]


def _cells(draws: Draws, labels: Sequence[str], judges: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield the cells of judges' matrices."""
    for j, judge in enumerate(judges):
        for z, truth in enumerate(labels):
            for k, label in enumerate(labels):
                yield f"confusion[{judge}, {truth}, {label}]", draws.confusion[:, :, j, z, k]


def _columns(named: Sequence[tuple[str, Floats]]) -> dict[str, list[object]]:
    """Return the measures of named draws (C, D) as columns."""
    drawn = np.stack([values for _, values in named], axis=2)
    low, high = np.quantile(drawn, INTERVAL, axis=(0, 1))
    found = (
        drawn.mean(axis=(0, 1)),
        drawn.std(axis=(0, 1), ddof=1),
        low,
        high,
        *(measure(drawn) for measure in (r_hat, bulk_ess, tail_ess, mean_error)),
    )
    measured = {name: values.tolist() for name, values in zip(MEASURES, found, strict=True)}
    return {"parameter": [name for name, _ in named], **measured}

"""Fits for other tools: draws as ArviZ's DataTree or NetCDF, and the consensus as TREC files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.judgments import Names
from adjudge.data.trec import qrels_text, task2_run_text
from adjudge.errors import AdjudgeWarning, InputError, MissingExtra, UsageError
from adjudge.inference.result import Fit, draws_of
from adjudge.kernels.sweep import unpack

EXTRA = "'adjudge[bayes]'"


def to_arviz(fit: Fit) -> Any:
    """Return the draws of a fit as an ArviZ DataTree, with judges, topics and labels by name.

    Parameters
    ----------
    fit
        A fit that was sampled.

    Returns
    -------
    DataTree
        The group ``posterior`` with prevalence, confusion and, of the hierarchical model, phi and kappa; with
        difficulty, the spread of the difficulty of items and, if judges have families, how often these share it.
    """
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise MissingExtra(EXTRA, "ArviZ's format") from error
    draws, labels = draws_of(fit), list(fit.scale.names)
    variables = {"prevalence": draws.prevalence, "confusion": draws.confusion}
    dims = {"prevalence": ["topic", "truth"], "confusion": ["judge", "truth", "label"]}
    coords = {"judge": fit.judge_names.cast(str).to_list(), "topic": fit.prevalence_names(), "truth": labels}
    coords["label"] = labels
    if draws.kappa.size:
        variables |= {"phi": draws.phi, "kappa": draws.kappa}
        dims |= {"phi": ["population", "label"], "kappa": ["population"]}
        coords["population"] = [*labels, "topics"]
    if draws.spread.size:
        variables |= dict(zip(("spread", "shared"), np.moveaxis(draws.spread, 2, 0), strict=False))
    if draws.truth.size:
        variables["truths"] = unpack(draws.truth, len(fit.items)).astype(np.int16)
        dims["truths"], coords["item"] = ["item"], fit.items.cast(str).to_list()
    about = {"model": fit.model, "truths": "probabilities of truths are in the fit's labels"}
    contiguous = {name: np.ascontiguousarray(values) for name, values in variables.items()}
    return from_dict({"posterior": contiguous}, dims=dims, coords=coords, attrs={"/": about})


def write_netcdf(fit: Fit, path: str) -> None:
    """Write the draws of a fit to a NetCDF file, completely or not at all."""
    folder, part = os.path.dirname(path) or ".", f"{path}.part"
    if not os.path.isdir(folder) or os.path.isdir(path):
        raise InputError("is not a file in a folder that is there", path)
    tree = to_arviz(fit)
    try:
        tree.to_netcdf(part, engine="h5netcdf")
        os.replace(part, path)
    except ImportError as error:
        raise MissingExtra(EXTRA, "NetCDF") from error
    finally:
        if os.path.exists(part):
            os.remove(part)


def qrels(fit: Fit) -> str:
    """Return the consensus as relevance judgments: the label is the grade."""
    index, topic = _with_topics(fit)
    grades = [fit.scale.labels[k] for k in fit.label[index].tolist()]
    return qrels_text(fit.items.gather(index), topic, grades)


def task2_run(fit: Fit) -> str:
    """Return the consensus as a run: rank in the topic and probability of the second of two labels."""
    if len(fit.scale) != 2:
        raise UsageError(f"a task 2 run has two labels, relevant or not; this fit has {len(fit.scale)}")
    index, topic = _with_topics(fit)
    return task2_run_text(fit.items.gather(index), topic, fit.posterior[index, 1])


def _with_topics(fit: Fit) -> tuple[Codes, Names]:
    """Return the items whose topic is known, and the topics."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("a TREC file needs the topic of every item: name its column with --topic")
    index = np.flatnonzero(fit.topic >= 0)
    if index.size < fit.topic.size:
        missing = fit.topic.size - index.size
        warnings.warn(
            f"{missing:,} items that only gold knows have no topic and are left out", AdjudgeWarning, stacklevel=2
        )
    return index, fit.topics.gather(fit.topic[index])


FILES: Mapping[str, Callable[[Fit], str]] = {"qrels": qrels, "trec-task2-run": task2_run}

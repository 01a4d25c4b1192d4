"""The draws of a sampled fit for other tools: ArviZ's DataTree, NetCDF, and tables.

The DataTree has the groups that ArviZ's own functions expect: ``posterior``, ``log_likelihood`` (of items, with their
truths summed out, so that leave-one-out leaves out an item with all its judgments) and ``observed_data``.
"""

from __future__ import annotations

import os
import warnings
from os import PathLike
from typing import Any

import numpy as np

from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.write import frame, table_text, write_file
from adjudge.errors import AdjudgeWarning, InputError, MissingExtra, UsageError, quoted
from adjudge.inference.fitted import as_fitted, gold_informed
from adjudge.inference.result import Fit, draws_of, named_draws
from adjudge.inference.save import read_fit, saved_judgments
from adjudge.kernels.sweep import unpack
from adjudge.metrics.predictive import item_log_likelihoods

EXTRA = "'adjudge[bayes]'"
ENDINGS = (".nc", ".csv", ".parquet")  # of files of draws
ABOUT_TRUTHS = "probabilities of truths are in the fit's labels"
MOST_LOGS = 1 << 28  # log-likelihoods in a DataTree: 2 GB


def to_arviz(fit: Fit | str | PathLike[str], judgments: Any = None) -> Any:
    """Return the draws of a fit as an ArviZ DataTree, with items, judges, topics and labels by name.

    Parameters
    ----------
    fit : Fit or path
        A fit that was sampled, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit. Without them, the tree has the group
        ``posterior`` only.

    Returns
    -------
    DataTree
        The group ``posterior`` with prevalence, confusion and, of the hierarchical model, phi and kappa; with
        difficulty, the spread of the difficulty of items and, if judges have families, how often these share it; with
        both and more than two labels, ``kappa_wrong`` of the shares of wrong labels. The group ``log_likelihood`` has
        the log-likelihood of the judgments of every item, with its truth summed out; an item with gold counts as
        p(judgments, truth). The group ``observed_data`` has the label of every judgment, its item and its judge, as
        positions among labels, items (of ``log_likelihood``) and judges. ArviZ's ``loo`` thus leaves out one item at a
        time.

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> fit = adjudge.fit(judgments, "hybrid-confusion", inference="gibbs", seed=1)
    >>> list(to_arviz(fit, judgments).children)
    ['posterior', 'log_likelihood', 'observed_data']
    """
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise MissingExtra(EXTRA, "ArviZ's format") from error
    record = read_fit(fit, judgments)
    tree = from_dict(**_posterior(record), attrs={"/": {"model": record.model, "truths": ABOUT_TRUTHS}})
    table = _judgments(fit, record, judgments)
    if table is not None:
        for name, group in from_dict(**_observed(record, table)).children.items():
            tree[name] = group
    return tree


def write_draws(fit: Fit | str | PathLike[str], path: str, judgments: Any = None) -> None:
    """Write the draws of a fit to a file, completely or not at all.

    A file that ends in ``.nc`` is the DataTree of ``to_arviz`` as NetCDF. One that ends in ``.csv`` or ``.parquet`` is
    a table with one row per parameter, chain and draw.
    """
    ending = os.path.splitext(path)[1].lower()
    if ending not in ENDINGS:
        raise UsageError(f"{path}: the name must end in one of {quoted(ENDINGS)}")
    if not os.path.isdir(os.path.dirname(path) or ".") or os.path.isdir(path):
        raise InputError("is not a file in a folder that is there", path)
    if ending == ".nc":
        _write_netcdf(to_arviz(fit, judgments), path)
    else:
        write_file(table_text(frame(draw_columns(read_fit(fit))), ending[1:]), path)


def draw_columns(fit: Fit) -> dict[str, Any]:
    """Return the draws of a fit as named columns with one row per parameter, chain and draw, counted from 0.

    Parameters have the names of ``Fit.diagnostics``.
    """
    draws, judges = draws_of(fit), fit.judge_names.cast(str).to_list()
    groups = named_draws(draws, fit.scale.names, judges, fit.prevalence_names())
    names, values = zip(*(named for group in groups for named in group), strict=True)
    C, D = draws.prevalence.shape[:2]
    chain, draw = np.divmod(np.arange(C * D), D)
    return {
        "parameter": frame({"name": names})["name"].gather(np.repeat(np.arange(len(names)), C * D)),
        "chain": np.tile(chain, len(names)),
        "draw": np.tile(draw, len(names)),
        "value": np.stack(values).reshape(-1),
    }


def _write_netcdf(tree: Any, path: str) -> None:
    """Write a DataTree to a NetCDF file, completely or not at all."""
    part = f"{path}.part"
    try:
        tree.to_netcdf(part, engine="h5netcdf")
        os.replace(part, path)
    except ImportError as error:
        raise MissingExtra(EXTRA, "NetCDF") from error
    finally:
        if os.path.exists(part):
            os.remove(part)


def _posterior(fit: Fit) -> dict[str, Any]:
    """Return the group of parameters, with dimensions and coordinates, as arguments of ArviZ's ``from_dict``."""
    draws, labels = draws_of(fit), list(fit.scale.names)
    variables: dict[str, Any] = {"prevalence": draws.prevalence, "confusion": draws.confusion}
    dims = {"prevalence": ["topic", "truth"], "confusion": ["judge", "truth", "label"]}
    coords = {"judge": fit.judge_names.cast(str).to_list(), "topic": fit.prevalence_names(), "truth": labels}
    coords["label"] = labels
    if draws.kappa.size:
        variables |= {"phi": draws.phi, "kappa": draws.kappa}
        dims |= {"phi": ["population", "label"], "kappa": ["population"]}
        coords["population"] = [*labels, "topics"]
    if draws.spread.size:
        variables |= dict(zip(("spread", "shared"), np.moveaxis(draws.spread, 2, 0), strict=False))
    if draws.wrong.size:
        variables["kappa_wrong"], dims["kappa_wrong"] = draws.wrong, ["truth"]
    if draws.truth.size:
        variables["truths"] = unpack(draws.truth, len(fit.items)).astype(np.int16)
        dims["truths"], coords["item"] = ["item"], fit.items.cast(str).to_list()
    contiguous = {name: np.ascontiguousarray(values) for name, values in variables.items()}
    return {"data": {"posterior": contiguous}, "dims": dims, "coords": coords}


def _judgments(fit: Fit | str | PathLike[str], record: Fit, judgments: Any) -> Judgments | None:
    """Return the judgments of a fit; without any, or if there are too many items, warn and return None."""
    if judgments is None:
        table = saved_judgments(fit, record)
    else:
        table = judgments if isinstance(judgments, Judgments) else read(judgments, labels=record.scale)
    draws = int(np.prod(draws_of(record).prevalence.shape[:2]))
    problem = ""
    if table is None:
        problem = "the fit does not hold the judgments that it was made from (pass them as judgments)"
    elif draws * len(table.items) > MOST_LOGS:
        problem = f"there are {draws:,} draws of {len(table.items):,} items, at most {MOST_LOGS:,} in all"
    if problem:
        text = f"the groups log_likelihood and observed_data are left out: {problem}"
        warnings.warn(text, AdjudgeWarning, stacklevel=3)
    return None if problem else table


def _observed(fit: Fit, judgments: Judgments) -> dict[str, Any]:
    """Return the groups of judgments and their log-likelihoods, as arguments of ArviZ's ``from_dict``."""
    block = as_fitted(fit, judgments)
    observed: dict[str, Any] = {
        "label_index": judgments.label.astype(np.int32),
        "item_index": judgments.item(),
        "judge_index": ((block.cell.astype(np.int64) - block.label) // block.labels).astype(np.int32),
    }
    if judgments.weight is not None:
        observed["weight"] = judgments.weight
    logs = item_log_likelihoods(draws_of(fit), block, gold_informs=gold_informed(fit))
    return {
        "data": {"log_likelihood": {"judgments": logs}, "observed_data": observed},
        "dims": {"judgments": ["item"], **{name: ["judgment"] for name in observed}},
        "coords": {"item": judgments.items.cast(str).to_list()},
    }

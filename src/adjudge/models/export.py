"""Draws for other tools: ArviZ's DataTree, which is saved as NetCDF."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.errors import InputError, MissingExtra
from adjudge.kernels.bits import unpacked
from adjudge.models.fitted import drawn

if TYPE_CHECKING:
    from adjudge.models.record import Fit

EXTRA = "'adjudge[bayes]'"


def to_arviz(fit: Fit) -> Any:
    """Return the draws of a fit as an ArviZ DataTree: posterior, with judges, topics and labels by name."""
    try:
        from arviz_base import from_dict
    except ImportError as error:
        raise MissingExtra(EXTRA, "ArviZ's format") from error
    draws, labels = drawn(fit), list(fit.scale.names)
    variables = {"prevalence": draws.prevalence, "confusion": draws.confusion}
    dims = {"prevalence": ["topic", "truth"], "confusion": ["judge", "truth", "label"]}
    coords = {"judge": fit.judge_names.cast(str).to_list(), "topic": fit.prevalence_names(), "truth": labels}
    coords["label"] = labels
    if draws.kappa.size:
        variables |= {"phi": draws.phi, "kappa": draws.kappa}
        dims |= {"phi": ["population", "label"], "kappa": ["population"]}
        coords["population"] = [*labels, "topics"]
    if draws.truth.size:
        variables["truths"] = unpacked(draws.truth, len(fit.items)).astype(np.int16)
        dims["truths"], coords["item"] = ["item"], fit.items.cast(str).to_list()
    about = {"model": fit.model, "truths": "probabilities of truths are in the fit's labels"}
    contiguous = {name: np.ascontiguousarray(values) for name, values in variables.items()}
    return from_dict({"posterior": contiguous}, dims=dims, coords=coords, attrs={"/": about})


def write_netcdf(fit: Fit, path: str) -> None:
    """Write the draws of a fit to a NetCDF file, whole or not at all."""
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

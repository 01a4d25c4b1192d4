"""The fit and the judgments that a caller names: records, folders, files or frames."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.errors import UsageError
from adjudge.inference.result import Fit
from adjudge.inference.save import load

JUDGMENTS = "judgments.parquet"  # the judgments of a saved fit, in its folder


def read_fit(fit: Fit | str | PathLike[str]) -> Fit:
    """Return a fit: the record itself, or the one that a folder holds."""
    return fit if isinstance(fit, Fit) else load(Path(fit))


def read_fitted(fit: Fit | str | PathLike[str], judgments: Any = None) -> tuple[Fit, Judgments]:
    """Return a fit and the judgments that it was made from.

    ``judgments`` are a frame, a path or ``Judgments``. By default they are those in the folder of the fit, or those
    that the fit itself keeps.
    """
    record = read_fit(fit)
    if isinstance(judgments, Judgments):
        return record, judgments
    if judgments is None and not isinstance(fit, Fit) and (Path(fit) / JUDGMENTS).is_file():
        judgments = str(Path(fit) / JUDGMENTS)
    if judgments is not None:
        return record, read(judgments, labels=record.scale.labels, ordinal=record.scale.ordinal)
    if record.judgments is None:
        raise UsageError("the fit does not hold the judgments that it was made from: pass them as judgments")
    return record, record.judgments

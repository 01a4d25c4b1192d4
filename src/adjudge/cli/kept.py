"""The judgments that a saved fit was made from: kept beside it, or given again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.errors import UsageError

if TYPE_CHECKING:
    from adjudge.cli.options import Reading
    from adjudge.judgments.table import Judgments
    from adjudge.models.record import Fit

JUDGMENTS = "judgments.parquet"


def kept_judgments(folder: str, fit: Fit, table: str | None, reading: Reading) -> Judgments:
    """Return the judgments of a fit: the table that is given or, without one, what lies in the fit's folder."""
    from adjudge.judgments.read import read

    labels, ordinal = fit.scale.labels, fit.scale.ordinal
    if table is not None:
        return reading.read(table, labels=labels, ordinal=ordinal)
    kept = Path(folder) / JUDGMENTS
    if not kept.is_file():
        raise UsageError(
            f"{folder} holds no {JUDGMENTS}: give the table that it was fitted to (--judgments labels.csv)"
        )
    return read(str(kept), labels=labels, ordinal=ordinal)

"""The judgments that a saved fit was made from: kept beside it, or given again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from adjudge.errors import UsageError

if TYPE_CHECKING:
    from adjudge.cli.options import Reading
    from adjudge.judgments.table import Judgments
    from adjudge.models.record import Fit

JUDGMENTS = "judgments.parquet"


def kept_judgments(folder: str, fit: Fit, table: str | None, reading: Reading) -> Judgments:
    """Return the judgments of a fit: the table that is given or, without one, what lies in the fit's folder."""
    from adjudge.cli.options import USUAL
    from adjudge.judgments.read import read
    from adjudge.models.fitted import as_fitted

    labels, ordinal = fit.scale.labels, fit.scale.ordinal
    kept = Path(folder) / JUDGMENTS
    if table is not None:
        given = reading.read(table, labels=labels, ordinal=ordinal)
        as_fitted(fit, given)  # says what it has never met
        if kept.is_file() and not _same(given, read(str(kept), labels=labels, ordinal=ordinal)):
            raise UsageError(f"{table} does not hold the judgments that {folder} was fitted to, which lie in it")
        return given
    if not kept.is_file():
        raise UsageError(
            f"{folder} holds no {JUDGMENTS}: give the table that it was fitted to (--judgments labels.csv)"
        )
    asked = [name for name, value in vars(reading).items() if value != vars(USUAL)[name]]
    if asked:
        option = asked[0].replace("_", "-")
        raise UsageError(f"--{option} is for a table that is given: --judgments labels.csv --{option} ...")
    return read(str(kept), labels=labels, ordinal=ordinal)


def _same(one: Judgments, other: Judgments) -> bool:
    """Whether two tables hold the same judgments, in any order: one may have times that the other has not."""
    from adjudge.judgments.rows import judgment_table

    names = ("item", "judge", "label")
    tables = [judgment_table(each).select(pl.col(names).cast(pl.String)).sort(names) for each in (one, other)]
    return tables[0].equals(tables[1])

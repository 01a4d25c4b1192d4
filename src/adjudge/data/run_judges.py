"""The judges whose labels a run has learned from: a table beside the run, with a column ``judge``.

``adjudge rerank train --run svm.run`` writes ``svm.run.judges.csv``. ``adjudge evaluate`` looks for such tables,
because a run repeats the errors of the judges that it has learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from adjudge.data.formats import open_source
from adjudge.data.write import frame, table_text

SUFFIX = ".judges.csv"
COLUMN = "judge"


def judges_path(run: str | PathLike[str]) -> str:
    """Return the path of the table beside a run.

    >>> judges_path("svm.run")
    'svm.run.judges.csv'
    """
    return f"{fspath(run)}{SUFFIX}"


def judges_text(judges: Sequence[str]) -> bytes:
    """Return the table of the judges that a run or a ranker has learned from."""
    return table_text(frame({COLUMN: pl.Series(judges, dtype=pl.String)}), "csv")


def read_judges(table: Any) -> list[str]:
    """Return the names in the column ``judge`` of a table."""
    source = open_source(table)
    if COLUMN not in source.columns:
        raise source.wrong("there is no column 'judge': give a table with the names of judges, such as judges.csv")
    return [str(name) for name in source.column(COLUMN).drop_nulls().to_list()]


def run_judges(run: Any) -> list[str]:
    """Return the judges that a run has learned from, by the table beside its file; none if there is no such table."""
    if not isinstance(run, str | PathLike) or not Path(judges_path(run)).is_file():
        return []
    return read_judges(judges_path(run))

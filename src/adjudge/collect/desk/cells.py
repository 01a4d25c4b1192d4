"""CSV a row at a time: nothing is gathered in memory, and no cell is a formula in the spreadsheet that opens it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

DANGEROUS = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of a formula
PIECE = 1 << 16  # characters that are handed on at once


def safe_cell(value: Any) -> Any:
    """Return a value that a spreadsheet shows as it is: texts that begin like a formula get an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(DANGEROUS) else value


def csv_pieces(header: Sequence[str], rows: Iterable[Sequence[Any]], raw: bool = False) -> Iterator[bytes]:
    """Return a CSV file in pieces; ``raw`` leaves cells as they are, for programs. What is not known is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(row if raw else [safe_cell(value) for value in row])
        if buffer.tell() >= PIECE:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()

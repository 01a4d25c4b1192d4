"""Text files line by line, with the number of every line: tables, JSON lines, and what encodings hide."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.errors import InputError, quote, quoted

# Everything that is wrong with a campaign's files, gathered so that it can be put right in one go.

SHOWN = 50  # problems that are printed; who has more of them has one cause for most


class CampaignProblems(InputError):  # noqa: N818
    """A campaign's files are not what they should be: every problem, with its file and line."""

    def __init__(self, problems: Sequence[str], where: str) -> None:
        rest = len(problems) - SHOWN
        lines = [*problems[:SHOWN], *([f"and {rest:,} more"] if rest > 0 else [])]
        head = "there is a problem" if len(problems) == 1 else f"there are {len(problems):,} problems"
        super().__init__("\n  ".join([head, *lines]), where)
        self.problems = tuple(problems)


class Problems:
    """What was found so far."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, what: str, file: str, line: int | None = None) -> None:
        """Note a problem: what, in which file, and in which line."""
        self.found.append(f"{file}: {what}" if line is None else f"{file}, line {line}: {what}")

    def refuse(self, where: str) -> None:
        """Raise all that was found, if anything was."""
        if self.found:
            raise CampaignProblems(self.found, where)


GZIP = b"\x1f\x8b"
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
MOST = 2_000_000_000  # bytes of a file that is held whole; larger ones are made to fill the memory, or by mistake
DELIMITERS = (",", "\t", ";")


class Row(NamedTuple):
    """The values of a row by what they are, and the line in which it begins."""

    line: int
    values: dict[str, Any]


def content(path: Path, problems: Problems, name: str | None = None, most: int = MOST) -> bytes | None:
    """Return what a file holds, unpacked; None, with the problem noted, where it cannot be read or is too large."""
    shown = name or str(path)
    try:
        with open(path, "rb") as file:
            packed = file.read(len(GZIP)) == GZIP
        with gzip.open(path) if packed else open(path, "rb") as file:
            found: bytes = file.read(most + 1)
    except FileNotFoundError:
        problems.add("there is no such file", shown)
    except IsADirectoryError:
        problems.add("is a folder, not a file", shown)
    except (gzip.BadGzipFile, zlib.error, EOFError):
        problems.add("the compressed file is damaged or cut off", shown)
    except OSError as error:
        problems.add(f"cannot be read: {error.strerror}", shown)
    else:
        if len(found) <= most:
            return found
        problems.add(f"has more than {most:,} bytes", shown)
    return None


def decoded(found: bytes) -> str:
    """Return bytes as text: UTF-8, or what a byte order mark says, or else windows-1252, in which all can be read."""
    for mark, encoding in MARKS.items():
        if found.startswith(mark):
            return found[len(mark) :].decode(encoding, errors="replace")
    try:
        return found.decode()
    except UnicodeDecodeError:
        return found.decode("windows-1252", errors="replace")


def text(path: Path, problems: Problems, name: str | None = None) -> str | None:
    """Return the text of a file in any usual encoding; None, with the problem noted, where it cannot be read."""
    found = content(path, problems, name)
    return None if found is None else decoded(found)


def table_rows(
    given: str, file: str, problems: Problems, columns: Mapping[str, Sequence[str]], needed: Sequence[str]
) -> Iterator[Row]:
    """Go through the rows of a CSV or TSV text, values without outer blanks, under the names of ``columns``.

    ``columns`` has for each name what the header may call it. Columns that nobody asked for are passed over.
    """
    delimiter = max(DELIMITERS, key=first_line(given).count)
    reader = csv.reader(io.StringIO(given, newline=""), delimiter=delimiter, strict=True)
    places: dict[str, int] | None = None
    width, line = 0, 1
    try:
        for values in reader:
            start, line = line, reader.line_num + 1
            if not any(value.strip() for value in values):
                continue
            if places is None:
                width, places = len(values), _places(values, file, start, problems, columns, needed)
                if places is None:
                    return
            elif len(values) != width:
                what = f"{len(values)} values, expected {width}, as in the header; values with commas need quotes"
                problems.add(what, file, start)
            else:
                yield Row(start, {name: values[place].strip() for name, place in places.items()})
    except csv.Error as error:
        problems.add(f"is not a table: {error}", file, line)
    if places is None:
        problems.add(f"is empty, expected a header with {', '.join(needed)}", file)


def json_rows(given: str, file: str, problems: Problems) -> Iterator[Row]:
    """Go through the objects of a text of JSON lines."""
    for number, line in enumerate(given.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except (ValueError, RecursionError) as error:
            problems.add(f"is not JSON: {getattr(error, 'msg', 'nested too deeply')}", file, number)
            continue
        if isinstance(found, dict):
            yield Row(number, found)
        else:
            problems.add("is JSON, but no object in braces", file, number)


def whole(given: str) -> str:
    """Return a text without halves of characters, which JSON may hold and no file can."""
    return given.encode(errors="replace").decode()


def first_line(given: str) -> str:
    """Return the first line that holds anything."""
    return next((line for line in given.split("\n") if line.strip()), "")


def is_qrels(given: str) -> bool:
    """Whether a text is one of TREC's: four fields set apart by blanks, and no header."""
    first = first_line(given)
    return "," not in first and ";" not in first and len(first.split()) == 4 and "topic" not in first.lower()


def qrels_rows(given: str, file: str, problems: Problems) -> Iterator[Row]:
    """Go through the lines of qrels: topic, iteration, document, grade."""
    for number, line in enumerate(given.split("\n"), 1):
        fields = line.split()
        if len(fields) == 4:
            yield Row(number, {"topic": fields[0], "document": fields[2], "grade": fields[3]})
        elif fields:
            problems.add(f"{len(fields)} fields, expected 4: topic, iteration, document, grade", file, number)


def called(row: Mapping[str, Any], aliases: Sequence[str]) -> Any:
    """Return the value that a row has under the first of some names, in any case; None where it has none."""
    lower = {key.strip().lower(): value for key, value in row.items()}
    return next((lower[alias] for alias in aliases if lower.get(alias) is not None), None)


def _places(
    header: Sequence[str],
    file: str,
    line: int,
    problems: Problems,
    columns: Mapping[str, Sequence[str]],
    needed: Sequence[str],
) -> dict[str, int] | None:
    """Return where each column stands; None, with the problem noted, where a needed one is missing."""
    names = [name.strip().lower() for name in header]
    places = {
        column: names.index(alias)
        for column, aliases in columns.items()
        if (alias := next((alias for alias in aliases if alias in names), None)) is not None
    }
    missing = [column for column in needed if column not in places]
    for column in missing:
        also = [alias for alias in columns[column] if alias != column]
        usual = f" (or {quoted(also)})" if also else ""
        problems.add(f"there is no column {quote(column)}{usual}; the columns are {quoted(header)}", file, line)
    return None if missing else places

"""Read passages and queries: texts with names.

A table has a column of names and a column of texts, under usual names or names that are given. A file with tabs may
have no header, as in many collections: name, text, further fields. A missing text is empty. Names are written to runs,
which are separated by blanks, so they cannot contain any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from numbers import Number
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from adjudge.data.files import FilePath, read_content
from adjudge.data.formats import SUFFIXES, open_source
from adjudge.data.source import Source, from_frame
from adjudge.errors import InputError, quote, quoted

TABS = (".tsv", ".tab")
BREAK = re.compile(r"\r\n|\n|\r")
HALF = re.compile(r"[\ud800-\udfff]")
UNFIT = r"[\s\p{Cc}]"  # blanks and control characters, which a name in a run cannot have


class Kind(NamedTuple):
    """A kind of text, and the usual names of its columns, most likely first."""

    name: str
    plural: str
    names: tuple[str, ...]
    texts: tuple[str, ...]


PASSAGES = Kind(
    "passage",
    "passages",
    ("passage", "passage_id", "pid", "document", "document_id", "doc", "doc_id", "docno", "docid", "id", "_id"),
    ("text", "contents", "content", "body", "passage_text", "sentence"),
)
QUERIES = Kind(
    "query",
    "queries",
    ("query_id", "qid", "question_id", "topic", "topic_id", "number", "id", "_id", "query", "question"),
    ("text", "contents", "query_text", "question_text", "query", "question", "title"),
)


def read_passages(data: Any, name: str | None = None, text: str | None = None) -> dict[str, str]:
    """Read passages by their names, from a file, a frame, or {name: text}; ``name`` and ``text`` are columns.

    >>> read_passages(pl.DataFrame({"docno": ["d1"], "contents": ["Mary had a little lamb"]}))
    {'d1': 'Mary had a little lamb'}
    """
    return _read(data, PASSAGES, name, text)


def read_queries(data: Any, name: str | None = None, text: str | None = None) -> dict[str, str]:
    """Read queries by their names, from a file, a frame, or {name: text}; ``name`` and ``text`` are columns."""
    return _read(data, QUERIES, name, text)


def _read(data: Any, kind: Kind, name: str | None, text: str | None) -> dict[str, str]:
    """Return texts by name."""
    if isinstance(data, Mapping):
        return _texts(_mapping(data, kind), kind, "name", "text")
    if isinstance(data, str | os.PathLike):
        source = (_headless(data, kind) if name is None and text is None else None) or open_source(data)
    else:
        source = from_frame(data, kind.plural)
    text_column = text or _column(source, kind, "text", kind.texts, name)
    return _texts(source, kind, name or _column(source, kind, "name", kind.names, text_column), text_column)


def _mapping(data: Mapping[Any, Any], kind: Kind) -> Source:
    """Return {name: text} as a source."""
    table = {
        "name": [_as_text(name, f"{kind.name}'s name", kind, row) for row, name in enumerate(data)],
        "text": [_as_text(text, f"{kind.name}'s text", kind, row) for row, text in enumerate(data.values())],
    }
    return from_frame(pl.DataFrame(table, schema={"name": pl.String, "text": pl.String}), kind.plural)


def _as_text(value: Any, role: str, kind: Kind, row: int) -> str | None:
    """Return a text or number as text, None if it is missing; refuse anything else."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if not isinstance(value, str | Number):
        message = f"the {role} is of type {type(value).__name__}, expected text: {quote(value)}"
        raise InputError(message, kind.plural, row)
    text = str(value)
    if not text.isascii() and HALF.search(text):
        message = f"the {role} {quote(text)} has a lone surrogate: decode the file as UTF-8"
        raise InputError(message, kind.plural, row)
    return text


def _headless(path: FilePath, kind: Kind) -> Source | None:
    """Return the lines of a tab-separated file without a header, None if the file is something else.

    If the name of the file does not tell its format, its first line does.
    """
    suffix = _format_of(path)
    if str(path) == "-" or suffix not in (None, "tsv"):
        return None
    content = read_content(path)
    if content.is_parquet or content.data.lstrip()[:1] == b"{":
        return None
    return _headless_lines(content.text, content.name, kind, suffix == "tsv")


def _headless_lines(text: str, name: str, kind: Kind, has_tabs: bool) -> Source | None:
    """Return lines of name, tab, text; None if their first line is a header, or may have no tabs and has none."""
    lines = BREAK.split(text)  # other line separators may occur in texts
    row = [n for n, line in enumerate(lines) if line.strip()]
    first = lines[row[0]].split("\t")
    if not has_tabs and len(first) == 1:
        _refuse_xml(first[0], kind, name)
        return None
    if any(_plain(value) in {*kind.names, *kind.texts} for value in first):
        return None
    return _tab_separated([lines[n].split("\t") for n in row], row, kind, name)


def _refuse_xml(line: str, kind: Kind, name: str) -> None:
    """Refuse XML and TREC topics, which are not tables."""
    if line.lstrip().startswith("<"):
        problem = f"looks like XML or TREC topics, which cannot be read here: give a table of {kind.plural}"
        raise InputError(f"{problem} with {kind.names[0]} and {kind.texts[0]}, or lines of name, tab, text", name)


def _tab_separated(fields: list[list[str]], row: list[int], kind: Kind, name: str) -> Source:
    """Return lines of name, tab, text as a source; ``row`` is the index of each line in the file."""
    short = next((n for n, values in enumerate(fields) if len(values) < 2), None)
    if short is not None:
        raise InputError(f"there is no tab between the {kind.name}'s name and its text", name, row[short] + 1)
    table = pl.DataFrame({"name": [values[0] for values in fields], "text": [values[1] for values in fields]})
    table.columns = [kind.names[0], kind.texts[0]]
    return Source(name, tuple(table.columns), table.get_column, lambda position: row[position] + 1, text=True)


def _format_of(path: FilePath) -> str | None:
    """Return the format of a file by its suffixes, None if they do not tell."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if any(ending in TABS for ending in endings):
        return "tsv"
    return next((SUFFIXES[ending] for ending in reversed(endings) if ending in SUFFIXES), None)


def _column(source: Source, kind: Kind, role: str, names: tuple[str, ...], other: str | None) -> str:
    """Return the column for a role by its usual names; ``other`` is the column of the other role."""
    plain = {_plain(column): column for column in reversed(source.columns) if column != other}
    column = next((plain[name] for name in names if name in plain), None)
    if column is None:
        problem = f"there is no column for the {kind.name}'s {role} (columns: {quoted(source.columns)})"
        raise source.wrong(f"{problem}; usual names are {', '.join(names[:6])}")
    return column


def _plain(column: str) -> str:
    """Return the name of a column in lower case, with underscores."""
    return column.strip().lower().replace(" ", "_").replace("-", "_")


def _texts(source: Source, kind: Kind, name: str, text: str) -> dict[str, str]:
    """Return the texts of a source by name; refuse a missing or repeated name."""
    for column in (name, text):
        if column not in source.columns:
            raise source.wrong(f"there is no column {quote(column)} (columns: {quoted(source.columns)})")
    names, texts = (_plain_text(source, column) for column in (name, text))
    if source.text:
        names = names.str.strip_chars()
    _check_names(source, kind, name, names)
    if not len(names):
        raise source.wrong(f"there are no {kind.plural}")
    return dict(zip(names.to_list(), texts.fill_null("").to_list(), strict=True))


def _check_names(source: Source, kind: Kind, column: str, names: pl.Series) -> None:
    """Refuse names that are empty, fractions, repeated, or not possible in a run."""
    empty = (names.is_null() | (names.str.strip_chars() == "")).arg_true()
    if len(empty):
        raise source.wrong(f"the {kind.name} has no name: column {quote(column)} is empty", int(empty[0]))
    if source.column(column).dtype.is_float():
        problem = f"the name of {kind.name} {names[0]} is a fraction: use text or whole numbers as names"
        raise source.wrong(problem, 0)
    unfit = names.str.contains(UNFIT).arg_true()
    if len(unfit):
        n = int(unfit[0])
        has = "blanks" if names.str.contains(r"\s")[n] else "control characters"
        raise source.wrong(
            f"{kind.name} {quote(names[n])} has {has} in its name, which a run cannot hold: rename it", n
        )
    again = (~names.is_first_distinct()).arg_true()
    if len(again):
        n = int(again[0])
        before = source.row(int((names == names[n]).arg_true()[0]))
        raise source.wrong(f"{kind.name} {quote(names[n])} is in row {before} already: keep one of them", n)


def _plain_text(source: Source, name: str) -> pl.Series:
    """Return a column of text or numbers as text; refuse lists and records."""
    column = source.column(name)
    message = f"column {quote(name)} holds {{}}, expected text"
    if column.dtype.is_nested():
        raise source.wrong(message.format("lists or records"), 0)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise source.wrong(message.format(f"values of type {column.dtype}")) from error

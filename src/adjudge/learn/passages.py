"""Texts with names, in: passages to search, and the queries that search them.

A table has a column that names each text and one that holds it, under their usual names or under those that are given.
Separated by tabs, a file may also come without a header, as many collections do: name, text, and whatever follows.
A text that is missing is an empty one, which no query finds. Names are written to runs, which are set apart by blanks.
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
UNFIT = r"[\s\p{Cc}]"  # what a name in a run cannot have: blanks, and signs that nobody sees


class Kind(NamedTuple):
    """What the texts are, and what their columns are usually called, the likeliest first."""

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
    """Read passages by their names, from a file, a frame, or {name: text}; ``name`` and ``text`` are columns."""
    return _read(data, PASSAGES, name, text)


def read_queries(data: Any, name: str | None = None, text: str | None = None) -> dict[str, str]:
    """Read queries by their names, from a file, a frame, or {name: text}; ``name`` and ``text`` are columns."""
    return _read(data, QUERIES, name, text)


def _read(data: Any, kind: Kind, name: str | None, text: str | None) -> dict[str, str]:
    """Return texts by name, each name once."""
    if isinstance(data, Mapping):
        return _texts(_mapping(data, kind), kind, "name", "text")
    if isinstance(data, str | os.PathLike):
        source = (_headless(data, kind) if name is None and text is None else None) or open_source(data)
    else:
        source = from_frame(data, kind.plural)
    held = text or _column(source, kind, "text", kind.texts, name)
    return _texts(source, kind, name or _column(source, kind, "name", kind.names, held), held)


def _mapping(data: Mapping[Any, Any], kind: Kind) -> Source:
    """Return {name: text} as a source."""
    table = {
        "name": [_told(name, f"{kind.name}'s name", kind, row) for row, name in enumerate(data)],
        "text": [_told(text, f"{kind.name}'s text", kind, row) for row, text in enumerate(data.values())],
    }
    return from_frame(pl.DataFrame(table, schema={"name": pl.String, "text": pl.String}), kind.plural)


def _told(held: Any, what: str, kind: Kind, row: int) -> str | None:
    """Return a value as text: numbers too, None where it is missing; anything else is refused."""
    if held is None or (isinstance(held, float) and held != held):
        return None
    if not isinstance(held, str | Number):
        said = f"the {what} is of type {type(held).__name__}, expected text: {quote(held)}"
        raise InputError(said, kind.plural, row)
    text = str(held)
    if not text.isascii() and HALF.search(text):
        said = f"the {what} {quote(text)} has half of a sign (a lone surrogate): decode it as UTF-8"
        raise InputError(said, kind.plural, row)
    return text


def _headless(path: FilePath, kind: Kind) -> Source | None:
    """Return the lines of a file without a header: values set apart by tabs, of which the first is no usual name.

    Where the file's name does not say that it is one of tabs, its first line does.
    """
    told = _format_of(path)
    if str(path) == "-" or told not in (None, "tsv"):
        return None
    content = read_content(path)
    name = content.name
    if content.is_parquet or content.data.lstrip()[:1] == b"{":
        return None
    lines = BREAK.split(content.text)  # no other sign ends a line: texts have them
    row = [n for n, line in enumerate(lines) if line.strip()]
    first = lines[row[0]].split("\t")
    if told is None and len(first) == 1:
        if first[0].lstrip().startswith("<"):
            what = f"looks like XML or TREC's topics, which are not read here: give a table of {kind.plural}"
            raise InputError(f"{what} with {kind.names[0]} and {kind.texts[0]}, or lines of name, tab, text", name)
        return None
    if any(_plain(value) in {*kind.names, *kind.texts} for value in first):
        return None
    fields = [lines[n].split("\t") for n in row]
    short = next((n for n, values in enumerate(fields) if len(values) < 2), None)
    if short is not None:
        raise InputError(f"there is no tab between the {kind.name}'s name and its text", name, row[short] + 1)
    table = pl.DataFrame({"name": [values[0] for values in fields], "text": [values[1] for values in fields]})
    table.columns = [kind.names[0], kind.texts[0]]
    return Source(name, tuple(table.columns), table.get_column, lambda position: row[position] + 1, text=True)


def _format_of(path: FilePath) -> str | None:
    """Return the format that a file's name tells, None where it tells none."""
    endings = [ending.lower() for ending in Path(path).suffixes]
    if any(ending in TABS for ending in endings):
        return "tsv"
    return next((SUFFIXES[ending] for ending in reversed(endings) if ending in SUFFIXES), None)


def _column(source: Source, kind: Kind, role: str, usual: tuple[str, ...], taken: str | None) -> str:
    """Return the column with the likeliest name for a role, rather than one that has another role."""
    plain = {_plain(column): column for column in reversed(source.columns) if column != taken}
    found = next((plain[name] for name in usual if name in plain), None)
    if found is None:
        what = f"there is no column for the {kind.name}'s {role} (columns: {quoted(source.columns)})"
        raise source.wrong(f"{what}; usual names are {', '.join(usual[:6])}")
    return found


def _plain(column: str) -> str:
    """Return a column's name in small letters, with one sign between words."""
    return column.strip().lower().replace(" ", "_").replace("-", "_")


def _texts(source: Source, kind: Kind, name: str, text: str) -> dict[str, str]:
    """Return the texts of a source by name; one without a name, or with another's, is refused."""
    for column in (name, text):
        if column not in source.columns:
            raise source.wrong(f"there is no column {quote(column)} (columns: {quoted(source.columns)})")
    names, texts = (_plain_text(source, column) for column in (name, text))
    if source.text:
        names = names.str.strip_chars()
    empty = (names.is_null() | (names.str.strip_chars() == "")).arg_true()
    if len(empty):
        raise source.wrong(f"the {kind.name} has no name: column {quote(name)} is empty", int(empty[0]))
    if source.column(name).dtype.is_float():
        what = f"{kind.name} {names[0]} is called by a number with a fraction: call it by text or a whole number"
        raise source.wrong(what, 0)
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
    if not len(names):
        raise source.wrong(f"there are no {kind.plural}")
    return dict(zip(names.to_list(), texts.fill_null("").to_list(), strict=True))


def _plain_text(source: Source, name: str) -> pl.Series:
    """Return a column as text; numbers are, lists and records are not."""
    column = source.column(name)
    what = f"column {quote(name)} holds {{}}, expected text"
    if column.dtype.is_nested():
        raise source.wrong(what.format("lists or records"), 0)
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError as error:
        raise source.wrong(what.format(f"values of type {column.dtype}")) from error

"""Texts with names, in: passages to search, and the queries that search them.

A table has a column that names each text and one that holds it, under their usual names or under those that are given.
Separated by tabs, a file may also come without a header, as many collections do: name, text, and whatever follows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from adjudge.errors import InputError, quote, quoted
from adjudge.judgments.read import content_of, open_source
from adjudge.judgments.source import Source, display_name, from_frame, text_of

TABS = (".tsv", ".tab")


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
        table = {"name": list(map(str, data)), "text": [None if held is None else str(held) for held in data.values()]}
        source = from_frame(pl.DataFrame(table, schema={"name": pl.String, "text": pl.String}), kind.plural)
        return _texts(source, kind, "name", "text")
    if isinstance(data, str | os.PathLike):
        source = (_headless(data, kind) if name is None and text is None else None) or open_source(data)
    else:
        source = from_frame(data, kind.plural)
    held = text or _column(source, kind, "text", kind.texts, name)
    return _texts(source, kind, name or _column(source, kind, "name", kind.names, held), held)


def _headless(path: str | os.PathLike[str], kind: Kind) -> Source | None:
    """Return the lines of a file without a header: values set apart by tabs, of which the first is no usual name."""
    if not any(ending.lower() in TABS for ending in Path(path).suffixes):
        return None
    name = display_name(path)
    lines = text_of(content_of(path), name).splitlines()
    row = [n for n, line in enumerate(lines) if line.strip()]
    first = lines[row[0]].split("\t")
    if any(_plain(value) in {*kind.names, *kind.texts} for value in first):
        return None
    fields = [lines[n].split("\t") for n in row]
    short = next((n for n, values in enumerate(fields) if len(values) < 2), None)
    if short is not None:
        raise InputError(f"there is no tab between the {kind.name}'s name and its text", name, row[short] + 1)
    table = pl.DataFrame({"name": [values[0] for values in fields], "text": [values[1] for values in fields]})
    table.columns = [kind.names[0], kind.texts[0]]
    return Source(name, tuple(table.columns), table.get_column, lambda position: row[position] + 1, text=True)


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
    names, texts = (source.column(column).cast(pl.String) for column in (name, text))
    if source.text:
        names = names.str.strip_chars()
    empty = (names.is_null() | (names.str.strip_chars() == "")).arg_true()
    if len(empty):
        raise source.wrong(f"the {kind.name} has no name: column {quote(name)} is empty", int(empty[0]))
    blank = names.str.contains(r"\s").arg_true()
    if len(blank):
        what = f"{kind.name} {quote(names[blank[0]])} has blanks in its name, which a run cannot hold: rename it"
        raise source.wrong(what, int(blank[0]))
    again = (~names.is_first_distinct()).arg_true()
    if len(again):
        n = int(again[0])
        before = source.row(int((names == names[n]).arg_true()[0]))
        raise source.wrong(f"{kind.name} {quote(names[n])} is in row {before} already: keep one of them", n)
    if not len(names):
        raise source.wrong(f"there are no {kind.plural}")
    return dict(zip(names.to_list(), texts.fill_null("").to_list(), strict=True))

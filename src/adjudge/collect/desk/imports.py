"""Judgments made elsewhere: read from CSV or JSONL, every problem listed with its row before anything is taken.

A row is ``topic, document, judge, label`` and may have ``rank, seconds, comment``. Answers of a program to exported
prompts (see ``prompts``) have an ``id`` in place of topic and document, and an ``answer``.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select

from adjudge.collect.record.schema import judgments, people
from adjudge.errors import InputError, quote

if TYPE_CHECKING:
    from sqlalchemy import Connection

MOST_PROBLEMS = 20  # that are listed one by one
MOST_RANK = 1_000
LONGEST = 2_000  # characters of a comment that are kept
LABELS = ("label", "relevance", "answer")  # columns in which a label may stand, the first that is there
RELEVANT = {"1", "2", "relevant", "yes", "true", "highly relevant"}
IRRELEVANT = {"0", "irrelevant", "not relevant", "nonrelevant", "non-relevant", "no", "false"}
OPEN = {"cannot tell", "unsure", "unknown", "na", "null", "none", ""}
SAID = re.compile(r"\b(not\s+relevant|non-?relevant|irrelevant|relevant|cannot tell)\b")


class Unreadable(ValueError):  # noqa: N818
    """A label that cannot be read."""


class Given(NamedTuple):
    """One judgment as a file gives it."""

    row: int
    topic: str
    document: str
    judge: str
    relevance: int | None
    rank: int | None = None
    seconds: float | None = None
    comment: str = ""


class Read(NamedTuple):
    """What a file holds, and what in it could not be read."""

    name: str
    given: list[Given]
    problems: list[str]

    def checked(self) -> list[Given]:
        """Return the judgments, or refuse the file with all its problems."""
        if self.problems:
            raise InputError(told(self.problems), self.name)
        return self.given


def told(problems: list[str]) -> str:
    """Return problems as a list, cut where it is long."""
    more = len(problems) - MOST_PROBLEMS
    listed = "\n".join(f"  {problem}" for problem in problems[:MOST_PROBLEMS])
    return f"{len(problems)} problem{'s'[: len(problems) != 1]}, nothing was taken\n{listed}" + (
        f"\n  and {more} more" if more > 0 else ""
    )


def relevance_of(value: Any) -> int | None:
    """Return what a label says: 1, 0, or None where the judge could not tell. Takes the ways in which programs answer.

    A text is read by its first words; if they are none of a label's, by the only verdict that stands in it. A text
    that says both, or neither, is not guessed at.
    """
    if isinstance(value, bool | int | float) and value in (0, 1, 2):
        return int(value > 0)
    if value is None:
        return None
    if isinstance(value, Mapping):
        return relevance_of(labelled(value))
    if isinstance(value, str):
        return _relevance_of_text(value)
    raise Unreadable(f"{quote(value)} is no label, expected relevant or irrelevant")


def _relevance_of_text(text: str) -> int | None:
    """Return what a label in words says."""
    inner = re.sub(r"^```\w*|```$", "", text.strip()).strip()
    if inner.startswith("{"):
        try:
            return relevance_of(json.loads(inner))
        except json.JSONDecodeError:
            pass
    plain = inner.casefold().strip(" \t\n.,:;!*_\"'`()[]")
    for words, relevance in ((RELEVANT, 1), (IRRELEVANT, 0), (OPEN, None)):
        if plain in words:
            return relevance
    said = {" ".join(found.split()) for found in SAID.findall(plain)}
    verdicts = {None if one == "cannot tell" else int(one == "relevant") for one in said}
    first = SAID.match(plain)
    if first:
        return None if first[0] == "cannot tell" else int(first[0] == "relevant")
    if len(verdicts) == 1:
        return verdicts.pop()
    raise Unreadable(f"{quote(text)} is no label, expected relevant or irrelevant")


def labelled(row: Mapping[str, Any]) -> Any:
    """Return the label in a row: of the first column that is there."""
    for name in LABELS:
        if name in row:
            return row[name]
    raise Unreadable(f"no label: expected a column {', '.join(LABELS[:-1])} or {LABELS[-1]}")


def read_judgments(content: bytes, name: str, judge: str | None = None) -> Read:
    """Return the judgments of a file; ``judge`` is whose they are where the file does not say."""
    given, problems = list[Given](), list[str]()
    for number, row in rows_of(content, name):
        try:
            given.append(_given(number, row, judge))
        except ValueError as error:
            problems.append(f"row {number}: {error}")
    if not given and not problems:
        raise InputError("the file holds no judgments", name)
    return Read(name, given, problems)


def rows_of(content: bytes, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Return the rows of a CSV or JSONL file with their numbers: lines of JSONL, rows below the header of CSV."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"is not UTF-8 (byte {error.start})", name) from error
    if text.lstrip().startswith("{"):
        yield from _json_rows(text, name)
    else:
        yield from _csv_rows(text, name)


def known_labels(connection: Connection, names: Iterable[str]) -> dict[tuple[str, int], int | None]:
    """Return the labels on record of some judges, by (name in small letters, item)."""
    called = {person: name.casefold() for person, name in connection.execute(select(people.c.id, people.c.name))}
    wanted = {name.casefold() for name in names}
    ids = [person for person, name in called.items() if name in wanted]
    found: dict[tuple[str, int], int | None] = {}
    for person in ids:
        query = select(judgments.c.item, judgments.c.relevance).where(judgments.c.person == person)
        found |= {(called[person], item): relevance for item, relevance in connection.execute(query)}
    return found


def _json_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Return the objects of JSON lines."""
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(f"is not JSON: {error.msg}", name, number) from error
            if not isinstance(row, dict):
                raise InputError("is not a JSON object", name, number)
            yield number, row


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Return the rows of a CSV file by its header."""
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    names = [field.strip().lower() for field in reader.fieldnames or ()]
    reader.fieldnames = names
    try:
        for number, row in enumerate(reader, 1):
            if None in row or None in row.values():
                raise InputError(f"has not {len(names)} fields as the header", name, number)
            yield number, row
    except csv.Error as error:
        raise InputError(f"is not CSV: {error}", name, reader.line_num) from error


def _given(number: int, row: Mapping[str, Any], judge: str | None) -> Given:
    """Return one row as a judgment."""
    topic, document = _text(row, "topic"), _text(row, "document")
    whose = _text(row, "judge") if row.get("judge") not in (None, "") or judge is None else judge
    rank = _number(row, "rank")
    if rank is not None and (rank != int(rank) or not 1 <= rank <= MOST_RANK):
        raise ValueError(f"rank {quote(row['rank'])} is not 1, 2, 3 ... up to {MOST_RANK}")
    seconds = _number(row, "seconds")
    if seconds is not None and seconds < 0:
        raise ValueError(f"seconds {quote(row['seconds'])} is below 0")
    comment = kept(str(row.get("comment") or row.get("explanation") or "")[:LONGEST], "comment")
    return Given(
        number,
        topic,
        document,
        tidy(whose),
        relevance_of(labelled(row)),
        None if rank is None else int(rank),
        seconds,
        comment,
    )


def _text(row: Mapping[str, Any], name: str) -> str:
    """Return a text that must be there."""
    value = row.get(name)
    if value is None or not str(value).strip():
        raise ValueError(f"no {name}")
    return kept(str(value).strip(), name)


def kept(text: str, name: str) -> str:
    """Return a text that a database can keep: without NUL, and without halves of characters, which JSON may hold."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Unreadable(f"{name} {quote(text)} has characters that cannot be kept")
    return text


def tidy(name: str) -> str:
    """Return the name of a judge as names are kept, so that it is found however it is written."""
    return " ".join(unicodedata.normalize("NFKC", name).split())


def _number(row: Mapping[str, Any], name: str) -> float | None:
    """Return a number that may be there."""
    value = row.get(name)
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} {quote(value)} is no number")
    return number

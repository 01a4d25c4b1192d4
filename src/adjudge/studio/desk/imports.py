"""Judgments made elsewhere: read from a table, every problem listed with its line before anything is taken.

A row is ``topic, document, judge, label`` and may have ``rank, seconds, comment``. Files have any of the formats,
encodings and compressions of ``adjudge.read``. Answers of a program to exported
prompts (see ``prompts``) have an ``id`` in place of topic and document, and an ``answer``.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from sqlalchemy import select

from adjudge.data import columns
from adjudge.data.files import LARGEST, decode_content
from adjudge.data.formats import named_value, parse_rows
from adjudge.errors import InputError, quote
from adjudge.studio.record.schema import judgments, people

if TYPE_CHECKING:
    from sqlalchemy import Connection


# Labels as people and programs write them. Only what is clear is read: a label that is guessed wrong does harm.
#
# A text is clear if it is a label and nothing else, or begins with one and then says nothing against it.

LABELS = ("label", "relevance", "answer")  # columns in which a label may stand, the first that is there
RELEVANT = {"1", "2", "relevant", "yes", "true", "highly relevant"}
IRRELEVANT = {"0", "irrelevant", "not relevant", "nonrelevant", "non-relevant", "no", "false"}
OPEN = {"cannot tell", "can't tell", "unsure", "unknown"}
BLANK = {"", "na", "n/a", "null", "none"}  # cannot tell in a table, no answer from a program
SAID: Mapping[str, int | None] = {
    **dict.fromkeys(("relevant", "yes"), 1),
    **dict.fromkeys(("irrelevant", "not relevant", "nonrelevant", "non-relevant", "no"), 0),
    **dict.fromkeys(OPEN - {"unknown"}),
}
FIRST = re.compile(
    rf"({'|'.join(sorted(SAID, key=len, reverse=True))})\b[\"'`*_)\]]*(\s*[.!,;:\n]|\s+(?:-|\u2013|\u2014|because)\s)"
)
AGAINST = re.compile(  # what may follow a label only if it says the same
    r"(?P<no>(?:\bnot|n't|\bno)\s+(?:\w+\s+)?relevant\b|\bnon-?relevant\b|\birrelevant\b|\bno\b|\bfalse\b|\b0\b)"
    r"|(?P<yes>\brelevant\b|\byes\b|\btrue\b|\b1\b)|(?P<open>\bcan(?:not|'t) tell\b|\bunsure\b)"
)
ASKED = re.compile(r"\W*(?:yes|no|true|false|[01])\W*")  # then the label before it was a question
DOUBT = re.compile(r"\b(?:not|never|nor|neither|hardly|but|or|maybe|perhaps|might|may|however|although)\b|n't\b")


class Unreadable(ValueError):  # noqa: N818
    """A label that cannot be read."""


def relevance_of(value: Any) -> int | None:
    """Return what a label says: 1, 0, or None where the judge could not tell. In a table, empty is cannot tell."""
    if value is None or (isinstance(value, str) and _plain(value) in BLANK):
        return None
    return answer_of(value)


def answer_of(value: Any) -> int | None:
    """Return what a program's answer says: 1, 0, or None where it says that it cannot tell; no answer is none."""
    if isinstance(value, bool | int | float) and value in (0, 1, 2):
        return int(value > 0)
    if isinstance(value, Mapping):
        return answer_of(labelled(value))
    if value is None or (isinstance(value, str) and _plain(value) in BLANK):
        raise Unreadable("the answer is empty")
    if isinstance(value, str):
        return _relevance_of_text(value)
    raise _unread(value)


def labelled(row: Mapping[str, Any]) -> Any:
    """Return the label in a row: of the first column that is there."""
    for name in LABELS:
        if name in row:
            return row[name]
    raise Unreadable(f"no label: expected a column {', '.join(LABELS[:-1])} or {LABELS[-1]}")


def _unread(value: object) -> Unreadable:
    """Return what is said of a label that is none."""
    return Unreadable(f"{quote(value)} is no label, expected relevant or irrelevant")


def _inner(text: str) -> str:
    """Return a text without the fence that programs put around code."""
    return re.sub(r"^```\w*|```$", "", text.strip()).strip()


def _plain(text: str) -> str:
    """Return a text in small letters, without punctuation and marks of emphasis around it."""
    whole = _inner(text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return " ".join(whole.strip(" \t\r\n.,:;!*_\"'`()[]").split())


def _relevance_of_text(text: str) -> int | None:
    """Return what a label in words says."""
    inner = _inner(text)
    if inner.startswith("{"):
        try:
            return answer_of(json.loads(inner))
        except json.JSONDecodeError as error:
            raise _unread(text) from error
    plain = _plain(text)
    for words, relevance in ((RELEVANT, 1), (IRRELEVANT, 0), (OPEN, None)):
        if plain in words:
            return relevance
    return _first(text, inner)


def _first(text: str, inner: str) -> int | None:
    """Return the label that a text begins with, if what follows says nothing against it."""
    words = inner.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lstrip(" \t\"'`*_([")
    found = FIRST.match(words)
    if found is None:
        raise _unread(text)
    label, rest = SAID[found[1]], words[found.end() :]
    meant = {"no": 0, "yes": 1, "open": None}
    same = all(meant[str(one.lastgroup)] == label for one in AGAINST.finditer(rest))
    ended = found[2].strip(" ")[:1] in (".", "!", "\n")  # what follows a full sentence explains it
    doubt = not ended and DOUBT.search(rest) if label else not ended and " but " in rest
    if not same or doubt or ASKED.fullmatch(rest):
        raise _unread(text)
    return label


MOST_PROBLEMS = 20  # that are listed one by one
MOST_RANK = 1_000
LONGEST = 2_000  # characters of a comment that are kept
NAMES = {"topic": columns.TOPIC, "document": columns.DOCUMENT, "judge": columns.USUAL["judge"]}  # of columns
Row: TypeAlias = Mapping[str, Any] | Unreadable  # of a file, or why a line is none


class Given(NamedTuple):
    """One judgment as a file gives it."""

    row: int  # the line of the file
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


def read_judgments(content: bytes, name: str, judge: str | None = None) -> Read:
    """Return the judgments of a file; ``judge`` is whose they are where the file does not say."""
    given, problems = list[Given](), list[str]()
    for number, row in rows_of(content, name):
        try:
            given.append(_given(number, readable(row), judge))
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    if not given and not problems:
        raise InputError("the file holds no judgments", name)
    return Read(name, given, problems)


def rows_of(content: bytes, name: str, format: str | None = None) -> Iterator[tuple[int, Row]]:  # noqa: A002
    """Yield the rows of a file with their lines, and the problem of a line that cannot be read."""
    decoded = decode_content(content, name, limit=LARGEST, empty=True)
    for line, values in parse_rows(decoded, format).rows:
        if isinstance(values, str):
            yield line, Unreadable(values)
        else:
            yield line, {column.strip().lower(): value for column, value in values.items()}


def readable(row: Row) -> Mapping[str, Any]:
    """Return a row, or refuse a line that is none."""
    if isinstance(row, Unreadable):
        raise row
    return row


def in_order(problems: Iterable[str]) -> list[str]:
    """Return problems by the lines they are in."""

    def line(problem: str) -> int:
        found = re.match(r"line (\d+):", problem)
        return int(found[1]) if found else 0

    return sorted(problems, key=line)


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


def _given(number: int, row: Mapping[str, Any], judge: str | None) -> Given:
    """Return one row as a judgment."""
    topic, document = _text(row, "topic"), _text(row, "document")
    whose = _text(row, "judge") if named_value(row, NAMES["judge"]) not in (None, "") or judge is None else judge
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
    value = named_value(row, NAMES[name])
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

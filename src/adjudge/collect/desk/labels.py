"""Labels as people and programs write them. Only what is clear is read: a label that is guessed wrong does harm.

A text is clear if it is a label and nothing else, or begins with one and then says nothing against it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from adjudge.errors import quote

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

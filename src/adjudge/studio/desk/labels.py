"""Labels as people and programs write them: in tables of judgments, and in a program's answers to prompts.

Only clear labels are read, because a wrong guess does harm: a text is clear if it is a label and nothing else, or
starts with one that the rest does not contradict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from adjudge.errors import quote

LABEL_COLUMNS = ("label", "relevance", "answer")  # the first that a row has is used
RELEVANT = {"1", "2", "relevant", "yes", "true", "highly relevant"}
IRRELEVANT = {"0", "irrelevant", "not relevant", "nonrelevant", "non-relevant", "no", "false"}
UNSURE = {"cannot tell", "can't tell", "unsure", "unknown"}
BLANK = {"", "na", "n/a", "null", "none"}  # "cannot tell" in a table, no answer from a program
FIRST_WORDS: Mapping[str, int | None] = {
    **dict.fromkeys(("relevant", "yes"), 1),
    **dict.fromkeys(("irrelevant", "not relevant", "nonrelevant", "non-relevant", "no"), 0),
    **dict.fromkeys(UNSURE - {"unknown"}),
}
FIRST_LABEL = re.compile(
    rf"({'|'.join(sorted(FIRST_WORDS, key=len, reverse=True))})\b[\"'`*_)\]]*"
    r"(\s*[.!,;:\n]|\s+(?:-|\u2013|\u2014|because)\s)"
)
LATER_LABEL = re.compile(  # may follow the first label only if it is the same
    r"(?P<no>(?:\bnot|n't|\bno)\s+(?:\w+\s+)?relevant\b|\bnon-?relevant\b|\birrelevant\b|\bno\b|\bfalse\b|\b0\b)"
    r"|(?P<yes>\brelevant\b|\byes\b|\btrue\b|\b1\b)|(?P<unsure>\bcan(?:not|'t) tell\b|\bunsure\b)"
)
LATER_LABELS = {"no": 0, "yes": 1, "unsure": None}
REPLY = re.compile(r"\W*(?:yes|no|true|false|[01])\W*")  # a rest that makes the label before it a question
DOUBT = re.compile(r"\b(?:not|never|nor|neither|hardly|but|or|maybe|perhaps|might|may|however|although)\b|n't\b")


class RowError(ValueError):
    """A row or a label that cannot be read."""


def parse_label(value: Any) -> int | None:
    """Return a label of a table: 1, 0, or None for "cannot tell", which may be an empty cell.

    Examples
    --------
    >>> parse_label("highly relevant"), parse_label("0"), parse_label("n/a")
    (1, 0, None)
    """
    if value is None or (isinstance(value, str) and _plain(value) in BLANK):
        return None
    return parse_answer(value)


def parse_answer(value: Any) -> int | None:
    """Return a program's answer: 1, 0, or None for "cannot tell"; an empty or unclear answer is refused.

    Examples
    --------
    >>> parse_answer("**Relevant.** It names three oaks.")
    1
    >>> parse_answer({"answer": "cannot tell"}) is None
    True
    >>> parse_answer("relevant or not?")
    Traceback (most recent call last):
        ...
    adjudge.studio.desk.labels.RowError: the label is 'relevant or not?', expected relevant or irrelevant
    """
    if isinstance(value, bool | int | float) and value in (0, 1, 2):
        return int(value > 0)
    if isinstance(value, Mapping):
        return parse_answer(row_label(value))
    if value is None or (isinstance(value, str) and _plain(value) in BLANK):
        raise RowError("the answer is empty")
    if isinstance(value, str):
        return _parse_text(value)
    raise _label_error(value)


def row_label(row: Mapping[str, Any]) -> Any:
    """Return the label of a row, from the first of ``LABEL_COLUMNS`` that it has, as it is written there."""
    for name in LABEL_COLUMNS:
        if name in row:
            return row[name]
    raise RowError(f"no label, expected a column {', '.join(LABEL_COLUMNS[:-1])} or {LABEL_COLUMNS[-1]}")


def _label_error(value: object) -> RowError:
    """Return the problem of a label that cannot be read."""
    return RowError(f"the label is {quote(value)}, expected relevant or irrelevant")


def _parse_text(text: str) -> int | None:
    """Return a label that is written in words or as JSON."""
    inner = _without_fence(text)
    if inner.startswith("{"):
        try:
            return parse_answer(json.loads(inner))
        except json.JSONDecodeError as error:
            raise _label_error(text) from error
    plain = _plain(text)
    for words, relevance in ((RELEVANT, 1), (IRRELEVANT, 0), (UNSURE, None)):
        if plain in words:
            return relevance
    return _parse_first_words(text, inner)


def _parse_first_words(text: str, inner: str) -> int | None:
    """Return the label that a text starts with, if the rest does not contradict it."""
    words = inner.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lstrip(" \t\"'`*_([")
    first = FIRST_LABEL.match(words)
    if first is None:
        raise _label_error(text)
    label, rest = FIRST_WORDS[first[1]], words[first.end() :]
    same = all(LATER_LABELS[str(later.lastgroup)] == label for later in LATER_LABEL.finditer(rest))
    ended = first[2].strip(" ")[:1] in (".", "!", "\n")  # what follows a full sentence explains it
    doubt = not ended and DOUBT.search(rest) if label else not ended and " but " in rest
    if not same or doubt or REPLY.fullmatch(rest):
        raise _label_error(text)
    return label


def _without_fence(text: str) -> str:
    """Return a text without the code fence that programs put around it."""
    return re.sub(r"^```\w*|```$", "", text.strip()).strip()


def _plain(text: str) -> str:
    """Return a text in lower case, without punctuation and marks of emphasis around it."""
    lowered = _without_fence(text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return " ".join(lowered.strip(" \t\r\n.,:;!*_\"'`()[]").split())

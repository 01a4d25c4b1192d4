"""Reading the files of an import: tables of judgments made elsewhere, and a program's answers to prompts.

A row of judgments has ``topic, document, judge, label`` and may have ``rank, seconds, comment``; files have any of the
formats, encodings and compressions of ``adjudge.read``. Answers are JSON lines with the ``id`` of a prompt and an
``answer``. Only clear labels are read, because a wrong guess does harm: a text is clear if it is a label and nothing
else, or starts with one that the rest does not contradict.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from adjudge.data import columns
from adjudge.data.files import LARGEST, decode_content, decode_document, decompress
from adjudge.data.formats import named_value, parse_json_object, parse_rows
from adjudge.errors import InputError, quote

if TYPE_CHECKING:
    from adjudge.studio.identity.access import Signer
    from adjudge.studio.records import Pair

MOST_PROBLEMS = 20  # in a list
MOST_RANK = 1_000
LONGEST_COMMENT = 2_000  # characters
LINES_TO_CHECK = 100  # of a file, to find out whether it holds answers
COLUMNS = {"topic": columns.TOPIC, "document": columns.DOCUMENT, "judge": columns.USUAL["judge"]}
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


Row: TypeAlias = Mapping[str, Any] | RowError  # of a file, or the problem of its line


class ImportedJudgment(NamedTuple):
    """One judgment of a file."""

    row: int  # line of the file
    topic: str
    document: str
    judge: str
    relevance: int | None
    rank: int | None = None
    seconds: float | None = None
    comment: str = ""


class ImportFile(NamedTuple):
    """The judgments of a file, and the problems of rows that cannot be read."""

    name: str
    judgments: list[ImportedJudgment]
    problems: list[str]

    def checked(self) -> list[ImportedJudgment]:
        """Return the judgments, or refuse the file with all its problems."""
        if self.problems:
            raise InputError(list_problems(self.problems), self.name)
        return self.judgments


def list_problems(problems: Sequence[str]) -> str:
    """Return problems as a text of several lines; a long list is cut."""
    more = len(problems) - MOST_PROBLEMS
    lines = "\n".join(f"  {problem}" for problem in problems[:MOST_PROBLEMS])
    return f"{len(problems)} problem{'s'[: len(problems) != 1]}, nothing was imported\n{lines}" + (
        f"\n  and {more} more" if more > 0 else ""
    )


def read_judgments(content: bytes, name: str, judge: str | None = None) -> ImportFile:
    """Return the judgments of a table; ``judge`` is the judge of rows that do not name one."""
    judgments, problems = list[ImportedJudgment](), list[str]()
    for line, row in _read_rows(content, name):
        try:
            judgments.append(_judgment(line, _checked_row(row), judge))
        except ValueError as error:
            problems.append(f"line {line}: {error}")
    if not judgments and not problems:
        raise InputError("the file holds no judgments", name)
    return ImportFile(name, judgments, problems)


def is_answers(content: bytes) -> bool:
    """Return whether a file holds answers to prompts: JSON lines, the first valid one of which has an id."""
    text = decode_document(decompress(content, "the file", LARGEST)[0])
    rows = map(parse_json_object, text.split("\n", LINES_TO_CHECK)[:LINES_TO_CHECK])
    return next(("id" in row for row in rows if isinstance(row, dict)), False)


def read_answers(content: bytes, name: str, judge: str, signer: Signer, pairs: Sequence[Pair]) -> ImportFile:
    """Return a program's answers as judgments; ``pairs`` are the items by number."""
    judgments, problems = list[ImportedJudgment](), list[str]()
    for line, row in _read_rows(content, name, "jsonl"):
        try:
            judgments.append(_answer(line, _checked_row(row), judge, signer, pairs))
        except RowError as error:
            problems.append(f"line {line}: {error}")
    if not judgments and not problems:
        raise InputError("the file holds no answers", name)
    return ImportFile(name, judgments, problems)


def _read_rows(content: bytes, name: str, format: str | None = None) -> Iterator[tuple[int, Row]]:  # noqa: A002
    """Yield the rows of a file with their lines, and the problem of a line that cannot be read."""
    decoded = decode_content(content, name, limit=LARGEST, empty=True)
    for line, values in parse_rows(decoded, format).rows:
        if isinstance(values, str):
            yield line, RowError(values)
        else:
            yield line, {column.strip().lower(): value for column, value in values.items()}


def _checked_row(row: Row) -> Mapping[str, Any]:
    """Return a row, or raise the problem of its line."""
    if isinstance(row, RowError):
        raise row
    return row


def _judgment(line: int, row: Mapping[str, Any], judge: str | None) -> ImportedJudgment:
    """Return a row of a table as a judgment."""
    topic, document = _text(row, "topic"), _text(row, "document")
    if judge is None or named_value(row, COLUMNS["judge"]) not in (None, ""):
        judge = _text(row, "judge")
    rank, seconds = _rank(row), _number(row, "seconds")
    if seconds is not None and seconds < 0:
        raise RowError(f"seconds is {quote(row['seconds'])}, expected 0 or more")
    comment = _storable(str(row.get("comment") or row.get("explanation") or "")[:LONGEST_COMMENT], "comment")
    relevance = parse_label(row_label(row))
    return ImportedJudgment(line, topic, document, normalise_name(judge), relevance, rank, seconds, comment)


def _answer(line: int, row: Mapping[str, Any], judge: str, signer: Signer, pairs: Sequence[Pair]) -> ImportedJudgment:
    """Return an answer to a prompt as a judgment."""
    item = signer.read_prompt_id(str(row.get("id", "")))
    if item is None or not 0 <= item < len(pairs):
        raise RowError(f"id {quote(row.get('id', ''))} does not belong to a prompt of this campaign")
    comment = _storable(str(row.get("explanation") or "")[:LONGEST_COMMENT], "explanation")
    return ImportedJudgment(line, *pairs[item], judge, parse_answer(row_label(row)), comment=comment)


def normalise_name(name: str) -> str:
    """Return the name of a judge in the form that is stored."""
    return " ".join(unicodedata.normalize("NFKC", name).split())


def _text(row: Mapping[str, Any], name: str) -> str:
    """Return the text of a column that a row must have."""
    value = named_value(row, COLUMNS[name])
    if value is None or not str(value).strip():
        raise RowError(f"no {name}")
    return _storable(str(value).strip(), name)


def _storable(text: str, name: str) -> str:
    """Return a text that a database can store: without NUL and without surrogates, which JSON allows."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise RowError(f"{name} {quote(text)} has characters that cannot be stored")
    return text


def _rank(row: Mapping[str, Any]) -> int | None:
    """Return the rank of a row, if it has one."""
    rank = _number(row, "rank")
    if rank is not None and (rank != int(rank) or not 1 <= rank <= MOST_RANK):
        raise RowError(f"rank is {quote(row['rank'])}, expected a whole number from 1 to {MOST_RANK:,}")
    return None if rank is None else int(rank)


def _number(row: Mapping[str, Any], name: str) -> float | None:
    """Return the number in an optional column."""
    value = row.get(name)
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise RowError(f"{name} is {quote(value)}, expected a number")
    return number


# Labels as people and programs write them


def parse_label(value: Any) -> int | None:
    """Return a label of a table: 1, 0, or None for "cannot tell", which may be an empty cell."""
    if value is None or (isinstance(value, str) and _plain(value) in BLANK):
        return None
    return parse_answer(value)


def parse_answer(value: Any) -> int | None:
    """Return a program's answer: 1, 0, or None for "cannot tell"; an empty answer is refused."""
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
    """Return the label of a row, from the first of the columns of labels that it has."""
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

"""The documents of a campaign: indexed once, read one at a time, so that any number of them needs little memory."""

from __future__ import annotations

import json
import os
import weakref
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from adjudge.errors import InputError, Problems, quote, quoted
from adjudge.studio.campaign.topics import name_problem
from adjudge.studio.records import KINDS, Document

FILE = "documents.jsonl"
KEYS = ("document", "title", "kind", "content")  # as the file calls them
BOM = b"\xef\xbb\xbf"


class Documents:
    """An index of documents.jsonl: where each document is in the file. Threads may read at the same time."""

    def __init__(self, path: Path, numbers: dict[str, int], starts: array[int]) -> None:
        self.path = path
        self._numbers, self._starts = (
            numbers,
            starts,
        )  # name -> n; document n is in the bytes starts[2n] to starts[2n + 1]
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        weakref.finalize(self, os.close, self._file)

    def document(self, name: str) -> Document:
        """Return a document, read from the file now."""
        n = self._numbers[name]
        start, end = self._starts[2 * n], self._starts[2 * n + 1]
        try:
            record = json.loads(os.pread(self._file, end - start, start))
            document = Document(*(record[key] for key in KEYS))
        except (ValueError, KeyError, TypeError):
            document = None
        if document is None or document.name != name:
            raise InputError("has changed since the campaign was loaded: restart the studio", str(self.path))
        return document

    def __contains__(self, name: object) -> bool:
        return name in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in the order of the file."""
        return iter(self._numbers)


def read_documents(path: Path, most_bytes: int, problems: Problems) -> Documents | None:
    """Index a file of documents and note its problems; None if it cannot be read."""
    try:
        with open(path, "rb") as file:
            numbers, starts = _index(file, most_bytes, problems)
        if not numbers and not problems.messages:
            problems.add("there are no documents", FILE)
        return Documents(path, numbers, starts)
    except FileNotFoundError:
        problems.add("there is no such file", FILE)
    except OSError as error:
        problems.add(f"cannot be read: {error.strerror}", FILE)
    return None


def _index(file: Iterable[bytes], most_bytes: int, problems: Problems) -> tuple[dict[str, int], array[int]]:
    """Return the numbers of documents by name, and where each begins and ends; note the problems of lines."""
    numbers: dict[str, int] = {}
    lines: dict[int, int] = {}  # number -> line, if it is not the number + 1
    starts = array("q")
    start = 0
    for line_number, line in enumerate(file, 1):
        begin = start + (len(BOM) if line_number == 1 and line.startswith(BOM) else 0)
        start += len(line)
        name = _name(line[begin - start :], line_number, most_bytes, problems)
        if name is None:
            continue
        if name in numbers:
            first = lines.get(numbers[name], numbers[name] + 1)
            problems.add(f"document {quote(name)} is in line {first} already", FILE, line_number)
            continue
        if line_number != len(numbers) + 1:
            lines[len(numbers)] = line_number
        numbers[name] = len(numbers)
        starts.extend((begin, start))
    return numbers, starts


def document_line(document: Document) -> str:
    """Return a document as a line of the file."""
    return json.dumps(dict(zip(KEYS, document, strict=True)), ensure_ascii=False) + "\n"


def _name(line: bytes, number: int, most_bytes: int, problems: Problems) -> str | None:
    """Return the name of the document in a line, and note the line's problem; None if there is no document."""
    if line.isspace():
        return None
    try:
        record = json.loads(line.decode())
        name, *_ = (record[key] for key in KEYS)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problems.add(_line_problem(error, line), FILE, number)
        return None
    problem = name_problem(name, "document")
    if problem is None and (reason := _document_problem(line, record, most_bytes)) is not None:
        problem = f"document {quote(name)}{reason}"
    if problem:
        problems.add(problem, FILE, number)
    return name if isinstance(name, str) else None


def _line_problem(error: Exception, line: bytes) -> str:
    """Return why a line is not a document."""
    if isinstance(error, KeyError):
        return f"there is no {quote(error.args[0])}: a line is {{{', '.join(KEYS)}}}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{line[error.start]:02x} is not UTF-8 text"
    if isinstance(error, TypeError):
        return "is JSON, but not an object in braces"
    return f"is not JSON: {getattr(error, 'msg', 'nested too deeply')}"


def _document_problem(line: bytes, record: dict[str, Any], most_bytes: int) -> str | None:
    """Return the problem of a document whose name is right, as it follows the name; None if there is none."""
    title, kind, content = record["title"], record["kind"], record["content"]
    if len(record) > len(KEYS):
        return f" has {quoted(record.keys() - set(KEYS))}, expected only {', '.join(KEYS)}"
    if not isinstance(title, str) or not isinstance(content, str):
        return ": title and content must be texts"
    if kind not in KINDS:
        return f" is of kind {quote(kind)}, expected one of {quoted(KINDS)}"
    if not content or content.isspace():
        return " is empty"
    if (b"\\ud" in line or b"\\uD" in line) and not _is_encodable(title + content):
        return " contains half a character (a lone surrogate)"
    return _size_problem(line, content, most_bytes)


def _size_problem(line: bytes, content: str, most_bytes: int) -> str | None:
    """Return the problem of a content that is too large; None if it is not."""
    if len(line) <= most_bytes or (size := len(content.encode())) <= most_bytes:
        return None
    return f" has {size:,} bytes, expected at most {most_bytes:,} (documents.most_bytes)"


def _is_encodable(text: str) -> bool:
    """Return whether a text can be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

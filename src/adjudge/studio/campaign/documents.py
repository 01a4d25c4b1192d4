"""The documents of a campaign: indexed once, read one at a time, so that any number of them needs little memory."""

from __future__ import annotations

import json
import os
import weakref
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adjudge.errors import InputError, Problems, quote, quoted
from adjudge.studio.campaign.topics import name_problem
from adjudge.studio.records import KINDS, Document

FILE = "documents.jsonl"
KEYS = ("document", "title", "kind", "content")  # as the file calls them
BOM = b"\xef\xbb\xbf"


class Documents:
    """Where each document begins in a file of JSON lines. Threads may read at the same time."""

    def __init__(self, path: Path, places: dict[str, int], starts: array[int]) -> None:
        self.path = path
        self._places, self._starts = places, starts  # name -> n; bytes before line n, of which the last is the end
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        weakref.finalize(self, os.close, self._file)

    def document(self, name: str) -> Document:
        """Return a document, read from the file now."""
        n = self._places[name]
        start, end = self._starts[2 * n], self._starts[2 * n + 1]
        try:
            record = json.loads(os.pread(self._file, end - start, start))
            found = Document(*(record[key] for key in KEYS))
        except (ValueError, KeyError, TypeError):
            found = None
        if found is None or found.name != name:
            raise InputError("has changed since the campaign was loaded: start the studio anew", str(self.path))
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        """Go through the names, in the order of the file."""
        return iter(self._places)


def read_documents(path: Path, most_bytes: int, problems: Problems) -> Documents | None:
    """Index a file of documents and note what is wrong with it; None where it cannot be read."""
    places: dict[str, int] = {}
    lines: dict[int, int] = {}  # n -> line, only where they are not n + 1
    starts = array("q")
    start = 0
    try:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                begin = start + (len(BOM) if number == 1 and line.startswith(BOM) else 0)
                start += len(line)
                name = _name(line[begin - start :], number, most_bytes, problems)
                if name is None:
                    continue
                if name in places:
                    first = lines.get(places[name], places[name] + 1)
                    problems.add(f"document {quote(name)} is in line {first} already", FILE, number)
                    continue
                if number != len(places) + 1:
                    lines[len(places)] = number
                places[name] = len(places)
                starts.extend((begin, start))
        if not places and not problems.messages:
            problems.add("there are no documents", FILE)
        return Documents(path, places, starts)
    except FileNotFoundError:
        problems.add("there is no such file", FILE)
    except OSError as error:
        problems.add(f"cannot be read: {error.strerror}", FILE)
    return None


def document_line(document: Document) -> str:
    """Return a document as a line of the file."""
    return json.dumps(dict(zip(KEYS, document, strict=True)), ensure_ascii=False) + "\n"


def _name(line: bytes, number: int, most_bytes: int, problems: Problems) -> str | None:
    """Return the name of the document in a line after checking all of it; None where the line holds none."""
    if line.isspace():
        return None
    try:
        record = json.loads(line.decode())
        name, *_ = (record[key] for key in KEYS)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problems.add(_unreadable(error, line), FILE, number)
        return None
    what = name_problem(name, "document")
    if what is None and (reason := _wrong(line, record, most_bytes)) is not None:
        what = f"document {quote(name)}{reason}"
    if what:
        problems.add(what, FILE, number)
    return name if isinstance(name, str) else None


def _unreadable(error: Exception, line: bytes) -> str:
    """Return why a line holds no document."""
    if isinstance(error, KeyError):
        return f"there is no {quote(error.args[0])}: a line is {{{', '.join(KEYS)}}}"
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{line[error.start]:02x} is not UTF-8 text"
    if isinstance(error, TypeError):
        return "is JSON, but no object in braces"
    return f"is not JSON: {getattr(error, 'msg', 'nested too deeply')}"


def _wrong(line: bytes, record: dict[str, Any], most_bytes: int) -> str | None:
    """Return what is wrong with a document whose name is right, to be read after the name; None where nothing is."""
    title, kind, content = record["title"], record["kind"], record["content"]
    if len(record) > len(KEYS):
        return f" has {quoted(record.keys() - set(KEYS))}, expected only {', '.join(KEYS)}"
    if not isinstance(title, str) or not isinstance(content, str):
        return ": title and content must be texts"
    if kind not in KINDS:
        return f" is of kind {quote(kind)}, expected one of {quoted(KINDS)}"
    if not content or content.isspace():
        return " is empty"
    if (b"\\ud" in line or b"\\uD" in line) and not _is_whole(title + content):
        return " holds half a character (a lone surrogate)"
    if len(line) > most_bytes and len(content.encode()) > most_bytes:
        return f" has {len(content.encode()):,} bytes, expected at most {most_bytes:,} (documents.most_bytes)"
    return None


def _is_whole(text: str) -> bool:
    """Whether a text can be written at all."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

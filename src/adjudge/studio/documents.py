"""The documents of a campaign: read from texts, web pages, PDF, JSON lines, tables and TREC files into documents.jsonl.

documents.jsonl is indexed once and read one document at a time, so that any number of them needs little memory. Links
that lead out of a folder of documents are refused.
"""

from __future__ import annotations

import html
import io
import json
import logging
import os
import re
import stat
import time
import weakref
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adjudge import __version__
from adjudge.data import columns
from adjudge.data.files import LARGEST, MARKS, checked_bytes, checked_content, decode_document, open_decompressed
from adjudge.data.files import SUFFIXES as COMPRESSED
from adjudge.data.formats import named_value, parse_json_object, read_rows
from adjudge.data.write import write_file
from adjudge.errors import InputError, MissingExtra, Problems, quote, quoted
from adjudge.studio.campaign_files import name_problem, replace_surrogates
from adjudge.studio.records import KINDS, Document

DOCUMENTS_FILE = "documents.jsonl"
INDEX_FILE = "documents.index"
SETTLED = 2.0  # seconds after which a file that has not changed is taken to be complete
KEYS = ("document", "title", "kind", "content")  # as the file calls them
BOM = b"\xef\xbb\xbf"
COLUMNS = {
    "document": (*columns.DOCUMENT, "_id", "name"),
    "html": ("html",),
    "text": ("text", "contents", "content", "body"),
    "kind": ("kind",),
    "title": ("title",),
}
TITLE_LONGEST = 200  # characters
UTF16 = tuple(mark for mark, encoding in MARKS.items() if encoding != "utf-8")
PDF_MOST = 100_000_000  # bytes of a PDF file, whose text is far shorter
IS_PAGE = re.compile(r"\s*(<!doctype html|<html\b)", re.IGNORECASE)
TITLE = re.compile(r"<title\b[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
DOC = re.compile(r"<DOC>(.*?)</DOC>", re.IGNORECASE | re.DOTALL)
DOCNO = re.compile(r"<DOCNO>\s*(.*?)\s*</DOCNO>", re.IGNORECASE | re.DOTALL)
DOCHDR = re.compile(r"<DOCHDR>.*?</DOCHDR>", re.IGNORECASE | re.DOTALL)
HEADLINE = re.compile(r"<(HEADLINE|HL|HEAD|TITLE|TI)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
TEXT = re.compile(r"<TEXT>(.*?)</TEXT>", re.IGNORECASE | re.DOTALL)
PAGE = re.compile(r"<html\b", re.IGNORECASE)


SUFFIXES = {
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "table",
    ".tsv": "table",
    ".parquet": "table",
    ".trec": "trec",
    ".sgml": "trec",
}
PEEK = 2_000  # bytes in which TREC files are recognised


class Documents:
    """An index of documents.jsonl: where each document is in the file. Threads may read at the same time."""

    def __init__(self, path: Path, numbers: dict[str, int], starts: array[int]) -> None:
        self.path = path
        self._numbers, self.starts = numbers, starts  # name -> n, whose bytes are starts[2n] to starts[2n + 1]
        self._file = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        weakref.finalize(self, os.close, self._file)

    def document(self, name: str) -> Document:
        """Return a document, read from the file now."""
        n = self._numbers[name]
        start, end = self.starts[2 * n], self.starts[2 * n + 1]
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


# A large file takes seconds to check, so the index of one without problems is kept beside it.


def _mark(path: Path, most_bytes: int) -> list[Any]:
    """Return a text that changes with the file, or with how it is checked."""
    status = path.stat()
    return [__version__, most_bytes, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _kept_index(path: Path, most_bytes: int) -> Documents | None:
    """Return the documents of a file that has not changed since its index was kept; None if it has."""
    try:
        index = json.loads((path.parent / INDEX_FILE).read_text("utf-8"))
        if index["mark"] != _mark(path, most_bytes):
            return None
        numbers = {name: number for number, name in enumerate(index["names"])}
        return (
            Documents(path, numbers, array("q", index["starts"])) if 2 * len(numbers) == len(index["starts"]) else None
        )
    except (OSError, ValueError, LookupError, TypeError):
        return None


def keep_index(documents: Documents, most_bytes: int) -> None:
    """Keep the index of a file without problems for the next start; if that fails, it is made again then."""
    path = documents.path
    try:
        mark = _mark(path, most_bytes)
        if time.time() - path.stat().st_ctime < SETTLED or _kept_index(path, most_bytes) is not None:
            return  # a file that just changed could change again in the same tick of the clock
        content = {"mark": mark, "names": list(documents), "starts": documents.starts.tolist()}
        write_file(json.dumps(content).encode(), path.parent / INDEX_FILE)
    except (OSError, InputError):
        pass


def read_documents(path: Path, most_bytes: int, problems: Problems) -> Documents | None:
    """Index a file of documents and note its problems; None if it cannot be read."""
    if (documents := _kept_index(path, most_bytes)) is not None:
        return documents
    try:
        with open(path, "rb") as file:
            numbers, starts = _index(file, most_bytes, problems)
        if not numbers and not problems.messages:
            problems.add("there are no documents", DOCUMENTS_FILE)
        return Documents(path, numbers, starts)
    except FileNotFoundError:
        problems.add("there is no such file", DOCUMENTS_FILE)
    except OSError as error:
        problems.add(f"cannot be read: {error.strerror}", DOCUMENTS_FILE)
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
        name = _line_name(line[begin - start :], line_number, most_bytes, problems)
        if name is None:
            continue
        if name in numbers:
            first = lines.get(numbers[name], numbers[name] + 1)
            problems.add(f"document {quote(name)} is in line {first} already", DOCUMENTS_FILE, line_number)
            continue
        if line_number != len(numbers) + 1:
            lines[len(numbers)] = line_number
        numbers[name] = len(numbers)
        starts.extend((begin, start))
    return numbers, starts


def document_line(document: Document) -> str:
    """Return a document as a line of the file."""
    return json.dumps(dict(zip(KEYS, document, strict=True)), ensure_ascii=False) + "\n"


def _line_name(line: bytes, number: int, most_bytes: int, problems: Problems) -> str | None:
    """Return the name of the document in a line, and note the line's problem; None if there is no document."""
    if line.isspace():
        return None
    try:
        record = json.loads(line.decode())
        name, *_ = (record[key] for key in KEYS)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        problems.add(_line_problem(error, line), DOCUMENTS_FILE, number)
        return None
    problem = name_problem(name, "document")
    if problem is None and (reason := _document_problem(line, record, most_bytes)) is not None:
        problem = f"document {quote(name)}{reason}"
    if problem:
        problems.add(problem, DOCUMENTS_FILE, number)
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


# Documents in other formats


class SourceDocument(NamedTuple):
    """A document and its source."""

    document: Document
    file: str
    line: int | None = None


def file_documents(path: Path, kind: str, most_bytes: int, problems: Problems) -> Iterator[SourceDocument]:
    """Yield the documents of a file: one of a text, page or PDF, any number of JSON lines, tables and TREC files."""
    if kind == "jsonl" and not _beginning(path).startswith(UTF16):
        yield from _json_documents(path, problems)
        return
    if kind in ("jsonl", "table"):
        yield from _table_documents(path, problems)
        return
    limit = PDF_MOST if kind == "pdf" else most_bytes if kind in ("text", "html") else LARGEST
    content = checked_bytes(path, problems, limit)
    if content is None:
        return
    if kind == "trec":
        yield from _trec_documents(decode_document(content), str(path), problems)
        return
    document = _single_document(_stem(path), kind, content, str(path), problems)
    if document is not None:
        yield SourceDocument(document, str(path))


def _single_document(name: str, kind: str, content: bytes, file: str, problems: Problems) -> Document | None:
    """Return the document of a text, page or PDF; None if there is none, which is noted."""
    if kind == "pdf":
        extracted = _pdf_text(content, file, problems)
        if extracted is None:
            return None
        title, text = extracted
        return Document(name, title or _first_line(text, name), "text", text)
    text = decode_document(content)
    return Document(name, _title(name, kind, text), kind, text)


def _table_documents(path: Path, problems: Problems) -> Iterator[SourceDocument]:
    """Yield the documents of a table in memory: CSV, TSV, Parquet or JSON lines, one document per row."""
    content = checked_content(path, problems)
    if content is not None:
        for line, values in read_rows(content, problems, COLUMNS, ("document",)):
            record = {role: None if value == "" else value for role, value in values.items()}
            yield from _record_document(record, str(path), line, problems)


def _json_documents(path: Path, problems: Problems) -> Iterator[SourceDocument]:
    """Yield the documents of a file of JSON lines, one line at a time."""
    for number, line in enumerate(_byte_lines(path, problems), 1):
        if not line.strip():
            continue
        record = parse_json_object(decode_document(line))
        if isinstance(record, str):
            problems.add(record, str(path), number)
        else:
            values = {role: named_value(record, aliases) for role, aliases in COLUMNS.items()}
            yield from _record_document(values, str(path), number, problems)


def _byte_lines(path: Path, problems: Problems) -> Iterator[bytes]:
    """Yield the lines of a file, compressed or not."""
    try:
        with open_decompressed(path) as file:
            yield from file
    except InputError as error:
        problems.add(error.problem, str(path))
    except OSError as error:
        problems.add(f"cannot be read: {error.strerror}", str(path))


def _record_document(values: dict[str, Any], file: str, line: int, problems: Problems) -> Iterator[SourceDocument]:
    """Yield the document in a row or a JSON object, or note its problem."""
    document = _document(values)
    if isinstance(document, str):
        problems.add(document, file, line)
    else:
        yield SourceDocument(document, file, line)


def _document(values: dict[str, Any]) -> Document | str:
    """Return the document in named values, or their problem."""
    name, page = values.get("document"), values.get("html")
    if name is None:
        return f"there is no name: give it under {quote('document')}"
    body = page if page is not None else values.get("text")
    if not isinstance(name, str | int) or not isinstance(body, str):
        missing = "is missing" if body is None else "is not a text"
        return f"document {quote(name)}: its content, under {quote('content')}, {missing}"
    kind, title = values.get("kind"), values.get("title")
    if kind not in KINDS:
        kind = "html" if page is not None or IS_PAGE.match(body) else "text"
    if not isinstance(title, str):
        title = _title(str(name), kind, body)
    return Document(replace_surrogates(str(name)), replace_surrogates(title), kind, replace_surrogates(body))


def _title(name: str, kind: str, text: str) -> str:
    """Return the title of a document that does not give one."""
    return _page_title(text, name) if kind == "html" else _first_line(text, name)


def _trec_documents(text: str, file: str, problems: Problems) -> Iterator[SourceDocument]:
    """Yield the documents of a TREC file."""
    line, before = 1, 0
    for doc in DOC.finditer(text):
        line, before = line + text.count("\n", before, doc.start()), doc.start()
        number = DOCNO.search(doc[1])
        if number is None:
            problems.add("a <DOC> has no <DOCNO>", file, line)
            continue
        yield SourceDocument(_trec_document(number[1], doc[1][number.end() :]), file, line)
    if not before and not DOC.search(text):
        problems.add("there is no <DOC> ... </DOC> in it", file)


def _trec_document(name: str, markup: str) -> Document:
    """Return the document between TREC tags: a web page, or a text with or without a headline."""
    body = DOCHDR.sub("", markup)
    page = PAGE.search(body)
    if page:
        content = body[page.start() :].strip()
        return Document(name, _page_title(content, name), "html", content)
    headline, texts = HEADLINE.search(body), TEXT.findall(body)
    plain = _strip_tags("\n\n".join(texts) if texts else body)
    title = " ".join(_strip_tags(headline[2]).split()) if headline else _first_line(plain, name)
    return Document(name, title[:TITLE_LONGEST], "text", plain)


def _strip_tags(markup: str) -> str:
    """Return a text without tags; the tag of a paragraph becomes an empty line."""
    paragraphs = re.sub(r"<P>", "\n\n", markup, flags=re.IGNORECASE)
    return html.unescape(re.sub(r"</?[A-Za-z][^<>]*>", "", paragraphs)).strip()


def _pdf_text(content: bytes, file: str, problems: Problems) -> tuple[str, str] | None:
    """Return title and text of a PDF; None if no text can be extracted, which is noted."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtra("'adjudge[studio]'", "reading PDF") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # its problems are noted below
    try:
        reader = PdfReader(io.BytesIO(content))
        if reader.is_encrypted:
            problems.add("is an encrypted PDF: save it without a password", file)
            return None
        plain = "\n\n".join(page.extract_text() for page in reader.pages).strip()
        title = reader.metadata.title if reader.metadata else None
    except Exception as error:  # a broken or hostile PDF may raise anything; it is one bad file, not a bad program
        problems.add(f"is not a readable PDF: {type(error).__name__}", file)
        return None
    if not plain:
        problems.add("contains no text, perhaps only pictures of pages: run text recognition on it first", file)
        return None
    return " ".join(replace_surrogates(title or "").split())[:TITLE_LONGEST], replace_surrogates(plain)


def _page_title(page: str, name: str) -> str:
    """Return the title of a web page, or its name if it has none."""
    title = TITLE.search(page)
    return (" ".join(html.unescape(title[1]).split()) if title else "")[:TITLE_LONGEST] or name


def _first_line(plain: str, name: str) -> str:
    """Return the first line of a text that is not empty, or its name if there is none."""
    first = next((line for line in plain.splitlines() if line.strip()), "")
    return " ".join(first.lstrip("#").split())[:TITLE_LONGEST] or name


def _stem(path: Path) -> str:
    """Return the name of a file without its suffixes."""
    name = path.stem if path.suffix.lower() in COMPRESSED else path.name
    return Path(name).stem.strip()


def read_sources(path: Path, most_bytes: int, problems: Problems, notes: list[str]) -> Iterator[SourceDocument]:
    """Yield the documents of a file or a folder, in the order of names; files that are left out go to ``notes``."""
    if path.is_dir():
        others: Counter[str] = Counter()
        for file in _files(path, problems):
            kind = kind_of(file)
            if kind in (None, "table"):  # a table among documents is more often about them
                others[file.suffix or "without a suffix"] += 1
            else:
                yield from file_documents(file, str(kind), most_bytes, problems)
        if others:
            kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in others.most_common(5))
            notes.append(f"{path}: {others.total():,} files cannot be read as documents and are left out ({kinds})")
    elif not path.exists():
        problems.add("there is no such file or folder", str(path))
    elif not path.is_file():
        problems.add("is neither a file nor a folder", str(path))
    else:
        kind = kind_of(path)
        if kind is None:
            problems.add(
                "cannot be read: give .txt, .md, .html, .pdf, .jsonl, .csv, .tsv, .parquet or TREC documents",
                str(path),
            )
        else:
            yield from file_documents(path, kind, most_bytes, problems)


def kind_of(path: Path) -> str | None:
    """Return the kind of a file, by its beginning or its name; None if neither shows it."""
    start = _beginning(path).lstrip()
    if b"<doc>" in start.lower() and not start.startswith(b"{"):  # a JSON object may contain the tag
        return "trec"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSED]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file, decompressed; nothing if it cannot be read, which is noted later."""
    try:
        with open_decompressed(path) as file:
            return file.read(PEEK)
    except (OSError, InputError):
        return b""


def _files(folder: Path, problems: Problems) -> Iterator[Path]:
    """Yield the files below a folder by name, without hidden ones."""
    root = folder.resolve()
    for parent, folders, files in os.walk(folder):
        for name in [*folders]:
            if (Path(parent) / name).is_symlink():
                folders.remove(name)  # a folder inside is visited under its own name
                _is_inside(Path(parent) / name, root, problems)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(parent) / name
            if not name.startswith(".") and _is_inside(file, root, problems) and _is_regular(file, problems):
                yield file


def _is_inside(path: Path, root: Path, problems: Problems) -> bool:
    """Return whether a path, with links resolved, is in the folder; if not, note it."""
    try:
        inside = path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # circular links
        inside = False
    if not inside:
        problems.add("is a link that leaves the folder of documents: copy its target", str(path))
    return inside


def _is_regular(path: Path, problems: Problems) -> bool:
    """Return whether a path is a regular file; note pipes and devices."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        regular = False
    if not regular:
        problems.add("is not a regular file", str(path))
    return regular

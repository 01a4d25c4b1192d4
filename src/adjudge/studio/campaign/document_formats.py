"""Documents out of texts, web pages, PDF, JSON lines and TREC's files."""

from __future__ import annotations

import html
import io
import logging
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.data import columns
from adjudge.data.files import LARGEST, MARKS, checked_bytes, checked_content, decode_document, open_decompressed
from adjudge.data.files import SUFFIXES as COMPRESSED
from adjudge.data.formats import named_value, parse_json_object, read_rows
from adjudge.errors import InputError, MissingExtra, Problems, quote
from adjudge.studio.campaign.topics import replace_surrogates
from adjudge.studio.records import KINDS, Document

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


class Found(NamedTuple):
    """A document and where it was found."""

    document: Document
    file: str
    line: int | None = None


def file_documents(path: Path, kind: str, most_bytes: int, problems: Problems) -> Iterator[Found]:
    """Go through the documents of a file: one of a text, a page or a PDF, any number of JSON lines or TREC's files."""
    if kind == "jsonl" and not _beginning(path).startswith(UTF16):
        yield from _json_documents(path, problems)
        return
    if kind in ("jsonl", "table"):
        yield from _table_documents(path, problems)
        return
    limit = PDF_MOST if kind == "pdf" else most_bytes if kind in ("text", "html") else LARGEST
    found = checked_bytes(path, problems, limit)
    if found is None:
        return
    name = _stem(path)
    if kind == "trec":
        yield from _trec_documents(decode_document(found), str(path), problems)
    elif kind == "pdf":
        extracted = _pdf_text(found, str(path), problems)
        if extracted is not None:
            yield Found(
                Document(name, extracted[0] or _first_line(extracted[1], name), "text", extracted[1]), str(path)
            )
    elif kind == "html":
        page = decode_document(found)
        yield Found(Document(name, _page_title(page, name), "html", page), str(path))
    else:
        plain = decode_document(found)
        yield Found(Document(name, _first_line(plain, name), "text", plain), str(path))


def _table_documents(path: Path, problems: Problems) -> Iterator[Found]:
    """Go through the documents of a table in memory: CSV, TSV, Parquet or JSON lines, one document per row."""
    content = checked_content(path, problems)
    if content is not None:
        for line, values in read_rows(content, problems, COLUMNS, ("document",)):
            given = {role: None if value == "" else value for role, value in values.items()}
            yield from _record_document(given, str(path), line, problems)


def _json_documents(path: Path, problems: Problems) -> Iterator[Found]:
    """Go through the documents of a file of JSON lines, one line at a time."""
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
    """Go through the lines of a file, compressed or not."""
    try:
        with open_decompressed(path) as file:
            yield from file
    except InputError as error:
        problems.add(error.problem, str(path))
    except OSError as error:
        problems.add(f"cannot be read: {error.strerror}", str(path))


def _record_document(values: dict[str, Any], file: str, line: int, problems: Problems) -> Iterator[Found]:
    """Yield the document that a row or a JSON object holds, or add the problem of one that holds none."""
    document = _document(values)
    if isinstance(document, str):
        problems.add(document, file, line)
    else:
        yield Found(document, file, line)


def _document(values: dict[str, Any]) -> Document | str:
    """Return the document that named values hold, or the problem."""
    name, page, kind, title = (values.get(role) for role in ("document", "html", "kind", "title"))
    if name is None:
        return f"there is no name: give it under {quote('document')}"
    body = page if page is not None else values.get("text")
    if not isinstance(name, str | int) or not isinstance(body, str):
        missing = "is missing" if body is None else "is no text"
        return f"document {quote(name)}: its content, under {quote('content')}, {missing}"
    if kind not in KINDS:
        kind = "html" if page is not None or IS_PAGE.match(body) else "text"
    if not isinstance(title, str):
        title = _page_title(body, str(name)) if kind == "html" else _first_line(body, str(name))
    return Document(replace_surrogates(str(name)), replace_surrogates(title), kind, replace_surrogates(body))


def _trec_documents(given: str, file: str, problems: Problems) -> Iterator[Found]:
    """Go through the documents of one of TREC's files."""
    line, before = 1, 0
    for doc in DOC.finditer(given):
        line, before = line + given.count("\n", before, doc.start()), doc.start()
        number = DOCNO.search(doc[1])
        if number is None:
            problems.add("a <DOC> has no <DOCNO>", file, line)
            continue
        yield Found(_trec_document(number[1], doc[1][number.end() :]), file, line)
    if not before and not DOC.search(given):
        problems.add("there is no <DOC> ... </DOC> in it", file)


def _trec_document(name: str, given: str) -> Document:
    """Return the document between TREC's tags: a web page, or a text with or without a headline."""
    body = DOCHDR.sub("", given)
    page = PAGE.search(body)
    if page:
        found = body[page.start() :].strip()
        return Document(name, _page_title(found, name), "html", found)
    headline, texts = HEADLINE.search(body), TEXT.findall(body)
    plain = _untagged("\n\n".join(texts) if texts else body)
    title = " ".join(_untagged(headline[2]).split()) if headline else _first_line(plain, name)
    return Document(name, title[:TITLE_LONGEST], "text", plain)


def _untagged(given: str) -> str:
    """Return a text without tags, where a paragraph's tag is an empty line."""
    paragraphs = re.sub(r"<P>", "\n\n", given, flags=re.IGNORECASE)
    return html.unescape(re.sub(r"</?[A-Za-z][^<>]*>", "", paragraphs)).strip()


def _pdf_text(found: bytes, file: str, problems: Problems) -> tuple[str, str] | None:
    """Return title and text of a PDF; None, with the problem noted, where there is no text to take out."""
    try:
        from pypdf import PdfReader
    except ImportError as error:
        raise MissingExtra("'adjudge[studio]'", "reading PDF") from error
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what matters is said below
    try:
        reader = PdfReader(io.BytesIO(found))
        if reader.is_encrypted:
            problems.add("is an encrypted PDF: save it without a password", file)
            return None
        plain = "\n\n".join(page.extract_text() for page in reader.pages).strip()
        title = reader.metadata.title if reader.metadata else None
    except Exception as error:  # a broken or hostile PDF may raise anything; it is one bad file, not a bad program
        problems.add(f"is not a PDF that can be read: {type(error).__name__}", file)
        return None
    if not plain:
        problems.add("holds no text, perhaps only pictures of pages: run text recognition on it first", file)
        return None
    return " ".join(replace_surrogates(title or "").split())[:TITLE_LONGEST], replace_surrogates(plain)


def _page_title(page: str, otherwise: str) -> str:
    """Return the title of a web page, or else its name."""
    found = TITLE.search(page)
    return (" ".join(html.unescape(found[1]).split()) if found else "")[:TITLE_LONGEST] or otherwise


def _first_line(plain: str, otherwise: str) -> str:
    """Return the first line of a text that holds anything, or else its name."""
    first = next((line for line in plain.splitlines() if line.strip()), "")
    return " ".join(first.lstrip("#").split())[:TITLE_LONGEST] or otherwise


def _stem(path: Path) -> str:
    """Return what a file is called, without the endings that say what it is."""
    name = path.stem if path.suffix.lower() in COMPRESSED else path.name
    return Path(name).stem.strip()


# Documents out of a file or a folder of files; what a link reaches outside of the folder is refused.

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
PEEK = 2_000  # bytes in which TREC's files show what they are


def read_sources(path: Path, most_bytes: int, problems: Problems, notes: list[str]) -> Iterator[Found]:
    """Go through the documents of a file or a folder, in the order of names; what is passed over goes to ``notes``."""
    if path.is_dir():
        others: Counter[str] = Counter()
        for file in _files(path, problems):
            kind = kind_of(file)
            if kind in (None, "table"):  # a table among documents is more often about them
                others[file.suffix or "without an ending"] += 1
            else:
                yield from file_documents(file, str(kind), most_bytes, problems)
        if others:
            kinds = ", ".join(f"{count:,} {suffix}" for suffix, count in others.most_common(5))
            notes.append(f"{path}: {others.total():,} files are of no kind that can be read, and left out ({kinds})")
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
    """Return what a file holds, as its beginning or its name tells; None where neither does."""
    if b"<doc>" in _beginning(path).lower():
        return "trec"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in COMPRESSED]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; nothing where it cannot be read, which is said later."""
    try:
        with open_decompressed(path) as file:
            return file.read(PEEK)
    except (OSError, InputError):
        return b""


def _files(folder: Path, problems: Problems) -> Iterator[Path]:
    """Go through the files below a folder by name; hidden ones are passed over."""
    root = folder.resolve()
    for place, folders, files in os.walk(folder):
        for name in [*folders]:
            if (Path(place) / name).is_symlink():
                folders.remove(name)  # what lies inside is walked through under its own name
                _is_inside(Path(place) / name, root, problems)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(place) / name
            if not name.startswith(".") and _is_inside(file, root, problems) and _is_regular(file, problems):
                yield file


def _is_inside(path: Path, root: Path, problems: Problems) -> bool:
    """Whether a path, links followed, stays in the folder; if not, that is a problem."""
    try:
        inside = path.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # links in a circle
        inside = False
    if not inside:
        problems.add("is a link that leaves the folder of documents: copy what it points at", str(path))
    return inside


def _is_regular(path: Path, problems: Problems) -> bool:
    """Whether a path is an ordinary file; pipes and devices are a problem."""
    try:
        regular = stat.S_ISREG(path.stat().st_mode)
    except OSError:
        regular = False
    if not regular:
        problems.add("is no ordinary file", str(path))
    return regular

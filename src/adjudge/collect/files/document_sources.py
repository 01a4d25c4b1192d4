"""Documents out of a file or a folder of files; what a link reaches outside of the folder is refused."""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from adjudge.collect.files.document_formats import Found, file_documents
from adjudge.collect.files.lines import GZIP
from adjudge.collect.files.problems import Problems

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
            if kind is None:
                others[file.suffix or "without an ending"] += 1
            else:
                yield from file_documents(file, kind, most_bytes, problems)
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
            problems.add("is of no kind that can be read: .txt, .md, .html, .pdf, .jsonl or TREC documents", str(path))
        else:
            yield from file_documents(path, kind, most_bytes, problems)


def kind_of(path: Path) -> str | None:
    """Return what a file holds, as its beginning or its name tells; None where neither does."""
    if b"<doc>" in _beginning(path).lower():
        return "trec"
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def _beginning(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked; nothing where it cannot be read, which is said later."""
    try:
        with open(path, "rb") as file:
            start = file.read(PEEK)
        if not start.startswith(GZIP):
            return start
        with gzip.open(path) as packed:
            return packed.read(PEEK)
    except (OSError, EOFError, zlib.error):
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

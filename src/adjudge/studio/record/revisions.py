"""Revisions: the files of a campaign as they were, in rows; the history that the desk and the command line show."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Table, func, select

from adjudge.data.files import decode_content
from adjudge.errors import InputError
from adjudge.studio.documents import DOCUMENTS_FILE
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.schema import people, revisions
from adjudge.studio.record.store import Change, Row
from adjudge.studio.staging import sha256_of

PAGE = 50  # changes on one page of the history


class FileState(NamedTuple):
    """The content of a file at a time."""

    file: str
    sha256: str
    packed: bytes | None  # None for documents, which are only added and may be large


class Revision(NamedTuple):
    """A file of the campaign after a change."""

    id: int
    at: float
    by: str  # empty for the studio
    change: int
    source: str
    file: str
    sha256: str
    note: str


class CampaignChange(NamedTuple):
    """The revisions that were made together."""

    id: int
    at: float
    by: str
    source: str
    note: str
    revisions: tuple[Revision, ...]


def changed_states(folder: Path, recorded: Mapping[str, str], files: Iterable[str]) -> list[FileState]:
    """Return the files of a folder that differ from their last revision (file -> SHA-256)."""
    states = []
    for name in files:
        path = folder / name
        sha256 = sha256_of(path)
        if sha256 != recorded.get(name):
            states.append(FileState(name, sha256, None if name == DOCUMENTS_FILE else zlib.compress(path.read_bytes())))
    return states


def revision_rows(
    ledger: Ledger, now: float, by: int | None, source: str, states: Sequence[FileState], note: str
) -> list[tuple[Table, Row]]:
    """Return the rows of files that have changed together."""
    first = ledger.next_id(revisions)
    common = {"at": now, "by": by, "change": first, "source": source, "note": note}
    return [(revisions, {"id": number, **common, **state._asdict()}) for number, state in enumerate(states, first)]


def list_revisions(connection: Connection, before: int | None = None, most: int | None = None) -> list[Revision]:
    """Return revisions, newest first, without their content; ``before`` is the id of a revision."""
    columns = revisions.c
    query = (
        select(columns.id, columns.at, func.coalesce(people.c.name, ""), columns.change, columns.source)
        .add_columns(columns.file, columns.sha256, columns.note)
        .select_from(revisions.outerjoin(people, people.c.id == columns.by))
        .order_by(columns.id.desc())
        .limit(most)
    )
    if before is not None:
        query = query.where(columns.id < before)
    return [Revision(*row) for row in connection.execute(query)]


def list_changes(connection: Connection, before: int | None = None, most: int = PAGE) -> list[CampaignChange]:
    """Return the changes of the campaign's files, newest first; ``before`` is the id of a change."""
    first = select(revisions.c.change).distinct().order_by(revisions.c.change.desc()).limit(most)
    if before is not None:
        first = first.where(revisions.c.change < before)
    numbers = set(connection.scalars(first))
    if not numbers:
        return []
    rows = [row for row in list_revisions(connection, before) if row.change in numbers]
    return list(_grouped(rows))


def _grouped(rows: Sequence[Revision]) -> Iterator[CampaignChange]:
    """Yield the changes that revisions belong to, in their order."""
    for change in dict.fromkeys(row.change for row in rows):
        parts = tuple(sorted((row for row in rows if row.change == change), key=lambda row: row.id))
        yield CampaignChange(change, parts[0].at, parts[0].by, parts[0].source, parts[0].note, parts)


def last_revisions(connection: Connection) -> dict[str, int]:
    """Return the last revision of every file whose content is kept."""
    columns = revisions.c
    query = select(columns.file, func.max(columns.id)).where(columns.packed.is_not(None)).group_by(columns.file)
    return {file: number for file, number in connection.execute(query)}  # noqa: C416 - a result is no mapping


def read_revision(connection: Connection, number: int) -> tuple[Revision, bytes | None] | None:
    """Return a revision with the content of its file; None if there is no such revision."""
    rows = list_revisions(connection, number + 1, 1)
    if not rows or rows[0].id != number:
        return None
    packed = connection.scalar(select(revisions.c.packed).where(revisions.c.id == number))
    return rows[0], None if packed is None else zlib.decompress(packed)


def content_of(connection: Connection, file: str, sha256: str) -> bytes | None:
    """Return the content of a file with this hash; None if it is not recorded."""
    columns = revisions.c
    query = select(columns.packed).where(columns.file == file, columns.sha256 == sha256, columns.packed.is_not(None))
    packed = connection.scalar(query.limit(1))
    return None if packed is None else zlib.decompress(packed)


def content_before(connection: Connection, revision: Revision) -> bytes | None:
    """Return the content of a revision's file before it; None if it is the first."""
    columns = revisions.c
    earlier = select(columns.packed).where(columns.file == revision.file, columns.id < revision.id)
    packed = connection.scalar(earlier.order_by(columns.id.desc()).limit(1))
    return None if packed is None else zlib.decompress(packed)


def text_of(content: bytes | None) -> str:
    """Return the text of a file; bytes that are no text are replaced."""
    if content is None:
        return ""
    try:
        return decode_content(content, "", empty=True).text
    except InputError:
        return content.decode(errors="replace")


def record_start(ledger: Ledger, now: float, states: Sequence[FileState]) -> Change:
    """Record files as the studio finds them when it starts; the audit log notes those that have changed meanwhile."""
    note = "changed while the studio was stopped" if ledger.files else "as the studio found it"
    detail = {"files": {state.file: state.sha256 for state in states}, "summary": note}
    audit = ("studio", "campaign changed", detail) if states and ledger.files else None
    return Change(revision_rows(ledger, now, None, "start", states, note), len(states), audit)

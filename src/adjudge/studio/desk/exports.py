"""What leaves a campaign: judgments, qrels with and without uncertainty, TREC's files, and everything at once.

Every export is written to an open file a piece at a time, so that a table of any size takes no memory. ``EXPORTS``
holds them by name: it feeds the page, the command line and the tests. Whether relevance is sure comes from the
consensus (see ``found``), so qrels and task 2 need one. Hashes of passwords and tokens never leave.
"""

from __future__ import annotations

import csv
import io
import os
import re
import secrets
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from sqlalchemy import Table, and_, func, select

from adjudge.data.columns import EXPORT, EXPORTED_LABELS
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.studio.desk.consensus_view import ItemFound, items_found
from adjudge.studio.record import schema
from adjudge.studio.record.schema import (
    answers,
    assignments,
    excluded,
    items,
    judgments,
    outcomes,
    people,
    sets,
    slots,
    stands,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sqlalchemy import Connection, Select


# CSV a row at a time: nothing is gathered in memory, and no cell is a formula in the spreadsheet that opens it.

DANGEROUS = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet takes for the beginning of a formula
PIECE = 1 << 16  # characters that are handed on at once


def safe_cell(value: Any) -> Any:
    """Return a value that a spreadsheet shows as it is: texts that begin like a formula get an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(DANGEROUS) else value


def csv_pieces(header: Sequence[str], rows: Iterable[Sequence[Any]], raw: bool = False) -> Iterator[bytes]:
    """Return a CSV file in pieces; ``raw`` leaves cells as they are, for programs. What is not known is empty."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(row if raw else [safe_cell(value) for value in row])
        if buffer.tell() >= PIECE:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


# Files written a piece at a time: whole or not there, or straight to standard output.


def deliver(pieces: Iterable[bytes], out: str | None) -> int:
    """Write pieces to a file, or to standard output where none is named; return how many there were."""
    if out is None:
        written = _written(pieces, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return written
    target = Path(out).resolve()
    aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        if target.exists() and not target.is_file():  # a pipe or a device
            with target.open("wb") as file:
                return _written(pieces, file)
        with aside.open("wb") as file:
            written = _written(pieces, file)
        os.replace(aside, target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", out) from error
    finally:
        aside.unlink(missing_ok=True)
    return written


def _written(pieces: Iterable[bytes], file: IO[bytes]) -> int:
    """Write pieces one after another, and count them."""
    many = 0
    for piece in pieces:
        file.write(piece)
        many += 1
    return many


T = TypeVar("T")
ROWS = 2_000  # rows that are read at once
SECRET = {"hash"}  # columns that never leave
KEPT_BACK = {"passwords"}  # tables that never leave
SETTINGS = "campaign.toml"
FILES = (
    *(SETTINGS, "topics.jsonl", "documents.jsonl", "pool.csv", "gold.csv", "sets.csv"),
    *("consensus/*.json", "consensus/*.npy"),
)
NAMING = {"judges.json"}  # files that name judges
PASSWORD = re.compile(rb"(://[^:/@\s]+:)[^@\s]+@")  # in the address of a database
USABLE, REJECTED, AUTOMATED, TRAINING = "0", "1", "2", "3"  # types of labels in a task 1 run
MODEL = "model:"  # how the `outside` of a judge that is a program begins


@dataclass(frozen=True)
class Wanted:
    """How an export is wanted."""

    folder: Path  # the campaign's
    raw: bool = False  # cells as they are, for programs
    pseudonyms: bool = False  # judge-7 in place of names
    team: str = "adjudge"
    names: Mapping[int, str] = field(default_factory=dict)  # of people, filled in by ``export``
    belief: NDArray[np.float64] | None = field(default=None, compare=False)  # newer than what the folder holds


class Export(NamedTuple):
    """One thing that can be exported."""

    file: str
    kind: str  # its media type
    about: str
    write: Callable[[Connection, Wanted, IO[bytes]], None]
    people: bool = True  # says who judged what, so that only a lead may have it
    believes: bool = False  # holds what the consensus says


def export(connection: Connection, what: str, wanted: Wanted, out: IO[bytes]) -> None:
    """Write an export to an open file."""
    if what not in EXPORTS:
        raise UsageError(f"{quote(what)} cannot be exported, expected one of {quoted(EXPORTS)}")
    named = replace(wanted, names=judge_names(connection, wanted.pseudonyms))
    EXPORTS[what].write(connection, named, out)


def judge_names(connection: Connection, pseudonyms: bool = False) -> dict[int, str]:
    """Return what people are called in an export."""
    found = connection.execute(select(people.c.id, people.c.name))
    return {person: f"judge-{person}" if pseudonyms else name for person, name in found}


def streamed(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    """Return the rows of a query as they come from the database."""
    result = connection.execution_options(stream_results=True, yield_per=ROWS).execute(query)
    yield from result


def in_pieces(rows: Iterable[T], most: int = ROWS) -> Iterator[list[T]]:
    """Return rows in lists of at most so many."""
    left = iter(rows)
    while piece := list(islice(left, most)):
        yield piece


def judgment_rows(connection: Connection, names: Mapping[int, str]) -> Iterator[tuple[Any, ...]]:
    """Return accepted judgments in the order in which they came, without those set aside with an excluded judge."""
    found = (
        select(
            items.c.topic,
            items.c.document,
            judgments.c.person,
            judgments.c.relevance,
            judgments.c.rank,
            judgments.c.seconds,
            judgments.c.comment,
            judgments.c.use,
            judgments.c.at,
            judgments.c.assignment,
        )
        .select_from(judgments.join(items, items.c.id == judgments.c.item))
        .where(stands())
        .order_by(judgments.c.id)
    )
    for topic, document, person, *rest in streamed(connection, found):
        yield (topic, document, names[person], *rest)


def last_answers() -> Select[Any]:
    """Return the query of the last answer of every slot, with its set, assignment and item, in the judge's order."""
    last = select(func.max(answers.c.id).label("id")).group_by(answers.c.set, answers.c.slot).subquery()
    chosen = answers.join(last, last.c.id == answers.c.id)
    placed = chosen.join(slots, and_(slots.c.set == answers.c.set, slots.c.slot == answers.c.slot))
    return (
        select(
            assignments.c.person, assignments.c.id, items.c.topic, items.c.document, answers.c.rank, answers.c.relevance
        )
        .select_from(
            placed.join(sets, sets.c.id == answers.c.set)
            .join(assignments, assignments.c.id == sets.c.assignment)
            .join(items, items.c.id == slots.c.item)
        )
        .where(answers.c.told == 1)
        .order_by(assignments.c.id, sets.c.position, slots.c.slot)
    )


def task1_rows(connection: Connection, wanted: Wanted) -> Iterator[tuple[object, ...]]:
    """Return the eleven fields of all labels: accepted, of returned assignments, and of qualifications.

    What was set aside with an excluded judge is rejected, like what was returned.
    """
    programs = set(connection.execute(select(people.c.id).where(people.c.outside.like(f"{MODEL}%"))).scalars())
    accepted = (
        select(
            judgments.c.person,
            judgments.c.assignment,
            items.c.topic,
            items.c.document,
            judgments.c.rank,
            judgments.c.relevance,
        )
        .select_from(judgments.join(items, items.c.id == judgments.c.item))
        .order_by(judgments.c.id)
    )
    aside = set(connection.execute(excluded()).scalars())
    for row in streamed(connection, accepted):
        yield _task1(wanted, row, REJECTED if row[0] in aside else AUTOMATED if row[0] in programs else USABLE)
    ended = select(outcomes.c.assignment)
    refused = and_(
        assignments.c.kind == "work",
        assignments.c.id.in_(ended.where(outcomes.c.outcome == "returned")),
        assignments.c.id.not_in(ended.where(outcomes.c.outcome == "approved")),
    )
    for row in streamed(connection, last_answers().where(refused)):
        yield _task1(wanted, row, REJECTED)
    for row in streamed(connection, last_answers().where(assignments.c.kind == "qualification")):
        yield _task1(wanted, row, TRAINING)


def _task1(wanted: Wanted, row: Sequence[Any], kind: str) -> tuple[object, ...]:
    """Return one line of a task 1 run; field 3 is the assignment. A name keeps no blanks, which would be fields."""
    person, assignment, topic, document, rank, relevance = row
    judge = "_".join(wanted.names[person].split())
    told = (rank if rank is not None else "na", relevance if relevance is not None else "na")
    return wanted.team, judge, assignment or "na", topic, document, *told, "na", "na", "na", kind


def _write_judgments(connection: Connection, wanted: Wanted, out: IO[bytes]) -> None:
    """Write accepted judgments as CSV."""
    out.writelines(csv_pieces(EXPORT, judgment_rows(connection, wanted.names), wanted.raw))


def _write_qrels(connection: Connection, wanted: Wanted, out: IO[bytes]) -> None:
    """Write the most likely relevance of every judged item in TREC's form."""
    from adjudge.data.trec import qrels_text

    for piece in in_pieces(judged(connection, wanted)):
        out.write(qrels_text(*_names(piece), [one.label for one in piece]).encode())


def _write_uncertain(connection: Connection, wanted: Wanted, out: IO[bytes]) -> None:
    """Write the most likely relevance of every judged item, how sure it is, and on how many judgments it rests."""
    rows = (
        (one.topic, one.document, one.label, f"{one.probability:.6f}", one.judgments, f"{one.entropy:.6f}")
        for one in judged(connection, wanted)
    )
    out.writelines(csv_pieces(EXPORTED_LABELS, rows, wanted.raw))


def _write_task1(connection: Connection, wanted: Wanted, out: IO[bytes]) -> None:
    """Write a TREC task 1 run."""
    from adjudge.data.trec import task1_run_lines

    for piece in in_pieces(task1_rows(connection, wanted)):
        out.write(task1_run_lines(piece).encode())


def _write_task2(connection: Connection, wanted: Wanted, out: IO[bytes]) -> None:
    """Write a TREC task 2 run, topics by name."""
    import numpy as np

    from adjudge.data.trec import task2_run_text

    found = sorted(judged(connection, wanted), key=lambda one: (one.topic, -one.relevance))
    out.write(task2_run_text(*_names(found), np.array([one.relevance for one in found])).encode())


def _names(found: Sequence[ItemFound]) -> tuple[Any, Any]:
    """Return the names of items as TREC's writers take them, and their topics."""
    import polars as pl

    topics = pl.Series([one.topic for one in found], dtype=pl.String)
    return pl.Series([f"{one.topic}_{one.document}" for one in found], dtype=pl.String), topics


def judged(connection: Connection, wanted: Wanted) -> Iterable[ItemFound]:
    """Return what the consensus says of the items that somebody judged; refused where there is none yet."""
    found = items_found(connection, wanted.folder, wanted.belief)
    if found is None:
        raise UsageError("there is no consensus yet: it needs judgments, and some seconds after the first of them")
    return (one for one in found if one.judgments)


def _write_everything(connection: Connection, wanted: Wanted, out: IO[bytes]) -> None:
    """Write a zip with all tables as CSV, the campaign's files, and qrels if there is a consensus; no hash, no key."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for table in schema.METADATA.sorted_tables:
            if table.name not in KEPT_BACK:
                with archive.open(f"tables/{table.name}.csv", "w", force_zip64=True) as file:
                    file.writelines(csv_pieces(*_table(connection, table, wanted), wanted.raw))
        for path in sorted(path for pattern in FILES for path in wanted.folder.glob(pattern)):
            if not (wanted.pseudonyms and path.name in NAMING):
                _archive(archive, path, str(path.relative_to(wanted.folder)))
        if items_found(connection, wanted.folder, wanted.belief) is not None:
            for name, write in (("qrels.txt", _write_qrels), ("qrels-uncertainty.csv", _write_uncertain)):
                with archive.open(name, "w", force_zip64=True) as file:
                    write(connection, wanted, file)


def _archive(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    """Put a file into a zip; the settings without the password of a database."""
    if path.name == SETTINGS:
        archive.writestr(name, PASSWORD.sub(rb"\1***@", path.read_bytes()))
    else:
        archive.write(path, name)


def _table(connection: Connection, table: Table, wanted: Wanted) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the header and the rows of a table without its secrets; with pseudonyms, without names too."""
    columns = [column for column in table.c if column.name not in SECRET]
    key = list(table.primary_key.columns)
    rows = streamed(connection, select(*columns).order_by(*key))
    hidden = {n for n, column in enumerate(columns) if wanted.pseudonyms and (table.name, column.name) in PERSONAL}
    called = wanted.names if table.name == "people" else {}
    kept = ([called.get(row[0], "") if n in hidden else value for n, value in enumerate(row)] for row in rows)
    return [column.name for column in columns], kept


PERSONAL = {
    ("people", "name"),
    ("people", "outside"),
    ("assignments", "outside"),
    ("invitations", "name"),
    ("audit", "who"),
    ("audit", "detail"),
}
EXPORTS: Mapping[str, Export] = {
    "judgments": Export(
        "judgments.csv", "text/csv", "Every judgment that stands, with judge and time.", _write_judgments
    ),
    "qrels": Export(
        "qrels.txt", "text/plain", "The most likely relevance of every judged item.", _write_qrels, False, True
    ),
    "uncertainty": Export(
        "qrels-uncertainty.csv",
        "text/csv",
        "The same with its probability, judgments and entropy.",
        _write_uncertain,
        False,
        True,
    ),
    "task1": Export(
        "task1.tsv", "text/tab-separated-values", "TREC task 1: all labels, also rejected and training.", _write_task1
    ),
    "task2": Export(
        "task2.txt", "text/plain", "TREC task 2: documents ranked by probability.", _write_task2, False, True
    ),
    "everything": Export(
        "campaign.zip",
        "application/zip",
        "All tables, files and qrels; no password, token or key.",
        _write_everything,
        believes=True,
    ),
}

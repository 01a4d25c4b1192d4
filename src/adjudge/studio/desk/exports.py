"""Exports of a campaign: judgments, qrels with and without uncertainty, TREC's run files, and everything as a zip.

Every export is written to an open file in chunks, so that a table of any size needs little memory. ``EXPORTS`` lists
them by name for the page, the command line and the tests. Relevance comes from the consensus (``consensus``), so
qrels and task 2 need one. Hashes of passwords and tokens are never exported.
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
from typing import IO, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Select, Table, and_, func, select

from adjudge.data.columns import EXPORT, EXPORTED_LABELS
from adjudge.data.panel import MACHINE, PERSON
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.studio.consensus import ItemBelief, ItemGrades, read_item_beliefs
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

T = TypeVar("T")
TINY = 1e-6  # probability in log odds
DANGEROUS = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet reads a text that starts so as a formula
CHUNK = 1 << 16  # characters that are written at once
ROWS = 2_000  # that are read at once
SECRET_COLUMNS = {"hash", "packed"}  # never exported
# never exported
SECRET_TABLES = {"passwords", "resets", "sessions", "endings", "factors", "recovery_codes", "factor_uses", "identities"}
PERSONAL_COLUMNS = {  # table -> columns that pseudonyms replace
    "people": ("name", "outside"),
    "assignments": ("outside",),
    "invitations": ("name",),
    "audit": ("who", "detail"),
}
SETTINGS = "campaign.toml"
FILES = (
    *(SETTINGS, "topics.jsonl", "documents.jsonl", "pool.csv", "gold.csv", "sets.csv"),
    *("consensus/*.json", "consensus/*.npy"),
)
NAMING_FILES = {"judges.json"}  # files that contain the names of judges
PASSWORD = re.compile(rb"(://[^:/@\s]+:)[^@\s]+@")  # in the address of a database
USABLE, REJECTED, AUTOMATED, TRAINING = "0", "1", "2", "3"  # types of labels in a task 1 run
JUDGE_KIND = "judge_kind"  # column of exported judgments, which ``adjudge.read`` recognises
PROGRAM = "model:"  # the `outside` of a judge that is a program starts with this


@dataclass(frozen=True)
class ExportOptions:
    """The options of an export."""

    folder: Path  # of the campaign
    raw: bool = False  # cells without protection against formulas, for programs
    pseudonyms: bool = False  # judge-7 instead of names
    team: str = "adjudge"
    names: Mapping[int, str] = field(default_factory=dict)  # of people, filled in by ``export``
    belief: NDArray[np.float64] | None = field(default=None, compare=False)  # replaces that in the folder
    grades: ItemGrades | None = field(default=None, compare=False)  # the same, beside ``belief``


class Export(NamedTuple):
    """One kind of export."""

    file: str
    kind: str  # media type
    about: str
    write: Callable[[Connection, ExportOptions, IO[bytes]], None]
    people: bool = True  # shows who judged what, so only a lead may have it
    believes: bool = False  # contains the consensus


def export(connection: Connection, name: str, options: ExportOptions, out: IO[bytes]) -> None:
    """Write an export to an open file.

    Parameters
    ----------
    connection
        A connection to the campaign's database that only reads.
    name
        The kind of export, a key of ``EXPORTS``.
    options
        The campaign's folder, and whether names and formulas are replaced.
    out
        A binary file; only the zip of everything needs to seek in it.
    """
    if name not in EXPORTS:
        raise UsageError(f"there is no export {quote(name)}, expected one of {quoted(EXPORTS)}")
    options = replace(options, names=judge_names(connection, options.pseudonyms))
    EXPORTS[name].write(connection, options, out)


def judge_names(connection: Connection, pseudonyms: bool = False) -> dict[int, str]:
    """Return the names of people in an export, by their ids: as stored, or ``judge-7`` and so on as pseudonyms."""
    rows = connection.execute(select(people.c.id, people.c.name))
    return {person: f"judge-{person}" if pseudonyms else name for person, name in rows}


def stream_rows(connection: Connection, query: Select[Any]) -> Iterator[Any]:
    """Return the rows of a query without reading all of them into memory: ``ROWS`` at a time."""
    result = connection.execution_options(stream_results=True, yield_per=ROWS).execute(query)
    yield from result


def batches(rows: Iterable[T], most: int = ROWS) -> Iterator[list[T]]:
    """Return rows in lists of at most ``most``.

    Examples
    --------
    >>> list(batches(range(5), 2))
    [[0, 1], [2, 3], [4]]
    """
    left = iter(rows)
    while batch := list(islice(left, most)):
        yield batch


def judgment_rows(connection: Connection, names: Mapping[int, str]) -> Iterator[tuple[Any, ...]]:
    """Return accepted judgments in the order of their arrival, without those of excluded judges.

    Each row has the columns of ``data.columns.EXPORT``: topic, document, judge, label, rank, seconds, comment, use, at
    and assignment. A label is None for "cannot tell".
    """
    query = (
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
    for topic, document, person, *rest in stream_rows(connection, query):
        yield (topic, document, names[person], *rest)


def last_answers() -> Select[Any]:
    """Return the query of the last answer of every slot that was decided, in the order of judging.

    Its columns are person, assignment, topic, document, rank and relevance; callers add conditions on assignments.
    """
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


def task1_rows(connection: Connection, options: ExportOptions) -> Iterator[tuple[object, ...]]:
    """Return the eleven fields of all labels: of accepted work, of returned assignments, and of qualifications.

    Labels of excluded judges are marked as rejected, like those of returned assignments.
    """
    programs = _programs(connection)
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
    excluded_judges = set(connection.execute(excluded()).scalars())
    for row in stream_rows(connection, accepted):
        kind = REJECTED if row[0] in excluded_judges else AUTOMATED if row[0] in programs else USABLE
        yield _task1_row(options, row, kind)
    ended = select(outcomes.c.assignment)
    returned = and_(
        assignments.c.kind == "work",
        assignments.c.id.in_(ended.where(outcomes.c.outcome == "returned")),
        assignments.c.id.not_in(ended.where(outcomes.c.outcome == "approved")),
    )
    for row in stream_rows(connection, last_answers().where(returned)):
        yield _task1_row(options, row, REJECTED)
    for row in stream_rows(connection, last_answers().where(assignments.c.kind == "qualification")):
        yield _task1_row(options, row, TRAINING)


def _task1_row(options: ExportOptions, row: Sequence[Any], kind: str) -> tuple[object, ...]:
    """Return one row of a task 1 run; field 3 is the assignment. Blanks in names become _: they separate fields."""
    person, assignment, topic, document, rank, relevance = row
    judge = "_".join(options.names[person].split())
    answer = (rank if rank is not None else "na", relevance if relevance is not None else "na")
    return options.team, judge, assignment or "na", topic, document, *answer, "na", "na", "na", kind


def _write_judgments(connection: Connection, options: ExportOptions, out: IO[bytes]) -> None:
    """Write accepted judgments as CSV; if the campaign has programs, with the kind of each judge."""
    rows, programs = judgment_rows(connection, options.names), _programs(connection)
    if not programs:
        out.writelines(csv_chunks(EXPORT, rows, options.raw))
        return
    machines = {options.names[person] for person in programs}
    kinds = ((*row, MACHINE if row[2] in machines else PERSON) for row in rows)
    out.writelines(csv_chunks((*EXPORT, JUDGE_KIND), kinds, options.raw))


def _programs(connection: Connection) -> set[int]:
    """Return the ids of the judges that are programs."""
    return set(connection.execute(select(people.c.id).where(people.c.outside.like(f"{PROGRAM}%"))).scalars())


def _write_qrels(connection: Connection, options: ExportOptions, out: IO[bytes]) -> None:
    """Write the most likely relevance, or grade if there are grades, of every judged item in TREC's qrels format."""
    from adjudge.data.trec import qrels_text

    for batch in batches(judged_items(connection, options)):
        out.write(qrels_text(*_names(batch), [item.grade for item in batch]).encode())


def _write_uncertain(connection: Connection, options: ExportOptions, out: IO[bytes]) -> None:
    """Write the most likely relevance of every judged item with its probability, entropy and number of judgments."""
    rows = (
        (item.topic, item.document, item.label, f"{item.probability:.6f}", item.judgments, f"{item.entropy:.6f}")
        for item in judged_items(connection, options)
    )
    out.writelines(csv_chunks(EXPORTED_LABELS, rows, options.raw))


def _write_task1(connection: Connection, options: ExportOptions, out: IO[bytes]) -> None:
    """Write a TREC task 1 run."""
    from adjudge.data.trec import task1_run_lines

    for batch in batches(task1_rows(connection, options)):
        out.write(task1_run_lines(batch).encode())


def _write_task2(connection: Connection, options: ExportOptions, out: IO[bytes]) -> None:
    """Write a TREC task 2 run, ordered by topic: by expected gain if there are grades, else by probability."""
    from adjudge.data.trec import task2_run_text

    beliefs = sorted(judged_items(connection, options), key=_best_first)
    relevance, score = (np.array([getattr(item, name) for item in beliefs]) for name in ("relevance", "score"))
    graded = any(item.grades for item in beliefs)
    out.write(task2_run_text(*_names(beliefs), relevance, score if graded else None).encode())


def _best_first(item: ItemBelief) -> tuple[str, float, float]:
    """Return the key that sorts items by topic, the best first."""
    return item.topic, -item.score, -item.relevance


def _write_run(connection: Connection, options: ExportOptions, out: IO[bytes]) -> None:
    """Write a TREC run of the judged items: by expected gain if there are grades, else by log odds of relevance."""
    topic, rank = "", 0
    for item in sorted(judged_items(connection, options), key=_best_first):
        topic, rank = item.topic, rank + 1 if item.topic == topic else 1
        odds = np.log(max(item.relevance, TINY)) - np.log(max(1 - item.relevance, TINY))
        score = item.score if item.grades else odds
        out.write(f"{item.topic} Q0 {item.document} {rank} {score:.6f} {options.team}\n".encode())


def _names(beliefs: Sequence[ItemBelief]) -> tuple[Any, Any]:
    """Return the names and the topics of items as TREC's writers take them."""
    import polars as pl

    topics = pl.Series([item.topic for item in beliefs], dtype=pl.String)
    return pl.Series([f"{item.topic}_{item.document}" for item in beliefs], dtype=pl.String), topics


def judged_items(connection: Connection, options: ExportOptions) -> Iterable[ItemBelief]:
    """Return what the consensus says about the items that were judged; refused if there is no consensus.

    ``options.belief`` replaces the consensus in the campaign's folder, for example by one that has every judgment.
    """
    beliefs = read_item_beliefs(connection, options.folder, options.belief, options.grades)
    if beliefs is None:
        raise UsageError("there is no consensus yet: it appears some seconds after the first judgments")
    return (item for item in beliefs if item.judgments)


def _write_everything(connection: Connection, options: ExportOptions, out: IO[bytes]) -> None:
    """Write a zip of all tables as CSV, the campaign's files, and qrels if there is a consensus; no hash, no key."""
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for table in schema.METADATA.sorted_tables:
            if table.name not in SECRET_TABLES:
                with archive.open(f"tables/{table.name}.csv", "w", force_zip64=True) as file:
                    file.writelines(csv_chunks(*_table(connection, table, options), options.raw))
        for path in sorted(path for pattern in FILES for path in options.folder.glob(pattern)):
            if not (options.pseudonyms and path.name in NAMING_FILES):
                _archive(archive, path, str(path.relative_to(options.folder)))
        if read_item_beliefs(connection, options.folder, options.belief, options.grades) is not None:
            for name, write in (("qrels.txt", _write_qrels), ("qrels-uncertainty.csv", _write_uncertain)):
                with archive.open(name, "w", force_zip64=True) as file:
                    write(connection, options, file)


def _archive(archive: zipfile.ZipFile, path: Path, name: str) -> None:
    """Add a file to a zip; the password of a database is removed from the settings."""
    if path.name == SETTINGS:
        archive.writestr(name, PASSWORD.sub(rb"\1***@", path.read_bytes()))
    else:
        archive.write(path, name)


def _table(connection: Connection, table: Table, options: ExportOptions) -> tuple[list[str], Iterator[list[Any]]]:
    """Return the header and the rows of a table without secrets and, with pseudonyms, without names."""
    header = [column.name for column in table.c if column.name not in SECRET_COLUMNS]
    columns = [table.c[name] for name in header]
    rows = stream_rows(connection, select(*columns).order_by(*table.primary_key.columns))
    personal = PERSONAL_COLUMNS.get(table.name, ()) if options.pseudonyms else ()
    hidden = [header.index(name) for name in personal]
    names = options.names if table.name == "people" else {}
    return header, (_hide(row, hidden, names.get(row[0], "")) for row in rows)


def _hide(row: Sequence[Any], hidden: Sequence[int], replacement: str) -> list[Any]:
    """Return a row with a replacement in its hidden columns."""
    return [replacement if n in hidden else value for n, value in enumerate(row)]


# Writing


def safe_cell(value: Any) -> Any:
    """Return a value that a spreadsheet does not read as a formula: such texts get an apostrophe in front.

    Examples
    --------
    >>> safe_cell("=1+1"), safe_cell("text"), safe_cell(-1)
    ("'=1+1", 'text', -1)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(DANGEROUS) else value


def csv_chunks(header: Sequence[str], rows: Iterable[Sequence[Any]], raw: bool = False) -> Iterator[bytes]:
    r"""Return a CSV file in chunks of bytes; missing values are empty.

    Parameters
    ----------
    header
        The names of the columns.
    rows
        The values, in the order of the columns; they are read as chunks are asked for.
    raw
        Whether cells are left unprotected against formulas, for programs.

    Examples
    --------
    >>> b"".join(csv_chunks(("judge", "comment"), [("ann", "=1+1"), ("bob", None)]))
    b"judge,comment\nann,'=1+1\nbob,\n"
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    for row in rows:
        writer.writerow(row if raw else [safe_cell(value) for value in row])
        if buffer.tell() >= CHUNK:
            yield buffer.getvalue().encode()
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode()


def write_chunks(chunks: Iterable[bytes], out: str | None) -> int:
    """Write chunks to a file or to standard output, and return their number.

    Parameters
    ----------
    chunks
        The content; if making it fails, a file that was there before stays as it is.
    out
        The path of a file, which is written completely or not at all; a pipe or a device, which is written to directly;
        or None for standard output.
    """
    if out is None:
        written = _write_all(chunks, sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return written
    target = Path(out).resolve()
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        if target.exists() and not target.is_file():  # a pipe or a device
            with target.open("wb") as file:
                return _write_all(chunks, file)
        with draft.open("wb") as file:
            written = _write_all(chunks, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", out) from error
    finally:
        draft.unlink(missing_ok=True)
    return written


def _write_all(chunks: Iterable[bytes], file: IO[bytes]) -> int:
    """Write chunks one after another, and return their number."""
    written = 0
    for chunk in chunks:
        file.write(chunk)
        written += 1
    return written


EXPORTS: Mapping[str, Export] = {
    "judgments": Export("judgments.csv", "text/csv", "All accepted judgments, with judge and time.", _write_judgments),
    "qrels": Export(
        "qrels.txt", "text/plain", "The most likely relevance of every judged item.", _write_qrels, False, True
    ),
    "uncertainty": Export(
        "qrels-uncertainty.csv",
        "text/csv",
        "The same with probability, number of judgments and entropy.",
        _write_uncertain,
        False,
        True,
    ),
    "task1": Export(
        "task1.tsv",
        "text/tab-separated-values",
        "TREC task 1: all labels, including rejected and training ones.",
        _write_task1,
    ),
    "task2": Export(
        "task2.txt", "text/plain", "TREC task 2: documents ranked by probability.", _write_task2, False, True
    ),
    "run": Export(
        "consensus.run", "text/plain", "TREC run: documents ranked by the consensus.", _write_run, False, True
    ),
    "everything": Export(
        "campaign.zip",
        "application/zip",
        "All tables, files and qrels, without passwords, tokens and keys.",
        _write_everything,
        believes=True,
    ),
}

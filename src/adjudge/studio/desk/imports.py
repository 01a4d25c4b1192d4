"""Imports: a file of judgments, or of a program's answers to prompts, becomes judgments of a campaign.

A file is read completely and checked against the record before anything is written; every problem is listed with its
line. ``import_file`` imports into a campaign that is being served, ``import_file_offline`` into one that is not.

A row of judgments has ``topic, document, judge, label`` and may have ``rank, seconds, comment``; files have any of the
formats, encodings and compressions of ``adjudge.read``. Answers are JSON lines with the ``id`` of a prompt and an
``answer``. Labels are read by ``labels``.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import Connection, select

from adjudge.data import columns
from adjudge.data.files import LARGEST, decode_content, decode_document, decompress
from adjudge.data.formats import named_value, parse_json_object, parse_rows
from adjudge.errors import InputError, UsageError, quote
from adjudge.studio.access import Signer
from adjudge.studio.campaign import Campaign
from adjudge.studio.desk.decisions import actor_name, fingerprint
from adjudge.studio.desk.exports import PROGRAM, batches
from adjudge.studio.desk.labels import RowError, parse_answer, parse_label, row_label
from adjudge.studio.desk.prompts import hidden_accuracy
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Pair, Refused
from adjudge.studio.studio import Studio
from adjudge.studio.work.commands import Rows, open_assignment
from adjudge.studio.work.people import clean_name, normalise_name

Labels: TypeAlias = MutableMapping[tuple[str, int], int | None]  # (judge's name in lower case, item) -> label
BATCH = 2_000  # rows that one command imports
LABEL_NAMES = {1: "relevant", 0: "irrelevant", None: "cannot tell"}
MOST_PROBLEMS = 20  # in a list
MOST_RANK = 1_000
LONGEST_COMMENT = 2_000  # characters
LINES_TO_CHECK = 100  # of a file, to find out whether it holds answers
COLUMNS = {"topic": columns.TOPIC, "document": columns.DOCUMENT, "judge": columns.USUAL["judge"]}


async def import_file(studio: Studio, by: int | str | None, content: bytes, name: str, judge: str) -> dict[str, Any]:
    """Import a file into a campaign that is being served, and return the report.

    The file is read in a thread, checked completely, and written in batches, so that judges do not have to wait. If
    somebody contradicts it between two batches, importing the same file again adds the rows that are missing.

    Parameters
    ----------
    studio
        The campaign that is being served.
    by
        Who imports: the number of a person, or the name of an API token.
    content, name
        The bytes of the file and its name, which problems refer to.
    judge
        The judge of rows that do not name one; a program's answers to prompts need it.

    Returns
    -------
    dict
        ``taken`` and ``skipped`` (numbers of judgments), ``judges`` (new ones), ``problems`` (if there is one, nothing
        was imported), ``name``, ``unread`` (answers that cannot be read) and ``hidden_gold`` (a program's accuracy).
    """
    file, program = await asyncio.to_thread(read_file, studio.ledger, studio.signer, content, name, judge)
    recorded = await studio.read(recorded_labels, {row.judge for row in file.judgments})
    report, checked = Report(problems=[] if program else list(file.problems)), dict(recorded)
    for batch in batches(file.judgments, BATCH):
        report.problems += await studio.look(row_problems, batch, checked)
    for batch in batches([] if report.problems else file.judgments, BATCH):
        report.add(await studio.do(import_judgments, by, batch, recorded, name, program), recorded)
    return await studio.read(full_report, studio.campaign, studio.ledger, file, report, judge if program else "")


def import_file_offline(studio: Studio, content: bytes, name: str, judge: str) -> dict[str, Any]:
    """Import a file into a campaign that is not being served, and return the report of ``import_file``.

    The command line uses this: nobody waits for the record, so all rows are written at once.
    """
    file, program = read_file(studio.ledger, studio.signer, content, name, judge)
    rows = file.judgments
    with studio.store.reading() as connection:
        recorded = recorded_labels(connection, {row.judge for row in rows})
    report = Report(problems=[] if program else list(file.problems))
    report.problems += row_problems(studio.ledger, studio.now(), rows, dict(recorded))
    if not report.problems:
        answer = studio.store.do(lambda ledger, now: import_judgments(ledger, now, None, rows, recorded, name, program))
        report.add(answer, recorded)
    with studio.store.reading() as connection:
        return full_report(connection, studio.campaign, studio.ledger, file, report, judge if program else "")


def read_file(ledger: Ledger, signer: Signer, content: bytes, name: str, judge: str) -> tuple[ImportFile, bool]:
    """Return the content of a file, and whether it holds a program's answers to prompts.

    Judgments are imported only if all of them are valid. Of answers, those that can be read are imported: a program
    that answers a few prompts badly has still answered the others.
    """
    judge = normalise_name(judge)
    if not is_answers(content):
        return read_judgments(content, name, judge or None), False
    if not judge:
        raise UsageError("answers to prompts need the name of the judge who gave them")
    return read_answers(content, name, judge, signer, ledger.items.pairs), True


@dataclass
class Report:
    """The result of an import so far, batch after batch. The field names are those of the API's response."""

    taken: int = 0
    skipped: int = 0
    judges: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def add(self, answer: Mapping[str, Any], recorded: Labels) -> None:
        """Add the result of one batch, and its labels to those on record."""
        self.taken, self.skipped = self.taken + answer["taken"], self.skipped + answer["skipped"]
        self.judges.update(answer["judges"])
        self.problems += answer["problems"]
        recorded.update(answer["labels"])


def full_report(
    connection: Connection, campaign: Campaign, ledger: Ledger, file: ImportFile, report: Report, program: str
) -> dict[str, Any]:
    """Return the report of an import, as ``import_file`` describes it.

    Parameters
    ----------
    connection, campaign, ledger
        The record, the files and the present state of the campaign.
    file
        The file that was imported.
    report
        The numbers and problems of all batches.
    program
        The name of the program whose answers were imported; its accuracy on hidden gold is added. Otherwise empty.
    """
    person = ledger.named.get(normalise_name(program).casefold()) if program else None
    accuracy = None if person is None else hidden_accuracy(connection, campaign, person)
    return {
        **asdict(report),
        "problems": sort_by_line(report.problems),
        "judges": sorted(report.judges),
        "name": file.name,
        "unread": file.problems if program else [],
        "hidden_gold": None if accuracy is None else {"right": accuracy.right, "of": accuracy.of},
    }


def sort_by_line(problems: Iterable[str]) -> list[str]:
    """Return problems in the order of their lines.

    Examples
    --------
    >>> sort_by_line(["line 10: no topic", "line 9: no label"])
    ['line 9: no label', 'line 10: no topic']
    """
    return sorted(problems, key=lambda problem: int(m[1]) if (m := re.match(r"line (\d+):", problem)) else 0)


def recorded_labels(connection: Connection, names: Iterable[str]) -> Labels:
    """Return the labels on record of the judges with these names, by name in lower case and item."""
    lowered = {name.casefold() for name in names}
    people = connection.execute(select(schema.people.c.id, schema.people.c.name))
    judges = {person: name.casefold() for person, name in people if name.casefold() in lowered}
    labels: Labels = {}
    for person, name in judges.items():
        rows = schema.judgments.c
        query = select(rows.item, rows.relevance).where(rows.person == person)
        labels.update({(name, item): relevance for item, relevance in connection.execute(query)})
    return labels


# The command


def import_judgments(
    ledger: Ledger,
    now: float,
    by: int | str | None,
    judgments: Sequence[ImportedJudgment],
    recorded: Labels,
    source: str,
    program: bool = False,
) -> Change:
    """Import judgments; those that are on record with the same label are skipped.

    Parameters
    ----------
    ledger, now
        The present state, and the time.
    by
        A person, the name of an API token, or the command line (None).
    judgments
        The rows of a file, or a part of them.
    recorded
        The labels on record of their judges, from ``recorded_labels``.
    source
        The name of the file, for the audit log.
    program
        Whether new judges are programs.

    Returns
    -------
    Change
        Its answer has the numbers of imported and skipped judgments (``taken``, ``skipped``), the new ``judges``, the
        new ``labels``, and the ``problems`` of rows that cannot be imported; if there is one, nothing is imported.
    """
    labels = dict(recorded)
    accepted, skipped, problems = _check_rows(ledger, judgments, labels)
    if problems:
        return Change(answer={"taken": 0, "skipped": skipped, "judges": [], "problems": problems, "labels": {}})
    rows, new = _import_rows(ledger, now, accepted, program)
    answer = {"taken": len(accepted), "skipped": skipped, "judges": new, "problems": []}
    answer["labels"] = {key: label for key, label in labels.items() if key not in recorded}
    detail = {"source": source, "taken": len(accepted), "skipped": skipped, "judges": new, **fingerprint(rows)}
    detail |= {"first": ledger.next_id(schema.judgments)} if accepted else {}
    return Change(rows, answer, (actor_name(ledger, by), "judgments imported", detail) if accepted else None)


def row_problems(ledger: Ledger, now: float, judgments: Sequence[ImportedJudgment], labels: Labels) -> list[str]:
    """Return why rows of a file cannot be imported; the labels of all other rows are added to ``labels``."""
    return _check_rows(ledger, judgments, labels)[2]


def _check_rows(
    ledger: Ledger, judgments: Sequence[ImportedJudgment], labels: Labels
) -> tuple[list[tuple[int, ImportedJudgment]], int, list[str]]:
    """Return the new judgments with their items, the number of those on record, and the problems of the others.

    The labels of new judgments are added to ``labels``.
    """
    accepted, skipped, problems = list[tuple[int, ImportedJudgment]](), 0, list[str]()
    for judgment in judgments:
        item, judge = ledger.items.ids.get((judgment.topic, judgment.document)), judgment.judge.casefold()
        if item is None:
            pair = f"topic {quote(judgment.topic)} with document {quote(judgment.document)}"
            problems.append(f"line {judgment.row}: {pair} is not in this campaign")
        elif problem := _row_problem(ledger, judgment, item, labels):
            problems.append(f"line {judgment.row}: {problem}")
        elif (judge, item) in labels:
            skipped += 1
        else:
            labels[judge, item] = judgment.relevance
            accepted.append((item, judgment))
    return accepted, skipped, problems


def _row_problem(ledger: Ledger, judgment: ImportedJudgment, item: int, labels: Labels) -> str:
    """Return why a judgment of an item cannot be imported, or an empty string."""
    key = (judgment.judge.casefold(), item)
    if problem := _judge_problem(ledger, judgment.judge, item):
        return problem
    if key in labels and labels[key] != judgment.relevance:
        return f"{quote(judgment.judge)} has already judged it {LABEL_NAMES[labels[key]]}"
    return ""


def _judge_problem(ledger: Ledger, name: str, item: int) -> str:
    """Return why the judge of a row cannot be its judge, or an empty string."""
    person = ledger.people.get(ledger.named.get(name.casefold(), -1))
    if person is None:
        return _name_problem(name)
    if person.role != "judge":
        return f"{quote(name)} is a {person.role}, not a judge"
    assignment = open_assignment(ledger, person)
    if assignment is not None and any(item in work_set.items for work_set in assignment.sets):
        return f"{quote(name)} has it in an open assignment: take the assignment back, or remove the row"
    return ""


def _name_problem(name: str) -> str:
    """Return why a new judge cannot have this name, or an empty string."""
    try:
        clean_name(name)
    except Refused as refused:
        return f"judge {quote(name)}: {str(refused)[0].lower()}{str(refused)[1:].rstrip('.')}"
    return ""


def _import_rows(
    ledger: Ledger, now: float, judgments: Sequence[tuple[int, ImportedJudgment]], program: bool
) -> tuple[Rows, list[str]]:
    """Return the rows of new judges and of judgments, and the names of the new judges in lower case."""
    rows, new = Rows(), dict[str, int]()
    for ahead, (item, judgment) in enumerate(judgments, 1):
        key = judgment.judge.casefold()
        person = ledger.named.get(key) or new.get(key)
        if person is None:
            person = new[key] = ledger.next_id(schema.people, len(new) + 1)
            rows.append((schema.people, _judge_row(person, now, judgment.judge, program)))
        number = ledger.next_id(schema.judgments, ahead)
        rows.append((schema.judgments, _judgment_row(number, now, person, item, judgment)))
    return rows, sorted(new)


def _judge_row(number: int, now: float, name: str, program: bool) -> Row:
    """Return the row of a new judge, who has no password."""
    outside = f"{PROGRAM}{name}" if program else None
    return {"id": number, "at": now, "name": name, "role": "judge", "outside": outside, "language": "en"}


def _judgment_row(number: int, now: float, person: int, item: int, judgment: ImportedJudgment) -> Row:
    """Return the row of an imported judgment."""
    row = {"at": now, "item": item, "person": person, "assignment": None, "use": "imported"}
    fields = ("relevance", "rank", "seconds", "comment")
    return {**row, **{name: getattr(judgment, name) for name in fields}, "id": number}


# Reading files


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
    """Return problems as a text of several lines; a list of more than ``MOST_PROBLEMS`` is cut.

    Examples
    --------
    >>> print(list_problems(["line 2: no topic", "line 3: no judge"]))
    2 problems, nothing was imported
      line 2: no topic
      line 3: no judge
    """
    more = len(problems) - MOST_PROBLEMS
    lines = "\n".join(f"  {problem}" for problem in problems[:MOST_PROBLEMS])
    return f"{len(problems)} problem{'s'[: len(problems) != 1]}, nothing was imported\n{lines}" + (
        f"\n  and {more} more" if more > 0 else ""
    )


def read_judgments(content: bytes, name: str, judge: str | None = None) -> ImportFile:
    r"""Return the judgments of a table, and the problems of rows that cannot be read.

    Parameters
    ----------
    content, name
        The bytes of the file, in any format and compression of ``adjudge.read``, and its name for messages.
    judge
        The judge of rows that do not name one.

    Examples
    --------
    >>> table = b"topic,document,judge,label\noak,d1,ann,relevant\noak,d2,ann,maybe\n"
    >>> file = read_judgments(table, "labels.csv")
    >>> file.judgments[0].relevance
    1
    >>> file.problems
    ["line 3: the label is 'maybe', expected relevant or irrelevant"]
    """
    return _read_rows(content, name, None, "judgments", lambda line, row: _judgment(line, row, judge))


def is_answers(content: bytes) -> bool:
    """Return whether a file holds answers to prompts: JSON lines, the first valid one of which has an id.

    Examples
    --------
    >>> is_answers(b'{"id": "ABC", "answer": "relevant"}'), is_answers(b"topic,document,judge,label")
    (True, False)
    """
    text = decode_document(decompress(content, "the file", LARGEST)[0])
    rows = map(parse_json_object, text.split("\n", LINES_TO_CHECK)[:LINES_TO_CHECK])
    return next(("id" in row for row in rows if isinstance(row, dict)), False)


def read_answers(content: bytes, name: str, judge: str, signer: Signer, pairs: Sequence[Pair]) -> ImportFile:
    """Return a program's answers as judgments, and the problems of lines that cannot be read.

    Parameters
    ----------
    content, name
        The bytes of a file of JSON lines, and its name for messages.
    judge
        The name of the program.
    signer
        Reads the ids of the campaign's own prompts; any other id is a problem of its line.
    pairs
        The topics and documents of items, by the item's number.
    """
    return _read_rows(content, name, "jsonl", "answers", lambda line, row: _answer(line, row, judge, signer, pairs))


def _read_rows(
    content: bytes,
    name: str,
    format: str | None,  # noqa: A002
    noun: str,
    convert: Callable[[int, Mapping[str, Any]], ImportedJudgment],
) -> ImportFile:
    """Return the rows of a file as judgments, and the problems of lines that cannot be read or converted."""
    judgments, problems = list[ImportedJudgment](), list[str]()
    for line, values in parse_rows(decode_content(content, name, limit=LARGEST, empty=True), format).rows:
        try:
            if isinstance(values, str):
                raise RowError(values)
            judgments.append(convert(line, {column.strip().lower(): value for column, value in values.items()}))
        except ValueError as error:
            problems.append(f"line {line}: {error}")
    if not judgments and not problems:
        raise InputError(f"the file holds no {noun}", name)
    return ImportFile(name, judgments, problems)


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

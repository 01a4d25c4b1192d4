"""The audit log, and the checks of ``adjudge campaign verify``.

The log is a chain: each entry has the hash of the entry before it, so that no entry can be changed alone. Entries also
have the hashes of accepted judgments and completion codes; ``CHECKS`` compares them with the tables.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, func, inspect, or_, select

from adjudge.data.files import decode_content
from adjudge.errors import Problems
from adjudge.studio.campaign import Campaign
from adjudge.studio.record import schema as s
from adjudge.studio.record.row_hashes import BEGINNING, PIECE, changed_rows, without_sign_of_zero
from adjudge.studio.record.seal import is_complete, seal_faults
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import Settings, read_settings


class Link(NamedTuple):
    """The end of the chain."""

    id: int = 0
    hash: str = BEGINNING


def next_entry(last: Link, at: float, who: str, action: str, detail: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of the next entry of the log."""
    row = {
        "id": last.id + 1,
        "at": at,
        "who": who,
        "what": action,
        "detail": json.dumps(detail, sort_keys=True, ensure_ascii=False),
        "previous": last.hash,
    }
    return {**row, "hash": entry_hash(row)}


def entry_hash(row: Mapping[str, Any]) -> str:
    """Return the hash of an entry, which covers its values and the hash of the entry before."""
    values = [row[name] for name in ("id", "at", "who", "what", "detail", "previous")]
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()


def first_broken_entry(rows: Iterable[Mapping[str, Any]]) -> int | None:
    """Return the id of the first entry that does not fit the chain; None if all do."""
    last = Link()
    for row in rows:
        if row["id"] != last.id + 1 or row["previous"] != last.hash or row["hash"] != entry_hash(row):
            return last.id + 1
        last = Link(row["id"], row["hash"])
    return None


HASHED = (
    "item",
    "person",
    "use",
    "relevance",
    "rank",
    "seconds",
    "comment",
)  # columns of a judgment that must not change
OUTCOMES = ("passed", "returned", "approved", "submitted", "released", "expired")


def judgments_hash(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the hash of judgments that were accepted together, as the audit log has it."""
    values = [[without_sign_of_zero(row[name]) for name in HASHED] for row in rows]
    return hashlib.sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()


def find_faults(connection: Connection, campaign: Campaign) -> list[str]:
    """Return all faults that the checks find in a database, one sentence each."""
    return [sentence for check in CHECKS.values() for sentence in check(connection, campaign)]


def content_faults(connection: Connection, campaign: Campaign) -> list[str]:
    """Return the faults of a database without its seal, such as that of a backup."""
    return [sentence for check in CHECKS.values() if check is not _seal for sentence in check(connection, campaign)]


def _file(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for damage that the database itself finds."""
    if connection.dialect.name == "sqlite":
        for (message,) in connection.exec_driver_sql("PRAGMA integrity_check"):
            if message != "ok":
                yield f"the database is damaged: {message}"
    for version, at in connection.execute(select(s.versions.c.version, s.versions.c.at)):  # no entry seals them
        if not isinstance(at, float | int):
            yield f"the time of version {version} of the database is no number"


def _seal(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for an end that was cut off, and for a database of another campaign or time."""
    yield from seal_faults(connection, campaign.folder)


def _rows(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for rows that differ from the hashes in the audit log."""
    yield from changed_rows(connection, is_complete(connection, campaign.folder))


def _chain(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for entries of the audit log that were changed, added or removed."""
    entries = select(s.audit).order_by(s.audit.c.id).execution_options(yield_per=PIECE)
    rows = connection.execute(entries).mappings()
    entry = first_broken_entry(dict(row) for row in rows)
    if entry is not None:
        yield f"audit log: entry {entry} does not follow from the one before it"


def _judgments(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for judgments of assignments and imports that differ from the hashes in the audit log."""
    vouched, imports = dict[str, str](), list[tuple[int, int]]()
    for _, detail in _entries(connection, '"judgments"'):
        if "first" in detail:
            imports.append((detail["first"], detail["first"] + detail["taken"] - 1))
            vouched[_import(imports[-1])] = detail["judgments"]
        elif "assignment" in detail and "judgments" in detail:
            vouched[f"assignment {detail['assignment']}"] = detail["judgments"]
    imports.sort()
    ordered = select(s.judgments).order_by(s.judgments.c.assignment, s.judgments.c.id)
    rows_by_source = connection.execute(ordered.execution_options(yield_per=PIECE)).mappings()
    present = set()
    for name, rows in groupby(rows_by_source, key=lambda row: _source(imports, row["assignment"], row["id"])):
        present.add(name)
        if vouched.get(name) != judgments_hash(dict(row) for row in rows):
            yield f"{name}: its judgments are not those that were accepted"
    for name in sorted(vouched.keys() - present):
        yield f"{name}: the judgments that were accepted are missing"


def _source(imports: Sequence[tuple[int, int]], assignment: int | None, number: int) -> str:
    """Return the source of a judgment: an assignment or one of the ordered imports; without either, the judgment."""
    if assignment is not None:
        return f"assignment {assignment}"
    index = bisect_right(imports, number, key=lambda ids: ids[0]) - 1
    return _import(imports[index]) if index >= 0 and number <= imports[index][1] else f"judgment {number}"


def _import(numbers: tuple[int, int]) -> str:
    """Return the name of an import, by the ids of its judgments."""
    return f"import of judgments {numbers[0]} to {numbers[1]}"


def _entries(connection: Connection, word: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield action and detail of the entries of the audit log whose detail contains a word."""
    rows = select(s.audit.c.what, s.audit.c.detail).where(s.audit.c.detail.contains(word)).order_by(s.audit.c.id)
    for action, detail in connection.execute(rows):
        yield action, json.loads(detail)


def _outcomes(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for outcomes and completion codes that differ from the audit log."""
    facts = defaultdict[tuple[int, str], list[dict[str, Any]]](list)
    for number, outcome, detail in _vouched_outcomes(connection):
        facts[number, outcome].append(detail)
    columns = s.outcomes.c
    rows = connection.execute(
        select(columns.assignment, columns.outcome, columns.failed, columns.code).order_by(columns.id)
    )
    for number, outcome, failed, code in rows:
        details = facts[number, outcome]
        if not details:
            yield f"assignment {number}: the audit log has no entry for the outcome {outcome}"
            continue
        detail = details.pop(0)
        if detail.get("failed", failed) != failed:
            yield f"assignment {number}: the failed criteria are not those in the audit log"
        if not _is_code_given(code, outcome, detail):
            yield f"assignment {number}: its completion code is not the one that was given"
    for number, outcome in (key for key, details in facts.items() if details):
        yield f"assignment {number}: the outcome {outcome} is missing"


def _is_code_given(code: str, outcome: str, detail: Mapping[str, Any]) -> bool:
    """Return whether the completion code of an outcome is the one in the audit log; only submissions have one."""
    return detail.get("code", _code_hash(code)) == _code_hash(code) and (not code or outcome == "submitted")


def _vouched_outcomes(connection: Connection) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Yield the outcomes in the audit log as (assignment, outcome, detail of the entry).

    An entry names one by ``outcome`` and ``assignment`` in its detail, or by its own last word ("assignment passed",
    "assignments expired"); one that ends several lists ``assignments``, and ``codes`` by number if they have any.
    """
    for action, detail in _entries(connection, '"assignment'):
        outcome = detail.get("outcome", action.rsplit(" ", 1)[-1])
        if outcome in OUTCOMES:
            codes = detail.get("codes", {})
            for number in detail.get("assignments", [detail.get("assignment")]):
                yield number, outcome, {**detail, **({"code": codes[str(number)]} if str(number) in codes else {})}


def _code_hash(code: str) -> str:
    """Return the hash of a completion code."""
    return hashlib.sha256(code.encode()).hexdigest()


def _twice(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for items that one person judged twice."""
    columns = s.judgments.c
    for person, item in connection.execute(
        select(columns.person, columns.item).group_by(columns.person, columns.item).having(func.count() > 1)
    ):
        yield f"person {person} judged item {item} more than once"


def _beyond(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for items with more judgments than the settings ask for.

    Those made elsewhere do not count, nor those that a lead let count later: of assignments approved after they were
    returned, and of judges who were excluded at some time.
    """
    most = max(map(_most_judgments, [campaign.settings, *_earlier_settings(connection)]))
    excluded = select(s.standings.c.person).where(s.standings.c.standing == "excluded")
    approved = select(s.outcomes.c.assignment).where(s.outcomes.c.outcome == "approved")
    columns = s.judgments.c
    counted = and_(
        columns.use == "work",
        columns.relevance.is_not(None),
        columns.person.not_in(excluded),
        or_(columns.assignment.is_(None), columns.assignment.not_in(approved)),
    )
    for item, times in connection.execute(
        select(columns.item, func.count()).where(counted).group_by(columns.item).having(func.count() > most)
    ):
        yield f"item {item} has {times} judgments, but the settings ask for {most}"


def _most_judgments(settings: Settings) -> int:
    """Return how many judgments settings ask for at most."""
    redundancy = settings.redundancy
    return redundancy.most if redundancy.adaptive else redundancy.judgments


def _earlier_settings(connection: Connection) -> Iterator[Settings]:
    """Yield the settings that the campaign has had."""
    columns = s.revisions.c
    if not _has_revisions(connection):
        return
    for packed in connection.scalars(select(columns.packed).where(columns.file == SETTINGS_FILE)):
        text = decode_content(zlib.decompress(packed), SETTINGS_FILE, empty=True).text
        yield read_settings(text, Problems())


def _revisions(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for revisions of the campaign's files whose content is not what was recorded."""
    columns = s.revisions.c
    if not _has_revisions(connection):
        return
    for number, sha256, packed in connection.execute(select(columns.id, columns.sha256, columns.packed)):
        if packed is not None and hashlib.sha256(zlib.decompress(packed)).hexdigest() != sha256:
            yield f"revision {number}: its content is not the one that was recorded"


def _has_revisions(connection: Connection) -> bool:
    """Return whether a database has revisions; one of the first version has none."""
    return inspect(connection).has_table(s.revisions.name)


def _gold(connection: Connection, campaign: Campaign) -> Iterator[str]:
    """Look for fixed sets that a judge had twice."""
    who, name = s.assignments.c.person, s.sets.c.name
    had = select(who, name).join(s.assignments, s.assignments.c.id == s.sets.c.assignment)
    fixed = had.where(and_(name != "", s.sets.c.use != "qualification"))
    for person, called in connection.execute(fixed.group_by(who, name).having(func.count() > 1)):
        yield f"person {person} was given the set {called} more than once"


CHECKS: Mapping[str, Callable[[Connection, Campaign], Iterator[str]]] = {
    "the end of the record as it was sealed": _seal,  # first, because a running studio renews the seal
    "the database's own check": _file,
    "the chain of the audit log": _chain,
    "the rows of all tables as they were sealed": _rows,
    "judgments as they were accepted": _judgments,
    "outcomes and completion codes as they were given": _outcomes,
    "nobody judged an item twice": _twice,
    "no item has more judgments than the settings ask for": _beyond,
    "no gold or monitoring set given twice": _gold,
    "revisions of the campaign's files as they were recorded": _revisions,
}

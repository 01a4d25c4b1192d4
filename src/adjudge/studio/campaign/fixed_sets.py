"""sets.csv: the fixed sets of a campaign (gold, qualification, monitoring), one row per document of a set."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from adjudge.data.files import checked_content
from adjudge.data.formats import read_text_rows
from adjudge.errors import Problems, quote, quoted
from adjudge.studio.campaign.pool_and_gold import csv_text, describe_pair
from adjudge.studio.records import USES, FixedSet, Gold, Pair
from adjudge.studio.settings import Gate, Settings

FILE = "sets.csv"
COLUMNS = {name: (name,) for name in ("set", "use", "topic", "document")}


class Context(NamedTuple):
    """The contents of the other files, with which sets are compared."""

    topics: Container[str]
    documents: Container[str]
    gold: Mapping[Pair, Gold]
    settings: Settings


def read_sets(path: Path, context: Context, problems: Problems) -> tuple[FixedSet, ...]:
    """Return the sets of a file, and note their problems."""
    content = checked_content(path, problems, FILE)
    if content is None:
        return ()
    sets: dict[str, FixedSet] = {}
    lines: dict[str, int] = {}
    before = len(problems.messages)
    for line, row in read_text_rows(content, problems, COLUMNS, tuple(COLUMNS)):
        name, use, topic, document = (row[column] for column in COLUMNS)
        first = sets.setdefault(name, FixedSet(name, use, topic, ()))
        lines.setdefault(name, line)
        for message in _row_problems(first, row, context):
            problems.add(message, FILE, line)
        sets[name] = first._replace(documents=(*first.documents, document))
    if len(problems.messages) == before:  # otherwise these would repeat the problems of rows
        for fixed in sets.values():
            for message in _set_problems(fixed, context):
                problems.add(message, FILE, lines[fixed.name])
        for name, message in _shared_documents(sets.values()):
            problems.add(message, FILE, lines[name])
        for message in _missing_sets(tuple(sets.values()), context):
            problems.add(message, FILE)
    return tuple(sets.values())


def sets_text(sets: Iterable[FixedSet]) -> str:
    """Return the text of sets.csv."""
    rows = ((fixed.name, fixed.use, fixed.topic, document) for fixed in sets for document in fixed.documents)
    return csv_text(tuple(COLUMNS), rows)


def _row_problems(first: FixedSet, row: Mapping[str, str], context: Context) -> Iterable[str]:
    """Yield the problems of a row, of a set that began as ``first``."""
    name, use, topic, document = (row[column] for column in COLUMNS)
    if not name:
        yield "set is empty: give every set a name"
    if use not in USES:
        yield f"set {quote(name)} has the use {quote(use)}, expected one of {quoted(USES)}"
    elif use != first.use:
        yield f"set {quote(name)} has two uses, {quote(first.use)} and {quote(use)}: a set has one"
    if topic != first.topic:
        yield f"set {quote(name)} has two topics, {quote(first.topic)} and {quote(topic)}: a set has one"
    if topic not in context.topics:
        yield f"set {quote(name)}: there is no topic {quote(topic)} in topics.jsonl"
    if document not in context.documents:
        yield f"set {quote(name)}: there is no document {quote(document)} in documents.jsonl"
    if document in first.documents:
        yield f"set {quote(name)} has document {quote(document)} twice"


def _set_problems(fixed: FixedSet, context: Context) -> Iterable[str]:
    """Yield the problems of a set whose rows are right."""
    settings = context.settings
    table = "qualification" if fixed.use == "qualification" else "assignment"
    size = getattr(settings, table).documents
    if len(fixed.documents) != size:
        yield f"set {quote(fixed.name)} has {len(fixed.documents)} documents, expected {size} ({table}.documents)"
    pairs = [(fixed.topic, document) for document in fixed.documents]
    if fixed.use == "gold":
        yield from _gold_problems(fixed, pairs, context)
    if fixed.use == "qualification" and not any(pair in context.gold for pair in pairs):
        yield f"qualification set {quote(fixed.name)} has no document with a grade in gold.csv: it needs one"


def _gold_problems(fixed: FixedSet, pairs: Sequence[Pair], context: Context) -> Iterable[str]:
    """Yield the pairs of a gold set without a grade; if all have one, why nobody could pass."""
    ungraded = [pair for pair in pairs if pair not in context.gold]
    yield from (f"gold set {quote(fixed.name)}: {describe_pair(pair)} has no grade in gold.csv" for pair in ungraded)
    if not ungraded and (reason := infeasible_reason([context.gold[pair].grade for pair in pairs], context.settings)):
        yield f"gold set {quote(fixed.name)} cannot be passed by anybody: {reason}"


def _shared_documents(sets: Iterable[FixedSet]) -> Iterable[tuple[str, str]]:
    """Yield the sets that share a document with another set, which a judge of both would meet twice."""
    first: dict[Pair, str] = {}
    for fixed in sets:
        for document in fixed.documents:
            pair = fixed.topic, document
            if first.setdefault(pair, fixed.name) != fixed.name:
                message = f"{describe_pair(pair)} is in set {quote(first[pair])} already: a judge would meet it twice"
                yield fixed.name, f"set {quote(fixed.name)}: {message}"


def _missing_sets(sets: tuple[FixedSet, ...], context: Context) -> Iterable[str]:
    """Yield why a campaign cannot begin: too few sets of a use."""
    needed = context.settings.assignment.gold_sets
    gold = sum(fixed.use == "gold" for fixed in sets)
    if gold < needed:
        sets_needed = f"{needed} gold set" + ("s" if needed > 1 else "")
        yield f"an assignment needs {sets_needed} (assignment.gold_sets), but there are {gold or 'none'}"
    if context.settings.qualification.required:
        yield from _missing_qualification([fixed for fixed in sets if fixed.use == "qualification"], context)


def _missing_qualification(sets: Sequence[FixedSet], context: Context) -> Iterable[str]:
    """Yield why judges cannot qualify: too few qualification sets, or too few graded documents in them."""
    settings = context.settings.qualification
    if len(sets) < settings.jobs:
        yield (
            f"judges must qualify on {settings.jobs} qualification sets (qualification.jobs), but there are "
            f"{len(sets) or 'none'}: add some, or set qualification.required = false"
        )
        return
    graded = sorted(sum((fixed.topic, name) in context.gold for name in fixed.documents) for fixed in sets)
    least = sum(graded[: settings.jobs])
    if least < settings.correct:
        yield (
            f"qualification.correct is {settings.correct}, but {settings.jobs} qualification sets may have only "
            f"{least} graded documents: nobody could pass"
        )


def infeasible_reason(grades: Iterable[int], settings: Settings) -> str:
    """Return why no judge can pass a gold set of these grades; empty if somebody can."""
    return _infeasible_reason(tuple(sorted(grades)), settings.gate)


@lru_cache(maxsize=10_000)
def _infeasible_reason(grades: tuple[int, ...], gate: Gate) -> str:
    from adjudge.studio.gates.designer import design

    return design(grades, gate).reason

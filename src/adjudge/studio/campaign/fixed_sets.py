"""Fixed sets: gold, qualification and monitoring, as sets.csv puts documents together. A row is a document of a set."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from adjudge.data.files import checked_content
from adjudge.data.formats import read_text_rows
from adjudge.errors import Problems, quote, quoted
from adjudge.studio.campaign.topics import csv_text, described
from adjudge.studio.records import USES, FixedSet, Gold, Pair
from adjudge.studio.settings import Settings

FILE = "sets.csv"
COLUMNS = {name: (name,) for name in ("set", "use", "topic", "document")}


class Known(NamedTuple):
    """What the other files say, which sets are held against."""

    topics: Container[str]
    documents: Container[str]
    gold: Mapping[Pair, Gold]
    settings: Settings


def read_sets(path: Path, known: Known, problems: Problems) -> tuple[FixedSet, ...]:
    """Return the sets of a file, and note what is wrong with them; those that are wrong are left out."""
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
        for what in _wrong_row(first, row, known):
            problems.add(what, FILE, line)
        sets[name] = first._replace(documents=(*first.documents, document))
    if len(problems.messages) == before:  # else what follows would say the same in other words
        for fixed in sets.values():
            for what in _wrong_set(fixed, known):
                problems.add(what, FILE, lines[fixed.name])
        for name, what in _met_twice(sets.values()):
            problems.add(what, FILE, lines[name])
        for what in _too_few(tuple(sets.values()), known):
            problems.add(what, FILE)
    return tuple(sets.values())


def sets_text(sets: Iterable[FixedSet]) -> str:
    """Return sets as the text of the campaign's file."""
    rows = ((one.name, one.use, one.topic, document) for one in sets for document in one.documents)
    return csv_text(tuple(COLUMNS), rows)


def _wrong_row(first: FixedSet, row: Mapping[str, str], known: Known) -> Iterable[str]:
    """Yield what is wrong with a row, of a set that began as ``first``."""
    name, use, topic, document = (row[column] for column in COLUMNS)
    if not name:
        yield "set is empty: give every set a name"
    if use not in USES:
        yield f"set {quote(name)} has the use {quote(use)}, expected one of {quoted(USES)}"
    elif use != first.use:
        yield f"set {quote(name)} has two uses, {quote(first.use)} and {quote(use)}: a set has one"
    if topic != first.topic:
        yield f"set {quote(name)} has two topics, {quote(first.topic)} and {quote(topic)}: a set has one"
    if topic not in known.topics:
        yield f"set {quote(name)}: there is no topic {quote(topic)} in topics.jsonl"
    if document not in known.documents:
        yield f"set {quote(name)}: there is no document {quote(document)} in documents.jsonl"
    if document in first.documents:
        yield f"set {quote(name)} has document {quote(document)} twice"


def _wrong_set(fixed: FixedSet, known: Known) -> Iterable[str]:
    """Yield what is wrong with a set whose rows are right."""
    settings = known.settings
    part = "qualification" if fixed.use == "qualification" else "assignment"
    wanted = getattr(settings, part).documents
    if len(fixed.documents) != wanted:
        yield f"set {quote(fixed.name)} has {len(fixed.documents)} documents, expected {wanted} ({part}.documents)"
    pairs = [(fixed.topic, document) for document in fixed.documents]
    ungraded = [pair for pair in pairs if pair not in known.gold]
    if fixed.use == "gold":
        for pair in ungraded:
            yield f"gold set {quote(fixed.name)}: {described(pair)} has no grade in gold.csv"
        if not ungraded:
            reason = infeasible(tuple(sorted(known.gold[pair].grade for pair in pairs)), settings)
            if reason:
                yield f"gold set {quote(fixed.name)} can be passed by nobody: {reason}"
    if fixed.use == "qualification" and len(ungraded) == len(pairs):
        yield f"qualification set {quote(fixed.name)} has no document with a grade in gold.csv: it needs one"


def _met_twice(sets: Iterable[FixedSet]) -> Iterable[tuple[str, str]]:
    """Yield sets that share a document, which a judge of both would meet twice."""
    first: dict[Pair, str] = {}
    for fixed in sets:
        for document in fixed.documents:
            pair = fixed.topic, document
            if first.setdefault(pair, fixed.name) != fixed.name:
                what = f"{described(pair)} is in set {quote(first[pair])} already: a judge would meet it twice"
                yield fixed.name, f"set {quote(fixed.name)}: {what}"


def _too_few(sets: tuple[FixedSet, ...], known: Known) -> Iterable[str]:
    """Yield what keeps a campaign from beginning: too few sets of a use."""
    asked, settings = known.settings.assignment.gold_sets, known.settings.qualification
    gold = sum(fixed.use == "gold" for fixed in sets)
    if gold < asked:
        wanted = f"{asked} gold set" + ("s" if asked > 1 else "")
        yield f"an assignment has {wanted} (assignment.gold_sets), and there are {gold or 'none'}"
    jobs = [fixed for fixed in sets if fixed.use == "qualification"]
    if settings.required and len(jobs) < settings.jobs:
        have = f"there are {len(jobs)}" if jobs else "there is none"
        yield (
            f"judges must qualify on {settings.jobs} qualification sets (qualification.jobs), and {have}: "
            "add some, or set qualification.required = false"
        )
    elif settings.required:
        graded = sorted(sum((fixed.topic, name) in known.gold for name in fixed.documents) for fixed in jobs)
        least = sum(graded[: settings.jobs])
        if least < settings.correct:
            yield (
                f"qualification.correct is {settings.correct}, but {settings.jobs} qualification sets may have only "
                f"{least} graded documents: nobody could pass"
            )


def infeasible(grades: tuple[int, ...], settings: Settings) -> str:
    """Return why no judge can pass a gold set of these grades, or nothing."""
    from adjudge.studio.gates.designer import design

    if grades not in (held := _designed.setdefault((settings.gate.ndcg, settings.gate.ndcg_of), {})):
        held[grades] = design(grades, settings.gate).reason
    return held[grades]


_designed: dict[tuple[float, str], dict[tuple[int, ...], str]] = {}

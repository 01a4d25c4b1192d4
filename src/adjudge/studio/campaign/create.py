"""A new campaign: topics, documents, a pool and gold are read in many formats and written to one folder, or none is."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adjudge.errors import CampaignProblems, InputError, Problems, UsageError, quote, quoted
from adjudge.studio.campaign import documents, fixed_sets, topics
from adjudge.studio.campaign import pool_and_gold as pool
from adjudge.studio.campaign.campaign import FILES, Campaign, load_campaign
from adjudge.studio.campaign.document_formats import SourceDocument, read_sources
from adjudge.studio.campaign.pool_and_gold import DEPTH, all_pairs, describe_pair, pool_runs, read_gold, read_pool
from adjudge.studio.campaign.topics import name_problem
from adjudge.studio.records import Document, FixedSet, Gold, Pair
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import About, Settings, settings_text

INSTRUCTIONS = """\
You see what somebody wants to know, a topic, and some documents that a search might return. Read the topic first: the \
query in large letters, then the description and the narrative, which say what counts.

For each document say whether it is relevant: whether somebody who asked this would find at least a part of the answer \
in it. Judge the document itself, not its look, its age or whether you like it. A page that only repeats the words of \
the query is not relevant. Where you truly cannot tell, say so.

Then rank the documents of the set from the most to the least useful, each with a rank of its own. A relevant document \
always stands above one that is not.

Take the time to read. Some sets have known answers; you see them, with the reasons, after your work is complete. If \
you think that a known answer is wrong, contest it and a person will look."""


STUDIO_FILES = ("studio.db", "key")  # files of the studio, which are never changed here
NOTHING = "nothing was written"


@dataclass(frozen=True)
class Sources:
    """The files that a new campaign is made of."""

    topics: Path
    documents: Path
    pool: Path | None = None
    runs: Sequence[Path] = ()
    gold: Path | None = None
    depth: int = DEPTH


@dataclass(frozen=True)
class Created:
    """A new campaign, and notes on how it was made."""

    campaign: Campaign
    notes: tuple[str, ...]


def new_campaign(
    folder: str | os.PathLike[str],
    sources: Sources,
    *,
    name: str | None = None,
    seed: int = 0,
    force: bool = False,
    settings: Settings | None = None,
) -> Created:
    """Write a campaign's folder, completely or not at all, and load it.

    Parameters
    ----------
    folder
        Where the campaign is written.
    sources
        The files of topics, documents, pool or runs, and gold.
    name
        The name of the campaign; without one, the name of the folder.
    seed
        The seed with which gold and qualification sets are composed.
    force
        Whether files of an earlier campaign in the folder are replaced. Judgments stay.
    settings
        The settings; without them, the defaults.

    Returns
    -------
    Created
        The campaign, and notes on what was left out or changed.
    """
    if sources.pool is not None and sources.runs:
        raise UsageError("give a pool or runs, not both: a pool is made of the runs")
    if sources.depth < 1:
        raise UsageError(f"a depth of {sources.depth} pools nothing: give 1 or more")
    path = Path(folder)
    notes: list[str] = []
    if force and any((path / file).exists() for file in STUDIO_FILES):
        notes.append(f"{path} contains judgments; they stay, and are matched with topics and documents by name")
    base = settings or Settings()
    words = {"instructions": base.campaign.instructions or INSTRUCTIONS, "name": name or _title(path, base.campaign)}
    titled = base.model_copy(update={"campaign": base.campaign.model_copy(update=words)})
    place_files(path, lambda staging: _write(staging, sources, titled, seed, notes), force)
    return Created(load_campaign(path), tuple(notes))


def place_files(path: Path, write: Callable[[Path], None], force: bool) -> None:
    """Let ``write`` fill a temporary folder, check it as a campaign, and only then move its files to ``path``."""
    _check_target(path, force)
    target = path.resolve()
    staging = target.parent / f".{target.name}-{secrets.token_hex(4)}"
    if target.exists():  # so that both are on the same disk
        staging = target / f".new-{secrets.token_hex(4)}"
    try:
        staging.mkdir(parents=True)
        write(staging)
        _check(staging)
        if target.exists():
            for name in FILES:
                os.replace(staging / name, target / name)
        else:
            staging.rename(target)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(path)) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _check_target(path: Path, force: bool) -> None:
    """Refuse a path to which no campaign can be written."""
    present = [name for name in FILES if (path / name).exists()]
    if present and not force:
        raise InputError(f"contains {quoted(present)}: choose another folder, or overwrite with --force", str(path))
    if path.exists() and not path.is_dir():
        raise InputError("is a file: a campaign needs a folder", str(path))
    if is_served(path):
        raise InputError("is being served: stop the studio before its files are overwritten", str(path))


def is_served(folder: Path) -> bool:
    """Return whether a studio or a writing command has a campaign open, by the lock beside its database."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - a system without such locks
        return False
    for lock in folder.glob("*.lock"):
        with contextlib.suppress(IsADirectoryError, PermissionError), open(lock, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
    return False


def _check(staging: Path) -> None:
    """Refuse a campaign that cannot be loaded, before its files are moved."""
    try:
        load_campaign(staging)
    except CampaignProblems as error:
        raise CampaignProblems(error.problems, NOTHING) from error


def _title(folder: Path, about: About) -> str:
    """Return the name of a campaign without a name: that of its folder."""
    return folder.resolve().name[:120] if about.name == About().name else about.name


def _write(staging: Path, sources: Sources, settings: Settings, seed: int, notes: list[str]) -> None:
    """Read all sources and write all files; raises all problems at once."""
    problems = Problems()
    topics_by_name = topics.read_topics(sources.topics, problems)
    source_documents = read_sources(sources.documents, settings.documents.most_bytes, problems, notes)
    names = _write_documents(staging / documents.FILE, source_documents, settings.documents.most_bytes, problems)
    if not names and not problems.messages:
        problems.add("there are no documents in it", str(sources.documents))
    gold, lines = ({}, {}) if sources.gold is None else read_gold(sources.gold, problems)
    _note_unknown(str(sources.gold), lines.items(), topics_by_name, names, problems)
    listed = {} if sources.pool is None else read_pool(sources.pool, problems)
    _note_unknown(str(sources.pool), listed.items(), topics_by_name, names, problems)
    problems.refuse(NOTHING)
    pairs = list(listed) if sources.pool is not None else _pairs(sources, topics_by_name, names, notes)
    if sources.runs and (missing := gold.keys() - set(pairs)):
        notes.append(f"{len(missing):,} graded documents are in no run; they are still used as gold")
    sets, unmade = _compose_sets(gold, settings, seed, pairs)
    notes.extend(unmade)
    texts = {
        SETTINGS_FILE: settings_text(_attainable(settings, sets, gold, notes)),
        topics.FILE: topics.topics_text(topics_by_name.values()),
        pool.POOL_FILE: pool.pool_text(pairs),
        pool.GOLD_FILE: pool.gold_text(gold),
        fixed_sets.FILE: fixed_sets.sets_text(sets),
    }
    for name, text in texts.items():
        (staging / name).write_text(text, encoding="utf8", newline="")


def _write_documents(
    path: Path, sources: Iterable[SourceDocument], most_bytes: int, problems: Problems
) -> dict[str, None]:
    """Write documents as they are read, and return their names in order."""
    names: dict[str, None] = {}
    with open(path, "w", encoding="utf8", newline="") as file:
        for document, source, line in sources:
            problem = _document_problem(document, names, most_bytes)
            if problem:
                problems.add(problem, source, line)
            else:
                names[document.name] = None
                file.write(documents.document_line(document))
    return names


def _document_problem(document: Document, names: Container[str], most_bytes: int) -> str | None:
    """Return why a document cannot be added to those with these names; None if it can."""
    if problem := name_problem(document.name, "document"):
        return problem
    if document.name in names:
        return f"document {quote(document.name)} is there twice: rename one"
    if not document.content.strip():
        return f"document {quote(document.name)} is empty"
    size = len(document.content.encode())
    if size > most_bytes:
        return f"document {quote(document.name)} has {size:,} bytes, expected at most {most_bytes:,}"
    return None


def _pairs(sources: Sources, topic_names: Iterable[str], names: dict[str, None], notes: list[str]) -> list[Pair]:
    """Return the pairs to judge: those of the runs, or all."""
    if not sources.runs:
        return all_pairs(topic_names, list(names))
    known_topics = set(topic_names)
    pooled = pool_runs(sources.runs, sources.depth)
    usable = [(topic, document) for topic, document in pooled if topic in known_topics and document in names]
    if len(usable) < len(pooled):
        first = next(pair for pair in pooled if pair[0] not in known_topics or pair[1] not in names)
        notes.append(
            f"{len(pooled) - len(usable):,} of {len(pooled):,} pooled pairs have unknown topics or documents and are "
            f"left out (the first is {describe_pair(first)})"
        )
    return usable


def _compose_sets(
    gold: dict[Pair, Gold], settings: Settings, seed: int, pairs: list[Pair]
) -> tuple[list[FixedSet], list[str]]:
    """Return gold and qualification sets, and notes on those that could not be made."""
    if not gold:
        return [], []
    from adjudge.studio.gates.designer import compose_sets

    return compose_sets(gold, settings, np.random.default_rng(seed), pairs)


def _attainable(settings: Settings, sets: Sequence[FixedSet], gold: dict[Pair, Gold], notes: list[str]) -> Settings:
    """Return settings that need no more gold than there is, and note the changes."""
    gold_sets = sum(fixed.use == "gold" for fixed in sets)
    if settings.assignment.gold_sets > gold_sets:
        notes.append(
            f"there are {gold_sets or 'no'} gold sets: assignment.gold_sets is set to {gold_sets}"
            + ("" if gold_sets else ", so that only the time of the work is checked")
        )
        assignment = settings.assignment.model_copy(update={"gold_sets": gold_sets})
        settings = settings.model_copy(update={"assignment": assignment})
    if settings.qualification.required and not _can_qualify(settings, sets, gold):
        notes.append("there are too few qualification sets: qualification.required is set to false")
        optional = settings.qualification.model_copy(update={"required": False})
        settings = settings.model_copy(update={"qualification": optional})
    return settings


def _can_qualify(settings: Settings, sets: Sequence[FixedSet], gold: dict[Pair, Gold]) -> bool:
    """Return whether there are enough qualification sets, with enough graded documents."""
    jobs = [fixed for fixed in sets if fixed.use == "qualification"]
    graded = sorted(sum((fixed.topic, name) in gold for name in fixed.documents) for fixed in jobs)
    needed = settings.qualification
    return len(jobs) >= needed.jobs and sum(graded[: needed.jobs]) >= needed.correct


def _note_unknown(
    file: str,
    pairs: Iterable[tuple[Pair, int]],
    topic_names: Iterable[str],
    names: dict[str, None],
    problems: Problems,
) -> None:
    """Note pairs of unknown topics or documents; a source without any topics or documents is noted elsewhere."""
    topics = set(topic_names)
    for (topic, document), line in pairs:
        if topics and topic not in topics:
            problems.add(f"there is no topic {quote(topic)} among the topics", file, line)
        if names and document not in names:
            problems.add(f"there is no document {quote(document)} among the documents", file, line)

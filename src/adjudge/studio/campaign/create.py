"""A new campaign: topics, documents, a pool and gold from files of any usual format into one folder, or none of it."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adjudge.errors import CampaignProblems, InputError, Problems, UsageError, quote, quoted
from adjudge.studio.campaign import documents, fixed_sets, topics
from adjudge.studio.campaign import gold_file as gold
from adjudge.studio.campaign import topics as pool
from adjudge.studio.campaign.campaign import FILES, Campaign, load_campaign
from adjudge.studio.campaign.document_formats import Found, read_sources
from adjudge.studio.campaign.topics import DEPTH, all_pairs, described, name_problem, pooled, read_pool
from adjudge.studio.records import FixedSet, Gold, Pair
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import About, Settings, settings_text

# What judges read before they begin, until a lead writes something better: plain paragraphs, no markup.

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


KEPT = ("studio.db", "key")  # what the studio wrote, which nothing here touches
NOTHING = "nothing was written"


@dataclass(frozen=True)
class Sources:
    """Where a new campaign comes from."""

    topics: Path
    documents: Path
    pool: Path | None = None
    runs: Sequence[Path] = ()
    gold: Path | None = None
    depth: int = DEPTH


@dataclass(frozen=True)
class Created:
    """A new campaign, and what was worth a note while it was made."""

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
    """Write a campaign's folder, whole or not at all, and load it."""
    if sources.pool is not None and sources.runs:
        raise UsageError("give a pool or runs, not both: runs are what a pool is made of")
    if sources.depth < 1:
        raise UsageError(f"a depth of {sources.depth} pools nothing: give 1 or more")
    place = Path(folder)
    notes: list[str] = []
    if force and any((place / kept).exists() for kept in KEPT):
        notes.append(f"{place} holds judgments already; they are kept, and belong to topics and documents by name")
    base = settings or Settings()
    words = {"instructions": base.campaign.instructions or INSTRUCTIONS, "name": name or _title(place, base.campaign)}
    titled = base.model_copy(update={"campaign": base.campaign.model_copy(update=words)})
    place_files(place, lambda staging: _write(staging, sources, titled, seed, notes), force)
    return Created(load_campaign(place), tuple(notes))


def place_files(place: Path, write: Callable[[Path], None], force: bool) -> None:
    """Let ``write`` fill a folder aside, check it as a campaign, and only then put its files in place."""
    there = [name for name in FILES if (place / name).exists()]
    if there and not force:
        raise InputError(f"holds {quoted(there)} already: name another folder, or overwrite with --force", str(place))
    if place.exists() and not place.is_dir():
        raise InputError("is a file: a campaign needs a folder", str(place))
    if served(place):
        raise InputError("is being served: stop the studio before its files are overwritten", str(place))
    target = place.resolve()
    staging = target.parent / f".{target.name}-{secrets.token_hex(4)}"
    if target.exists():  # on the same disk, whatever is mounted where
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
        raise InputError(f"cannot be written: {error.strerror}", str(place)) from error
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def served(place: Path) -> bool:
    """Return whether a studio, or a command that writes, has a campaign open: it holds a lock beside its database."""
    try:
        import fcntl
    except ImportError:  # pragma: no cover - a system without such locks
        return False
    for lock in place.glob("*.lock"):
        with contextlib.suppress(IsADirectoryError, PermissionError), open(lock, "rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
    return False


def _check(staging: Path) -> None:
    """Refuse a campaign that could not be loaded, while it is still aside."""
    try:
        load_campaign(staging)
    except CampaignProblems as error:
        raise CampaignProblems(error.problems, NOTHING) from error


def _title(place: Path, about: About) -> str:
    """Return what a campaign is called unless somebody says: as its folder."""
    return place.resolve().name[:120] if about.name == About().name else about.name


def _write(staging: Path, sources: Sources, settings: Settings, seed: int, notes: list[str]) -> None:
    """Read all sources and write all files; raises every problem at once."""
    problems = Problems()
    known_topics = topics.read_topics(sources.topics, problems)
    found = read_sources(sources.documents, settings.documents.most_bytes, problems, notes)
    names = _write_documents(staging / documents.FILE, found, settings.documents.most_bytes, problems)
    if not names and not problems.messages:
        problems.add("there are no documents in it", str(sources.documents))
    known_gold, lines = ({}, {}) if sources.gold is None else gold.read_gold(sources.gold, problems)
    _note_unknown(str(sources.gold), lines.items(), known_topics, names, problems)
    listed = {} if sources.pool is None else read_pool(sources.pool, problems)
    _note_unknown(str(sources.pool), listed.items(), known_topics, names, problems)
    problems.refuse(NOTHING)
    pairs = list(listed) if sources.pool is not None else _pairs(sources, known_topics, names, notes)
    missing = [pair for pair in known_gold if pair not in set(pairs)] if sources.runs else []
    if missing:
        notes.append(f"{len(missing):,} graded documents are in no run; they are used as gold all the same")
    sets, refused = _composed(known_gold, settings, seed, pairs)
    notes.extend(refused)
    texts = {
        SETTINGS_FILE: settings_text(_attainable(settings, sets, known_gold, notes)),
        topics.FILE: topics.topics_text(known_topics.values()),
        pool.POOL_FILE: pool.pool_text(pairs),
        gold.FILE: gold.gold_text(known_gold),
        fixed_sets.FILE: fixed_sets.sets_text(sets),
    }
    for name, text in texts.items():
        (staging / name).write_text(text, encoding="utf8", newline="")


def _write_documents(path: Path, found: Iterable[Found], most_bytes: int, problems: Problems) -> dict[str, None]:
    """Write documents as they come, and return their names in order."""
    names: dict[str, None] = {}
    with open(path, "w", encoding="utf8", newline="") as file:
        for document, source, line in found:
            size = len(document.content.encode())
            what = name_problem(document.name, "document")
            if what is None and document.name in names:
                what = f"document {quote(document.name)} is there twice: rename one"
            if what is None and not document.content.strip():
                what = f"document {quote(document.name)} is empty"
            if what is None and size > most_bytes:
                what = f"document {quote(document.name)} has {size:,} bytes, expected at most {most_bytes:,}"
            if what:
                problems.add(what, source, line)
            else:
                names[document.name] = None
                file.write(documents.document_line(document))
    return names


def _pairs(sources: Sources, known: Iterable[str], names: dict[str, None], notes: list[str]) -> list[Pair]:
    """Return the pairs to judge, from runs or simply all."""
    if not sources.runs:
        return all_pairs(known, list(names))
    topics_known = set(known)
    found = pooled(sources.runs, sources.depth)
    kept = [(topic, document) for topic, document in found if topic in topics_known and document in names]
    if len(kept) < len(found):
        gone = next(pair for pair in found if pair[0] not in topics_known or pair[1] not in names)
        notes.append(
            f"{len(found) - len(kept):,} of {len(found):,} pooled pairs are of unknown topics or documents, and left "
            f"out (the first is {described(gone)})"
        )
    return kept


def _composed(
    known: dict[Pair, Gold], settings: Settings, seed: int, pairs: list[Pair]
) -> tuple[list[FixedSet], list[str]]:
    """Return gold and qualification sets, and which could not be made and why."""
    if not known:
        return [], []
    from adjudge.studio.gates.designer import compose_sets

    return compose_sets(known, settings, np.random.default_rng(seed), pairs)


def _attainable(settings: Settings, sets: Sequence[FixedSet], known: dict[Pair, Gold], notes: list[str]) -> Settings:
    """Return settings that ask for no more gold than there is, and note what they no longer ask."""
    gold_sets = sum(one.use == "gold" for one in sets)
    jobs = [one for one in sets if one.use == "qualification"]
    if settings.assignment.gold_sets > gold_sets:
        notes.append(
            f"there are {gold_sets or 'no'} gold sets: assignment.gold_sets is set to {gold_sets}"
            + ("" if gold_sets else ", so that only the time of the work is checked")
        )
        assignment = settings.assignment.model_copy(update={"gold_sets": gold_sets})
        settings = settings.model_copy(update={"assignment": assignment})
    asked = settings.qualification
    graded = sorted(sum((one.topic, name) in known for name in one.documents) for one in jobs)
    if asked.required and (len(jobs) < asked.jobs or sum(graded[: asked.jobs]) < asked.correct):
        notes.append("there are too few qualification sets: qualification.required is set to false")
        optional = asked.model_copy(update={"required": False})
        settings = settings.model_copy(update={"qualification": optional})
    return settings


def _note_unknown(
    file: str,
    pairs: Iterable[tuple[Pair, int]],
    known: Iterable[str],
    names: dict[str, None],
    problems: Problems,
) -> None:
    """Note pairs of topics or documents that there are not, unless there are none at all, which is said already."""
    held = set(known)
    for (topic, document), line in pairs:
        if held and topic not in held:
            problems.add(f"there is no topic {quote(topic)} among the topics", file, line)
        if names and document not in names:
            problems.add(f"there is no document {quote(document)} among the documents", file, line)

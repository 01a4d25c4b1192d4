"""A campaign: its folder is read and checked, and a new one is made of topics, documents, a pool and gold.

The folder contains campaign.toml, topics.jsonl, documents.jsonl, pool.csv, gold.csv and sets.csv; the studio adds its
database and its key. Every problem is listed at once, with file and line. A new folder is written completely or not at
all; its sources may have many formats.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from adjudge.errors import CampaignProblems, InputError, Problems, UsageError, quote, quoted
from adjudge.studio.campaign_files import (
    DEPTH,
    GOLD_FILE,
    POOL_FILE,
    SETS_FILE,
    TOPICS_FILE,
    SetContext,
    all_pairs,
    describe_pair,
    fewest_graded,
    gold_text,
    name_problem,
    pool_runs,
    pool_text,
    read_gold,
    read_pool,
    read_sets,
    read_topics,
    sets_text,
    topics_text,
)
from adjudge.studio.documents import (
    DOCUMENTS_FILE,
    Documents,
    SourceDocument,
    document_line,
    read_documents,
    read_sources,
)
from adjudge.studio.records import Document, FixedSet, Gold, Pair, Topic
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import About, Settings, load_settings, settings_text
from adjudge.studio.staging import finish

FILES = (SETTINGS_FILE, TOPICS_FILE, DOCUMENTS_FILE, POOL_FILE, GOLD_FILE, SETS_FILE)
ENOUGH = 10  # assignments that a judge should be able to take before the gold sets are used up
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
class Campaign:
    """The files of a campaign: what is to be judged, the gold, and the settings."""

    folder: Path
    settings: Settings
    topics: Mapping[str, Topic]
    pool: tuple[Pair, ...]  # the pairs to judge, without those of fixed sets
    gold: Mapping[Pair, Gold]
    sets: tuple[FixedSet, ...]
    documents: Documents
    warnings: tuple[str, ...] = ()  # one sentence each
    drawn: tuple[Pair, ...] = ()  # the graded pairs of which gold sets are drawn, if they are not fixed


def load_campaign(folder: str | os.PathLike[str], before: Campaign | None = None) -> Campaign:
    """Read and check a campaign's folder.

    Parameters
    ----------
    folder
        The folder with campaign.toml, topics.jsonl, documents.jsonl, pool.csv, gold.csv and sets.csv.
    before
        The campaign with the same documents.jsonl, whose documents were checked already; they are checked again if
        their limits have changed.

    Returns
    -------
    Campaign
        The campaign; documents stay on the disk and are read when they are needed.

    Raises
    ------
    CampaignProblems
        All problems of all files at once, each with its file and line.
    """
    path = Path(folder)
    if not path.is_dir():
        raise InputError("there is no such folder: make a campaign with `adjudge campaign new`", str(folder))
    finish(path)
    problems = Problems()
    settings = load_settings(path, problems)
    topics = read_topics(path / TOPICS_FILE, problems, TOPICS_FILE)
    if before is not None and before.settings.documents == settings.documents:
        documents: Documents | None = before.documents
    else:
        documents = read_documents(path / DOCUMENTS_FILE, settings.documents.most_bytes, problems)
    pool = read_pool(path / POOL_FILE, problems, POOL_FILE)
    gold, lines = read_gold(path / GOLD_FILE, problems, GOLD_FILE)
    topic_names: Container[str] = topics or _Everything()
    document_names: Container[str] = documents if documents is not None else _Everything()
    for file, pairs in ((POOL_FILE, pool), (GOLD_FILE, lines)):
        _note_unknown(file, pairs, topic_names, document_names, problems, f"in {TOPICS_FILE}", f"in {DOCUMENTS_FILE}")
    context = SetContext(topic_names, document_names, gold, settings)
    sets = read_sets(path / SETS_FILE, context, problems)
    drawn = _drawable(gold, sets, settings, problems)
    left = _without_fixed(pool, sets, drawn)
    if not left and not problems.messages:
        problems.add("there is nothing to judge: every pair is in a set of sets.csv, or there is none", POOL_FILE)
    problems.refuse(str(folder))
    assert documents is not None  # otherwise there was a problem
    warnings = advice(left, gold, sets, settings, drawn)
    return Campaign(path, settings, topics, left, gold, sets, documents, warnings, drawn)


def _drawable(
    gold: Mapping[Pair, Gold], sets: Sequence[FixedSet], settings: Settings, problems: Problems
) -> tuple[Pair, ...]:
    """Return the graded pairs of which gold sets are drawn, and note if they are too few."""
    if not settings.assignment.draw_gold:
        return ()
    from adjudge.studio.gate_designer import drawable_gold

    drawn = drawable_gold(gold, sets, settings)
    if drawn_sets(drawn, settings) < settings.assignment.gold_sets:
        problems.add(
            f"assignment.draw_gold is true, but gold sets of {settings.assignment.documents} that somebody can pass "
            f"cannot be drawn from {len(gold):,} graded documents: grade more documents of a topic",
            GOLD_FILE,
        )
    return drawn


def drawn_sets(drawn: Iterable[Pair], settings: Settings) -> int:
    """Return how many gold sets without a common document can be drawn, by the number of documents of each topic."""
    return sum(n // settings.assignment.documents for n in Counter(topic for topic, _ in drawn).values())


def _without_fixed(pool: Iterable[Pair], sets: Iterable[FixedSet], drawn: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the pairs of a pool that are in no fixed set, and that no gold set is drawn from."""
    fixed = {pair for part in sets for pair in part.pairs} | set(drawn)
    return tuple(pair for pair in pool if pair not in fixed)


class _Everything:
    """Contains every name: it stands for a file that cannot be read, so that this is noted once and not per line."""

    def __contains__(self, name: object) -> bool:
        return True


def _note_unknown(
    file: str,
    pairs: Mapping[Pair, int],
    topics: Container[str],
    documents: Container[str],
    problems: Problems,
    in_topics: str = "among the topics",
    in_documents: str = "among the documents",
) -> None:
    """Note the pairs of unknown topics or documents."""
    for (topic, document), line in pairs.items():
        if topic not in topics:
            problems.add(f"there is no topic {quote(topic)} {in_topics}", file, line)
        if document not in documents:
            problems.add(f"there is no document {quote(document)} {in_documents}", file, line)


@dataclass(frozen=True)
class Workload:
    """The amount of work, if every item gets ``redundancy.judgments`` judgments."""

    sets: int  # of the pool, for one judgment per item
    judgments: int
    assignments: int


def workload(pool: Collection[Pair], settings: Settings) -> Workload:
    """Return the amount of work of a pool."""
    each, k = settings.assignment, settings.redundancy.judgments
    sets = sum(-(-count // each.documents) for count in Counter(topic for topic, _ in pool).values())
    assignments = -(-sets * k // max(each.sets - each.gold_sets, 1))
    return Workload(sets, len(pool) * k, assignments)


def advice(
    pool: Sequence[Pair],
    gold: Mapping[Pair, Gold],
    sets: Sequence[FixedSet],
    settings: Settings,
    drawn: Sequence[Pair] = (),
) -> tuple[str, ...]:
    """Return what a lead should know about a campaign without problems, one sentence each."""
    recurring = _recurring_gold(pool, drawn, settings) if drawn else ()
    parts = (_few_gold(pool, sets, settings, drawn), recurring, _uneven(pool, settings), _idle_gold(gold, sets, drawn))
    return tuple(sentence for part in parts for sentence in part)


def _few_gold(
    pool: Sequence[Pair], sets: Sequence[FixedSet], settings: Settings, drawn: Sequence[Pair]
) -> Iterable[str]:
    """Yield a warning if there are too few gold sets, since a judge gets each document only once."""
    needed = settings.assignment.gold_sets
    gold = drawn_sets(drawn, settings) if drawn else sum(fixed.use == "gold" for fixed in sets)
    source = "gold.csv: with documents for" if drawn else "sets.csv: with"
    if not needed or not pool:
        return
    work = workload(pool, settings)
    each = gold // needed  # assignments that a judge can take
    alone = -(-work.assignments // settings.redundancy.judgments)  # assignments of a judge who judges everything
    if each and each < min(alone, ENOUGH):
        yield (
            f"{source} {gold:,} gold sets a judge can take {each:,} of the {work.assignments:,} assignments, so "
            f"at least {-(-work.assignments // each):,} judges are needed: grade more documents for fewer judges"
        )


def _recurring_gold(pool: Sequence[Pair], drawn: Sequence[Pair], settings: Settings) -> Iterable[str]:
    """Yield a warning if a graded document is shown to more judges than another one, which judges could compare."""
    each, k = settings.assignment, settings.redundancy.judgments
    slots = workload(pool, settings).assignments * each.gold_sets * each.documents
    if slots > (k + 0.5) * len(drawn):
        yield (
            f"gold.csv: a graded document is shown to about {slots / len(drawn):.0f} judges, any other to {k}, so that "
            f"judges who compare what they saw can tell which are gold: grade {-(-slots // k) - len(drawn):,} more "
            "documents"
        )


def _uneven(pool: Sequence[Pair], settings: Settings) -> Iterable[str]:
    """Yield a warning about topics whose documents do not fill sets."""
    size = settings.assignment.documents
    uneven = [(topic, n) for topic, n in Counter(topic for topic, _ in pool).items() if n % size]
    if uneven:
        named = ", ".join(f"{quote(topic)} has {n}" for topic, n in uneven[:3]) + (", ..." if len(uneven) > 3 else "")
        topics = "a topic has" if len(uneven) == 1 else f"{len(uneven):,} topics have"
        yield (
            f"pool.csv: {topics} a number of documents to judge that is not a multiple of {size}, the size of a set "
            f"({named}): the last set is not full"
        )


def _idle_gold(gold: Mapping[Pair, Gold], sets: Sequence[FixedSet], drawn: Sequence[Pair]) -> Iterable[str]:
    """Yield a warning about gold that is in no set and cannot be drawn."""
    used = {pair for fixed in sets for pair in fixed.pairs} | set(drawn)
    idle = [pair for pair in gold if pair not in used]
    if idle:
        topic, document = idle[0]
        where = "in no gold set" if drawn else "in no set of sets.csv"
        yield (
            f"gold.csv: {len(idle):,} of {len(gold):,} graded documents are {where} and are judged like "
            f"ordinary documents, if at all (the first is {quote(document)} of topic {quote(topic)})"
        )


def summary(campaign: Campaign) -> list[tuple[str, str]]:
    """Return the contents of a campaign and its amount of work, as rows of (name, figures)."""
    settings = campaign.settings
    work = workload(campaign.pool, settings)
    uses = Counter(fixed.use for fixed in campaign.sets)
    each, k = settings.assignment, settings.redundancy
    times = f"{k.judgments} of each" if not k.adaptive else f"up to {k.judgments} of each; adaptive, so mostly fewer"
    graded = Counter(gold.grade for gold in campaign.gold.values())
    return [
        ("topics", f"{len(campaign.topics):,}"),
        ("documents", f"{len(campaign.documents):,}"),
        ("pairs to judge", f"{len(campaign.pool):,}, in {work.sets:,} sets of {each.documents}"),
        ("judgments needed", f"{work.judgments:,} ({times})"),
        ("assignments needed", f"{work.assignments:,} ({each.sets} sets each, {each.gold_sets} of them gold)"),
        ("graded documents", f"{len(campaign.gold):,}" + _grades(graded)),
        ("gold sets", _gold_sets_text(campaign) if campaign.drawn else f"{uses['gold']:,}"),
        (
            "qualification sets",
            f"{uses['qualification']:,}" + ("" if settings.qualification.required else ", not required"),
        ),
        ("monitoring sets", f"{uses['monitoring']:,}"),
    ]


def _gold_sets_text(campaign: Campaign) -> str:
    """Return of what gold sets are drawn."""
    topics = len({topic for topic, _ in campaign.drawn})
    return f"drawn for each judge from {len(campaign.drawn):,} graded documents of {topics:,} topics"


def _grades(graded: Counter[int]) -> str:
    """Return the number of documents per grade, in parentheses."""
    parts = [f"{count:,} of grade {grade}" for grade, count in sorted(graded.items())]
    return f" ({', '.join(parts)})" if parts else ""


# A new campaign


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


def clone_files(campaign: Campaign, target: Path, name: str | None = None) -> Created:
    """Copy the files of a campaign to a new folder, completely or not at all, and load it.

    Parameters
    ----------
    campaign
        The campaign whose settings, topics, documents, pool, gold and sets are copied.
    target
        The new folder.
    name
        The name of the new campaign; without one, the name of its folder.
    """
    if target.is_dir() and any(target.iterdir()):
        raise InputError("is not empty: choose a new folder", str(target))
    settings, default, notes = campaign.settings, Settings().store.database, list[str]()
    if settings.store.database != default:  # two campaigns never share a database
        notes.append(f"store.database is set to {quote(default)}, a new database in {target}")
    if settings.webhooks.urls:  # their receivers check signatures with the key of the original
        notes.append(
            "webhooks.urls is empty: write the addresses into campaign.toml if they are meant for the clone too"
        )
    about = settings.campaign.model_copy(update={"name": name or target.resolve().name[:120]})
    store = settings.store.model_copy(update={"database": default})
    webhooks = settings.webhooks.model_copy(update={"urls": ()})
    text = settings_text(settings.model_copy(update={"campaign": about, "store": store, "webhooks": webhooks}))

    def write(staging: Path) -> None:
        for file in FILES:
            if (campaign.folder / file).exists():
                shutil.copyfile(campaign.folder / file, staging / file)
        (staging / SETTINGS_FILE).write_text(text, encoding="utf8", newline="")

    place_files(target, write, force=False)
    return Created(load_campaign(target), tuple(notes))


def place_files(path: Path, write: Callable[[Path], None], force: bool) -> None:
    """Let ``write`` fill a temporary folder, check it as a campaign, and only then move its files to ``path``."""
    _check_target(path, force)
    target = path.resolve()
    staging = target.parent / f".{target.name}-{secrets.token_hex(4)}"
    if target.exists():  # so that both are on the same disk
        staging = target / f".new-{secrets.token_hex(4)}"
    try:
        staging.mkdir(mode=0o700, parents=True)
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
    topics_by_name = read_topics(sources.topics, problems)
    source_documents = read_sources(sources.documents, settings.documents.most_bytes, problems, notes)
    names = _write_documents(staging / DOCUMENTS_FILE, source_documents, settings.documents.most_bytes, problems)
    if not names and not problems.messages:
        problems.add("there are no documents in it", str(sources.documents))
    gold, listed = _read_pairs(sources, topics_by_name or _Everything(), names or _Everything(), problems)
    problems.refuse(NOTHING)
    pairs = list(listed) if sources.pool is not None else _pairs(sources, topics_by_name, names, notes)
    if sources.runs and (missing := gold.keys() - set(pairs)):
        notes.append(f"{len(missing):,} graded documents are in no run; they are still used as gold")
    settings, sets, unmade = _compose_sets(gold, settings, seed, pairs)
    notes.extend(unmade)
    texts = {
        SETTINGS_FILE: settings_text(_attainable(settings, sets, gold, notes)),
        TOPICS_FILE: topics_text(topics_by_name.values()),
        POOL_FILE: pool_text(pairs),
        GOLD_FILE: gold_text(gold),
        SETS_FILE: sets_text(sets),
    }
    for name, text in texts.items():
        (staging / name).write_text(text, encoding="utf8", newline="")


def _read_pairs(
    sources: Sources, topics: Container[str], documents: Container[str], problems: Problems
) -> tuple[dict[Pair, Gold], dict[Pair, int]]:
    """Return the gold and the listed pool of the sources, and note pairs of unknown topics or documents."""
    gold, lines = ({}, {}) if sources.gold is None else read_gold(sources.gold, problems)
    _note_unknown(str(sources.gold), lines, topics, documents, problems)
    listed = {} if sources.pool is None else read_pool(sources.pool, problems)
    _note_unknown(str(sources.pool), listed, topics, documents, problems)
    return gold, listed


def _write_documents(
    path: Path, sources: Iterable[SourceDocument], most_bytes: int, problems: Problems, present: Iterable[str] = ()
) -> dict[str, None]:
    """Write documents as they are read, after those that are ``present``, and return all names in order."""
    names = dict.fromkeys(present)
    with open(path, "a", encoding="utf8", newline="") as file:
        for document, source, line in sources:
            problem = _document_problem(document, names, most_bytes)
            if problem:
                problems.add(problem, source, line)
            else:
                names[document.name] = None
                file.write(document_line(document))
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
) -> tuple[Settings, list[FixedSet], list[str]]:
    """Return gold and qualification sets, and notes on those that could not be made.

    If there is enough gold, the settings say that gold sets are drawn, and there are qualification sets only.
    """
    if not gold:
        return settings, [], []
    from adjudge.studio.gate_designer import compose_sets

    drawing, fixed = _with_drawn_gold(settings, True), _with_drawn_gold(settings, False)
    sets, notes = compose_sets(gold, drawing, np.random.default_rng(seed), pairs)
    if _enough_to_draw(gold, sets, settings):
        return drawing, sets, [*notes, "gold sets are drawn separately for each judge (assignment.draw_gold is true)"]
    sets, notes = compose_sets(gold, fixed, np.random.default_rng(seed), pairs)
    if settings.assignment.draw_gold:
        notes.append("there are too few graded documents to draw gold sets: assignment.draw_gold is set to false")
    return fixed, sets, notes


def _with_drawn_gold(settings: Settings, drawn: bool) -> Settings:
    """Return settings by which gold sets are drawn, or fixed."""
    assignment = settings.assignment.model_copy(update={"draw_gold": drawn})
    return settings.model_copy(update={"assignment": assignment})


def _enough_to_draw(gold: Mapping[Pair, Gold], sets: Sequence[FixedSet], settings: Settings) -> bool:
    """Return whether gold sets are drawn: topics with gold have twice as many documents as a set, on average.

    If the settings say whether they are drawn, that counts.
    """
    each = settings.assignment
    if "draw_gold" in each.model_fields_set and not each.draw_gold:
        return False
    from adjudge.studio.gate_designer import drawable_gold

    drawn = drawable_gold(gold, sets, _with_drawn_gold(settings, True))
    least = 1 if each.draw_gold else 2 * len({topic for topic, _ in drawn})
    return bool(drawn) and drawn_sets(drawn, settings) >= max(least, each.gold_sets)


def _attainable(settings: Settings, sets: Sequence[FixedSet], gold: dict[Pair, Gold], notes: list[str]) -> Settings:
    """Return settings that need no more gold than there is, and note the changes."""
    gold_sets = sum(fixed.use == "gold" for fixed in sets)
    if not settings.assignment.draw_gold and settings.assignment.gold_sets > gold_sets:
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
    needed = settings.qualification
    return len(jobs) >= needed.jobs and fewest_graded(jobs, gold, needed.jobs) >= needed.correct


# Additions to a campaign


def add_documents(campaign: Campaign, source: Path, path: Path) -> None:
    """Write the campaign's documents and those of a source, in any format of ``campaign new``, to a file."""
    problems, notes, most = Problems(), list[str](), campaign.settings.documents.most_bytes
    shutil.copyfile(campaign.folder / DOCUMENTS_FILE, path)
    _end_line(path)
    names = _write_documents(path, read_sources(source, most, problems, notes), most, problems, campaign.documents)
    if len(names) == len(campaign.documents) and not problems.messages:
        problems.add("there are no documents in it", source.name)
    _refuse_source(problems, source)


def add_pairs(campaign: Campaign, source: Path, path: Path) -> None:
    """Write the campaign's pairs to judge and those of a source, a table or qrels, to a file; each pair once."""
    problems = Problems()
    pairs = read_pool(source, problems, source.name)
    if not pairs and not problems.messages:
        problems.add("there are no pairs in it", source.name)
    _refuse_source(problems, source)
    present = read_pool(campaign.folder / POOL_FILE, problems, POOL_FILE)
    path.write_text(pool_text({**present, **pairs}), encoding="utf8", newline="")


def _end_line(path: Path) -> None:
    """End the last line of a file, so that lines can be added."""
    with open(path, "rb+") as file:
        if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) >= 0 and file.read(1) != b"\n":
            file.write(b"\n")


def _refuse_source(problems: Problems, source: Path) -> None:
    """Raise all problems of a source, which is called by its name, not by where it is stored for the moment."""
    messages = [message.replace(str(source), source.name) for message in problems.messages]
    if messages:
        raise CampaignProblems(messages, source.name)

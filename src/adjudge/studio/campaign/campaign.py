"""A campaign: its folder is read and checked, and every problem is listed at once, with file and line.

The folder contains campaign.toml, topics.jsonl, documents.jsonl, pool.csv, gold.csv and sets.csv; the studio adds its
database and its key.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.errors import InputError, Problems, quote
from adjudge.studio.campaign import documents as documents_file
from adjudge.studio.campaign import fixed_sets
from adjudge.studio.campaign import topics as topics_file
from adjudge.studio.campaign.documents import Documents
from adjudge.studio.campaign.pool_and_gold import GOLD_FILE, POOL_FILE, read_gold, read_pool
from adjudge.studio.records import FixedSet, Gold, Pair, Topic
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import Settings, load_settings

FILES = (SETTINGS_FILE, topics_file.FILE, documents_file.FILE, POOL_FILE, GOLD_FILE, fixed_sets.FILE)
ENOUGH = 10  # assignments that a judge should be able to take before the gold sets are used up


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


def load_campaign(folder: str | os.PathLike[str]) -> Campaign:
    """Read and check a campaign's folder.

    Parameters
    ----------
    folder
        The folder with campaign.toml, topics.jsonl, documents.jsonl, pool.csv, gold.csv and sets.csv.

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
    problems = Problems()
    settings = load_settings(path, problems)
    topics = topics_file.read_topics(path / topics_file.FILE, problems, topics_file.FILE)
    documents = documents_file.read_documents(path / documents_file.FILE, settings.documents.most_bytes, problems)
    pool = read_pool(path / POOL_FILE, problems, POOL_FILE)
    gold, lines = read_gold(path / GOLD_FILE, problems, GOLD_FILE)
    topic_names: Container[str] = topics or _Everything()
    document_names: Container[str] = documents if documents is not None else _Everything()
    for file, pairs in ((POOL_FILE, pool), (GOLD_FILE, lines)):
        _note_unknown(file, pairs, topic_names, document_names, problems)
    context = fixed_sets.Context(topic_names, document_names, gold, settings)
    sets = fixed_sets.read_sets(path / fixed_sets.FILE, context, problems)
    left = _without_fixed(pool, sets)
    if not left and not problems.messages:
        problems.add("there is nothing to judge: every pair is in a set of sets.csv, or there is none", POOL_FILE)
    problems.refuse(str(folder))
    assert documents is not None  # otherwise there was a problem
    return Campaign(path, settings, topics, left, gold, sets, documents, advice(left, gold, sets, settings))


def _without_fixed(pool: Iterable[Pair], sets: Iterable[FixedSet]) -> tuple[Pair, ...]:
    """Return the pairs of a pool that are in no fixed set."""
    fixed = {(part.topic, document) for part in sets for document in part.documents}
    return tuple(pair for pair in pool if pair not in fixed)


class _Everything:
    """Contains every name: it stands for a file that cannot be read, so that this is noted once and not per line."""

    def __contains__(self, name: object) -> bool:
        return True


def _note_unknown(
    file: str, pairs: Mapping[Pair, int], topics: Container[str], documents: Container[str], problems: Problems
) -> None:
    """Note the pairs of unknown topics or documents."""
    for (topic, document), line in pairs.items():
        if topic not in topics:
            problems.add(f"there is no topic {quote(topic)} in {topics_file.FILE}", file, line)
        if document not in documents:
            problems.add(f"there is no document {quote(document)} in {documents_file.FILE}", file, line)


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
    pool: Sequence[Pair], gold: Mapping[Pair, Gold], sets: Sequence[FixedSet], settings: Settings
) -> tuple[str, ...]:
    """Return what a lead should know about a campaign without problems, one sentence each."""
    parts = (_few_gold(pool, sets, settings), _uneven(pool, settings), _idle_gold(gold, sets))
    return tuple(sentence for part in parts for sentence in part)


def _few_gold(pool: Sequence[Pair], sets: Sequence[FixedSet], settings: Settings) -> Iterable[str]:
    """Yield a warning if there are too few gold sets, since a judge gets each only once."""
    needed = settings.assignment.gold_sets
    gold = sum(fixed.use == "gold" for fixed in sets)
    if not needed or not pool:
        return
    work = workload(pool, settings)
    each = gold // needed  # assignments that a judge can take
    alone = -(-work.assignments // settings.redundancy.judgments)  # assignments of a judge who judges everything
    if each and each < min(alone, ENOUGH):
        yield (
            f"sets.csv: with {gold:,} gold sets a judge can take {each:,} of the {work.assignments:,} assignments, so "
            f"at least {-(-work.assignments // each):,} judges are needed: grade more documents for fewer judges"
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


def _idle_gold(gold: Mapping[Pair, Gold], sets: Sequence[FixedSet]) -> Iterable[str]:
    """Yield a warning about gold that is in no set."""
    used = {(fixed.topic, document) for fixed in sets for document in fixed.documents}
    idle = [pair for pair in gold if pair not in used]
    if idle:
        topic, document = idle[0]
        yield (
            f"gold.csv: {len(idle):,} of {len(gold):,} graded documents are in no set of sets.csv and are judged like "
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
        ("gold sets", f"{uses['gold']:,}"),
        (
            "qualification sets",
            f"{uses['qualification']:,}" + ("" if settings.qualification.required else ", not required"),
        ),
        ("monitoring sets", f"{uses['monitoring']:,}"),
    ]


def _grades(graded: Counter[int]) -> str:
    """Return the number of documents per grade, in parentheses."""
    parts = [f"{count:,} of grade {grade}" for grade, count in sorted(graded.items())]
    return f" ({', '.join(parts)})" if parts else ""

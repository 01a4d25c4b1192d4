"""A campaign's folder, read and checked: every problem is listed at once, with file and line.

The folder holds campaign.toml, topics.jsonl, documents.jsonl, pool.csv, gold.csv and sets.csv; beside them the studio
puts its database and its key.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.errors import CampaignProblems, InputError, Problems, quote
from adjudge.studio.campaign import documents as document_file
from adjudge.studio.campaign import fixed_sets, gold_file
from adjudge.studio.campaign import topics as pool_file
from adjudge.studio.campaign import topics as topic_file
from adjudge.studio.campaign.documents import Documents
from adjudge.studio.records import Document, FixedSet, Gold, Pair, Topic
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import Settings, load_settings

# What a lead should know of a campaign that can begin all the same; and how much work it is.

ENOUGH = 10  # assignments that one judge should be able to take before the gold is used up


@dataclass(frozen=True)
class Workload:
    """How much there is to do, if every item gets the judgments of ``redundancy.judgments``."""

    sets: int  # into which the pool falls, once
    judgments: int
    assignments: int


def workload(pool: Collection[Pair], settings: Settings) -> Workload:
    """Return how much work a pool is."""
    each, k = settings.assignment, settings.redundancy.judgments
    sets = sum(-(-count // each.documents) for count in Counter(topic for topic, _ in pool).values())
    assignments = -(-sets * k // max(each.sets - each.gold_sets, 1))
    return Workload(sets, len(pool) * k, assignments)


def advice(
    pool: Sequence[Pair], gold: Mapping[Pair, Gold], sets: Sequence[FixedSet], settings: Settings
) -> tuple[str, ...]:
    """Return what a lead should know, a sentence each."""
    parts = (_few_gold(pool, sets, settings), _uneven(pool, settings), _idle_gold(gold, sets))
    return tuple(sentence for part in parts for sentence in part)


def _few_gold(pool: Sequence[Pair], sets: Sequence[FixedSet], settings: Settings) -> Iterable[str]:
    """Yield that the gold sets, none of which a judge meets twice, do not last."""
    asked = settings.assignment.gold_sets
    gold = sum(one.use == "gold" for one in sets)
    if not asked or not pool:
        return
    work = workload(pool, settings)
    each = gold // asked  # assignments that one judge can take
    alone = -(-work.assignments // settings.redundancy.judgments)  # that she would take if she judged everything
    if each and each < min(alone, ENOUGH):
        yield (
            f"sets.csv: with {gold:,} gold sets a judge can take {each:,} of the {work.assignments:,} assignments, so "
            f"at least {-(-work.assignments // each):,} judges are needed: grade more documents for fewer judges"
        )


def _uneven(pool: Sequence[Pair], settings: Settings) -> Iterable[str]:
    """Yield the topics whose documents do not fill sets."""
    size = settings.assignment.documents
    odd = [(topic, n) for topic, n in Counter(topic for topic, _ in pool).items() if n % size]
    if odd:
        named = ", ".join(f"{quote(topic)} has {n}" for topic, n in odd[:3]) + (", ..." if len(odd) > 3 else "")
        topics = "a topic has" if len(odd) == 1 else f"{len(odd):,} topics have"
        yield (
            f"pool.csv: {topics} a number of documents to judge that is no multiple of {size}, the size of a set "
            f"({named}): the last set is not full by itself"
        )


def _idle_gold(gold: Mapping[Pair, Gold], sets: Sequence[FixedSet]) -> Iterable[str]:
    """Yield that some gold is in no set."""
    used = {(one.topic, document) for one in sets for document in one.documents}
    idle = [pair for pair in gold if pair not in used]
    if idle:
        topic, document = idle[0]
        yield (
            f"gold.csv: {len(idle):,} of {len(gold):,} graded documents are in no set of sets.csv and are judged like "
            f"any other, if at all (the first is {quote(document)} of topic {quote(topic)})"
        )


__all__ = [
    "FILES",
    "Campaign",
    "CampaignProblems",
    "Document",
    "Documents",
    "FixedSet",
    "Gold",
    "Pair",
    "Topic",
    "load_campaign",
]
FILES = (SETTINGS_FILE, topic_file.FILE, document_file.FILE, pool_file.POOL_FILE, gold_file.FILE, fixed_sets.FILE)


@dataclass(frozen=True)
class Campaign:
    """What is to be judged, what is known of it, and by which rules."""

    folder: Path
    settings: Settings
    topics: Mapping[str, Topic]
    pool: tuple[Pair, ...]  # what is to be judged, without the pairs of fixed sets
    gold: Mapping[Pair, Gold]
    sets: tuple[FixedSet, ...]
    documents: Documents
    warnings: tuple[str, ...] = ()  # what a lead should know, a sentence each


def load_campaign(folder: str | os.PathLike[str]) -> Campaign:
    """Read a campaign's folder; raises ``CampaignProblems``, which lists all that is wrong with file and line."""
    place = Path(folder)
    if not place.is_dir():
        raise InputError("there is no such folder: make a campaign with `adjudge campaign new`", str(folder))
    problems = Problems()
    settings = load_settings(place, problems)
    topics = topic_file.read_topics(place / topic_file.FILE, problems, topic_file.FILE)
    most = settings.documents.most_bytes
    documents = document_file.read_documents(place / document_file.FILE, most, problems)
    pool = pool_file.read_pool(place / pool_file.POOL_FILE, problems, pool_file.POOL_FILE)
    gold, lines = gold_file.read_gold(place / gold_file.FILE, problems, gold_file.FILE)
    known = documents if documents is not None else _All()
    for file, pairs in ((pool_file.POOL_FILE, pool), (gold_file.FILE, lines)):
        _note_unknown(file, pairs, topics or _All(), known, problems)
    sets = fixed_sets.read_sets(
        place / fixed_sets.FILE, fixed_sets.Known(topics or _All(), known, gold, settings), problems
    )
    fixed = {(one.topic, document) for one in sets for document in one.documents}
    left = tuple(pair for pair in pool if pair not in fixed)
    if not left and not problems.messages:
        problems.add(
            "there is nothing to judge: every pair is in a set of sets.csv, or there is none", pool_file.POOL_FILE
        )
    problems.refuse(str(folder))
    assert documents is not None  # or there was a problem
    return Campaign(place, settings, topics, left, gold, sets, documents, advice(left, gold, sets, settings))


class _All:
    """What cannot be read is taken to hold every name, so that its absence is said once and not in every line."""

    def __contains__(self, name: object) -> bool:
        return True


def _note_unknown(
    file: str,
    pairs: Mapping[Pair, int],
    topics: Mapping[str, Topic] | _All,
    documents: Documents | _All,
    problems: Problems,
) -> None:
    """Note pairs of topics or documents that there are not."""
    for (topic, document), line in pairs.items():
        if topic not in topics:
            problems.add(f"there is no topic {quote(topic)} in {topic_file.FILE}", file, line)
        if document not in documents:
            problems.add(f"there is no document {quote(document)} in {document_file.FILE}", file, line)


# A campaign in figures, as `campaign new` and `campaign check` print them.


def summary(campaign: Campaign) -> list[tuple[str, str]]:
    """Return what is in a campaign and how much work it is: (what, figures)."""
    settings = campaign.settings
    work = workload(campaign.pool, settings)
    uses = Counter(one.use for one in campaign.sets)
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
            f"{uses['qualification']:,}" + ("" if settings.qualification.required else ", not asked"),
        ),
        ("monitoring sets", f"{uses['monitoring']:,}"),
    ]


def _grades(graded: Counter[int]) -> str:
    """Return how many documents have each grade, in parentheses."""
    parts = [f"{count:,} of grade {grade}" for grade, count in sorted(graded.items())]
    return f" ({', '.join(parts)})" if parts else ""

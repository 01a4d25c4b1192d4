"""A campaign's folder, read and checked: every problem is listed at once, with file and line.

The folder holds campaign.toml, topics.jsonl, documents.jsonl, pool.csv, gold.csv and sets.csv; beside them the studio
puts its database and its key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adjudge.collect.files import documents as document_file
from adjudge.collect.files import fixed_sets, settings_file
from adjudge.collect.files import gold as gold_file
from adjudge.collect.files import pool as pool_file
from adjudge.collect.files import topics as topic_file
from adjudge.collect.files.advice import advice
from adjudge.collect.files.documents import Documents
from adjudge.collect.files.lines import text
from adjudge.collect.files.problems import CampaignProblems, Problems
from adjudge.collect.records import Document, FixedSet, Gold, Pair, Topic
from adjudge.collect.settings import Settings
from adjudge.errors import InputError, quote

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
FILES = (settings_file.FILE, topic_file.FILE, document_file.FILE, pool_file.FILE, gold_file.FILE, fixed_sets.FILE)


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
    written = text(place / settings_file.FILE, problems, settings_file.FILE)
    settings = Settings() if written is None else settings_file.read_settings(written, problems)
    topics = topic_file.read_topics(place / topic_file.FILE, problems, topic_file.FILE)
    most = settings.documents.most_bytes
    documents = document_file.read_documents(place / document_file.FILE, most, problems)
    pool = pool_file.read_pool(place / pool_file.FILE, problems, pool_file.FILE)
    gold, lines = gold_file.read_gold(place / gold_file.FILE, problems, gold_file.FILE)
    known = documents if documents is not None else _All()
    for file, pairs in ((pool_file.FILE, pool), (gold_file.FILE, lines)):
        _note_unknown(file, pairs, topics or _All(), known, problems)
    sets = fixed_sets.read_sets(
        place / fixed_sets.FILE, fixed_sets.Known(topics or _All(), known, gold, settings), problems
    )
    fixed = {(one.topic, document) for one in sets for document in one.documents}
    left = tuple(pair for pair in pool if pair not in fixed)
    if not left and not problems.found:
        problems.add("there is nothing to judge: every pair is in a set of sets.csv, or there is none", pool_file.FILE)
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

"""pool.csv and gold.csv: the pairs of topic and document to judge, and those with a known grade.

A pool comes from a table, qrels or the runs of search systems, or is all pairs. Gold comes from a table or qrels; it
has a grade and the reason that judges see after a mistake.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from adjudge.data import columns
from adjudge.data.files import checked_content
from adjudge.data.formats import read_text_rows
from adjudge.errors import InputError, Problems, quote
from adjudge.studio.campaign.topics import replace_surrogates
from adjudge.studio.records import GRADES, Gold, Pair

POOL_FILE = "pool.csv"
PAIR_COLUMNS = {"topic": columns.TOPIC, "document": columns.DOCUMENT}
DEPTH = 20  # documents of a run that are pooled
MOST_PAIRS = 10_000  # of a pool of all pairs
GOLD_FILE = "gold.csv"
GOLD_COLUMNS = {
    **PAIR_COLUMNS,
    "grade": columns.GRADE,
    "reason": ("reason", "why", "explanation", "comment"),
}
GRADE_VALUES = {str(grade): grade for grade in GRADES}


def read_pool(path: Path, problems: Problems, name: str | None = None) -> dict[Pair, int]:
    """Return the pairs of a table or of qrels with the line of each, and note their problems."""
    file = name or str(path)
    content = checked_content(path, problems, name)
    pairs: dict[Pair, int] = {}
    if content is None:
        return pairs
    for line, values in read_text_rows(content, problems, PAIR_COLUMNS, tuple(PAIR_COLUMNS)):
        pair = values["topic"], values["document"]
        if pair in pairs:
            problems.add(f"{describe_pair(pair)} is in line {pairs[pair]} already", file, line)
        pairs.setdefault(pair, line)
    return pairs


def pool_runs(runs: Sequence[Path], depth: int = DEPTH) -> list[Pair]:
    """Return the first ``depth`` documents of every topic of every run, each pair once, in the order of ranks."""
    from adjudge.data.runs import read_run

    ranked = [read_run(run).ranked for run in runs]
    pairs: dict[Pair, None] = {}
    for topic in dict.fromkeys(topic for run in ranked for topic in run):
        for rank in range(depth):
            for run in ranked:
                if rank < len(run.get(topic, ())):
                    pairs[topic, run[topic][rank]] = None
    return list(pairs)


def all_pairs(topics: Iterable[str], documents: Sequence[str]) -> list[Pair]:
    """Return every document of every topic; more than ``MOST_PAIRS`` are refused."""
    names = list(topics)
    if len(names) * len(documents) > MOST_PAIRS:
        raise InputError(
            f"{len(names):,} topics and {len(documents):,} documents make {len(names) * len(documents):,} pairs, more "
            f"than {MOST_PAIRS:,}: list those to judge with --pool, or pool the runs of systems with --runs"
        )
    return [(topic, document) for topic in names for document in documents]


def pool_text(pairs: Iterable[Pair]) -> str:
    """Return the text of pool.csv."""
    return csv_text(("topic", "document"), pairs)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows below a header as CSV."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return buffer.getvalue()


def describe_pair(pair: Pair) -> str:
    """Return a pair in words."""
    return f"document {quote(pair[1])} of topic {quote(pair[0])}"


def read_gold(path: Path, problems: Problems, name: str | None = None) -> tuple[dict[Pair, Gold], dict[Pair, int]]:
    """Return the gold of a table or of qrels, and the line of each pair; problems are noted."""
    file = name or str(path)
    content = checked_content(path, problems, name)
    gold: dict[Pair, Gold] = {}
    lines: dict[Pair, int] = {}
    if content is None:
        return gold, lines
    for line, values in read_text_rows(content, problems, GOLD_COLUMNS, ("topic", "document", "grade")):
        pair = values["topic"], values["document"]
        if pair in lines:
            problems.add(f"{describe_pair(pair)} is in line {lines[pair]} already", file, line)
        lines.setdefault(pair, line)
        if values["grade"] in GRADE_VALUES:
            gold.setdefault(pair, Gold(GRADE_VALUES[values["grade"]], replace_surrogates(values.get("reason", ""))))
        else:
            problems.add(
                f"{describe_pair(pair)} has the grade {quote(values['grade'])}, expected 0, 1 or 2", file, line
            )
    return gold, lines


def gold_text(gold: Mapping[Pair, Gold]) -> str:
    """Return the text of gold.csv."""
    return csv_text(("topic", "document", "grade", "reason"), ((*pair, *entry) for pair, entry in gold.items()))

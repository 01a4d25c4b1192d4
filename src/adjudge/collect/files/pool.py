"""The pool: which documents are judged for which topics. From a table, qrels, runs of systems, or simply all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from adjudge.collect.files.lines import is_qrels, qrels_rows, table_rows, text
from adjudge.collect.files.problems import Problems
from adjudge.collect.records import Pair
from adjudge.errors import InputError, quote

FILE = "pool.csv"
COLUMNS = {
    "topic": ("topic", "topic_id", "qid", "query_id", "query"),
    "document": ("document", "doc", "docno", "doc_id", "docid", "item", "id"),
}
DEPTH = 20  # documents of a run that are pooled
MOST = 10_000  # pairs beyond which nobody wants every document judged for every topic


def read_pool(path: Path, problems: Problems, name: str | None = None) -> dict[Pair, int]:
    """Return the pairs of a table or of qrels with the line of each, and note what is wrong with them."""
    file = name or str(path)
    given = text(path, problems, name)
    pairs: dict[Pair, int] = {}
    if given is None:
        return pairs
    if is_qrels(given):
        rows = qrels_rows(given, file, problems)
    else:
        rows = table_rows(given, file, problems, COLUMNS, tuple(COLUMNS))
    for line, values in rows:
        pair = values["topic"], values["document"]
        if pair in pairs:
            problems.add(f"{described(pair)} is in line {pairs[pair]} already", file, line)
        pairs.setdefault(pair, line)
    return pairs


def pooled(runs: Sequence[Path], depth: int = DEPTH) -> list[Pair]:
    """Return the first documents of every topic of every run, each pair once, in the order of ranks."""
    from adjudge.judgments.runs import read_run

    ranked = [read_run(run).ranked for run in runs]
    found: dict[Pair, None] = {}
    for topic in dict.fromkeys(topic for run in ranked for topic in run):
        for rank in range(depth):
            for run in ranked:
                if rank < len(run.get(topic, ())):
                    found[topic, run[topic][rank]] = None
    return list(found)


def all_pairs(topics: Iterable[str], documents: Sequence[str]) -> list[Pair]:
    """Return every document of every topic, unless there are too many for that to be meant."""
    names = list(topics)
    if len(names) * len(documents) > MOST:
        what = (
            f"{len(names):,} topics and {len(documents):,} documents make {len(names) * len(documents):,} pairs, more "
            f"than {MOST:,}: name those to judge with --pool, or pool the runs of systems with --runs"
        )
        raise InputError(what)
    return [(topic, document) for topic in names for document in documents]


def pool_text(pairs: Iterable[Pair]) -> str:
    """Return pairs as the text of the campaign's file."""
    return csv_text(("topic", "document"), pairs)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows below a header as CSV."""
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return buffer.getvalue()


def described(pair: Pair) -> str:
    """Return a pair in words."""
    return f"document {quote(pair[1])} of topic {quote(pair[0])}"

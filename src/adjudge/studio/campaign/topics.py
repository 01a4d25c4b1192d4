"""Topics: TREC's files, tables, JSON lines, and the campaign's own file of them."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from adjudge.data import columns
from adjudge.data.files import Content, checked_content
from adjudge.data.formats import Row, read_rows, read_text_rows
from adjudge.errors import InputError, Problems, quote
from adjudge.studio.records import Pair, Topic

# What topics and documents may be called.

NAMES_LONGEST = 200  # characters
UNSAFE = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of characters, ends of lines and paragraphs


def name_problem(name: object, what: str) -> str | None:
    """Return what keeps a value from being the name of a topic or document; None where it may be one."""
    if not isinstance(name, str):
        return f"{what} is {quote(name)}, expected a text in quotation marks"
    if not name.strip():
        return f"{what} is empty"
    if name != name.strip():
        return f"{what} {quote(name)} begins or ends with a blank"
    if len(name) > NAMES_LONGEST:
        return f"{what} {quote(name)} has {len(name)} characters, expected at most {NAMES_LONGEST}"
    if not name.isprintable() and any(unicodedata.category(c) in UNSAFE for c in name):
        return f"{what} {quote(name)} holds a control character or a line break"
    return None


def replace_surrogates(text: str) -> str:
    """Return a text without halves of characters, which JSON may hold and no file can."""
    return text.encode(errors="replace").decode()


# The pool: which documents are judged for which topics. From a table, qrels, runs of systems, or simply all.

POOL_FILE = "pool.csv"
POOL_COLUMNS = {"topic": columns.TOPIC, "document": columns.DOCUMENT}
DEPTH = 20  # documents of a run that are pooled
MOST = 10_000  # pairs beyond which nobody wants every document judged for every topic


def read_pool(path: Path, problems: Problems, name: str | None = None) -> dict[Pair, int]:
    """Return the pairs of a table or of qrels with the line of each, and note what is wrong with them."""
    file = name or str(path)
    content = checked_content(path, problems, name)
    pairs: dict[Pair, int] = {}
    if content is None:
        return pairs
    for line, values in read_text_rows(content, problems, POOL_COLUMNS, tuple(POOL_COLUMNS)):
        pair = values["topic"], values["document"]
        if pair in pairs:
            problems.add(f"{described(pair)} is in line {pairs[pair]} already", file, line)
        pairs.setdefault(pair, line)
    return pairs


def pooled(runs: Sequence[Path], depth: int = DEPTH) -> list[Pair]:
    """Return the first documents of every topic of every run, each pair once, in the order of ranks."""
    from adjudge.data.runs import read_run

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


FILE = "topics.jsonl"
COLUMNS = {
    "topic": ("topic", "id", "qid", "number", "num", "topic_id", "query_id"),
    "query": ("query", "title", "text"),
    "description": ("description", "desc"),
    "narrative": ("narrative", "narr"),
}
LONGEST = 20_000  # characters of a narrative, the longest part
TREC_TOPIC = re.compile(r"<top\b[^>]*>", re.IGNORECASE)
TREC_FIELD = re.compile(r"<(num|title|desc|narr)\b[^>]*>", re.IGNORECASE)
TREC_WORDS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
TREC_NAMES = {"num": "topic", "title": "query", "desc": "description", "narr": "narrative"}


def read_topics(path: Path, problems: Problems, name: str | None = None) -> dict[str, Topic]:
    """Return the topics of a file by name, and note what is wrong with them."""
    file = name or str(path)
    content = checked_content(path, problems, name)
    if content is None:
        return {}
    topics: dict[str, Topic] = {}
    lines: dict[str, int] = {}
    before = len(problems.messages)
    for row in _rows(content, problems):
        topic = _topic(row, file, problems)
        if topic is None:
            continue
        if topic.name in topics:
            problems.add(f"topic {quote(topic.name)} is in line {lines[topic.name]} already", file, row.line)
        topics[topic.name] = topic
        lines.setdefault(topic.name, row.line)
    if not topics and len(problems.messages) == before:
        problems.add("there are no topics", file)
    return topics


def topics_text(topics: Iterable[Topic]) -> str:
    """Return topics as the text of the campaign's file."""
    keys = tuple(COLUMNS)
    return "".join(json.dumps(dict(zip(keys, topic, strict=True)), ensure_ascii=False) + "\n" for topic in topics)


def _rows(content: Content, problems: Problems) -> Iterator[Row]:
    """Go through the topics of a file in any format."""
    if content.is_parquet:
        yield from read_rows(content, problems, COLUMNS, ("topic", "query"))
    elif TREC_TOPIC.match(content.text.lstrip()):
        yield from _trec_rows(content.text)
    elif content.data.strip():
        yield from read_rows(content, problems, COLUMNS, ("topic", "query"))


def _trec_rows(given: str) -> Iterator[Row]:
    """Go through TREC's topics, whose tags may or may not be closed."""
    tops = [*TREC_TOPIC.finditer(given)]
    ends = [*(top.start() for top in tops[1:]), len(given)]
    for top, end in zip(tops, ends, strict=True):
        fields = [*TREC_FIELD.finditer(given, top.end(), end)]
        stops = [*(field.start() for field in fields[1:]), end]
        values = {
            TREC_NAMES[field[1].lower()]: _plain(given[field.end() : stop], TREC_WORDS[field[1].lower()])
            for field, stop in zip(fields, stops, strict=True)
        }
        yield Row(given.count("\n", 0, top.start()) + 1, values)


def _plain(given: str, word: str) -> str:
    """Return what stands in a field, without tags, the word that repeats its name, and breaks of lines."""
    words = " ".join(html.unescape(re.sub(r"</?\w+[^>]*>", " ", given)).split())
    return words[len(word) :].strip() if words.lower().startswith(word.lower()) else words


def _topic(row: Row, file: str, problems: Problems) -> Topic | None:
    """Return the topic of a row; None, with the problem noted, where it is none."""
    values = {column: _value(row.values.get(column)) for column in COLUMNS}
    name = values["topic"]
    if row.values.get("topic") is None:
        what: str | None = f"there is no topic: name it under {quote('topic')}"
    else:
        what = name_problem(name, "topic")
    for column, value in values.items():
        if what is None and value is None:
            what = f"topic {quote(name)}: {column} must be a text"
        if what is None and value is not None and len(value) > LONGEST:
            what = f"topic {quote(name)}: {column} has {len(value):,} characters, expected at most {LONGEST:,}"
    if what is None and not str(values["query"]).strip():
        what = f"topic {quote(name)} has no query"
    if what:
        problems.add(what, file, row.line)
        return None
    return Topic(*(replace_surrogates(str(value)) for value in values.values()))


def _value(value: Any) -> str | None:
    """Return a value as text: what is missing is empty, and what is neither text nor a number is None."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None

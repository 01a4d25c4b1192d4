"""Topics: TREC's files, tables, JSON lines, and the campaign's own file of them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from adjudge.collect.files.lines import Row, called, json_rows, table_rows, text, whole
from adjudge.collect.files.names import name_problem
from adjudge.collect.files.problems import Problems
from adjudge.collect.records import Topic
from adjudge.errors import quote

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
    given = text(path, problems, name)
    if given is None:
        return {}
    topics: dict[str, Topic] = {}
    lines: dict[str, int] = {}
    before = len(problems.found)
    for row in _rows(given, file, problems):
        topic = _topic(row, file, problems)
        if topic is None:
            continue
        if topic.name in topics:
            problems.add(f"topic {quote(topic.name)} is in line {lines[topic.name]} already", file, row.line)
        topics[topic.name] = topic
        lines.setdefault(topic.name, row.line)
    if not topics and len(problems.found) == before:
        problems.add("there are no topics", file)
    return topics


def topics_text(topics: Iterable[Topic]) -> str:
    """Return topics as the text of the campaign's file."""
    keys = tuple(COLUMNS)
    return "".join(json.dumps(dict(zip(keys, topic, strict=True)), ensure_ascii=False) + "\n" for topic in topics)


def _rows(given: str, file: str, problems: Problems) -> Iterator[Row]:
    """Go through the topics of a text, whatever its format."""
    start = given.lstrip()
    if TREC_TOPIC.match(start):
        yield from _trec_rows(given)
    elif start.startswith("{"):
        for row in json_rows(given, file, problems):
            yield Row(row.line, {column: called(row.values, aliases) for column, aliases in COLUMNS.items()})
    elif start:
        yield from table_rows(given, file, problems, COLUMNS, ("topic", "query"))


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
    return Topic(*(whole(str(value)) for value in values.values()))


def _value(value: Any) -> str | None:
    """Return a value as text: what is missing is empty, and what is neither text nor a number is None."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None

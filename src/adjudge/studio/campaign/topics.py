"""Topics: read from TREC files, tables or JSON lines, and written to topics.jsonl; and which names are allowed."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from adjudge.data.files import Content, checked_content
from adjudge.data.formats import Row, read_rows
from adjudge.errors import Problems, quote
from adjudge.studio.records import Topic

FILE = "topics.jsonl"
COLUMNS = {
    "topic": ("topic", "id", "qid", "number", "num", "topic_id", "query_id"),
    "query": ("query", "title", "text"),
    "description": ("description", "desc"),
    "narrative": ("narrative", "narr"),
}
LONGEST = 20_000  # characters of a field
TREC_TOPIC = re.compile(r"<top\b[^>]*>", re.IGNORECASE)
TREC_FIELD = re.compile(r"<(num|title|desc|narr)\b[^>]*>", re.IGNORECASE)
TREC_WORDS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
TREC_NAMES = {"num": "topic", "title": "query", "desc": "description", "narr": "narrative"}
NAMES_LONGEST = 200  # characters
UNSAFE = ("Cc", "Cs", "Zl", "Zp")  # control characters, lone surrogates, ends of lines and paragraphs


def name_problem(name: object, noun: str) -> str | None:
    """Return why a value cannot be the name of a topic or document (the ``noun``); None if it can."""
    if not isinstance(name, str):
        return f"{noun} is {quote(name)}, expected a text in quotation marks"
    if not name.strip():
        return f"{noun} is empty"
    if name != name.strip():
        return f"{noun} {quote(name)} begins or ends with a space"
    if len(name) > NAMES_LONGEST:
        return f"{noun} {quote(name)} has {len(name)} characters, expected at most {NAMES_LONGEST}"
    if not name.isprintable() and any(unicodedata.category(c) in UNSAFE for c in name):
        return f"{noun} {quote(name)} contains a control character or a line break"
    return None


def replace_surrogates(text: str) -> str:
    """Return a text without lone surrogates, which JSON may contain and UTF-8 cannot."""
    return text.encode(errors="replace").decode()


def read_topics(path: Path, problems: Problems, name: str | None = None) -> dict[str, Topic]:
    """Return the topics of a file by name, and note their problems."""
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
    """Return the text of topics.jsonl."""
    keys = tuple(COLUMNS)
    return "".join(json.dumps(dict(zip(keys, topic, strict=True)), ensure_ascii=False) + "\n" for topic in topics)


def _rows(content: Content, problems: Problems) -> Iterator[Row]:
    """Yield the topics of a file in any format."""
    if content.is_parquet:
        yield from read_rows(content, problems, COLUMNS, ("topic", "query"))
    elif TREC_TOPIC.match(content.text.lstrip()):
        yield from _trec_rows(content.text)
    elif content.data.strip():
        yield from read_rows(content, problems, COLUMNS, ("topic", "query"))


def _trec_rows(text: str) -> Iterator[Row]:
    """Yield the topics of a TREC file, whose tags may or may not be closed."""
    tops = [*TREC_TOPIC.finditer(text)]
    ends = [*(top.start() for top in tops[1:]), len(text)]
    for top, end in zip(tops, ends, strict=True):
        fields = [*TREC_FIELD.finditer(text, top.end(), end)]
        stops = [*(field.start() for field in fields[1:]), end]
        values = {
            TREC_NAMES[field[1].lower()]: _plain(text[field.end() : stop], TREC_WORDS[field[1].lower()])
            for field, stop in zip(fields, stops, strict=True)
        }
        yield Row(text.count("\n", 0, top.start()) + 1, values)


def _plain(markup: str, label: str) -> str:
    """Return the content of a TREC field, without tags, line breaks and the label that repeats its name."""
    words = " ".join(html.unescape(re.sub(r"</?\w+[^>]*>", " ", markup)).split())
    return words[len(label) :].strip() if words.lower().startswith(label.lower()) else words


def _topic(row: Row, file: str, problems: Problems) -> Topic | None:
    """Return the topic of a row; None if it has a problem, which is noted."""
    values = {column: _value(row.values.get(column)) for column in COLUMNS}
    problem = _topic_problem(values) if row.values.get("topic") is not None else "there is no topic: add a 'topic'"
    if problem:
        problems.add(problem, file, row.line)
        return None
    return Topic(*(replace_surrogates(str(value)) for value in values.values()))


def _topic_problem(values: dict[str, str | None]) -> str | None:
    """Return the first problem of a topic's values; None if there is none."""
    name = values["topic"]
    if problem := name_problem(name, "topic"):
        return problem
    for column, value in values.items():
        if value is None:
            return f"topic {quote(name)}: {column} must be a text"
        if len(value) > LONGEST:
            return f"topic {quote(name)}: {column} has {len(value):,} characters, expected at most {LONGEST:,}"
    return None if str(values["query"]).strip() else f"topic {quote(name)} has no query"


def _value(value: Any) -> str | None:
    """Return a value as text: empty if it is missing, None if it is neither text nor a whole number."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None

"""The files of a campaign beside its settings and documents: topics.jsonl, pool.csv, gold.csv and sets.csv.

- Topics are read from TREC files, tables or JSON lines.
- A pool, the pairs of topic and document to judge, comes from a table, qrels or the runs of search systems, or is all
  pairs.
- Gold, from a table or qrels, has a grade and the reason that judges see after a mistake.
- Fixed sets (gold, qualification, monitoring) have one row per document.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.data import columns
from adjudge.data.files import Content, checked_content
from adjudge.data.formats import Row, read_rows, read_text_rows
from adjudge.errors import InputError, Problems, quote, quoted
from adjudge.studio.records import GRADES, USES, FixedSet, Gold, Pair, Topic
from adjudge.studio.settings import Gate, Settings

TOPICS_FILE = "topics.jsonl"
TOPIC_COLUMNS = {
    "topic": ("topic", "id", "qid", "number", "num", "topic_id", "query_id"),
    "query": ("query", "title", "text"),
    "description": ("description", "desc"),
    "narrative": ("narrative", "narr"),
}
LONGEST_FIELD = 20_000  # characters of a field
TREC_TOPIC = re.compile(r"<top\b[^>]*>", re.IGNORECASE)
TREC_FIELD = re.compile(r"<(num|title|desc|narr)\b[^>]*>", re.IGNORECASE)
TREC_WORDS = {"num": "Number:", "title": "Topic:", "desc": "Description:", "narr": "Narrative:"}
TREC_NAMES = {"num": "topic", "title": "query", "desc": "description", "narr": "narrative"}
LONGEST_NAME = 200  # characters
UNSAFE = ("Cc", "Cs", "Zl", "Zp")  # control characters, lone surrogates, ends of lines and paragraphs
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
SETS_FILE = "sets.csv"
SET_COLUMNS = {name: (name,) for name in ("set", "use", "topic", "document")}


def name_problem(name: object, noun: str) -> str | None:
    """Return why a value cannot be the name of a topic or document (the ``noun``); None if it can."""
    if not isinstance(name, str):
        return f"{noun} is {quote(name)}, expected a text in quotation marks"
    if not name.strip():
        return f"{noun} is empty"
    if name != name.strip():
        return f"{noun} {quote(name)} begins or ends with a space"
    if len(name) > LONGEST_NAME:
        return f"{noun} {quote(name)} has {len(name)} characters, expected at most {LONGEST_NAME}"
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
    keys = tuple(TOPIC_COLUMNS)
    return "".join(json.dumps(dict(zip(keys, topic, strict=True)), ensure_ascii=False) + "\n" for topic in topics)


def _rows(content: Content, problems: Problems) -> Iterator[Row]:
    """Yield the topics of a file in any format."""
    if content.is_parquet:
        yield from read_rows(content, problems, TOPIC_COLUMNS, ("topic", "query"))
    elif TREC_TOPIC.match(content.text.lstrip()):
        yield from _trec_rows(content.text)
    elif content.data.strip():
        yield from read_rows(content, problems, TOPIC_COLUMNS, ("topic", "query"))


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
    values = {column: _value(row.values.get(column)) for column in TOPIC_COLUMNS}
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
        if len(value) > LONGEST_FIELD:
            return f"topic {quote(name)}: {column} has {len(value):,} characters, expected at most {LONGEST_FIELD:,}"
    return None if str(values["query"]).strip() else f"topic {quote(name)} has no query"


def _value(value: Any) -> str | None:
    """Return a value as text: empty if it is missing, None if it is neither text nor a whole number."""
    if value is None:
        return ""
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


# Pool and gold


def read_pool(path: Path, problems: Problems, name: str | None = None) -> dict[Pair, int]:
    """Return the pairs of a table or of qrels with the line of each, and note their problems."""
    if (plain := _plain_pairs(path)) is not None:
        return plain
    pairs: dict[Pair, int] = {}
    for line, pair, _ in _pair_rows(path, problems, name, PAIR_COLUMNS, ("topic", "document")):
        pairs.setdefault(pair, line)
    return pairs


def _plain_pairs(path: Path) -> dict[Pair, int] | None:
    """Return the pairs of a table without quotation marks, blanks and repetitions; None if it is anything else.

    Tables that the studio writes are mostly so, and are read ten times faster.
    """
    try:
        text = path.read_bytes().decode().replace("\r\n", "\n").removesuffix("\n")
    except (OSError, UnicodeDecodeError):
        return None
    header, *lines = text.split("\n")
    cells = [tuple(line.split(",")) for line in lines]
    pairs = {pair: number for number, pair in enumerate(cells, 2) if len(pair) == 2 and pair[0] and pair[1]}
    odd = '"' in text or "\r" in text or any(cell != cell.strip() for pair in cells for cell in pair)
    return None if header != "topic,document" or odd or len(pairs) < len(cells) else pairs


def _pair_rows(
    path: Path, problems: Problems, name: str | None, aliases: Mapping[str, Sequence[str]], required: tuple[str, ...]
) -> Iterator[tuple[int, Pair, Mapping[str, str]]]:
    """Yield line, pair and values of the rows of a table or of qrels, and note pairs that were there before."""
    content = checked_content(path, problems, name)
    if content is None:
        return
    lines: dict[Pair, int] = {}
    for line, values in read_text_rows(content, problems, aliases, required):
        pair = values["topic"], values["document"]
        if lines.setdefault(pair, line) != line:
            problems.add(f"{describe_pair(pair)} is in line {lines[pair]} already", name or str(path), line)
        yield line, pair, values


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
    gold: dict[Pair, Gold] = {}
    lines: dict[Pair, int] = {}
    for line, pair, values in _pair_rows(path, problems, name, GOLD_COLUMNS, ("topic", "document", "grade")):
        lines.setdefault(pair, line)
        if values["grade"] in GRADE_VALUES:
            gold.setdefault(pair, Gold(GRADE_VALUES[values["grade"]], replace_surrogates(values.get("reason", ""))))
        else:
            problem = f"{describe_pair(pair)} has the grade {quote(values['grade'])}, expected 0, 1 or 2"
            problems.add(problem, name or str(path), line)
    return gold, lines


def gold_text(gold: Mapping[Pair, Gold]) -> str:
    """Return the text of gold.csv."""
    return csv_text(("topic", "document", "grade", "reason"), ((*pair, *entry) for pair, entry in gold.items()))


# Fixed sets


class SetContext(NamedTuple):
    """The contents of the other files, with which sets are compared."""

    topics: Container[str]
    documents: Container[str]
    gold: Mapping[Pair, Gold]
    settings: Settings


def read_sets(path: Path, context: SetContext, problems: Problems) -> tuple[FixedSet, ...]:
    """Return the sets of a file, and note their problems."""
    content = checked_content(path, problems, SETS_FILE)
    if content is None:
        return ()
    sets: dict[str, FixedSet] = {}
    lines: dict[str, int] = {}
    before = len(problems.messages)
    for line, row in read_text_rows(content, problems, SET_COLUMNS, tuple(SET_COLUMNS)):
        name, use, topic, document = (row[column] for column in SET_COLUMNS)
        first = sets.setdefault(name, FixedSet(name, use, topic, ()))
        lines.setdefault(name, line)
        for message in _row_problems(first, row, context):
            problems.add(message, SETS_FILE, line)
        sets[name] = first._replace(documents=(*first.documents, document))
    if len(problems.messages) == before:  # otherwise these would repeat the problems of rows
        for fixed in sets.values():
            for message in _set_problems(fixed, context):
                problems.add(message, SETS_FILE, lines[fixed.name])
        for name, message in _shared_documents(sets.values()):
            problems.add(message, SETS_FILE, lines[name])
        for message in _missing_sets(tuple(sets.values()), context):
            problems.add(message, SETS_FILE)
    return tuple(sets.values())


def sets_text(sets: Iterable[FixedSet]) -> str:
    """Return the text of sets.csv."""
    rows = ((fixed.name, fixed.use, fixed.topic, document) for fixed in sets for document in fixed.documents)
    return csv_text(tuple(SET_COLUMNS), rows)


def _row_problems(first: FixedSet, row: Mapping[str, str], context: SetContext) -> Iterable[str]:
    """Yield the problems of a row, of a set that began as ``first``."""
    name, use, topic, document = (row[column] for column in SET_COLUMNS)
    if not name:
        yield "set is empty: give every set a name"
    if use not in USES:
        yield f"set {quote(name)} has the use {quote(use)}, expected one of {quoted(USES)}"
    elif use != first.use:
        yield f"set {quote(name)} has two uses, {quote(first.use)} and {quote(use)}: a set has one"
    if topic != first.topic:
        yield f"set {quote(name)} has two topics, {quote(first.topic)} and {quote(topic)}: a set has one"
    if topic not in context.topics:
        yield f"set {quote(name)}: there is no topic {quote(topic)} in topics.jsonl"
    if document not in context.documents:
        yield f"set {quote(name)}: there is no document {quote(document)} in documents.jsonl"
    if document in first.documents:
        yield f"set {quote(name)} has document {quote(document)} twice"


def _set_problems(fixed: FixedSet, context: SetContext) -> Iterable[str]:
    """Yield the problems of a set whose rows are right."""
    settings = context.settings
    table = "qualification" if fixed.use == "qualification" else "assignment"
    size = getattr(settings, table).documents
    if len(fixed.documents) != size:
        yield f"set {quote(fixed.name)} has {len(fixed.documents)} documents, expected {size} ({table}.documents)"
    if fixed.use == "gold":
        yield from _gold_problems(fixed, context)
    if fixed.use == "qualification" and not any(pair in context.gold for pair in fixed.pairs):
        yield f"qualification set {quote(fixed.name)} has no document with a grade in gold.csv: it needs one"


def _gold_problems(fixed: FixedSet, context: SetContext) -> Iterable[str]:
    """Yield the pairs of a gold set without a grade; if all have one, why nobody could pass."""
    ungraded = [pair for pair in fixed.pairs if pair not in context.gold]
    yield from (f"gold set {quote(fixed.name)}: {describe_pair(pair)} has no grade in gold.csv" for pair in ungraded)
    if not ungraded and (
        reason := infeasible_reason([context.gold[pair].grade for pair in fixed.pairs], context.settings)
    ):
        yield f"gold set {quote(fixed.name)} cannot be passed by anybody: {reason}"


def _shared_documents(sets: Iterable[FixedSet]) -> Iterable[tuple[str, str]]:
    """Yield the sets that share a document with another set, which a judge of both would meet twice."""
    first: dict[Pair, str] = {}
    for fixed in sets:
        for pair in fixed.pairs:
            if first.setdefault(pair, fixed.name) != fixed.name:
                message = f"{describe_pair(pair)} is in set {quote(first[pair])} already: a judge would meet it twice"
                yield fixed.name, f"set {quote(fixed.name)}: {message}"


def _missing_sets(sets: tuple[FixedSet, ...], context: SetContext) -> Iterable[str]:
    """Yield why a campaign cannot begin: too few sets of a use."""
    needed = context.settings.assignment.gold_sets
    gold = sum(fixed.use == "gold" for fixed in sets)
    if gold < needed and not context.settings.assignment.draw_gold:
        sets_needed = f"{needed} gold set" + ("s" if needed > 1 else "")
        yield f"an assignment needs {sets_needed} (assignment.gold_sets), but there are {gold or 'none'}"
    if context.settings.qualification.required:
        yield from _missing_qualification([fixed for fixed in sets if fixed.use == "qualification"], context)


def _missing_qualification(sets: Sequence[FixedSet], context: SetContext) -> Iterable[str]:
    """Yield why judges cannot qualify: too few qualification sets, or too few graded documents in them."""
    settings = context.settings.qualification
    if len(sets) < settings.jobs:
        yield (
            f"judges must qualify on {settings.jobs} qualification sets (qualification.jobs), but there are "
            f"{len(sets) or 'none'}: add some, or set qualification.required = false"
        )
        return
    least = fewest_graded(sets, context.gold, settings.jobs)
    if least < settings.correct:
        yield (
            f"qualification.correct is {settings.correct}, but {settings.jobs} qualification sets may have only "
            f"{least} graded documents: nobody could pass"
        )


def fewest_graded(sets: Iterable[FixedSet], gold: Container[Pair], jobs: int) -> int:
    """Return how many graded documents a judge meets at least in ``jobs`` of these sets."""
    return sum(sorted(sum(pair in gold for pair in fixed.pairs) for fixed in sets)[:jobs])


def infeasible_reason(grades: Iterable[int], settings: Settings) -> str:
    """Return why no judge can pass a gold set of these grades; empty if somebody can."""
    return _infeasible_reason(tuple(sorted(grades)), settings.gate)


@lru_cache(maxsize=10_000)
def _infeasible_reason(grades: tuple[int, ...], gate: Gate) -> str:
    from adjudge.studio.gate_designer import design

    return design(grades, gate).reason

"""Runs of search systems, and the grades of documents: TREC files, frames and mappings.

- a run: ``topic Q0 document rank score tag``, six fields per line; rank and tag are not used, as in trec_eval;
- grades: a qrels file, ``topic iteration document grade``, or a table with topic, item and label.

Documents are ranked by score, highest first. Scores are compared as 32-bit floats, and equal scores are ordered by the
name of the document, last first. trec_eval does both, so the results are the same.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.data import files
from adjudge.data.columns import find_columns
from adjudge.data.files import PARQUET, FilePath, read_bytes, read_content
from adjudge.data.formats import named_format, open_source
from adjudge.data.source import Source, from_frame
from adjudge.data.trec import QRELS, document_of, field_lines, read_fields
from adjudge.errors import UsageError, quote

RUN = ("topic", "Q0", "document", "rank", "score", "tag")
COLUMNS = ("topic", "document", "score")  # of a run that is given as a frame
RUN_SUFFIXES = (".run", ".txt", ".res")  # not part of the name of a system


@dataclass(frozen=True, eq=False)
class System:
    """The result of a search system: the documents of every topic with their scores."""

    name: str
    table: pl.DataFrame  # topic, document (text) and score, the best document of a topic first

    @cached_property
    def ranked(self) -> dict[str, list[str]]:
        """The documents of every topic, best first."""
        groups = self.table.group_by("topic", maintain_order=True).agg("document")
        return dict(zip(groups["topic"].to_list(), groups["document"].to_list(), strict=True))

    @cached_property
    def ties(self) -> dict[str, Codes]:
        """The end of each group of equal scores among the documents of every topic."""
        groups = self.table.group_by("topic", maintain_order=True).agg("score")
        ends = {}
        for topic, scores in zip(groups["topic"].to_list(), groups["score"].to_list(), strict=True):
            single = as_single(np.array(scores))
            ends[topic] = np.r_[np.flatnonzero(single[1:] != single[:-1]) + 1, single.size]
        return ends


def is_run(path: FilePath) -> bool:
    """Whether a file looks like a run: its first line has Q0 second, or six fields with a number in the fifth."""
    if not os.path.isfile(path) or read_bytes(path, len(PARQUET)) == PARQUET:
        return False
    first = read_content(path).data.lstrip().split(b"\n", 1)[0].split()
    if len(first) > 1 and first[1].upper() == b"Q0":  # its reader reports other problems
        return True
    try:
        return len(first) == len(RUN) and float(first[RUN.index("score")]) is not None
    except ValueError:
        return False


def read_run(data: Any, name: str | None = None) -> System:
    """Read a run of a search system.

    Parameters
    ----------
    data
        A TREC file, a frame with topic, document and score, or {topic: {document: score}}.
    name
        The name of the system. By default that of the file, without its suffix.

    Examples
    --------
    >>> read_run({"q1": {"d1": 0.2, "d2": 0.7}}, "bm25").ranked
    {'q1': ['d2', 'd1']}
    """
    if isinstance(data, System):
        return data
    if isinstance(data, str | os.PathLike):
        source = _fields_source(data, RUN)
        name = name or _stem(Path(data))
    else:
        source = from_frame(_frame(data, "score") if isinstance(data, Mapping) else data, name or "run")
    return System(name or "run", _ranked(source))


def read_runs(data: Mapping[str, Any] | Sequence[Any]) -> list[System]:
    """Read several runs, see ``read_run``.

    Their names are the keys of a mapping, or else those of the files; files of the same name are called by their
    paths. Two runs with the same name are refused.
    """
    if isinstance(data, Mapping):
        systems = [read_run(run, name) for name, run in data.items()]
    else:
        systems = [read_run(run) for run in data]
        if len({system.name for system in systems}) < len(systems):  # a/bm25.run and b/bm25.run
            systems = [_named_by_path(system, run) for system, run in zip(systems, data, strict=True)]
    if not systems:
        raise UsageError("there is no run: give at least one")
    name, count = Counter(system.name for system in systems).most_common(1)[0]
    if count > 1:
        raise UsageError(f"two runs are called {quote(name)}: give every run once, with its own name")
    return systems


def read_grades(data: Any) -> dict[str, dict[str, float]]:
    """Read the grade of every judged document of every topic.

    Parameters
    ----------
    data
        A qrels file, a table with topic, item (or document) and label as a file or a frame, or
        {topic: {document: grade}}. An item may be called ``topic_document``.

    Returns
    -------
    dict
        {topic: {document: grade}}. A document that a topic has twice is refused.
    """
    if isinstance(data, Mapping):
        source = from_frame(_frame(data, "label").rename({"document": "item"}), "qrels")
    elif isinstance(data, str | os.PathLike) and named_format(data) in (None, "qrels"):
        source = _fields_source(data, QRELS)
    else:
        source = open_source(data)
    item = "document" if "document" in source.columns else None
    roles = find_columns(source.columns, {"item": item}, source.name, needed=("topic", "item", "label"))
    table = _table(source, [roles["topic"], roles["item"], roles["label"]], "grade")
    documents = [document_of(item, topic) for topic, item in table.select("topic", "document").iter_rows()]
    table = table.with_columns(document=pl.Series(documents, dtype=pl.String))
    _refuse_twice(source, table)
    grades: dict[str, dict[str, float]] = {}
    for topic, document, grade in table.iter_rows():
        grades.setdefault(topic, {})[document] = grade
    return grades


def run_text(system: System) -> str:
    r"""Return a run as the text of a TREC file.

    >>> run_text(read_run({"q1": {"d1": 0.25}}, "bm25"))
    'q1 Q0 d1 1 0.25 bm25\n'
    """
    rows = [
        (topic, "Q0", document, rank, repr(score), system.name)
        for (topic,), part in system.table.group_by("topic", maintain_order=True)
        for rank, (document, score) in enumerate(part.select("document", "score").iter_rows(), 1)
    ]
    return field_lines(" ", rows)


def example(seed: int = 0) -> dict[str, str]:
    """Return small example files: judgments, two runs, and the true labels as qrels; ten topics of twelve documents."""
    rng = np.random.default_rng(seed)
    truth = rng.random((10, 12)) < 0.4
    labels = truth[:, :, None] ^ (rng.random((10, 12, 3)) < [0.1, 0.2, 0.35])  # error rates of three judges
    named = [(str(t + 1), f"d{d + 1}", t, d) for t in range(10) for d in range(12)]
    lines = [
        f"{topic}_{document},{topic},{judge},{int(labels[t, d, j])}\n"
        for topic, document, t, d in named
        for j, judge in enumerate(("ann", "bob", "cy"))
    ]
    files = {"labels.csv": "item,topic,judge,label\n" + "".join(lines)}
    for name, noise in (("bm25", 1.0), ("dense", 0.8)):
        score = (truth + rng.normal(0, noise, truth.shape)).round(4)
        run: dict[str, dict[str, float]] = {}
        for topic, document, t, d in named:
            run.setdefault(topic, {})[document] = float(score[t, d])
        files[f"{name}.run"] = run_text(read_run(run, name))
    qrels = [f"{topic} 0 {document} {int(truth[t, d])}\n" for topic, document, t, d in named]
    return {**files, "truth.qrels": "".join(qrels)}


def _named_by_path(system: System, data: Any) -> System:
    """Return a system whose name is the full path of its file, if it has one."""
    return System(str(data), system.table) if isinstance(data, str | os.PathLike) else system


def _stem(path: Path) -> str:
    """Return the name of a run from its file, without the suffixes that show the format."""
    name = path.name
    for endings in (files.SUFFIXES, RUN_SUFFIXES):
        stem, ending = os.path.splitext(name)
        name = stem if stem and ending.lower() in endings else name
    return "standard input" if name == "-" else name


def _fields_source(path: FilePath, fields: Sequence[str]) -> Source:
    """Return the fields of every line of a TREC file."""
    content = read_content(path)
    table = read_fields(content, fields)
    row = table.get_column("row")
    return Source(content.name, tuple(fields), table.get_column, lambda position: int(row[position]), text=True)


def _frame(data: Mapping[Any, Any], value: str) -> pl.DataFrame:
    """Return {topic: {document: value}} as a table."""
    if not all(isinstance(values, Mapping) for values in data.values()):
        raise UsageError(f"a mapping is {{topic: {{document: {value}}}}}: {quote(data)} is not of this shape")
    rows = [
        (str(topic), str(document), number) for topic, values in data.items() for document, number in values.items()
    ]
    columns: Iterable[Sequence[Any]] = zip(*rows, strict=True) if rows else ((), (), ())
    return pl.DataFrame(dict(zip(("topic", "document", value), map(list, columns), strict=True)), strict=False)


def _ranked(source: Source) -> pl.DataFrame:
    """Return the rows of a run with each topic's documents best first."""
    missing = [column for column in COLUMNS if column not in source.columns]
    if missing:
        raise source.wrong(f"there is no column {quote(missing[0])}: a run has topic, document and score")
    table = _table(source, COLUMNS, "score")
    _refuse_twice(source, table)
    order = table.with_columns(single=as_single(table["score"].to_numpy())).sort(
        "single", "document", descending=True, maintain_order=True
    )
    return order.sort("topic", maintain_order=True).drop("single")


def as_single(score: Floats) -> NDArray[np.float32]:
    """Return scores as 32-bit floats, as which trec_eval compares them."""
    with np.errstate(over="ignore"):  # values above the largest 32-bit float become infinite
        return score.astype(np.float32) + np.float32(0)  # -0 is 0


def _table(source: Source, columns: Sequence[str], value: str) -> pl.DataFrame:
    """Return topic and document as text and a number; a row without one of them is refused."""
    topic, document, series = (source.column(column) for column in columns)
    plain = series.str.strip_chars() if series.dtype == pl.String else series
    number = plain.cast(pl.Float64, strict=False)
    unusable = number.is_null() | number.is_nan()
    wrong = (
        unusable if value == "score" else unusable | number.is_infinite()
    ).arg_true()  # an infinite score can be ranked
    if not len(series):
        raise source.wrong("there are no rows")
    if len(wrong):
        problem = "is empty" if series[wrong[0]] is None else f"{quote(series[wrong[0]])} is not a number"
        raise source.wrong(f"{value} {problem}", int(wrong[0]))
    table = pl.DataFrame({"topic": topic.cast(pl.String), "document": document.cast(pl.String), value: number})
    for name in ("topic", "document"):
        empty = table[name].is_null().arg_true()
        if len(empty):
            raise source.wrong(f"{name} is empty", int(empty[0]))
    return table


def _refuse_twice(source: Source, table: pl.DataFrame) -> None:
    """Refuse a document that is in a topic twice."""
    again = (~table.select(pl.struct("topic", "document").is_first_distinct()).to_series()).arg_true()
    if len(again):
        n = int(again[0])
        topic, document = table["topic"][n], table["document"][n]
        before = int(((table["topic"] == topic) & (table["document"] == document)).arg_true()[0])
        problem = f"document {quote(document)} of topic {quote(topic)} is in row {source.row(before)} already"
        raise source.wrong(f"{problem}: keep one of them", n)

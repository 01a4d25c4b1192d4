"""Runs of search systems, and the grades of documents, in the forms that tools for information retrieval use.

- a run file: ``topic Q0 document rank score tag``, six fields per line; rank and tag are not used, as in trec_eval;
- grades: a qrels file, ``topic iteration document grade``, or the lines of LETOR that name their documents;
- tables of either, as files or frames: topic, document, and score or label, also under the names of ir_measures and
  ir_datasets (query_id, doc_id, score or relevance), of PyTerrier (qid, docno, score or label) and of ranx (q_id,
  doc_id, score);
- rows with these fields, such as the named tuples of ir_datasets and ir_measures, and their iterators;
- ``{topic: {document: number}}`` as in pytrec_eval, the same as a JSON file of ranx, and the objects of ranx.

Documents are ranked by score, highest first. Scores are compared as 32-bit floats, and equal scores are ordered by the
name of the document, last first. trec_eval does both, so the results are the same.
"""

from __future__ import annotations

import json
import os
import re
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
from adjudge.data.columns import DOCUMENT, TOPIC, find_columns, match_columns
from adjudge.data.files import PARQUET, Content, FilePath, read_bytes, read_content
from adjudge.data.formats import READERS, named_format, open_source
from adjudge.data.source import Source, from_frame
from adjudge.data.trec import QRELS, document_of, field_lines, read_fields
from adjudge.data.write import frame
from adjudge.errors import InputError, UsageError, not_one_of, quote, quoted

RUN = ("topic", "Q0", "document", "rank", "score", "tag")
COLUMNS: Mapping[str, tuple[str, ...]] = {"topic": (*TOPIC, "q_id"), "document": DOCUMENT, "score": ("score",)}
GRADES = (  # columns of grades, in the order in which they are looked for
    {"topic": ("topic",), "item": ("document", "item"), "label": ("label",)},
    {"topic": ("query_id",), "item": ("doc_id",), "label": ("relevance",)},  # ir_measures, ir_datasets
    {"topic": ("qid",), "item": ("docno",), "label": ("label",)},  # PyTerrier
    {"topic": ("q_id",), "item": ("doc_id",), "label": ("score",)},  # ranx
)
STYLES: Mapping[str, tuple[str, ...]] = {  # columns of a run by the tool that reads them
    "adjudge": ("topic", "document", "score"),
    "ir_measures": ("query_id", "doc_id", "score"),
    "pyterrier": ("qid", "docno", "score", "rank"),
}
TABLES = ("csv", "tsv", "jsonl", "parquet")  # formats of tables of runs
RUN_SUFFIXES = (".run", ".txt", ".res", ".trec", ".csv", ".tsv", ".json", ".jsonl", ".parquet")  # not part of a name
LETOR_LINE = re.compile(r"(\S+)\s+qid:(\S+)\s[^#]*(?:#\s*(.*))?")
LETOR_NAME = re.compile(r"docid\s*=\s*(\S+)", re.IGNORECASE)
FORMS = (
    "a file, a frame with topic, document and {value}, {{topic: {{document: {value}}}}}, rows such as those of "
    "ir_measures or ir_datasets, or an object of ranx"
)


@dataclass(frozen=True, eq=False)
class System:
    """The result of a search system: the documents of every topic with their scores."""

    name: str
    table: pl.DataFrame  # topic, document (text) and score, the best document of a topic first
    kind: str | None = None  # the library of the frame that it was read from

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

    def frame(self, style: str = "adjudge", kind: str | None = None) -> Any:
        """Return the run as a frame with the columns that another tool reads.

        Parameters
        ----------
        style
            ``"adjudge"`` (topic, document, score), ``"ir_measures"`` (query_id, doc_id, score) or ``"pyterrier"`` (qid,
            docno, score and rank, which is 0 for the best document).
        kind
            The library of the frame: polars, pandas or pyarrow. By default that of the frame that the run was read
            from, else polars.

        Examples
        --------
        >>> read_run({"q1": {"d1": 0.2, "d2": 0.7}}).frame("pyterrier").rows()
        [('q1', 'd2', 0.7, 0), ('q1', 'd1', 0.2, 1)]
        """
        if style not in STYLES:
            raise UsageError(not_one_of("style", style, STYLES))
        rank = pl.int_range(pl.len(), dtype=pl.Int64).over("topic")
        columns = self.table.with_columns(rank=rank).get_columns()
        return frame(dict(zip(STYLES[style], columns, strict=False)), kind or self.kind or "polars")

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return ``{topic: {document: score}}``, as pytrec_eval and ranx take it."""
        scores: dict[str, dict[str, float]] = {}
        for topic, document, score in self.table.iter_rows():
            scores.setdefault(topic, {})[document] = score
        return scores


def is_run(path: FilePath) -> bool:
    """Whether a file looks like a run: a TREC file, a table with the columns of a run, or a JSON file of ranx.

    A TREC file has Q0 second in its first line, or six fields with a number in the fifth.
    """
    if not os.path.isfile(path):
        return False
    if read_bytes(path, len(PARQUET)) == PARQUET:
        return are_run_columns(open_source(path).columns)
    content = read_content(path)
    first = _first_line(content)
    if _is_trec_line(first):  # its reader reports other problems
        return True
    if first.startswith("{"):
        return isinstance(_json_scores(content), dict) or are_run_columns(_json_keys(first))
    return are_run_columns([name.strip('" ') for name in re.split("[,;\t|]", first)])


def are_run_columns(names: Iterable[Any]) -> bool:
    """Whether a table has the columns of a run, and none of labels.

    >>> are_run_columns(["qid", "query", "docid", "docno", "score"]), are_run_columns(["topic", "item", "label"])
    (True, False)
    """
    columns = [str(name) for name in names]
    labelled = any(name.lower() == "label" or name.startswith("p_") for name in columns)
    return not labelled and len(match_columns(columns, COLUMNS)) == len(COLUMNS)


def read_run(data: Any, name: str | None = None) -> System:
    """Read a run of a search system.

    Parameters
    ----------
    data
        A TREC file; a table as a file or a frame with the columns of adjudge (topic, document, score), ir_measures
        (query_id, doc_id, score), PyTerrier (qid, docno, score) or ranx (q_id, doc_id, score); rows with these fields,
        such as ``ScoredDoc`` of ir_measures; {topic: {document: score}}, or such a JSON file; or a ``Run`` of ranx.
    name
        The name of the system. By default that of the file, without its suffix, or of the object of ranx.

    Examples
    --------
    >>> read_run({"q1": {"d1": 0.2, "d2": 0.7}}, "bm25").ranked
    {'q1': ['d2', 'd1']}
    """
    if isinstance(data, System):
        return data
    if isinstance(data, str | os.PathLike):
        return System(name or run_name(data), _ranked(_run_file(data)))
    object_name = getattr(data, "name", None)  # of a run of ranx
    name = name or (object_name if isinstance(object_name, str) and object_name else "run")
    source = _objects_source(data, "score", name)
    return System(name, _ranked(source), source.kind if _is_frame(data) else None)


def is_one_run(data: Any) -> bool:
    """Whether data are one run, and not several in a list or by their names.

    >>> is_one_run({"q1": {"d1": 0.2}}), is_one_run({"bm25": {"q1": {"d1": 0.2}}})
    (True, False)
    """
    if isinstance(data, Mapping):
        parts = list(data.values())
        return 0 < len(parts) == sum(isinstance(part, Mapping) and not _is_nested(part) for part in parts)
    if isinstance(data, list | tuple):
        return bool(data) and are_run_columns(_row_fields(data[0]))
    if isinstance(data, System | str | os.PathLike) or _is_frame(data):
        return True
    return hasattr(data, "to_dict") or hasattr(data, "scoreddocs_iter")  # ranx, ir_datasets


def read_runs(data: Any) -> list[System]:
    """Read several runs, or one, see ``read_run``.

    Their names are the keys of a mapping, or else those of the files; files of the same name are called by their
    paths. Two runs with the same name are refused.
    """
    if not isinstance(data, Mapping | list | tuple) and not is_one_run(data):
        data = _listed(data, "score")
    if is_one_run(data):
        systems = [read_run(data)]
    elif isinstance(data, Mapping):
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


def frame_kind(systems: Sequence[System], otherwise: str = "polars") -> str:
    """Return the library of the frames that runs were read from, and so that of results; ``otherwise`` if none was."""
    return next((system.kind for system in systems if system.kind is not None), otherwise)


def read_grades(data: Any) -> dict[str, dict[str, float]]:
    """Read the grade of every judged document of every topic.

    Parameters
    ----------
    data
        A qrels file, or the lines of LETOR that name their documents; a table as a file or a frame with topic, item
        (or document) and label, or with the columns of ir_measures (query_id, doc_id, relevance), PyTerrier (qid,
        docno, label) or ranx (q_id, doc_id, score); rows with these fields, such as ``Qrel`` of ir_measures; {topic:
        {document: grade}}, or such a JSON file; or ``Qrels`` of ranx. An item may be called ``topic_document``.

    Returns
    -------
    dict
        {topic: {document: grade}}. A document that a topic has twice is refused.
    """
    source = _grades_file(data) if isinstance(data, str | os.PathLike) else _objects_source(data, "label", "qrels")
    roles: Mapping[str, str] = next(
        (matches for each in GRADES if len(matches := match_columns(source.columns, each)) == len(each)), {}
    )
    roles = roles or find_columns(source.columns, {}, source.name, needed=("topic", "item", "label"))
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
    return System(str(data), system.table, system.kind) if isinstance(data, str | os.PathLike) else system


def run_name(path: FilePath) -> str:
    """Return the name of a run from its file, without the suffixes that show the format.

    >>> run_name("runs/bm25.run.gz")
    'bm25'
    """
    name = Path(path).name
    for endings in (files.SUFFIXES, RUN_SUFFIXES):
        stem, ending = os.path.splitext(name)
        name = stem if stem and ending.lower() in endings else name
    return "standard input" if name == "-" else name


def _first_line(content: Content) -> str:
    """Return the first line of a file that has one."""
    return content.data.lstrip().split(b"\n", 1)[0].decode(errors="replace")


def _is_trec_line(line: str) -> bool:
    """Whether a line is that of a run file."""
    fields = line.split()
    if len(fields) > 1 and fields[1].upper() == "Q0":
        return True
    try:
        return len(fields) == len(RUN) and float(fields[RUN.index("score")]) is not None
    except ValueError:
        return False


def _run_file(path: FilePath) -> Source:
    """Return the rows of a run file of any form."""
    if os.path.isfile(path) and read_bytes(path, len(PARQUET)) == PARQUET:
        return open_source(path)
    content = read_content(path)
    first, kind = _first_line(content), named_format(path)
    if first.startswith("{"):
        return _json_file(content, "score")
    header = "score" in first.lower() and len(re.split("[,;\t|]", first)) >= len(COLUMNS)
    if not _is_trec_line(first) and (kind in TABLES or header):
        return READERS[kind if kind in TABLES else "csv"](content)
    fields = first.split()
    if len(fields) == 3 and all(re.fullmatch(r"-?[\d.]+(e-?\d+)?", field, re.IGNORECASE) for field in fields):
        raise InputError(
            "the lines look like scores of RankLib (topic, number of the document, score), which do not name the "
            "documents: rank with its option -indri, which writes a TREC file",
            content.name,
        )
    return _fields_source(content, RUN)


def _grades_file(path: FilePath) -> Source:
    """Return the rows of a file of grades of any form."""
    kind = named_format(path)
    if os.path.isfile(path) and kind == "parquet":
        return open_source(path)
    content = read_content(path)
    first = _first_line(content)
    if LETOR_LINE.fullmatch(first.strip()):
        return _letor_source(content)
    if first.startswith("{"):
        return _json_file(content, "label")
    return _fields_source(content, QRELS) if kind in (None, "qrels") else READERS[kind](content)


def _letor_source(content: Content) -> Source:
    """Return the grades in the lines of LETOR, ``grade qid:topic ... # docid = document``.

    The lines that `adjudge features` writes end with ``# topic document`` instead, as their qid is a number.
    """
    rows, lines = [], []
    for number, line in enumerate(content.text.split("\n"), 1):
        if not line.strip():
            continue
        match = LETOR_LINE.fullmatch(line.strip())
        grade, topic, note = match.groups() if match else (None, None, None)
        named = LETOR_NAME.search(note or "")
        words = (note or "").split()
        if grade is None or not (named or len(words) == 2):
            raise InputError(
                "the line does not name its document: a line of LETOR is grade qid:topic 1:number ... # docid = name",
                content.name,
                number,
            )
        rows.append((topic, named.group(1), grade) if named else (*words, grade))
        lines.append(number)
    table = pl.DataFrame(rows, ["topic", "document", "label"], orient="row")
    return Source(content.name, tuple(table.columns), table.get_column, lines.__getitem__, text=True)


def _json_file(content: Content, value: str) -> Source:
    """Return a JSON file: {topic: {document: number}}, as ranx writes it, or one object per line."""
    scores = _json_scores(content)
    if scores is None:
        return READERS["jsonl"](content)
    return from_frame(_frame(scores, value), content.name)


def _json_scores(content: Content) -> dict[str, Any] | None:
    """Return {topic: {document: number}} from a JSON file, None if it is not of this shape."""
    try:
        data = json.loads(content.data)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and is_one_run(data) else None


def _json_keys(line: str) -> list[str]:
    """Return the names in a JSON object, none if the line is not one."""
    try:
        return [*json.loads(line)]
    except (ValueError, RecursionError):
        return []


def _objects_source(data: Any, value: str, name: str) -> Source:
    """Return the rows of a frame, a mapping, an iterable of rows, or an object of ranx or ir_datasets."""
    if callable(getattr(data, "to_dict", None)) and not _is_frame(data):  # ranx
        data = data.to_dict()
    rows = getattr(data, "scoreddocs_iter" if value == "score" else "qrels_iter", None)  # of a dataset of ir_datasets
    if callable(rows):
        data = rows()
    if isinstance(data, Mapping):
        return from_frame(_frame(data, value), name)
    if _is_frame(data):
        return from_frame(data, name)
    rows = _listed(data, value)
    fields = _row_fields(rows[0]) if rows else ()
    if rows and not fields:
        raise UsageError(_unknown_form(rows[0], value))
    try:
        columns = {
            field: [row[field] if isinstance(row, Mapping) else getattr(row, field) for row in rows] for field in fields
        }
    except (KeyError, AttributeError) as error:
        raise InputError(f"the rows do not all have the same fields: the first has {quoted(fields)}", name) from error
    return from_frame(
        pl.DataFrame(columns or {column: [] for column in ("topic", "document", value)}, strict=False), name
    )


def _listed(data: Any, value: str) -> list[Any]:
    """Return the rows of an iterable."""
    if not isinstance(data, Iterable) or isinstance(data, str | bytes):
        raise UsageError(_unknown_form(data, value))
    return list(data)


def _unknown_form(data: Any, value: str) -> str:
    """Return the message about data that are neither a run nor grades."""
    expected, number = ("a run", "score") if value == "score" else ("a set of grades", "label")
    return f"{type(data).__name__} is not {expected}: give {FORMS.format(value=number)}"


def _row_fields(row: Any) -> tuple[str, ...]:
    """Return the names in a row, a named tuple or a mapping; none if it is neither."""
    if isinstance(row, Mapping):
        return () if any(isinstance(part, Mapping) for part in row.values()) else tuple(map(str, row))
    return tuple(getattr(row, "_fields", ()))


def _is_frame(data: Any) -> bool:
    """Whether data are a frame of any library; the class is asked, because lazy frames warn of the question."""
    return hasattr(type(data), "columns")


def _is_nested(mapping: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds mappings."""
    return any(isinstance(value, Mapping) for value in mapping.values())


def _fields_source(content: Content, fields: Sequence[str]) -> Source:
    """Return the fields of every line of a TREC file."""
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
    roles = match_columns(source.columns, COLUMNS)
    missing = [role for role in COLUMNS if role not in roles]
    if missing:
        raise source.wrong(
            f"there is no column {quote(missing[0])}: a run has topic, document and score, or the names of ir_measures "
            "(query_id, doc_id, score) or PyTerrier (qid, docno, score)"
        )
    table = _table(source, [roles[role] for role in COLUMNS], "score")
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

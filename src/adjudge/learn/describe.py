"""``describe``: the features of all pairs of a run, as a table or as a file for rankers.

The SVM-light format, which LETOR, SVM-rank, LightGBM and scikit-learn read, has one line per pair: the label, ``qid:``
with the number of the topic, the features by number and, after ``#``, the topic and the document. The names of the
features are comments at the top. A document without a grade has label 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Floats
from adjudge.data.files import display_name
from adjudge.data.runs import System, read_grades, read_run
from adjudge.data.write import FORMATS, table_text
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.learn.features import FeatureTable, Progress, features
from adjudge.learn.passages import read_passages, read_queries

SVM = "svm"
SUFFIXES = {".svm": SVM, ".svmlight": SVM, ".letor": SVM, ".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}


@dataclass(frozen=True, eq=False)
class Described:
    """Pairs of a run with their features; ``label`` is None without grades."""

    topics: tuple[str, ...]  # (n)
    documents: tuple[str, ...]  # (n)
    label: Floats | None  # (n)
    features: FeatureTable

    @property
    def frame(self) -> pl.DataFrame:
        """Topic, document, label if there is one, and a column for every feature."""
        head: dict[str, Any] = {"topic": list(self.topics), "document": list(self.documents)}
        if self.label is not None:
            head["label"] = self.label
        return pl.DataFrame(head).hstack(self.features.frame)

    def content(self, format: str) -> bytes:  # noqa: A002
        """Return the bytes of a file: svm, csv, jsonl or parquet."""
        if format not in (SVM, *FORMATS):
            raise UsageError(f"format {format!r} is not one of {quoted((SVM, *FORMATS))}")
        return self._lines().encode() if format == SVM else table_text(self.frame, format)

    def _lines(self) -> str:
        """Return the pairs in SVM-light's format."""
        number = {topic: n for n, topic in enumerate(dict.fromkeys(self.topics), 1)}
        label = np.zeros(len(self.topics)) if self.label is None else self.label
        head = [f"# {n} {name}\n" for n, name in enumerate(self.features.names, 1)]
        rows = zip(label.tolist(), self.topics, self.documents, self.features.X.tolist(), strict=True)
        return "".join(
            [
                *head,
                *(
                    f"{grade:g} qid:{number[topic]} "
                    + " ".join(f"{n}:{value!r}" for n, value in enumerate(values, 1))
                    + f" # {topic} {document}\n"
                    for grade, topic, document, values in rows
                ),
            ]
        )


def format_of(path: str | Path) -> str:
    """Return the format of a file by its suffix."""
    ending = Path(path).suffix.lower()
    if ending not in SUFFIXES:
        raise UsageError(f"{path} has no known suffix: use one of {', '.join(SUFFIXES)}")
    return SUFFIXES[ending]


def describe(
    run: Any,
    passages: Any,
    queries: Any,
    names: Any = None,
    *,
    grades: Any = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> Described:
    """Compute the features of every pair of query and passage in a run; all passages form the corpus.

    ``grades`` are labels: a qrels file, a frame, or {topic: {document: grade}}.
    """
    system, texts, query_texts = read_run(run), read_passages(passages), read_queries(queries)
    topics, documents = (system.table[name].to_list() for name in ("topic", "document"))
    _check_names(system, "topic", "query", query_texts, queries)
    _check_names(system, "document", "passage", texts, passages)
    pairs = [(query_texts[topic], texts[document]) for topic, document in zip(topics, documents, strict=True)]
    label = None if grades is None else _labels(topics, documents, grades)
    table = features(pairs, names, list(texts.values()), workers, cache, progress, topics=topics)
    return Described(tuple(topics), tuple(documents), label, table)


def _check_names(system: System, column: str, kind: str, texts: dict[str, str], data: Any) -> None:
    """Refuse a run with a topic that is not a query, or a document that is not a passage."""
    unknown = next((name for name in system.table[column].unique(maintain_order=True) if name not in texts), None)
    if unknown is not None:
        where = display_name(data) if isinstance(data, str | Path) else f"the {len(texts):,} given"
        example = quote(next(iter(texts)))
        raise InputError(f"{column} {quote(unknown)} is not a {kind} of {where}, which has {example}", system.name)


def _labels(topics: list[str], documents: list[str], grades: Any) -> Floats:
    """Return the grade of every pair, 0 if it has none."""
    by_topic = read_grades(grades)
    none: dict[str, float] = {}
    both = zip(topics, documents, strict=True)
    return np.array([by_topic.get(topic, none).get(document, 0.0) for topic, document in both])

"""``describe``: the features of everything that a run returns, as a table or as a file for rankers.

SVM-light's format, which LETOR, SVM-rank, LightGBM and scikit-learn read, is one line a pair: the label, ``qid:`` with
the topic's running number, the features by number, and behind ``#`` the topic and the document. Features' names stand
in comments on top. A document that nobody judged has label 0.
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
    """Pairs of a run with their features; ``label`` is None where no grades are known."""

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
    """Return the format that a file's name tells."""
    ending = Path(path).suffix.lower()
    if ending not in SUFFIXES:
        raise UsageError(f"{path} does not tell a format by its name: end it in {', '.join(SUFFIXES)}")
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
    """Return the features of every passage that a run returns for a query; all passages tell how common words are.

    ``grades`` are labels: a qrels file, a frame, or {topic: {document: grade}}.
    """
    system, texts, asked = read_run(run), read_passages(passages), read_queries(queries)
    topics, documents = (system.table[name].to_list() for name in ("topic", "document"))
    _refuse_strangers(system, "topic", "query", asked, queries)
    _refuse_strangers(system, "document", "passage", texts, passages)
    pairs = [(asked[topic], texts[document]) for topic, document in zip(topics, documents, strict=True)]
    label = None if grades is None else _labels(topics, documents, grades)
    found = features(pairs, names, list(texts.values()), workers, cache, progress, topics=topics)
    return Described(tuple(topics), tuple(documents), label, found)


def _refuse_strangers(system: System, column: str, what: str, known: dict[str, str], data: Any) -> None:
    """Refuse a run with a topic that is no query, or a document that is no passage."""
    strange = next((name for name in system.table[column].unique(maintain_order=True) if name not in known), None)
    if strange is not None:
        where = display_name(data) if isinstance(data, str | Path) else f"the {len(known):,} given"
        said = f"{column} {quote(strange)} is no {what} of {where}, which has such as {quote(next(iter(known)))}"
        raise InputError(said, system.name)


def _labels(topics: list[str], documents: list[str], grades: Any) -> Floats:
    """Return the grade of every pair, 0 where nobody judged it."""
    known = read_grades(grades)
    none: dict[str, float] = {}
    both = zip(topics, documents, strict=True)
    return np.array([known.get(topic, none).get(document, 0.0) for topic, document in both])

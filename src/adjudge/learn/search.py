"""``Index``: passages that can be searched by BM25.

The score of a passage is Lucene's: the sum over the query's terms of idf x tf / (tf + k1 (1 - b + b length / mean)),
idf = log(1 + (N - n + 1/2) / (n + 1/2)) where n of N passages have the term. (Robertson's k1 + 1 above the line, which
changes no order, is left out.) bm25s works out what every term adds to every passage; searching sums and picks the
best, in an order that is fixed: by score as a 32-bit float, then by name, the last first, as trec_eval has it. A
passage that shares no term with a query is not found, and a query of which no term is known finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from adjudge.errors import MissingExtra, UsageError
from adjudge.judgments.runs import System
from adjudge.judgments.write import write_whole
from adjudge.kernels.postings import best_passages
from adjudge.learn.index_file import Postings, Stored, index_files, read_index
from adjudge.learn.passages import read_passages, read_queries
from adjudge.learn.text import Stems, terms

Progress: TypeAlias = Callable[[int, int], None]  # told what is done, and of how much

BLOCK = 512  # queries between two words of progress, fewer where many passages are found of each
CELLS = 4_000_000  # passages found that are held at a time
LINES = 2_000  # passages between two


class Index:
    """Passages that can be searched; ``passages`` is a file, a frame with passage and text, or {passage: text}.

    >>> index = Index({"d1": "Mary had a little lamb", "d2": "the fleece of lambs is white", "d3": "bo peep"})
    >>> index.search({"q1": "whose lamb is little?"}).ranked
    {'q1': ['d1', 'd2']}
    """

    def __init__(
        self,
        passages: Any,
        k1: float = 1.2,
        b: float = 0.75,
        stem: bool = True,
        stop: bool = True,
        *,
        progress: Progress | None = None,
    ) -> None:
        if not 0 <= k1 < np.inf:
            raise UsageError(f"k1 {k1:g} is not a number from 0 on")
        if not 0 <= b <= 1:
            raise UsageError(f"b {b:g} is not a number from 0 to 1")
        texts = read_passages(passages)
        self.names = sorted(texts)  # so that a larger number is a later name
        self.k1, self.b, self.stem, self.stop = float(k1), float(b), stem, stop
        self._stems = Stems() if stem else None
        self.terms: dict[str, int] = {}
        coded = []
        for n, name in enumerate(self.names):
            coded.append([self.terms.setdefault(term, len(self.terms)) for term in self._terms(texts[name])])
            if progress is not None and n % LINES == 0:
                progress(n, len(self.names))
        self.postings = _postings(coded, self.terms, self.k1, self.b)
        if progress is not None:
            progress(len(self.names), len(self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Index({len(self):,} passages, {len(self.terms):,} terms, k1={self.k1:g}, b={self.b:g})"

    def search(self, queries: Any, depth: int = 20, *, name: str = "bm25", progress: Progress | None = None) -> System:
        """Return the run of queries (a file, a frame with query and text, or {query: text}), ``depth`` passages each.

        A query that finds nothing is not in the run.
        """
        if depth < 1:
            raise UsageError(f"depth {depth} is not 1 or more")
        asked = read_queries(queries)
        topics = sorted(asked)
        depth, parts = min(depth, len(self)), []
        step = max(1, min(BLOCK, CELLS // depth))
        for first in range(0, len(topics), step):
            if progress is not None:
                progress(first, len(topics))
            block = topics[first : first + step]
            coded = [self._codes(asked[topic]) for topic in block]
            parts.append(_found(self.postings, len(self), block, coded, depth))
        if progress is not None:
            progress(len(topics), len(topics))
        table = pl.concat(parts)
        return System(name, table.select("topic", self._documents.gather(table["passage"]), "score"))

    def best(self, query: str, depth: int = 20) -> list[tuple[str, float]]:
        """Return the passages that one query finds, with their scores, best first: the quick way for one at a time."""
        if depth < 1:
            raise UsageError(f"depth {depth} is not 1 or more")
        term = np.array(self._codes(query), np.int64)
        count, found, value = best_passages(
            *self.postings, len(self), np.array([0, term.size]), term, min(depth, len(self))
        )
        listed = zip(found[0, : count[0]].tolist(), value[0, : count[0]].tolist(), strict=True)
        return [(self.names[n], score) for n, score in listed]

    def save(self, folder: str | Path) -> None:
        """Write the index to a folder, for ``load_index``."""
        held = Stored(self.k1, self.b, self.stem, self.stop, self.names, list(self.terms), self.postings)
        write_whole(index_files(held), folder)

    @cached_property
    def _documents(self) -> pl.Series:
        """The passages' names as a column."""
        return pl.Series("document", self.names, pl.String)

    def _terms(self, text: str) -> list[str]:
        """Return the terms of a text as this index has them."""
        return terms(text, self._stems, self.stop)

    def _codes(self, text: str) -> list[int]:
        """Return those terms of a query that some passage has."""
        return [self.terms[term] for term in self._terms(text) if term in self.terms]


def load_index(folder: str | Path) -> Index:
    """Return an index that was saved; one that is damaged is refused."""
    stored = read_index(folder)
    index = Index.__new__(Index)
    index.k1, index.b, index.stem, index.stop, index.names, _, index.postings = stored
    index.terms = {term: n for n, term in enumerate(stored.terms)}
    index._stems = Stems() if index.stem else None
    return index


def _postings(coded: list[list[int]], known: dict[str, int], k1: float, b: float) -> Postings:
    """Return what every term adds to every passage, by bm25s."""
    if not known:  # bm25s would divide by the mean length, 0
        return Postings(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    try:
        from bm25s import BM25  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("'adjudge[learn]'", "searching") from error
    made = BM25(k1=k1, b=b, method="lucene")
    made.index((coded, dict(known)), create_empty_token=False, show_progress=False)
    scores = made.scores
    start = np.asarray(scores["indptr"], np.int64)
    return Postings(start, np.asarray(scores["indices"], np.int32), np.asarray(scores["data"], np.float32))


def _found(postings: Postings, passages: int, topics: list[str], coded: list[list[int]], depth: int) -> pl.DataFrame:
    """Return what queries find: topic, the passage's number, and the score."""
    query = np.cumsum([0, *map(len, coded)])
    term = np.fromiter(chain.from_iterable(coded), np.int64, query[-1])
    count, found, value = best_passages(*postings, passages, query, term, depth)
    kept = np.arange(depth) < count[:, None]
    columns = {"topic": np.repeat(np.array(topics, object), count), "passage": found[kept], "score": value[kept]}
    return pl.DataFrame(columns, {"topic": pl.String, "passage": pl.UInt32, "score": pl.Float64})

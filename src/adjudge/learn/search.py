"""``Index``: search passages with BM25.

The score of a passage is Lucene's: the sum over the query's terms of idf x tf / (tf + k1 (1 - b + b length / mean)),
idf = log(1 + (N - n + 1/2) / (n + 1/2)) if n of N passages have the term. (Robertson's factor k1 + 1, which does not
change the order, is left out.) bm25s computes the weight of every term in every passage; a search sums weights and
returns the best passages, sorted by score as a 32-bit float, then by name in descending order, as in trec_eval. A
passage without a term of the query is not returned.

A saved index has names, terms and settings in a JSON file, and the postings as arrays. The search does not check
bounds, so everything it relies on is verified when an index is read: a file that is damaged, truncated, from another
index or hand-made is refused. The arrays have the checksums of a zip archive, and one of them is the digest of the JSON
file. NumPy allocates as much memory as the header of an array claims; here the header is checked against the content,
no array is larger than the reader expects, and nothing is unpickled.
"""

from __future__ import annotations

import hashlib
import heapq
import io
import json
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

import numpy as np
import polars as pl
from numpy.lib import format as npy
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.data.runs import System
from adjudge.data.write import write_whole
from adjudge.errors import InputError, MissingExtra, UsageError
from adjudge.kernels.compiled import compiled
from adjudge.learn.passages import UNFIT, read_passages, read_queries
from adjudge.learn.text import VERSION, Stems, terms

HEADER = 1_000  # maximum number of bytes before the numbers
# raised by zipfile, zlib and NumPy for damaged files
DAMAGES = (
    *(BadZipFile, zlib.error, struct.error, OSError, EOFError),
    *(KeyError, ValueError, TypeError, NotImplementedError, RuntimeError, OverflowError),
)


def read_arrays(content: bytes, names: Sequence[str], most: int) -> list[NDArray[Any]]:
    """Return arrays with one axis by name, each of at most ``most`` bytes; raise ValueError if one is damaged."""
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            return [_array(archive, f"{name}.npy", most) for name in names]
    except DAMAGES as error:
        raise ValueError(f"the arrays are damaged: {error}") from error


def _array(archive: ZipFile, name: str, most: int) -> NDArray[Any]:
    """Return one array of an archive."""
    about = archive.getinfo(name)
    if about.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or about.file_size > most + HEADER:
        raise ValueError(f"{name} has another compression, or is too large")
    with archive.open(about) as file:
        content = file.read(most + HEADER + 1)  # to the end, so that the checksum is verified
    if len(content) != about.file_size:
        raise ValueError(f"{name} has {len(content):,} bytes, expected {about.file_size:,}")
    stream = io.BytesIO(content)
    if npy.read_magic(stream) != (1, 0):
        raise ValueError(f"{name} has another version")
    shape, _, dtype = npy.read_array_header_1_0(stream, HEADER)
    rest = len(content) - stream.tell()
    if dtype.kind not in "iuf" or len(shape) != 1 or shape[0] < 0 or shape[0] * dtype.itemsize != rest:
        raise ValueError(f"{name} claims {shape} of {dtype} in {rest:,} bytes")
    return np.frombuffer(content, dtype, offset=stream.tell())


FORMAT = 2  # 1 had no digest
FILES = ("index.json", "postings.npz")
DAMAGED = "the index is damaged: make it again"


class Postings(NamedTuple):
    """The passages of every term."""

    start: Codes  # (V + 1)
    passage: Codes
    weight: NDArray[np.float32]  # contribution of the term to the score of the passage


KINDS = {"start": np.int64, "passage": np.int32, "weight": np.float32, "digest": np.uint8}


class Stored(NamedTuple):
    """The content of a saved index."""

    k1: float
    b: float
    stem: bool
    stop: bool
    passages: list[str]  # names, sorted
    terms: list[str]
    postings: Postings


def index_files(stored: Stored) -> dict[str, bytes]:
    """Return the files of an index by their names."""
    about = {"format": FORMAT, "text": VERSION, **stored._asdict()}
    del about["postings"]
    listed = json.dumps(about, ensure_ascii=False).encode()
    arrays = io.BytesIO()
    np.savez(arrays, **stored.postings._asdict(), digest=_digest(listed))
    return dict(zip(FILES, (listed, arrays.getvalue()), strict=True))


def read_index(folder: str | Path) -> Stored:
    """Return the content of a saved index; refuse one that was changed after it was written."""
    listed, arrays = _read_files(folder)
    try:
        about = json.loads(listed)
        versions = about["format"], about["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(DAMAGED, str(folder)) from error
    if versions != (FORMAT, VERSION):
        raise InputError("the index is of another version of adjudge: make it again", str(folder))
    try:
        *parts, digest = read_arrays(arrays, tuple(KINDS), len(arrays))
        stored = Stored(**{name: about[name] for name in Stored._fields[:-1]}, postings=Postings(*parts))
        kinds = [part.dtype for part in (*parts, digest)]
        valid = kinds == list(KINDS.values()) and np.array_equal(digest, _digest(listed)) and _valid_content(stored)
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(DAMAGED, str(folder)) from error
    if not valid:
        raise InputError(DAMAGED, str(folder))
    return stored


def _read_files(folder: str | Path) -> tuple[bytes, bytes]:
    """Return the files of a saved index."""
    try:
        listed, arrays = ((Path(folder) / name).read_bytes() for name in FILES)
    except FileNotFoundError as error:
        raise InputError("holds no index: there is no index.json or no postings.npz", str(folder)) from error
    except OSError as error:
        raise InputError(f"the index cannot be read: {error.strerror}", str(folder)) from error
    return listed, arrays


def _digest(listed: bytes) -> NDArray[np.uint8]:
    """Return the digest of the JSON file (32)."""
    return np.frombuffer(hashlib.sha256(listed).digest(), np.uint8)


def _valid_content(stored: Stored) -> bool:
    """Whether settings are in range, names are distinct and valid, and postings are in range."""
    passages, terms = stored.passages, stored.terms
    return (
        _valid_settings(stored)
        and _names(passages)
        and _names(terms)
        and len(passages) > 0
        and all(name < after for name, after in pairwise(passages))  # ties are broken by number
        and len(set(terms)) == len(terms)
        and not pl.Series(passages, dtype=pl.String).str.contains(UNFIT).any()
        and _valid_postings(stored.postings, len(passages), len(terms))
    )


def _valid_settings(stored: Stored) -> bool:
    """Whether the parameters of BM25 are numbers in range, and the options are True or False."""
    numbers = all(type(number) is float for number in (stored.k1, stored.b))
    flags = all(type(flag) is bool for flag in (stored.stem, stored.stop))
    return numbers and flags and 0 <= stored.k1 < np.inf and 0 <= stored.b <= 1


def _names(listed: Any) -> bool:
    """Whether this is a list of non-empty strings."""
    return isinstance(listed, list) and all(type(name) is str and name for name in listed)


def _valid_postings(postings: Postings, passages: int, terms: int) -> bool:
    """Whether every index that the search uses is in range, and every weight is valid."""
    start, passage, weight = postings
    if start.size != terms + 1 or start[0] != 0 or start[-1] != passage.size or passage.size != weight.size:
        return False
    if (start[1:] < start[:-1]).any() or passage.min(initial=0) < 0 or passage.max(initial=-1) >= passages:
        return False
    rises = passage[1:] > passage[:-1]
    rises[start[(start > 0) & (start < passage.size)] - 1] = True  # the first posting of the next term
    most = np.log(passages + 1)  # the largest idf, which bounds a weight
    return bool(rises.all() and (weight >= 0).all() and (weight <= most).all())


Progress: TypeAlias = Callable[[int, int], None]  # called with the number done, and the total

BLOCK = 512  # queries per call of progress, fewer if each returns many passages
CELLS = 4_000_000  # results that are in memory at a time
LINES = 2_000  # passages per call of progress


class Index:
    """An index of passages.

    Parameters
    ----------
    passages
        A file, a frame with the columns passage and text, or a mapping {passage: text}.
    k1, b
        The parameters of BM25.
    stem, stop
        Whether words are stemmed, and stop words are removed.
    progress
        Called with the number of passages done, and the total.

    Examples
    --------
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
            raise UsageError(f"k1 {k1:g} is not a number of at least 0")
        if not 0 <= b <= 1:
            raise UsageError(f"b {b:g} is not a number from 0 to 1")
        texts = read_passages(passages)
        self.names = sorted(texts)  # a larger number is a later name
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
        """Return the run of queries, with ``depth`` passages each.

        ``queries`` is a file, a frame with the columns query and text, or a mapping {query: text}. A query without a
        result is not in the run.
        """
        if depth < 1:
            raise UsageError(f"depth {depth} is not 1 or more")
        texts = read_queries(queries)
        topics = sorted(texts)
        depth, parts = min(depth, len(self)), []
        step = max(1, min(BLOCK, CELLS // depth))
        for first in range(0, len(topics), step):
            if progress is not None:
                progress(first, len(topics))
            block = topics[first : first + step]
            coded = [self._codes(texts[topic]) for topic in block]
            parts.append(_search_block(self.postings, len(self), block, coded, depth))
        if progress is not None:
            progress(len(topics), len(topics))
        table = pl.concat(parts)
        return System(name, table.select("topic", self._documents.gather(table["passage"]), "score"))

    def best(self, query: str, depth: int = 20) -> list[tuple[str, float]]:
        """Return the best passages of one query with their scores; faster than ``search`` for a single query."""
        if depth < 1:
            raise UsageError(f"depth {depth} is not 1 or more")
        term = np.array(self._codes(query), np.int64)
        count, result, value = best_passages(
            *self.postings, len(self), np.array([0, term.size]), term, min(depth, len(self))
        )
        listed = zip(result[0, : count[0]].tolist(), value[0, : count[0]].tolist(), strict=True)
        return [(self.names[n], score) for n, score in listed]

    def save(self, folder: str | Path) -> None:
        """Write the index to a folder, for ``load_index``."""
        stored = Stored(self.k1, self.b, self.stem, self.stop, self.names, list(self.terms), self.postings)
        write_whole(index_files(stored), folder)

    @cached_property
    def _documents(self) -> pl.Series:
        """The names of passages as a column."""
        return pl.Series("document", self.names, pl.String)

    def _terms(self, text: str) -> list[str]:
        """Return the terms of a text."""
        return terms(text, self._stems, self.stop)

    def _codes(self, text: str) -> list[int]:
        """Return the numbers of the terms of a query that are in the index."""
        return [self.terms[term] for term in self._terms(text) if term in self.terms]


def search(
    passages: Any,
    queries: Any,
    depth: int = 20,
    *,
    name: str = "bm25",
    progress: Progress | None = None,
    **settings: Any,
) -> System:
    """Search passages with BM25.

    Parameters
    ----------
    passages
        A file, a frame with passage and text, {passage: text}, an ``Index``, or the folder of a saved index.
    queries
        A file, a frame with query and text, or {query: text}.
    depth
        Maximum number of passages per query.
    name
        Name of the run.
    progress
        Called with the number of queries searched and the number of all.
    **settings
        Settings of a new ``Index``: ``k1``, ``b``, ``stem`` and ``stop``.

    Returns
    -------
    System
        The run; ``table`` has topic, document and score. Queries that find nothing are not in it.

    Examples
    --------
    >>> import adjudge
    >>> passages = {"d1": "Mary had a little lamb", "d2": "the fleece of lambs is white", "d3": "bo peep"}
    >>> adjudge.search(passages, {"q1": "whose lamb is little?"}).ranked
    {'q1': ['d1', 'd2']}

    """
    return open_index(passages, **settings).search(queries, depth, name=name, progress=progress)


def open_index(passages: Any, *, progress: Progress | None = None, **settings: Any) -> Index:
    """Return an index of passages: the one given, one saved in a folder, or a new one with these settings."""
    saved = isinstance(passages, str | os.PathLike) and os.path.isdir(passages)
    if not saved and not isinstance(passages, Index):
        return Index(passages, **settings, progress=progress)
    if settings:
        raise UsageError(f"{passages} is an index already: its {', '.join(settings)} cannot be changed")
    return passages if isinstance(passages, Index) else load_index(passages)


def load_index(folder: str | Path) -> Index:
    """Read a saved index; refuse a damaged one.

    Parameters
    ----------
    folder
        The folder that ``Index.save`` wrote.

    Returns
    -------
    Index

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Index({"d1": "Mary had a little lamb", "d2": "bo peep"}).save(f"{folder}/index")
    ...     load_index(f"{folder}/index")
    Index(2 passages, 5 terms, k1=1.2, b=0.75)

    """
    stored = read_index(folder)
    index = Index.__new__(Index)
    index.k1, index.b, index.stem, index.stop, index.names, _, index.postings = stored
    index.terms = {term: n for n, term in enumerate(stored.terms)}
    index._stems = Stems() if index.stem else None
    return index


def _postings(coded: list[list[int]], vocabulary: dict[str, int], k1: float, b: float) -> Postings:
    """Return the weight of every term in every passage, by bm25s."""
    if not vocabulary:  # bm25s would divide by a mean length of 0
        return Postings(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
    try:
        from bm25s import BM25  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("'adjudge[learn]'", "searching") from error
    model = BM25(k1=k1, b=b, method="lucene")
    model.index((coded, dict(vocabulary)), create_empty_token=False, show_progress=False)
    scores = model.scores
    start = np.asarray(scores["indptr"], np.int64)
    return Postings(start, np.asarray(scores["indices"], np.int32), np.asarray(scores["data"], np.float32))


def _search_block(
    postings: Postings, passages: int, topics: list[str], coded: list[list[int]], depth: int
) -> pl.DataFrame:
    """Return the results of some queries: topic, number of the passage, score."""
    query = np.cumsum([0, *map(len, coded)])
    term = np.fromiter(chain.from_iterable(coded), np.int64, query[-1])
    count, result, value = best_passages(*postings, passages, query, term, depth)
    filled = np.arange(depth) < count[:, None]
    columns = {"topic": np.repeat(np.array(topics, object), count), "passage": result[filled], "score": value[filled]}
    return pl.DataFrame(columns, {"topic": pl.String, "passage": pl.UInt32, "score": pl.Float64})


@compiled
def best_passages(
    start: Codes, passage: Codes, weight: NDArray[np.float32], passages: int, query: Codes, term: Codes, depth: int
) -> tuple[Codes, Codes, NDArray[np.float32]]:
    """Return the number of results of each query (Q), and the passages and scores (Q, depth), best first.

    Postings of term v are from ``start[v]`` to ``start[v + 1]``; terms of query q start at ``query[q]``. A repeated
    term counts repeatedly. Scores are summed in 64 bits and compared in 32; ties are broken by the number of the
    passage, highest first. Passages with a score of 0 are not returned.
    """
    queries = query.size - 1
    count = np.zeros(queries, np.int64)
    result = np.zeros((queries, depth), np.int64)
    value = np.zeros((queries, depth), np.float32)
    score = np.zeros(passages)
    scored = np.zeros(passages, np.int64)  # the passages with a score
    for q in range(queries):
        touched = _add_weights(start, passage, weight, term[query[q] : query[q + 1]], score, scored)
        heap = [(np.float32(0), np.int64(0)) for _ in range(0)]  # the worst of the best is first
        for i in range(touched):
            entry = (np.float32(score[scored[i]]), scored[i])
            score[scored[i]] = 0
            if len(heap) < depth:
                heapq.heappush(heap, entry)
            elif entry > heap[0]:
                heapq.heapreplace(heap, entry)
        count[q] = len(heap)
        for d in range(count[q] - 1, -1, -1):
            value[q, d], result[q, d] = heapq.heappop(heap)
    return count, result, value


@compiled
def _add_weights(
    start: Codes, passage: Codes, weight: NDArray[np.float32], term: Codes, score: Floats, scored: Codes
) -> int:
    """Add the weights of a query's terms to the scores of passages; fill in and count the passages with a score."""
    touched = 0
    for v in term:
        for i in range(start[v], start[v + 1]):
            if score[passage[i]] == 0 and weight[i] > 0:
                scored[touched] = passage[i]
                touched += 1
            score[passage[i]] += weight[i]
    return touched

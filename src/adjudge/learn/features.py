"""``features``: numbers about every passage that a run returns for a query, for a ranker to learn from.

Every feature is one named function in ``FEATURES``. The numbers depend on the texts and the corpus alone, not on how
many workers compute them, and none is ever missing or infinite. With a cache, each feature's numbers are kept in a file
of their own, under a name made from the feature, its version, and all texts: what has changed is computed again.

They are a table, or a file in the format of SVM-light, which LETOR, SVM-rank, LightGBM and scikit-learn read: one line
per pair with the label, ``qid:`` with the topic's running number, the features by number and, after ``#``, the topic
and the document. The names of the features are comments at the top. A document that nobody judged has label 0.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from adjudge.arrays import Floats, frozen
from adjudge.data.files import display_name
from adjudge.data.runs import System, read_grades, read_run
from adjudge.data.show import NotebookView
from adjudge.data.write import FORMATS, table_text, write_file
from adjudge.errors import InputError, UsageError, not_one_of, quote
from adjudge.learn import grammar, questions, similarity, text
from adjudge.learn.passages import read_passages, read_queries
from adjudge.learn.search import read_arrays
from adjudge.learn.text import Encoded, Feature, encode_pairs, topic_codes

Progress: TypeAlias = Callable[[int, int, str], None]  # called with the number of features done, the total, and a name

FEATURES: Mapping[str, Feature] = {
    feature.name: feature
    for feature in (
        *similarity.OVERLAP_FEATURES,
        *similarity.SEQUENCE_FEATURES,
        *similarity.OKAPI_FEATURES,
        *similarity.LENGTH_FEATURES,
        *similarity.TOPICS_MODEL_FEATURES,
        *questions.ANSWER_TYPE_FEATURES,
        *questions.ASKING_FEATURES,
        *grammar.GRAMMAR_FEATURES,
    )
}
SVM = "svm"
SUFFIXES = {".svm": SVM, ".svmlight": SVM, ".letor": SVM, ".csv": "csv", ".jsonl": "jsonl", ".parquet": "parquet"}
GROUPS = tuple(dict.fromkeys(feature.group for feature in FEATURES.values()))


@dataclass(frozen=True, eq=False)
class FeatureTable:
    """The features of pairs."""

    names: tuple[str, ...]  # (F)
    X: Floats  # (n, F)

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, name: str) -> Floats:
        if name not in self.names:
            raise UsageError(f"there is no feature {quote(name)} here: there are {', '.join(self.names)}")
        return self.X[:, self.names.index(name)]

    @property
    def frame(self) -> pl.DataFrame:
        """The features as a table, a column each."""
        return pl.DataFrame({name: self.X[:, f] for f, name in enumerate(self.names)})


@dataclass(frozen=True, eq=False)
class RunFeatures(NotebookView):
    """Pairs of a run with their features; ``label`` is None without grades."""

    topics: tuple[str, ...]  # (n)
    documents: tuple[str, ...]  # (n)
    label: Floats | None  # (n)
    features: FeatureTable

    def __len__(self) -> int:
        return len(self.topics)

    def __repr__(self) -> str:
        topics, names = len(set(self.topics)), len(self.features.names)
        return f"RunFeatures({len(self):,} documents of {topics:,} topics, {names:,} features)"

    @property
    def table(self) -> pl.DataFrame:
        """Topic, document, label if there is one, and a column for every feature."""
        head: dict[str, Any] = {"topic": list(self.topics), "document": list(self.documents)}
        if self.label is not None:
            head["label"] = self.label
        return pl.DataFrame(head).hstack(self.features.frame)

    def content(self, format: str) -> bytes:  # noqa: A002
        """Return the bytes of a file: svm, csv, jsonl or parquet."""
        if format not in (SVM, *FORMATS):
            raise UsageError(not_one_of("format", format, (SVM, *FORMATS)))
        return self._lines().encode() if format == SVM else table_text(self.table, format)

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


def features(
    run: Any,
    passages: Any,
    queries: Any,
    names: Any = None,
    *,
    grades: Any = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
) -> RunFeatures:
    """Compute the features of every passage that a run returns for a query.

    Parameters
    ----------
    run, passages, queries
        A run of a search system, the passages that it searched, and the queries: files, frames or mappings. All
        passages count in how common each word is.
    names
        Names of features or of their groups, in a list or separated by commas; by default all of ``FEATURES``
        but those of the group ``grammar``, which need an extra.
    grades
        The labels of the pairs: a qrels file, a frame, or {topic: {document: grade}}.
    workers
        Number of threads; the result does not depend on it.
    cache
        A folder that keeps computed features, so that only what has changed is computed again.
    progress
        Called with the number of features computed, the number of all, and the name of the last.

    Returns
    -------
    RunFeatures
        Topics, documents, labels and features; ``table`` has one row per pair.

    Examples
    --------
    >>> import adjudge
    >>> passages = {"d1": "Mary had a little lamb", "d2": "the fleece of lambs is white"}
    >>> queries = {"q1": "whose lamb is little?"}
    >>> run = adjudge.search(passages, queries)
    >>> adjudge.features(run, passages, queries, "passage_length").table.columns
    ['topic', 'document', 'passage_length']

    """
    system, texts, query_texts = read_run(run), read_passages(passages), read_queries(queries)
    topics, documents = (system.table[name].to_list() for name in ("topic", "document"))
    _check_names(system, "topic", "query", query_texts, queries)
    _check_names(system, "document", "passage", texts, passages)
    pairs = [(query_texts[topic], texts[document]) for topic, document in zip(topics, documents, strict=True)]
    label = None if grades is None else _labels(topics, documents, grades)
    table = pair_features(pairs, names, list(texts.values()), workers, cache, progress, topics=topics)
    return RunFeatures(tuple(topics), tuple(documents), label, table)


def features_named(names: str | Iterable[str] | None = None) -> list[Feature]:
    """Return features by their names or the names of their groups, each once; by default all but those of grammar."""
    if names is None:
        return [feature for feature in FEATURES.values() if feature.group != grammar.GROUP]
    requested = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    selected: dict[str, Feature] = {}
    for name in requested:
        chosen = [feature for feature in FEATURES.values() if name in (feature.name, feature.group)]
        if not chosen:
            raise UsageError(
                f"there is no feature or group {quote(name)}; features are {', '.join(FEATURES)}; "
                f"groups are {', '.join(GROUPS)}"
            )
        selected |= {feature.name: feature for feature in chosen}
    if not selected:
        raise UsageError(f"no feature is named; features are {', '.join(FEATURES)}")
    return list(selected.values())


def pair_features(
    pairs: Sequence[tuple[str, str]],
    names: str | Iterable[str] | None = None,
    corpus: Any = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    *,
    topics: Sequence[Hashable] | None = None,
) -> FeatureTable:
    """Compute features of pairs of a question and a passage.

    Parameters
    ----------
    pairs
        The texts of question and passage.
    names
        Names of features or groups, as a list or separated by commas; by default all but those of grammar.
    corpus
        The texts that define how rare words are: a list, or a file, frame or mapping of passages. By default the
        passages of the pairs.
    workers
        Number of threads.
    cache
        A folder in which computed features are stored.
    progress
        Called after each feature with the number done, the total, and its name.
    topics
        The topic of every pair; ``bm25_rank`` and ``bm25_share`` compare pairs of one topic. By default the text of
        the question.

    Returns
    -------
    FeatureTable
        With ``X``, ``names`` and ``frame``.
    """
    chosen = features_named(names)
    _check_arguments(pairs, workers, topics)
    texts = _texts(corpus)
    key = _key(pairs, texts, topics)
    values = {feature.name: _read_cache(cache, key, feature, len(pairs)) for feature in chosen}
    missing = [feature for feature in chosen if values[feature.name] is None]
    if missing:
        threads = _threads(workers)
        prepared = encode_pairs(pairs, texts, threads, topics)
        with _one_thread_each(), ThreadPoolExecutor(threads) as pool:
            running = {pool.submit(_compute, feature, prepared): feature for feature in missing}
            for done, future in enumerate(as_completed(running), len(chosen) - len(missing) + 1):
                feature = running[future]
                values[feature.name] = future.result()
                _write_cache(cache, key, feature, future.result())
                if progress is not None:
                    progress(done, len(chosen), feature.name)
    columns = [column for column in values.values() if column is not None]
    return FeatureTable(tuple(values), frozen(np.column_stack(columns).reshape(len(pairs), len(chosen))))


def _check_arguments(pairs: Sequence[tuple[str, str]], workers: int | None, topics: Sequence[Hashable] | None) -> None:
    """Refuse pairs that are not two texts, and numbers of workers and topics that do not fit."""
    for n, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise UsageError(f"pair {n} is {quote(pair)}, expected the texts of a question and a passage")
    if workers is not None and workers < 1:
        raise UsageError(f"workers {workers} is not 1 or more")
    if topics is not None and len(topics) != len(pairs):
        raise UsageError(f"{len(topics):,} topics are given for {len(pairs):,} pairs, expected one for each")


def format_of(path: str | Path) -> str:
    """Return the format of a file by its suffix."""
    ending = Path(path).suffix.lower()
    if ending not in SUFFIXES:
        raise UsageError(f"{path} has no known suffix: use one of {', '.join(SUFFIXES)}")
    return SUFFIXES[ending]


def _compute(feature: Feature, pairs: Encoded) -> Floats:
    """Return a feature of all pairs, as finite numbers."""
    value = np.asarray(feature.function(pairs), float) if len(pairs) else np.zeros(0)
    if value.shape != (len(pairs),) or not np.isfinite(value).all():
        raise AssertionError(f"feature {feature.name} has values that are missing or infinite")  # a bug in a feature
    return value


def _texts(corpus: Any) -> list[str] | None:
    """Return the texts of a corpus."""
    if corpus is None:
        return None
    if isinstance(corpus, Sequence) and not isinstance(corpus, str):
        odd = next((n for n, entry in enumerate(corpus) if not isinstance(entry, str)), None)
        if odd is not None:
            raise UsageError(f"text {odd} of the corpus is {quote(corpus[odd])}, expected text")
        return list(corpus)
    return list(read_passages(corpus).values())


def _key(
    pairs: Sequence[tuple[str, str]], corpus: Sequence[str] | None, topics: Sequence[Hashable] | None = None
) -> str:
    """Return a digest of all texts and topics."""
    digest = hashlib.sha256(f"{text.VERSION} {len(pairs)} {-1 if corpus is None else len(corpus)}".encode())
    for entry in (side for pair in pairs for side in pair):
        digest.update(b"%d:" % len(entry) + entry.encode(errors="surrogatepass"))
    for entry in corpus or ():
        digest.update(b"%d;" % len(entry) + entry.encode(errors="surrogatepass"))
    topic = topic_codes(pairs, topics)
    if not np.array_equal(topic, topic_codes(pairs)):  # topics that follow from the questions do not change the key
        digest.update(b"topics" + topic.tobytes())
    return digest.hexdigest()


def _file(folder: str | Path, key: str, feature: Feature) -> Path:
    """Return the cache file of a feature."""
    basis = [key, feature.name, str(feature.version), *(f"{name} {_version(name)}" for name in feature.packages)]
    return Path(folder) / f"{feature.name}-{hashlib.sha256(' '.join(basis).encode()).hexdigest()[:32]}.npz"


def _read_cache(folder: str | Path | None, key: str, feature: Feature, size: int) -> Floats | None:
    """Return the values of a feature from the cache, None if they are missing or damaged."""
    if folder is None:
        return None
    try:
        (value,) = read_arrays(_file(folder, key, feature).read_bytes(), ["value"], 8 * size)
    except (OSError, ValueError):  # missing, truncated or not an archive
        return None
    return value if value.dtype == float and value.size == size and np.isfinite(value).all() else None


def _write_cache(folder: str | Path | None, key: str, feature: Feature, value: Floats) -> None:
    """Write the values of a feature to the cache."""
    if folder is not None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the cache cannot be written: {error.strerror}", str(folder)) from error
        content = io.BytesIO()
        np.savez_compressed(content, value=value)
        write_file(content.getvalue(), _file(folder, key, feature))


def _version(package: str) -> str:
    """Return the version of a package, or "none"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _threads(workers: int | None) -> int:
    """Return the number of threads: that of workers or, by default, of the cores available to this process."""
    if workers is not None:
        return workers
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _one_thread_each() -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread: features run in parallel, and sums keep one order."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


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

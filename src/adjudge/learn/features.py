"""``features``: numbers about pairs of a question and a passage, for a ranker to learn from.

Every feature is one named function in ``FEATURES``. The numbers depend on the texts and the corpus alone, not on how
many workers compute them, and none is ever missing or infinite. With a cache, each feature's numbers are kept in a file
of their own, under a name made from the feature, its version, and all texts: what has changed is computed anew.
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
from adjudge.data.write import write_file
from adjudge.errors import InputError, UsageError, quote
from adjudge.learn import questions, similarity, text
from adjudge.learn.array_file import read_arrays
from adjudge.learn.passages import read_passages
from adjudge.learn.text import Encoded, Feature, encoded, topic_codes

Progress: TypeAlias = Callable[[int, int, str], None]  # told how many features are done, of how many, and which

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
    )
}
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


def known_features(names: str | Iterable[str] | None = None) -> list[Feature]:
    """Return the features named, by their own names or by their groups', each once; by default all."""
    if names is None:
        return list(FEATURES.values())
    asked = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    found: dict[str, Feature] = {}
    for name in asked:
        chosen = [feature for feature in FEATURES.values() if name in (feature.name, feature.group)]
        if not chosen:
            raise UsageError(
                f"there is no feature {quote(name)}: known are {', '.join(FEATURES)}, "
                f"and, for all of a group, {', '.join(GROUPS)}"
            )
        found |= {feature.name: feature for feature in chosen}
    if not found:
        raise UsageError(f"no feature is named: known are {', '.join(FEATURES)}")
    return list(found.values())


def features(
    pairs: Sequence[tuple[str, str]],
    names: str | Iterable[str] | None = None,
    corpus: Any = None,
    workers: int | None = None,
    cache: str | Path | None = None,
    progress: Progress | None = None,
    *,
    topics: Sequence[Hashable] | None = None,
) -> FeatureTable:
    """Return the features of pairs (question, passage), given by their texts.

    ``corpus`` tells how common words are: texts in a list, or a file, frame or mapping of passages; by default the
    passages of the pairs. ``cache`` is a folder, ``workers`` how many threads compute. ``topics`` names the topic of
    every pair, among whose pairs ``bm25_rank`` and ``bm25_share`` place it; by default that is the question's text.
    """
    chosen = known_features(names)
    for n, pair in enumerate(pairs):
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(side, str) for side in pair):
            raise UsageError(f"pair {n} is {quote(pair)}, expected the texts of a question and of a passage")
    if workers is not None and workers < 1:
        raise UsageError(f"workers {workers} is not 1 or more")
    if topics is not None and len(topics) != len(pairs):
        raise UsageError(f"{len(topics):,} topics are given for {len(pairs):,} pairs, expected one for each")
    texts = _texts(corpus)
    key = _key(pairs, texts, topics)
    found = {feature.name: _kept(cache, key, feature, len(pairs)) for feature in chosen}
    missing = [feature for feature in chosen if found[feature.name] is None]
    done = len(chosen) - len(missing)
    if missing:
        threads = workers or _cores()
        prepared = encoded(pairs, texts, threads, topics)
        with _one_thread_each(), ThreadPoolExecutor(threads) as pool:
            running = {pool.submit(_computed, feature, prepared): feature for feature in missing}
            for future in as_completed(running):
                feature = running[future]
                found[feature.name] = future.result()
                _keep(cache, key, feature, future.result())
                done += 1
                if progress is not None:
                    progress(done, len(chosen), feature.name)
    columns = [column for column in found.values() if column is not None]
    return FeatureTable(tuple(found), frozen(np.column_stack(columns).reshape(len(pairs), len(chosen))))


def _computed(feature: Feature, pairs: Encoded) -> Floats:
    """Return a feature of all pairs, as finite numbers."""
    value = np.asarray(feature.function(pairs), float) if len(pairs) else np.zeros(0)
    if value.shape != (len(pairs),) or not np.isfinite(value).all():
        raise AssertionError(f"feature {feature.name} has values that are missing or infinite")  # a fault of ours
    return value


def _texts(corpus: Any) -> list[str] | None:
    """Return the texts of a corpus."""
    if corpus is None:
        return None
    if isinstance(corpus, Sequence) and not isinstance(corpus, str):
        odd = next((n for n, one in enumerate(corpus) if not isinstance(one, str)), None)
        if odd is not None:
            raise UsageError(f"text {odd} of the corpus is {quote(corpus[odd])}, expected text")
        return list(corpus)
    return list(read_passages(corpus).values())


def _key(
    pairs: Sequence[tuple[str, str]], corpus: Sequence[str] | None, topics: Sequence[Hashable] | None = None
) -> str:
    """Return a name for all texts: another one where a letter of them differs, or what belongs to one topic."""
    digest = hashlib.sha256(f"{text.VERSION} {len(pairs)} {-1 if corpus is None else len(corpus)}".encode())
    for one in (side for pair in pairs for side in pair):
        digest.update(b"%d:" % len(one) + one.encode(errors="surrogatepass"))
    for one in corpus or ():
        digest.update(b"%d;" % len(one) + one.encode(errors="surrogatepass"))
    topic = topic_codes(pairs, topics)
    if not np.array_equal(topic, topic_codes(pairs)):  # where every topic has its question, the key is as without
        digest.update(b"topics" + topic.tobytes())
    return digest.hexdigest()


def _file(folder: str | Path, key: str, feature: Feature) -> Path:
    """Return where a feature's numbers are kept."""
    basis = [key, feature.name, str(feature.version), *(f"{name} {_version(name)}" for name in feature.packages)]
    return Path(folder) / f"{feature.name}-{hashlib.sha256(' '.join(basis).encode()).hexdigest()[:32]}.npz"


def _kept(folder: str | Path | None, key: str, feature: Feature, size: int) -> Floats | None:
    """Return a feature's numbers from the cache, None where they are not there or not whole."""
    if folder is None:
        return None
    try:
        (value,) = read_arrays(_file(folder, key, feature).read_bytes(), ["value"], 8 * size)
    except (OSError, ValueError):  # not there, cut off, or something else
        return None
    return value if value.dtype == float and value.size == size and np.isfinite(value).all() else None


def _keep(folder: str | Path | None, key: str, feature: Feature, value: Floats) -> None:
    """Write a feature's numbers to the cache."""
    if folder is not None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"the cache cannot be kept here: {error.strerror}", str(folder)) from error
        content = io.BytesIO()
        np.savez_compressed(content, value=value)
        write_file(content.getvalue(), _file(folder, key, feature))


def _version(package: str) -> str:
    """Return the version of a package, or that there is none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _one_thread_each() -> AbstractContextManager[Any]:
    """Keep linear algebra to one thread: features are what runs side by side, and sums have one order."""
    try:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
    except ImportError:
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits

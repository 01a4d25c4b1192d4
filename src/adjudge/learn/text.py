"""Words, stems and stop words of English text, and pairs of a question and a passage encoded as numbers.

Every distinct text is split once, however many pairs contain it. The terms of text t are
``code[start[t] : start[t + 1]]``: sorted and distinct for a set of terms (``Bag``), in the order of the text for a
sequence (``Tokens``). The compiled functions at the end compare many pairs of texts in one call; ``left`` and ``right``
are the texts of each pair.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.errors import MissingExtra
from adjudge.kernels.compiled import compiled

VERSION = 1  # increased if the same text gives other words, which invalidates caches
WORD = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+(?:['\u2019][^\W_]+)*")
_STOP = """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from further
had hadn't has hasn't have haven't having he he's her here hers herself him himself his how i i'm if in into is isn't it
it's its itself just me more most my myself no nor not of off on once only or other our ours ourselves out over own same
she she's should shouldn't so some such than that that's the their theirs them themselves then there there's these they
they're this those through to too under until up upon us very was wasn't we we're were weren't what what's when where
which while who who's whom whose why will with won't would wouldn't you you're your yours yourself yourselves
"""
STOP = frozenset(_STOP.split())


def words(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case.

    >>> words("1,050 isn't 6-Fold")
    ['1050', "isn't", '6', 'fold']
    """
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return [word.replace(",", "") if "," in word else word for word in WORD.findall(plain.lower())]


class Stems(dict[str, str]):
    """The English Snowball stems of words, each computed once."""

    def __init__(self) -> None:
        super().__init__()
        try:
            from snowballstemmer import stemmer  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra("'adjudge[learn]'", "stemming") from error
        self._stemmer, self._lock = stemmer("english"), Lock()

    def __missing__(self, word: str) -> str:
        with self._lock:  # the stemmer is not thread-safe
            stem: str = self._stemmer.stemWord(word)
        self[word] = stem
        return stem


def terms(text: str, stems: Stems | None, stop: bool = True) -> list[str]:
    """Return the search terms of a text: its words without stop words, stemmed if ``stems`` is given."""
    chosen = [word for word in words(text) if not (stop and word in STOP)]
    return chosen if stems is None else [stems[word] for word in chosen]


class Tokens(NamedTuple):
    """The terms of texts in order; those of text t are ``code[start[t] : start[t + 1]]``."""

    start: Codes  # (texts + 1)
    code: Codes

    @property
    def length(self) -> Codes:
        """The number of terms of each text."""
        return np.diff(self.start)

    @property
    def text(self) -> Codes:
        """The text of every term."""
        return np.repeat(np.arange(self.start.size - 1), self.length)


class Bag(NamedTuple):
    """The distinct terms of texts, sorted, with their counts."""

    start: Codes
    code: Codes
    times: Floats

    @property
    def size(self) -> Floats:
        """The number of distinct terms of each text."""
        return np.diff(self.start).astype(float)

    def total(self, weight: Floats) -> Floats:
        """Return the sum of the weights of each text's terms."""
        text = np.repeat(np.arange(self.start.size - 1), np.diff(self.start))
        total: Floats = np.bincount(text, weight, self.start.size - 1).astype(float)
        return total


class Unit(NamedTuple):
    """Questions, passages and the corpus in one vocabulary."""

    question: Tokens
    passage: Tokens
    corpus: Tokens
    size: int  # size of the vocabulary


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded pairs, and the corpus that defines how rare words are."""

    questions: tuple[str, ...]  # distinct
    passages: tuple[str, ...]  # distinct
    corpus: tuple[str, ...]
    question: Codes  # (n) index of the question, and of the passage
    passage: Codes
    topic: Codes  # (n) pairs of one topic are ranked together; two topics may have the same question
    words: Unit
    stems: Unit
    content: Unit  # stems without stop words
    workers: int = 1  # threads that a feature may use; results do not depend on it

    def __len__(self) -> int:
        return int(self.question.size)

    def unit(self, name: str) -> Unit:
        """Return ``words``, ``stems`` or ``content``."""
        chosen: Unit = getattr(self, name)
        return chosen

    def shared(self, question: Bag, passage: Bag, weight: Floats | None = None, other: Floats | None = None) -> Floats:
        """Return the sum of products of weights over the shared terms of every pair; weights are 1 by default."""
        left = np.ones(question.code.size) if weight is None else weight
        right = np.ones(passage.code.size) if other is None else other
        total: Floats = inner(*question[:2], left, *passage[:2], right, self.question, self.passage)
        return total


def encode_pairs(
    pairs: Sequence[tuple[str, str]],
    corpus: Iterable[str] | None = None,
    workers: int = 1,
    topics: Sequence[Hashable] | None = None,
) -> Encoded:
    """Encode pairs; the corpus defaults to their distinct passages, and a topic to all pairs of a question."""
    pair_questions, pair_passages = ([pair[side] for pair in pairs] for side in (0, 1))
    questions, passages = list(dict.fromkeys(pair_questions)), list(dict.fromkeys(pair_passages))
    corpus_texts = passages if corpus is None else list(corpus)
    stems = Stems()
    split = [[words(text) for text in texts] for texts in (questions, passages)]
    split.append(split[1] if corpus is None else [words(text) for text in corpus_texts])

    return Encoded(
        tuple(questions),
        tuple(passages),
        tuple(corpus_texts),
        _indices(questions, pair_questions),
        _indices(passages, pair_passages),
        topic_codes(pairs, topics),
        unit_of(split),
        unit_of(split, stems.__getitem__),
        unit_of(split, stems.__getitem__, STOP),
        workers,
    )


def unit_of(
    split: Iterable[list[list[str]]], change: Callable[[str], str] = str, without: frozenset[str] = frozenset()
) -> Unit:
    """Return questions, passages and corpus, split into words, in terms that are derived from the words."""
    terms: dict[str, int] = {}
    parts = []
    for texts in split:
        listed = [
            [terms.setdefault(change(word), len(terms)) for word in text if word not in without] for text in texts
        ]
        start = np.cumsum([0, *map(len, listed)])
        parts.append(Tokens(start, np.fromiter(chain.from_iterable(listed), np.int64, start[-1])))
    return Unit(parts[0], parts[1], parts[2], len(terms))


def topic_codes(pairs: Sequence[tuple[str, str]], topics: Sequence[Hashable] | None = None) -> Codes:
    """Return the topic number of each pair, in order of first appearance; by default the question is the topic."""
    listed = [question for question, _ in pairs] if topics is None else topics
    return _indices(list(dict.fromkeys(listed)), listed)


def bag(tokens: Tokens, size: int) -> Bag:
    """Return the distinct terms of every text."""
    both, count = np.unique(tokens.text * size + tokens.code, return_counts=True)
    text, code = np.divmod(both, max(size, 1))
    return Bag(np.searchsorted(text, np.arange(tokens.start.size)), code, count.astype(float))


def grams(unit: Unit, n: int) -> tuple[Bag, Bag]:
    """Return the distinct n-grams of every question and of every passage, in one vocabulary."""
    sides = unit.question, unit.passage
    code = np.concatenate([side.code for side in sides])
    end = np.concatenate([side.start[side.text + 1] for side in sides])
    position = np.concatenate([np.arange(side.code.size) for side in sides])
    gram, size = code, unit.size
    for step in range(1, n):
        following = np.roll(code, -step)  # values that wrap around lie beyond the end of the text
        _, gram = np.unique(gram * max(unit.size, 1) + following, return_inverse=True)
        size = int(gram.max(initial=-1)) + 1
    complete: Flags = position + n <= end
    cut = unit.question.code.size
    parts = []
    for side, part in zip(sides, (slice(None, cut), slice(cut, None)), strict=True):
        inside = complete[part]
        start = np.concatenate([[0], np.cumsum(np.bincount(side.text[inside], minlength=side.start.size - 1))])
        parts.append(bag(Tokens(start.astype(np.int64), gram[part][inside]), size))
    return parts[0], parts[1]


def share(part: Floats, total: Floats) -> Floats:
    """Return part / total, 0 if the total is 0."""
    return np.divide(part, total, out=np.zeros(np.shape(part)), where=total > 0)


def _indices(names: Sequence[Hashable], listed: Sequence[Hashable]) -> Codes:
    """Return the index of each entry of a list among distinct names."""
    index = {name: n for n, name in enumerate(names)}
    return np.fromiter((index[name] for name in listed), np.int64, len(listed))


class Feature(NamedTuple):
    """A feature of a question and a passage."""

    name: str
    group: str
    summary: str
    function: Callable[[Encoded], Floats]
    version: int = 1  # rises where the same texts would give another number
    packages: tuple[str, ...] = ("snowballstemmer",)  # on whose version the number depends


@compiled
def inner(
    start: Codes,
    code: Codes,
    weight: Floats,
    other_start: Codes,
    other_code: Codes,
    other_weight: Floats,
    left: Codes,
    right: Codes,
) -> Floats:
    """Return the sum of products of weights over the terms that both sets of a pair have."""
    total = np.zeros(left.size)
    for n in range(left.size):
        i, j = start[left[n]], other_start[right[n]]
        i_end, j_end = start[left[n] + 1], other_start[right[n] + 1]
        while i < i_end and j < j_end:
            if code[i] == other_code[j]:
                total[n] += weight[i] * other_weight[j]
                i += 1
                j += 1
            elif code[i] < other_code[j]:
                i += 1
            else:
                j += 1
    return total


@compiled
def subsequence(start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes) -> Codes:
    """Return the length of the longest common subsequence of each pair."""
    length = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        row = np.zeros(b.size + 1, np.int64)
        for i in range(a.size):
            diagonal = 0
            for j in range(b.size):
                above = row[j + 1]
                row[j + 1] = diagonal + 1 if a[i] == b[j] else max(above, row[j])
                diagonal = above
        length[n] = row[b.size]
    return length


@compiled
def substring(start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes) -> Codes:
    """Return the length of the longest common substring of each pair."""
    length = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        row = np.zeros(b.size + 1, np.int64)
        for i in range(a.size):
            diagonal = 0
            for j in range(b.size):
                above = row[j + 1]
                row[j + 1] = diagonal + 1 if a[i] == b[j] else 0
                length[n] = max(length[n], row[j + 1])
                diagonal = above
    return length


@compiled
def window(
    start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes
) -> tuple[Codes, Codes]:
    """Return how many terms of a set the other text has, and the length of its shortest window with all of them."""
    present = np.zeros(left.size, np.int64)
    least = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        position = _positions(a, b)
        count = np.zeros(a.size, np.int64)
        for i in position:
            if i >= 0:
                count[i] = 1
        present[n] = count.sum()
        count[:] = 0
        inside, first = 0, 0
        for j in range(b.size):
            if position[j] >= 0:
                inside += count[position[j]] == 0
                count[position[j]] += 1
            while inside == present[n] and present[n] > 0:
                if least[n] == 0 or j - first + 1 < least[n]:
                    least[n] = j - first + 1
                if position[first] >= 0:
                    count[position[first]] -= 1
                    inside -= count[position[first]] == 0
                first += 1
    return present, least


@compiled
def _positions(a: Codes, b: Codes) -> Codes:
    """Return the position in a sorted set of every term of a text, -1 if the set does not have it."""
    position = np.full(b.size, -1)
    for j in range(b.size):
        i = np.searchsorted(a, b[j])
        if i < a.size and a[i] == b[j]:
            position[j] = i
    return position


@compiled
def first(start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes) -> Codes:
    """Return the position of the first term of the set in the other text, its length if there is none."""
    position = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        position[n] = b.size
        for j in range(b.size):
            i = np.searchsorted(a, b[j])
            if i < a.size and a[i] == b[j]:
                position[n] = j
                break
    return position

"""Words of English text: how they are told apart, their stems, and those that say nothing of what a text is about."""

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

# What two texts share: pairs of texts, each given by numbers of its terms, many pairs in one call.
#
# Terms of text t are ``code[start[t] : start[t + 1]]``: in rising order, each once, where texts are sets; as they stand
# in the text where they are sequences. ``left`` and ``right`` say which texts make a pair.


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
    """Return the sum, over the terms that both sets of a pair hold, of the product of their weights."""
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
    """Return the length of the longest sequence of terms that both texts of a pair hold in this order, with gaps."""
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
    """Return the length of the longest sequence of terms that both texts of a pair hold without gaps."""
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
    """Return how many terms of a set the other text of its pair holds, and the least stretch of it that holds them."""
    held = np.zeros(left.size, np.int64)
    least = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        place = np.full(b.size, -1)
        count = np.zeros(a.size, np.int64)
        for j in range(b.size):
            i = np.searchsorted(a, b[j])
            if i < a.size and a[i] == b[j]:
                place[j] = i
                held[n] += count[i] == 0
                count[i] = 1
        count[:] = 0
        inside, first = 0, 0
        for j in range(b.size):
            if place[j] >= 0:
                inside += count[place[j]] == 0
                count[place[j]] += 1
            while inside == held[n] and held[n] > 0:
                if least[n] == 0 or j - first + 1 < least[n]:
                    least[n] = j - first + 1
                if place[first] >= 0:
                    count[place[first]] -= 1
                    inside -= count[place[first]] == 0
                first += 1
    return held, least


@compiled
def first(start: Codes, code: Codes, other_start: Codes, other_code: Codes, left: Codes, right: Codes) -> Codes:
    """Return where the other text of a pair first has a term of the set, its length where it has none."""
    found = np.zeros(left.size, np.int64)
    for n in range(left.size):
        a = code[start[left[n]] : start[left[n] + 1]]
        b = other_code[other_start[right[n]] : other_start[right[n] + 1]]
        found[n] = b.size
        for j in range(b.size):
            i = np.searchsorted(a, b[j])
            if i < a.size and a[i] == b[j]:
                found[n] = j
                break
    return found


VERSION = 1  # rises where the same text would give other words, so that nothing cached before is used
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
    """Return the words and numbers of a text in small letters: ``1,050 isn't 6-fold`` has 1050, isn't, 6 and fold."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return [word.replace(",", "") if "," in word else word for word in WORD.findall(plain.lower())]


class Stems(dict[str, str]):
    """The stem of every word asked for, by Snowball's English rules; each is worked out once."""

    def __init__(self) -> None:
        super().__init__()
        try:
            from snowballstemmer import stemmer  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra("'adjudge[learn]'", "stemming") from error
        self._stemmer, self._lock = stemmer("english"), Lock()

    def __missing__(self, word: str) -> str:
        with self._lock:  # the stemmer holds the word while it works
            stem: str = self._stemmer.stemWord(word)
        self[word] = stem
        return stem


def terms(text: str, stems: Stems | None, stop: bool = True) -> list[str]:
    """Return what a text is searched by: its words without stop words, stemmed where stems are given."""
    kept = [word for word in words(text) if not (stop and word in STOP)]
    return kept if stems is None else [stems[word] for word in kept]


# Pairs of a question and a passage as numbers: every distinct text is taken apart once, however many pairs have it.


class Tokens(NamedTuple):
    """The terms of texts in their order: those of text t are ``code[start[t] : start[t + 1]]``."""

    start: Codes  # (texts + 1)
    code: Codes

    @property
    def length(self) -> Codes:
        """How many terms each text has."""
        return np.diff(self.start)

    @property
    def text(self) -> Codes:
        """The text of every term."""
        return np.repeat(np.arange(self.start.size - 1), self.length)


class Bag(NamedTuple):
    """The distinct terms of texts in rising order, and how often each text has them."""

    start: Codes
    code: Codes
    times: Floats

    @property
    def size(self) -> Floats:
        """How many distinct terms each text has."""
        return np.diff(self.start).astype(float)

    def total(self, weight: Floats) -> Floats:
        """Return the sum of the weights of each text's terms."""
        text = np.repeat(np.arange(self.start.size - 1), np.diff(self.start))
        total: Floats = np.bincount(text, weight, self.start.size - 1).astype(float)
        return total


class Unit(NamedTuple):
    """Questions, passages and the corpus in the same terms."""

    question: Tokens
    passage: Tokens
    corpus: Tokens
    size: int  # how many terms there are


@dataclass(frozen=True, eq=False)
class Encoded:
    """Pairs, and the corpus from which it is learnt how common words are."""

    questions: tuple[str, ...]  # distinct
    passages: tuple[str, ...]  # distinct
    corpus: tuple[str, ...]
    question: Codes  # (n) which question, which passage
    passage: Codes
    topic: Codes  # (n) whose pairs are ranked together: two topics may ask the same
    words: Unit
    stems: Unit
    content: Unit  # stems of words that are not stop words
    workers: int = 1  # threads that a feature may use by itself; no number depends on it

    def __len__(self) -> int:
        return int(self.question.size)

    def unit(self, name: str) -> Unit:
        """Return ``words``, ``stems`` or ``content``."""
        found: Unit = getattr(self, name)
        return found

    def shared(self, question: Bag, passage: Bag, weight: Floats | None = None, other: Floats | None = None) -> Floats:
        """Return, of every pair, the sum over shared terms of the products of weights, 1 where none are given."""
        left = np.ones(question.code.size) if weight is None else weight
        right = np.ones(passage.code.size) if other is None else other
        found: Floats = inner(*question[:2], left, *passage[:2], right, self.question, self.passage)
        return found


def encoded(
    pairs: Sequence[tuple[str, str]],
    corpus: Iterable[str] | None = None,
    workers: int = 1,
    topics: Sequence[Hashable] | None = None,
) -> Encoded:
    """Return pairs as numbers; the corpus is by default their distinct passages, a topic all pairs of a question."""
    asked, told = ([pair[side] for pair in pairs] for side in (0, 1))
    questions, passages = list(dict.fromkeys(asked)), list(dict.fromkeys(told))
    known = passages if corpus is None else list(corpus)
    stems = Stems()
    split = [[words(text) for text in texts] for texts in (questions, passages)]
    split.append(split[1] if corpus is None else [words(text) for text in known])

    def unit(change: Callable[[str], str], keep: Callable[[str], bool]) -> Unit:
        """Return the texts in terms that are made from words."""
        terms: dict[str, int] = {}
        parts = []
        for texts in split:
            listed = [[terms.setdefault(change(word), len(terms)) for word in text if keep(word)] for text in texts]
            start = np.cumsum([0, *map(len, listed)])
            parts.append(Tokens(start, np.fromiter(chain.from_iterable(listed), np.int64, start[-1])))
        return Unit(parts[0], parts[1], parts[2], len(terms))

    return Encoded(
        tuple(questions),
        tuple(passages),
        tuple(known),
        _places(questions, asked),
        _places(passages, told),
        topic_codes(pairs, topics),
        unit(str, lambda word: True),
        unit(stems.__getitem__, lambda word: True),
        unit(stems.__getitem__, lambda word: word not in STOP),
        workers,
    )


def topic_codes(pairs: Sequence[tuple[str, str]], topics: Sequence[Hashable] | None = None) -> Codes:
    """Return each pair's topic as a number, in the order in which they come; by default its question is its topic."""
    listed = [question for question, _ in pairs] if topics is None else topics
    return _places(list(dict.fromkeys(listed)), listed)


def bag(tokens: Tokens, size: int) -> Bag:
    """Return the distinct terms of every text."""
    both, count = np.unique(tokens.text * size + tokens.code, return_counts=True)
    text, code = np.divmod(both, max(size, 1))
    return Bag(np.searchsorted(text, np.arange(tokens.start.size)), code, count.astype(float))


def grams(unit: Unit, n: int) -> tuple[Bag, Bag]:
    """Return the distinct runs of n terms of every question and of every passage, under shared numbers."""
    sides = unit.question, unit.passage
    code = np.concatenate([side.code for side in sides])
    end = np.concatenate([side.start[side.text + 1] for side in sides])
    place = np.concatenate([np.arange(side.code.size) for side in sides])
    gram, size = code, unit.size
    for step in range(1, n):
        following = np.roll(code, -step)  # what comes round lies beyond the text's end
        _, gram = np.unique(gram * max(unit.size, 1) + following, return_inverse=True)
        size = int(gram.max(initial=-1)) + 1
    whole: Flags = place + n <= end
    cut = unit.question.code.size
    parts = []
    for side, here in zip(sides, (slice(None, cut), slice(cut, None)), strict=True):
        inside = whole[here]
        start = np.concatenate([[0], np.cumsum(np.bincount(side.text[inside], minlength=side.start.size - 1))])
        parts.append(bag(Tokens(start.astype(np.int64), gram[here][inside]), size))
    return parts[0], parts[1]


def share(part: Floats, whole: Floats) -> Floats:
    """Return part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole > 0)


def _places(names: Sequence[Hashable], listed: Sequence[Hashable]) -> Codes:
    """Return where each of a list stands among distinct names."""
    place = {name: n for n, name in enumerate(names)}
    return np.fromiter((place[name] for name in listed), np.int64, len(listed))


# What a feature is: a name, and one number for every pair.


class Feature(NamedTuple):
    """A feature of a question and a passage."""

    name: str
    group: str
    summary: str
    function: Callable[[Encoded], Floats]
    version: int = 1  # rises where the same texts would give another number
    packages: tuple[str, ...] = ("snowballstemmer",)  # on whose version the number depends

"""Pairs of a question and a passage as numbers: every distinct text is taken apart once, however many pairs have it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.kernels.overlap import inner
from adjudge.learn.text import STOP, Stems, words


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

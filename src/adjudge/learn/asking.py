"""What the words of a question ask: what it is after, and whether it, or the passage, denies something."""

from __future__ import annotations

import re

import numpy as np

from adjudge.arrays import Flags, Floats
from adjudge.learn.encoded import Encoded
from adjudge.learn.feature import Feature
from adjudge.learn.text import STOP, Stems, words

NEGATION = re.compile(r"\b(?:no|not|never|none|nobody|nothing|neither|nor|without|cannot|\w+n't|lack(?:s|ed)?)\b")
ASKING = ("what", "which", "whose")
COPULA = frozenset(("is", "are", "was", "were", "does", "do", "did", "has", "have", "had"))


def focus(question: str) -> str | None:
    """Return the first word that says what a question is after: ``river`` of ``Which long river ...`` is ``long``.

    >>> focus("In what city did it end?"), focus("Who came?")
    ('city', None)
    """
    listed = words(question)
    after = next((n + 1 for n, word in enumerate(listed) if word in ASKING), len(listed))
    return next((word for word in listed[after:] if word not in STOP | COPULA), None)


def focus_found(pairs: Encoded) -> Floats:
    """Return 1 where the passage has the word that says what the question is after, or its stem."""
    stems = Stems()
    wanted = [focus(question) for question in pairs.questions]
    held = [{stems[word] for word in words(passage)} for passage in pairs.passages]
    both = zip(pairs.question.tolist(), pairs.passage.tolist(), strict=True)
    sought = [None if word is None else stems[word] for word in wanted]
    return np.fromiter((sought[q] in held[p] for q, p in both), float, len(pairs))


def _denies(texts: tuple[str, ...]) -> Flags:
    """Return which texts deny something."""
    return np.array([bool(NEGATION.search(text.lower().replace("\u2019", "'"))) for text in texts], bool)


def passage_negated(pairs: Encoded) -> Floats:
    """Return 1 where the passage denies something."""
    return _denies(pairs.passages)[pairs.passage].astype(float)


def negation_agrees(pairs: Encoded) -> Floats:
    """Return 1 where both deny something or neither does."""
    question, passage = _denies(pairs.questions)[pairs.question], _denies(pairs.passages)[pairs.passage]
    return np.equal(question, passage).astype(float)


FEATURES = (
    Feature("focus_found", "question", "1 where the passage has the word after what or which", focus_found),
    Feature("passage_negated", "question", "1 where the passage denies something", passage_negated),
    Feature("negation_agrees", "question", "1 where both deny something, or neither", negation_agrees),
)

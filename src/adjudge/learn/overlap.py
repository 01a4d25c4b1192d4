"""What a question and a passage share: runs of words or stems, plain or weighted by how rare they are."""

from __future__ import annotations

from functools import partial

import numpy as np

from adjudge.arrays import Floats
from adjudge.learn.encoded import Bag, Encoded, Unit, bag, grams, share
from adjudge.learn.feature import Feature

UNITS = ("words", "stems")
LONGEST = 4


def covered(pairs: Encoded, unit: str, n: int) -> Floats:
    """Return the share of the question's distinct runs of n terms that the passage has."""
    question, passage = grams(pairs.unit(unit), n)
    return share(pairs.shared(question, passage), question.size[pairs.question])


def jaccard(pairs: Encoded, unit: str, n: int) -> Floats:
    """Return the distinct runs of n terms that both have, as a share of those that either has."""
    question, passage = grams(pairs.unit(unit), n)
    both = pairs.shared(question, passage)
    return share(both, question.size[pairs.question] + passage.size[pairs.passage] - both)


def rarity(unit: Unit) -> Floats:
    """Return Lucene's idf of every term: log(1 + (N - n + 1/2) / (n + 1/2)) where n of the N texts have it."""
    N = unit.corpus.start.size - 1
    n = np.bincount(bag(unit.corpus, unit.size).code, minlength=unit.size)
    idf: Floats = np.log1p((N - n + 0.5) / (n + 0.5))
    return idf


def _sides(pairs: Encoded) -> tuple[Bag, Bag, Floats]:
    """Return the distinct content stems of questions and passages, and how rare each is."""
    unit = pairs.content
    return bag(unit.question, unit.size), bag(unit.passage, unit.size), rarity(unit)


def idf_covered(pairs: Encoded) -> Floats:
    """Return the share of the question's content stems that the passage has, each counting by its rarity."""
    question, passage, idf = _sides(pairs)
    weight = idf[question.code]
    return share(pairs.shared(question, passage, weight), question.total(weight)[pairs.question])


def idf_jaccard(pairs: Encoded) -> Floats:
    """Return the rarity of the content stems that both have, as a share of that of those that either has."""
    question, passage, idf = _sides(pairs)
    both = pairs.shared(question, passage, idf[question.code])
    either = question.total(idf[question.code])[pairs.question] + passage.total(idf[passage.code])[pairs.passage]
    return share(both, either - both)


def tfidf_cosine(pairs: Encoded) -> Floats:
    """Return the cosine of the two vectors of (1 + log tf) x idf."""
    question, passage, idf = _sides(pairs)
    left, right = ((1 + np.log(side.times)) * idf[side.code] for side in (question, passage))
    size = np.sqrt(question.total(left**2)[pairs.question] * passage.total(right**2)[pairs.passage])
    return np.minimum(share(pairs.shared(question, passage, left, right), size), 1.0)


def rarest_found(pairs: Encoded) -> Floats:
    """Return 1 where the passage has the question's rarest content stem, the first of several."""
    question, passage, idf = _sides(pairs)
    weight = idf[question.code]
    text = np.repeat(np.arange(question.start.size - 1), np.diff(question.start))
    order = np.lexsort((np.arange(weight.size), -weight, text))
    first = np.zeros(weight.size)
    first[order[question.start[:-1][np.diff(question.start) > 0]]] = 1.0
    return pairs.shared(question, passage, first)


def _of_runs(unit: str, n: int) -> tuple[Feature, Feature]:
    """Return the two features of runs of n terms."""
    run = unit if n == 1 else f"runs of {n} {unit}"
    said = f"share of the question's distinct {run} that the passage has"
    both = f"distinct {run} of both, as a share of those of either"
    return (
        Feature(f"{unit}_{n}_covered", "overlap", said, partial(covered, unit=unit, n=n)),
        Feature(f"{unit}_{n}_jaccard", "overlap", both, partial(jaccard, unit=unit, n=n)),
    )


FEATURES = (
    *(feature for unit in UNITS for n in range(1, LONGEST + 1) for feature in _of_runs(unit, n)),
    Feature(
        "content_covered",
        "overlap",
        "share of the question's content stems that the passage has",
        partial(covered, unit="content", n=1),
    ),
    Feature(
        "content_jaccard",
        "overlap",
        "content stems of both, as a share of those of either",
        partial(jaccard, unit="content", n=1),
    ),
    Feature("idf_covered", "rarity", "the same as content_covered, rare stems counting more", idf_covered),
    Feature("idf_jaccard", "rarity", "the same as content_jaccard, rare stems counting more", idf_jaccard),
    Feature("tfidf_cosine", "rarity", "cosine of the vectors of (1 + log tf) x idf", tfidf_cosine),
    Feature("rarest_found", "rarity", "1 where the passage has the question's rarest content stem", rarest_found),
)

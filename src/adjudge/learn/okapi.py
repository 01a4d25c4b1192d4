"""BM25 as a feature: the score that ``Index`` gives, and where it puts a passage among those of its topic.

k1 = 1.2, b = 0.75, Lucene's variant, with the corpus as the collection; see ``learn.search``.
"""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Floats
from adjudge.learn.encoded import Encoded, bag, share
from adjudge.learn.feature import Feature
from adjudge.learn.overlap import rarity

K1, B = 1.2, 0.75


def bm25(pairs: Encoded) -> Floats:
    """Return the BM25 score of every pair."""
    unit = pairs.content
    question, passage, idf = bag(unit.question, unit.size), bag(unit.passage, unit.size), rarity(unit)
    mean = unit.corpus.length.mean() if unit.corpus.start.size > 1 else 0.0
    length = np.repeat(unit.passage.length, np.diff(passage.start)) / (mean or 1.0)
    tf = passage.times / (passage.times + K1 * (1 - B + B * length))
    return pairs.shared(question, passage, question.times * idf[question.code], tf)


def bm25_share(pairs: Encoded) -> Floats:
    """Return the score as a share of the best among the topic's pairs."""
    score = bm25(pairs)
    best = np.zeros(pairs.topic.max(initial=-1) + 1)
    np.maximum.at(best, pairs.topic, score)
    return share(score, best[pairs.topic])


def bm25_rank(pairs: Encoded) -> Floats:
    """Return one over the rank among the topic's pairs; equal scores, as 32-bit floats, share the better rank."""
    score = bm25(pairs).astype(np.float32)
    order = np.lexsort((-score, pairs.topic))
    topic, sorted_score = pairs.topic[order], score[order]
    place = np.arange(order.size)
    new = np.ones(order.size, bool)
    new[1:] = topic[1:] != topic[:-1]
    differs = new.copy()
    differs[1:] |= sorted_score[1:] != sorted_score[:-1]
    first, best = (np.maximum.accumulate(np.where(begins, place, 0)) for begins in (new, differs))
    found = np.empty(order.size)
    found[order] = 1 / (best - first + 1)
    return found


FEATURES = (
    Feature("bm25", "okapi", "BM25 score of the passage for the question (Lucene's, k1 = 1.2, b = 0.75)", bm25),
    Feature("bm25_share", "okapi", "the score as a share of the best among the topic's pairs", bm25_share),
    Feature("bm25_rank", "okapi", "one over the rank by score among the topic's pairs", bm25_rank),
)

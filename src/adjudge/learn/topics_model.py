"""Whether a question and a passage are about the same, by what words of the corpus occur together.

Both models are learnt from the corpus with a fixed seed, from at most 10,000 texts of it, evenly picked. Cosines are
rounded to nine places, so that the order in which a processor adds does not show.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import MissingExtra
from adjudge.learn.encoded import Bag, Encoded, bag
from adjudge.learn.feature import Feature
from adjudge.learn.overlap import rarity

MOST = 10_000  # texts that are learnt from
DIMENSIONS = 100
TOPICS = 20
PASSES = 10
PLACES = 9
PACKAGES = ("snowballstemmer", "scikit-learn")


def latent_cosine(pairs: Encoded) -> Floats:
    """Return the cosine after latent semantic analysis: a singular value decomposition of tf-idf."""
    corpus, question, passage = _counts(pairs)
    idf = rarity(pairs.content)
    size = min(DIMENSIONS, *(side - 1 for side in corpus.shape))
    if size < 1:
        return np.zeros(len(pairs))
    with np.errstate(invalid="ignore"):  # scikit-learn divides by the variance, which texts that are alike have not
        model = _sklearn().TruncatedSVD(size, random_state=0).fit(_weighted(corpus, idf))
    left, right = (_unit(model.transform(_weighted(side, idf))) for side in (question, passage))
    found: Floats = np.clip((left[pairs.question] * right[pairs.passage]).sum(axis=1), -1, 1).round(PLACES) + 0.0
    return found


def topic_overlap(pairs: Encoded) -> Floats:
    """Return how far the topics of both overlap: sum of sqrt(p q) over topics of latent Dirichlet allocation."""
    corpus, question, passage = _counts(pairs)
    if min(corpus.shape) == 0 or corpus.nnz == 0:
        return np.zeros(len(pairs))
    model = _sklearn().LatentDirichletAllocation(TOPICS, max_iter=PASSES, random_state=0).fit(corpus)
    left, right = (np.sqrt(model.transform(side)) for side in (question, passage))
    found: Floats = np.clip((left[pairs.question] * right[pairs.passage]).sum(axis=1), 0, 1).round(PLACES)
    return found


def _sklearn() -> Any:
    """Return scikit-learn's decompositions."""
    try:
        from sklearn import decomposition  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("'adjudge[learn]'", "a topic model") from error
    return decomposition


def _counts(pairs: Encoded) -> tuple[Any, Any, Any]:
    """Return how often texts of the corpus, questions and passages have each content stem, as sparse matrices."""
    unit = pairs.content
    every = _matrix(bag(unit.corpus, unit.size), unit.size)
    texts = every.shape[0]
    corpus = every if texts <= MOST else every[np.linspace(0, texts - 1, MOST).astype(int)]
    return corpus, *(_matrix(bag(side, unit.size), unit.size) for side in (unit.question, unit.passage))


def _matrix(held: Bag, size: int) -> Any:
    """Return a bag as a sparse matrix."""
    from scipy.sparse import csr_matrix

    return csr_matrix((held.times, held.code, held.start), (held.start.size - 1, size))


def _weighted(count: Any, idf: Floats) -> Any:
    """Return (1 + log tf) x idf, of length 1 in every row."""
    weighted = count.copy()
    weighted.data = (1 + np.log(count.data)) * idf[count.indices]
    row = np.repeat(np.arange(count.shape[0]), np.diff(count.indptr))
    size = np.sqrt(np.bincount(row, weighted.data**2, count.shape[0]))
    weighted.data /= size[row]
    return weighted


def _unit(vector: Floats) -> Floats:
    """Return vectors of length 1, or 0 where they are 0 but for what rounding leaves."""
    size = np.linalg.norm(vector, axis=1, keepdims=True)
    found: Floats = np.divide(vector, size, out=np.zeros_like(vector), where=size > 1e-9)
    return found


FEATURES = (
    Feature("latent_cosine", "topics", "cosine after latent semantic analysis", latent_cosine, 1, PACKAGES),
    Feature("topic_overlap", "topics", "overlap of topics by latent Dirichlet allocation", topic_overlap, 1, PACKAGES),
)

"""Features of the similarity of a question and a passage: length, overlap, BM25, sequence and topic models.

BM25 is Lucene's variant (k1 = 1.2, b = 0.75) with the corpus as the collection; see ``learn.search``. The topic models
are trained on at most 10,000 texts of the corpus, evenly spaced, with a fixed seed. Cosines are rounded to nine decimal
places, so that the order of floating-point additions does not matter.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import MissingExtra
from adjudge.learn import text
from adjudge.learn.text import Bag, Encoded, Feature, Unit, bag, grams, share


def question_length(pairs: Encoded) -> Floats:
    """Return log(1 + words of the question)."""
    length: Floats = np.log1p(pairs.words.question.length[pairs.question].astype(float))
    return length


def passage_length(pairs: Encoded) -> Floats:
    """Return log(1 + words of the passage)."""
    length: Floats = np.log1p(pairs.words.passage.length[pairs.passage].astype(float))
    return length


def length_ratio(pairs: Encoded) -> Floats:
    """Return the question's words as a share of the words of both."""
    question, passage = pairs.words.question.length[pairs.question], pairs.words.passage.length[pairs.passage]
    return share(question.astype(float), (question + passage).astype(float))


def content_share(pairs: Encoded) -> Floats:
    """Return the share of the passage's words that are not stop words."""
    content, every = (unit.passage.length[pairs.passage] for unit in (pairs.content, pairs.words))
    return share(content.astype(float), every.astype(float))


LENGTH_FEATURES = (
    Feature("question_length", "length", "log(1 + words of the question)", question_length),
    Feature("passage_length", "length", "log(1 + words of the passage)", passage_length),
    Feature("length_ratio", "length", "the question's words as a share of the words of both", length_ratio),
    Feature("content_share", "length", "share of the passage's words that are not stop words", content_share),
)


UNITS = ("words", "stems")
LONGEST = 4


def covered(pairs: Encoded, unit: str, n: int) -> Floats:
    """Return the share of the question's distinct n-grams that the passage has."""
    question, passage = grams(pairs.unit(unit), n)
    return share(pairs.shared(question, passage), question.size[pairs.question])


def jaccard(pairs: Encoded, unit: str, n: int) -> Floats:
    """Return the Jaccard index of the distinct n-grams."""
    question, passage = grams(pairs.unit(unit), n)
    both = pairs.shared(question, passage)
    return share(both, question.size[pairs.question] + passage.size[pairs.passage] - both)


def rarity(unit: Unit) -> Floats:
    """Return Lucene's idf of every term: log(1 + (N - n + 1/2) / (n + 1/2)) if n of the N texts have it."""
    N = unit.corpus.start.size - 1
    n = np.bincount(bag(unit.corpus, unit.size).code, minlength=unit.size)
    idf: Floats = np.log1p((N - n + 0.5) / (n + 0.5))
    return idf


def _sides(pairs: Encoded) -> tuple[Bag, Bag, Floats]:
    """Return the distinct content stems of questions and passages, and their idf."""
    unit = pairs.content
    return bag(unit.question, unit.size), bag(unit.passage, unit.size), rarity(unit)


def idf_covered(pairs: Encoded) -> Floats:
    """Return the share of the question's content stems that the passage has, weighted by idf."""
    question, passage, idf = _sides(pairs)
    weight = idf[question.code]
    return share(pairs.shared(question, passage, weight), question.total(weight)[pairs.question])


def idf_jaccard(pairs: Encoded) -> Floats:
    """Return the Jaccard index of the content stems, weighted by idf."""
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
    """Return 1 if the passage has the question's rarest content stem (the first of several)."""
    question, passage, idf = _sides(pairs)
    weight = idf[question.code]
    owner = np.repeat(np.arange(question.start.size - 1), np.diff(question.start))
    order = np.lexsort((np.arange(weight.size), -weight, owner))
    first = np.zeros(weight.size)
    first[order[question.start[:-1][np.diff(question.start) > 0]]] = 1.0
    return pairs.shared(question, passage, first)


def _ngram_features(unit: str, n: int) -> tuple[Feature, Feature]:
    """Return the two features of n-grams."""
    ngram = unit if n == 1 else f"runs of {n} {unit}"
    coverage = f"share of the question's distinct {ngram} that the passage has"
    both = f"distinct {ngram} of both, as a share of those of either"
    return (
        Feature(f"{unit}_{n}_covered", "overlap", coverage, partial(covered, unit=unit, n=n)),
        Feature(f"{unit}_{n}_jaccard", "overlap", both, partial(jaccard, unit=unit, n=n)),
    )


OVERLAP_FEATURES = (
    *(feature for unit in UNITS for n in range(1, LONGEST + 1) for feature in _ngram_features(unit, n)),
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
    Feature("idf_covered", "rarity", "as content_covered, weighted by idf", idf_covered),
    Feature("idf_jaccard", "rarity", "as content_jaccard, weighted by idf", idf_jaccard),
    Feature("tfidf_cosine", "rarity", "cosine of the vectors of (1 + log tf) x idf", tfidf_cosine),
    Feature("rarest_found", "rarity", "1 if the passage has the question's rarest content stem", rarest_found),
)


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
    position = np.arange(order.size)
    new = np.ones(order.size, bool)
    new[1:] = topic[1:] != topic[:-1]
    differs = new.copy()
    differs[1:] |= sorted_score[1:] != sorted_score[:-1]
    first, best = (np.maximum.accumulate(np.where(begins, position, 0)) for begins in (new, differs))
    reciprocal = np.empty(order.size)
    reciprocal[order] = 1 / (best - first + 1)
    return reciprocal


OKAPI_FEATURES = (
    Feature("bm25", "okapi", "BM25 score of the passage for the question (Lucene's, k1 = 1.2, b = 0.75)", bm25),
    Feature("bm25_share", "okapi", "the score as a share of the best among the topic's pairs", bm25_share),
    Feature("bm25_rank", "okapi", "one over the rank by score among the topic's pairs", bm25_rank),
)


def subsequence(pairs: Encoded, unit: str) -> Floats:
    """Return the longest common subsequence, as a share of the question's length."""
    terms = pairs.unit(unit)
    length = text.subsequence(*terms.question[:2], *terms.passage[:2], pairs.question, pairs.passage)
    return share(length.astype(float), terms.question.length[pairs.question].astype(float))


def rouge(pairs: Encoded, unit: str) -> Floats:
    """Return ROUGE-L: the harmonic mean of the longest common subsequence as a share of either length."""
    terms = pairs.unit(unit)
    length = text.subsequence(*terms.question[:2], *terms.passage[:2], pairs.question, pairs.passage)
    both = terms.question.length[pairs.question] + terms.passage.length[pairs.passage]
    return share(2.0 * length.astype(float), both.astype(float))


def substring(pairs: Encoded, unit: str) -> Floats:
    """Return the longest run of terms that both have, as a share of the question's length."""
    terms = pairs.unit(unit)
    length = text.substring(*terms.question[:2], *terms.passage[:2], pairs.question, pairs.passage)
    return share(length.astype(float), terms.question.length[pairs.question].astype(float))


def closeness(pairs: Encoded) -> Floats:
    """Return the share of the question's content stems in the passage, times their density in the shortest window."""
    question = bag(pairs.content.question, pairs.content.size)
    present, least = text.window(*question[:2], *pairs.content.passage[:2], pairs.question, pairs.passage)
    count = present.astype(float)
    return share(count, question.size[pairs.question]) * share(count, least.astype(float))


def first_match(pairs: Encoded) -> Floats:
    """Return how early the passage has a content stem of the question: 1 at the start, 0 if never."""
    question, passage = bag(pairs.content.question, pairs.content.size), pairs.content.passage
    first = text.first(*question[:2], *passage[:2], pairs.question, pairs.passage)
    length = passage.length[pairs.passage]
    return share((length - first).astype(float), length.astype(float))


SEQUENCE_FEATURES = (
    *(
        Feature(f"{kind}_{unit}", "sequence", f"{measure} of {unit}, {relative}", partial(function, unit=unit))
        for kind, measure, relative, function in (
            ("subsequence", "longest common subsequence", "as a share of the question", subsequence),
            ("substring", "longest common run", "as a share of the question", substring),
            ("rouge", "longest common subsequence", "as a share of both lengths (ROUGE-L)", rouge),
        )
        for unit in ("words", "stems")
    ),
    Feature(
        "closeness",
        "sequence",
        "content stems of the question found, more if close together",
        closeness,
    ),
    Feature("first_match", "sequence", "how early the passage has a content stem of the question", first_match),
)


MOST = 10_000  # texts that the models are trained on
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
    with np.errstate(invalid="ignore"):  # scikit-learn divides by the variance, which is 0 for identical texts
        model = _sklearn().TruncatedSVD(size, random_state=0).fit(_weighted(corpus, idf))
    left, right = (_unit(model.transform(_weighted(side, idf))) for side in (question, passage))
    cosine: Floats = np.clip((left[pairs.question] * right[pairs.passage]).sum(axis=1), -1, 1).round(PLACES) + 0.0
    return cosine


def topic_overlap(pairs: Encoded) -> Floats:
    """Return the overlap of the topics of both: the sum of sqrt(p q) over topics of latent Dirichlet allocation."""
    corpus, question, passage = _counts(pairs)
    if min(corpus.shape) == 0 or corpus.nnz == 0:
        return np.zeros(len(pairs))
    model = _sklearn().LatentDirichletAllocation(TOPICS, max_iter=PASSES, random_state=0).fit(corpus)
    left, right = (np.sqrt(model.transform(side)) for side in (question, passage))
    overlap: Floats = np.clip((left[pairs.question] * right[pairs.passage]).sum(axis=1), 0, 1).round(PLACES)
    return overlap


def _sklearn() -> Any:
    """Return scikit-learn's decompositions."""
    try:
        from sklearn import decomposition  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("'adjudge[learn]'", "a topic model") from error
    return decomposition


def _counts(pairs: Encoded) -> tuple[Any, Any, Any]:
    """Return the counts of content stems in the corpus, questions and passages, as sparse matrices."""
    unit = pairs.content
    every = _matrix(bag(unit.corpus, unit.size), unit.size)
    texts = every.shape[0]
    corpus = every if texts <= MOST else every[np.linspace(0, texts - 1, MOST).astype(int)]
    return corpus, *(_matrix(bag(side, unit.size), unit.size) for side in (unit.question, unit.passage))


def _matrix(terms: Bag, size: int) -> Any:
    """Return a bag as a sparse matrix."""
    from scipy.sparse import csr_matrix

    return csr_matrix((terms.times, terms.code, terms.start), (terms.start.size - 1, size))


def _weighted(count: Any, idf: Floats) -> Any:
    """Return (1 + log tf) x idf with rows of length 1."""
    weighted = count.copy()
    weighted.data = (1 + np.log(count.data)) * idf[count.indices]
    row = np.repeat(np.arange(count.shape[0]), np.diff(count.indptr))
    size = np.sqrt(np.bincount(row, weighted.data**2, count.shape[0]))
    weighted.data /= size[row]
    return weighted


def _unit(vector: Floats) -> Floats:
    """Return vectors scaled to length 1; vectors that are 0 up to rounding become 0."""
    size = np.linalg.norm(vector, axis=1, keepdims=True)
    scaled: Floats = np.divide(vector, size, out=np.zeros_like(vector), where=size > 1e-9)
    return scaled


TOPICS_MODEL_FEATURES = (
    Feature("latent_cosine", "topics", "cosine after latent semantic analysis", latent_cosine, 1, PACKAGES),
    Feature("topic_overlap", "topics", "overlap of topics by latent Dirichlet allocation", topic_overlap, 1, PACKAGES),
)

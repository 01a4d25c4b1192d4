"""Audits: a random sample of documents that experts label, and estimates of measures that hold whatever the judges do.

The judges' probabilities alone cannot show an error that all judges share. An audit can: every document enters the
sample on its own, with a known probability pi_d (Poisson sampling), the larger the more its label matters for the runs
and measures that are compared. With q the calibrated chances of labels, y the true ones (one-hot), and

    delta_d = (y_d - q_d) / pi_d   for audited documents, 0 for the others,

delta has the expectation y - q. The expected measure F is multilinear (``expected_measures``) and documents are sampled
independently, so E F(q + delta) = F(y) for every q that was fixed before. F(q + delta) itself is too variable; its
expansion to second order in delta,

    F(q) + sum_d G_d . delta_d + sum_{c < d} delta_c' F_cd delta_d,

is not, and is enough for average precision and nDCG, for which the first order is not. The third order would take away
less of the error than its own noise adds. The variance is

    sum_d (1 - pi_d) e_d^2 - sum_{c < d} (1 - pi_c) (1 - pi_d) (delta_c' F_cd delta_d)^2,

where e_d is what the terms of the expansion that contain document d add up to. The first sum counts the variance of
every pair twice, once with each of its documents (Efron and Stein 1981), and the second takes it off once: the
difference is unbiased. Very good judges err so rarely that an audit may miss all their errors. So three documents are
added that err as q expects: 3 / m times sum_d (1 - pi_d) / pi_d^2 G_d' Cov(y_d) G_d over audited documents. The
interval is that of Student's t with Satterthwaite's degrees of freedom. q is calibrated on the audited labels and
cross-fitted: the chances of a document come from a regression without its fold.

In a further round, the documents labelled before are known, and only the others are sampled. Its estimate is unbiased
given the rounds before, whatever they showed, so the estimates of rounds are uncorrelated, and their mean, weighted by
the numbers of labels, is valid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from scipy.stats import t as student

from adjudge.arrays import Codes, Flags, Floats
from adjudge.evaluation.expected_measures import expected_runs, is_linear
from adjudge.metrics.ranking import Measure

LEAST = 0.002  # smallest chance of a label before calibration
DOUBT = 0.05  # variance of a label that is certain to the judges: they may be wrong
SPREAD_EVENLY = 0.1  # share of the sample that is drawn without regard to influence
FOLDS = 10
FEWEST = 5  # audited documents with an influence, below which there is no interval
FEWEST_FREEDOM = 2.0
UNSEEN = 3.0  # documents with errors as the calibration expects them, beside those that were audited
LEVEL = 0.95  # of each side: the interval has 90 %
MOST_OWN_GOALS = 8  # runs up to which the values of each are scaled by their own total in the design
MOST_OWN_RANKS = 8  # runs up to which each has a coefficient of its own in the calibration
BASE_MEAN, BASE_SPREAD = 0.8, 0.8  # prior of the weight of the judges' log probability
RANK_SPREAD, TOPIC_SPREAD, OFFSET_SPREAD = 0.3, 1.0, 1.0
NEWTON_STEPS, CLOSE = 30, 1e-7
SMALLEST = 1e-12
AT_ONCE = 512  # runs or pairs that are estimated together


class AuditTopic(NamedTuple):
    """The documents of a topic: all that runs return or judges judged."""

    name: str
    documents: Sequence[str]  # (D)
    orders: Sequence[Codes]  # for each run, the documents that it ranks, best first
    chance: Floats  # (D, K) of the labels, by the judges
    open: Flags  # (D) documents whose label is unknown; the others have grade 0

    def with_unjudged(self, chance: Floats) -> Floats:
        """Return chances (D, K + 1) in which the last label is grade 0 of documents that are not open."""
        closed = ~self.open
        padded: Floats = np.concatenate([np.where(closed[:, None], 0.0, chance), closed[:, None]], axis=1)
        return padded


class Round(NamedTuple):
    """One round of an audit, over all documents of all topics, one after the other (I)."""

    probability: Floats  # (I) of being drawn, of documents that were drawn
    truth: Codes  # (I) the label of documents that were drawn, else -1

    @property
    def size(self) -> int:
        """The number of labels."""
        return int((self.truth >= 0).sum())


class Sample(NamedTuple):
    """The corrections of one round."""

    topic: Codes  # (A) of the audited documents
    value: Floats  # (R, M, T) estimates
    plain: Floats  # (R, M, T) what the calibrated judges say
    effect: Floats  # (R, M, A) of every audited document on the sum over topics
    added: Floats  # (M, R, R) what is added to the sums of squares of effects, and of their products for two runs
    left: Floats  # (A) 1 - probability
    certain: int  # documents that were drawn with certainty, whose labels are known like those of earlier rounds


def estimate_rounds(
    topics: Sequence[AuditTopic],
    worth: Floats,
    measures: Sequence[Measure],
    level: float,
    rounds: Sequence[Round],
    seed: int,
    judges: bool = True,
    only_effects: bool = False,
) -> Iterator[Sample]:
    """Yield the corrected estimates of every round; labels of earlier rounds are known in later ones.

    Documents that were drawn with certainty are known too: no chance was involved. With ``only_effects``, values of
    topics without an audited document are left at 0: effects, and with them the width of intervals, do not need them.
    """
    known_labels = np.full(rounds[0].truth.size, -1)
    for each in rounds:
        certain = (each.truth >= 0) & (each.probability >= 1)
        known_labels = np.where(certain, each.truth, known_labels)
        by_chance = each._replace(truth=np.where(certain, -1, each.truth))
        chance = cross_fitted(topics, worth, known_labels, by_chance.truth, seed, judges)
        sample = correct(topics, worth, measures, level, chance, by_chance, only_effects)
        yield sample._replace(certain=int(certain.sum()))
        known_labels = np.maximum(known_labels, each.truth)


class Estimate(NamedTuple):
    """A mean over topics, estimated with an audit."""

    value: float
    half: float  # half of the width of the 90 % interval; nan if too few audited documents matter
    population: float  # the same for a population of topics
    judges: float  # what the calibrated judges say
    correction: float  # what the audit adds


def log_ranks(order: Codes, documents: int) -> Floats:
    """Return minus the logarithm of the ranks of documents (D); documents that are not ranked come after the last.

    >>> log_ranks(np.array([2, 0]), 3).round(2).tolist()
    [-0.69, -1.1, 0.0]
    """
    evidence = np.full(documents, -np.log(order.size + 1.0))
    evidence[order] = -np.log(np.arange(order.size) + 1.0)
    return evidence


def rank_features(topics: Sequence[AuditTopic], of_ranks: Callable[[Codes, int], Floats]) -> Floats:
    """Return how high runs rank every document (I, F) by a function of ranks such as ``log_ranks``.

    They are standardised within topics. With many runs, they are averaged.
    """
    parts = []
    for topic in topics:
        evidence = np.stack([of_ranks(order, len(topic.documents)) for order in topic.orders], axis=1)
        if evidence.shape[1] > MOST_OWN_RANKS:
            evidence = evidence.mean(axis=1, keepdims=True)
        parts.append((evidence - evidence.mean(axis=0)) / (evidence.std(axis=0) + 1e-9))
    return np.concatenate(parts)


def influences(
    topics: Sequence[AuditTopic], worth: Floats, measures: Sequence[Measure], level: float
) -> Iterator[Floats]:
    """Yield the influences (R, M, D, K) of the labels of each topic, under the judges' chances."""
    for topic in topics:
        chance = topic.with_unjudged(bounded(topic.chance))
        rows, parts = np.arange(len(chance)), []
        for measure in measures:
            parts.append(expected_runs(topic.orders, chance, worth, measure, level, rows).influence[:, :, :-1])
        yield np.stack(parts, axis=1)


def bounded(chance: Floats) -> Floats:
    """Return chances (D, K) of which none is very near 0."""
    away = np.maximum(chance, LEAST)
    scaled: Floats = away / away.sum(axis=1, keepdims=True)
    return scaled


def sampling_probabilities(
    topics: Sequence[AuditTopic],
    worth: Floats,
    measures: Sequence[Measure],
    level: float,
    size: int,
    labelled: Flags | None = None,
) -> Floats:
    """Return the probability of every document (I) to be drawn, about ``size`` in all.

    It is in proportion to the standard deviation that the unknown label of the document gives to the values of runs and
    to the differences between them, each scaled to the same total; one document in ten is drawn without regard to that.
    Of many runs, the totals of a measure are scaled together. Documents that are ``labelled`` have 0.
    """
    parts = []
    for topic, influence in zip(topics, influences(topics, worth, measures, level), strict=True):
        chance = bounded(topic.chance)
        apart = influence - influence.mean(axis=0) if len(influence) > 1 else influence[:0]
        goals = np.stack([influence, apart]) if apart.size else influence[None]  # levels, and runs less their mean
        mean = (goals * chance).sum(axis=4, keepdims=True)
        variance = (chance * (goals - mean) ** 2).sum(axis=4) + DOUBT * np.ptp(goals, axis=4) ** 2  # (2, R, M, D)
        if len(influence) > MOST_OWN_GOALS:
            variance = variance.sum(axis=1)
        parts.append(np.where(topic.open, variance.reshape(-1, len(chance)), 0.0))
    every = np.concatenate(parts, axis=1)
    if labelled is not None:
        every[:, labelled] = 0.0
    totals = every.sum(axis=1, keepdims=True)
    importance = np.sqrt(np.divide(every, totals, out=np.zeros_like(every), where=totals > 0).sum(axis=0))
    candidate = np.concatenate([topic.open for topic in topics])
    return _scaled_to(importance, candidate if labelled is None else candidate & ~labelled, size)


def _scaled_to(importance: Floats, candidate: Flags, size: int) -> Floats:
    """Return probabilities in proportion to importance, with a floor, that are at most 1 and add up to ``size``."""
    share = importance / importance.sum() if importance.any() else candidate / max(candidate.sum(), 1)
    share = np.where(candidate, (1 - SPREAD_EVENLY) * share + SPREAD_EVENLY / max(candidate.sum(), 1), 0.0)
    probability = np.minimum(1.0, size * share)
    certain = probability >= 1
    while certain.sum() < min(size, candidate.sum()):
        rest = share[~certain].sum()
        if rest <= 0:
            break
        probability = np.where(certain, 1.0, np.minimum(1.0, share * (size - certain.sum()) / rest))
        if not (probability[~certain] >= 1).any():
            break
        certain = probability >= 1
    return np.where(candidate, probability, 0.0)


class Calibrated(NamedTuple):
    """A regression of labels on the judges' probabilities, on ranks and on topics."""

    mean: Floats  # (F + T')
    covariance: Floats
    column: Codes  # (T) of the effect of each topic, -1 if it has none of its own


def calibrate(features: Floats, grade: Floats, topic: Codes, topics: int, rows: Codes, truth: Codes) -> Calibrated:
    """Learn from the labels of some documents (rows) how chances depend on features (I, K, F).

    The log odds of label k are a weighted sum of its features, and of the effect of the topic times the ``grade`` (K)
    of the label, from 0 to 1. The prior is normal, and the posterior is approximated at its mode.
    """
    _, K, F = features.shape
    present = np.unique(topic[rows])
    column = np.full(topics, -1, np.int64)
    column[present] = F + np.arange(present.size)
    X = np.zeros((rows.size, K, F + present.size))
    X[:, :, :F] = features[rows]
    X[np.arange(rows.size), :, column[topic[rows]]] = grade
    mean, spread = np.zeros(X.shape[2]), np.full(X.shape[2], TOPIC_SPREAD)
    mean[0], spread[0], spread[1 : 1 + K], spread[1 + K : F] = BASE_MEAN, BASE_SPREAD, OFFSET_SPREAD, RANK_SPREAD
    theta, precision, at = mean.copy(), 1 / spread**2, np.arange(rows.size)
    flat = X.reshape(-1, X.shape[2])
    for _ in range(NEWTON_STEPS):
        q = softmax(X @ theta, axis=1)
        centre = np.einsum("ak,akf->af", q, X)
        slope = (centre - X[at, truth]).sum(axis=0) + precision * (theta - mean)
        hessian = (flat * q.reshape(-1, 1)).T @ flat - centre.T @ centre + np.diag(precision)
        move = np.linalg.solve(hessian, slope)
        theta = theta - move * min(1.0, 2 / max(abs(move).max(), CLOSE))
        if abs(move).max() < CLOSE:
            break
    return Calibrated(theta, np.linalg.inv(hessian), column)


def predict(learned: Calibrated, features: Floats, grade: Floats, topic: Codes) -> Floats:
    """Return chances (I, K): the logistic mean over the posterior of the regression, approximated (MacKay 1992)."""
    _, K, F = features.shape
    column = learned.column[topic]
    has_column = column >= 0
    effect = np.where(has_column, learned.mean[column], 0.0)
    logs = features @ learned.mean[:F] + np.outer(effect, grade)
    centred, height = features - features.mean(axis=1, keepdims=True), grade - grade.mean()
    shared, C = learned.covariance[:F, :F], learned.covariance
    variance = np.einsum("ikf,fg,ikg->ik", centred, shared, centred, optimize=True)
    across = np.einsum("ikf,if->ik", centred, np.where(has_column[:, None], C[:F, column].T, 0.0))
    variance += 2 * height * across + height**2 * np.where(has_column, C[column, column], TOPIC_SPREAD**2)[:, None]
    logs = logs - logs.mean(axis=1, keepdims=True)
    scale = np.sqrt(1 + np.pi / 8 * (K / max(K - 1, 1)) ** 2 * np.maximum(variance, 0.0))
    return bounded(softmax(logs / scale, axis=1))


def regression_features(topics: Sequence[AuditTopic], worth: Floats, judges: bool = True) -> tuple[Floats, Floats]:
    """Return the features of labels (I, K, F) and the grade of every label between 0 and 1 (K).

    They are the judges' log chance, an offset per label, and the log ranks in runs times the grade. Without ``judges``,
    the log chance is left out.
    """
    chance = bounded(np.concatenate([topic.chance for topic in topics]))
    K = chance.shape[1]
    grade = (worth[:K] - worth[:K].min()) / max(float(np.ptp(worth[:K])), SMALLEST)
    parts = [np.log(chance)[:, :, None] * float(judges), np.tile(np.eye(K), (len(chance), 1, 1))]
    parts.append(grade[None, :, None] * rank_features(topics, log_ranks)[:, None, :])
    return np.concatenate(parts, axis=2), grade


def cross_fitted(
    topics: Sequence[AuditTopic], worth: Floats, known_labels: Codes, truth: Codes, seed: int, judges: bool = True
) -> Floats:
    """Return chances (I, K), those of every document from a regression without the labels of its own fold.

    Parameters
    ----------
    topics
        The documents.
    worth
        The grade of every label.
    known_labels
        The labels of earlier rounds (I), -1 if unknown; they are used in all folds, and are certain.
    truth
        The labels of this round (I), -1 if unknown.
    seed
        The seed of the folds.
    judges
        Whether the judges' probabilities are used.
    """
    features, grade = regression_features(topics, worth, judges)
    topic = np.repeat(np.arange(len(topics)), [len(each.documents) for each in topics])
    fold = np.random.default_rng(seed).permutation(topic.size) % FOLDS
    chance, label = np.empty(features.shape[:2]), np.maximum(known_labels, truth)
    for f in range(FOLDS):
        rows = np.flatnonzero((known_labels >= 0) | ((truth >= 0) & (fold != f)))
        held_out = np.flatnonzero(fold == f)
        learned = calibrate(features, grade, topic, len(topics), rows, label[rows])
        chance[held_out] = predict(learned, features[held_out], grade, topic[held_out])
    labels = np.arange(features.shape[1])
    return np.where(known_labels[:, None] >= 0, (known_labels[:, None] == labels).astype(float), chance)


def correct(
    topics: Sequence[AuditTopic],
    worth: Floats,
    measures: Sequence[Measure],
    level: float,
    chance: Floats,
    audited: Round,
    only_effects: bool = False,
) -> Sample:
    """Return the estimates of one round: expected measures under the chances (I, K), corrected to second order."""
    R, M, K = len(topics[0].orders), len(measures), chance.shape[1]
    edges: Codes = np.cumsum([0, *(len(topic.documents) for topic in topics)])
    value, plain, effects = np.zeros((R, M, len(topics))), np.zeros((R, M, len(topics))), []
    drawn: Flags = audited.truth >= 0
    added, unseen = np.zeros((M, R, R)), UNSEEN / max(int(drawn.sum()), 1)
    residual = np.zeros((len(chance), K + 1))
    residual[drawn, :K] = np.eye(K)[audited.truth[drawn]] - chance[drawn]
    for t, topic in enumerate(topics):
        part = slice(edges[t], edges[t + 1])
        rows = np.flatnonzero(drawn[part])
        if only_effects and not rows.size:
            continue
        q = topic.with_unjudged(chance[part])
        labelled = Labelled(rows, residual[part][rows], audited.probability[part][rows])
        effect, scale = np.zeros((R, M, rows.size)), np.sqrt(1 - labelled.probability)
        for m, measure in enumerate(measures):
            plain[:, m, t], single, pair, expected = _expansion(topic.orders, q, labelled, worth, measure, level)
            value[:, m, t] = plain[:, m, t] + single.sum(axis=1) + pair.sum(axis=(1, 2))
            effect[:, m] = single + pair.sum(axis=1) + pair.sum(axis=2)
            added[m] += unseen * _products(expected * scale[:, None]) - _products(pair * np.outer(scale, scale))
        effects.append(effect)
    where = np.flatnonzero(drawn)
    topic_of = np.searchsorted(edges, where, side="right") - 1
    effect = np.concatenate(effects, axis=2) if effects else np.zeros((R, M, 0))
    return Sample(topic_of, value, plain, effect, added, 1 - audited.probability[where], 0)


class Labelled(NamedTuple):
    """The audited documents of a topic."""

    rows: Codes  # (A) among the documents of the topic
    residual: Floats  # (A, K) the label less its chances
    probability: Floats  # (A) of being drawn


def _expansion(
    orders: Sequence[Codes], q: Floats, labelled: Labelled, worth: Floats, measure: Measure, level: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the expected values of runs (R), and the terms of audited documents (R, A) and of pairs of them (R, A, A).

    A pair is in the row of its first document. Its term is by how much the influence of the second changes if the label
    of the first is known. It is 0 for linear measures. The sums of squares of the last array (R, A, K) over K are the
    squares of the terms of documents that are expected under q.
    """
    rows, residual, probability = labelled
    now, delta = expected_runs(orders, q, worth, measure, level, rows), residual / probability[:, None]
    pairs = np.zeros((len(orders), rows.size, rows.size))
    for a in range(0 if is_linear(measure) else rows.size - 1):
        after, with_label = slice(a + 1, None), q.copy()
        with_label[rows[a]] += residual[a]
        influence = expected_runs(orders, with_label, worth, measure, level, rows[after]).influence
        pairs[:, a, after] = ((influence - now.influence[:, after]) * delta[after]).sum(axis=2) / probability[a]
    centred = now.influence - (now.influence * q[rows]).sum(axis=2, keepdims=True)
    expected = centred * np.sqrt(q[rows]) / probability[:, None]
    return now.value, (now.influence * delta).sum(axis=2), pairs, expected


def _products(terms: Floats) -> Floats:
    """Return the sums of products of the terms of every two runs (R, R)."""
    flat = terms.reshape(len(terms), -1)
    products: Floats = flat @ flat.T
    return products


def estimate(samples: Sequence[Sample], run: int, measure: int, other: int = -1) -> Estimate:
    """Return the mean of a measure over topics, or the difference of two runs, from the samples of all rounds."""
    return estimate_all(samples, measure, np.array([run]), None if other < 0 else np.array([other]))[0]


def estimate_all(samples: Sequence[Sample], measure: int, runs: Codes, others: Codes | None = None) -> list[Estimate]:
    """Return the means of a measure of some runs (P), or the differences to others, from the samples of all rounds."""
    estimates = []
    for at in range(0, runs.size, AT_ONCE):
        some = slice(at, at + AT_ONCE)
        columns = _estimate_some(samples, measure, runs[some], None if others is None else others[some])
        estimates += [Estimate(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]
    return estimates


def _estimate_some(
    samples: Sequence[Sample], measure: int, runs: Codes, others: Codes | None
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return the fields of the estimates of some runs or pairs (P)."""
    labels = np.array([sample.left.size + sample.certain for sample in samples], float)
    weights = (labels / labels.sum()).tolist()

    def of(values: Floats) -> Floats:
        by_run = values[:, measure]
        difference: Floats = by_run[runs] - (0.0 if others is None else by_run[others])
        return difference

    T = samples[0].value.shape[2]
    by_topic, (judges, total, squares, added, matter) = np.zeros((runs.size, T)), np.zeros((5, runs.size))
    for weight, sample in zip(weights, samples, strict=True):
        by_topic += weight * of(sample.value)
        judges += weight * of(sample.plain).mean(axis=1)
        effect = of(sample.effect)
        pieces = sample.left * (weight * effect / T) ** 2  # (P, A)
        total += pieces.sum(axis=1)
        squares += (pieces**2).sum(axis=1)
        added += (weight / T) ** 2 * of_runs(sample.added[measure], runs, others)
        matter += (abs(effect) > SMALLEST).sum(axis=1) + sample.certain
    freedom = np.maximum(FEWEST_FREEDOM, total**2 / np.maximum(squares, np.finfo(float).tiny) - 1)
    half = np.where(matter >= FEWEST, student.ppf(LEVEL, freedom) * np.sqrt(variance_of(total, added)), np.nan)
    spread = by_topic.std(axis=1, ddof=1) / np.sqrt(T) if T > 1 else np.full(runs.size, np.nan)
    population = np.maximum(student.ppf(LEVEL, max(T - 1, 1)) * spread, half)
    value = by_topic.mean(axis=1)
    return value, half, population, judges, value - judges


def of_runs(products: Floats, runs: Codes, others: Codes | None) -> Floats:
    """Return the squares of some runs or of their differences to others (P), from the products of two runs (R, R)."""
    squares: Floats = products[runs, runs]
    return squares if others is None else squares + products[others, others] - 2 * products[runs, others]


def variance_of(squares: Floats, added: Floats) -> Floats:
    """Return variances: sums of squares and what is added to them, but at least half of the squares.

    Pairs are on average at most half of the squares, so that no variance is 0 or less by chance.
    """
    result: Floats = np.maximum(squares + added, squares / 2)
    return result

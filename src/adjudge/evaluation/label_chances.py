"""Chances of labels from the judges and the runs together, and how uncertain the judges' scale is.

The calibrated probabilities of a fit do not know the runs, and what they say about single documents is surer than what
they say about all of them at once: if judges are too lenient, they are too lenient everywhere. Here the log chance of
label k of document d is

    steep SLOPE (log p_dk - log mean p_k) + share lift_d grade_k + shift grade_k + offset_k,

with p the probabilities of the fit, and the offsets such that without a shift the mean chance of every label is its
prevalence. Three numbers are unknown and the same for all documents, and are drawn:

- ``shift``, normal: how lenient judges are. Nine in ten draws are within the logit of 1/2 + margin, ``margin`` being
  half of the width of the interval in which the fit expects its share of right labels.
- ``steep``, log-normal: how sure judges should be. SLOPE and the spread are those of crowds that are no search
  collections, like the width of the shift (``studies/benchmarks/audit.py`` measures them).
- ``share``, uniform from 0 to 1: how much of what judges and runs agree on is relevance, and not an error that they
  have in common. Only an audit can tell.

``lift_d`` is what the ranks of a document say about its relevance. It is a weighted sum of the ranks in every run, and
the weights are learned without any truth: they maximise the likelihood of the judges' evidence, with a normal prior
(EM). If the evidence of topics that were left out is not likelier with the ranks than without, they are not used.

The prevalence is the mean probability if items have many judgments. If they have few, single probabilities stay close
to the vote and their mean is too near to one half; then it is that of EM that has settled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import logit, ndtri, softmax

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.evaluation.audit import AuditTopic, bounded, rank_features
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named
from adjudge.inference.options import Options
from adjudge.inference.result import Fit
from adjudge.metrics.ranking import Pool

SLOPE, STEEP = 1.4, 0.36  # mean slope of the log odds, and the standard deviation of its log, on crowds with gold
POINTS = 20  # draws of shift, steepness and share; labels are drawn under each of them
FEW, SETTLED = 10.0, 30  # judgments per item below which the prevalence is that of EM after so many rounds
RANK_SPREAD = 0.5  # prior standard deviation of the weight of a run
STEPS, CLOSE = 30, 1e-3  # of EM, and of the offsets
LARGEST = 1.0  # step of a weight
NORMAL = ndtri(0.95)
LATTICE = 1.2207440846057596 ** -np.arange(1.0, 4.0)  # of evenly spread points in three dimensions (Roberts 2018)
EDGE = 0.005  # quantiles beyond which no point is drawn


class LabelChances(NamedTuple):
    """The chances of the labels of all judged documents, at POINTS draws of what is unknown about the judges' scale."""

    evidence: Floats  # (I, K) of the judges: log p - log mean p, times SLOPE
    lift: Floats  # (I) log odds of the highest grade instead of the lowest, by the ranks
    grade: Floats  # (K) from 0 to 1
    steep: Floats  # (P)
    share: Floats  # (P)
    offset: Floats  # (P, K)
    fixed: Floats  # (I, K) the chances of documents whose label is known, else nan

    def at(self, point: int, part: slice) -> Floats:
        """Return the chances of some documents (D, K) at one of the points."""
        logs = self.steep[point] * self.evidence[part] + self.offset[point]
        chance = softmax(logs + self.share[point] * np.outer(self.lift[part], self.grade), axis=1)
        fixed: Floats = np.where(np.isnan(self.fixed[part]), chance, self.fixed[part])
        return fixed

    def mean(self, part: slice) -> Floats:
        """Return the mean chances of some documents (D, K) over all points."""
        average: Floats = np.mean([self.at(point, part) for point in range(self.steep.size)], axis=0)
        return average


def uses_runs(fit: Fit) -> bool:
    """Return whether the runs are evidence for the labels of a fit: its probabilities must claim how right they are."""
    return fit.calibration is not None and fit.calibration.margin > 0 and len(fit.scale) > 1


def label_chances(
    fit: Fit,
    pools: Sequence[tuple[Pool, Codes]],
    worth: Floats,
    level: float,
    prevalence: Floats,
    points: int,
    rng: np.random.Generator,
) -> LabelChances:
    """Return the chances of labels by judges and runs.

    Parameters
    ----------
    fit
        A calibrated fit.
    pools
        The documents of every topic, and the items of the fit among them, which are the first.
    worth
        The grade of every label (K), and more.
    level
        The grade from which a document is relevant.
    prevalence
        The prevalence of labels among all items of the fit (K).
    points
        Draws of what is unknown about the judges' scale.
    rng
        Random numbers.
    """
    assert fit.calibration is not None  # uses_runs
    K = len(fit.scale)
    item = np.concatenate([items for _, items in pools])
    topic = np.repeat(np.arange(len(pools)), [items.size for _, items in pools])
    posterior = bounded(fit.posterior)
    by_crowds = fit.calibration.by == "crowds"
    centre = np.log(posterior.mean(axis=0))
    evidence = (SLOPE if by_crowds else 1.0) * (np.log(posterior) - centre)
    every = evidence + offsets(evidence, prevalence, centre)  # of all items of the fit
    grade = (worth[:K] - worth[:K].min()) / max(float(np.ptp(worth[:K])), EDGE)
    mine = softmax(every[item], axis=1)
    target: Floats = mine.mean(axis=0)
    lift = ranks_lift(every[item] - np.log(prevalence), _judged_features(pools), topic, grade, target)
    spread = (rng.random(3) + np.outer(np.arange(points), LATTICE)) % 1.0
    share, steep = spread[:, 0], np.exp(STEEP * by_crowds * ndtri(np.clip(spread[:, 1], EDGE, 1 - EDGE)))
    shift = logit(0.5 + fit.calibration.margin) / NORMAL * ndtri(np.clip(spread[:, 2], EDGE, 1 - EDGE))
    evidence, moved = evidence[item], shift_of_labels(target, grade, worth[:K] >= level)
    offset = np.empty((points, K))
    for n in range(points):
        logs = steep[n] * evidence + share[n] * np.outer(lift, grade)
        offset[n] = offsets(logs, target, np.log(target)) + shift[n] * moved
    is_gold = None if fit.gold is None else fit.gold[item] >= 0
    fixed = (
        np.where(np.zeros(item.size, bool) if is_gold is None else is_gold, 0.0, np.nan)[:, None] + fit.posterior[item]
    )
    return LabelChances(evidence, lift, grade, steep, share, offset, fixed)


def label_prevalence(fit: Fit, judgments: Judgments | None) -> Floats:
    """Return the prevalence of labels (K): the mean probability, or with few judgments per item that of settled EM."""
    calibration = fit.calibration
    if calibration is None or calibration.by != "crowds" or judgments is None or calibration.judgments >= FEW:
        average: Floats = bounded(fit.posterior).mean(axis=0)
        return average
    settled = infer(replace(model_named("consensus"), rounds=SETTLED), judgments, None, Options())
    again: Floats = bounded(settled.params.label_prevalence[None])[0]
    return again


def offsets(logs: Floats, target: Floats, start: Floats) -> Floats:
    """Return what to add to log chances (I, K), so that the mean chance of every label is its target (K)."""
    offset = start
    for _ in range(STEPS):
        step = np.log(target) - np.log(softmax(logs + offset, axis=1).mean(axis=0))
        offset = offset + step
        if abs(step).max() < CLOSE:
            break
    return offset


def shift_of_labels(target: Floats, grade: Floats, relevant: Flags) -> Floats:
    """Return by how much the log chance of every label (K) moves, if the log odds of relevance move by 1.

    >>> shift_of_labels(np.array([0.5, 0.5]), np.array([0.0, 1.0]), np.array([False, True])).tolist()
    [0.0, 1.0]
    """
    if relevant.all() or not relevant.any():
        return grade
    above, below = (float(grade[part] @ target[part] / target[part].sum()) for part in (relevant, ~relevant))
    scaled: Floats = grade / (above - below)
    return scaled


def _judged_features(pools: Sequence[tuple[Pool, Codes]]) -> Floats:
    """Return how high runs rank the judged documents (I, F)."""
    topics = [
        AuditTopic(pool.topic, pool.documents, pool.orders, np.empty(0), np.ones(len(pool.documents), bool))
        for pool, _ in pools
    ]
    first = np.concatenate([np.arange(len(pool.documents)) < items.size for pool, items in pools])
    judged: Floats = rank_features(topics, discounts)[first]
    return judged


def discounts(order: Codes, documents: int) -> Floats:
    """Return the discount 1 / log2(rank + 1) of documents (D), 0 if they are not ranked."""
    discount = np.zeros(documents)
    discount[order] = 1 / np.log2(np.arange(order.size) + 2.0)
    return discount


def ranks_lift(evidence: Floats, ranks: Floats, topic: Codes, grade: Floats, target: Floats) -> Floats:
    """Return what ranks (I, F) add to the log odds of documents (I): 0 if they do not help to predict left-out topics.

    ``evidence`` (I, K) are the log-likelihoods of the judgments of documents, and ``target`` (K) the prevalence.
    """
    half = topic % 2 == 0
    gain = 0.0
    for part in (half, ~half):
        if not part.any() or part.all():
            return np.zeros(topic.size)
        weights = rank_weights(evidence[part], ranks[part], grade, target)
        gain += _log_likelihood(evidence[~part], ranks[~part] @ weights, grade, target)
        gain -= _log_likelihood(evidence[~part], np.zeros(int((~part).sum())), grade, target)
    return ranks @ rank_weights(evidence, ranks, grade, target) if gain > 0 else np.zeros(topic.size)


def rank_weights(evidence: Floats, ranks: Floats, grade: Floats, target: Floats) -> Floats:
    """Return the weights of ranks (F) under which the judges' evidence is likeliest, by EM with a normal prior."""
    weights, offset, prior = np.zeros(ranks.shape[1]), np.log(target), 1 / RANK_SPREAD**2
    for _ in range(STEPS):
        logs = offset + np.outer(ranks @ weights, grade)
        before, after = softmax(logs, axis=1), softmax(logs + evidence, axis=1)
        expected = before @ grade
        variance = before @ grade**2 - expected**2
        slope = ranks.T @ (after @ grade - expected) - prior * weights
        curve = (ranks * variance[:, None]).T @ ranks + prior * np.eye(weights.size)
        step = np.clip(np.linalg.solve(curve, slope), -LARGEST, LARGEST)
        weights, offset = weights + step, offset + np.log(target / before.mean(axis=0))
        if abs(step).max() < CLOSE:
            break
    return weights


def _log_likelihood(evidence: Floats, lift: Floats, grade: Floats, target: Floats) -> float:
    """Return the log-likelihood of the judges' evidence (I, K), if documents have this lift (I)."""
    logs = np.outer(lift, grade)
    prior = softmax(logs + offsets(logs, target, np.log(target)), axis=1)
    return float(np.log((prior * np.exp(evidence - evidence.max(axis=1, keepdims=True))).sum(axis=1)).sum())

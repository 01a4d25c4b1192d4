"""The truth of an item as the other judges see it: the posterior with one judge's labels left out.

The log of p(truth, labels) of an item is a sum over its judgments, so the labels of a judge are left out by subtracting
their part. All of this is done in logs, because a product that was divided may lose all its digits.

This needs a model in which the truth follows from confusion matrices by Bayes' rule. For a fit of any other model (a
vote, a degree, the difficulty of items), the matrices come from ``hybrid-confusion``, fitted to the same judgments.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments, places
from adjudge.errors import UsageError, quoted
from adjudge.inference.fit import fit as infer
from adjudge.inference.fitted import as_fitted
from adjudge.inference.params import Params
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block
from adjudge.kernels.compiled import compiled
from adjudge.kernels.truth import FLOOR

IMPOSSIBLE = -1e9  # the log of a truth that gold excludes; far below every possible one, whatever is added
SUBSTITUTE = "hybrid-confusion"  # for models without Bayes' rule
SHRINKAGE = 2.0  # judgments of an average judge that are added to each row of a matrix, so that no chance is 0


class ItemLogs(NamedTuple):
    """The parts of log p(state, labels) that are needed to leave a judge out; a state is a truth, or finer."""

    item: Floats  # (I, S) log p(state, labels) of each item
    judge: Floats  # (N, S) the part of the judge of each judgment: all labels that they gave the item


def item_logs(block: Block, prevalence: Floats, confusion: Floats, side: Codes | None = None) -> ItemLogs:
    """Return the logs of items and of each judge's part in them, from prevalence (T, S) and matrices (J, S, K).

    ``side`` (S) is the label of every state, if states are finer than truths.
    """
    S = prevalence.shape[1]
    item, judge = np.empty((block.topic.size, S)), np.empty((block.label.size, S))
    log_prior = np.log(np.maximum(prevalence, FLOOR))
    log_chance = np.log(np.maximum(confusion, FLOOR)).transpose(0, 2, 1).reshape(-1, S)  # (J * K, S)
    truth = np.arange(S, dtype=np.int32) if side is None else side
    arrays = (block.start, block.cell, block.topic, block.gold, block.weight)
    _add_logs(*arrays, block.labels, truth, log_prior, log_chance, item, judge)
    return ItemLogs(item, judge)


def posterior_without_judge(block: Block, logs: ItemLogs) -> Floats:
    """Return p(truth | labels of the other judges, gold) for each judgment (N, K)."""
    size = np.diff(block.start)
    return softmax(np.repeat(logs.item, size, axis=0) - logs.judge)


def softmax(logs: Floats) -> Floats:
    """Return rows of logs as probabilities."""
    powers = np.exp(logs - logs.max(axis=1, keepdims=True))
    shares: Floats = powers / powers.sum(axis=1, keepdims=True)
    return shares


class LeaveOut(NamedTuple):
    """The judgments of a fit, in its codes, ready for leaving judges out."""

    block: Block
    judge: Codes  # (N)
    confusion: Floats  # (J, K, K) the matrices of the fit, shrunk a little towards that of an average judge
    prior: Floats  # (J, K, K) the counts that were added for that
    prevalence: Floats  # (T, K)
    logs: ItemLogs

    @property
    def average_confusion(self) -> Floats:
        """The matrix of an average judge (K, K)."""
        matrix: Floats = self.prior[0] / self.prior[0].sum(axis=1, keepdims=True)
        return matrix

    def posterior(self) -> Floats:
        """Return p(truth | labels of the other judges, gold) for each judgment (N, K)."""
        return posterior_without_judge(self.block, self.logs)


def leave_out(fit: Fit, judgments: Judgments, judged: Floats | None = None) -> LeaveOut:
    """Return the judgments of a fit, ready for leaving judges out.

    ``judged`` (J) says how many other judgments each matrix rests on; by default matrices rest on these judgments.
    """
    if len(fit.scale) < 2:
        raise UsageError(f"judges cannot be distinguished: their only label is {quoted(fit.scale.names)}")
    block = as_fitted(fit, judgments)
    if judged is None and not fit.definition.uses_matrices:
        fit = _with_matrices(fit, judgments)
    prevalence = topic_prevalence(fit.params)
    common = prevalence.mean(axis=0)
    number = fit.judged.astype(float) if judged is None else judged
    weight = number[:, None, None] * common[None, :, None]  # (J, K, 1) judgments behind each row
    average = np.maximum(fit.params.population, 1e-6)
    prior = SHRINKAGE * average / average.sum(axis=1, keepdims=True)
    confusion = (weight * fit.params.confusion + prior) / (weight + SHRINKAGE)
    judge = (block.cell // block.labels).astype(np.int64)
    each = np.broadcast_to(prior, confusion.shape).copy()
    return LeaveOut(block, judge, confusion, each, prevalence, item_logs(block, prevalence, confusion))


class Correctness(NamedTuple):
    """The chance that each label is the truth according to the other judges, beside what a matrix predicts."""

    observed: Floats  # (N) q_n(y_n), the chance of the label that was given
    mean: Floats  # (N) of q_n(y), if y is drawn from the matrix
    variance: Floats  # (N)
    chance: Floats  # (N, K) of each label under the matrix


def correctness(others: Floats, label: Codes, matrix: Floats) -> Correctness:
    """Return the chances that labels (N) are right, from p(truth | others) (N, K) and matrices (N, K, K)."""
    observed = np.take_along_axis(others, label[:, None].astype(np.int64), axis=1)[:, 0]
    chance = np.einsum("nz,nzk->nk", others, matrix)
    mean = (chance * others).sum(axis=1)
    return Correctness(observed, mean, np.maximum((chance * others**2).sum(axis=1) - mean**2, 0.0), chance)


def topic_prevalence(params: Params) -> Floats:
    """Return the prevalence of labels (T, K); the subtypes of a label are added up."""
    T, K = params.prevalence.shape[0], params.population.shape[1]
    return np.asarray(params.prevalence.reshape(T, K, -1).sum(axis=2))


def _with_matrices(fit: Fit, judgments: Judgments) -> Fit:
    """Return the fit with confusion matrices of the substitute model, with the same codes and the same gold."""
    gold = fit.gold[places(judgments.items, fit.items)] if fit.gold is not None else np.full(len(judgments.items), -1)
    truths = {judgments.items[i]: fit.scale.labels[int(gold[i])] for i in np.flatnonzero(gold >= 0).tolist()}
    substitute = infer(judgments, SUBSTITUTE, inference="map", gold=truths or None)
    index = places(fit.judge_names, substitute.judge_names)
    params = substitute.params._replace(confusion=substitute.params.confusion[index])
    return replace(fit, params=params)


@compiled
def _add_logs(
    start: Codes,
    cell: Codes,
    topic: Codes,
    gold: Codes,
    weight: Floats,
    K: int,
    side: Codes,
    log_prior: Floats,
    log_chance: Floats,
    item: Floats,
    judge: Floats,
) -> None:
    """Fill in the logs of items and of judges' parts in them; a judge may have labelled an item several times."""
    S = item.shape[1]
    part = np.zeros((log_chance.shape[0] // K, S))  # (J, S) of each judge in the current item
    for i in range(topic.size):
        t = topic[i] if log_prior.shape[0] > 1 else 0
        for s in range(S):
            item[i, s] = log_prior[t, s] + (IMPOSSIBLE if gold[i] >= 0 and gold[i] != side[s] else 0.0)
        for n in range(start[i], start[i + 1]):
            times = weight[n] if weight.size else 1.0
            for s in range(S):
                item[i, s] += times * log_chance[cell[n], s]
                part[cell[n] // K, s] += times * log_chance[cell[n], s]
        for n in range(start[i], start[i + 1]):
            for s in range(S):
                judge[n, s] = part[cell[n] // K, s]
        for n in range(start[i], start[i + 1]):
            for s in range(S):
                part[cell[n] // K, s] = 0.0

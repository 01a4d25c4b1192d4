"""Raykar's loop: the ranker and the consensus of a crowd learn from each other (Raykar et al. 2010).

The log odds that a document is relevant are the evidence of its judgments plus those of the prevalence, which is the
same for all documents. The loop replaces the prevalence by what a ranker expects of each document:

1. Rankers are trained on soft pairs of the current probabilities, in folds by topic, and score the documents of the
   topics that they have not learned from.
2. A logistic regression of the current probabilities on these scores gives each document a prior of its own.
3. The log odds of each document are its evidence plus the log odds of its prior.

It ends when no probability changes by more than ``SETTLED``, or after ``ROUNDS`` rounds. The evidence is that of the
fit: confusions of judges are not estimated again.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, logit

from adjudge.arrays import Floats
from adjudge.errors import AdjudgeWarning
from adjudge.learn.folds import fold_of, split
from adjudge.learn.pairs import NothingToLearn, group_codes
from adjudge.learn.scikit import clone

FOLDS = 4
ROUNDS = 5
SETTLED = 0.01
CLIP = 1e-4  # probabilities are clipped to this distance from 0 and 1
STEPS = 50  # of Newton's method


class Joint(NamedTuple):
    """Probabilities of relevance by the crowd and the ranker together."""

    relevance: Floats  # (N)
    rounds: int  # 0 if no ranker could be trained


def joint_relevance(p: Floats, X: Any, topics: Any, ranker: Any, rounds: int = ROUNDS) -> Joint:
    """Return the probabilities of rows (N) after Raykar's loop, from those of the consensus.

    Parameters
    ----------
    p
        Probabilities of the consensus (N).
    X
        Features (N, F).
    topics
        The topic of each row (N).
    ranker
        A ranker that takes soft targets; it is not changed.
    rounds
        Maximum number of rounds.

    Examples
    --------
    >>> from adjudge import RankSVM
    >>> p = np.array([0.9, 0.5, 0.2, 0.1] * 20)  # the second document of each topic is undecided
    >>> X = np.array([[2.0], [1.9], [0.0], [0.1]] * 20)  # and looks like the first
    >>> joint = joint_relevance(p, X, np.repeat(np.arange(20), 4), RankSVM(soft=True))
    >>> bool(joint.relevance[1] > 0.6), joint.relevance.shape
    (True, (80,))

    """
    count = group_codes(topics, p.size)[1]
    if count < 2:
        return Joint(p, 0)
    fold = fold_of(topics, min(FOLDS, count))
    evidence = log_odds(p) - log_odds(np.array([p.mean()]))
    current = p
    for done in range(rounds):
        try:
            score = _held_out_scores(current, X, topics, ranker, fold)
        except NothingToLearn:
            return Joint(current, done)
        updated = expit(evidence + log_odds(logistic(score, current)))
        change = float(np.abs(updated - current).max())
        current = updated
        if change <= SETTLED:
            return Joint(current, done + 1)
    return Joint(current, rounds)


def _held_out_scores(p: Floats, X: Any, topics: Any, ranker: Any, fold: Any) -> Floats:
    """Return the score of every row (N) by a ranker that was trained without its topic."""
    score = np.zeros(p.size)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)  # the ranker of all rows gives them
        for train, test in split(fold):
            fitted = clone(ranker).fit(X[train], p[train], topics[train])
            score[test] = fitted.decision_function(X[test])
    return score


def logistic(x: Floats, p: Floats) -> Floats:
    """Return the logistic regression of the probabilities p on x (N)."""
    A = np.column_stack([np.ones(x.size), (x - x.mean()) / max(float(x.std()), CLIP)])
    b = np.zeros(2)
    for _ in range(STEPS):
        q = expit(A @ b)
        slope = (A * (q * (1 - q))[:, None]).T @ A + 1e-6 * np.eye(2)
        step = np.linalg.solve(slope, A.T @ (p - q))
        b = b + np.clip(step, -2, 2)
        if np.abs(step).max() < 1e-8:
            break
    curve: Floats = expit(A @ b)
    return curve


def log_odds(p: Floats) -> Floats:
    """Return the log odds of clipped probabilities."""
    odds: Floats = logit(np.clip(p, CLIP, 1 - CLIP))
    return odds

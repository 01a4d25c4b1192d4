"""Preferences between two items: Bradley-Terry, and Bradley-Terry with workers who guess.

A row has the items ``left`` and ``right``, and the preferred one as ``label``.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
import pandas as pd

from adjudge.arrays import Codes, Floats
from adjudge.compat.crowdkit.base import codes
from adjudge.compat.value_errors import DataValueError
from adjudge.errors import quote


class Comparisons(NamedTuple):
    """Preferences as codes."""

    left: Codes  # (N)
    right: Codes  # (N)
    sign: Floats  # (N) 1 if the left item is preferred, -1 if the right one is
    items: pd.Index  # (I)


def compare(data: pd.DataFrame) -> Comparisons:
    """Return the preferences of a table with the columns left, right and label."""
    table = data[["left", "right", "label"]]
    strange = (table["label"] != table["left"]) & (table["label"] != table["right"])
    if strange.any():
        row = int(np.argmax(strange))
        left, right, label = table.iloc[row]
        raise DataValueError(f"label {quote(label)} is neither {quote(left)} nor {quote(right)}", row=row + 1)
    code, items = codes(pd.concat([table["left"], table["right"]]))
    left, right = np.split(code, 2)
    return Comparisons(left, right, np.where(table["label"] == table["left"], 1.0, -1.0), items)


class BradleyTerry:
    """Bradley-Terry: ``scores_`` are worths that sum to one, and ``loss_history_`` how much they changed.

    p(i before j) = p_i / (p_i + p_j). A step of Hunter's MM algorithm (2004, Annals of Statistics 32, 384-406) divides
    the wins of an item by the sum of 1 / (p_i + p_j) over its comparisons. It ends when the worths change by less than
    ``tol`` in sum, or after ``n_iter`` steps. An item that never wins has the worth 0; ``adjudge.rank`` has a prior.
    """

    scores_: pd.Series
    loss_history_: list[float]

    def __init__(self, n_iter: int, tol: float = 1e-5) -> None:
        self.n_iter, self.tol = n_iter, tol

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit the worths of items."""
        self.loss_history_ = []
        if not len(data[["left", "right", "label"]]):
            self.scores_ = pd.Series(dtype=float, name="agg_score")
            return self
        left, right, sign, items = compare(data)
        size = len(items)
        wins = np.bincount(np.where(sign > 0, left, right), minlength=size).astype(float)
        pair, times = np.unique(np.minimum(left, right) * size + np.maximum(left, right), return_counts=True)
        first, second = pair // size, pair % size
        worth = np.ones(size) / size
        for _ in range(self.n_iter):
            rate = times / np.maximum(worth[first] + worth[second], np.finfo(float).tiny)
            load = np.bincount(first, rate, size) + np.bincount(second, rate, size)
            after = wins / load
            after /= after.sum()
            self.loss_history_.append(float(np.abs(after - worth).sum()))
            worth = after
            if self.loss_history_[-1] < self.tol:
                break
        self.scores_ = pd.Series(worth, items, name="agg_score")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the worth of every item."""
        return self.fit(data).scores_


class NoisyBradleyTerry:
    """Bradley-Terry with guessing workers: ``scores_`` of items, ``skills_`` and ``biases_`` of workers.

    With probability gamma_w (the skill) a worker prefers left with probability s(theta_left - theta_right), where s is
    the logistic function; otherwise they prefer left with probability q_w (the bias). ``scores_`` are s(theta). The
    prior of Chen, Bennett, Collins-Thompson and Horvitz (2013, WSDM, section 3.3), ``regularization_ratio`` virtual
    wins and losses of every item against one more item, keeps them finite. The start is theta = 0, gamma = s(1) and
    q = 1/2, so that ``random_state`` has no effect.
    """

    scores_: pd.Series
    skills_: pd.Series
    biases_: pd.Series

    def __init__(
        self, n_iter: int = 100, tol: float = 1e-5, regularization_ratio: float = 1e-5, random_state: int = 0
    ) -> None:
        self.n_iter, self.tol = n_iter, tol
        self.regularization_ratio, self.random_state = regularization_ratio, random_state

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit the scores of items, and the skills and biases of workers, by L-BFGS."""
        from scipy.optimize import minimize
        from scipy.special import expit

        if not len(data[["worker", "left", "right", "label"]]):
            names = (("scores_", "agg_score"), ("skills_", "skill"), ("biases_", "bias"))
            for attribute, name in names:
                setattr(self, attribute, pd.Series(dtype=float, name=name))
            return self
        comparisons = compare(data)
        worker, workers = codes(data["worker"])
        items, J = len(comparisons.items), len(workers)
        start = np.concatenate([np.zeros(1 + items + J), np.ones(J)])
        end = start
        if self.n_iter > 0:
            options = {"maxiter": self.n_iter, "ftol": self.tol}
            arguments = (comparisons, worker, J, self.regularization_ratio)
            end = minimize(noisy_loss, start, arguments, "L-BFGS-B", jac=True, options=options).x
        theta, bias, skill = np.split(end[1:], [items, items + J])
        self.scores_ = pd.Series(expit(theta), comparisons.items.rename("label"), name="agg_score")
        self.biases_ = pd.Series(expit(bias), workers.rename("worker"), name="bias")
        self.skills_ = pd.Series(expit(skill), workers.rename("worker"), name="skill")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the score of every item."""
        return self.fit(data).scores_


def noisy_loss(x: Floats, comparisons: Comparisons, worker: Codes, workers: int, ratio: float) -> tuple[float, Floats]:
    """Return the negative log posterior of noisy Bradley-Terry and its gradient.

    ``x`` (1 + I + 2 J) has the log worth of the virtual item and of all items, and the log odds of biases and skills.
    """
    from scipy.special import expit, log_expit

    left, right, sign, items = comparisons
    virtual, theta, bias, skill = x[0], *np.split(x[1:], [len(items), len(items) + workers])
    lead, side, gamma = sign * (theta[left] - theta[right]), sign * bias[worker], expit(skill[worker])
    by_worth, by_side = expit(lead), expit(side)
    chance = np.maximum(gamma * by_worth + (1 - gamma) * by_side, np.finfo(float).tiny)
    gap = theta - virtual
    value = np.log(chance).sum() + ratio * (log_expit(gap) + log_expit(-gap)).sum()
    pull = sign * gamma * by_worth * (1 - by_worth) / chance
    d_theta = np.bincount(left, pull, theta.size) - np.bincount(right, pull, theta.size)
    push = ratio * (1 - 2 * expit(gap))
    d_bias = np.bincount(worker, sign * (1 - gamma) * by_side * (1 - by_side) / chance, workers)
    d_skill = np.bincount(worker, gamma * (1 - gamma) * (by_worth - by_side) / chance, workers)
    return -float(value), -np.concatenate([[-push.sum()], d_theta + push, d_bias, d_skill])

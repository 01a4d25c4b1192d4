"""``Params``, what a model learns about topics and judges, and ``Prior``, what it assumes about them beforehand."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import InputError, UsageError, quoted
from adjudge.kernels.block import Block, Tally

GAIN = 1e-9  # least gain for which truths are renamed
TRUST = 3.0  # lambda of paper 003: pseudo-counts of right labels in addition to one per label


@dataclass(frozen=True)
class Prior:
    """Pseudo-counts of rows and topics (hybrid-confusion), or the prior of their populations (hierarchical).

    The rows of a judge's matrix are Dirichlet(ones + trust * identity). With ``decay`` d, on labels in an order, a
    label k steps from the truth has 1 + trust * d**k instead: near errors are more likely. ``rows`` gives all
    pseudo-counts, a row a truth. Truths are Dirichlet(``prevalence``). Of the hierarchical model, kappa is
    Pareto(``shape``, ``least``). ``gold_informs`` says whether gold items count for how common truths are: no, where
    they were not drawn at random. With ``difficulty``, some items are harder than others for all judges, and how much
    they differ is learned (``kernels.difficulty``). With ``families`` too, families of judges may differ in which items
    are hard for them (``kernels.family_effects``).
    """

    trust: float = TRUST
    decay: float | None = None
    rows: tuple[tuple[float, ...], ...] | None = None  # (K, K)
    prevalence: float = 1.0
    shape: float = 1.5
    least: float = 0.1
    gold_informs: bool = True
    difficulty: bool = False
    families: bool = False

    def __post_init__(self) -> None:
        if self.families and not self.difficulty:
            raise UsageError("prior families are effects on the difficulty of items: give difficulty too")
        if not 0 <= self.trust < math.inf:
            raise UsageError(f"prior trust {self.trust!r} is not a number of at least 0")
        for name in ("prevalence", "shape", "least"):
            if not 0 < getattr(self, name) < math.inf:
                raise UsageError(f"prior {name} {getattr(self, name)!r} is not a number above 0")
        if self.decay is not None and not 0 <= self.decay < 1:
            raise UsageError(f"prior decay {self.decay!r} is not a number of at least 0 and below 1")
        if self.rows is not None:
            self._check_rows(self.rows)

    def _check_rows(self, rows: Sequence[Sequence[float]]) -> None:
        """Store the rows as tuples of floats; refuse other numbers, and other fields of the prior of judges."""
        if self.trust != TRUST or self.decay is not None:
            raise UsageError("prior rows define the whole prior of judges: leave out trust and decay")
        plain = tuple(tuple(map(float, row)) for row in rows)
        object.__setattr__(self, "rows", plain)
        if any(not 0 < cell < math.inf for row in plain for cell in row):
            raise UsageError("prior rows hold a pseudo-count that is not a number above 0")

    def refuse_beyond(self, model: str, named: Collection[str]) -> None:
        """Refuse fields that a model does not have: it has only those named."""
        default = Prior()
        other = [name for name, value in vars(self).items() if value != getattr(default, name) and name not in named]
        if other:
            raise UsageError(f"prior {quoted(other)} is not for model '{model}', which has {quoted(named)}")

    def pseudo_counts(self, labels: int) -> Floats:
        """Return the pseudo-counts of a judge's rows (K, K)."""
        if self.rows is not None:
            if len(self.rows) != labels or any(len(row) != labels for row in self.rows):
                sizes = ", ".join(str(len(row)) for row in self.rows) or "none"
                raise UsageError(f"prior rows are not {labels} rows of {labels} pseudo-counts, but of {sizes}")
            return np.array(self.rows)
        if self.decay is None:
            return np.ones((labels, labels)) + self.trust * np.eye(labels)
        steps = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels)))
        return 1 + self.trust * np.power(self.decay, steps)


def read_rows(path: str) -> tuple[tuple[float, ...], ...]:
    """Read Dirichlet pseudo-counts from a CSV file without a header, one row per true label."""
    try:
        with open(path, encoding="utf8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({getattr(error, 'strerror', None) or 'not text'})", path) from error
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(tuple(float(cell) for cell in line.split(",")) if line else ())
        except ValueError as error:
            raise InputError(f"{line!r} is not a row of numbers with commas between", path, number) from error
    return tuple(row for row in rows if row)


def refuse_no_mode(prior: Prior) -> None:
    """Refuse a prior without a mode, and options that EM does not have."""
    if prior.prevalence < 1 or any(cell < 1 for row in prior.rows or () for cell in row):
        raise UsageError("pseudo-counts below 1 have no mode: use inference 'gibbs', or give at least 1")
    if not prior.gold_informs:
        raise UsageError("gold that does not inform prevalence needs sampling: use inference 'gibbs'")


class Params(NamedTuple):
    """The estimates of a model: how common truths are, and how judges err.

    T is 1, or the number of topics if each has its own prevalence: items without a topic are the last one then.
    """

    prevalence: Floats  # (T, K), or (T, K * G) if every label has G states
    confusion: Floats  # (J, K, K) p(judge j says l | truth k)
    population: Floats  # (K, K) the matrix of a judge that the fit does not have
    skill: Floats = np.empty((0, 0))  # (J, S) other numbers of a judge, from which the model computes the matrix
    typical: Floats = np.empty(0)  # (S) those of a judge that the fit does not have
    unseen: Floats = np.empty(0)  # (K) the prevalence in any other topic, if every topic has its own

    @property
    def topic_prevalence(self) -> Floats:
        """The prevalence of labels in every topic (T, K), summed over the states of a label."""
        T, K = self.prevalence.shape[0], self.population.shape[1]
        rows: Floats = self.prevalence.reshape(T, K, -1).sum(axis=2)
        return rows

    @property
    def label_prevalence(self) -> Floats:
        """The prevalence of labels (K): if every topic has its own, that of any other topic."""
        if self.unseen.size:
            common: Floats = self.unseen.reshape(self.population.shape[1], -1).sum(axis=1)
            return common
        first: Floats = self.topic_prevalence[0]
        return first


Assign: TypeAlias = Callable[[Block, Params], Tally]
Estimate: TypeAlias = Callable[[Tally, Params], Params]
Posterior: TypeAlias = Callable[[Block, Params], tuple[Floats, float]]  # (I, K + E) and the log evidence
LogPrior: TypeAlias = Callable[[Params], float]
JudgeColumns: TypeAlias = Callable[[Params, tuple[str, ...]], dict[str, Floats]]


def accurate(judges: int, labels: int, topics: int = 1, trust: float = TRUST) -> Params:
    """Return the start of Liu & Wang (2012): equal prevalence, and the normalised rows of ones + lambda * identity."""
    matrix = (np.ones((labels, labels)) + trust * np.eye(labels)) / (trust + labels)
    prevalence = np.full((topics, labels), 1 / labels)
    return Params(prevalence, np.broadcast_to(matrix, (judges, labels, labels)), matrix)


def best_order(agreement: Floats) -> Codes:
    """Return which truth (K) gets the name of each label: the assignment with the most agreement of both.

    ``agreement`` (K, K) has a row per truth and a column per label. If nothing is gained, all names stay.

    >>> best_order(np.array([[0.1, 0.5], [0.3, 0.1]])).tolist()
    [1, 0]
    """
    from scipy.optimize import linear_sum_assignment

    K = agreement.shape[0]
    truth, label = linear_sum_assignment(-agreement)
    order = np.empty(K, np.int64)
    order[label] = truth
    unchanged = np.trace(agreement) >= agreement[truth, label].sum() - GAIN
    return np.arange(K) if unchanged else order


def renamed(params: Params, order: Codes) -> Params:
    """Return params of a model whose states are labels, with the truths in another order."""
    return params._replace(
        prevalence=params.prevalence[:, order],
        confusion=params.confusion[:, order],
        population=params.population[order],
        unseen=params.unseen[order] if params.unseen.size else params.unseen,
    )

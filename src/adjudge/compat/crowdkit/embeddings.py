"""Answers with embeddings: the answer closest to the mean, and reliability-aware means (RASA, HRRASA).

A row has a task, a worker, an ``output`` such as a text, and its ``embedding``, an array. RASA is due to Li and
Fukumoto (2019, AnnoNLP, 24-28), HRRASA to Li (2020, SIGIR, 1761-1764).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from adjudge.arrays import Codes, Flags, Floats
from adjudge.compat.crowdkit.base import codes
from adjudge.compat.value_errors import ArgumentValueError, DataValueError
from adjudge.errors import quote

SMALL = 1e-5  # the least sum of squared distances of a worker
LONGEST = 4  # words of an n-gram of GLEU

Distance = Callable[[Any, Any], float]
Similarity = Callable[[Any, Any], float]


class Embedded(NamedTuple):
    """Answers as codes, with their embeddings."""

    task: Codes  # (N)
    worker: Codes  # (N)
    tasks: pd.Index  # (I)
    workers: pd.Index  # (J)
    embedding: Floats  # (N, D)

    def weighted_means(self, weight: Floats) -> Floats:
        """Return the weighted mean of the embeddings of each task (I, D)."""
        return _sums(self.task, weight[:, None] * self.embedding, len(self.tasks)) / _sums(
            self.task, weight[:, None], len(self.tasks)
        )

    def squared_distances(self, mean: Floats) -> Floats:
        """Return the squared Euclidean distance of each answer from the mean of its task (N)."""
        distance: Floats = np.square(self.embedding - mean[self.task]).sum(axis=1)
        return distance


def embed(data: pd.DataFrame) -> Embedded:
    """Return the answers of a table with the columns task, worker and embedding."""
    table = data[["task", "worker", "embedding"]]
    arrays = [np.asarray(vector, float).ravel() for vector in table["embedding"]]
    sizes = {vector.size for vector in arrays}
    if len(sizes) > 1:
        row = next(n for n, vector in enumerate(arrays) if vector.size != arrays[0].size)
        raise DataValueError(
            f"an embedding of {arrays[row].size} numbers, and the first has {arrays[0].size}", row=row + 1
        )
    stacked = np.array(arrays).reshape(len(arrays), arrays[0].size if arrays else 0)
    return Embedded(*_interleave(codes(table["task"]), codes(table["worker"])), stacked)


def true_means(embedded: Embedded, true_embeddings: pd.Series | None) -> tuple[Flags, Floats]:
    """Return which tasks have a true embedding (I), and these embeddings in the order of tasks."""
    D = embedded.embedding.shape[1]
    is_known = np.zeros(len(embedded.tasks), bool)
    if true_embeddings is None or not len(true_embeddings):
        return is_known, np.empty((0, D))
    if not true_embeddings.index.is_unique:
        task = true_embeddings.index[true_embeddings.index.duplicated()][0]
        raise DataValueError(f"task {quote(task)} has several true embeddings", "true_embeddings")
    position = embedded.tasks.get_indexer(true_embeddings.index)
    met = np.flatnonzero(position >= 0)
    met = met[np.argsort(position[met])]
    is_known[position[met]] = True
    values = [np.asarray(true_embeddings.iloc[n], float).ravel() for n in met]
    return is_known, np.array(values).reshape(len(values), D)


def cosine_distance(first: Floats, second: Floats) -> Floats:
    """Return one minus the cosine of each two rows (N), infinite if one of them is zero."""
    size = np.sqrt(np.square(first).sum(axis=1) * np.square(second).sum(axis=1))
    dot = (first * second).sum(axis=1)
    return np.where(size > 0, 1 - np.divide(dot, size, out=np.zeros_like(dot), where=size > 0), np.inf)


class ClosestToAverage:
    """The answer whose embedding is closest to the mean of its task.

    ``distance`` takes two arrays. After ``fit``, ``embeddings_and_outputs_`` has the chosen answers and ``scores_`` the
    distance of every answer.
    """

    embeddings_and_outputs_: pd.DataFrame
    scores_: pd.DataFrame

    def __init__(self, distance: Distance) -> None:
        self.distance = distance

    def fit(
        self,
        data: pd.DataFrame,
        aggregated_embeddings: pd.Series | None = None,
        true_embeddings: pd.Series | None = None,
    ) -> Self:
        """Choose an answer per task; aggregated or true embeddings, indexed by task, stand for the mean."""
        embedded = embed(data)
        mean = embedded.weighted_means(np.ones(len(data)))
        for replacement in (true_embeddings if aggregated_embeddings is None else None, aggregated_embeddings):
            is_known, values = true_means(embedded, replacement)
            mean[is_known] = values
        pairs = zip(embedded.embedding, mean[embedded.task], strict=True)
        distance = np.array([float(self.distance(vector, center)) for vector, center in pairs])
        self.scores_, self.embeddings_and_outputs_ = _closest(data, embedded, distance)
        return self

    def fit_predict_scores(self, data: pd.DataFrame, aggregated_embeddings: pd.Series | None = None) -> pd.DataFrame:
        """Return the distance of every answer."""
        return self.fit(data, aggregated_embeddings).scores_

    def fit_predict(self, data: pd.DataFrame, aggregated_embeddings: pd.Series | None = None) -> pd.DataFrame:
        """Return the chosen answer of every task: its output and its embedding."""
        return self.fit(data, aggregated_embeddings).embeddings_and_outputs_


class RASA:
    """RASA: means of embeddings, weighted by the reliability of workers.

    The mean of a task is weighted by beta, and the beta of a worker is the chi-squared quantile of their number of
    answers divided by the sum of squared distances from the means. The two are computed in turn until the means change
    by less than ``tol`` (relative, squared), ``n_iter`` times at most. The consensus is the answer with the least
    cosine distance from the mean. Attributes: ``aggregated_embeddings_``, ``skills_`` (beta), ``prior_skills_``,
    ``scores_``, ``embeddings_and_outputs_``, ``loss_history_``.
    """

    skills_: pd.Series
    prior_skills_: pd.Series
    aggregated_embeddings_: pd.Series
    scores_: pd.DataFrame
    embeddings_and_outputs_: pd.DataFrame
    loss_history_: list[float]

    def __init__(self, n_iter: int = 100, tol: float = 1e-9, alpha: float = 0.05) -> None:
        self.n_iter, self.tol, self.alpha = n_iter, tol, alpha

    def fit(self, data: pd.DataFrame, true_embeddings: pd.Series | None = None) -> Self:
        """Fit the means of tasks and the reliability of workers; true embeddings, indexed by task, are kept fixed."""
        self._fit(embed(data), np.ones(len(data)), true_embeddings)
        return self

    def fit_predict_scores(self, data: pd.DataFrame, true_embeddings: pd.Series | None = None) -> pd.DataFrame:
        """Return the cosine distance of every answer from the mean of its task."""
        self.fit(data, true_embeddings)._choose(data)
        return self.scores_

    def fit_predict(self, data: pd.DataFrame, true_embeddings: pd.Series | None = None) -> pd.DataFrame:
        """Return the consensus of every task: its output and its embedding."""
        self.fit(data, true_embeddings)._choose(data)
        return self.embeddings_and_outputs_

    def _fit(self, embedded: Embedded, local: Floats, true_embeddings: pd.Series | None) -> Floats:
        """Set means and reliabilities for answers with a local reliability (N), and return the weights of answers."""
        from scipy.special import chdtri

        is_known, true_mean = true_means(embedded, true_embeddings)
        J = len(embedded.workers)
        prior = chdtri(np.bincount(embedded.worker, minlength=J).astype(float), self.alpha / 2)
        skill, before = np.ones(J), np.empty(0)
        self.loss_history_ = []

        def means() -> Floats:
            mean = embedded.weighted_means(skill[embedded.worker] * local)
            mean[is_known] = true_mean
            return mean

        mean = means()
        for _ in range(self.n_iter):
            mean = means()
            far = np.bincount(embedded.worker, embedded.squared_distances(mean) / local, J)
            skill = prior / np.maximum(far, SMALL)
            if before.size:
                self.loss_history_.append(float(np.square(mean - before).sum() / np.square(mean).sum()))
                if self.loss_history_[-1] < self.tol:
                    break
            before = mean
        workers = embedded.workers.rename("worker")
        self.prior_skills_, self.skills_ = pd.Series(prior, workers), pd.Series(skill, workers)
        self.aggregated_embeddings_ = pd.Series(list(mean), embedded.tasks.rename("task"), dtype=object)
        weight: Floats = skill[embedded.worker] * local
        return weight

    def _choose(self, data: pd.DataFrame) -> None:
        """Set the cosine distances of answers, and the answer closest to the mean of each task."""
        embedded = embed(data)
        mean = np.array(self.aggregated_embeddings_.reindex(embedded.tasks).to_list())
        distance = cosine_distance(embedded.embedding, mean[embedded.task])
        self.scores_, self.embeddings_and_outputs_ = _closest(data, embedded, distance)


class HRRASA(RASA):
    """HRRASA: RASA in which an answer also counts by its similarity to the other answers to the task.

    The local reliability of an answer is ``lambda_emb`` times the mean of exp(-|e - e'|^2 / (|e|^2 |e'|^2)) over the
    other answers of the task, plus ``lambda_out`` times the mean similarity of the outputs, by default GLEU of words.
    ``ranks_`` (with ``calculate_ranks``) are beta exp(-|e - mean|^2 / (|e|^2 |mean|^2)) + the local reliability.
    Tasks with one answer have it as their consensus, and teach nothing about its worker.
    """

    ranks_: pd.DataFrame
    weights_: pd.DataFrame

    def __init__(
        self,
        n_iter: int = 100,
        tol: float = 1e-9,
        lambda_emb: float = 0.5,
        lambda_out: float = 0.5,
        alpha: float = 0.05,
        calculate_ranks: bool = False,
        output_similarity: Similarity | None = None,
    ) -> None:
        super().__init__(n_iter, tol, alpha)
        self.lambda_emb, self.lambda_out = lambda_emb, lambda_out
        self.calculate_ranks, self.output_similarity = calculate_ranks, output_similarity

    def fit(self, data: pd.DataFrame, true_embeddings: pd.Series | None = None) -> Self:
        """Fit the means of tasks and the reliability of workers; true embeddings, indexed by task, are kept fixed."""
        table = data[["task", "worker", "embedding", "output"]].reset_index(drop=True)
        several = table.groupby("task")["worker"].transform("size") > 1
        alone, shared = table[~several], table[several].reset_index(drop=True)
        embedded = embed(shared)
        local = self._local_reliability(embedded, shared["output"].tolist())
        weight = self._fit(embedded, local, true_embeddings)
        self.weights_ = pd.DataFrame({"task": shared["task"], "worker": shared["worker"], "weight": weight})
        if self.calculate_ranks:
            mean = np.array(self.aggregated_embeddings_.to_list()).reshape(-1, embedded.embedding.shape[1])
            nearness = _nearness(embedded.squared_distances(mean), embedded.embedding, mean[embedded.task])
            rank = self.skills_.to_numpy()[embedded.worker] * nearness + local
            self.ranks_ = shared[["task", "output"]].assign(rank=rank)
        self._add_alone(alone)
        self.weights_ = self.weights_.set_index(["task", "worker"])
        return self

    def _add_alone(self, alone: pd.DataFrame) -> None:
        """Add the tasks with one answer: it is the mean, and what it would teach is unknown."""
        if not len(alone):
            return
        others = pd.Index(alone["worker"].unique(), name="worker").difference(self.skills_.index)
        unknown = pd.Series(np.nan, others)
        self.skills_, self.prior_skills_ = pd.concat([self.skills_, unknown]), pd.concat([self.prior_skills_, unknown])
        vectors = [np.asarray(vector, float).ravel() for vector in alone["embedding"]]
        means = pd.Series(vectors, pd.Index(alone["task"], name="task"), dtype=object)
        self.aggregated_embeddings_ = pd.concat([self.aggregated_embeddings_, means])
        self.weights_ = pd.concat([self.weights_, alone[["task", "worker"]].assign(weight=np.nan)])
        if self.calculate_ranks:
            self.ranks_ = pd.concat([self.ranks_, alone[["task", "output"]].assign(rank=np.nan)])

    def _local_reliability(self, embedded: Embedded, outputs: list[Any]) -> Floats:
        """Return the local reliability of every answer (N); a worker's first answer to a task stands for the others."""
        local = np.empty(len(outputs))
        order = np.argsort(embedded.task, kind="stable")
        for rows in np.split(order, np.cumsum(np.bincount(embedded.task))[:-1]) if order.size else ():
            vectors, worker = embedded.embedding[rows], embedded.worker[rows]
            other = worker[:, None] != worker
            apart = np.square(vectors[:, None] - vectors).sum(axis=2)
            norm = np.square(vectors).sum(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                alike = np.nan_to_num(np.exp(-apart / (norm[:, None] * norm)))
            mixed = self.lambda_emb * alike
            if self.lambda_out:
                mixed = mixed + self.lambda_out * self._similarities([outputs[n] for n in rows])
            reliability = (mixed * other).sum(axis=1) / (rows.size - 1)
            _, first, which = np.unique(worker, return_index=True, return_inverse=True)
            local[rows] = np.maximum(reliability[first][which], np.finfo(float).tiny)
        return local

    def _similarities(self, outputs: list[Any]) -> Floats:
        """Return the similarity of every two outputs of a task."""
        if self.output_similarity is not None:
            return np.array([[float(self.output_similarity(a, b)) for b in outputs] for a in outputs])
        return gleu([str(output) for output in outputs])


def gleu(texts: list[str]) -> Floats:
    """Return the GLEU of every two texts: n-grams of 1 to 4 words in common, by the larger of their numbers.

    See Wu et al. (2016, arXiv:1609.08144, section 6): the minimum of recall and precision, which is symmetric.
    """
    grams = [_grams(text.split()) for text in texts]
    total = np.array([max(gram.total(), 1) for gram in grams])
    table = np.eye(len(texts))
    for a in range(len(texts)):
        for b in range(a):
            common = (grams[a] & grams[b]).total()
            table[a, b] = table[b, a] = common / max(total[a], total[b])
    return table


def _grams(words: list[str]) -> Counter[tuple[str, ...]]:
    """Count the sequences of 1 to 4 words."""
    return Counter(
        tuple(words[at : at + size]) for size in range(1, LONGEST + 1) for at in range(len(words) - size + 1)
    )


def _nearness(squared_distance: Floats, first: Floats, second: Floats) -> Floats:
    """Return exp(-|e - e'|^2 / (|e|^2 |e'|^2)) of each two rows (N)."""
    norms = np.square(first).sum(axis=1) * np.square(second).sum(axis=1)
    nearness: Floats = np.exp(-np.divide(squared_distance, norms, out=np.full_like(norms, np.inf), where=norms > 0))
    return nearness


def _closest(data: pd.DataFrame, embedded: Embedded, distance: Floats) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the distances of all answers, and the first of the closest answers of each task."""
    if np.isnan(distance).any():
        raise ArgumentValueError(f"the distance of row {int(np.argmax(np.isnan(distance))) + 1} is not a number")
    table = data[["task", "output", "embedding"]].reset_index(drop=True)
    order = np.lexsort((distance, embedded.task))
    best = order[np.searchsorted(embedded.task[order], np.arange(len(embedded.tasks)))]
    scores = table.assign(score=distance)[["task", "output", "score", "embedding"]]
    return scores.set_index("task"), table.iloc[best].set_index("task")


def _sums(code: Codes, values: Floats, size: int) -> Floats:
    """Return the sum of the rows (N, D) of every code (size, D)."""
    total = np.empty((size, values.shape[1]))
    for d, column in enumerate(values.T):
        total[:, d] = np.bincount(code, column, size)
    return total


def _interleave(
    task: tuple[Codes, pd.Index], worker: tuple[Codes, pd.Index]
) -> tuple[Codes, Codes, pd.Index, pd.Index]:
    """Return the codes of tasks and workers, and then their names."""
    return task[0], worker[0], task[1], worker[1]

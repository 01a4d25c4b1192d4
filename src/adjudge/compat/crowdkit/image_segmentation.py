"""Segmentations of images: which pixels belong to an object.

A row has a task (an image), a worker and a ``segmentation``, a binary array of the size of the image. Pixels that the
same workers have marked are alike to all three methods, so that they are counted once: the work of a step depends on
the number of different patterns and not on the number of pixels.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from adjudge.arrays import Flags, Floats
from adjudge.compat.crowdkit.base import check_on_missing_skill, codes, known_skills
from adjudge.compat.value_errors import DataValueError
from adjudge.errors import quote

SMALL = 1e-5  # added to a distance before it is inverted


class Patterns(NamedTuple):
    """The segmentations of one image by which workers marked a pixel."""

    marked: Floats  # (P, W) 1 if the worker marked the pixels of the pattern
    pixels: Floats  # (P) how many pixels have the pattern
    pattern: Any  # (pixels of the image) the pattern of each
    shape: tuple[int, ...]

    def image(self, chosen: Flags) -> Flags:
        """Return the pixels of chosen patterns (P) as an image."""
        pixels: Flags = chosen[self.pattern].reshape(self.shape)
        return pixels


def patterns(segmentations: list[Any], task: object) -> Patterns:
    """Return the patterns of an image."""
    arrays = [np.asarray(segmentation).astype(bool) for segmentation in segmentations]
    strange = next((array.shape for array in arrays if array.shape != arrays[0].shape), None)
    if strange is not None:
        raise DataValueError(f"task {quote(task)} has segmentations of the shapes {arrays[0].shape} and {strange}")
    flat = np.stack([array.ravel() for array in arrays])  # (W, pixels)
    packed = np.ascontiguousarray(np.packbits(flat, axis=0).T)  # (pixels, bytes)
    key = packed[:, 0] if packed.shape[1] == 1 else packed.view(f"V{packed.shape[1]}")[:, 0]
    _, first, pattern = _unique(key)
    pixels = np.bincount(pattern, minlength=first.size).astype(float)
    return Patterns(flat[:, first].T.astype(float), pixels, pattern, arrays[0].shape)


def _unique(key: Any) -> tuple[Any, Any, Any]:
    """Return the different keys, where each occurs first, and the number of each; bytes are counted, not sorted."""
    if key.dtype != np.uint8:
        return np.unique(key, return_index=True, return_inverse=True)
    first = np.full(256, -1)
    first[key[::-1]] = np.arange(key.size)[::-1]
    values = np.flatnonzero(first >= 0)
    number = np.zeros(256, np.int64)
    number[values] = np.arange(values.size)
    return values, first[values], number[key]


class _Segmentation:
    """What the methods share: one image after another."""

    segmentations_: pd.Series

    def _fit(self, data: pd.DataFrame) -> None:
        """Set the consensus of every task."""
        table = data[["task", "worker", "segmentation"]]
        code, tasks = codes(table["task"])
        groups: list[list[Any]] = [[] for _ in tasks]
        rows: list[list[int]] = [[] for _ in tasks]
        for n, (task, segmentation) in enumerate(zip(code, table["segmentation"], strict=True)):
            groups[task].append(segmentation)
            rows[task].append(n)
        images = [
            pattern.image(self._chosen(pattern, np.array(row)))
            for pattern, row in zip(map(patterns, groups, tasks), rows, strict=True)
        ]
        self.segmentations_ = pd.Series(images, tasks.rename("task"), name="agg_segmentation", dtype=object)

    def _chosen(self, image: Patterns, row: Any) -> Flags:
        """Return which patterns (P) of an image are in the consensus; ``row`` (W) has its rows of the table."""
        raise NotImplementedError


class SegmentationMajorityVote(_Segmentation):
    """Pixels that at least half of the workers marked, weighted by ``skills`` if given: ``segmentations_``."""

    def __init__(self, default_skill: float | None = None, on_missing_skill: str = "error") -> None:
        check_on_missing_skill(on_missing_skill)
        self.default_skill, self.on_missing_skill = default_skill, on_missing_skill

    def fit(self, data: pd.DataFrame, skills: pd.Series | None = None) -> Self:
        """Vote on every pixel; ``skills`` (indexed by worker) are the weights of the workers' votes."""
        self._weight = np.ones(len(data))
        if skills is not None:
            data, weight = known_skills(data, skills, self.on_missing_skill, self.default_skill)
            self._weight = weight.to_numpy(float)
        self._fit(data)
        return self

    def fit_predict(self, data: pd.DataFrame, skills: pd.Series | None = None) -> pd.Series:
        """Return the consensus of every task, a boolean array."""
        return self.fit(data, skills).segmentations_

    def _chosen(self, image: Patterns, row: Any) -> Flags:
        """Return the patterns with at least half of the weight."""
        weight = self._weight[row]
        chosen: Flags = 2 * (image.marked @ weight) >= weight.sum()
        return chosen


class SegmentationEM(_Segmentation):
    """Pixels by EM with one accuracy per worker and image (Lee, Das Sarma & Parameswaran 2018): ``segmentations_``.

    Accuracies are counted in the region that any worker marked. The prior of a pixel is its vote share, and then its
    posterior of the step before, as in crowd-kit; the evidence of a worker is thus counted in every step.
    """

    loss_history_: list[float]

    def __init__(self, n_iter: int = 10, tol: float = 1e-5, eps: float = 1e-15) -> None:
        self.n_iter, self.tol, self.eps = n_iter, tol, eps

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit every image."""
        self._fit(data)
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the consensus of every task, a boolean array."""
        return self.fit(data).segmentations_

    def _chosen(self, image: Patterns, row: Any) -> Flags:
        """Return the patterns whose posterior is above one half."""
        marked, pixels = image.marked, image.pixels
        region = pixels @ marked.any(axis=1)
        self.loss_history_ = []
        if region == 0:
            return np.zeros(pixels.size, bool)
        size = pixels @ marked  # (W) pixels that each worker marked
        posterior = marked.mean(axis=1)

        def accuracy(inside: Floats) -> Floats:
            return 1 - (size + pixels @ inside - 2 * (pixels * inside) @ marked) / region

        right, before = accuracy(np.round(posterior)), -np.inf
        for _ in range(self.n_iter):
            prior, (inside, outside) = posterior, _log_chances(marked, right)
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                logs = np.log(1 - prior) + outside.sum(axis=1) - np.log(prior) - inside.sum(axis=1)
                posterior = np.nan_to_num(1 / (1 + np.exp(logs)), nan=0.0)
            posterior[posterior < self.eps] = 0
            right = accuracy(posterior)
            bound = _bound(image, prior, posterior, right) / (marked.shape[1] * pixels.sum())
            self.loss_history_.append(bound)
            if bound - before < self.tol:
                break
            before = bound
        chosen: Flags = posterior > 0.5
        return chosen


class SegmentationRASA(_Segmentation):
    """Weighted votes of pixels, where a worker counts by the overlap with the consensus: ``segmentations_``.

    With d = 1 - intersection over union of a worker's pixels and the consensus, weights are proportional to
    log(1 + 1 / d). Votes and weights are computed in turn until the votes change by less than ``tol`` (relative,
    squared), ``n_iter`` times at most.
    """

    loss_history_: list[float]

    def __init__(self, n_iter: int = 10, tol: float = 1e-5) -> None:
        self.n_iter, self.tol = n_iter, tol

    def fit(self, data: pd.DataFrame) -> Self:
        """Fit every image."""
        self._fit(data)
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series:
        """Return the consensus of every task, a boolean array."""
        return self.fit(data).segmentations_

    def _chosen(self, image: Patterns, row: Any) -> Flags:
        """Return the patterns with at least half of the weight."""
        marked, pixels = image.marked, image.pixels
        weight = np.full(marked.shape[1], 1 / marked.shape[1])
        votes, before = _votes(marked, weight), np.empty(0)
        self.loss_history_ = []
        for _ in range(self.n_iter):
            votes = _votes(marked, weight)
            inside = (votes >= 0.5)[:, None]
            common, either = pixels @ (marked * inside), pixels @ np.maximum(marked, inside)
            overlap = np.divide(common, either, out=np.ones_like(common), where=either > 0)
            weight = np.log(1 / (1 - overlap + SMALL) + 1)
            weight /= weight.sum()
            if before.size:
                change, total = pixels @ np.square(votes - before), pixels @ np.square(votes)
                self.loss_history_.append(float(change / total) if total > 0 else 0.0)
                if self.loss_history_[-1] < self.tol:
                    break
            before = votes
        chosen: Flags = votes >= 0.5
        return chosen


def _votes(marked: Floats, weight: Floats) -> Floats:
    """Return the weight of the workers who marked each pattern (P), added in their order."""
    votes = np.zeros(len(marked))
    for worker, times in enumerate(weight):
        votes += marked[:, worker] * times
    return votes


def _log_chances(marked: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the logs of p(mark | inside) and p(mark | outside) of every pattern and worker (P, W)."""
    chance = np.where(marked > 0, right, 1 - right)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(chance), np.log(1 - chance)


def _bound(image: Patterns, prior: Floats, posterior: Floats, right: Floats) -> float:
    """Return what crowd-kit stops by: the expected log-likelihood, with the prior per worker, and half the entropy."""
    inside, outside = _log_chances(image.marked, right)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.nan_to_num((inside + np.log(prior)[:, None]) * posterior[:, None], nan=0.0)
        terms += np.nan_to_num((outside + np.log(1 - prior)[:, None]) * (1 - posterior)[:, None], nan=0.0)
        entropy = np.nan_to_num(np.log(posterior) * posterior, nan=0.0)
    return float(image.pixels @ terms.sum(axis=1) - image.pixels @ entropy)

"""Label switching: a chain that found the crowd's answer under other names is given back the crowd's own.

The likelihood of a confusion model is the same when truths are renamed. Priors and a start at the vote nearly always
keep the names; where a chain has lost them all the same, its truths are renamed such that most of what judges say is
right (the assignment problem, on the matrix of all judges together).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats
from adjudge.kernels.bits import packed, unpacked
from adjudge.models.chains import Draws

TOLD = 1e-9  # names stay where others are no better


def aligned(draws: Draws, judged: Codes) -> tuple[Draws, list[int]]:
    """Return the draws with truths named as judges name them, and the chains whose truths had to be renamed.

    ``judged`` (J) is how much each judge said: the matrix of all judges together is the mean of theirs by it.
    """
    names = [_names(np.einsum("j,djkl->kl", judged, chain)) for chain in draws.confusion]
    renamed = [c for c, order in enumerate(names) if (order != np.arange(order.size)).any()]
    if not renamed:
        return draws, []
    prevalence, confusion, phi, kappa, probability = (np.array(field) for field in draws[:5])
    for c in renamed:
        order = names[c]
        prevalence[c], probability[c] = prevalence[c][..., order], probability[c][..., order]
        confusion[c] = confusion[c][:, :, order]
        if kappa.shape[2]:  # a population for each truth, then that of topics
            every = np.r_[order, order.size]
            phi[c], kappa[c] = phi[c][:, every], kappa[c][:, every]
            phi[c][:, -1] = phi[c][:, -1][:, order]
    truth = _renamed_bits(draws, names) if draws.truth.size else draws.truth
    return Draws(prevalence, confusion, phi, kappa, probability, draws.complete, draws.sweeps, truth), renamed


def aligned_to(draws: Draws, matrices: Floats) -> Draws:
    """Return draws under fixed priors with the truths of each named as in these matrices (J, K, K).

    Of short chains that begin there, and of few judges, some swap names on their way.
    """
    from scipy.optimize import linear_sum_assignment

    C, D, _, K, _ = draws.confusion.shape
    likeness = np.einsum("jkl,cdjml->cdkm", matrices, draws.confusion)  # how like truth m is to the one called k
    own = np.trace(likeness, axis1=2, axis2=3)
    order = np.tile(np.arange(K), (C, D, 1))
    for c, d in np.ndindex(C, D):
        called, truth = linear_sum_assignment(-likeness[c, d])
        if likeness[c, d, called, truth].sum() > own[c, d] + TOLD:
            order[c, d, called] = truth
    if (order == np.arange(K)).all():
        return draws
    confusion = np.take_along_axis(draws.confusion, order[:, :, None, :, None], axis=3)
    prevalence = np.take_along_axis(draws.prevalence, order[:, :, None], axis=3)
    return draws._replace(prevalence=prevalence, confusion=confusion)


def _names(pooled: Floats) -> Codes:
    """Return which truth (K) is to bear each label's name, from the matrix of all judges together."""
    from scipy.optimize import linear_sum_assignment

    K = pooled.shape[0]
    rows = pooled / np.maximum(pooled.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    truth, label = linear_sum_assignment(-rows)
    order = np.empty(K, np.int64)
    order[label] = truth
    kept = np.trace(rows) >= rows[truth, label].sum() - TOLD
    return np.arange(K) if kept else order


def _renamed_bits(draws: Draws, names: list[Codes]) -> NDArray[np.uint8]:
    """Return the truths that are kept as bits under other names."""
    items, K = draws.probability.shape[1:]
    called = [np.argsort(order)[unpacked(chain, items)] for order, chain in zip(names, draws.truth, strict=True)]
    return np.stack([[packed(draw, K) for draw in chain] for chain in called])

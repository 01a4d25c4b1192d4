"""Getting it right: Gibbs steps against the joint distribution of params and judgments (Geweke 2004).

Params and judgments are drawn together in two ways. Marginally: params from the prior, judgments given them. In turn:
a Gibbs step of the params given the judgments, then new judgments given the params, and so on. Both draw from the same
distribution if, and only if, the step leaves the posterior as it is; so the means of functions of both must agree.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm

from adjudge.inference import gibbs
from adjudge.inference.chains import State
from adjudge.inference.convergence import mean_error
from adjudge.kernels.block import Block
from adjudge.kernels.conjugate import Pareto
from adjudge.kernels.sweep import Sweep

SURE = 1e-3  # of all functions of a setting together, fixed before anything was drawn
CHAINS, WARMUP = 4, 50
MARGINAL = 50_000
DESIGN = np.array([(i, j) for i in range(6) for j in range(3) if (i, j) not in {(0, 2), (4, 0)}] + [(5, 1)])
DESIGN = DESIGN[np.argsort(DESIGN[:, 0], kind="stable")]  # one judge twice on an item, two items with two judges
ITEM, JUDGE = DESIGN.T
I, J = 6, 3  # noqa: E741 the papers' letters
TOPIC = np.arange(I) % 2
HALF = np.array([0.5, 0.0])  # of a judgment, by which a wrong step is wrong
GOLD = np.array([-1, 1, -1, 0, -1, -1])  # which items gold tells, and what, where it is not drawn at random


class Setting(NamedTuple):
    """A model of judges' rows and of two topics: fixed pseudo-counts, or populations."""

    labels: int
    rows: np.ndarray | None = None  # (K, K)
    pareto: Pareto | None = None
    topics: int = 2
    gold: str = ""  # "drawn" like other truths, and told; or "given", and no matter of prevalence
    length: int = 2_500

    @property
    def known(self):
        """Return which items gold tells."""
        return (GOLD >= 0) if self.gold else np.zeros(I, bool)


HYBRID = {K: np.ones((K, K)) + np.diag(np.arange(K) + 1.0) for K in (2, 3)}
SETTINGS = {
    "hybrid": Setting(2, HYBRID[2], topics=1),
    "hybrid, 3 labels and topics": Setting(3, HYBRID[3]),
    "hybrid, some truths told": Setting(2, HYBRID[2], gold="drawn"),
    "hierarchical": Setting(2, pareto=Pareto(1.5, 1.0)),
    "hierarchical, 3 labels": Setting(3, pareto=Pareto(1.5, 1.0)),
    "hierarchical, rows near 0 and 1": Setting(2, pareto=Pareto(1.5, 0.1), topics=1, length=5_000),
    "hierarchical, gold not at random": Setting(2, pareto=Pareto(1.5, 1.0), gold="given"),
}


def dirichlet(pseudo, rng):
    """Return rows from Dirichlet(pseudo), along the last axis; very small pseudo-counts in logs (Stuart 1962)."""
    logs = np.log(rng.standard_gamma(pseudo + 1)) + np.log(1 - rng.random(pseudo.shape)) / pseudo
    share = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return share / share.sum(axis=-1, keepdims=True)


def from_prior(setting, size, rng):
    """Return states drawn from the prior, as arrays with ``size`` in front."""
    K, T = setting.labels, setting.topics
    if setting.rows is not None:
        confusion = dirichlet(np.broadcast_to(setting.rows, (size, J, K, K)), rng)
        return State(dirichlet(np.ones((size, T, K)), rng), confusion, np.empty((size, 0, K)), np.empty((size, 0)))
    phi = dirichlet(np.ones((size, K + 1, K)), rng)
    kappa = setting.pareto.least * (1 - rng.random((size, K + 1))) ** (-1 / setting.pareto.shape)
    pseudo = np.maximum(phi * kappa[..., None], 1e-12)
    confusion = dirichlet(np.broadcast_to(pseudo[:, None, :-1], (size, J, K, K)), rng)
    return State(dirichlet(np.broadcast_to(pseudo[:, None, -1], (size, T, K)), rng), confusion, phi, kappa)


def judged(setting, state, rng):
    """Return truths (S, I) and labels (S, N) drawn given states."""
    size, T = state.prevalence.shape[0], setting.topics
    edge = state.prevalence.cumsum(axis=2)[:, TOPIC if T > 1 else np.zeros(I, int), :-1]
    truth = (rng.random((size, I, 1)) >= edge).sum(axis=2)
    if setting.gold == "given":
        truth[:, GOLD >= 0] = GOLD[GOLD >= 0]
    rows = state.confusion[np.arange(size)[:, None], JUDGE, truth[:, ITEM]]  # (S, N, K)
    return truth, (rng.random((size, ITEM.size, 1)) >= rows.cumsum(axis=2)[..., :-1]).sum(axis=2)


def block_of(setting, truth, label):
    """Return one table of judgments as a block."""
    K = setting.labels
    return Block(
        np.searchsorted(ITEM, np.arange(I + 1)),
        (JUDGE * K + label).astype(np.uint32),
        label.astype(np.uint8),
        TOPIC.astype(np.int32),
        np.where(setting.known, truth, -1).astype(np.int32),
        np.empty(0),
        J,
        K,
        np.arange(float(K)),
    )


def right_step(setting, block):
    """Return the step that is to be tested."""
    if setting.rows is not None:
        return gibbs.with_priors(Sweep(block), setting.rows, np.ones(setting.labels))
    counted = None
    if setting.gold == "given":
        counted = np.zeros((setting.topics, setting.labels))
        np.add.at(counted, (TOPIC[GOLD >= 0], GOLD[GOLD >= 0]), 1.0)
    return gibbs.with_populations(Sweep(block), setting.pareto, counted)


def in_turn(setting, step_of, length, seed):
    """Return states and labels drawn in turn: fields (C, D, ...), and labels (C, D, N), truths told as well."""
    collected, room = [], np.zeros((I, setting.labels))  # with room for p(truth | rest), as when draws are kept
    for chain in range(CHAINS):
        rng = np.random.default_rng([seed, chain])
        current = from_prior(setting, 1, rng)
        for sweep in range(WARMUP + length):
            truth, label = judged(setting, current, rng)
            state = State(*(field[0] for field in current[:4]))
            after = step_of(setting, block_of(setting, truth[0], label[0]))(state, rng, room)
            current = State(*(field[None] for field in after))
            if sweep >= WARMUP:
                collected.append(
                    (*current[:4], label, truth)
                )  # with the labels it saw: what it forgets of them is seen
    fields = [
        np.concatenate(field).reshape(CHAINS, length, *field[0].shape[1:]) for field in zip(*collected, strict=True)
    ]
    return State(*fields[:4]), fields[4], fields[5]


def functions(setting, state, label, truth):
    """Return the functions whose means are compared (C, D, F): cells, squares, products, and shares of labels."""
    K, lead = setting.labels, label.shape[:2]
    cells = [state.prevalence[..., :-1], state.confusion[..., :-1]]
    if state.kappa.shape[-1]:
        cells += [state.phi[..., :-1], np.log(state.kappa)]  # kappa itself has no variance
    cell = np.concatenate([part.reshape(*lead, -1) for part in cells], axis=2)
    share = np.stack([(label == k).mean(axis=2) for k in range(K - 1)], axis=2)
    hers = np.stack([(label[..., j == JUDGE] == 0).mean(axis=2) for j in range(J)], axis=2)
    alike = (label[..., 0] == label[..., 1]).astype(float)[..., None]  # two judges on the first item
    result = (truth[..., setting.known] == 0).mean(axis=2, keepdims=True) if setting.gold == "drawn" else cell[..., :0]
    own = (label == 0) * state.confusion[..., JUDGE, 0, 0]  # of every judgment, beside the cell it speaks for
    pi, first, last = state.prevalence[..., 0, 0], state.confusion[..., 0, 0, 0], state.confusion[..., -1, -1, -1]
    pairs = [
        pi * first,
        first * last,
        pi * share[..., 0],
        first * hers[..., 0],
        last * hers[..., -1],
        pi * alike[..., 0],
    ]
    pairs += [state.confusion[..., j, 0, 0] * state.confusion[..., (j + 1) % J, 0, 0] for j in range(J)]
    pairs += [own[..., i == ITEM].sum(axis=-1) for i in (0, I - 1)] + [own.sum(axis=-1)]
    if state.kappa.shape[-1]:
        logs = np.log(state.kappa)
        pairs += [logs[..., p] * state.phi[..., p, 0] for p in range(K + 1)]
        pairs += [logs[..., 0] * first, logs[..., -1] * pi, state.phi[..., 0, 0] * first, state.phi[..., -1, 0] * pi]
        pairs += [logs[..., 0] * np.square(first), logs[..., -1] * np.square(pi), logs[..., 0] * alike[..., 0]]
    parts = [cell, np.square(cell), share, np.square(share), hers, alike, result, np.stack(pairs, axis=2)]
    return np.concatenate(parts, axis=2)


def scores(setting, step_of, length, seed=0):
    """Return the difference of each function's two means, in standard errors (F)."""
    rng = np.random.default_rng([seed, 99])
    state = from_prior(setting, MARGINAL, rng)
    truth, label = judged(setting, state, rng)
    alone = functions(setting, State(*(f[None] for f in state)), label[None], truth[None])[0]
    turns = functions(setting, *in_turn(setting, step_of, length, seed))
    error = np.hypot(mean_error(turns), alone.std(axis=0, ddof=1) / np.sqrt(MARGINAL))
    return (turns.mean(axis=(0, 1)) - alone.mean(axis=0)) / error


def limit(z):
    """Return the score that the largest of these passes by chance SURE of the time, at most."""
    return norm.isf(SURE / (2 * z.size))


@pytest.mark.parametrize("name", SETTINGS)
def test_both_ways_draw_from_one_distribution(name):
    """No mean of a function differs by more than chance allows."""
    setting = SETTINGS[name]
    z = scores(setting, right_step, setting.length)
    assert np.abs(z).max() < limit(z), np.round(z, 1)


def too_many_counts(setting, block):
    """Return a step whose prior of rows has half a judgment too many."""
    return gibbs.with_priors(Sweep(block), setting.rows + HALF, np.ones(setting.labels))


def other_prevalence(setting, block):
    """Return a step whose prior of prevalence has half an item too many."""
    return gibbs.with_priors(Sweep(block), setting.rows, np.ones(setting.labels) + HALF)


def other_shape(setting, block):
    """Return a step with another prior of kappa."""
    return gibbs.with_populations(Sweep(block), Pareto(2.0, setting.pareto.least))


def forgetful(setting, block):
    """Return a step that forgets all judgments but those of the first item."""
    return right_step(setting, block._replace(start=np.minimum(block.start, block.start[1])))


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("hybrid", too_many_counts),
        ("hybrid", other_prevalence),
        ("hybrid", forgetful),
        ("hierarchical", other_shape),
        ("hierarchical", forgetful),
    ],
)
def test_a_wrong_step_is_seen(name, wrong):
    """The same comparison, with fewer draws, refuses a step that is a little wrong."""
    z = scores(SETTINGS[name], wrong, 1_000)
    assert np.abs(z).max() > limit(z)


@pytest.mark.parametrize("drawn", ["redraw", "mirrored_rows"])
def test_rows_drawn_wrong_are_seen(drawn, monkeypatch):
    """Half a judgment too many in the draw of rows, or in their mirror alone, of the hierarchical model."""
    right = getattr(gibbs, drawn)
    wrong = {
        "redraw": lambda tally, *rest: right(tally._replace(label=tally.label + HALF), *rest),
        "mirrored_rows": lambda pseudo, *rest: right(pseudo + HALF, *rest),
    }
    monkeypatch.setattr(gibbs, drawn, wrong[drawn])
    z = scores(SETTINGS["hierarchical"], right_step, 1_000)
    assert np.abs(z).max() > limit(z)

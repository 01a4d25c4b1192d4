"""Learn from a few gold items how probabilities, the vote and the judges' labels are to be weighed: a ``GoldMap``.

The log odds of label k of item i are a sum of weighed features (``calibration.map_features``), an offset per label and,
where gold reaches the judges, a part of their own:

    eta_ik = w . F_ik + b_k  [+ sum_n v_judge[n] (label n is k)]  [+ sum_n U_judge[n](label n, k)].

The prior of w was learned across crowds and panels (``crowds.json``), b has a standard deviation of .7, and v and U
have 2 and 1.4, divided by the square root of the judgments per item. Four candidates are compared by their log loss on
held-out gold: the base as it is, and the map without, with v, and with U. Their log odds are averaged with weights in
proportion to exp(-loss), because a choice of one is worse below 50 gold items; the average is again such a map.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.inference.calibration import GoldMap, learned_weights, map_features, softmax
from adjudge.kernels.block import Block

FEWEST = 5  # gold items
FOLDS = 5
OFFSET_SPREAD = 0.7
JUDGE_SPREADS = {"none": 0.0, "weight": 2.0, "labels": 1.4}  # standard deviations of v and U
REACHED = 0.5  # judgments of gold items per judge from which judges have a part of their own
MOST = 2_000  # gold items on which the candidates are compared
DAMPED = 0.5  # of differences of held-out losses, which are partly chance
DOUBTED = 1.0  # standard errors that are taken off what judges' own parts gain
CLIP = 1e-3  # smallest probability in a log loss
PERSON, EXPERT, PERSON_FEW = 1.75, 3.0, 3.0  # weight of a person and of an expert; of a person beside few machines
PERSON_SPREAD = 1.0
FEW_FITTED = 3  # judgments per item, below which those who are fitted are few


class MapPrior(NamedTuple):
    """The prior of the weights of a map."""

    mean: Floats  # (4)
    covariance: Floats  # (4, 4)


class Learned(NamedTuple):
    """A map, and how well it predicts held-out gold."""

    gold_map: GoldMap
    loss: float  # log loss on held-out gold
    error: float  # its standard error
    shares: dict[str, float]  # of the candidates


class Design(NamedTuple):
    """What the log odds of gold items are made of."""

    features: Floats  # (G, K, 4)
    cells: Any  # (G, C) how often each item has each observed (judge, label), sparse
    cell: Codes  # (C) judge * K + label
    truth: Codes  # (G)

    def take(self, rows: Codes) -> Design:
        """Return some of the items."""
        return Design(self.features[rows], self.cells[rows], self.cell, self.truth[rows])


class MapWeights(NamedTuple):
    """The parameters of one candidate."""

    weights: Floats  # (4)
    offsets: Floats  # (K)
    table: Floats  # (C, K)

    def logs(self, design: Design) -> Floats:
        """Return the log odds of the items of a design (G, K)."""
        total: Floats = design.features @ self.weights + self.offsets + design.cells @ self.table
        return total


def people_weights(fitted_per_item: float) -> tuple[float, float]:
    """Return the weight of a person's and of an expert's label beside so many judgments per item that are fitted.

    How far two machines can be believed cannot be measured from their agreement, so that people count for more there.
    """
    return PERSON if fitted_per_item >= FEW_FITTED else PERSON_FEW, EXPERT


def map_prior(people: tuple[float, float]) -> MapPrior:
    """Return the prior that was learned across crowds and panels, with these weights of people and experts."""
    learned = learned_weights()["gold"]
    covariance = np.diag([0.0, 0.0, PERSON_SPREAD**2, PERSON_SPREAD**2])
    covariance[:2, :2] = learned["covariance"]
    return MapPrior(np.array([*learned["mean"], *people]), covariance)


def learn_map(
    base: Floats, vote: Floats, block: Block, truth: Codes, prior: MapPrior, tier: Codes, *, keep: bool, seed: int = 0
) -> Learned:
    """Return the map that gold items teach.

    Parameters
    ----------
    base
        Probabilities of the gold items (G, K) from a fit that did not know their truths.
    vote
        Their smoothed votes (G, K).
    block
        Their judgments, and nobody else's.
    truth
        Their true labels (G).
    prior
        The prior of the weights.
    tier
        The tier of every judge (J), empty if all are fitted.
    keep
        Whether the base as it is is a candidate: it is honest without gold.
    seed
        The seed of the folds.
    """
    cells, cell = observed_cells(block)
    design = Design(map_features(base, vote, block, tier), cells, cell, truth)
    shapes = [*JUDGE_SPREADS] if block.cell.size >= REACHED * block.judges else ["none"]
    candidates = {shape: fit_candidate(design, prior, shape) for shape in shapes}
    rng = np.random.default_rng(seed)
    compared = design.take(np.sort(rng.permutation(truth.size)[:MOST]))
    fold = rng.permutation(compared.truth.size) % min(FOLDS, compared.truth.size)
    held_out = {shape: _held_out_logs(compared, prior, shape, fold) for shape in shapes}
    if keep:
        people = np.array([1.0, 0.0, *prior.mean[2:]])
        candidates["base"] = MapWeights(people, np.zeros(block.labels), np.zeros((cell.size, block.labels)))
        held_out["base"] = candidates["base"].logs(compared)
    shares = _shares({name: _losses(logs, compared.truth) for name, logs in held_out.items()})
    pooled = _pooled([candidates[name] for name in shares], [*shares.values()])
    loss = _losses(np.sum([share * held_out[name] for name, share in shares.items()], axis=0), compared.truth)
    error = float(loss.std(ddof=1) / np.sqrt(loss.size)) if loss.size > 1 else 0.0
    return Learned(_as_map(pooled, cell, block, tier), float(loss.mean()), error, shares)


def _shares(losses: dict[str, Floats]) -> dict[str, float]:
    """Return the shares of candidates, in proportion to exp(-loss / 2), from their losses on held-out items (G).

    A map with a part for judges counts as worse by the standard error of its difference to the map without. Before gold
    is looked at, the base as it is is as likely as all maps together.
    """
    plain, root = losses["none"], np.sqrt(losses["none"].size)
    doubt = {name: DOUBTED * float((loss - plain).std() * root) for name, loss in losses.items() if name != "base"}
    totals = {name: float(loss.sum()) + doubt.get(name, 0.0) for name, loss in losses.items()}
    best, maps = min(totals.values()), max(len(totals) - 1, 1)
    odds = {name: float(np.exp(DAMPED * (best - total))) for name, total in totals.items()}
    odds["base"] = maps * odds["base"] if "base" in odds else 0.0
    return {name: odds[name] / sum(odds.values()) for name in losses}


def _pooled(candidates: list[MapWeights], shares: list[float]) -> MapWeights:
    """Return the weighted mean of the parameters of candidates: the weighted mean of their log odds."""
    weights, offsets, table = (
        np.sum([share * part for share, part in zip(shares, parts, strict=True)], axis=0)
        for parts in zip(*candidates, strict=True)
    )
    return MapWeights(weights, offsets, table)


def _as_map(pooled: MapWeights, cell: Codes, block: Block, tier: Codes) -> GoldMap:
    """Return the parameters as a map; judges without a part of their own have zeros."""
    judges = np.empty((0, 0, 0))
    if pooled.table.any():
        flat = np.zeros((block.judges * block.labels, block.labels))
        flat[cell] = pooled.table
        judges = frozen(flat.reshape(block.judges, block.labels, block.labels))
    weights, offsets = (tuple(map(float, part)) for part in (pooled.weights, pooled.offsets - pooled.offsets.mean()))
    return GoldMap(weights, offsets, judges, frozen(tier))


def observed_cells(block: Block) -> tuple[Any, Codes]:
    """Return how often each item has each observed (judge, label) as a sparse matrix (G, C), and these cells (C)."""
    from scipy.sparse import csr_matrix

    cell, column = np.unique(block.cell, return_inverse=True)
    matrix = csr_matrix((np.ones(column.size), column, block.start), shape=(block.topic.size, cell.size))
    matrix.sum_duplicates()
    return matrix, cell.astype(np.int64)


def _held_out_logs(design: Design, prior: MapPrior, shape: str, fold: Codes) -> Floats:
    """Return the log odds of every item (G, K) by the weights of the other folds."""
    logs = np.empty(design.features.shape[:2])
    for f in range(int(fold.max()) + 1):
        rest, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        fitted = fit_candidate(design.take(rest), prior, shape)
        logs[test] = fitted.logs(design.take(test))
    return logs


def _losses(logs: Floats, truth: Codes) -> Floats:
    """Return the log loss of every item (G)."""
    chance = softmax(logs)[np.arange(truth.size), truth]
    losses: Floats = -np.log(np.maximum(chance, CLIP))
    return losses


def fit_candidate(design: Design, prior: MapPrior, shape: str) -> MapWeights:
    """Return the parameters of a candidate at the mode of their posterior."""
    from scipy.optimize import minimize

    features, cells, cell, truth = design
    (G, K, F), C = features.shape, cell.size
    precision, label, at = np.linalg.inv(prior.covariance), cell % K, np.arange(truth.size)
    _, judge = np.unique(cell // K, return_inverse=True)
    sizes = {"none": 0, "weight": int(judge.max()) + 1 if C else 0, "labels": C * K}
    penalty = cells.sum() / max(G, 1) / max(JUDGE_SPREADS[shape], CLIP) ** 2
    by_label, columns = cells.T.tocsr() if shape != "none" else None, np.arange(C)

    def table_of(judge_weights: Floats) -> Floats:
        table = np.zeros((C, K))
        if shape == "weight":
            table[columns, label] = judge_weights[judge]
        elif shape == "labels":
            table = judge_weights.reshape(C, K)
        return table

    def loss(values: Floats) -> tuple[float, Floats]:
        weights, offsets, judge_weights = values[:F], values[F : F + K], values[F + K :]
        q = softmax(MapWeights(weights, offsets, table_of(judge_weights)).logs(design))
        off = weights - prior.mean
        value = -float(np.log(np.maximum(q[at, truth], np.finfo(float).tiny)).sum()) + float(off @ precision @ off) / 2
        value += float(offsets @ offsets) / (2 * OFFSET_SPREAD**2) + penalty * float(judge_weights @ judge_weights) / 2
        q[at, truth] -= 1
        slope = [np.einsum("gk,gkf->f", q, features) + precision @ off, q.sum(axis=0) + offsets / OFFSET_SPREAD**2]
        if by_label is not None:
            cellwise = by_label @ q  # (C, K)
            part = np.bincount(judge, cellwise[columns, label]) if shape == "weight" else cellwise.ravel()
            slope.append(part + penalty * judge_weights)
        return value, np.concatenate(slope)

    start = np.r_[prior.mean, np.zeros(K + sizes[shape])]
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100}).x
    return MapWeights(best[:F], best[F : F + K], table_of(best[F + K :]))

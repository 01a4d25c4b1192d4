"""``marginal_value``: what the consensus loses without a judge, and whom a panel can do without.

The consensus of an item is p(truth) times the product of p(label | truth) of its judgments, each to the power of w =
1 / (1 + sum of its correlations with the other judgments of the item), so that judges who err together do not count
as independent ones. With one correlation r for all pairs, the n judgments of an item count as n / (1 + (n - 1) r).
Judges of one family have a higher correlation than judges of two.

With gold, confusions are counted on one half of the gold items, and the loss is the log loss of the consensus on the
other half, and the other way round. Without gold, confusions are counted with the posterior of the model
``consensus``, and the loss is the entropy of the consensus, which is the log loss that it expects of itself. It says
how much information a judge adds if the consensus is right, and not who is right; on panels with gold it did not
predict the value by gold (docs/explanation/measured/panels.md). Judges to leave out are therefore chosen with gold
only.

Judges are left out one after the other, always the one whose absence costs least, as long as the loss stays within
TOLERANCE of the best. One half of the gold items chooses and the other half measures the loss, because the best of
many choices looks better on the items that chose it than it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import Judgments
from adjudge.errors import UsageError
from adjudge.inference.fit import fit
from adjudge.kernels.compiled import compiled

SURE = 1.645  # standard errors of a 90 % interval
TOLERANCE = 0.01  # share of the smallest loss by which the loss may be larger
HOPELESS = 0.1  # the same, above which no more judges are left out
NO_CHOICE = "without gold nobody knows who is right: give gold to choose judges"
MODEL = "consensus"  # whose posterior takes the place of gold
MOST_JUDGES = 300  # above which only single judges are valued: panels are smaller, and crowds change anyway
FEWEST_ITEMS = 40  # gold items below which halves are too small to choose judges
KEPT = 2  # judges that always stay

Progress = Callable[[str], None]


class Correlations(NamedTuple):
    """The correlations of errors that the consensus assumes."""

    within: float  # of two judges of one family
    between: float  # of two judges of two families


class MarginalValues(NamedTuple):
    """What the consensus loses without each judge, and the judges that it can do without."""

    by_gold: bool  # the log loss on gold items; otherwise the entropy of the consensus
    items: int
    loss: float  # of all judges together, in nats per item
    value: Floats  # (J) by how much the loss grows without the judge
    low: Floats  # (J) of a 90 % interval over items
    high: Floats  # (J)
    accuracy: Floats  # (J) by how much the share of right labels (without gold, the expected one) falls
    dropped: Codes  # judges whom the panel can do without together, in the order of leaving
    loss_without: float | None  # without them, None if nobody was dropped or choosing was not possible
    loss_before: float | None  # with all judges, on the same items
    note: str  # why nobody could be chosen, empty if the choice was possible


class Consensus(NamedTuple):
    """The parts of a consensus of correlated judges, from which a judge can be left out."""

    start: Codes  # (I + 1)
    judge: Codes  # (N)
    label: Codes  # (N)
    family: Codes  # (J)
    fold: Codes  # (I) the half of the items whose prior and confusions are used
    prior: Floats  # (H, K) log p(truth)
    logs: Floats  # (H, J * K, K) log p(label of judge | truth)
    truth: Codes  # (I) gold, -1 for the entropy
    correlations: Correlations


def consensus_of(
    judgments: Judgments, family: Codes, correlations: Correlations, gold: Codes | None = None, seed: int = 0
) -> Consensus:
    """Return the consensus of the items that count: those with gold if there is any, else all with judgments.

    Parameters
    ----------
    judgments
        The judgments; no judge repeats an item.
    family
        The family of each judge (J).
    correlations
        The correlations of errors that the consensus assumes.
    gold
        True labels (I), -1 where unknown; None for a consensus without gold.
    seed
        The seed of the halves of the gold items.
    """
    count = np.diff(judgments.start)
    chosen = (count > 0) & (np.ones(count.size, bool) if gold is None else gold[: count.size] >= 0)
    if not chosen.any():
        raise UsageError("no gold item was judged")
    rows, items = np.repeat(chosen, count), int(chosen.sum())
    start = np.r_[0, np.cumsum(count[chosen])]
    judge, label = judgments.judge[rows].astype(np.int64), judgments.label[rows].astype(np.int64)
    K, J = len(judgments.scale), family.size
    item = np.repeat(np.arange(items), np.diff(start))
    if gold is None:
        fold, truth = np.zeros(items, np.int64), np.full(items, -1, np.int64)
        parts = [_confusions(item, judge, label, fit(judgments, MODEL).posterior[chosen], J)]
    else:
        truth = gold[: count.size][chosen].astype(np.int64)
        fold = (np.random.default_rng(seed).permutation(items) < items // 2).astype(np.int64)
        one_hot = np.eye(K)[truth]
        parts = [_confusions(item, judge, label, one_hot * (fold != half)[:, None], J) for half in (0, 1)]
    prior, logs = (np.stack(each) for each in zip(*parts, strict=True))
    return Consensus(start, judge, label, family.astype(np.int64), fold, prior, logs, truth, correlations)


def _confusions(item: Codes, judge: Codes, label: Codes, posterior: Floats, judges: int) -> tuple[Floats, Floats]:
    """Return log p(truth) (K) and log p(label | truth) of each judge (J * K, K), from posteriors of truths (I, K).

    To the counts of each judge, K judgments of an average judge are added, and one of each label to theirs.
    """
    K = posterior.shape[1]
    cell = judge * K + label
    counts = np.stack([np.bincount(cell, posterior[item, z], judges * K).reshape(-1, K) for z in range(K)])  # (Z, J, K)
    pooled = counts.sum(axis=1) + 1.0
    pooled /= pooled.sum(axis=1, keepdims=True)
    smooth = counts + K * pooled[:, None, :]
    smooth /= smooth.sum(axis=2, keepdims=True)
    prior = posterior.sum(axis=0) + 1.0
    logs = np.ascontiguousarray(np.log(smooth).transpose(1, 2, 0)).reshape(-1, K)
    return np.log(prior / prior.sum()), logs


def marginal_values(consensus: Consensus, progress: Progress | None = None) -> MarginalValues:
    """Return the value of every judge, and whom the panel can do without.

    Parameters
    ----------
    consensus
        The judgments, the confusions of judges and the correlations of their errors.
    progress
        Is called with a line of text now and then.
    """
    items, J = consensus.truth.size, consensus.family.size
    by_gold = bool((consensus.truth >= 0).any())
    everything = _losses(consensus, np.ones(J, bool), np.ones(items))
    value = everything.change / items
    error = np.sqrt(np.maximum(everything.squares / items - value**2, 0) / items)
    dropped, before, after, note = _choose(consensus, by_gold, progress)
    return MarginalValues(
        by_gold,
        items,
        everything.loss / items,
        value,
        value - SURE * error,
        value + SURE * error,
        everything.accuracy / items,
        np.array(dropped, np.int64),
        after,
        before,
        note,
    )


class _Losses(NamedTuple):
    """Sums over items."""

    loss: float
    change: Floats  # (J) of the loss without the judge
    squares: Floats  # (J) of these changes
    accuracy: Floats  # (J) loss of accuracy without the judge


def _losses(consensus: Consensus, active: Flags, weight: Floats) -> _Losses:
    """Return the loss of active judges, and how it changes without each of them; items count by ``weight`` (I)."""
    J = consensus.family.size
    change, squares, accuracy = np.zeros(J), np.zeros(J), np.zeros(J)
    loss = _leave_out(*consensus[:-1], *consensus.correlations, active, weight, change, squares, accuracy)
    return _Losses(loss, change, squares, accuracy)


def _choose(
    consensus: Consensus, by_gold: bool, progress: Progress | None
) -> tuple[list[int], float | None, float | None, str]:
    """Return the judges to leave out in their order, the loss before and after on the checking items, and a note."""
    active = np.bincount(consensus.judge, minlength=consensus.family.size) > 0
    items, judges = consensus.truth.size, int(active.sum())
    if judges > MOST_JUDGES:
        return [], None, None, f"panels of more than {MOST_JUDGES} judges are valued judge by judge only"
    if not by_gold:
        return [], None, None, NO_CHOICE
    if items < FEWEST_ITEMS:
        return [], None, None, f"{items} gold items are too few to choose judges ({FEWEST_ITEMS} are needed)"
    choosing = (consensus.fold == 0).astype(float)
    checking = 1 - choosing
    losses = [_losses(consensus, active, checking).loss / checking.sum()]
    left: list[int] = []
    while active.sum() > KEPT and losses[-1] <= min(losses) * (1 + HOPELESS):
        if progress is not None:
            progress(f"leaving out judges, {len(left) + 1:,} of {judges:,}")
        change = np.where(active, _losses(consensus, active, choosing).change, np.inf)
        left.append(int(np.argmin(change)))
        active[left[-1]] = False
        losses.append(_losses(consensus, active, checking).loss / checking.sum())
    end = max(n for n, loss in enumerate(losses) if loss <= min(losses) * (1 + TOLERANCE))
    return left[:end], losses[0], losses[end] if end else None, ""


@compiled
def _leave_out(
    start: Codes,
    judge: Codes,
    label: Codes,
    family: Codes,
    fold: Codes,
    prior: Floats,
    logs: Floats,
    truth: Codes,
    within: float,
    between: float,
    active: Flags,
    weight: Floats,
    change: Floats,
    squares: Floats,
    accuracy: Floats,
) -> float:
    """Add the loss of each item, and of each item without one judge; return the sum of the losses with all judges."""
    K = prior.shape[1]
    most = 1
    for i in range(start.size - 1):
        most = max(most, start[i + 1] - start[i])
    families, count, sums = np.empty(most, np.int64), np.empty(most), np.empty((most, K))
    slots = np.empty(most, np.int64)
    score, fewer = np.empty(K), np.empty(K)
    total = 0.0
    for i in range(start.size - 1):
        if weight[i] == 0.0:
            continue
        size, n, half = 0, 0.0, fold[i]
        for m in range(start[i], start[i + 1]):
            slots[m - start[i]] = -1
            if not active[judge[m]]:
                continue
            f = family[judge[m]]
            at = 0
            while at < size and families[at] != f:
                at += 1
            if at == size:
                families[at], count[at] = f, 0.0
                sums[at, :] = 0.0
                size += 1
            slots[m - start[i]] = at
            count[at] += 1.0
            n += 1.0
            sums[at] += logs[half, judge[m] * K + label[m]]
        score[:] = prior[half]
        for at in range(size):
            score += sums[at] / (1.0 + (count[at] - 1.0) * within + (n - count[at]) * between)
        loss, right = _loss(score, truth[i])
        total += weight[i] * loss
        fewer[:] = prior[half]  # with one judge less, the powers of all other families are the same
        for at in range(size):
            fewer += sums[at] / (1.0 + (count[at] - 1.0) * within + (n - 1.0 - count[at]) * between)
        for m in range(start[i], start[i + 1]):
            slot = slots[m - start[i]]
            if slot < 0:
                continue
            rest, left = count[slot], count[slot] - 1.0
            score[:] = fewer - sums[slot] / (1.0 + (rest - 1.0) * within + (n - 1.0 - rest) * between)
            if left > 0.0:
                power = 1.0 / (1.0 + (left - 1.0) * within + (n - 1.0 - left) * between)
                score += power * (sums[slot] - logs[half, judge[m] * K + label[m]])
            without, still = _loss(score, truth[i])
            step = without - loss
            change[judge[m]] += weight[i] * step
            squares[judge[m]] += weight[i] * step * step
            accuracy[judge[m]] += weight[i] * (right - still)
    return total


@compiled
def _loss(score: Floats, truth: int) -> tuple[float, float]:
    """Return the loss of logs of a posterior and how right it is; a truth of -1 gives the entropy and the maximum."""
    highest = score.max()
    mass = 0.0
    for k in range(score.size):
        mass += np.exp(score[k] - highest)
    if truth >= 0:
        best = 0
        for k in range(score.size):
            best += 1 if score[k] >= highest - 1e-12 else 0
        right = 1.0 / best if score[truth] >= highest - 1e-12 else 0.0
        return np.log(mass) - (score[truth] - highest), right
    entropy = np.log(mass)
    for k in range(score.size):
        entropy -= np.exp(score[k] - highest) / mass * (score[k] - highest)
    return entropy, 1.0 / mass

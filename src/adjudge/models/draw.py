"""A fit by sampling: chains run, their truths named alike, and what they drew summed up as a fit."""

from __future__ import annotations

import warnings
from concurrent.futures import Executor
from functools import partial
from typing import NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.judgments.table import Judgments
from adjudge.kernels.bits import packed
from adjudge.kernels.block import Block
from adjudge.kernels.sweep import Sweep
from adjudge.models.align import aligned
from adjudge.models.base import Model, Params
from adjudge.models.chains import Draws, Run, sample
from adjudge.models.convergence import ENOUGH, Convergence, convergence
from adjudge.models.drive import Climb, Progress
from adjudge.models.gibbs import diffuse, voted_by_chance
from adjudge.models.options import Options
from adjudge.models.prior import Prior
from adjudge.models.watch import Watch

MOST_BYTES = 4e9  # that draws may take
FEW = 10  # judges, or fewer, hardly make a population


class Drawn(NamedTuple):
    """What sampling leaves behind."""

    block: Block
    outcome: Climb
    posterior: Floats  # (I, K)
    draws: Draws


class Sizes(NamedTuple):
    """What there is to be drawn."""

    items: int
    judges: int
    labels: int
    topics: int
    judged: Codes  # (J) judgments of each judge
    gold: bool  # whether some truths are known


def draw(
    model: Model,
    judgments: Judgments,
    known: Codes | None,
    options: Options,
    pool: Executor,
    progress: Progress | None = None,
) -> Drawn:
    """Sample a model, and say whether the chains have converged."""
    block, topics = with_topics(judgments.block(known, by_topic=model.populations), model, judgments)
    prior, run = options.prior or Prior(), options.run or Run()
    judged = np.bincount(judgments.judge, minlength=block.judges)
    sizes = Sizes(block.topic.size, block.judges, block.labels, topics, judged, bool((block.gold >= 0).any()))
    refuse_run(sizes, run)
    if model.sampler is None:
        raise UsageError(f"model '{model.name}' is not sampled")
    counted = np.zeros((topics, block.labels)) if prior.gold_informs else of_gold(block, topics)
    step = model.sampler(Sweep(block), counted)
    starts = diffuse(partial(voted_by_chance, block, topics=topics), options.seed, run.chains, prior.least)
    if not model.populations:
        starts = [start._replace(phi=np.empty((0, block.labels)), kappa=np.empty(0)) for start in starts]
    if run.truths:
        nothing = packed(np.zeros(block.topic.size, np.int32), block.labels)
        starts = [start._replace(truth=nothing) for start in starts]
    found = sample(
        step,
        starts,
        block.topic.size,
        run,
        options.seed,
        pool,
        None if progress is None else Watch(run.chains, progress),
        lambda draws: named(draws, sizes)[2].good,
    )
    found, renamed, told = named(found, sizes)
    warn(told, renamed, found, sizes)
    outcome = Climb(means(found, sizes, prior), (), found.sweeps, ended(found, told))
    return Drawn(block, outcome, found.probability.mean(axis=0), found)


def named(draws: Draws, sizes: Sizes) -> tuple[Draws, list[int], Convergence]:
    """Return draws with truths under the crowd's names, which gold keeps where there is some.

    With them come the chains whose truths had to be renamed, and whether all have converged.
    """
    called, renamed = (draws, []) if sizes.gold else aligned(draws, sizes.judged)
    return called, renamed, convergence(_watched(called))


def means(draws: Draws, sizes: Sizes, prior: Prior) -> Params:
    """Return the posterior means of prevalence and matrices; a judge never seen is one of her population."""
    prevalence, confusion = draws.prevalence.mean(axis=(0, 1)), draws.confusion.mean(axis=(0, 1))
    if not draws.kappa.size:
        pseudo = prior.pseudo_counts(sizes.labels)
        return Params(prevalence, confusion, pseudo / pseudo.sum(axis=1, keepdims=True))
    phi = draws.phi.mean(axis=(0, 1))
    return Params(prevalence, confusion, phi[:-1], unseen=phi[-1])


def with_topics(block: Block, model: Model, judgments: Judgments) -> tuple[Block, int]:
    """Return the block with its items in topics, and how many these are: items without a topic make one more."""
    if not model.populations or judgments.topics is None:
        return block, 1
    T = len(judgments.topics)
    without = block.topic < 0
    return (block._replace(topic=np.where(without, T, block.topic)), T + 1) if without.any() else (block, T)


def of_gold(block: Block, topics: int) -> Floats:
    """Return how many gold items of each truth each topic has (T, K)."""
    gold = np.flatnonzero(block.gold >= 0)
    cell = (block.topic[gold] if topics > 1 else 0) * block.labels + block.gold[gold]
    return np.bincount(cell, minlength=topics * block.labels).reshape(topics, block.labels).astype(float)


def refuse_run(sizes: Sizes, run: Run) -> None:
    """Refuse, before it begins, a run whose draws would not fit in memory, or never be enough."""
    if run.until_converged and run.chains * run.draws < ENOUGH:
        raise UsageError(
            f"{run.chains} x {run.draws} draws are never worth {ENOUGH}, which convergence takes: keep more draws"
        )
    each = 8 * (sizes.judges * sizes.labels**2 + sizes.topics * sizes.labels) + (sizes.items // 4 if run.truths else 0)
    size = run.chains * run.draws * each
    if size > MOST_BYTES:
        fits = int(MOST_BYTES / (run.chains * each))
        longer = f"fewer of a longer run, such as draws {fits:,} with thin {-(-run.draws * run.thin // max(1, fits)):,}"
        raise UsageError(
            f"{run.chains * run.draws:,} draws of {sizes.judges:,} judges' matrices would need {size / 1e9:,.1f} GB: "
            f"keep {longer if fits >= ENOUGH // run.chains > 0 else 'fewer chains, or fewer draws'}"
        )


def _watched(draws: Draws) -> dict[str, Floats]:
    """Return the draws of what mixes worst (C, D, ...): the populations or, where these are fixed, prevalence."""
    return {"phi": draws.phi, "kappa": draws.kappa} if draws.kappa.size else {"prevalence": draws.prevalence}


def ended(draws: Draws, told: Convergence) -> str:
    """Return how the run ended, for people."""
    C, D = draws.prevalence.shape[:2]
    if not draws.complete:
        return "interrupted"
    return told.words if not told.good else f"drew {C} x {D:,}, {told.words}"


def warn(told: Convergence, renamed: list[int], draws: Draws, sizes: Sizes) -> None:
    """Say loudly what is wrong with the draws, and what to do."""
    if renamed:
        chains = ", ".join(str(c + 1) for c in renamed)
        warnings.warn(
            f"label switching: the truths of chain {chains} were renamed to what judges call them", AdjudgeWarning, 4
        )
    if draws.complete and not told.good:
        few = draws.kappa.size and sizes.judges < FEW
        other = f"; {sizes.judges} judges are few for a population, and hybrid-confusion needs none" if few else ""
        warnings.warn(f"{told.words}: give more draws, or let it run until_converged{other}", AdjudgeWarning, 4)

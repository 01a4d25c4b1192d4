"""``fit``: judgments in, consensus out. The one doorway to every model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.errors import UsageError, quoted
from adjudge.judgments.gold import places, read_gold
from adjudge.judgments.read import read
from adjudge.judgments.table import Judgments
from adjudge.kernels.block import Block, Tally, add, split
from adjudge.kernels.truth import count
from adjudge.models.assign import by_shares, winners
from adjudge.models.base import Assign, Model, Params, accurate
from adjudge.models.drive import Climb, Progress, Rules, climb
from adjudge.models.record import Fit
from adjudge.models.registry import model_named

BLOCK = 250_000  # judgments below which splitting costs more than it gives
MOST_BLOCKS = 8
STARTS = ("vote", "accurate")
TIES = ("random", "first", "all")


def fit(
    data: Any,
    model: str = "dawid-skene",
    gold: Any = None,
    *,
    seed: int = 0,
    ties: str = "random",
    start: str = "vote",
    tolerance: float = 1e-8,
    iterations: int = 5_000,
    accelerate: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Infer the truth of every item, and how every judge errs, from judgments.

    ``data`` is a ``Judgments``, a frame, or a path; ``gold`` (a frame, a path, or a mapping from item to
    truth) fixes truths that are known. ``ties`` says which of several equally likely labels is given:
    a random one by ``seed``, the first of the scale, or all of them. The climb begins at the vote shares
    (``start="vote"``) or at accurate judges (``"accurate"``), and ends when a step raises the log
    likelihood by less than ``tolerance`` a judgment, or after ``iterations`` passes. Results do not depend
    on ``workers``, the number of threads.

    >>> from adjudge import dataset, fit
    >>> fit(dataset("anesthesia"), "dawid-skene").labels["label"].head(3).to_list()
    ['1', '4', '2']
    """
    chosen = model_named(model)
    _one_of("ties", ties, TIES)
    _one_of("start", start, STARTS)
    judgments, known = read(data), None
    if gold is not None and not (isinstance(gold, Mapping) and not gold):
        judgments, known = read_gold(gold, judgments)
    blocks = blocks_of(judgments.block(known))
    with ThreadPoolExecutor(workers or _cores()) as pool:
        total = summed(blocks, pool)
        prior = accurate(len(judgments.judges), len(judgments.scale))
        begin = chosen.estimate(total(by_shares, prior), prior) if start == "vote" else prior
        size = len(judgments) if judgments.weight is None else float(judgments.weight.sum())
        rules = Rules(size, tolerance, iterations, accelerate)
        outcome = _inferred(chosen, total, begin, rules, progress)
        posterior, evidence = _posterior(chosen, blocks, outcome.params, pool)
    history = (*outcome.evidence, evidence) if chosen.iterated else ()
    options = {"seed": seed, "ties": ties, "start": start, "tolerance": tolerance, "iterations": iterations}
    return record(chosen, judgments, outcome._replace(evidence=history), posterior, gold=known, options=options)


def predict(known: Fit, data: Any) -> Fit:
    """Infer the truth of new items from a saved fit ("memory" mode): its judges and prevalence stay as they are.

    A judge the fit never met is taken for an average one.
    """
    scale = known.scale
    judgments = data if isinstance(data, Judgments) else read(data, labels=scale.labels, ordinal=scale.ordinal)
    if judgments.scale.names != scale.names:
        given = quoted(judgments.scale.names)
        raise UsageError(f"the judgments' labels {given} are not the fit's {quoted(scale.names)}")
    place = places(judgments.judges, known.judge_names)
    confusion = np.where((place >= 0)[:, None, None], known.params.confusion[place], known.params.population)
    params = known.params._replace(confusion=confusion)
    model, blocks = model_named(known.model), blocks_of(judgments.block())
    with ThreadPoolExecutor(_cores()) as pool:
        posterior, evidence = _posterior(model, blocks, params, pool)
    stopped = f"predicted from a fit of {len(known.items):,} items"
    outcome = Climb(params, (evidence,) if model.iterated else (), 0, stopped)
    return record(model, judgments, outcome, posterior, gold=None, options=known.options)


def blocks_of(block: Block) -> list[Block]:
    """Return the judgments in blocks that may be worked on side by side.

    How many depends on the data alone, never on the machine, so that sums come out the same everywhere; a
    judge's table is held once a block, so there are fewer blocks where tables are large.
    """
    cells = block.judges * block.labels**2
    return split(block, min(MOST_BLOCKS, block.cell.size // BLOCK, block.cell.size // (4 * cells)))


def summed(blocks: list[Block], pool: Executor) -> Callable[[Assign, Params], Tally]:
    """Return a function that tallies all blocks and adds up in their order: who adds is all an engine decides."""

    def total(assign: Assign, params: Params) -> Tally:
        if len(blocks) == 1:
            return assign(blocks[0], params)
        return add(pool.map(lambda block: assign(block, params), blocks))

    return total


def _inferred(
    model: Model, total: Callable[[Assign, Params], Tally], begin: Params, rules: Rules, progress: Progress | None
) -> Climb:
    """Return the params a model ends with."""

    def step(params: Params) -> tuple[Params, float]:
        tally = total(model.assign, params)
        return model.estimate(tally, begin), tally.evidence

    if not model.iterated:
        return Climb(step(begin)[0], (), 1, "counted once")
    return climb(step, begin, rules, progress)


def _posterior(model: Model, blocks: list[Block], params: Params, pool: Executor) -> tuple[Floats, float]:
    """Return p(truth | labels) of all items (I, Z), and the log evidence."""
    parts = list(pool.map(lambda block: model.posterior(block, params), blocks))
    return np.concatenate([posterior for posterior, _ in parts]), sum(evidence for _, evidence in parts)


def record(
    model: Model,
    judgments: Judgments,
    outcome: Climb,
    posterior: Floats,
    *,
    gold: Codes | None,
    options: dict[str, Any],
) -> Fit:
    """Return everything a fit leaves behind, as one record."""
    block = judgments.block(gold)
    weights = posterior if model.iterated else winners(posterior)
    label = count(block, weights).label  # (J, Z, K)
    right, said = np.trace(label, axis1=1, axis2=2), label.sum(axis=(1, 2))
    return Fit(
        model=model.name,
        options=options,
        items=judgments.items,
        judge_names=judgments.judges,
        scale=judgments.scale,
        topics=judgments.topics,
        topic=judgments.topic,
        posterior=frozen(posterior),
        label=frozen(_labels(posterior, options["ties"], options["seed"])),
        gold=None if gold is None else frozen(gold),
        params=outcome.params,
        judged=frozen(np.bincount(judgments.judge, minlength=len(judgments.judges))),
        accuracy=frozen(np.divide(right, said, out=np.zeros(said.size), where=said > 0)),
        evidence=outcome.evidence,
        passes=outcome.passes,
        stopped=outcome.stopped,
        kind=judgments.kind,
    )


def _labels(posterior: Floats, ties: str, seed: int) -> Codes:
    """Return each item's most likely truth (I); of several, a random one or the first."""
    best = winners(posterior) > 0
    if ties == "random" and (best.sum(axis=1) > 1).any():
        chosen: Codes = np.where(best, np.random.default_rng(seed).random(best.shape), -1.0).argmax(axis=1)
    else:
        chosen = best.argmax(axis=1)
    return chosen.astype(np.int32)


def _one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Refuse an option's value that is not one of its choices."""
    if value not in choices:
        raise UsageError(f"{name} {value!r} is not one of {quoted(choices)}")


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

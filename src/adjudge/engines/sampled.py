"""Gibbs sampling over blocks, exactly: given theta, truths are independent.

Workers draw the truths of their blocks, by random bits that follow from the sweep's key and an item's place; the driver
draws theta and the rest from the summed counts. So the draws are the same whatever the engine and the number of its
workers, and those of ``fit`` on the same judgments in the same order.

The mean of p(truth | rest) is not carried along: a worker that dies would take it with it. The states by which truths
were drawn are written to disk, a file a sweep, and one pass in the end takes the mean over them, block by block.
"""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.blocks import Blocks
from adjudge.data.write import write_file
from adjudge.engines.checkpoint import Checkpoint
from adjudge.engines.engine import Engine
from adjudge.engines.steps import (
    ChainStates,
    ModelSpec,
    SweepParams,
    count_gold,
    draw_truths,
    state_file,
    topic_count,
    vote_truths,
    write_mean_block,
)
from adjudge.errors import UsageError
from adjudge.inference.chains import Draws, Run, sample
from adjudge.inference.em import EmResult, Progress
from adjudge.inference.gibbs import diffuse
from adjudge.inference.model import Model
from adjudge.inference.prior import Prior
from adjudge.inference.sampling import Sizes, Watch, ended, means, named, refuse_run, warn
from adjudge.inference.save import about_to_write
from adjudge.kernels.block import Tally
from adjudge.kernels.sweep import NO_DRAWS, new_key

STATES = "states"


class Drawing:
    """Truths of all blocks, drawn by an engine for one chain."""

    def __init__(self, blocks: Blocks, engine: Engine, topics: int, folder: Path, chain: int) -> None:
        self.blocks, self.engine, self.topics, self.folder, self.chain = blocks, engine, topics, folder, chain
        self.items, self.labels, self.counted = blocks.items, len(blocks.scale), 0

    def __call__(
        self,
        prevalence: Floats,
        confusion: Floats,
        rng: np.random.Generator,
        probability: Floats,
        drawn: Codes = NO_DRAWS,
    ) -> Tally:
        """Draw every truth; where p(truth | rest) is asked for, write down what it is of."""
        if probability.size:
            file = io.BytesIO()
            np.savez(file, allow_pickle=False, prevalence=prevalence, confusion=confusion)
            write_file(file.getvalue(), state_file(self.folder, self.chain, self.counted))
            self.counted += 1
        return self.engine.map_sum(
            self.blocks, partial(draw_truths, self.topics), SweepParams(prevalence, confusion, new_key(rng))
        )


def sampled(
    model: Model,
    asked: ModelSpec,
    blocks: Blocks,
    engine: Engine,
    out: Path,
    kept: Checkpoint,
    progress: Progress | None,
) -> tuple[EmResult, Tally, Draws | None]:
    """Return what chains have drawn, and what each judge said of each truth; labels are written."""
    if model.sampler is None:
        raise UsageError(f"model '{model.name}' is not sampled")
    options, K = asked.options, len(blocks.scale)
    prior, run = options.prior or Prior(), options.run or Run()
    if run.until_converged or run.truths:
        raise UsageError("chains over blocks have a fixed length and keep no single truths: give more draws instead")
    topics = topic_count(model, blocks)
    sizes = Sizes(blocks.items, len(blocks.judges), K, topics, blocks.judged, blocks.gold is not None)
    refuse_run(sizes, run)
    counted = np.zeros((topics, K))
    if not prior.gold_informs:
        counted = engine.map_sum(blocks, partial(count_gold, topics), None).truth
    folder = kept.folder / STATES
    for chain in range(run.chains):
        state_file(folder, chain, 0).parent.mkdir(parents=True, exist_ok=True)
    hands = [Drawing(blocks, engine, topics, folder, chain) for chain in range(run.chains)]
    starts = diffuse(
        lambda key: engine.map_sum(blocks, partial(vote_truths, topics), key), options.seed, run.chains, prior.least
    )
    if not model.prevalence.hierarchical:
        starts = [start._replace(phi=np.empty((0, K)), kappa=np.empty(0)) for start in starts]
    with ThreadPoolExecutor(1) as pool:  # one chain at a time: an engine's workers are busy with its blocks
        found = sample(
            [model.sampler(own, counted) for own in hands],
            starts,
            1,  # room for one item, which says that p(truth | rest) is asked for
            run,
            options.seed,
            pool,
            None if progress is None else Watch(run.chains, progress),
            keeper=_Resumed(kept, hands),
        )
    order = np.tile(np.arange(float(K)), (found.probability.shape[0], 1, 1))
    draws, renamed, told = named(found._replace(probability=order), sizes)
    warn(told, renamed, draws, sizes)
    outcome = EmResult(means(draws, sizes, prior), (), draws.sweeps, ended(draws, told))
    names = tuple(tuple(int(k) for k in chain[0]) for chain in draws.probability)
    sweeps = min(own.counted for own in hands[: len(names)])  # Ctrl-C may come before the last chains begin
    given = ChainStates(str(folder), names, sweeps, topics, outcome.params)
    about_to_write(out)
    tally = engine.map_sum(blocks, partial(write_mean_block, asked, str(out)), given)
    return outcome, tally, draws


class _Resumed:
    """Keeps where chains are, and counts the sweeps that are written down from there."""

    def __init__(self, kept: Checkpoint, hands: list[Drawing]) -> None:
        self.kept, self.hands = kept, hands

    def load(self, chain: int) -> dict[str, Any] | None:
        """Return where a chain was, None where nothing was kept."""
        found = self.kept.load(chain)
        if found is not None:
            self.hands[chain].counted = found["counts"][2]
        return found

    def save(self, chain: int, told: Any) -> None:
        """Keep where a chain is."""
        self.kept.save(chain, told)

"""Gibbs sampling over blocks. It is exact: given theta, the truths of items are independent.

Workers draw the truths of their blocks with random bits that depend on the key of the sweep and the position of the
item. The driver draws theta and the other parameters from the summed counts. So the draws are the same with any engine
and any number of workers, and the same as those of ``fit`` on the same judgments in the same order.

The mean of p(truth | rest) is not accumulated in the workers, since it would be lost with a worker that dies. The
states by which truths were drawn are written to disk, one file per sweep, and one pass at the end computes the mean
over them, block by block.
"""

from __future__ import annotations

import io
from collections.abc import Callable
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


class BlockSweep:
    """Draws the truths of all blocks by an engine, for one chain."""

    def __init__(self, blocks: Blocks, engine: Engine, topics: int, folder: Path, chain: int) -> None:
        self.blocks, self.engine, self.topics, self.folder, self.chain = blocks, engine, topics, folder, chain
        self.items, self.labels, self.written = blocks.items, len(blocks.scale), 0

    def __call__(
        self,
        prevalence: Floats,
        confusion: Floats,
        rng: np.random.Generator,
        probability: Floats,
        drawn: Codes = NO_DRAWS,
    ) -> Tally:
        """Draw every truth; if p(truth | rest) is asked for, write the state from which it is computed later."""
        if probability.size:
            file = io.BytesIO()
            np.savez(file, allow_pickle=False, prevalence=prevalence, confusion=confusion)
            write_file(file.getvalue(), state_file(self.folder, self.chain, self.written))
            self.written += 1
        params = SweepParams(prevalence, confusion, new_key(rng))
        return self.engine.map_sum(self.blocks, partial(draw_truths, self.topics), params)


def sample_blocks(
    model: Model,
    spec: ModelSpec,
    blocks: Blocks,
    engine: Engine,
    out: Path,
    checkpoint: Checkpoint,
    progress: Progress | None,
) -> tuple[EmResult, Tally, Draws | None]:
    """Sample a model, write the labels, and return the mean params, the counts of labels, and the draws."""
    if model.sampler is None:
        raise UsageError(f"model '{model.name}' is not sampled")
    options, K = spec.options, len(blocks.scale)
    prior, run = options.prior or Prior(), options.run or Run()
    if run.until_converged or run.truths:
        raise UsageError("chains over blocks have a fixed length and keep no single truths: give more draws instead")
    topics = topic_count(model, blocks)
    sizes = Sizes(blocks.items, len(blocks.judges), K, topics, blocks.judged, blocks.gold is not None)
    refuse_run(sizes, run)
    counted = np.zeros((topics, K))
    if not prior.gold_informs:
        counted = engine.map_sum(blocks, partial(count_gold, topics), None).truth
    folder = checkpoint.folder / STATES
    for chain in range(run.chains):
        state_file(folder, chain, 0).parent.mkdir(parents=True, exist_ok=True)
    sweeps = [BlockSweep(blocks, engine, topics, folder, chain) for chain in range(run.chains)]
    starts = diffuse(
        lambda key: engine.map_sum(blocks, partial(vote_truths, topics), key), options.seed, run.chains, prior.least
    )
    if not model.prevalence.hierarchical:
        starts = [start._replace(phi=np.empty((0, K)), kappa=np.empty(0)) for start in starts]
    with ThreadPoolExecutor(1) as pool:  # one chain at a time, since it keeps all workers of the engine busy
        draws = sample(
            [model.sampler(sweep, counted) for sweep in sweeps],
            starts,
            1,  # space for one item, which asks for p(truth | rest)
            run,
            options.seed,
            pool,
            None if progress is None else Watch(run.chains, progress),
            keeper=_ChainKeeper(checkpoint, sweeps),
        )
    order = np.tile(np.arange(float(K)), (draws.probability.shape[0], 1, 1))
    draws, renamed, diagnosis = named(draws._replace(probability=order), sizes)
    warn(diagnosis, renamed, draws, sizes)
    result = EmResult(means(draws, sizes, prior), (), draws.sweeps, ended(draws, diagnosis))
    names = tuple(tuple(int(k) for k in chain[0]) for chain in draws.probability)
    written = min(sweep.written for sweep in sweeps[: len(names)])  # after Ctrl-C, some chains may not have started
    states = ChainStates(str(folder), names, written, topics, result.params)
    about_to_write(out)
    tally = engine.map_sum(blocks, partial(write_mean_block, spec, str(out)), states)
    return result, tally, draws


class _ChainKeeper:
    """Saves the state of chains in a checkpoint; a chain that continues also continues the numbers of its files."""

    def __init__(self, checkpoint: Checkpoint, sweeps: list[BlockSweep]) -> None:
        self.checkpoint, self.sweeps = checkpoint, sweeps

    def load(self, chain: int) -> dict[str, Any] | None:
        """Return the saved state of a chain, None if there is none."""
        state = self.checkpoint.load(chain)
        if state is not None:
            self.sweeps[chain].written = state["counts"][2]
        return state

    def save(self, chain: int, report: Callable[[], dict[str, Any]]) -> None:
        """Save the state of a chain, if the last save is long enough ago."""
        self.checkpoint.save(chain, report)

"""``fit_blocks``: fit a model to judgments in blocks on disk, and write the labels to disk, by any engine.

EM adds the tallies of all blocks in every pass. Gibbs sampling over blocks is exact as well: given theta, the truths of
items are independent. Workers draw the truths of their blocks with random bits that depend on the key of the sweep and
the position of the item. The driver draws theta and the other parameters from the summed counts. So the draws are the
same with any engine and any number of workers, and those of ``fit`` on the same judgments in the same order.

The mean of p(truth | rest) is not accumulated in the workers, since it would be lost with a worker that dies. The
states by which truths were drawn are written to disk, one file per sweep, and one pass at the end computes the mean
over them, block by block.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.blocks import Blocks, open_blocks, with_gold
from adjudge.data.write import frame, table_text, write_file
from adjudge.engines.checkpoint import EVERY, Checkpoint, run_id
from adjudge.engines.engine import Engine, Threads
from adjudge.engines.steps import (
    ChainStates,
    ModelSpec,
    StateParams,
    SweepParams,
    assignment_step,
    count_gold,
    draw_states,
    draw_truths,
    model_block,
    state_file,
    topic_count,
    vote_truths,
    write_block,
    write_mean_block,
)
from adjudge.errors import InputError, UsageError
from adjudge.inference.calibrate import beside_people
from adjudge.inference.calibration import Calibration, by_crowds, expected_share, mixed
from adjudge.inference.chains import Draws, Hooks, Run, State, Step, Watch, sample
from adjudge.inference.correlation import correlation_of
from adjudge.inference.em import EmResult, Progress, Rules
from adjudge.inference.fit import DEFAULT
from adjudge.inference.gibbs import Sizes, ended, families_of, first_states, means, named, refuse_run, settle, warn
from adjudge.inference.infer import align_truths, initial_params, run_em
from adjudge.inference.model import Model, Sampler, configure, model_named, refuse_no_topics, refuse_other_scales
from adjudge.inference.options import Options
from adjudge.inference.params import Assign, Params, Prior, accurate
from adjudge.inference.people import panel_tiers
from adjudge.inference.result import Fit
from adjudge.inference.save import LABELS, about_to_write, save
from adjudge.kernels.block import NO_FAMILIES, Block, Tally, join_items, take_items
from adjudge.kernels.difficulty import Swept
from adjudge.kernels.sweep import NO_DRAWS, Key, new_key
from adjudge.kernels.truth import label_counts

CHECKPOINT = "checkpoint"  # the folder of checkpoints in that of the fit
SAMPLED = 100_000  # judgments on which the correlation of errors is measured
NO_SPREAD = np.empty(0)  # of the difficulty of items
STATES = "states"  # the folder of the states of chains in that of checkpoints


@dataclass(frozen=True, eq=False)
class FitOnDisk:
    """A fit of blocks: the judges in memory, the items in ``folder`` / labels, as Parquet files."""

    folder: Path
    fit: Fit  # without items
    items: int
    label_counts: Floats  # (K) items per label; an item with tied labels counts for each by its share

    def __repr__(self) -> str:
        end = f", log evidence {self.fit.evidence[-1]:,.2f}" if self.fit.evidence else ""
        judges = len(self.fit.judge_names)
        return f"FitOnDisk({self.fit.model}: {self.items:,} items, {judges:,} judges; {self.fit.stopped}{end})"

    @property
    def labels(self) -> pl.LazyFrame:
        """The consensus labels of all items, as a lazy frame."""
        return pl.scan_parquet(self.folder / LABELS / "*.parquet")

    @property
    def judges(self) -> Any:
        """A table of the judges."""
        return self.fit.judges


def fit_blocks(
    blocks: Blocks | str | Path,
    model: str = DEFAULT,
    gold: Any = None,
    *,
    out: str | Path,
    engine: Engine | None = None,
    options: Options | None = None,
    every: float = EVERY,
    progress: Progress | None = None,
) -> FitOnDisk:
    """Fit a model to judgments in blocks on disk.

    The result is that of ``adjudge.fit`` on the same judgments, with any engine. Only the consensus differs: it is
    calibrated by other crowds, with the correlation of errors measured on a sample of items, and gold fixes truths
    without teaching more. The state of the run is saved in ``out`` at intervals. After the run was killed or
    interrupted, the same call continues from there.

    Parameters
    ----------
    blocks
        The blocks, or their folder.
    model
        The name of a model.
    gold
        Known truths, as in ``adjudge.fit``.
    out
        The folder for the fit; labels are written to ``out`` / labels.
    engine
        What runs the steps on the blocks; by default ``Threads``.
    options
        The options of the model, as in ``adjudge.fit``.
    every
        Seconds between two checkpoints.
    progress
        A function that is called with the number of passes and the log evidence.

    Returns
    -------
    FitOnDisk
        The judges and params in memory, and the labels as a lazy frame.
    """
    definition = model_named(model)
    settings = options or Options()
    settings = replace(settings, inference=settings.inference or definition.inferences[0])
    refuse_in_memory(settings)
    configured = configure(definition, settings)
    opened = blocks if isinstance(blocks, Blocks) else open_blocks(blocks)
    refuse_other_scales(configured, opened.scale, settings.prior)
    refuse_no_topics(settings, opened.topics is not None)
    folder = _make_out(out, opened.folder)
    if gold is not None:
        opened = with_gold(opened, gold)
    checkpoint = Checkpoint(folder / CHECKPOINT, run_id(opened, model, settings), every)
    runner: Engine = Threads() if engine is None else engine
    spec = ModelSpec(model, settings, panel=opened.panel)
    task = _Task(configured, spec, opened, runner, folder, checkpoint, progress)
    try:
        result, tally, draws, calibration = (_sample if settings.inference == "gibbs" else _maximise)(task)
    finally:
        if engine is None:
            runner.close()
    fit = _fit_record(configured, opened, result, tally, settings, draws)
    if calibration is not None:
        confusion = configured.confusion.estimate(tally, result.params).confusion
        fit = replace(fit, calibration=replace(calibration, confusion=frozen(confusion)))
    save(fit, folder)
    write_file(table_text(frame(fit.judge_columns()), "csv"), folder / "judges.csv")
    if fit.stopped != "interrupted":
        checkpoint.clear()
    return FitOnDisk(folder, fit, opened.items, tally.truth[0])


def refuse_in_memory(options: Options) -> None:
    """Refuse options that need all judgments in memory."""
    if options.calibrate not in (None, "none", "crowds"):
        raise UsageError(
            f"calibration by {options.calibrate} needs all judgments in memory: fit blocks with calibrate 'none', or "
            "the consensus with 'crowds'"
        )


def refuse_same_folder(out: str | Path, blocks: str | Path) -> None:
    """Refuse to write a fit into the folder of its blocks: both have a file of judges."""
    if Path(out).resolve() == Path(blocks).resolve():
        raise UsageError(f"{out} is the folder of the blocks: name another, such as {Path(out) / 'fit'}")


def _make_out(out: str | Path, blocks: Path) -> Path:
    """Return the absolute path of the folder for the fit, which is created if it does not exist."""
    refuse_same_folder(out, blocks)
    folder = Path(out).absolute()  # workers may have another working directory
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file: name a folder", str(out))
    try:
        (folder / LABELS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(out)) from error
    return folder


class _Task(NamedTuple):
    """What is fitted, by what, and where it is written."""

    model: Model
    spec: ModelSpec
    blocks: Blocks
    engine: Engine
    out: Path
    checkpoint: Checkpoint
    progress: Progress | None

    def total(self, assign: Assign, params: Params) -> Tally:
        """Return the sum of an assignment over all blocks."""
        return self.engine.map_sum(self.blocks, assignment_step(self.spec, self.model, assign), params)


Outcome: TypeAlias = tuple[EmResult, Tally, Draws | None, Calibration | None]


def _maximise(task: _Task) -> Outcome:
    """Run EM, write the labels, and return the result of EM, the counts of labels, and the calibration."""
    model, blocks, options = task.model, task.blocks, task.spec.options
    state = task.checkpoint.load_em()
    default = accurate(len(blocks.judges), len(blocks.scale), topic_count(model, blocks))
    start = initial_params(model, task.total, default, options.start)
    size = len(blocks) if blocks.weight is None else blocks.weight
    rules = Rules(size, options.tolerance, options.iterations, options.accelerate)
    result = run_em(model, task.total, start, rules, task.progress, state, task.checkpoint.save_em)
    result = result if blocks.gold is not None else align_truths(model, result)
    about_to_write(task.out)
    calibrated = model.by_kind and options.calibrate != "none" and len(blocks.scale) > 1
    calibration = _calibration(model, blocks, result.params, options.seed) if calibrated else None
    spec = task.spec._replace(calibration=calibration)
    tally = task.engine.map_sum(blocks, partial(write_block, spec, str(task.out)), result.params)
    evidence = () if model.hard else (*result.evidence, tally.evidence + model.log_prior(result.params))
    return result._replace(evidence=evidence), tally, None, calibration


def _calibration(model: Model, blocks: Blocks, params: Params, seed: int) -> Calibration:
    """Return the calibration by crowds of the consensus, measured on a random sample of items."""
    block = _sample_of_items(model, blocks, params, seed)
    correlation, judged = correlation_of(block, params, label_counts(block), seed), blocks.judged[blocks.judged > 0]
    tier = np.zeros(0, np.int64) if blocks.panel is None else panel_tiers(blocks.panel, blocks.judged)
    calibration = by_crowds(correlation, 0.0, block, params.label_prevalence, float(judged.mean()))
    calibration = beside_people(calibration, tier)
    probability = mixed(calibration, model.posterior(block, params)[0], block)
    return replace(calibration, expected=expected_share(probability, block.start, block.gold))


def _sample_of_items(model: Model, blocks: Blocks, params: Params, seed: int) -> Block:
    """Return random items of all blocks as one block, about ``SAMPLED`` judgments."""
    share, samples = SAMPLED / max(len(blocks), 1), []
    for number in range(len(blocks.parts)):
        block = model_block(model, blocks, number, params, blocks.panel)
        chosen = np.random.default_rng((seed, number)).random(block.topic.size) < share
        samples.append(take_items(block, np.flatnonzero(chosen)))
    return join_items(samples)


def _fit_record(
    model: Model, blocks: Blocks, result: EmResult, tally: Tally, options: Options, draws: Draws | None
) -> Fit:
    """Return the fit without its items."""
    correct, judgments = np.trace(tally.label, axis1=1, axis2=2), tally.label.sum(axis=(1, 2))
    expected = np.einsum("k,jkk->j", result.params.label_prevalence, result.params.confusion)
    return Fit(
        definition=model,
        options=MappingProxyType(asdict(options)),
        items=blocks.names(0)[:0],
        judge_names=blocks.judges,
        scale=blocks.scale,
        topics=blocks.topics,
        topic=None if blocks.topics is None else np.empty(0, np.int32),
        posterior=np.empty((0, len(blocks.scale))),
        label=np.empty(0, np.int32),
        more=np.empty((0, len(model.items.columns))),
        params=Params(*map(frozen, result.params)),
        judged=blocks.judged,
        accuracy=frozen(np.divide(correct, judgments, out=expected, where=judgments > 0)),
        evidence=result.evidence,
        passes=result.passes,
        stopped=result.stopped,
        draws=draws,
        panel=blocks.panel,
    )


class BlockSweep:
    """Draws the truths of all blocks by an engine, for one chain."""

    def __init__(
        self, blocks: Blocks, engine: Engine, topics: int, folder: Path, chain: int, family: Codes = NO_FAMILIES
    ) -> None:
        self.blocks, self.engine, self.topics, self.folder, self.chain = blocks, engine, topics, folder, chain
        self.items, self.labels, self.written, self.family = blocks.items, len(blocks.scale), 0, family

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
            self.write(prevalence, confusion)
        params = SweepParams(prevalence, confusion, new_key(rng))
        return self.engine.map_sum(self.blocks, partial(draw_truths, self.topics), params)

    def sweep_spreads(
        self, prevalence: Floats, confusion: Floats, spreads: list[Floats], key: Key, room: Floats, truths: int = 0
    ) -> list[Swept]:
        """Draw every truth and effect under all spreads in one pass; the state is written by ``write_states``."""
        params = StateParams(prevalence, confusion, np.array(spreads), key, self.family)
        total = self.engine.map_sum(self.blocks, partial(draw_states, self.topics), params)
        label = np.ascontiguousarray(np.moveaxis(total.label, 1, 0))  # (S, J, K, K, G)
        evidence = (0.0, total.evidence)  # relative to the first
        tallies = zip(total.truth, label, evidence, strict=False)
        return [Swept(Tally(*each), np.zeros(room.shape), NO_DRAWS) for each in tallies]

    def write_states(self, step: Step) -> Step:
        """Return a step with difficulty that also writes the state by which it drew truths, once it has a spread."""

        def run(state: State, rng: np.random.Generator, probability: Floats) -> State:
            after = step(state, rng, probability)
            if probability.size:
                self.write(state.prevalence, state.confusion, after.spread)
            return after

        return run

    def write(self, prevalence: Floats, confusion: Floats, spread: Floats = NO_SPREAD) -> None:
        """Write a state from which p(truth | rest) is computed later."""
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, prevalence=prevalence, confusion=confusion, spread=spread)
        write_file(file.getvalue(), state_file(self.folder, self.chain, self.written))
        self.written += 1


def _sample(task: _Task) -> Outcome:
    """Sample a model, write the labels, and return the mean params, the counts of labels, and the draws."""
    blocks, options, K = task.blocks, task.spec.options, len(task.blocks.scale)
    prior, run = options.prior or Prior(), options.run or Run()
    if run.until_converged or run.truths:
        raise UsageError("chains over blocks have a fixed length and keep no single truths: give more draws instead")
    topics = topic_count(task.model, blocks)
    sizes = Sizes(blocks.items, len(blocks.judges), K, topics, blocks.judged, blocks.gold is not None)
    refuse_run(sizes, run)
    sweeps = _block_sweeps(task, topics, run.chains)
    draws = _draw(task, sweeps, sizes, run, prior)
    order = np.tile(np.arange(float(K)), (draws.probability.shape[0], 1, 1))
    draws, renamed, diagnosis = named(draws._replace(probability=order), sizes)
    warn(diagnosis, renamed, draws, sizes)
    result = EmResult(means(draws, sizes, prior), (), draws.sweeps, ended(draws, diagnosis))
    names = tuple(tuple(int(k) for k in chain[0]) for chain in draws.probability)
    written = min(sweep.written for sweep in sweeps[: len(names)])  # after Ctrl-C, some chains may not have started
    states = ChainStates(str(sweeps[0].folder), names, written, topics, result.params, sweeps[0].family)
    about_to_write(task.out)
    tally = task.engine.map_sum(blocks, partial(write_mean_block, task.spec, str(task.out)), states)
    return result, tally, draws, None


def _block_sweeps(task: _Task, topics: int, chains: int) -> list[BlockSweep]:
    """Return the sweeps of every chain, with a folder for the states of each."""
    folder = task.checkpoint.folder / STATES
    for chain in range(chains):
        state_file(folder, chain, 0).parent.mkdir(parents=True, exist_ok=True)
    family = families_of(task.blocks.panel, task.spec.options.prior or Prior())
    return [BlockSweep(task.blocks, task.engine, topics, folder, chain, family) for chain in range(chains)]


def _draw(task: _Task, sweeps: list[BlockSweep], sizes: Sizes, run: Run, prior: Prior) -> Draws:
    """Return the draws of chains over blocks, one chain at a time."""
    model, blocks, engine, K = task.model, task.blocks, task.engine, len(task.blocks.scale)
    sampler, topics, seed = _require_sampler(model), sweeps[0].topics, task.spec.options.seed
    counted = np.zeros((topics, K))
    if not prior.gold_informs:
        counted = engine.map_sum(blocks, partial(count_gold, topics), None).truth
    vote = partial(engine.map_sum, blocks, partial(vote_truths, topics))
    starts = first_states(vote, model, task.spec.options, permute=blocks.gold is None)
    watch = None if task.progress is None else Watch(run.chains, task.progress)
    hooks = Hooks(watch, keeper=_ChainKeeper(task.checkpoint, sweeps))
    steps = [sampler(sweep, counted) for sweep in sweeps]
    if prior.difficulty:
        steps = [sweep.write_states(step) for sweep, step in zip(sweeps, steps, strict=True)]
    with ThreadPoolExecutor(1) as pool:  # one chain at a time, since it keeps all workers of the engine busy
        if any(task.checkpoint.load(chain) is None for chain in range(run.chains)):  # others begin where they were
            starts = settle(steps, starts, sizes, run, seed, pool)
        return sample(steps, starts, 1, run, seed, pool, hooks)  # one item asks for p(truth | rest)


def _require_sampler(model: Model) -> Sampler:
    """Return the sampler of a model; refuse a model that is not sampled."""
    if model.sampler is None:
        raise UsageError(f"model '{model.name}' is not sampled")
    return model.sampler


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

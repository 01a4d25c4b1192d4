"""``fit_blocks``: fit a model to judgments in blocks on disk, and write the labels to disk, by any engine."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Floats, frozen
from adjudge.data.blocks import Blocks, open_blocks, with_gold
from adjudge.data.write import frame, table_text, write_file
from adjudge.engines.checkpoint import EVERY, Checkpoint, run_id
from adjudge.engines.engine import Engine, Threads
from adjudge.engines.sample_blocks import sample_blocks
from adjudge.engines.steps import ModelSpec, assignment_step, topic_count, write_block
from adjudge.errors import InputError, UsageError
from adjudge.inference.chains import Draws
from adjudge.inference.em import EmResult, Progress, Rules
from adjudge.inference.infer import initial_params, run_em
from adjudge.inference.model import Model
from adjudge.inference.options import Options
from adjudge.inference.params import Assign, Params, accurate
from adjudge.inference.registry import configure, model_named, refuse_no_topics, refuse_other_scales
from adjudge.inference.result import Fit
from adjudge.inference.save import LABELS, about_to_write, save
from adjudge.kernels.block import Tally

CHECKPOINT = "checkpoint"


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
    model: str = "dawid-skene",
    gold: Any = None,
    *,
    out: str | Path,
    engine: Engine | None = None,
    options: Options | None = None,
    every: float = EVERY,
    progress: Progress | None = None,
) -> FitOnDisk:
    """Fit a model to judgments in blocks on disk.

    The result is that of ``adjudge.fit`` on the same judgments, with any engine. The state of the run is saved in
    ``out`` at intervals. After the run was killed or interrupted, the same call continues from there.

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
    refuse_other_scales(configured, opened.scale)
    refuse_no_topics(settings, opened.topics is not None)
    folder = _make_out(out, opened.folder)
    if gold is not None:
        opened = with_gold(opened, gold)
    checkpoint = Checkpoint(folder / CHECKPOINT, run_id(opened, model, settings), every)
    run = sample_blocks if settings.inference == "gibbs" else _maximise
    runner: Engine = Threads() if engine is None else engine
    try:
        result, tally, draws = run(configured, ModelSpec(model, settings), opened, runner, folder, checkpoint, progress)
    finally:
        if engine is None:
            runner.close()
    fit = _fit_record(configured, opened, result, tally, settings, draws)
    save(fit, folder)
    write_file(table_text(frame(fit.judge_columns()), "csv"), folder / "judges.csv")
    if fit.stopped != "interrupted":
        checkpoint.clear()
    return FitOnDisk(folder, fit, opened.items, tally.truth[0])


def refuse_in_memory(options: Options) -> None:
    """Refuse options that need all judgments in memory."""
    if options.calibrate != "none":
        raise UsageError("calibration needs all judgments in memory: fit blocks with calibrate 'none'")


def refuse_same_folder(out: str | Path, blocks: str | Path) -> None:
    """Refuse to write a fit into the folder of its blocks: both have a file of judges."""
    if Path(out).resolve() == Path(blocks).resolve():
        raise UsageError(f"--out {out} is the folder of the blocks: name another, such as {Path(out) / 'fit'}")


def _make_out(out: str | Path, blocks: Path) -> Path:
    """Return the absolute path of the folder for the fit, which is created if it does not exist."""
    refuse_same_folder(out, blocks)
    folder = Path(out).absolute()  # workers may have another working directory
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file; --out needs a folder", str(out))
    try:
        (folder / LABELS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(out)) from error
    return folder


def _maximise(
    model: Model,
    spec: ModelSpec,
    blocks: Blocks,
    engine: Engine,
    out: Path,
    checkpoint: Checkpoint,
    progress: Progress | None,
) -> tuple[EmResult, Tally, Draws | None]:
    """Run EM, write the labels, and return the result of EM and the counts of labels."""

    def total(assign: Assign, params: Params) -> Tally:
        return engine.map_sum(blocks, assignment_step(spec, model, assign), params)

    state, options = checkpoint.load_em(), spec.options
    default = accurate(len(blocks.judges), len(blocks.scale), topic_count(model, blocks))
    start = initial_params(model, total, default, options.start)
    size = len(blocks) if blocks.weight is None else blocks.weight
    rules = Rules(size, options.tolerance, options.iterations, options.accelerate)
    result = run_em(model, total, start, rules, progress, state, checkpoint.save_em)
    about_to_write(out)
    tally = engine.map_sum(blocks, partial(write_block, spec, str(out)), result.params)
    evidence = () if model.hard else (*result.evidence, tally.evidence + model.log_prior(result.params))
    return result._replace(evidence=evidence), tally, None


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
    )

"""``fit_blocks``: judgments on disk in, consensus on disk out, by any engine: ``models.fit``, block by block."""

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
from adjudge.engines.checkpoint import EVERY, Checkpoint, question
from adjudge.engines.engine import Engine, Threads
from adjudge.engines.sampled import sampled
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
    """What a fit of blocks leaves behind: judges here, items in ``folder`` / labels, as Parquet files."""

    folder: Path
    fit: Fit  # without items
    items: int
    label_counts: Floats  # (K) items of each label, those that tie shared

    def __repr__(self) -> str:
        end = f", log evidence {self.fit.evidence[-1]:,.2f}" if self.fit.evidence else ""
        judges = len(self.fit.judge_names)
        return f"FitOnDisk({self.fit.model}: {self.items:,} items, {judges:,} judges; {self.fit.stopped}{end})"

    @property
    def labels(self) -> pl.LazyFrame:
        """The consensus on all items, to be read as far as it is needed."""
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
    """Infer the truth of every item in blocks, and how every judge errs; what is said of items is written to ``out``.

    The answer is that of ``adjudge.fit`` on the same judgments, whoever the ``engine`` is: threads unless one is given.
    Where the run is, is kept in ``out`` every so many seconds; asked the same again after it was killed or interrupted,
    it goes on from there.
    """
    usual = model_named(model)
    chosen_options = options or Options()
    chosen_options = replace(chosen_options, inference=chosen_options.inference or usual.inferences[0])
    refuse_in_memory(chosen_options)
    chosen = configure(usual, chosen_options)
    shelf = blocks if isinstance(blocks, Blocks) else open_blocks(blocks)
    refuse_other_scales(chosen, shelf.scale)
    refuse_no_topics(chosen_options, shelf.topics is not None)
    place = _ready(out, shelf.folder)
    if gold is not None:
        shelf = with_gold(shelf, gold)
    kept = Checkpoint(place / CHECKPOINT, question(shelf, model, chosen_options), every)
    own = engine is None
    hands: Engine = Threads() if engine is None else engine
    try:
        asked = ModelSpec(model, chosen_options)
        way = sampled if chosen_options.inference == "gibbs" else _climbed
        outcome, tally, draws = way(chosen, asked, shelf, hands, place, kept, progress)
    finally:
        if own:
            hands.close()
    fit = _record(chosen, shelf, outcome, tally, chosen_options, draws)
    save(fit, place)
    write_file(table_text(frame(fit.judge_columns()), "csv"), place / "judges.csv")
    if fit.stopped != "interrupted":
        kept.clear()
    return FitOnDisk(place, fit, shelf.items, tally.truth[0])


def refuse_in_memory(options: Options) -> None:
    """Refuse what is done in memory alone."""
    if options.calibrate != "none":
        raise UsageError("probabilities are calibrated in memory: fit blocks with calibrate 'none'")


def refuse_same_folder(out: str | Path, blocks: str | Path) -> None:
    """Refuse to write a fit over the blocks that it is made from: both have a file of judges."""
    if Path(out).resolve() == Path(blocks).resolve():
        raise UsageError(f"--out {out} is the folder of the blocks: name another, such as {Path(out) / 'fit'}")


def _ready(out: str | Path, blocks: Path) -> Path:
    """Return the folder to write to, made if it is not there."""
    refuse_same_folder(out, blocks)
    place = Path(out).absolute()  # workers may have been started elsewhere
    if place.exists() and not place.is_dir():
        raise InputError("is a file; --out needs a folder", str(out))
    try:
        (place / LABELS).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(out)) from error
    return place


def _climbed(
    model: Model,
    asked: ModelSpec,
    blocks: Blocks,
    engine: Engine,
    out: Path,
    kept: Checkpoint,
    progress: Progress | None,
) -> tuple[EmResult, Tally, Draws | None]:
    """Return where a climb ends, and what each judge said of each truth; labels are written."""

    def total(assign: Assign, params: Params) -> Tally:
        return engine.map_sum(blocks, assignment_step(asked, model, assign), params)

    here = kept.climb()
    default = accurate(len(blocks.judges), len(blocks.scale), topic_count(model, blocks))
    begin = initial_params(model, total, default, asked.options.start)
    options = asked.options
    size = len(blocks) if blocks.weight is None else blocks.weight
    rules = Rules(size, options.tolerance, options.iterations, options.accelerate)
    outcome = run_em(model, total, begin, rules, progress, here, kept.keep_climb)
    about_to_write(out)
    tally = engine.map_sum(blocks, partial(write_block, asked, str(out)), outcome.params)
    evidence = () if model.hard else (*outcome.evidence, tally.evidence + model.log_prior(outcome.params))
    return outcome._replace(evidence=evidence), tally, None


def _record(
    model: Model, blocks: Blocks, outcome: EmResult, tally: Tally, options: Options, draws: Draws | None
) -> Fit:
    """Return all but the items as one record."""
    right, said = np.trace(tally.label, axis1=1, axis2=2), tally.label.sum(axis=(1, 2))
    expected = np.einsum("k,jkk->j", outcome.params.label_prevalence, outcome.params.confusion)
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
        params=Params(*map(frozen, outcome.params)),
        judged=blocks.judged,
        accuracy=frozen(np.divide(right, said, out=expected, where=said > 0)),
        evidence=outcome.evidence,
        passes=outcome.passes,
        stopped=outcome.stopped,
        draws=draws,
    )

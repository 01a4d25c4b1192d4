"""The steps that engines run on a block: functions at the top level of this module, so that workers can import them.

They call the same functions as a fit in memory, and send a model by its name and options (``ModelSpec``).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.blocks import Blocks
from adjudge.data.panel import Panel
from adjudge.data.write import frame, table_text, write_file
from adjudge.engines.engine import Step
from adjudge.inference.calibration import Calibration, mixed
from adjudge.inference.chains import NOWHERE
from adjudge.inference.components import winners
from adjudge.inference.gibbs import of_gold, voted_by_chance
from adjudge.inference.infer import settled
from adjudge.inference.model import Model, model_named
from adjudge.inference.options import Options
from adjudge.inference.params import Assign, Params
from adjudge.inference.people import panel_tiers, weighed_block
from adjudge.inference.result import Fit
from adjudge.inference.save import LABELS
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.family_effects import StateSweep
from adjudge.kernels.sweep import Key, sweep_once
from adjudge.kernels.truth import count, truth_posterior

NO_KEY: Key = np.zeros(2, np.uint64)  # for probabilities, which need no random bits


class ModelSpec(NamedTuple):
    """A model that can be pickled: its name and options, how its probabilities are calibrated, and what judges are.

    Blocks that a worker opens do not know the panel.
    """

    model: str
    options: Options
    calibration: Calibration | None = None
    panel: Panel | None = None

    def resolve(self) -> Model:
        """Return the model."""
        return model_named(self.model).variant(self.options.prior, self.options.prevalence)


def assignment_step(spec: ModelSpec, model: Model, assign: Assign) -> Step:
    """Return one of the assignments of a model, that of its E-step or of an initialisation, as a step."""
    start = None if assign == model.assign else next(name for name, first in model.starts.items() if first is assign)
    return partial(_assign_block, spec, start)


def _assign_block(spec: ModelSpec, start: str | None, blocks: Blocks, number: int, params: Params) -> Tally:
    """Return the counts of a block under an assignment."""
    model = spec.resolve()
    assign = (None if start is None else model.starts[start]) or model.assign
    return assign(model_block(model, blocks, number, params, spec.panel), params)


class SweepParams(NamedTuple):
    """The params and random key by which a Gibbs sweep draws truths."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    key: Key  # of the sweep


def draw_truths(topics: int, blocks: Blocks, number: int, params: SweepParams) -> Tally:
    """Draw the truths of the items in a block, and return their counts."""
    block = topic_block(blocks, number, topics)
    return sweep_once(block, params.prevalence, params.confusion, params.key, blocks.first[number])


class StateParams(NamedTuple):
    """The params and random key by which a Gibbs sweep draws truths and effects of items, under one spread or two."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    spreads: Floats  # (1 or 2, 1 or 2)
    key: Key  # of the sweep
    family: Codes  # (J), or (0) if families have no effects


def draw_states(topics: int, blocks: Blocks, number: int, params: StateParams) -> Tally:
    """Draw truths and effects of the items in a block under every spread, and return their counts.

    Truths (S, T, K) and labels (J, S, K, K, G) are counted by spread. The evidence is that of the last spread minus
    that of the first.
    """
    block = topic_block(blocks, number, topics)._replace(family=params.family)
    sweep = StateSweep(block, blocks.first[number], blocks.first_judgment[number], blocks.items)
    swept = sweep.sweep_spreads(params.prevalence, params.confusion, list(params.spreads), params.key, NOWHERE)
    truth = np.stack([each.counts.truth for each in swept])
    label = np.stack([each.counts.label for each in swept], axis=1)
    return Tally(truth, label, swept[-1].counts.evidence - swept[0].counts.evidence)


def vote_truths(topics: int, blocks: Blocks, number: int, key: Key) -> Tally:
    """Return the counts of a block with the most frequent labels as truths; ties are broken at random."""
    return voted_by_chance(topic_block(blocks, number, topics), key, blocks.first[number], topics)


def count_gold(topics: int, blocks: Blocks, number: int, nothing: None) -> Tally:
    """Return the number of gold items in a block, by topic and label."""
    return Tally(of_gold(topic_block(blocks, number, topics), topics), np.zeros((0, 0, 0)), 0.0)


def topic_block(blocks: Blocks, number: int, topics: int) -> Block:
    """Return a block with the topics of its items; items without a topic are in the last one."""
    if topics == 1:
        return blocks.block(number)
    block = blocks.block(number, by_topic=True)
    without = block.topic < 0
    return block._replace(topic=np.where(without, topics - 1, block.topic)) if without.any() else block


def model_block(model: Model, blocks: Blocks, number: int, params: Params, panel: Panel | None) -> Block:
    """Return a block, with the topics of its items if the model has a prevalence per topic, and weights by kind."""
    block = topic_block(blocks, number, len(params.prevalence) if model.prevalence.by_topic else 1)
    if not model.by_kind or panel is None:
        return block
    return weighed_block(block, panel, panel_tiers(panel, blocks.judged))


def topic_count(model: Model, blocks: Blocks) -> int:
    """Return how many rows the prevalence has: one per topic, and one more for items without a topic."""
    if not model.prevalence.by_topic or blocks.topics is None:
        return 1
    without = any((topic < 0).any() for n in range(len(blocks.parts)) if (topic := blocks.topic(n)) is not None)
    return len(blocks.topics) + bool(without)


def write_block(spec: ModelSpec, out: str, blocks: Blocks, number: int, params: Params) -> Tally:
    """Write the labels of the items in a block; return their counts and the log evidence."""
    model = spec.resolve()
    block = model_block(model, blocks, number, params, spec.panel)
    posterior, evidence = model.posterior(block, params)
    if spec.calibration is not None:
        posterior = mixed(spec.calibration, posterior, block)
    tally = _write_labels(spec, model, out, blocks, number, block, posterior, params)
    return tally._replace(evidence=evidence)


class ChainStates(NamedTuple):
    """The states of all chains on disk, and what follows from all of them."""

    folder: str  # has a file per sweep after the warm-up
    names: tuple[tuple[int, ...], ...]  # (C, K) the chain's code of each label
    sweeps: int  # per chain, after the warm-up
    topics: int
    params: Params  # the means
    family: Codes  # (J), or (0) if families have no effects


def write_mean_block(spec: ModelSpec, out: str, blocks: Blocks, number: int, states: ChainStates) -> Tally:
    """Write the labels of the items in a block, by the mean of p(truth | rest) over the sweeps of all chains."""
    block = topic_block(blocks, number, states.topics)._replace(family=states.family)
    mean, model, with_effects = np.zeros((block.topic.size, block.labels)), spec.resolve(), StateSweep(block)
    for chain, names in enumerate(states.names):
        total = np.zeros_like(mean)
        for sweep in range(states.sweeps):
            prevalence, confusion, spread = read_state(Path(states.folder), chain, sweep)
            if spread.size:
                with_effects(prevalence, confusion, spread, NO_KEY, total)
            else:
                total += truth_posterior(block, prevalence, confusion)[0]
        mean += total[:, list(names)] / states.sweeps
    mean /= len(states.names)
    if model.items.columns:
        mean = np.column_stack([mean, model.posterior(block, states.params)[0][:, block.labels :]])
    return _write_labels(spec, model, out, blocks, number, block, mean, states.params)


def read_state(folder: Path, chain: int, sweep: int) -> tuple[Floats, Floats, Floats]:
    """Return the prevalence and confusion by which a sweep drew truths, and the spread, empty without difficulty."""
    with np.load(state_file(folder, chain, sweep), allow_pickle=False) as arrays:
        return arrays["prevalence"], arrays["confusion"], arrays["spread"]


def state_file(folder: Path, chain: int, sweep: int) -> Path:
    """Return the file of the state of a sweep."""
    return folder / f"chain-{chain}" / f"sweep-{sweep:06}.npz"


def _write_labels(
    spec: ModelSpec, model: Model, out: str, blocks: Blocks, number: int, block: Block, columns: Floats, params: Params
) -> Tally:
    """Write the labels of the items in a block, and return their counts.

    ``columns`` (I, K + E) are the posterior and, if the model has them, item effects.
    """
    posterior, more = columns[:, : block.labels], columns[:, block.labels :]
    names = blocks.names(number)
    fit = Fit(
        definition=model,
        options=MappingProxyType({"ties": spec.options.ties}),
        items=names,
        judge_names=blocks.judges,
        scale=blocks.scale,
        posterior=posterior,
        label=settled(posterior, names, spec.options),
        params=params,
        judged=blocks.judged,
        accuracy=np.empty(0),
        more=more,
        topics=blocks.topics,
        topic=blocks.topic(number),
    )
    table = fit.label_columns()
    if blocks.gold is not None:
        has_gold = (block.gold >= 0).any()
        table["gold"] = _gold_names(block.gold, blocks) if has_gold else [None] * block.gold.size
    write_file(table_text(frame(table), "parquet"), labels_file(out, number))
    tally = count(blocks.block(number) if spec.calibration is not None else block, model.credit(posterior))
    return tally._replace(truth=winners(posterior).sum(axis=0)[None])  # (1, K) items per label


def labels_file(out: str, number: int) -> Path:
    """Return the file of the labels of a block."""
    return Path(out) / LABELS / f"part-{number:05}.parquet"


def _gold_names(gold: Codes, blocks: Blocks) -> list[Any]:
    """Return the labels of gold items, None for other items."""
    labels = [*blocks.scale.labels, None]
    return [labels[k] for k in gold.tolist()]

"""The steps that engines take over a block: the models' own passes, by names that any process can look up."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.blocks import Blocks
from adjudge.data.write import frame, table_text, write_file
from adjudge.engines.engine import Step
from adjudge.inference.components import winners
from adjudge.inference.gibbs import voted_by_chance
from adjudge.inference.model import Model
from adjudge.inference.options import Options
from adjudge.inference.params import Assign, Params
from adjudge.inference.registry import model_named
from adjudge.inference.result import Fit
from adjudge.inference.sampling import of_gold
from adjudge.inference.save import LABELS
from adjudge.inference.ties import settled
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.sweep import Key, sweep_once
from adjudge.kernels.truth import count, truth_posterior


class Asked(NamedTuple):
    """A model as it can be sent: by name, with its options."""

    model: str
    options: Options

    def resolved(self) -> Model:
        """Return the model itself."""
        return model_named(self.model).variant(self.options.prior, self.options.prevalence)


def assigning(asked: Asked, model: Model, assign: Assign) -> Step:
    """Return one of a model's assignments as a step."""
    begin = None if assign == model.assign else next(name for name, start in model.starts.items() if start is assign)
    return partial(_assigned, asked, begin)


def _assigned(asked: Asked, begin: str | None, blocks: Blocks, number: int, params: Params) -> Tally:
    """Assign a block's judgments to truths."""
    model = asked.resolved()
    assign = (None if begin is None else model.starts[begin]) or model.assign
    return assign(model_block(model, blocks, number, params), params)


class Rows(NamedTuple):
    """What truths are drawn by, or stand with a chance of."""

    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    key: Key  # of the sweep


def truths_drawn(topics: int, blocks: Blocks, number: int, rows: Rows) -> Tally:
    """Draw the truths of a block's items, and count them."""
    block = block_in_topics(blocks, number, topics)
    return sweep_once(block, rows.prevalence, rows.confusion, rows.key, blocks.first[number])


def voted(topics: int, blocks: Blocks, number: int, key: Key) -> Tally:
    """Take the labels that a block's items were given most often for truths, and count them."""
    return voted_by_chance(block_in_topics(blocks, number, topics), key, blocks.first[number], topics)


def gold_counted(topics: int, blocks: Blocks, number: int, nothing: None) -> Tally:
    """Count the gold items of a block."""
    return Tally(of_gold(block_in_topics(blocks, number, topics), topics), np.zeros((0, 0, 0)), 0.0)


def block_in_topics(blocks: Blocks, number: int, topics: int) -> Block:
    """Return a block with its items in topics, those without one in the last."""
    if topics == 1:
        return blocks.block(number)
    block = blocks.block(number, by_topic=True)
    without = block.topic < 0
    return block._replace(topic=np.where(without, topics - 1, block.topic)) if without.any() else block


def model_block(model: Model, blocks: Blocks, number: int, params: Params) -> Block:
    """Return a block, with its items in topics if every topic has its own prevalence."""
    return block_in_topics(blocks, number, len(params.prevalence) if model.prevalence.by_topic else 1)


def topic_count(model: Model, blocks: Blocks) -> int:
    """Return how many rows the prevalence has: one per topic, and one more for items without a topic."""
    if not model.prevalence.by_topic or blocks.topics is None:
        return 1
    without = any((topic < 0).any() for n in range(len(blocks.parts)) if (topic := blocks.topic(n)) is not None)
    return len(blocks.topics) + bool(without)


def written(asked: Asked, out: str, blocks: Blocks, number: int, params: Params) -> Tally:
    """Write what a model says of a block's items; return what each judge said of each truth, and the evidence."""
    model = asked.resolved()
    block = model_block(model, blocks, number, params)
    told, evidence = model.posterior(block, params)
    return _told(asked, model, out, blocks, number, block, told, params)._replace(evidence=evidence)


class Averaged(NamedTuple):
    """Where the states of chains are kept, and what follows from all of them."""

    folder: str  # of the states of every sweep that counts
    names: tuple[tuple[int, ...], ...]  # (C, K) which of a chain's truths bears each label's name
    sweeps: int  # of each chain, that count
    topics: int
    params: Params  # their means


def averaged(asked: Asked, out: str, blocks: Blocks, number: int, given: Averaged) -> Tally:
    """Write the mean of p(truth | rest) over the sweeps of all chains, of a block's items."""
    block = block_in_topics(blocks, number, given.topics)
    mean = np.zeros((block.topic.size, block.labels))
    for chain, names in enumerate(given.names):
        total = np.zeros_like(mean)
        for sweep in range(given.sweeps):
            prevalence, confusion = state_of(Path(given.folder), chain, sweep)
            total += truth_posterior(block, prevalence, confusion)[0]
        mean += total[:, list(names)] / given.sweeps
    return _told(asked, asked.resolved(), out, blocks, number, block, mean / len(given.names), given.params)


def state_of(folder: Path, chain: int, sweep: int) -> tuple[Floats, Floats]:
    """Return the prevalence and confusion by which a sweep drew truths."""
    with np.load(state_file(folder, chain, sweep), allow_pickle=False) as arrays:
        return arrays["prevalence"], arrays["confusion"]


def state_file(folder: Path, chain: int, sweep: int) -> Path:
    """Return where the state of a sweep is kept."""
    return folder / f"chain-{chain}" / f"sweep-{sweep:06}.npz"


def _told(
    asked: Asked, model: Model, out: str, blocks: Blocks, number: int, block: Block, told: Floats, params: Params
) -> Tally:
    """Write what is said of a block's items (I, K + E); return what each judge said of each truth."""
    posterior, more = told[:, : block.labels], told[:, block.labels :]
    names, known = blocks.names(number), (block.gold >= 0).any()
    fit = Fit(
        definition=model,
        options=MappingProxyType({"ties": asked.options.ties}),
        items=names,
        judge_names=blocks.judges,
        scale=blocks.scale,
        posterior=posterior,
        label=settled(posterior, names, asked.options),
        params=params,
        judged=blocks.judged,
        accuracy=np.empty(0),
        more=more,
        topics=blocks.topics,
        topic=blocks.topic(number),
    )
    columns = fit.label_columns()
    if blocks.gold is not None:
        columns["gold"] = _gold_names(block.gold, blocks) if known else [None] * block.gold.size
    write_file(table_text(frame(columns), "parquet"), part_file(out, number))
    tally = count(block, model.credit(posterior))
    return tally._replace(truth=winners(posterior).sum(axis=0)[None])  # (1, K) items of each label


def part_file(out: str, number: int) -> Path:
    """Return where what is said of a block's items is written."""
    return Path(out) / LABELS / f"part-{number:05}.parquet"


def _gold_names(gold: Codes, blocks: Blocks) -> list[Any]:
    """Return the known truths by name."""
    labels = [*blocks.scale.labels, None]
    return [labels[k] for k in gold.tolist()]

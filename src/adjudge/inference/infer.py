"""``infer``: a model, encoded judgments and options in, a ``Fit`` out. The core that every doorway calls.

It reads no files, looks up no names and calibrates nothing: ``fit`` does that above it, and ``select``, ``calibrate``,
``dependence`` and ``update`` call it with the models that they have at hand.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, replace
from hashlib import blake2b
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments, Names, places
from adjudge.errors import UsageError, not_one_of, quoted
from adjudge.inference.chains import Draws, Run
from adjudge.inference.components import most_likely
from adjudge.inference.em import EmResult, EmState, Keep, Progress, Rules, maximise, repeat, settle
from adjudge.inference.gibbs import draw
from adjudge.inference.model import ACCURATE, Model
from adjudge.inference.options import Options
from adjudge.inference.params import Assign, Params, accurate, best_order, refuse_no_mode, renamed
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block, Tally, add, split
from adjudge.kernels.truth import count

BLOCK = 250_000  # judgments below which splitting costs more than it gives
MOST_BLOCKS = 8
RENAMED = "truths were renamed to match the judges' labels (label switching)"  # end of ``stopped``
DOUBT = 0.001  # share of an even distribution that is mixed into an earlier fit: EM never leaves an exact zero

Total: TypeAlias = Callable[[Assign, Params], Tally]  # the sum of an assignment over all judgments


def infer(
    model: Model,
    judgments: Judgments,
    gold: Codes | None = None,
    options: Options | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    earlier: Fit | None = None,
) -> Fit:
    """Return the fit of a model to judgments, with its own probabilities (not calibrated).

    ``gold`` (I) holds the codes of known truths, -1 elsewhere. EM starts at the params of the ``earlier`` fit, if
    there is one. ``model`` already has the prior of ``options`` (see ``model.configure``).
    """
    chosen = options or Options()
    chosen = replace(chosen, inference=chosen.inference or model.inferences[0])
    if chosen.inference == "gibbs":
        if earlier is not None:
            raise UsageError(f"start is an earlier fit, which is an option of EM, and '{model.name}' is sampled")
        return _sample(model, judgments, gold, chosen, workers, progress)
    if chosen.prior is not None:
        refuse_no_mode(chosen.prior)
    return _maximise(model, judgments, gold, chosen, workers, progress, earlier)


def _maximise(
    model: Model,
    judgments: Judgments,
    gold: Codes | None,
    options: Options,
    workers: int | None,
    progress: Progress | None,
    earlier: Fit | None,
) -> Fit:
    """Return the fit at which EM ends."""
    block, topics = model.block(judgments, gold)
    blocks = parallel_blocks(block)
    with ThreadPoolExecutor(workers or cores()) as pool:
        total = total_over(blocks, pool)
        if earlier is None:
            default = accurate(block.judges, block.labels, topics)
            start = initial_params(model, total, default, options.start)
        else:
            start = earlier_params(earlier, model, judgments, topics)
        outcome = run_em(model, total, start, em_rules(judgments, options), progress)
        if earlier is None and not (block.gold >= 0).any():
            outcome = align_truths(model, outcome)
        values, evidence = posterior_over(model, blocks, outcome.params, pool)
    history = () if model.hard else (*outcome.evidence, evidence)
    return fit_record(model, judgments, block, outcome._replace(evidence=history), values, options)


def _sample(
    model: Model,
    judgments: Judgments,
    gold: Codes | None,
    options: Options,
    workers: int | None,
    progress: Progress | None,
) -> Fit:
    """Return the fit that Markov chains have drawn."""
    run = options.run or Run()
    options = replace(options, run=run)
    with ThreadPoolExecutor(workers or min(cores(), run.chains)) as pool:
        drawn = draw(model, judgments, gold, options, pool, progress)
    return fit_record(model, judgments, drawn.block, drawn.outcome, drawn.posterior, options, drawn.draws)


def parallel_blocks(block: Block) -> list[Block]:
    """Return the judgments in blocks that threads can work on at the same time.

    Their number depends on the data alone, never on the machine, so that sums are the same everywhere. Every block has
    its own table of all judges, so there are fewer blocks where these tables are large.
    """
    cells = block.judges * block.labels**2
    return split(block, min(MOST_BLOCKS, block.cell.size // BLOCK, block.cell.size // (4 * cells)))


def total_over(blocks: list[Block], pool: Executor) -> Total:
    """Return the function that tallies all blocks and adds the tallies in their order."""

    def total(assign: Assign, params: Params) -> Tally:
        if len(blocks) == 1:
            return assign(blocks[0], params)
        return add(pool.map(lambda block: assign(block, params), blocks))

    return total


def em_rules(judgments: Judgments, options: Options) -> Rules:
    """Return when EM over these judgments ends."""
    size = len(judgments) if judgments.weight is None else float(judgments.weight.sum())
    return Rules(size, options.tolerance, options.iterations, options.accelerate)


def run_em(
    model: Model,
    total: Total,
    start: Params,
    rules: Rules,
    progress: Progress | None,
    checkpoint: EmState | None = None,
    keep: Keep | None = None,
) -> EmResult:
    """Return the params at which a model's EM ends.

    It continues from a ``checkpoint``, if there is one; ``keep`` receives such checkpoints.
    """
    begin = EmState(start) if checkpoint is None else checkpoint

    def step(params: Params) -> tuple[Params, float]:
        tally = total(model.assign, params)
        return model.estimate(tally, start), tally.evidence + model.log_prior(params)

    if model.rounds is not None:
        return repeat(step, begin, model.rounds, progress, keep)
    return (settle if model.hard else maximise)(step, begin, rules, progress, keep)


def align_truths(model: Model, outcome: EmResult) -> EmResult:
    """Return the outcome of EM with truths named as judges name them, if EM has permuted their names.

    The likelihood of free matrices is the same when truths are renamed (label switching). The names are those with
    which judges are right most often: the assignment problem, on the expected shares of all pairs of truth and label.
    Nothing changes if that leaves every name. Gold and an earlier fit keep the names: do not call this if there is one.
    """
    if not model.exchangeable or outcome.stopped == "interrupted":
        return outcome
    params = outcome.params
    order = best_order(params.label_prevalence[:, None] * params.population)
    if (order == np.arange(order.size)).all():
        return outcome
    return outcome._replace(params=renamed(params, order), stopped=f"{outcome.stopped}; {RENAMED}")


def posterior_over(model: Model, blocks: list[Block], params: Params, pool: Executor) -> tuple[Floats, float]:
    """Return p(truth | labels) and the model's other columns of all items (I, K + E), and the log evidence."""
    ends = np.cumsum([block.topic.size for block in blocks])
    values = np.empty((int(ends[-1]), blocks[0].labels + len(model.items.columns)))

    def fill(block: Block, end: int) -> float:
        values[end - block.topic.size : end], evidence = model.posterior(block, params)
        return evidence

    return values, sum(pool.map(fill, blocks, ends)) + model.log_prior(params)


def fit_record(
    model: Model,
    judgments: Judgments,
    block: Block,
    outcome: EmResult,
    values: Floats,
    options: Options,
    draws: Draws | None = None,
) -> Fit:
    """Return the record of a fit; ``values`` (I, K + E) are the posterior and the model's other columns of items."""
    posterior, more = values[:, : block.labels], values[:, block.labels :]
    label = count(block, model.credit(posterior)).label  # (J, Z, K)
    right, total = np.trace(label, axis1=1, axis2=2), label.sum(axis=(1, 2))
    expected = np.einsum("k,jkk->j", outcome.params.label_prevalence, outcome.params.confusion)  # of idle judges
    return Fit(
        definition=model,
        options=MappingProxyType(asdict(options)),
        items=judgments.items,
        judge_names=judgments.judges,
        scale=judgments.scale,
        topics=judgments.topics,
        topic=judgments.topic,
        posterior=frozen(posterior),
        label=frozen(settled(posterior, judgments.items, options)),
        more=frozen(more),
        gold=block.gold if (block.gold >= 0).any() else None,
        params=Params(*map(frozen, outcome.params)),
        judged=frozen(np.bincount(judgments.judge, minlength=len(judgments.judges))),
        accuracy=frozen(np.divide(right, total, out=expected, where=total > 0)),
        evidence=outcome.evidence,
        passes=outcome.passes,
        stopped=outcome.stopped,
        draws=draws,
        kind=judgments.kind,
        panel=judgments.panel,
    )


def initial_params(model: Model, total: Total, default: Params, start: str | None) -> Params:
    """Return the params at which EM starts: those of the first assignment, or the ``default`` of accurate judges."""
    name = start or next(iter(model.starts))
    if name not in model.starts:
        raise UsageError(not_one_of("start", name, model.starts))
    if name == ACCURATE:
        return default
    return model.estimate(total(model.starts[name] or model.assign, default), default)


def earlier_params(earlier: Fit, model: Model, judgments: Judgments, topics: int = 1) -> Params:
    """Return the params of an earlier fit for the judges of these judgments, matched by name.

    A judge that the earlier fit does not have starts as its typical judge.
    """
    _refuse_other_fit(earlier, model, judgments)
    params, position = earlier.params, judge_positions(judgments, earlier)
    matrix = accurate(1, len(judgments.scale)).population
    prevalence = topic_rows(earlier, judgments, topics) if params.unseen.size else params.prevalence
    return Params(
        mix_even(prevalence, np.full_like(prevalence, 1 / prevalence.shape[1])),
        mix_even(rows_at(params.confusion, params.population, position), matrix),
        mix_even(params.population, matrix),
        rows_at(params.skill, params.typical, position) if params.skill.size else params.skill,
        params.typical,
        params.unseen,
    )


def topic_rows(fit: Fit, judgments: Judgments, topics: int) -> Floats:
    """Return the prevalence of a fit for the topics of other judgments (T, Z); another topic has that of all items."""
    if fit.topics is None:
        return fit.params.prevalence
    if judgments.topics is None:
        return fit.params.unseen[None]
    rows = np.vstack([fit.params.prevalence, fit.params.unseen])
    position = places(judgments.topics, fit.topics)  # -1 is the last row, of any other topic
    if topics > position.size:  # items without a topic
        shared = len(fit.topics) < len(fit.params.prevalence) and not fit.definition.prevalence.hierarchical
        position = np.r_[position, len(fit.topics) if shared else -1]
    return rows[position]


def judge_positions(judgments: Judgments, earlier: Fit) -> Codes:
    """Return the position of each judge (J) in an earlier fit, -1 for a judge that it does not have."""
    position = {str(name): j for j, name in enumerate(earlier.judge_names.to_list())}
    return np.array([position.get(str(name), -1) for name in judgments.judges.to_list()], np.int64)


def rows_at(rows: Floats, typical: Floats, position: Codes) -> Floats:
    """Return rows by position, the typical one for -1."""
    chosen = rows[np.maximum(position, 0)]
    chosen[position < 0] = typical
    return chosen


def mix_even(probability: Floats, even: Floats) -> Floats:
    """Return probabilities with a small share of an even distribution, so that none is zero."""
    mixed: Floats = (1 - DOUBT) * probability + DOUBT * even
    return mixed


def _refuse_other_fit(earlier: Fit, model: Model, judgments: Judgments) -> None:
    """Refuse an earlier fit of another model or of other labels."""
    if model.rounds is not None:
        raise UsageError(f"start cannot be an earlier fit: model '{model.name}' does not iterate from its start")
    if earlier.model != model.name:
        raise UsageError(f"start is a fit of '{earlier.model}': '{model.name}' cannot start from it")
    if earlier.scale.names != judgments.scale.names:
        raise UsageError(
            f"start is a fit of the labels {quoted(earlier.scale.names)}, "
            f"and the labels are {quoted(judgments.scale.names)}"
        )


def settled(posterior: Floats, items: Names, options: Options) -> Codes:
    """Return each item's most likely truth (I); if several tie, a random one or the first.

    A random one is drawn by the seed and the item's name: it does not depend on the order of rows, on other items, or
    on the engine.
    """
    best = most_likely(posterior)
    label: Codes = best.argmax(axis=1).astype(np.int32)
    tied = np.flatnonzero(best.sum(axis=1) > 1)
    if options.ties == "random" and tied.size:
        which = lots(items.gather(tied), options.seed) % best[tied].sum(axis=1)
        label[tied] = (best[tied].cumsum(axis=1) > which[:, None]).argmax(axis=1)
    return label


def lots(items: Names, seed: int) -> NDArray[np.int64]:
    """Return a random number for every name (I), at least 0."""
    key = seed.to_bytes(-(-seed.bit_length() // 8) or 1, "little")[:64]
    drawn = b"".join(blake2b(name.encode(), digest_size=8, key=key).digest() for name in items.cast(str))
    return np.frombuffer(drawn, "<i8") & np.iinfo(np.int64).max


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

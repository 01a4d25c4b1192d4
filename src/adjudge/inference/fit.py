"""``fit``: judgments in, consensus out. The one doorway to every model."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.blocks import Blocks
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.errors import UsageError, quoted
from adjudge.inference.chains import Draws, Run
from adjudge.inference.components import winners
from adjudge.inference.em import Climb, Here, Keep, Progress, Rules, climb, go_round, settle
from adjudge.inference.model import Model
from adjudge.inference.options import Options
from adjudge.inference.params import Assign, Params, accurate
from adjudge.inference.prior import Prior, refuse_no_mode
from adjudge.inference.registry import MODELS, model_named
from adjudge.inference.result import Fit
from adjudge.inference.ties import settled
from adjudge.kernels.block import Block, Tally, add, split
from adjudge.kernels.truth import count

# Where a climb begins that goes on from an earlier fit: with what was learned of the judges it knew.

DOUBT = 0.001  # how much of every probability is made even again: what is zero stays zero in EM


def params_of(earlier: Fit, model: Model, judgments: Judgments) -> Params:
    """Return the params of an earlier fit for the judges of these judgments, matched by name.

    A judge it did not know begins as the judge never seen that it expects.
    """
    refuse_unlike(earlier, model, judgments)
    known, place = earlier.params, places_of(judgments, earlier)
    matrix = accurate(1, len(judgments.scale)).population
    confusion = doubted(rows_at(known.confusion, known.population, place), matrix)
    return Params(
        doubted(known.prevalence, np.full_like(known.prevalence, 1 / known.prevalence.shape[1])),
        confusion,
        doubted(known.population, matrix),
        rows_at(known.skill, known.typical, place) if known.skill.size else known.skill,
        known.typical,
        known.unseen,
    )


def places_of(judgments: Judgments, earlier: Fit) -> Codes:
    """Return where each judge (J) stands in an earlier fit, -1 where it has none of this name."""
    place = {str(name): at for at, name in enumerate(earlier.judge_names.to_list())}
    return np.array([place.get(str(name), -1) for name in judgments.judges.to_list()], np.int64)


def rows_at(known: Floats, typical: Floats, place: Codes) -> Floats:
    """Return rows by their place, the typical one where there is none."""
    rows = known[np.maximum(place, 0)]
    rows[place < 0] = typical
    return rows


def doubted(chances: Floats, even: Floats) -> Floats:
    """Return probabilities, each a little nearer to where nothing is known."""
    mixed: Floats = (1 - DOUBT) * chances + DOUBT * even
    return mixed


def refuse_unlike(earlier: Fit, model: Model, judgments: Judgments) -> None:
    """Refuse a fit that another model, or other labels, cannot go on from."""
    if model.until == "rounds":
        raise UsageError(f"start cannot be an earlier fit: model '{model.name}' does not climb, it ends where it ends")
    if earlier.model != model.name:
        raise UsageError(f"start is a fit of '{earlier.model}', and '{model.name}' cannot go on from it")
    if earlier.scale.names != judgments.scale.names:
        raise UsageError(
            f"start is a fit of the labels {quoted(earlier.scale.names)}, and these are {quoted(judgments.scale.names)}"
        )


BLOCK = 250_000  # judgments below which splitting costs more than it gives
MOST_BLOCKS = 8
ACCURATE = "accurate"
AUTO = "auto"
USUAL = "dawid-skene"  # where no model is named
OF_CLIMBS = ("tolerance", "iterations", "accelerate")
CLIMB = Options()  # as it usually is

Total: TypeAlias = Callable[[Assign, Params], Tally]  # all judgments, assigned and added up


def fit(
    data: Any,
    model: str | None = None,
    gold: Any = None,
    *,
    seed: int = 0,
    ties: str = "random",
    start: str | Fit | None = None,
    tolerance: float = 1e-8,
    iterations: int = 5_000,
    accelerate: bool = True,
    inference: str | None = None,
    run: Run | None = None,
    prior: Prior | None = None,
    calibrate: str | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Infer the truth of every item, and how every judge errs, from judgments.

    ``data`` is a ``Judgments``, a frame, or a path; ``model`` is a name of ``MODELS``, or ``"auto"`` for the one that
    ``choose`` takes, and where none is named it is ``"dawid-skene"``, calibrated; ``gold`` (a frame, a path, a mapping
    from item to truth, or the codes that ``read_gold`` gives) fixes truths that are known. ``ties`` says which of
    several equally likely labels is given: a random one by ``seed``, the first of the scale, or all of them. It begins
    where ``start`` says: at the votes (``"vote"``), at accurate judges (``"accurate"``), where else the model may
    begin, or, given an earlier fit of the same model, at what that has learned of the judges (matched by name), which
    saves passes when judgments have been added. It ends when a step of EM raises the log likelihood by less than
    ``tolerance`` a judgment (with ``accelerate``, when a whole cycle of two steps and a leap raises it by less than a
    tenth of that), or after ``iterations`` passes over the judgments.

    Some models are drawn from by Markov chains (``inference="gibbs"``), as long as ``run`` says, and their fits have
    ``draws``; of these, some can be climbed instead (``"map"``). Such models have a ``prior``.

    A posterior takes judges to err independently, which they do not: with ``calibrate="judgments"`` it is hedged where
    judges are seen to err together, and with ``"gold"`` learned from items whose truth is known; ``"none"`` leaves it
    as the model has it. A model that is named is left alone unless asked, as its paper has it; ``"auto"``, and the
    usual model where none is named, are calibrated by judgments.

    ``progress`` is told the passes so far, and the log evidence or, of chains, the worst R-hat. Results do not depend
    on ``workers``, the number of threads.

    >>> from adjudge import dataset, fit
    >>> fit(dataset("anesthesia"), "dawid-skene").labels["label"].head(3).to_list()
    ['1', '4', '2']
    """
    earlier, named = (start, None) if isinstance(start, Fit) else (None, start)
    model, calibrate = asked(model, calibrate)
    options = Options(seed, ties, named, tolerance, iterations, accelerate, inference, run, prior, calibrate)
    if model == AUTO:
        if earlier is not None:
            raise UsageError(f"start is a fit of '{earlier.model}': name that model, 'auto' may take another")
        from adjudge.inference.select import fit_chosen

        return fit_chosen(data, gold, options, workers=workers, progress=progress)
    usual = model_named(model)
    options = replace(options, inference=inference or usual.inferences[0])
    chosen = under(usual, options)
    judgments, known = _with_gold(read(data), gold)
    refuse_other_scales(chosen, judgments.scale)
    if prior is not None and prior.decay is not None and not judgments.scale.ordinal:
        raise UsageError("prior decay is for labels in an order: give it with --labels and --ordinal")
    way = _sampled if options.inference == "gibbs" else _climbed
    found = way(_Task(chosen, judgments, known, options, workers, progress, earlier))
    if calibrate == "none" or found.stopped == "interrupted":
        return found
    from adjudge.inference.calibrate import calibrated

    try:
        return calibrated(found, judgments, known, calibrate)
    except KeyboardInterrupt:
        return replace(found, stopped="interrupted")  # as the model has it, and not calibrated


def asked(model: str | None, calibrate: str | None) -> tuple[str, str]:
    """Return which model is meant, and how it is calibrated; one that is named is left as its paper has it."""
    return model or USUAL, calibrate or ("judgments" if model in (None, AUTO) else "none")


class _Task(NamedTuple):
    """What is to be fitted, and how."""

    model: Model
    judgments: Judgments
    known: Codes | None  # (I) truths that gold tells
    options: Options
    workers: int | None
    progress: Progress | None
    earlier: Fit | None  # to go on from


def _climbed(task: _Task) -> Fit:
    """Return the fit where a climb ends."""
    model, judgments, known, options, workers, progress, earlier = task
    block = judgments.block(known)
    blocks = blocks_of(block)
    with ThreadPoolExecutor(workers or cores()) as pool:
        total = summed(blocks, pool)
        begin = begun(model, total, judgments, options) if earlier is None else params_of(earlier, model, judgments)
        size = len(judgments) if judgments.weight is None else float(judgments.weight.sum())
        rules = Rules(size, options.tolerance, options.iterations, options.accelerate)
        outcome = inferred(model, total, begin, rules, progress)
        posterior, evidence = posterior_of(model, blocks, outcome.params, pool)
    history = () if model.hard else (*outcome.evidence, evidence)
    return record(model, judgments, block, outcome._replace(evidence=history), posterior, options)


def _sampled(task: _Task) -> Fit:
    """Return the fit that chains have drawn."""
    from adjudge.inference.sampling import draw

    model, judgments, known, given, workers, progress, earlier = task
    if earlier is not None:
        raise UsageError(f"start is an earlier fit, which is for a climb, and '{model.name}' is sampled")
    run = given.run or Run()
    options = replace(given, run=run)
    with ThreadPoolExecutor(workers or min(cores(), run.chains)) as pool:
        found = draw(model, judgments, known, options, pool, progress)
    return record(model, judgments, found.block, found.outcome, found.posterior, options, found.draws)


def blocks_of(block: Block) -> list[Block]:
    """Return the judgments in blocks that may be worked on side by side.

    How many depends on the data alone, never on the machine, so that sums come out the same everywhere; a
    judge's table is held once a block, so there are fewer blocks where tables are large.
    """
    cells = block.judges * block.labels**2
    return split(block, min(MOST_BLOCKS, block.cell.size // BLOCK, block.cell.size // (4 * cells)))


def summed(blocks: list[Block], pool: Executor) -> Total:
    """Return a function that tallies all blocks and adds up in their order: who adds is all an engine decides."""

    def total(assign: Assign, params: Params) -> Tally:
        if len(blocks) == 1:
            return assign(blocks[0], params)
        return add(pool.map(lambda block: assign(block, params), blocks))

    return total


def inferred(
    model: Model,
    total: Total,
    begin: Params,
    rules: Rules,
    progress: Progress | None,
    here: Here | None = None,
    keep: Keep | None = None,
) -> Climb:
    """Return the params a model ends with; it goes on from ``here`` if that is given, and tells ``keep`` on its way."""
    start = Here(begin) if here is None else here

    def step(params: Params) -> tuple[Params, float]:
        tally = total(model.assign, params)
        return model.estimate(tally, begin), tally.evidence + model.log_prior(params)

    if model.until == "rounds":
        return go_round(step, start, model.rounds, progress, keep)
    return (settle if model.hard else climb)(step, start, rules, progress, keep)


def posterior_of(model: Model, blocks: list[Block], params: Params, pool: Executor) -> tuple[Floats, float]:
    """Return p(truth | labels) of all items and what else the model says of them (I, K + E), and the log evidence."""
    ends = np.cumsum([block.topic.size for block in blocks])
    whole = np.empty((int(ends[-1]), blocks[0].labels + len(model.item_columns)))

    def fill(block: Block, end: int) -> float:
        whole[end - block.topic.size : end], evidence = model.posterior(block, params)
        return evidence

    return whole, sum(pool.map(fill, blocks, ends)) + model.log_prior(params)


def record(
    model: Model,
    judgments: Judgments,
    block: Block,
    outcome: Climb,
    told: Floats,
    options: Options,
    draws: Draws | None = None,
) -> Fit:
    """Return everything a fit leaves behind, as one record; ``told`` (I, K + E) is what the model says of items."""
    posterior, more = told[:, : block.labels], told[:, block.labels :]
    label = count(block, winners(posterior) if model.hard or model.degrees else posterior).label  # (J, Z, K)
    right, said = np.trace(label, axis1=1, axis2=2), label.sum(axis=(1, 2))
    expected = np.einsum("k,jkk->j", outcome.params.label_prevalence, outcome.params.confusion)  # where nothing counts
    known = (block.gold >= 0).any()
    return Fit(
        model=model.name,
        options=MappingProxyType(asdict(options)),
        items=judgments.items,
        judge_names=judgments.judges,
        scale=judgments.scale,
        topics=judgments.topics,
        topic=judgments.topic,
        posterior=frozen(posterior),
        label=frozen(settled(posterior, judgments.items, options)),
        more=frozen(more),
        gold=block.gold if known else None,
        params=Params(*map(frozen, outcome.params)),
        judged=frozen(np.bincount(judgments.judge, minlength=len(judgments.judges))),
        accuracy=frozen(np.divide(right, said, out=expected, where=said > 0)),
        evidence=outcome.evidence,
        passes=outcome.passes,
        stopped=outcome.stopped,
        draws=draws,
        kind=judgments.kind,
    )


def refuse_other_scales(model: Model, scale: Scale) -> None:
    """Refuse labels that a model cannot take, and say what can be done."""
    labels = quoted(scale.names)
    if model.ordered and not scale.ordinal:
        raise UsageError(
            f"model '{model.name}' needs labels in an order, and {labels} have none: give it, lowest first, "
            "with --labels and --ordinal (labels= and ordinal=True of adjudge.read)"
        )
    if model.binary and len(scale) > 2:
        able = quoted((name for name, other in MODELS.items() if not other.binary and not other.ordered), most=99)
        raise UsageError(
            f"model '{model.name}' is for two labels, and there are {len(scale)}: {labels}; models for more are {able}"
        )


def under(model: Model, options: Options) -> Model:
    """Return the model under the prior that is asked for; refuse what it cannot do."""
    prior = options.prior
    if options.inference not in model.inferences:
        able = quoted((name for name, other in MODELS.items() if options.inference in other.inferences), most=99)
        raise UsageError(f"model '{model.name}' has no inference '{options.inference}'; models that have are {able}")
    if options.inference == "gibbs" and any(getattr(options, name) != getattr(CLIMB, name) for name in OF_CLIMBS):
        raise UsageError(
            f"{quoted(OF_CLIMBS)} are for a climb, and '{model.name}' is sampled: chains have a length (chains, draws)"
        )
    if options.inference == "gibbs" and options.start is not None:
        other = " (inference 'map' climbs)" if "map" in model.inferences else ""
        raise UsageError(f"start {options.start!r} is for a climb: chains begin at the vote{other}")
    if options.inference != "gibbs" and options.run is not None:
        able = quoted(name for name, other in MODELS.items() if other.sampler is not None)
        raise UsageError(
            f"chains, draws and the like are for sampling, and '{model.name}' is climbed; sampled models are {able}"
        )
    if prior is None:
        return model
    if model.under is None:
        able = quoted(name for name, other in MODELS.items() if other.under is not None)
        raise UsageError(f"model '{model.name}' has no prior; models that have are {able}")
    if options.inference == "map":
        refuse_no_mode(prior)
    return model.under(prior)


def begun(model: Model, total: Total, judgments: Judgments | Blocks, options: Options) -> Params:
    """Return the params a climb begins with: what follows from the first assignment, or accurate judges."""
    first, usual = _first(model, options.start), accurate(len(judgments.judges), len(judgments.scale))
    return usual if first is None else model.estimate(total(first, usual), usual)


def _first(model: Model, start: str | None) -> Assign | None:
    """Return the first assignment, None where there is none: judges are taken to be accurate."""
    usual = next(iter(model.begins))
    choices = [*model.begins] if model.hard or model.states else [*model.begins, ACCURATE]
    if start is not None and start not in choices:
        raise UsageError(f"start {start!r} is not one of {quoted(choices)}")
    return None if start == ACCURATE else model.begins[start or usual]


def _with_gold(judgments: Judgments, gold: Any) -> tuple[Judgments, Codes | None]:
    """Return the judgments with what is known of their items' truths."""
    if gold is None or (isinstance(gold, Mapping) and not gold):
        return judgments, None
    if not isinstance(gold, np.ndarray):
        return read_gold(gold, judgments)
    if gold.shape != (len(judgments.items),):
        raise UsageError(f"gold codes have the shape {gold.shape}, and there are {len(judgments.items):,} items")
    return judgments, gold


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

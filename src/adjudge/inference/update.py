"""``update``: a fit, and judgments that came after it.

What EM needs to know of judgments is their tally, and tallies of disjoint items add up (Neal & Hinton 1998). So new
judgments concern few items at first: what these counted for is taken out of the tally, what they count for now is put
in, a few times over. That is all of an update online. An exact one then passes over all judgments, from there, until
no more is left to climb than where a fit from the beginning ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.encode import EXTEND
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, NameIndex, Names, NewJudgments, append, match_names, select_items
from adjudge.data.read import read
from adjudge.errors import InputError, UsageError, quote, quoted
from adjudge.inference.calibrate import calibrated
from adjudge.inference.calibration import mixed
from adjudge.inference.em import Climb, Progress, approach, climb
from adjudge.inference.fitted import in_codes_of
from adjudge.inference.infer import (
    cores,
    em_rules,
    fit_record,
    infer,
    mix_even,
    parallel_blocks,
    posterior_over,
    total_over,
)
from adjudge.inference.model import Model
from adjudge.inference.options import Options, options_of
from adjudge.inference.params import Params, accurate
from adjudge.inference.result import Fit
from adjudge.inference.ties import settled
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import FLOOR, count, truth_posterior

ROUNDS = 10  # over the items concerned: they settle in fewer
SMALL = 250_000  # judgments below which a climb from the beginning takes no time: the higher summit is taken
MUCH = 0.005  # share of new judgments above which the old summit says too little: the same
DENSE = 60  # judgments for each cell of a judge's matrix below which there are many summits: the same
TINY, GROWING = 0.5, 1.1  # a cell of fewer judgments that grows by more than this is on its way from nothing
ADVICE = " (a fit keeps its scale: fit all judgments anew with --labels to extend it)"
UNKEPT = (
    "the judgments that the fit was made from are not saved with it: give them (--data old.csv, judgments= in "
    "Python), or update online, which does without (--online, online=True)"
)


def update(
    fit: Fit,
    new: Any,
    judgments: Judgments | None = None,
    gold: Any = None,
    *,
    online: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Return a fit of the judgments that a fit was made from and of new ones.

    ``new`` (a ``Judgments``, a frame, or a path) may bring new judges, items and topics, and more on old ones, which
    are matched by name. ``judgments`` are those that the fit was made from, where they are not saved with it. A fit
    that was calibrated is calibrated anew; ``online``, as it was.
    ``gold`` tells truths in addition to those the fit was told.

    It ends where less than the fit's tolerance is left to climb. On tables so small that it takes no time, where much
    is new, and where judges have few judgments, a climb from the beginning is made as well, for EM has many summits,
    and the higher one taken. With ``online``, only the
    items that new judgments are on are looked at again: all others keep their posterior, and nothing is known of the
    evidence.

    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> first, rest = judgments.take(range(200)), judgments.take(range(200, len(judgments)))
    >>> fit = adjudge.fit(first)
    >>> adjudge.update(fit, rest, first)
    Fit(dawid-skene: 45 items, 5 judges; converged, log evidence -189.41)
    """
    options = options_of(fit.options)
    _refuse_sampled(fit, options)
    more = match_names(NameIndex(fit.items, fit.judge_names, fit.topics, fit.topic), _read(fit, new))
    old = _own(fit, judgments)
    if old is None and not online:
        raise UsageError(UNKEPT)
    known, told = _gold(fit, more.names, gold)
    more = more._replace(names=known)
    if not more.item.size and (told[: len(fit.items)] == _told(fit, len(fit.items))).all():
        return fit
    task = _Task(fit, fit.definition, options, more, old, told, workers, progress)
    return _online(task) if online else _exact(task)


class _Task(NamedTuple):
    """What is to be updated, and how."""

    fit: Fit
    model: Model
    options: Options
    new: NewJudgments
    old: Judgments | None
    gold: Codes  # (I) old and new, -1 where unknown
    workers: int | None
    progress: Progress | None

    @property
    def concerned(self) -> Codes:
        """The items that have something new (C), ascending."""
        news = np.zeros(len(self.new.names.items), bool)
        news[self.new.item] = True
        news[len(self.fit.items) :] = True
        news |= self.gold != _told(self.fit, news.size)
        return np.flatnonzero(news)


def _exact(task: _Task) -> Fit:
    """Return the fit where a climb over all judgments ends that begins at what is known."""
    fit, model, options, new, old, gold, workers, progress = task
    assert old is not None  # refused before
    judgments, tally = append(old, new), None
    plain = replace(options, calibrate="none")
    if model.hard:  # it ends at labels that hang on where it began: from there, or it would not be the same fit
        found = infer(model, judgments, gold, plain, workers=workers, progress=progress)
    else:
        found, tally = _climbed(task, judgments)
        if _doubtful(judgments, new) and found.stopped != "interrupted":
            other = infer(model, judgments, gold, plain, workers=workers, progress=progress)
            if other.evidence[-1] > found.evidence[-1]:
                found, tally = replace(other, passes=found.passes + other.passes), None
            elif other.stopped == "interrupted":  # it might have ended higher
                found = replace(found, stopped=other.stopped)
    if options.calibrate != "none" and found.stopped != "interrupted":
        try:
            found = calibrated(found, judgments, gold, options.calibrate)
        except KeyboardInterrupt:
            found = replace(found, stopped="interrupted")  # as the model has it, and not calibrated
    return replace(found, reason=fit.reason, kind=fit.kind, options=fit.options, judgments=judgments, tally=tally)


def _doubtful(judgments: Judgments, new: NewJudgments) -> bool:
    """Whether a climb from the beginning may well end higher than one from an earlier fit."""
    size, cells = len(judgments), len(judgments.judges) * len(judgments.scale) ** 2
    return size < max(SMALL, DENSE * cells) or new.item.size > MUCH * size


def _climbed(task: _Task, judgments: Judgments) -> tuple[Fit, Tally | None]:
    """Return the fit that a climb from an earlier one ends with, and what it counted last, where that is known."""
    fit, model, options, _, _, gold, workers, progress = task
    block, topics = model.block(judgments, gold)
    blocks = parallel_blocks(block)
    rules = em_rules(judgments, options)
    begin = _extended(fit, block.judges, task.new.names.topics, topics)

    def estimate(tally: Tally) -> Params:
        return model.estimate(tally, begin)

    with ThreadPoolExecutor(workers or cores()) as pool:
        total = total_over(blocks, pool)

        def look(params: Params) -> Tally:
            tally = total(model.assign, params)
            return tally._replace(evidence=tally.evidence + model.log_prior(params))

        def step(params: Params) -> tuple[Params, float]:
            tally = look(params)
            return estimate(tally), tally.evidence

        counted = _lifted(model, look(begin), begin, 0.0 if _doubtful(judgments, task.new) else GROWING)
        few = select_items(judgments, gold, task.concerned)._replace(topic=block.topic[task.concerned])
        first = _settled(model, few, begin, counted)
        near = approach(look, estimate, first, rules, progress)
        outcome = Climb(estimate(near.tally), near.evidence, near.passes + 1, near.stopped)
        if not near.stopped:
            outcome = climb(step, outcome.params, rules, progress)
            outcome = outcome._replace(passes=outcome.passes + near.passes + 1)
        posterior, evidence = posterior_over(model, blocks, outcome.params, pool)
    outcome = outcome._replace(evidence=(*outcome.evidence, evidence))
    return fit_record(model, judgments, block, outcome, posterior, options), near.tally if near.stopped else None


def _settled(model: Model, few: Block, begin: Params, tally: Tally) -> Tally:
    """Return the tally of all items when those concerned have settled and the others have stayed as they were.

    ``tally`` is of all items, those concerned with all that is new, under the params to begin with.
    """
    rest = _without(tally, model.assign(few, begin))
    params = _doubting(begin, np.unique(few.cell // few.labels))
    for _ in range(ROUNDS):
        now = _with(rest, model.assign(few, params))
        params = model.estimate(now, begin)
    return now


def _lifted(model: Model, tally: Tally, params: Params, growing: float = GROWING) -> Tally:
    """Return the tally with cells of next to nothing that grow set to half a judgment.

    EM multiplies: a cell that was nothing before, and no longer is, would take many passes to grow.
    """
    if not model.uses_matrices:
        return tally
    label = tally.label
    expected = label.sum(axis=2, keepdims=True) * np.maximum(params.confusion, FLOOR)
    grows = (label < TINY) & (label >= growing * expected)
    return tally._replace(label=np.where(grows, TINY, label))


def _doubting(params: Params, judges: Codes) -> Params:
    """Return params that take nothing for impossible of these judges."""
    confusion = params.confusion.copy()
    confusion[judges] = mix_even(confusion[judges], accurate(1, confusion.shape[2]).population)
    return params._replace(confusion=confusion)


def _with(one: Tally, other: Tally) -> Tally:
    """Return the sum of two tallies."""
    return Tally(one.truth + other.truth, one.label + other.label, one.evidence + other.evidence)


def _without(one: Tally, other: Tally) -> Tally:
    """Return the difference of two tallies; where there was something, rounding leaves no less than nothing."""
    truth, label = one.truth - other.truth, one.label - other.label
    return Tally(
        np.where(one.truth >= 0, np.maximum(truth, 0), truth),
        np.where(one.label >= 0, np.maximum(label, 0), label),
        one.evidence - other.evidence,
    )


def _extended(fit: Fit, judges: int, topics: Names | None, rows: int) -> Params:
    """Return the params of a fit with new judges after those that it has, and with rows for new topics."""
    params = fit.params
    if params.unseen.size:
        prevalence = _topic_rows(params.prevalence, params.unseen, fit.topics, topics, rows)
        params = params._replace(prevalence=prevalence)
    more = judges - params.confusion.shape[0]
    if not more:
        return params
    confusion = np.concatenate([params.confusion, np.broadcast_to(params.population, (more, *params.population.shape))])
    if not params.skill.size:
        return params._replace(confusion=confusion)
    skill = np.concatenate([params.skill, np.broadcast_to(params.typical, (more, params.typical.size))])
    return params._replace(confusion=confusion, skill=skill)


def _topic_rows(rows: Floats, other: Floats, old: Names | None, new: Names | None, size: int) -> Floats:
    """Return rows of old topics (T, Z) with rows for new ones after them; items without a topic stay the last."""
    if old is None or new is None:
        return rows
    known, total = len(old), len(new)
    extended = np.repeat(other[None], size, axis=0)
    extended[:known] = rows[:known]
    if size > total and len(rows) > known:
        extended[total] = rows[known]
    return extended


class _Seen(NamedTuple):
    """What an update online has found."""

    params: Params
    tally: Tally
    told: Floats  # (C, K + E) of the items concerned
    right: Floats  # (J) by how much more each judge is right


def _online(task: _Task) -> Fit:
    """Return the fit with the items concerned looked at again, and no others."""
    fit, options, new = task.fit, task.options, task.new
    judgments = None if task.old is None else append(task.old, new)
    items, judges = len(new.names.items), len(new.names.judges)
    concerned = task.concerned
    seen = _remembered(task) if judgments is None else _looked_at(task, judgments)
    K = len(fit.scale)
    posterior, more = (
        _filled(before, items, concerned, found)
        for before, found in ((fit.posterior, seen.told[:, :K]), (fit.more, seen.told[:, K:]))
    )
    label = np.r_[fit.label, np.zeros(items - fit.label.size, np.int32)]
    label[concerned] = settled(posterior[concerned], new.names.items.gather(concerned), options)
    weight = np.ones(new.item.size) if new.weight is None else new.weight
    before = np.r_[fit.judged, np.zeros(judges - fit.judged.size, np.int64)]
    was = before.astype(float) if task.old is None or task.old.weight is None else _said(task.old, judges)
    said = was + np.bincount(new.judge, weight, judges)
    right = np.r_[fit.accuracy, np.zeros(judges - fit.accuracy.size)] * was + seen.right
    expected = np.einsum("k,jkk->j", seen.params.label_prevalence, seen.params.confusion)
    return replace(
        fit,
        items=new.names.items,
        judge_names=new.names.judges,
        topics=new.names.topics,
        topic=new.names.topic,
        posterior=frozen(posterior),
        more=frozen(more),
        label=frozen(label),
        gold=frozen(task.gold) if (task.gold >= 0).any() else None,
        params=Params(*map(frozen, seen.params)),
        judged=frozen(before + np.bincount(new.judge, minlength=judges)),
        accuracy=frozen(np.clip(np.divide(right, said, out=expected, where=said > 0), 0, 1)),
        evidence=(),
        passes=0,
        stopped=f"updated online with {new.item.size:,} judgments",
        judgments=judgments,
        tally=seen.tally,
    )


def _looked_at(task: _Task, judgments: Judgments) -> _Seen:
    """Return what the items concerned say, with all judgments on them."""
    fit, model, concerned = task.fit, task.model, task.concerned
    assert task.old is not None  # or there would be no judgments
    if model.hard:
        raise UsageError(f"model '{model.name}' is not updated online: it has no tally to go on from")
    was = concerned[concerned < len(fit.items)]
    (whole, topics), (old, _) = model.block(judgments, task.gold), model.block(task.old, fit.gold)
    before = select_items(task.old, fit.gold, was)._replace(topic=old.topic[was])
    few = select_items(judgments, task.gold, concerned)._replace(topic=whole.topic[concerned])
    begin = _extended(fit, few.judges, task.new.names.topics, topics)
    tally = fit.tally
    if tally is None:
        with ThreadPoolExecutor(task.workers or cores()) as pool:
            tally = total_over(parallel_blocks(old), pool)(model.assign, fit.params)
    rest = _widened(_without(tally, model.assign(before, fit.params)), few.judges)
    rest = _with_topics(rest, task, topics)
    now = _settled(model, few, begin, _lifted(model, _with(rest, model.assign(few, begin)), begin))
    params = model.estimate(now, begin)
    told = model.posterior(few, params)[0]
    right = _right(model, few, told[:, : few.labels])
    own = fit.posterior[was] if fit.calibration is None else model.posterior(before, fit.params)[0][:, : few.labels]
    right[: before.judges] -= _right(model, before, own)
    if fit.calibration is not None:
        told[:, : few.labels] = mixed(fit.calibration, told[:, : few.labels], few)
    return _Seen(params, now, told, right)


def _remembered(task: _Task) -> _Seen:
    """Return what the new judgments say of the items concerned, with what was believed of these before.

    What was counted for old judgments on them is left as it was: who gave them is not known any more.
    """
    fit, model, new, concerned = task.fit, task.model, task.new, task.concerned
    if not model.uses_matrices or (model.assignment is not None and model.assignment.assign is not None):
        raise UsageError(f"model '{model.name}' is updated only with its judgments: {UNKEPT.split(': ')[1]}")
    J, K = len(new.names.judges), len(fit.scale)
    size = np.bincount(np.searchsorted(concerned, new.item), minlength=concerned.size)
    few = Block(
        np.r_[0, np.cumsum(size)],
        new.judge.astype(np.uint32) * np.uint32(K) + new.label.astype(np.uint32),
        new.label,
        np.arange(concerned.size, dtype=np.int32),  # every item a topic of its own
        task.gold[concerned],
        np.empty(0) if new.weight is None else new.weight,
        J,
        K,
        np.array(fit.scale.values),
    )
    was = np.flatnonzero(concerned < len(fit.items))
    topic, topics = _topic_codes(model, new.names)
    begin = _extended(fit, J, new.names.topics, topics)
    rest = _widened(_believed(fit) if fit.tally is None else fit.tally, J)
    rest = _with_topics(rest, task, topics)
    believed = _by_topic(fit.posterior[concerned[was]], topic[concerned[was]], topics)
    rest = rest._replace(truth=np.maximum(rest.truth - believed, 0))
    params = _doubting(begin, np.unique(new.judge))
    for _ in range(ROUNDS):
        prior = params.prevalence[topic[concerned]]
        prior[was] = fit.posterior[concerned[was]]
        told = truth_posterior(few, prior, params.confusion)[0]
        now = _with(rest, count(few._replace(topic=topic[concerned]), told, topics))
        params = model.estimate(now, begin)
    right = _right(model, few, told)
    if fit.calibration is not None:  # what was believed of old items is calibrated already, and their votes are gone
        new_items = concerned >= len(fit.items)
        told = np.where(new_items[:, None], mixed(fit.calibration, told, few), told)
    return _Seen(params, now, told, right)


def _believed(fit: Fit) -> Tally:
    """Return what was counted, as far as a fit still tells: judges are taken to have seen truths as common as all."""
    truths = fit.judged[:, None] * fit.params.label_prevalence  # (J, K)
    T = len(fit.params.prevalence)
    topic = np.zeros(len(fit.items), np.int32) if T == 1 or fit.topic is None else fit.topic
    truth = _by_topic(fit.posterior, np.where(topic < 0, T - 1, topic), T)
    return Tally(truth, truths[:, :, None] * fit.params.confusion, 0.0)


def _topic_codes(model: Model, known: NameIndex) -> tuple[Codes, int]:
    """Return the row of the prevalence that each item has (I), and how many rows there are."""
    if not model.prevalence.by_topic or known.topics is None or known.topic is None:
        return np.zeros(len(known.items), np.int32), 1
    T, missing = len(known.topics), known.topic < 0
    return np.where(missing, T, known.topic).astype(np.int32), T + bool(missing.any())


def _by_topic(posterior: Floats, topic: Codes, topics: int) -> Floats:
    """Return the posterior summed over the items of each topic (T, K)."""
    if topics == 1:
        everything: Floats = posterior.sum(axis=0)[None]
        return everything
    total = np.zeros((topics, posterior.shape[1]))
    np.add.at(total, topic, posterior)
    return total


def _with_topics(tally: Tally, task: _Task, topics: int) -> Tally:
    """Return a tally with rows for new topics."""
    if not task.fit.params.unseen.size:
        return tally
    nothing = np.zeros(tally.truth.shape[1])
    return tally._replace(truth=_topic_rows(tally.truth, nothing, task.fit.topics, task.new.names.topics, topics))


def _widened(tally: Tally, judges: int) -> Tally:
    """Return a tally with room for new judges."""
    *before, J, Z, K = tally.label.shape  # a model may count several such tables
    return tally._replace(label=np.concatenate([tally.label, np.zeros((*before, judges - J, Z, K))], axis=-3))


def _filled(before: Floats, items: int, concerned: Codes, found: Floats) -> Floats:
    """Return rows of all items: those concerned as they were found, the others as before."""
    rows = np.zeros((items, found.shape[1]))
    rows[: len(before)] = before if before.size else 0.0
    rows[concerned] = found
    return rows


def _right(model: Model, block: Block, posterior: Floats) -> Floats:
    """Return how many right labels each judge gave on the items of a block (J)."""
    label = count(block, model.credit(posterior)).label
    right: Floats = np.trace(label, axis1=1, axis2=2).copy()
    return right


def _said(judgments: Judgments, judges: int) -> Floats:
    """Return how many judgments each judge gave, each as often as it counts (J)."""
    weight = np.ones(len(judgments)) if judgments.weight is None else judgments.weight
    counted: Floats = np.bincount(judgments.judge, weight, judges).astype(float)
    return counted


def _read(fit: Fit, new: Any) -> Judgments:
    """Return new judgments on the scale of a fit."""
    scale = fit.scale
    if isinstance(new, Judgments):
        judgments = new
    else:
        try:
            judgments = read(new, labels=scale.labels, ordinal=scale.ordinal)
        except InputError as error:
            raise other_advice(error) from error
    if judgments.scale.names != scale.names:
        given = quoted(judgments.scale.names)
        raise UsageError(f"the new judgments' labels {given} are not the fit's {quoted(scale.names)}{ADVICE}")
    return judgments


def other_advice(error: InputError) -> InputError:
    """Return the error about a label that is not on the scale with what can be done about it here."""
    return InputError(str(error).replace(EXTEND, ADVICE)) if EXTEND in str(error) else error


def _own(fit: Fit, judgments: Judgments | None) -> Judgments | None:
    """Return the judgments that a fit was made from in its codes: those given or, without any, those kept with it."""
    given = fit.judgments if judgments is None else judgments
    if given is None:
        return None
    return given if given is fit.judgments else in_codes_of(fit, given)


def _gold(fit: Fit, known: NameIndex, gold: Any) -> tuple[NameIndex, Codes]:
    """Return the names, with items that only gold knows, and what is known of all truths; refuse another truth."""
    told = _told(fit, len(known.items))
    if gold is None or (isinstance(gold, Mapping) and not gold):
        return known, told
    empty = np.zeros(0, np.int32)
    bare = Judgments(
        known.items,
        known.judges,
        fit.scale,
        np.zeros(len(known.items) + 1, np.int64),
        empty,
        empty.astype(np.uint8),
        known.topics,
        known.topic,
    )
    if isinstance(gold, np.ndarray):
        if gold.shape != told.shape:
            raise UsageError(f"gold codes have the shape {gold.shape}, and there are {told.size:,} items")
        table, more = bare, gold
    else:
        table, more = read_gold(gold, bare)
        told = _told(fit, len(table.items))
    other = np.flatnonzero((told >= 0) & (more >= 0) & (told != more))
    if other.size:
        i = int(other[0])
        was, now = (fit.scale.names[int(codes[i])] for codes in (told, more))
        raise UsageError(
            f"gold: item {quote(table.items[i])} has the truth {quote(now)}, and the fit was told {quote(was)}"
        )
    return known._replace(items=table.items, topic=table.topic), np.where(more >= 0, more, told)


def _told(fit: Fit, items: int) -> Codes:
    """Return the truths that a fit was told, of so many items."""
    known = np.full(items, -1, np.int32)
    if fit.gold is not None:
        known[: fit.gold.size] = fit.gold
    return known


def _refuse_sampled(fit: Fit, options: Options) -> None:
    """Refuse a fit of draws: those of an old posterior are none of a new one."""
    if fit.draws is not None or options.inference == "gibbs":
        climbed = " (inference 'map' climbs, and can be updated)" if "map" in fit.definition.inferences else ""
        raise UsageError(
            f"a fit of '{fit.model}' that was sampled is not updated, its draws are of another posterior: "
            f"fit all judgments anew{climbed}"
        )

"""``update``: a fit, and judgments that came after it.

What EM needs of judgments is their tally, and tallies of disjoint items add up (Neal & Hinton 1998). New judgments
concern few items at first: the counts of these items are subtracted from the tally, and their new counts added, a few
times. That is all of an online update. An exact one then passes over all judgments from there, until no more is left to
gain than where a fit from the start ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.encode import EXTEND
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments, NameIndex, Names, NewJudgments, append, match_names, select_items
from adjudge.data.read import read
from adjudge.errors import InputError, UsageError, in_words_of_caller, quote, quoted
from adjudge.inference.calibration import mixed
from adjudge.inference.em import EmResult, Progress, approach, maximise
from adjudge.inference.fit import calibrate_finished
from adjudge.inference.fitted import in_codes_of
from adjudge.inference.infer import (
    cores,
    em_rules,
    fit_record,
    infer,
    mix_even,
    parallel_blocks,
    posterior_over,
    settled,
    total_over,
)
from adjudge.inference.model import Model
from adjudge.inference.options import Options, options_of
from adjudge.inference.params import Params, accurate
from adjudge.inference.people import weigh_evidence
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit
from adjudge.kernels.block import Block, Tally, add, subtract
from adjudge.kernels.truth import FLOOR, count, truth_posterior

ROUNDS = 10  # EM steps over the items concerned, which converge in fewer
# A fit from the start is made as well, and the one with the higher evidence taken, below SMALL judgments (it is fast),
# above a share MUCH of new judgments, and below DENSE judgments per cell of a judge's matrix (EM has many optima).
SMALL, MUCH, DENSE = 250_000, 0.005, 60
TINY, GROWING = 0.5, 1.1  # a cell with fewer judgments that grows by this factor is growing from zero
ADVICE = " (a fit keeps its scale: fit all judgments again with --labels to extend it)"
UNKEPT = (
    "the judgments that the fit was made from are not saved with it: give them with --data, "
    "or update with --online, which does without"
)


def update(
    fit: Fit | str | PathLike[str],
    new: Any,
    judgments: Any = None,
    gold: Any = None,
    *,
    online: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Fit:
    """Return the fit of the judgments that a fit was made from together with new ones.

    Parameters
    ----------
    fit
        A fit by EM, or the folder of a saved one.
    new
        New judgments: a ``Judgments``, a frame, or a path. They may be by new judges, and on new items and topics;
        names are matched with those of the fit.
    judgments
        The judgments that the fit was made from, if they are not saved with it: a ``Judgments``, a frame, or a path.
    gold
        More known truths, in addition to those of the fit.
    online
        Whether only the items of new judgments are inferred again: all others keep their posterior, calibration stays
        as it was, and the evidence is not computed. Otherwise EM runs over all judgments until less than the fit's
        tolerance is left to gain, and a calibrated fit is calibrated again.
    workers, progress
        As those of ``fit``.

    Returns
    -------
    Fit
        The new fit; the given one is not changed.

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> first, rest = judgments.take(range(200)), judgments.take(range(200, len(judgments)))
    >>> fit = adjudge.fit(first, "dawid-skene")
    >>> adjudge.update(fit, rest, first)
    Fit(dawid-skene: 45 items, 5 judges; converged, log evidence -189.41)
    """
    fit = read_fit(fit, new)
    options = options_of(fit.options)
    _refuse_sampled(fit, options)
    more = match_names(NameIndex(fit.items, fit.judge_names, fit.topics, fit.topic, fit.panel), _read(fit, new))
    if judgments is not None and not isinstance(judgments, Judgments):
        judgments = _read(fit, judgments)
    old = _fitted_judgments(fit, judgments)
    if old is None and not online:
        raise UsageError(UNKEPT)
    names, truths = _gold(fit, more.names, gold)
    more = more._replace(names=names)
    if not more.item.size and (truths[: len(fit.items)] == _known_truths(fit, len(fit.items))).all():
        return fit
    task = _Task(fit, fit.definition, options, more, old, truths, workers, progress)
    return _online(task) if online else _exact(task)


class _Task(NamedTuple):
    """What is updated, and how."""

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
        """The items with new judgments or gold (C), ascending."""
        news = np.zeros(len(self.new.names.items), bool)
        news[self.new.item] = True
        news[len(self.fit.items) :] = True
        news |= self.gold != _known_truths(self.fit, news.size)
        return np.flatnonzero(news)


def _exact(task: _Task) -> Fit:
    """Return the fit of EM over all judgments, started at the earlier fit."""
    fit, model, options, new, old, gold, workers, progress = task
    assert old is not None  # refused before
    judgments, tally = append(old, new), None
    plain = replace(options, calibrate="none")
    if model.hard or model.rounds is not None:  # its result depends on the start, which must be that of a fit
        result = infer(model, judgments, gold, plain, workers=workers, progress=progress)
    else:
        result, tally = _maximised(task, judgments)
        if _doubtful(judgments, new) and result.stopped != "interrupted":
            other = infer(model, judgments, gold, plain, workers=workers, progress=progress)
            if other.evidence[-1] > result.evidence[-1]:
                result, tally = replace(other, passes=result.passes + other.passes), None
            elif other.stopped == "interrupted":  # it might have ended at a higher evidence
                result = replace(result, stopped=other.stopped)
    result = calibrate_finished(result, judgments, gold, options.calibrate)
    return replace(result, reason=fit.reason, kind=fit.kind, options=fit.options, judgments=judgments, tally=tally)


def _doubtful(judgments: Judgments, new: NewJudgments) -> bool:
    """Whether EM from the start may well end at a higher evidence than from an earlier fit."""
    size, cells = len(judgments), len(judgments.judges) * len(judgments.scale) ** 2
    return size < max(SMALL, DENSE * cells) or new.item.size > MUCH * size


def _maximised(task: _Task, judgments: Judgments) -> tuple[Fit, Tally | None]:
    """Return the fit of EM from an earlier one, and its last tally if there is one."""
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
        outcome = EmResult(estimate(near.tally), near.evidence, near.passes + 1, near.stopped)
        if not near.stopped:
            outcome = maximise(step, outcome.params, rules, progress)
            outcome = outcome._replace(passes=outcome.passes + near.passes + 1)
        posterior, evidence = posterior_over(model, blocks, outcome.params, pool)
    outcome = outcome._replace(evidence=(*outcome.evidence, evidence))
    return fit_record(model, judgments, block, outcome, posterior, options), near.tally if near.stopped else None


def _settled(model: Model, few: Block, begin: Params, tally: Tally) -> Tally:
    """Return the tally of all items after EM over the items concerned alone.

    ``tally`` is that of all items under the params to begin with, new judgments included.
    """
    rest = subtract(tally, model.assign(few, begin))
    params = _doubting(begin, np.unique(few.cell // few.labels))
    for _ in range(ROUNDS):
        now = add((rest, model.assign(few, params)))
        params = model.estimate(now, begin)
    return now


def _lifted(model: Model, tally: Tally, params: Params, growing: float = GROWING) -> Tally:
    """Return the tally with growing cells that are close to zero set to half a judgment.

    EM multiplies: a cell that was zero before, and no longer is, would take many passes to grow.
    """
    if not model.uses_matrices:
        return tally
    label = tally.label
    expected = label.sum(axis=2, keepdims=True) * np.maximum(params.confusion, FLOOR)
    grows = (label < TINY) & (label >= growing * expected)
    return tally._replace(label=np.where(grows, TINY, label))


def _doubting(params: Params, judges: Codes) -> Params:
    """Return params with no zeros in the matrices of these judges."""
    confusion = params.confusion.copy()
    confusion[judges] = mix_even(confusion[judges], accurate(1, confusion.shape[2]).population)
    return params._replace(confusion=confusion)


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
    before, total = len(old), len(new)
    extended = np.repeat(other[None], size, axis=0)
    extended[:before] = rows[:before]
    if size > total and len(rows) > before:
        extended[total] = rows[before]
    return extended


class _OnlineResult(NamedTuple):
    """What an online update computes."""

    params: Params
    tally: Tally
    values: Floats  # (C, K + E) of the items concerned
    right: Floats  # (J) by how much more each judge is right


def _online(task: _Task) -> Fit:
    """Return the fit with the items concerned inferred again, and no others."""
    fit, options, new = task.fit, task.options, task.new
    judgments = None if task.old is None else append(task.old, new)
    items, judges = len(new.names.items), len(new.names.judges)
    concerned = task.concerned
    if fit.calibration is not None:
        position = np.where(np.arange(judges) < len(fit.judge_names), np.arange(judges), -1)
        calibration = fit.calibration.of_judges(position, fit.params.population, fit.panel, new.names.panel)
        fit = replace(fit, calibration=calibration)
        task = task._replace(fit=fit)
    result = _online_from_memory(task) if judgments is None else _online_exact(task, judgments)
    K = len(fit.scale)
    posterior, more = (
        _filled(before, items, concerned, updated)
        for before, updated in ((fit.posterior, result.values[:, :K]), (fit.more, result.values[:, K:]))
    )
    label = np.r_[fit.label, np.zeros(items - fit.label.size, np.int32)]
    label[concerned] = settled(posterior[concerned], new.names.items.gather(concerned), options)
    weight = np.ones(new.item.size) if new.weight is None else new.weight
    before = np.r_[fit.judged, np.zeros(judges - fit.judged.size, np.int64)]
    was = before.astype(float) if task.old is None or task.old.weight is None else _judgment_weights(task.old, judges)
    total = was + np.bincount(new.judge, weight, judges)
    right = np.r_[fit.accuracy, np.zeros(judges - fit.accuracy.size)] * was + result.right
    expected = np.einsum("k,jkk->j", result.params.label_prevalence, result.params.confusion)
    return replace(
        fit,
        items=new.names.items,
        judge_names=new.names.judges,
        panel=new.names.panel,
        topics=new.names.topics,
        topic=new.names.topic,
        posterior=frozen(posterior),
        more=frozen(more),
        label=frozen(label),
        gold=frozen(task.gold) if (task.gold >= 0).any() else None,
        params=Params(*map(frozen, result.params)),
        judged=frozen(before + np.bincount(new.judge, minlength=judges)),
        accuracy=frozen(np.clip(np.divide(right, total, out=expected, where=total > 0), 0, 1)),
        evidence=(),
        passes=0,
        stopped=f"updated online with {new.item.size:,} judgments",
        judgments=judgments,
        tally=result.tally,
    )


def _online_exact(task: _Task, judgments: Judgments) -> _OnlineResult:
    """Return the result of EM over the items concerned, with all judgments on them."""
    fit, model, concerned = task.fit, task.model, task.concerned
    assert task.old is not None  # or there would be no judgments
    if model.hard:
        raise UsageError(f"model '{model.name}' cannot be updated online: its hard assignments leave no tally")
    was = concerned[concerned < len(fit.items)]
    (all_items, topics), (old, _) = model.block(judgments, task.gold), model.block(task.old, fit.gold)
    before = select_items(model.weighed(task.old), fit.gold, was)._replace(topic=old.topic[was])
    few = select_items(model.weighed(judgments), task.gold, concerned)._replace(topic=all_items.topic[concerned])
    begin = _extended(fit, few.judges, task.new.names.topics, topics)
    tally = fit.tally
    if tally is None:
        with ThreadPoolExecutor(task.workers or cores()) as pool:
            tally = total_over(parallel_blocks(old), pool)(model.assign, fit.params)
    rest = _widened(subtract(tally, model.assign(before, fit.params)), few.judges)
    rest = _with_topics(rest, task, topics)
    now = _settled(model, few, begin, _lifted(model, add((rest, model.assign(few, begin))), begin))
    params = model.estimate(now, begin)
    values = model.posterior(few, params)[0]
    posterior = values[:, : few.labels].copy()
    if fit.calibration is not None:
        values[:, : few.labels] = mixed(fit.calibration, posterior, few)
    if _follows(fit):
        right = _right(model, select_items(judgments, task.gold, concerned), values[:, : few.labels])
        right[: before.judges] -= _right(model, select_items(task.old, fit.gold, was), fit.posterior[was])
        return _OnlineResult(params, now, values, right)
    right = _right(model, few, posterior)
    values_before = (
        fit.posterior[was] if fit.calibration is None else model.posterior(before, fit.params)[0][:, : few.labels]
    )
    right[: before.judges] -= _right(model, before, values_before)
    return _OnlineResult(params, now, values, right)


def _follows(fit: Fit) -> bool:
    """Return whether the judges of a fit were counted under its calibrated probabilities."""
    return fit.calibration is not None and bool(fit.calibration.confusion.size)


def _online_from_memory(task: _Task) -> _OnlineResult:
    """Return the result of EM over new judgments alone, with the earlier posterior as the prior of old items.

    The counts of old judgments stay as they were, because their judges are not known without the judgments.
    """
    fit, model, new, concerned = task.fit, task.model, task.new, task.concerned
    if not model.uses_matrices or (model.assignment is not None and model.assignment.assign is not None):
        raise UsageError(
            f"model '{model.name}' cannot be updated without the judgments that the fit was made from: give them "
            "with --data"
        )
    J, K = len(new.names.judges), len(fit.scale)
    size = np.bincount(np.searchsorted(concerned, new.item), minlength=concerned.size)
    few = Block(
        np.r_[0, np.cumsum(size)],
        new.judge.astype(np.uint32) * np.uint32(K) + new.label.astype(np.uint32),
        new.label,
        np.arange(concerned.size, dtype=np.int32),  # every item a topic of its own
        task.gold[concerned],
        _new_weights(task),
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
        values = truth_posterior(few, prior, params.confusion)[0]
        now = add((rest, count(few._replace(topic=topic[concerned]), values, topics)))
        params = model.estimate(now, begin)
    posterior = values
    if fit.calibration is not None:  # old items are calibrated already, and their votes are not known
        new_items = concerned >= len(fit.items)
        values = np.where(new_items[:, None], mixed(fit.calibration, values, few), values)
    all_count = few._replace(weight=np.empty(0) if new.weight is None else new.weight)
    right = _right(model, all_count, values) if _follows(fit) else _right(model, few, posterior)
    return _OnlineResult(params, now, values, right)


def _new_weights(task: _Task) -> Floats:
    """Return how much each new judgment counts (N), empty if all count the same."""
    fit, new = task.fit, task.new
    if not task.model.by_kind or new.names.panel is None:
        return np.empty(0) if new.weight is None else new.weight
    learned = None if fit.calibration is None else fit.calibration.gold_map
    all_fitted = np.zeros(len(new.names.judges), np.int64)
    tier = all_fitted if learned is None or not learned.tier.size else learned.tier
    return weigh_evidence(new.item, new.judge, new.names.panel, tier, new.weight)


def _believed(fit: Fit) -> Tally:
    """Return an approximate tally from a fit alone: each judge's items are taken to have the prevalence of all."""
    truths = fit.judged[:, None] * fit.params.label_prevalence  # (J, K)
    T = len(fit.params.prevalence)
    topic = np.zeros(len(fit.items), np.int32) if T == 1 or fit.topic is None else fit.topic
    truth = _by_topic(fit.posterior, np.where(topic < 0, T - 1, topic), T)
    return Tally(truth, truths[:, :, None] * fit.params.confusion, 0.0)


def _topic_codes(model: Model, names: NameIndex) -> tuple[Codes, int]:
    """Return the row of the prevalence that each item has (I), and how many rows there are."""
    if not model.prevalence.by_topic or names.topics is None or names.topic is None:
        return np.zeros(len(names.items), np.int32), 1
    T, missing = len(names.topics), names.topic < 0
    return np.where(missing, T, names.topic).astype(np.int32), T + bool(missing.any())


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
    """Return a tally with rows for new judges."""
    *before, J, Z, K = tally.label.shape  # a model may count several such tables
    return tally._replace(label=np.concatenate([tally.label, np.zeros((*before, judges - J, Z, K))], axis=-3))


def _filled(before: Floats, items: int, concerned: Codes, updated: Floats) -> Floats:
    """Return rows of all items: the updated ones of the items concerned, the others as before."""
    rows = np.zeros((items, updated.shape[1]))
    rows[: len(before)] = before if before.size else 0.0
    rows[concerned] = updated
    return rows


def _right(model: Model, block: Block, posterior: Floats) -> Floats:
    """Return how many right labels each judge gave on the items of a block (J)."""
    label = count(block, model.credit(posterior)).label
    right: Floats = np.trace(label, axis1=1, axis2=2).copy()
    return right


def _judgment_weights(judgments: Judgments, judges: int) -> Floats:
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
            judgments = read(new, labels=scale)
        except InputError as error:
            raise other_advice(error) from error
    if judgments.scale.names != scale.names:
        labels = quoted(judgments.scale.names)
        raise UsageError(f"the new judgments' labels {labels} are not the fit's {quoted(scale.names)}{ADVICE}")
    return judgments


def other_advice(error: InputError) -> InputError:
    """Return the error about a label that is not on the scale, with advice that fits an update."""
    advice = in_words_of_caller(EXTEND)
    return InputError(str(error).replace(advice, ADVICE)) if advice in str(error) else error


def _fitted_judgments(fit: Fit, judgments: Judgments | None) -> Judgments | None:
    """Return the judgments that a fit was made from, in its codes: the argument, or those saved with the fit."""
    source = fit.judgments if judgments is None else judgments
    if source is None:
        return None
    return source if source is fit.judgments else in_codes_of(fit, source)


def _gold(fit: Fit, names: NameIndex, gold: Any) -> tuple[NameIndex, Codes]:
    """Return the names, with items that only gold has, and all known truths; refuse a contradiction."""
    truths = _known_truths(fit, len(names.items))
    if gold is None or (isinstance(gold, Mapping) and not gold):
        return names, truths
    empty = np.zeros(0, np.int32)
    bare = Judgments(
        names.items,
        names.judges,
        fit.scale,
        np.zeros(len(names.items) + 1, np.int64),
        empty,
        empty.astype(np.uint8),
        names.topics,
        names.topic,
    )
    if isinstance(gold, np.ndarray):
        if gold.shape != truths.shape:
            raise UsageError(f"gold codes have the shape {gold.shape}, and there are {truths.size:,} items")
        table, more = bare, gold
    else:
        table, more = read_gold(gold, bare)
        truths = _known_truths(fit, len(table.items))
    other = np.flatnonzero((truths >= 0) & (more >= 0) & (truths != more))
    if other.size:
        i = int(other[0])
        was, now = (fit.scale.names[int(codes[i])] for codes in (truths, more))
        raise UsageError(f"gold: item {quote(table.items[i])} has the truth {quote(now)}, and the fit has {quote(was)}")
    return names._replace(items=table.items, topic=table.topic), np.where(more >= 0, more, truths)


def _known_truths(fit: Fit, items: int) -> Codes:
    """Return the known truths of a fit, for a number of items."""
    truths = np.full(items, -1, np.int32)
    if fit.gold is not None:
        truths[: fit.gold.size] = fit.gold
    return truths


def _refuse_sampled(fit: Fit, options: Options) -> None:
    """Refuse a sampled fit: its draws are from the posterior of other judgments."""
    if fit.draws is not None or options.inference == "gibbs":
        advice = "; inference 'map' can be updated" if "map" in fit.definition.inferences else ""
        raise UsageError(
            f"a sampled fit of '{fit.model}' cannot be updated, because its draws are from the posterior of other "
            f"judgments: fit all judgments again{advice}"
        )

"""A fit in words: what it found, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import quoted
from adjudge.inference.calibrate import doubt
from adjudge.inference.fitted import in_codes_of
from adjudge.metrics.agreement import agreement
from adjudge.reports.case import MOST_ITEMS

if TYPE_CHECKING:
    from adjudge.diagnostics.judges import Card
    from adjudge.reports.case import Case


SURE = 0.95  # probability from which a label is certain
WEAK = 0.2  # Youden's J, at the high end of the interval, below which a judge is weak
DRAWS = 100  # for the agreement, whose intervals are not used
FEW = 10  # judgments below which a judge is not mentioned
NAMED = 5  # judges or items that are named in a line, at most
COSTLY, MOST_CONFUSIONS = 0.1, 3  # share of all errors from which a confusion is mentioned, and how many are


def opening(case: Case) -> list[str]:
    """Say what was judged, and how certain the labels are.

    Returns
    -------
    list of str
        One sentence each: the size of the data, the certainty of labels, how often the vote is overruled, how many
        labels are right where a truth is known that the fit did not use, how much judges agree, whether probabilities
        are calibrated and, if it has not, that the fit has not converged.

    Examples
    --------
    >>> import adjudge
    >>> from adjudge.reports.case import build_case
    >>> judgments = adjudge.dataset("anesthesia")
    >>> opening(build_case(adjudge.fit(judgments, "dawid-skene"), judgments))[0]
    "315 judgments of 45 items by 5 judges; labels '1', '2', '3', '4'."
    """
    fit, judgments = case.fit, case.judgments
    topics = "" if fit.topics is None else f" on {_many(len(fit.topics), 'topic')}"
    size = f"{_many(len(judgments), 'judgment')} of {_many(len(judgments.items), 'item')}{topics}"
    lines = [f"{size} by {_many(len(fit.judge_names), 'judge')}; labels {quoted(fit.scale.names)}."]
    chance = fit.posterior[np.arange(fit.label.size), fit.label]
    if chance.size:
        sure = int((chance >= SURE).sum())
        lines.append(
            f"{sure:,} of {chance.size:,} labels ({sure / chance.size:.0%}) have a probability of at least {SURE:.0%}; "
            f"the expected share of right labels is {chance.mean():.1%}."
        )
        against = int(case.overruled.sum())
        lines.append(f"The consensus differs from the vote on {_many(against, 'item')} ({against / chance.size:.1%}).")
    if case.unused_truths is not None and case.unused_truths[0].size:
        truth, posterior = case.unused_truths
        right = float((posterior.argmax(axis=1) == truth).mean())
        lines.append(f"Of {_many(truth.size, 'label')} whose truth the fit did not use, {right:.1%} are right.")
        hits = int((posterior.argmax(axis=1) == truth).sum())
        warning = "" if fit.calibration is None else fit.calibration.contradicted(hits, truth.size)
        lines += [f"{warning}."] if warning else []
    if len(fit.scale) > 1:
        text = agreement(judgments, draws=DRAWS).sentence
        lines.append(f"{text[:1].upper()}{text[1:]}.")
    lines += _calibration_lines(case)
    if not fit.converged:
        lines.append(f"Warning: the fit has not converged ({fit.stopped}); all results are provisional.")
    return lines


def _calibration_lines(case: Case) -> list[str]:
    """Return how probabilities were calibrated, or that those of a model are not to be believed."""
    fit = case.fit
    if fit.calibration is not None:
        return [f"{fit.calibration.words[:1].upper()}{fit.calibration.words[1:]}."]
    reason = doubt(fit, in_codes_of(fit, case.judgments))
    return [f"Warning: {reason}."] if reason else []


def actions(case: Case) -> list[str]:
    """Say what to do, the most important first.

    Returns
    -------
    list of str
        One sentence each: judges who are weak or wrong on purpose, judges who copy or changed, confusions that the
        guidelines should address, and items that deserve a second look. Empty if nothing needs to be done.
    """
    return [*_judge_lines(case), *_watch_lines(case), *_guideline_lines(case), *_item_lines(case)]


def _judge_lines(case: Case) -> list[str]:
    """Return what to do about weak and adversarial judges."""
    cards = [card for card in case.cards if card.judgments >= FEW]
    opposed = [card for card in cards if _is_opposed(card)]
    weak = [card for card in cards if card.informedness.high < WEAK and not _is_opposed(card)]
    lines = [
        _judge_line(case, opposed, "Wrong more often than chance", "Ask whether they mix up the labels."),
        _judge_line(case, weak, "Hardly better than chance at best", "Train them, or end their work."),
    ]
    return [line for line in lines if line]


def _is_opposed(card: Card) -> bool:
    """Whether a judge is wrong more often than chance, and probably on purpose or by a mix-up."""
    return card.informedness.high < 0 and card.p_adversarial > 0.5


def _judge_line(case: Case, cards: Sequence[Card], claim: str, advice: str) -> str:
    """Return a line about some judges, an empty text if there are none."""
    if not cards:
        return ""
    busiest = sorted(cards, key=lambda card: -card.judgments)
    names = quoted(card.judge for card in busiest[:NAMED])
    more = f" and {len(cards) - NAMED:,} more" if len(cards) > NAMED else ""
    share = sum(card.judgments for card in cards) / max(len(case.judgments), 1)
    judges = f"{_many(len(cards), 'judge')} with at least {FEW} judgments"
    return f"{claim}: {judges} ({names}{more}; {share:.0%} of the work). {advice}"


def _watch_lines(case: Case) -> list[str]:
    """Return what to ask judges who copy or changed."""
    lines = []
    if case.collusion is not None and case.collusion.flagged.any():
        lines.append(f"{case.collusion.sentence} Check whether one copies from the other.")
    if case.drift is not None and case.drift.flagged.any():
        lines.append(f"{case.drift.sentence} Ask what happened then.")
    if case.new_work is not None and case.new_work.flagged.any():
        lines.append(case.new_work.sentence)
    return lines


def _guideline_lines(case: Case) -> list[str]:
    """Return the most costly confusions, if they cost enough."""
    return [each.sentence for each in case.confusions if each.share >= COSTLY][:MOST_CONFUSIONS]


def _item_lines(case: Case) -> list[str]:
    """Return what to do about items."""
    lines = []
    doubtful, helpful = case.second_looks.gold, case.second_looks.helpful
    if doubtful:
        names = quoted(look.item for look in doubtful[:NAMED])
        at_least = "at least " if len(doubtful) == MOST_ITEMS else ""
        also = " and more" if len(doubtful) > NAMED else ""
        lines.append(
            f"The judges are sure of another label than gold for {at_least}{_many(len(doubtful), 'item')} "
            f"({names}{also}): check whether gold is right."
        )
    if helpful:
        names = quoted(look.item for look in helpful[:NAMED])
        lines.append(f"If you can collect more judgments, start with {names} and the other items listed below.")
    return lines


def _many(count: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"

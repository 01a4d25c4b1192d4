"""A fit in words: what was found, and what is to be done about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjudge.errors import quoted
from adjudge.inference.dependence import dependence, knows_items, yardstick
from adjudge.metrics.agreement import agreement
from adjudge.reports.case import MOST_ITEMS

if TYPE_CHECKING:
    from adjudge.reports.case import Case


SURE = 0.95  # the chance from which an answer is sure
LITTLE = 0.2  # informedness that a judge is worth little below, at the high end of the interval
FEWEST = 100  # draws for the agreement, whose intervals are not told
FEW = 10  # judgments below which a judge is not spoken of
NAMED = 5  # judges or items, at most, that are named in a line
CORRELATED = 3.0  # z score above which the report warns of correlated errors
COSTLY, MOST_CONFUSIONS = 0.1, 3  # share of all errors from which a confusion is told, and how many are


def opening(case: Case) -> list[str]:
    """Return what there is, and how sure the answers are."""
    fit, judgments = case.fit, case.judgments
    topics = "" if fit.topics is None else f" on {_many(len(fit.topics), 'topic')}"
    whole = f"{_many(len(judgments), 'judgment')} of {_many(len(judgments.items), 'item')}{topics}"
    lines = [f"{whole} by {_many(len(fit.judge_names), 'judge')}; labels {quoted(fit.scale.names)}."]
    chance = fit.posterior[np.arange(fit.label.size), fit.label]
    if chance.size:
        sure = int((chance >= SURE).sum())
        lines.append(
            f"{sure:,} of {chance.size:,} answers ({sure / chance.size:.0%}) are at least {SURE:.0%} sure; "
            f"expected share of right answers: {chance.mean():.1%}."
        )
        against = int(case.overruled.sum())
        lines.append(f"On {_many(against, 'item')} ({against / chance.size:.1%}) the consensus overrules the vote.")
    if case.checked is not None and case.checked[0].size:
        truth, posterior = case.checked
        right = float((posterior.argmax(axis=1) == truth).mean())
        lines.append(f"Held against {_many(truth.size, 'truth')} that the fit was not told, {right:.1%} are right.")
    if len(fit.scale) > 1:
        told = agreement(judgments, draws=FEWEST).sentence
        lines.append(f"{told[:1].upper()}{told[1:]}.")
    lines += _surety(case)
    if not fit.converged:
        lines.append(f"Beware: the inference has not come to rest ({fit.stopped}); what follows is provisional.")
    return lines


def _surety(case: Case) -> list[str]:
    """Return whether probabilities mean what they say, as far as judgments can tell."""
    fit = case.fit
    if fit.calibration is not None:
        return [f"{fit.calibration.words[:1].upper()}{fit.calibration.words[1:]}."]
    if len(fit.scale) < 2 or not len(case.judgments) or knows_items(fit.definition):
        return []
    known = case.block.gold if fit.gold is not None else None
    z = dependence(case.judgments, known, yardstick(case.judgments, known, fit)).z
    if z < CORRELATED:
        return []
    return [
        f"Beware: errors of judges are more correlated than the model assumes (z {z:.1f}), so that its probabilities "
        "are over-confident: fit with --calibrate judgments or, with gold, --calibrate gold."
    ]


def actions(case: Case) -> list[str]:
    """Return what is to be done, what is most worth doing first."""
    return [*_judges(case), *_watch(case), *_guidelines(case), *_items(case)]


def _judges(case: Case) -> list[str]:
    """Return what is to be done about judges."""
    known = [card for card in case.cards if card.judgments >= FEW]
    total = max(len(case.judgments), 1)
    opposed = [card for card in known if card.informedness.high < 0 and card.p_adversarial > 0.5]
    lost = [card for card in known if card.informedness.high < LITTLE and card not in opposed]
    lines = []
    for cards, what in (
        (opposed, "say the opposite of the truth more often than chance would: ask whether they mix up the labels"),
        (lost, "are hardly better than chance at best: train them, or let them go"),
    ):
        if cards:
            busiest = sorted(cards, key=lambda card: -card.judgments)
            names = quoted(card.judge for card in busiest[:NAMED])
            more = f" and {len(cards) - NAMED:,} more" if len(cards) > NAMED else ""
            work = sum(card.judgments for card in cards)
            lines.append(
                f"{_many(len(cards), 'judge')} of {FEW} judgments or more ({names}{more}; {work / total:.0%} of the "
                f"work) {what}."
            )
    return lines


def _watch(case: Case) -> list[str]:
    """Return what is to be asked of judges who copy or changed."""
    lines = []
    if case.pairs is not None and case.pairs.flagged.any():
        lines.append(f"{case.pairs.sentence} Look whether one copies from the other.")
    if case.changes is not None and case.changes.flagged.any():
        lines.append(f"{case.changes.sentence} Ask what happened then.")
    if case.new_work is not None and case.new_work.flagged.any():
        lines.append(case.new_work.sentence)
    return lines


def _guidelines(case: Case) -> list[str]:
    """Return the confusions that cost most, where they cost much."""
    return [each.sentence for each in case.confusions if each.share >= COSTLY][:MOST_CONFUSIONS]


def _items(case: Case) -> list[str]:
    """Return what is to be done about items."""
    lines = []
    if case.looks.gold:
        names, more = quoted(look.item for look in case.looks.gold[:NAMED]), ""
        if len(case.looks.gold) == MOST_ITEMS:
            more = " or more"
        also = " and more" if len(case.looks.gold) > NAMED else ""
        lines.append(
            f"The crowd alone is sure of another label than the gold of {_many(len(case.looks.gold), 'item')}{more} "
            f"({names}{also}): look whether the gold is right."
        )
    if case.looks.helpful:
        names = quoted(look.item for look in case.looks.helpful[:NAMED])
        lines.append(f"If there is money for more judgments, they tell most of {names} and the others listed below.")
    return lines


def _many(count: int, what: str) -> str:
    """Return a number of things."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"

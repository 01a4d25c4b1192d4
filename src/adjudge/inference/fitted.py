"""The judgments that a fit was made from, in the codes of the fit: its judges, items, topics and gold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adjudge.arrays import Codes, frozen
from adjudge.data.judgments import Judgments, Names, abstentions_by, from_codes, places
from adjudge.data.panel import extend_panel
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block


def as_fitted(fit: Fit, judgments: Judgments) -> Block:
    """Return the judgments in the codes of a fit; refuse those that it was not made from.

    Parameters
    ----------
    fit
        The fit.
    judgments
        The judgments that it was made from, read again: names may have other codes.

    Returns
    -------
    Block
        The judgments with the judges, the gold and the topics of the fit; items are in the order of the judgments.
    """
    judge, item = _met("judge", judgments.judges, fit.judge_names), _met("item", judgments.items, fit.items)
    counts = np.bincount(judge[judgments.judge], minlength=len(fit.judge_names))
    if (counts != fit.judged).any():
        raise UsageError(
            f"the fit was not made from these judgments: it has {fit.judged.sum():,} and these are {counts.sum():,}, "
            "or not as many of each judge"
        )
    gold = None if fit.gold is None else fit.gold[item]
    recoded = replace(judgments, judges=fit.judge_names, judge=frozen(judge[judgments.judge]), panel=fit.panel)
    block = recoded.block(gold)
    if fit.topic is None or fit.params.prevalence.shape[0] == 1:
        return block
    topic = fit.topic[item]
    return block._replace(topic=np.where(topic < 0, fit.params.prevalence.shape[0] - 1, topic))


def in_codes_of(fit: Fit, judgments: Judgments) -> Judgments:
    """Return the judgments that a fit was made from with the items and judges of the fit, in its order."""
    if judgments.scale.names != fit.scale.names:
        labels = quoted(judgments.scale.names)
        raise UsageError(f"the fit was not made from these judgments: their labels are {labels}")
    items = fit.items.head(len(judgments.items))  # gold may have more items, which nobody judged
    alike = judgments.items.equals(items) and judgments.judges.equals(fit.judge_names)
    if alike and (np.bincount(judgments.judge, minlength=fit.judged.size) == fit.judged).all():
        panel = extend_panel(fit.panel, judgments.panel, np.arange(fit.judged.size), fit.judge_names)
        return replace(judgments.with_items(fit.items.slice(len(items))), panel=panel)
    as_fitted(fit, judgments)  # refuses unknown names
    item, judge = places(judgments.items, fit.items), places(judgments.judges, fit.judge_names)
    return from_codes(
        item[judgments.item()],
        judge[judgments.judge],
        judgments.label,
        items=fit.items,
        judges=fit.judge_names,
        scale=fit.scale,
        topics=fit.topics,
        topic=fit.topic,
        weight=judgments.weight,
        time=judgments.time,
        kind=fit.kind,
        panel=extend_panel(fit.panel, judgments.panel, judge, fit.judge_names),
        abstained=abstentions_by(judgments.abstained, judge, len(fit.judge_names)),
    )


def gold_informed(fit: Fit) -> bool:
    """Whether gold informed prevalence in a fit."""
    prior = fit.options.get("prior")
    return prior is None or bool(prior["gold_informs"])


def refuse_other_gold(first: Fit, other: Fit) -> None:
    """Refuse to compare fits with different gold: they do not predict the same."""
    truths = [
        {} if fit.gold is None else dict(zip(fit.items, fit.gold.tolist(), strict=True)) for fit in (first, other)
    ]
    gold = [{item: truth for item, truth in each.items() if truth >= 0} for each in truths]
    if gold[0] != gold[1] or (gold[0] and gold_informed(first) != gold_informed(other)):
        raise UsageError(
            "the two fits have different gold, or differ in whether it informs prevalence: fit both with the same gold"
        )


def _met(role: str, names: Names, known_names: Names) -> Codes:
    """Return the positions of names in a fit; refuse a name that it does not have."""
    position = places(names, known_names)
    strange = np.flatnonzero(position < 0)
    if strange.size:
        raise UsageError(
            f"the fit was not made from these judgments: it has no {role} {quote(str(names[int(strange[0])]))}"
        )
    return position

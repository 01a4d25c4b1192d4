"""The judgments that a fit was made from, as the fit has seen them: its judges, topics and gold, in its own order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from adjudge.arrays import Codes, frozen
from adjudge.data.judgments import Judgments, Names, from_codes, places
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit
from adjudge.kernels.block import Block


def as_fitted(fit: Fit, judgments: Judgments) -> Block:
    """Return the judgments in the codes of a fit; refuse those that it was not made from."""
    judge, item = _met("judge", judgments.judges, fit.judge_names), _met("item", judgments.items, fit.items)
    said = np.bincount(judge[judgments.judge], minlength=len(fit.judge_names))
    if (said != fit.judged).any():
        raise UsageError(
            f"the fit was not made from these judgments: it has {fit.judged.sum():,} and these are {said.sum():,}, "
            "or not as many of each judge"
        )
    gold = None if fit.gold is None else fit.gold[item]
    own = replace(judgments, judges=fit.judge_names, judge=frozen(judge[judgments.judge]))
    block = own.block(gold)
    if fit.topic is None or fit.params.prevalence.shape[0] == 1:
        return block
    topic = fit.topic[item]
    return block._replace(topic=np.where(topic < 0, fit.params.prevalence.shape[0] - 1, topic))


def in_codes_of(fit: Fit, judgments: Judgments) -> Judgments:
    """Return the judgments that a fit was made from with the items and judges of the fit, in its order."""
    if judgments.scale.names != fit.scale.names:
        given = quoted(judgments.scale.names)
        raise UsageError(f"the fit was not made from these judgments: their labels are {given}")
    items = fit.items.head(len(judgments.items))  # gold may tell of more, which nobody judged
    alike = judgments.items.equals(items) and judgments.judges.equals(fit.judge_names)
    if alike and (np.bincount(judgments.judge, minlength=fit.judged.size) == fit.judged).all():
        return judgments.with_items(fit.items.slice(len(items)))
    as_fitted(fit, judgments)  # says what it has never met
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
    )


def gold_informed(fit: Fit) -> bool:
    """Whether gold informed prevalence in a fit."""
    prior = fit.options.get("prior")
    return prior is None or bool(prior["gold_informs"])


def refuse_other_gold(one: Fit, other: Fit) -> None:
    """Refuse to compare fits that were told different things: what they foretell is not the same."""
    told = [{} if fit.gold is None else dict(zip(fit.items, fit.gold.tolist(), strict=True)) for fit in (one, other)]
    known = [{item: truth for item, truth in each.items() if truth >= 0} for each in told]
    if known[0] != known[1] or (known[0] and gold_informed(one) != gold_informed(other)):
        raise UsageError("the two fits were told different gold, or let it inform prevalence or not: fit both alike")


def _met(what: str, names: Names, known: Names) -> Codes:
    """Return where names stand in a fit; refuse one that it has never met."""
    place = places(names, known)
    strange = np.flatnonzero(place < 0)
    if strange.size:
        raise UsageError(
            f"the fit was not made from these judgments: it has never met {what} {quote(str(names[int(strange[0])]))}"
        )
    return place

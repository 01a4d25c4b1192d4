"""``cards``: what is known of every judge on one card, each number with its interval, and a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, NamedTuple, overload

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.scale import Scale
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import Estimate, Evidence, Told, entropy, gathered, others, told, typical_matrix
from adjudge.diagnostics.known_truths import Held, Reliability, reliability, share_interval
from adjudge.diagnostics.sentences import Seen, sentence
from adjudge.diagnostics.times import BREAK, median_gaps, seconds_of
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.result import Fit

UNHELD = "no truth is known that cards could be held against"
CLEAR = 0.8  # the probability of a truth from which on the others are said to tell it


class Agreement(NamedTuple):
    """How often a judge says what is clear without her, with its 90 % interval, and on how many of her items it is.

    Clear it is by the other judges, by how common the truths are, and by gold where that was told.
    """

    value: float
    low: float
    high: float
    items: int


@dataclass(frozen=True, eq=False)
class Card:
    """What is known of one judge. What is not defined is ``None``, with the reason in ``reasons``.

    Her chance of being right is that on all items of the fit, and informedness, the information of a judgment in bits
    and the chances of being no better than chance and of being adversarial are those of ``models.answers``.
    """

    judge: str
    judgments: int
    items: int
    topics: int | None
    right: Estimate
    sensitivity: Estimate | None  # of the second label
    specificity: Estimate | None
    confusion: Floats  # (K, K) what she says, a row a truth
    confusion_low: Floats
    confusion_high: Floats
    informedness: Estimate
    bits: Estimate
    agreement: Agreement | None  # with the others, where these are clear without her
    held: Held | None  # how often her labels are right where the truth is known, beside what the fit says of them
    bias: tuple[Estimate, ...]  # (K) how much more often she gives each label than the truths of her items have it
    shift: Estimate | None  # how many places she goes too high on the scale, on average
    seconds: float | None  # the median between successive judgments; longer than ten minutes is a break
    p_chance: float
    p_adversarial: float
    sentence: str
    reasons: Mapping[str, str] = field(default_factory=dict)

    def cell(self, truth: int, label: int) -> Estimate:
        """Return how often she gives a label to items of a truth, both by their place on the scale."""
        parts = (self.confusion, self.confusion_low, self.confusion_high)
        return Estimate(*(float(part[truth, label]) for part in parts))

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the card as a row of named values; the labels' names are those of the scale."""
        row: dict[str, Any] = {"judge": self.judge, "judgments": self.judgments, "items": self.items}
        row["topics"] = self.topics
        for name in ("right", "sensitivity", "specificity", "informedness", "bits", "agreement", "shift", "held"):
            row |= _columns(name, getattr(self, name))
        row["agreement_items"] = self.agreement.items if self.agreement is not None else 0
        row["held_expected"] = self.held.expected if self.held is not None else None
        row["held_judgments"] = self.held.judgments if self.held is not None else 0
        for name, estimate in zip(names, self.bias, strict=True):
            row |= _columns(f"bias_{name}", estimate)
        chances = {"p_chance": self.p_chance, "p_adversarial": self.p_adversarial}
        return row | {"seconds": self.seconds, **chances, "sentence": self.sentence}


@dataclass(frozen=True, eq=False)
class Cards(NotebookView, Sequence[Card]):
    """The cards of all judges, in the order of the fit; a card is found by its number or its judge's name."""

    scale: Scale
    cards: tuple[Card, ...] = field(repr=False)
    typical: Floats = field(repr=False)  # (K, K) the matrix of the typical judge
    most_bits: float = 0.0  # what a judge who is always right would tell of a truth
    reliability: str = UNHELD  # whether what the fit says of labels holds where the truth is known
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        middle = float(np.median([card.informedness.value for card in self.cards])) if self.cards else 0.0
        return f"Cards({len(self.cards):,} judges; median Youden's J {middle:.2f})"

    @property
    def low(self) -> Floats:
        """The low ends of the cells of all judges' matrices (J, K, K)."""
        return np.stack([card.confusion_low for card in self.cards])

    def __len__(self) -> int:
        return len(self.cards)

    def __iter__(self) -> Iterator[Card]:
        return iter(self.cards)

    @overload
    def __getitem__(self, index: int) -> Card: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Card, ...]: ...
    def __getitem__(self, index: int | slice) -> Card | tuple[Card, ...]:
        return self.cards[index]

    def of(self, judge: object) -> Card:
        """Return the card of a judge by name."""
        found = {card.judge: card for card in self.cards}
        if str(judge) in found:
            return found[str(judge)]
        near = get_close_matches(str(judge), found)
        other = f"near: {quoted(near)}" if near else f"judges are such as {quoted(list(found)[:3])}"
        raise UsageError(f"judge {quote(judge)} is not in the fit; {other}")

    @property
    def table(self) -> Any:
        """A table with one row per judge: every estimate with its low and high end, and the sentence."""
        rows = [card.columns(self.scale.names) for card in self.cards]
        table: pl.DataFrame = frame({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})
        typed = table.cast({pl.Null: pl.Float64})  # a column without any value is a column of numbers, too
        return frame(typed.to_dict(), self.kind)


def cards(fit: Fit, judgments: Any, truth: Codes | None = None, *, seed: int = 0) -> Cards:
    """Return a card for every judge, from a fit and the judgments it was made from.

    Labels are held against gold that the fit was told, and against the codes of ``truth`` (I), items in the order of
    the fit, -1 where it is not known.

    Intervals hold nine tenths of the draws of a sampled fit. For any other fit truths and matrices are drawn by a short
    run of Gibbs sampling from where it is, by ``seed`` (see ``judges.evidence``).
    """
    evidence = gathered(fit, judgments)
    held = reliability(fit, evidence, truth)
    facts = _facts(fit, evidence, told(fit, evidence, seed), held)
    made = tuple(_card(str(name), j, fit, facts) for j, name in enumerate(fit.judge_names.to_list()))
    return Cards(
        fit.scale,
        made,
        frozen(facts.typical),
        float(entropy(evidence.common)),
        held.sentence or UNHELD,
        evidence.judgments.kind,
    )


class _Facts(NamedTuple):
    """What cards are filled in with: everything of every judge."""

    told: Told
    typical: Floats  # (K, K)
    said: Codes  # (J, K) labels given
    met: Floats  # (J, K) truths of her items, expected
    items: Codes  # (J)
    topics: Codes | None  # (J)
    agreements: list[Agreement | None]  # (J)
    others: list[int]  # (J) judgments of items that others judged
    held: list[Held | None]  # (J)
    seconds: list[float | None]  # (J)
    no_seconds: str  # the reason


def _facts(fit: Fit, evidence: Evidence, found: Told, held: Reliability) -> _Facts:
    """Return everything of every judge."""
    J, K = len(fit.judge_names), len(fit.scale)
    return _Facts(
        found,
        typical_matrix(evidence),
        np.bincount(evidence.block.cell, minlength=J * K).reshape(J, K),
        evidence.tally.sum(axis=2),
        _different(evidence.judge, evidence.item, J),
        _topics(evidence),
        *_agreements(evidence),
        held.judges,
        *_seconds(evidence),
    )


def _card(name: str, j: int, fit: Fit, facts: _Facts) -> Card:
    """Return the card of one judge."""
    found, (mean, low, high) = facts.told, facts.told.cell[:, j]
    topics = None if facts.topics is None else int(facts.topics[j])
    sensitivity, specificity = (_estimate(found.cell[:, j, k, k]) if len(fit.scale) == 2 else None for k in (1, 0))
    seen = _seen(j, fit, facts)
    return Card(
        judge=name,
        judgments=seen.judgments,
        items=int(facts.items[j]),
        topics=topics,
        right=seen.right,
        sensitivity=sensitivity,
        specificity=specificity,
        confusion=frozen(mean),
        confusion_low=frozen(low),
        confusion_high=frozen(high),
        informedness=seen.informedness,
        bits=_estimate(found.bits[:, j]),
        agreement=facts.agreements[j],
        held=facts.held[j],
        bias=tuple(map(_estimate, found.bias[:, j].T)),
        shift=seen.shift,
        seconds=facts.seconds[j],
        p_chance=seen.p_chance,
        p_adversarial=seen.p_adversarial,
        sentence=sentence(seen),
        reasons=_reasons(j, fit, facts),
    )


def _seen(j: int, fit: Fit, facts: _Facts) -> Seen:
    """Return what the sentence about a judge is made from."""
    found = facts.told
    return Seen(
        names=fit.scale.names,
        judgments=int(fit.judged[j]),
        others=facts.others[j],
        said=facts.said[j].astype(float),
        met=facts.met[j],
        right=_estimate(found.right[:, j]),
        informedness=_estimate(found.informedness[:, j]),
        p_chance=float(found.p_chance[j]),
        p_adversarial=float(found.p_adversarial[j]),
        cell=found.cell[0, j],
        low=found.cell[1, j],
        typical=facts.typical,
        shift=_estimate(found.shift[:, j]) if fit.scale.ordinal else None,
    )


def _reasons(j: int, fit: Fit, facts: _Facts) -> dict[str, str]:
    """Return why what is not on a judge's card is not defined."""
    many = None if len(fit.scale) == 2 else f"it is of two labels, and there are {len(fit.scale)}"
    missing = {
        "topics": "the judgments have no topics" if facts.topics is None else None,
        "sensitivity": many,
        "specificity": many,
        "agreement": "no others make the truth of an item clear" if facts.agreements[j] is None else None,
        "held": "the truth of no item of hers is known" if facts.held[j] is None else None,
        "shift": None if fit.scale.ordinal else "the labels are in no order",
        "seconds": facts.no_seconds if facts.seconds[j] is None else None,
    }
    return {what: f"not defined because {why}" for what, why in missing.items() if why is not None}


def _agreements(evidence: Evidence) -> tuple[list[Agreement | None], list[int]]:
    """Return every judge's agreement with the others, and how many of her judgments are on items that others judged."""
    said, judge, J = others(evidence), evidence.judge, evidence.block.judges
    clear = np.flatnonzero(said.any & (said.probability >= CLEAR))
    weight, agree = evidence.weight[clear], said.truth[clear] == evidence.block.label[clear]
    total = np.bincount(judge[clear], weight, J)
    same = np.bincount(judge[clear], weight * agree, J)
    items = _different(judge[clear], evidence.item[clear], J)
    low, high = share_interval(same, total)
    value = np.divide(same, total, out=np.zeros(J), where=total > 0)
    rows = zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    found = [Agreement(*row, int(n)) if t > 0 else None for row, n, t in zip(rows, items, total, strict=True)]
    return found, np.bincount(judge[said.any], minlength=J).tolist()


def _seconds(evidence: Evidence) -> tuple[list[float | None], str]:
    """Return every judge's median seconds between judgments, and why one has none."""
    time, J = evidence.judgments.time, evidence.block.judges
    if time is None:
        return [None] * J, "the judgments have no times"
    seconds = seconds_of(time)
    near = f"no two judgments are at most {BREAK:g} seconds apart"
    return median_gaps(seconds, evidence.judge, J), "no time can be read" if np.isnan(seconds).all() else near


def _topics(evidence: Evidence) -> Codes | None:
    """Return in how many topics every judge has judged (J), None where there are none."""
    topic = evidence.judgments.topic
    if evidence.judgments.topics is None or topic is None:
        return None
    of = topic[evidence.item]
    return _different(evidence.judge[of >= 0], of[of >= 0], evidence.block.judges)


def _different(judge: Codes, what: Codes, judges: int) -> Codes:
    """Return how many different things every judge has to do with (J)."""
    pairs = np.unique(what.astype(np.int64) * judges + judge)
    return np.bincount(pairs % judges, minlength=judges)


def _estimate(three: Floats) -> Estimate:
    """Return a mean and the ends of its interval as numbers."""
    return Estimate(*three.tolist())


def _columns(name: str, estimate: Estimate | Agreement | Held | None) -> dict[str, float | None]:
    """Return an estimate as three values of a row."""
    value, low, high = (None, None, None) if estimate is None else estimate[:3]
    return {name: value, f"{name}_low": low, f"{name}_high": high}

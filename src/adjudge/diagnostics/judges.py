"""``judges``: every judge of a fit on a card, the confusions that cost most labels, and the items to look at again.

A card has every number with its 90 % interval, and a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments, abstentions_by, places
from adjudge.data.scale import Scale
from adjudge.data.show import ListView, NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.confusions import Confusions, confusions
from adjudge.diagnostics.evidence import (
    Estimate,
    Evidence,
    JudgeEstimates,
    entropy,
    gather_evidence,
    judge_estimates,
    other_judges,
    typical_confusion,
)
from adjudge.diagnostics.gold_accuracy import Reliability, Verification, read_truth, reliability, share_interval
from adjudge.diagnostics.second_looks import SecondLooks, second_looks
from adjudge.diagnostics.sentences import USEFUL, JudgeFacts, assess
from adjudge.diagnostics.times import BREAK, median_gaps, parse_seconds
from adjudge.errors import UsageError, quote, quoted
from adjudge.inference.chains import Draws
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fitted

UNVERIFIED = "no truth is known that the cards could be checked against"
CLEAR = 0.8  # probability of a truth from which the other judges are said to agree on it
ESTIMATES = {  # columns of the table, and the fields that they hold
    "right": "right",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "informedness": "informedness",
    "bits": "bits",
    "agreement": "agreement",
    "shift": "shift",
    "held": "verification",
}


class OtherAgreement(NamedTuple):
    """How often a judge gives the label that is clear without them, its 90 % interval, and on how many items.

    A label is clear from the other judges, from prevalence, and from gold that the fit used.
    """

    value: float
    low: float
    high: float
    items: int


@dataclass(frozen=True, eq=False)
class Card:
    """What a fit says about one judge. A field that is not defined is ``None``, with the reason in ``reasons``.

    ``right`` is the chance of being right on all items of the fit. ``informedness`` is Youden's J: 1 is perfect, 0 is
    chance. ``bits`` is the information of one judgment about the truth.
    """

    judge: str
    judgments: int
    items: int
    topics: int | None
    right: Estimate
    sensitivity: Estimate | None  # of the second label
    specificity: Estimate | None
    confusion: Floats  # (K, K) labels (columns) given to each truth (rows)
    confusion_low: Floats
    confusion_high: Floats
    informedness: Estimate
    bits: Estimate
    agreement: OtherAgreement | None  # with the other judges, on items that are clear without this judge
    verification: Verification | None  # share of right labels where the truth is known
    bias: tuple[Estimate, ...]  # (K) how much more often each label is given than the truths of the items have it
    shift: Estimate | None  # mean number of levels of the scale that the labels are too high
    seconds: float | None  # median between successive judgments, breaks of more than ten minutes left out
    p_chance: float  # probability of being no better than chance
    p_adversarial: float
    sentence: str
    reasons: Mapping[str, str] = field(default_factory=dict)
    standing: str = USEFUL  # poor, useful or unclear, as the sentence says
    abstentions: int | None = None  # how often the judge could not tell; None if no label is an abstention

    @property
    def abstention_rate(self) -> float | None:
        """The share of the judge's judgments and abstentions that are abstentions."""
        if self.abstentions is None:
            return None
        return self.abstentions / max(1, self.abstentions + self.judgments)

    def cell(self, truth: int, label: int) -> Estimate:
        """Return how often a truth is given a label, both by their index on the scale."""
        parts = (self.confusion, self.confusion_low, self.confusion_high)
        return Estimate(*(float(part[truth, label]) for part in parts))

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the card as a row of named values; ``names`` are the labels of the scale."""
        row: dict[str, Any] = {"judge": self.judge, "judgments": self.judgments, "items": self.items}
        row["topics"] = self.topics
        row |= (
            {}
            if self.abstentions is None
            else {"abstentions": self.abstentions, "abstention_rate": self.abstention_rate}
        )
        for column, name in ESTIMATES.items():
            row |= _estimate_columns(column, getattr(self, name))
        row["agreement_items"] = self.agreement.items if self.agreement is not None else 0
        row["held_expected"] = self.verification.expected if self.verification is not None else None
        row["held_judgments"] = self.verification.judgments if self.verification is not None else 0
        for name, estimate in zip(names, self.bias, strict=True):
            row |= _estimate_columns(f"bias_{name}", estimate)
        chances = {"p_chance": self.p_chance, "p_adversarial": self.p_adversarial}
        return row | {"seconds": self.seconds, **chances, "sentence": self.sentence}


@dataclass(frozen=True, eq=False)
class Cards(ListView[Card]):
    """The cards of all judges, in the order of the fit."""

    scale: Scale
    cards: tuple[Card, ...] = field(repr=False)
    typical: Floats = field(repr=False)  # (K, K) confusion matrix of the typical judge
    most_bits: float = 0.0  # information of a judgment that is always right
    reliability: str = UNVERIFIED  # expected and observed shares of right labels where the truth is known
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        middle = float(np.median([card.informedness.value for card in self.cards])) if self.cards else 0.0
        return f"Cards({len(self.cards):,} judges; median Youden's J {middle:.2f})"

    @property
    def low(self) -> Floats:
        """The low ends of the cells of all judges' matrices (J, K, K)."""
        return np.stack([card.confusion_low for card in self.cards])

    @property
    def records(self) -> tuple[Card, ...]:
        """The cards."""
        return self.cards

    def of(self, judge: object) -> Card:
        """Return the card of a judge by name."""
        by_name = {card.judge: card for card in self.cards}
        if str(judge) in by_name:
            return by_name[str(judge)]
        near = get_close_matches(str(judge), by_name)
        hint = f"similar names: {quoted(near)}" if near else f"its judges are for example {quoted(list(by_name)[:3])}"
        raise UsageError(f"judge {quote(judge)} is not in the fit; {hint}")

    @property
    def table(self) -> Any:
        """A table with one row per judge: every estimate with its low and high end, and the sentence."""
        rows = [card.columns(self.scale.names) for card in self.cards]
        table: pl.DataFrame = frame({name: [row[name] for row in rows] for name in (rows[0] if rows else ())})
        typed = table.cast({pl.Null: pl.Float64})  # a column without any value is a column of numbers, too
        return frame(typed.to_dict(), self.kind)


def cards(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    truth: Any = None,
    *,
    seed: int = 0,
    draws: Draws | None = None,
) -> Cards:
    """Return a card for every judge.

    Labels are checked against gold that the fit used, and against ``truth``. Intervals hold 90 % of the draws of a
    sampled fit. For any other fit, truths and matrices are drawn by a short run of Gibbs sampling.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit.
    truth : frame, path, mapping or array, optional
        Truths that the fit did not use; an array holds codes (I) in the order of the fit's items, -1 if unknown.
    seed : int
        Seed of the draws for a fit that was not sampled.
    draws : Draws, optional
        These draws, if they were made already (``evidence.confusion_draws``).

    Returns
    -------
    Cards

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> cards(adjudge.fit(judgments, "dawid-skene"), judgments)
    Cards(5 judges; median Youden's J 0.63)

    """
    fit, evidence = gather_evidence(fit, judgments)
    verified = reliability(fit, evidence, read_truth(fit, evidence.judgments, truth))
    facts = _gather_facts(fit, evidence, judge_estimates(fit, evidence, seed, draws), verified)
    return Cards(
        fit.scale,
        tuple(_card(str(name), j, fit, facts) for j, name in enumerate(fit.judge_names.to_list())),
        frozen(facts.typical),
        float(entropy(evidence.common)),
        verified.sentence or UNVERIFIED,
        evidence.judgments.kind,
    )


class _Facts(NamedTuple):
    """The numbers of all judges that go onto the cards."""

    estimates: JudgeEstimates
    typical: Floats  # (K, K)
    labels: Codes  # (J, K) how often each label was given
    truths: Floats  # (J, K) expected truths of the items of each judge
    items: Codes  # (J)
    topics: Codes | None  # (J)
    agreements: list[OtherAgreement | None]  # (J)
    checkable: list[int]  # (J) judgments of items that other judges judged, too
    verifications: list[Verification | None]  # (J)
    seconds: list[float | None]  # (J)
    no_seconds: str  # why a judge has none
    abstained: Codes | None  # (J)


def _gather_facts(fit: Fit, evidence: Evidence, estimates: JudgeEstimates, verified: Reliability) -> _Facts:
    """Return the numbers of all judges."""
    J, K = len(fit.judge_names), len(fit.scale)
    return _Facts(
        estimates,
        typical_confusion(evidence),
        np.bincount(evidence.block.cell, minlength=J * K).reshape(J, K),
        evidence.tally.sum(axis=2),
        _count_different(evidence.judge, evidence.item, J),
        _topic_counts(evidence),
        *_agreements(evidence),
        verified.judges,
        *_seconds(evidence),
        abstentions_by(evidence.judgments.abstained, places(evidence.judgments.judges, fit.judge_names), J),
    )


def _card(name: str, j: int, fit: Fit, facts: _Facts) -> Card:
    """Return the card of one judge."""
    numbers, (mean, low, high) = facts.estimates, facts.estimates.cell[:, j]
    rates = (_estimate(numbers.cell[:, j, k, k]) if len(fit.scale) == 2 else None for k in (1, 0))
    sensitivity, specificity = rates
    judge = _judge_facts(j, fit, facts)
    words, standing = assess(judge)
    return Card(
        judge=name,
        judgments=judge.judgments,
        items=int(facts.items[j]),
        topics=None if facts.topics is None else int(facts.topics[j]),
        right=judge.right,
        sensitivity=sensitivity,
        specificity=specificity,
        confusion=frozen(mean),
        confusion_low=frozen(low),
        confusion_high=frozen(high),
        informedness=judge.informedness,
        bits=_estimate(numbers.bits[:, j]),
        agreement=facts.agreements[j],
        verification=facts.verifications[j],
        bias=tuple(map(_estimate, numbers.bias[:, j].T)),
        shift=judge.shift,
        seconds=facts.seconds[j],
        p_chance=judge.p_chance,
        p_adversarial=judge.p_adversarial,
        sentence=words,
        reasons=_reasons(j, fit, facts),
        standing=standing,
        abstentions=None if facts.abstained is None else int(facts.abstained[j]),
    )


def _judge_facts(j: int, fit: Fit, facts: _Facts) -> JudgeFacts:
    """Return the numbers that the sentence about a judge depends on."""
    numbers = facts.estimates
    return JudgeFacts(
        names=fit.scale.names,
        judgments=int(fit.judged[j]),
        checkable=facts.checkable[j],
        labels=facts.labels[j].astype(float),
        truths=facts.truths[j],
        right=_estimate(numbers.right[:, j]),
        informedness=_estimate(numbers.informedness[:, j]),
        p_chance=float(numbers.p_chance[j]),
        p_adversarial=float(numbers.p_adversarial[j]),
        cell=numbers.cell[0, j],
        low=numbers.cell[1, j],
        typical=facts.typical,
        shift=_estimate(numbers.shift[:, j]) if fit.scale.ordinal else None,
    )


def _reasons(j: int, fit: Fit, facts: _Facts) -> dict[str, str]:
    """Return why fields of a judge's card are not defined."""
    many = None if len(fit.scale) == 2 else f"it needs two labels, and there are {len(fit.scale)}"
    no_abstentions = "no label was declared an abstention"
    missing = {
        "abstentions": no_abstentions if facts.abstained is None else None,
        "topics": "the judgments have no topics" if facts.topics is None else None,
        "sensitivity": many,
        "specificity": many,
        "agreement": "the other judges agree on no item of this judge" if facts.agreements[j] is None else None,
        "verification": "this judge judged no item whose truth is known" if facts.verifications[j] is None else None,
        "shift": None if fit.scale.ordinal else "the labels have no order",
        "seconds": facts.no_seconds if facts.seconds[j] is None else None,
    }
    return {name: f"not defined because {reason}" for name, reason in missing.items() if reason is not None}


def _agreements(evidence: Evidence) -> tuple[list[OtherAgreement | None], list[int]]:
    """Return every judge's agreement with the others, and how many judgments are of items that others judged."""
    others, judge, J = other_judges(evidence), evidence.judge, evidence.block.judges
    clear = np.flatnonzero(others.any & (others.probability >= CLEAR))
    weight, agree = evidence.weight[clear], others.truth[clear] == evidence.block.label[clear]
    total = np.bincount(judge[clear], weight, J)
    same = np.bincount(judge[clear], weight * agree, J)
    items = _count_different(judge[clear], evidence.item[clear], J)
    low, high = share_interval(same, total)
    value = np.divide(same, total, out=np.zeros(J), where=total > 0)
    rows = zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    shares = [OtherAgreement(*row, int(n)) if t > 0 else None for row, n, t in zip(rows, items, total, strict=True)]
    return shares, np.bincount(judge[others.any], minlength=J).tolist()


def _seconds(evidence: Evidence) -> tuple[list[float | None], str]:
    """Return every judge's median seconds between judgments, and why a judge has none."""
    time, J = evidence.judgments.time, evidence.block.judges
    if time is None:
        return [None] * J, "the judgments have no times"
    seconds = parse_seconds(time)
    reason = f"no two judgments are at most {BREAK:g} seconds apart"
    return median_gaps(seconds, evidence.judge, J), "no time can be read" if np.isnan(seconds).all() else reason


def _topic_counts(evidence: Evidence) -> Codes | None:
    """Return the number of topics that every judge has judged (J), None if there are no topics."""
    topic = evidence.judgments.topic
    if evidence.judgments.topics is None or topic is None:
        return None
    of = topic[evidence.item]
    return _count_different(evidence.judge[of >= 0], of[of >= 0], evidence.block.judges)


def _count_different(judge: Codes, code: Codes, judges: int) -> Codes:
    """Return how many different codes occur together with every judge (J)."""
    pairs = np.unique(code.astype(np.int64) * judges + judge)
    return np.bincount(pairs % judges, minlength=judges)


def _estimate(parts: Floats) -> Estimate:
    """Return a mean and the ends of its interval as numbers."""
    return Estimate(*parts.tolist())


def _estimate_columns(name: str, estimate: Estimate | OtherAgreement | Verification | None) -> dict[str, float | None]:
    """Return an estimate as three values of a row."""
    value, low, high = (None, None, None) if estimate is None else estimate[:3]
    return {name: value, f"{name}_low": low, f"{name}_high": high}


MOST = 10  # confusions, and items per reason


@dataclass(frozen=True, eq=False)
class Judges(NotebookView):
    """The judges of a fit. Every part is computed when it is first used."""

    fit: Fit = field(repr=False)
    judgments: Judgments = field(repr=False)
    truth: Codes | None = field(default=None, repr=False)  # (I) truths that the fit did not use, -1 if unknown
    seed: int = 0
    most: int = MOST

    def __repr__(self) -> str:
        middle = float(np.median([card.informedness.value for card in self.cards])) if self.cards else 0.0
        return f"Judges({len(self.cards):,} judges, {len(self.judgments):,} judgments; median Youden's J {middle:.2f})"

    @cached_property
    def cards(self) -> Cards:
        """One card per judge, in the order of the fit."""
        return cards(self.fit, self.judgments, self.truth, seed=self.seed)

    @cached_property
    def confusions(self) -> Confusions:
        """The confusions of all judges together, the one that costs most labels first."""
        return confusions(self.fit, self.judgments, most=self.most, low=self.cards.low, seed=self.seed)

    @cached_property
    def second_looks(self) -> SecondLooks:
        """The items that deserve a second look, by reason."""
        return second_looks(self.fit, self.judgments, most=self.most)

    @property
    def table(self) -> Any:
        """The table of the cards, one row per judge."""
        return self.cards.table


def judges(
    fit: Fit | str | PathLike[str], judgments: Any = None, truth: Any = None, *, most: int = MOST, seed: int = 0
) -> Judges:
    """Describe the judges of a fit: a card for each, the confusions they share, and items for a second look.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit.
    truth : frame, path, mapping or array, optional
        Truths that the fit did not use, to check the judges against.
    most : int
        How many confusions, and how many items per reason, are listed.
    seed : int
        Seed of the draws behind the intervals of a fit that was not sampled.

    Returns
    -------
    Judges
        With ``cards``, ``confusions`` and ``second_looks``; ``table`` has one row per judge.

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> crowd = judges(adjudge.fit(judgments, "dawid-skene"), judgments)
    >>> crowd
    Judges(5 judges, 315 judgments; median Youden's J 0.63)
    >>> crowd.cards[0].sentence
    'Right on about four in five items; no single confusion stands out.'

    """
    record, table = read_fitted(fit, judgments)
    return Judges(record, table, read_truth(record, table, truth), seed, most)

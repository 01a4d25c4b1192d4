"""``confusions``: which labels all judges together confuse, and whether clearer guidelines would help.

If many judges make the same confusion, the guidelines should explain the difference. If few do, talking to these judges
helps more.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Floats
from adjudge.data.show import ListView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import Evidence, gather_evidence, judge_estimates, typical_confusion
from adjudge.diagnostics.sentences import ENOUGH_ITEMS, NOTABLE, share_of_total
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit

MANY = 0.2  # share of the judges from which a confusion is a matter of the guidelines
MOSTLY = 0.5  # share of a confusion's labels from which it is mostly that of one judge
LIKELY = 0.5  # probability of the truth that an item must have to be an example of a confusion
FEWEST_LABELS = 0.5  # expected labels below which a confusion is not listed
EXAMPLES = 3  # items that are named for a confusion


@dataclass(frozen=True)
class Confusion:
    """One label given in place of another, by all judges together."""

    truth: str
    label: str  # that is given instead
    labels: float  # expected number of labels that it costs
    share: float  # of all errors
    judges: int  # judges who surely make it in a tenth of cases or more
    of: int  # judges who judged enough items of the truth
    rate: float  # how often the typical judge makes it
    chief: str  # the judge, among these if there are any, who makes it most often
    chief_share: float  # the share of that judge in the labels it costs
    items: tuple[str, ...]  # the best examples
    sentence: str = ""


@dataclass(frozen=True)
class Confusions(ListView[Confusion]):
    """Confusions, the one that costs most labels first."""

    errors: float  # expected number of wrong labels
    confusions: tuple[Confusion, ...] = field(repr=False)
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Confusions({len(self.confusions):,} confusions, {self.errors:,.0f} wrong labels in all)"

    @property
    def records(self) -> tuple[Confusion, ...]:
        """The confusions."""
        return self.confusions

    @property
    def table(self) -> Any:
        """A table with one row per confusion; its items are separated by blanks."""
        rows = [vars(each) | {"said": each.label, "items": " ".join(each.items)} for each in self.confusions]
        table = pl.DataFrame([{name: row[name] for name in SCHEMA} for row in rows], schema=SCHEMA)
        return frame(table.to_dict(), self.kind)


SCHEMA: dict[str, Any] = {
    "truth": pl.String,
    "said": pl.String,
    "labels": pl.Float64,
    "share": pl.Float64,
    "judges": pl.Int64,
    "of": pl.Int64,
    "rate": pl.Float64,
    "chief": pl.String,
    "chief_share": pl.Float64,
    "items": pl.String,
    "sentence": pl.String,
}


def confusions(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    *,
    most: int = 10,
    low: Floats | None = None,
    seed: int = 0,
) -> Confusions:
    """Return the confusions that cost most labels, with the items that show each best.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit.
    most : int
        How many confusions are listed.
    low : array, optional
        The low ends of the intervals of the judges' matrices (J, K, K), if they are known from ``cards``. By default
        they are computed.
    seed : int
        Seed of the draws for a fit that was not sampled.

    Returns
    -------
    Confusions

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> confusions(adjudge.fit(judgments, "dawid-skene"), judgments, most=3)
    Confusions(3 confusions, 55 wrong labels in all)

    """
    if most < 1:
        raise UsageError(f"most {most} is not a number of at least 1")
    fit, evidence = gather_evidence(fit, judgments)
    if low is not None and low.shape != evidence.tally.shape:
        raise UsageError(f"low has the shape {low.shape}, but the judges' matrices have {evidence.tally.shape}")
    ends = judge_estimates(fit, evidence, seed).cell[1] if low is None else low
    cost = evidence.tally.sum(axis=0) * ~np.eye(len(fit.scale), dtype=bool)  # (K, K)
    enough = evidence.tally.sum(axis=2) >= ENOUGH_ITEMS  # (J, K)
    notable = (ends >= NOTABLE) & enough[:, :, None]  # (J, K, K)
    counts, typical = _label_counts(evidence), typical_confusion(evidence)
    confusions = []
    for cell in np.argsort(-cost, axis=None, kind="stable")[:most].tolist():
        k, other = divmod(cell, len(fit.scale))
        if cost[k, other] < FEWEST_LABELS:
            break
        likely, makes_it = evidence.posterior[:, k], notable[:, k, other]
        labels = evidence.tally[:, k, other] * (makes_it if makes_it.any() else 1)
        confusion = Confusion(
            truth=fit.scale.names[k],
            label=fit.scale.names[other],
            labels=float(cost[k, other]),
            share=float(cost[k, other]) / float(cost.sum()),
            judges=int(makes_it.sum()),
            of=int(enough[:, k].sum()),
            rate=float(typical[k, other]),
            chief=str(fit.judge_names[int(labels.argmax())]),
            chief_share=float(labels.max() / cost[k, other]),
            items=_examples(fit, evidence, counts[:, other] * likely, likely),
        )
        confusions.append(replace(confusion, sentence=_sentence(confusion)))
    return Confusions(float(cost.sum()), tuple(confusions), evidence.judgments.kind)


def _label_counts(evidence: Evidence) -> Floats:
    """Return how often every item was given every label (I, K)."""
    I, K = evidence.posterior.shape  # noqa: E741
    at = evidence.item.astype(np.int64) * K + evidence.block.label
    return np.bincount(at, evidence.weight, I * K).astype(float).reshape(I, K)


def _examples(fit: Fit, evidence: Evidence, strength: Floats, likely: Floats) -> tuple[str, ...]:
    """Return the items that show a confusion best: of its truth, and most often mislabelled in this way."""
    candidates = np.flatnonzero((likely >= LIKELY) & (strength > 0))
    best = candidates[np.argsort(-strength[candidates], kind="stable")[:EXAMPLES]]
    return tuple(str(name) for name in fit.items.gather(evidence.item_index[best]).to_list())


def _sentence(confusion: Confusion) -> str:
    """Return a sentence about a confusion, with what to do about it."""
    number = f"{confusion.labels:,.0f} label{'' if round(confusion.labels) == 1 else 's'}"
    share = f"{share_of_total(confusion.share)} of all errors".replace("nearly all of", "nearly")
    cost = f"{quote(confusion.truth)} called {quote(confusion.label)} costs {number}, {share}"
    if not confusion.judges:
        return f"{cost}; no judge surely makes it often."
    judges = f"{confusion.judges:,} of {confusion.of:,} judges {'makes' if confusion.judges == 1 else 'make'} it"
    if confusion.judges == 1:
        return f"{cost}; {judges}: talking to {quote(confusion.chief)} may help most."
    if confusion.chief_share > MOSTLY and confusion.of > 2:
        part = share_of_total(confusion.chief_share)
        return f"{cost}; {judges}, but {part} of these labels are by {quote(confusion.chief)}."
    if confusion.judges < MANY * confusion.of:
        return f"{cost}; {judges}: talking to these judges may help most."
    return f"{cost}; {judges}: explain the difference in the guidelines."

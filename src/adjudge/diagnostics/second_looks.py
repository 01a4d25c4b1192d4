"""``second_looks``: the items that deserve a second look, and why.

- uncertain: the truth is least certain, by the entropy of its posterior;
- contested: the labels are most surprising given the confusion matrices of their judges, in bits above the average for
  these judges: sum_n sum_k p(k) (-log2 theta_nk(y_n) - H(theta_nk));
- gold: the judges alone are sure of another label than gold. How often gold is right is not part of this: if gold is
  mostly right, most of these are errors of the judges, and the list says where to look first;
- helpful: one more judgment by a typical judge is most informative, by the mutual information of truth and label,
  H(p theta) - sum_k p(k) H(theta_k).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.show import ListView, NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import TINY, Evidence, entropy, gather_evidence, typical_confusion
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit
from adjudge.kernels.truth import truth_posterior

DOUBT = 0.8  # probability of another label from which gold is doubted
SHORT = 8  # labels of an item that are listed one by one
FEWEST_BITS = 0.01  # bits below which an item is not listed


class Look(NamedTuple):
    """An item to look at."""

    item: str
    topic: str | None
    label: str  # the most likely truth; for doubtful gold, the label of the judges
    probability: float
    judgments: int
    given: str  # the labels it was given, abbreviated
    value: float  # in bits; for doubtful gold, the probability that gold is wrong according to the judges
    reason: str


@dataclass(frozen=True)
class Looks(ListView[Look]):
    """Items to look at for one reason, the most pressing first."""

    title: str
    looks: tuple[Look, ...] = field(repr=False)
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Looks({self.title}: {len(self.looks):,} items)"

    @property
    def records(self) -> tuple[Look, ...]:
        """The items."""
        return self.looks

    @property
    def table(self) -> Any:
        """A table with one row per item."""
        return frame(_looks_table(self.looks).to_dict(), self.kind)


SCHEMA: dict[str, Any] = {
    "item": pl.String,
    "topic": pl.String,
    "label": pl.String,
    "probability": pl.Float64,
    "judgments": pl.Int64,
    "given": pl.String,
    "value": pl.Float64,
    "reason": pl.String,
}


def _looks_table(looks: Sequence[Look]) -> pl.DataFrame:
    """Return items as a table."""
    return pl.DataFrame([look._asdict() for look in looks], schema=SCHEMA)


@dataclass(frozen=True)
class SecondLooks(NotebookView):
    """The items that deserve a second look, by reason."""

    uncertain: Looks
    contested: Looks
    gold: Looks
    helpful: Looks

    def __repr__(self) -> str:
        counts = [f"{len(looks):,} {why}" for why, looks in self.by_reason().items()]
        return f"SecondLooks({', '.join(counts)})"

    def __iter__(self) -> Iterator[Looks]:
        return iter(self.by_reason().values())

    def by_reason(self) -> dict[str, Looks]:
        """Return the lists of items by the name of their reason."""
        return {"uncertain": self.uncertain, "contested": self.contested, "gold": self.gold, "helpful": self.helpful}

    @property
    def table(self) -> Any:
        """A table of all items, with the name of the reason in its first column."""
        reasons = self.by_reason().items()
        parts = [_looks_table(looks).insert_column(0, pl.lit(why).alias("why")) for why, looks in reasons]
        return frame(pl.concat(parts).to_dict(), self.uncertain.kind)


def second_looks(fit: Fit | str | PathLike[str], judgments: Any = None, *, most: int = 10) -> SecondLooks:
    """Return the items of a fit that deserve a second look, at most ``most`` for each reason.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit.
    most : int
        How many items are listed for each reason.

    Returns
    -------
    SecondLooks

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> second_looks(adjudge.fit(judgments, "dawid-skene"), judgments, most=3)
    SecondLooks(3 uncertain, 3 contested, 0 gold, 2 helpful)

    """
    if most < 1:
        raise UsageError(f"most {most} is not a number of at least 1")
    fit, evidence = gather_evidence(fit, judgments)
    listing = _Listing(fit, evidence, most)
    return SecondLooks(
        _uncertain(listing),
        _contested(listing, evidence),
        _doubtful_gold(listing, evidence),
        _helpful(listing, evidence),
    )


def information(posterior: Floats, matrix: Floats) -> Floats:
    """Return the expected information in bits of a judgment with this matrix (K, K) about each item's truth (I)."""
    gain: Floats = entropy(posterior @ matrix) - posterior @ entropy(matrix)
    return np.maximum(gain, 0.0)


def surprise(evidence: Evidence) -> Floats:
    """Return by how many bits each item's labels (I) are more surprising than labels of these judges are on average."""
    block, item = evidence.block, evidence.item
    average = entropy(evidence.matrix)  # (J, K)
    excess = -np.log2(np.maximum(evidence.matrix, TINY)) - average[:, :, None]  # (J, K, K) of a label given a truth
    cells = excess.transpose(0, 2, 1).reshape(-1, block.labels)  # (J K, K)
    bits = np.zeros(block.topic.size)
    for k in range(block.labels):
        bits += np.bincount(item, evidence.weight * evidence.posterior[item, k] * cells[block.cell, k], bits.size)
    return bits


def _uncertain(listing: _Listing) -> Looks:
    """Return the items whose truth is least certain, among all items of the fit, judged or not."""
    p, bits = listing.fit.posterior, listing.fit.entropy

    def reason(i: int) -> str:
        likeliest = np.argsort(-p[i], kind="stable")[:2]
        labels = " or ".join(f"{listing.names[k]} {p[i, k]:.2f}" for k in likeliest)
        return f"{labels}: {bits[i]:.2f} bits of uncertainty"

    return listing.looks("Items whose truth is least certain", bits, FEWEST_BITS, reason)


def _contested(listing: _Listing, evidence: Evidence) -> Looks:
    """Return the items whose labels are most surprising."""
    excess = np.full(listing.items, -np.inf)
    excess[evidence.item_index] = surprise(evidence)
    label = listing.fit.label

    def reason(i: int) -> str:
        labels = listing.labels[i]
        other = labels.size - int((labels == label[i]).sum())
        return f"{other:,} of {labels.size:,} disagree: {excess[i]:.1f} bits more surprising than average"

    return listing.looks("Items whose labels are most surprising, given their judges", excess, FEWEST_BITS, reason)


def _doubtful_gold(listing: _Listing, evidence: Evidence) -> Looks:
    """Return the gold items for which the judges alone, with matrices learned from gold, are sure of another label."""
    block, index = evidence.block, evidence.item_index
    bare = block._replace(gold=np.full_like(block.gold, -1))
    without_gold, _ = truth_posterior(bare, evidence.prior, evidence.matrix)
    p, gold, every = np.zeros((listing.items, block.labels)), np.full(listing.items, -1), np.arange(listing.items)
    p[index], gold[index] = without_gold, np.where(np.diff(block.start) > 0, block.gold, -1)  # (I, K), (I)
    label, chance = p.argmax(axis=1), p.max(axis=1)
    doubtful = (gold >= 0) & (label != gold) & (chance >= DOUBT)
    doubt = np.where(doubtful, 1 - p[every, gold], 0.0)

    def reason(i: int) -> str:
        names = listing.names
        return f"gold is {names[int(gold[i])]}, the judges say {names[int(label[i])]} with {chance[i]:.2f}: check both"

    return listing.looks("Items whose gold the judges contradict", doubt, DOUBT, reason, (label, chance))


def _helpful(listing: _Listing, evidence: Evidence) -> Looks:
    """Return the items for which one more judgment is most informative."""
    gain, open_bits = information(listing.fit.posterior, typical_confusion(evidence)), listing.fit.entropy

    def reason(i: int) -> str:
        return f"one more judgment gives {gain[i]:.2f} of the {open_bits[i]:.2f} bits of uncertainty"

    return listing.looks("Items for which one more judgment helps most", gain, FEWEST_BITS, reason)


class _Listing:
    """The items of a fit as they are listed."""

    def __init__(self, fit: Fit, evidence: Evidence, most: int) -> None:
        self.fit, self.most, self.items = fit, most, len(fit.items)
        self.names = [quote(name) for name in fit.scale.names]
        self.labels = _ItemLabels(fit, evidence)
        self.kind = evidence.judgments.kind

    def looks(
        self,
        title: str,
        value: Floats,
        least: float,
        reason: Callable[[int], str],
        answer: tuple[Codes, Floats] | None = None,
    ) -> Looks:
        """Return the items with the largest values of at least ``least``; by default the answer is that of the fit."""
        candidates = np.flatnonzero(value >= least)
        best = candidates[np.argsort(-value[candidates], kind="stable")[: self.most]]
        label, chance = answer or (self.fit.label, self.fit.posterior[np.arange(self.items), self.fit.label])
        chosen = tuple(
            self._look(i, int(label[i]), float(chance[i]), float(value[i]), reason(i)) for i in best.tolist()
        )
        return Looks(title, chosen, self.kind)

    def _look(self, i: int, label: int, chance: float, value: float, reason: str) -> Look:
        """Return one item."""
        fit, labels = self.fit, self.labels[i]
        at = -1 if fit.topic is None else int(fit.topic[i])
        topic = str(fit.topics[at]) if fit.topics is not None and at >= 0 else None
        text = abbreviate([fit.scale.names[k] for k in labels.tolist()])
        return Look(str(fit.items[i]), topic, fit.scale.names[label], chance, int(labels.size), text, value, reason)


class _ItemLabels:
    """The labels that each item of a fit was given."""

    def __init__(self, fit: Fit, evidence: Evidence) -> None:
        self.start, self.label = evidence.block.start, evidence.block.label
        self.index = np.full(len(fit.items), -1)
        self.index[evidence.item_index] = np.arange(evidence.item_index.size)

    def __getitem__(self, i: int) -> Codes:
        at = int(self.index[i])
        return self.label[self.start[at] : self.start[at + 1]] if at >= 0 else self.label[:0]


def abbreviate(names: Sequence[str]) -> str:
    """Return labels in order, ``1 1 0 1``, or their counts if there are many: ``1 x9, 0 x3``."""
    if len(names) <= SHORT:
        return " ".join(names)
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    return ", ".join(f"{name} x{times:,}" for name, times in sorted(counts.items(), key=lambda pair: -pair[1]))

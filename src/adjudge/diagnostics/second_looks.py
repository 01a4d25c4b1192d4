"""``second_looks``: the items that deserve one, and why.

- uncertain: the truth is least sure, by the entropy of its posterior;
- contested: its labels surprise most, given how good their judges are, in bits above what labels of such judges do on
  average: sum_n sum_k p(k) (-log2 theta_nk(y_n) - H(theta_nk));
- gold: what the crowd says of the item, by itself, is another label. How often gold is right does not enter: where gold
  is mostly right, most of these are errors of the crowd, and the list is where to look first;
- helpful: one more judgment by a typical judge tells most: the mutual information of truth and label, which is
  H(p theta) - sum_k p(k) H(theta_k).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import LEAST, Evidence, entropy, gathered, typical_matrix
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit
from adjudge.kernels.truth import truth_posterior

ELSEWHERE = 0.8  # the probability of another label from which on gold is doubted
SHORT = 8  # labels of an item that are written out one by one
BIT = 0.01  # bits below which nothing is worth a look


class Look(NamedTuple):
    """An item to look at."""

    item: str
    topic: str | None
    label: str  # the most likely truth; of doubtful gold, what the crowd says
    probability: float
    judgments: int
    given: str  # the labels it was given, in short
    value: float  # in bits; of doubtful gold, what the crowd alone gives another label
    reason: str


@dataclass(frozen=True)
class Looks(NotebookView, Sequence[Look]):
    """Items to look at for one reason, the most pressing first."""

    title: str
    looks: tuple[Look, ...] = field(repr=False)
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Looks({self.title}: {len(self.looks):,} items)"

    def __len__(self) -> int:
        return len(self.looks)

    def __iter__(self) -> Iterator[Look]:
        return iter(self.looks)

    @overload
    def __getitem__(self, index: int) -> Look: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Look, ...]: ...
    def __getitem__(self, index: int | slice) -> Look | tuple[Look, ...]:
        return self.looks[index]

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


def second_looks(fit: Fit, judgments: Any, *, most: int = 10) -> SecondLooks:
    """Return the items of a fit that deserve a second look, at most ``most`` for every reason."""
    if most < 1:
        raise UsageError(f"most {most} is not a number of at least 1")
    evidence = gathered(fit, judgments)
    shown = _Shown(fit, evidence, most)
    return SecondLooks(
        _uncertain(shown, fit), _contested(shown, evidence), _doubtful_gold(shown, evidence), _helpful(shown, evidence)
    )


def information(posterior: Floats, matrix: Floats) -> Floats:
    """Return what a judgment by this matrix (K, K) is expected to tell of each item's truth (I), in bits."""
    gain: Floats = entropy(posterior @ matrix) - posterior @ entropy(matrix)
    return np.maximum(gain, 0.0)


def surprise(evidence: Evidence) -> Floats:
    """Return by how many bits each item's labels (I) surprise more than such labels of such judges usually do."""
    block, item = evidence.block, evidence.item
    usual = entropy(evidence.matrix)  # (J, K)
    excess = -np.log2(np.maximum(evidence.matrix, LEAST)) - usual[:, :, None]  # (J, K, K) of a label, given a truth
    cells = excess.transpose(0, 2, 1).reshape(-1, block.labels)  # (J K, K)
    told = np.zeros(block.topic.size)
    for k in range(block.labels):
        told += np.bincount(item, evidence.weight * evidence.posterior[item, k] * cells[block.cell, k], told.size)
    return told


def _uncertain(shown: _Shown, fit: Fit) -> Looks:
    """Return the items whose truth is least sure: of all that the fit has, judged or not."""
    p, bits = fit.posterior, fit.entropy

    def reason(i: int) -> str:
        likeliest = np.argsort(-p[i], kind="stable")[:2]
        said = " or ".join(f"{shown.names[k]} {p[i, k]:.2f}" for k in likeliest)
        return f"{said}: {bits[i]:.2f} bits open"

    return shown.looks("Whose truth is least sure", bits, BIT, reason)


def _contested(shown: _Shown, evidence: Evidence) -> Looks:
    """Return the items whose labels surprise most."""
    excess = np.full(shown.items, -np.inf)
    excess[evidence.place] = surprise(evidence)
    label = shown.fit.label

    def reason(i: int) -> str:
        given = shown.given[i]
        other = given.size - int((given == label[i]).sum())
        return f"{other:,} of {given.size:,} say otherwise: {excess[i]:.1f} bits more surprising than usual"

    return shown.looks("Whose labels surprise most, given their judges", excess, BIT, reason)


def _doubtful_gold(shown: _Shown, evidence: Evidence) -> Looks:
    """Return the gold items of which the crowd alone, by matrices that gold helped learn, is sure of another label."""
    block, place = evidence.block, evidence.place
    untold, _ = truth_posterior(block._replace(gold=np.full_like(block.gold, -1)), evidence.prior, evidence.matrix)
    p, gold, every = np.zeros((shown.items, block.labels)), np.full(shown.items, -1), np.arange(shown.items)
    p[place], gold[place] = untold, np.where(np.diff(block.start) > 0, block.gold, -1)  # (I, K), (I)
    label, chance = p.argmax(axis=1), p.max(axis=1)
    doubted = (gold >= 0) & (label != gold) & (chance >= ELSEWHERE)
    doubt = np.where(doubted, 1 - p[every, gold], 0.0)

    def reason(i: int) -> str:
        said, told = shown.names[int(label[i])], shown.names[int(gold[i])]
        return f"gold says {told}, the crowd alone {said} with {chance[i]:.2f}: look at both"

    return shown.looks("Whose gold the crowd contradicts", doubt, ELSEWHERE, reason, label, chance)


def _helpful(shown: _Shown, evidence: Evidence) -> Looks:
    """Return the items of which one more judgment tells most."""
    fit = shown.fit
    gain, open_bits = information(fit.posterior, typical_matrix(evidence)), fit.entropy

    def reason(i: int) -> str:
        return f"one more judgment tells {gain[i]:.2f} of the {open_bits[i]:.2f} bits that are open"

    return shown.looks("Where one more judgment helps most", gain, BIT, reason)


class _Shown:
    """The items of a fit as people see them."""

    def __init__(self, fit: Fit, evidence: Evidence, most: int) -> None:
        self.fit, self.most, self.items = fit, most, len(fit.items)
        self.names = [quote(name) for name in fit.scale.names]
        self.given = _Given(fit, evidence)
        self.kind = evidence.judgments.kind

    def looks(
        self,
        title: str,
        value: Floats,
        least: float,
        reason: Callable[[int], str],
        label: Codes | None = None,
        chance: Floats | None = None,
    ) -> Looks:
        """Return the items with the largest values of at least so much, the largest first."""
        worth = np.flatnonzero(value >= least)
        best = worth[np.argsort(-value[worth], kind="stable")[: self.most]]
        label = self.fit.label if label is None else label
        chance = self.fit.posterior[np.arange(self.items), label] if chance is None else chance
        chosen = tuple(self._look(i, label, chance, value, reason(i)) for i in best.tolist())
        return Looks(title, chosen, self.kind)

    def _look(self, i: int, label: Codes, chance: Floats, value: Floats, reason: str) -> Look:
        """Return one item."""
        fit, given = self.fit, self.given[i]
        at = -1 if fit.topic is None else int(fit.topic[i])
        topic = str(fit.topics[at]) if fit.topics is not None and at >= 0 else None
        said = fit.scale.names[int(label[i])]
        numbers = float(chance[i]), int(given.size), in_short([fit.scale.names[k] for k in given.tolist()])
        return Look(str(fit.items[i]), topic, said, *numbers, float(value[i]), reason)


class _Given:
    """The labels that each item of a fit was given."""

    def __init__(self, fit: Fit, evidence: Evidence) -> None:
        self.start, self.label = evidence.block.start, evidence.block.label
        self.place = np.full(len(fit.items), -1)
        self.place[evidence.place] = np.arange(evidence.place.size)

    def __getitem__(self, i: int) -> Codes:
        at = int(self.place[i])
        return self.label[self.start[at] : self.start[at + 1]] if at >= 0 else self.label[:0]


def in_short(names: Sequence[str]) -> str:
    """Return labels in the order given, ``1 1 0 1``, or, where they are many, how often each: ``1 x9, 0 x3``."""
    if len(names) <= SHORT:
        return " ".join(names)
    counts = {name: names.count(name) for name in dict.fromkeys(names)}
    return ", ".join(f"{name} x{times:,}" for name, times in sorted(counts.items(), key=lambda pair: -pair[1]))

"""``confusions``: which labels all judges together take for which others, and where a word in the guidelines helps.

A guideline helps where many judges make the same confusion; where few do, a word with these helps more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
import polars as pl

from adjudge.arrays import Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.diagnostics.evidence import Evidence, gathered, told, typical_matrix
from adjudge.diagnostics.sentences import MET, NOTABLE, part
from adjudge.errors import UsageError, quote
from adjudge.inference.result import Fit

MANY = 0.2  # of the judges who met a truth, from which on a confusion is a matter of the guidelines
MOSTLY = 0.5  # of the labels that a confusion costs, from which on it is one judge's
LIKELY = 0.5  # the probability of a truth that an item must have to be an example of its confusion
LEAST = 0.5  # labels that a confusion must cost to be one
EXAMPLES = 3  # items that show a confusion best


@dataclass(frozen=True)
class Confusion:
    """One label given in place of another, by all judges together."""

    truth: str
    said: str
    labels: float  # how many labels it costs, expected
    share: float  # of all errors
    judges: int  # who surely do it in a tenth of cases or more
    of: int  # judges who have met the truth
    rate: float  # how often the typical judge does it
    chief: str  # the judge, of these if there are any, whom it costs most labels
    chief_share: float  # of the labels it costs, how many are hers
    items: tuple[str, ...]  # that show it best
    sentence: str = ""


@dataclass(frozen=True)
class Confusions(NotebookView, Sequence[Confusion]):
    """Confusions, the one that costs most labels first."""

    errors: float  # expected number of wrong labels
    confusions: tuple[Confusion, ...] = field(repr=False)
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        return f"Confusions({len(self.confusions):,} confusions, {self.errors:,.0f} wrong labels in all)"

    def __len__(self) -> int:
        return len(self.confusions)

    def __iter__(self) -> Iterator[Confusion]:
        return iter(self.confusions)

    @overload
    def __getitem__(self, index: int) -> Confusion: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Confusion, ...]: ...
    def __getitem__(self, index: int | slice) -> Confusion | tuple[Confusion, ...]:
        return self.confusions[index]

    @property
    def table(self) -> Any:
        """A table with one row per confusion; its items are separated by blanks."""
        rows = [vars(each) | {"items": " ".join(each.items)} for each in self.confusions]
        return frame(pl.DataFrame(rows, schema=SCHEMA).to_dict(), self.kind)


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


def confusions(fit: Fit, judgments: Any, *, most: int = 10, low: Floats | None = None, seed: int = 0) -> Confusions:
    """Return the ``most`` costly confusions of a fit's judges, with the items that show each best.

    ``low`` (J, K, K) are the low ends of the judges' matrices, where they are known already (from cards); otherwise
    they are found as for cards, by ``seed``.
    """
    if most < 1:
        raise UsageError(f"most {most} is not a number of at least 1")
    evidence = gathered(fit, judgments)
    if low is not None and low.shape != evidence.tally.shape:
        raise UsageError(f"low has the shape {low.shape}, and the judges' matrices {evidence.tally.shape}")
    ends = told(fit, evidence, seed).cell[1] if low is None else low
    cost = evidence.tally.sum(axis=0) * ~np.eye(len(fit.scale), dtype=bool)  # (K, K)
    errors, typical = float(cost.sum()), typical_matrix(evidence)
    met = evidence.tally.sum(axis=2) >= MET  # (J, K)
    notable = (ends >= NOTABLE) & met[:, :, None]  # (J, K, K)
    given, found = _given(evidence), []
    for cell in np.argsort(-cost, axis=None, kind="stable")[:most].tolist():
        k, other = divmod(cell, len(fit.scale))
        if cost[k, other] < LEAST:
            break
        likely, who = evidence.posterior[:, k], notable[:, k, other]
        own = evidence.tally[:, k, other] * (who if who.any() else 1)
        bare = Confusion(
            truth=fit.scale.names[k],
            said=fit.scale.names[other],
            labels=float(cost[k, other]),
            share=float(cost[k, other]) / errors,
            judges=int(who.sum()),
            of=int(met[:, k].sum()),
            rate=float(typical[k, other]),
            chief=str(fit.judge_names[int(own.argmax())]),
            chief_share=float(own.max() / cost[k, other]),
            items=_examples(fit, evidence, given[:, other] * likely, likely),
        )
        found.append(replace(bare, sentence=_sentence(bare)))
    return Confusions(errors, tuple(found), evidence.judgments.kind)


def _given(evidence: Evidence) -> Floats:
    """Return how often every item was given every label (I, K)."""
    I, K = evidence.posterior.shape  # noqa: E741
    at = evidence.item.astype(np.int64) * K + evidence.block.label
    return np.bincount(at, evidence.weight, I * K).astype(float).reshape(I, K)


def _examples(fit: Fit, evidence: Evidence, shown: Floats, likely: Floats) -> tuple[str, ...]:
    """Return the items that show a confusion best: of its truth, and most often so mislabelled."""
    candidates = np.flatnonzero((likely >= LIKELY) & (shown > 0))
    best = candidates[np.argsort(-shown[candidates], kind="stable")[:EXAMPLES]]
    return tuple(str(name) for name in fit.items.gather(evidence.place[best]).to_list())


def _sentence(found: Confusion) -> str:
    """Return a confusion in a sentence, with what to do about it."""
    many = f"{found.labels:,.0f} label{'' if round(found.labels) == 1 else 's'}"
    share = f"{part(found.share)} of all errors".replace("nearly all of", "nearly")
    cost = f"{quote(found.truth)} called {quote(found.said)} costs {many}, {share}"
    if not found.judges:
        return f"{cost}; no judge surely does it often."
    who = f"{found.judges:,} of {found.of:,} judges {'does' if found.judges == 1 else 'do'} it"
    if found.judges == 1:
        return f"{cost}; {who}: a word with {quote(found.chief)} may help most."
    if found.chief_share > MOSTLY and found.of > 2:
        return f"{cost}; {who}, but {part(found.chief_share)} of these labels are those of {quote(found.chief)}."
    if found.judges < MANY * found.of:
        return f"{cost}; {who}: a word with these judges may help most."
    return f"{cost}; {who}: say in the guidelines what tells them apart."

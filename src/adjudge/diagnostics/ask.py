"""``ask``: the items that an expert should label next, so that gold teaches most.

A map that gold teaches must be learned where most items are. So the first 50 gold items are a systematic sample: items
are ordered by their label and then by how certain it is, and taken at equal distances from a random start. The most
uncertain items would teach less than a random sample. From 50 gold items on they are asked for: an expert's label
corrects them at once. They are marked ``calibrate`` = false, and teach nothing about other items when given as gold.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError, not_one_of
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit

ENOUGH = 50  # gold items from which the most uncertain items are asked for
HOW = ("systematic", "uncertain")


@dataclass(frozen=True, eq=False)
class Questions(NotebookView):
    """The items to label, in the order in which they were chosen."""

    columns: dict[str, Any] = field(repr=False)
    how: str  # systematic or uncertain
    gold: int  # gold items that the fit has
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __len__(self) -> int:
        return len(self.columns["item"])

    def __repr__(self) -> str:
        return f"Questions({len(self):,} items, {self.how})"

    @property
    def sentence(self) -> str:
        """What was chosen, and what to do."""
        if self.how == HOW[0]:
            text = (
                f"{len(self):,} items, a systematic sample by label and certainty: they teach how far to believe judges"
            )
        else:
            text = f"the {len(self):,} most uncertain items: an expert's label corrects them, and calibrates nothing"
        return f"{text}. Fill in the column gold, and fit again with this file as gold."

    @property
    def table(self) -> Any:
        """A table with one row per item: item, topic, label, probability, calibrate and an empty column gold."""
        return frame(self.columns, self.kind)


def ask(fit: Fit | str | PathLike[str], items: int = 20, *, how: str | None = None, seed: int = 0) -> Questions:
    """Choose items for an expert to label.

    Parameters
    ----------
    fit
        A fit, or the folder of a saved one.
    items
        How many items to choose, of those that were judged and have no gold.
    how
        ``"systematic"`` for a sample by label and certainty, ``"uncertain"`` for the most uncertain items. By default
        systematic until the fit has 50 gold items.
    seed
        The seed of the random start.

    Returns
    -------
    Questions
        The items, as a table with an empty column ``gold``; filled in, it can be given as gold.

    Examples
    --------
    >>> import adjudge
    >>> adjudge.ask(adjudge.fit(adjudge.dataset("anesthesia")), 10)
    Questions(10 items, systematic)
    """
    fit = read_fit(fit)
    if not isinstance(items, int | np.integer) or items < 1:
        raise UsageError(f"items {items!r} is not a whole number of at least 1")
    if how is not None and how not in HOW:
        raise UsageError(not_one_of("how", how, HOW))
    has_gold = np.zeros(len(fit.items), bool) if fit.gold is None else fit.gold >= 0
    gold_count = int(has_gold.sum())
    chosen_how = how or HOW[gold_count >= ENOUGH]
    candidates = np.flatnonzero(~has_gold)
    if not candidates.size:
        raise UsageError("every item of the fit has gold already")
    number = min(items, candidates.size)
    entropy, label = np.asarray(fit.entropy)[candidates], fit.label[candidates]
    choose = _systematic if chosen_how == HOW[0] else _most_uncertain
    index = candidates[choose(label, entropy, number, seed)]
    columns: dict[str, Any] = {"item": fit.items.gather(index)}
    if fit.topics is not None and fit.topic is not None:
        topics = fit.topics.to_list()
        columns["topic"] = [topics[t] if t >= 0 else None for t in fit.topic[index].tolist()]
    columns |= {
        "label": [fit.scale.labels[k] for k in fit.label[index].tolist()],
        "probability": fit.posterior[index, fit.label[index]],
        "calibrate": [chosen_how == HOW[0]] * number,
        "gold": pl.Series("gold", [None] * number, dtype=pl.String),
    }
    return Questions(columns, chosen_how, gold_count, fit.kind)


def _systematic(label: Codes, entropy: Floats, number: int, seed: int) -> Codes:
    """Return positions at equal distances in the order of labels and their certainty, from a random start."""
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(label.size), entropy, label))
    step = label.size / number
    positions: Codes = order[np.floor(step * (rng.random() + np.arange(number))).astype(np.int64)]
    return positions


def _most_uncertain(label: Codes, entropy: Floats, number: int, seed: int) -> Codes:
    """Return the positions of the most uncertain items; ties are broken at random."""
    order = np.lexsort((np.random.default_rng(seed).random(label.size), -entropy))
    positions: Codes = order[:number]
    return positions

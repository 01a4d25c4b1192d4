"""``judges``: every judge of a fit on a card, the confusions that cost most labels, and the items to look at again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.judgments import Judgments
from adjudge.data.show import NotebookView
from adjudge.diagnostics.cards import Cards, cards
from adjudge.diagnostics.confusions import Confusions, confusions
from adjudge.diagnostics.known_truths import read_truth
from adjudge.diagnostics.second_looks import SecondLooks, second_looks
from adjudge.inference.inputs import read_fitted
from adjudge.inference.result import Fit

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
    Judges(5 judges, 315 judgments; median Youden's J 0.55)
    >>> crowd.cards[0].sentence
    'Reliable so far (135 judgments).'

    """
    record, table = read_fitted(fit, judgments)
    return Judges(record, table, read_truth(record, table, truth), seed, most)

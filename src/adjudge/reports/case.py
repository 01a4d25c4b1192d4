"""The case of a report: a fit, its judgments, further truths, and everything that is computed from them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import places
from adjudge.diagnostics.collusion import collusion
from adjudge.diagnostics.confusions import confusions
from adjudge.diagnostics.control_chart import control_chart
from adjudge.diagnostics.drift import drift
from adjudge.diagnostics.evidence import confusion_draws, gather_evidence
from adjudge.diagnostics.gold_accuracy import known_truths, posterior_without_gold, read_truth
from adjudge.diagnostics.judges import cards
from adjudge.diagnostics.new_work import new_work
from adjudge.diagnostics.second_looks import second_looks
from adjudge.diagnostics.times import time_problem
from adjudge.inference.fitted import as_fitted
from adjudge.kernels.truth import vote_shares

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.diagnostics.collusion import Collusion
    from adjudge.diagnostics.confusions import Confusions
    from adjudge.diagnostics.control_chart import ControlChart
    from adjudge.diagnostics.drift import Drift
    from adjudge.diagnostics.judges import Cards
    from adjudge.diagnostics.new_work import NewWork
    from adjudge.diagnostics.second_looks import SecondLooks
    from adjudge.inference.chains import Draws
    from adjudge.inference.result import Fit
    from adjudge.kernels.block import Block


SAME = 1e-9  # probabilities that differ by less are equal
MOST_ITEMS = 50  # to look at, for each reason


def build_case(fit: Fit, judgments: Judgments, truth: Any = None, *, seed: int = 0, earlier: Fit | None = None) -> Case:
    """Return a fit with everything that a report says about it.

    Parameters
    ----------
    fit
        The fit to report on.
    judgments
        The judgments that it was made from.
    truth
        A table of (item, label) that the fit did not use, to compare its labels with.
    seed
        Seed of the draws behind the intervals of a fit that was not sampled.
    earlier
        An earlier fit of the same judges, to compare their work with.

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> case = build_case(adjudge.fit(judgments, "dawid-skene"), judgments)
    >>> len(case.cards), case.time_problem
    (5, 'the judgments have no times')
    """
    table = replace(judgments, kind="polars")  # the page reads polars frames
    return Case(fit, table, read_truth(fit, judgments, truth), seed, earlier)


@dataclass(frozen=True, eq=False)
class Case:
    """A fit with everything that a report says about it.

    Each part is computed when it is first used, and once. A part that needs what is not there (times, an earlier fit,
    several labels) is None, and ``label_problem`` and ``time_problem`` say why.
    """

    fit: Fit
    judgments: Judgments
    truth: Codes | None = None  # (I) truths that the fit did not use, -1 if unknown
    seed: int = 0
    earlier: Fit | None = None  # of the same judges

    @cached_property
    def block(self) -> Block:
        """The judgments in the codes of the fit, items in the order of the judgments."""
        return as_fitted(self.fit, self.judgments)

    @cached_property
    def cards(self) -> Cards:
        """A card for every judge, in the order of the fit."""
        return cards(self.fit, self.judgments, self.truth, seed=self.seed, draws=self.confusion_draws)

    @cached_property
    def confusion_draws(self) -> Draws:
        """Draws of the judges' confusion matrices."""
        return confusion_draws(*gather_evidence(self.fit, self.judgments), self.seed)

    @cached_property
    def votes(self) -> Floats:
        """Shares of votes (I, K), items in the order of the fit."""
        return self.in_fit_order(vote_shares(self.block._replace(gold=np.full_like(self.block.gold, -1))))

    def in_fit_order(self, values: Floats) -> Floats:
        """Return values of judged items (I', ...) in the order of the fit (I, ...).

        Items of the fit that have no judgments, only gold, are nan.
        """
        ordered = np.full((len(self.fit.items), *values.shape[1:]), np.nan)
        index = places(self.fit.items, self.judgments.items)
        ordered[index >= 0] = values[index[index >= 0]]
        return ordered

    @property
    def overruled(self) -> Flags:
        """Items whose label differs from an untied vote, because of the judges and not of gold (I)."""
        votes, every = np.nan_to_num(self.votes), np.arange(self.fit.label.size)
        leads = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        gain = self.fit.posterior[every, self.fit.label] - self.fit.posterior[every, votes.argmax(axis=1)]
        against: Flags = leads & (gain > SAME) & ~self.is_gold
        return against

    @property
    def is_gold(self) -> Flags:
        """Items whose truth was given to the fit (I)."""
        gold = self.fit.gold
        return np.zeros(self.fit.label.size, bool) if gold is None else np.asarray(gold >= 0)

    @property
    def certainty(self) -> Floats:
        """The probability of the label of every item whose truth was not given (I')."""
        every = np.flatnonzero(~self.is_gold)
        chance: Floats = self.fit.posterior[every, self.fit.label[every]]
        return chance

    @cached_property
    def unused_truths(self) -> tuple[Codes, Floats] | None:
        """Truths that the fit did not use, and its posterior of these items (I', K)."""
        if self.truth is None:
            return None
        chosen = np.flatnonzero((self.truth >= 0) & ~self.is_gold)
        return self.truth[chosen], self.fit.posterior[chosen]

    @cached_property
    def known_truths(self) -> tuple[Codes, Floats]:
        """All known truths of judged items, and the posterior of these items without gold (I', K)."""
        _, evidence = gather_evidence(self.fit, self.judgments)
        truth = known_truths(evidence, self.truth)
        chosen = np.flatnonzero(truth >= 0)
        return truth[chosen], posterior_without_gold(self.fit, evidence)[chosen]

    @property
    def label_problem(self) -> str:
        """Why judges cannot be compared, an empty text if they can."""
        return "" if len(self.fit.scale) > 1 else "there is only one label"

    @property
    def time_problem(self) -> str:
        """Why changes cannot be detected, an empty text if they can."""
        return self.label_problem or time_problem(self.judgments)

    @cached_property
    def collusion(self) -> Collusion | None:
        """Pairs of judges, and those who agree too much."""
        return None if self.label_problem else collusion(self.fit, self.judgments)

    @cached_property
    def drift(self) -> Drift | None:
        """The judges who changed, if times are known."""
        return None if self.time_problem else drift(self.fit, self.judgments)

    @cached_property
    def control_chart(self) -> ControlChart | None:
        """Each judge's batches compared with their level, if times are known."""
        return None if self.time_problem else control_chart(self.fit, self.judgments)

    @cached_property
    def new_work(self) -> NewWork | None:
        """The judgments compared with what an earlier fit expects of their judges."""
        return None if self.label_problem or self.earlier is None else new_work(self.earlier, self.judgments)

    @cached_property
    def confusions(self) -> Confusions:
        """The confusions of all judges together."""
        return confusions(self.fit, self.judgments, low=self.cards.low, seed=self.seed)

    @cached_property
    def second_looks(self) -> SecondLooks:
        """Items that deserve a second look."""
        return second_looks(self.fit, self.judgments, most=MOST_ITEMS)

"""What a report is on: a fit, the judgments it was made from, and truths that are known besides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Flags, Floats
from adjudge.data.judgments import places
from adjudge.diagnostics.cards import cards
from adjudge.diagnostics.collusion import collusion
from adjudge.diagnostics.confusions import confusions
from adjudge.diagnostics.control_chart import control_chart
from adjudge.diagnostics.drift import drift
from adjudge.diagnostics.evidence import confusion_draws, gather_evidence
from adjudge.diagnostics.known_truths import known_truths, posterior_without_gold, read_truth
from adjudge.diagnostics.new_work import new_work
from adjudge.diagnostics.second_looks import second_looks
from adjudge.diagnostics.times import time_problem
from adjudge.inference.fitted import as_fitted
from adjudge.kernels.truth import vote_shares

if TYPE_CHECKING:
    from adjudge.data.judgments import Judgments
    from adjudge.diagnostics.cards import Cards
    from adjudge.diagnostics.collusion import Collusion
    from adjudge.diagnostics.confusions import Confusions
    from adjudge.diagnostics.control_chart import ControlChart
    from adjudge.diagnostics.drift import Drift
    from adjudge.diagnostics.new_work import NewWork
    from adjudge.diagnostics.second_looks import SecondLooks
    from adjudge.inference.chains import Draws
    from adjudge.inference.result import Fit
    from adjudge.kernels.block import Block


EVEN = 1e-9  # probabilities that differ by less are the same
MOST_ITEMS = 50  # to look at, for each reason


def case_of(fit: Fit, judgments: Judgments, truth: Any = None, *, seed: int = 0, earlier: Fit | None = None) -> Case:
    """Return a case; ``truth`` is a table of (item, label) that the fit was not told."""
    own = replace(judgments, kind="polars")  # whatever kind of frame it came from
    return Case(fit, own, read_truth(fit, judgments, truth), seed, earlier)


@dataclass(frozen=True, eq=False)
class Case:
    """A fit with all that can be said of it; what takes long is found once."""

    fit: Fit
    judgments: Judgments
    truth: Codes | None = None  # (I) known to us and not told to the fit, -1 where it is not known
    seed: int = 0
    earlier: Fit | None = None  # of the same judges at work before

    @cached_property
    def block(self) -> Block:
        """The judgments as the fit has seen them, items in the order of the judgments."""
        return as_fitted(self.fit, self.judgments)

    @cached_property
    def cards(self) -> Cards:
        """A card for every judge, in the order of the fit."""
        return cards(self.fit, self.judgments, self.truth, seed=self.seed)

    @cached_property
    def matrices(self) -> Draws:
        """Draws of the judges' matrices."""
        return confusion_draws(*gather_evidence(self.fit, self.judgments), self.seed)

    @cached_property
    def votes(self) -> Floats:
        """Shares of votes (I, K), items in the order of the fit."""
        return self.of_fit(vote_shares(self.block._replace(gold=np.full_like(self.block.gold, -1))))

    def of_fit(self, of_judgments: Floats) -> Floats:
        """Return what is known of items in the order of the fit, given in that of the judgments; nan of the others."""
        found = np.full((len(self.fit.items), *of_judgments.shape[1:]), np.nan)
        where = places(self.fit.items, self.judgments.items)
        found[where >= 0] = of_judgments[where[where >= 0]]
        return found

    @property
    def overruled(self) -> Flags:
        """Items whose vote is not tied, and of which judges, and not gold, make another label more likely (I)."""
        votes, every = np.nan_to_num(self.votes), np.arange(self.fit.label.size)
        leads = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        gain = self.fit.posterior[every, self.fit.label] - self.fit.posterior[every, votes.argmax(axis=1)]
        told = np.zeros(every.size, bool) if self.fit.gold is None else self.fit.gold >= 0
        against: Flags = leads & (gain > EVEN) & ~told
        return against

    @cached_property
    def checked(self) -> tuple[Codes, Floats] | None:
        """Truths that are known and were not told to the fit, and what it says of these items (I', K)."""
        if self.truth is None:
            return None
        chosen = np.flatnonzero((self.truth >= 0) & (True if self.fit.gold is None else self.fit.gold < 0))
        return self.truth[chosen], self.fit.posterior[chosen]

    @cached_property
    def known(self) -> tuple[Codes, Floats]:
        """Truths of judged items that are known, told to the fit or not, and what judgments say of them (I', K)."""
        _, evidence = gather_evidence(self.fit, self.judgments)
        truth = known_truths(evidence, self.truth)
        chosen = np.flatnonzero(truth >= 0)
        return truth[chosen], posterior_without_gold(self.fit, evidence)[chosen]

    @property
    def untold(self) -> str:
        """Why judges cannot be told apart, nothing where they can."""
        return "" if len(self.fit.scale) > 1 else "there is one label only"

    @property
    def untimed(self) -> str:
        """Why nothing can be said of changes, an empty text where it can."""
        return self.untold or time_problem(self.judgments)

    @cached_property
    def pairs(self) -> Collusion | None:
        """What pairs of judges share, and who agree too much."""
        return None if self.untold else collusion(self.fit, self.judgments)

    @cached_property
    def changes(self) -> Drift | None:
        """Which judges changed, where times are known."""
        return None if self.untimed else drift(self.fit, self.judgments)

    @cached_property
    def chart(self) -> ControlChart | None:
        """How each judge's batches compare with her level, where times are known."""
        return None if self.untimed else control_chart(self.fit, self.judgments)

    @cached_property
    def new_work(self) -> NewWork | None:
        """What the judges did, beside what an earlier fit believed of them."""
        return None if self.untold or self.earlier is None else new_work(self.earlier, self.judgments)

    @cached_property
    def confusions(self) -> Confusions:
        """What all judges together take for what."""
        low = np.array([card.confusion_low for card in self.cards])
        return confusions(self.fit, self.judgments, low=low, seed=self.seed)

    @cached_property
    def looks(self) -> SecondLooks:
        """Items that deserve a second look."""
        return second_looks(self.fit, self.judgments, most=MOST_ITEMS)

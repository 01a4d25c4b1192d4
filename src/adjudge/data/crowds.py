"""What every simulated crowd is made of: who judges what, labels drawn from matrices, and the record of it all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments, from_codes, judgment_table
from adjudge.data.scale import Label, Scale

FIRM = 10.0  # of how many judgments' worth the knowledge is that all rows of a crowd lean one way
EVEN = 10.0  # the same for prevalence around equal shares


@dataclass(frozen=True, eq=False)
class Simulation:
    """Judgments whose truth is known, and the parameters they were drawn from.

    ``gold`` maps the items whose truth one may use to their labels; ``truth`` is the truth of all. The
    arrays below ``gold`` belong to single designs, and are None in the others.
    """

    judgments: Judgments
    truth: Codes  # (I)
    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    gold: Mapping[str, Label] = field(default_factory=dict)
    spammers: Codes | None = None  # judges whose labels do not depend on the truth, the busiest first
    bias: Floats | None = None  # (J) levels by which an ordinal judge leans up or down
    degree: Floats | None = None  # (I) what a Gaussian judge tries to see
    noise: Floats | None = None  # (J) the variance of what she sees
    colluders: Codes | None = None  # (pairs, 2) a judge, and the one who copies from her
    changed: Codes | None = None  # (J) the time of a judge's first judgment after her change, -1 without one
    after: Floats | None = None  # (J, K, K) the confusion after the change
    skill: Floats | None = None  # (J) how good a judge is among others, as a standard normal score
    trust: Floats | None = None  # (J) what a platform thinks of her, from 0 to 1

    @property
    def truths(self) -> pl.DataFrame:
        """The truth of every item, as a table of items and labels."""
        labels = pl.Series("label", self.judgments.scale.labels)
        return pl.DataFrame([self.judgments.items, labels.gather(self.truth)])

    @property
    def table(self) -> pl.DataFrame:
        """The judgments as a file of them would hold them, with each judge's trust where there is any."""
        rows = judgment_table(self.judgments)
        if self.trust is None:
            return rows
        return rows.with_columns(trust=pl.Series(np.round(self.trust, 4)).gather(self.judgments.judge))


def recorded(
    judge: Codes, label: Codes, truth: Codes, prevalence: Floats, confusion: Floats, **more: Any
) -> Simulation:
    """Return the simulation whose items were judged by the panels ``judge`` (I, P) with the labels ``label`` (I, P)."""
    item = np.repeat(np.arange(truth.size, dtype=np.int32), judge.shape[1])
    table = {name: more.pop(name) for name in ("scale", "time") if name in more}
    judgments = named(item, judge.ravel(), label.ravel(), confusion, **table)
    return Simulation(judgments, frozen(truth), frozen(prevalence), frozen(confusion), **more)


def named(item: Codes, judge: Codes, label: Codes, confusion: Floats, **rest: Any) -> Judgments:
    """Return judgments on items i1, i2, ... by judges j1, j2, ... with labels 0, 1, ... unless a scale is given."""
    judges, labels = confusion.shape[:2]
    rest.setdefault("scale", numbered_scale(labels))
    items = numbered("item", int(item[-1]) + 1)  # every item is judged, and items come in order
    return from_codes(item, judge, label, items=items, judges=numbered("judge", judges), **rest)


def numbered(word: str, count: int) -> pl.Series:
    """Return the names i1, i2, ... of items, j1, j2, ... of judges, t1, t2, ... of topics."""
    return pl.select(pl.format(f"{word[0]}{{}}", pl.int_range(1, count + 1)).alias(word)).to_series()


def numbered_scale(labels: int, ordinal: bool = False) -> Scale:
    """Return the scale of labels 0, 1, ..., as text."""
    return Scale(tuple(map(str, range(labels))), ordinal)


def panels(rng: np.random.Generator, items: int, judges: int, each: int) -> Codes:
    """Return ``each`` different judges for every item (I, P), evenly.

    In every round all judges line up in a new random order and go to the next items, ``each`` to an item.
    Those for whom no whole panel is left sit the round out.
    """
    served = judges // each  # items in a round
    rounds = -(-items // served)
    line = rng.permuted(np.tile(np.arange(judges, dtype=np.int32), (rounds, 1)), axis=1)
    if rounds > 1:  # who sat out the first round is first in the second, so that nobody is never asked
        out = line[0, served * each :]
        line[1] = np.r_[out, line[1][~np.isin(line[1], out)]]
    return line[:, : served * each].reshape(-1, each)[:items]


def spread(rng: np.random.Generator, total: int, weight: Floats) -> Codes:
    """Return how many of ``total`` each gets: one, and a share of the rest by weight."""
    return 1 + rng.multinomial(total - weight.size, weight / weight.sum())


def part(share: float, whole: int) -> int:
    """Return how many a share of a whole is; of a share above 0 at least one."""
    return max(round(share * whole), int(share > 0))


def categories(rng: np.random.Generator, probability: Floats, row: Codes) -> Codes:
    """Return one draw for each entry of ``row``, by that row of the probabilities (R, K)."""
    edge = np.cumsum(probability, axis=1)[:, :-1].T.copy()  # (K - 1, R)
    draw, drawn = rng.random(row.shape), np.zeros(row.shape, np.int32)
    for upper in edge:  # a label at a time: an N x K array would not fit for millions of judgments
        drawn += draw >= upper[row]
    return drawn


def said(rng: np.random.Generator, confusion: Floats, judge: Codes, truth: Codes) -> Codes:
    """Return the labels that judges give to items of these truths: y ~ Categorical(theta[judge, truth])."""
    labels = confusion.shape[-1]
    return categories(rng, confusion.reshape(-1, labels), judge * labels + truth)


def drawn_truth(rng: np.random.Generator, items: int, labels: int) -> tuple[Codes, Floats]:
    """Return truths (I) and the one prevalence (1, K) they are drawn from, itself drawn near equal shares."""
    prevalence = rng.dirichlet(np.full(labels, EVEN), 1)
    return categories(rng, prevalence, np.zeros(items, np.int32)), prevalence


def leaning(rng: np.random.Generator, judges: int, labels: int, accuracy: float) -> Floats:
    """Return matrices (J, K, K) with Dirichlet rows, the truth being ``accuracy`` likely on average."""
    mean = np.full((labels, labels), (1 - accuracy) / (labels - 1))
    np.fill_diagonal(mean, accuracy)
    return np.stack([rng.dirichlet(FIRM * row, judges) for row in mean], axis=1)

"""A simulated crowd, and the draws that designs share: panels of judges, true labels, confusions and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments, from_codes, judgment_table
from adjudge.data.scale import Label, Scale

FIRM = 10.0  # concentration of the rows of confusion matrices around their mean, in judgments
EVEN = 10.0  # concentration of prevalence around equal shares, per label


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated judgments, with the true labels and the parameters that they were drawn from.

    ``truth`` has the true labels of all items; ``gold`` maps the items whose true label may be used to it. The fields
    after ``gold`` belong to single designs and are None in the others.
    """

    judgments: Judgments
    truth: Codes  # (I)
    prevalence: Floats  # (T, K)
    confusion: Floats  # (J, K, K)
    gold: Mapping[str, Label] = field(default_factory=dict)
    spammers: Codes | None = None  # judges whose labels do not depend on the truth, the busiest first
    bias: Floats | None = None  # (J) levels by which an ordinal judge is biased up or down
    degree: Floats | None = None  # (I) which Gaussian judges see with noise
    noise: Floats | None = None  # (J) variance of the noise
    colluders: Codes | None = None  # (pairs, 2) a judge, and the judge who copies from them
    changed: Codes | None = None  # (J) time of the first judgment after a judge changed, -1 for others
    after: Floats | None = None  # (J, K, K) the confusion after the change
    skill: Floats | None = None  # (J) skill of a judge, as a standard normal score
    trust: Floats | None = None  # (J) prior trust of a platform, from 0 to 1

    @property
    def truths(self) -> pl.DataFrame:
        """The true label of every item, as a table of items and labels."""
        labels = pl.Series("label", self.judgments.scale.labels)
        return pl.DataFrame([self.judgments.items, labels.gather(self.truth)])

    @property
    def table(self) -> pl.DataFrame:
        """The judgments as rows of a file, with the trust of the judge if there is any."""
        rows = judgment_table(self.judgments)
        if self.trust is None:
            return rows
        return rows.with_columns(trust=pl.Series(np.round(self.trust, 4)).gather(self.judgments.judge))


def from_panels(
    judge: Codes, label: Codes, truth: Codes, prevalence: Floats, confusion: Floats, **more: Any
) -> Simulation:
    """Return the simulation in which the panels ``judge`` (I, P) gave the labels ``label`` (I, P) to the items."""
    item = np.repeat(np.arange(truth.size, dtype=np.int32), judge.shape[1])
    table = {name: more.pop(name) for name in ("scale", "time") if name in more}
    judgments = named_judgments(item, judge.ravel(), label.ravel(), confusion, **table)
    return Simulation(judgments, frozen(truth), frozen(prevalence), frozen(confusion), **more)


def named_judgments(item: Codes, judge: Codes, label: Codes, confusion: Floats, **rest: Any) -> Judgments:
    """Return judgments of items i1, i2, ... by judges j1, j2, ... with labels 0, 1, ... unless ``rest`` has a scale."""
    judges, labels = confusion.shape[:2]
    rest.setdefault("scale", numbered_scale(labels))
    items = numbered_names("item", int(item[-1]) + 1)  # every item is judged, and items come in order
    return from_codes(item, judge, label, items=items, judges=numbered_names("judge", judges), **rest)


def numbered_names(word: str, count: int) -> pl.Series:
    """Return the names i1, i2, ... of items, j1, j2, ... of judges, t1, t2, ... of topics."""
    return pl.select(pl.format(f"{word[0]}{{}}", pl.int_range(1, count + 1)).alias(word)).to_series()


def numbered_scale(labels: int, ordinal: bool = False) -> Scale:
    """Return the scale of labels 0, 1, ..., as text."""
    return Scale(tuple(map(str, range(labels))), ordinal)


def panels(rng: np.random.Generator, items: int, judges: int, each: int) -> Codes:
    """Return ``each`` different judges for every item (I, P), with even workloads.

    In every round, the judges in a new random order are dealt to the next items, ``each`` per item. Judges who do not
    fill a panel are left out of the round.
    """
    served = judges // each  # items in a round
    rounds = -(-items // served)
    line = rng.permuted(np.tile(np.arange(judges, dtype=np.int32), (rounds, 1)), axis=1)
    if rounds > 1:  # judges left out of the first round come first in the second, so that everybody judges
        out = line[0, served * each :]
        line[1] = np.r_[out, line[1][~np.isin(line[1], out)]]
    return line[:, : served * each].reshape(-1, each)[:items]


def allocate(rng: np.random.Generator, total: int, weight: Floats) -> Codes:
    """Return counts that sum to ``total``: one each, and the rest at random in proportion to weight."""
    return 1 + rng.multinomial(total - weight.size, weight / weight.sum())


def share_count(share: float, total: int) -> int:
    """Return the number that is a share of a total; at least 1 for a share above 0."""
    return max(round(share * total), int(share > 0))


def draw_categories(rng: np.random.Generator, probability: Floats, row: Codes) -> Codes:
    """Return one draw per entry of ``row``, from that row of the probabilities (R, K)."""
    edge = np.cumsum(probability, axis=1)[:, :-1].T.copy()  # (K - 1, R)
    draw, drawn = rng.random(row.shape), np.zeros(row.shape, np.int32)
    for upper in edge:  # one label at a time, without an N x K array
        drawn += draw >= upper[row]
    return drawn


def draw_labels(rng: np.random.Generator, confusion: Floats, judge: Codes, truth: Codes) -> Codes:
    """Return the labels that judges give to items with these true labels: y ~ Categorical(theta[judge, truth])."""
    labels = confusion.shape[-1]
    return draw_categories(rng, confusion.reshape(-1, labels), judge * labels + truth)


def draw_truth(rng: np.random.Generator, items: int, labels: int) -> tuple[Codes, Floats]:
    """Return true labels (I) and the prevalence (1, K) that they are drawn from, itself drawn around equal shares."""
    prevalence = rng.dirichlet(np.full(labels, EVEN), 1)
    return draw_categories(rng, prevalence, np.zeros(items, np.int32)), prevalence


def draw_confusion(rng: np.random.Generator, judges: int, labels: int, accuracy: float) -> Floats:
    """Return confusion matrices (J, K, K) with Dirichlet rows; the mean of the diagonal is ``accuracy``."""
    mean = np.full((labels, labels), (1 - accuracy) / (labels - 1))
    np.fill_diagonal(mean, accuracy)
    return np.stack([rng.dirichlet(FIRM * row, judges) for row in mean], axis=1)

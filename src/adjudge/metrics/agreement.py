"""``agreement``: how much judges agree with each other, before anything is known of the truth.

Every measure is read off sums over items, and each item's part follows from how many judges gave it each label: work
grows with the number of judgments, whatever the numbers of judges and items. Items with a single judge say nothing of
agreement and are left out. A judge has one vote an item (``adjudge.metrics.coincidence`` says what becomes of repeats).

With m votes on an item, n_k of them for label k:

- raw agreement is the share of agreeing pairs among all pairs of votes of two judges on an item;
- Krippendorff's alpha = 1 - observed / expected disagreement, where an item's pairs weigh 1 / (m - 1) (Krippendorff
  2004). Disagreement is 0 or 1 (nominal), the squared distance of the labels' values (interval), or of their middle
  ranks among all votes (ordinal), which is his sum of the ranks in between;
- Fleiss' kappa (1971) takes the same m of all items. Here each item counts the same, whatever its m: observed is the
  mean over items of the share of agreeing pairs, and a label is as common as its mean share of an item's votes (Gwet
  2014). With equal m this is Fleiss' own;
- Cohen's kappa is the mean over pairs of judges, weighted by the items they share (``adjudge.metrics.coincidence``).

Intervals are the middle 90 % of draws with replacement of items: of up to ``GROUPS`` random groups of items, which is
the same for fewer items and tells the spread as well for more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Flags, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.errors import UsageError, quote
from adjudge.metrics import coincidence as cohen
from adjudge.metrics.bootstrap import DRAWS, Interval
from adjudge.metrics.coincidence import (
    Kappas,
    Sums,
    Votes,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    fleiss_kappa,
    grouped,
    kappas,
    of_one_label,
    raw_agreement,
    summed,
    too_many,
    votes,
)
from adjudge.metrics.coincidence import drawn as drawn_sums

Measured: TypeAlias = Callable[[Sums, Floats], float | None]

LEVEL = 0.9
PAIRS = 10
DIGITS = 12  # beyond which a pair's kappa is rounding
RULES = (  # what an alpha is good for (Krippendorff 2004, section 11.4.2)
    (0.8, "enough to rely on a single judgment, by Krippendorff's rule of 0.8"),
    (0.667, "enough for tentative conclusions, by Krippendorff's rule of 0.667"),
    (-np.inf, "too little to rely on a single judgment, by Krippendorff's rule of 0.667"),
)
MEASURES: Mapping[str, tuple[Measured, str]] = {  # of what, and what must be said with it
    "raw_agreement": (raw_agreement, "of {pairs:,} pairs of votes"),
    "alpha_nominal": (alpha_nominal, "labels are the same or not"),
    "alpha_ordinal": (alpha_ordinal, "labels are as far apart as their ranks"),
    "alpha_interval": (alpha_interval, "labels are as far apart as their values"),
    "fleiss_kappa": (fleiss_kappa, "every item counts the same"),
}
ORDERED = ("alpha_ordinal", "alpha_interval")
COHEN = "cohen_kappa"
SINGLE = "there is a single judge"
APART = "no item was judged by two judges"
UNORDERED = "the labels have no order that is known (--ordinal says that they have)"


class Row(NamedTuple):
    """One line of the result: a measure, its value with a 90 % interval, and what must be said with it."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    note: str = ""


class Pair(NamedTuple):
    """Two judges, and how they agree on the items that both judged."""

    first: Any
    second: Any
    shared: int  # items
    agreement: float
    kappa: float | None  # None where both gave all of them one and the same label


@dataclass(frozen=True, eq=False)
class Agreement:
    """How much judges agree; a measure that is not defined has the value ``None`` and a reason as its note."""

    items: int  # that two judges or more have judged
    alone: int  # other items, which are left out
    judges: int
    judgments: int
    repeats: int  # judgments beyond a judge's first on an item
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]  # of judges, those with the most shared items first

    def __repr__(self) -> str:
        shown = [f"{row.measure} {row.value:.4f}" for row in self.rows if row.value is not None]
        return f"Agreement({self.items:,} items, {self.judges:,} judges: {', '.join(shown) or self.rows[0].note})"

    @property
    def values(self) -> dict[str, float | None]:
        """The value of each measure."""
        return {row.measure: row.value for row in self.rows}

    @property
    def sentence(self) -> str:
        """The agreement in plain words, by the alpha that knows the order of labels where there is one."""
        raw, ordered = self.values["raw_agreement"], self.values["alpha_ordinal"]
        name = "alpha_nominal" if ordered is None else "alpha_ordinal"
        alpha = self.values[name]
        if raw is None:
            return self.rows[0].note
        said = f"two judges agree on {100 * raw:.0f} % of what both judged"
        if alpha is None:
            return f"{said}; beyond chance: {self.rows[1].note}"
        rule = next(rule for least, rule in RULES if alpha >= least)
        return f"{said}, {name} is {alpha:.3f}: {rule}"

    def columns(self) -> dict[str, list[Any]]:
        """Return the measures as named columns, a row each."""
        return {name: [getattr(row, name) for row in self.rows] for name in Row._fields}

    def pair_columns(self) -> dict[str, list[Any]]:
        """Return the pairs of judges as named columns, a row each."""
        return {name: [getattr(pair, name) for pair in self.pairs] for name in Pair._fields}


def agreement(
    judgments: Any, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0, pairs: int = PAIRS
) -> Agreement:
    """Return how much judges agree, from judgments or anything ``read`` takes.

    ``pairs`` says how many pairs of judges are listed. The same ``seed`` gives the same intervals.
    """
    if draws < 1 or not 0 < level < 1:
        raise UsageError(f"{draws} draws at level {level}: give 1 draw or more and a level between 0 and 1")
    table = read(judgments)
    given, rng = votes(table), np.random.default_rng(seed)
    met = given.voters.size > 0
    found = kappas(given, len(table.judges), len(table.scale), rng, cohen.MOST) if met else None
    return Agreement(
        items=int(given.voters.size),
        alone=given.alone,
        judges=int(np.unique(table.judge).size),
        judgments=len(table),
        repeats=given.repeats,
        rows=tuple(_undefined(table) if found is None else _rows(table, given, found, rng, draws, level)),
        pairs=() if found is None else tuple(_pairs(table, found, pairs)),
    )


def by_topic(judgments: Any, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0) -> dict[Any, Agreement]:
    """Return how much judges agree on the items of each topic, by its name; items without a topic are left out."""
    table = read(judgments)
    if table.topics is None or table.topic is None:
        raise UsageError("the judgments have no topics: name their column with --topic (topic=... in Python)")
    parts = {name: _of_topic(table, table.topic == t) for t, name in enumerate(table.topics)}
    return {name: agreement(part, draws=draws, level=level, seed=seed) for name, part in parts.items()}


def _of_topic(table: Judgments, chosen: Flags) -> Judgments:
    """Return the judgments of some items (I) alone."""
    part = table.take(np.flatnonzero(chosen[table.item()]))
    start = np.r_[0, np.cumsum(np.diff(part.start)[chosen])].astype(np.int64)
    items = table.items.gather(np.flatnonzero(chosen))
    return replace(part, items=items, start=frozen(start), topics=None, topic=None)


def _undefined(table: Judgments) -> list[Row]:
    """Return the measures, none of which is defined."""
    reason = SINGLE if np.unique(table.judge).size < 2 else APART
    return [Row(measure, None, None, None, f"not defined because {reason}") for measure in (*MEASURES, COHEN)]


def _rows(
    table: Judgments, given: Votes, found: Kappas, rng: np.random.Generator, draws: int, level: float
) -> list[Row]:
    """Return every measure with its interval."""
    value = np.array(table.scale.values)
    measured = {name: of for name, (of, _) in MEASURES.items() if name not in ORDERED or table.scale.ordinal}
    if too_many(len(table.scale)):
        measured.pop("alpha_ordinal", None)
    groups = grouped(given, found.influence, value, rng, "alpha_ordinal" in measured)
    whole = summed(groups, np.ones((1, groups.items.size)))[0]
    drawn: dict[str, list[float | None]] = {name: [] for name in (*measured, COHEN)}
    for sums in drawn_sums(groups, rng, draws) if given.voters.size > 1 else ():
        for name, of in measured.items():
            drawn[name].append(of(sums, value))
        drawn[COHEN].append(None if found.mean is None else found.mean + sums.influence)
    values = {name: of(whole, value) for name, of in measured.items()} | {COHEN: found.mean}
    notes = _notes(table.scale, whole, found, given)
    return [_row(name, values.get(name), drawn.get(name, []), notes[name], level) for name in (*MEASURES, COHEN)]


def _row(name: str, value: float | None, drawn: list[float | None], note: str, level: float) -> Row:
    """Return a line with the interval that leaves out as many draws below as above."""
    defined = np.array([one for one in drawn if one is not None])
    if value is None or not defined.size:
        why = "not defined in any draw" if drawn else "a single item"
        return Row(name, value, None, None, note if value is None else f"{note}; no interval: {why}")
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    span = Interval(float(low), float(high), defined.size, len(drawn) - defined.size)
    return Row(name, value, span.low, span.high, f"{note}; {span.note}" if span.note else note)


def _notes(scale: Scale, whole: Sums, found: Kappas, given: Votes) -> dict[str, str]:
    """Return what must be said with each measure, or why it has no value."""
    notes = {name: note.format(pairs=int(whole.pairs) // 2) for name, (_, note) in MEASURES.items()}
    if of_one_label(whole):
        only = f"not defined because every vote is {quote(scale.names[int(whole.label.argmax())])}"
        notes |= {name: only for name in notes if name != "raw_agreement"}
    if too_many(len(scale)):
        notes["alpha_ordinal"] = f"not defined because {len(scale):,} labels are too many to rank: see alpha_interval"
    if not scale.ordinal:
        notes |= dict.fromkeys(ORDERED, f"not defined because {UNORDERED}")
    return notes | {COHEN: _cohen_note(found, given)}


def _cohen_note(found: Kappas, given: Votes) -> str:
    """Return which pairs of judges the mean is of."""
    if not found.seen:
        most = f"more than {cohen.MOST:,} pairs"
        return f"not defined because every item has too many votes to go through pair by pair ({most})"
    if found.mean is None:
        return "not defined because every two judges gave one and the same label to all that both judged"
    note = f"mean of {found.kappa.size - found.undefined:,} pairs of judges, weighted by shared items"
    if found.undefined:
        note += f"; {found.undefined:,} pairs without a kappa are left out"
    if found.seen < given.voters.size:
        note += f"; on {found.seen:,} items drawn at random"
    return note


def _pairs(table: Judgments, found: Kappas, most: int) -> list[Pair]:
    """Return the pairs of judges who share the most items."""
    first, second = found.judges
    return [
        Pair(
            table.judges[int(first[p])],
            table.judges[int(second[p])],
            round(found.shared[p]),
            float(found.agreement[p]),
            None if np.isnan(found.kappa[p]) else round(float(found.kappa[p]), DIGITS) + 0.0,  # never -0.000
        )
        for p in np.argsort(-np.rint(found.shared), kind="stable")[:most].tolist()
    ]

"""``agreement``: how much judges agree with each other, before the truth is known.

Every measure is computed from sums over items, and each item's part depends only on how many judges gave it each label,
so the work grows with the number of judgments. Items with a single judge are left out. A judge has one vote per item
(``adjudge.metrics.coincidence`` says how repeats are counted).

With m votes on an item, n_k of them for label k:

- raw agreement is the share of agreeing pairs among all pairs of votes of two judges on an item;
- Krippendorff's alpha = 1 - observed / expected disagreement, where the pairs of an item have the weight 1 / (m - 1)
  (Krippendorff 2004). Disagreement is 0 or 1 (nominal), the squared distance of the labels' values (interval), or that
  of their middle ranks among all votes (ordinal), which is his sum of the ranks in between;
- Fleiss' kappa (1971) needs the same m for all items. Here each item counts the same, whatever its m: observed is the
  mean over items of the share of agreeing pairs, and the prevalence of a label is its mean share of an item's votes
  (Gwet 2014). With equal m this is Fleiss' own;
- Cohen's kappa is the mean over pairs of judges, weighted by the items they share (``adjudge.metrics.coincidence``).

Intervals are the middle 90 % of bootstrap draws of up to ``GROUPS`` random groups of items; with fewer items every
group is one item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Flags, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError, quote
from adjudge.metrics import coincidence
from adjudge.metrics.coincidence import (
    Kappas,
    Sums,
    Votes,
    alpha_interval,
    alpha_nominal,
    alpha_ordinal,
    count_votes,
    fleiss_kappa,
    group_sums,
    has_single_label,
    pairwise_kappas,
    raw_agreement,
    resample_sums,
    sum_groups,
    too_many_labels,
)
from adjudge.metrics.significance import DRAWS, check_draws, percentile_interval

Measured: TypeAlias = Callable[[Sums, Floats], float | None]

LEVEL = 0.9
PAIRS = 10
DIGITS = 12  # of a pair's kappa; the rest is rounding
RULES = (  # how to read alpha (Krippendorff 2004, section 11.4.2)
    (0.8, "enough to rely on a single judgment, by Krippendorff's rule of 0.8"),
    (0.667, "enough for tentative conclusions, by Krippendorff's rule of 0.667"),
    (-np.inf, "too little to rely on a single judgment, by Krippendorff's rule of 0.667"),
)
MEASURES: Mapping[str, tuple[Measured, str]] = {  # the function and the note of each measure
    "raw_agreement": (raw_agreement, "of {pairs:,} pairs of votes"),
    "alpha_nominal": (alpha_nominal, "labels are the same or not"),
    "alpha_ordinal": (alpha_ordinal, "labels are as far apart as their ranks"),
    "alpha_interval": (alpha_interval, "labels are as far apart as their values"),
    "fleiss_kappa": (fleiss_kappa, "every item counts the same"),
}
ORDERED = ("alpha_ordinal", "alpha_interval")
COHEN = "cohen_kappa"
ONE_JUDGE = "there is a single judge"
NOTHING_SHARED = "no item was judged by two judges"
UNORDERED = "the labels have no known order (ordered labels are declared when judgments are read)"


class Row(NamedTuple):
    """One measure: its value with a 90 % interval, and a note."""

    measure: str
    value: float | None
    low: float | None
    high: float | None
    note: str = ""


class Pair(NamedTuple):
    """Two judges and their agreement on the items that both judged."""

    first: Any
    second: Any
    shared: int  # items
    agreement: float
    kappa: float | None  # None if both gave all of these items the same label


@dataclass(frozen=True, eq=False)
class Agreement(NotebookView):
    """How much judges agree; a measure that is not defined has the value ``None`` and the reason as its note."""

    items: int  # with at least two judges
    alone: int  # other items, which are left out
    judges: int
    judgments: int
    repeats: int  # judgments beyond a judge's first on an item
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]  # of judges, those with the most shared items first
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        values = [f"{row.measure} {row.value:.4f}" for row in self.rows if row.value is not None]
        return f"Agreement({self.items:,} items, {self.judges:,} judges: {', '.join(values[:2]) or self.rows[0].note})"

    @property
    def values(self) -> dict[str, float | None]:
        """The value of each measure."""
        return {row.measure: row.value for row in self.rows}

    @property
    def sentence(self) -> str:
        """The result in one sentence, by the ordinal alpha if the labels are ordered."""
        raw, ordered = self.values["raw_agreement"], self.values["alpha_ordinal"]
        name = "alpha_nominal" if ordered is None else "alpha_ordinal"
        alpha = self.values[name]
        if raw is None:
            return self.rows[0].note
        share = f"two judges agree on {100 * raw:.0f} % of the items that both judged"
        if alpha is None:
            return f"{share}; agreement beyond chance is {self.rows[1].note}"
        rule = next(rule for least, rule in RULES if alpha >= least)
        return f"{share}, {name} is {alpha:.3f}: {rule}"

    @property
    def table(self) -> Any:
        """A table with one row per measure: measure, value, low, high, note."""
        return frame(self.columns(), self.kind)

    @property
    def pair_table(self) -> Any:
        """A table with one row per listed pair of judges."""
        return frame(self.pair_columns(), self.kind)

    def columns(self) -> dict[str, list[Any]]:
        """Return the measures as named columns."""
        return {name: [getattr(row, name) for row in self.rows] for name in Row._fields}

    def pair_columns(self) -> dict[str, list[Any]]:
        """Return the pairs of judges as named columns."""
        return {name: [getattr(pair, name) for pair in self.pairs] for name in Pair._fields}


def agreement(
    judgments: Any, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0, pairs: int = PAIRS
) -> Agreement:
    """Return how much judges agree.

    Parameters
    ----------
    judgments : frame, path or Judgments
        The judgments.
    draws : int
        Bootstrap draws behind the intervals.
    level : float
        Coverage of the intervals.
    seed : int
        Seed of the draws; the same seed gives the same intervals.
    pairs : int
        How many pairs of judges are listed.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> import adjudge
    >>> agreement(adjudge.dataset("anesthesia"))
    Agreement(45 items, 5 judges: raw_agreement 0.7044, alpha_nominal 0.5558)
    """
    check_draws(draws, level)
    table = read(judgments)
    votes, rng = count_votes(table), np.random.default_rng(seed)
    kappas = None
    if votes.voters.size:
        kappas = pairwise_kappas(votes, len(table.judges), len(table.scale), rng, coincidence.MOST_PAIRS)
    return Agreement(
        items=int(votes.voters.size),
        alone=votes.alone,
        judges=int(np.unique(table.judge).size),
        judgments=len(table),
        repeats=votes.repeats,
        rows=tuple(_undefined(table) if kappas is None else _rows(table, votes, kappas, rng, draws, level)),
        pairs=() if kappas is None else tuple(_pairs(table, kappas, pairs)),
        kind=table.kind,
    )


def by_topic(judgments: Any, *, draws: int = DRAWS, level: float = LEVEL, seed: int = 0) -> dict[Any, Agreement]:
    """Return the agreement on the items of each topic, by name; items without a topic are left out."""
    table = read(judgments)
    if table.topics is None or table.topic is None:
        raise UsageError("the judgments have no topics: name their column with --topic")
    parts = {name: _topic_judgments(table, table.topic == t) for t, name in enumerate(table.topics)}
    return {name: agreement(part, draws=draws, level=level, seed=seed) for name, part in parts.items()}


def _topic_judgments(table: Judgments, chosen: Flags) -> Judgments:
    """Return the judgments of the chosen items (I)."""
    part = table.take(np.flatnonzero(chosen[table.item()]))
    start = np.r_[0, np.cumsum(np.diff(part.start)[chosen])].astype(np.int64)
    items = table.items.gather(np.flatnonzero(chosen))
    return replace(part, items=items, start=frozen(start), topics=None, topic=None)


def _undefined(table: Judgments) -> list[Row]:
    """Return all measures as not defined."""
    reason = ONE_JUDGE if np.unique(table.judge).size < 2 else NOTHING_SHARED
    return [Row(measure, None, None, None, f"not defined because {reason}") for measure in (*MEASURES, COHEN)]


def _rows(
    table: Judgments, votes: Votes, kappas: Kappas, rng: np.random.Generator, draws: int, level: float
) -> list[Row]:
    """Return every measure with its interval."""
    value = np.array(table.scale.values)
    measured = {name: of for name, (of, _) in MEASURES.items() if name not in ORDERED or table.scale.ordinal}
    if too_many_labels(len(table.scale)):
        measured.pop("alpha_ordinal", None)
    groups = group_sums(votes, kappas.influence, value, rng, "alpha_ordinal" in measured)
    total = sum_groups(groups, np.ones((1, groups.items.size)))[0]
    drawn = resample_sums(groups, rng, draws) if votes.voters.size > 1 else ()
    samples = _samples(drawn, measured, value, kappas.mean)
    values = {name: of(total, value) for name, of in measured.items()} | {COHEN: kappas.mean}
    notes = _notes(table.scale, total, kappas, votes)
    return [_row(name, values.get(name), samples.get(name, []), notes[name], level) for name in (*MEASURES, COHEN)]


def _samples(
    drawn: Iterable[Sums], measured: Mapping[str, Measured], value: Floats, kappa: float | None
) -> dict[str, list[float | None]]:
    """Return every measure in every draw."""
    samples: dict[str, list[float | None]] = {name: [] for name in (*measured, COHEN)}
    for sums in drawn:
        for name, of in measured.items():
            samples[name].append(of(sums, value))
        samples[COHEN].append(None if kappa is None else kappa + sums.influence)
    return samples


def _row(name: str, value: float | None, samples: list[float | None], note: str, level: float) -> Row:
    """Return a measure with its percentile interval."""
    span = percentile_interval(samples, level)
    if value is None or span is None:
        reason = "not defined in any draw" if samples else "a single item"
        return Row(name, value, None, None, note if value is None else f"{note}; no interval: {reason}")
    return Row(name, value, span.low, span.high, f"{note}; {span.note}" if span.note else note)


def _notes(scale: Scale, total: Sums, kappas: Kappas, votes: Votes) -> dict[str, str]:
    """Return the note of each measure, or why it has no value."""
    notes = {name: note.format(pairs=int(total.pairs) // 2) for name, (_, note) in MEASURES.items()}
    if has_single_label(total):
        only = f"not defined because every vote is {quote(scale.names[int(total.label.argmax())])}"
        notes |= {name: only for name in notes if name != "raw_agreement"}
    if too_many_labels(len(scale)):
        notes["alpha_ordinal"] = f"not defined because {len(scale):,} labels are too many to rank: see alpha_interval"
    if not scale.ordinal:
        notes |= dict.fromkeys(ORDERED, f"not defined because {UNORDERED}")
    return notes | {COHEN: _cohen_note(kappas, votes)}


def _cohen_note(kappas: Kappas, votes: Votes) -> str:
    """Return the note of Cohen's kappa: the pairs of judges that it is the mean of."""
    if not kappas.items:
        most = f"more than {coincidence.MOST_PAIRS:,} pairs"
        return f"not defined because every item has too many votes to compare all pairs ({most})"
    if kappas.mean is None:
        return "not defined because every two judges gave the same label to all items that both judged"
    note = f"mean of {kappas.kappa.size - kappas.undefined:,} pairs of judges, weighted by shared items"
    if kappas.undefined:
        note += f"; {kappas.undefined:,} pairs without a kappa are left out"
    if kappas.items < votes.voters.size:
        note += f"; on {kappas.items:,} items drawn at random"
    return note


def _pairs(table: Judgments, kappas: Kappas, most: int) -> list[Pair]:
    """Return the pairs of judges who share the most items."""
    first, second = kappas.judges
    return [
        Pair(
            table.judges[int(first[p])],
            table.judges[int(second[p])],
            round(kappas.shared[p]),
            float(kappas.agreement[p]),
            None if np.isnan(kappas.kappa[p]) else round(float(kappas.kappa[p]), DIGITS) + 0.0,  # never -0.000
        )
        for p in np.argsort(-np.rint(kappas.shared), kind="stable")[:most].tolist()
    ]

"""``rate``: the share of items that have a label, such as the pass rate of a system, from judges and gold.

The statistics are in ``evaluation.shares``. Judges' probabilities must not have seen the gold that corrects them: of a
fit that used gold, the judgments are fitted again without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats
from adjudge.data.columns import find_columns, match_columns
from adjudge.data.encode import Coded, code_columns
from adjudge.data.formats import open_source
from adjudge.data.gold import GOLD, as_judged, gold_source, gold_table, not_for_calibration
from adjudge.data.judgments import places
from adjudge.data.show import NotebookView
from adjudge.data.source import Source
from adjudge.data.write import frame
from adjudge.errors import UsageError, not_one_of, quote, quoted
from adjudge.evaluation.shares import (
    ALONE,
    ESTIMATORS,
    STRATIFIED,
    Items,
    Residuals,
    Share,
    difference,
    gold_needed,
    measured_strata,
    residuals,
    strata,
)
from adjudge.inference.fit import fit as fit_judgments
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit, read_fitted

ACCURACIES = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99)  # of the consensus, that a plan without gold assumes
UNLIKELY = 3.3  # standard errors by which gold may differ from the other items
FEW = 50  # gold items below which an interval is wide
ROLES = {"system": ("system",), "group": ("group",), "pair": ("prompt", "topic", "query", "pair")}
SAME = 1e-9


class RateRow(NamedTuple):
    """The share of the items of a system, or of one of its groups, that have the label."""

    system: str | None
    group: str | None  # None for all groups together
    items: int
    gold: int
    value: float | None  # None without gold
    low: float | None  # of the 90 % interval
    high: float | None
    judges: float  # what the judges say: the mean of their probabilities
    estimator: str | None  # that was used
    saved: float | None  # gold items that the same interval would need beyond these, without the judges


class EstimateRow(NamedTuple):
    """One of the estimates of a share."""

    system: str | None
    group: str | None
    estimator: str
    value: float | None  # None if the estimator is not defined here
    low: float | None
    high: float | None
    used: bool


class RatePair(NamedTuple):
    """The difference of the shares of two systems."""

    group: str | None
    first: str
    second: str
    difference: float  # above 0, the share of the first is larger
    low: float
    high: float
    larger: str | None  # the system with the larger share, None if the interval contains 0
    needed: int | None  # gold items that would probably decide, if the interval contains 0


class SizeRow(NamedTuple):
    """How many gold items an interval of a width needs."""

    system: str | None
    accuracy: float | None  # of the consensus, that is assumed; None if gold has measured the judges
    width: float
    gold: int | None  # with the judges; None if all items are not enough
    alone: int | None  # without them


@dataclass(frozen=True, eq=False)
class Rates(NotebookView):
    """The shares of systems and groups, the differences of systems, and notes on what they mean."""

    labels: tuple[str, ...]  # that count
    population: bool  # whether intervals are for items like these
    rows: tuple[RateRow, ...]
    estimates: tuple[EstimateRow, ...]
    pairs: tuple[RatePair, ...]
    sizes: tuple[SizeRow, ...]
    notes: tuple[str, ...]
    kind: str = field(default="polars", repr=False)  # of the frames to give back

    def __repr__(self) -> str:
        first = self.rows[0]
        name = f"{first.system}: " if first.system else ""
        if first.value is None or first.low is None or first.high is None:
            return f"Rates({name}no gold; the judges say {first.judges:.3f})"
        return f"Rates({name}{first.value:.3f}, {first.low:.3f} to {first.high:.3f}, {first.gold:,} gold items)"

    @property
    def table(self) -> Any:
        """A table with one row per system and group."""
        return self._frame(RateRow, self.rows)

    @property
    def estimate_table(self) -> Any:
        """A table with one row per system, group and estimator."""
        return self._frame(EstimateRow, self.estimates)

    @property
    def pair_table(self) -> Any:
        """A table with one row per group and pair of systems."""
        return self._frame(RatePair, self.pairs)

    @property
    def plan_table(self) -> Any:
        """A table of the gold items that an interval of the width needs."""
        return self._frame(SizeRow, self.sizes)

    def _frame(self, record: Any, rows: Sequence[Any]) -> Any:
        """Return records as a frame."""
        return frame({name: [getattr(row, name) for row in rows] for name in record._fields}, self.kind)


class _Rows(NamedTuple):
    """The items of all systems; an item that several systems share has a row for each."""

    items: Items  # (R)
    systems: tuple[str, ...]
    system: Codes  # (R)
    groups: tuple[str, ...]
    group: Codes  # (R)
    key: Codes  # (R) of pairs: the same for items of two systems that belong together
    notes: list[str]


def rate(
    judged: Any,
    label: Any,
    gold: Any = None,
    *,
    items: Any = None,
    population: bool = False,
    width: float | None = None,
) -> Rates:
    """Estimate the share of items that have a label, per system and group, with intervals that judges cannot mislead.

    Parameters
    ----------
    judged
        A fit, the folder of a saved one, or judgments as a frame, a path or ``Judgments``.
    label
        The label that counts, or a list of labels that count alike.
    gold
        The true labels of a random sample of the items: a frame, a path, or a mapping from item to truth. With a column
        ``probability``, items were drawn with these probabilities (not in the table of ``ask``). Without gold there are
        no intervals.
    items
        A table with the columns item and ``system`` or ``group``, or both. Items of two systems with the same
        ``prompt`` or ``topic``, or the same item, are pairs. By default all items of the fit are of one system.
    population
        Whether intervals are for a population of items like these, instead of these items.
    width
        Also plan how many gold items give 90 % intervals of this width, with what gold has shown of the judges so far,
        or without gold for judges of several qualities.

    Returns
    -------
    Rates

    Examples
    --------
    >>> import adjudge
    >>> from polars import DataFrame
    >>> rows = [(f"answer {n}", judge, "pass" if n % 4 else "fail") for n in range(40) for judge in ("ann", "bob")]
    >>> judgments = DataFrame(rows, ["item", "judge", "label"], orient="row")
    >>> gold = {f"answer {n}": "pass" if n % 4 else "fail" for n in range(0, 40, 3)}
    >>> adjudge.rate(judgments, "pass", gold)
    Rates(0.750, 0.635 to 0.822, 14 gold items)
    """
    if width is not None and not 0 < width < 1:
        raise UsageError(f"width {width!r} is not a number between 0 and 1")
    fit, notes = _without_gold(judged)
    counted = _counted_labels(fit, label)
    names, rows = _read_items(fit, items, counted, notes)
    rows = rows if gold is None else _with_gold(fit, gold, counted, names, rows)
    domains = list(_domains(rows, population))
    return Rates(
        tuple(fit.scale.names[k] for k in counted),
        population,
        tuple(map(_rate_row, domains)),
        tuple(row for domain in domains for row in _estimate_rows(domain)),
        tuple(_pairs(rows, domains, population)),
        () if width is None else tuple(_sizes(domains, width, population)),
        tuple(_notes(rows, domains, population)),
        fit.kind,
    )


def example(seed: int = 0) -> dict[str, str]:
    """Return small example files: judgments of the answers of two systems, their items, and gold of 60 prompts."""
    rng = np.random.default_rng(seed)
    systems, kinds, prompts = ("base", "tuned"), ("facts", "code"), 200
    hard = rng.normal(size=prompts)
    labels, items, gold = ["item,judge,label\n"], ["item,system,prompt,group\n"], ["item,label\n"]
    drawn = set(rng.permutation(prompts)[:60].tolist())
    for p in range(prompts):
        for system, skill in zip(systems, (0.3, 1.0), strict=True):
            passes = skill - hard[p] + 0.5 * rng.normal() > 0
            name = f"{system}-{p + 1}"
            items.append(f"{name},{system},p{p + 1},{kinds[p % 2]}\n")
            for judge, error in (("ann", 0.12), ("bob", 0.2), ("llm", 0.25)):
                says = passes ^ (rng.random() < (error if passes else 1.5 * error))  # lenient judges
                labels.append(f"{name},{judge},{'pass' if says else 'fail'}\n")
            if p in drawn:
                gold.append(f"{name},{'pass' if passes else 'fail'}\n")
    files = {"labels.csv": labels, "items.csv": items, "gold.csv": gold}
    return {name: "".join(lines) for name, lines in files.items()}


def _without_gold(judged: Any) -> tuple[Fit, list[str]]:
    """Return a fit that has not used gold, and a note if the judgments were fitted again for that."""
    folder = isinstance(judged, str | PathLike) and Path(judged).is_dir()
    if not folder and not isinstance(judged, Fit):
        return fit_judgments(judged), []
    fit = read_fit(judged)
    if fit.gold is None or not (fit.gold >= 0).any():
        return fit, []
    try:
        _, judgments = read_fitted(judged)
    except UsageError as error:
        raise UsageError(
            "this fit used gold, which its probabilities know, and does not hold its judgments: fit without gold"
        ) from error
    return fit_judgments(judgments), ["the fit used gold: the judgments were fitted again without it"]


def _counted_labels(fit: Fit, label: Any) -> list[int]:
    """Return the codes of the labels that count."""
    labels = list(label) if isinstance(label, list | tuple | set | frozenset) else [label]
    codes = {name: k for k, name in enumerate(fit.scale.names)}
    for each in labels:
        if str(each) not in codes:
            raise UsageError(not_one_of("label", each, codes))
    counted = sorted({codes[str(each)] for each in labels})
    if not counted or len(counted) == len(codes):
        raise UsageError(f"{'all' if counted else 'no'} labels count: name some of {quoted(codes)}")
    return counted


def _read_items(fit: Fit, table: Any, counted: list[int], notes: list[str]) -> tuple[pl.Series, _Rows]:
    """Return the names of all items, and the rows of systems without gold."""
    chance, called = fit.posterior[:, counted].sum(axis=1), np.isin(fit.label, counted)
    names = fit.items.cast(pl.String)
    none = np.zeros(len(names), np.int64)
    if table is None:
        empty = np.full(chance.size, np.nan)
        return names, _Rows(Items(chance, called, empty), ("",), none, (), none, np.arange(chance.size), notes)
    source = open_source(table)
    source, item = as_judged(source, None, [(fit.items, fit.topic)], fit.topics)
    item = find_columns(source.columns, {"item": item}, source.name, needed=("item",))["item"]
    roles = {role: column for role, column in match_columns(source.columns, ROLES).items() if column != item}
    if "system" not in roles and "group" not in roles:
        raise source.wrong("there is neither a column 'system' nor a column 'group': items need one of them")
    coded = code_columns(source, {"item": item, **roles})
    code, position = coded["item"].code, places(coded["item"].names.cast(pl.String), names)
    if (position < 0).all():
        first = coded["item"].names[0]
        raise source.wrong(
            f"none of the items was judged: the first is {quote(first)}, and judged is {quote(names[0])}"
        )
    unjudged = int((position < 0).sum())
    if unjudged:
        notes.append(f"{source.name}: nobody judged {unjudged:,} of {position.size:,} items; the mean stands for them")
    left = len(names) - int((position >= 0).sum())
    if left:
        notes.append(f"{source.name}: {left:,} judged items are not in the table and are left out")
    mean = float(chance[position[position >= 0]].mean())
    row_chance = np.where(position >= 0, chance[position], mean)[code]
    row_called = np.where(position >= 0, called[position], False)[code]
    systems, system = _named(coded.get("system"), code.size)
    groups, group = _named(coded.get("group"), code.size)
    _refuse_twice(source, coded["item"], system, systems)
    key = coded["pair"].code if "pair" in coded else code
    everything = Items(row_chance, row_called, np.full(code.size, np.nan))
    return coded["item"].names.cast(pl.String).gather(code), _Rows(
        everything, systems or ("",), system, groups, group, key, notes
    )


def _named(column: Coded | None, size: int) -> tuple[tuple[str, ...], Codes]:
    """Return the names in a column and the code of every row; a column that is not there has no names."""
    if column is None:
        return (), np.zeros(size, np.int64)
    return tuple(column.names.cast(pl.String).to_list()), column.code


def _refuse_twice(source: Source, item: Coded, system: Codes, systems: Sequence[str]) -> None:
    """Refuse an item that a system has twice."""
    again = pl.DataFrame({"item": item.code, "system": system}).select(~pl.struct(pl.all()).is_first_distinct())
    rows = again.to_series().arg_true()
    if len(rows):
        n = int(rows[0])
        whose = f" of system {quote(systems[system[n]])}" if systems else ""
        raise source.wrong(f"item {quote(item.names[int(item.code[n])])}{whose} is there twice: keep one row", n)


def _with_gold(fit: Fit, gold: Any, counted: list[int], names: pl.Series, rows: _Rows) -> _Rows:
    """Return the rows with the truths of gold items, and with the probabilities by which they were drawn."""
    source = gold_source(gold)
    source, item = as_judged(source, None, [(fit.items, fit.topic)], fit.topics)
    items, truth = gold_table(source, fit.scale, item=item)
    probability = _probabilities(source, items.first)
    aside = not_for_calibration(source, items.first)
    if aside.any():
        rows.notes.append(f"{source.name}: {int(aside.sum()):,} gold items with calibrate = no are not a random sample")
    position = places(names, items.names.cast(pl.String).filter(pl.Series(~aside)))  # (R)
    used = np.flatnonzero(~aside)
    if (position < 0).all():
        raise source.wrong(f"none of the {used.size:,} gold items is among the items, such as {quote(names[0])}")
    strange = used.size - np.unique(position[position >= 0]).size
    if strange:
        rows.notes.append(
            f"{source.name}: {strange:,} of {used.size:,} gold items are not among the items, and left out"
        )
    is_gold = position >= 0
    y = np.where(is_gold, np.isin(truth[used], counted)[position], np.nan)
    drawn = None if probability is None else np.where(is_gold, probability[used][position], np.nan)
    return rows._replace(items=rows.items._replace(truth=y, probability=drawn))


def _probabilities(source: Source, first: Codes) -> Floats | None:
    """Return the probability of every gold item to be drawn, by the first row of each; None if there is no column.

    In the table of ``ask``, which has a column gold, probability is that of the judges' label, and nothing else.
    """
    aliases = {name: (name,) for name in ("probability", "round", "entropy", GOLD)}
    column = match_columns(source.columns, aliases)
    if "entropy" in column:
        raise source.wrong("this is a table of the consensus, with a column 'entropy': gold comes from experts")
    if "probability" not in column or GOLD in column:
        return None
    if "round" in column and source.column(column["round"]).n_unique() > 1:
        raise source.wrong("there are several rounds of an audit: give the items of one round")
    series = source.column(column["probability"])[first.tolist()]
    numbers = series.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)
    wrong = (~((numbers > 0) & (numbers <= 1))).fill_null(value=True).arg_true()
    if len(wrong):
        n = int(wrong[0])
        raise source.wrong(f"probability {quote(series[n])} is not a number above 0 and up to 1", int(first[n]))
    drawn: Floats = numbers.to_numpy()
    return drawn


class _Domain(NamedTuple):
    """The items of a system, or of one of its groups, and all estimates of their share."""

    system: str | None
    group: str | None  # None for all groups together
    items: Items  # (N)
    key: Codes  # (N)
    shares: dict[str, Share | None]  # by estimator; none without gold
    used: str  # the estimator that is used

    @property
    def name(self) -> str:
        """The system and the group, as far as they have names."""
        return ", ".join(filter(None, (self.system, self.group)))


def _domains(rows: _Rows, population: bool) -> Iterator[_Domain]:
    """Yield everything that has a share: each system, followed by its groups."""
    for s, system in enumerate(rows.systems):
        members = np.flatnonzero(rows.system == s)
        parts: list[tuple[str | None, Codes]] = [(None, members)]
        parts += [(group, members[rows.group[members] == g]) for g, group in enumerate(rows.groups)]
        for group, at in parts:
            if not at.size:
                continue
            items = rows.items.take(at)
            estimators = ESTIMATORS.items() if items.gold.size else ()
            shares = {name: estimator(items, population) for name, estimator in estimators}
            used = STRATIFIED if shares and strata(items).any() else ALONE  # the two are equal in one stratum
            yield _Domain(system or None, group, items, rows.key[at], shares, used)


def _rate_row(domain: _Domain) -> RateRow:
    """Return the share of a system or of a group."""
    gold, judges = domain.items.gold.size, float(domain.items.chance.mean())
    size = (domain.system, domain.group, domain.items.chance.size, gold)
    share, alone = domain.shares.get(domain.used), domain.shares.get(ALONE)
    if share is None or alone is None:
        return RateRow(*size, None, None, None, judges, None, None)
    width, without = share.high - share.low, alone.high - alone.low
    saved = gold * ((without / width) ** 2 - 1) if width > SAME else None
    return RateRow(*size, *share, judges, domain.used, saved)


def _estimate_rows(domain: _Domain) -> Iterator[EstimateRow]:
    """Yield all estimates of a share."""
    for name, share in domain.shares.items():
        value, low, high = (None, None, None) if share is None else share
        yield EstimateRow(domain.system, domain.group, name, value, low, high, name == domain.used)


class _Compared(NamedTuple):
    """A system, or a group of it, that is compared with others."""

    system: str
    share: Share
    parts: Residuals
    key: Codes


def _pairs(rows: _Rows, domains: Sequence[_Domain], population: bool) -> Iterator[RatePair]:
    """Yield the differences of all pairs of systems, in all groups together and in each."""
    for group in (None, *rows.groups):
        compared = [
            _Compared(domain.system, share, residuals(domain.items), domain.key)
            for domain in domains
            if domain.group == group and domain.system and (share := domain.shares.get(domain.used)) is not None
        ]
        for first, second in combinations(compared, 2):
            yield _pair(group, first, second, population)


def _pair(group: str | None, first: _Compared, second: _Compared, population: bool) -> RatePair:
    """Return the difference of two systems, and whether it is decided."""
    estimate = difference(first.share, second.share, (first.parts, second.parts), (first.key, second.key), population)
    larger = first.system if estimate.low > 0 else second.system if estimate.high < 0 else None
    needed = None
    if larger is None and abs(estimate.value) > SAME:
        gold, items = first.parts.effect.size + second.parts.effect.size, first.key.size + second.key.size
        left = 0.0 if population else 1 / items  # of the variance, if all items were gold
        half = estimate.value - estimate.low if estimate.value > 0 else estimate.high - estimate.value
        enough = 1 / ((estimate.value / half) ** 2 * (1 / gold - left) + left)
        needed = int(np.ceil(enough)) if enough <= items else None
    return RatePair(group, first.system, second.system, *estimate, larger, needed)


def _sizes(domains: Sequence[_Domain], width: float, population: bool) -> Iterator[SizeRow]:
    """Yield how many gold items an interval of a width needs, for every system."""
    for domain in domains:
        if domain.group is None:
            yield from (_measured_sizes if domain.items.gold.size else _assumed_sizes)(domain, width, population)


def _measured_sizes(domain: _Domain, width: float, population: bool) -> Iterator[SizeRow]:
    """Yield the gold items that a width needs with judges as gold has shown them."""
    measured, size = measured_strata(domain.items), domain.items.chance.size
    gold = np.bincount(measured.stratum[domain.items.gold], minlength=measured.weight.size)
    share = (gold * measured.share + 0.5) / (gold + 1)  # a share of 0 would promise too much
    needed = gold_needed(measured.weight, share, size, width, population)
    alone = gold_needed(np.ones(1), np.array([measured.weight @ share]), size, width, population)
    yield SizeRow(domain.system, None, width, needed, alone)


def _assumed_sizes(domain: _Domain, width: float, population: bool) -> Iterator[SizeRow]:
    """Yield the gold items that a width needs if the consensus is right so often and the share is what judges say."""
    share, size = float(domain.items.chance.mean()), domain.items.chance.size
    alone = gold_needed(np.ones(1), np.array([share]), size, width, population)
    for accuracy in ACCURACIES:
        called = np.array([share * accuracy, share * (1 - accuracy)])  # items with the label: called so, and not
        weight = called + (1 - share) * np.array([1 - accuracy, accuracy])
        yield SizeRow(
            domain.system, accuracy, width, gold_needed(weight, called / weight, size, width, population), alone
        )


def _notes(rows: _Rows, domains: Sequence[_Domain], population: bool) -> Iterator[str]:
    """Yield notes on what the numbers mean."""
    if not rows.items.gold.size:
        yield "without gold there is no interval: these shares are on the judges' scale, not the truth's"
        yield "give the true labels of a random sample of the items as gold"
        yield from rows.notes
        return
    drawn = "is a random sample" if rows.items.probability is None else "was drawn with the probabilities in its table"
    whose = "a population of items like these" if population else "these items"
    yield f"90 % intervals for {whose}: they hold whatever the judges' errors are, if gold {drawn} and is right"
    yield from rows.notes
    systems = [domain for domain in domains if domain.group is None]
    without = [domain.name for domain in domains if not domain.items.gold.size]
    if without:
        yield f"no item of {quoted(without)} is gold: there is no interval"
    for domain in systems:
        if domain.items.gold.size and _differs(domain.items):
            mean = domain.items.chance[domain.items.gold].mean()
            of = f" of {quote(domain.system)}" if domain.system else ""
            yield (
                f"gold{of} may not be a random sample: judges give its items a mean probability of {mean:.2f}, and all "
                f"items {domain.items.chance.mean():.2f}"
            )
    few = [domain.name for domain in systems if 0 < domain.items.gold.size < FEW]
    if few:
        of = f" of {quoted(few)}" if few[0] else ""
        yield f"fewer than {FEW} items{of} are gold: intervals are wide"


def _differs(items: Items) -> bool:
    """Whether judges say something else about gold items than about all, in a simple random sample."""
    gold, size = items.gold.size, items.chance.size
    error = np.sqrt(items.chance.var() * (1 / gold - 1 / size))
    apart = abs(items.chance[items.gold].mean() - items.chance.mean())
    return items.probability is None and bool(apart > UNLIKELY * error + SAME)

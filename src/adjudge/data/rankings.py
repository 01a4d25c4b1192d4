"""Tables of rankings, checked and encoded: who put which items of a topic in which order."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, frozen
from adjudge.data.columns import find_columns, is_usual
from adjudge.data.encode import Coded, code_columns
from adjudge.data.formats import open_source
from adjudge.data.judgments import places
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, InputError, quote, quoted

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


OWN = ("rank", "left", "right", "winner")  # columns that are called as their role is, or named by the user
NUMBERING = "number what a judge ranked 1, 2, 3, ... without gaps, the best first; equal ranks are a tie"
MOST = 2.0**53  # the largest whole number that every column can hold


@dataclass(frozen=True, eq=False)
class Rankings:
    """Who ranked what: ranking r is by ``judge[r]``, of the entries n with ``start[r] <= n < start[r + 1]``.

    Entries stand best first; tied ones share a level. A preference is a ranking of two.
    """

    items: Names  # (I) an item of two topics is two items
    topic: Codes  # (I), never falling
    topics: Names | None  # (T)
    judges: Names  # (J); one that is null where judges are not named
    start: Codes  # (R + 1)
    judge: Codes  # (R)
    item: Codes  # (N)
    level: Codes  # (N) from 0
    side: Codes | None = None  # (R) of preferences: 1 where the first entry stood left, -1 where it stood right
    kind: str = "polars"  # of the frames to give back

    def __repr__(self) -> str:
        what = "rankings" if self.side is None else "preferences"
        return f"Rankings({len(self.items):,} items, {len(self.judges):,} judges, {self.judge.size:,} {what})"


class Placed(NamedTuple):
    """The items of each topic, and where they stand in the table."""

    items: Names  # (I)
    topic: Codes  # (I)
    topics: Names | None  # (T)
    code: Codes  # (k, rows) the item of each entry


def read_rankings(source: Source, named: Mapping[str, str | None], items: Any = None) -> Rankings:
    """Return the rankings of a table of (item, judge, rank) and, where there is one, topic.

    ``named`` says role -> column where names are not usual, ``items`` which items there are: others are refused.
    """
    columns = code_columns(source, find_roles(source, named, ("item", "judge", "rank"), ("topic",)))
    item, judge, topic = columns["item"], columns["judge"], columns.get("topic")
    rank = _whole_ranks(source, columns["rank"])
    of_topic = np.zeros(item.code.size, np.int64) if topic is None else topic.code.astype(np.int64)
    keys, ranking = np.unique(of_topic * len(judge.names) + judge.code, return_inverse=True)
    _refuse_second_ranks(source, ranking, item, judge)
    order = np.lexsort((rank, ranking))
    level = _levels(source, ranking, rank, order, columns)
    placed = place_items(source, item.code[None], item.names, topic, items, named)
    return Rankings(
        *placed[:3],
        judges=judge.names.alias("judge"),
        start=frozen(np.searchsorted(ranking[order], np.arange(keys.size + 1))),
        judge=frozen((keys % len(judge.names)).astype(np.int32)),
        item=frozen(placed.code[0, order]),
        level=frozen(level),
        kind=source.kind,
    )


def find_roles(
    source: Source, named: Mapping[str, str | None], needed: Sequence[str], optional: Sequence[str]
) -> dict[str, str]:
    """Return role -> column: all that are needed, and those of the others that the table has."""
    own = {role: named.get(role) or _own(source, role) for role in needed if role in OWN}
    there = [role for role in optional if named.get(role) or any(is_usual(name, role) for name in source.columns)]
    return find_columns(source.columns, {**named, **own}, source.name, needed=(*needed, *there))


def place_items(
    source: Source, item: Codes, names: Names, topic: Coded | None, known: Any, named: Mapping[str, str | None]
) -> Placed:
    """Return the items of each topic; ``item`` (k, rows) is coded by ``names``, and those not known are refused."""
    of_topic = np.zeros(item.shape, np.int64) + (0 if topic is None else topic.code)
    keys, first, code = np.unique(of_topic * len(names) + item, return_index=True, return_inverse=True)
    found = Placed(
        names.gather(keys % len(names)).alias("item"),
        frozen((keys // len(names)).astype(np.int32)),
        None if topic is None else topic.names.alias("topic"),
        code.astype(np.int32).reshape(item.shape),
    )
    if known is not None:
        _refuse_unknown_items(source, found, first % item.shape[1], _known_source(known), named)
    return found


def _own(source: Source, role: str) -> str:
    """Return the column that is called as the role is, refusing a table that has none."""
    found = [name for name in source.columns if name.strip().lower() == role]
    if len(found) == 1:
        return found[0]
    if found:
        raise source.wrong(f"{quoted(found)} could each be the {role}: choose one with --{role}")
    other = "; preferences need left, right and winner" if role == "rank" else ""
    what = f"no column for the {role} (columns: {quoted(source.columns)})"
    raise source.wrong(f"{what}: call it {role}, or name it with --{role}{other}")


def _whole_ranks(source: Source, rank: Coded) -> Codes:
    """Return the rank of every row (N), refusing what is not a whole number of at least 1."""
    names = rank.names if rank.names.dtype.is_numeric() else rank.names.cast(pl.String)
    values = names.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = ~((values >= 1) & (values <= MOST) & (values == np.floor(values)))
    if bad.any():
        k = int(np.flatnonzero(bad)[np.argmin(rank.first[bad])])
        what = f"rank {quote(rank.names[k])} is not a whole number of at least 1"
        raise source.wrong(f"{what}: {NUMBERING}", int(rank.first[k]))
    whole: Codes = values.astype(np.int64)[rank.code]
    return whole


def _refuse_second_ranks(source: Source, ranking: Codes, item: Coded, judge: Coded) -> None:
    """Refuse an item that a judge ranked before, in the same topic."""
    order = np.lexsort((item.code, ranking))
    again = 1 + np.flatnonzero((np.diff(ranking[order]) == 0) & (np.diff(item.code[order]) == 0))
    if again.size:
        k = again[np.argmin(order[again])]
        n, before = int(order[k]), source.row(int(order[k - 1]))
        who, what = judge.names[int(judge.code[n])], item.names[int(item.code[n])]
        raise source.wrong(f"judge {quote(who)} ranks item {quote(what)} here and in row {before}: keep one of them", n)


def _levels(source: Source, ranking: Codes, rank: Codes, order: Codes, columns: Mapping[str, Coded]) -> Codes:
    """Return the level of each entry in order (N), refusing a gap in a judge's ranks of a topic.

    After two at rank 1 comes rank 2 (dense) or rank 3 (competition); the first tie of a ranking tells which.
    """
    r, v, n = ranking[order], rank[order], np.arange(order.size)
    new = np.r_[True, np.diff(r) != 0]
    group = new | np.r_[True, np.diff(v) != 0]
    begin = np.maximum.accumulate(np.where(new, n, 0))
    dense = np.cumsum(group) - np.cumsum(group)[begin] + 1
    competition = np.maximum.accumulate(np.where(group, n, 0)) - begin + 1
    telling = _firsts(r, np.flatnonzero(dense != competition))
    skips = np.zeros(int(r[-1]) + 1, bool)
    skips[r[telling]] = v[telling] == competition[telling]
    expected = np.where(skips[r], competition, dense)
    wrong = _firsts(r, np.flatnonzero(v != expected))
    if wrong.size:
        k = wrong[np.argmin(order[wrong])]
        raise _gap(source, int(order[k]), int(v[k]), int(expected[k]), columns)
    level: Codes = (dense - 1).astype(np.int32)
    return level


def _firsts(ranking: Codes, entries: Codes) -> Codes:
    """Return of ascending entries the first of each ranking."""
    return entries[np.unique(ranking[entries], return_index=True)[1]]


def _gap(source: Source, n: int, rank: int, missing: int, columns: Mapping[str, Coded]) -> InputError:
    """Return the error about a judge's missing rank."""
    parts = ((role, columns[role]) for role in ("judge", "topic") if role in columns)
    who = " of ".join(f"{role} {quote(coded.names[int(coded.code[n])])}" for role, coded in parts)
    return source.wrong(f"{who} gives rank {rank} and no rank {missing}: {NUMBERING}", n)


def _known_source(known: Any) -> Source:
    """Return known items, given as a table or as a list of names, as a source."""
    if not isinstance(known, str | os.PathLike) and not hasattr(known, "columns"):
        known = pl.DataFrame({"item": list(known)}, strict=False)
    return open_source(known)


def _refuse_unknown_items(
    source: Source, found: Placed, rows: Codes, known: Source, named: Mapping[str, str | None]
) -> None:
    """Refuse an item that is not among the known ones, of its topic where these have topics."""
    chosen = {role: column for role, column in named.items() if role in ("item", "topic") and column in known.columns}
    columns = code_columns(known, find_roles(known, chosen, ("item",), () if found.topics is None else ("topic",)))
    item = places(found.items, columns["item"].names)
    listed, wanted = columns["item"].code.astype(np.int64), item.copy()
    if found.topics is not None and "topic" in columns:
        topic, count = columns["topic"], len(columns["item"].names)
        at = places(found.topics, topic.names)[found.topic]
        listed, wanted = listed + topic.code * count, np.where((item < 0) | (at < 0), -1, item + at * count)
    unknown = np.flatnonzero(~np.isin(wanted, listed))
    if unknown.size:
        i = int(unknown[np.argmin(rows[unknown])])
        of = "" if found.topics is None else f" of topic {quote(found.topics[int(found.topic[i])])}"
        what = f"item {quote(found.items[i])}{of} is not among the {np.unique(listed).size:,} items of {known.name}"
        raise source.wrong(f"{what}: correct it here, or add it there", int(rows[i]))
    unranked = np.setdiff1d(listed, wanted).size
    if unranked:
        what = f"{known.name}: nobody ranked {unranked:,} of these items, which get no place"
        warnings.warn(what, AdjudgeWarning, stacklevel=2)


# Tables of preferences between two items, checked and encoded as rankings of two.

PAIR = ("left", "right", "winner")
WORDS = {  # what a winner may be called that is no item, in any case of letters
    **dict.fromkeys(("left", "l", "a"), 1),
    **dict.fromkeys(("right", "r", "b"), -1),
    **dict.fromkeys(("tie", "tied", "draw", "equal", "same", "both", "neither", "none", "n", "="), 0),
}


def holds_pairs(source: Source, named: Mapping[str, str | None]) -> bool:
    """Whether a table holds preferences: its columns are called so, or one of them is named by the user."""
    called = {name.strip().lower() for name in source.columns}
    return any(named.get(role) for role in PAIR) or called >= set(PAIR)


def read_pairs(source: Source, named: Mapping[str, str | None], items: Any = None) -> Rankings:
    """Return the preferences of a table of (left, right, winner) and, where there are any, judge and topic.

    The winner is one of the two items, or one of ``WORDS``; what any item in the table is called, be it in other
    letters' case, is never a word.
    """
    columns = code_columns(source, find_roles(source, named, PAIR, ("judge", "topic")))
    names, left, right = _together(columns["left"], columns["right"])
    _refuse_same(source, columns["left"], left, right)
    won = _outcomes(source, columns, names, left, right)
    placed = place_items(source, np.stack([left, right]), names, columns.get("topic"), items, named)
    judge, nobody = columns.get("judge"), pl.Series("judge", [None], dtype=pl.String)
    return Rankings(
        *placed[:3],
        judges=nobody if judge is None else judge.names.alias("judge"),
        start=frozen(np.arange(won.size + 1) * 2),
        judge=frozen(np.zeros(won.size, np.int32) if judge is None else judge.code.astype(np.int32)),
        item=frozen(np.where(won < 0, placed.code[::-1], placed.code).T.ravel()),
        level=frozen(np.stack([np.zeros_like(won), won != 0], axis=1).ravel().astype(np.int32)),
        side=frozen(np.where(won < 0, -1, 1)),
        kind=source.kind,
    )


def _together(left: Coded, right: Coded) -> tuple[pl.Series, Codes, Codes]:
    """Return the names of both columns, and each column's codes among them (N)."""
    both = [left.names, right.names]
    if left.names.dtype != right.names.dtype:
        both = [names.cast(pl.String) for names in both]
    names = both[0].clone().append(both[1].rename(both[0].name)).unique(maintain_order=True)
    return names, places(left.names, names)[left.code], places(right.names, names)[right.code]


def _refuse_same(source: Source, names: Coded, left: Codes, right: Codes) -> None:
    """Refuse a preference between an item and itself."""
    same = np.flatnonzero(left == right)
    if same.size:
        n = int(same[0])
        item = quote(names.names[int(names.code[n])])
        raise source.wrong(f"left and right are both {item}: a preference is between two items", n)


def _outcomes(source: Source, columns: Mapping[str, Coded], names: pl.Series, left: Codes, right: Codes) -> Codes:
    """Return who won each row (N): 1 left, -1 right, 0 nobody; a winner that is neither is refused."""
    winner = columns["winner"]
    item = places(winner.names, names)[winner.code]
    called = set(names.cast(pl.String).str.to_lowercase().to_list())
    words = {word: outcome for word, outcome in WORDS.items() if word not in called}
    said = [words.get(str(name).strip().lower(), 2) for name in winner.names.to_list()]
    word = np.array(said)[winner.code]
    won: Codes = np.where(item < 0, word, np.where(item == left, 1, np.where(item == right, -1, 2)))
    bad = np.flatnonzero(won == 2)
    if bad.size:
        n = int(bad[0])
        here = {role: quote(columns[role].names[int(columns[role].code[n])]) for role in PAIR}
        what = f"the winner {here['winner']} is neither {here['left']} nor {here['right']}"
        raise source.wrong(f"{what}: give one of the two, or left, right or tie", n)
    return won

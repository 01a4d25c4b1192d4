"""Rankings and preferences: who put which items of a topic in which order. A preference is a ranking of two items."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes, frozen
from adjudge.data.columns import EXPORT, find_columns, is_usual, set_columns
from adjudge.data.encode import Coded, code_columns, scale_codes
from adjudge.data.formats import open_source
from adjudge.data.judgments import Judgments, from_codes, places
from adjudge.data.scale import Label
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, InputError, quote, quoted

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


SAME_NAME = ("rank", "left", "right", "winner")  # roles whose column has the name of the role unless the user names it
NUMBERING = "give the items of a judge the ranks 1, 2, 3, ... without gaps, the best first; equal ranks are a tie"
MOST = 2.0**53  # the largest whole number that a float column can hold


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings of items: ranking r is by ``judge[r]`` and has the entries n with ``start[r] <= n < start[r + 1]``.

    The best entry comes first; tied entries have the same level. A preference is a ranking of two items.
    """

    items: Names  # (I) an item in two topics is two items
    topic: Codes  # (I), ascending
    topics: Names | None  # (T)
    judges: Names  # (J); a single null if judges are not named
    start: Codes  # (R + 1)
    judge: Codes  # (R)
    item: Codes  # (N)
    level: Codes  # (N) from 0
    side: Codes | None = None  # (R) of preferences: 1 if the first entry was on the left, -1 if on the right
    kind: str = "polars"  # of the frames that are returned
    label: Codes | None = None  # (N) of each entry, -1 without a label
    judgments: Judgments | None = None  # all labels, of items that are called topic_item if a name is in several topics
    gold: Codes | None = None  # (I) known grades, -1 if unknown

    def __repr__(self) -> str:
        entries = "rankings" if self.side is None else "preferences"
        return f"Rankings({len(self.items):,} items, {len(self.judges):,} judges, {self.judge.size:,} {entries})"


class TopicItems(NamedTuple):
    """The items of each topic, and their entries in the table."""

    items: Names  # (I)
    topic: Codes  # (I)
    topics: Names | None  # (T)
    code: Codes  # (k, rows) the item of each entry


def read_rankings(source: Source, named: Mapping[str, str | None], items: Any = None, ties: bool = False) -> Rankings:
    """Return the rankings of a table with item, judge, rank and, optionally, topic and set.

    A ranking is what a judge says of a topic in a set. The columns ``set`` and ``assignment`` tell sets apart, both if
    the table has both. Rows of an export of the studio without a rank were not ranked, and are left out.

    Parameters
    ----------
    source
        The columns of the table.
    named
        Role -> column, for columns with unusual names.
    items
        A table of all items that may be ranked; others are refused.
    ties
        Whether equal ranks are ties even if they look like those of several sets.
    """
    roles = find_roles(source, named, ("item", "judge", "rank"), ("topic",))
    if {*EXPORT} <= {*source.columns}:
        rows = len(source.column(roles["rank"]))
        source, ranked = _with_values(source, roles["rank"])
        if ranked.size < rows:
            message = f"{source.name}: {rows - ranked.size:,} of {rows:,} judgments have no rank; they are left out"
            warnings.warn(message, AdjudgeWarning, stacklevel=2)
    columns = code_columns(source, roles)
    return _encode(source, named, columns, items, ties)


def read_labelled_rankings(
    source: Source,
    named: Mapping[str, str | None],
    items: Any = None,
    ties: bool = False,
    labels: Sequence[Label] | None = None,
) -> Rankings:
    """Return the rankings of a table with item, judge, rank and label, and all its labels as judgments.

    The rank or the label of a row may be empty. ``labels`` has all labels, lowest first; by default they are numbers.
    The other parameters are those of ``read_rankings``.
    """
    roles = find_roles(source, named, ("item", "judge", "rank", "label"), ("topic",))
    columns = code_columns(source, {role: roles[role] for role in roles if role not in ("rank", "label")})
    ranked, rows = _with_values(source, roles["rank"])
    labelled, labelled_rows = _with_values(source, roles["label"])
    coded = code_columns(labelled, {"label": roles["label"]})["label"]
    scale, to_scale = scale_codes(labelled, coded, labels or source.order(roles["label"]), ordinal=True)
    label = np.full(columns["item"].code.size, -1)
    label[labelled_rows] = to_scale[coded.code]
    every = place_items(source, columns["item"].code[None], columns["item"].names, columns.get("topic"), items, named)
    views = {role: column._replace(code=column.code[rows]) for role, column in columns.items()}
    views |= code_columns(ranked, {"rank": roles["rank"]})
    rankings = _encode(ranked, named, views, None, ties, every._replace(code=every.code[:, rows]), label[rows])
    judgments = from_codes(
        every.code[0, labelled_rows],
        columns["judge"].code[labelled_rows],
        label[labelled_rows],
        items=unique_names(every),
        judges=rankings.judges,
        scale=scale,
        topics=every.topics,
        topic=None if every.topics is None else every.topic,
    )
    return replace(rankings, judgments=judgments)


def _encode(
    source: Source,
    named: Mapping[str, str | None],
    columns: Mapping[str, Coded],
    items: Any,
    ties: bool,
    placed: TopicItems | None = None,
    label: Codes | None = None,
) -> Rankings:
    """Return the rankings of coded columns; items may be placed already, and entries may have labels (N)."""
    item, judge, topic = columns["item"], columns["judge"], columns.get("topic")
    sets = _code_sets(source, named)
    rank = _whole_ranks(source, columns["rank"])
    first, ranking = _group_rows(item.code.size, [topic, judge, *sets])
    _refuse_second_ranks(source, ranking, item, judge, bool(sets))
    order = np.lexsort((rank, ranking))
    level = _levels(source, ranking, rank, order, columns)
    if not ties:
        _refuse_merged_sets(source, ranking[order], level, rank[order], order, columns)
    if placed is None:
        placed = place_items(source, item.code[None], item.names, topic, items, named)
    return Rankings(
        *placed[:3],
        judges=judge.names.alias("judge"),
        start=frozen(np.searchsorted(ranking[order], np.arange(first.size + 1))),
        judge=frozen(judge.code[first].astype(np.int32)),
        item=frozen(placed.code[0, order]),
        level=frozen(level),
        kind=source.kind,
        label=None if label is None else frozen(label[order]),
    )


def _with_values(source: Source, column: str) -> tuple[Source, Codes]:
    """Return the rows of a table that have a value in this column, and their positions; all if none has."""
    series = source.column(column)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        return source, np.arange(len(series))  # refused when it is coded
    text = series.cast(pl.String).str.strip_chars()
    filled = (text != "").fill_null(False)
    rows: Codes = filled.arg_true().to_numpy()
    if rows.size in (0, len(text)):
        return source, np.arange(len(text))
    return with_rows(source, rows), rows


def with_rows(source: Source, rows: Codes) -> Source:
    """Return a table with some of its rows, which keep their numbers in messages; ``rows`` are ascending."""
    return replace(
        source,
        column=lambda name: source.column(name).gather(rows),
        row=lambda position: source.row(int(rows[position])),
    )


def unique_names(placed: TopicItems) -> Names:
    """Return the names of items; those that are in several topics become ``topic_item``."""
    if placed.topics is None or placed.items.is_unique().all():
        return placed.items
    parts = {"topic": placed.topics.gather(placed.topic), "item": placed.items}
    joined = pl.when(pl.col("item").is_unique()).then(pl.col("item").cast(pl.String))
    table = pl.DataFrame(parts).select(joined.otherwise(pl.format("{}_{}", "topic", "item")).alias("item"))
    return table.to_series()


def _code_sets(source: Source, named: Mapping[str, str | None]) -> list[Coded]:
    """Return the columns that tell sets apart: the one that the user names, or those with usual names."""
    if named.get("set") is not None:
        chosen = find_columns(source.columns, named, source.name, needed=("set",))
        return [code_columns(source, chosen)["set"]]
    set_names = [name for name in set_columns(source.columns) if name not in named.values()]
    return [code_columns(source, {"set": name})["set"] for name in set_names]


def _group_rows(rows: int, columns: Sequence[Coded | None]) -> tuple[Codes, Codes]:
    """Return the first row of each group of rows that are equal in all columns, and the group of each row (N)."""
    first, group = np.zeros(1, np.int64), np.zeros(rows, np.int64)
    for column in columns:
        if column is not None:
            _, first, group = np.unique(group * len(column.names) + column.code, return_index=True, return_inverse=True)
    return first, group


def find_roles(
    source: Source, named: Mapping[str, str | None], needed: Sequence[str], optional: Sequence[str]
) -> dict[str, str]:
    """Return role -> column: all needed roles, and the optional roles that the table has."""
    chosen = {role: named.get(role) or _same_name(source, role) for role in needed if role in SAME_NAME}
    present = [role for role in optional if named.get(role) or any(is_usual(name, role) for name in source.columns)]
    return find_columns(source.columns, {**named, **chosen}, source.name, needed=(*needed, *present))


def place_items(
    source: Source, item: Codes, names: Names, topic: Coded | None, allowed: Any, named: Mapping[str, str | None]
) -> TopicItems:
    """Return the items of each topic; ``item`` (k, rows) is coded by ``names``. Items not ``allowed`` are refused."""
    of_topic = np.zeros(item.shape, np.int64) + (0 if topic is None else topic.code)
    keys, first, code = np.unique(of_topic * len(names) + item, return_index=True, return_inverse=True)
    topic_items = TopicItems(
        names.gather(keys % len(names)).alias("item"),
        frozen((keys // len(names)).astype(np.int32)),
        None if topic is None else topic.names.alias("topic"),
        code.astype(np.int32).reshape(item.shape),
    )
    if allowed is not None:
        _refuse_other_items(source, topic_items, first % item.shape[1], _allowed_source(allowed), named)
    return topic_items


def _same_name(source: Source, role: str) -> str:
    """Return the column with the name of the role; a table without one is refused."""
    plain = {name: name.strip().lower() for name in source.columns}
    role_name = next((role_name for role_name in PAIR_NAMES.get(role, (role,)) if role_name in plain.values()), role)
    candidates = [name for name in source.columns if plain[name] == role_name]
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise source.wrong(f"{quoted(candidates)} could each be the {role}: choose one with --{role}")
    other = "; preferences need left, right and winner" if role == "rank" else ""
    problem = f"no column for the {role} (columns: {quoted(source.columns)})"
    raise source.wrong(f"{problem}: call it {role}, or name it with --{role}{other}")


def _whole_ranks(source: Source, rank: Coded) -> Codes:
    """Return the rank of every row (N); what is not a whole number of at least 1 is refused."""
    names = rank.names if rank.names.dtype.is_numeric() else rank.names.cast(pl.String)
    values = names.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    bad = ~((values >= 1) & (values <= MOST) & (values == np.floor(values)))
    if bad.any():
        k = int(np.flatnonzero(bad)[np.argmin(rank.first[bad])])
        problem = f"rank {quote(rank.names[k])} is not a whole number of at least 1"
        raise source.wrong(f"{problem}: {NUMBERING}", int(rank.first[k]))
    ranks: Codes = values.astype(np.int64)[rank.code]
    return ranks


def _refuse_second_ranks(source: Source, ranking: Codes, item: Coded, judge: Coded, has_sets: bool) -> None:
    """Refuse an item that a judge ranks twice in a topic or, if there are sets, in a set."""
    order = np.lexsort((item.code, ranking))
    again = 1 + np.flatnonzero((np.diff(ranking[order]) == 0) & (np.diff(item.code[order]) == 0))
    if again.size:
        k = again[np.argmin(order[again])]
        n, before = int(order[k]), source.row(int(order[k - 1]))
        who, ranked = judge.names[int(judge.code[n])], item.names[int(item.code[n])]
        advice = "keep one of them" if has_sets else "keep one of them, or name the column of sets with --set"
        raise source.wrong(f"judge {quote(who)} ranks item {quote(ranked)} here and in row {before}: {advice}", n)


def _levels(source: Source, ranking: Codes, rank: Codes, order: Codes, columns: Mapping[str, Coded]) -> Codes:
    """Return the level of each entry in order (N); a gap in the ranks of a judge in a topic is refused.

    After two items of rank 1 comes rank 2 (dense) or rank 3 (competition); the first tie of a ranking decides.
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


def _refuse_merged_sets(
    source: Source, ranking: Codes, level: Codes, rank: Codes, order: Codes, columns: Mapping[str, Coded]
) -> None:
    """Refuse ranks of a judge in a topic that look like those of several sets, such as 1 to 5 twice.

    They do if the ranks 1 and 2 are both given several times, no rank is given more often than the one above it, and
    none is skipped. All arguments are in the ``order`` of the rankings, best first.
    """
    begin = np.flatnonzero(np.r_[True, (np.diff(ranking) != 0) | (np.diff(level) != 0)])  # of each group of equal ranks
    size, of = np.diff(np.r_[begin, level.size]), ranking[begin]
    rises = np.r_[False, (np.diff(size) > 0) & (np.diff(of) == 0)] | (rank[begin] != level[begin] + 1)
    several = np.zeros(int(ranking[-1]) + 1, bool)
    several[of[(level[begin] == 1) & (size > 1)]] = True
    several[of[rises]] = False
    again = several[ranking] & (level == 0)
    again[begin] = False
    if again.any():
        n = int(order[again].min())
        r = ranking[order == n]
        times, last = 1 + int(again[ranking == r].sum()), int(rank[ranking == r].max())
        raise source.wrong(
            f"{_who(columns, n)} gives the ranks 1 to {last} more than once, as in {times} sets: name the column that "
            "tells the sets apart with --set, or say with --ties that equal ranks are ties",
            n,
        )


def _firsts(ranking: Codes, entries: Codes) -> Codes:
    """Return the first entry of each ranking among ascending entries."""
    return entries[np.unique(ranking[entries], return_index=True)[1]]


def _gap(source: Source, n: int, rank: int, missing: int, columns: Mapping[str, Coded]) -> InputError:
    """Return the error about a judge's missing rank."""
    return source.wrong(f"{_who(columns, n)} gives rank {rank} and no rank {missing}: {NUMBERING}", n)


def _who(columns: Mapping[str, Coded], n: int) -> str:
    """Return the judge of a row and, if there are topics, its topic."""
    parts = ((role, columns[role]) for role in ("judge", "topic") if role in columns)
    return " of ".join(f"{role} {quote(coded.names[int(coded.code[n])])}" for role, coded in parts)


def _allowed_source(allowed: Any) -> Source:
    """Return allowed items, a table or a list of names, as a source."""
    if not isinstance(allowed, str | os.PathLike) and not hasattr(allowed, "columns"):
        allowed = pl.DataFrame({"item": list(allowed)}, strict=False)
    return open_source(allowed)


def _refuse_other_items(
    source: Source, ranked: TopicItems, rows: Codes, allowed: Source, named: Mapping[str, str | None]
) -> None:
    """Refuse an item that is not allowed, in its topic if the allowed items have topics."""
    chosen = {role: column for role, column in named.items() if role in ("item", "topic") and column in allowed.columns}
    optional = () if ranked.topics is None else ("topic",)
    columns = code_columns(allowed, find_roles(allowed, chosen, ("item",), optional))
    item = places(ranked.items, columns["item"].names)
    listed, pair = columns["item"].code.astype(np.int64), item.copy()
    if ranked.topics is not None and "topic" in columns:
        topic, count = columns["topic"], len(columns["item"].names)
        position = places(ranked.topics, topic.names)[ranked.topic]
        listed, pair = listed + topic.code * count, np.where((item < 0) | (position < 0), -1, item + position * count)
    unknown = np.flatnonzero(~np.isin(pair, listed))
    if unknown.size:
        i = int(unknown[np.argmin(rows[unknown])])
        of_topic = "" if ranked.topics is None else f" of topic {quote(ranked.topics[int(ranked.topic[i])])}"
        total = np.unique(listed).size
        problem = f"item {quote(ranked.items[i])}{of_topic} is not among the {total:,} items of {allowed.name}"
        raise source.wrong(f"{problem}: correct it here, or add it there", int(rows[i]))
    unranked = np.setdiff1d(listed, pair).size
    if unranked:
        message = f"{allowed.name}: nobody ranked {unranked:,} of these items, so they are not in the result"
        warnings.warn(message, AdjudgeWarning, stacklevel=2)


PAIR = ("left", "right", "winner")
PAIR_NAMES = {  # usual names of their columns, the most likely first; others are those of chatbot arenas and crowd-kit
    "left": ("left", "model_a"),
    "right": ("right", "model_b"),
    "winner": ("winner", "label"),
}
WORDS = {  # names of the winner other than items, in any case
    **dict.fromkeys(("left", "l", "a", "model_a"), 1),
    **dict.fromkeys(("right", "r", "b", "model_b"), -1),
    **dict.fromkeys(("tie", "tied", "draw", "equal", "same", "both", "neither", "none", "n", "="), 0),
    **dict.fromkeys(("tie (bothbad)", "both_bad", "bothbad"), 0),
}


def holds_pairs(source: Source, named: Mapping[str, str | None]) -> bool:
    """Whether a table has preferences: it has columns of the usual names, or the user names one of them."""
    columns = {name.strip().lower() for name in source.columns}
    return any(named.get(role) for role in PAIR) or all(columns & {*pair_names} for pair_names in PAIR_NAMES.values())


def read_pairs(source: Source, named: Mapping[str, str | None], items: Any = None) -> Rankings:
    """Return the preferences of a table with left, right, winner and, optionally, judge and topic.

    The winner is one of the two items or one of ``WORDS``. A word that is also the name of an item, in any case, is an
    item.
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
    """Return the names of both columns, and the codes of each column (N)."""
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
    """Return the winner of each row (N): 1 left, -1 right, 0 neither; any other winner is refused."""
    winner = columns["winner"]
    item = places(winner.names, names)[winner.code]
    item_names = set(names.cast(pl.String).str.to_lowercase().to_list())
    words = {word: outcome for word, outcome in WORDS.items() if word not in item_names}
    word = np.array([words.get(str(name).strip().lower(), 2) for name in winner.names.to_list()])[winner.code]
    won: Codes = np.where(item < 0, word, np.where(item == left, 1, np.where(item == right, -1, 2)))
    bad = np.flatnonzero(won == 2)
    if bad.size:
        n = int(bad[0])
        row = {role: quote(columns[role].names[int(columns[role].code[n])]) for role in PAIR}
        problem = f"the winner {row['winner']} is neither {row['left']} nor {row['right']}"
        raise source.wrong(f"{problem}: give one of the two, or left, right or tie", n)
    return won

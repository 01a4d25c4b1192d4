"""Tables of preferences between two items, checked and encoded as rankings of two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes, frozen
from adjudge.errors import quote
from adjudge.judgments.encode import Coded, code_columns
from adjudge.judgments.gold import places
from adjudge.judgments.rankings import Rankings, find_roles, place_items
from adjudge.judgments.source import Source

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

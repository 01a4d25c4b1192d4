"""``Judgments``: the encoded table that every model reads. Immutable, sorted by item, small integers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.errors import UsageError, quoted
from adjudge.judgments.scale import Scale
from adjudge.kernels.block import Block
from adjudge.kernels.coding import grouped, starts

if TYPE_CHECKING:
    import polars as pl

    Names: TypeAlias = pl.Series

REPEATS = ("keep", "merge", "drop")


@dataclass(frozen=True, eq=False)
class Judgments:
    """Who gave which label to which item.

    Names are kept beside the codes: ``judges[judge[n]]`` gave ``scale.labels[label[n]]`` to the item i with
    ``start[i] <= n < start[i + 1]``.
    """

    items: Names  # (I)
    judges: Names  # (J)
    scale: Scale  # K labels
    start: Codes  # (I + 1)
    judge: Codes  # (N)
    label: Codes  # (N)
    topics: Names | None = None  # (T)
    topic: Codes | None = None  # (I), -1 where an item's topic is not known
    weight: Floats | None = None  # (N) how often each judgment counts
    time: Names | None = None  # (N) as it was given
    kind: str = "polars"  # of the frames to give back

    def __repr__(self) -> str:
        parts = [f"{len(self.items):,} items", f"{len(self.judges):,} judges", f"{len(self.scale)} labels"]
        parts += [f"{len(self.topics):,} topics"] if self.topics is not None else []
        weighed = " with weights" if self.weight is not None else ""
        return f"Judgments({', '.join([*parts, f'{len(self):,} judgments{weighed}'])})"

    def __len__(self) -> int:
        return int(self.judge.size)

    def block(self, gold: Codes | None = None, by_topic: bool = False) -> Block:
        """Return the arrays a kernel reads; ``gold`` (I) holds truths, -1 where unknown."""
        count, K = len(self.items), len(self.scale)
        cell = self.judge.astype(np.uint32) * np.uint32(K) + self.label.astype(np.uint32)
        topic = self.topic if by_topic and self.topic is not None else np.zeros(count, np.int32)
        return Block(
            self.start,
            frozen(cell),
            self.label,
            frozen(topic),
            frozen(np.full(count, -1, np.int32) if gold is None else gold),
            frozen(np.empty(0) if self.weight is None else self.weight),
            len(self.judges),
            K,
            frozen(np.array(self.scale.values)),
        )

    def item(self) -> Codes:
        """Return the item of each judgment (N)."""
        return np.repeat(np.arange(len(self.items), dtype=np.int32), np.diff(self.start))

    def with_items(self, names: Names) -> Judgments:
        """Return the same judgments and more items, which nobody judged."""
        if not len(names):
            return self
        start = np.r_[self.start, np.full(len(names), self.start[-1])]
        topic = None if self.topic is None else frozen(np.r_[self.topic, np.full(len(names), -1, np.int32)])
        return replace(self, items=_joined(self.items, names), start=frozen(start), topic=topic)

    def take(self, kept: Codes) -> Judgments:
        """Return only the judgments with these row numbers, in the order they had; items and judges stay."""
        rows = np.sort(kept)
        count = np.bincount(self.item()[rows], minlength=len(self.items))
        return replace(
            self,
            start=frozen(np.r_[0, np.cumsum(count)].astype(np.int64)),
            judge=frozen(self.judge[rows]),
            label=frozen(self.label[rows]),
            weight=None if self.weight is None else frozen(self.weight[rows]),
            time=None if self.time is None else self.time.gather(rows),
        )

    def without_repeats(self, how: str) -> tuple[Judgments, int]:
        """Return the judgments without a judge's repeats on an item, and how many went.

        ``merge`` drops only those that say the same again; ``drop`` keeps the first a judge said.
        """
        if how not in REPEATS:
            raise UsageError(f"repeats {how!r} is not one of {quoted(REPEATS)}")
        if how == "keep":
            return self, 0
        pair = self.item().astype(np.int64) * len(self.judges) + self.judge
        _, first = np.unique(pair * len(self.scale) + self.label if how == "merge" else pair, return_index=True)
        return self.take(first), len(self) - first.size


def _joined(items: Names, more: Names) -> Names:
    """Return names with more of them: of the type they have where that can hold all, else as text."""
    if items.dtype.is_numeric():
        alike = more.cast(items.dtype, strict=False)
        if alike.cast(str).equals(more.cast(str)):
            return items.clone().extend(alike)
    return items.cast(str).extend(more.cast(str))


def encoded(
    item: Codes, judge: Codes, label: Codes, *, items: Names, judges: Names, scale: Scale, **rest: Any
) -> Judgments:
    """Return judgments in the order of their items, from codes in any order."""
    start, in_order = starts(item, len(items))
    small = np.uint8 if len(scale) <= 256 else np.int32
    columns = {"judge": judge.astype(np.int32, copy=False), "label": label.astype(small, copy=False)}
    if rest.get("weight") is not None:
        columns["weight"] = rest["weight"]
    if not in_order:
        with ThreadPoolExecutor(2) as pool:
            moved = pool.map(lambda column: grouped(item, start, column), columns.values())
            columns = dict(zip(columns, moved, strict=True))
        if rest.get("time") is not None:
            rest["time"] = rest["time"].gather(grouped(item, start, np.arange(item.size)))
    rest |= {name: frozen(column) for name, column in columns.items()}
    return Judgments(items=items, judges=judges, scale=scale, start=frozen(start), **rest)

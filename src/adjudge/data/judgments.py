"""``Judgments``: the encoded table that every model reads. Immutable, sorted by item, small integers."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.scale import Scale
from adjudge.data.write import frame
from adjudge.errors import UsageError, quoted
from adjudge.kernels.block import Block
from adjudge.kernels.coding import grouped, starts

Names: TypeAlias = pl.Series

REPEATS = ("keep", "merge", "drop")


class Origin(NamedTuple):
    """The table that judgments were read from."""

    name: str
    format: str
    encoding: str | None
    compression: str | None
    columns: Mapping[str, str]  # role -> column


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
    origin: Origin | None = None

    def __repr__(self) -> str:
        parts = [f"{len(self.items):,} items", f"{len(self.judges):,} judges", f"{len(self.scale)} labels"]
        parts += [f"{len(self.topics):,} topics"] if self.topics is not None else []
        weighed = " with weights" if self.weight is not None else ""
        return f"Judgments({', '.join([*parts, f'{len(self):,} judgments{weighed}'])})"

    def __len__(self) -> int:
        return int(self.judge.size)

    @property
    def table(self) -> Any:
        """The judgments as a frame of the kind that they came in: item, judge, label and what else there is."""
        return frame(judgment_table(self).to_dict(), self.kind)

    @property
    def summary(self) -> Any:
        """How the judgments were read and how many there are, as a frame with the columns property and value."""
        rows = describe(self)
        return frame({"property": list(rows), "value": list(rows.values())}, self.kind)

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


class Known(NamedTuple):
    """The names that codes stand for: what new judgments are matched with."""

    items: Names  # (I)
    judges: Names  # (J)
    topics: Names | None  # (T)
    topic: Codes | None  # (I), -1 where an item's topic is not known


class Joined(NamedTuple):
    """New judgments in old codes, and the names of all."""

    known: Known
    item: Codes  # (n) ascending
    judge: Codes  # (n)
    label: Codes  # (n)
    weight: Floats | None  # (n)
    time: Names | None  # (n)


def joined(known: Known, new: Judgments) -> Joined:
    """Return new judgments in the codes of what is known, with new names after the old ones."""
    judge, judges = _matched(new.judges, known.judges)
    topic, topics = _topics(known, new)
    place, items = _items(known, new, topic, topics)
    item = place[new.item()]
    order = np.argsort(item, kind="stable")
    return Joined(
        Known(items, judges, topics, _topic_of(known, place, topic, len(items))),
        item[order],
        judge[new.judge[order]],
        new.label[order],
        None if new.weight is None else new.weight[order],
        None if new.time is None else new.time.gather(order),
    )


def grown(old: Judgments, new: Joined) -> Judgments:
    """Return old and new judgments in one table, in time that is linear in both; those on an item stay in order."""
    size = len(new.known.items)
    start = np.r_[old.start, np.full(size - len(old.items), old.start[-1])]
    after = start[new.item + 1]  # where each new judgment goes: behind the old ones on its item
    start[1:] += np.cumsum(np.bincount(new.item, minlength=size))
    weight = None
    if old.weight is not None or new.weight is not None:
        was = np.ones(len(old)) if old.weight is None else old.weight
        weight = frozen(np.insert(was, after, 1.0 if new.weight is None else new.weight))
    return replace(
        old,
        items=new.known.items,
        judges=new.known.judges,
        topics=new.known.topics,
        topic=new.known.topic,
        start=frozen(start),
        judge=frozen(np.insert(old.judge, after, new.judge)),
        label=frozen(np.insert(old.label, after, new.label)),
        weight=weight,
        time=_times(old, new, after),
    )


def part(judgments: Judgments, gold: Codes | None, items: Codes) -> Block:
    """Return the judgments on some items, in the order given, as a block of their own; all judges keep their codes."""
    count = judgments.start[items + 1] - judgments.start[items]
    start = np.r_[0, np.cumsum(count)]
    row = np.repeat(judgments.start[items] - start[:-1], count) + np.arange(start[-1])
    few = replace(
        judgments,
        items=judgments.items.gather(items),
        topic=None if judgments.topic is None else judgments.topic[items],
        start=start,
        judge=judgments.judge[row],
        label=judgments.label[row],
        weight=None if judgments.weight is None else judgments.weight[row],
        time=None,
    )
    return few.block(None if gold is None else gold[items])


def _items(known: Known, new: Judgments, topic: Codes | None, topics: Names | None) -> tuple[Codes, Names]:
    """Return the place of each new item, and the names of all.

    One name in several topics is several items, called topic_item as where they are read from one table.
    """
    if known.topic is None or topic is None or topics is None or (topic < 0).any():
        return _matched(new.items, known.items)
    place = _places(new.items, known.items)
    strange = np.flatnonzero((place < 0) | ((known.topic[place] >= 0) & (known.topic[place] != topic)))
    if not strange.size:
        return place, known.items
    names = new.items.cast(pl.String)
    apart = _with_topic(names, topics, topic)
    there = _places(names, _with_topic(known.items, topics, known.topic))  # old ones were not apart, new ones are
    place[strange] = np.maximum(_places(apart, known.items), there)[strange]
    taken = np.zeros(len(names), bool)
    taken[strange] = _places(names, known.items)[strange] >= 0
    left = np.flatnonzero(place < 0)
    place[left] = len(known.items) + np.arange(left.size)
    called = pl.DataFrame({"apart": apart, "plain": names, "taken": taken})
    named = called.select(pl.when("taken").then("apart").otherwise("plain")).to_series()
    return place, _extended(known.items, named.gather(left)) if left.size else known.items


def _with_topic(items: Names, topics: Names, topic: Codes) -> Names:
    """Return the names that items have where one name is in several topics."""
    parts = {"topic": topics.gather(np.maximum(topic, 0)), "item": items}
    return pl.DataFrame(parts).select(pl.format("{}_{}", "topic", "item")).to_series()


def _times(old: Judgments, new: Joined, after: Codes) -> Names | None:
    """Return when all judgments were given, where that is known of all."""
    if old.time is None or new.time is None:
        return None
    times = [old.time, new.time] if old.time.dtype == new.time.dtype else [old.time.cast(str), new.time.cast(str)]
    size = len(old)
    return pl.concat(times).gather(np.insert(np.arange(size), after, size + np.arange(after.size)))


def _topics(known: Known, new: Judgments) -> tuple[Codes | None, Names | None]:
    """Return the topic of each new item, in old codes, and the names of all topics."""
    if new.topics is None or new.topic is None:
        return None, known.topics
    if known.topics is None:
        return new.topic, new.topics
    place, topics = _matched(new.topics, known.topics)
    return np.where(new.topic < 0, -1, place[new.topic]), topics


def _topic_of(known: Known, place: Codes, topic: Codes | None, size: int) -> Codes | None:
    """Return the topic of all items (I): what was known stays, and new items bring theirs."""
    if known.topic is None and topic is None:
        return None
    every = np.full(size, -1, np.int32)
    if topic is not None:
        every[place] = topic
    if known.topic is not None:
        every[: known.topic.size] = np.where(known.topic >= 0, known.topic, every[: known.topic.size])
    return frozen(every)


def _matched(names: Names, known: Names) -> tuple[Codes, Names]:
    """Return the place of each name among the known, or behind them, and the names of all."""
    place = _places(names, known)
    strange = np.flatnonzero(place < 0)
    place[strange] = len(known) + np.arange(strange.size)
    return place, _extended(known, names.gather(strange)) if strange.size else known


def _places(names: Names, known: Names) -> Codes:
    """Return where each name stands among the known, -1 where it does not.

    The few are looked for among the many by a table of the few, which the many pass by once.
    """
    if names.dtype != known.dtype:
        names, known = names.cast(pl.String), known.cast(pl.String)
    row = known.is_in(names.implode()).arg_true().to_numpy().astype(np.int64)
    place = places(names, known.gather(row))
    return np.where(place >= 0, row[place] if row.size else -1, -1)


def _extended(known: Names, more: Names) -> Names:
    """Return names and more of them: of the type they have where that can hold all, else as text."""
    alike = more.cast(known.dtype, strict=False)
    if alike.cast(pl.String).equals(more.cast(pl.String)):
        return known.clone().extend(alike)
    return known.cast(pl.String).extend(more.cast(pl.String))


def describe(judgments: Judgments) -> dict[str, str]:
    """Return property -> value: how judgments were read, and how many of everything there are."""
    origin, rows = judgments.origin, {}
    if origin is not None:
        form = [origin.format, *(part for part in (origin.encoding, origin.compression) if part)]
        rows = {"source": origin.name, "format": ", ".join(form)}
        rows |= {f"{role} column": column for role, column in origin.columns.items()}
    order = "ordinal" if judgments.scale.ordinal else "nominal"
    pair = judgments.item().astype(np.int64) * len(judgments.judges) + judgments.judge
    per_item, per_judge = np.diff(judgments.start), np.bincount(judgments.judge, minlength=len(judgments.judges))
    rows |= {"items": f"{len(judgments.items):,}", "judges": f"{len(judgments.judges):,}"}
    if judgments.topics is not None:
        rows["topics"] = f"{len(judgments.topics):,}"
    rows |= {
        "judgments": f"{len(judgments):,}",
        "labels": f"{quoted(judgments.scale.names)} ({order})",
        "judgments per item": _spread(per_item),
        "judgments per judge": _spread(per_judge),
        "repeats": f"{len(judgments) - np.unique(pair).size:,}",
    }
    if judgments.weight is not None:
        rows["weights"] = f"{judgments.weight.min():g} to {judgments.weight.max():g}"
    if judgments.time is not None:
        rows["times"] = f"{judgments.time.min()!s} to {judgments.time.max()!s}"
    return rows


def _spread(count: Codes) -> str:
    """Return the mean of counts and their range."""
    return f"{count.mean():.1f} ({count.min():,} to {count.max():,})" if count.size else "none"


def judgment_table(judgments: Judgments) -> pl.DataFrame:
    """Return the table of judgments: item, judge, label, and topic, weight and time where there are any."""
    item = judgments.item()
    labels = pl.Series("label", judgments.scale.labels)
    columns: dict[str, Any] = {
        "item": judgments.items.gather(item),
        "judge": judgments.judges.gather(judgments.judge),
        "label": labels.gather(judgments.label),
    }
    if judgments.topics is not None and judgments.topic is not None:
        columns["topic"] = judgments.topics.gather(judgments.topic[item])
    if judgments.weight is not None:
        columns["weight"] = judgments.weight
    if judgments.time is not None:
        columns["time"] = judgments.time
    return pl.DataFrame(columns)


def places(names: pl.Series, among: pl.Series) -> Codes:
    """Return where each name stands among others, -1 where it does not; numbers match their text."""
    if names.dtype != among.dtype:
        names, among = names.cast(pl.String), among.cast(pl.String)
    known = pl.DataFrame({"name": among, "place": np.arange(len(among), dtype=np.int64)})
    wanted = pl.DataFrame({"name": names})
    found = wanted.join(known, on="name", how="left", maintain_order="left").get_column("place")
    return found.fill_null(-1).to_numpy().copy()

"""``Judgments``: the table that every model reads, as small integers sorted by item.

New judgments are added to old ones in two steps: ``match_names`` brings them into the codes of the old judgments, and
``append`` puts both into one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.data.panel import Panel, extend_panel
from adjudge.data.scale import Scale
from adjudge.data.show import html_view
from adjudge.data.write import frame
from adjudge.errors import UsageError, not_one_of, quoted
from adjudge.kernels.block import NO_FAMILIES, Block
from adjudge.kernels.coding import grouped, starts

Names: TypeAlias = pl.Series

ABSTENTIONS = "judge_abstentions"  # the column of a written table that says how often the judge could not tell
REPEATS = ("keep", "merge", "drop")


class Origin(NamedTuple):
    """The table that judgments were read from."""

    name: str
    format: str
    encoding: str | None
    compression: str | None
    columns: Mapping[str, str]  # role -> column
    shape: str = "long"  # one judgment per row, or the export that the table was recognised as
    missing: int = 0  # judgments without a label, which are left out
    merged: tuple[str, ...] = ()  # what was read as one label
    unused: tuple[str, ...] = ()  # columns


@dataclass(frozen=True, eq=False)
class Judgments:
    """Who gave which label to which item.

    The judge ``judges[judge[n]]`` gave the label ``scale.labels[label[n]]`` to the item i for which
    ``start[i] <= n < start[i + 1]``. The record is immutable.

    Examples
    --------
    >>> from adjudge.data.read import read
    >>> judgments = read(pl.DataFrame({"item": ["a", "b"], "judge": ["ann", "bob"], "label": [0, 1]}))
    >>> judgments
    Judgments(2 items, 2 judges, 2 labels, 2 judgments)
    >>> judgments.table.rows()
    [('a', 'ann', 0), ('b', 'bob', 1)]
    """

    items: Names  # (I)
    judges: Names  # (J)
    scale: Scale  # K labels
    start: Codes  # (I + 1)
    judge: Codes  # (N)
    label: Codes  # (N)
    topics: Names | None = None  # (T)
    topic: Codes | None = None  # (I), -1 if the topic of an item is unknown
    weight: Floats | None = None  # (N) how often each judgment counts
    time: Names | None = None  # (N) as it was read
    kind: str = "polars"  # of the frames that are returned
    origin: Origin | None = None
    aside: Flags | None = None  # (I) items whose gold fixes their truth, and calibrates nothing
    panel: Panel | None = None  # what is known about the judges (J)
    abstained: Codes | None = None  # (J) how often each judge could not tell; None if no label is an abstention

    def __repr__(self) -> str:
        parts = [f"{len(self.items):,} items", f"{len(self.judges):,} judges", f"{len(self.scale)} labels"]
        parts += [f"{len(self.topics):,} topics"] if self.topics is not None else []
        weighed = " with weights" if self.weight is not None else ""
        return f"Judgments({', '.join([*parts, f'{len(self):,} judgments{weighed}'])})"

    def __len__(self) -> int:
        return int(self.judge.size)

    def _repr_html_(self) -> str:
        rows = self.summary
        return html_view(repr(self), rows, rows=len(rows))

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
        """Return the arrays that a kernel reads; ``gold`` (I) has true labels, -1 if unknown."""
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
            NO_FAMILIES if self.panel is None else self.panel.shared_families(),
        )

    def item(self) -> Codes:
        """Return the item of each judgment (N)."""
        return np.repeat(np.arange(len(self.items), dtype=np.int32), np.diff(self.start))

    def with_items(self, names: Names) -> Judgments:
        """Return the judgments with more items, which nobody judged."""
        if not len(names):
            return self
        start = np.r_[self.start, np.full(len(names), self.start[-1])]
        topic = None if self.topic is None else frozen(np.r_[self.topic, np.full(len(names), -1, np.int32)])
        aside = None if self.aside is None else np.r_[self.aside, np.zeros(len(names), bool)]
        return replace(self, items=_extend(self.items, names), start=frozen(start), topic=topic, aside=aside)

    def take(self, rows: Codes) -> Judgments:
        """Return only the judgments at these positions, in the order that they had; items and judges stay."""
        rows = np.sort(rows)
        count = np.bincount(self.item()[rows], minlength=len(self.items))
        return replace(
            self,
            start=frozen(np.r_[0, np.cumsum(count)].astype(np.int64)),
            judge=frozen(self.judge[rows]),
            label=frozen(self.label[rows]),
            weight=None if self.weight is None else frozen(self.weight[rows]),
            time=None if self.time is None else self.time.gather(rows),
        )

    def without_judges(self, names: Iterable[str]) -> Judgments:
        """Return the judgments of all other judges; items stay, also if nobody else judged them.

        >>> import adjudge, polars as pl
        >>> table = pl.DataFrame({"item": ["a", "a", "b"], "judge": ["ann", "bob", "bob"], "label": [1, 0, 1]})
        >>> adjudge.read(table).without_judges(["bob"])
        Judgments(2 items, 1 judges, 2 labels, 1 judgments)
        """
        excluded = {*names}
        keeps: Flags = np.array([name not in excluded for name in self.judges.cast(str).to_list()], bool)
        if keeps.all() or not keeps.any():
            problem = "none of them gave a judgment" if keeps.all() else "nobody else gave a judgment"
            raise UsageError(f"the judgments of {quoted(sorted(excluded))} cannot be left out: {problem}")
        rest, position = self.take(np.flatnonzero(keeps[self.judge])), np.cumsum(keeps) - 1
        remaining = np.flatnonzero(keeps)
        return replace(
            rest,
            judges=self.judges.gather(remaining),
            judge=frozen(position[rest.judge].astype(self.judge.dtype)),
            panel=None if self.panel is None else self.panel.take(remaining.tolist()),
        )

    def without_repeats(self, how: str) -> tuple[Judgments, int]:
        """Return the judgments without repeats by a judge of an item, and the number that was removed.

        ``merge`` removes only repeats with the same label; ``drop`` keeps only the first judgment of a judge.
        """
        if how not in REPEATS:
            raise UsageError(not_one_of("repeats", how, REPEATS))
        if how == "keep":
            return self, 0
        pair = self.item().astype(np.int64) * len(self.judges) + self.judge
        _, first = np.unique(pair * len(self.scale) + self.label if how == "merge" else pair, return_index=True)
        return self.take(first), len(self) - first.size


def from_codes(
    item: Codes, judge: Codes, label: Codes, *, items: Names, judges: Names, scale: Scale, **rest: Any
) -> Judgments:
    """Return judgments sorted by item, from codes in any order.

    Parameters
    ----------
    item, judge, label
        The codes of each judgment (N).
    items, judges, scale
        The names of the codes.
    **rest
        Other fields of ``Judgments``; ``weight`` and ``time`` are in the order of the codes.
    """
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


class NameIndex(NamedTuple):
    """The names of codes, with which the names of new judgments are matched."""

    items: Names  # (I)
    judges: Names  # (J)
    topics: Names | None  # (T)
    topic: Codes | None  # (I), -1 if the topic of an item is unknown
    panel: Panel | None = None  # what is known about the judges (J)


class NewJudgments(NamedTuple):
    """New judgments in the codes of old ones, and the names of all codes."""

    names: NameIndex
    item: Codes  # (n) ascending
    judge: Codes  # (n)
    label: Codes  # (n)
    weight: Floats | None  # (n)
    time: Names | None  # (n)
    abstained: Codes | None = None  # (J) of all judges


def match_names(index: NameIndex, new: Judgments) -> NewJudgments:
    """Return new judgments in the codes of old ones.

    Parameters
    ----------
    index
        The names of the old codes.
    new
        Judgments with their own codes.

    Returns
    -------
    NewJudgments
        The judgments sorted by item, and all names: new names come after the old ones.
    """
    judge, judges = _match(new.judges, index.judges)
    topic, topics = _match_topics(index, new)
    position, items = _match_items(index, new, topic, topics)
    item = position[new.item()]
    order = np.argsort(item, kind="stable")
    panel = extend_panel(index.panel, new.panel, judge, judges)
    return NewJudgments(
        NameIndex(items, judges, topics, _topics_of_items(index, position, topic, len(items)), panel),
        item[order],
        judge[new.judge[order]],
        new.label[order],
        None if new.weight is None else new.weight[order],
        None if new.time is None else new.time.gather(order),
        abstentions_by(new.abstained, judge, len(judges)),
    )


def abstentions_by(abstained: Codes | None, judge: Codes, size: int) -> Codes | None:
    """Return the abstentions of judges by their position among others (J); ``judge`` has the position of each."""
    return None if abstained is None else np.bincount(judge, abstained, size).astype(np.int64)


def append(old: Judgments, new: NewJudgments) -> Judgments:
    """Return old and new judgments in one table, in linear time; judgments of an item keep their order."""
    size = len(new.names.items)
    start = np.r_[old.start, np.full(size - len(old.items), old.start[-1])]
    after = start[new.item + 1]  # new judgments go behind the old ones of their item
    start[1:] += np.cumsum(np.bincount(new.item, minlength=size))
    weight = None
    if old.weight is not None or new.weight is not None:
        old_weight = np.ones(len(old)) if old.weight is None else old.weight
        weight = frozen(np.insert(old_weight, after, 1.0 if new.weight is None else new.weight))
    abstained = abstentions_by(old.abstained, np.arange(len(old.judges)), len(new.names.judges))
    if abstained is not None and new.abstained is not None:
        abstained = abstained + new.abstained
    return replace(
        old,
        abstained=new.abstained if abstained is None else frozen(abstained),
        items=new.names.items,
        judges=new.names.judges,
        topics=new.names.topics,
        topic=new.names.topic,
        panel=new.names.panel,
        start=frozen(start),
        judge=frozen(np.insert(old.judge, after, new.judge)),
        label=frozen(np.insert(old.label, after, new.label)),
        weight=weight,
        time=_insert_times(old, new, after),
    )


def select_items(judgments: Judgments, gold: Codes | None, items: Codes) -> Block:
    """Return the judgments of some items, in the order of ``items``, as a block; all judges keep their codes."""
    count = judgments.start[items + 1] - judgments.start[items]
    start = np.r_[0, np.cumsum(count)]
    row = np.repeat(judgments.start[items] - start[:-1], count) + np.arange(start[-1])
    selected = replace(
        judgments,
        items=judgments.items.gather(items),
        topic=None if judgments.topic is None else judgments.topic[items],
        start=start,
        judge=judgments.judge[row],
        label=judgments.label[row],
        weight=None if judgments.weight is None else judgments.weight[row],
        time=None,
    )
    return selected.block(None if gold is None else gold[items])


def _match_items(index: NameIndex, new: Judgments, topic: Codes | None, topics: Names | None) -> tuple[Codes, Names]:
    """Return the position of each new item, and the names of all items.

    A name in several topics is several items, called ``topic_item`` as when they are read from one table.
    """
    if index.topic is None or topic is None or topics is None or (topic < 0).any():
        return _match(new.items, index.items)
    position = _find(new.items, index.items)
    strange = np.flatnonzero((position < 0) | ((index.topic[position] >= 0) & (index.topic[position] != topic)))
    if not strange.size:
        return position, index.items
    names = new.items.cast(pl.String)
    joined = _with_topic(names, topics, topic)
    # an old item may have its plain name and a new one topic_item, or the other way round
    renamed = _find(names, _with_topic(index.items, topics, index.topic))
    position[strange] = np.maximum(_find(joined, index.items), renamed)[strange]
    is_taken = np.zeros(len(names), bool)
    is_taken[strange] = _find(names, index.items)[strange] >= 0
    added = np.flatnonzero(position < 0)
    position[added] = len(index.items) + np.arange(added.size)
    table = pl.DataFrame({"joined": joined, "plain": names, "is_taken": is_taken})
    named = table.select(pl.when("is_taken").then("joined").otherwise("plain")).to_series()
    return position, _extend(index.items, named.gather(added)) if added.size else index.items


def _with_topic(items: Names, topics: Names, topic: Codes) -> Names:
    """Return ``topic_item``, the names of items whose own name is in several topics."""
    parts = {"topic": topics.gather(np.maximum(topic, 0)), "item": items}
    return pl.DataFrame(parts).select(pl.format("{}_{}", "topic", "item")).to_series()


def _insert_times(old: Judgments, new: NewJudgments, after: Codes) -> Names | None:
    """Return the times of all judgments, None unless old and new ones have times."""
    if old.time is None or new.time is None:
        return None
    times = [old.time, new.time] if old.time.dtype == new.time.dtype else [old.time.cast(str), new.time.cast(str)]
    size = len(old)
    return pl.concat(times).gather(np.insert(np.arange(size), after, size + np.arange(after.size)))


def _match_topics(index: NameIndex, new: Judgments) -> tuple[Codes | None, Names | None]:
    """Return the topic of each new item in the codes of the index, and the names of all topics."""
    if new.topics is None or new.topic is None:
        return None, index.topics
    if index.topics is None:
        return new.topic, new.topics
    position, topics = _match(new.topics, index.topics)
    return np.where(new.topic < 0, -1, position[new.topic]), topics


def _topics_of_items(index: NameIndex, position: Codes, topic: Codes | None, size: int) -> Codes | None:
    """Return the topic of all items (I): old topics stay, and new items bring theirs."""
    if index.topic is None and topic is None:
        return None
    topics = np.full(size, -1, np.int32)
    if topic is not None:
        topics[position] = topic
    if index.topic is not None:
        topics[: index.topic.size] = np.where(index.topic >= 0, index.topic, topics[: index.topic.size])
    return frozen(topics)


def _match(names: Names, among: Names) -> tuple[Codes, Names]:
    """Return the position of each name among others, new names behind them, and all names."""
    position = _find(names, among)
    strange = np.flatnonzero(position < 0)
    position[strange] = len(among) + np.arange(strange.size)
    return position, _extend(among, names.gather(strange)) if strange.size else among


def _find(names: Names, among: Names) -> Codes:
    """Return the position of each name among others, -1 if it is not there.

    The few names are searched among the many by a table of the few, through which the many pass once.
    """
    if names.dtype != among.dtype:
        names, among = names.cast(pl.String), among.cast(pl.String)
    row = among.is_in(names.implode()).arg_true().to_numpy().astype(np.int64)
    position = places(names, among.gather(row))
    return np.where(position >= 0, row[position] if row.size else -1, -1)


def _extend(names: Names, more: Names) -> Names:
    """Return names and more of them: in their type if it can hold all, else as text."""
    alike = more.cast(names.dtype, strict=False)
    if alike.cast(pl.String).equals(more.cast(pl.String)):
        return names.clone().extend(alike)
    return names.cast(pl.String).extend(more.cast(pl.String))


def describe(judgments: Judgments) -> dict[str, str]:
    """Return property -> value: how judgments were read, and how many of everything there are."""
    origin, rows = judgments.origin, {}
    if origin is not None:
        form = [origin.format, *(part for part in (origin.encoding, origin.compression) if part)]
        rows = {"source": origin.name, "format": ", ".join(form)}
        rows |= {} if origin.shape == "long" else {"shape": origin.shape}
        rows |= {f"{role} column": column for role, column in origin.columns.items()}
        rows |= {"columns not used": quoted(origin.unused)} if origin.unused else {}
    order = "ordinal" if judgments.scale.ordinal else "nominal"
    pair = judgments.item().astype(np.int64) * len(judgments.judges) + judgments.judge
    per_item, per_judge = np.diff(judgments.start), np.bincount(judgments.judge, minlength=len(judgments.judges))
    rows |= {"items": f"{len(judgments.items):,}", "judges": f"{len(judgments.judges):,}"}
    if judgments.topics is not None:
        rows["topics"] = f"{len(judgments.topics):,}"
    if judgments.panel is not None:
        rows |= judgments.panel.describe()
    rows |= {
        "judgments": f"{len(judgments):,}",
        "labels": f"{quoted(judgments.scale.names)} ({order})",
        "judgments per item": _spread(per_item),
        "judgments per judge": _spread(per_judge),
        "repeats": f"{len(judgments) - np.unique(pair).size:,}",
    }
    if origin is not None:
        rows["missing labels"] = f"{origin.missing:,}"
        rows |= {"merged spellings": "; ".join(origin.merged)} if origin.merged else {}
    if judgments.abstained is not None:
        total = int(judgments.abstained.sum())
        share = total / max(1, total + len(judgments))
        rows["abstentions"] = f"{total:,} ({share:.1%} of the judgments and abstentions)"
    if judgments.weight is not None:
        rows["weights"] = f"{judgments.weight.min():g} to {judgments.weight.max():g}"
    if judgments.time is not None:
        rows["times"] = f"{judgments.time.min()!s} to {judgments.time.max()!s}"
    return rows


def _spread(count: Codes) -> str:
    """Return the mean of counts and their range."""
    return f"{count.mean():.1f} ({count.min():,} to {count.max():,})" if count.size else "none"


def judgment_table(judgments: Judgments) -> pl.DataFrame:
    """Return the table of judgments: item, judge, label, and what else there is: topic, weight, time, kind of judge."""
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
    if judgments.panel is not None:
        facts = judgments.panel.columns("judge_")
        columns |= {name: column.gather(judgments.judge) for name, column in facts.items()}
    if judgments.abstained is not None:
        columns[ABSTENTIONS] = judgments.abstained[judgments.judge]
    return pl.DataFrame(columns)


def places(names: pl.Series, among: pl.Series) -> Codes:
    """Return the position of each name among others, -1 if it is not there; numbers match their text."""
    if names.dtype != among.dtype:
        names, among = names.cast(pl.String), among.cast(pl.String)
    index = pl.DataFrame({"name": among, "position": np.arange(len(among), dtype=np.int64)})
    table = pl.DataFrame({"name": names}).join(index, on="name", how="left", maintain_order="left")
    return table.get_column("position").fill_null(-1).to_numpy().copy()

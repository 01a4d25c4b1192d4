"""The encoded table: order, immutability, and what is cut out of it."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.errors import UsageError
from adjudge.judgments.scale import Scale
from adjudge.judgments.table import Judgments, encoded

ROWS = [(2, 0, 1), (0, 1, 0), (2, 1, 1), (0, 1, 0), (2, 0, 0), (0, 0, 1), (0, 1, 1)]  # (item, judge, label)


def table(rows: list[tuple[int, int, int]] = ROWS, labels: int = 2, **rest: Any) -> Judgments:
    """Return judgments on the items a, b, c, d by the judges x, y."""
    item, judge, label = np.array(rows, np.int32).reshape(-1, 3).T
    names = {"items": pl.Series("item", list("abcd")), "judges": pl.Series("judge", ["x", "y"])}
    return encoded(item, judge, label, **names, scale=Scale(tuple(range(labels))), **rest)


def rows_of(judgments: Judgments) -> list[tuple[int, int, int]]:
    """Return judgments as rows of codes."""
    return list(zip(judgments.item().tolist(), judgments.judge.tolist(), judgments.label.tolist(), strict=True))


def test_judgments_stand_in_the_order_of_their_items() -> None:
    """Items own runs of judgments, those of an item in the order they came; an item may have none."""
    judgments = table()
    assert judgments.start.tolist() == [0, 4, 4, 7, 7]
    assert rows_of(judgments) == sorted(ROWS, key=lambda row: row[0])
    assert len(judgments) == 7


def test_weight_and_time_move_with_their_judgment() -> None:
    """Sorting by item takes weights and times along."""
    judgments = table(weight=np.arange(7.0), time=pl.Series(list("tuvwxyz")))
    assert judgments.weight is not None
    assert judgments.weight.tolist() == [1, 3, 5, 6, 0, 2, 4]
    assert judgments.time is not None
    assert judgments.time.to_list() == list("uwyztvx")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 1)), max_size=30))
def test_encoding_loses_nothing(rows: list[tuple[int, int, int]]) -> None:
    """Every judgment is there once, in a stable order, with its weight."""
    judgments = table(rows, weight=np.arange(float(len(rows))))
    assert judgments.weight is not None
    assert [rows[int(n)] for n in judgments.weight] == rows_of(judgments)
    assert rows_of(judgments) == sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize(("labels", "kind"), [(2, np.uint8), (256, np.uint8), (257, np.int32)])
def test_codes_are_as_small_as_the_scale_allows(labels: int, kind: type) -> None:
    """256 labels fit in a byte, more do not."""
    judgments = table([(0, 0, labels - 1)], labels)
    assert judgments.label.dtype == kind
    assert judgments.label.tolist() == [labels - 1]


def test_nothing_can_be_changed() -> None:
    """Arrays are read-only and fields cannot be set."""
    judgments = table(weight=np.ones(7), topics=pl.Series(["t"]), topic=np.zeros(4, np.int32))
    for array in (judgments.start, judgments.judge, judgments.label, judgments.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(FrozenInstanceError):
        judgments.label = judgments.judge  # type: ignore[misc]


def test_repr_counts() -> None:
    """A table shows its sizes, topics only where there are any."""
    assert repr(table()) == "Judgments(4 items, 2 judges, 2 labels, 7 judgments)"
    topics = {"topics": pl.Series(["t", "u", "v"]), "topic": np.array([0, 1, 2, 2], np.int32)}
    assert repr(table(**topics)) == "Judgments(4 items, 2 judges, 2 labels, 3 topics, 7 judgments)"


def test_block_is_what_kernels_read() -> None:
    """Without gold, topics or weights a block says so; with them it carries them."""
    topic = np.array([0, 1, 0, 1], np.int32)
    judgments = table(weight=np.ones(7), topics=pl.Series(["t", "u"]), topic=topic)
    plain, full = table().block(), judgments.block(gold=np.array([1, -1, -1, 0]), by_topic=True)
    assert (plain.gold.tolist(), plain.topic.tolist(), plain.weight.size) == ([-1] * 4, [0] * 4, 0)
    assert (full.gold.tolist(), full.topic.tolist(), full.weight.size) == ([1, -1, -1, 0], [0, 1, 0, 1], 7)
    assert judgments.block().topic.tolist() == [0] * 4
    assert (full.judges, full.labels) == (2, 2)


def test_items_nobody_judged_come_last() -> None:
    """More items leave the judgments as they are, own none of them, and have no topic."""
    judgments = table(topics=pl.Series(["t"]), topic=np.zeros(4, np.int32))
    grown = judgments.with_items(pl.Series(["e", "f"]))
    assert grown.items.to_list() == list("abcdef")
    assert grown.start.tolist() == [0, 4, 4, 7, 7, 7, 7]
    assert grown.topic is not None
    assert grown.topic.tolist() == [0, 0, 0, 0, -1, -1]
    assert rows_of(grown) == rows_of(judgments)
    assert judgments.items.to_list() == list("abcd")
    assert judgments.with_items(pl.Series([], dtype=pl.String)) is judgments


@pytest.mark.parametrize(
    ("more", "items"),
    [(["3"], [1, 2, 3]), (["z"], ["1", "2", "z"]), (["01"], ["1", "2", "01"]), ([3], [1, 2, 3])],
)
def test_more_items_of_another_type(more: list[Any], items: list[Any]) -> None:
    """Ids stay numbers where all of them can be; otherwise all become text, and none is lost or merged."""
    names: dict[str, Any] = {"items": pl.Series([1, 2]), "judges": pl.Series(["x"]), "scale": Scale((0, 1))}
    one = np.zeros(1, np.int32)
    assert encoded(one, one, one, **names).with_items(pl.Series(more)).items.to_list() == items


def test_take_keeps_rows_in_their_order() -> None:
    """Rows are kept in the order they had, with weight and time, and items and judges stay."""
    judgments = table(weight=np.arange(7.0), time=pl.Series(list("tuvwxyz")))
    taken = judgments.take(np.array([5, 0, 3]))
    assert rows_of(taken) == [rows_of(judgments)[n] for n in (0, 3, 5)]
    assert taken.start.tolist() == [0, 2, 2, 3, 3]
    assert taken.weight is not None
    assert taken.time is not None
    assert (taken.weight.tolist(), taken.time.to_list()) == ([1, 6, 2], ["u", "z", "v"])
    assert (len(taken.items), len(taken.judges)) == (4, 2)
    assert len(judgments.take(np.array([], np.int64))) == 0


def test_repeats_are_kept_unless_told() -> None:
    """Repeats are separate judgments."""
    judgments = table()
    assert judgments.without_repeats("keep") == (judgments, 0)


def test_merged_repeats_say_the_same() -> None:
    """Merging drops what a judge says of an item again, and keeps what she says otherwise."""
    kept, gone = table(weight=np.arange(7.0)).without_repeats("merge")
    assert rows_of(kept) == [(0, 1, 0), (0, 0, 1), (0, 1, 1), (2, 0, 1), (2, 1, 1), (2, 0, 0)]
    assert kept.weight is not None
    assert kept.weight.tolist() == [1, 5, 6, 0, 2, 4]
    assert gone == 1


def test_dropped_repeats_leave_the_first() -> None:
    """Dropping keeps the first a judge said of an item."""
    kept, gone = table().without_repeats("drop")
    assert rows_of(kept) == [(0, 1, 0), (0, 0, 1), (2, 0, 1), (2, 1, 1)]
    assert gone == 3


def test_another_way_with_repeats_is_refused() -> None:
    """What is not a way to treat repeats is refused with those that are."""
    with pytest.raises(UsageError) as caught:
        table().without_repeats("forget")
    assert str(caught.value) == "repeats 'forget' is not one of 'keep', 'merge', 'drop'"

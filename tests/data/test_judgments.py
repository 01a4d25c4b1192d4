"""New judgments in old codes: what was there stays where it is."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjudge
from adjudge.data.judgments import (
    Judgments,
    NameIndex,
    append,
    describe,
    from_codes,
    judgment_table,
    match_names,
    select_items,
)
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.errors import UsageError

NAMES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz"), st.sampled_from("01")), min_size=1, max_size=30
)


def table(rows, **more):
    """Return judgments from rows of item, judge and label."""
    columns = dict(zip(("item", "judge", "label"), zip(*rows, strict=True), strict=True))
    return adjudge.read(pl.DataFrame(columns | more), item="item", judge="judge", labels=["0", "1"])


def both(old, new):
    """Return two tables in one."""
    return append(old, match_names(NameIndex(old.items, old.judges, old.topics, old.topic), new))


@given(NAMES, NAMES)
def test_both_are_there_and_old_codes_stay(first, second):
    """As sets of rows, and item by item in the order they came."""
    old, new = table(first), table(second)
    all_ = both(old, new)
    assert sorted(judgment_table(all_).rows()) == sorted(first + second)
    assert all_.items.head(len(old.items)).equals(old.items)
    assert all_.judges.head(len(old.judges)).equals(old.judges)
    for i, item in enumerate(all_.items):
        rows = slice(all_.start[i], all_.start[i + 1])
        result = [
            (all_.judges[int(j)], all_.scale.labels[k]) for j, k in zip(all_.judge[rows], all_.label[rows], strict=True)
        ]
        assert result == [row[1:] for row in first + second if row[0] == item]


def test_weights_and_times_are_joined():
    """A judgment without a weight counts once; times are kept where all have them."""
    old = table([("a", "x", "0"), ("b", "x", "1")], weight=[2.0, 3.0], time=[1, 2])
    plain, timed = table([("a", "y", "1")]), table([("a", "y", "1")], time=[9])
    assert both(old, plain).weight.tolist() == [2, 1, 3]
    assert both(old, plain).time is None
    assert both(old, timed).time.to_list() == [1, 9, 2]
    assert both(plain, old).weight.tolist() == [1, 2, 3]
    assert both(old, table([("a", "y", "1")], time=["later"])).time.to_list() == ["1", "later", "2"]


def test_numbers_and_their_text_are_the_same_names():
    """Items 1 and 2 of a frame, and "2" and "x" of a file."""
    old = adjudge.read(pl.DataFrame({"item": [1, 2], "judge": [7, 7], "label": ["0", "1"]}))
    new = table([("2", "7", "0"), ("3", "7", "0")])
    assert both(old, new).items.to_list() == [1, 2, 3]
    named = both(old, table([("2", "7", "0"), ("x", "7", "0")]))
    assert (named.items.to_list(), named.judges.to_list()) == (["1", "2", "x"], [7])


def test_topics_are_joined():
    """New topics follow, and an item whose topic was not known gets the one that is told."""
    old = table([("a", "x", "0"), ("b", "x", "1")], topic=["t1", "t2"])
    all_ = both(old, table([("b", "y", "0"), ("c", "y", "0")], topic=["t2", "t3"]))
    assert [all_.topics[t] for t in all_.topic.tolist()] == ["t1", "t2", "t3"]
    bare = table([("a", "x", "0")])
    assert both(bare, old).topic.tolist() == [0, 1]
    assert both(old, table([("d", "x", "0")])).topic.tolist() == [0, 1, -1]


@pytest.mark.filterwarnings("ignore:.*an item is in several topics")
def test_one_name_in_two_topics_is_two_items():
    """Whether it was so in the old table, is so in the new one, or only in both."""
    rows = [("d", "x", "0"), ("e", "x", "1")]
    plain = table(rows, topic=["t1", "t1"])
    other = both(plain, table([("d", "y", "1")], topic=["t2"]))
    assert other.items.to_list() == ["d", "e", "t2_d"]
    assert both(other, table([("d", "z", "1")], topic=["t2"])).items.to_list() == ["d", "e", "t2_d"]
    apart = table([*rows, ("d", "x", "1")], topic=["t1", "t1", "t2"])
    assert apart.items.to_list() == ["t1_d", "t1_e", "t2_d"]
    again = both(apart, table([("d", "y", "1")], topic=["t2"]))
    assert (again.items.to_list(), np.diff(again.start).tolist()) == (["t1_d", "t1_e", "t2_d"], [1, 1, 2])
    back = both(plain, apart)
    assert (back.items.to_list(), np.diff(back.start).tolist()) == (["d", "e", "t2_d"], [2, 2, 1])


def test_a_part_is_what_the_whole_holds_of_it():
    """Judgments of some items, with their gold and weights."""
    judgments = adjudge.simulate("dawid-skene", items=50, judges=6, labels=3, per_item=3).judgments
    gold, items = np.arange(50) % 4 - 1, np.array([3, 7, 8, 49])
    complete, few = judgments.block(gold), select_items(judgments, gold, items)
    rows = np.concatenate([np.arange(complete.start[i], complete.start[i + 1]) for i in items])
    np.testing.assert_array_equal(few.cell, complete.cell[rows])
    np.testing.assert_array_equal(few.label, complete.label[rows])
    np.testing.assert_array_equal(few.gold, gold[items])
    assert (few.judges, few.labels, few.start.tolist()) == (6, 3, [0, 3, 6, 9, 12])


COLUMNS = {
    "item": ["b", "a", "b"],
    "judge": ["x", "x", "y"],
    "label": ["no", "yes", "yes"],
    "topic": ["t2", "t1", "t2"],
    "weight": [1.0, 2.0, 0.5],
    "time": [3, 1, 2],
}


def test_every_column_comes_back_sorted_by_item() -> None:
    """Items in the order they first appear, and each row whole."""
    table = judgment_table(read(pl.DataFrame(COLUMNS)))
    assert table.columns == list(COLUMNS)
    assert table.rows() == [
        ("b", "x", "no", "t2", 1.0, 3),
        ("b", "y", "yes", "t2", 0.5, 2),
        ("a", "x", "yes", "t1", 2.0, 1),
    ]


def test_reading_the_rows_gives_the_same_judgments() -> None:
    """There and back again."""
    plain = read(pl.DataFrame({name: COLUMNS[name] for name in ("item", "judge", "label")}))
    again = read(judgment_table(plain))
    assert again.judge.tolist() == plain.judge.tolist()
    assert again.label.tolist() == plain.label.tolist()
    assert again.scale == plain.scale


ROWS = [(2, 0, 1), (0, 1, 0), (2, 1, 1), (0, 1, 0), (2, 0, 0), (0, 0, 1), (0, 1, 1)]  # (item, judge, label)


def _table_table(rows: list[tuple[int, int, int]] = ROWS, labels: int = 2, **rest: Any) -> Judgments:
    """Return judgments on the items a, b, c, d by the judges x, y."""
    item, judge, label = np.array(rows, np.int32).reshape(-1, 3).T
    names = {"items": pl.Series("item", list("abcd")), "judges": pl.Series("judge", ["x", "y"])}
    return from_codes(item, judge, label, **names, scale=Scale(tuple(range(labels))), **rest)


def rows_of(judgments: Judgments) -> list[tuple[int, int, int]]:
    """Return judgments as rows of codes."""
    return list(zip(judgments.item().tolist(), judgments.judge.tolist(), judgments.label.tolist(), strict=True))


def test_judgments_stand_in_the_order_of_their_items() -> None:
    """Items own runs of judgments, those of an item in the order they came; an item may have none."""
    judgments = _table_table()
    assert judgments.start.tolist() == [0, 4, 4, 7, 7]
    assert rows_of(judgments) == sorted(ROWS, key=lambda row: row[0])
    assert len(judgments) == 7


def test_weight_and_time_move_with_their_judgment() -> None:
    """Sorting by item takes weights and times along."""
    judgments = _table_table(weight=np.arange(7.0), time=pl.Series(list("tuvwxyz")))
    assert judgments.weight is not None
    assert judgments.weight.tolist() == [1, 3, 5, 6, 0, 2, 4]
    assert judgments.time is not None
    assert judgments.time.to_list() == list("uwyztvx")


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 1)), max_size=30))
def test_encoding_loses_nothing(rows: list[tuple[int, int, int]]) -> None:
    """Every judgment is there once, in a stable order, with its weight."""
    judgments = _table_table(rows, weight=np.arange(float(len(rows))))
    assert judgments.weight is not None
    assert [rows[int(n)] for n in judgments.weight] == rows_of(judgments)
    assert rows_of(judgments) == sorted(rows, key=lambda row: row[0])


@pytest.mark.parametrize(("labels", "kind"), [(2, np.uint8), (256, np.uint8), (257, np.int32)])
def test_codes_are_as_small_as_the_scale_allows(labels: int, kind: type) -> None:
    """256 labels fit in a byte, more do not."""
    judgments = _table_table([(0, 0, labels - 1)], labels)
    assert judgments.label.dtype == kind
    assert judgments.label.tolist() == [labels - 1]


def test_nothing_can_be_changed() -> None:
    """Arrays are read-only and fields cannot be set."""
    judgments = _table_table(weight=np.ones(7), topics=pl.Series(["t"]), topic=np.zeros(4, np.int32))
    for array in (judgments.start, judgments.judge, judgments.label, judgments.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(FrozenInstanceError):
        judgments.label = judgments.judge  # type: ignore[misc]


def test_repr_counts() -> None:
    """A table shows its sizes, topics only where there are any."""
    assert repr(_table_table()) == "Judgments(4 items, 2 judges, 2 labels, 7 judgments)"
    topics = {"topics": pl.Series(["t", "u", "v"]), "topic": np.array([0, 1, 2, 2], np.int32)}
    assert repr(_table_table(**topics)) == "Judgments(4 items, 2 judges, 2 labels, 3 topics, 7 judgments)"


def test_block_is_what_kernels_read() -> None:
    """Without gold, topics or weights a block says so; with them it carries them."""
    topic = np.array([0, 1, 0, 1], np.int32)
    judgments = _table_table(weight=np.ones(7), topics=pl.Series(["t", "u"]), topic=topic)
    plain, full = _table_table().block(), judgments.block(gold=np.array([1, -1, -1, 0]), by_topic=True)
    assert (plain.gold.tolist(), plain.topic.tolist(), plain.weight.size) == ([-1] * 4, [0] * 4, 0)
    assert (full.gold.tolist(), full.topic.tolist(), full.weight.size) == ([1, -1, -1, 0], [0, 1, 0, 1], 7)
    assert judgments.block().topic.tolist() == [0] * 4
    assert (full.judges, full.labels) == (2, 2)


def test_items_nobody_judged_come_last() -> None:
    """More items leave the judgments as they are, own none of them, and have no topic."""
    judgments = _table_table(topics=pl.Series(["t"]), topic=np.zeros(4, np.int32))
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
    first = np.zeros(1, np.int32)
    assert from_codes(first, first, first, **names).with_items(pl.Series(more)).items.to_list() == items


def test_take_keeps_rows_in_their_order() -> None:
    """Rows are kept in the order they had, with weight and time, and items and judges stay."""
    judgments = _table_table(weight=np.arange(7.0), time=pl.Series(list("tuvwxyz")))
    used = judgments.take(np.array([5, 0, 3]))
    assert rows_of(used) == [rows_of(judgments)[n] for n in (0, 3, 5)]
    assert used.start.tolist() == [0, 2, 2, 3, 3]
    assert used.weight is not None
    assert used.time is not None
    assert (used.weight.tolist(), used.time.to_list()) == ([1, 6, 2], ["u", "z", "v"])
    assert (len(used.items), len(used.judges)) == (4, 2)
    assert len(judgments.take(np.array([], np.int64))) == 0


def test_repeats_are_kept_unless_told() -> None:
    """Repeats are separate judgments."""
    judgments = _table_table()
    assert judgments.without_repeats("keep") == (judgments, 0)


def test_merged_repeats_say_the_same() -> None:
    """Merging drops repeated judgments of a judge on an item, and keeps those with another label."""
    stored, removed = _table_table(weight=np.arange(7.0)).without_repeats("merge")
    assert rows_of(stored) == [(0, 1, 0), (0, 0, 1), (0, 1, 1), (2, 0, 1), (2, 1, 1), (2, 0, 0)]
    assert stored.weight is not None
    assert stored.weight.tolist() == [1, 5, 6, 0, 2, 4]
    assert removed == 1


def test_dropped_repeats_leave_the_first() -> None:
    """Dropping keeps the first a judge said of an item."""
    stored, removed = _table_table().without_repeats("drop")
    assert rows_of(stored) == [(0, 1, 0), (0, 0, 1), (2, 0, 1), (2, 1, 1)]
    assert removed == 3


def test_another_way_with_repeats_is_refused() -> None:
    """What is not a way to treat repeats is refused with those that are."""
    with pytest.raises(UsageError) as caught:
        _table_table().without_repeats("forget")
    assert str(caught.value) == "repeats 'forget' is not one of 'keep', 'merge', 'drop'"


def test_a_summary_says_how_judgments_were_read(tmp_path: Path) -> None:
    """Source, format and columns; how many of everything; and the same in notebooks, with names escaped."""
    path = tmp_path / "labels.csv"
    path.write_text("task,worker,<b>,query,weight,time\na,x,no,t,1,9:00\na,x,no,t,2,9:01\na,y,yes,t,1,9:02\n")
    judgments = read(path, label="<b>")
    assert describe(judgments) == {
        "source": str(path),
        "format": "csv, utf-8",
        "item column": "task",
        "judge column": "worker",
        "label column": "<b>",
        "topic column": "query",
        "weight column": "weight",
        "time column": "time",
        "items": "1",
        "judges": "2",
        "topics": "1",
        "judgments": "3",
        "labels": "'no', 'yes' (nominal)",
        "judgments per item": "3.0 (3 to 3)",
        "judgments per judge": "1.5 (1 to 2)",
        "repeats": "1",
        "missing labels": "0",
        "weights": "1 to 2",
        "times": "9:00 to 9:02",
    }
    assert judgments.summary.columns == ["property", "value"]
    assert "<td>&lt;b&gt;</td>" in judgments._repr_html_()
    assert judgments.table.columns == ["item", "judge", "label", "topic", "weight", "time"]


def test_a_summary_of_judgments_that_were_made_here() -> None:
    """Judgments without a source have counts alone, and their frames are of the kind that came in."""
    frame = pd.DataFrame({"item": [1, 2], "judge": ["x", "y"], "label": [0, 1]})
    judgments = replace(read(frame), origin=None)
    assert list(describe(judgments))[:3] == ["items", "judges", "judgments"]
    assert isinstance(judgments.table, pd.DataFrame)
    assert isinstance(judgments.summary, pd.DataFrame)


def test_judges_can_be_left_out():
    """Codes, weights and what is known about the others stay, and so do items that nobody else judged."""
    table = pl.DataFrame(
        {"item": [*"aabbc"], "judge": [*"xyyzx"], "label": [0, 1, 1, 0, 1], "weight": [1.0, 2.0, 3.0, 4.0, 5.0]}
    )
    rest = read(table, judges={"x": "person", "y": "machine", "z": "expert"}).without_judges(["x", "nobody"])
    rows = rest.table.select("item", "judge", "label", "weight").rows()
    assert rows == [("a", "y", 1, 2.0), ("b", "y", 1, 3.0), ("b", "z", 0, 4.0)]
    assert (rest.items.to_list(), rest.judges.to_list()) == ([*"abc"], [*"yz"])
    assert rest.panel.kind == ("machine", "expert")


@pytest.mark.parametrize(
    ("names", "why"), [(["nobody"], "none of them gave a judgment"), (["x", "y"], "nobody else gave a judgment")]
)
def test_leaving_out_nobody_or_all_is_refused(names, why):
    """Both are mistakes of the one who asks."""
    judgments = read(pl.DataFrame({"item": [*"ab"], "judge": [*"xy"], "label": [0, 1]}))
    with pytest.raises(UsageError) as error:
        judgments.without_judges(names)
    listed = ", ".join(f"'{name}'" for name in names)
    assert str(error.value) == f"the judgments of {listed} cannot be left out: {why}"

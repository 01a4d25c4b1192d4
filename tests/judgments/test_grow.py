"""New judgments in old codes: what was there stays where it is."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjudge
from adjudge.judgments.grow import Known, grown, joined, part
from adjudge.judgments.rows import judgment_table

NAMES = st.lists(
    st.tuples(st.sampled_from("abcdef"), st.sampled_from("uvwxyz"), st.sampled_from("01")), min_size=1, max_size=30
)


def table(rows, **more):
    """Return judgments from rows of item, judge and label."""
    columns = dict(zip(("item", "judge", "label"), zip(*rows, strict=True), strict=True))
    return adjudge.read(pl.DataFrame(columns | more), item="item", judge="judge", labels=["0", "1"])


def both(old, new):
    """Return two tables in one."""
    return grown(old, joined(Known(old.items, old.judges, old.topics, old.topic), new))


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
        said = [
            (all_.judges[int(j)], all_.scale.labels[k]) for j, k in zip(all_.judge[rows], all_.label[rows], strict=True)
        ]
        assert said == [row[1:] for row in first + second if row[0] == item]


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
    one = [("d", "x", "0"), ("e", "x", "1")]
    plain = table(one, topic=["t1", "t1"])
    other = both(plain, table([("d", "y", "1")], topic=["t2"]))
    assert other.items.to_list() == ["d", "e", "t2_d"]
    assert both(other, table([("d", "z", "1")], topic=["t2"])).items.to_list() == ["d", "e", "t2_d"]
    apart = table([*one, ("d", "x", "1")], topic=["t1", "t1", "t2"])
    assert apart.items.to_list() == ["t1_d", "t1_e", "t2_d"]
    again = both(apart, table([("d", "y", "1")], topic=["t2"]))
    assert (again.items.to_list(), np.diff(again.start).tolist()) == (["t1_d", "t1_e", "t2_d"], [1, 1, 2])
    back = both(plain, apart)
    assert (back.items.to_list(), np.diff(back.start).tolist()) == (["d", "e", "t2_d"], [2, 2, 1])


def test_a_part_is_what_the_whole_holds_of_it():
    """Judgments of some items, with their gold and weights."""
    judgments = adjudge.simulate("dawid-skene", items=50, judges=6, labels=3, per_item=3).judgments
    gold, items = np.arange(50) % 4 - 1, np.array([3, 7, 8, 49])
    whole, few = judgments.block(gold), part(judgments, gold, items)
    rows = np.concatenate([np.arange(whole.start[i], whole.start[i + 1]) for i in items])
    np.testing.assert_array_equal(few.cell, whole.cell[rows])
    np.testing.assert_array_equal(few.label, whole.label[rows])
    np.testing.assert_array_equal(few.gold, gold[items])
    assert (few.judges, few.labels, few.start.tolist()) == (6, 3, [0, 3, 6, 9, 12])

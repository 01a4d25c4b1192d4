"""Names to codes, and every check on the way in."""

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.data import encode as room
from adjudge.data.encode import code_columns, encode, scale_codes
from adjudge.data.judgments import Judgments
from adjudge.data.scale import Scale
from adjudge.data.source import Source, from_frame
from adjudge.errors import AdjudgeError, AdjudgeWarning
from adjudge.kernels.coding import code

PLAIN: dict[str, Any] = {"item": ["b", "a", "b"], "judge": ["x", "y", "z"], "label": ["no", "yes", "yes"]}
NONE: dict[str, str | None] = {}


def encoded(named: dict[str, str | None] = NONE, text: bool = False, **columns: Any) -> Judgments:
    """Return the judgments of a small frame in which some columns are replaced."""
    source = from_frame(pl.DataFrame({**PLAIN, **columns}, strict=False))
    return encode(Source("labels.csv", source.columns, source.column, lambda n: n + 2, text=text), named)


def refusal(**columns: Any) -> str:
    """Return what a small frame is refused with."""
    with pytest.raises(AdjudgeError) as caught:
        encoded(**columns)
    return str(caught.value)


def rows_of(judgments: Judgments) -> list[tuple[Any, Any, Any]]:
    """Return judgments as rows of names."""
    items, judges, labels = judgments.items.to_list(), judgments.judges.to_list(), judgments.scale.labels
    codes = zip(judgments.item(), judgments.judge, judgments.label, strict=True)
    return [(items[i], judges[j], labels[k]) for i, j, k in codes]


def test_names_are_numbered_as_they_appear() -> None:
    """Items and judges are numbered in the order of appearance, labels by their scale."""
    judgments = encoded()
    assert (judgments.items.to_list(), judgments.items.name) == (["b", "a"], "item")
    assert (judgments.judges.to_list(), judgments.judges.name) == (["x", "y", "z"], "judge")
    assert judgments.scale.labels == ("no", "yes")
    assert rows_of(judgments) == [("b", "x", "no"), ("b", "z", "yes"), ("a", "y", "yes")]


def test_topic_weight_and_time() -> None:
    """Topics belong to items; weights and times go with their judgments."""
    judgments = encoded(topic=["t", "u", "t"], weight=["1", " 2.5", "0"], time=["9:00", "9:01", "9:02"])
    assert judgments.topics is not None
    assert judgments.topics.to_list() == ["t", "u"]
    assert judgments.topic is not None
    assert judgments.topic.tolist() == [0, 1]
    assert judgments.weight is not None
    assert judgments.weight.tolist() == [1, 0, 2.5]
    assert judgments.time is not None
    assert judgments.time.to_list() == ["9:00", "9:02", "9:01"]


@pytest.mark.parametrize(
    ("label", "labels"),
    [
        ([1, 0, 1], (0, 1)),
        ([1.0, 0.0, 1.0], (0, 1)),
        ([0.5, 0.0, 1.0], (0.0, 0.5, 1.0)),
        ([True, False, True], (False, True)),
        ([Decimal("1.5"), Decimal(2), Decimal(2)], (1.5, 2.0)),
        ([0.0, -0.0, 0.0], (0,)),
        (
            [datetime.date(2020, 1, 2), datetime.date(2020, 1, 1), datetime.date(2020, 1, 1)],
            ("2020-01-01", "2020-01-02"),
        ),
        ([b"b", b"a", b"a"], ("a", "b")),
        ([10**30, 2, 2], ("2", "1000000000000000000000000000000")),
        (pl.Series(["b", "a", "a"], dtype=pl.Categorical), ("a", "b")),
        (pl.Series(["b", "a", "a"], dtype=pl.Enum(["b", "a", "c"])), ("a", "b")),
        (pl.Series([3, 1, 1], dtype=pl.Int8), (1, 3)),
    ],
    ids=str,
)
def test_types_of_labels(label: Any, labels: tuple[Any, ...]) -> None:
    """Labels are text, numbers or booleans, whatever the column's type; whole fractions are integers."""
    judgments = encoded(label=label)
    assert judgments.scale.labels == labels
    assert [type(value) for value in judgments.scale.labels] == [type(value) for value in labels]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"item": [1.0, 2.0], "judge": pd.Categorical(["x", "y"]), "label": pd.array([1, 0], "Int64")}),
        pa.table({"item": [1, 2], "judge": pa.array(["x", "y"]).dictionary_encode(), "label": [1, 0]}),
        pl.DataFrame({"item": [1, 2], "judge": ["x", "y"], "label": [1, 0]}).lazy(),
    ],
    ids=["pandas", "pyarrow", "polars"],
)
def test_frames_of_every_library(frame: Any) -> None:
    """The same table gives the same judgments from any library."""
    assert rows_of(encode(from_frame(frame), {})) == [(1, "x", 1), (2, "y", 0)]


def test_blanks_around_typed_names_mean_nothing() -> None:
    """In text ' a' is 'a', in the row where it first appears; in a frame they are two items, and one label."""
    columns = {"item": ["a ", " a", "a"], "label": ["no", " no", "yes"]}
    judgments = encoded(text=True, **columns)
    assert judgments.items.to_list() == ["a"]
    assert judgments.scale.labels == ("no", "yes")
    with pytest.warns(AdjudgeWarning) as notes:
        assert len(encoded(**columns).items) == 3
    assert [str(note.message) for note in notes] == [
        "labels.csv: 'no', ' no' are read as one label, 'no'",
        "labels.csv: items 'a ', ' a', 'a' differ only in case, blanks or how they are written; they are kept apart",
    ]
    source = from_frame(pl.DataFrame({**PLAIN, "label": [" no", " no", "yes"]}))
    text = Source("labels.csv", source.columns, source.column, lambda n: n + 2, text=True)
    with pytest.raises(AdjudgeError, match=r"^labels\.csv, row 4: label 'yes' is not one of 'no'"):
        encode(text, {}, labels=["no"])
    with pytest.warns(AdjudgeWarning, match=r"^labels\.csv: 1 of 3 judgments have no label \(empty\)"):
        assert len(encoded(text=True, label=["no", "yes", "  "])) == 2


def test_names_that_nearly_agree_are_different() -> None:
    """Case, accents written in two ways and bytes of zero set names apart."""
    names = ["Ann", "ann", "é", "e\u0301", "a\0", "a", "日本", "x" * 10_000, "x" * 10_001]
    columns = {"item": names, "judge": names, "label": ["1"] * 9}
    with pytest.warns(AdjudgeWarning, match="'Ann', 'ann' and 1 more such groups differ only in case") as notes:
        judgments = encode(from_frame(pl.DataFrame(columns)), {})
    assert len(notes) == 2
    assert judgments.items.to_list() == judgments.judges.to_list() == names


def test_more_labels_than_a_byte_holds() -> None:
    """300 labels are distinguished."""
    columns = {"item": ["a"] * 300, "judge": ["x"] * 300, "label": [f"l{k:03}" for k in range(300)]}
    judgments = encode(from_frame(pl.DataFrame(columns)), {})
    assert judgments.label.tolist() == list(range(300))


def test_one_row() -> None:
    """One judgment is a table."""
    assert rows_of(encoded(item=["a"], judge=["x"], label=["yes"])) == [("a", "x", "yes")]


@pytest.mark.parametrize("collisions", [0, 1, 2])
def test_a_collision_is_hashed_again(monkeypatch: pytest.MonkeyPatch, collisions: int) -> None:
    """Where two names share a hash, other seeds are tried until none do."""
    tried: list[tuple[int, int]] = []

    def collide(pieces: Any, total: int) -> Any:
        [(key, guard)] = pieces
        tried.append((int(key[0]), int(guard[0])))
        return code([(np.zeros_like(key) if len(tried) <= collisions else key, guard)], total)

    monkeypatch.setattr(room, "code", collide)
    column = from_frame(pl.DataFrame({"item": ["a", "b", "a"]}))
    coded = code_columns(column, {"item": "item"})["item"]
    assert coded.code.tolist() == [0, 1, 0]
    assert coded.names.to_list() == ["a", "b"]
    assert len(tried) == len(set(tried)) == collisions + 1


@given(st.lists(st.text(max_size=3).filter(str.strip), min_size=1, max_size=40))
def test_codes_stand_for_their_names(names: list[str]) -> None:
    """Every row's code leads back to its name, and the first row of a name to the name."""
    coded = code_columns(from_frame(pl.DataFrame({"item": names})), {"item": "item"})["item"]
    assert coded.names.gather(coded.code).to_list() == names
    assert [names[n] for n in coded.first] == coded.names.to_list() == list(dict.fromkeys(names))


@pytest.mark.parametrize("role", ["item", "judge", "topic"])
@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_name_is_refused(role: str, empty: str | None) -> None:
    """A missing name is refused with its row and its column."""
    assert refusal(**{role: ["a", empty, "a"]}) == f"labels.csv, row 3: the {role} (column '{role}') is empty"


@pytest.mark.parametrize("label", [[1.0, 0.0, float("nan")], ["1", "0", None], ["1", "0", ""], ["1", "0", "NaN"]])
def test_a_missing_label_is_no_judgment(label: list[Any]) -> None:
    """NaN, null and an empty text are no labels: such judgments are left out with a note."""
    with pytest.warns(AdjudgeWarning, match="they are left out, and 1 judge without any other judgment$"):
        judgments = encoded(label=label)
    assert [str(value) for value in judgments.scale.labels] == ["0", "1"]
    assert judgments.judges.to_list() == ["x", "y"]
    assert judgments.origin is not None
    assert judgments.origin.missing == 1
    assert refusal(label=[None] * 3) == "labels.csv, row 2: every label is missing (column 'label')"
    assert refusal(item=["b", "a", "b", "c"], judge=["x", "y", "z", ""], label=[*label, label[0]]) == (
        "labels.csv, row 5: the judge (column 'judge') is empty"
    )


def test_no_rows() -> None:
    """A table without rows is refused."""
    assert refusal(item=[], judge=[], label=[]) == "labels.csv: holds no rows"


@pytest.mark.parametrize("role", ["label", "weight"])
@pytest.mark.parametrize("values", [[[1], [2], [3]], [{"a": 1}] * 3, [object()] * 3], ids=["list", "record", "object"])
def test_nested_columns_are_refused(role: str, values: list[Any]) -> None:
    """A column of lists, records or objects is refused by its name."""
    assert refusal(**{role: values}) == (
        f"labels.csv: column '{role}' holds lists, records or objects, not one {role} per row"
    )


def test_values_that_have_no_text() -> None:
    """Bytes that are not text are refused with the type of the column."""
    assert refusal(item=[b"a", b"\xff", b"b"]) == "labels.csv: column 'item' holds Binary values that are not text"


def test_one_number_in_two_writings() -> None:
    """1 and 1.0 are one label, with a note, unless both are given."""
    with pytest.warns(AdjudgeWarning) as notes:
        assert encoded(label=["1", "2", "1.0"]).scale.labels == ("1", "2")
    assert [str(note.message) for note in notes] == ["labels.csv: '1', '1.0' are read as one label, '1'"]
    source = from_frame(pl.DataFrame({**PLAIN, "label": ["1", "01", "1"]}))
    assert encode(source, {}, labels=["1", "01"]).label.tolist() == [0, 0, 1]


def test_a_label_outside_the_scale() -> None:
    """A label that is not on the given scale is refused in the row where it first appears."""
    source = from_frame(pl.DataFrame(PLAIN))
    with pytest.raises(AdjudgeError) as caught:
        encode(source, {}, labels=["no", "maybe"])
    assert str(caught.value) == (
        "table, row 1: label 'yes' is not one of 'no', 'maybe' (give labels= to extend the scale)"
    )


def test_a_given_scale_is_kept_whole() -> None:
    """Labels nobody gave stay on the scale, in the order and the type that they have."""
    source = from_frame(pl.DataFrame({**PLAIN, "label": [2, 0, 2]}))
    judgments = encode(source, {}, labels=["2", "1", "0"], ordinal=True)
    assert judgments.scale.labels == (2, 1, 0)
    assert judgments.scale.ordinal
    assert judgments.label.tolist() == [0, 0, 2]


def test_numbers_are_found_on_a_scale_of_fractions() -> None:
    """A table of 0 and 1 fits the scale 0.0, 0.5, 1.0 of an earlier one."""
    source = from_frame(pl.DataFrame({"label": [1.0, 0.0]}))
    label = code_columns(source, {"label": "label"})["label"]
    scale, position = scale_codes(source, label, (0.0, 0.5, 1.0), False)
    assert scale.names == ("0.0", "0.5", "1.0")
    assert position.tolist() == [2, 0]


def test_an_item_in_several_topics_is_one_item_in_each() -> None:
    """A document judged for two queries is two items, named by both, and the user is told."""
    frame = {"item": ["d", "d", "e"], "judge": ["x", "y", "x"], "label": ["1", "0", "1"], "topic": [7, 8, 7]}
    with pytest.warns(AdjudgeWarning) as caught:
        judgments = encode(from_frame(pl.DataFrame(frame)), {})
    assert (
        str(caught[0].message)
        == "table, row 1: an item is in several topics, so items are called topic_item, such as '8_d'"
    )
    assert judgments.items.to_list() == ["7_d", "8_d", "7_e"]
    assert judgments.topic.tolist() == [0, 1, 0]
    assert rows_of(judgments) == [("7_d", "x", "1"), ("8_d", "y", "0"), ("7_e", "x", "1")]


@pytest.mark.parametrize(("weights", "total"), [([0, 0, 0], "0"), ([1e308, 1e308, 1], "inf")])
def test_weights_must_count_for_something(weights: list[float], total: str) -> None:
    """All zero, or too large to add up: refused, since nothing or everything would count."""
    assert (
        refusal(weight=weights) == f"labels.csv: the weights (column 'weight') sum to {total}: no judgment would count"
    )


def test_ordered_categories_are_a_scale() -> None:
    """The order of an ordered pandas Categorical, or of a polars Enum, is that of the scale."""
    low = pd.Categorical(["low", "high"], ["low", "mid", "high"], ordered=True)
    columns = {"item": ["a", "b"], "judge": ["x", "x"]}
    for frame in (
        pd.DataFrame({**columns, "label": low}),
        pl.DataFrame({**columns, "label": pl.Series(["low", "high"], dtype=pl.Enum(["low", "mid", "high"]))}),
    ):
        assert encode(from_frame(frame), {}).scale == Scale(("low", "mid", "high"), ordinal=True)
    plain = pd.DataFrame({**columns, "label": pd.Categorical(["low", "high"])})
    assert encode(from_frame(plain), {}).scale == Scale(("high", "low"))


@pytest.mark.parametrize("weight", ["-1", "inf", "many", "nan", datetime.date(2020, 1, 1), "1,5"], ids=str)
def test_a_weight_is_a_number(weight: Any) -> None:
    """A weight that is no finite number of at least 0 is refused."""
    column = [weight] * 3 if isinstance(weight, datetime.date) else ["1", weight, "1"]
    row = 2 if isinstance(weight, datetime.date) else 3
    assert refusal(weight=column) == f"labels.csv, row {row}: weight '{weight}' is not a finite number of at least 0"


@pytest.mark.parametrize("weight", [[1.0, 2.0, None], [1.0, 2.0, float("nan")], ["1", "2", ""], ["1", "2", None]])
def test_an_empty_weight(weight: list[Any]) -> None:
    """A missing weight is refused."""
    assert refusal(weight=weight) == "labels.csv, row 4: the weight (column 'weight') is empty"


def test_columns_named_the_wrong_way_round() -> None:
    """Naming the judges' column as the item and the items' as the judge is refused."""
    assert refusal(named={"item": "judge", "judge": "item"}) == (
        "labels.csv: item and judge look swapped: column 'judge' was named as the item and 'item' as the judge"
    )


def test_items_that_read_like_people() -> None:
    """The names of columns win over ids such as worker1, with a warning until both columns are named."""
    columns = {"item": ["worker1", "worker2", "W-3"], "judge": ["d1", "d2", "d3"]}
    with pytest.warns(AdjudgeWarning) as warned:
        assert encoded(**columns).items.to_list() == ["worker1", "worker2", "W-3"]
    assert [str(each.message) for each in warned] == [
        "labels.csv: items such as 'worker1', 'worker2' look like judges, and judges such as 'd1', 'd2' do not; if the "
        "columns are swapped, name both with item= and judge="
    ]
    assert len(encoded({"item": "item", "judge": "judge"}, **columns)) == 3
    assert len(encoded(item=["worker1", "worker2", "W-3"], judge=["w1", "w2", "w3"])) == 3


@pytest.mark.parametrize("per_item", [60, 125, 148])
@pytest.mark.parametrize("names", [("item", "judge"), ("doc_id", "Worker ID"), ("passage", "rater")])
def test_a_monitoring_set_is_accepted(per_item: int, names: tuple[str, str]) -> None:
    """Few items that many judges label, as in paper 003, are no sign that the columns are swapped."""
    items, judges = names
    rows = [(i, (7 * i + n) % 148) for i in range(48) for n in range(per_item)]
    columns = {
        items: [f"d{i}" for i, _ in rows],
        judges: [f"j{j}" for _, j in rows],
        "label": [str(1 + (i + j) % 5) for i, j in rows],
    }
    table = encode(from_frame(pl.DataFrame(columns)), {})
    assert (len(table.items), len(table.judges), len(table)) == (48, 148, 48 * per_item)


def test_long_decimals_stay_apart() -> None:
    """Ids from a database that differ past the digits of a float are two ids."""
    ids = [Decimal("12345678901234567890"), Decimal("12345678901234567891")]
    frame = pl.DataFrame({"item": ids, "judge": ["x", "x"], "label": ["1", "0"]})
    assert len(encode(from_frame(frame), {}).items) == 2


def test_a_label_without_a_value_is_named() -> None:
    """Values must cover every label; the message says so instead of asking for a longer scale."""
    table = pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "label": ["good", "fair"]})
    with pytest.raises(AdjudgeError) as caught:
        encode(from_frame(table, "table"), {}, values={"bad": 0, "good": 3})
    assert str(caught.value) == (
        "table, row 1: label 'fair' is not one of 'bad', 'good' (values= must give every label a value, as "
        "bad=0,good=3)"
    )

"""Known truths: matched to items, on their scale, once each."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adjudge.data.gold import gold_source, gold_table, read_gold
from adjudge.data.judgments import places
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.errors import AdjudgeError, AdjudgeWarning

ADVICE = ": write gold with the labels of the judgments, or extend the scale with labels="

JUDGMENTS = read(pl.DataFrame({"item": ["a", "b", "c"], "judge": ["x", "y", "x"], "label": ["no", "yes", "no"]}))
NUMBERED = read(pl.DataFrame({"item": [1, 2, 3], "judge": ["x", "y", "x"], "label": [0, 1, 0], "topic": [7, 7, 8]}))


def table(*rows: tuple[Any, Any], label: str = "label") -> pl.DataFrame:
    """Return gold as a frame."""
    return pl.DataFrame(rows, schema=["item", label], orient="row")


def refusal(gold: Any, **options: Any) -> str:
    """Return what gold is refused with."""
    with pytest.raises(AdjudgeError) as caught:
        read_gold(gold, JUDGMENTS, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "gold",
    [
        {"a": "yes", "c": "no"},
        pd.Series({"a": "yes", "c": "no"}),
        table(("a", "yes"), ("c", "no")),
        pd.DataFrame({"item": ["a", "c"], "label": ["yes", "no"]}),
        pa.table({"item": ["a", "c"], "label": ["yes", "no"]}),
        table(("a", "yes"), ("c", "no"), label="gold"),
        table(("c", "no"), ("a", "yes"), ("c", "no")),
        table(("a", "yes"), ("b", "-1"), ("c", "no"), label="gold"),
        table(("c", "-1"), ("a", "yes"), ("c", "no"), label="gold"),
    ],
    ids=["mapping", "series", "polars", "pandas", "pyarrow", "gold", "repeated", "unknown", "unknown first"],
)
def test_truths_of_some_items(gold: Any) -> None:
    """Items with gold have their truth, others -1; an item may be repeated, and a gold of -1 is not known."""
    judgments, truths = read_gold(gold, JUDGMENTS)
    assert judgments is JUDGMENTS
    assert truths.tolist() == [1, -1, 0]


def test_a_file_of_gold(tmp_path: Path) -> None:
    """Gold is read from files too, with columns named where they are not usual."""
    path = tmp_path / "gold.tsv"
    path.write_text("what\ttruth\na\tyes\n\nc\t no\n")
    assert read_gold(path, JUDGMENTS, item="what", label="truth")[1].tolist() == [1, -1, 0]
    path = tmp_path / "gold"
    path.write_text("t 0 d 1\nt 0 e 0\n")
    judgments = read(pl.DataFrame({"item": ["t_e", "t_d"], "judge": ["x", "x"], "label": [1, 0]}))
    assert read_gold(path, judgments, format="qrels")[1].tolist() == [0, 1]


@pytest.mark.parametrize(
    "gold", [{1: 1, 3: 0}, {"1": "1", "3": "0"}, {1.0: 1.0, 3.0: 0.0}, {1: True, 3: False}], ids=str
)
def test_numbers_match_their_text(gold: dict[Any, Any]) -> None:
    """Ids and labels match whether they are numbers or text."""
    judgments, truths = read_gold(gold, NUMBERED)
    assert truths.tolist() == [1, -1, 0]
    assert judgments.items.to_list() == [1, 2, 3]


@pytest.mark.parametrize(
    ("gold", "items"),
    [
        ({1: 1, 9: 0}, [1, 2, 3, 9]),
        ({"1": "1", "9": "0"}, [1, 2, 3, 9]),
        ({"1": "1", "new": "0"}, ["1", "2", "3", "new"]),
        ({"1": "1", "01": "0"}, ["1", "2", "3", "01"]),
    ],
    ids=str,
)
def test_gold_for_items_nobody_judged(gold: dict[Any, Any], items: list[Any]) -> None:
    """Items that only gold knows are added, with a warning that counts them."""
    new = list(gold)[1]
    with pytest.warns(AdjudgeWarning) as caught:
        judgments, truths = read_gold(gold, NUMBERED)
    assert [str(warning.message) for warning in caught] == [
        f"table, row 1: nobody judged gold item '{new}' (1 such of 2, kept with their truth)"
    ]
    assert judgments.items.to_list() == items
    assert truths.tolist() == [1, -1, -1, 0]
    assert judgments.topic is not None
    assert judgments.topic.tolist() == [0, 0, 1, -1]
    assert len(judgments) == len(NUMBERED)


def test_a_warning_names_the_row_of_the_file(tmp_path: Path) -> None:
    """The warning about items nobody judged says in which line the first stands."""
    path = tmp_path / "gold.csv"
    path.write_text("item,label\na,yes\n\nz,no\ny,no\n")
    with pytest.warns(AdjudgeWarning) as caught:
        read_gold(path, JUDGMENTS)
    assert str(caught[0].message) == f"{path}, row 4: nobody judged gold item 'z' (2 such of 3, kept with their truth)"


def test_gold_of_other_items() -> None:
    """Gold of which no item was judged is refused, with an item of each side."""
    assert refusal(table(("z", "-1"), ("z", "no"), ("y", "no"), label="gold")) == (
        "table, row 1: none of the 2 gold items was judged: this one is 'z', and judged items are such as 'a'"
    )


def test_a_truth_outside_the_scale() -> None:
    """A truth that is not on the judges' scale is refused."""
    assert refusal(table(("a", "-1"), ("b", "no"), ("c", "maybe"), label="gold")) == (
        "table, row 2: label 'maybe' is not one of 'no', 'yes'" + ADVICE
    )


def test_a_label_may_be_called_as_the_unknown_is() -> None:
    """Where -1 is a label, it is a truth."""
    judgments = read(pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "label": [-1, 1]}))
    assert read_gold({"a": -1}, judgments)[1].tolist() == [0, -1]


def test_gold_contradicts_itself(tmp_path: Path) -> None:
    """Two truths for one item are refused, with both and their rows."""
    path = tmp_path / "gold.csv"
    path.write_text("item,gold\na,-1\na,no\n\nb,no\na,yes\n")
    with pytest.raises(AdjudgeError) as caught:
        read_gold(path, JUDGMENTS)
    assert str(caught.value) == f"{path}, row 6: item 'a' has the truth 'yes' here and 'no' in row 3: keep one of them"


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ({}, "table: holds no rows"),
        (table(("a", None), ("b", "no")), "table, row 0: the label (column 'label') is empty"),
        (table(("a", "-1"), label="gold"), "table: every truth is -1, which means unknown"),
        (table(("a", "-1")), "table, row 0: label '-1' is not one of 'no', 'yes'" + ADVICE),
        (
            table(("a", "no"), label="truth"),
            "table: no column for the label (columns: 'item', 'truth'); "
            "usual names are label, rating, answer, vote, grade, relevance, rel, judgment, judgement, "
            "verdict, or name it with label=",
        ),
        (pl.Series(["no"]), "Series is not a table: give a path, or a pandas, polars or pyarrow frame"),
    ],
    ids=["nothing", "empty", "unknown", "no gold", "no label", "series"],
)
def test_gold_that_cannot_be_read(gold: Any, message: str) -> None:
    """What is wrong with gold is said in one line."""
    assert refusal(gold) == message


def test_gold_table_points_at_rows() -> None:
    """The items that have gold know the row where their truth is first said."""
    source = gold_source(table(("z", "-1"), ("a", "-1"), ("b", "yes"), ("a", "no"), ("b", "yes"), label="gold"))
    items, truths = gold_table(source, Scale(("no", "yes")))
    assert items.names.to_list() == ["a", "b"]
    assert items.first.tolist() == [3, 2]
    assert items.code.tolist() == [-1, 0, 1, 0, 1]
    assert truths.tolist() == [0, 1]


def test_places_among_names() -> None:
    """Names are found among others in any order, -1 where they are not; the answer may be changed."""
    result = places(pl.Series(["c", "z", "a", "c"]), pl.Series(["a", "b", "c"]))
    assert result.tolist() == [2, -1, 0, 2]
    result[result < 0] = 9
    assert places(pl.Series(["2", "x"]), pl.Series([1, 2])).tolist() == [1, -1]
    assert places(pl.Series([2], dtype=pl.Int8), pl.Series([1, 2])).tolist() == [1]
    assert places(pl.Series([], dtype=pl.String), pl.Series(["a"])).size == 0
    assert (
        places(pl.Series(np.arange(1_000)[::-1].copy()), pl.Series(range(1_000))).tolist() == list(range(1_000))[::-1]
    )


def test_gold_by_topic_and_item() -> None:
    """Where judged items are named by topic and item, gold with both columns finds them."""
    frame = {"doc": ["d", "d", "e"], "judge": ["x", "y", "x"], "label": ["1", "0", "1"], "topic": [7, 8, 7]}
    with pytest.warns(AdjudgeWarning):
        judgments = read(pl.DataFrame(frame))
    gold = pl.DataFrame({"topic": [8, 7], "doc": ["d", "e"], "label": ["1", "0"]})
    assert read_gold(gold, judgments)[1].tolist() == [-1, 1, 0]


PAIRS = read(
    pl.DataFrame(
        {
            "topic": ["oak", "oak", "elm", "elm"],
            "document": ["d1", "d2", "d3", "d3"],
            "judge": ["x", "y", "x", "y"],
            "label": ["1", "0", "1", "0"],
        }
    )
)


def pairs(*rows: tuple[Any, ...], label: str = "label") -> pl.DataFrame:
    """Return gold with topics."""
    return pl.DataFrame(rows, schema=["topic", "document", label], orient="row")


def test_gold_of_another_topic_is_not_matched() -> None:
    """A document that was judged for one topic has no gold from another topic."""
    with pytest.warns(AdjudgeWarning, match="nobody judged gold item 'elm_d1'"):
        judgments, truths = read_gold(pairs(("oak", "d1", "1"), ("elm", "d1", "0"), ("elm", "d3", "1")), PAIRS)
    assert judgments.items.to_list() == ["d1", "d2", "d3", "elm_d1"]
    assert truths.tolist() == [1, -1, 1, 0]


def test_gold_with_other_names_of_topics() -> None:
    """If no pair of topic and document was judged, documents alone are matched."""
    assert read_gold(pairs(("1", "d1", "1"), ("2", "d3", "0")), PAIRS)[1].tolist() == [1, -1, 0]


def test_gold_of_judgments_without_topics() -> None:
    """Items that are called topic_document are found by topic and document."""
    named = {"item": ["oak_d1", "elm_d1"], "judge": ["x", "y"], "label": ["0", "1"]}
    judgments, truths = read_gold(pairs(("oak", "d1", "0"), ("elm", "d1", "1")), read(pl.DataFrame(named)))
    assert truths.tolist() == [0, 1]
    assert len(judgments.items) == 2


def test_grades_are_read_as_labels() -> None:
    """The studio's grades 1 and 2 are label 1 of judgments with labels 0 and 1; the warning says so."""
    with pytest.warns(AdjudgeWarning) as caught:
        truths = read_gold(pairs(("oak", "d1", 2), ("oak", "d2", 0), ("elm", "d3", 1), label="grade"), PAIRS)[1]
    assert truths.tolist() == [1, 0, 1]
    assert [str(warning.message) for warning in caught] == [
        "table: grades 1 and 2 are read as label '1', grade 0 as '0' (the labels are '0', '1')"
    ]


def test_grades_that_are_no_labels() -> None:
    """Grades are not guessed: other scales need gold with their labels."""
    gold = pairs(("oak", "d1", 3), ("elm", "d3", 0), label="grade")
    with pytest.raises(AdjudgeError) as caught:
        read_gold(gold, PAIRS)
    assert str(caught.value) == f"table, row 0: label '3' is not one of '0', '1'{ADVICE}"
    assert refusal(pl.DataFrame({"item": ["a"], "grade": [2]})) == (
        f"table, row 0: label '2' is not one of 'no', 'yes'{ADVICE}"
    )


def test_empty_cells_of_a_column_called_gold_are_unknown(tmp_path: Path) -> None:
    """A table that is not yet complete is gold as far as it goes; in a column of another name this is an error."""
    path = tmp_path / "ask.csv"
    path.write_text("item,gold\na,yes\nb,\nc,no\n")
    assert read_gold(path, JUDGMENTS)[1].tolist() == [1, -1, 0]
    path.write_text("item,label\na,yes\nb,\n")
    assert "is empty" in refusal(path)


def test_gold_that_is_not_for_calibration_is_set_aside() -> None:
    """The column calibrate says so; without a refusal nothing is set aside."""
    gold = table(("a", "yes"), ("c", "no")).with_columns(calibrate=pl.Series(["True", "no"]))
    assert read_gold(gold, JUDGMENTS)[0].aside.tolist() == [False, False, True]
    assert read_gold(gold.with_columns(calibrate=pl.lit(True)), JUDGMENTS)[0].aside is None

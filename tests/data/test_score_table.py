"""Reading scores: columns, numbers, missing values, gold, and every message."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from adjudge.data.score_table import read_scores
from adjudge.errors import AdjudgeWarning, InputError

ROWS = {"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "score": [70.0, 82.5, -3.0]}


def read_text(tmp_path, text, **options):
    """Return the scores of a CSV file with this text."""
    path = tmp_path / "scores.csv"
    path.write_text(text)
    return read_scores(path, **options)


@pytest.mark.parametrize("name", ["score", "Value", "rating", "label"])
def test_columns_of_scores_have_usual_names(name):
    """Those of labels, and score and value, in any case."""
    table = read_scores(pl.DataFrame({"item": ROWS["item"], "worker": ROWS["judge"], name: ROWS["score"]}))
    assert table.score.tolist() == [70.0, 82.5, -3.0]
    assert table.items.to_list() == ["a", "b"]
    assert repr(table) == "ScoreTable(2 items, 2 judges, 3 scores)"


def test_an_item_in_two_topics_is_two_items():
    """Items are distinguished by topic."""
    table = read_scores(pl.DataFrame({**ROWS, "topic": ["joy", "fear", "joy"]}))
    assert len(table.items) == 3


def test_missing_scores_are_left_out_with_a_warning(tmp_path):
    """Empty cells and the usual words for missing; rows keep their numbers in messages."""
    text = "item,judge,score\na,x,1\na,y,\nb,x,NA\nb,y,nan\nc,x,4\n"
    with pytest.warns(AdjudgeWarning) as caught:
        table = read_text(tmp_path, text)
    assert str(caught[0].message) == f"{tmp_path}/scores.csv: 3 of 5 scores are empty; they are left out"
    assert table.score.tolist() == [1.0, 4.0]
    assert table.items.to_list() == ["a", "c"]
    with pytest.raises(InputError, match=r"row 3: the judge \(column 'judge'\) is empty"), pytest.warns(AdjudgeWarning):
        read_text(tmp_path, "item,judge,score\na,x,\na,,5\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,judge,score\na,x,1\na,y,high\n", ", row 3: score 'high' is not a finite number: {numbers}"),
        (
            'item,judge,score\na,x,1\na,y,"7,5"\n',
            ", row 3: score '7,5' is not a finite number: {numbers} with a point before decimals",
        ),
        ("item,judge,score\na,x,inf\n", ", row 2: score 'inf' is not a finite number: {numbers}"),
        ("item,judge,score\na,x,\na,y,n/a\n", ": every score (column 'score') is empty"),
        (
            "item,judge,note\na,x,1\n",
            ": no column for the score (columns: 'item', 'judge', 'note'); usual names are score, value, rating and "
            "label, or name it with score=",
        ),
        (
            "item,judge,score,label\na,x,1,2\n",
            ": 'score', 'label' could each be the score: choose one with score=",
        ),
    ],
)
def test_what_is_not_a_score_is_refused(tmp_path, text, message):
    """With its row, and what to do."""
    with pytest.raises(InputError) as error:
        read_text(tmp_path, text)
    numbers = "scores are numbers, such as 72 or 0.5"
    assert str(error.value) == f"{tmp_path}/scores.csv" + message.format(numbers=numbers)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            [True, False, True],
            "table: column 'score' holds true and false: scores are numbers, such as 72 or 0.5; adjudge fit is for "
            "labels",
        ),
        ([[1], [2], [3]], "table: column 'score' holds lists, records or objects, not one score per row"),
    ],
)
def test_columns_of_other_kinds_are_refused(values, message):
    """Booleans and lists are not scores."""
    with pytest.raises(InputError) as error:
        read_scores(pl.DataFrame({**ROWS, "score": values}))
    assert str(error.value) == message


def test_gold_is_matched_by_item():
    """From a mapping, or from a table whose column is called gold; unknown truths are left empty."""
    table = read_scores(pl.DataFrame(ROWS), {"b": 5})
    np.testing.assert_array_equal(table.gold, [np.nan, 5])
    table = read_scores(pl.DataFrame(ROWS), pl.DataFrame({"item": ["b", "a"], "gold": [None, 7.5]}))
    np.testing.assert_array_equal(table.gold, [7.5, np.nan])
    table = read_scores(pl.DataFrame(ROWS), {})
    assert np.isnan(table.gold).all()


def test_gold_is_matched_by_topic():
    """If items have topics, gold needs them too."""
    rows = pl.DataFrame({**ROWS, "topic": ["joy", "fear", "joy"]})
    table = read_scores(rows, pl.DataFrame({"topic": ["fear"], "item": ["a"], "score": [9]}))
    at = table.topics.gather(table.topic).to_list().index("fear")
    assert table.gold[at] == 9
    assert np.isfinite(table.gold).sum() == 1


def test_gold_of_items_that_nobody_judged():
    """Some is a warning, all is an error."""
    with pytest.warns(AdjudgeWarning) as caught:
        read_scores(pl.DataFrame(ROWS), {"a": 1, "z": 2})
    assert str(caught[0].message) == "table, row 1: nobody judged gold item 'z' (1 such, left out)"
    with pytest.raises(InputError) as error:
        read_scores(pl.DataFrame(ROWS), {"z": 2})
    assert str(error.value) == (
        "table, row 0: none of the 1 gold items was judged: this one is 'z', and judged items are such as 'a'"
    )


def test_gold_that_contradicts_itself_is_refused():
    """Two truths of one item, and gold without any."""
    with pytest.raises(InputError) as error:
        read_scores(pl.DataFrame(ROWS), pl.DataFrame({"item": ["a", "b", "a"], "score": [1, 2, 3]}))
    assert str(error.value) == "table, row 2: item 'a' has the truth 3 here and 1 in row 0: keep one of them"
    with pytest.raises(InputError) as error:
        read_scores(pl.DataFrame(ROWS), pl.DataFrame({"item": ["a"], "score": [""]}))
    assert str(error.value) == "table: every truth is empty"


def test_scores_in_other_shapes(tmp_path: Path) -> None:
    """Arrays of items by judges, and ratings in the export of a tool; a question is chosen with score."""
    table = read_scores(np.array([[70.0, 80.5], [55.0, 60.0]]))
    assert (len(table.items), len(table.judges), table.score.tolist()) == (2, 2, [70.0, 80.5, 55.0, 60.0])
    results = [
        {"from_name": name, "type": "number", "value": {"number": value}} for name, value in (("a", 7.5), ("b", 1))
    ]
    tasks = [{"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": results}]}]
    path = tmp_path / "project.json"
    path.write_text(json.dumps(tasks))
    with pytest.raises(InputError, match=r"with several questions \('a', 'b'\): choose one with score="):
        read_scores(path)
    assert read_scores(path, score="a").score.tolist() == [7.5]

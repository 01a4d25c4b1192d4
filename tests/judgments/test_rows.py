"""Judgments back into rows."""

import polars as pl

from adjudge.judgments.read import read
from adjudge.judgments.rows import judgment_table

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

"""Rows of files, a batch at a time."""

import gzip

import polars as pl
import pytest

from adjudge.errors import InputError
from adjudge.judgments.batches import batches, sizes

ROWS = [f"d{n},w{n % 3},{n % 2}" for n in range(25)]
TEXT = "item,judge,label\n" + "\n".join(ROWS) + "\n"


def read(files, rows=10, format=None):  # noqa: A002
    """Return all items of files, and how many batches they came in."""
    found = [(source.column("item").to_list(), many) for source, many in batches(files, rows, format)]
    assert all(len(items) == many for items, many in found)
    return [item for items, _ in found for item in items], len(found)


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("csv", ";"), ("tsv", "\t"), ("tab", "\t")])
def test_separated_values_come_in_order(tmp_path, ending, mark):
    """Whatever separates them."""
    file = tmp_path / f"t.{ending}"
    file.write_text(TEXT.replace(",", mark))
    assert read([file])[0] == [f"d{n}" for n in range(25)]


def test_parquet_rows_count_from_0_over_batches(tmp_path):
    """As those of a file that is read whole."""
    pl.DataFrame({"item": range(25)}).write_parquet(tmp_path / "t.parquet", row_group_size=5)
    found = list(batches([tmp_path / "t.parquet"], 10))
    assert [source.row(0) for source, _ in found] == [sum(many for _, many in found[:n]) for n in range(len(found))]


@pytest.mark.parametrize("packed", [False, True])
def test_what_cannot_be_read_by_lines_is_read_whole(tmp_path, packed):
    """Compressed text, and a header in quotation marks."""
    text = TEXT if packed else TEXT.replace("item", '"item"')
    file = tmp_path / ("t.csv.gz" if packed else "t.csv")
    file.write_bytes(gzip.compress(text.encode(), mtime=0) if packed else text.encode())
    assert read([file]) == ([f"d{n}" for n in range(25)], 1)


def test_sizes_are_told_before_reading(tmp_path):
    """Exactly of Parquet, about of text."""
    pl.DataFrame({"item": range(1_234)}).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text("item,judge,label\n" + "d,w,1\n" * 50_000)
    assert sizes([tmp_path / "t.parquet"]) == 1_234
    assert sizes([tmp_path / "t.csv"]) == pytest.approx(50_000, rel=0.01)


def test_an_empty_parquet_file_is_refused(tmp_path):
    """With its name."""
    pl.DataFrame({"item": []}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t.parquet: holds no rows"):
        read([tmp_path / "t.parquet"])

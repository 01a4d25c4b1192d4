"""CSV in pieces, safe for spreadsheets."""

import csv
import io

import pytest

from adjudge.studio.desk.exports import csv_pieces, safe_cell


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "=cmd|' /C calc'!A0"])
def test_formulas_are_texts(text):
    """What a spreadsheet would compute gets an apostrophe in front."""
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", ["a=b", "", "1-1", -1, -1.5, None])
def test_others_stay(value):
    """Plain texts, and numbers even below 0, are left alone."""
    assert safe_cell(value) == value


def test_pieces_make_up_the_file():
    """Large tables come in several pieces; read back they are what went in, unknown cells empty."""
    rows = [(n, "=x,\n", None) for n in range(20_000)]
    pieces = list(csv_pieces(("a", "b", "c"), iter(rows)))
    assert len(pieces) > 2
    read = list(csv.reader(io.StringIO(b"".join(pieces).decode(), newline="")))
    assert read[0] == ["a", "b", "c"]
    assert read[-1] == ["19999", "'=x,\n", ""]
    assert len(read) == 20_001


def test_raw_leaves_cells_as_they_are():
    """For programs nothing is put in front."""
    assert b"".join(csv_pieces(("a",), [("=1",)], raw=True)) == b"a\n=1\n"

"""Fits and judgments as callers name them."""

import pytest

import adjudge
from adjudge.data.judgments import judgment_table
from adjudge.data.write import table_text, write_file
from adjudge.errors import UsageError
from adjudge.inference.inputs import JUDGMENTS, read_fit, read_fitted

CROWD = adjudge.dataset("anesthesia")
FIT = adjudge.fit(CROWD, "majority")


def test_a_fit_is_a_record_or_a_folder(tmp_path):
    """Both are the same fit."""
    adjudge.save(FIT, tmp_path / "fit")
    assert read_fit(FIT) is FIT
    assert read_fit(tmp_path / "fit").items.equals(FIT.items)


def test_judgments_are_given_or_kept(tmp_path):
    """A frame, judgments, the table in the folder, or what the fit itself keeps."""
    adjudge.save(FIT, tmp_path / "fit", CROWD)
    table = judgment_table(CROWD)
    assert read_fitted(FIT, CROWD)[1] is CROWD
    assert len(read_fitted(FIT, table)[1]) == len(CROWD)
    assert len(read_fitted(tmp_path / "fit")[1]) == len(CROWD)
    write_file(table_text(table.with_columns(time=1.0), "parquet"), tmp_path / "fit" / JUDGMENTS)
    assert read_fitted(tmp_path / "fit")[1].time is not None


def test_a_fit_without_judgments_asks_for_them():
    """It cannot know them."""
    with pytest.raises(UsageError) as error:
        read_fitted(FIT)
    assert str(error.value) == "the fit does not hold the judgments that it was made from: pass them as judgments"

"""The judges that a run has learned from are in a table beside it."""

import polars as pl
import pytest

from adjudge.data.run_judges import judges_path, judges_text, read_judges, run_judges
from adjudge.errors import InputError


def test_judges_are_written_beside_a_run_and_found_there(tmp_path):
    """Names keep their spelling, numbers too."""
    run = tmp_path / "svm.run"
    (tmp_path / "svm.run.judges.csv").write_bytes(judges_text(["ann", "007"]))
    assert judges_path(run) == f"{run}.judges.csv"
    assert run_judges(run) == run_judges(str(run)) == ["ann", "007"]


def test_a_run_without_a_table_has_learned_from_nobody(tmp_path):
    """So has one that is not a file."""
    assert run_judges(tmp_path / "bm25.run") == run_judges({"t1": {"d1": 1.0}}) == []


def test_a_table_without_judges_is_refused():
    """The message says which column is needed."""
    with pytest.raises(InputError) as error:
        read_judges(pl.DataFrame({"name": ["ann"]}))
    assert str(error.value).endswith(
        "there is no column 'judge': give a table with the names of judges, such as judges.csv"
    )

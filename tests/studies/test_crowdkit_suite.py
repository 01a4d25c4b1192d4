"""The script that runs crowd-kit's tests: what it puts in place, counts and prints, on a suite of our own."""

import pytest

from studies.benchmarks import crowdkit_suite

TESTS = """
from crowdkit.aggregation import MajorityVote
from crowdkit.metrics.data import consistency
from crowdkit.postprocessing import entropy_threshold

def test_passes():
    assert MajorityVote.__module__ == consistency.__module__.replace("metrics", "votes")

def test_fails():
    assert not MajorityVote.__module__.startswith("adjudge")
"""


def test_tests_that_pass_are_counted(tmp_path, monkeypatch, capsys):
    """One row per file and library, and the tests that fail with adjudge in a list."""
    monkeypatch.setattr(crowdkit_suite, "LABELS", ("test_labels.py",))
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_labels.py").write_text(TESTS)
    crowdkit_suite.main([str(tmp_path)])
    assert capsys.readouterr().out.splitlines() == [
        "| file | tests | crowd-kit | adjudge |",
        "| --- | --: | --: | --: |",
        "| `test_labels.py` | 2 | 1 | 1 |",
        "| labels and filters | 2 | 1 | 1 |",
        "",
        "- tests/test_labels.py::test_fails",
    ]


def test_a_folder_without_tests_is_refused(tmp_path):
    """The usage is printed."""
    with pytest.raises(SystemExit, match=r"^usage: python -m studies\.benchmarks\.crowdkit_suite FOLDER \[--all\]"):
        crowdkit_suite.main([str(tmp_path)])

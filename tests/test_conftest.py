"""What the test suite promises about tests that are skipped."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SKIPPING = "def test_needs_data(shared):\n    shared('data/nothing/labels.csv')\n"


@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("false", 0)])
def test_a_skip_is_a_failure_where_ci_is_true(tmp_path, ci, code):
    """Elsewhere it is a skip, with a word about what is needed."""
    (tmp_path / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (tmp_path / "test_skipping.py").write_text(SKIPPING)
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "CI": ci}, cwd=tmp_path, check=False
    )
    assert done.returncode == code
    assert "needs data/nothing/labels.csv of the shared data sets" in done.stdout
    assert ("CI=true: a skipped test is a failure" in done.stdout) == (ci == "true")

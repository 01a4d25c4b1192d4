"""Run crowd-kit's own tests with ``adjudge.compat.crowdkit`` in its place, and print how many pass.

``git clone https://github.com/Toloka/crowd-kit`` brings its tests; they are in no package. Then::

    python -m studies.benchmarks.crowdkit_suite crowd-kit

runs the tests of labels and of filters with both libraries, prints a table with one row per file, and names the tests
that fail with adjudge. ``--all`` runs the tests of metrics, texts, embeddings, segmentations and preferences too.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

LABELS = (
    "aggregation/test_binary_relevance_aggregation.py",
    "aggregation/test_classification_aggregation.py",
    "aggregation/test_classification_aggregation_edge_cases.py",
    "aggregation/test_ds_aggregation.py",
    "aggregation/test_glad_aggregation.py",
    "aggregation/test_kos_aggregation.py",
    "aggregation/test_mace_aggregation.py",
    "aggregation/test_majority_vote.py",
    "postprocessing/test_entropy_threshold.py",
)
OTHERS = (
    "aggregation/test_bt_aggregation.py",
    "aggregation/test_image_aggregation.py",
    "aggregation/test_rover_aggregation.py",
    "aggregation/test_text_aggregation.py",
    "metrics/test_metrics.py",
)
ROOT = Path(__file__).parents[2]
LIBRARIES = ("crowd-kit", "adjudge")


class Outcomes:
    """A plugin of pytest that notes which tests pass."""

    def __init__(self) -> None:
        self.passed: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test: it passes if its setup, its call and its teardown do."""
        self.passed[report.nodeid] = self.passed.get(report.nodeid, True) and report.passed


def put_adjudge_in_place() -> None:
    """Let imports of crowd-kit find adjudge's modules; helpers of the tests themselves stay crowd-kit's."""
    from crowdkit.aggregation import utils

    from adjudge.compat import crowdkit
    from adjudge.compat.crowdkit import base, metrics, postprocessing

    helpers = ModuleType("crowdkit.aggregation.utils")
    helpers.__dict__.update(vars(utils), get_accuracy=metrics.get_accuracy)
    sys.modules |= {
        "crowdkit.aggregation": crowdkit,
        "crowdkit.aggregation.base": base,
        "crowdkit.aggregation.utils": helpers,
        "crowdkit.metrics.data": metrics,
        "crowdkit.metrics.workers": metrics,
        "crowdkit.postprocessing": postprocessing,
    }


def run(library: str, folder: Path, files: tuple[str, ...]) -> dict[str, bool]:
    """Return which tests pass with a library, in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, str(folder), "--library", library, *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    lines = done.stdout.splitlines()
    passed: dict[str, bool] = json.loads(lines[-1])
    return passed


def main(arguments: list[str]) -> None:
    """Run the tests, or with ``--library`` one library in this process."""
    folder = Path(arguments[0] if arguments else "").resolve()
    if not arguments or not (folder / "tests").is_dir():
        sys.exit(f"usage: python -m {__spec__.name} FOLDER [--all], where FOLDER is a copy of crowd-kit's repository")
    if "--library" in arguments:
        library, *files = arguments[2:]
        if library == "adjudge":
            put_adjudge_in_place()
        outcomes = Outcomes()
        options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "-W", "ignore"]
        pytest.main([*options, *(str(folder / "tests" / file) for file in files)], [outcomes])
        print("\n" + json.dumps(outcomes.passed))
        return
    files = (*LABELS, *OTHERS) if "--all" in arguments else LABELS
    results = {library: run(library, folder, files) for library in LIBRARIES}
    counts = {
        library: Counter(test.split("::")[0] for test, ok in results[library].items() if ok) for library in results
    }
    tests = Counter(test.split("::")[0] for test in results["adjudge"])
    print("| file | tests | crowd-kit | adjudge |", "| --- | --: | --: | --: |", sep="\n")
    columns = (tests, *(counts[library] for library in LIBRARIES))
    for number, file in enumerate(tests, 1):
        print(f"| `{Path(file).name}` |", *(f"{column[file]} |" for column in columns))
        if number == len(LABELS):
            above = list(tests)[:number]
            print("| labels and filters |", *(f"{sum(column[name] for name in above)} |" for column in columns))
    print("", *(f"- {test}" for test, ok in results["adjudge"].items() if not ok), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])

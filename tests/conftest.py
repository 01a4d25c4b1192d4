"""What tests share: the data that may not be copied, and a word about what was skipped."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

hypothesis.settings.register_profile("adjudge", deadline=None)  # speed is held by benchmarks, never by a timed test
hypothesis.settings.load_profile("adjudge")

# A command that a shell starts in the background ignores Ctrl-C, and so do its children. Some tests send it.
signal.signal(signal.SIGINT, signal.default_int_handler)

SHARED = Path(os.environ.get("ADJUDGE_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture
def shared() -> Callable[[str], Path]:
    """Return a function that finds a file of the shared data, or skips the test where there is none."""

    def find(name: str) -> Path:
        path = SHARED / name
        if not path.exists():
            pytest.skip(f"needs {name} of the shared data sets; set ADJUDGE_SHARED to the folder that holds them")
        return path

    return find


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let nothing be skipped unseen where CI=true: there a skip is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and os.environ.get("CI") == "true" and reporter.stats.get("skipped"):
        session.exitstatus = 1
        reporter.write_line("CI=true: a skipped test is a failure", red=True)

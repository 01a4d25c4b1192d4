"""Sessions of Spark: what they need, how they are begun quietly, and what they answer in one sentence."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from adjudge.errors import AdjudgeError, InputError, MissingExtra, UsageError

EXTRA = "'adjudge[spark]'"
JAVA = 17  # the oldest that Spark 4 runs on
GET_JAVA = f"Spark needs Java {JAVA} or newer: sudo apt-get install openjdk-{JAVA}-jre-headless (or set JAVA_HOME)"
LOGS = Path(__file__).parent / "log4j2.properties"
QUIET = {
    "spark.app.name": "adjudge",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGS.as_uri()}",
    "spark.python.worker.reuse": "true",  # blocks stay mapped in the workers' processes
}


def session_of(master: str | None = None) -> tuple[Any, bool]:
    """Return the session that is there, or one of our own, and whether it is ours to stop."""
    if find_spec("pyspark") is None:
        raise MissingExtra(EXTRA, "Spark")
    with spoken(), without_pandas():
        from pyspark.sql import SparkSession

        there = SparkSession.getActiveSession()
        if there is not None:
            refuse_other_master(there, master)
            return there, False
        refuse_java(java_version())
        if master is None or master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers are this Python
        builder = SparkSession.builder
        for key, value in QUIET.items():
            builder = builder.config(key, value)
        with _own_interrupts():
            return (builder if master is None else builder.master(master)).getOrCreate(), True


@contextmanager
def _own_interrupts() -> Iterator[None]:
    """Keep what Ctrl-C does: PySpark's way would end the sweep of a chain that only has to be asked to stop."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def refuse_other_master(session: Any, master: str | None) -> None:
    """Refuse to begin a second cluster beside the one that this process is at."""
    at = session.sparkContext.master
    if master is not None and master != at:
        raise UsageError(f"this process has a Spark session at '{at}' already: stop it, or leave '{master}' out")


def classic(session: Any) -> Any:
    """Return a session, refusing one that has no cluster to hand functions to."""
    from pyspark.sql import SparkSession

    if not isinstance(session, SparkSession):
        raise UsageError(
            f"{type(session).__module__}.{type(session).__name__} is not a classic Spark session "
            "(Spark Connect sends queries only): begin one with SparkSession.builder.master(...)"
        )
    return session


def java_version() -> int | None:
    """Return the version of the Java that Spark would take, None where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        return None
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told)  # "17.0.15", and of old "1.8.0_392"
    return None if found is None else int(found[1])


def refuse_java(version: int | None) -> None:
    """Refuse to begin without a Java that Spark runs on: it would trace, or hang."""
    if version is None:
        raise AdjudgeError(f"there is no Java. {GET_JAVA}")
    if version < JAVA:
        raise AdjudgeError(f"this is Java {version}. {GET_JAVA}")


@contextmanager
def spoken() -> Iterator[None]:
    """Say in one sentence what Spark says in a page."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(sentence(str(error)), "Spark") from error


@contextmanager
def without_pandas() -> Iterator[None]:
    """Pass over what PySpark says of pandas whenever it looks whether that is there: nothing here goes through it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def sentence(told: str) -> str:
    """Return the line that matters of what Spark says: of Python's own error, the last; of Java's, the first."""
    absent = re.search(r"ModuleNotFoundError: No module named '(adjudge|numba|polars|numpy)[.']", told)
    if absent is not None:
        return (
            f"the executors' Python has no {absent[1]}: install adjudge there, "
            "or set PYSPARK_PYTHON to a Python that has it"
        )
    if "stopped SparkContext" in told:
        return "has ended: its master does not answer, or has ended this application; see --master"
    if "Traceback (most recent call last)" in told:
        raised: list[str] = re.findall(r"^(\w[\w.]*(?:Error|Exception|Interrupt)\b.*)$", told, re.MULTILINE)
        ours = [line for line in raised if not line.startswith(("org.", "java.", "py4j."))]
        if ours:
            return ours[-1].strip()
    lines = [
        line.strip(" :") for line in told.splitlines() if line.strip() and not line.startswith("An error occurred")
    ]
    return lines[0] if lines else "ended without a word"

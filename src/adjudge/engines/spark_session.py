"""Sessions of Spark: what they require, how they are started, and one-line messages for their errors."""

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
JAVA = 17  # the oldest version that Spark 4 runs on
INSTALL_JAVA = f"Spark needs Java {JAVA} or newer: sudo apt-get install openjdk-{JAVA}-jre-headless (or set JAVA_HOME)"
LOGS = Path(__file__).parent / "log4j2.properties"
SETTINGS = {
    "spark.app.name": "adjudge",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOGS.as_uri()}",
    "spark.python.worker.reuse": "true",  # blocks stay mapped in the workers' processes
}


def open_session(master: str | None = None) -> tuple[Any, bool]:
    """Return the active session, or a new one, and whether it is new: the caller stops a new session."""
    if find_spec("pyspark") is None:
        raise MissingExtra(EXTRA, "Spark")
    with short_errors(), no_pandas_warning():
        from pyspark.sql import SparkSession

        active = SparkSession.getActiveSession()
        if active is not None:
            refuse_other_master(active, master)
            return active, False
        refuse_java(java_version())
        if master is None or master.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers run this Python
        builder = SparkSession.builder
        for key, value in SETTINGS.items():
            builder = builder.config(key, value)
        with _keep_interrupt_handler():
            return (builder if master is None else builder.master(master)).getOrCreate(), True


@contextmanager
def _keep_interrupt_handler() -> Iterator[None]:
    """Restore the handler of Ctrl-C: that of PySpark would end a sweep that only needs to finish."""
    handler = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, handler)


def refuse_other_master(session: Any, master: str | None) -> None:
    """Refuse a second cluster in this process."""
    active = session.sparkContext.master
    if master is not None and master != active:
        raise UsageError(f"this process already has a Spark session at '{active}': stop it, or leave '{master}' out")


def require_classic(session: Any) -> Any:
    """Return a session, refusing one of Spark Connect, which cannot run functions on the executors."""
    from pyspark.sql import SparkSession

    if not isinstance(session, SparkSession):
        raise UsageError(
            f"{type(session).__module__}.{type(session).__name__} is not a classic Spark session "
            "(Spark Connect only sends queries): start one with SparkSession.builder.master(...)"
        )
    return session


def java_version() -> int | None:
    """Return the version of the Java that Spark would run on, None without Java."""
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if program is None:
        return None
    try:
        output = subprocess.run([program, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', output)  # "17.0.15"; before Java 9, "1.8.0_392"
    return None if match is None else int(match[1])


def refuse_java(version: int | None) -> None:
    """Refuse to start without a suitable Java: Spark would print a traceback, or hang."""
    if version is None:
        raise AdjudgeError(f"Java is not installed. {INSTALL_JAVA}")
    if version < JAVA:
        raise AdjudgeError(f"this is Java {version}. {INSTALL_JAVA}")


@contextmanager
def short_errors() -> Iterator[None]:
    """Raise the errors of Spark, which fill a page, as errors of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise InputError(short_message(str(error)), "Spark") from error


@contextmanager
def no_pandas_warning() -> Iterator[None]:
    """Silence PySpark's warning about the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def short_message(text: str) -> str:
    """Return the relevant line of an error of Spark: the last line of a Python error, the first of a Java error."""
    absent = re.search(r"ModuleNotFoundError: No module named '(adjudge|numba|polars|numpy)[.']", text)
    if absent is not None:
        return (
            f"the executors' Python has no {absent[1]}: install adjudge there, "
            "or set PYSPARK_PYTHON to a Python that has it"
        )
    if "stopped SparkContext" in text:
        return "the session has ended: its master does not answer, or has ended this application; see --master"
    if "Traceback (most recent call last)" in text:
        raised: list[str] = re.findall(r"^(\w[\w.]*(?:Error|Exception|Interrupt)\b.*)$", text, re.MULTILINE)
        python = [line for line in raised if not line.startswith(("org.", "java.", "py4j."))]
        if python:
            return python[-1].strip()
    lines = [
        line.strip(" :") for line in text.splitlines() if line.strip() and not line.startswith("An error occurred")
    ]
    return lines[0] if lines else "an error without a message"

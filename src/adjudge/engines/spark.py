"""``Spark``: an engine of the executors of a Spark cluster, its sessions, and ``fit`` for Spark DataFrames.

The Python process of an executor maps its blocks from a folder that all executors see, and keeps them mapped between
passes. The step and its params are sent out, and tallies come back. Spark needs Java 17 or newer.
"""

from __future__ import annotations

import os
import pickle
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.data.blocks import MANIFEST, Blocks
from adjudge.data.make_blocks import BLOCK
from adjudge.data.scale import Label
from adjudge.engines.checkpoint import EVERY
from adjudge.engines.engine import Address, PackedTally, Step, absolute_address, block_ranges, sum_blocks
from adjudge.engines.fit_blocks import FitOnDisk, fit_blocks
from adjudge.engines.spark_frames import SparkTable, collect_gold, no_pandas_warning, write_blocks
from adjudge.errors import AdjudgeError, InputError, MissingExtra, UsageError
from adjudge.inference.em import Progress
from adjudge.inference.fit import DEFAULT
from adjudge.inference.model import model_named
from adjudge.inference.options import Options
from adjudge.inference.save import LABELS
from adjudge.kernels.block import Tally, add

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
TASKS = 2  # per core of the cluster; more tasks cost more than an executor that is slow
SMALL = 1 << 19  # bytes of step and params that are sent with every task; larger ones are broadcast
AT_DRIVER = 1 << 27  # bytes of tallies that the driver adds by itself
FAN_IN = 8  # tallies that one task adds if they are too large for the driver
DOUBLE = 8  # bytes


class Refusal(NamedTuple):
    """An error of an executor, returned as a value: a raised one would come back as pages of Java and Python."""

    message: str


class Spark:
    """An engine of Spark executors.

    Parameters
    ----------
    master
        The address of the cluster, such as ``spark://host:7077``. By default, the active session is used, or one is
        started with the defaults of Spark.
    session
        The session to use.
    """

    def __init__(self, master: str | None = None, session: Any = None) -> None:
        if session is None:
            self.session, self.stop_session = open_session(master)
        else:
            self.session, self.stop_session = require_classic(session), False
            refuse_other_master(session, master)
        self._group = f"adjudge-{secrets.token_hex(4)}"
        self._pool = ThreadPoolExecutor(1)

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum over all blocks, added in an order that depends on the blocks alone.

        A separate thread waits for the executors: Ctrl-C in the middle of a call to Java would break the connection.
        """
        future = self._pool.submit(self._pass, blocks, step, params)
        try:
            return future.result()
        except KeyboardInterrupt:
            self.session.sparkContext.cancelJobGroup(self._group)
            future.exception()  # wait until it has ended
            raise

    def close(self) -> None:
        """Stop the session if the engine has started it."""
        self._pool.shutdown()
        if self.stop_session:
            self.session.stop()

    def _pass(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Run the step on all blocks once."""
        context = self.session.sparkContext
        content = pickle.dumps((step, params), pickle.HIGHEST_PROTOCOL)
        broadcast = context.broadcast(content) if len(content) > SMALL else None
        ranges = block_ranges(blocks)
        tasks = _deal(ranges, TASKS * context.defaultParallelism)
        try:
            with short_errors():
                context.setJobGroup(self._group, f"adjudge: {getattr(step, 'func', step).__name__}")
                shared = content if broadcast is None else broadcast
                run_task = partial(_run_task, absolute_address(blocks.address), shared)
                tallies = context.parallelize(tasks, len(tasks)).flatMap(run_task)
                large = DOUBLE * len(ranges) * len(blocks.judges) * len(blocks.scale) ** 2 > AT_DRIVER
                numbered = _add_in_tree(tallies, len(ranges), FAN_IN) if large else tallies.collect()
                return add(map(_require_tally, numbered))
        finally:
            if broadcast is not None:
                broadcast.destroy()


def _deal(ranges: Sequence[range], most: int) -> list[list[tuple[int, range]]]:
    """Return ranges of blocks with their numbers, dealt in order to at most ``most`` tasks."""
    count = min(most, len(ranges))
    cuts = [len(ranges) * n // count for n in range(count + 1)]
    numbered = list(enumerate(ranges))
    return [numbered[low:high] for low, high in pairwise(cuts)]


def _run_task(
    address: Address, content: Any, task: Iterable[tuple[int, range]]
) -> Iterator[tuple[int, Tally | Refusal]]:
    """Yield the tally of every range of blocks in a task, with its number. Executors call this."""
    step, params = pickle.loads(content if isinstance(content, bytes) else content.value)
    for number, blocks in task:
        try:
            yield number, PackedTally(*sum_blocks(address, blocks, step, params))
        except AdjudgeError as error:
            unseen = not (Path(address[0]) / MANIFEST).exists()
            advice = f"{address[0]}: an executor does not see it; blocks need a folder that all executors share"
            yield number, Refusal(advice if unseen else str(error))


def _add_in_tree(tallies: Any, count: int, width: int) -> list[tuple[int, Tally | Refusal]]:
    """Return the sum of many large tallies, which executors add, neighbours first."""
    while count > 1:
        count = -(-count // width)
        tallies = tallies.map(partial(_with_parent, width)).partitionBy(count, int).mapPartitionsWithIndex(_add_group)
    return list(tallies.collect())


def _with_parent(width: int, numbered: tuple[int, Any]) -> tuple[int, tuple[int, Any]]:
    """Return a numbered tally with the number of the sum that it belongs to."""
    return numbered[0] // width, numbered


def _add_group(number: int, group: Iterable[tuple[int, tuple[int, Any]]]) -> Iterator[tuple[int, Tally | Refusal]]:
    """Yield the sum of neighbours in their order, or the first refusal among them."""
    tallies = [tally for _, (_, tally) in sorted(group, key=lambda entry: entry[1][0])]
    yield number, next((tally for tally in tallies if isinstance(tally, Refusal)), None) or add(tallies)


def _require_tally(numbered: tuple[int, Tally | Refusal]) -> Tally:
    """Return a tally, or raise the error of the executor."""
    _, tally = numbered
    if isinstance(tally, Refusal):
        raise InputError(tally.message)
    return tally


@dataclass(frozen=True, eq=False, repr=False)
class FitOnSpark(FitOnDisk):
    """A fit of Spark: the judges in memory, the items in ``folder`` / labels, as Parquet files that Spark reads."""

    session: Any

    @property
    def labels(self) -> Any:
        """The consensus labels of all items, as a Spark DataFrame."""
        with short_errors():
            return self.session.read.parquet((self.folder / LABELS).resolve().as_uri())


def fit(
    table: Any,
    model: str = DEFAULT,
    gold: Any = None,
    *,
    out: str | Path,
    blocks: str | Path | None = None,
    master: str | None = None,
    session: Any = None,
    item: str | None = None,
    judge: str | None = None,
    label: str | None = None,
    topic: str | None = None,
    weight: str | None = None,
    labels: Sequence[Label] | None = None,
    ordinal: bool = False,
    block: int = BLOCK,
    every: float = EVERY,
    progress: Progress | None = None,
    **options: Any,
) -> FitOnSpark:
    """Fit a model to the judgments of a Spark DataFrame, or of a folder of Parquet files, on a Spark cluster.

    The result is that of ``adjudge.fit`` on the same judgments. The driver and all executors must see the folders
    ``out`` and ``blocks``; rows are never collected at the driver. A session that is started here stays open, so that
    the labels can be read.

    Parameters
    ----------
    table
        A Spark DataFrame, or the path of a folder of Parquet files.
    model
        The name of a model.
    gold
        Known truths as in ``adjudge.fit``, or a Spark DataFrame of them.
    out
        The folder for the fit. Executors write labels and probabilities to ``out`` / labels.
    blocks
        The folder to which executors write the judgments as blocks; by default ``out`` / blocks.
    master, session
        The address of the cluster, or a session; by default the session of ``table``, or the active one.
    item, judge, label, topic, weight
        The columns of the table, if they do not have the standard names.
    labels, ordinal
        The labels in their order, and whether this order matters, as in ``adjudge.read``.
    block
        The number of judgments per block, approximately.
    every
        Seconds between two checkpoints.
    progress
        A function that is called with the number of passes and the log evidence.
    **options
        Options of ``adjudge.fit``.

    Returns
    -------
    FitOnSpark
        The judges and params in memory, and the labels as a DataFrame.
    """
    model_named(model)  # an unknown model is refused before any work is done
    chosen = Options(**options)
    engine = Spark(master, getattr(table, "sparkSession", None) if session is None else session)
    engine.stop_session = False
    try:
        columns = {"item": item, "judge": judge, "label": label, "topic": topic, "weight": weight}
        source = SparkTable(table, columns, labels, ordinal)
        folder = Path(blocks or Path(out) / "blocks")
        with short_errors():
            on_disk = write_blocks(source, engine.session, folder, block)
            truths = collect_gold(gold, engine.session)
        result = fit_blocks(
            on_disk, model, truths, out=out, engine=engine, options=chosen, every=every, progress=progress
        )
    finally:
        engine.close()
    return FitOnSpark(result.folder, result.fit, result.items, result.label_counts, engine.session)


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
    python = _python_errors(text)
    if python:
        return python[-1].strip()
    lines = [
        line.strip(" :") for line in text.splitlines() if line.strip() and not line.startswith("An error occurred")
    ]
    return lines[0] if lines else "an error without a message"


def _python_errors(text: str) -> list[str]:
    """Return the lines of a text that name an error of Python, if it holds a traceback."""
    if "Traceback (most recent call last)" not in text:
        return []
    raised: list[str] = re.findall(r"^(\w[\w.]*(?:Error|Exception|Interrupt)\b.*)$", text, re.MULTILINE)
    return [line for line in raised if not line.startswith(("org.", "java.", "py4j."))]

"""``Spark``: an engine of the executors of a Spark cluster, and ``fit`` for Spark DataFrames.

The Python process of an executor maps its blocks from a folder that all executors see, and keeps them mapped between
passes. The step and its params are sent out, and tallies come back. Spark needs Java 17 or newer.
"""

from __future__ import annotations

import pickle
import secrets
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.data.blocks import MANIFEST, Blocks
from adjudge.data.make_blocks import BLOCK
from adjudge.data.scale import Label
from adjudge.engines.checkpoint import EVERY
from adjudge.engines.engine import Address, PackedTally, Step, absolute_address, block_ranges, sum_blocks
from adjudge.engines.fit_blocks import FitOnDisk, fit_blocks
from adjudge.engines.spark_frames import SparkTable, collect_gold, write_blocks
from adjudge.engines.spark_session import open_session, refuse_other_master, require_classic, short_errors
from adjudge.errors import AdjudgeError, InputError
from adjudge.inference.em import Progress
from adjudge.inference.options import Options
from adjudge.inference.registry import model_named
from adjudge.inference.save import LABELS
from adjudge.kernels.block import Tally, add

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
    model: str = "dawid-skene",
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
        on_disk = write_blocks(source, engine.session, folder, block)
        truths = collect_gold(gold, engine.session)
        result = fit_blocks(
            on_disk, model, truths, out=out, engine=engine, options=chosen, every=every, progress=progress
        )
    finally:
        engine.close()
    return FitOnSpark(result.folder, result.fit, result.items, result.label_counts, engine.session)

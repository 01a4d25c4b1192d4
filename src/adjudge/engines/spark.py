"""Spark: judgments that live in a lake, worked on by a cluster's executors.

An executor's Python maps the blocks it is given from a folder that all of them see, and keeps them mapped between
passes; what goes out is the step and its params, what comes back are tallies. Java 17 or newer is needed.
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
from adjudge.engines.engine import Address, Sent, Step, runs, tally_of
from adjudge.engines.fit_blocks import FitOnDisk, fit_blocks
from adjudge.engines.spark_frames import Lake, eager_gold, shelved
from adjudge.engines.spark_session import classic, refuse_other_master, session_of, spoken
from adjudge.errors import AdjudgeError, InputError
from adjudge.inference.em import Progress
from adjudge.inference.options import Options
from adjudge.inference.registry import model_named
from adjudge.inference.save import LABELS
from adjudge.kernels.block import Tally, add

TASKS = 2  # a core of the cluster: more would cost more than a slow worker does
SMALL = 1 << 19  # bytes of params that go along with every task; beyond, they are broadcast
AT_DRIVER = 1 << 27  # bytes of tallies that the driver adds up by itself
TREE = 8  # tallies added up by a task, where there are too many for the driver
DOUBLE = 8  # bytes


class Refused(NamedTuple):
    """What an executor refuses to do, sent back as a value, since errors come back as pages of two languages."""

    what: str


class Spark:
    """An engine of Spark's executors, on the session that is there or on one of its own."""

    def __init__(self, master: str | None = None, session: Any = None) -> None:
        if session is None:
            self.session, self.own = session_of(master)
        else:
            self.session, self.own = classic(session), False
            refuse_other_master(session, master)
        self._group = f"adjudge-{secrets.token_hex(4)}"
        self._pool = ThreadPoolExecutor(1)

    def map_sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Return the sum over all blocks, added up in an order that follows from the blocks alone.

        A thread of its own waits for the executors: Ctrl-C while it speaks with Java would break their conversation.
        """
        turn = self._pool.submit(self._sum, blocks, step, params)
        try:
            return turn.result()
        except KeyboardInterrupt:
            self.session.sparkContext.cancelJobGroup(self._group)
            turn.exception()  # wait for its end
            raise

    def close(self) -> None:
        """End the session, if it is the engine's own."""
        self._pool.shutdown()
        if self.own:
            self.session.stop()

    def _sum(self, blocks: Blocks, step: Step, params: Any) -> Tally:
        """Send the step out, and add up what comes back."""
        context = self.session.sparkContext
        content = pickle.dumps((step, params), pickle.HIGHEST_PROTOCOL)
        sent = context.broadcast(content) if len(content) > SMALL else None
        numbered = runs(blocks)
        tasks = _shared_out(numbered, TASKS * context.defaultParallelism)
        try:
            with spoken():
                context.setJobGroup(self._group, f"adjudge: {getattr(step, 'func', step).__name__}")
                given = content if sent is None else sent
                address = _absolute(blocks.address)
                tallies = context.parallelize(tasks, len(tasks)).flatMap(partial(_tallies, address, given))
                large = DOUBLE * len(numbered) * len(blocks.judges) * len(blocks.scale) ** 2 > AT_DRIVER
                found = _by_tree(tallies, len(numbered), TREE) if large else tallies.collect()
                return add(map(_accepted, found))
        finally:
            if sent is not None:
                sent.destroy()


def _absolute(address: Address) -> Address:
    """Return the folders by their whole paths: executors stand in folders of their own."""
    folder, gold = address
    return str(Path(folder).absolute()), None if gold is None else str(Path(gold).absolute())


def _shared_out(numbered: Sequence[range], most: int) -> list[list[tuple[int, range]]]:
    """Return runs of blocks with their numbers, next to each other in at most so many tasks."""
    count = min(most, len(numbered))
    cuts = [len(numbered) * n // count for n in range(count + 1)]
    pairs = list(enumerate(numbered))
    return [pairs[low:high] for low, high in pairwise(cuts)]


def _tallies(address: Address, given: Any, task: Iterable[tuple[int, range]]) -> Iterator[tuple[int, Tally | Refused]]:
    """Yield the tally of every run of blocks in a task, with its number; this is what executors do."""
    step, params = pickle.loads(given if isinstance(given, bytes) else given.value)
    for number, blocks in task:
        try:
            yield number, Sent(*tally_of(address, blocks, step, params))
        except AdjudgeError as error:
            unseen = not (Path(address[0]) / MANIFEST).exists()
            advice = f"{address[0]}: an executor does not see it; blocks need a folder that all executors share"
            yield number, Refused(advice if unseen else str(error))


def _by_tree(tallies: Any, count: int, width: int) -> list[tuple[int, Tally | Refused]]:
    """Return the sum of many large tallies, added up by executors, neighbours first."""
    while count > 1:
        count = -(-count // width)
        tallies = tallies.map(partial(_to_next, width)).partitionBy(count, int).mapPartitionsWithIndex(_added)
    return list(tallies.collect())


def _to_next(width: int, numbered: tuple[int, Any]) -> tuple[int, tuple[int, Any]]:
    """Return a tally with the number of the sum that it goes into."""
    return numbered[0] // width, numbered


def _added(number: int, neighbours: Iterable[tuple[int, tuple[int, Any]]]) -> Iterator[tuple[int, Tally | Refused]]:
    """Yield the sum of neighbours in their order, or what one of them refuses."""
    found = [tally for _, (_, tally) in sorted(neighbours, key=lambda one: one[1][0])]
    yield number, next((one for one in found if isinstance(one, Refused)), None) or add(found)


def _accepted(numbered: tuple[int, Tally | Refused]) -> Tally:
    """Return a tally, or raise what was refused."""
    _, tally = numbered
    if isinstance(tally, Refused):
        raise InputError(tally.what)
    return tally


@dataclass(frozen=True, eq=False, repr=False)
class FitOnSpark(FitOnDisk):
    """What a fit leaves behind: judges here, items in ``folder`` / labels, as Parquet files that Spark reads."""

    session: Any

    @property
    def labels(self) -> Any:
        """The consensus on all items, as a Spark DataFrame."""
        with spoken():
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
    """Infer the truth of every item, and how every judge errs, from a Spark DataFrame or a folder of Parquet files.

    Executors write the judgments as blocks to ``blocks`` (``out`` / blocks unless it is given), and labels with their
    probabilities to ``out`` / labels: both are folders that the driver and all executors see, and nothing of them is
    collected. ``item`` to ``weight`` name columns whose names are not usual, ``labels`` and ``ordinal`` are those of
    ``adjudge.read``, ``options`` are those of ``adjudge.fit``. ``gold`` may be a DataFrame too. The answer is that of
    ``adjudge.fit``. A session that is begun here stays, for the labels to be read.
    """
    model_named(model)  # known before any work is done
    chosen = Options(**options)
    given = getattr(table, "sparkSession", None) if session is None else session
    engine = Spark(master, given)
    engine.own = False
    try:
        named = {"item": item, "judge": judge, "label": label, "topic": topic, "weight": weight}
        lake = Lake(table, named, labels, ordinal)
        shelf = shelved(lake, engine.session, Path(blocks or Path(out) / "blocks"), block)
        known = eager_gold(gold, engine.session)
        found = fit_blocks(shelf, model, known, out=out, engine=engine, options=chosen, every=every, progress=progress)
    finally:
        engine.close()
    return FitOnSpark(found.folder, found.fit, found.items, found.label_counts, engine.session)

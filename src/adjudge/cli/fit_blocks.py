"""``adjudge fit --blocks``: judgments beyond memory, fitted where they lie, by threads or by a cluster."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.errors import UsageError, quoted

if TYPE_CHECKING:
    from adjudge.cli.options import Reading
    from adjudge.engines.engine import Engine
    from adjudge.engines.fit_blocks import FitOnDisk
    from adjudge.inference.options import Options


ENGINES = ("threads", "dask", "spark")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class Large:
    """How judgments that memory does not hold are fitted."""

    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Work out of memory: put the judgments of all files here as blocks, or use those that are here.",
        ),
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="With --blocks: what a block may take, such as 500MB.")
    ] = None
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --blocks: who does the work: threads (usual), dask or spark."),
    ] = None
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of dask: its scheduler, such as tcp://host:8786.")
    ] = None
    master: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of spark: its master, such as spark://host:7077.")
    ] = None

    def refuse_without_blocks(self) -> None:
        """Refuse options that are for blocks only."""
        given = [name for name in ("memory", "engine", "scheduler", "master") if getattr(self, name) is not None]
        if given:
            raise UsageError(f"--{given[0]} is for judgments in blocks: give --blocks FOLDER as well")

    def refuse_unlike(self) -> None:
        """Refuse an engine that is none, and the address of another."""
        name = self.engine or "threads"
        if name not in ENGINES:
            raise UsageError(f"engine '{name}' is not one of {quoted(ENGINES)}")
        if self.scheduler is not None and name != "dask":
            raise UsageError(f"--scheduler is of the engine dask, and this is {name}")
        if self.master is not None and name != "spark":
            raise UsageError(f"--master is of the engine spark, and this is {name}")

    def hands(self, threads: int | None) -> Engine:
        """Return who does the work."""
        if self.engine == "dask":
            from adjudge.engines.dask import Dask

            return Dask(self.scheduler, threads)
        if self.engine == "spark":
            from adjudge.engines.spark import Spark

            return Spark(self.master)
        from adjudge.engines.threads import Threads

        return Threads(threads)


def bytes_of(size: str | None) -> int | None:
    """Return a size such as 500MB in bytes."""
    if size is None:
        return None
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", size.lower())
    if match is None or not match[1].replace(".", "", 1).isdigit() or not float(match[1]):
        raise UsageError(f"memory {size!r} is not a size such as 500MB or 2GB")
    return max(1, int(float(match[1]) * UNITS[match[2]]))


def fit_on_disk(
    files: Sequence[str],
    model: str,
    gold: str | None,
    gold_format: str | None,
    out: str,
    reading: Reading,
    options: Options,
    large: Large,
    threads: int | None,
    progress: object,
) -> FitOnDisk:
    """Put files into blocks, fit them, and write what is found."""
    from adjudge.cli.options import label_list
    from adjudge.cli.show import Doing
    from adjudge.data.blocks import with_gold
    from adjudge.data.make_blocks import Table, make_blocks
    from adjudge.engines.fit_blocks import fit_blocks, refuse_in_memory, refuse_same_folder

    room = bytes_of(large.memory)
    large.refuse_unlike()
    refuse_in_memory(options)  # before the rows are read, which may take hours
    refuse_same_folder(out, str(large.blocks))
    if reading.time is not None:
        raise UsageError("times are not kept in blocks: leave --time out")
    columns = {role: getattr(reading, role) for role in ("item", "judge", "label", "topic", "weight")}
    table = Table(files, columns, label_list(reading.labels), reading.ordinal, reading.repeats, reading.input_format)
    with Doing() as say:
        blocks = make_blocks(table, str(large.blocks), memory=room, say=say)
    many = f"{len(blocks.parts):,} block{'s' if len(blocks.parts) > 1 else ''}"
    print(f"{len(blocks):,} judgments of {blocks.items:,} items in {many}", file=sys.stderr)
    if gold is not None:
        blocks = with_gold(blocks, gold, item=reading.item, label=reading.label, format=gold_format)
    with closing(large.hands(threads)) as engine:
        return fit_blocks(blocks, model, out=out, engine=engine, options=options, progress=progress)  # type: ignore[arg-type]

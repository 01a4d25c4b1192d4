"""``adjudge fit --blocks``: fit judgments that do not fit into memory, with threads or on a cluster."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from adjudge.cli import options as o
from adjudge.errors import UsageError, quoted

if TYPE_CHECKING:
    from adjudge.engines.engine import Engine
    from adjudge.engines.fit_blocks import FitOnDisk
    from adjudge.inference.options import Options


ENGINES = ("threads", "dask", "spark")
UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


@dataclass(frozen=True)
class LargeData:
    """How judgments that do not fit into memory are fitted."""

    threads: o.Threads = None
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="Fit from disk: store the judgments of all files as blocks in this folder, or reuse its blocks.",
        ),
    ] = None
    memory: Annotated[
        str | None, typer.Option(metavar="SIZE", help="With --blocks: memory that one block may use, such as 500MB.")
    ] = None
    engine: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --blocks: what computes: threads (the default), dask or spark."),
    ] = None
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="With --engine dask: its scheduler, such as tcp://host:8786."),
    ] = None
    master: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="With --engine spark: its master, such as spark://host:7077.")
    ] = None

    def check_without_blocks(self) -> None:
        """Raise an error if an option is given that needs --blocks."""
        for name in ("memory", "engine", "scheduler", "master"):
            if getattr(self, name) is not None:
                raise UsageError(f"--{name} needs --blocks FOLDER")

    def check_engine(self) -> None:
        """Raise an error if there is no such engine, or if an address is for another engine."""
        name = self.engine or "threads"
        if name not in ENGINES:
            raise UsageError(f"engine '{name}' is not one of {quoted(ENGINES)}")
        if self.scheduler is not None and name != "dask":
            raise UsageError(f"--scheduler needs --engine dask, but the engine is {name}")
        if self.master is not None and name != "spark":
            raise UsageError(f"--master needs --engine spark, but the engine is {name}")

    def start_engine(self) -> Engine:
        """Return the engine, which the caller closes."""
        if self.engine == "dask":
            from adjudge.engines.dask import Dask

            return Dask(self.scheduler, self.threads)
        if self.engine == "spark":
            from adjudge.engines.spark import Spark

            return Spark(self.master)
        from adjudge.engines.engine import Threads

        return Threads(self.threads)


def parse_size(size: str | None) -> int | None:
    """Return a size such as 500MB in bytes."""
    if size is None:
        return None
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", size.lower())
    if match is None or not match[1].replace(".", "", 1).isdigit() or not float(match[1]):
        raise UsageError(f"memory {size!r} is not a size such as 500MB or 2GB")
    return max(1, int(float(match[1]) * UNITS[match[2]]))


def fit_files(
    files: Sequence[str],
    model: str,
    gold: tuple[str | None, str | None],
    out: str,
    reading: o.Reading,
    options: Options,
    large: LargeData,
    progress: object,
) -> FitOnDisk:
    """Store files as blocks, fit them, and write the result; ``gold`` is a table and its format."""
    from adjudge.cli.show import StepProgress
    from adjudge.data.blocks import with_gold
    from adjudge.data.make_blocks import Table, make_blocks
    from adjudge.engines.fit_blocks import fit_blocks, refuse_in_memory, refuse_same_folder

    memory = parse_size(large.memory)
    large.check_engine()
    refuse_in_memory(options)  # before the rows are read, which may take hours
    refuse_same_folder(out, str(large.blocks))
    if reading.time is not None:
        raise UsageError("--blocks does not store times: leave out --time")
    columns = {role: getattr(reading, role) for role in ("item", "judge", "label", "topic", "weight")}
    labels = o.label_list(reading.labels)
    table = Table(files, columns, labels, reading.ordinal, reading.repeats, reading.input_format)
    with StepProgress() as progress_line:
        blocks = make_blocks(table, str(large.blocks), memory=memory, say=progress_line)
    number = f"{len(blocks.parts):,} block{'s' if len(blocks.parts) > 1 else ''}"
    print(f"{len(blocks):,} judgments of {blocks.items:,} items in {number}", file=sys.stderr)
    gold_table, gold_format = gold
    if gold_table is not None:
        blocks = with_gold(blocks, gold_table, item=reading.item, label=reading.label, format=gold_format)
    with closing(large.start_engine()) as engine:
        return fit_blocks(blocks, model, out=out, engine=engine, options=options, progress=progress)  # type: ignore[arg-type]

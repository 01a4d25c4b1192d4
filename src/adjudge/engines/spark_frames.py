"""Write the rows of a Spark DataFrame, or of a folder of Parquet files, as blocks.

Spark groups the rows by judge, label and topic, and the driver collects these names, which are few compared to the
rows. The driver gives them codes in the order of names and sends the codes back. Rows are then moved once, by the hash
of their item, so that each partition has all rows of its items, and executors write each partition as a block. Rows
have no order in Spark, so a block is sorted: if it is written twice, the files are the same.

Errors of Spark itself are raised as they are; ``spark.fit`` shortens them.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from adjudge.arrays import Codes
from adjudge.data.blocks import (
    MANIFEST,
    Blocks,
    BlockSummary,
    Part,
    block_bytes,
    block_name,
    items_name,
    open_blocks,
    parquet,
    write_manifest,
)
from adjudge.data.columns import find_columns
from adjudge.data.encode import Coded, code_columns, scale_codes, weights_of
from adjudge.data.label_values import label_values
from adjudge.data.make_blocks import MOST, pile_judgments
from adjudge.data.scale import Label, Scale
from adjudge.data.source import Source
from adjudge.data.write import write_file
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, quote

TABLE = "table"
CODED = ("judge", "label", "topic")  # columns that become codes at the driver
INTEGER_LIMIT = 2.0**63  # larger numbers are not integers of 64 bits
MARKER = ".seen"  # is in the folder while executors write; an executor that does not see it has another disk
NOT_SHARED = "an executor does not see it; blocks need a folder that all executors share"
UNSTABLE = "is not the same when it is read twice: write it to Parquet files first, or .persist() it"


class SparkTable(NamedTuple):
    """A table of judgments, and how to read it."""

    table: Any  # a DataFrame, or the path of a folder of Parquet files
    columns: Mapping[str, str | None]  # columns that do not have the standard names
    labels: Sequence[Label] | None = None
    ordinal: bool = False

    def fingerprint(self, rows: Any) -> dict[str, Any]:
        """Return what identifies the table, as the manifest of blocks stores it; the order of rows does not matter."""
        from pyspark.sql import functions as F  # noqa: N812

        digits = F.xxhash64(*rows.columns).cast("decimal(20, 0)")
        count, total = rows.select(F.count(F.lit(1)), F.sum(digits)).first()
        return {
            "rows": count,
            "sum": str(total),
            "columns": rows.schema.simpleString(),
            "labels": None if self.labels is None else [str(label) for label in self.labels],
            "ordinal": self.ordinal,
        }


@dataclass(frozen=True)
class _SparkSource(Source):
    """Rows without numbers, as those of Spark: an error names the table alone."""

    def wrong(self, problem: str, position: int | None = None) -> InputError:
        """Return an error about the table."""
        return InputError(problem, self.name)


class _BlockReport(NamedTuple):
    """The answer of an executor about a block: what it has written, or why it refused."""

    partition: int
    refusal: str | None
    items: int = 0
    judgments: int = 0
    weight: float = 0.0
    several: bool = False  # an item is in several topics
    checksums: tuple[int, ...] = ()  # of the block, and of the names of its items


class _BlockLayout(NamedTuple):
    """What executors need to know to write a block."""

    folder: str
    judges: int
    topics: int
    scale: Scale
    fractions: bool  # items are numbers, and some are not integers


@contextmanager
def no_pandas_warning() -> Iterator[None]:
    """Silence PySpark's warning about the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


@no_pandas_warning()
def collect_gold(gold: Any, session: Any) -> Any:
    """Return gold as ``adjudge.fit`` takes it; a DataFrame or a folder of Parquet files is small, and is collected."""
    if isinstance(gold, str | os.PathLike) and Path(gold).is_dir():
        gold = session.read.parquet(Path(gold).resolve().as_uri())
    return gold.toArrow() if hasattr(gold, "sparkSession") else gold


@no_pandas_warning()
def write_blocks(table: SparkTable, session: Any, folder: Path, block: int) -> Blocks:
    """Write the rows of a table as blocks of about ``block`` judgments; blocks of the same table are opened instead.

    Executors write the blocks, so all of them must see the folder.
    """
    frame = _open_table(table.table, session)
    roles = find_columns(frame.columns, table.columns, TABLE)
    rows = _select_roles(frame, roles)
    source = table.fingerprint(rows)
    if (folder / MANIFEST).exists():
        return _reopen(folder, source)
    if folder.exists() and any(folder.iterdir()):
        raise InputError("is not empty, and is not a folder of blocks: name another", str(folder))
    pile = _make_folder(folder) / f".piles-{secrets.token_hex(4)}"
    pile.mkdir()
    write_file(b"", pile / MARKER)
    try:
        return _write_blocks(table, rows, roles, folder, pile, source, block)
    finally:
        shutil.rmtree(pile, ignore_errors=True)


def _open_table(table: Any, session: Any) -> Any:
    """Return a DataFrame, read from Parquet files if ``table`` is a path."""
    if isinstance(table, str | os.PathLike):
        path = Path(table)
        return session.read.parquet(path.resolve().as_uri() if path.exists() else str(table))
    if not hasattr(table, "sparkSession"):
        raise InputError(
            f"{type(table).__name__} is not a table of Spark: give a DataFrame, or the path of Parquet files"
        )
    return table


def _reopen(folder: Path, source: Mapping[str, Any]) -> Blocks:
    """Return the blocks that are in a folder, if they are of the same table."""
    if json.loads((folder / MANIFEST).read_bytes()).get("source") != source:
        raise InputError(
            "has blocks of another table, or of this one read with other options: name another folder, or remove "
            "this one",
            str(folder),
        )
    return open_blocks(folder)


def _make_folder(folder: Path) -> Path:
    """Return the path of a folder, which is created if it does not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(folder)) from error
    return folder.resolve()


def _write_blocks(
    table: SparkTable,
    rows: Any,
    roles: Mapping[str, str],
    folder: Path,
    pile: Path,
    source: Mapping[str, Any],
    block: int,
) -> Blocks:
    """Have executors write all blocks to ``pile``, check them, and move them to ``folder``."""
    from pyspark.sql import functions as F  # noqa: N812

    names = {role: _collect_names(rows, role, roles[role]) for role in CODED if role in roles}
    label = names["label"]
    labels = _SparkSource(TABLE, (label.column,), lambda _: label.coded.names)
    missing = label.coded.names.filter(label_values(label.coded.names, labels=table.labels or ()).missing)
    if len(missing):
        raise labels.wrong(f"label {quote(missing[0])} looks like a missing value: filter these rows, or give labels")
    scale, to_scale = scale_codes(labels, label.coded, table.labels, table.ordinal)
    names["label"] = label._replace(code=to_scale[label.code].astype(np.int32))
    if "weight" in roles:
        _refuse_weights(rows, roles["weight"])
        rows = rows.withColumn("weight", rows["weight"].try_cast("double"))
    rows, fractions = _plain_items(rows)
    for role, column in names.items():
        rows = rows.join(F.broadcast(_code_table(rows, role, column)), role, "left").drop(role)
    total = int(names["judge"].rows.sum())
    count = min(MOST, max(1, -(-total // block)))
    topics = len(names["topic"].coded.names) if "topic" in names else 0
    layout = _BlockLayout(str(pile), len(names["judge"].coded.names), topics, scale, fractions)
    written = rows.repartition(count, "item").mapInArrow(partial(_write_partition, layout), "report string")
    reports = sorted(_parse_report(row.report) for row in written.collect())
    _check_reports(reports, total, folder)
    return _publish(folder, pile, reports, names, scale, "weight" in roles, source)


def _select_roles(table: Any, roles: Mapping[str, str]) -> Any:
    """Return the columns of a table, named by their roles; refuse columns of lists, records or objects."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

    for role, column in roles.items():
        if isinstance(table.schema[column].dataType, ArrayType | BinaryType | MapType | StructType | VariantType):
            raise InputError(f"column {quote(column)} holds lists, records or objects, not one {role} per row", TABLE)
    columns = {role: column for role, column in roles.items() if role != "time"}
    return table.select(*(F.col(f"`{column.replace('`', '``')}`").alias(role) for role, column in columns.items()))


class _Names(NamedTuple):
    """The distinct values of a column, with their names, codes and frequencies."""

    column: str
    raw: Any  # an Arrow table of (value)
    coded: Coded  # the names of the values, in the order of their codes
    code: Codes  # of each value
    rows: Codes  # of each value


def _collect_names(rows: Any, role: str, column: str) -> _Names:
    """Return the names in a column, coded in the order of names."""
    grouped = rows.groupBy(role).count().toArrow()
    values = pl.Series(column, grouped.column(role))
    coded = code_columns(_SparkSource(TABLE, (column,), lambda _: values), {role: column})[role]
    order = coded.names.arg_sort().to_numpy()
    rank = np.empty(order.size, np.int32)
    rank[order] = np.arange(order.size, dtype=np.int32)
    sorted_names = Coded(np.arange(order.size), coded.names.gather(order), np.arange(order.size))
    counts = grouped.column("count").to_numpy()
    return _Names(column, grouped.select([role]), sorted_names, rank[coded.code], counts)


def _code_table(rows: Any, role: str, names: _Names) -> Any:
    """Return the values of a column with their codes, as a DataFrame."""
    import pyarrow as pa

    table = names.raw.append_column(f"{role}_code", pa.array(names.code))
    schema = f"`{role}` {rows.schema[role].dataType.simpleString()}, `{role}_code` int"
    return rows.sparkSession.createDataFrame(table, schema)


def _refuse_weights(rows: Any, column: str) -> None:
    """Refuse weights that are not finite numbers of at least 0, with the message of ``weights_of``."""
    from pyspark.sql import functions as F  # noqa: N812

    number = rows["weight"].try_cast("double")
    good = number.isNotNull() & ~F.isnan(number) & (number >= 0) & (number < float("inf"))
    bad = rows.filter(~good).select("weight").limit(1).toArrow()
    if bad.num_rows:
        value = pl.Series(column, bad.column("weight"))
        weights_of(_SparkSource(TABLE, (column,), lambda _: value), column)
        raise InputError(f"weight {quote(value[0])} is not a number", TABLE)


def _plain_items(rows: Any) -> tuple[Any, bool]:
    """Return the rows with items of the same type in all blocks, and whether items are numbers with fractions.

    As in memory, items that are numbers without fractions become integers, and decimals with more digits than a float
    has become text.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import DecimalType, DoubleType, FloatType

    kind = rows.schema["item"].dataType
    if not isinstance(kind, DecimalType | DoubleType | FloatType):
        return rows, False
    number = rows["item"].cast("double")
    inexact = F.lit(False)
    if isinstance(kind, DecimalType):
        inexact = rows["item"].isNotNull() & ~F.coalesce(number.try_cast(kind) == rows["item"], F.lit(False))
    fraction = (number % 1 != 0) | (F.abs(number) >= INTEGER_LIMIT)
    as_text, as_fractions = rows.select(F.max(inexact), F.max(fraction)).first()
    plain = "string" if as_text else "double" if as_fractions else "long"
    return rows.withColumn("item", rows["item"].cast(plain)), plain == "double"


def _write_partition(layout: _BlockLayout, batches: Iterator[Any]) -> Iterator[Any]:
    """Write the rows of a partition as a block, and yield a report about it. Executors call this."""
    import pyarrow as pa
    from pyspark import TaskContext

    pieces = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows]
    context = TaskContext.get()
    if not pieces or context is None:
        return
    number = context.partitionId()
    try:
        report = _write_block(layout, number, pl.concat(pieces))
    except AdjudgeError as error:
        report = _BlockReport(number, str(error).removeprefix(f"{TABLE}: "))
    yield pa.RecordBatch.from_pydict({"report": [json.dumps(report)]})


def _write_block(layout: _BlockLayout, number: int, rows: pl.DataFrame) -> _BlockReport:
    """Write all rows of some items as a block."""
    folder = Path(layout.folder)
    if not (folder / MARKER).exists():
        return _BlockReport(number, f"{folder.parent}: {NOT_SHARED}")
    ordered = _sorted_rows(rows, layout.fractions)
    if ordered is None:
        return _BlockReport(number, UNSTABLE)
    numbers = pl.Series(range(max(layout.judges, layout.topics)))  # instead of names, which only the driver has
    judgments, several = pile_judgments(
        ordered, numbers.head(layout.judges), numbers.head(layout.topics), layout.scale, np.arange(len(layout.scale))
    )
    items: dict[str, Any] = {"item": judgments.items}
    if judgments.topic is not None:
        items["topic"] = judgments.topic
    contents = {block_name(number): block_bytes(judgments), items_name(number): parquet(items)}
    for name, content in contents.items():
        write_file(content, folder / name)
    weight = 0.0 if judgments.weight is None else float(judgments.weight.sum())
    checksums = tuple(map(zlib.crc32, contents.values()))
    return _BlockReport(number, None, len(judgments.items), len(judgments), weight, several, checksums)


def _sorted_rows(rows: pl.DataFrame, fractions: bool) -> pl.DataFrame | None:
    """Return rows as codes in their order; None if a name has no code, because it was not there at the first reading.

    ``fractions`` says whether items are numbers, and some in another block are not integers.
    """
    item = code_columns(_SparkSource(TABLE, ("item",), rows.get_column), {"item": "item"})["item"]
    names = item.names.cast(pl.Float64) if fractions else item.names
    codes = {role: rows.get_column(f"{role}_code") for role in CODED if f"{role}_code" in rows.columns}
    if any(code.null_count() for code in codes.values()):
        return None
    columns: dict[str, Any] = {"item": names.gather(item.code), **codes}
    if "weight" in rows.columns:
        columns["weight"] = rows.get_column("weight")
    return pl.DataFrame(columns).sort(list(columns))


def _parse_report(line: str) -> _BlockReport:
    """Return the report of an executor from its JSON."""
    report = _BlockReport(*json.loads(line))
    return report._replace(checksums=tuple(report.checksums))


def _check_reports(reports: Sequence[_BlockReport], total: int, folder: Path) -> None:
    """Raise the refusals of executors, and refuse blocks that do not have all rows."""
    for report in reports:
        if report.refusal is not None:
            raise InputError(report.refusal, None if str(folder.resolve()) in report.refusal else TABLE)
    if sum(report.judgments for report in reports) != total:
        raise InputError(UNSTABLE, TABLE)


def _publish(
    folder: Path,
    pile: Path,
    reports: Sequence[_BlockReport],
    names: Mapping[str, _Names],
    scale: Scale,
    weighted: bool,
    source: Mapping[str, Any],
) -> Blocks:
    """Move the blocks to their folder, and write the names and, last, the manifest."""
    weight = sum(report.weight for report in reports)
    if weighted and not 0 < weight < float("inf"):
        raise InputError(f"the weights sum to {weight:g}: no judgment would count", TABLE)
    split = any(report.several for report in reports)
    if split:
        warnings.warn("an item is in several topics, so items are called topic_item", AdjudgeWarning, stacklevel=5)
    checksums = _move_blocks(reports, pile, folder)
    judge = names["judge"]
    judged = np.bincount(judge.code, judge.rows, len(judge.coded.names)).astype(np.int64)
    topics = names["topic"].coded.names if "topic" in names else None
    parts = [Part(report.items, report.judgments) for report in reports]
    total = weight if weighted else None
    return write_manifest(
        folder, BlockSummary(scale, judge.coded.names, judged, topics, parts, total, split, source), checksums
    )


def _move_blocks(reports: Sequence[_BlockReport], pile: Path, folder: Path) -> dict[str, int]:
    """Move the files of all blocks to their folder, numbered without gaps, and return their checksums by name."""
    checksums = dict[str, int]()
    for number, report in enumerate(reports):
        for file_name, checksum in zip((block_name, items_name), report.checksums, strict=True):
            _move(pile / file_name(report.partition), folder / file_name(number))
            checksums[file_name(number)] = checksum
    return checksums


def _move(file: Path, target: Path) -> None:
    """Move a block, refusing one that only its executor sees."""
    try:
        file.replace(target)
    except FileNotFoundError as error:
        raise InputError(
            "executors wrote blocks that the driver does not see: name a folder that all of them share",
            str(target.parent),
        ) from error

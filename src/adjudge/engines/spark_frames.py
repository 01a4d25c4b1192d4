"""Spark DataFrames, or folders of Parquet files, into blocks of whole items, which executors write.

Names of judges, labels and topics are found by grouping, and come to the driver: there are few of them beside rows.
They get their codes there, in the order of names, and go out again; rows are moved once, by the hash of their item, and
whoever has all rows of some items writes them as a block. Rows have no order in Spark, so a block is sorted: written
twice, it is the same file.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
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
from adjudge.data.make_blocks import MOST, pile_judgments
from adjudge.data.scale import Label, Scale
from adjudge.data.source import Source
from adjudge.data.write import write_file
from adjudge.engines.spark_session import spoken, without_pandas
from adjudge.errors import AdjudgeError, AdjudgeWarning, InputError, quote

TABLE = "table"
NAMED = ("judge", "label", "topic")
WHOLE = 2.0**63  # and beyond, numbers are no whole ones of 64 bits
SEEN = ".seen"  # lies in the folder while executors write: one that does not find it writes to another disk


class Lake(NamedTuple):
    """Where rows come from, and how they are to be read."""

    table: Any  # a DataFrame, or the path of a folder of Parquet files
    named: Mapping[str, str | None]  # columns whose names are not usual
    labels: Sequence[Label] | None = None
    ordinal: bool = False

    def told(self, rows: Any) -> dict[str, Any]:
        """Return what blocks remember of their source, to know it again: a sum over the rows, in any order."""
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
class _Unplaced(Source):
    """Rows without numbers, as those of Spark are: what is wrong is said of the table."""

    def wrong(self, what: str, position: int | None = None) -> InputError:
        """Return the error that says what."""
        return InputError(what, self.name)


class _Written(NamedTuple):
    """What an executor says of a block that it has written, or of why it did not."""

    partition: int
    refused: str | None
    items: int = 0
    judgments: int = 0
    weight: float = 0.0
    several: bool = False  # an item is in several topics
    sums: tuple[int, ...] = ()  # of the block, and of the names of its items


class _Shape(NamedTuple):
    """What all executors need to know to write a block."""

    folder: str
    judges: int
    topics: int
    scale: Scale
    fractions: bool  # items are numbers, not all of them whole


def eager_gold(gold: Any, session: Any) -> Any:
    """Return gold as ``adjudge.fit`` takes it: there is little of it, so a DataFrame or a folder is collected."""
    with spoken(), without_pandas():
        if isinstance(gold, str | os.PathLike) and Path(gold).is_dir():
            gold = session.read.parquet(Path(gold).resolve().as_uri())
        return gold.toArrow() if hasattr(gold, "sparkSession") else gold


def shelved(lake: Lake, session: Any, folder: Path, block: int) -> Blocks:
    """Put the rows of a lake into a folder of blocks; one that has them already is opened as it is.

    ``block`` is about how many judgments each has. Executors write them: the folder is one that they all see.
    """
    with spoken(), without_pandas():
        table = _rows(lake.table, session)
        roles = find_columns(table.columns, lake.named, TABLE)
        rows = _columns(table, roles)
        source = lake.told(rows)
        if (folder / MANIFEST).exists():
            return _reopened(folder, source)
        if folder.exists() and any(folder.iterdir()):
            raise InputError("is not empty, and is not a folder of blocks: name another", str(folder))
        aside = _made(folder) / f".piles-{secrets.token_hex(4)}"
        aside.mkdir()
        write_file(b"", aside / SEEN)
        try:
            return _blocks(lake, rows, roles, folder, aside, source, block)
        finally:
            shutil.rmtree(aside, ignore_errors=True)


def _rows(table: Any, session: Any) -> Any:
    """Return a DataFrame, or the one of a folder of Parquet files."""
    if isinstance(table, str | os.PathLike):
        there = Path(table)
        return session.read.parquet(there.resolve().as_uri() if there.exists() else str(table))
    if not hasattr(table, "sparkSession"):
        what = f"{type(table).__name__} is not a table of Spark: give a DataFrame, or the path of Parquet files"
        raise InputError(what)
    return table


def _reopened(folder: Path, source: Mapping[str, Any]) -> Blocks:
    """Return blocks that are there already, if they are of the same table."""
    if json.loads((folder / MANIFEST).read_bytes()).get("source") != source:
        raise InputError(
            "has blocks of another table, or of the same read in another way: name another folder, or remove this one",
            str(folder),
        )
    return open_blocks(folder)


def _made(folder: Path) -> Path:
    """Return a folder, made if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(folder)) from error
    return folder.resolve()


def _blocks(
    lake: Lake, rows: Any, roles: Mapping[str, str], folder: Path, aside: Path, source: Mapping[str, Any], block: int
) -> Blocks:
    """Have every block written, and vouch for all of them."""
    from pyspark.sql import functions as F  # noqa: N812

    found = {role: _names(rows, role, roles[role]) for role in NAMED if role in roles}
    scale, to_scale = scale_codes(_unplaced(found["label"]), found["label"].coded, lake.labels, lake.ordinal)
    found["label"] = found["label"]._replace(code=to_scale[found["label"].code].astype(np.int32))
    if "weight" in roles:
        _refuse_weights(rows, roles["weight"])
        rows = rows.withColumn("weight", rows["weight"].try_cast("double"))
    rows, fractions = _plain_items(rows)
    for role, names in found.items():
        rows = rows.join(F.broadcast(_lookup(rows, role, names)), role, "left").drop(role)
    total = int(found["judge"].rows.sum())
    count = min(MOST, max(1, -(-total // block)))
    topics = len(found["topic"].coded.names) if "topic" in found else 0
    shape = _Shape(str(aside), len(found["judge"].coded.names), topics, scale, fractions)
    moved = rows.repartition(count, "item").mapInArrow(partial(_write_block, shape), "told string")
    told = sorted(_told(row.told) for row in moved.collect())
    _refuse(told, total, folder)
    return _vouched(folder, aside, told, found, scale, "weight" in roles, source)


def _columns(table: Any, roles: Mapping[str, str]) -> Any:
    """Return the columns of a table by their roles, refusing those whose rows are no single values."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import ArrayType, BinaryType, MapType, StructType, VariantType

    for role, column in roles.items():
        if isinstance(table.schema[column].dataType, ArrayType | BinaryType | MapType | StructType | VariantType):
            raise InputError(f"column {quote(column)} holds lists, records or objects, not one {role} per row", TABLE)
    wanted = [role for role in roles if role != "time"]
    return table.select(*(F.col(f"`{roles[role].replace('`', '``')}`").alias(role) for role in wanted))


class _Names(NamedTuple):
    """The names in a column: as Spark has them, as they are called, and how often they are met."""

    column: str
    raw: Any  # an Arrow table of (value)
    coded: Coded  # what the values are called, in the order of their codes
    code: Codes  # of each value
    rows: Codes  # of each value


def _names(rows: Any, role: str, column: str) -> _Names:
    """Return the names in a column, coded in their order."""
    grouped = rows.groupBy(role).count().toArrow()
    values = pl.Series(column, grouped.column(role))
    coded = code_columns(_Unplaced(TABLE, (column,), lambda _: values), {role: column})[role]
    order = coded.names.arg_sort().to_numpy()
    place = np.empty(order.size, np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    in_order = Coded(np.arange(order.size), coded.names.gather(order), np.arange(order.size))
    counts = grouped.column("count").to_numpy()
    return _Names(column, grouped.select([role]), in_order, place[coded.code], counts)


def _unplaced(names: _Names) -> Source:
    """Return names as a source, to say of the table what is wrong with one."""
    return _Unplaced(TABLE, (names.column,), lambda _: names.coded.names)


def _lookup(rows: Any, role: str, names: _Names) -> Any:
    """Return the values of a column beside their codes, as a DataFrame."""
    import pyarrow as pa

    table = names.raw.append_column(f"{role}_code", pa.array(names.code))
    schema = f"`{role}` {rows.schema[role].dataType.simpleString()}, `{role}_code` int"
    return rows.sparkSession.createDataFrame(table, schema)


def _refuse_weights(rows: Any, column: str) -> None:
    """Refuse weights that are not numbers of at least 0, in the words of ``weights_of``."""
    from pyspark.sql import functions as F  # noqa: N812

    number = rows["weight"].try_cast("double")
    good = number.isNotNull() & ~F.isnan(number) & (number >= 0) & (number < float("inf"))
    bad = rows.filter(~good).select("weight").limit(1).toArrow()
    if bad.num_rows:
        value = pl.Series(column, bad.column("weight"))
        weights_of(_Unplaced(TABLE, (column,), lambda _: value), column)
        raise InputError(f"weight {quote(value[0])} is not a number", TABLE)


def _plain_items(rows: Any) -> tuple[Any, bool]:
    """Return the rows with items of one type in all blocks, and whether they are numbers that are not whole.

    As elsewhere, items that are numbers without fractions are whole numbers; decimals of more digits than a float tells
    apart are text.
    """
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import DecimalType, DoubleType, FloatType

    kind = rows.schema["item"].dataType
    if not isinstance(kind, DecimalType | DoubleType | FloatType):
        return rows, False
    number = rows["item"].cast("double")
    blurred = F.lit(False)
    if isinstance(kind, DecimalType):
        blurred = rows["item"].isNotNull() & ~F.coalesce(number.try_cast(kind) == rows["item"], F.lit(False))
    broken = (number % 1 != 0) | (F.abs(number) >= WHOLE)
    as_text, as_fractions = rows.select(F.max(blurred), F.max(broken)).first()
    plain = "string" if as_text else "double" if as_fractions else "long"
    return rows.withColumn("item", rows["item"].cast(plain)), plain == "double"


def _write_block(shape: _Shape, batches: Iterator[Any]) -> Iterator[Any]:
    """Write the rows of a partition as a block; this is what executors do. Yield what is to be said of it."""
    import pyarrow as pa
    from pyspark import TaskContext

    pieces = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches if batch.num_rows]
    context = TaskContext.get()
    if not pieces or context is None:
        return
    number = context.partitionId()
    try:
        told = _block(shape, number, pl.concat(pieces))
    except AdjudgeError as error:
        told = _Written(number, str(error).removeprefix(f"{TABLE}: "))
    yield pa.RecordBatch.from_pydict({"told": [json.dumps(told)]})


def _block(shape: _Shape, number: int, rows: pl.DataFrame) -> _Written:
    """Write rows, which are all of their items, as a block."""
    folder = Path(shape.folder)
    if not (folder / SEEN).exists():
        unseen = f"{folder.parent}: an executor does not see it; blocks need a folder that all executors share"
        return _Written(number, unseen)
    item = code_columns(_Unplaced(TABLE, ("item",), rows.get_column), {"item": "item"})["item"]
    names = item.names.cast(pl.Float64) if shape.fractions else item.names
    codes = {role: rows.get_column(f"{role}_code") for role in NAMED if f"{role}_code" in rows.columns}
    if any(code.null_count() for code in codes.values()):
        changed = "is not the same when it is read twice: write it to Parquet files first, or .persist() it"
        return _Written(number, changed)
    columns: dict[str, Any] = {"item": names.gather(item.code), **codes}
    if "weight" in rows.columns:
        columns["weight"] = rows.get_column("weight")
    ordered = pl.DataFrame(columns).sort(list(columns))
    numbers = pl.Series(range(max(shape.judges, shape.topics)))  # blocks have codes; names are the driver's
    judgments, several = pile_judgments(
        ordered, numbers.head(shape.judges), numbers.head(shape.topics), shape.scale, np.arange(len(shape.scale))
    )
    named: dict[str, Any] = {"item": judgments.items}
    if judgments.topic is not None:
        named["topic"] = judgments.topic
    contents = {block_name(number): block_bytes(judgments), items_name(number): parquet(named)}
    for name, content in contents.items():
        write_file(content, folder / name)
    weight = 0.0 if judgments.weight is None else float(judgments.weight.sum())
    block_sum, items_sum = map(zlib.crc32, contents.values())
    return _Written(number, None, len(judgments.items), len(judgments), weight, several, (block_sum, items_sum))


def _told(line: str) -> _Written:
    """Return what an executor says of a block."""
    told = _Written(*json.loads(line))
    return told._replace(sums=tuple(told.sums))


def _refuse(told: Sequence[_Written], total: int, folder: Path) -> None:
    """Refuse what executors refused, and blocks that do not have all rows."""
    for one in told:
        if one.refused is not None:
            raise InputError(one.refused, None if str(folder.resolve()) in one.refused else TABLE)
    if sum(one.judgments for one in told) != total:
        raise InputError("is not the same when it is read twice: write it to Parquet files first", TABLE)


def _vouched(
    folder: Path,
    aside: Path,
    told: Sequence[_Written],
    found: Mapping[str, _Names],
    scale: Scale,
    weighted: bool,
    source: Mapping[str, Any],
) -> Blocks:
    """Put the blocks in place, with the names beside them and the manifest last."""
    weight = sum(one.weight for one in told)
    if weighted and not 0 < weight < float("inf"):
        raise InputError(f"the weights sum to {weight:g}: no judgment would count", TABLE)
    apart = any(one.several for one in told)
    if apart:
        warnings.warn("an item is in several topics, so items are called topic_item", AdjudgeWarning, stacklevel=4)
    sums = dict[str, int]()
    for number, one in enumerate(told):
        for called, checksum in zip((block_name, items_name), one.sums, strict=True):
            _move(aside / called(one.partition), folder / called(number))
            sums[called(number)] = checksum
    judge = found["judge"]
    judged = np.bincount(judge.code, judge.rows, len(judge.coded.names)).astype(np.int64)
    topics = found["topic"].coded.names if "topic" in found else None
    parts = [Part(one.items, one.judgments) for one in told]
    counted = weight if weighted else None
    return write_manifest(
        folder, BlockSummary(scale, judge.coded.names, judged, topics, parts, counted, apart, source), sums
    )


def _move(file: Path, target: Path) -> None:
    """Put a block in place, refusing one that only its executor sees."""
    try:
        file.replace(target)
    except FileNotFoundError as error:
        unseen = "executors wrote blocks that the driver does not see: name a folder that all of them share"
        raise InputError(unseen, str(target.parent)) from error

"""Make blocks of tables of any size without loading them into memory.

One pass over the rows, a batch at a time, encodes judges, labels and topics and writes every row to one of many piles
by the hash of its item. Each pile then has all judgments of its items and becomes a block. In memory are a batch of
rows or one pile, and the names of judges and topics. Parquet and separated values are read in batches, other formats
file by file.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.blocks import (
    JUDGES,
    MANIFEST,
    TOPICS,
    Blocks,
    BlockSummary,
    Part,
    block_bytes,
    block_name,
    items_name,
    manifest,
    open_blocks,
    parquet,
    write_manifest,
)
from adjudge.data.columns import find_columns
from adjudge.data.encode import (
    AS_USUAL,
    CODED,
    Coded,
    LabelOptions,
    code_columns,
    code_names,
    refuse_no_weight,
    refuse_swapped_columns,
    scale_codes,
    weights_of,
    without_missing,
    without_undecided,
)
from adjudge.data.exports import shape_of
from adjudge.data.files import FALLBACK, MARKS, PARQUET, FilePath, compression_of, display_name, read_bytes
from adjudge.data.formats import SUFFIXES, intact_parquet, open_source, separator_of
from adjudge.data.judgments import Judgments, from_codes
from adjudge.data.scale import Label, Scale, Values
from adjudge.data.source import Source, from_lines
from adjudge.data.trec import sniff_format
from adjudge.data.write import write_file
from adjudge.errors import AdjudgeWarning, InputError, UsageError, quote

SEPARATED = {".csv": None, ".tsv": "\t", ".tab": "\t"}  # separator of values, None if the header shows it
SAMPLE = 1 << 16  # bytes from which the length of a line is estimated


def batches(files: Sequence[FilePath], rows: int, format: str | None = None) -> Iterator[tuple[Source, int]]:  # noqa: A002
    """Yield the rows of files in order, in sources of about ``rows`` rows, and the number of rows in each."""
    for file in files:
        if _is_parquet(file, format):
            yield from _parquet_batches(file, rows)
        elif _is_separated(file, format):
            yield from _separated_batches(file, rows)
        else:
            yield _read_all(file, format)


def sizes(files: Sequence[FilePath], format: str | None = None) -> int:  # noqa: A002
    """Return about how many rows files have: exactly for Parquet, from the length of lines for other formats."""
    return sum(_size(file, format) for file in files)


def _size(file: FilePath, format: str | None) -> int:  # noqa: A002
    """Return about how many rows a file has."""
    if _is_parquet(file, format):
        with intact_parquet(str(file)):
            return int(pl.scan_parquet(Path(file), glob=False).select(pl.len()).collect().item())
    sample = read_bytes(file, SAMPLE)
    lines = max(1, sample.count(b"\n"))
    return max(1, round(os.path.getsize(file) / max(1, len(sample)) * lines)) if str(file) != "-" else lines


def _is_parquet(file: FilePath, format: str | None) -> bool:  # noqa: A002
    """Whether a file is Parquet, by its first bytes."""
    return format in (None, "parquet") and str(file) != "-" and read_bytes(file, len(PARQUET)) == PARQUET


def _is_separated(file: FilePath, format: str | None) -> bool:  # noqa: A002
    """Whether a file can be read in batches: uncompressed, without a byte order mark, and called CSV or TSV."""
    suffix = Path(file).suffix.lower()
    if suffix not in SEPARATED or format not in (None, SUFFIXES[suffix]):
        return False
    start = read_bytes(file, 8)
    return compression_of(start) is None and not start.startswith(tuple(MARKS)) and b"\0" not in start


def _parquet_batches(file: FilePath, rows: int) -> Iterator[tuple[Source, int]]:
    """Yield the rows of a Parquet file, which are numbered from 0."""
    name, done = display_name(file), 0
    with intact_parquet(name):
        for batch in pl.scan_parquet(Path(file), glob=False).collect_batches(chunk_size=rows, maintain_order=True):
            if batch.height:
                yield _number_from(Source(name, tuple(batch.columns), batch.get_column), done), batch.height
            done += batch.height
    if not done:
        raise InputError("holds no rows", name)


def _separated_batches(file: FilePath, rows: int) -> Iterator[tuple[Source, int]]:
    """Yield the rows of separated values as text; a broken file is refused as if it were read as a whole."""
    name = display_name(file)
    with open(file, "rb") as content:
        header = content.readline().decode(errors="replace")
    separator = SEPARATED[Path(file).suffix.lower()] or separator_of(header)
    if not _is_simple(header, separator):
        yield _read_all(file)
        return
    line, started = 2, False
    try:
        lazy = pl.scan_csv(Path(file), separator=separator, infer_schema=False, glob=False)
        for batch in lazy.collect_batches(chunk_size=rows, maintain_order=True):
            breaks = batch.select(pl.all().str.count_matches("\n", literal=True).sum()).row(0)
            batch.columns = [column.strip() or column for column in batch.columns]
            if not batch.select(pl.all_horizontal(pl.all().is_null()).all()).item():  # true of an empty batch
                started = True
                yield from_lines(name, batch, line), batch.height
            line += batch.height + int(sum(breaks))
    except pl.exceptions.PolarsError as error:
        table = _read_all(file)  # refuses what is broken
        if started:
            problem = f"is not UTF-8, which a file of this size must be: convert it (iconv -f {FALLBACK} -t utf-8)"
            raise InputError(problem, name) from error
        yield table
        return
    if not started:
        raise InputError("the file has a header but no rows", name)


def _is_simple(header: str, separator: str) -> bool:
    """Whether a header is one line of UTF-8 with different names and without quotation marks."""
    columns = [column.strip() for column in header.split(separator)]
    odd = '"' in header or "\r" in header.rstrip("\r\n") or "\ufffd" in header
    return header.strip() != "" and not odd and len({*columns}) == len(columns) and sniff_format(header) is None


def _read_all(file: FilePath, format: str | None = None) -> tuple[Source, int]:  # noqa: A002
    """Return all rows of a file that cannot be read in batches, and how many there are."""
    source = open_source(file, format)
    return source, len(source.column(source.columns[0]))


def _number_from(source: Source, first: int) -> Source:
    """Return a source whose rows are numbered from ``first``."""
    return Source(source.name, source.columns, source.column, lambda position: first + position)


Say: TypeAlias = Callable[[str], None]

BATCH = 1 << 20  # rows in memory at a time
BLOCK = 2_000_000  # judgments per block, about
MOST = 4_096  # piles
PILES, MAKING = ".piles", ".making"  # the folder of piles, and the mark of a folder that is being filled
ROW_BYTES = 200  # most memory per judgment while its pile becomes a block


@dataclass
class Register:
    """The names of all batches and their codes."""

    codes: dict[Any, int] = field(default_factory=dict)
    text: bool = False  # whether any name is text: then 1 is '1', since they would look the same

    def add(self, coded: Coded) -> Codes:
        """Return the code of every row; a name has the same code in all batches."""
        return self.number(coded.names)[coded.code]

    def number(self, names: pl.Series) -> Codes:
        """Return the code of every name, which is the same in all batches."""
        if names.dtype == pl.String and not self.text:
            self.codes = dict(zip(self.names().cast(pl.String).to_list(), self.codes.values(), strict=True))
            self.text = True
        values = (names.cast(pl.String) if self.text else names).to_list()
        return np.fromiter((self.codes.setdefault(name, len(self.codes)) for name in values), np.int32, len(values))

    def names(self) -> pl.Series:
        """Return all names in the order of their codes: as numbers if all are numbers, else as text."""
        values = list(self.codes)
        kinds = {type(value) for value in values}
        if kinds == {int, float}:  # one batch had only whole numbers
            return pl.Series([float(value) for value in values])
        return pl.Series(values if len(kinds) == 1 else [str(value) for value in values])


@dataclass(frozen=True)
class _LabelRows(Source):
    """The labels of all batches; a message about a label names the row where it first occurs."""

    places: Sequence[tuple[str, int]] = ()  # file and row

    def wrong(self, problem: str, position: int | None = None) -> InputError:
        """Return the error that says where and what."""
        name, row = self.places[position or 0]
        return InputError(problem, name, None if position is None else row)


class Table(NamedTuple):
    """Files of judgments, and how they are read."""

    files: Sequence[FilePath]
    named: Mapping[str, str | None]  # role -> column, for columns with unusual names
    labels: Sequence[Label] | None = None
    ordinal: bool = False
    repeats: str = "keep"
    format: str | None = None
    values: Values | None = None
    label_options: LabelOptions = AS_USUAL

    def fingerprint(self) -> dict[str, Any]:
        """Return what is stored with blocks to recognise the same table."""
        stats = [(str(Path(file).resolve()), Path(file).stat()) for file in self.files]
        return {
            "files": [[path, stat.st_size, stat.st_mtime_ns] for path, stat in stats],
            "columns": {role: name for role, name in self.named.items() if name is not None},
            "labels": None if self.labels is None else [str(label) for label in self.labels],
            "ordinal": self.ordinal,
            "repeats": self.repeats,
            **({} if self.format is None else {"format": self.format}),
            **({} if self.values is None else {"values": {str(name): value for name, value in self.values.items()}}),
            **({} if self.label_options == AS_USUAL else {"label_options": list(self.label_options)}),
        }


@dataclass
class _Piles:
    """Rows in temporary files by the hash of their item."""

    folder: Path
    count: int
    rows: Codes  # (P) in each pile
    batch: int = 0
    kinds: set[pl.DataType] = field(default_factory=set)  # of items

    def add(self, item: Coded, columns: Mapping[str, Any]) -> None:
        """Write the rows of a batch to their piles, in order."""
        self.kinds.add(item.names.dtype)
        written = item.names.cast(pl.String).str.strip_suffix(".0")  # 1, 1.0 and '1' in several files are one item
        pile = (written.hash(0) % self.count).cast(pl.Int32).to_numpy()[item.code]
        order = np.argsort(pile, kind="stable")
        table = pl.DataFrame({"item": item.names.gather(item.code), **columns})[order]
        ends = np.cumsum(np.bincount(pile, minlength=self.count))
        for number, end in enumerate(ends.tolist()):
            begin = int(ends[number - 1]) if number else 0
            if end > begin:
                file = self.folder / f"{number}-{self.batch:06}.arrow"
                try:
                    table[begin:end].write_ipc(file, compression="lz4")
                except OSError as error:
                    raise InputError(f"cannot be written: {error.strerror or error}", str(file)) from error
                self.rows[number] += end - begin
        self.batch += 1

    def take(self, number: int) -> pl.DataFrame:
        """Return a pile and remove its files."""
        files = sorted(self.folder.glob(f"{number}-*.arrow"))
        pieces = [pl.read_ipc(file) for file in files]
        for file in files:
            file.unlink()
        kind = self._kind()
        return pl.concat([piece.with_columns(pl.col("item").cast(kind)) for piece in pieces])

    def _kind(self) -> pl.DataType:
        """Return the type of items in all piles: that of all files, or one that can hold them all."""
        if len(self.kinds) == 1:
            return next(iter(self.kinds))
        if pl.UInt64() not in self.kinds and all(kind.is_integer() for kind in self.kinds):
            return pl.Int64()
        return pl.Float64() if all(kind.is_float() or kind == pl.Int64 for kind in self.kinds) else pl.String()


def make_blocks(
    table: Table, folder: str | Path, *, memory: int | None = None, block: int = BLOCK, say: Say | None = None
) -> Blocks:
    """Write the judgments of files to a folder of blocks; a folder that has them already is opened.

    ``memory`` is the most memory, in bytes, for a pile while it becomes a block; ``block`` is about the number of
    judgments per block.
    """
    target, tell = Path(folder), say or (lambda _: None)
    if not table.files:
        raise UsageError("there is no file to read: name at least one")
    if "-" in map(str, table.files):
        raise UsageError("--blocks cannot read standard input. Save it to a file first.")
    total = sizes(table.files, table.format)
    source = table.fingerprint()
    if (target / MANIFEST).exists():
        return _reopen(target, source)
    with _lock(target):
        if (target / MANIFEST).exists():  # another run has made them in the meantime
            return _reopen(target, source)
        least = 1 if memory is None else -(-total * ROW_BYTES // memory)
        piles = _new_piles(target, min(MOST, max(1, -(-total // block), least)))
        names = _write_piles(table, piles, total, tell)
        return _blocks_from_piles(target, table, piles, names, source, tell)


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Keep other runs out of a folder while it is filled; files of runs that failed are removed."""
    mark = folder / MAKING
    try:
        if not mark.exists() and folder.exists() and any(folder.iterdir()):
            raise InputError("is not empty, and is not a folder of blocks: name another", str(folder))
        folder.mkdir(parents=True, exist_ok=True)
        file = open(mark, "wb")  # noqa: SIM115, closed below
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(folder)) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError("is being filled by another run: wait for it, or name another", str(folder)) from error
        except OSError:
            pass  # a disk without locks
        try:
            yield
        finally:
            shutil.rmtree(folder / PILES, ignore_errors=True)
            if not (folder / MANIFEST).exists():
                _remove_blocks(folder)
            mark.unlink(missing_ok=True)


def _remove_blocks(folder: Path) -> None:
    """Remove blocks that no manifest lists."""
    for pattern in ("block-*.bin", "items-*.parquet", JUDGES, TOPICS):
        for file in folder.glob(pattern):
            file.unlink()


def _new_piles(folder: Path, count: int) -> _Piles:
    """Return empty piles in a folder; files of a run that was killed are removed."""
    temporary = folder / PILES
    shutil.rmtree(temporary, ignore_errors=True)
    _remove_blocks(folder)
    temporary.mkdir()
    return _Piles(temporary, count, np.zeros(count, np.int64))


class _TableNames(NamedTuple):
    """The names in all rows, the first row of each label, and the sum of weights."""

    judges: Register
    labels: Register
    topics: Register
    first: list[tuple[str, int]]  # file and row of each label
    weight: float | None


def _reopen(folder: Path, source: Mapping[str, Any]) -> Blocks:
    """Return the blocks of a folder if they were made of the same files."""
    if manifest(folder).get("source") != source:
        raise InputError(
            "has blocks of other files, or of the same read in another way: name another folder, or remove this one",
            str(folder),
        )
    return open_blocks(folder)


def _write_piles(table: Table, piles: _Piles, total: int, tell: Say) -> _TableNames:
    """Read all rows once, write them to their piles, and return their names."""
    judges, labels, topics, weight, done = Register(), Register(), Register(), None, 0
    roles, first = dict[str, str](), list[tuple[str, int]]()
    declared_labels, without_label = [*(table.labels or ()), *(table.values or ())], 0
    for source, rows in batches(table.files, BATCH, table.format):
        _refuse_other_shapes(source, table.named)
        roles = _same_roles(table, source, roles)
        source = without_undecided(source, roles["label"])
        source, left_out = without_missing(source, roles["label"], table.label_options, declared_labels)
        without_label, done = without_label + left_out, done + rows
        if left_out == rows:
            continue
        coded = code_columns(source, {role: roles[role] for role in CODED if role in roles})
        label = coded["label"]
        count, code = len(labels.codes), labels.number(label.names)
        first += [(source.name, source.row(int(row))) for row in label.first[code >= count]]
        columns: dict[str, Any] = {"judge": judges.add(coded["judge"]), "label": code[label.code]}
        if "topic" in coded:
            columns["topic"] = topics.add(coded["topic"])
        if "weight" in roles:
            columns["weight"] = weights_of(source, roles["weight"])
            weight = (weight or 0.0) + float(columns["weight"].sum())
        piles.add(coded["item"], columns)
        tell(f"read {done:,} of about {max(total, done):,} judgments")
    if not labels.codes:
        raise source.wrong(f"every label is missing (column {quote(roles['label'])})")
    if without_label:
        message = f"{without_label:,} of {done:,} judgments have no label; they are left out"
        warnings.warn(message, AdjudgeWarning, stacklevel=3)
    if weight is not None:
        refuse_no_weight(source, roles["weight"], weight)
    return _TableNames(judges, labels, topics, first, weight)


def _refuse_other_shapes(source: Source, named: Mapping[str, str | None]) -> None:
    """Refuse a file that does not have one judgment per row: its shape is recognised only if it is read as a whole."""
    export = shape_of(source, named)
    if export is not None:
        problem = f"is recognised as {export.title}, and blocks are made of tables with one judgment per row"
        raise source.wrong(f"{problem}: convert it first with `adjudge read {source.name} --format csv`")


def _same_roles(table: Table, source: Source, earlier: Mapping[str, str]) -> dict[str, str]:
    """Return role -> column of a batch, which must have the roles of earlier batches."""
    roles = find_columns(source.columns, table.named, source.name)
    refuse_swapped_columns(source, roles)
    difference = set(roles) ^ set(earlier)
    if earlier and difference:
        raise source.wrong(f"has other columns than the files before: {', '.join(sorted(difference))}")
    return roles


def _blocks_from_piles(
    folder: Path, table: Table, piles: _Piles, names: _TableNames, source: Mapping[str, Any], tell: Say
) -> Blocks:
    """Turn every pile into a block, and write the manifest."""
    scale, to_scale = _scale(table, names)
    judges, topics = names.judges.names().alias("judge"), names.topics.names().alias("topic")
    judged, parts, sums, apart = np.zeros(len(judges), np.int64), list[Part](), dict[str, int](), False
    dropped, filled = 0, [number for number in range(piles.count) if piles.rows[number]]
    for number, pile in enumerate(filled):
        rows = piles.take(pile)
        judgments, several = pile_judgments(rows, judges, topics, scale, to_scale)
        judgments, repeats = judgments.without_repeats(table.repeats)
        dropped, apart = dropped + repeats, apart or several
        judged += np.bincount(judgments.judge, minlength=len(judges))
        items: dict[str, Any] = {"item": judgments.items}
        if judgments.topic is not None:
            items["topic"] = judgments.topic
        files = {block_name(number): block_bytes(judgments), items_name(number): parquet(items)}
        for name, content in files.items():
            write_file(content, folder / name)
            sums[name] = zlib.crc32(content)
        parts.append(Part(len(judgments.items), len(judgments)))
        tell(f"{number + 1:,} of {len(filled):,} blocks")
    if dropped:
        warnings.warn(f"{dropped:,} repeats of a judge on an item were dropped", AdjudgeWarning, stacklevel=3)
    if apart:
        warnings.warn("an item is in several topics, so items are called topic_item", AdjudgeWarning, stacklevel=3)
    named = topics if names.topics.codes else None
    summary = BlockSummary(scale, judges, judged, named, parts, names.weight, apart, source)
    return write_manifest(folder, summary, sums)


def _scale(table: Table, names: _TableNames) -> tuple[Scale, Codes]:
    """Return the scale, and the position on it of each label in the order of appearance."""
    labels = names.labels.names()
    code = np.arange(len(labels))
    source = _LabelRows("labels", (), lambda _: labels, places=names.first)
    keep_case = table.label_options.keep_case
    coded = Coded(code, labels, code)
    return scale_codes(source, coded, table.labels, table.ordinal, values=table.values, keep_case=keep_case)


def pile_judgments(
    rows: pl.DataFrame, judges: pl.Series, topics: pl.Series, scale: Scale, to_scale: Codes
) -> tuple[Judgments, bool]:
    """Return the judgments of a pile, and whether an item is in several topics; it is then an item per topic."""
    item = code_names(rows.get_column("item"))
    topic: Codes | None = rows.get_column("topic").to_numpy() if "topic" in rows.columns else None
    several = topic is not None and bool((topic != topic[item.first][item.code]).any())
    if topic is not None and several:
        pair = code_names(pl.Series(item.code.astype(np.int64) * len(topics) + topic))
        item = pair._replace(names=item.names.gather(item.code[pair.first]))
    weight: Floats | None = rows.get_column("weight").to_numpy() if "weight" in rows.columns else None
    judgments = from_codes(
        item.code,
        rows.get_column("judge").to_numpy(),
        to_scale[rows.get_column("label").to_numpy()],
        items=item.names.alias("item"),
        judges=judges,
        scale=scale,
        topics=None if topic is None else topics,
        topic=None if topic is None else frozen(topic[item.first]),
        weight=weight,
    )
    return judgments, several

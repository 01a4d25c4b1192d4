"""Judgments on disk: a folder of blocks, each with all judgments of its items, memory-mapped when they are read.

- ``manifest.json``: the scale, the sizes, and a checksum of every other file; it is written last;
- ``judges.parquet`` and ``topics.parquet``: names in the order of their codes;
- ``block-00000.bin``: the arrays of a ``kernels.Block``, one after the other, each on a boundary of 64 bytes;
- ``items-00000.parquet``: the names of the items of that block.

A folder of gold inside it (``gold-<checksum>``) has the true labels of the items of each block, and one more block for
gold items that nobody judged. Every process that can read the folder can open it, also a worker of a cluster.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.gold import as_judged, gold_source, gold_table
from adjudge.data.judgments import Judgments, places
from adjudge.data.panel import Panel
from adjudge.data.scale import Scale
from adjudge.data.write import table_text, write_file
from adjudge.errors import AdjudgeWarning, InputError
from adjudge.kernels.block import Block

if TYPE_CHECKING:
    from adjudge.data.judgments import Names


FORMAT = 1
MANIFEST, JUDGES, TOPICS = "manifest.json", "judges.parquet", "topics.parquet"
ALIGNMENT = 64  # bytes: arrays begin on the boundaries of cache lines
CHECKED = 1 << 24  # bytes that a checksum reads at a time


class Part(NamedTuple):
    """The sizes of one block."""

    items: int
    judgments: int


@dataclass(frozen=True, eq=False)
class Blocks:
    """Judgments in a folder of blocks. Like ``Judgments``, but only the names of judges and topics are in memory."""

    folder: Path
    scale: Scale
    judges: Names  # (J)
    judged: Codes  # (J) judgments of each judge
    topics: Names | None  # (T)
    parts: tuple[Part, ...]  # (B)
    weight: float | None  # sum of the weights of all judgments, None without weights
    apart: bool  # whether items are called topic_item because some are in several topics
    checksums: Mapping[str, int] = field(repr=False)
    gold: Path | None = None  # the folder of gold
    panel: Panel | None = None  # what is known about the judges (J)

    def __repr__(self) -> str:
        parts = [f"{self.items:,} items", f"{len(self.judges):,} judges", f"{len(self.scale)} labels"]
        return f"Blocks({', '.join(parts)}, {len(self):,} judgments in {len(self.parts):,} blocks)"

    def __len__(self) -> int:
        return sum(part.judgments for part in self.parts)

    @property
    def items(self) -> int:
        """The number of items."""
        return sum(part.items for part in self.parts)

    @cached_property
    def first(self) -> tuple[int, ...]:
        """The position of the first item of each block among all items."""
        return (0, *accumulate(part.items for part in self.parts))[:-1]

    @cached_property
    def first_judgment(self) -> tuple[int, ...]:
        """The position of the first judgment of each block among all judgments."""
        return (0, *accumulate(part.judgments for part in self.parts))[:-1]

    @property
    def address(self) -> tuple[str, str | None]:
        """What another process needs to open the same blocks."""
        return str(self.folder), None if self.gold is None else str(self.gold)

    def block(self, number: int, by_topic: bool = False) -> Block:
        """Return a block, memory-mapped: the system loads and drops its pages."""
        arrays = self._arrays(number)
        topic = arrays.pop("topic", None)
        return Block(
            **arrays,
            topic=topic if by_topic and topic is not None else frozen(np.zeros(self.parts[number].items, np.int32)),
            gold=self.truths(number),
            judges=len(self.judges),
            labels=len(self.scale),
            value=frozen(np.array(self.scale.values)),
        )

    def truths(self, number: int) -> Codes:
        """Return the true labels of the items of a block, -1 if unknown."""
        if self.gold is None:
            return frozen(np.full(self.parts[number].items, -1, np.int32))
        path = self.gold / gold_name(number)
        content = path.read_bytes() if path.exists() else b""
        if len(content) != 4 * self.parts[number].items:
            raise InputError(f"is missing or damaged: remove {self.gold} and run again", str(path))
        return frozen(np.frombuffer(content, np.int32))

    def names(self, number: int) -> Names:
        """Return the names of the items of a block."""
        folder = self.gold if self.gold is not None and self._unjudged(number) else self.folder
        table = _named(folder / items_name(number), self.checksums.get(items_name(number)))
        if not self.apart or self.topics is None or self._unjudged(number):
            return table.get_column("item")
        named = table.with_columns(topic=self.topics.gather(table.get_column("topic")))
        return named.select(pl.format("{}_{}", "topic", "item").alias("item")).to_series()

    def topic(self, number: int) -> Codes | None:
        """Return the topics of the items of a block, None without topics."""
        return self._arrays(number).get("topic")

    def read(self) -> Judgments:
        """Return all judgments, in memory, with items in the order of the blocks, without gold."""
        judged = [number for number in range(len(self.parts)) if not self._unjudged(number)]
        arrays = [self._arrays(number) for number in judged]

        def joined(name: str) -> NDArray[Any]:
            return frozen(np.concatenate([block[name] for block in arrays]))

        count = np.concatenate([np.diff(block["start"]) for block in arrays])
        return Judgments(
            pl.concat([self.names(number) for number in judged]),
            self.judges,
            self.scale,
            frozen(np.r_[0, np.cumsum(count)]),
            frozen((joined("cell") // np.uint32(len(self.scale))).astype(np.int32)),
            joined("label"),
            self.topics,
            None if self.topics is None else joined("topic"),
            None if self.weight is None else joined("weight"),
            panel=self.panel,
        )

    def release(self, number: int) -> None:
        """Release the pages of a block: they stay in the cache of the system but no longer count for this process."""
        if not self._unjudged(number):
            self._mapped(number).madvise(mmap.MADV_DONTNEED)

    def _unjudged(self, number: int) -> bool:
        """Whether this is the block of gold items that nobody judged."""
        return block_name(number) not in self.checksums

    def _mapped(self, number: int) -> mmap.mmap:
        """Return the content of the file of a block, checked when it is first opened."""
        return _map(self.folder / block_name(number), self.checksums[block_name(number)])

    def _arrays(self, number: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a block by name."""
        part = self.parts[number]
        return _empty(part.items, self) if self._unjudged(number) else _arrays(self._mapped(number), part, self)


def block_name(number: int) -> str:
    """Return the name of the file of a block."""
    return f"block-{number:05}.bin"


def items_name(number: int) -> str:
    """Return the name of the file with the item names of a block."""
    return f"items-{number:05}.parquet"


def gold_name(number: int) -> str:
    """Return the name of the file with the gold of a block."""
    return f"gold-{number:05}.bin"


def block_bytes(judgments: Judgments) -> bytes:
    """Return the content of the file of a block."""
    block = judgments.block()
    arrays: list[NDArray[Any]] = [block.start.astype(np.int64), block.cell, block.label]
    arrays += [judgments.topic.astype(np.int32)] if judgments.topic is not None else []
    arrays += [block.weight] if judgments.weight is not None else []
    return b"".join(array.tobytes() + bytes(-array.nbytes % ALIGNMENT) for array in arrays)


def open_blocks(folder: str | Path, gold: str | Path | None = None) -> Blocks:
    """Open a folder of blocks.

    Parameters
    ----------
    folder
        The folder that ``make_blocks`` wrote.
    gold
        A folder of gold inside it, as ``with_gold`` writes.

    Returns
    -------
    Blocks
        The names of judges and topics, checked by their checksums. Blocks are checked when they are first used.
    """
    root = Path(folder)
    try:
        about = manifest(root)
        if about["format"] > FORMAT:
            newer = f"has blocks in format {about['format']} by a newer adjudge; this one reads up to {FORMAT}"
            raise InputError(newer, str(folder))
        sums: dict[str, int] = about["checksums"]
        judges = _read_table(root, JUDGES, sums)
        parts = [Part(*part) for part in about["parts"]]
        if gold is not None:
            more = manifest(Path(gold))["unjudged"]
            parts += [Part(more, 0)] if more else []
        return Blocks(
            root,
            Scale(tuple(about["labels"]), about["ordinal"], tuple(about.get("values", ()))),
            judges.get_column("judge"),
            frozen(judges.get_column("judgments").to_numpy()),
            _read_table(root, TOPICS, sums).get_column("topic") if TOPICS in sums else None,
            tuple(parts),
            about["weight"],
            about["apart"],
            sums,
            None if gold is None else Path(gold),
        )
    except FileNotFoundError as error:
        raise InputError(f"is not a folder of blocks: {Path(error.filename).name} is missing", str(folder)) from error
    except (KeyError, TypeError, ValueError, pl.exceptions.PolarsError) as error:
        raise InputError(f"has a damaged {MANIFEST} ({error}): make the blocks again", str(folder)) from error


def manifest(folder: Path) -> dict[str, Any]:
    """Return the content of the manifest of a folder."""
    try:
        about = json.loads((folder / MANIFEST).read_bytes())
    except ValueError as error:
        raise InputError(f"has a damaged {MANIFEST} ({error}): remove the folder and run again", str(folder)) from error
    if not isinstance(about, dict):
        raise InputError(f"has a damaged {MANIFEST}: remove the folder and run again", str(folder))
    return about


@lru_cache(maxsize=8)
def open_cached(address: tuple[str, str | None], stamps: tuple[tuple[int, ...], ...] = ()) -> Blocks:
    """Return blocks by their address; a process opens them once as long as their stamps are the same."""
    return open_blocks(*address)


def folder_stamps(address: tuple[str, str | None]) -> tuple[tuple[int, ...], ...]:
    """Return stamps that change when other blocks are written to an address."""
    try:
        stats = [os.stat(Path(folder) / MANIFEST) for folder in address if folder is not None]
    except OSError as error:
        raise InputError(
            f"is not a folder of blocks: {MANIFEST} is missing", str(Path(error.filename).parent)
        ) from error
    return tuple((stat.st_mtime_ns, stat.st_ino, stat.st_size) for stat in stats)


class BlockSummary(NamedTuple):
    """What all blocks of a folder have in common."""

    scale: Scale
    judges: Names  # (J)
    judged: Codes  # (J) judgments of each
    topics: Names | None  # (T)
    parts: Sequence[Part]
    weight: float | None
    apart: bool
    source: Any  # by which the same table is recognised


def write_manifest(folder: Path, summary: BlockSummary, checksums: Mapping[str, int]) -> Blocks:
    """Write the names and, last, the manifest with the checksums of all files; return the blocks."""
    sums = dict(checksums)
    tables = {JUDGES: parquet({"judge": summary.judges, "judgments": summary.judged})}
    if summary.topics is not None:
        tables[TOPICS] = parquet({"topic": summary.topics})
    for name, content in tables.items():
        write_file(content, folder / name)
        sums[name] = zlib.crc32(content)
    about = {
        "format": FORMAT,
        "labels": list(summary.scale.labels),
        "ordinal": summary.scale.ordinal,
        **({} if summary.scale.given_values is None else {"values": list(summary.scale.values)}),
        "parts": list(summary.parts),
        "weight": summary.weight,
        "apart": summary.apart,
        "source": summary.source,
        "checksums": sums,
    }
    write_file(json.dumps(about, indent=1).encode(), folder / MANIFEST)
    return open_blocks(folder)


def parquet(columns: Mapping[str, Any]) -> bytes:
    """Return named columns as the content of a Parquet file."""
    return table_text(pl.DataFrame(dict(columns)), "parquet")


def _read_table(folder: Path, name: str, checksums: Mapping[str, int]) -> pl.DataFrame:
    """Return a table of the folder; a file with another checksum is refused."""
    content = (folder / name).read_bytes()
    if zlib.crc32(content) != checksums[name]:
        raise InputError(f"is damaged: {name} is not the file that was written with it", str(folder))
    return pl.read_parquet(content)


def _named(path: Path, checksum: int | None) -> pl.DataFrame:
    """Return a table of names; a file with another checksum is refused."""
    try:
        content = path.read_bytes()
        if checksum is None or zlib.crc32(content) == checksum:
            return pl.read_parquet(content)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError("is missing or damaged: make the blocks again", str(path)) from error
    raise InputError("is damaged: it is not the file that was written; make the blocks again", str(path))


@lru_cache(maxsize=1 << 16)
def _map(path: Path, checksum: int) -> mmap.mmap:
    """Return the content of a file, memory-mapped once per process; a file with another checksum is refused."""
    try:
        with open(path, "rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputError("is missing or empty: make the blocks again", str(path)) from error
    total = 0
    for first in range(0, len(content), CHECKED):
        total = zlib.crc32(memoryview(content)[first : first + CHECKED], total)
    if total != checksum:
        raise InputError("is damaged: it is not the file that was written; make the blocks again", str(path))
    return content


def _arrays(content: mmap.mmap, part: Part, blocks: Blocks) -> dict[str, NDArray[Any]]:
    """Return the arrays in the file of a block by name."""
    small = np.uint8 if len(blocks.scale) <= 256 else np.int32
    shapes: list[tuple[str, Any, int]] = [("start", np.int64, part.items + 1), ("cell", np.uint32, part.judgments)]
    shapes += [("label", small, part.judgments)]
    shapes += [("topic", np.int32, part.items)] if blocks.topics is not None else []
    shapes += [("weight", np.float64, part.judgments)] if blocks.weight is not None else []
    arrays: dict[str, NDArray[Any]] = {}
    offset = 0
    for name, dtype, size in shapes:
        arrays[name] = np.frombuffer(content, dtype, size, offset)
        offset += arrays[name].nbytes + -arrays[name].nbytes % ALIGNMENT
    return {"weight": frozen(np.empty(0)), **arrays}


def _empty(items: int, blocks: Blocks) -> dict[str, NDArray[Any]]:
    """Return the arrays of a block with items but no judgments."""
    small = np.uint8 if len(blocks.scale) <= 256 else np.int32
    weight: Floats = np.empty(0)
    arrays: dict[str, NDArray[Any]] = {"start": np.zeros(items + 1, np.int64), "cell": np.empty(0, np.uint32)}
    arrays |= {"label": np.empty(0, small), "weight": weight}
    arrays |= {"topic": np.full(items, -1, np.int32)} if blocks.topics is not None else {}
    return {name: frozen(array) for name, array in arrays.items()}


def with_gold(
    blocks: Blocks,
    gold: Any,
    *,
    item: str | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
) -> Blocks:
    """Return the blocks with gold; items that only gold has become one more block, without judgments.

    Parameters
    ----------
    blocks
        The judgments.
    gold
        A path, a frame, or a mapping from item to true label.
    item, label
        Names of columns of the gold, if it has them.
    format
        The format of the file, if its name and content do not show it.
    """
    source = gold_source(gold, format)
    item, label = (column if column in source.columns else None for column in (item, label))
    judged = ((blocks.names(number), blocks.topic(number)) for number in range(len(blocks.parts)))
    source, item = as_judged(source, item, judged, blocks.topics)
    items, truths = gold_table(source, blocks.scale, item=item, label=label)
    folder = _gold_folder(blocks, items.names, truths)
    total = len(items.names)
    if folder is None:
        such = f"judged items are such as {blocks.names(0)[0]!r}"
        raise source.wrong(f"none of the {total:,} gold items was judged, and {such}")
    unjudged = manifest(folder)["unjudged"]
    if unjudged:
        message = f"{source.name}: nobody judged {unjudged:,} of the {total:,} gold items (kept with their truth)"
        warnings.warn(message, AdjudgeWarning, stacklevel=2)
    return replace(open_blocks(blocks.folder, folder), panel=blocks.panel)


def _gold_folder(blocks: Blocks, names: pl.Series, truths: Codes) -> Path | None:
    """Return the folder with the gold of all blocks, which is written if it does not exist; None if no item matches."""
    content = parquet({"item": names.cast(pl.String), "truth": truths})
    folder = blocks.folder / f"gold-{zlib.crc32(content):08x}"
    if (folder / MANIFEST).exists():
        return folder
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(folder)) from error
    judged = np.zeros(len(names), bool)
    for number in range(len(blocks.parts)):
        position = places(blocks.names(number), names)
        judged[position[position >= 0]] = True
        gold = np.where(position >= 0, truths[position], -1).astype(np.int32)
        write_file(gold.tobytes(), folder / gold_name(number))
    if not judged.any():
        shutil.rmtree(folder, ignore_errors=True)
        return None
    unjudged, last = np.flatnonzero(~judged), len(blocks.parts)
    write_file(truths[unjudged].astype(np.int32).tobytes(), folder / gold_name(last))
    write_file(parquet({"item": names.gather(unjudged)}), folder / items_name(last))
    write_file(json.dumps({"gold": len(names), "unjudged": unjudged.size}).encode(), folder / MANIFEST)
    return folder

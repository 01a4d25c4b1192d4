"""Known truths for judgments on disk: a folder with the truths of every block's items, found by their names."""

from __future__ import annotations

import json
import shutil
import warnings
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from adjudge.arrays import Codes
from adjudge.errors import AdjudgeWarning, InputError
from adjudge.judgments.blocks import MANIFEST, Blocks, gold_name, items_name, manifest, open_blocks, parquet
from adjudge.judgments.gold import by_topic, gold_source, gold_table, places
from adjudge.judgments.write import write_file


def with_gold(
    blocks: Blocks,
    gold: Any,
    *,
    item: str | None = None,
    label: str | None = None,
    format: str | None = None,  # noqa: A002
) -> Blocks:
    """Return the blocks with known truths; items that only gold knows are a block of their own, without judgments.

    ``item`` and ``label`` name columns, where gold has them.
    """
    source = gold_source(gold, format)
    item, label = (column if column in source.columns else None for column in (item, label))
    items, truths = gold_table(source, blocks.scale, item=item, label=label)
    folder = _shelved(blocks, items.names, truths)
    if folder is None and blocks.topics is not None and "topic" in source.columns:
        items, truths = gold_table(by_topic(source, item), blocks.scale, item="item", label=label)
        folder = _shelved(blocks, items.names, truths)
    many = len(items.names)
    if folder is None:
        such = f"judged items are such as {blocks.names(0)[0]!r}"
        raise source.wrong(f"none of the {many:,} gold items was judged, and {such}")
    unjudged = manifest(folder)["unjudged"]
    if unjudged:
        told = f"{source.name}: nobody judged {unjudged:,} of the {many:,} gold items, which are kept with their truth"
        warnings.warn(told, AdjudgeWarning, stacklevel=2)
    return open_blocks(blocks.folder, folder)


def _shelved(blocks: Blocks, names: pl.Series, truths: Codes) -> Path | None:
    """Return the folder with the truths of all blocks, made if it is not there; None where no item was judged."""
    told = parquet({"item": names.cast(pl.String), "truth": truths})
    folder = blocks.folder / f"gold-{zlib.crc32(told):08x}"
    if (folder / MANIFEST).exists():
        return folder
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", str(folder)) from error
    met = np.zeros(len(names), bool)
    for number in range(len(blocks.parts)):
        place = places(blocks.names(number), names)
        met[place[place >= 0]] = True
        known = np.where(place >= 0, truths[place], -1).astype(np.int32)
        write_file(known.tobytes(), folder / gold_name(number))
    if not met.any():
        shutil.rmtree(folder, ignore_errors=True)
        return None
    unjudged, last = np.flatnonzero(~met), len(blocks.parts)
    write_file(truths[unjudged].astype(np.int32).tobytes(), folder / gold_name(last))
    write_file(parquet({"item": names.gather(unjudged)}), folder / items_name(last))
    write_file(json.dumps({"gold": len(names), "unjudged": unjudged.size}).encode(), folder / MANIFEST)
    return folder

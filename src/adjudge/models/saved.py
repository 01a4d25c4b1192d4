"""A fit on disk: ``fit.json``, ``items.parquet``, ``judges.parquet``, ``params.npz``. Open formats, no pickle.

Files carry the number of their format. A later version reads all earlier ones; what it does not know of a
newer one it refuses, and says so.
"""

from __future__ import annotations

import io
import json
import zlib
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from adjudge.arrays import Floats, frozen
from adjudge.errors import InputError
from adjudge.judgments.scale import Scale
from adjudge.judgments.write import columns_of, frame, table_text, write_whole
from adjudge.models.base import Params
from adjudge.models.record import Fit

FORMAT = 2  # 1 had no skills of judges and no more of items than their posterior
FILES = ("fit.json", "items.parquet", "judges.parquet", "params.npz")


def save(fit: Fit, folder: str | Path) -> None:
    """Write a fit into a folder, whole or not at all."""
    write_whole(saved_files(fit), folder)


def saved_files(fit: Fit) -> dict[str, bytes]:
    """Return the files of a saved fit by name."""
    items: dict[str, Any] = {"item": fit.items, "label": fit.label}
    items |= {f"p{k}": fit.posterior[:, k] for k in range(fit.posterior.shape[1])}
    items |= {f"more{e}": fit.more[:, e] for e in range(fit.more.shape[1])}
    if fit.topic is not None:
        items["topic"] = fit.topic
    if fit.gold is not None:
        items["gold"] = fit.gold
    judges = {"judge": fit.judge_names, "judgments": fit.judged, "accuracy": fit.accuracy}
    about = {
        "format": FORMAT,
        "model": fit.model,
        "options": dict(fit.options),
        "scale": asdict(fit.scale),
        "topics": None if fit.topics is None else fit.topics.to_list(),
        "evidence": fit.evidence,
        "passes": fit.passes,
        "stopped": fit.stopped,
        "reason": fit.reason,
    }
    arrays, params = io.BytesIO(), {name: np.ascontiguousarray(field) for name, field in fit.params._asdict().items()}
    np.savez_compressed(arrays, allow_pickle=False, **params)
    files = {
        "items.parquet": table_text(frame(items), "parquet"),
        "judges.parquet": table_text(frame(judges), "parquet"),
        "params.npz": arrays.getvalue(),
    }
    about["checksums"] = {name: zlib.crc32(content) for name, content in files.items()}
    return {**files, "fit.json": json.dumps(about, indent=1).encode()}  # the one that vouches for the others, last


def load(folder: str | Path) -> Fit:
    """Read a saved fit."""
    place = Path(folder)
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        raise InputError(f"is not a saved fit: {missing[0]} is missing (adjudge fit --out writes one)", str(folder))
    files = {name: (place / name).read_bytes() for name in FILES}
    try:
        about = json.loads(files["fit.json"])
        if about["format"] > FORMAT:
            newer = f"was saved in format {about['format']} by a newer adjudge; this one reads up to {FORMAT}"
            raise InputError(newer, str(folder))
        changed = [name for name, checksum in about["checksums"].items() if zlib.crc32(files[name]) != checksum]
        if changed:
            raise InputError(
                f"is a damaged saved fit: {changed[0]} is not the file that was saved with it", str(folder)
            )
        with np.load(io.BytesIO(files["params.npz"]), allow_pickle=False) as arrays:
            params = Params(**{name: frozen(arrays[name]) for name in Params._fields if name in arrays})
        return _fit(about, columns_of(files["items.parquet"]), columns_of(files["judges.parquet"]), params)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"is a damaged saved fit: fit.json ({error})", str(folder)) from error


def _fit(about: dict[str, Any], items: dict[str, Any], judges: dict[str, Any], params: Params) -> Fit:
    """Return the record that the files describe."""
    labels = tuple(about["scale"]["labels"])
    topics = frame({"topic": about["topics"]})["topic"] if about["topics"] is not None else None
    return Fit(
        model=about["model"],
        options=MappingProxyType(about["options"]),
        items=items["item"],
        judge_names=judges["judge"],
        scale=Scale(labels, about["scale"]["ordinal"]),
        posterior=_stacked(items, "p"),
        label=frozen(items["label"].to_numpy()),
        params=params,
        more=_stacked(items, "more"),
        judged=frozen(judges["judgments"].to_numpy()),
        accuracy=frozen(judges["accuracy"].to_numpy()),
        topics=topics,
        topic=frozen(items["topic"].to_numpy()) if "topic" in items else None,
        gold=frozen(items["gold"].to_numpy()) if "gold" in items else None,
        evidence=tuple(about["evidence"]),
        passes=about["passes"],
        stopped=about["stopped"],
        reason=about.get("reason", ""),
    )


def _stacked(items: dict[str, Any], prefix: str) -> Floats:
    """Return the numbered columns of a table side by side (I, as many as there are)."""
    names = [name for name in items if name.removeprefix(prefix).isdigit()]
    return frozen(np.column_stack([items[name].to_numpy() for name in names]) if names else np.empty((0, 0)))

"""What a fit of blocks said of its items, a Parquet file a block, read back into a fit where memory holds it."""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.data.write import columns_of, frame, stacked, table_text, write_whole
from adjudge.errors import InputError
from adjudge.inference.calibration import calibration_of, told
from adjudge.inference.chains import Draws
from adjudge.inference.fitted import in_codes_of
from adjudge.inference.model import Model
from adjudge.inference.options import options_of
from adjudge.inference.params import Params
from adjudge.inference.registry import model_named
from adjudge.inference.result import Fit
from adjudge.kernels.block import Tally

LABELS = "labels"  # the folder of these files
ABOUT = "fit.json"  # what a saved fit says of itself
OF_MEMORY = (
    "labels.csv",
    "matrices.csv",
    "prevalence.csv",
    "ranks.csv",
    "judgments.parquet",
    "judgments.npz",
    "draws.npz",
)


def about_to_write(folder: str | Path) -> None:
    """Take away what makes a fit of a folder: were the writing of its items stopped, they would be of two fits.

    What only a fit in memory leaves there goes as well, or it would be taken for what this one says.
    """
    place = Path(folder)
    if (place / ABOUT).exists():  # or they are not files of a fit
        for name in (ABOUT, *OF_MEMORY):
            (place / name).unlink(missing_ok=True)
    for part in (place / LABELS).glob("part-*.parquet"):  # an earlier fit may have had more blocks
        part.unlink()


def with_parts(fit: Fit, folder: Path) -> Fit:
    """Return the fit with the items that its folder tells of."""
    tables = [columns_of(file.read_bytes()) for file in sorted((folder / LABELS).glob("part-*.parquet"))]
    table = stacked(tables)
    names = fit.scale.names
    posterior = np.column_stack([table[f"p_{name}"].to_numpy() for name in names])
    place = {name: k for k, name in enumerate(names)}
    told = [place.get(name, -1) for name in table["label"].cast(str).to_list()]
    label = np.where(np.array(told) >= 0, told, posterior.argmax(axis=1))  # labels that tie may be told together
    more = [table[name].to_numpy() for name in fit.definition.items.columns]
    return replace(
        fit,
        items=table["item"],
        posterior=frozen(posterior),
        label=frozen(label.astype(np.int32)),
        more=frozen(np.column_stack(more) if more else np.empty((0, 0))),
        topic=None if fit.topics is None else frozen(_places(table["topic"], fit.topics)),
        gold=frozen(_places(table["gold"], names)) if "gold" in table else None,
    )


def _places(column: Any, names: Any) -> Codes:
    """Return where each value of a column stands among names, -1 where it has none."""
    place = {str(name): n for n, name in enumerate(names)}
    found: Codes = np.array([-1 if value is None else place[str(value)] for value in column.to_list()], np.int32)
    return found


# A fit on disk: ``fit.json``, ``items.parquet``, ``judges.parquet``, ``params.npz``. Open formats, no pickle.
#
# Draws lie in ``draws.npz``, and the judgments that it was made from, in its codes, in ``judgments.npz``: from these it
# is updated.
#
# Files carry the number of their format. A later version reads all earlier ones; what it does not know of a
# newer one it refuses, and says so.

FORMAT = (
    5  # 1 had no skills of judges and no columns of item effects; 2 no draws; 3 no judgments; 4 no prevalence per topic
)
DRAWS = "draws.npz"  # of a model that was sampled
JUDGED = "judgments.npz"  # where they were kept
SOME = (DRAWS, JUDGED)  # fits have
FILES = ("fit.json", "items.parquet", "judges.parquet", "params.npz")


def save(fit: Fit, folder: str | Path, judgments: Any = None) -> None:
    """Write a fit into a folder, whole or not at all, and the judgments it was made from, where they are known."""
    if judgments is not None and not isinstance(judgments, Judgments):
        judgments = read(judgments, labels=fit.scale.labels, ordinal=fit.scale.ordinal)
    write_whole(saved_files(fit, judgments), folder)


def saved_files(fit: Fit, judgments: Judgments | None = None) -> dict[str, bytes]:
    """Return the files of a saved fit by name."""
    kept = fit.judgments if judgments is None else in_codes_of(fit, judgments)
    items: dict[str, Any] = {"item": fit.items, "label": fit.label}
    items |= {f"p{k}": fit.posterior[:, k] for k in range(fit.posterior.shape[1])}
    items |= {f"more{e}": fit.more[:, e] for e in range(fit.more.shape[1])}
    if fit.topic is not None:
        items["topic"] = fit.topic
    if fit.gold is not None:
        items["gold"] = fit.gold
    per_topic = fit.options.get("prevalence", "global") != "global"
    judges = {"judge": fit.judge_names, "judgments": fit.judged, "accuracy": fit.accuracy}
    about = {
        "format": FORMAT if per_topic else FORMAT - 1,  # so that earlier versions read what they can
        "model": fit.model,
        "options": {name: value for name, value in fit.options.items() if per_topic or name != "prevalence"},
        "scale": asdict(fit.scale),
        "topics": None if fit.topics is None else fit.topics.to_list(),
        "evidence": fit.evidence,
        "passes": fit.passes,
        "stopped": fit.stopped,
        "reason": fit.reason,
        "calibration": None if fit.calibration is None else told(fit.calibration),
    }
    counted = {} if fit.tally is None else {f"tally_{name}": part for name, part in fit.tally._asdict().items()}
    files = {
        "items.parquet": table_text(frame(items), "parquet"),
        "judges.parquet": table_text(frame(judges), "parquet"),
        "params.npz": _packed(fit.params._asdict() | counted, np.savez_compressed),
    }
    if fit.draws is not None:
        files[DRAWS] = _packed(fit.draws._asdict(), np.savez)  # draws hardly shrink, and take long to be packed
    if kept is not None:
        files[JUDGED] = _packed(_codes(kept), np.savez)
    about["checksums"] = {name: zlib.crc32(content) for name, content in files.items()}
    return {**files, "fit.json": json.dumps(about, indent=1).encode()}  # the one that vouches for the others, last


def load(folder: str | Path) -> Fit:
    """Read a saved fit."""
    place = Path(folder)
    missing = [name for name in FILES if not (place / name).is_file()]
    if missing:
        raise InputError(f"is not a saved fit: {missing[0]} is missing (adjudge fit --out writes one)", str(folder))
    some = [name for name in SOME if (place / name).is_file()]
    files = {name: (place / name).read_bytes() for name in (*FILES, *some)}
    try:
        about = json.loads(files["fit.json"])
        if about["format"] > FORMAT:
            newer = f"was saved in format {about['format']} by a newer adjudge; this one reads up to {FORMAT}"
            raise InputError(newer, str(folder))
        sums = about["checksums"]
        changed = [name for name in sums if zlib.crc32(files.get(name, b"")) != sums[name]]
        if changed:
            raise InputError(
                f"is a damaged saved fit: {changed[0]} is not the file that was saved with it", str(folder)
            )
        params = Params(**_unpacked(files["params.npz"], Params._fields))
        fit = _fit(about, columns_of(files["items.parquet"]), columns_of(files["judges.parquet"]), params)
        if not len(fit.items) and (place / LABELS).is_dir():
            fit = with_parts(fit, place)
        return replace(
            fit,
            draws=_draws(files[DRAWS]) if DRAWS in sums else None,
            judgments=_judgments(files[JUDGED], fit) if JUDGED in sums else None,
            tally=_tally(files["params.npz"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"is a damaged saved fit: fit.json ({error})", str(folder)) from error


def _fit(about: dict[str, Any], items: dict[str, Any], judges: dict[str, Any], params: Params) -> Fit:
    """Return the record that the files describe."""
    labels = tuple(about["scale"]["labels"])
    topics = frame({"topic": about["topics"]})["topic"] if about["topics"] is not None else None
    return Fit(
        definition=_definition(about["model"], about["options"]),
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
        calibration=calibration_of(about["calibration"]) if about.get("calibration") else None,
    )


def _definition(name: str, options: dict[str, Any]) -> Model:
    """Return the model of a saved fit, with the prior that it was fitted with."""
    saved = options_of(options)
    return model_named(name).variant(saved.prior, saved.prevalence)


def _packed(arrays: dict[str, Any], pack: Callable[..., None]) -> bytes:
    """Return named arrays as one file."""
    file = io.BytesIO()
    pack(file, allow_pickle=False, **{name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return file.getvalue()


def _unpacked(content: bytes, names: Sequence[str]) -> dict[str, Any]:
    """Return the arrays of a file by name, of those that it has."""
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: frozen(arrays[name]) for name in names if name in arrays}


def _draws(content: bytes) -> Draws:
    """Return saved draws."""
    found = _unpacked(content, Draws._fields)
    return Draws(**{**found, "complete": bool(found["complete"].item()), "sweeps": int(found["sweeps"].item())})


def _codes(judgments: Judgments) -> dict[str, Any]:
    """Return what is to be kept of judgments beside the names that a fit has: codes, as small as they can be."""
    small = np.min_scalar_type(max(len(judgments.judges) - 1, 0))
    codes = {"start": judgments.start, "judge": judgments.judge.astype(small), "label": judgments.label}
    return codes if judgments.weight is None else {**codes, "weight": judgments.weight}


def _judgments(content: bytes, fit: Fit) -> Judgments:
    """Return kept judgments, with the names of their fit."""
    found = _unpacked(content, ("start", "judge", "label", "weight"))
    return Judgments(
        items=fit.items,
        judges=fit.judge_names,
        scale=fit.scale,
        topics=fit.topics,
        topic=fit.topic,
        **{**found, "judge": frozen(found["judge"].astype(np.int32))},
    )


def _tally(content: bytes) -> Tally | None:
    """Return what was counted last, where that was kept."""
    found = _unpacked(content, [f"tally_{name}" for name in Tally._fields])
    if not found:
        return None
    return Tally(found["tally_truth"], found["tally_label"], float(found["tally_evidence"].item()))


def _stacked(items: dict[str, Any], prefix: str) -> Floats:
    """Return the numbered columns of a table side by side (I, as many as there are)."""
    names = [name for name in items if name.removeprefix(prefix).isdigit()]
    return frozen(np.column_stack([items[name].to_numpy() for name in names]) if names else np.empty((0, 0)))

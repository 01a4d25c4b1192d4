"""Saved fits: folders with ``fit.json``, ``items.parquet``, ``judges.parquet`` and ``params.npz``, and no pickle.

``draws.npz`` holds draws, and ``judgments.npz`` the judgments that the fit was made from, in its codes, from which it
can be updated. A fit of blocks has its items in ``labels``, one Parquet file per block.
``read_fit`` and ``read_fitted`` take what a caller names: a fit or its folder, and a table or its path.

Files carry the number of their format. This version reads all earlier formats, and refuses newer ones.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from adjudge.arrays import Codes, Floats, frozen
from adjudge.data.judgments import Judgments
from adjudge.data.panel import FIELDS, Panel, panel_of
from adjudge.data.read import read
from adjudge.data.scale import Scale
from adjudge.data.write import columns_of, frame, stacked, table_text, write_whole
from adjudge.errors import InputError, UsageError
from adjudge.inference.calibration import ARRAYS, Calibration, as_arrays, as_dict, calibration_of
from adjudge.inference.chains import Draws
from adjudge.inference.fitted import in_codes_of
from adjudge.inference.model import Model, model_named
from adjudge.inference.options import options_of
from adjudge.inference.params import Params
from adjudge.inference.result import Fit
from adjudge.kernels.block import Tally

LABELS = "labels"  # the folder of the items of a fit of blocks
JUDGMENTS = "judgments.parquet"  # the judgments of a fit, in its folder, if the command line saved them
ABOUT = "fit.json"  # the description of a saved fit, written last
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
    """Remove the files of an earlier fit from a folder before items are written: they would mix with the new ones.

    Files that only a fit in memory writes are removed as well.
    """
    path = Path(folder)
    if (path / ABOUT).exists():  # otherwise the files are not those of a fit
        for name in (ABOUT, *OF_MEMORY):
            (path / name).unlink(missing_ok=True)
    for part in (path / LABELS).glob("part-*.parquet"):  # an earlier fit may have had more blocks
        part.unlink()


def with_parts(fit: Fit, folder: Path) -> Fit:
    """Return the fit with the items in the Parquet files of its folder."""
    tables = [columns_of(file.read_bytes()) for file in sorted((folder / LABELS).glob("part-*.parquet"))]
    table = stacked(tables)
    names = fit.scale.names
    posterior = np.column_stack([table[f"p_{name}"].to_numpy() for name in names])
    position = {name: k for k, name in enumerate(names)}
    codes = [position.get(name, -1) for name in table["label"].cast(str).to_list()]
    label = np.where(np.array(codes) >= 0, codes, posterior.argmax(axis=1))  # tied labels may be written as one
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
    """Return the position of each value of a column among names, -1 for a missing value."""
    codes = {str(name): n for n, name in enumerate(names)}
    arrays: Codes = np.array([-1 if value is None else codes[str(value)] for value in column.to_list()], np.int32)
    return arrays


FORMAT = 5  # 1 had no skills of judges and no item effects; 2 no draws; 3 no judgments; 4 no topics
DRAWS = "draws.npz"
JUDGED = "judgments.npz"
SOME = (DRAWS, JUDGED)  # files that not every fit has
FILES = ("fit.json", "items.parquet", "judges.parquet", "params.npz")


def save(fit: Fit, folder: str | Path, judgments: Any = None) -> None:
    """Write a fit to a folder, completely or not at all.

    Parameters
    ----------
    fit
        The fit.
    folder
        A folder, which is made if needed; an earlier fit in it is replaced.
    judgments
        The judgments that the fit was made from; with them, the saved fit can be updated.

    Examples
    --------
    >>> import adjudge, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     adjudge.save(adjudge.fit(adjudge.dataset("anesthesia"), "majority"), folder)
    ...     adjudge.load(folder)
    Fit(majority: 45 items, 5 judges; counted once)
    """
    if isinstance(folder, Fit):
        raise UsageError("the arguments are swapped: write save(fit, folder)")
    if not isinstance(fit, Fit):
        raise UsageError(f"expected a fit, got {type(fit).__name__}: adjudge.fit(judgments) makes a fit")
    if not isinstance(folder, str | PathLike):
        raise UsageError(f"expected the path of a folder, got {type(folder).__name__}")
    if judgments is not None and not isinstance(judgments, Judgments):
        judgments = read(judgments, labels=fit.scale)
    write_whole(saved_files(fit, judgments), folder)


def saved_files(fit: Fit, judgments: Judgments | None = None) -> dict[str, bytes]:
    """Return the files of a saved fit by name; the description is last, because it has the checksums of the others."""
    judged = fit.judgments if judgments is None else in_codes_of(fit, judgments)
    judges = {"judge": fit.judge_names, "judgments": fit.judged, "accuracy": fit.accuracy}
    judges |= {} if fit.panel is None else fit.panel.columns()
    counted = {} if fit.tally is None else {f"tally_{name}": part for name, part in fit.tally._asdict().items()}
    if fit.calibration is not None:
        counted |= {f"calibration_{name}": array for name, array in as_arrays(fit.calibration).items()}
    files = {
        "items.parquet": table_text(frame(_item_columns(fit)), "parquet"),
        "judges.parquet": table_text(frame(judges), "parquet"),
        "params.npz": _packed(fit.params._asdict() | counted, np.savez_compressed),
    }
    if fit.draws is not None:
        files[DRAWS] = _packed(fit.draws._asdict(), np.savez)  # compression hardly shrinks draws, and takes long
    if judged is not None:
        files[JUDGED] = _packed(_codes(judged), np.savez)
    about = _description(fit) | {"checksums": {name: zlib.crc32(content) for name, content in files.items()}}
    return {**files, ABOUT: json.dumps(about, indent=1).encode()}


def _item_columns(fit: Fit) -> dict[str, Any]:
    """Return the columns of the saved table of items."""
    columns: dict[str, Any] = {"item": fit.items, "label": fit.label}
    columns |= {f"p{k}": fit.posterior[:, k] for k in range(fit.posterior.shape[1])}
    columns |= {f"more{e}": fit.more[:, e] for e in range(fit.more.shape[1])}
    optional = {"topic": fit.topic, "gold": fit.gold}
    return columns | {name: codes for name, codes in optional.items() if codes is not None}


def _description(fit: Fit) -> dict[str, Any]:
    """Return everything about a fit that is not an array."""
    per_topic, valued = fit.options.get("prevalence", "global") != "global", fit.scale.given_values is not None
    return {
        "format": FORMAT if per_topic else FORMAT - 1,  # so that earlier versions read what they can
        "model": fit.model,
        "options": {name: value for name, value in fit.options.items() if per_topic or name != "prevalence"},
        "scale": {name: value for name, value in asdict(fit.scale).items() if name != "values" or valued},
        "topics": None if fit.topics is None else fit.topics.to_list(),
        "evidence": fit.evidence,
        "passes": fit.passes,
        "stopped": fit.stopped,
        "reason": fit.reason,
        "calibration": None if fit.calibration is None else as_dict(fit.calibration),
    }


def load(folder: str | PathLike[str]) -> Fit:
    """Read a saved fit.

    Parameters
    ----------
    folder
        A folder that ``save`` or ``adjudge fit --out`` wrote.

    Returns
    -------
    Fit
        The fit; ``save`` has an example.
    """
    if not isinstance(folder, str | PathLike):
        raise UsageError(f"expected the folder of a saved fit, got {type(folder).__name__}")
    path = Path(folder)
    files = _read_files(path)
    try:
        about = json.loads(files[ABOUT])
        sums = about["checksums"]
        _refuse_files(about, files, str(folder))
        params = Params(**_unpacked(files["params.npz"], Params._fields))
        fit = _fit(about, columns_of(files["items.parquet"]), columns_of(files["judges.parquet"]), params)
        fit = replace(fit, calibration=_calibration(about, files["params.npz"]))
        if not len(fit.items) and (path / LABELS).is_dir():
            fit = with_parts(fit, path)
        return replace(
            fit,
            draws=_draws(files[DRAWS]) if DRAWS in sums else None,
            judgments=_judgments(files[JUDGED], fit) if JUDGED in sums else None,
            tally=_tally(files["params.npz"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"is a damaged saved fit: fit.json ({error})", str(folder)) from error


def _read_files(path: Path) -> dict[str, bytes]:
    """Return the contents of the files of a saved fit; refuse a folder without them."""
    missing = [name for name in FILES if not (path / name).is_file()]
    if missing:
        raise InputError(
            f"is not a saved fit: {missing[0]} is missing (adjudge.save and `adjudge fit --out` write one)", str(path)
        )
    return {name: (path / name).read_bytes() for name in (*FILES, *SOME) if (path / name).is_file()}


def _refuse_files(about: dict[str, Any], files: dict[str, bytes], folder: str) -> None:
    """Refuse a newer format, and files that do not belong together."""
    if about["format"] > FORMAT:
        newer = f"was saved in format {about['format']} by a newer adjudge; this one reads up to {FORMAT}"
        raise InputError(newer, folder)
    sums = about["checksums"]
    changed = [name for name in sums if zlib.crc32(files.get(name, b"")) != sums[name]]
    if changed:
        raise InputError(f"is a damaged saved fit: {changed[0]} is not the file that was saved with it", folder)


def _fit(about: dict[str, Any], items: dict[str, Any], judges: dict[str, Any], params: Params) -> Fit:
    """Return the record that the files describe."""
    scale = about["scale"]
    topics = frame({"topic": about["topics"]})["topic"] if about["topics"] is not None else None
    return Fit(
        definition=_definition(about["model"], about["options"]),
        options=MappingProxyType({**about["options"], "prevalence": about["options"].get("prevalence", "global")}),
        items=items["item"],
        judge_names=judges["judge"],
        scale=Scale(tuple(scale["labels"]), scale["ordinal"], tuple(scale.get("values", ()))),
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
        panel=_panel(judges),
    )


def _panel(judges: dict[str, Any]) -> Panel | None:
    """Return what is known about the judges, from the saved table of judges; earlier versions saved nothing of it."""
    facts = {name: judges[name].to_list() for name in FIELDS if name in judges}
    return panel_of(judges["judge"].to_list(), facts) if facts else None


def _calibration(about: dict[str, Any], content: bytes) -> Calibration | None:
    """Return the saved calibration, if there is one."""
    if not about.get("calibration"):
        return None
    arrays = _unpacked(content, [f"calibration_{name}" for name in ARRAYS])
    by_name = {name.removeprefix("calibration_"): array for name, array in arrays.items()}
    return calibration_of(about["calibration"], by_name)


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
    arrays = _unpacked(content, Draws._fields)
    return Draws(**{**arrays, "complete": bool(arrays["complete"].item()), "sweeps": int(arrays["sweeps"].item())})


def _codes(judgments: Judgments) -> dict[str, Any]:
    """Return the codes of judgments in the smallest types; their names are those of the fit."""
    small = np.min_scalar_type(max(len(judgments.judges) - 1, 0))
    codes = {"start": judgments.start, "judge": judgments.judge.astype(small), "label": judgments.label}
    optional = {"weight": judgments.weight, "abstained": judgments.abstained}
    return codes | {name: column for name, column in optional.items() if column is not None}


def _judgments(content: bytes, fit: Fit) -> Judgments:
    """Return saved judgments, with the names of their fit."""
    arrays = _unpacked(content, ("start", "judge", "label", "weight", "abstained"))
    return Judgments(
        items=fit.items,
        judges=fit.judge_names,
        scale=fit.scale,
        topics=fit.topics,
        topic=fit.topic,
        panel=fit.panel,
        **{**arrays, "judge": frozen(arrays["judge"].astype(np.int32))},
    )


def _tally(content: bytes) -> Tally | None:
    """Return the saved tally, if there is one."""
    arrays = _unpacked(content, [f"tally_{name}" for name in Tally._fields])
    if not arrays:
        return None
    return Tally(arrays["tally_truth"], arrays["tally_label"], float(arrays["tally_evidence"].item()))


def _stacked(items: dict[str, Any], prefix: str) -> Floats:
    """Return the numbered columns of a table side by side (I, as many as there are)."""
    names = [name for name in items if name.removeprefix(prefix).isdigit()]
    return frozen(np.column_stack([items[name].to_numpy() for name in names]) if names else np.empty((0, 0)))


def read_fit(fit: Fit | str | PathLike[str], other: Any = None) -> Fit:
    """Return a fit: the record itself, or the one that a folder holds.

    ``other`` is the argument that follows the fit, if there is one: a fit there means that the two are swapped.
    """
    if isinstance(fit, Fit):
        return fit
    if isinstance(other, Fit):
        raise UsageError(f"the arguments are swapped: the fit comes first, then the {type(fit).__name__}")
    if isinstance(fit, str | PathLike):
        return load(fit)
    kind = type(fit).__name__
    raise UsageError(f"expected a fit or the folder of a saved one, got {kind}: adjudge.fit(judgments) makes a fit")


def read_fitted(fit: Fit | str | PathLike[str], judgments: Any = None) -> tuple[Fit, Judgments]:
    """Return a fit and the judgments that it was made from.

    ``judgments`` are a frame, a path or ``Judgments``. By default they are those in the folder of the fit, or those
    that the fit itself keeps.
    """
    record = read_fit(fit, judgments)
    if isinstance(judgments, Judgments):
        return record, judgments
    if judgments is not None:
        return record, read(judgments, labels=record.scale)
    saved = saved_judgments(fit, record)
    if saved is None:
        raise UsageError("the fit does not hold the judgments that it was made from: pass them as judgments")
    return record, saved


def saved_judgments(fit: Fit | str | PathLike[str], record: Fit) -> Judgments | None:
    """Return the judgments in the folder of a fit, or those that the fit itself keeps; None if there are none."""
    if not isinstance(fit, Fit) and (Path(fit) / JUDGMENTS).is_file():
        return read(str(Path(fit) / JUDGMENTS), labels=record.scale)
    return record.judgments

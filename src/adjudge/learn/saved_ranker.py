"""A ranker on disk: ``ranker.json`` and ``ranker.npz``, of LambdaMART also ``trees.txt``. Open formats, no pickle.

Files carry the number of their format. A later version reads all earlier ones; a newer one is refused.
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.errors import InputError, quoted
from adjudge.judgments.write import write_whole

FORMAT = 1
ABOUT, ARRAYS, TREES = "ranker.json", "ranker.npz", "trees.txt"


class Kind(NamedTuple):
    """A ranker that can be saved: where it lives, and what of it is kept beside its parameters."""

    home: str
    arrays: tuple[str, ...]
    numbers: tuple[str, ...]
    trees: bool = False


KINDS: Mapping[str, Kind] = {
    "RankSVM": Kind(
        "adjudge.learn.ranksvm",
        ("coef_",),
        ("intercept_", "c_", "objective_", "n_iter_", "pairs_", "groups_without_pairs_", "n_features_in_"),
    ),
    "LambdaMART": Kind(
        "adjudge.learn.lambdamart", (), ("pairs_", "groups_without_pairs_", "n_features_in_"), trees=True
    ),
}


def save(ranker: Any, folder: str | Path) -> None:
    """Write a fitted ranker into a folder, whole or not at all."""
    write_whole(saved_files(ranker), folder)


def saved_files(ranker: Any) -> dict[str, bytes]:
    """Return the files of a saved ranker by name."""
    from adjudge.learn.scikit import check_is_fitted

    check_is_fitted(ranker)
    name = type(ranker).__name__
    kind = KINDS[name]
    packed = io.BytesIO()
    np.savez_compressed(packed, **{array: getattr(ranker, array) for array in kind.arrays})
    files = {ARRAYS: packed.getvalue()}
    if kind.trees:
        files[TREES] = ranker.trees_.encode()
    names = getattr(ranker, "feature_names_in_", None)
    about = {
        "format": FORMAT,
        "ranker": name,
        "parameters": ranker.get_params(),
        "numbers": {number: getattr(ranker, number) for number in kind.numbers},
        "features": None if names is None else [str(feature) for feature in names],
        "checksums": {file: zlib.crc32(content) for file, content in files.items()},
    }
    return {**files, ABOUT: json.dumps(about, indent=1).encode()}  # the one that vouches for the others, last


def load_ranker(folder: str | Path) -> Any:
    """Read a saved ranker."""
    place = Path(folder)
    if not (place / ABOUT).is_file():
        raise InputError(
            f"is not a saved ranker: {ABOUT} is missing (adjudge rerank train --out writes one)", str(folder)
        )
    try:
        about = json.loads((place / ABOUT).read_bytes())
        if about["format"] > FORMAT:
            newer = f"was saved in format {about['format']} by a newer adjudge; this one reads up to {FORMAT}"
            raise InputError(newer, str(folder))
        if about["ranker"] not in KINDS:
            raise InputError(f"holds a {about['ranker']}, expected one of {quoted(KINDS)}", str(folder))
        files = {name: _whole(place / name, checksum) for name, checksum in about["checksums"].items()}
        return _ranker(about, files)
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise InputError(f"is a damaged saved ranker: {error}", str(folder)) from error


def _ranker(about: dict[str, Any], files: dict[str, bytes]) -> Any:
    """Return the ranker that the files describe."""
    kind = KINDS[about["ranker"]]
    make: Callable[..., Any] = getattr(import_module(kind.home), about["ranker"])
    ranker = make(**about["parameters"])
    with np.load(io.BytesIO(files[ARRAYS]), allow_pickle=False) as packed:
        for array in kind.arrays:
            setattr(ranker, array, packed[array])
    for number in kind.numbers:
        setattr(ranker, number, about["numbers"][number])
    if about["features"] is not None:
        ranker.feature_names_in_ = np.array(about["features"], dtype=object)
    if kind.trees:
        ranker.trees_ = files[TREES].decode()
    return ranker


def _whole(path: Path, checksum: int) -> bytes:
    """Return a file's content, refusing one that is not what was saved."""
    content = path.read_bytes()
    if zlib.crc32(content) != checksum:
        raise ValueError(f"{path.name} is not the file that was saved with it")
    return content

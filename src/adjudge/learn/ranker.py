"""The base class of rankers, and saved rankers.

A saved ranker is a folder with ``ranker.json`` and ``ranker.npz``, and with trees also ``trees.txt`` (an average has
``trees-1.txt``, ``trees-2.txt`` and so on): open formats, no pickle. The files carry the number of their format.
Earlier formats are read; a newer one is refused.
"""

from __future__ import annotations

import io
import json
import warnings
import zlib
from collections.abc import Callable, Mapping
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.write import write_whole
from adjudge.errors import AdjudgeWarning, InputError, MissingExtra, UsageError, quote, quoted
from adjudge.learn.pairs import NothingToLearn, concordance
from adjudge.learn.scikit import BaseEstimator

ROUTE = (
    "by sklearn.set_config(enable_metadata_routing=True), .set_fit_request(groups=True, sample_weight=True)"
    ".set_score_request(groups=True, sample_weight=True) on the ranker, and cv=GroupKFold()"
)


class NoGroupsWarning(AdjudgeWarning):
    """A ranker was given no groups, and takes all rows for those of one question."""


def warn_without_groups(groups: Any, method: str) -> None:
    """Warn the caller of a ranker's method that rows of different questions are compared, if they are."""
    if groups is None:
        warnings.warn(
            f"{method} got no groups, so all rows form one group, and rows of different questions are compared. Pass "
            f"groups, the question of each row; in a parameter search, {ROUTE}. If there is only one question, pass "
            "equal groups",
            NoGroupsWarning,
            stacklevel=3,
        )


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator that ranks; subclasses define ``decision_function``."""

    def __sklearn_tags__(self) -> Any:
        """Return the estimator tags of scikit-learn: targets are required."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def predict(self, X: Any) -> Floats:
        """Return the score of every row (N), as ``decision_function`` does."""
        scores: Floats = self.decision_function(X)
        return scores

    def score(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> float:
        """Return the share of pairs in the right order; a tie counts one half."""
        warn_without_groups(groups, "score")
        return concordance(self.decision_function(X), y, groups, sample_weight)

    def save(self, folder: str | Path) -> None:
        """Save to a folder of open files (JSON, NPZ, text); ``load_ranker`` reads it."""
        save(self, folder)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a parameter is a number of Python or numpy, and not a bool."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_flags(**values: object) -> None:
    """Refuse a parameter that is neither True nor False (the text 'no' would count as True)."""
    for name, value in values.items():
        if not isinstance(value, Integral | np.bool_) or value not in (0, 1):
            raise NothingToLearn(f"{name} {quote(value)} is neither True nor False")


FORMAT = 2  # 2 added averages of rankers, and random trees
ABOUT, ARRAYS, TREES = "ranker.json", "ranker.npz", "trees.txt"
FRACTIONS = ("intercept_", "c_", "objective_")  # numbers that need not be integers


class Kind(NamedTuple):
    """A ranker that can be saved: its module, and the attributes that are saved."""

    home: str
    arrays: tuple[str, ...]
    numbers: tuple[str, ...]
    trees: bool = False
    average: bool = False  # of several rankers: any number of trees, and no parameters


KINDS: Mapping[str, Kind] = {
    "RankSVM": Kind(
        "adjudge.learn.ranksvm",
        ("coef_",),
        ("intercept_", "c_", "objective_", "n_iter_", "pairs_", "groups_without_pairs_", "n_features_in_"),
    ),
    "LambdaMART": Kind(
        "adjudge.learn.lambdamart", (), ("pairs_", "groups_without_pairs_", "n_features_in_"), trees=True
    ),
    "AverageRanker": Kind(
        "adjudge.learn.average",
        ("coef_", "tree_weights_"),
        ("intercept_", "pairs_", "groups_without_pairs_", "n_features_in_"),
        average=True,
    ),
}


def save(ranker: Any, folder: str | Path) -> None:
    """Write a fitted ranker into a folder, completely or not at all."""
    write_whole(saved_files(ranker), folder)


def saved_files(ranker: Any) -> dict[str, bytes]:
    """Return the files of a saved ranker by name."""
    from adjudge.learn.scikit import check_is_fitted

    check_is_fitted(ranker)
    name = type(ranker).__name__
    if name not in KINDS:
        raise UsageError(f"a {name} cannot be saved; {quoted(KINDS)} can")
    kind = KINDS[name]
    packed = io.BytesIO()
    np.savez_compressed(packed, **{array: getattr(ranker, array) for array in kind.arrays})
    files = {ARRAYS: packed.getvalue()}
    if kind.trees:
        files[TREES] = ranker.trees_.encode()
    elif kind.average:
        files |= {_numbered(n): trees.encode() for n, trees in enumerate(ranker.trees_)}
    parameters = {} if kind.average else ranker.get_params()
    names = getattr(ranker, "feature_names_in_", None)
    about = {
        "format": FORMAT,
        "ranker": name,
        "parameters": {name: _plain(name, value) for name, value in parameters.items()},
        "numbers": {number: _plain(number, getattr(ranker, number)) for number in kind.numbers},
        "features": None if names is None else [str(feature) for feature in names],
        "checksums": {file: zlib.crc32(content) for file, content in files.items()},
    }
    about["checksum"] = zlib.crc32(_text(about))  # of the entries above
    return {**files, ABOUT: _text(about)}  # last, because it holds the checksums of the others


def _numbered(n: int) -> str:
    """Return the name of the file of the trees of one of the averaged rankers."""
    return f"trees-{n + 1}.txt"


def _text(about: Mapping[str, Any]) -> bytes:
    """Return the description of a ranker as it is written."""
    return json.dumps(about, indent=1).encode()


def _plain(name: str, value: Any) -> Any:
    """Return a parameter as a JSON value."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is not None and not isinstance(plain, bool | int | float | str):
        raise UsageError(f"{name} {quote(value)} cannot be saved: only numbers, text, True and False can")
    return plain


def load_ranker(folder: str | Path) -> Any:
    """Read a saved ranker.

    Parameters
    ----------
    folder
        The folder that ``save`` of a ranker, or ``adjudge rerank train --out``, wrote.

    Returns
    -------
    RankSVM, LambdaMART or AverageRanker

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from adjudge import RankSVM
    >>> ranker = RankSVM().fit([[2.0], [1.0]], [1, 0], groups=["a", "a"])
    >>> with TemporaryDirectory() as folder:
    ...     ranker.save(f"{folder}/ranker")
    ...     load_ranker(f"{folder}/ranker").predict([[3.0], [5.0]]).argmax()
    np.int64(1)

    """
    if not (Path(folder) / ABOUT).is_file():
        raise InputError(
            f"is not a saved ranker: {ABOUT} is missing (adjudge rerank train --out writes one)", str(folder)
        )
    try:
        return _build(*_read_files(Path(folder), str(folder)))
    except (InputError, MissingExtra):
        raise
    except Exception as error:  # the readers of JSON, ZIP and NPY raise many kinds of errors
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error) or type(error).__name__
        raise InputError(f"is a damaged saved ranker: {why}; train and save it again", str(folder)) from error


def _read_files(path: Path, name: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the description of a ranker and its files by name, with checksums verified."""
    about = json.loads((path / ABOUT).read_bytes())
    if not isinstance(about, dict):
        raise ValueError(f"{ABOUT} is not a description of a ranker")
    format_, ranker = _whole_number(about, "format"), about["ranker"]
    if format_ > FORMAT:
        raise InputError(f"was saved in format {format_} by a newer adjudge; this one reads up to {FORMAT}", name)
    if not isinstance(ranker, str) or ranker not in KINDS:
        raise InputError(f"holds a {ranker}, expected one of {quoted(KINDS)}", name)
    checksum = about.pop("checksum", None)  # early files have none
    if checksum is not None and checksum != zlib.crc32(_text(about)):
        raise ValueError(f"{ABOUT} was changed after it was saved")
    names: tuple[str, ...] = (ARRAYS, TREES) if KINDS[ranker].trees else (ARRAYS,)
    if KINDS[ranker].average:
        names = (ARRAYS, *(_numbered(n) for n in range(len(about["checksums"]) - 1)))
    return about, {file: _content(path / file, about["checksums"][file]) for file in names}


def _build(about: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
    """Return the ranker that the files describe."""
    kind = KINDS[about["ranker"]]
    make: Callable[..., Any] = getattr(import_module(kind.home), about["ranker"])
    ranker = make(**about["parameters"])
    ranker.check_parameters()
    for number in kind.numbers:
        read = _finite_number if number in FRACTIONS else _whole_number
        setattr(ranker, number, read(about["numbers"], number))
    F = ranker.n_features_in_
    size = {"coef_": F, "tree_weights_": len(files) - 1}
    with np.load(io.BytesIO(files[ARRAYS]), allow_pickle=False) as packed:
        for array in kind.arrays:
            setattr(ranker, array, _finite_array(packed[array], array, size[array]))
    names = about["features"]
    if names is not None:
        if not isinstance(names, list) or len(names) != F or not all(isinstance(name, str) for name in names):
            raise ValueError(f"features must be the names of {F:,} features")
        ranker.feature_names_in_ = np.array(names, dtype=object)
    if kind.trees:
        ranker.trees_ = _trees(files[TREES].decode(), F)
    elif kind.average:
        ranker.trees_ = tuple(_trees(files[_numbered(n)].decode(), F) for n in range(len(files) - 1))
    return ranker


def _content(path: Path, checksum: int) -> bytes:
    """Return the content of a file after verifying its checksum."""
    content = path.read_bytes()
    if zlib.crc32(content) != checksum:
        raise ValueError(f"{path.name} was changed after it was saved")
    return content


def _finite_number(numbers: Mapping[str, Any], name: str) -> float:
    """Return a number by its name."""
    value = numbers[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not np.isfinite(float(value)):
        raise ValueError(f"{name} {quote(value)} is not a finite number")
    return float(value)


def _whole_number(numbers: Mapping[str, Any], name: str) -> int:
    """Return a count by its name."""
    value = numbers[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} {quote(value)} is not a whole number")
    return value


def _finite_array(array: Any, name: str, size: int) -> Floats:
    """Return an array of ``size`` finite numbers."""
    if array.dtype != np.float64 or array.shape != (size,) or not np.isfinite(array).all():
        each = "feature" if name == "coef_" else "file of trees"
        raise ValueError(f"{name} of shape {array.shape} must be {size:,} finite numbers, one for each {each}")
    return np.asarray(array, dtype=np.float64)


def _trees(text: str, features: int) -> str:
    """Return the trees of LightGBM; refuse trees that are cut off or have another number of features."""
    lines = text.splitlines()
    if lines[:1] != ["tree"] or f"max_feature_idx={features - 1}" not in lines or "end of trees" not in lines:
        raise ValueError(f"{TREES} does not hold trees of {features:,} features")
    return text

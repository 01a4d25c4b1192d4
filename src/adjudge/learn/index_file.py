"""An index on disk: names, terms and settings as JSON beside the postings as arrays.

Searching looks up places without asking whether they are there, so that everything it relies on is checked when an
index is read: a file that was damaged, cut off, mixed with another index or made by hand is refused. The arrays have
checksums, as every zip archive, and one of them is the digest of the JSON file.
"""

from __future__ import annotations

import hashlib
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from adjudge.arrays import Codes
from adjudge.errors import InputError
from adjudge.learn.array_file import read_arrays
from adjudge.learn.passages import UNFIT
from adjudge.learn.text import VERSION

FORMAT = 2  # 1 had no digest
FILES = ("index.json", "postings.npz")
DAMAGED = "the index is damaged: make it again"


class Postings(NamedTuple):
    """For every term, the passages that have it."""

    start: Codes  # (V + 1)
    passage: Codes
    weight: NDArray[np.float32]  # what the term adds to the passage's score


KINDS = {"start": np.int64, "passage": np.int32, "weight": np.float32, "digest": np.uint8}


class Stored(NamedTuple):
    """What an index is made of."""

    k1: float
    b: float
    stem: bool
    stop: bool
    passages: list[str]  # names in rising order
    terms: list[str]
    postings: Postings


def index_files(stored: Stored) -> dict[str, bytes]:
    """Return the files of an index by their names."""
    about = {"format": FORMAT, "text": VERSION, **stored._asdict()}
    del about["postings"]
    listed = json.dumps(about, ensure_ascii=False).encode()
    arrays = io.BytesIO()
    np.savez(arrays, **stored.postings._asdict(), digest=_digest(listed))
    return dict(zip(FILES, (listed, arrays.getvalue()), strict=True))


def read_index(folder: str | Path) -> Stored:
    """Return what an index is made of from its folder; refused where anything in it is not as it was written."""
    try:
        listed, arrays = ((Path(folder) / name).read_bytes() for name in FILES)
    except FileNotFoundError as error:
        raise InputError("holds no index: there is no index.json or no postings.npz", str(folder)) from error
    except OSError as error:
        raise InputError(f"the index cannot be read: {error.strerror}", str(folder)) from error
    try:
        about = json.loads(listed)
        made = about["format"], about["text"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(DAMAGED, str(folder)) from error
    if made != (FORMAT, VERSION):
        raise InputError("the index is of another version of adjudge: make it again", str(folder))
    try:
        *parts, digest = read_arrays(arrays, tuple(KINDS), len(arrays))
        stored = Stored(**{name: about[name] for name in Stored._fields[:-1]}, postings=Postings(*parts))
        whole = (
            all(part.dtype == kind for part, kind in zip((*parts, digest), KINDS.values(), strict=True))
            and np.array_equal(digest, _digest(listed))
            and _sound(stored)
            and _fit(stored.postings, len(stored.passages), len(stored.terms))
        )
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(DAMAGED, str(folder)) from error
    if not whole:
        raise InputError(DAMAGED, str(folder))
    return stored


def _digest(listed: bytes) -> NDArray[np.uint8]:
    """Return the digest of the JSON file (32)."""
    return np.frombuffer(hashlib.sha256(listed).digest(), np.uint8)


def _sound(stored: Stored) -> bool:
    """Whether settings are in range, and passages and terms are lists of names, each once, that a run can hold."""
    passages, terms = stored.passages, stored.terms
    return (
        all(type(number) is float for number in (stored.k1, stored.b))
        and 0 <= stored.k1 < np.inf
        and 0 <= stored.b <= 1
        and all(type(flag) is bool for flag in (stored.stem, stored.stop))
        and _names(passages)
        and _names(terms)
        and len(passages) > 0
        and all(one < other for one, other in pairwise(passages))  # ties are broken by number
        and len(set(terms)) == len(terms)
        and not pl.Series(passages, dtype=pl.String).str.contains(UNFIT).any()
    )


def _names(listed: Any) -> bool:
    """Whether this is a list of texts that are not empty."""
    return isinstance(listed, list) and all(type(name) is str and name for name in listed)


def _fit(postings: Postings, passages: int, terms: int) -> bool:
    """Whether every place that searching looks up is there, and every sum of weights is a score."""
    start, passage, weight = postings
    if start.size != terms + 1 or start[0] != 0 or start[-1] != passage.size or passage.size != weight.size:
        return False
    if (start[1:] < start[:-1]).any() or passage.min(initial=0) < 0 or passage.max(initial=-1) >= passages:
        return False
    rises = passage[1:] > passage[:-1]
    rises[start[(start > 0) & (start < passage.size)] - 1] = True  # where the next term begins
    most = np.log(passages + 1)  # no term is rarer than that, and none adds more than its rarity
    return bool(rises.all() and (weight >= 0).all() and (weight <= most).all())

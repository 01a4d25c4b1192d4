"""Find and read the sets of a study: folders with labels.csv and gold.csv.

Labels have the order of ``label_order`` in the folder's meta.json (lowest first) if that has all labels, or the order
of their numbers. Gold is used for scoring: gold items without judgments are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.formats import open_source
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import number_of
from adjudge.errors import InputError, UsageError, quoted
from adjudge.metrics.compare import truths

LABELS, GOLD, META = "labels.csv", "gold.csv", "meta.json"
TRAINED_ON_SETS = ("consensus",)  # learned on the shared sets: ``studies.honesty`` scores it with families left out
SHARED = "ADJUDGE_SHARED"  # environment variable with the folder of the shared data
BESIDE = Path("..", "shared")  # their folder if the variable is not set


class Crowd(NamedTuple):
    """A set: judgments, and the truths of the items that are scored."""

    name: str
    judgments: Judgments
    truth: Codes  # (M) of the items with judgments and gold
    item: Codes  # (M) the codes of these items


def data_folder(path: str | None = None) -> Path:
    """Return the folder of the sets, by default that of the shared data; refuse one that does not exist."""
    folder = Path(os.environ.get(SHARED, BESIDE)) / "data" if path is None else Path(path)
    if not folder.is_dir():
        message = (
            f"there is no such folder: name one that holds sets ({LABELS} and {GOLD} in a folder each) with --data"
        )
        raise InputError(f"{message}, or set {SHARED} to the folder whose data/ does", str(folder))
    return folder


def list_sets(folder: Path) -> list[str]:
    """Return the names of the sets in a folder."""
    return sorted(path.parent.name for path in folder.glob(f"*/{LABELS}") if (path.parent / GOLD).is_file())


def read_crowd(folder: Path, name: str, columns: Sequence[str], ordinal: bool) -> Crowd:
    """Return a set by its name; labels are in the first of ``columns`` that both files have."""
    labels, gold = (folder / name / file for file in (LABELS, GOLD))
    for path in (labels, gold):
        if not path.is_file():
            names = quoted(list_sets(folder), most=99)
            raise InputError(
                f"there is no such file; the sets of {folder} are {names}: name them with --sets", str(path)
            )
    both = set(open_source(str(labels)).columns) & set(open_source(str(gold)).columns)
    column = next((column for column in columns if column in both), None)
    judgments = read(str(labels), label=column)
    if ordinal:
        judgments = read(str(labels), label=column, labels=_in_order(folder / name, judgments), ordinal=True)
    truth = truths(str(gold), judgments, label=column)[: len(judgments.items)]
    item = np.flatnonzero(truth >= 0)
    return Crowd(name, judgments, truth[item], item)


def gold_folds(crowd: Crowd, folds: int, seed: int) -> Iterator[tuple[Codes | None, Codes]]:
    """Yield gold for a fit (I), -1 if unknown, and the index of the items that are scored with this fit.

    Without folds there is no gold, and one fit scores all items.
    """
    M = crowd.truth.size
    if not folds:
        yield None, np.arange(M)
        return
    if not 2 <= folds <= M:
        raise UsageError(f"{M:,} items with gold do not make {folds} folds")
    fold = np.random.default_rng(seed).permutation(np.arange(M) % folds)
    for f in range(folds):
        gold = np.full(len(crowd.judgments.items), -1, np.int32)
        gold[crowd.item[fold != f]] = crowd.truth[fold != f]
        yield gold, np.flatnonzero(fold == f)


def _in_order(folder: Path, judgments: Judgments) -> Sequence[str]:
    """Return the labels in order, lowest first."""
    names = judgments.scale.names
    order = [str(label) for label in read_meta(folder / META).get("label_order", ())]
    if set(order) >= set(names):
        return order
    if all(number_of(label) is not None for label in names):
        return names
    message = f"the order of the labels {quoted(names)} is not known"
    raise InputError(f'{message}: give it, lowest first, as "label_order" in {folder / META}', str(folder / LABELS))


def read_meta(path: Path) -> dict[str, Any]:
    """Return the content of a meta.json, empty if there is no such file."""
    if not path.is_file():
        return {}
    try:
        meta = json.loads(path.read_text(encoding="utf8"))
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", str(path)) from error
    return meta if isinstance(meta, dict) else {}

"""The crowds of a study: folders that hold labels.csv and gold.csv, found and read.

Labels have the order of the folder's meta.json (``label_order``, lowest first) where that names them all, and else the
order of their numbers. Gold is for scoring: items that nobody judged are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.formats import open_source
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.scale import number_of
from adjudge.errors import InputError, quoted
from adjudge.metrics.compare import truths

LABELS, GOLD, META = "labels.csv", "gold.csv", "meta.json"
SHARED = "ADJUDGE_SHARED"  # the variable that says where the shared data are
BESIDE = Path("..", "shared")  # where they are if it says nothing


class Crowd(NamedTuple):
    """Judgments, and the truths of the items that are scored."""

    name: str
    judgments: Judgments
    truth: Codes  # (M) of the items that were judged and have gold
    place: Codes  # (M) of these among the items


def data_folder(given: str | None = None) -> Path:
    """Return the folder of the sets: the one given, or that of the shared data; it must be there."""
    folder = Path(os.environ.get(SHARED, BESIDE)) / "data" if given is None else Path(given)
    if not folder.is_dir():
        what = f"there is no such folder: name one that holds sets ({LABELS} and {GOLD} in a folder each) with --data"
        raise InputError(f"{what}, or set {SHARED} to the folder whose data/ does", str(folder))
    return folder


def sets_in(folder: Path) -> list[str]:
    """Return the names of the sets that a folder holds."""
    return sorted(path.parent.name for path in folder.glob(f"*/{LABELS}") if (path.parent / GOLD).is_file())


def read_crowd(folder: Path, name: str, columns: Sequence[str], ordinal: bool) -> Crowd:
    """Return a set by its name, with its labels from the first of these columns that labels and gold both have."""
    labels, gold = (folder / name / file for file in (LABELS, GOLD))
    for path in (labels, gold):
        if not path.is_file():
            known = quoted(sets_in(folder), most=99)
            raise InputError(
                f"there is no such file; the sets of {folder} are {known}: name them with --sets", str(path)
            )
    both = set(open_source(str(labels)).columns) & set(open_source(str(gold)).columns)
    column = next((column for column in columns if column in both), None)
    judgments = read(str(labels), label=column)
    if ordinal:
        judgments = read(str(labels), label=column, labels=_in_order(folder / name, judgments), ordinal=True)
    truth = truths(str(gold), judgments, label=column)[: len(judgments.items)]
    place = np.flatnonzero(truth >= 0)
    return Crowd(name, judgments, truth[place], place)


def _in_order(folder: Path, judgments: Judgments) -> Sequence[str]:
    """Return the labels in their order, lowest first."""
    names = judgments.scale.names
    order = [str(label) for label in told_of(folder / META).get("label_order", ())]
    if set(order) >= set(names):
        return order
    if all(number_of(label) is not None for label in names):
        return names
    what = f"the order of the labels {quoted(names)} is not known"
    raise InputError(f'{what}: give it, lowest first, as "label_order" in {folder / META}', str(folder / LABELS))


def told_of(path: Path) -> dict[str, Any]:
    """Return what a meta.json tells of a set, nothing where there is none."""
    if not path.is_file():
        return {}
    try:
        told = json.loads(path.read_text(encoding="utf8"))
    except ValueError as error:
        raise InputError(f"is not JSON: {error}", str(path)) from error
    return told if isinstance(told, dict) else {}

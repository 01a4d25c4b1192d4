"""What the consensus believes, as the serving process reads it: numpy and JSON, and none of the models.

The files lie in the folder ``consensus`` of a campaign, written by another process, each whole or not at all:

- belief.npy: P(relevant) of every item, by its number;
- judges.npz: the numbers of people, their confusions (J, 2, 2), and the typical one (2, 2);
- summary.json, judges.json, items.json: what the desk shows.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.studio.gates.information import TYPICAL

FOLDER = "consensus"
BELIEF, CONFUSION, SUMMARY, JUDGES, ITEMS = "belief.npy", "judges.npz", "summary.json", "judges.json", "items.json"
UNKNOWN = 0.5  # of an item, before anything is known of items


class Beliefs:
    """The newest consensus of a campaign; without one, all that is believed before anything is known."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder) / FOLDER
        self.array: Floats = np.empty(0)  # (I) P(relevant) by the item's number
        self.typical: Floats = TYPICAL
        self.upto = 0  # the number of the last judgment that it knows
        self.due = False  # whether the desk's cards wait to be drawn anew
        self._confusion: dict[int, Floats] = {}
        self._seen = -1
        self.refresh()

    def refresh(self) -> bool:
        """Read the files if they are newer than what was read; say whether they were."""
        try:
            written = (self.folder / SUMMARY).stat().st_mtime_ns
            if written == self._seen:
                return False
            summary = json.loads((self.folder / SUMMARY).read_text("utf-8"))
            belief = np.load(self.folder / BELIEF, allow_pickle=False)
            with np.load(self.folder / CONFUSION, allow_pickle=False) as file:
                person, confusion, typical = file["person"], file["confusion"], file["typical"]
        except (OSError, ValueError, KeyError):
            return False  # none yet, or another is just being written: what was read before holds
        self.array, self.typical, self._seen = belief, typical, written
        self._confusion = dict(zip(person.tolist(), confusion, strict=True))
        self.upto, self.due = int(summary.get("upto", 0)), not summary.get("mark", "")
        return True

    def belief(self, item: int) -> float:
        """Return P(relevant) of an item."""
        return float(self.array[item]) if 0 <= item < self.array.size else UNKNOWN

    def confusion(self, person: int) -> Floats:
        """Return how a person errs (2, 2), truths by labels; of one not known, as judges typically do."""
        return self._confusion.get(person, self.typical)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that whoever reads it finds the old one or the new one, whole."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(content)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def json_bytes(what: Any) -> bytes:
    """Return something as JSON that every reader takes: numbers are finite."""
    return json.dumps(what, ensure_ascii=False, allow_nan=False).encode()

"""The beliefs of the consensus, as the server reads them: numpy and JSON, without the models.

The files are in the folder ``consensus`` of a campaign. Another process (``refresh``) writes each completely or not at
all:

- belief.npy: P(relevant) of every item, by its id;
- judges.npz: the ids of people, their confusions (J, 2, 2), and the typical one (2, 2);
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
UNKNOWN = 0.5  # P(relevant) of an item without any data


class Beliefs:
    """The newest consensus of a campaign; without one, the beliefs before any data."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder) / FOLDER
        self.array: Floats = np.empty(0)  # (I) P(relevant) by the item's id
        self.typical: Floats = TYPICAL
        self.upto = 0  # the id of the last judgment that it knows
        self.due = False  # whether the cards of the desk must still be written
        self._confusion: dict[int, Floats] = {}
        self._read_at = -1
        self.refresh()

    def refresh(self) -> bool:
        """Read the files if they are new, and return whether they were."""
        try:
            written = (self.folder / SUMMARY).stat().st_mtime_ns
            if written == self._read_at:
                return False
            summary = json.loads((self.folder / SUMMARY).read_text("utf-8"))
            belief = np.load(self.folder / BELIEF, allow_pickle=False)
            with np.load(self.folder / CONFUSION, allow_pickle=False) as file:
                person, confusion, typical = file["person"], file["confusion"], file["typical"]
        except (OSError, ValueError, KeyError):
            return False  # none yet, or one is being written: keep what was read before
        self.array, self.typical, self._read_at = belief, typical, written
        self._confusion = dict(zip(person.tolist(), confusion, strict=True))
        self.upto, self.due = int(summary.get("upto", 0)), not summary.get("mark", "")
        return True

    def belief(self, item: int) -> float:
        """Return P(relevant) of an item."""
        return float(self.array[item]) if 0 <= item < self.array.size else UNKNOWN

    def confusion(self, person: int) -> Floats:
        """Return the confusion matrix of a person (2, 2), truths by labels; the typical one for unknown people."""
        return self._confusion.get(person, self.typical)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file so that readers see either the old or the new content, never a part."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_bytes(content)
        os.replace(aside, path)
    finally:
        aside.unlink(missing_ok=True)


def json_bytes(value: Any) -> bytes:
    """Return a value as strict JSON; numbers must be finite."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()

"""Where a run is, kept beside what it writes, so that one that was killed goes on from there.

A checkpoint belongs to one question: the blocks, the gold, the model and its options. One of another question is left
alone, and overwritten.
"""

from __future__ import annotations

import io
import json
import shutil
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.data.blocks import MANIFEST, Blocks
from adjudge.data.write import write_file
from adjudge.inference.em import EmState
from adjudge.inference.options import Options
from adjudge.inference.params import Params

EVERY = 20.0  # seconds between two, at least: what is lost when a run is killed


class Checkpoint:
    """Where one run is kept."""

    def __init__(self, folder: Path, question: str, every: float = EVERY) -> None:
        self.folder, self.question, self.every = folder, question, every
        self._last: dict[str, float] = {}
        self._lock = threading.Lock()

    def climb(self) -> EmState | None:
        """Return where a climb was, None where none is kept."""
        found = self._read("climb")
        if found is None:
            return None
        params = Params(*(found[name] for name in Params._fields))
        before, reach, passes, history, seen = (
            found[name] for name in ("before", "reach", "passes", "history", "seen")
        )
        return EmState(params, before, reach, tuple(history), passes, tuple(seen))

    def keep_climb(self, here: EmState) -> None:
        """Keep where a climb is."""
        self._write("climb", lambda: {**here.params._asdict(), **here._asdict(), "params": None, "seen": here.visited})

    def load(self, chain: int) -> dict[str, Any] | None:
        """Return where a chain was, None where none is kept."""
        return self._read(f"chain-{chain}")

    def save(self, chain: int, told: Callable[[], dict[str, Any]]) -> None:
        """Keep where a chain is."""
        self._write(f"chain-{chain}", told)

    def clear(self) -> None:
        """Forget it: the run has ended."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, name: str, told: Callable[[], dict[str, Any]]) -> None:
        """Keep arrays and plain values, if it is time to: the first time at once."""
        with self._lock:
            now = time.monotonic()
            if now - self._last.get(name, -np.inf) < self.every:
                return
            self._last[name] = now
        values = told()
        arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        plain = {key: value for key, value in values.items() if key not in arrays}
        about = json.dumps({"question": self.question, **plain}, default=_plain)
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, about=np.array(about), **arrays)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(file.getvalue(), self.folder / f"{name}.npz")

    def _read(self, name: str) -> dict[str, Any] | None:
        """Return what was kept under a name, None where nothing was, or of another question."""
        try:
            with np.load(self.folder / f"{name}.npz", allow_pickle=False) as kept:
                found = {key: kept[key] for key in kept.files}
            about = json.loads(str(found.pop("about")), object_hook=_arrays)
        except FileNotFoundError:
            return None
        return {**about, **found} if about.pop("question") == self.question else None


def question(blocks: Blocks, model: str, options: Options) -> str:
    """Return what tells one run from all others."""
    told = [zlib.crc32((blocks.folder / MANIFEST).read_bytes()), str(blocks.gold), model, asdict(options)]
    return f"{zlib.crc32(json.dumps(told, default=str).encode()):08x}"


def _plain(value: Any) -> Any:
    """Return an array within plain values, such as the state of a random stream, as JSON holds it."""
    return {"array": value.tolist(), "dtype": str(value.dtype)} if isinstance(value, np.ndarray) else value.item()


def _arrays(value: dict[str, Any]) -> Any:
    """Return arrays from what ``_plain`` made of them."""
    return np.array(value["array"], value["dtype"]) if value.keys() == {"array", "dtype"} else value

"""Checkpoints: the state of a run, saved beside its output, so that a run that was killed continues from there.

A checkpoint belongs to one combination of blocks, gold, model and options (``run_id``). A checkpoint of another run is
ignored and overwritten.
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

EVERY = 20.0  # seconds between two checkpoints at least: the work that is lost if a run is killed
EM = "climb"  # name of the file with the state of EM


class Checkpoint:
    """The checkpoint of one run, in a folder."""

    def __init__(self, folder: Path, run_id: str, every: float = EVERY) -> None:
        self.folder, self.run_id, self.every = folder, run_id, every
        self._last: dict[str, float] = {}
        self._lock = threading.Lock()

    def load_em(self) -> EmState | None:
        """Return the saved state of EM, None if there is none."""
        values = self._read(EM)
        if values is None:
            return None
        params = Params(*(values[name] for name in Params._fields))
        history, visited = tuple(values["history"]), tuple(values["seen"])
        return EmState(params, values["before"], values["reach"], history, values["passes"], visited)

    def save_em(self, state: EmState) -> None:
        """Save the state of EM, if the last save is long enough ago."""

        def values() -> dict[str, Any]:
            fields = {**state._asdict(), "params": None, "seen": state.visited}
            del fields["visited"]
            return {**state.params._asdict(), **fields}

        self._write(EM, values)

    def load(self, chain: int) -> dict[str, Any] | None:
        """Return the saved state of a chain, None if there is none."""
        return self._read(f"chain-{chain}")

    def save(self, chain: int, report: Callable[[], dict[str, Any]]) -> None:
        """Save the state of a chain, if the last save is long enough ago."""
        self._write(f"chain-{chain}", report)

    def clear(self) -> None:
        """Remove the checkpoint of a run that has ended."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, name: str, report: Callable[[], dict[str, Any]]) -> None:
        """Write arrays and plain values to a file, if the last write is long enough ago."""
        with self._lock:
            now = time.monotonic()
            if now - self._last.get(name, -np.inf) < self.every:
                return
            self._last[name] = now
        values = report()
        arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        plain = {key: value for key, value in values.items() if key not in arrays}
        about = json.dumps({"question": self.run_id, **plain}, default=_array_to_json)
        file = io.BytesIO()
        np.savez(file, allow_pickle=False, about=np.array(about), **arrays)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_file(file.getvalue(), self.folder / f"{name}.npz")

    def _read(self, name: str) -> dict[str, Any] | None:
        """Return the values of a file, None if there is no file or it is of another run."""
        try:
            with np.load(self.folder / f"{name}.npz", allow_pickle=False) as file:
                arrays = {key: file[key] for key in file.files}
            about = json.loads(str(arrays.pop("about")), object_hook=_json_to_array)
        except FileNotFoundError:
            return None
        return {**about, **arrays} if about.pop("question") == self.run_id else None


def run_id(blocks: Blocks, model: str, options: Options) -> str:
    """Return what identifies a run: a checksum of blocks, gold, model and options."""
    parts = [zlib.crc32((blocks.folder / MANIFEST).read_bytes()), str(blocks.gold), model, asdict(options)]
    return f"{zlib.crc32(json.dumps(parts, default=str).encode()):08x}"


def _array_to_json(value: Any) -> Any:
    """Return an array inside plain values, such as the state of a random generator, as JSON."""
    return {"array": value.tolist(), "dtype": str(value.dtype)} if isinstance(value, np.ndarray) else value.item()


def _json_to_array(value: dict[str, Any]) -> Any:
    """Return the array that ``_array_to_json`` converted; other values are returned as they are."""
    return np.array(value["array"], value["dtype"]) if value.keys() == {"array", "dtype"} else value

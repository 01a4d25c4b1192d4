"""Frames of the kind that came in, and files that are whole or not there."""

import io
import os
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from adjudge.arrays import frozen
from adjudge.data import write as room
from adjudge.data.read import read
from adjudge.data.write import columns_of, frame, table_text, write_file, write_whole
from adjudge.errors import AdjudgeError

COLUMNS = {
    "item": pl.Series(["a", "b"]),
    "topic": ["t", None],
    "label": [1, 0],
    "share": frozen(np.array([0.25, 0.75])),
    "count": pl.Series([3, None]),
}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}


def refusal(*arguments: Any) -> str:
    """Return what a call is refused with."""
    call, *rest = arguments
    with pytest.raises(AdjudgeError) as caught:
        call(*rest)
    return str(caught.value)


def full(*_: Any) -> None:
    """Be a disk without room."""
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_every_kind(kind: str) -> None:
    """Named columns become a frame of any kind with the same values."""
    table = frame(COLUMNS, kind)
    assert isinstance(table, KINDS[kind])
    result = pl.DataFrame(table)
    assert result.columns == list(COLUMNS)
    assert result.rows() == [("a", "t", 1, 0.25, 3), ("b", None, 0, 0.75, None)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_comes_back_as_its_kind(kind: str) -> None:
    """What is made of judgments is of the kind that they came in."""
    table = frame({"item": ["a"], "judge": ["x"], "label": [1]}, kind)
    judgments = read(table)
    assert type(frame({"item": judgments.items}, judgments.kind)) is type(table)


def test_pandas_may_change_its_frame() -> None:
    """A frame of pandas is the user's own, although our arrays cannot be changed."""
    table = frame({"share": COLUMNS["share"]}, "pandas")
    table.loc[0, "share"] = 1.0
    assert table["share"].tolist() == [1.0, 0.75]
    assert COLUMNS["share"].tolist() == [0.25, 0.75]  # type: ignore[attr-defined]


def test_text_of_a_table() -> None:
    """A table is written as CSV, JSON lines or Parquet, with what needs quoting quoted."""
    table = pl.DataFrame({"item": ["a,b", 'é"\n'], "label": [1, None]})
    assert table_text(table, "csv").decode() == 'item,label\n"a,b",1\n"é""\n",\n'
    assert table_text(table, "jsonl").decode() == '{"item":"a,b","label":1}\n{"item":"é\\"\\n","label":null}\n'
    assert pl.read_parquet(io.BytesIO(table_text(table, "parquet"))).equals(table)
    assert refusal(table_text, table, "xls") == "format 'xls' is not one of 'csv', 'jsonl', 'parquet'"


def test_columns_of_a_file() -> None:
    """The columns of a Parquet file's content come by name."""
    content = table_text(pl.DataFrame({"item": ["a"], "label": [1]}), "parquet")
    assert {name: column.to_list() for name, column in columns_of(content).items()} == {"item": ["a"], "label": [1]}


def test_a_file_is_written(tmp_path: Path) -> None:
    """A file is new or replaced, and nothing else is left behind."""
    path = tmp_path / "labels.csv"
    for content in (b"old", b"new"):
        write_file(content, path)
        assert path.read_bytes() == content
    assert os.listdir(tmp_path) == ["labels.csv"]


@pytest.mark.parametrize("step", ["write_bytes", "replace"])
def test_a_failing_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """When the disk is full, while writing or while moving, the old file stays and no other."""
    path = tmp_path / "labels.csv"
    path.write_bytes(b"old")
    monkeypatch.setattr(*((Path, step) if step == "write_bytes" else (room.os, step)), full)
    assert refusal(write_file, b"new", path) == f"{path}: cannot be written: No space left on device"
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["labels.csv"]


def test_half_a_file_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written before a failure is taken away."""

    def half(self: Path, content: bytes) -> None:
        with open(self, "wb") as file:
            file.write(content[:1])
        full()

    monkeypatch.setattr(Path, "write_bytes", half)
    for write in (lambda: write_file(b"new", tmp_path / "a.csv"), lambda: write_whole({"a": b"new"}, tmp_path / "fit")):
        assert refusal(write).endswith(": cannot be written: No space left on device")
    assert os.listdir(tmp_path) == []


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    """A folder in the way, and a folder that is missing, are said."""
    (tmp_path / "folder").mkdir()
    assert refusal(write_file, b"", tmp_path / "folder") == f"{tmp_path / 'folder'}: cannot be written: Is a directory"
    missing = tmp_path / "none" / "labels.csv"
    assert refusal(write_file, b"", missing) == f"{missing}: cannot be written: No such file or directory"
    (tmp_path / "file").touch()
    assert refusal(write_whole, {}, tmp_path / "file") == f"{tmp_path / 'file'}: is a file: name a folder"
    below = tmp_path / "file" / "fit"
    assert refusal(write_whole, {}, below) == f"{below}: cannot be written: Not a directory"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """A pipe or a device is not replaced by a file."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(path.read_bytes()))
    reader.start()
    write_file(b"labels", path)
    reader.join()
    assert heard == [b"labels"]
    assert stat.S_ISFIFO(path.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """A file is written where a link leads."""
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_file(b"new", link)
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_files_are_as_private_as_the_user_wants(tmp_path: Path) -> None:
    """Files and folders get the permissions that new files get."""
    before = os.umask(0o077)
    try:
        write_file(b"", tmp_path / "labels.csv")
        write_whole({"fit.json": b""}, tmp_path / "fit")
    finally:
        os.umask(before)
    modes = [(tmp_path / name).stat().st_mode & 0o777 for name in ("labels.csv", "fit", "fit/fit.json")]
    assert modes == [0o600, 0o700, 0o600]


def test_a_folder_is_written_whole(tmp_path: Path) -> None:
    """Files appear in a new folder, then are replaced in it, beside what else it holds."""
    folder = tmp_path / "deep" / "fit"
    write_whole({"a": b"1", "b": b"2"}, folder)
    (folder / "notes").touch()
    write_whole({"a": b"3"}, str(folder))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a": b"3", "b": b"2", "notes": b""}
    assert os.listdir(folder.parent) == ["fit"]


def test_a_folder_is_written_from_within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing folder needs no room beside it, which may be another disk or forbidden."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    mkdir, collected = Path.mkdir, []

    def recorded(self: Path, *arguments: Any, **options: Any) -> None:
        collected.append(self)
        mkdir(self, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", recorded)
    write_whole({"a": b"1"}, folder)
    assert [path.parent for path in collected] == [folder]
    assert os.listdir(folder) == ["a"]


def test_a_failing_file_leaves_the_folder_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When one file cannot be written none is replaced, and nothing is left behind."""
    folder = tmp_path / "fit"
    write_whole({"a": b"old", "b": b"old"}, folder)
    write_bytes = Path.write_bytes

    def fails_at_b(self: Path, content: bytes) -> int:
        return full() or 0 if self.name == "b" else write_bytes(self, content)

    monkeypatch.setattr(Path, "write_bytes", fails_at_b)
    assert refusal(write_whole, {"a": b"new", "b": b"new"}, folder) == (
        f"{folder}: cannot be written: No space left on device"
    )
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"a": b"old", "b": b"old"}
    assert refusal(write_whole, {"b": b"new"}, tmp_path / "new").startswith(f"{tmp_path / 'new'}: cannot be written")
    assert os.listdir(tmp_path) == ["fit"]

"""Changed files of a campaign, all or nothing, even if the process dies between two of them.

``stage`` writes them into a folder of their own (``STAGED``), where the whole campaign can be loaded and checked. When
the change is in the database, ``publish`` renames that folder to ``RECORDED`` and moves the files to their places. If
the process dies before the change is in the database, ``settle`` removes the folder at the next start; if it dies
later, ``settle`` publishes it, and ``finish`` moves the files that are left.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from adjudge.errors import InputError

STAGED, RECORDED = ".edit", ".edited"


def stage(folder: Path, write: Callable[[Path], None], files: Sequence[str]) -> Path:
    """Let ``write`` fill a new folder with changed files, add links to the others, and return that folder."""
    drop(folder)
    staging = folder / STAGED
    staging.mkdir(mode=0o700)
    write(staging)
    for name in files:
        path, present = staging / name, folder / name
        if not path.exists():
            path.symlink_to(present.resolve())
            continue
        if present.exists():
            shutil.copymode(present, path)
        flush(path)
    flush(staging)
    return staging


def staged_files(folder: Path) -> list[Path]:
    """Return the changed files that are staged, without the links to the others."""
    staging = folder / STAGED
    return sorted(path for path in staging.iterdir() if not path.is_symlink()) if staging.is_dir() else []


def publish(folder: Path) -> None:
    """Move staged files to their places; they are in the database."""
    os.rename(folder / STAGED, folder / RECORDED)
    flush(folder)
    finish(folder)


def finish(folder: Path) -> None:
    """Move the files that are left of a change that was recorded; two processes may do this at once."""
    recorded = folder / RECORDED
    if not recorded.is_dir():
        return
    try:
        for path in sorted(recorded.iterdir()):
            with contextlib.suppress(FileNotFoundError):
                if path.is_symlink():
                    path.unlink()
                else:
                    os.replace(path, folder / path.name)
        flush(folder)
        with contextlib.suppress(FileNotFoundError):
            recorded.rmdir()
    except OSError as error:
        problem = f"a change of the campaign's files is not finished, and they cannot be moved: {error.strerror}"
        raise InputError(problem, str(recorded)) from error


def drop(folder: Path) -> None:
    """Remove staged files, which are not recorded."""
    shutil.rmtree(folder / STAGED, ignore_errors=True)


def settle(folder: Path, recorded: Mapping[str, str]) -> bool:
    """Publish staged files if their last revisions are ``recorded`` (file -> SHA-256), else remove them.

    Returns whether files of the campaign have changed.
    """
    staged = staged_files(folder)
    if staged and all(recorded.get(path.name) == sha256_of(path) for path in staged):
        publish(folder)
        return True
    drop(folder)
    return False


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits; empty if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


class Watch:
    """Notices files whose content is no longer the recorded one; a file is read only if its date or size is new."""

    def __init__(self, folder: Path, files: Sequence[str]) -> None:
        self._folder, self._files = folder, files
        self._read: dict[str, tuple[object, str]] = {}  # file -> what its directory entry says, and its SHA-256

    def changed(self, recorded: Mapping[str, str]) -> list[str]:
        """Return the files that differ from what is recorded (file -> SHA-256)."""
        return [name for name in self._files if recorded and self._sha256(name) != recorded.get(name)]

    def _sha256(self, name: str) -> str:
        """Return the SHA-256 of a file."""
        path = self._folder / name
        try:
            entry = path.stat()
            signature: object = (entry.st_mtime_ns, entry.st_size, entry.st_ino)
        except OSError:
            signature = None
        if name not in self._read or self._read[name][0] != signature:
            self._read[name] = signature, sha256_of(path)
        return self._read[name][1]


def flush(path: Path) -> None:
    """Write a file or a folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Access to the files of a record: only the user of the studio may read them.

New files get mode 0600, and new folders 0700. Those of an earlier version are repaired when a campaign is opened.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

STUDIO_FILES = (
    *("key", "seal.json", "documents.index", "webhooks.json"),
    *("*.db", "*.db-*", "*.lock", "consensus", "consensus/**/*"),
)
OTHERS = 0o077  # the bits of a mode that others have


@contextlib.contextmanager
def private_files() -> Iterator[None]:
    """Create files and folders that only the user can read."""
    before = os.umask(OTHERS)
    try:
        yield
    finally:
        os.umask(before)


def make_private(folder: Path) -> tuple[str, ...]:
    """Take access to a campaign's folder and the files of the studio from others; return notes about it."""
    if os.name != "posix":
        return ()
    files = [folder, *(path for pattern in STUDIO_FILES for path in sorted(folder.glob(pattern)))]
    shared = [path for path in files if path.stat().st_mode & OTHERS]
    repaired = [path for path in shared if _closed(path)]
    notes = []
    if repaired:
        notes.append(f"others could read {_listed(repaired, folder)}: only you can now")
    if left := [path for path in shared if path not in repaired]:
        notes.append(f"warning: others can read {_listed(left, folder)}, and the mode cannot be changed")
    return tuple(notes)


def _closed(path: Path) -> bool:
    """Take access to a path from others, and return whether that worked."""
    with contextlib.suppress(OSError):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS)
        return not path.stat().st_mode & OTHERS
    return False


def _listed(paths: list[Path], folder: Path) -> str:
    """Return the names of some paths in a folder."""
    names = ["the folder" if path == folder else str(path.relative_to(folder)) for path in paths]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")

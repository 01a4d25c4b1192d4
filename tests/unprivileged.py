"""Python as a user who cannot write to the installation: the present user, or nobody if that is root."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
NOBODY = 65534
USER: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if ROOT else {}


def run_unprivileged(command: list[str], **variables: str) -> str:
    """Run a command with these environment variables only, and return its standard output."""
    done = subprocess.run(command, cwd="/", env=variables, capture_output=True, text=True, **USER)
    assert done.returncode == 0, done.stderr
    return done.stdout


@cache
def unprivileged_python() -> str:
    """Return a Python of the present version that the user can start; skip the test if there is none."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        try:
            run_unprivileged([path, "-c", "pass"])
        except (OSError, AssertionError):
            continue
        return path
    return pytest.skip(f"needs a {name} that users other than root can start, such as /usr/bin/{name}")


def give(path: Path) -> None:
    """Let the user write to a folder."""
    if ROOT:
        os.chown(path, NOBODY, NOBODY)

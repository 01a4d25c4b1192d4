"""The options of a study, and the interface of its outcome: tables, columns, files and warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from adjudge.metrics.significance import DRAWS

Say: TypeAlias = Callable[[str], None]

RUNS = 100  # of a study that repeats a simulation or a split, as in paper 003


def silent(line: str) -> None:
    """Ignore a progress message."""


class StudyOptions(NamedTuple):
    """The options of a study; None is the default of the study."""

    data: str | None = None  # folder of the sets
    sets: Sequence[str] | None = None
    runs: int | None = None
    sizes: Sequence[int] | None = None
    seed: int = 0
    draws: int = DRAWS  # bootstrap draws of items
    workers: int = 1  # processes
    say: Say = silent
    keep: str | None = None  # folder for finished parts, from which an interrupted study continues


class Table(NamedTuple):
    """A table to print."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Outcome(Protocol):
    """The outcome of a study."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the study: the outcome has the finished parts only."""

    def tables(self) -> list[Table]:
        """Return the tables to print."""

    def columns(self) -> dict[str, list[Any]]:
        """Return all results as named columns."""

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return functions that make further files, by the suffix of their names; some need an extra."""

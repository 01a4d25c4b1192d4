"""What is asked of any study, and what it gives back: tables for people, one for machines, files, and warnings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from adjudge.metrics.bootstrap import DRAWS

Say: TypeAlias = Callable[[str], None]

RUNS = 100  # of a study that draws its crowds, or splits them, again and again: as many as in paper 003


def silent(what: str) -> None:
    """Say nothing."""


class Asked(NamedTuple):
    """What may be chosen about a study; None stands for the study's own."""

    data: str | None = None  # where the sets are
    sets: Sequence[str] | None = None
    runs: int | None = None
    sizes: Sequence[int] | None = None
    seed: int = 0
    draws: int = DRAWS  # bootstrap draws of items
    workers: int = 1  # processes
    say: Say = silent
    keep: str | None = None  # folder in which what is finished is kept


class Shown(NamedTuple):
    """A table for people."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]


class Outcome(Protocol):
    """What a study found."""

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it: only what was finished is here."""

    def tables(self) -> list[Shown]:
        """Return what people want to see."""

    def columns(self) -> dict[str, list[Any]]:
        """Return the whole study as named columns."""

    def warnings(self) -> list[str]:
        """Return what the reader of the tables must know."""

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return what else can be written, by the end of its name: made when asked for, since it may need an extra."""

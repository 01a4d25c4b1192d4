"""What a feature is: a name, and one number for every pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from adjudge.arrays import Floats
from adjudge.learn.encoded import Encoded


class Feature(NamedTuple):
    """A feature of a question and a passage."""

    name: str
    group: str
    summary: str
    function: Callable[[Encoded], Floats]
    version: int = 1  # rises where the same texts would give another number
    packages: tuple[str, ...] = ("snowballstemmer",)  # on whose version the number depends

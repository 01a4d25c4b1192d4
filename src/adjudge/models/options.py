"""What may be chosen about a fit, checked before any work is done."""

from __future__ import annotations

import math
from dataclasses import dataclass

from adjudge.errors import UsageError, quoted

TIES = ("random", "first", "all")
STARTS = ("vote", "accurate")


@dataclass(frozen=True)
class Options:
    """How a fit begins, ends, and breaks ties."""

    seed: int = 0
    ties: str = "random"  # which of several equally likely labels is given
    start: str = "vote"
    tolerance: float = 1e-8  # rise of the log likelihood a judgment
    iterations: int = 5_000  # passes over the judgments at most
    accelerate: bool = True

    def __post_init__(self) -> None:
        for name, value, choices in (("ties", self.ties, TIES), ("start", self.start, STARTS)):
            if value not in choices:
                raise UsageError(f"{name} {value!r} is not one of {quoted(choices)}")
        for name, least in (("seed", 0), ("iterations", 1)):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < least:
                raise UsageError(f"{name} {getattr(self, name)!r} is not a whole number of at least {least}")
        if not 0 <= self.tolerance < math.inf:
            raise UsageError(f"tolerance {self.tolerance!r} is not a number of at least 0")

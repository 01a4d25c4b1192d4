"""The studio's clock: it never goes back, and does not follow when the machine's clock is set."""

from __future__ import annotations

import time
from collections.abc import Callable


def _steady() -> float:
    """Return seconds of a clock that nobody sets, which goes on while the machine sleeps where there is one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Clock:
    """Seconds since 1970 as they were at the start, and from then on by a clock that nobody sets.

    Leases and active times would all be wrong after a jump of the machine's clock. ``not_before`` is the last time
    on record: a machine that wakes up in the past goes on from there.
    """

    def __init__(
        self,
        not_before: float = 0.0,
        wall: Callable[[], float] = time.time,
        steady: Callable[[], float] = _steady,
    ) -> None:
        self._wall, self._steady = wall, steady
        self._offset = max(wall(), not_before) - steady()

    def __call__(self) -> float:
        """Return the time."""
        return self._offset + self._steady()

    def jumped(self) -> float:
        """Return how far the machine's clock has since moved away from this one, in seconds."""
        return self._wall() - self()

"""Many judges at once: nobody gets an item or a gold set twice, no item goes beyond k, all leases end."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_sixty_four_judges_who_ask_ten_thousand_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some are right, some wrong, some give up, some leave; at the end they race for the last items."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from studio_races import race

    told = race(tmp_path / "campaign", judges=64, asks=240, k=3)
    assert told.faults == []
    assert told.open == 0
    assert told.asked >= 10_000
    assert told.refused["nothing"] == 64  # the last items were raced for
    assert told.refused["over"] > 0  # leases did run out under judges who came back

"""Many judges at once: nobody gets an item or a gold set twice, no item goes beyond k, all leases end."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "studies" / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the benchmarks be imported: the same judges race there, over more rounds."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_sixty_four_judges_who_ask_ten_thousand_times(tmp_path: Path) -> None:
    """Some are right, some wrong, some give up, some leave; at the end they race for the last items."""
    from studies.benchmarks.studio_races import race

    result = race(tmp_path / "campaign", judges=64, asks=160, k=3)
    assert result.faults == []
    assert result.open == 0
    assert result.requests >= 10_000
    assert result.refused["nothing"] == 64  # the last items were raced for
    assert result.refused["over"] > 0  # leases did run out under judges who came back


@pytest.mark.parametrize("jump", [400 * 86_400.0, -400 * 86_400.0])
def test_no_lease_ends_and_no_time_goes_back_when_the_machines_clock_jumps(tmp_path: Path, jump: float) -> None:
    """A judge whose machine's clock is set forward or back by a year goes on as if nothing had been."""
    from adjudge.studio.record.store import Clock
    from adjudge.studio.studio import open_studio
    from adjudge.studio.work.commands import expire, finish_set, take_assignment
    from studies.benchmarks.studio_campaign import Size, add_judges, write_campaign
    from studies.benchmarks.studio_races import Racer

    folder = tmp_path / "campaign"
    write_campaign(folder, Size(8, 10, gold=2, words=5))
    add_judges(folder, 1, qualified=True)

    async def judged() -> int:
        studio = open_studio(folder)
        wall = [studio.now()]
        studio.store.clock = Clock(studio.ledger.latest, wall=lambda: wall[0])
        judge = Racer(studio, 1)
        async with studio.running():
            assignment = await studio.do(take_assignment, 1, studio.rng, then=judge.current_assignment)
            for set_ in assignment.sets[:3]:
                wall[0] += jump
                assert await studio.do(expire) == 0
                await studio.do(finish_set, 1, set_.token, judge.answers(set_.items, True))
            assert abs(studio.store.clock.jumped() - 3 * jump) < 3_600
            return assignment.finished

    assert asyncio.run(judged()) == 3
    with contextlib.closing(sqlite3.connect(folder / "studio.db")) as database:
        times = [at for (at,) in database.execute("SELECT at FROM answers ORDER BY id")]
    assert len(times) == 15
    assert times == sorted(times)
    assert times[-1] - times[0] < 3_600

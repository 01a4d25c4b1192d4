"""The studio as a process, killed and hindered: what was acknowledged stays, and nothing else is acknowledged."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "studies" / "benchmarks"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the benchmarks be imported: the same judges measure the studio there, over more rounds."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_nothing_acknowledged_is_lost_when_the_studio_is_killed(tmp_path: Path) -> None:
    """Twenty times SIGKILL at random moments: no answer lost or doubled, no item beyond k, the audit log holds."""
    from studies.benchmarks.studio_kill import killed

    result = killed(tmp_path / "campaign", rounds=20)
    assert result["faults"] == []
    assert result["answers"] > 100, "the judges hardly worked: nothing was tried"
    assert set(result["refused"]) <= {429, 409, 410}


def test_what_is_lost_or_doubled_would_be_found(tmp_path: Path) -> None:
    """The questions that are put to the database find what they are there to find."""
    import sqlite3

    from studies.benchmarks.studio_campaign import Size, add_judges, write_campaign
    from studies.benchmarks.studio_kill import Acknowledged, faults

    folder = tmp_path / "campaign"
    write_campaign(folder, Size(4, 10, gold=2, words=5))
    add_judges(folder, 2)
    nothing = Acknowledged(set(), set(), set(), set())
    assert faults(folder, nothing) == []
    rows = {
        "assignments": [(n, 0.0, 1 + n % 2, "work", f"a{n}", "") for n in (1, 2, 3, 4)],
        "sets": [(n, n, 0, "work", "", f"s{n}") for n in (1, 2, 3, 4)],
        "slots": [(n, 0, 7) for n in (1, 2, 3, 4)],
        "answers": [(n, 0.0, n, 0, "same", 1, 1, 1, 7.0, "") for n in (1, 2)],
        "judgments": [(1, 0.0, 7, 2, 1, "work", 0, 1, 7.0, "")],
    }
    with sqlite3.connect(folder / "studio.db") as database:
        for table, values in rows.items():
            database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
        guards = "SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'"
        for (name,) in database.execute(guards).fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute("UPDATE audit SET who = 'nobody' WHERE id = 1")
    database.close()
    messages = " ".join(faults(folder, nothing._replace(answers={"gone"}, codes={"ABCD-EFGH"})))
    for text in (
        "answers saved twice: 1",
        "items beyond k: 1, e.g. (7, 5)",
        "items given again to a judge who has judged them: 1",
        "judges with two open assignments: 2",
        "judgments that are not the last answer: 1",
        "acknowledged and lost (answers): 1, e.g. gone",
        "acknowledged and lost (codes): 1, e.g. ABCD-EFGH",
        "audit log is broken at entry 1",
    ):
        assert text in messages


@pytest.mark.parametrize("outage", ["no_file_growth", "locked"])
def test_what_cannot_be_written_is_answered_503_and_not_acknowledged(tmp_path: Path, outage: str) -> None:
    """A full disk, a database in other hands: 503, nothing false acknowledged, and work goes on without a restart."""
    from studies.benchmarks import studio_kill

    result = studio_kill.run_outage(tmp_path / "campaign", getattr(studio_kill, outage))
    assert result["faults"] == []
    assert result["before"] >= 20
    assert result["during"] == 0
    assert result["refused"] > 0
    assert result["after"] >= 20

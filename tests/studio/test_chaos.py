"""Small rounds of the faults of the chaos suite: nothing acknowledged is lost, and the studio recovers by itself."""

import os
import random
import shutil
from pathlib import Path

import pytest

from studies.benchmarks.chaos import clock_jumps, flood, postgres_killed, power_cuts, proxy_cuts
from studies.benchmarks.power_cut import Operation, files_after, read_operations

LOG = r"""
1.000001 pwrite64(4</t/\x73\x74>, "\x61\x62", 2, 0) = 2 <0.000010>
1.100000 fdatasync(4<\x2f\x74\x2f\x61\x2e\x64\x62>) = 0 <0.100000>
1.300000 pwrite64(4<\x2f\x74\x2f\x61\x2e\x64\x62>, "\x63", 1, 4) = 1 <0.000010>
1.400000 ftruncate(4<\x2f\x74\x2f\x61\x2e\x64\x62>, 3) = 0 <0.000010>
1.500000 pwrite64(4<\x2f\x74\x2f\x61\x2e\x64\x62>, "\x63", 1, 4) = -1 ENOSPC (No space left on device) <0.000010>
1.600000 unlink("\x2f\x74\x2f\x61\x2e\x64\x62") = 0 <0.000010>
1.700000 +++ exited with 0 +++
""".replace(r"</t/\x73\x74>", r"<\x2f\x74\x2f\x61\x2e\x64\x62>")


def needs(program: str) -> None:
    """Skip a test without a program, except where nothing may be skipped."""
    if not (shutil.which(program) or list(Path("/usr/lib/postgresql").glob(f"*/bin/{program}"))):
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"needs {program}")


def test_strace_is_read(tmp_path):
    """Writes, flushes, truncations and deletions, with times and contents; calls that failed are left out."""
    (tmp_path / "log.1").write_text(LOG)
    operations = read_operations([tmp_path / "log.1"])
    assert [operation.kind for operation in operations] == ["write", "flush", "write", "truncate", "unlink"]
    assert operations[0] == Operation(1.000001, pytest.approx(1.000011), "write", "a.db", 0, b"ab")
    assert operations[3].offset == 3


def test_what_was_not_flushed_may_be_lost():
    """A write before a flush is there; one after it, or during it, is there in some cuts and not in others."""
    write, late = Operation(1.0, 1.1, "write", "f", 0, b"a"), Operation(2.5, 2.6, "write", "f", 1, b"b")
    flush, during = Operation(2.0, 3.0, "flush", "f"), Operation(1.95, 2.05, "write", "f", 2, b"c")
    operations = sorted((write, late, flush, during), key=lambda operation: operation.ended)
    rngs = [random.Random(n) for n in range(50)]
    whole = {files_after({"f": b""}, operations, 9.0, rng)["f"] for rng in rngs}
    assert {content[:1] for content in whole} == {b"a"}
    assert {b"a", b"ab", b"a\0c", b"abc"} == whole
    assert {files_after({"f": b"x"}, operations, 2.9, rng)["f"][:1] for rng in rngs} == {b"x", b"a"}
    assert {files_after({"f": b"x"}, operations, 9.0, rng, flushes=False)["f"][:1] for rng in rngs} == {b"x", b"a"}
    assert files_after({"f": b"x"}, operations, 0.5, rngs[0]) == {"f": b"x"}


def test_power_cuts_lose_nothing(tmp_path):
    """What was acknowledged is in the database after every cut, and the method would find it if it were not."""
    needs("strace")
    result = power_cuts(tmp_path / "campaign", cuts=3, answers=50)
    assert result["answers"] >= 50
    assert (result["faults"], result["unrecovered"]) == ([], 0)
    assert result["found without flushes"] >= 1


def test_clock_jumps_lose_nothing(tmp_path):
    """Judges work on when the machine's clock jumps, and after a start with a clock that is behind."""
    result = clock_jumps(tmp_path / "campaign", jumps=(3e7, -3e8))
    assert min(*result["after jumps"], result["after a start in the past"]) >= 20
    assert result["faults"] == []


def test_cut_connections_lose_nothing(tmp_path):
    """Requests that are sent again after their connection was cut count once."""
    result = proxy_cuts(tmp_path / "campaign", answers=60)
    assert result["answers"] >= 60
    assert result["cuts"] > 0
    assert result["faults"] == []


def test_postgresql_may_be_killed(tmp_path):
    """While it is gone, judges are answered 503; when it is back, they continue, and the studio was not restarted."""
    needs("postgres")
    for result in postgres_killed(tmp_path, rounds=1):
        assert result["faults"] == []
        assert result["during"] == 0
        assert result["refused"] > 0
        assert result["after"] >= 20


def test_one_judge_cannot_fill_the_disk(tmp_path):
    """A judge who writes all they can for an hour adds some megabytes: the hour's and those of a first burst."""
    assert flood(tmp_path / "campaign") < 30

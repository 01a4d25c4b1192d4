"""Claim: on two cores the studio serves hundreds of judges, at twenty times the rate of Potato, and loses no data.

Throughput: `adjudge serve` as a process with a campaign of 100,000 pairs (1,000 topics with 100 documents of 100
words), 3 judgments each, SQLite with synchronous=FULL. 50 judges in another process answer without delay: each
judgment is a request that is answered after its commit, each set of five is finished by another request that returns
the next set, and assignments of six sets are reviewed, submitted and followed by a new one. Only the browser and the
six seconds of the gate are left out.
Latency: 500 judges on the same server, who take 6 s (3 to 9) per judgment and load every document. Times are counted
from the moment when a judgment was due, so that waiting for a slow answer does not hide later delays.
Memory: the peak memory of the server until then (VmHWM), and of its temporary child processes. Then the server is
killed and started again with all collected data; the time ends when a judge is answered.
Potato: 20 judges without delay, one program after the other in this run. Potato runs as in its Docker image (gunicorn,
one worker, eight threads) with two labels and sign-in without password. Each judge does what its page does: save the
answer, move on, load the next page, without scripts and further requests. With adjudge they load every document,
because the page of Potato contains the text. Both write to the same disk with fsync.
Crashes: SIGKILL at a random moment while 12 judges send answers, and send again what was not acknowledged. The studio
is started again with the same folder; the time ends when a judge is answered. Every acknowledged answer, set,
assignment and code must exist once, no item may have more judgments and reservations than allowed, nobody may judge an
item twice, and the audit log must be valid.
Outages: the studio cannot write for some seconds. It must answer 503, acknowledge nothing that is not stored, and
continue by itself.
Races: judges in one event loop ask for the next set; some are right, some wrong, some give up, some leave.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from studies.benchmarks import studio_consensus, studio_potato
from studies.benchmarks.claim import Claim, say
from studies.benchmarks.studio_campaign import (
    SETTINGS,
    Server,
    Size,
    add_judges,
    cpu_seconds,
    peak_mb,
    process_tree,
    write_campaign,
)
from studies.benchmarks.studio_kill import Acknowledged, faults, lines, outages
from studies.benchmarks.studio_load import Load, RemoteJudges
from studies.benchmarks.studio_races import row as race_row

HOW = [" ".join(part.split()) for part in re.split(r"\n(?=\w+: )", __doc__.split("\n\n")[1])]
GOAL, GOAL_MS, GOAL_MB, GOAL_TIMES = 300, 100, 300, 20
SMALL = 2_000  # items of a campaign that is small enough for Potato


class Stage:
    """A campaign with its server and its judges."""

    def __init__(self, folder: Path, size: Size, judgments: int = 3) -> None:
        self.folder, self.judgments = folder, judgments
        write_campaign(folder, size, {**SETTINGS, "redundancy": {"judgments": judgments}})
        self.crowds: dict[str, list[str]] = {}
        self.server = Server(folder, log=folder / "log")
        self.acknowledged: set[str] = set()
        self.peaks: dict[str, float] = {}  # MB by process

    def invite(self, prefix: str, judges: int) -> None:
        """Add judges before the server is started."""
        self.crowds[prefix] = add_judges(self.folder, judges, prefix)

    def start(self) -> float:
        """Start the server, and return the seconds until a judge is answered."""
        return self.server.start(next(iter(self.crowds.values()))[0])

    def work(self, prefix: str, **how: Any) -> dict[str, Any]:
        """Let a group of judges work, and return the measurements with the share of a core that the server used."""
        load = Load(self.server.port, self.crowds[prefix], prefix=f"{prefix}-", **how)
        judges = RemoteJudges(load)
        self.watch(load.warm + 1.0)
        before, began = cpu_seconds(self.server.pid), time.perf_counter()
        self.watch(load.seconds - 2.0)
        share = (cpu_seconds(self.server.pid) - before) / (time.perf_counter() - began)
        result = judges.result()
        self.acknowledged |= set(result.pop("acknowledged"))
        say(f"{prefix}: {result} server {share:.2f}")
        if result["problems"]:
            raise RuntimeError(f"judges met problems: {result['problems']}")
        return {**result, "server": share}

    def watch(self, seconds: float) -> None:
        """Wait, and record the peak memory of the server and of its child processes."""
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            for pid in process_tree(self.server.pid):
                with contextlib.suppress(OSError):
                    name = "server" if pid == self.server.pid else _process_name(pid)
                    self.peaks[name] = max(self.peaks.get(name, 0.0), peak_mb(pid))
            time.sleep(0.5)

    def faults(self) -> list[str]:
        """Return the faults in the database."""
        return faults(self.folder, Acknowledged(self.acknowledged, set(), set(), set()), self.judgments)


def times(kind: dict[str, float]) -> list[str]:
    """Return the quantiles of one kind of request."""
    return [f"{kind[q]:.0f}" for q in ("p50", "p95", "p99")]


def large_campaign(folder: Path) -> Iterator[Claim]:
    """Measure judges without delay, judges with delay, and the memory of the server."""
    stage = Stage(folder, Size())
    for prefix, judges in (("plain", 50), ("reading", 50), ("thinking", 500)):
        stage.invite(prefix, judges)
    say(f"started in {stage.start():.1f} s")
    with stage.server as server:
        rows = []
        for prefix, documents in (("plain", False), ("reading", True)):
            result = stage.work(prefix, warm=10.0, seconds=40.0, documents=documents)
            kinds = result["kinds"]
            requests = sum(kind["per_second"] for kind in kinds.values())
            rate = f"{kinds['submit']['per_second']:,.0f} (goal {GOAL})"
            cores = f"{result['server']:.2f}, {result['client']:.2f}"
            loaded = "yes" if documents else "no"
            rows.append([loaded, rate, f"{requests:,.0f}", *times(kinds["submit"]), *times(kinds["next"]), cores])
        head = ("documents loaded", "judgments/s", "requests/s", "submit p50, ms", "p95", "p99", "next p50, ms", "p95")
        yield Claim("Throughput", HOW[0], (*head, "p99", "cores: server, judges"), rows)
        result = stage.work("thinking", warm=30.0, seconds=90.0, think=6.0, documents=True)
        kinds = result["kinds"]
        p50, p95, p99 = times(kinds["submit"])
        row = ["500", f"{kinds['submit']['per_second']:,.0f}", p50, p95, f"{p99} (goal {GOAL_MS})"]
        row += [times(kinds["next"])[2], f"{result['server']:.2f}, {result['client']:.2f}"]
        head = ("judges", "judgments/s", "submit p50, ms", "p95", "p99", "next p99, ms", "cores: server, judges")
        yield Claim("Latency", HOW[1], head, [row])
        parts = [[name, f"{peak:.0f}"] for name, peak in stage.peaks.items()]
        parts[0][1] += f" (goal {GOAL_MB})"
        server.kill()
        parts.append(["restart after SIGKILL", f"{stage.start():.1f} s (goal 3)"])
        wrong = stage.faults()
        yield Claim("Memory and restart", HOW[2], ("process", "peak, MB"), parts)
        if wrong:
            raise RuntimeError(f"the database has faults: {wrong}")


def _process_name(pid: int) -> str:
    """Return the name of a child process, from its command."""
    command = Path(f"/proc/{pid}/cmdline").read_text()
    return "consensus, during a fit" if "consensus" in command else "other"


def beside_potato(folder: Path) -> Claim:
    """Compare adjudge and Potato with 20 judges, on a small and on a large campaign."""
    rows = []
    for items in (SMALL, 100_000):
        judgments = 20 if items == SMALL else 3
        stage = Stage(folder / str(items), Size(items // 100), judgments)
        stage.invite("judge", 20)
        stage.start()
        with stage.server:
            result = stage.work("judge", warm=10.0, seconds=30.0, documents=True)
            ours, memory = result["kinds"], sum(stage.peaks.values())
            wrong = stage.faults()
        say("Potato")
        theirs = studio_potato.measure(20, items, judgments=judgments)
        rate = ours["submit"]["per_second"]
        rows.append(
            [f"{items:,}", "adjudge", f"{rate:,.0f}", *_submit_next(ours), f"{memory:.0f}", str(len(wrong)), "1x"]
        )
        if theirs is None:
            rows.append([f"{items:,}", "Potato", "cannot be installed here", "", "", "", "", "", "", ""])
            continue
        say(f"{theirs}")
        kinds = theirs["kinds"]
        slow = kinds["submit"]["per_second"]
        times_ = f"1/{rate / slow:.0f} (goal 1/{GOAL_TIMES})"
        rows.append([f"{items:,}", "Potato", f"{slow:,.1f}", *_submit_next(kinds), f"{theirs['memory']:.0f}"])
        rows[-1] += [str(theirs["lost"]), times_]
    head = (
        "pairs",
        "",
        "judgments/s",
        "submit p50, ms",
        "p99",
        "next p50, ms",
        "p99",
        "memory, MB",
        "lost",
        "relative to adjudge",
    )
    return Claim("Comparison with Potato", HOW[3], head, rows)


def _submit_next(kinds: dict[str, dict[str, float]]) -> list[str]:
    """Return the times of both kinds of request."""
    return [f"{kinds[kind][q]:,.0f}" for kind in ("submit", "next") for q in ("p50", "p99")]


def outage_claim() -> Claim:
    """Measure outages, during which nothing can be written."""
    rows = []
    for outage, result in outages():
        if result is None:
            rows.append([outage, "not tried: only root can mount a small disk", "", "", ""])
            continue
        say(f"{outage}: {result}")
        wrong = "; ".join(result["faults"]) or "none"
        rows.append([outage, str(result["during"]), str(result["refused"]), str(result["after"]), wrong])
    head = (
        "",
        "acknowledged during the outage",
        "answered 503",
        "acknowledged afterwards, without a restart",
        "wrong, lost or duplicated",
    )
    return Claim("Outages", HOW[5], head, rows)


def races() -> Claim:
    """Let 64 judges send 10,000 requests in total, then 10,000 each."""
    rows = [race_row(64, 160, 3), race_row(64, 10_000, 20)]
    head = ("judges", "requests for the next set", "per second", "twice, repeated or too many", "reservations left")
    return Claim("Races", HOW[6], head, rows)


def measure() -> Iterator[Claim]:
    """Run all benchmarks of the studio."""
    with tempfile.TemporaryDirectory() as temporary:
        yield from large_campaign(Path(temporary) / "whole")
        yield beside_potato(Path(temporary))
    head, row = lines(100)
    yield Claim("Crashes", HOW[4], head, [row])
    yield outage_claim()
    yield studio_consensus.measure()
    yield races()


if __name__ == "__main__":
    for claim in measure():
        print(claim.markdown(), flush=True)

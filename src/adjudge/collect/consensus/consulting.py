"""Keeping the consensus fresh while a campaign is served: asked of a process of its own, whenever there is news."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from pathlib import Path

from adjudge.collect.consensus.beliefs import Beliefs
from adjudge.collect.record import schema
from adjudge.collect.record.ledger import Ledger
from adjudge.collect.record.store import Change

LOG = logging.getLogger("adjudge")
NEWS = (schema.judgments, schema.standings, schema.rulings)  # tables whose rows change what is believed


def news(ledger: Ledger) -> tuple[int, ...]:
    """Return what changes when there is something new to learn from."""
    return tuple(ledger.next_id(table) for table in NEWS)


def believing(ledger: Ledger, beliefs: Beliefs) -> Ledger:
    """Have a ledger believe what the last consensus found; judgments it takes in from now on revise that."""
    if beliefs.array.size:
        ledger.believe(beliefs)
    return ledger


def believe(ledger: Ledger, now: float, beliefs: Beliefs) -> Change:
    """Take the newest consensus in; nothing of it is written, for it follows from the rows."""
    believing(ledger, beliefs)
    return Change()


async def consult(folder: Path) -> None:
    """Have the consensus of a campaign refreshed; if that fails, the last one holds and the log says why."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "adjudge.collect.consensus.consensus",
        str(folder),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the studio, which then ends this
    )
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        LOG.warning("the consensus could not be refreshed: %s", said.decode(errors="replace").strip())

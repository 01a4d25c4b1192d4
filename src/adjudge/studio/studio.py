"""A campaign that is being served: its files, its ledger, who may come in."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection

from adjudge.studio.campaign.campaign import Campaign, load_campaign
from adjudge.studio.consensus.beliefs import Beliefs
from adjudge.studio.identity.access import DEFAULT_RATES, RateLimiter, Signer, load_key
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger
from adjudge.studio.record.restore import missing_items, restored
from adjudge.studio.record.store import Change, Store, View, url_of
from adjudge.studio.work.commands import expire, hand_in, release_broken

# Keeping the consensus fresh while a campaign is served: asked of a process of its own, whenever there is news.

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
        "adjudge.studio.consensus.consensus",
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


T = TypeVar("T")
LOG = logging.getLogger("adjudge")
TICK = 5.0  # seconds between looks for leases that have ended
# A page that replays its outbox is quick; who tries a lead's name from many places shall not keep the lead out.
RATES = {**DEFAULT_RATES, "judge": (600, 10.0), "sign-in name": (50, 300.0)}


class Studio:
    """What the pages have to work with."""

    def __init__(self, campaign: Campaign, store: Store, signer: Signer) -> None:
        self.campaign, self.store, self.signer = campaign, store, signer
        self.beliefs = Beliefs(campaign.folder)
        self.began = store.clock()
        self.limits = RateLimiter(RATES)
        self.rng = np.random.default_rng(secrets.randbits(128))

    @property
    def ledger(self) -> Ledger:
        """What is so now; only the writer changes it."""
        return self.store.ledger

    def now(self) -> float:
        """Return the time."""
        return self.store.clock()

    async def do(self, command: Callable[..., Change], *args: Any, then: View | None = None, **named: Any) -> Any:
        """Carry out ``command(ledger, now, *args, **named)``; answer once it is safe, with a view of it if asked."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()

        def reply(answer: Any, error: BaseException | None) -> None:
            loop.call_soon_threadsafe(_resolve, done, answer, error)

        self.store.ask(lambda ledger, now: command(ledger, now, *args, **named), reply, then)
        return await done

    async def look(self, view: Callable[..., T], *args: Any) -> T:
        """Return ``view(ledger, now, *args)`` when all that was asked before is safe."""
        found: T = await self.do(lambda ledger, now: Change(answer=view(ledger, now, *args)))
        return found

    async def read(self, function: Callable[..., T], *args: Any) -> T:
        """Return ``function(connection, *args)``, run beside the pages on a connection that only reads."""
        return await asyncio.to_thread(self._read, function, *args)

    def _read(self, function: Callable[..., T], *args: Any) -> T:
        with self.store.reading() as connection:
            return function(connection, *args)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Take commands, end leases and keep the consensus fresh until the server stops."""
        self.store.start()
        jobs = [asyncio.create_task(self._ticking()), asyncio.create_task(self._consulting())]
        try:
            yield
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            await asyncio.to_thread(self.store.close)

    async def _ticking(self) -> None:
        """End what has run out, again and again."""
        while True:
            try:
                await self.do(expire, self.began)
                await self.do(hand_in, self.began)
                await asyncio.to_thread(self.store.checkpoint)
            except Exception as error:  # the disk may be full for now: the next tick tries again
                LOG.warning("leases could not be ended: %s", error)
            await asyncio.sleep(TICK)

    async def _consulting(self) -> None:
        """Keep the consensus fresh."""
        known: tuple[int, ...] | None = None
        while True:
            try:
                if (new := news(self.ledger)) != known or self.beliefs.due:
                    await consult(self.campaign.folder)
                    known = new
                if self.beliefs.refresh():
                    await self.do(believe, self.beliefs)
            except Exception as error:
                LOG.warning("the consensus could not be taken in: %s", error)
            await asyncio.sleep(self.campaign.settings.consensus.every_seconds)


def _resolve(done: asyncio.Future[Any], answer: Any, error: BaseException | None) -> None:
    """Give a waiting handler its answer, unless it has gone."""
    if done.done():
        return
    if error is None:
        done.set_result(answer)
    else:
        done.set_exception(error)


def open_studio(folder: str | os.PathLike[str]) -> Studio:
    """Open a campaign for writing: its files are checked, its database is brought up to date."""
    campaign = load_campaign(folder)
    store = open_store(campaign)
    return Studio(campaign, store, Signer(load_key(campaign.folder)))


def open_store(campaign: Campaign, clock: Callable[[], float] | None = None) -> Store:
    """Open the database of a campaign, with a number for every item."""
    database = os.environ.get("ADJUDGE_DATABASE") or campaign.settings.store.database
    beliefs = Beliefs(campaign.folder)

    def fold(connection: Connection) -> Ledger:
        beliefs.refresh()
        return believing(restored(connection, campaign), beliefs)

    store = Store(url_of(database, campaign.folder), fold, clock)
    try:
        number_items(store)
        store.do(release_broken)
    except BaseException:
        store.close()
        raise
    return store


def number_items(store: Store) -> None:
    """Give a number to the campaign's items that have none."""
    store.do(_new_items, then=lambda ledger, now, _: ledger.items.pool(ledger.campaign))


def _new_items(ledger: Ledger, now: float) -> Change:
    """Add the items that have no number."""
    rows = [(schema.items, row) for row in missing_items(ledger)]
    return Change(rows, len(rows), ("studio", "items added", {"items": len(rows)}) if rows else None)

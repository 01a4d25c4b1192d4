"""A campaign that is open: for the server (``open_studio``), for one command (``open_store``) or to read it only.

``Studio`` is what the pages work with: the campaign's files, its store and ledger, and the background jobs that end
leases and keep the consensus fresh.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import secrets
import sys
from array import array
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sqlalchemy import Connection

from adjudge.errors import CampaignProblems, InputError, Problems
from adjudge.studio.access import DEFAULT_RATES, RateLimiter, Signer, load_key
from adjudge.studio.attempts import Attempts
from adjudge.studio.campaign import FILES, Campaign, load_campaign
from adjudge.studio.consensus import Beliefs
from adjudge.studio.documents import Documents, keep_index
from adjudge.studio.kept import Kept
from adjudge.studio.record import schema
from adjudge.studio.record.attach import attach
from adjudge.studio.record.damage import address, explained
from adjudge.studio.record.ledger import Ledger, load_ledger, missing_items
from adjudge.studio.record.private import make_private, private_files
from adjudge.studio.record.revisions import changed_states, record_start
from adjudge.studio.record.seal import PUT_BACK, RESEAL, campaign_of, owner_problem, read_seal
from adjudge.studio.record.store import Change, Clock, Store, View, database_bytes, database_url, open_engine, seal_rows
from adjudge.studio.settings import Limits, load_settings
from adjudge.studio.staging import Watch, settle
from adjudge.studio.webhooks import Webhooks, signing_secret
from adjudge.studio.work.commands import expire, hand_in, note_finished, pause, release_broken

T = TypeVar("T")
LOG = logging.getLogger("adjudge")
GROWTH_SECONDS = 30.0  # between two looks at the size of the database
DAY = 86_400.0
TICK = 5.0  # seconds between two searches for leases that have ended
NEWS = (schema.judgments, schema.standings, schema.rulings)  # tables whose rows change the consensus
MOST_SEEN = 20_000  # sessions of which the last request is known


class Studio:
    """A campaign that is being served."""

    def __init__(self, campaign: Campaign, store: Store, signer: Signer) -> None:
        self.store, self.signer = store, signer
        self.beliefs = Beliefs(campaign.folder)
        self.began = store.clock()
        self.limits = RateLimiter({**DEFAULT_RATES, **setting_rates(campaign.settings.limits)})
        self.attempts = Attempts()
        self.address = ""  # under which people reach the studio: every link begins with it, never with the Host header
        self.hosts: tuple[str, ...] = ()  # the only Host headers that are accepted where links are made; () accepts any
        self.seen: dict[str, float] = {}  # nonce of a session -> time of its last request
        self.stopping = False  # whether the server finishes its last requests
        self.consensus_failures = 0
        self.jobs: list[Callable[[], Coroutine[Any, Any, None]]] = []  # more to do while the studio runs
        self.turn = asyncio.Semaphore(1)  # for consensus jobs; the campaigns of a site share it
        secret = signing_secret(signer.webhook_secret())
        self.webhooks = Webhooks(
            campaign.folder, lambda: self.campaign.settings, secret, self.read, lambda: self.ledger.link.id
        )
        self.rng = np.random.default_rng(secrets.randbits(128))
        self.kept = Kept()
        self.editing = asyncio.Lock()  # held by whoever changes the campaign's files
        self.edits = 0  # changes of the files since the start
        self.watch = Watch(campaign.folder, FILES)
        self.changed_files: list[str] = []  # that somebody changed outside of the studio

    @property
    def campaign(self) -> Campaign:
        """The campaign's files, as they are in use."""
        return self.store.campaign

    @property
    def ledger(self) -> Ledger:
        """The present state; only the writer changes it."""
        return self.store.ledger

    def now(self) -> float:
        """Return the time."""
        return self.store.clock()

    def clock_drift(self) -> float:
        """Return how far the machine's clock, which people's apps agree with, is from the studio's, in seconds."""
        clock = self.store.clock
        return clock.jumped() if isinstance(clock, Clock) else 0.0

    def note_seen(self, nonce: str) -> None:
        """Note that a session is in use; the one that was noted first is forgotten if there are too many."""
        self.seen[nonce] = self.now()
        if len(self.seen) > MOST_SEEN:
            self.seen.pop(next(iter(self.seen)), None)

    async def do(self, command: Callable[..., Change], *args: Any, then: View | None = None, **named: Any) -> Any:
        """Carry out ``command(ledger, now, *args, **named)``; return its answer or its view when committed."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Any] = loop.create_future()

        def reply(answer: Any, error: BaseException | None) -> None:
            loop.call_soon_threadsafe(_resolve, done, answer, error)

        self.store.enqueue(lambda ledger, now: command(ledger, now, *args, **named), reply, then)
        return await done

    async def look(self, view: Callable[..., T], *args: Any) -> T:
        """Return ``view(ledger, now, *args)`` when all earlier commands are committed."""
        answer: T = await self.do(lambda ledger, now: Change(answer=view(ledger, now, *args)))
        return answer

    async def read(self, function: Callable[..., T], *args: Any) -> T:
        """Return ``function(connection, *args)``, run in another thread on a connection that only reads."""
        return await asyncio.to_thread(self._read, function, *args)

    def _read(self, function: Callable[..., T], *args: Any) -> T:
        with self.store.reading() as connection:
            return function(connection, *args)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Accept commands, end leases, keep the consensus fresh and send webhooks until the server stops."""
        self.store.start()
        work = (self._end_leases, self._keep_consensus, self._watch_growth, self.webhooks.run, *self.jobs)
        jobs = [asyncio.create_task(job()) for job in work]
        try:
            yield
        finally:
            for job in jobs:
                job.cancel()
            await asyncio.gather(*jobs, return_exceptions=True)
            await asyncio.to_thread(self.store.close)

    async def _end_leases(self) -> None:
        """End leases that have run out, every ``TICK`` seconds."""
        while True:
            try:
                await self.do(expire, self.began)
                await self.do(hand_in, self.began)
                await self.do(note_finished)
                await self.do(seal_rows)
                await asyncio.to_thread(self.store.renew_seal)
                await asyncio.to_thread(self.store.checkpoint)
                await self.look_at_files()
            except Exception as error:  # for example a full disk: the next tick tries again
                LOG.warning("leases could not be ended: %s", error)
            await asyncio.sleep(TICK)

    async def _watch_growth(self) -> None:
        """Pause the campaign if its database grows too fast; once it was resumed, growth is counted from zero."""
        growth = Growth(1_000_000 * self.campaign.settings.limits.growth_megabytes_per_day)
        while True:
            growth.most = 1_000_000 * self.campaign.settings.limits.growth_megabytes_per_day
            try:
                if reason := growth.excess(await self.read(database_bytes), self.now()):
                    LOG.warning("the campaign is paused: %s", reason)
                    await self.do(pause, reason)
            except Exception as error:
                LOG.warning("the size of the database could not be checked: %s", error)
            await asyncio.sleep(GROWTH_SECONDS)

    def note_edit(self) -> None:
        """Bring what follows from the campaign's files up to date, after a change of them."""
        self.edits, self.changed_files = self.edits + 1, []
        self.limits.change_rates(setting_rates(self.campaign.settings.limits))

    async def look_at_files(self) -> list[str]:
        """Notice and return the files of the campaign that somebody has changed outside of the studio."""
        async with self.editing:
            self.changed_files = await asyncio.to_thread(self.watch.changed, self.ledger.files)
        return self.changed_files

    async def _keep_consensus(self) -> None:
        """Refresh the consensus when there are new rows, and let the ledger use it."""
        last: tuple[int, ...] | None = None
        while True:
            try:
                if not self.ledger.archived and ((new := (self.edits, *news(self.ledger))) != last or self.beliefs.due):
                    async with self.turn:
                        self.consensus_failures += not await refresh_consensus(self.campaign.folder)
                    last = new
                if self.beliefs.refresh():
                    await self.do(believe, self.beliefs)
            except Exception as error:
                LOG.warning("the consensus could not be used: %s", error)
            await asyncio.sleep(self.campaign.settings.consensus.every_seconds)


def setting_rates(limits: Limits) -> dict[str, tuple[int, float]]:
    """Return the rates that a campaign sets: requests of a person, and bytes that a judge sends."""
    return {
        "person": (limits.requests_per_minute, 60.0),
        "bytes": (1_000_000 * limits.megabytes_per_hour, 3600.0),
    }


class Growth:
    """How much a database grew since the day began, or since the limit was reached last."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.size, self.since = math.inf, -math.inf

    def excess(self, size: int, now: float) -> str:
        """Return a sentence if the database grew by more than is allowed, or an empty text."""
        grown = size - self.size
        if grown > self.most or now - self.since > DAY:
            self.size, self.since = size, now
        if grown <= self.most:
            return ""
        return f"The database grew by more than {self.most // 1_000_000:,} MB within a day."


def _resolve(done: asyncio.Future[Any], answer: Any, error: BaseException | None) -> None:
    """Give a waiting handler its answer, unless it was cancelled."""
    if done.done():
        return
    if error is None:
        done.set_result(answer)
    else:
        done.set_exception(error)


def news(ledger: Ledger) -> tuple[int, ...]:
    """Return numbers that change when there are rows that the consensus does not know."""
    return tuple(ledger.next_id(table) for table in NEWS)


def believe(ledger: Ledger, now: float, beliefs: Beliefs) -> Change:
    """Let the ledger use the newest consensus, if there is one; no row is written, since it follows from the rows."""
    if beliefs.array.size:
        ledger.believe(beliefs)
    return Change()


async def refresh_consensus(folder: Path) -> bool:
    """Refresh the consensus of a campaign in another process, and return whether that worked; if not, the log says why.

    If it fails, the consensus stays as it is.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "adjudge.studio.refresh_consensus",
        str(folder),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C goes to the studio, which then ends this process
    )
    try:
        _, message = await process.communicate()
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode:
        LOG.warning("the consensus could not be refreshed: %s", message.decode(errors="replace").strip())
    return process.returncode == 0


def open_studio(folder: str | os.PathLike[str], accept: str = "") -> Studio:
    """Open a campaign for writing: its files are checked, its database is brought up to date (see ``attach``)."""
    campaign = load_campaign(folder)
    store = open_store(campaign, accept=accept)
    with private_files():
        keep_index(campaign.documents, campaign.settings.documents.most_bytes)
    return Studio(campaign, store, Signer(load_key(campaign.folder)))


def open_store(campaign: Campaign, clock: Callable[[], float] | None = None, accept: str = "") -> Store:
    """Open the database of a campaign, and give every item an id."""
    beliefs = Beliefs(campaign.folder)

    def load(connection: Connection) -> Ledger:
        beliefs.refresh()
        ledger = load_ledger(connection, campaign)
        believe(ledger, 0.0, beliefs)
        return ledger

    url = database_url(campaign.folder, campaign.settings.store.database)
    with explained(url, campaign), private_files():
        return _open_store(campaign, Store(url, load, clock), accept)


def _open_store(campaign: Campaign, store: Store, accept: str) -> Store:
    """Return a store that is attached to the folder of its campaign, with all items; if that fails, close it."""
    try:
        store.notes = make_private(campaign.folder) + attach(store, campaign.folder, load_key(campaign.folder), accept)
        if settle(campaign.folder, store.ledger.files):  # the last change was recorded, but not in the files yet
            campaign = load_campaign(campaign.folder)
        store.do(lambda ledger, now: _add_items(ledger, now, campaign))
        states = changed_states(campaign.folder, store.ledger.files, FILES)
        store.do(lambda ledger, now: record_start(ledger, now, states))
        store.do(release_broken)
    except BaseException:
        store.close()
        raise
    return store


def _add_items(ledger: Ledger, now: float, campaign: Campaign) -> Change:
    """Add the campaign's items that have no id."""
    rows = [(schema.items, row) for row in missing_items(ledger, campaign)]
    audit = ("studio", "items added", {"items": len(rows)}) if rows else None
    return Change(rows, len(rows), audit, campaign if rows or campaign is not ledger.campaign else None)


@contextlib.contextmanager
def reading_campaign(folder: str | os.PathLike[str], complete: bool = True) -> Iterator[tuple[Campaign, Connection]]:
    """Return a campaign and a connection that sees one snapshot of its database; nothing is created or changed.

    The campaign may be served at the same time. If it need not be ``complete``, problems of its files are warnings,
    and only its settings are read.
    """
    campaign = load_campaign(folder) if complete else _load_partly(folder)
    url = database_url(campaign.folder, campaign.settings.store.database)
    if url.get_backend_name() == "sqlite" and not Path(str(url.database)).exists():
        raise InputError("nobody has worked on this campaign yet: start it with `adjudge serve`", str(folder))
    engine = open_engine(url, read_only=True)
    try:
        with explained(url, campaign), engine.begin() as connection:
            if problem := owner_problem(campaign_of(connection), read_seal(campaign.folder)):
                raise InputError(f"{problem}; {PUT_BACK}; {RESEAL}", address(url))
            yield campaign, connection
    finally:
        engine.dispose()


def _load_partly(folder: str | os.PathLike[str]) -> Campaign:
    """Return a campaign; if its files have problems, its settings alone, with the problems as its warning."""
    try:
        return load_campaign(folder)
    except CampaignProblems as error:
        problems = Problems()
        settings = load_settings(Path(folder), problems)
        if problems.messages:  # the database and the redundancy must not be guessed
            raise
        warning = f"files of the campaign have problems, so this uses its database alone; {error}"
        nothing = Documents(Path(os.devnull), {}, array("q"))
        return Campaign(Path(folder), settings, {}, (), {}, (), nothing, (warning,))

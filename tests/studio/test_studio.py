import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adjudge.errors import CampaignProblems
from adjudge.studio import studio as studios
from adjudge.studio.access import Signer
from adjudge.studio.consensus import Beliefs
from adjudge.studio.desk.decisions import change_standing, switch_campaign
from adjudge.studio.record.store import Change
from adjudge.studio.records import Refused
from adjudge.studio.refresh_consensus import refresh
from adjudge.studio.studio import DAY, Growth, Studio, open_studio


def test_a_studio_opens_and_closes(desk_folder):
    """A campaign's folder becomes a studio, with a key and a database, and again after it was closed."""
    for _ in range(2):
        studio = open_studio(desk_folder)
        assert len(studio.ledger.items.pairs) == 25
        studio.store.close()
    assert (desk_folder / "key").stat().st_mode & 0o777 == 0o600


def test_a_broken_campaign_is_not_opened(desk_folder):
    """Problems are listed, and no database is made."""
    (desk_folder / "pool.csv").write_text("topic,document\noak,none\n")
    with pytest.raises(CampaignProblems, match=r"pool.csv, line 2"):
        open_studio(desk_folder)
    assert not (desk_folder / "studio.db").exists()


def test_asking_from_many_sides(file_crowd):
    """Handlers ask at once; each has its own answer, refusals included."""
    created = file_crowd()
    studio = Studio(created.campaign, created.store, Signer(b"k" * 32))

    def answer(ledger, now, n):
        if n % 3 == 0:
            raise Refused(409, "no", f"not {n}")
        return Change(answer=n)

    async def ask():
        created.store.start()
        return await asyncio.gather(*(studio.do(answer, n) for n in range(30)), return_exceptions=True)

    result = asyncio.run(ask())
    assert [str(entry) for entry in result] == [f"not {n}" if n % 3 == 0 else str(n) for n in range(30)]


def test_a_handler_that_has_gone_stops_nobody(file_crowd):
    """Who hangs up before the answer is forgotten; the next is served."""
    created = file_crowd()
    studio = Studio(created.campaign, created.store, Signer(b"k" * 32))

    async def ask():
        removed = asyncio.create_task(studio.look(lambda ledger, now: 1))
        await asyncio.sleep(0)
        removed.cancel()
        await asyncio.gather(removed, return_exceptions=True)
        created.store.start()
        return await studio.look(lambda ledger, now: 2)

    assert asyncio.run(ask()) == 2


def test_leases_end_and_the_consensus_is_asked_while_it_runs(file_crowd, monkeypatch):
    """A running studio ends leases, has the consensus refreshed when there is news, and believes it."""
    created = file_crowd("[qualification]\nrequired = false\n[consensus]\nevery_seconds = 1\n")
    studio = Studio(created.campaign, created.store, Signer(b"k" * 32))
    stored = created.open_work(created.person("ann"))
    created.time[0] += 10**6
    requests = []

    async def refresh(folder):
        from adjudge.studio.refresh_consensus import refresh

        requests.append(refresh(folder)["model"])

    monkeypatch.setattr(studios, "refresh_consensus", refresh)

    async def run():
        async with studio.running():
            while not stored.outcome or studio.ledger.belief is None:
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(run(), 120))
    assert stored.outcome == "expired"
    assert requests
    assert np.isfinite(studio.ledger.belief).all()


FREE = "[qualification]\nrequired = false\n[gate]\nseconds = 0\n"


def run(script):
    """Run a coroutine in a thread: a browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, script).result()


def test_judgments_and_standings_are_news_and_taking_work_is_not(file_crowd):
    """A change that does not affect the consensus does not compute it again."""
    created = file_crowd(FREE)
    lea, ann = created.person("lea", "lead"), created.person("ann")
    before = studios.news(created.store.ledger)
    created.open_work(created.person("bob"))
    assert studios.news(created.store.ledger) == before
    created.through(ann)
    judged = studios.news(created.store.ledger)
    assert judged != before
    created.do(change_standing, lea, ann, "paused", "a break")
    assert studios.news(created.store.ledger) != judged


def test_a_ledger_believes_what_was_found(file_crowd):
    """As a command that writes nothing; without a consensus nothing is believed."""
    created = file_crowd(FREE)
    created.through(created.person("ann"))
    beliefs = Beliefs(created.folder)
    assert studios.believe(created.store.ledger, 0.0, beliefs).rows == ()
    assert created.store.ledger.belief is None
    refresh(created.folder)
    assert beliefs.refresh()
    created.do(studios.believe, beliefs)
    assert np.isfinite(created.store.ledger.belief).all()


def test_a_process_of_its_own_refreshes_the_consensus(file_crowd):
    """Afterwards the campaign has beliefs to read."""
    created = file_crowd(FREE)
    created.through(created.person("ann"))
    run(studios.refresh_consensus(created.folder))
    assert Beliefs(created.folder).array.size


def test_a_consensus_that_fails_stops_nobody(tmp_path, caplog):
    """The log says why, and the studio goes on."""
    with caplog.at_level(logging.WARNING, "adjudge"):
        run(studios.refresh_consensus(tmp_path / "nowhere"))
    assert "the consensus could not be refreshed" in caplog.text
    assert "nowhere" in caplog.text


def test_a_studio_that_stops_takes_the_process_along(tmp_path, monkeypatch):
    """Who is cancelled while it computes leaves no process behind."""
    monkeypatch.setattr(sys, "executable", "/bin/sleep")
    started = []
    begin = asyncio.create_subprocess_exec

    async def begun(program, *_, **more):
        started.append(await begin(program, "60", **more))
        return started[0]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", begun)

    async def way():
        job = asyncio.create_task(studios.refresh_consensus(tmp_path))
        while not started:
            await asyncio.sleep(0.01)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job

    run(way())
    assert started[0].returncode == -9


def test_growth_is_counted_by_the_day():
    """Growth beyond the limit is said once, then counted from zero; a day without it begins another."""
    growth = Growth(2_000_000)
    assert [growth.excess(size, 0.0) for size in (7_000_000, 9_000_000)] == ["", ""]
    assert growth.excess(9_000_001, 1.0) == "The database grew by more than 2 MB within a day."
    assert growth.excess(11_000_000, 2.0) == ""
    assert growth.excess(11_000_001, 3.0 + DAY) == ""
    assert growth.excess(13_000_000, 4.0 + DAY) == ""


def test_a_database_that_grows_too_fast_pauses_the_campaign(crowd, monkeypatch, caplog):
    """The campaign is paused with a reason; when the lead resumes it, it goes on."""
    created = crowd("[limits]\ngrowth_megabytes_per_day = 1\n")
    studio = Studio(created.campaign, created.store, Signer(b"k" * 32))
    lead, reported = created.person("lea", "lead"), iter((0, 2_000_000, 2_000_001))
    monkeypatch.setattr(studios, "GROWTH_SECONDS", 0.01)
    monkeypatch.setattr(studios, "database_bytes", lambda connection: next(reported, 2_000_002))

    async def watch():
        async with studio.running():
            for _ in range(500):
                if studio.ledger.switches.get("paused") == "1":
                    break
                await asyncio.sleep(0.01)
            reason = studio.ledger.switches["pause reason"]
            await studio.do(switch_campaign, lead, False)
            await asyncio.sleep(0.1)
            return reason, studio.ledger.switches["paused"]

    assert asyncio.run(watch()) == ("The database grew by more than 1 MB within a day.", "0")
    assert "the campaign is paused" in caplog.text

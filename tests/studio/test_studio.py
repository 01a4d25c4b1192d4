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
from adjudge.studio.desk.decisions import change_standing
from adjudge.studio.record.store import Change
from adjudge.studio.records import Refused
from adjudge.studio.refresh_consensus import refresh
from adjudge.studio.studio import Studio, open_studio


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
    made = file_crowd()
    studio = Studio(made.campaign, made.store, Signer(b"k" * 32))

    def answer(ledger, now, n):
        if n % 3 == 0:
            raise Refused(409, "no", f"not {n}")
        return Change(answer=n)

    async def ask():
        made.store.start()
        return await asyncio.gather(*(studio.do(answer, n) for n in range(30)), return_exceptions=True)

    found = asyncio.run(ask())
    assert [str(one) for one in found] == [f"not {n}" if n % 3 == 0 else str(n) for n in range(30)]


def test_a_handler_that_has_gone_stops_nobody(file_crowd):
    """Who hangs up before the answer is forgotten; the next is served."""
    made = file_crowd()
    studio = Studio(made.campaign, made.store, Signer(b"k" * 32))

    async def ask():
        gone = asyncio.create_task(studio.look(lambda ledger, now: 1))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        made.store.start()
        return await studio.look(lambda ledger, now: 2)

    assert asyncio.run(ask()) == 2


def test_leases_end_and_the_consensus_is_asked_while_it_runs(file_crowd, monkeypatch):
    """A running studio ends leases, has the consensus refreshed when there is news, and believes it."""
    made = file_crowd("[qualification]\nrequired = false\n[consensus]\nevery_seconds = 1\n")
    studio = Studio(made.campaign, made.store, Signer(b"k" * 32))
    held = made.open_work(made.person("ann"))
    made.time[0] += 10**6
    asked = []

    async def refresh(folder):
        from adjudge.studio.refresh_consensus import refresh

        asked.append(refresh(folder)["model"])

    monkeypatch.setattr(studios, "refresh_consensus", refresh)

    async def run():
        async with studio.running():
            while not held.outcome or studio.ledger.belief is None:
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(run(), 120))
    assert held.outcome == "expired"
    assert asked
    assert np.isfinite(studio.ledger.belief).all()


FREE = "[qualification]\nrequired = false\n[gate]\nseconds = 0\n"


def run(script):
    """Run a coroutine in a thread: a browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, script).result()


def test_judgments_and_standings_are_news_and_taking_work_is_not(file_crowd):
    """A change that does not affect the consensus does not compute it again."""
    made = file_crowd(FREE)
    lea, ann = made.person("lea", "lead"), made.person("ann")
    before = studios.news(made.store.ledger)
    made.open_work(made.person("bob"))
    assert studios.news(made.store.ledger) == before
    made.through(ann)
    judged = studios.news(made.store.ledger)
    assert judged != before
    made.do(change_standing, lea, ann, "paused", "a break")
    assert studios.news(made.store.ledger) != judged


def test_a_ledger_believes_what_was_found(file_crowd):
    """As a command that writes nothing; without a consensus nothing is believed."""
    made = file_crowd(FREE)
    made.through(made.person("ann"))
    beliefs = Beliefs(made.folder)
    assert studios.believe(made.store.ledger, 0.0, beliefs).rows == ()
    assert made.store.ledger.belief is None
    refresh(made.folder)
    assert beliefs.refresh()
    made.do(studios.believe, beliefs)
    assert np.isfinite(made.store.ledger.belief).all()


def test_a_process_of_its_own_refreshes_the_consensus(file_crowd):
    """Afterwards the campaign has beliefs to read."""
    made = file_crowd(FREE)
    made.through(made.person("ann"))
    run(studios.refresh_consensus(made.folder))
    assert Beliefs(made.folder).array.size


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

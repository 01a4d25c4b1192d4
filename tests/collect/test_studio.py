import asyncio

import numpy as np
import pytest

from adjudge.collect import studio as studios
from adjudge.collect.entry.access import Seal
from adjudge.collect.files.campaign import CampaignProblems
from adjudge.collect.record.store import Change
from adjudge.collect.refused import Refused
from adjudge.collect.studio import Studio, open_studio


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
    studio = Studio(made.campaign, made.store, Seal(b"k" * 32))

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
    studio = Studio(made.campaign, made.store, Seal(b"k" * 32))

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
    studio = Studio(made.campaign, made.store, Seal(b"k" * 32))
    held = made.open_work(made.person("ann"))
    made.time[0] += 10**6
    asked = []

    async def consult(folder):
        from adjudge.collect.consensus.consensus import refresh

        asked.append(refresh(folder)["model"])

    monkeypatch.setattr(studios, "consult", consult)

    async def run():
        async with studio.running():
            while not held.outcome or studio.ledger.belief is None:
                await asyncio.sleep(0.05)

    asyncio.run(asyncio.wait_for(run(), 120))
    assert held.outcome == "expired"
    assert asked
    assert np.isfinite(studio.ledger.belief).all()

"""Keeping the consensus fresh: asked for when there is news, from a process of its own, and never fatal."""

import asyncio
import logging
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adjudge.collect.consensus import consulting
from adjudge.collect.consensus.beliefs import Beliefs
from adjudge.collect.consensus.consensus import refresh
from adjudge.collect.desk.commands import change_standing

FREE = "[qualification]\nrequired = false\n[gate]\nseconds = 0\n"


def run(script):
    """Run a coroutine in a thread: a browser of other tests has a loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, script).result()


def test_judgments_and_standings_are_news_and_taking_work_is_not(file_crowd):
    """What changes nothing in the consensus does not have it computed anew."""
    made = file_crowd(FREE)
    lea, ann = made.person("lea", "lead"), made.person("ann")
    before = consulting.news(made.store.ledger)
    made.open_work(made.person("bob"))
    assert consulting.news(made.store.ledger) == before
    made.through(ann)
    judged = consulting.news(made.store.ledger)
    assert judged != before
    made.do(change_standing, lea, ann, "paused", "a break")
    assert consulting.news(made.store.ledger) != judged


def test_a_ledger_believes_what_was_found(file_crowd):
    """As a command that writes nothing; without a consensus nothing is believed."""
    made = file_crowd(FREE)
    made.through(made.person("ann"))
    beliefs = Beliefs(made.folder)
    assert consulting.believe(made.store.ledger, 0.0, beliefs).rows == ()
    assert made.store.ledger.belief is None
    refresh(made.folder)
    assert beliefs.refresh()
    made.do(consulting.believe, beliefs)
    assert np.isfinite(made.store.ledger.belief).all()


def test_a_process_of_its_own_refreshes_the_consensus(file_crowd):
    """Afterwards the campaign has beliefs to read."""
    made = file_crowd(FREE)
    made.through(made.person("ann"))
    run(consulting.consult(made.folder))
    assert Beliefs(made.folder).array.size


def test_a_consensus_that_fails_stops_nobody(tmp_path, caplog):
    """The log says why, and the studio goes on."""
    with caplog.at_level(logging.WARNING, "adjudge"):
        run(consulting.consult(tmp_path / "nowhere"))
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
        job = asyncio.create_task(consulting.consult(tmp_path))
        while not started:
            await asyncio.sleep(0.01)
        job.cancel()
        with pytest.raises(asyncio.CancelledError):
            await job

    run(way())
    assert started[0].returncode == -9

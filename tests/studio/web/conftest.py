"""A studio that answers in the test's own process."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from adjudge.studio.access import Signer
from adjudge.studio.studio import Studio
from adjudge.studio.web.app import create_app
from adjudge.studio.web.security import COOKIE

FREE = "[qualification]\nrequired = false\n[gate]\nseconds = 0\n"


class Site:
    """A studio that answers in this process, with the sessions of whom a test needs."""

    def __init__(self, made):
        self.made, self.started = made, False
        self.studio = Studio(made.campaign, made.store, Signer(b"k" * 32))
        self.app = create_app(self.studio)

    def client(self, person=None, **more):
        """Return a browser: signed in as somebody, with the page's word against forgery, or as nobody."""
        client = httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://studio", **more)
        if person is not None:
            session = self.studio.signer.session(person, self.studio.ledger.people[person].epoch, 12, self.studio.now())
            client.cookies.set(COOKIE, session)
            client.headers["x-csrf"] = self.studio.signer.csrf(session)
        return client

    def run(self, script):
        """Run a test's coroutine while the studio takes commands."""
        if not self.started:
            self.made.store.start()  # from now on the store is its writer's
            self.started = True
        with ThreadPoolExecutor(1) as thread:  # a browser of other tests has a loop in this one
            return thread.submit(asyncio.run, script).result()

    def ask(self, method, path, person=None, **more):
        """Return the answer to one request."""

        async def asking():
            async with self.client(person) as client:
                return await client.request(method, path, **more)

        return self.run(asking())


@pytest.fixture
def site(crowd):
    """Return a maker of studios that answer, on either database."""
    return lambda settings=FREE, **sizes: Site(crowd(settings, **sizes))


@pytest.fixture
def file_site(file_crowd):
    """Return the same maker, for tests to which the database does not matter."""
    return lambda settings=FREE, **sizes: Site(file_crowd(settings, **sizes))

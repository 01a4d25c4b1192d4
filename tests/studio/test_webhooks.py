"""Signed webhooks: what is sent, when it is sent again, and where it is never sent."""

import asyncio
import base64
import contextlib
import hashlib
import hmac
import json
import re
import socket
import threading
import time
from pathlib import Path

import pytest

from adjudge.errors import InputError
from adjudge.studio import webhooks
from adjudge.studio.access import Signer
from adjudge.studio.desk import decisions
from adjudge.studio.studio import Studio
from adjudge.studio.webhooks import FILE, SECRET, Undelivered, post, resolve, secret_text, sign, signing_secret

PAUSES = {"EVERY": 0.01, "FIRST_PAUSE": 0.02, "LONGEST_PAUSE": 0.05}


class Receiver:
    """A server that notes what is posted to it, and answers as a test tells it to."""

    def __init__(self, *answers):
        self.answers, self.got, self.writers = list(answers), [], []

    async def __aenter__(self):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}/hook?x=1"
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for writer in self.writers:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(self, reader, writer):
        self.writers.append(writer)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lines = [line.split(": ", 1) for line in head.strip().splitlines()[1:]]
            headers = {name.lower(): value for name, value in lines}
            self.got.append((head.splitlines()[0], headers, await reader.readexactly(int(headers["content-length"]))))
            answer = self.answers.pop(0) if self.answers else b"HTTP/1.1 204 No Content\r\n\r\n"
            if answer is None:  # silence
                return
            writer.write(answer)
            await writer.drain()
        writer.close()

    def types(self):
        """Return the types of the events so far."""
        return [json.loads(body)["type"] for _, _, body in self.got]

    async def wait(self, count):
        """Wait until so many requests have come."""
        async with asyncio.timeout(20):
            while len(self.got) < count:
                await asyncio.sleep(0.005)


@pytest.fixture
def quick(monkeypatch):
    """Make pauses short."""
    for name, seconds in PAUSES.items():
        monkeypatch.setattr(webhooks, name, seconds)


def set_urls(made, *urls, **more):
    """Write the addresses of a campaign's webhooks into its settings."""
    settings = made.campaign.settings
    changed = settings.webhooks.model_copy(update={"urls": urls, **more})
    use_settings(made, settings.model_copy(update={"webhooks": changed}))
    return made


def use_settings(made, settings):
    """Let a campaign work with other settings."""
    made.campaign = made.campaign.__class__(**{**vars(made.campaign), "settings": settings})
    made.store.ledger.adopt(made.campaign)
    made.store.campaign = made.campaign


def sender(made):
    """Return the webhooks of a studio, and its reader."""
    studio = Studio(made.campaign, made.store, Signer(b"k" * 32))
    return studio.webhooks


async def acknowledged(made, url):
    """Wait until an address has acknowledged everything, and this is stored."""
    async with asyncio.timeout(20):
        while json.loads((made.folder / FILE).read_text())[url]["entry"] < made.store.ledger.link.id:
            await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def running(hooks):
    """Send events while the block runs."""
    task = asyncio.create_task(hooks.run())
    await asyncio.sleep(0.05)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.mark.usefixtures("quick", "database")
def test_events_are_sent_signed_in_order(desk):
    """Those after the start, with a signature over id, timestamp and body; nothing of before, and no name."""

    async def script():
        async with Receiver() as receiver:
            hooks = sender(set_urls(desk, receiver.url))
            async with running(hooks):
                for paused in (True, False):
                    desk.time[0] += 1
                    desk.do(decisions.switch_campaign, desk.lead, paused)
                desk.do(decisions.change_standing, desk.lead, desk.ann, "paused", "a secret reason")
                await acknowledged(desk, receiver.url)
            assert (hooks.waiting, hooks.failures) == (0, 0)
            return receiver

    receiver = asyncio.run(script())
    assert receiver.types() == ["campaign.paused", "campaign.resumed", "judge.paused"]
    for line, headers, body in receiver.got:
        assert line == "POST /hook?x=1 HTTP/1.1"
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(Signer(b"k" * 32).webhook_secret(), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    last = json.loads(receiver.got[2][2])
    assert last["data"]["judge"] == f"judge-{desk.ann}"
    assert "ann" not in str(receiver.got)
    assert "secret" not in str(receiver.got)
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 3


@pytest.mark.usefixtures("quick")
def test_what_is_not_acknowledged_is_sent_again(desk):
    """Errors, redirects, nonsense and silence; id and order stay, and the target of a redirect is not asked."""
    answers = [
        b"HTTP/1.1 500 Oh\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n",
        b"nonsense\r\n",
        b"",
        b"HTTP/1.1 200 OK\r\n" + b"x" * 100_000,
        b"HTTP/1.1 404 No\r\n\r\n",
    ]

    async def script():
        async with Receiver(*answers) as receiver:
            hooks = sender(set_urls(desk, receiver.url))
            async with running(hooks):
                desk.do(decisions.switch_campaign, desk.lead, True)
                desk.do(decisions.switch_campaign, desk.lead, False)
                await receiver.wait(7)
            assert hooks.failures == 5
            return receiver

    receiver = asyncio.run(script())
    assert receiver.types() == ["campaign.paused"] * 5 + ["campaign.resumed"] * 2
    assert len({headers["webhook-id"] for _, headers, _ in receiver.got}) == 2


@pytest.mark.usefixtures("quick")
def test_a_restart_continues_where_it_stopped(desk):
    """What happened while the studio was down is sent, once acknowledged never again; each address on its own."""

    async def script():
        async with Receiver() as good, Receiver(*[b"HTTP/1.1 503 No\r\n\r\n"] * 9_999) as bad:
            set_urls(desk, good.url, bad.url)
            async with running(sender(desk)):
                desk.do(decisions.switch_campaign, desk.lead, True)
                await acknowledged(desk, good.url)
                await bad.wait(2)
            desk.do(decisions.switch_campaign, desk.lead, False)
            bad.answers, bad.got = [], []
            async with running(sender(desk)):
                await acknowledged(desk, good.url)
                await acknowledged(desk, bad.url)
            return good.types(), bad.types()

    good, bad = asyncio.run(script())
    assert good == bad == ["campaign.paused", "campaign.resumed"]


@pytest.mark.usefixtures("quick")
def test_an_address_that_is_silent_costs_seconds_and_blocks_nobody(desk, monkeypatch):
    """A request has a limit in time; the other address has its events meanwhile."""
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.3)

    async def script():
        async with Receiver() as good, Receiver(None) as silent, asyncio.timeout(20):
            hooks = sender(set_urls(desk, silent.url, good.url))
            async with running(hooks):
                desk.do(decisions.switch_campaign, desk.lead, True)
                await acknowledged(desk, good.url)
                while not hooks.failures:
                    await asyncio.sleep(0.02)
            assert hooks.waiting == 1

    asyncio.run(script())


@pytest.mark.usefixtures("quick")
def test_only_types_that_are_asked_for_are_sent(desk):
    """And a new consensus is one of them."""

    async def script():
        async with Receiver() as receiver:
            hooks = sender(set_urls(desk, receiver.url, events=("consensus.refreshed",)))
            async with running(hooks):
                desk.do(decisions.switch_campaign, desk.lead, True)
                folder = desk.folder / "consensus"
                folder.mkdir()
                summary = {"model": "majority", "judgments": 12, "note": "", "at": 2e9}
                (folder / "summary.json").write_text(json.dumps(summary))
                await receiver.wait(1)
            return json.loads(receiver.got[0][2])

    body = asyncio.run(script())
    assert (body["type"], body["timestamp"]) == ("consensus.refreshed", "2033-05-18T03:33:20.000+00:00")
    del body["data"]["number"]
    assert body["data"] == {"campaign": "Trees", "model": "majority", "judgments": 12, "note": ""}


@pytest.mark.parametrize(
    ("address", "secure", "private", "problem"),
    [
        ("10.1.2.3", False, False, "inside.example leads to the private address 10.1.2.3"),
        ("169.254.169.254", True, False, "inside.example leads to the private address 169.254.169.254"),
        ("::ffff:127.0.0.1", True, False, "inside.example leads to the private address ::ffff:127.0.0.1"),
        ("93.184.216.34", False, True, "an address on the internet needs https://"),
        ("10.1.2.3", False, True, ""),
        ("93.184.216.34", True, False, ""),
    ],
)
def test_where_events_are_not_sent(monkeypatch, address, secure, private, problem):
    """A name that leads into the own network, and the internet without TLS; the address that was checked is used."""

    async def script():
        with monkeypatch.context() as patch:
            patch.setattr(socket, "getaddrinfo", lambda *_, **__: [(None, None, None, "", (address, 80))])
            return await resolve("inside.example", 80, secure, private)

    if problem:
        with pytest.raises(Undelivered, match=f"^{problem}"):
            asyncio.run(script())
    else:
        assert asyncio.run(script()) == address


def test_a_name_server_that_does_not_answer_holds_nothing_else(monkeypatch):
    """The threads that read the record stay free, and the attempt ends in time."""
    silent = threading.Event()
    monkeypatch.setattr(webhooks, "TIMEOUT", 0.2)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: silent.wait(20))

    async def script():
        posts = [post("https://inside.example/", b"", {}, private=False) for _ in range(40)]
        waiting = asyncio.gather(*posts, return_exceptions=True)
        await asyncio.sleep(0.05)
        async with asyncio.timeout(10):
            assert await asyncio.to_thread(lambda: "read") == "read"
            assert {str(error) for error in await waiting} == {"no answer within 0.2 seconds"}

    try:
        asyncio.run(script())
    finally:
        silent.set()


def test_a_name_without_an_address_is_not_delivered(monkeypatch):
    """The reason is that of the machine."""

    def fail(*_, **__):
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(Undelivered, match="Name or service not known"):
        asyncio.run(post("https://nowhere.invalid/", b"", {}, private=False))


def test_addresses_that_are_written_as_such_are_meant():
    """An address of the own network, and localhost."""
    assert asyncio.run(resolve("127.0.0.1", 80, secure=False, private=False)) == "127.0.0.1"
    assert asyncio.run(resolve("localhost", 80, secure=False, private=False)) in ("127.0.0.1", "::1")


def test_a_port_that_nobody_listens_on():
    """Is a reason, not a fault; so is a port that cannot be one."""
    for url in ("http://127.0.0.1:1/", "http://127.0.0.1:99999/"):
        with pytest.raises(Undelivered):
            asyncio.run(post(url, b"{}", {}, private=False))


def test_secrets(monkeypatch):
    """By default derived from the key; else from the environment, as text or in base64; short ones are refused."""
    assert signing_secret(b"derived") == b"derived"
    monkeypatch.setenv(SECRET, "a long text for signing")
    assert signing_secret(b"derived") == b"a long text for signing"
    monkeypatch.setenv(SECRET, secret_text(b"0123456789abcdef"))
    assert signing_secret(b"derived") == b"0123456789abcdef"
    for text, problem in (
        ("short", "ADJUDGE_WEBHOOK_SECRET has 5 bytes, expected at least 16"),
        ("whsec_%%%", "ADJUDGE_WEBHOOK_SECRET begins with whsec_, but the rest is not base64"),
    ):
        monkeypatch.setenv(SECRET, text)
        with pytest.raises(InputError, match=f"^{problem}"):
            signing_secret(b"derived")


def test_the_receiver_of_the_docs_verifies_signatures():
    """It accepts ours, and refuses another secret, body, id or time."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "programs.md").read_text()
    names = {}
    exec(re.search(r"<!-- verify -->\n```python\n(.*?)```", page, re.DOTALL)[1], names)
    verify, secret, body = names["verify"], b"0123456789abcdef", b'{"type": "test"}'
    headers = sign(secret, "evt_1", time.time(), body)
    assert verify(secret_text(secret), headers, body)
    assert verify(secret_text(secret), {**headers, "webhook-signature": "v1,x " + headers["webhook-signature"]}, body)
    assert not verify(secret_text(b"another secret.."), headers, body)
    assert not verify(secret_text(secret), headers, body + b" ")
    assert not verify(secret_text(secret), {**headers, "webhook-id": "evt_2"}, body)
    assert not verify(secret_text(secret), sign(secret, "evt_1", time.time() - 400, body), body)


def test_signatures_are_those_of_the_specification():
    """The example of the specification's reference libraries."""
    secret = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.usefixtures("quick")
def test_an_event_has_the_present_name_of_the_campaign(desk):
    """A lead may have changed it since the studio started."""

    async def script():
        async with Receiver() as receiver:
            hooks = sender(set_urls(desk, receiver.url))
            async with running(hooks):
                desk.do(decisions.switch_campaign, desk.lead, True)
                await acknowledged(desk, receiver.url)
                settings = desk.campaign.settings
                about = settings.campaign.model_copy(update={"name": "Shrubs"})
                use_settings(desk, settings.model_copy(update={"campaign": about}))
                desk.do(decisions.switch_campaign, desk.lead, False)
                await acknowledged(desk, receiver.url)
            return receiver

    receiver = asyncio.run(script())
    assert [json.loads(body)["data"]["campaign"] for _, _, body in receiver.got] == ["Trees", "Shrubs"]

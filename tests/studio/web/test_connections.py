"""Connections that are too many, too slow or half open, with real sockets."""

import asyncio
import contextlib
import resource

import pytest
import uvicorn

from adjudge.studio.web import connections as limits
from adjudge.studio.web.connections import Connections, most_connections

GET = b"GET / HTTP/1.1\r\nHost: studio\r\n\r\n"
STREAMS = []  # that a test has opened
POST = b"POST / HTTP/1.1\r\nHost: studio\r\nContent-Length: 100000\r\n\r\n"


async def echo(scope, receive, send):
    """Answer with the length of the body, or on /long with more than a client takes at once."""
    length, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return
        length, more = length + len(message["body"]), message["more_body"]
    body = b"x" * 20_000_000 if scope["path"] == "/long" else b"%d" % length
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@contextlib.asynccontextmanager
async def serving(connections):
    """Serve a small application, and yield its port."""
    config = uvicorn.Config(echo, port=0, http=connections.protocol, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        await task


def run(script, **how):
    """Run a coroutine function with connections and the port of a server."""

    async def running():
        connections = Connections(**{"is_trusted": lambda host: False, **how})
        async with serving(connections) as port:
            try:
                return await asyncio.wait_for(script(connections, port), 30)
            finally:
                for _, writer in STREAMS:
                    writer.transport.abort()
                STREAMS.clear()

    return asyncio.run(running())


async def opened(port, sent=b""):
    """Open a connection and send some bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    STREAMS.append((reader, writer))
    writer.write(sent)
    return reader, writer


async def status(stream):
    """Return the status of a response, or "closed"."""
    try:
        head = await asyncio.wait_for(stream[0].readuntil(b"\r\n\r\n"), 5)
    except (asyncio.IncompleteReadError, ConnectionError):
        return "closed"
    return int(head.split()[1])


async def asked(stream, request=GET):
    """Send a request on an open connection, and return the status."""
    stream[1].write(request)
    return await status(stream)


def settled(connections):
    """Return a coroutine that waits a little, and closes what is late by now."""

    async def settling(seconds):
        await asyncio.sleep(seconds)
        connections.close_late(asyncio.get_running_loop().time())
        await asyncio.sleep(0.05)
        return len(connections.open)

    return settling


@pytest.mark.parametrize("sent", [b"", b"GET / HT", GET[:-2], GET + b"\r\n", GET + GET[:-3], POST + b"x"])
def test_clients_that_stop_are_closed(sent, monkeypatch):
    """Without a byte, within the headers or the body, or with an empty line after a request; and forgotten."""
    for name in ("HEADER_SECONDS", "BODY_SECONDS", "KEEP_ALIVE"):
        monkeypatch.setattr(limits, name, 0.3 if name != "KEEP_ALIVE" else -0.7)

    async def script(connections, port):
        stream = await opened(port, sent)
        assert await settled(connections)(0.1) == 1
        assert await settled(connections)(0.5) == 0
        assert connections.by_address == {}
        await asyncio.wait_for(stream[0].read(), 5)
        assert stream[0].at_eof()

    run(script)


def test_slow_bodies_have_a_least_rate(monkeypatch):
    """A body that arrives slowly and steadily is read to its end; one of single bytes is not."""
    monkeypatch.setattr(limits, "BODY_SECONDS", 0.2)

    async def script(connections, port):
        steady, dripping = await opened(port, POST), await opened(port, POST)
        for _ in range(10):
            steady[1].write(b"x" * 10_000)
            dripping[1].write(b"x")
            await settled(connections)(0.05)
        assert await status(steady) == 200
        assert await status(dripping) == "closed"

    run(script)


def test_who_reads_nothing_is_closed(monkeypatch):
    """A response that nobody takes does not stay in memory."""
    monkeypatch.setattr(limits, "READ_SECONDS", 0.2)

    async def script(connections, port):
        await opened(port, GET.replace(b"/ ", b"/long "))
        wait = settled(connections)
        assert await wait(0.1) == 1
        assert await wait(0.1) == 1
        assert await wait(0.4) == 0

    run(script)


def test_headers_without_end_are_refused():
    """Their size has a limit, on one connection in one request."""

    async def script(connections, port):
        stream = await opened(port, b"GET / HTTP/1.1\r\n")
        with contextlib.suppress(ConnectionError):
            for n in range(100):
                stream[1].write(b"x-%d: %b\r\n" % (n, b"y" * 1_000))
                await stream[1].drain()
        assert await status(stream) in (400, "closed")
        assert await status(await opened(port, GET)) == 200

    run(script)


def test_idle_connections_make_room():
    """The oldest connection that asks for nothing is closed, not one that works; others are served."""

    async def script(connections, port):
        working = await opened(port, POST + b"x" * 50_000)
        idle = [await opened(port) for _ in range(3)]
        await asyncio.sleep(0.1)
        assert await status(await opened(port, GET)) == 200
        assert await status(idle[0]) == "closed"
        assert await asked(idle[2]) == 200
        assert await asked(working, b"x" * 50_000) == 200

    run(script, most=4)


def test_when_all_work_nobody_else_comes():
    """Nothing is taken from requests that are being received."""

    async def script(connections, port):
        working = [await opened(port, POST + b"x") for _ in range(3)]
        await asyncio.sleep(0.1)
        assert await status(await opened(port, GET)) == "closed"
        assert [await asked(stream, b"x" * 99_999) for stream in working] == [200] * 3

    run(script, per_address=3)


def test_proxies_are_not_counted_by_address():
    """The connections of a trusted proxy are those of many people."""

    async def script(connections, port):
        streams = [await opened(port) for _ in range(9)]
        assert [await asked(stream) for stream in streams] == [200] * 9
        assert connections.by_address == {}

    run(script, per_address=3, is_trusted=lambda host: True)


def test_connections_are_as_many_as_files_allow(monkeypatch):
    """The limit of open files is raised as far as the system allows it; some files remain for the database."""
    raised = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: raised.append(pair))
    for soft, hard, most in ((1_024, 4_096, 3_896), (1_024, 1_024, 824), (1_024, resource.RLIM_INFINITY, 5_000)):
        monkeypatch.setattr(resource, "getrlimit", lambda kind, pair=(soft, hard): pair)
        assert most_connections() == most
    assert raised == [(4_096, 4_096), (8_192, resource.RLIM_INFINITY)]


def test_half_open_connections_keep_nobody_out(tmp_path):
    """2,000 connections that begin a request and stop: a judge works meanwhile, and they are closed by themselves."""
    from studies.benchmarks.chaos import half_open

    result = half_open(tmp_path / "campaign", 2_000)
    assert result["opened"] == 2_000
    assert result["faults"] == []
    assert result["during"] >= 20
    assert result["closed"] == 2_000


def test_a_request_on_its_way_is_answered_while_the_studio_stops():
    """A new connection gets one answer and is closed, also if it comes late; one without a request is closed soon."""

    async def script(connections, port):
        early, silent = await opened(port), await opened(port)
        while len(connections.open) < 2:
            await asyncio.sleep(0.01)
        connections.stopping = True
        for connection in list(connections.open):
            connection.shutdown()
        late = await opened(port)
        answers = [await asked(stream) for stream in (early, late)]
        rest = [await asyncio.wait_for(stream[0].read(), 5) for stream in (early, late, silent)]
        return answers, rest

    assert run(script) == ([200, 200], [b"0", b"0", b""])

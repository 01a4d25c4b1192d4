"""Health, readiness, metrics, and a log without secrets."""

import asyncio
import io
import json
import logging
import math
import os
import re
import signal
import socket
import subprocess
import sys
import time

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from adjudge.studio.demo import make_demo
from adjudge.studio.desk.decisions import new_api_token
from adjudge.studio.record.store import Change
from adjudge.studio.records import Unsaved
from adjudge.studio.web import operations
from adjudge.studio.web.operations import JsonLines, TextLines, configure_log, is_local, without_secrets


def samples(text):
    """Return the samples of a Prometheus page: name and labels -> value."""
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def asgi_request(headers=(), client=("127.0.0.1", 1), server=("127.0.0.1", 80)):
    """Return a request from an address."""
    from fastapi import Request

    scope = {"type": "http", "headers": [(name.encode(), b"x") for name in headers]}
    return Request({**scope, "client": client, "server": server})


def test_a_studio_that_can_save_is_ready(site):
    """Both probes answer without a session, and probing writes no row."""
    place = site()
    answers = [place.ask("GET", path) for path in ("/healthz", "/readyz")]
    before = place.studio.ledger.link
    assert [(answer.status_code, answer.json()) for answer in answers] == [
        (200, {"status": "alive"}),
        (200, {"status": "ready"}),
    ]
    assert place.studio.ledger.link == before


def test_a_studio_that_stops_is_not_ready(file_site):
    """A proxy is told to look elsewhere, while the process still lives."""
    place = file_site()
    place.studio.stopping = True
    answer = place.ask("GET", "/readyz")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json() == {"status": "not ready", "reason": "The studio is stopping."}
    assert place.ask("GET", "/healthz").status_code == 200


def test_a_commit_that_failed_is_told_for_some_seconds(file_site, monkeypatch):
    """The reason is that of the database; later the studio is ready again by itself."""
    place = file_site()

    def raise_on_write(*_):
        from sqlalchemy.exc import OperationalError

        raise OperationalError("INSERT", {}, Exception("database or disk is full"))

    with monkeypatch.context() as patch:
        patch.setattr("adjudge.studio.record.store._write", raise_on_write)
        with pytest.raises(Unsaved):
            place.run(place.studio.do(lambda ledger, now: Change()))
    answer = place.ask("GET", "/readyz")
    assert answer.status_code == 503
    assert answer.json()["reason"] == "The last commit failed: the database says “database or disk is full”."
    place.studio.store.failed_at -= operations.RECENT_SECONDS
    assert place.ask("GET", "/readyz").status_code == 200
    assert samples(place.ask("GET", "/metrics").text)["adjudge_commit_failures_total",] == 1


def test_a_database_in_other_hands_is_not_ready(file_site):
    """Another program that holds the lock makes the probe fail within two seconds and a bit."""
    import sqlite3

    place = file_site()
    other = sqlite3.connect(place.studio.store.url.database, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    began = time.monotonic()
    answer = place.ask("GET", "/readyz")
    other.close()
    assert answer.status_code == 503
    assert answer.json()["reason"] in (
        "The writer does not answer within 2 seconds.",
        "The database cannot be written: the database says “database is locked”.",
    )
    assert time.monotonic() - began < 10


def test_a_full_disk_is_not_ready(file_site, monkeypatch):
    """Before the last byte is used."""
    monkeypatch.setattr(operations, "FREE_BYTES", 1 << 70)
    answer = file_site().ask("GET", "/readyz")
    assert answer.json()["reason"] == f"The disk has less than {1 << 70:,} free bytes."


def test_a_folder_that_is_gone_is_not_ready(file_site):
    """The reason is a sentence, and the metrics go on without the size of the database."""
    place = file_site()
    place.made.folder.rename(place.made.folder.with_name("gone"))
    answer = place.ask("GET", "/readyz")
    assert answer.status_code == 503
    assert answer.json()["reason"] == "The campaign's folder cannot be used: No such file or directory."
    metrics = place.ask("GET", "/metrics")
    assert metrics.status_code == 200
    assert math.isnan(samples(metrics.text)["adjudge_database_bytes",])


def test_probes_may_ask_without_a_body(file_site):
    """Some proxies send HEAD."""
    place = file_site()
    assert [place.ask("HEAD", path).status_code for path in ("/healthz", "/readyz")] == [200, 200]


def test_metrics_count_by_route_and_not_by_path(site):
    """Requests, commits, judgments and sizes are there on either database; no path, name or token is a label."""
    place = site()
    judge = place.made.person("ann-the-judge")
    place.made.through(judge)
    place.ask("GET", "/join/secret-link?x=y")
    place.ask("BREW", "/healthz")
    place.ask("GET", "/api/me", judge)
    place.run(place.studio.do(lambda ledger, now: Change()))
    text = place.ask("GET", "/metrics").text
    values = samples(text)
    key = ("adjudge_requests_total", ("method", "GET"), ("route", "/join/{invitation}"), ("status", "404"))
    assert values[key] == 1
    assert ("adjudge_requests_total", ("method", "other"), ("route", "/healthz"), ("status", "405")) in values
    assert values["adjudge_request_seconds_count", ("route", "/join/{invitation}")] == 1
    assert values["adjudge_answers_total",] == values["adjudge_judgments_total",] == 30
    assert values["adjudge_commit_commands_count",] == values["adjudge_commit_seconds_count",] > 6
    assert (values["adjudge_queue_length",], values["adjudge_open_assignments",]) == (0, 0)
    assert (values["adjudge_people",], values["adjudge_consensus_failures_total",]) == (1, 0)
    assert values["adjudge_database_bytes",] > 10_000
    assert values["process_resident_memory_bytes",] > 1e7
    assert values["adjudge_consensus_age_seconds",] != values["adjudge_consensus_age_seconds",]  # NaN: there is none
    assert "secret-link" not in text
    assert "ann" not in text


def test_metrics_are_for_this_machine_or_a_token(file_site):
    """Through a proxy, a token with the scope read is needed."""
    place = file_site()
    lead = place.made.person("lea", "lead")
    tokens = {scope: place.made.do(new_api_token, lead, scope, scope) for scope in ("read", "export")}
    through = {"X-Forwarded-For": "127.0.0.1"}
    assert place.ask("GET", "/metrics", headers=through).status_code == 401
    codes = [
        place.ask("GET", "/metrics", headers={**through, "Authorization": f"Bearer {token}"}).status_code
        for token in tokens.values()
    ]
    assert codes == [200, 403]


def test_what_counts_as_this_machine():
    """A loopback address, or the address of the server itself; never with a header of a proxy."""
    assert is_local(asgi_request())
    assert is_local(asgi_request(client=("::1", 1)))
    assert is_local(asgi_request(client=("10.1.2.3", 1), server=("10.1.2.3", 80)))
    assert not is_local(asgi_request(client=("10.1.2.4", 1), server=("10.1.2.3", 80)))
    assert not is_local(asgi_request(client=None))
    assert not is_local(asgi_request(client=("testclient", 1)))
    for header in operations.FORWARDED:
        assert not is_local(asgi_request([header]))


def test_request_ids_pass_through_if_they_are_well_formed(file_site):
    """Others are replaced, so that nobody writes into the log."""
    place = file_site()
    sent = {
        name: place.ask("GET", "/healthz", headers={"X-Request-ID": name}) for name in ("abc-1234.x", "a b", "x" * 65)
    }
    assert sent["abc-1234.x"].headers["x-request-id"] == "abc-1234.x"
    for bad in ("a b", "x" * 65):
        assert re.fullmatch("[0-9a-f]{16}", sent[bad].headers["x-request-id"])


def test_a_fault_has_an_id_and_the_headers_of_pages(file_site, monkeypatch, caplog):
    """No middleware sees the answer to an unexpected error; the log has the traceback under the same id."""
    place = file_site()

    async def boom(*_):
        raise RuntimeError("a fault")

    monkeypatch.setattr(operations, "unready_reason", boom)

    async def asking():
        transport = httpx.ASGITransport(place.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://studio") as client:
            return await client.get("/readyz", headers={"X-Request-ID": "abc-1234.x"})

    answer = place.run(asking())
    assert (answer.status_code, answer.headers["x-request-id"]) == (500, "abc-1234.x")
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert answer.headers["x-content-type-options"] == "nosniff"
    (record,) = [record for record in caplog.records if record.exc_info]
    assert record.event == {"request_id": "abc-1234.x"}


def test_lines_of_the_log_have_no_secrets():
    """In messages and tracebacks, in both kinds of log."""
    secret = "GET /join/Mg.abc-_x?next=/desk, /documents/tok-1/2/matches?find=x, Bearer adj_0-Z_9"
    assert without_secrets(secret) == "GET /join/... /documents/... Bearer ..."
    for formatter in (JsonLines(), TextLines("%(message)s")):
        stream = io.StringIO()
        handler = logging.StreamHandler(stream)
        handler.setFormatter(formatter)
        log = logging.Logger("trial")
        log.addHandler(handler)
        try:
            raise ValueError(secret)
        except ValueError:
            log.exception("failed with adj_1")
        text = stream.getvalue()
        assert "ValueError" in text
        assert not re.search("abc|tok-1|adj_|find|next=", text)


def test_the_log_is_text_by_default(capfd):
    """Warnings with a time; requests are not listed. As JSON, every line is an object."""
    log = logging.getLogger("adjudge")
    root = logging.getLogger()
    before = root.handlers[:], root.level, log.level
    try:
        for kind in operations.LOGS:
            configure_log(kind)
            log.info("request", extra={"event": {"status": 200}})
            log.warning("the disk is full")
    finally:
        root.handlers[:], level, own = before
        root.setLevel(level)
        log.setLevel(own)
    text, *lines = capfd.readouterr().err.splitlines()
    assert re.fullmatch(r"[\d-]{10} [\d:,]{12} WARNING the disk is full", text)
    assert [json.loads(line)["event"] for line in lines] == ["request", "the disk is full"]
    assert json.loads(lines[0])["status"] == 200


def test_lines_of_several_campaigns_have_their_names(capfd):
    """Also warnings of the jobs of a campaign; without a name, nothing is added."""
    log, root = logging.getLogger("adjudge"), logging.getLogger()
    before = root.handlers[:], root.level, log.level
    try:
        for kind in operations.LOGS:
            configure_log(kind)
            for campaign in ("oak", ""):
                token = operations.CAMPAIGN.set(campaign)
                log.warning("the disk is full")
                operations.CAMPAIGN.reset(token)
    finally:
        root.handlers[:], level, own = before
        root.setLevel(level)
        log.setLevel(own)
    named, plain, *lines = capfd.readouterr().err.splitlines()
    assert named.endswith(" WARNING oak: the disk is full")
    assert plain.endswith(" WARNING the disk is full")
    assert [json.loads(line).get("campaign") for line in lines] == ["oak", None]


@pytest.fixture
def started(tmp_path):
    """Return a maker of studios in processes of their own; output and log are files."""
    processes = []

    def start(folder, *options, socket_of_systemd=None, **environment):
        log = (tmp_path / f"log{len(processes)}").open("w+")
        command = [sys.executable, "-m", "adjudge", "serve", str(folder), "--log", "json", "--port", "0", *options]
        more = {"pass_fds": ()}
        if socket_of_systemd is not None:  # as systemd does it: the socket is file 3, and a variable names the process
            more = {"pass_fds": (socket_of_systemd.fileno(),)}
            line = f'exec 3<&{socket_of_systemd.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
            command = ["bash", "-c", line, "studio", *command]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}, **more
        )
        processes.append((process, log))
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("Stop with Ctrl-C"):
                break
        return process, "".join(lines), log

    yield start
    for process, log in processes:
        process.kill()
        process.wait()
        process.stdout.close()
        log.close()


def test_a_log_of_a_whole_session_has_no_secret(started, tmp_path):
    """A lead and a judge join and work; nothing that was handed out, typed or shown is in the log."""
    make_demo(tmp_path / "demo")
    process, out, log = started(tmp_path / "demo")
    address, link = re.search(r"(http://\S+?)(/join/\S+)", out).groups()
    secrets = [link.rsplit("/", 1)[1], "correct-horse-battery"]

    def value(page, pattern):
        secrets.append(re.search(pattern, page.text)[1])
        return secrets[-1]

    with httpx.Client(base_url=address, timeout=20) as lead, httpx.Client(base_url=address, timeout=20) as judge:
        for client, path, name in ((lead, link, "lea"), (judge, None, "jo-the-judge")):
            if path is None:
                csrf = value(lead.get("/desk/people"), r'name="csrf" value="([^"]+)"')
                page = lead.post("/desk/people/invite", data={"csrf": csrf, "role": "judge", "name": name, "days": "2"})
                path = "/join/" + value(page, r'value="http[^"]*/join/([^"]+)"')
                page = lead.post("/desk/people/token", data={"csrf": csrf, "name": "nightly", "scope": ["read"]})
                token = value(page, r'value="(adj_[^"]+)"')
                lead.get("/api/live", headers={"Authorization": f"Bearer {token}"})
                lead.get(f"/api/live?token={token}")
            joined = client.post(path, data={"name": name, "password": "correct-horse-battery"})
            assert joined.status_code == 303
            secrets += client.cookies.values()
        page = judge.get("/judge")
        judge.headers["x-csrf"] = value(page, r'name="csrf" content="([^"]+)"')
        work = judge.post("/api/assignment", json={}).json()
        tokens = re.findall(r'"(?:token|set)": ?"([^"]{16,})"', json.dumps(work))
        assert tokens
        secrets += tokens
        judge.get(f"/documents/{tokens[-1]}/0?find=secret-word")
        judge.post("/api/answers", json={"set": tokens[-1], "answers": [{"comment": "private-comment"}]})
        lead.get("/desk/judges/2?done=private-query")
        lead.get(f"/nowhere/{tokens[-1]}")
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == -signal.SIGTERM
    log.seek(0)
    text = log.read()
    lines = [json.loads(line) for line in text.splitlines()]
    routes = {line["route"] for line in lines if line["event"] == "request"}
    assert {"/join/{invitation}", "/documents/{token}/{slot}", "/api/answers", "unknown"} <= routes
    assert all({"time", "level", "request_id", "status", "milliseconds"} <= line.keys() for line in lines)
    secrets += ["private-comment", "private-query", "secret-word", "lea", "jo-the-judge", "nightly"]
    assert len(secrets) > 12
    assert [secret for secret in secrets if secret in text] == []


def test_systemd_is_told_and_its_socket_survives_a_restart(started, tmp_path):
    """A request that is sent while no studio runs waits in the socket, and the next studio answers it."""
    make_demo(tmp_path / "demo")
    with (
        socket.create_server(("127.0.0.1", 0)) as listening,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told,
    ):
        told.bind(str(tmp_path / "notify"))
        told.settimeout(20)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/readyz"
        options = {"socket_of_systemd": listening, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        process, out, _ = started(tmp_path / "demo", **options)
        assert url.removesuffix("/readyz") in out
        assert told.recv(100) == b"READY=1"
        assert httpx.get(url).json() == {"status": "ready"}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == -signal.SIGTERM
        assert told.recv(100) == b"STOPPING=1"

        async def ask_while_it_starts():
            async with httpx.AsyncClient(timeout=30) as client:
                waiting = asyncio.create_task(client.get(url))
                await asyncio.to_thread(started, tmp_path / "demo", **options)
                return await waiting

        assert asyncio.run(ask_while_it_starts()).json() == {"status": "ready"}


def test_unknown_kinds_of_logs_are_refused():
    """With the kinds that there are."""
    command = [sys.executable, "-m", "adjudge", "serve", "--demo", "--log", "xml"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (answer.returncode, answer.stderr) == (2, "adjudge: --log is 'xml', expected one of 'text', 'json'\n")

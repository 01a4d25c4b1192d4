"""What operators see: whether the studio lives and can save (``/healthz``, ``/readyz``), metrics, and the log.

``Observe`` is the outermost middleware. It gives every request an id, counts it by the template of its route, and
writes one line to the log. Neither metrics nor log contain names of people, tokens, links or query strings.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import os
import re
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, disable_created_metrics
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adjudge.studio.record import schema
from adjudge.studio.record.store import Change, database_bytes
from adjudge.studio.records import Unsaved
from adjudge.studio.studio import Studio
from adjudge.studio.web.security import require_token, studio_of

router = APIRouter()
LOG = logging.getLogger("adjudge")
LOGS = ("text", "json")  # kinds of logs
CAMPAIGN: ContextVar[str] = ContextVar("campaign", default="")  # whose requests and jobs write to the log, on a site
REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{8,64}")
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via")  # headers that a proxy sets
SECRETS = re.compile(
    r"adj_[\w-]+|(?<=/join/)[^\s\"']+|(?<=/reset/)[^\s\"']+|(?<=/documents/)[^\s\"']+|(?<=\?)[^\s\"']+"
)
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)  # upper ends of the bins of latencies
COMMANDS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # the same of commit batches
disable_created_metrics()  # type: ignore[no-untyped-call]  # a time per series, which nobody reads
METHODS = frozenset(("GET", "HEAD", "POST"))
PROBE_METHODS = ["GET", "HEAD"]
PROBE_SECONDS = 2.0  # that the writer may take to answer a probe
RECENT_SECONDS = 10.0  # for which a failed commit makes the studio not ready
FREE_BYTES = 10_000_000  # that a disk needs


class Meters(Collector):
    """The metrics of one campaign: counted requests and commits, and numbers that are read when somebody asks."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self.registry = CollectorRegistry()
        self.database_bytes = math.nan
        self.requests = Counter(
            "adjudge_requests", "Requests by method, route template and status.", ("method", "route", "status"),
            registry=self.registry,
        )  # fmt: skip
        self.latency = Histogram(
            "adjudge_request_seconds", "Seconds until a request was answered, by route template.", ("route",),
            buckets=SECONDS, registry=self.registry,
        )  # fmt: skip
        self.commit_size = Histogram(
            "adjudge_commit_commands", "Commands that one transaction committed.", buckets=COMMANDS,
            registry=self.registry,
        )  # fmt: skip
        self.commit_seconds = Histogram(
            "adjudge_commit_seconds", "Seconds that a transaction took, with its flush to the disk.", buckets=SECONDS,
            registry=self.registry,
        )  # fmt: skip
        self.registry.register(self)
        ProcessCollector(registry=self.registry)  # memory, CPU seconds, open files, start
        studio.store.on_commit = self._count_commit

    def _count_commit(self, commands: int, seconds: float) -> None:
        """Count a commit; the writer calls this."""
        self.commit_size.observe(commands)
        self.commit_seconds.observe(seconds)

    async def measure(self) -> None:
        """Read the numbers that the studio does not hold; they are NaN if the database cannot be read."""
        try:
            self.database_bytes = await self._studio.read(database_bytes)
        except (OSError, SQLAlchemyError):
            self.database_bytes = math.nan

    def collect(self) -> Iterator[Metric]:
        """Yield the numbers that the studio holds anyway."""
        studio = self._studio
        ledger, store = studio.ledger, studio.store
        for name, about, value in (
            ("adjudge_answers", "Answers of judges that were acknowledged.", ledger.next_id(schema.answers) - 1),
            ("adjudge_judgments", "Judgments that were accepted.", ledger.next_id(schema.judgments) - 1),
            ("adjudge_commit_failures", "Transactions that failed.", store.failures),
            ("adjudge_consensus_failures", "Fits of the consensus that failed.", studio.consensus_failures),
            ("adjudge_webhook_failures", "Requests to webhooks that were not acknowledged.", studio.webhooks.failures),
        ):
            yield CounterMetricFamily(name, about, value)
        age = studio.beliefs.age(time.time())
        for name, about, amount in (
            ("adjudge_queue_length", "Commands that wait for the writer.", store.waiting),
            ("adjudge_open_assignments", "Assignments that judges work on.", len(ledger.open_assignments())),
            ("adjudge_people", "Judges, reviewers and leads.", len(ledger.people)),
            ("adjudge_consensus_age_seconds", "Seconds since the consensus was fitted; NaN without one.", age),
            ("adjudge_database_bytes", "Size of the database; NaN if it is out of reach.", self.database_bytes),
            (
                "adjudge_webhook_waiting",
                "Entries of the audit log before the slowest webhook.",
                studio.webhooks.waiting,
            ),
        ):
            yield GaugeMetricFamily(name, about, amount)


class SiteMeters(CollectorRegistry):
    """The metrics of several campaigns, each with the label ``campaign``, and those of the process once."""

    def __init__(self, meters: Mapping[str, Meters], unserved: int) -> None:
        super().__init__()
        self._meters, self._unserved = meters, unserved

    def collect(self) -> Iterator[Metric]:
        """Yield every metric with the samples of all campaigns."""
        merged: dict[str, Metric] = {}
        for campaign, meters in self._meters.items():
            for metric in meters.registry.collect():
                process = metric.name.startswith("process_")
                if process and metric.name in merged:
                    continue
                labels = {} if process else {"campaign": campaign}
                target = merged.setdefault(metric.name, Metric(metric.name, metric.documentation, metric.type))
                target.samples += [each._replace(labels={**each.labels, **labels}) for each in metric.samples]
        yield from merged.values()
        yield GaugeMetricFamily("adjudge_unserved_campaigns", "Campaigns that could not be opened.", self._unserved)


@router.api_route("/healthz", methods=PROBE_METHODS, include_in_schema=False)
async def healthz() -> dict[str, str]:
    """Say that the process lives."""
    return {"status": "alive"}


@router.api_route("/readyz", methods=PROBE_METHODS, include_in_schema=False)
async def readyz(request: Request) -> Response:
    """Say whether work can be saved; if not, 503 and the reason."""
    reason = await unready_reason(studio_of(request))
    if reason:
        return JSONResponse({"status": "not ready", "reason": reason}, 503, {"Retry-After": "1"})
    return JSONResponse({"status": "ready"})


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request) -> Response:
    """Send the metrics in Prometheus' text format to this machine, or to a program with a token."""
    if not is_local(request):
        require_token(request, "read")
    meters: Meters = request.app.state.meters
    await meters.measure()
    return Response(generate_latest(meters.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)


async def unready_reason(studio: Studio) -> str:
    """Return why the studio cannot save work, or an empty text; the writer is asked, and nothing is written."""
    store = studio.store
    if studio.stopping:
        return "The studio is stopping."
    if time.monotonic() - store.failed_at < RECENT_SECONDS:
        return f"The last commit failed: {store.failure}."
    try:
        if store.url.get_backend_name() == "sqlite" and shutil.disk_usage(studio.campaign.folder).free < FREE_BYTES:
            return f"The disk has less than {FREE_BYTES:,} free bytes."
        await asyncio.wait_for(studio.do(lambda ledger, now: Change()), PROBE_SECONDS)
    except TimeoutError:
        return f"The writer does not answer within {PROBE_SECONDS:g} seconds."
    except Unsaved as error:
        return f"The database cannot be written: {error.reason}."
    except OSError as error:
        return f"The campaign's folder cannot be used: {error.strerror}."
    return ""


def is_local(request: Request) -> bool:
    """Return whether a request comes from this machine itself and not through a proxy."""
    if request.client is None or any(name in request.headers for name in FORWARDED):
        return False
    host, server = request.client.host, request.scope.get("server")
    if server is not None and host == server[0]:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Observe:
    """The middleware that numbers, counts and logs requests."""

    def __init__(self, app: ASGIApp, meters: Meters | None = None, campaign: str = "") -> None:
        self.app, self.meters, self.campaign = app, meters, campaign

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note how it was answered."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = scope["request_id"] = _request_id(Headers(scope=scope).get("x-request-id", ""))
        began, status, campaign = time.perf_counter(), 500, CAMPAIGN.set(self.campaign)

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = request_id
            await send(message)

        try:
            await self.app(scope, receive, observed)
        finally:
            self._note(scope, status, time.perf_counter() - began, request_id)
            CAMPAIGN.reset(campaign)

    def _note(self, scope: Scope, status: int, seconds: float, request_id: str) -> None:
        """Count a request that was answered, and log it."""
        route, method = route_template(scope), scope["method"] if scope["method"] in METHODS else "other"
        if self.meters is not None:
            self.meters.requests.labels(method, route, str(status)).inc()
            self.meters.latency.labels(route).observe(seconds)
        event = {"request_id": request_id, "method": method, "route": route, "status": status}
        LOG.info("request", extra={"event": {**event, "milliseconds": round(1000 * seconds, 3)}})


def _request_id(sent: str) -> str:
    """Return the id of a request: the one that a proxy sent, if it is well-formed, or a new one."""
    return sent if REQUEST_ID.fullmatch(sent) else secrets.token_hex(8)


def route_template(scope: Scope) -> str:
    """Return the template of the route that answered a request: ``/join/{invitation}``, never the path itself."""
    if route := getattr(scope.get("route"), "path", ""):
        return str(route)
    return "/static" if str(scope.get("root_path", "")).endswith("/static") else "unknown"


# The service manager


def inherited_socket() -> socket.socket | None:
    """Return the socket that systemd opened for this process, or None.

    It stays open while the studio restarts, so that requests wait instead of being refused.
    """
    mine = os.environ.get("LISTEN_PID") == str(os.getpid()) and os.environ.get("LISTEN_FDS") == "1"
    return socket.socket(fileno=3) if mine else None


def notify_systemd(state: str) -> None:
    """Tell systemd a state such as READY=1, if it waits for one."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.connect("\0" + address[1:] if address.startswith("@") else address)
            connection.sendall(state.encode())


# The log


class JsonLines(logging.Formatter):
    """Writes one JSON object per line; secrets in messages and tracebacks are replaced."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": without_secrets(record.getMessage()),
            **({"campaign": CAMPAIGN.get()} if CAMPAIGN.get() else {}),
            **getattr(record, "event", {}),
        }
        if record.exc_info:
            line["traceback"] = without_secrets(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """Writes time, level, campaign and message; secrets are replaced."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the lines of a record."""
        record.campaign = CAMPAIGN.get() and f"{CAMPAIGN.get()}: "
        return without_secrets(super().format(record))


def without_secrets(message: str) -> str:
    """Return a message without API tokens, invitation links, addresses of documents and query strings.

    Examples
    --------
    >>> without_secrets("GET /join/eyJ.x?next=/desk failed with adj_abc")
    'GET /join/... failed with ...'
    """
    return SECRETS.sub("...", message)


def configure_log(kind: str) -> None:
    """Write the log to standard error: warnings as text, or every request and warning as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        JsonLines() if kind == "json" else TextLines("%(asctime)s %(levelname)s %(campaign)s%(message)s")
    )
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    LOG.setLevel(logging.INFO if kind == "json" else logging.WARNING)

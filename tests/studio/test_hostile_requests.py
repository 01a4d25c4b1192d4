"""Hostile requests, generated: every route by every role, with values, bodies and headers that no honest client sends.

None may be answered 5xx, leave a traceback in the log, or reach what the role may not.
"""

import asyncio
import json
import logging
import re
from collections import Counter
from types import SimpleNamespace
from urllib.parse import quote, unquote, urlencode

import pytest
from sqlalchemy import func, select

from adjudge.studio.record import schema
from adjudge.studio.web.security import COOKIE
from tests.studio.test_attacks import BY_ADDRESS, LEADS, OPEN, Site
from tests.studio.web.test_connections import GET, opened, run, status

LIMITS = "[qualification]\nrequired = false\n[limits]\nrequests_per_minute = 1000000\nmegabytes_per_hour = 1000000\n"
ROLES = (None, "judge", "reviewer", "lead", "token")
PROTECTED = (schema.people, schema.tokens, schema.revocations, schema.invitations, schema.switches, schema.rulings)
VALUES = {
    "empty": "",
    "zero": "0",
    "negative": "-1",
    "large": "2147483648",
    "huge": "9" * 400,
    "float": "1e309",
    "nan": "NaN",
    "nul": "a\0b",
    "surrogate": "\udce4\ud800",
    "long": "x" * 9_000,
    "traversal": "../../../../etc/passwd",
    "windows": "..\\..\\key",
    "sql": "1'; DROP TABLE people; --",
    "template": "{{7*7}}${7*7}{0.__class__}",
    "markup": "<script>alert(1)</script>",
    "header": "a\r\nSet-Cookie: x=1",
    "digits": "١٢٣",
    "right to left": "\u202ealert\u2066",
    "combining": "a" + "\u0301" * 500,
    "emoji": "\U0001f9ff\ufe0f",
}
FEW = [VALUES[name] for name in ("huge", "nul", "surrogate", "traversal", "markup")]
PATHS = [quote(value, safe="", errors="surrogateescape") for key, value in VALUES.items() if key != "surrogate"]
PATHS += [
    "%00",
    "%ff%fe",
    "%c0%ae%c0%ae%2f",
    "%ed%a0%80",
    "%2e%2e%2f%2e%2e%2fkey",
    "..",
    ".",
    "%252e%252e",
    "1;x=1",
    "%",
]
JSONS = {
    "nothing": b"",
    "cut": b'{"set": "x"',
    "null": b"null",
    "list": b"[]",
    "number": b"1",
    "empty": b"{}",
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"set":' * 50_000 + b"1" + b"}" * 50_000,
    "not a number": b'{"set": NaN}',
    "infinite": b'{"set": 1e999}',
    "digits": b'{"set": ' + b"9" * 5_000 + b"}",
    "not utf-8": b'{"set": "\xff\xfe"}',
    "utf-16": '{"set": "x"}'.encode("utf-16"),
    "mark": b'\xef\xbb\xbf{"set": "x"}',
    "surrogate": b'{"set": "\\ud800"}',
    "nul": b'{"set": "\\u0000"}',
    "twice": b'{"set": "x", "set": "y", "answers": [], "answers": 1}',
    "prototype": b'{"__proto__": {"role": "lead"}, "constructor": 1}',
    "many": json.dumps({"set": "x", "answers": [{}] * 20_000}).encode(),
}
ANSWER = {"key": "k", "slot": 0, "relevance": 1, "told": True, "rank": 1, "seconds": 9.0, "comment": ""}
ODD = (None, True, -1, 1 << 70, 1.5, "", "x" * 3_000, "\0", "\ud800", [], [[]], {}, {"a": 1})
FIELDS = (
    *("name", "password", "old", "new", "csrf", "role", "days", "scope", "reason", "standing"),
    *("upheld", "paused", "judge", "limit", "gold", "title", "code", "next", "text", "names"),
)
MULTIPARTS = {
    "no boundary": ("multipart/form-data", b"--x\r\n\r\n"),
    "no end": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\na',
    ),
    "no name": ("multipart/form-data; boundary=x", b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n"),
    "long boundary": (f"multipart/form-data; boundary={'x' * 5_000}", b"--x--"),
    "odd charset": ("multipart/form-data; boundary=x; charset=utf-7", b"--x--\r\n"),
    "unknown charset": (
        "multipart/form-data; boundary=x; charset=none",
        b'--x\r\nContent-Disposition: form-data; name="judge"\r\n\r\na\r\n--x--\r\n',
    ),
    "path": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="../../key\0"\r\n\r\ntopic\r\n--x--\r\n',
    ),
    "many parts": (
        "multipart/form-data; boundary=x",
        b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n' * 2_000 + b"--x--\r\n",
    ),
    "long header": (
        "multipart/form-data; boundary=x",
        b"--x\r\nContent-Disposition: form-data; name=" + b"a" * 100_000 + b"\r\n\r\nb\r\n--x--\r\n",
    ),
}
HEADERS = [
    ("host", "evil.example"),
    ("host", ""),
    ("host", "a b\tc"),
    ("host", "[::1"),
    ("x-forwarded-for", "127.0.0.1, " * 2_000),
    ("x-forwarded-proto", "javascript"),
    ("x-forwarded-host", "evil.example"),
    ("x-forwarded-prefix", "/../.."),
    ("x-original-url", "/desk"),
    ("x-rewrite-url", "/desk"),
    ("x-http-method-override", "DELETE"),
    ("forwarded", "for=127.0.0.1;host=evil.example"),
    ("cookie", f"{COOKIE}="),
    ("cookie", f"{COOKIE}={'a' * 5_000}"),
    ("cookie", f"{COOKIE}=eyJwIjoxfQ.eyJwIjoxfQ"),
    ("cookie", f"{COOKIE}=\xff\xfe; {COOKIE}=x"),
    ("cookie", "; ".join(f"c{n}=x" for n in range(2_000))),
    ("authorization", "Bearer"),
    ("authorization", "Bearer " + "a" * 9_000),
    ("authorization", "Bearer adj_\xff\xfe"),
    ("authorization", "Basic bGVhZDpsZWFk"),
    ("x-csrf", "\xff"),
    ("accept-language", "de" + ",de;q=0.1" * 3_000),
    ("accept-language", "../../x"),
    ("range", "bytes=" + ",".join("0-" for _ in range(1_000))),
    ("range", "bytes=9-1"),
    ("if-none-match", '"' * 5_000),
    ("if-modified-since", "Mon, 99 Foo 0000 99:99:99 GMT"),
    ("origin", "null"),
    ("sec-fetch-site", "same-origin"),
    ("content-type", "application/json; charset=utf-7"),
    ("content-type", "application/x-www-form-urlencoded; charset=none"),
    ("content-length", "-1"),
    ("content-length", "1e9"),
    ("content-length", "\uff19"),
    ("transfer-encoding", "chunked, identity"),
    ("content-encoding", "gzip"),
    ("x-request-id", "<script>\xff"),
    ("expect", "100-continue"),
    ("upgrade", "websocket"),
]
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "X" * 200)


def filled_in(template, value):
    """Return the path of a route with a value in the place of each parameter."""
    return re.sub(r"\{[^}]*\}", lambda _: value, template)


class Attacker:
    """Sends requests as a server would hand them over, and checks every answer."""

    def __init__(self, site, caplog):
        self.site, self.caplog, self.sent = site, caplog, Counter()
        self.tokens = {}
        for role in ("judge", "reviewer", "lead"):
            number = site.people[role]
            self.tokens[role] = site.studio.signer.session(number, 0, 12, site.studio.now())
        self.routes = sorted({(method, template) for method, template, _ in site.routes()})

    def identity(self, role):
        """Return the headers of somebody of a role, with the token of the page."""
        if role is None:
            return []
        if role == "token":
            return [("authorization", "Bearer adj_forged")]
        return [("cookie", f"{COOKIE}={self.tokens[role]}"), ("x-csrf", self.csrf(role))]

    def csrf(self, role):
        """Return the token against forgery of a role's session."""
        return self.site.studio.signer.csrf(self.tokens[role]) if role in self.tokens else ""

    async def send(self, role, method, template, target, headers=(), body=b"", identity=True):
        """Send one request, and check its answer."""
        pairs = [("host", "studio"), ("content-length", str(len(body)))] if body else [("host", "studio")]
        replaced = {name for name, _ in headers}
        pairs = [pair for pair in pairs if pair[0] not in replaced]
        pairs += [*(self.identity(role) if identity else ()), *headers]
        path, _, query = target.partition("?")
        scope = {
            "type": "http", "method": method, "path": unquote(path), "raw_path": path.encode(), "scheme": "http",
            "query_string": query.encode(), "http_version": "1.1", "client": ("192.0.2.9", 9), "server": ("studio", 80),
            "headers": [(name.encode(), value.encode("latin-1", "replace")) for name, value in pairs],
        }  # fmt: skip
        answer = SimpleNamespace(status=0, headers={}, done=False)
        parts = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive():
            return parts.pop() if parts else await asyncio.Future()  # the client stays

        async def reply(message):
            if message["type"] == "http.response.start":
                answer.status, answer.headers = message["status"], dict(message["headers"])

        self.site.made.time[0] += 1.0  # so that rates per address do not answer for the application
        await self.site.app(scope, receive, reply)
        self.sent[role] += 1
        self.check(role, method, template, answer, (method, target[:100], str(headers)[:100], body[:60]))
        return answer

    def check(self, role, method, template, answer, what):
        """Check that a request was answered without a fault, and that the role may have the answer."""
        assert 200 <= answer.status < 500, (role, *what, answer.status)
        assert b"x=1" not in answer.headers.get(b"set-cookie", b""), (role, *what)
        assert not [r for r in self.caplog.records if r.exc_info or r.levelno >= logging.ERROR], (role, *what)
        if template is None or template in OPEN | BY_ADDRESS or method in ("HEAD", "OPTIONS"):
            return
        away = answer.status in (303, 307) and b"sign-in" not in answer.headers.get(b"location", b"")
        inside = answer.status < 300 or away
        desk = template.startswith("/desk")
        barred = (
            role in (None, "token")
            or (role == "judge" and desk)
            or (role == "reviewer" and (template in LEADS or template == "/judge"))
            or (template.startswith("/api/v1") or template in ("/api/import", "/api/live", "/api/export/{name}"))
        )
        assert not (barred and inside), (role, *what, answer.status)

    def addresses(self, values):
        """Yield each route with parameters in its path, with each value in their place."""
        for method, template in self.routes:
            if "{" in template:
                for value in values:
                    filled = filled_in(template, value)
                    yield method, template, filled

    def counts(self):
        """Return how many rows the tables have that only leads may change."""
        with self.site.made.store.reading() as connection:
            return {table.name: connection.scalar(select(func.count()).select_from(table)) for table in PROTECTED}


@pytest.fixture
def attack(crowd, caplog):
    """Return a function that runs a coroutine function with an attacker, and checks how much was tried."""

    def attack(script, least, unchanged=True):
        attacker = Attacker(Site(crowd(LIMITS)), caplog)
        before = attacker.counts()
        asyncio.run(script(attacker))
        assert sum(attacker.sent.values()) >= least, attacker.sent
        assert attacker.counts() == before or not unchanged

    return attack


def test_values_in_paths(attack):
    """Whatever stands where a number, a token or a name is expected."""

    async def script(attacker):
        for role in ROLES:
            for method, template, target in attacker.addresses(PATHS if role == "lead" else PATHS[::5]):
                await attacker.send(role, method, template, target)

    attack(script, 500)


def test_values_in_queries(attack):
    """In parameters that exist, in those that do not, and more than once."""
    names = (
        "find",
        "before",
        "after",
        "limit",
        "gold",
        "judge",
        "name",
        "raw",
        "pseudonyms",
        "csrf",
        "workerId",
        "page",
    )

    async def script(attacker):
        for value in VALUES.values():
            query = urlencode([(name, value) for name in names for _ in range(2)], errors="surrogatepass")
            for method, template in attacker.routes:
                if method == "GET":
                    target = filled_in(template, "1")
                    for role in ("lead", "judge") if value in FEW else ("lead",):
                        await attacker.send(role, method, template, f"{target}?{query}")

    attack(script, 500)


def test_bodies_of_json(attack):
    """Cut, deep, in other encodings, and with fields of other types, by a judge and by nobody."""
    valid = {"set": "x", "answers": [ANSWER], "assignment": "x", "slot": 0, "comment": "", "language": "de"}

    async def script(attacker):
        kind = [("content-type", "application/json")]
        routes = [template for method, template in attacker.routes if method == "POST" and template.startswith("/api/")]
        bodies = [*JSONS.values()]
        bodies += [json.dumps({**valid, name: odd}).encode() for name in valid for odd in ODD]
        bodies += [
            json.dumps({"set": "x", "answers": [{**ANSWER, name: odd}]}).encode() for name in ANSWER for odd in ODD
        ]
        for template in routes:
            for body in bodies if template in ("/api/answers", "/api/finish") else bodies[:30]:
                await attacker.send("judge", "POST", template, template, kind, body)
            for body in JSONS.values():
                await attacker.send(None, "POST", template, template, kind, body)
                await attacker.send("token", "POST", template, template, kind, body)

    attack(script, 500)


def test_answers_to_a_real_set(attack):
    """A judge's own set, with odd answers: none is stored that cannot be one, and the set stays usable."""

    async def script(attacker):
        kind = [("content-type", "application/json")]
        await attacker.send("judge", "POST", "/api/assignment", "/api/assignment", kind, b"{}")
        ledger = attacker.site.studio.ledger
        entry = ledger.assignments[ledger.people[attacker.site.people["judge"]].last].sets[0]
        for name in ANSWER:
            for odd in ODD:
                body = json.dumps({"set": entry.token, "answers": [{**ANSWER, name: odd}]}).encode()
                answer = await attacker.send("judge", "POST", "/api/answers", "/api/answers", kind, body)
                assert answer.status in (200, 422), (name, odd)
        for answer in entry.answers:
            assert answer.relevance in (0, 1, None)
            assert answer.rank is None or 1 <= answer.rank <= 5
        body = json.dumps({"set": entry.token, "answers": [{**ANSWER, "key": "last"}]}).encode()
        assert (await attacker.send("judge", "POST", "/api/answers", "/api/answers", kind, body)).status == 200

    attack(script, 80)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # files of cut forms close by themselves
def test_forms(attack):
    """Every form with every value in every field, by those who may send it and by others; and odd multiparts."""

    async def script(attacker):
        routes = [row for row in attacker.routes if row[0] == "POST" and not row[1].startswith("/api/")]
        form = ("content-type", "application/x-www-form-urlencoded")
        for method, template in routes:
            target = filled_in(template, "1")
            for role in ("judge", "reviewer", None):
                for value in FEW:
                    body = urlencode([(name, value) for name in FIELDS], errors="surrogatepass").encode()
                    await attacker.send(role, method, template, target, [form], body)
            for content_type, body in MULTIPARTS.values():
                for role in ("judge", "lead"):
                    address = f"{target}?csrf={attacker.csrf(role)}"
                    await attacker.send(role, method, template, address, [("content-type", content_type)], body)
        for method, template in (row for row in routes if row[1].startswith("/desk")):
            target = filled_in(template, "1")
            for value in VALUES.values():
                fields = [(name, value) for name in FIELDS if name != "csrf"]
                body = urlencode([*fields, ("csrf", attacker.csrf("lead"))], errors="surrogatepass").encode()
                await attacker.send("lead", method, template, target, [form], body)

    attack(script, 500, unchanged=False)


def test_headers(attack):
    """Headers that proxies, browsers and programs might be believed, with and without a session."""

    async def script(attacker):
        for header in HEADERS:
            for role in ("judge", "lead", None):
                for target in ("/", "/desk", "/judge", "/api/state", "/sign-in", "/static/studio.css", "/metrics"):
                    keeps = header[0] not in ("cookie", "authorization")
                    template = target if not target.startswith("/static") and target != "/metrics" else None
                    sender = role if keeps else None
                    await attacker.send(sender, "GET", template, target, [header], identity=keeps)

    attack(script, 500)


def test_methods(attack):
    """Every route with every method, those that do not exist too."""

    async def script(attacker):
        for _, template in attacker.routes:
            for method in METHODS:
                known = template if (method, template) in attacker.routes else None
                await attacker.send("judge", method, known, filled_in(template, "1"))

    attack(script, 500)


RAW = (
    b"\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
    b"GET /\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"CONNECT studio:80 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET http://evil.example HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET //evil.example/desk HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
    b"GET / HTTP/1.1\nHost: x\n\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 18446744073709551617\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0;" + b"a" * 70_000,
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\nContent-Length: 3\r\n\r\nabc",
    b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 20_000,
    b"GET /" + b"a" * 100_000,
)
SMUGGLED = (
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: 30\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length : 30\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
)


@pytest.mark.parametrize("sent", RAW, ids=range(len(RAW)))
def test_bytes_that_are_no_request(sent, caplog):
    """The server refuses them or waits for the rest, and answers the next connection."""

    async def script(connections, port):
        stream = await opened(port, sent)
        await asyncio.sleep(0.05)
        assert await status(await opened(port, GET)) == 200
        stream[1].write_eof()
        assert not (await asyncio.wait_for(stream[0].read(), 5)).startswith(b"HTTP/1.1 5")

    run(script)
    assert not [record for record in caplog.records if record.exc_info]


@pytest.mark.parametrize("sent", SMUGGLED, ids=range(len(SMUGGLED)))
def test_no_request_hides_in_another(sent):
    """Where two programs could disagree on the end of a request, it is refused and the connection closed."""

    async def script(connections, port):
        stream = await opened(port, sent + GET)
        answer = await asyncio.wait_for(stream[0].read(), 5)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert answer.count(b"HTTP/1.1 ") == 1

    run(script)

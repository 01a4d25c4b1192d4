"""``adjudge serve``: the web studio of a campaign."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias
from urllib.parse import urlsplit

import typer

from adjudge.cli.campaign import require_studio
from adjudge.errors import UsageError, quote, quoted

if TYPE_CHECKING:
    from adjudge.studio.studio import Studio

Where: TypeAlias = tuple[str, int, str | None, str | None]  # host, port, proxies, URL


def serve(
    folders: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CAMPAIGN", help="Folders that `adjudge campaign new` made, or one folder with such folders."
        ),
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve a demo campaign with work of simulated judges.")] = False,
    still: Annotated[
        bool, typer.Option("--still", help="With --demo: no simulated judges work while you watch.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 accepts connections from other machines.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 chooses a free one.")] = 8000,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Address under which judges reach the studio, for links.")
    ] = None,
    proxies: Annotated[
        str | None,
        typer.Option(metavar="ADDRESSES", help="Proxies whose X-Forwarded headers are trusted, separated by commas."),
    ] = None,
    log: Annotated[
        str, typer.Option(metavar="KIND", help="Log to standard error: text (warnings) or json (every request).")
    ] = "text",
) -> None:
    """Start the web studio of one campaign or several, in which judges qualify and judge, and a lead follows the work.

    Until the campaign has a lead, every start prints a new link for one, which can be used once. Everything a judge
    submits is on disk before it is acknowledged, so the studio can be stopped with Ctrl-C at any time.

    Several campaigns have a front page at /, on which people sign in once, and addresses of their own, /c/NAME/ with
    the names of their folders. Leads clone, archive and reopen campaigns there.

    \b
    $ adjudge serve --demo
    $ adjudge campaign new trial/ --demo
    $ adjudge serve trial/
    $ adjudge serve campaigns/
    $ adjudge serve trial/ --host 0.0.0.0 --url https://judge.example.org --proxies 127.0.0.1
    """
    folder = folders[0] if folders else None
    _check(folders or [], demo, still, url)
    require_studio()
    from adjudge.studio.record.private import private_files
    from adjudge.studio.site import find_campaigns
    from adjudge.studio.web import app
    from adjudge.studio.web.operations import LOGS, configure_log

    if log not in LOGS:
        raise UsageError(f"--log is {quote(log)}, expected one of {quoted(LOGS)}")
    configure_log(log)
    with contextlib.ExitStack() as stack:
        stack.enter_context(private_files())  # also those that are written later
        app.check_port(host, port)
        campaigns = find_campaigns(folders or [])
        if campaigns and campaigns != [Path(folder or "")]:
            _serve_site(campaigns, (host, port, proxies, url), stack)
            return
        path = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="adjudge-demo-"))
        if demo:
            _make_demo(path, still)
        studio = app.open_campaign(path)
        if demo and not still:
            _let_judges_work(studio)
        stack.callback(studio.store.close)
        for warning in (*studio.campaign.warnings, *studio.store.notes):
            print(f"note: {warning}")
        roles = [*(() if app.has_lead(studio) else ("lead",)), *(("judge",) if demo else ())]
        links = {role: app.invitation_link(studio, role) for role in roles}

        origin, root = _split(url)

        def ready(port: int) -> None:
            app.set_address(studio, host, port, origin)
            address = studio.address + root
            _print_address(studio.campaign.settings.campaign.name, address, links, temporary=folder is None)

        app.serve(studio, host, port, proxies, ready, app.create_app(studio, root))


def _split(url: str | None) -> tuple[str | None, str]:
    """Return the address of a host, and the path below which a proxy serves the studio there."""
    if url is None:
        return None, ""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")


def _serve_site(campaigns: Sequence[Path], where: Where, stack: contextlib.ExitStack) -> None:
    """Serve several campaigns."""
    from adjudge.studio.site import open_site
    from adjudge.studio.web import app
    from adjudge.studio.web.site import create_site, root_of_campaign

    host, port, proxies, url = where
    if _split(url)[1]:
        raise UsageError(f"--url {quote(url or '')} has a path: several campaigns need an address without one")
    site = open_site(campaigns, app.open_campaign)
    stack.callback(site.close)
    for name, problem in site.problems.items():
        print(f"{name} cannot be served: {problem}")
    for name, studio in site.studios.items():
        for warning in studio.campaign.warnings:
            print(f"note: {name}: {warning}")
    links = {
        f"lead of {name}": root_of_campaign(name) + app.invitation_link(studio, "lead")
        for name, studio in site.studios.items()
        if not app.has_lead(studio)
    }

    served = create_site(site)

    def ready(port: int) -> None:
        served.set_address(host, port, url)
        address = app.base_address(host, port, url)
        _print_address(f"{len(site.studios)} campaigns", address, links, temporary=False)

    app.serve(site, host, port, proxies, ready, served)


def _check(folders: Sequence[str], demo: bool, still: bool, url: str | None) -> None:
    """Raise an error unless there is a campaign to serve, at an address that can be one."""
    if not folders and not demo:
        raise UsageError("no campaign is named: give its folder, or --demo")
    if still and not demo:
        raise UsageError("--still is for --demo: simulated judges work in the demo only")
    if demo and len(folders) > 1:
        raise UsageError("--demo serves one campaign: give one folder, or none")
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {quote(url)} must begin with http:// or https://")


def _print_address(name: str, address: str, links: dict[str, str], temporary: bool) -> None:
    """Print where the studio is, and links to enter it."""
    print(f"{name}: {address}")
    for role, link in links.items():
        print(f"  link for a {role}, to be used once: {address}{link}")
    if len(links) > 1:
        print("  Open the second link in a private window: a browser is signed in as one person.")
    if temporary:
        print("  This demo is deleted when you stop it; give a folder to keep it.")
    print("Stop with Ctrl-C.", flush=True)


def _let_judges_work(studio: Studio) -> None:
    """Let simulated judges work as long as the demo is served."""
    from adjudge.studio.demo import work_live

    studio.jobs.append(partial(work_live, studio))


def _make_demo(folder: str, still: bool) -> None:
    """Put the demo campaign with work of simulated judges into a folder, unless it holds it already."""
    from adjudge.studio.demo import is_demo, make_demo, simulate_demo

    if not (Path(folder) / "campaign.toml").exists():
        make_demo(folder)
        simulate_demo(folder, live=not still)
    elif not is_demo(folder):
        raise UsageError(f"{quote(folder)} holds another campaign: leave out --demo, or give another folder")

"""``adjudge serve``: the studio of a campaign."""

from __future__ import annotations

from typing import Annotated

import typer


def serve(
    folder: Annotated[
        str | None, typer.Argument(metavar="CAMPAIGN", help="The folder that `adjudge campaign new` made.")
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Serve a ready campaign with past work of simulated judges.")
    ] = False,
    host: Annotated[
        str, typer.Option(help="The address to listen on; 0.0.0.0 for others than this machine.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port to listen on; 0 takes a free one.")] = 8000,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="The address under which others reach it, for links.")
    ] = None,
    proxies: Annotated[
        str | None,
        typer.Option(metavar="ADDRESSES", help="Proxies whose X-Forwarded headers are believed, by commas."),
    ] = None,
) -> None:
    """Start the web studio of a campaign: judges qualify, judge and are reviewed, a lead watches.

    The first time it prints a link for the lead, to be used once. Everything a judge does is on the disk before it
    is acknowledged; stop it with Ctrl-C whenever you like.

    \b
    $ adjudge serve --demo
    $ adjudge campaign new trial/ --demo
    $ adjudge serve trial/
    $ adjudge serve trial/ --host 0.0.0.0 --url https://judge.example.org --proxies 127.0.0.1
    """
    import contextlib
    import tempfile

    from adjudge.cli.output import studio_installed
    from adjudge.errors import UsageError, quote

    if folder is None and not demo:
        raise UsageError("which campaign? give its folder, or --demo")
    if url is not None and not url.startswith(("http://", "https://")):
        raise UsageError(f"--url {quote(url)}, expected an address that begins with http:// or https://")
    studio_installed()
    from adjudge.studio.web import app

    with contextlib.ExitStack() as stack:
        app.check_port(host, port)
        place = folder or stack.enter_context(tempfile.TemporaryDirectory(prefix="adjudge-demo-"))
        if demo:
            _demonstrate(place)
        studio = app.open_campaign(place)
        stack.callback(studio.store.close)
        for warning in studio.campaign.warnings:
            print(f"note: {warning}")
        links = {"lead": app.invitation_link(studio, "lead")} if not app.has_lead(studio) else {}
        if demo:
            links["judge"] = app.invitation_link(studio, "judge")

        def ready(taken: int) -> None:
            address = (url or f"http://{host}:{taken}").rstrip("/")
            print(f"{studio.campaign.settings.campaign.name}: {address}")
            for role, link in links.items():
                print(f"  come in as a {role}, once: {address}{link}")
            if folder is None:
                print("  This demo is gone when you stop it; give a folder to keep it.")
            print("Stop with Ctrl-C.", flush=True)

        app.serve(studio, host, port, proxies, ready)


def _demonstrate(place: str) -> None:
    """Put the demo campaign into a folder, with judges who have been at work, unless it is there already."""
    from pathlib import Path

    from adjudge.errors import UsageError, quote
    from adjudge.studio.demo import is_demo, make_demo, simulate_demo

    if not (Path(place) / "campaign.toml").exists():
        make_demo(place)
        simulate_demo(place)
    elif not is_demo(place):
        raise UsageError(f"{quote(place)} holds another campaign: leave out --demo, or give another folder")

"""Serving: the port, the links, and what stands in the way."""

import socket
import threading
import urllib.request

import pytest

from adjudge.errors import InputError
from adjudge.studio.studio import open_studio
from adjudge.studio.web import serve as serving


def test_ready_is_told_the_port_and_requests_are_answered(desk_folder, monkeypatch):
    """Port 0 takes a free one; the server stops when it is told to."""
    studio = open_studio(desk_folder)
    told, answers, servers = threading.Event(), [], []

    class Kept(serving._Server):
        def __init__(self, *given):
            super().__init__(*given)
            servers.append(self)

    monkeypatch.setattr(serving, "_Server", Kept)
    monkeypatch.setattr("adjudge.studio.studio.refresh_consensus", _nothing)

    def ready(port):
        answers.append(port)
        told.set()

    thread = threading.Thread(target=serving.serve, args=(studio, "127.0.0.1", 0, None, ready))
    thread.start()
    try:
        assert told.wait(20)
        with urllib.request.urlopen(f"http://127.0.0.1:{answers[0]}/sign-in") as page:
            assert page.status == 200
            assert "server" not in page.headers
    finally:
        servers[0].should_exit = True
        thread.join(20)
    assert not thread.is_alive()


async def _nothing(folder):
    """Ask no other process for the consensus."""


def test_an_invitation_link_is_good_once_for_its_role(file_site):
    """It opens the page that offers the role, and it lasts as long as the campaign says."""
    site = file_site("[access]\ninvitation_days = 3\n")
    link = serving.invitation_link(site.studio, "reviewer", "Rea")
    row = next(iter(site.studio.ledger.invitations.values()))
    assert (row["role"], row["name"], row["expires"] - row["at"]) == ("reviewer", "Rea", 3 * 86_400)
    assert "reviewer" in site.ask("GET", link).text


def test_whether_somebody_leads(file_site):
    """Judges and reviewers do not."""
    site = file_site()
    site.made.person("rea", "reviewer")
    assert not serving.has_lead(site.studio)
    site.made.person("lea", "lead")
    assert serving.has_lead(site.studio)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_taken_port_is_refused(host):
    """In both families of addresses; a free one is not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        taken = socket.create_server((host, 0), family=family)
    except OSError:
        pytest.skip("needs IPv6")
    with taken, pytest.raises(InputError, match=r"in use \(give --port\)"):
        serving.free_port(host, taken.getsockname()[1])
    serving.free_port(host, 0)


def test_a_database_that_is_none_is_said(desk_folder):
    """With the campaign's folder, and what the database says."""
    (desk_folder / "studio.db").write_bytes(b"this is no database, but long enough to be taken for one" * 20)
    with pytest.raises(InputError, match="trees: the database cannot be opened: file is not a database"):
        serving.opened(str(desk_folder))

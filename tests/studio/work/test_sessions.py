"""Sessions that the server ends, and links that set a new password."""

import pytest

from adjudge.studio.access import Signer
from adjudge.studio.campaign import load_campaign
from adjudge.studio.desk import accounts
from adjudge.studio.records import Refused
from adjudge.studio.studio import open_store
from adjudge.studio.work import people, sessions

SIGNER = Signer(b"k" * 32)


@pytest.fixture
def made(file_crowd):
    """Return a campaign with one judge who has a password."""
    created = file_crowd()
    created.ann = created.do(people.join, created.do(people.invite, "judge"), "ann", "hash")
    return created


def begin(made, hours=12, browser="Firefox"):
    """Begin a session of ann, and return its content."""
    person = made.store.ledger.people[made.ann]
    session = SIGNER.read_session(SIGNER.session(person.id, person.epoch, hours, made.time[0]), made.time[0])
    made.do(sessions.begin_session, session, browser)
    return session


def listed(made):
    """Return the nonces of ann's open sessions."""
    return [row["nonce"] for row in sessions.open_sessions(made.store.ledger.people[made.ann], made.time[0])]


@pytest.mark.parametrize(
    ("header", "family"),
    [
        ("Mozilla/5.0 (X11) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36", "Chrome"),
        ("Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Edg/140.0.0.0", "Edge"),
        ("Mozilla/5.0 (Mac) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15", "Safari"),
        ("<script>", ""),
    ],
)
def test_a_browser_is_stored_by_its_family(header, family):
    """Nothing else of what it says is stored."""
    assert sessions.browser_family(header) == family


def test_ended_sessions_are_forgotten_with_the_next_one(made):
    """Whoever ends all their sessions again and again does not fill the memory."""
    for _ in range(5):
        begin(made)
        made.do(sessions.end_sessions, made.ann, made.ann)
    last = begin(made)
    assert list(made.store.ledger.people[made.ann].sessions) == [last.nonce]
    assert listed(made) == [last.nonce]


def test_sessions_are_listed_until_they_are_over(made):
    """Newest first; one that expired or was ended is not."""
    first, second = begin(made, 12), begin(made, 1)
    assert listed(made) == [second.nonce, first.nonce]
    made.time[0] += 3_600
    assert listed(made) == [first.nonce]
    made.do(sessions.end_session, made.ann, first.nonce)
    assert listed(made) == []
    made.do(sessions.end_session, made.ann, first.nonce)  # twice is once


def test_an_ended_session_stays_over_after_a_restart(made):
    """Whether one was ended or all; sessions that go on go on."""
    first, second = begin(made), begin(made)
    made.do(sessions.end_session, made.ann, first.nonce)
    ledger = restarted(made)
    assert (sessions.is_over(ledger, first), sessions.is_over(ledger, second)) == (True, False)
    made.do(sessions.end_sessions, made.ann, made.ann)
    third = begin(made)
    ledger = restarted(made)
    assert (sessions.is_over(ledger, second), sessions.is_over(ledger, third)) == (True, False)
    assert listed(made) == [third.nonce]


def restarted(made):
    """Return the ledger that the studio has after a restart."""
    made.store.close()
    made.store = open_store(load_campaign(made.folder))
    made.store.clock = lambda: made.time[0]
    made.do = lambda command, *args: made.store.do(lambda ledger, now: command(ledger, now, *args))
    return made.store.ledger


def test_one_ends_only_sessions_of_ones_own(made):
    """By their number in the list."""
    begin(made)
    bob = made.person("bob")
    with pytest.raises(Refused, match="over already"):
        made.do(sessions.end_listed_session, bob, 1)
    made.do(sessions.end_listed_session, made.ann, 1)
    assert listed(made) == []


def test_a_link_sets_a_password_once(made):
    """The same person, whose sessions are over; the link is then used."""
    session = begin(made)
    number = made.do(accounts.offer_reset, made.ann)
    made.do(sessions.reset_password, made.ann, number, "new hash")
    assert made.store.ledger.people[made.ann].password == "new hash"
    assert sessions.is_over(made.store.ledger, session)
    with pytest.raises(Refused, match="used or replaced"):
        made.do(sessions.reset_password, made.ann, number, "another")


def test_a_link_is_over_in_time_or_by_a_newer_one(made):
    """And one that was never made, or is somebody else's, is none."""
    old = made.do(accounts.offer_reset, made.ann)
    new = made.do(accounts.offer_reset, made.ann)
    ledger = made.store.ledger
    with pytest.raises(Refused, match="used or replaced"):
        sessions.open_reset(ledger, made.time[0], made.ann, old)
    assert sessions.open_reset(ledger, made.time[0], made.ann, new).name == "ann"
    with pytest.raises(Refused, match="has expired"):
        sessions.open_reset(ledger, made.time[0] + 25 * 3_600, made.ann, new)
    for person in (None, 99, made.person("bob")):
        with pytest.raises(Refused, match="not valid"):
            sessions.open_reset(ledger, made.time[0], person, new)


def test_a_link_is_still_used_after_a_restart(made):
    """Its state follows from the rows."""
    number = made.do(accounts.offer_reset, made.ann)
    ledger = restarted(made)
    assert sessions.open_reset(ledger, made.time[0], made.ann, number).id == made.ann
    made.do(sessions.reset_password, made.ann, number, "new hash")
    with pytest.raises(Refused, match="used or replaced"):
        sessions.open_reset(restarted(made), made.time[0], made.ann, number)

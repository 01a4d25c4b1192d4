"""Clones of campaigns: the same files, another key and database, nobody but the lead."""

import pytest
from pyotp import TOTP

from adjudge.errors import CampaignProblems, InputError
from adjudge.studio.access import hash_password, load_key, verify_password
from adjudge.studio.campaign import FILES, load_campaign
from adjudge.studio.clone import clone_campaign
from adjudge.studio.one_time_codes import new_salt, setup
from adjudge.studio.record import schema
from adjudge.studio.record.audit import CHECKS
from adjudge.studio.studio import open_studio, reading_campaign
from adjudge.studio.work.people import change_password
from adjudge.studio.work.second_factor import set_factor, use_code

SECRET = "kopfstein pflaster"


@pytest.fixture
def studio(desk):
    """Return a campaign that has been worked on, open for one command, whose lead has a password."""
    desk.do(change_password, desk.lead, hash_password(SECRET), "")
    desk.store.close()
    studio = open_studio(desk.folder)
    yield studio
    studio.store.close()


def count(connection, table):
    """Return the number of rows of a table."""
    return len(connection.execute(table.select()).all())


def entries(folder):
    """Return the actions of an audit log, with who and the detail."""
    with reading_campaign(folder) as (_, connection):
        rows = connection.execute(schema.audit.select()).all()
        return [(row.who, row.what, row.detail) for row in rows if row.what == "campaign cloned"]


def test_a_clone_has_the_files_and_nothing_of_the_work(studio, tmp_path):
    """The settings differ in the name alone; there are no judgments, and the lead signs in as before."""
    lead = studio.ledger.named["lea"]
    created = clone_campaign(studio, tmp_path / "second", name="Second", lead=lead)
    for name in FILES[1:]:
        assert (tmp_path / "second" / name).read_bytes() == (studio.campaign.folder / name).read_bytes()
    assert created.campaign.settings.campaign.name == "Second"
    before = studio.campaign.settings.model_dump(exclude={"campaign": {"name"}})
    assert created.campaign.settings.model_dump(exclude={"campaign": {"name"}}) == before
    with reading_campaign(tmp_path / "second") as (campaign, connection):
        assert [count(connection, table) for table in (schema.people, schema.judgments, schema.tokens)] == [1, 0, 0]
        hashed = connection.execute(schema.passwords.select()).one().hash
        assert [list(check(connection, campaign)) for check in CHECKS.values()] == [[]] * len(CHECKS)
    assert verify_password(hashed, SECRET)
    assert load_key(tmp_path / "second") != load_key(studio.campaign.folder)


def test_a_clone_asks_for_the_second_factor_of_its_lead(studio, tmp_path):
    """With the app that they have, also in the clone of a clone: the gold is the same, and the password not enough."""
    number, salt = studio.ledger.named["lea"], new_salt()
    app = TOTP(setup(studio.signer, salt, "lea", "Trees").secret)
    code = app.at(int(studio.now()))
    studio.store.do(lambda ledger, now: set_factor(ledger, now, studio.signer, number, salt, code, []))
    clone_campaign(studio, tmp_path / "second", lead=number)
    second = open_studio(tmp_path / "second")
    clone_campaign(second, tmp_path / "third", lead=second.ledger.named["lea"])
    third = open_studio(tmp_path / "third")
    for clone in (second, third):
        number = clone.ledger.named["lea"]
        salt = clone.ledger.people[number].factor
        assert setup(clone.signer, salt, "lea", "Trees").secret == app.secret
        assert app.secret not in salt
        args = (clone.signer, number, app.at(int(clone.now())))
        clone.store.do(lambda ledger, now, args=args: use_code(ledger, now, *args))
        clone.store.close()


def test_both_audit_logs_say_so(studio, tmp_path):
    """Where the clone comes from, where it went, and who did it."""
    clone_campaign(studio, tmp_path / "second", lead=studio.ledger.named["lea"])
    clone_campaign(studio, tmp_path / "third")
    assert entries(tmp_path / "second") == [("lea", "campaign cloned", '{"from": "trees"}')]
    assert entries(tmp_path / "third") == [("studio", "campaign cloned", '{"from": "trees"}')]
    names = [(who, detail) for who, _, detail in entries(studio.campaign.folder)]
    assert names == [("lea", '{"to": "second"}'), ("command line", '{"to": "third"}')]


def test_a_clone_never_shares_a_database(studio, tmp_path):
    """The database of the clone is a file of its own, whatever the original has."""
    text = (studio.campaign.folder / "campaign.toml").read_text() + '[store]\ndatabase = "other.db"\n'
    (studio.campaign.folder / "campaign.toml").write_text(text)
    studio.store.campaign = load_campaign(studio.campaign.folder)
    created = clone_campaign(studio, tmp_path / "second")
    assert created.campaign.settings.store.database == "studio.db"
    assert created.notes == (f"store.database is set to 'studio.db', a new database in {tmp_path / 'second'}",)


def test_a_clone_sends_no_webhooks(studio, tmp_path):
    """Its events would be signed with a key that the receivers of the original do not know."""
    text = (studio.campaign.folder / "campaign.toml").read_text()
    text += '[webhooks]\nurls = ["https://example.org/hook"]\nnames = true\n'
    (studio.campaign.folder / "campaign.toml").write_text(text)
    studio.store.campaign = load_campaign(studio.campaign.folder)
    created = clone_campaign(studio, tmp_path / "second")
    assert created.campaign.settings.webhooks.urls == ()
    assert created.campaign.settings.webhooks.names is True
    assert created.notes[0].startswith("webhooks.urls is empty: write the addresses into campaign.toml")


def test_nothing_is_overwritten(studio, tmp_path):
    """A folder with anything in it is refused, and a wrong name leaves nothing behind."""
    with pytest.raises(InputError, match="is not empty: choose a new folder"):
        clone_campaign(studio, studio.campaign.folder)
    with pytest.raises(CampaignProblems, match="nothing was written"):
        clone_campaign(studio, tmp_path / "second", name="x" * 500)
    assert not (tmp_path / "second").exists()
    assert not entries(studio.campaign.folder)

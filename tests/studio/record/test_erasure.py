"""Erasing a person: what goes, what stays, and that the record still proves itself."""

import json

import pytest
from sqlalchemy import select

from adjudge.errors import InputError
from adjudge.studio.backups import back_up, restore
from adjudge.studio.desk.decisions import change_standing, invite_by_token, new_api_token
from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.record import schema as s
from adjudge.studio.record.audit import find_faults
from adjudge.studio.record.ledger import load_ledger
from adjudge.studio.record.seal import compare_head, read_head
from adjudge.studio.record.store import Change
from adjudge.studio.studio import reading_campaign
from adjudge.studio.work import people

FREE = "[qualification]\nrequired = false\n"
NAME, OUTSIDE = "Ann Example", "prolific:5f1c9e"


@pytest.fixture
def erased(crowd, tmp_path, monkeypatch):
    """Return a maker of a campaign without Ann, restored from a backup, with the head of the old record."""
    created = crowd(FREE)
    lead = created.person("lea", "lead")
    ann = created.do(people.join, created.do(people.invite, "judge", NAME), NAME, "a hash of Ann's")
    created.do(people.arrive, OUTSIDE)
    created.do(lambda ledger, now: add_accounts(now, ann))
    created.through(ann)
    created.through(created.person("bob"))
    created.do(change_standing, lead, ann, "paused", "a reason")
    created.do(import_judgments, lead, [ImportedJudgment(1, "t0", "d0-1", NAME, 1)], {}, "a.csv")
    with created.store.reading() as connection:
        back_up(connection, created.campaign, tmp_path / "all.zip")
        created.head = read_head(connection)
        created.judged = connection.execute(select(s.judgments.c.item, s.judgments.c.relevance)).all()
    monkeypatch.setenv("ADJUDGE_DATABASE", "studio.db")

    def make(name, comments=False):
        restore(tmp_path / "all.zip", tmp_path / "new", name, comments)
        return tmp_path / "new", created

    return make


def add_accounts(now, person):
    """Add two accounts at a provider, whose values must differ."""
    rows = [{"subject": f"provider|ann-{n}", "at": now, "person": person} for n in (4711, 4712)]
    return Change([(s.identities, row) for row in rows])


def texts(connection):
    """Return all texts of a record in one."""
    rows = (row for table in s.METADATA.sorted_tables for row in connection.execute(select(table)))
    return "\n".join(str(value) for row in rows for value in row).casefold()


def test_the_name_goes_and_the_judgments_stay(erased):
    """No row and no byte of the new file has the name or the password; every check passes, and an old head is named."""
    folder, created = erased(NAME)
    assert NAME.encode() not in (folder / "studio.db").read_bytes()
    with reading_campaign(folder) as (campaign, connection):
        assert find_faults(connection, campaign) == []
        content = texts(connection)
        assert NAME.casefold() not in content
        assert "a hash of ann's" not in content
        assert "judge-2" in content
        assert "ann-4711" not in content
        assert connection.execute(select(s.judgments.c.item, s.judgments.c.relevance)).all() == created.judged
        first = connection.execute(select(s.audit).order_by(s.audit.c.id)).mappings().first()
        assert first["what"] == "record rewritten"
        assert (json.loads(first["detail"])["entry"], json.loads(first["detail"])["head"]) == created.head
        contained, sentence = compare_head(connection, created.head[1])
        assert not contained  # anybody who writes a new record can write this into it
        assert "ended with the head that was noted down when it was written again to erase a person" in sentence


def test_an_id_of_a_crowd_platform_goes_too(erased):
    """Somebody whom a platform sent is found by the id there."""
    folder, _ = erased(OUTSIDE)
    with reading_campaign(folder) as (campaign, connection):
        assert find_faults(connection, campaign) == []
        assert OUTSIDE not in texts(connection)


def test_comments_go_if_that_is_asked(erased):
    """The hashes of accepted judgments are those without the comments."""
    folder, _ = erased(NAME, comments=True)
    with reading_campaign(folder) as (campaign, connection):
        assert find_faults(connection, campaign) == []
        assert not any(connection.scalars(select(s.judgments.c.comment).where(s.judgments.c.person == 2)))


def test_nobody_of_that_name_is_said(erased, tmp_path):
    """Nothing is restored."""
    with pytest.raises(InputError, match="there is nobody with the name 'Zoe'"):
        erased("Zoe")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["work", "passed", "judge", "t0", "gold-0-1"])
def test_a_name_that_is_a_word_of_the_record_changes_nothing_else(file_crowd, tmp_path, name):
    """Uses, outcomes, roles, topics and sets stay as they are, and so do all counts."""
    created = file_crowd(FREE)
    judge = created.do(people.join, created.do(people.invite, "judge", name), name, "a hash")
    created.through(judge)
    judged = created.store.ledger.items.judged
    counts = {pair: judged[number] for pair, number in created.store.ledger.items.ids.items()}
    with created.store.reading() as connection:
        back_up(connection, created.campaign, tmp_path / "all.zip")
    restore(tmp_path / "all.zip", tmp_path / "new", name)
    with reading_campaign(tmp_path / "new") as (campaign, connection):
        assert find_faults(connection, campaign) == []
        assert connection.scalars(select(s.people.c.name)).all() == [f"judge-{judge}"]
        ledger = load_ledger(connection, campaign)
    assert {pair: ledger.items.judged[number] for pair, number in ledger.items.ids.items()} == counts
    assert (ledger.people[judge].role, ledger.people[judge].passed) == ("judge", 1)


def test_names_in_invitations_and_tokens_go(file_crowd, tmp_path):
    """The invitation that the person accepted may have another name, and a token of theirs acts in the audit log."""
    created = file_crowd(FREE)
    lead = created.do(people.join, created.do(people.invite, "lead", "A. Example"), NAME, "a hash")
    created.do(new_api_token, lead, NAME, "invite")
    created.do(invite_by_token, NAME, "judge", "bob", 1.0)
    created.store.close()
    with reading_campaign(created.folder) as (campaign, connection):
        back_up(connection, campaign, tmp_path / "all.zip")
    restore(tmp_path / "all.zip", tmp_path / "new", NAME)
    with reading_campaign(tmp_path / "new") as (campaign, connection):
        assert find_faults(connection, campaign) == []
        content = texts(connection)
    assert "example" not in content
    assert "api token lead-1" in content


def test_an_empty_name_is_nobody(erased, tmp_path):
    """It does not mean somebody without an id on a crowd platform."""
    with pytest.raises(InputError, match="there is nobody with the name"):
        erased(" ")

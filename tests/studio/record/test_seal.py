"""The seal: a head that is signed, and what a record is compared with."""

import json
import os
import shutil
import sqlite3

import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

from adjudge.errors import InputError
from adjudge.studio.campaign import load_campaign
from adjudge.studio.record import schema
from adjudge.studio.record.audit import Link, find_faults, next_entry
from adjudge.studio.record.seal import FILE, compare_head, read_head, read_seal, signed, write_seal
from adjudge.studio.record.store import Change
from adjudge.studio.studio import open_store
from tests.studio.conftest import crowd_files

FREE = "[qualification]\nrequired = false\n"


def worked(make):
    """Return a campaign in which one judge worked and a second one began, closed."""
    created = make(FREE)
    for name in ("ann", "bob"):
        created.through(created.person(name))
    created.store.close()
    return created


def change(created, *statements):
    """Change the database behind the studio's back, without its triggers."""
    engine = sqlalchemy.create_engine(created.store.url, poolclass=NullPool)
    with engine.begin() as connection:
        if engine.name == "sqlite":
            for (name,) in connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type='trigger'").all():
                connection.exec_driver_sql(f"DROP TRIGGER {name}")
        else:
            connection.exec_driver_sql("SET session_replication_role = replica")
        for statement in statements:
            connection.exec_driver_sql(statement)


def faults(created):
    """Return what the checks find now."""
    from adjudge.studio.studio import reading_campaign

    with reading_campaign(created.folder) as (campaign, connection):
        return find_faults(connection, campaign)


def open_again(created, accept=""):
    """Open the campaign and close it again; return its notes."""
    store = open_store(load_campaign(created.folder), accept=accept)
    store.close()
    return store.notes


def test_a_record_as_it_was_written_fits_its_seal(crowd):
    """Nothing is wrong after work, a stop and a second start, and the seal has the head."""
    created = worked(crowd)
    assert open_again(created) == ()
    assert faults(created) == []
    engine = sqlalchemy.create_engine(created.store.url, poolclass=NullPool)
    with engine.connect() as connection:
        assert (read_seal(created.folder).entry, read_seal(created.folder).hash) == read_head(connection)


def test_an_end_that_was_cut_off_is_found(crowd):
    """The last entries and rows are deleted so that the rest fits: the seal has the head, and serving is refused."""
    created = worked(crowd)
    change(created, "DELETE FROM audit WHERE id > 4", "DELETE FROM answers WHERE id > 10")
    assert any("the record ends earlier than the sealed head: at entry 4" in fault for fault in faults(created))
    with pytest.raises(InputError, match=r"ends earlier than the sealed head.*adjudge campaign restore.*reseal"):
        open_again(created)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("UPDATE answers SET relevance = 1 - relevance WHERE id = 7", "answers: rows 1 to"),
        ("UPDATE answers SET comment = 'x' WHERE id = 7", "answers: rows 1 to"),
        ("UPDATE standings SET standing = 'qualified'", "standings: rows 1 to 1 were changed"),
        ("UPDATE people SET role = 'lead' WHERE id = 2", "people: rows 1 to"),
        ("UPDATE switches SET value = '0'", "switches: rows 1 to 1 were changed"),
        ('UPDATE finishes SET at = at + 1 WHERE "set" = 2', "finishes: rows 1 to"),
        ("UPDATE items SET document = 'other' WHERE id = 1", "items: rows 1 to"),
        ("DELETE FROM answers WHERE id > 20", "answers: 20 rows are left of"),
        ('DELETE FROM finishes WHERE "set" = 3', "finishes: 11 rows are left of 12"),
    ],
)
def test_a_changed_row_of_any_table_is_found(crowd, statement, message):
    """Whichever table is changed in the database, the audit log does not fit it."""
    from adjudge.studio.desk.decisions import change_standing, switch_campaign

    created = crowd(FREE)
    lead = created.person("lea", "lead")
    for name in ("ann", "bob"):
        created.through(created.person(name))
    created.do(switch_campaign, lead, True)
    created.do(change_standing, lead, 2, "paused", "for a test")
    created.store.close()
    assert faults(created) == []
    change(created, statement)
    assert any(message in fault for fault in faults(created)), faults(created)


def test_an_old_file_that_was_put_back_is_refused_until_somebody_accepts_it(file_crowd):
    """An older database in place of the newest one is named; accepting it is an entry of the audit log."""
    created = worked(file_crowd)
    database = created.folder / "studio.db"
    old = database.read_bytes()
    store = open_store(load_campaign(created.folder))
    store.do(lambda ledger, now: Change(audit=("test", "something", {})))
    store.close()
    database.write_bytes(old)
    with pytest.raises(InputError, match="ends earlier than the sealed head"):
        open_again(created)
    (note,) = open_again(created, accept="accepted in a test")
    assert note.startswith("accepted in a test: the record was sealed again, at entry")
    assert open_again(created) == ()
    assert faults(created) == []
    with sqlite3.connect(database) as file:
        (detail,) = file.execute("SELECT detail FROM audit WHERE what = 'record sealed anew'").fetchone()
    assert json.loads(detail)["reason"] == "accepted in a test"
    assert json.loads(detail)["sealed before"][0] > 0


def test_another_history_of_the_same_length_is_found(file_crowd):
    """A database with other entries, even with as many, does not have the sealed one."""
    created = worked(file_crowd)
    change(created, "UPDATE audit SET who = 'eve', hash = previous WHERE id = (SELECT max(id) FROM audit)")
    assert any("is not the sealed one" in fault for fault in faults(created))


def test_a_campaign_is_not_served_on_the_database_of_another(crowd, tmp_path, monkeypatch, database):
    """Neither a new folder nor one that was served elsewhere gets a database that has an owner."""
    created = worked(crowd)
    if database == "sqlite":
        monkeypatch.setenv("ADJUDGE_DATABASE", f"sqlite:///{created.folder / 'studio.db'}")
    other = crowd_files(tmp_path / "other", FREE)
    with pytest.raises(InputError, match=f"but the folder, which has no {FILE}, may not"):
        open_store(load_campaign(other))
    address = os.environ["ADJUDGE_DATABASE"]
    monkeypatch.setenv("ADJUDGE_DATABASE", "studio.db")
    open_store(load_campaign(other)).close()
    monkeypatch.setenv("ADJUDGE_DATABASE", address)
    with pytest.raises(InputError, match="the database holds another campaign"):
        open_store(load_campaign(other))
    if database == "sqlite":
        monkeypatch.delenv("ADJUDGE_DATABASE")
    assert open_again(created) == ()


def test_a_folder_may_be_renamed_copied_and_unpacked(file_crowd, tmp_path):
    """The seal names no path; a copy without it, such as an unpacked backup, is sealed again with a note."""
    created = worked(file_crowd)
    created.folder = created.folder.rename(tmp_path / "renamed")
    assert open_again(created) == ()
    shutil.copytree(created.folder, tmp_path / "copy")
    created.folder = tmp_path / "copy"
    assert open_again(created) == ()
    (created.folder / FILE).unlink()
    (note,) = open_again(created)
    assert "there was no seal.json in the folder" in note


def test_a_forged_seal_is_found_and_a_new_key_is_said(file_crowd):
    """A changed seal lacks the code of the key; a seal of an earlier key is replaced with a note."""
    created = worked(file_crowd)
    path = created.folder / FILE
    seal = json.loads(path.read_text())
    path.write_text(json.dumps({**seal, "entry": 1, "hash": "0" * 64}))
    with pytest.raises(InputError, match="the sealed one"):
        open_again(created)
    path.write_text(json.dumps({**seal, "at": 1.0}))
    with pytest.raises(InputError, match="its code is not that of the campaign's key"):
        open_again(created)
    path.write_text(json.dumps(seal))
    (created.folder / "key").unlink()
    assert any("there is no file key" in fault for fault in faults(created))
    (note,) = open_again(created)
    assert "the campaign's key was replaced" in note
    assert faults(created) == []
    path.write_text("{")
    with pytest.raises(InputError, match="the seal of the record cannot be read"):
        open_again(created)
    assert open_again(created, accept="a test")


def test_a_head_that_was_noted_down_is_found_again(file_crowd):
    """Anybody with a head can compare a record with it, without the key."""
    created = worked(file_crowd)
    engine = sqlalchemy.create_engine(created.store.url, poolclass=NullPool)
    with engine.connect() as connection:
        entry, noted = read_head(connection)
    assert open_again(created) == ()
    with engine.connect() as connection:
        assert compare_head(connection, noted[:12].upper()) == (
            True,
            f"the head that was noted down is entry {entry} of the audit log; 0 entries came later",
        )
        assert compare_head(connection, "ab")[1] == "a head has 64 digits from 0 to f; give at least the first 12"
        assert compare_head(connection, "0" * 64)[1].startswith("no entry of the audit log has the head")


def test_rows_after_a_crash_are_sealed_by_the_next_studio(file_crowd):
    """Rows that no entry sealed are read back from the disk and sealed later, in the same order."""
    created = file_crowd(FREE)
    created.through(created.person("ann"))
    created.store.seal = None  # as if the process was killed
    created.store.close()
    assert faults(created) == []
    store = open_store(load_campaign(created.folder))
    assert sum(map(len, store.ledger.hashes.new.values())) > 20
    store.close()
    assert faults(created) == []
    change(created, "UPDATE answers SET seconds = 99 WHERE id = 3")
    assert any("answers: rows 1 to" in fault for fault in faults(created))


STANDING = "INSERT INTO standings (id, at, person, standing, reason) VALUES ({}, 2e9, 1, 'qualified', '')"


@pytest.mark.parametrize("number", [1, 1_000_000])
def test_a_row_that_was_added_to_a_stopped_record_is_found(crowd, number):
    """Nobody but the studio adds rows: when it stopped all were sealed, so that another one is found and refused."""
    created = worked(crowd)
    change(created, STANDING.format(number))
    assert faults(created) == ["standings: 1 rows were added after the studio had stopped"]
    with pytest.raises(InputError, match=r"rows were added after the studio had stopped \(1 of standings\).*reseal"):
        open_again(created)
    assert open_again(created, accept="a test")
    assert open_again(created) == ()


def test_a_row_that_was_added_while_the_studio_ran_is_found_when_it_stops(crowd):
    """The studio seals the rows that it wrote, and no others."""
    created = crowd(FREE)
    created.through(created.person("ann"))
    change(created, STANDING.format(1_000_000))
    created.store.close()
    assert faults(created) == ["standings: 1 rows were added after the studio had stopped"]


def test_an_entry_that_was_added_to_a_stopped_record_is_found(file_crowd):
    """An entry that continues the chain needs no key, but nothing may come after the seal of a studio that stopped."""
    created = worked(file_crowd)
    engine = sqlalchemy.create_engine(created.store.url, poolclass=NullPool)
    with engine.begin() as connection:
        row = next_entry(Link(*read_head(connection)), 2e9, "lea", "judge reinstated", {})
        connection.execute(sqlalchemy.insert(schema.audit), row)
    message = "1 entries of the audit log were added after the studio had stopped"
    assert any(message in fault for fault in faults(created))
    with pytest.raises(InputError, match=message):
        open_again(created)


def test_rows_after_a_crash_are_no_rows_that_were_added(file_crowd):
    """While the studio runs, its seal says so, and a crash leaves it so."""
    created = worked(file_crowd)
    store = open_store(load_campaign(created.folder))
    assert not read_seal(created.folder).complete
    store.do(lambda ledger, now: Change([(schema.switches, {"id": 1, "at": now, "name": "paused", "value": "1"})]))
    store.seal = None  # as if the process was killed
    store.close()
    assert faults(created) == []
    assert open_again(created) == ()
    assert read_seal(created.folder).complete


def test_a_seal_of_another_key_proves_nothing(file_crowd):
    """Somebody who cannot read the key makes a new seal after the end was cut off: verify does not believe it."""
    created = worked(file_crowd)
    change(created, "DELETE FROM audit WHERE what = 'rows sealed'")
    engine = sqlalchemy.create_engine(created.store.url, poolclass=NullPool)
    with engine.connect() as connection:
        head = read_head(connection)
    seal = read_seal(created.folder)
    write_seal(created.folder, signed(seal._replace(entry=head[0], hash=head[1], complete=False), b"x" * 32))
    (fault,) = faults(created)
    assert fault.startswith("seal.json was made with another key than the one in the folder")


def test_a_seal_that_is_newer_than_what_verify_sees_is_no_fault(file_crowd):
    """A studio that runs goes on while its record is verified."""
    created = file_crowd(FREE)
    created.through(created.person("ann"))
    with created.store.reading() as connection:
        read_head(connection)
        created.do(lambda ledger, now: Change(audit=("test", "something", {})))
        created.store.renew_seal()
        assert read_seal(created.folder).entry > read_head(connection)[0]
        assert find_faults(connection, created.campaign) == []


@pytest.mark.parametrize(
    "content",
    [*("", "[]", "{}", "null", "[" * 100_000, '{"entry": "x"}'), *("code", "key", "hash", "at", "complete", "é")],
)
def test_a_damaged_seal_is_one_sentence(file_crowd, content):
    """Whatever is in the file, it cannot be read, and nothing ends with a traceback."""
    created = worked(file_crowd)
    path = created.folder / FILE
    seal = json.loads(path.read_text())
    if content == "é":
        path.write_text(json.dumps({**seal, "code": "é"}))
    else:
        path.write_text(json.dumps({**seal, content: [1]}) if content in seal else content)
    with pytest.raises(InputError, match="the seal of the record cannot be read"):
        open_again(created)
    with pytest.raises(InputError, match="the seal of the record cannot be read"):
        faults(created)

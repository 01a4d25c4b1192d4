"""Backups, their restore, and the drill."""

import json
import os
import sqlite3
import zipfile

import pytest
import sqlalchemy
from sqlalchemy import func, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from adjudge.errors import InputError
from adjudge.studio.backups import HEAD, back_up, check, drill, restore
from adjudge.studio.campaign import load_campaign
from adjudge.studio.record import schema as s
from adjudge.studio.record.audit import find_faults
from adjudge.studio.record.seal import Seal, read_seal
from adjudge.studio.studio import open_store, reading_campaign
from tests.studio.conftest import crowd_files

FREE = "[qualification]\nrequired = false\n"


def test_an_unpacked_backup_is_the_campaign(crowd, tmp_path, monkeypatch):
    """What is unpacked is a campaign again, with every row, from either database, and without the key."""
    created = crowd(FREE)
    created.through(created.person("ann"))
    assert (created.folder / "key").exists()
    with created.store.reading() as connection:
        counts = {t.name: connection.scalar(select(func.count()).select_from(t)) for t in s.METADATA.sorted_tables}
        rows = back_up(connection, created.campaign, tmp_path / "kept.zip")
    assert rows == sum(counts.values())
    with zipfile.ZipFile(tmp_path / "kept.zip") as archive:
        assert "key" not in archive.namelist()
        archive.extractall(tmp_path / "again")
    monkeypatch.delenv("ADJUDGE_DATABASE", raising=False)
    again = open_store(load_campaign(tmp_path / "again"))
    with again.reading() as connection:
        assert find_faults(connection, created.campaign) == []
        for table in s.METADATA.sorted_tables:
            expected = counts[table.name] + (table is s.audit)  # that it was sealed anew
            assert connection.scalar(select(func.count()).select_from(table)) == expected, table.name
    assert again.ledger.items.judged.tolist() == created.store.ledger.items.judged.tolist()
    again.close()


@pytest.fixture
def backed(crowd, tmp_path):
    """Return a campaign that is open, with work, and the path of its backup."""
    created = crowd(FREE)
    created.through(created.person("ann"))
    created.zip = tmp_path / "kept.zip"
    with created.store.reading() as connection:
        back_up(connection, created.campaign, created.zip)
    return created


def verified(folder):
    """Return what the checks find in a campaign."""
    with reading_campaign(folder) as (campaign, connection):
        return find_faults(connection, campaign)


def test_a_backup_is_restored_in_one_step(backed, tmp_path, monkeypatch):
    """The new folder is a campaign with all rows and a seal, and the audit log says where it comes from."""
    monkeypatch.setenv("ADJUDGE_DATABASE", "studio.db")
    result = restore(backed.zip, tmp_path / "again")
    assert verified(tmp_path / "again") == []
    with sqlite3.connect(tmp_path / "again" / "studio.db") as file:
        (detail,) = file.execute("SELECT detail FROM audit WHERE what = 'record sealed anew'").fetchone()
        assert file.execute("SELECT count(*) FROM answers").fetchone()[0] == result.rows["answers"] > 20
    assert f"restored from a backup of {result.created}, entry {result.seal.entry}" in detail
    assert read_seal(tmp_path / "again").entry > result.seal.entry
    assert not (tmp_path / "again" / HEAD).exists()
    with pytest.raises(InputError, match="a restore never overwrites"):
        restore(backed.zip, tmp_path / "again")
    assert (tmp_path / "again").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "again").iterdir())


def test_a_backup_is_restored_into_postgresql(file_crowd, postgresql, tmp_path, monkeypatch):
    """From SQLite into an empty database of a server, which is never one that holds a record."""
    created = file_crowd(FREE)
    created.through(created.person("ann"))
    with created.store.reading() as connection:
        back_up(connection, created.campaign, tmp_path / "kept.zip")
    engine = sqlalchemy.create_engine(postgresql("postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("CREATE DATABASE restored")
    monkeypatch.setenv("ADJUDGE_DATABASE", postgresql("restored"))
    result = restore(tmp_path / "kept.zip", tmp_path / "again")
    assert verified(tmp_path / "again") == []
    assert not (tmp_path / "again" / "studio.db").exists()
    with reading_campaign(tmp_path / "again") as (_, connection):
        assert connection.scalar(select(func.count()).select_from(s.answers)) == result.rows["answers"]
    with pytest.raises(InputError, match="holds a record, and a restore never overwrites"):
        restore(tmp_path / "kept.zip", tmp_path / "third")
    assert not (tmp_path / "third").exists()


def test_a_drill_compares_with_the_running_record(backed):
    """It restores, checks and counts while the studio goes on; what came since is counted too."""
    backed.through(backed.person("bob"))
    result = drill(backed.folder, backed.zip)
    assert result.later > 0
    assert result.seconds > 0
    assert result.backup == check(backed.zip)


def test_a_drill_finds_that_the_record_lost_rows(file_crowd, tmp_path):
    """A backup with more than the record, or with another history, is not a backup of this record."""
    created = file_crowd(FREE)
    created.through(created.person("ann"))
    with created.store.reading() as connection:
        back_up(connection, created.campaign, tmp_path / "kept.zip")
    created.store.close()
    with sqlite3.connect(created.folder / "studio.db") as file:
        file.execute("DROP TRIGGER answers_no_delete")
        file.execute("DELETE FROM answers WHERE id > 3")
    with pytest.raises(InputError, match="has more rows than the record in answers"):
        drill(created.folder, tmp_path / "kept.zip")
    other = crowd_files(tmp_path / "other", FREE)
    open_store(load_campaign(other)).close()
    with pytest.raises(InputError, match="is not a backup of this record"):
        drill(other, tmp_path / "kept.zip")


@pytest.mark.parametrize("spoil", ["cut", "text", "row", "empty"])
def test_a_damaged_backup_is_refused_and_leaves_nothing(backed, tmp_path, monkeypatch, spoil):
    """Half a file, no zip file, a changed row: one sentence, and no folder."""
    monkeypatch.setenv("ADJUDGE_DATABASE", "studio.db")
    content = backed.zip.read_bytes()
    if spoil == "cut":
        backed.zip.write_bytes(content[: len(content) // 2])
    elif spoil == "text":
        backed.zip.write_bytes(b"not a zip")
    elif spoil == "empty":
        with zipfile.ZipFile(backed.zip, "w") as archive:
            archive.writestr("campaign.toml", "")
    else:
        with zipfile.ZipFile(backed.zip) as archive:
            archive.extractall(tmp_path / "x")
        with sqlite3.connect(tmp_path / "x" / "studio.db") as file:
            file.execute("DROP TRIGGER judgments_no_delete")
            file.execute("DELETE FROM judgments")
        file.close()  # moves the journal into the file
        with zipfile.ZipFile(backed.zip, "w") as archive:
            for path in (tmp_path / "x").iterdir():
                archive.write(path, path.name)
    message = {"row": "cannot be trusted, so nothing was restored"}.get(
        spoil, "is damaged, or is not a backup|is not a backup"
    )
    with pytest.raises(InputError, match=message):
        restore(backed.zip, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".restore")]


def test_a_backup_cannot_write_outside_of_the_folder(backed, tmp_path, monkeypatch):
    """Only the known names of an archive are unpacked."""
    monkeypatch.setenv("ADJUDGE_DATABASE", "studio.db")
    with zipfile.ZipFile(backed.zip, "a") as archive:
        archive.writestr("../evil", "x")
        archive.writestr("key", "x" * 32)
    restore(backed.zip, tmp_path / "again")
    assert not (tmp_path / "evil").exists()
    assert (tmp_path / "again" / "key").read_bytes() != b"x" * 32


@pytest.mark.parametrize(
    "head",
    [
        *("[]", "3", "null", '{"rows": {}}', '{"seal": [], "rows": {}}', "[" * 100_000),
        *('{"seal": SEAL, "rows": {"answers": "x"}}', '{"seal": SEAL, "rows": 3}', '{"seal": LATE, "rows": {}}'),
    ],
)
def test_a_backup_with_a_damaged_head_is_refused(backed, tmp_path, head):
    """What it says about itself is none of what a backup says: one sentence."""
    seal = Seal("c", 0, "", 1.0, "")
    head = head.replace("SEAL", json.dumps(seal._asdict())).replace(
        "LATE", json.dumps(seal._replace(at=1e300)._asdict())
    )
    with zipfile.ZipFile(backed.zip) as archive, zipfile.ZipFile(tmp_path / "x.zip", "w") as changed:
        for name in archive.namelist():
            changed.writestr(name, head if name == HEAD else archive.read(name))
    with pytest.raises(InputError, match="is damaged, or is not a backup"):
        check(tmp_path / "x.zip")


def test_a_backup_that_needs_an_unknown_method_is_refused(backed):
    """The number of the method of compression is damaged."""
    content = bytearray(backed.zip.read_bytes())
    content[content.index(b"PK\1\2") + 10] = 77
    backed.zip.write_bytes(content)
    with pytest.raises(InputError, match="is damaged, or is not a backup"):
        check(backed.zip)


def test_a_restore_that_fails_leaves_nothing(backed, tmp_path, monkeypatch):
    """The folder appears at once and complete; until then, whatever fails leaves no trace."""
    monkeypatch.setenv("ADJUDGE_DATABASE", "postgresql+psycopg://nobody@127.0.0.1:1/none")
    with pytest.raises(InputError, match="the database cannot be used"):
        restore(backed.zip, tmp_path / "again")
    monkeypatch.setenv("ADJUDGE_DATABASE", "studio.db")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", killed)
    with pytest.raises(KeyboardInterrupt):
        restore(backed.zip, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".restore")]


def test_a_snapshot_that_does_not_fit_is_said(backed, tmp_path, monkeypatch):
    """The temporary folder is full, not the disk of the campaign; an earlier backup stays."""

    def full(*_):
        raise OperationalError("", {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr("adjudge.studio.backups._snapshot", full)
    before = backed.zip.read_bytes()
    with (
        backed.store.reading() as connection,
        pytest.raises(InputError, match="is full: name a folder with more space in TMPDIR"),
    ):
        back_up(connection, backed.campaign, backed.zip)
    assert backed.zip.read_bytes() == before

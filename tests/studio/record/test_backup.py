import zipfile

import pytest
from sqlalchemy import func, insert, select
from sqlalchemy.exc import OperationalError

from adjudge.errors import InputError
from adjudge.studio.campaign import load_campaign
from adjudge.studio.desk.judges import list_judges
from adjudge.studio.record import schema
from adjudge.studio.record import schema as s
from adjudge.studio.record.audit import find_faults
from adjudge.studio.record.backup import backup
from adjudge.studio.studio import open_store, reading_campaign

FREE = "[qualification]\nrequired = false\n"


def test_a_backup_is_the_campaign(crowd, tmp_path, monkeypatch):
    """What is unpacked is a campaign again, with every row, from either database, and without the key."""
    made = crowd(FREE)
    made.through(made.person("ann"))
    (made.folder / "key").write_bytes(b"secret")
    with made.store.reading() as connection:
        counts = {t.name: connection.scalar(select(func.count()).select_from(t)) for t in s.METADATA.sorted_tables}
        rows = backup(connection, made.campaign, tmp_path / "kept.zip")
    assert rows == sum(counts.values())
    with zipfile.ZipFile(tmp_path / "kept.zip") as archive:
        assert "key" not in archive.namelist()
        archive.extractall(tmp_path / "again")
    monkeypatch.delenv("ADJUDGE_DATABASE", raising=False)
    again = open_store(load_campaign(tmp_path / "again"))
    with again.reading() as connection:
        assert find_faults(connection, made.campaign) == []
        for table in s.METADATA.sorted_tables:
            assert connection.scalar(select(func.count()).select_from(table)) == counts[table.name], table.name
    assert again.ledger.items.judged.tolist() == made.store.ledger.items.judged.tolist()
    again.close()


def test_it_is_read_while_it_is_served_and_cannot_be_changed(desk):
    """The store is open for writing meanwhile."""
    with reading_campaign(desk.folder) as (campaign, connection):
        assert campaign.settings.campaign.name == "Trees"
        assert [one.name for one in list_judges(connection)] == ["ann", "bob", "cid"]
        with pytest.raises(OperationalError, match="readonly"):
            connection.execute(insert(schema.versions).values(version=99, at=0.0))


def test_nothing_is_made_where_nothing_is(desk_folder, monkeypatch):
    """A campaign that nobody has worked on has no database, and gets none by looking."""
    monkeypatch.delenv("ADJUDGE_DATABASE", raising=False)
    with pytest.raises(InputError, match="nobody has worked on this campaign yet"), reading_campaign(desk_folder):
        pass
    assert not (desk_folder / "studio.db").exists()

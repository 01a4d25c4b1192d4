import zipfile

from sqlalchemy import func, select

from adjudge.collect.files.campaign import load_campaign
from adjudge.collect.record import schema as s
from adjudge.collect.record.backup import backup
from adjudge.collect.record.verify import wrong
from adjudge.collect.studio import open_store

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
        assert wrong(connection, made.campaign) == []
        for table in s.METADATA.sorted_tables:
            assert connection.scalar(select(func.count()).select_from(table)) == counts[table.name], table.name
    assert again.ledger.items.judged.tolist() == made.store.ledger.items.judged.tolist()
    again.close()

"""Modes of files and folders."""

import os

from adjudge.studio.campaign import load_campaign
from adjudge.studio.record.private import make_private, private_files
from adjudge.studio.studio import open_store, open_studio
from tests.studio.conftest import crowd_files


def modes(folder):
    """Return the bits that others have of everything below a folder that the studio wrote."""
    return {
        path.name: path.stat().st_mode & 0o077
        for path in folder.glob("*")
        if path.suffix not in (".csv", ".jsonl", ".toml")
    }


def test_what_the_studio_writes_is_private(file_crowd):
    """Database, journal, lock, key and seal can be read by one user, whatever the umask."""
    created = file_crowd("[qualification]\nrequired = false\n")
    created.through(created.person("ann"))
    found = modes(created.folder)
    assert {"studio.db", "studio.db-wal", "studio.db-shm", "studio.db.lock", "key", "seal.json"} <= found.keys()
    assert not any(found.values()), found


def test_a_folder_of_an_earlier_version_is_repaired_and_said(tmp_path):
    """The line names what others could read; the second time there is nothing to say."""
    folder = crowd_files(tmp_path / "c", "[qualification]\nrequired = false\n")
    open_store(load_campaign(folder)).close()
    folder.chmod(0o755)
    (folder / "studio.db").chmod(0o644)
    (folder / "consensus").mkdir(mode=0o755)
    store = open_store(load_campaign(folder))
    store.close()
    (note,) = store.notes
    assert note.startswith("others could read the folder, studio.db, studio.db-shm")
    assert note.endswith("only you can now")
    assert (folder / "consensus").stat().st_mode & 0o777 == 0o700
    assert folder.stat().st_mode & 0o777 == 0o700
    assert make_private(folder) == ()


def test_new_files_are_private_and_the_umask_comes_back(tmp_path):
    """Only inside of the block."""
    with private_files():
        (tmp_path / "in").write_text("x")
    (tmp_path / "out").write_text("x")
    assert (tmp_path / "in").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "out").stat().st_mode & 0o077 != 0


def test_an_opened_campaign_keeps_its_index_private(tmp_path, monkeypatch):
    """Whatever the umask is, so that the next start has nothing to repair."""
    folder = crowd_files(tmp_path / "c", "[qualification]\nrequired = false\n")
    monkeypatch.setattr("adjudge.studio.documents.SETTLED", 0.0)
    before = os.umask(0)
    try:
        open_studio(folder).store.close()
    finally:
        os.umask(before)
    assert "documents.index" in modes(folder)
    assert not any(modes(folder).values()), modes(folder)
    assert make_private(folder) == ()

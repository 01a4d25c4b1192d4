"""Revisions of a campaign's files in rows, and the history that is read from them."""

import zlib

import pytest

from adjudge.studio.campaign import FILES
from adjudge.studio.record import revisions as r
from adjudge.studio.record import schema
from adjudge.studio.record.audit import find_faults
from adjudge.studio.record.store import Change


def record(made, content, note):
    """Record another content of the pool, and return its SHA-256."""
    (made.folder / "pool.csv").write_bytes(content)
    states = r.changed_states(made.folder, made.store.ledger.files, FILES)
    made.do(lambda ledger, now: Change(r.revision_rows(ledger, now, None, "desk", states, note)))
    return states[0].sha256


@pytest.fixture
def made(fresh_desk):
    """Return a campaign whose pool has changed twice since the start."""
    fresh_desk.shas = [record(fresh_desk, f"topic,document\noak,oak-{n}\n".encode(), f"change {n}") for n in range(2)]
    return fresh_desk


def test_only_changed_files_are_recorded(made):
    """And nothing if nothing has changed."""
    assert r.changed_states(made.folder, made.store.ledger.files, FILES) == []
    states = r.changed_states(made.folder, {}, FILES)
    assert [state.file for state in states] == list(FILES)
    assert [state.file for state in states if state.packed is None] == ["documents.jsonl"]


def test_changes_are_listed_newest_first_in_pages(made):
    """With the revisions of each, in the order of files."""
    with made.store.reading() as connection:
        notes = [change.note for change in r.list_changes(connection)]
        assert notes == ["change 1", "change 0", "as the studio found it"]
        first, *_ = r.list_changes(connection, most=1)
        assert [change.note for change in r.list_changes(connection, before=first.id, most=1)] == ["change 0"]
        assert [row.file for row in r.list_changes(connection)[-1].revisions] == list(FILES)


def test_contents_are_read_again(made):
    """Of a revision, of the one before it, and by hash."""
    with made.store.reading() as connection:
        last = r.last_revisions(connection)["pool.csv"]
        revision, content = r.read_revision(connection, last)
        assert (revision.sha256, content) == (made.shas[1], b"topic,document\noak,oak-1\n")
        assert r.content_before(connection, revision) == b"topic,document\noak,oak-0\n"
        assert r.content_of(connection, "pool.csv", made.shas[0]) == b"topic,document\noak,oak-0\n"
        assert r.content_of(connection, "pool.csv", "unknown") is None
        assert r.read_revision(connection, 99) is None
        assert "documents.jsonl" not in r.last_revisions(connection)


def test_texts_are_decoded_as_the_readers_do():
    """Bytes that are no text are replaced."""
    assert r.text_of("Gr\u00fc\u00dfe".encode("utf-16")) == "Gr\u00fc\u00dfe"
    assert r.text_of(None) == ""
    assert r.text_of(b"a\x00\xff\xfe\xfdb").startswith("a")


def test_a_content_that_is_not_what_was_recorded_is_a_fault(made):
    """The check of the record says which revision."""

    def forge(ledger, now):
        state = r.FileState("pool.csv", "0" * 64, zlib.compress(b"forged"))
        return Change(r.revision_rows(ledger, now, None, "desk", [state], "forged"))

    made.do(forge)
    number = made.store.ledger.next_id(schema.revisions) - 1
    with made.store.reading() as connection:
        faults = find_faults(connection, made.campaign)
    assert f"revision {number}: its content is not the one that was recorded" in faults

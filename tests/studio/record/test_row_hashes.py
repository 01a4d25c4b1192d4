"""Hashes of rows, and the tallies that continue them."""

import json

from adjudge.studio.desk.imports import ImportedJudgment, import_judgments
from adjudge.studio.record import schema as s
from adjudge.studio.record.audit import find_faults
from adjudge.studio.record.row_hashes import (
    BEGINNING,
    SECONDS,
    RowHashes,
    Tally,
    _in_order,
    extend,
    load_row_hashes,
    read_hashes,
    row_hash,
    sealed_tables,
    tallies_of,
)
from adjudge.studio.studio import reading_campaign

ROW = {"id": 1, "at": 5, "name": "paused", "value": "1", "by": None}


def test_a_row_has_the_same_hash_before_and_after_it_was_stored(crowd):
    """Whole numbers, missing defaults and truth values are hashed as the database returns them."""
    created = crowd("[qualification]\nrequired = false\n")
    created.through(created.person("ann"))
    new = created.store.ledger.hashes.new
    with created.store.reading() as connection:
        for table in sealed_tables():
            assert sorted(read_hashes(connection, table)) == sorted(new.get(table.name, [])), table.name
        assert load_row_hashes(connection).new.keys() == new.keys()


def test_the_hash_covers_table_and_values():
    """A value, its type or the table changes the hash."""
    values = [1, 5.0, "paused", "1", None]
    other = [row_hash(s.switches, [*values[:3], 1, None]), row_hash(s.identifications, values)]
    assert row_hash(s.switches, values) not in other


def test_a_tally_continues_and_ignores_the_order_within_a_group():
    """Rows of one commit have no order; groups have one."""
    a, b = row_hash(s.switches, [1]), row_hash(s.switches, [2])
    both = extend(Tally(), [a, b])
    assert both == extend(Tally(), [b, a])
    assert extend(extend(Tally(), [a]), [b]) != both
    assert extend(extend(Tally(), [a]), [b]) != extend(extend(Tally(), [b]), [a])
    assert extend(both, []) == both == Tally(2, both.hash)
    assert Tally() == Tally(0, BEGINNING)


def test_rows_are_due_when_they_are_many_or_old(monkeypatch):
    """Nothing is sealed without new rows."""
    hashes = RowHashes()
    assert not hashes.due
    hashes.add(s.switches, ROW)
    assert not hashes.due
    monkeypatch.setattr("adjudge.studio.record.row_hashes.MOST", 1)
    assert hashes.due
    monkeypatch.undo()
    monkeypatch.setattr("adjudge.studio.record.row_hashes.time.monotonic", lambda: hashes._since + SECONDS + 1)
    assert hashes.due


def test_sealing_continues_from_the_entry():
    """The detail of an entry is what the next one continues; entries of the audit log itself are not in it."""
    hashes = RowHashes()
    hashes.add(s.switches, ROW)
    hashes.add(s.audit, {})
    detail = json.dumps(hashes.detail())
    hashes.seal(detail)
    assert hashes.sealed == tallies_of(detail) == {"switches": Tally(1, hashes.sealed["switches"].hash)}
    assert not hashes.new


def test_every_table_without_ids_has_an_order_in_time():
    """Rows with a random key are read in the order of what they belong to, so that groups stay together."""
    orders = {
        table.name: [column.name for column in _in_order(table, 0)._order_by_clauses]
        for table in sealed_tables()
        if "id" not in table.columns
    }
    assert orders["slots"] == ["set", "slot"]
    assert orders["recovery_codes"] == ["factor", "hash"]
    assert all(order[0] == "at" for name, order in orders.items() if name not in ("slots", "recovery_codes"))


def test_the_sign_of_zero_is_not_hashed(crowd):
    """SQLite does not store it, PostgreSQL does, and a judge may send it: the record must still verify."""
    created = crowd("[qualification]\nrequired = false\n")
    created.through(created.person("ann"), seconds=-0.0)
    created.do(import_judgments, None, [ImportedJudgment(1, "t0", "d0-1", "bob", 1, seconds=-0.0)], {}, "a.csv")
    created.store.close()
    with reading_campaign(created.folder) as (campaign, connection):
        assert find_faults(connection, campaign) == []

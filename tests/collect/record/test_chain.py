import pytest

from adjudge.collect.record.chain import Link, broken, digest, linked


def chain(length):
    """Return a chain of entries."""
    last, rows = Link(), []
    for n in range(length):
        rows.append(linked(last, float(n), "ann", f"deed {n}", {"n": n, "ü": "ß"}))
        last = Link(rows[-1]["id"], rows[-1]["hash"])
    return rows


def test_a_chain_holds():
    """Entries as they were written follow from one another."""
    assert broken(chain(5)) is None
    assert broken([]) is None


@pytest.mark.parametrize("field", ["at", "who", "what", "detail"])
def test_a_changed_entry_shows(field):
    """Whatever is changed in an entry, that entry no longer fits."""
    rows = chain(5)
    rows[2] = {**rows[2], field: 99.0 if field == "at" else "{}"}
    assert broken(rows) == 3


def test_a_changed_entry_with_its_hash_shows_in_the_next():
    """Who makes the hash anew has to make all later ones anew."""
    rows = chain(5)
    rows[2] = {**rows[2], "who": "eve"}
    rows[2]["hash"] = digest(rows[2])
    assert broken(rows) == 4


def test_a_missing_entry_shows():
    """An entry that was taken away leaves a gap, even the first."""
    rows = chain(5)
    assert broken(rows[:2] + rows[3:]) == 3
    assert broken(rows[1:]) == 1

"""Damaged files: one sentence at every command that reads the record."""

import random
import sqlite3

import pytest
import sqlalchemy
from sqlalchemy import URL

from adjudge.cli import main
from adjudge.errors import InputError
from adjudge.studio.campaign import load_campaign
from adjudge.studio.record.damage import address, explained, problems_of

FREE = "[qualification]\nrequired = false\n"


@pytest.fixture
def database(file_crowd):
    """Return the file of a small campaign with work, closed."""
    created = file_crowd(FREE)
    for name in ("ann", "bob"):
        created.through(created.person(name))
    created.store.close()
    return created.folder / "studio.db"


def run(database, capsys, command, *options):
    """Return the exit code and the last line on standard error of a command."""
    with pytest.raises(SystemExit) as stopped:
        main(["campaign", command, str(database.parent), *options])
    code = stopped.value.code or 0
    return code, capsys.readouterr().err.strip().splitlines()


def no_database(content):
    """Return text instead of a database."""
    return b"this is no database\n" * 500


def cut(content):
    """Return the first half of a file."""
    return content[: len(content) // 2]


@pytest.mark.parametrize("spoil", [no_database, cut, lambda content: b""])
def test_a_spoiled_file_is_one_sentence_at_every_command(database, capsys, tmp_path, spoil):
    """What is wrong and what to do, without a traceback."""
    database.write_bytes(spoil(database.read_bytes()))
    out = str(tmp_path / "out.zip")
    for command, options in (
        ("verify", ()),
        ("export", ("--out", out)),
        ("backup", ("--out", out)),
        ("invite", ()),
        ("reseal", ()) if spoil(b"x") else ("invite", ()),
    ):
        code, lines = run(database, capsys, command, *options)
        assert code == 1, (command, lines)
        assert command == "verify" or len(lines) == 1, (command, lines)
        message = "".join(lines)
        assert command == "verify" or ("studio.db: the" in message and "adjudge campaign restore" in message), message


def test_flipped_bits_give_no_traceback(database, capsys, tmp_path):
    """Bytes are changed anywhere in the file: verify finds it, and no command ends with a traceback."""
    content, rng = database.read_bytes(), random.Random(1)
    found = 0
    for _ in range(12):
        changed = bytearray(content)
        for place in rng.sample(range(len(content)), 20):
            changed[place] ^= 1 << rng.randrange(8)
        database.write_bytes(changed)
        found += run(database, capsys, "verify")[0]
        code, lines = run(database, capsys, "backup", "--out", str(tmp_path / "out.zip"))
        assert code == 0 or len(lines) == 1, lines
        code, lines = run(database, capsys, "invite")
        assert code == 0 or len(lines) == 1, lines
        for rest in database.parent.glob("studio.db-*"):
            rest.unlink()
    assert found >= 10


def test_errors_of_a_sound_record_are_raised_as_they_are(database):
    """A fault of the program is not called damage."""
    campaign = load_campaign(database.parent)
    url = URL.create("sqlite", database=str(database))
    with pytest.raises(KeyError), explained(url, campaign):
        raise KeyError("a bug")
    with pytest.raises(InputError, match="the database cannot be used: database is locked"), explained(url, campaign):
        raise sqlalchemy.exc.OperationalError("", {}, Exception("database is locked"))


def test_a_check_that_fails_is_a_problem():
    """A check that a damaged row stops names the error."""

    def check(connection, campaign):
        raise ValueError("no JSON")
        yield

    assert problems_of(check, None, None) == ["cannot be checked: ValueError: no JSON"]


def test_an_address_has_no_password():
    """The URL of a server is shown without its secret."""
    assert address(URL.create("postgresql+psycopg", "me", "secret", "host", database="x")).count("***") == 1


@pytest.mark.parametrize(
    ("statement", "command"),
    [
        ("UPDATE people SET name = x'ff00' WHERE id = 1", "invite"),
        ("UPDATE people SET name = x'ff00' WHERE id = 1", "prompts"),
        ("UPDATE revisions SET packed = x'00' WHERE file = 'campaign.toml'", "invite"),
        ("UPDATE outcomes SET ndcg = 'x'", "backup"),
        ("UPDATE versions SET at = 'x'", "backup"),
    ],
)
def test_a_cell_of_another_type_is_one_sentence(database, capsys, tmp_path, statement, command):
    """A value that is no text, no number or no compressed file."""
    with sqlite3.connect(database) as file:
        for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {name}")
        assert file.execute(statement).rowcount
    file.close()
    options = {"prompts": ("--judge", "model"), "backup": ("--out", str(tmp_path / "out.zip"))}.get(command, ())
    code, lines = run(database, capsys, command, *options)
    assert (code, len(lines)) == (1, 1), lines
    assert "studio.db: the database is damaged (" in lines[0]
    assert run(database, capsys, "verify")[0] == 1

"""Damaged databases: what fails while a record is read becomes one sentence that says where, what and what to do."""

from __future__ import annotations

import contextlib
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from sqlalchemy import URL, Connection
from sqlalchemy.exc import DBAPIError, StatementError

from adjudge.errors import InputError
from adjudge.studio.campaign import Campaign
from adjudge.studio.record.audit import find_faults

RESTORE = "keep the file, and restore the last backup with `adjudge campaign restore`"
EARLIER = "if it is of an earlier version, back it up and start the studio, which adds what is missing"
NO_TABLE = ("no such table", 'relation "')  # in messages of SQLite and PostgreSQL
# what damaged rows can cause
UNUSABLE = (
    *(ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError),
    *(sqlite3.Error, zlib.error, StatementError),
)
# in SQLite's messages about files that are intact, as far as is known
NOT_DAMAGED = ("locked", "readonly", "unable to open", "is full", "disk I/O error")


def address(url: URL) -> str:
    """Return the address of a database for messages: the path of a file, or a URL without its password."""
    return str(url.database) if url.get_backend_name() == "sqlite" else url.render_as_string(hide_password=True)


@contextlib.contextmanager
def explained(url: URL, campaign: Campaign) -> Iterator[None]:
    """Turn errors that come from a damaged database into one sentence; errors of a sound one are raised as they are."""
    try:
        yield
    except DBAPIError as error:
        raise InputError(sentence_of(error, url), address(url)) from error
    except UNUSABLE as error:
        if faults := _faults(url, campaign):
            raise InputError(f"the database is damaged ({faults[0]}): {RESTORE}", address(url)) from error
        raise


def problems_of(
    check: Callable[[Connection, Campaign], Iterator[str]], connection: Connection, campaign: Campaign
) -> list[str]:
    """Return the problems that a check finds; if the database is so damaged that it fails, that is the problem."""
    try:
        return list(check(connection, campaign))
    except InputError as error:
        return [error.problem]
    except StatementError as error:
        return [f"cannot be checked: {error.orig}"]
    except UNUSABLE as error:
        return [f"cannot be checked: {type(error).__name__}: {error}"]


def sentence_of(error: DBAPIError, url: URL) -> str:
    """Return what an error of the database's driver means."""
    message = (str(error.orig).strip().splitlines() or [type(error.orig).__name__])[0]
    if message.startswith(NO_TABLE):
        return f"the database lacks a table ({message}): {EARLIER}; otherwise {RESTORE}"
    if url.get_backend_name() != "sqlite" or any(words in message for words in NOT_DAMAGED):
        return f"the database cannot be used: {message}"
    return f"the database is damaged ({message}): {RESTORE}"


def _faults(url: URL, campaign: Campaign) -> list[str]:
    """Return what is wrong in a SQLite file; nothing if it cannot be seen."""
    from adjudge.studio.record.store import open_engine

    if url.get_backend_name() != "sqlite" or not Path(str(url.database)).exists():
        return []
    engine = open_engine(url, read_only=True)
    try:
        with engine.begin() as connection:
            return find_faults(connection, campaign)
    except UNUSABLE as error:
        return [str(error).splitlines()[0]]
    finally:
        engine.dispose()

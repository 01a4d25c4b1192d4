"""The store and its writer."""

import threading

import pytest
import sqlalchemy
from sqlalchemy import insert, select
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from adjudge.errors import InputError
from adjudge.studio.desk.pages import list_judges
from adjudge.studio.record import schema
from adjudge.studio.record import schema as s
from adjudge.studio.record.store import Change, Clock, database_url
from adjudge.studio.records import Refused, Unsaved
from adjudge.studio.studio import open_store, reading_campaign

FREE = "[qualification]\nrequired = false\n"


def switch(ledger, now, name, value):
    """Add a row of the simplest kind."""
    row = {"id": ledger.next_id(s.switches), "at": now, "name": name, "value": value, "by": None}
    return Change([(s.switches, row)], value, ("test", "switched", {name: value}))


def kept(made, table):
    """Return all rows of a table."""
    with made.store.reading() as connection:
        return [dict(row) for row in connection.execute(select(table)).mappings()]


def asked_at_once(made, commands):
    """Have commands wait together before the writer starts, and return what each was answered."""
    answers, done = {}, threading.Event()
    for n, command in enumerate(commands):

        def reply(answer, error, n=n):
            answers[n] = error if error is not None else answer
            if len(answers) == len(commands):
                done.set()

        made.store.enqueue(command, reply)
    made.store.start()
    assert done.wait(20)
    return [answers[n] for n in range(len(commands))]


def test_what_waits_is_committed_together(crowd):
    """Commands that wait are one transaction, each decided on what those before it did."""
    created = crowd()
    commits = []
    sqlalchemy.event.listen(created.store._writer, "commit", lambda connection: commits.append(1))
    answers = asked_at_once(created, [lambda ledger, now, n=n: switch(ledger, now, "n", str(n)) for n in range(50)])
    assert answers == [str(n) for n in range(50)]
    assert len(commits) == 1
    assert [row["id"] for row in kept(created, s.switches)] == list(range(1, 51))


def test_a_refusal_harms_no_other(crowd):
    """A command that is refused, or fails by a fault of ours, leaves the others of its group as they are."""
    created = crowd()

    def refuse(ledger, now):
        raise Refused(409, "no", "No.")

    def fault(ledger, now):
        raise KeyError("a bug")

    first, second, third, fourth = asked_at_once(
        created,
        [
            lambda ledger, now: switch(ledger, now, "a", "1"),
            refuse,
            fault,
            lambda ledger, now: switch(ledger, now, "b", "2"),
        ],
    )
    assert (first, fourth) == ("1", "2")
    assert isinstance(second, Refused)
    assert isinstance(third, KeyError)
    assert len(kept(created, s.switches)) == 2


def test_rows_the_database_refuses_harm_no_other(crowd):
    """Where the database refuses a command's rows, that one is told so; the others are saved."""
    created = crowd()
    ann = created.person("ann")
    before = created.store.ledger

    def same_name(ledger, now):
        row = {"id": ledger.next_id(s.people), "at": now, "name": "ann", "role": "judge", "outside": None}
        return Change([(s.people, {**row, "language": "en"})])

    first, second, third = asked_at_once(
        created,
        [
            lambda ledger, now: switch(ledger, now, "a", "1"),
            same_name,
            lambda ledger, now: switch(ledger, now, "b", "2"),
        ],
    )
    assert (first, third) == ("1", "2")
    assert isinstance(second, sqlalchemy.exc.IntegrityError)  # to try again would not help
    assert len(kept(created, s.switches)) == 2
    assert created.store.ledger is not before
    assert list(created.store.ledger.people) == [ann]


@pytest.mark.parametrize("where", ["audit", "fold", "view", "reply"])
def test_whatever_fails_the_next_is_served(crowd, where):
    """A fault after the decision, wherever it is, harms the one command and no other."""
    created = crowd()

    def bad(ledger, now):
        change = switch(ledger, now, "bad", "1")
        if where == "audit":
            return change._replace(audit=("eve\ud800", "x", {}))
        return change._replace(rows=[*change.rows, (s.answers, {"set": 99})]) if where == "fold" else change

    def view(ledger, now, answer):
        raise KeyError("gone")

    messages = []

    def reply(answer, error):
        messages.append((answer, error))
        if where == "reply":
            raise RuntimeError("the loop is closed")

    created.store.enqueue(
        lambda ledger, now: switch(ledger, now, "before", "1"), lambda *answer: messages.append(answer)
    )
    created.store.enqueue(bad, reply, view if where == "view" else None)
    created.store.enqueue(
        lambda ledger, now: switch(ledger, now, "after", "2"), lambda *answer: messages.append(answer)
    )
    created.store.start()
    created.store.close()
    happened = {"before", "after"} | ({"bad"} if where == "reply" else set())
    assert sum(error is None for _, error in messages) == len(happened)
    assert {row["name"] for row in kept(created, s.switches)} == happened
    assert set(created.store.ledger.switches) == happened


def test_too_many_waiting_are_told_so(crowd, monkeypatch):
    """A queue that no disk empties does not grow for ever."""
    monkeypatch.setattr("adjudge.studio.record.store.WAITING", 2)
    created = crowd()
    messages = []
    for n in range(3):
        created.store.enqueue(
            lambda ledger, now, n=n: switch(ledger, now, "n", str(n)), lambda *answer: messages.append(answer)
        )
    assert [type(error) for _, error in messages] == [Unsaved]
    created.store.start()
    created.store.close()
    assert len(messages) == 3


@pytest.mark.parametrize("url", ["postgres://h/d", "mysql://h/d", "http://[bad", "sqlite://"])
def test_a_url_of_no_database_is_said(monkeypatch, tmp_path, url):
    """A slip in the variable is one sentence."""
    monkeypatch.setenv("ADJUDGE_DATABASE", url)
    with pytest.raises(InputError, match="expected a path, or a URL that begins with postgresql"):
        database_url(tmp_path, "studio.db")


def test_a_link_to_a_database_has_the_same_lock(file_crowd, tmp_path, monkeypatch):
    """There is one writer, by whatever path it finds the file."""
    created = file_crowd(FREE)
    (tmp_path / "link.db").symlink_to(created.folder / "studio.db")
    monkeypatch.setenv("ADJUDGE_DATABASE", f"sqlite:///{tmp_path / 'link.db'}")
    with pytest.raises(InputError, match="another adjudge is writing to this campaign"):
        open_store(created.campaign)


def test_a_lost_lock_is_taken_anew_or_nothing_is_written(crowd, database):
    """When PostgreSQL ends the writer's connection, the next commit holds the lock again, or another studio has it."""
    if database != "postgresql":
        return
    created = crowd()
    created.do(switch, "a", "1")
    end = "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()"
    with sqlalchemy.create_engine(created.store.url, poolclass=NullPool).connect() as connection:
        connection.exec_driver_sql(end)
        created.do(switch, "b", "2")
        assert set(created.store.ledger.switches) == {"a", "b"}
        connection.exec_driver_sql(end)
    other = open_store(created.campaign)
    with pytest.raises(Unsaved, match="another adjudge is writing"):
        created.do(switch, "c", "3")
    other.close()
    created.do(switch, "d", "4")


def test_a_failed_commit_leaves_no_trace(crowd, monkeypatch):
    """What could not be written is not acknowledged, and is not so in memory either."""
    created = crowd(FREE)
    ann = created.person("ann")
    full = sqlalchemy.exc.OperationalError("insert", {}, Exception("database or disk is full"))

    def fail(connection, rows):
        raise full

    with monkeypatch.context() as patch:
        patch.setattr("adjudge.studio.record.store._write", fail)
        with pytest.raises(Unsaved, match="disk is full"):
            created.open_work(ann)
    created.do(switch, "a", "1")
    assert created.store.ledger.people[ann].last is None
    assert not created.store.ledger.items.leased.any()
    assert created.open_work(ann).sets


def test_rows_are_never_changed(crowd):
    """The database itself refuses to change or take away a row."""
    created = crowd()
    created.do(switch, "a", "1")
    for statement in ("UPDATE switches SET value = '2'", "DELETE FROM switches"):
        with (
            pytest.raises(sqlalchemy.exc.DBAPIError, match="rows of switches are never changed"),
            created.store._writer.begin() as connection,
        ):
            connection.exec_driver_sql(statement)
    assert len(kept(created, s.switches)) == 1


def test_readers_cannot_write(crowd, database):
    """A connection to read is for reading; SQLite holds it to that."""
    if database != "sqlite":
        return
    created = crowd()
    with pytest.raises(sqlalchemy.exc.OperationalError, match="readonly"), created.store.reading() as connection:
        connection.execute(insert(s.versions), {"version": 9, "at": 0.0})


def test_a_reader_sees_one_moment(crowd):
    """What is written while somebody reads is not half in what they read, on either database."""
    created = crowd()
    with created.store.reading() as connection:
        before = connection.execute(select(s.switches)).all()
        created.do(switch, "a", "1")
        assert connection.execute(select(s.switches)).all() == before == []
    assert len(kept(created, s.switches)) == 1


def test_one_writer_at_a_time(crowd):
    """A second studio on the same campaign is refused in words; after the first has closed it may."""
    created = crowd()
    with pytest.raises(InputError, match="another adjudge is writing"):
        open_store(created.campaign)
    created.store.close()
    again = open_store(created.campaign)
    assert len(again.ledger.items.pairs) == len(created.store.ledger.items.pairs)
    again.close()


def test_a_database_from_the_future_is_refused(crowd):
    """A newer version's database is left alone."""
    created = crowd()
    with created.store._writer.begin() as connection:
        connection.execute(insert(s.versions), {"version": 99, "at": 0.0})
    created.store.close()
    with pytest.raises(InputError, match="has version 99, but this adjudge knows"):
        open_store(created.campaign)


def test_closing_finishes_what_waits(crowd):
    """What was asked before the end is done before the end."""
    created = crowd()
    created.store.start()
    answers = []
    for n in range(20):
        created.store.enqueue(
            lambda ledger, now, n=n: switch(ledger, now, "n", str(n)), lambda answer, error: answers.append(answer)
        )
    created.store.close()
    assert answers == [str(n) for n in range(20)]


def test_time_goes_on_after_a_restart(crowd):
    """The clock never begins before the newest row."""
    created = crowd()
    created.time[0] = 4e9
    created.do(switch, "a", "1")
    created.store.close()
    again = open_store(created.campaign)
    assert again.clock() >= 4e9
    again.close()


def test_views_see_what_was_just_done(crowd):
    """A view is made after the change, before anything else."""
    created = crowd()
    observed = created.store.do(
        lambda ledger, now: switch(ledger, now, "a", "7"), lambda ledger, now, answer: (answer, ledger.switches["a"])
    )
    assert observed == ("7", "7")


class Hands:
    """The clocks of a machine, to be set."""

    wall, steady = 1_000.0, 50.0

    def clock(self, **told):
        """Return the studio's clock on this machine."""
        return Clock(wall=lambda: self.wall, steady=lambda: self.steady, **told)


def test_it_goes_with_the_machine():
    """Time goes by as it does on the machine."""
    hands = Hands()
    clock = hands.clock()
    hands.wall, hands.steady = 1_010.0, 60.0
    assert (clock(), clock.jumped()) == (1_010.0, 0.0)


def test_jumps_do_not_move_it():
    """Whether the machine's clock is set forward or back, leases and times are as before."""
    for jump in (+86_400.0, -86_400.0):
        hands = Hands()
        clock = hands.clock()
        hands.wall, hands.steady = 1_010.0 + jump, 60.0
        assert (clock(), clock.jumped()) == (1_010.0, jump)


def test_it_does_not_begin_before_what_is_on_record():
    """A machine that wakes up in the past goes on from the last row."""
    hands = Hands()
    clock = hands.clock(not_before=5_000.0)
    hands.steady += 1
    assert clock() == 5_001.0


def test_the_real_one_goes_forward():
    """Without being told of other clocks it takes the machine's."""
    import time

    clock = Clock()
    assert abs(clock() - time.time()) < 5
    assert clock() <= clock()


def test_it_is_read_while_it_is_served_and_cannot_be_changed(desk):
    """The store is open for writing meanwhile."""
    with reading_campaign(desk.folder) as (campaign, connection):
        assert campaign.settings.campaign.name == "Trees"
        assert [list_judge.name for list_judge in list_judges(connection)] == ["ann", "bob", "cid"]
        with pytest.raises(OperationalError, match="readonly"):
            connection.execute(insert(schema.versions).values(version=99, at=0.0))


def test_nothing_is_made_where_nothing_is(desk_folder, monkeypatch):
    """A campaign that nobody has worked on has no database, and gets none by looking."""
    monkeypatch.delenv("ADJUDGE_DATABASE", raising=False)
    with pytest.raises(InputError, match="nobody has worked on this campaign yet"), reading_campaign(desk_folder):
        pass
    assert not (desk_folder / "studio.db").exists()

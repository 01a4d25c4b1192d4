"""What tests of the desk share: a small campaign that has been worked on, through the commands of the studio."""

import json
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sqlalchemy
from sqlalchemy.pool import NullPool

SETTINGS = """
[campaign]
name = "Trees"
[assignment]
sets = 3
documents = 2
gold_sets = 1
[gate]
binary = 0.85
ndcg = 0.0
seconds = 6.0
[qualification]
required = false
[redundancy]
judgments = 2
[pay]
amount = 1.5
"""
TOPICS = ("oak", "elm")
POOL = 6  # documents of a topic
GOLD = 6  # documents of a topic that are gold: three sets of a relevant and an irrelevant one


def write_campaign(folder, settings=SETTINGS):
    """Write the files of a campaign: two topics, twelve pairs in the pool, six gold sets."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.toml").write_text(settings)
    documents, pool, gold, sets = [], ["topic,document"], ["topic,document,grade,reason"], ["set,use,topic,document"]
    for topic in TOPICS:
        for n in range(POOL):
            pool.append(f"{topic},{topic}-{n}")
            documents.append({"document": f"{topic}-{n}", "title": f"{topic} {n}", "kind": "text", "content": "a tree"})
        for n in range(GOLD):
            name = f"{topic}-gold-{n}"
            gold.append(f"{topic},{name},{n % 2},because")
            sets.append(f"{topic}-{n // 2},gold,{topic},{name}")
            documents.append(
                {"document": name, "title": name, "kind": "html", "content": "<p>a <b>tree</b> &amp; more"}
            )
    message = [{"topic": t, "query": t, "description": f"about {t}s", "narrative": ""} for t in TOPICS]
    (folder / "topics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in message))
    (folder / "documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents))
    for name, lines in (("pool.csv", pool), ("gold.csv", gold), ("sets.csv", sets)):
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def desk_studio(folder, start=2e9):
    """Return a campaign's store with a clock of the test's, and what a test does with it."""
    from adjudge.studio.campaign import load_campaign
    from adjudge.studio.record import schema
    from adjudge.studio.record.store import Change
    from adjudge.studio.studio import open_store
    from adjudge.studio.work import commands, grading

    campaign, time = load_campaign(folder), [start]
    store = open_store(campaign)
    store.clock = lambda: time[0]
    rng = np.random.default_rng(1)

    def do(command: Callable, *args, **named):
        return store.do(lambda ledger, now: command(ledger, now, *args, **named))

    def person(name, role="judge"):
        def add(ledger, now):
            number = ledger.next_id(schema.people)
            row = {"id": number, "at": now, "name": name, "role": role, "outside": None, "language": "en"}
            return Change([(schema.people, row)], number)

        return store.do(add)

    def open_work(who):
        do(commands.take_assignment, who, rng)
        return store.ledger.assignments[store.ledger.people[who].last]

    def work(who, right=True, seconds=10.0, relevance=1):
        """Work through an assignment: gold right or wrong, everything else as told."""
        stored = open_work(who)
        for entry in stored.sets:
            time[0] += 100
            grades = grading.gold_grades(store.ledger, entry)
            result = [relevance if grade is None else int((grade > 0) == right) for grade in grades]
            order = sorted(range(len(result)), key=lambda slot: -result[slot])
            answers = [
                {
                    "key": f"k{slot}",
                    "slot": slot,
                    "relevance": result[slot],
                    "told": True,
                    "rank": order.index(slot) + 1,
                }
                | {"seconds": seconds, "comment": "=1+1" if slot else ""}
                for slot in range(len(result))
            ]
            do(commands.finish_set, who, entry.token, answers)
        return stored

    return SimpleNamespace(
        campaign=campaign, store=store, do=do, person=person, work=work, open_work=open_work, time=time, folder=folder
    )


@pytest.fixture
def desk_folder(tmp_path):
    """Return the folder of a small campaign that nobody has worked on."""
    return write_campaign(tmp_path / "trees")


@pytest.fixture
def fresh_desk(desk_folder):
    """Return a small campaign that nobody has worked on, open for writing."""
    created = desk_studio(desk_folder)
    yield created
    created.store.close()


@pytest.fixture
def desk(desk_folder):
    """Return a small campaign: ann passed twice, bob was returned once (gold and time), cid has one open."""
    created = desk_studio(desk_folder)
    created.lead = created.person("lea", "lead")
    created.ann, created.bob, created.cid = created.person("ann"), created.person("bob"), created.person("cid")
    created.first = created.work(created.ann)
    created.second = created.work(created.ann)
    created.returned = created.work(created.bob, right=False, seconds=3.0)
    created.open = created.open_work(created.cid)
    yield created
    created.store.close()


@pytest.fixture
def reading(desk):
    """Return a connection to the small campaign that only reads."""
    with desk.store.reading() as connection:
        yield connection


def crowd_files(folder, settings="", topics=8, pool=10, gold=2, monitoring=1, jobs=4):
    """Write a campaign as the paper has it: sets of five, gold sets of every topic, a qualification, monitoring."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "campaign.toml").write_text('[campaign]\nname = "Crowd"\n' + settings)
    files = {"pool.csv": ["topic,document"], "gold.csv": ["topic,document,grade,reason"]}
    files["sets.csv"] = ["set,use,topic,document"]
    names = []

    def add(topic, kind, n):
        names.append(f"{kind}{topic}-{n}")
        return f"t{topic},{names[-1]}"

    for topic in range(topics):
        files["pool.csv"] += [add(topic, "d", n) for n in range(pool)]
        for n in range(5 * gold):
            pair = add(topic, "g", n)
            files["gold.csv"].append(f"{pair},{(2, 1, 0, 1, 0)[n % 5]},because {n}")
            files["sets.csv"].append(f"gold-{topic}-{n // 5},gold,{pair}")
    for job in range(jobs):
        pairs = [add(job, "q", n) for n in range(5)]
        files["gold.csv"].append(f"{pairs[0]},{job % 2 + 1},as asked")
        files["sets.csv"] += [f"job-{job},qualification,{pair}" for pair in pairs]
    for index in range(monitoring):
        files["sets.csv"] += [f"watch-{index},monitoring,{add(index, 'm', n)}" for n in range(5)]
    result = [{"topic": f"t{t}", "query": f"query {t}", "description": "", "narrative": ""} for t in range(topics)]
    documents = [{"document": name, "kind": "text", **crowd_text(name)} for name in names]
    files["topics.jsonl"] = [json.dumps(row) for row in result]
    files["documents.jsonl"] = [json.dumps(row) for row in documents]
    for name, lines in files.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def crowd_text(name):
    """Return the title and the words of a document, which say nothing of what it is for."""
    rng = np.random.default_rng(list(name.encode()))
    title, *words = ("".join(rng.choice(list("abcdefgh"), 6)) for _ in range(20))
    return {"title": title.title(), "content": " ".join(["words", *words])}


def crowd_answers(ledger, one, right=True, seconds=10.0, tag=""):
    """Return answers to a whole set: gold as it is or the other way round, everything else relevant."""
    from adjudge.studio.work.grading import gold_grades

    reference = gold_grades(ledger, one)
    result = [1 if grade is None else int((grade > 0) == right) for grade in reference]
    order = sorted(range(len(result)), key=lambda slot: (-result[slot], -(reference[slot] or 0)))
    return [
        {"key": f"{tag}{slot}", "slot": slot, "relevance": result[slot], "told": True, "rank": order.index(slot) + 1}
        | {"seconds": seconds, "comment": ""}
        for slot in range(len(result))
    ]


def crowd_through(made, who, right=True, seconds=10.0):
    """Take an assignment and finish all of its sets, a minute each."""
    from adjudge.studio.work.commands import finish_set

    stored = made.open_work(who)
    for entry in stored.sets:
        made.time[0] += 60
        made.do(finish_set, who, entry.token, crowd_answers(made.store.ledger, entry, right, seconds))
    return stored


@pytest.fixture(scope="session")
def postgresql(tmp_path_factory):
    """Return the URL of a PostgreSQL server of our own, from Debian's packages, up to the name of a database."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        if os.environ.get("CI"):
            pytest.fail("needs PostgreSQL (Debian's package postgresql)")
        pytest.skip("needs PostgreSQL (Debian's package postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="adjudge-pg"))  # a socket's path must be short
    user = "postgres" if os.geteuid() == 0 else None  # root may not run the server
    if user:
        shutil.chown(folder, user)

    def run(program, *args):
        command = [str(programs[-1] / program), *args]
        subprocess.run(command, check=True, user=user, cwd=folder, capture_output=True)

    run("initdb", "-D", str(folder / "data"), "-U", "adjudge", "--auth=trust", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    run("pg_ctl", "-D", str(folder / "data"), "-w", "-l", str(folder / "log"), "-o", options, "start")
    yield lambda name: f"postgresql+psycopg://adjudge@/{name}?host={folder}"
    run("pg_ctl", "-D", str(folder / "data"), "-m", "immediate", "stop")
    shutil.rmtree(folder)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, monkeypatch):
    """Have a test's campaign in SQLite, and again in PostgreSQL."""
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
        name = f"t{uuid.uuid4().hex}"
        engine = sqlalchemy.create_engine(server("postgres"), isolation_level="AUTOCOMMIT", poolclass=NullPool)
        with engine.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        monkeypatch.setenv("ADJUDGE_DATABASE", server(name))
    return request.param


def crowds(tmp_path):
    """Yield a maker of campaigns of the paper's kind, closed at the end."""
    collected = []

    def make(settings="", **sizes):
        entry = desk_studio(crowd_files(tmp_path / f"crowd{len(collected)}", settings, **sizes))
        entry.answers = lambda held, **told: crowd_answers(entry.store.ledger, held, **told)
        entry.through = lambda who, **told: crowd_through(entry, who, **told)
        collected.append(entry)
        return entry

    yield make
    for entry in collected:
        entry.store.close()


@pytest.fixture
def crowd(tmp_path, database):
    """Return a maker of campaigns of the paper's kind, on either database."""
    yield from crowds(tmp_path)


@pytest.fixture
def file_crowd(tmp_path):
    """Return the same maker, for tests to which the database does not matter."""
    yield from crowds(tmp_path)

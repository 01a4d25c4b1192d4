"""A campaign's folder is read whole, or all its problems are told."""

import json
from dataclasses import replace

import pytest

from adjudge.errors import CampaignProblems, InputError
from adjudge.studio.campaign.campaign import (
    FILES,
    Workload,
    advice,
    load_campaign,
    summary,
    workload,
)
from adjudge.studio.demo import make_demo
from adjudge.studio.records import FixedSet, Gold, Topic
from adjudge.studio.settings import Assignment, Qualification, Redundancy, Settings


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a small campaign."""
    lines = [{"document": f"d{n}", "title": f"D{n}", "kind": "text", "content": "words"} for n in range(8)]
    files = {
        "campaign.toml": "[assignment]\ndocuments = 2\n[qualification]\nrequired = false\n",
        "topics.jsonl": '{"topic": "1", "query": "q"}\n',
        "documents.jsonl": "".join(json.dumps(line) + "\n" for line in lines),
        "pool.csv": "topic,document\n" + "".join(f"1,d{n}\n" for n in range(8)),
        "gold.csv": "topic,document,grade,reason\n1,d0,1,yes\n1,d1,0,no\n",
        "sets.csv": "set,use,topic,document\ng,gold,1,d0\ng,gold,1,d1\nm,monitoring,1,d2\nm,monitoring,1,d3\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def problems_of(folder):
    """Return the problems of a campaign that has some."""
    with pytest.raises(CampaignProblems) as refused:
        load_campaign(folder)
    return list(refused.value.problems)


def append(folder, name, text):
    """Add lines to a file."""
    (folder / name).write_text((folder / name).read_text() + text)


def test_a_campaign_is_loaded(folder):
    """Pairs of fixed sets are taken out of the pool without a word."""
    campaign = load_campaign(str(folder))
    assert campaign.folder == folder
    assert campaign.topics == {"1": Topic("1", "q", "", "")}
    assert campaign.pool == tuple(("1", f"d{n}") for n in range(4, 8))
    assert campaign.gold == {("1", "d0"): Gold(1, "yes"), ("1", "d1"): Gold(0, "no")}
    assert [one.name for one in campaign.sets] == ["g", "m"]
    assert campaign.documents.document("d7").title == "D7"
    assert campaign.settings.assignment.documents == 2
    assert campaign.warnings == ()


def test_warnings_are_no_problems(folder):
    """They come with the campaign."""
    append(folder, "gold.csv", "1,d6,2,\n")
    (warning,) = load_campaign(folder).warnings
    assert warning.startswith("gold.csv: 1 of 3 graded documents are in no set")


def test_every_problem_at_once(folder):
    """In all files, each with its line."""
    append(folder, "campaign.toml", "[gate]\nbinary = 85\n")
    append(folder, "topics.jsonl", '{"topic": "1", "query": "again"}\n')
    append(folder, "documents.jsonl", "{}\n")
    append(folder, "pool.csv", "2,d1\n1,x\n")
    append(folder, "gold.csv", "1,y,7,\n")
    append(folder, "sets.csv", "z,old,1,d1\n")
    assert problems_of(folder) == [
        "campaign.toml, line 6: gate.binary is 85, expected a number from 0 to 1 (for 85 %, write 0.85)",
        "topics.jsonl, line 2: topic '1' is in line 1 already",
        "documents.jsonl, line 9: there is no 'document': a line is {document, title, kind, content}",
        "gold.csv, line 4: document 'y' of topic '1' has the grade '7', expected 0, 1 or 2",
        "pool.csv, line 10: there is no topic '2' in topics.jsonl",
        "pool.csv, line 11: there is no document 'x' in documents.jsonl",
        "gold.csv, line 4: there is no document 'y' in documents.jsonl",
        "sets.csv, line 6: set 'z' has the use 'old', expected one of 'gold', 'qualification', 'monitoring'",
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_missing_file_is_one_problem(tmp_path, name):
    """And not a problem of every line that needs it."""
    make_demo(tmp_path / "demo")
    (tmp_path / "demo" / name).unlink()
    wanted = [f"{name}: there is no such file"]
    found = problems_of(tmp_path / "demo")
    if name == "gold.csv":  # then gold sets have no grades, which is said of the sets
        found = found[:1]
    assert found == wanted


def test_no_folder(tmp_path):
    """Says how to make one."""
    with pytest.raises(InputError) as refused:
        load_campaign(tmp_path / "none")
    assert str(refused.value) == (
        f"{tmp_path / 'none'}: there is no such folder: make a campaign with `adjudge campaign new`"
    )


def test_nothing_to_judge(folder):
    """A pool that is used up by fixed sets is a mistake."""
    (folder / "pool.csv").write_text("topic,document\n1,d0\n")
    assert problems_of(folder) == [
        "pool.csv: there is nothing to judge: every pair is in a set of sets.csv, or there is none"
    ]


def test_the_message_lists_all(folder):
    """One problem a line, below the folder."""
    append(folder, "pool.csv", "".join(f"1,x{n}\n" for n in range(60)))
    with pytest.raises(CampaignProblems) as refused:
        load_campaign(folder)
    lines = str(refused.value).splitlines()
    assert lines[0] == f"{folder}: there are 60 problems"
    assert lines[1] == "  pool.csv, line 10: there is no document 'x0' in documents.jsonl"
    assert lines[-1] == "  and 10 more"


POOL = [(f"t{n // 50}", f"d{n}") for n in range(500)]


def gold_sets(count):
    """Return so many gold sets."""
    return [FixedSet(f"g{n}", "gold", "t0", tuple(f"g{n}-{i}" for i in range(5))) for n in range(count)]


def test_workload():
    """500 pairs are 100 sets, 1,500 judgments, and 300 sets in assignments of 5 that are not gold."""
    assert workload(POOL, Settings()) == Workload(100, 1500, 60)
    assert workload(POOL[:51], Settings()) == Workload(11, 153, 7)


def test_nothing_to_say():
    """Enough gold, full sets, all gold in use."""
    sets = gold_sets(10)
    gold = {("t0", "g0-0"): Gold(1, "")}
    assert advice(POOL, gold, sets, Settings()) == ()
    assert advice(POOL[:50], gold, sets[:2], Settings()) == ()  # two assignments are all that one judge can take
    assert advice([], {}, [], Settings(assignment=Assignment(gold_sets=0))) == ()


def test_few_gold_sets():
    """A judge gets a gold set once, so gold limits how much they can judge."""
    assert advice(POOL, {}, gold_sets(3), Settings()) == (
        "sets.csv: with 3 gold sets a judge can take 3 of the 60 assignments, so at least 20 judges are needed: grade "
        "more documents for fewer judges",
    )


def test_uneven_topics():
    """The last set of a topic would not be full."""
    pool = [("a", "1"), *(("b", str(n)) for n in range(5))]
    no_gold = Settings(assignment=Assignment(gold_sets=0))
    assert advice(pool, {}, [], no_gold) == (
        "pool.csv: a topic has a number of documents to judge that is not a multiple of 5, the size of a set "
        "('a' has 1): the last set is not full",
    )
    many = [(f"t{n}", "1") for n in range(1200)]
    assert advice(many, {}, [], no_gold)[0].startswith("pool.csv: 1,200 topics have a number of documents")
    assert "('t0' has 1, 't1' has 1, 't2' has 1, ...)" in advice(many, {}, [], no_gold)[0]


def test_idle_gold():
    """Grades that no set uses."""
    gold = {("t0", "g0-0"): Gold(1, ""), ("t0", "x"): Gold(0, "")}
    assert advice(POOL, gold, gold_sets(10), Settings()) == (
        "gold.csv: 1 of 2 graded documents are in no set of sets.csv and are judged like ordinary documents, if at all "
        "(the first is 'x' of topic 't0')",
    )


def test_figures(tmp_path):
    """What there is, and how much work it is."""
    demo = make_demo(tmp_path / "demo")
    assert summary(demo) == [
        ("topics", "8"),
        ("documents", "96"),
        ("pairs to judge", "90, in 18 sets of 5"),
        ("judgments needed", "270 (3 of each)"),
        ("assignments needed", "11 (6 sets each, 1 of them gold)"),
        ("graded documents", "44 (20 of grade 0, 12 of grade 1, 12 of grade 2)"),
        ("gold sets", "8"),
        ("qualification sets", "4"),
        ("monitoring sets", "2"),
    ]
    settings = Settings(redundancy=Redundancy(adaptive=True), qualification=Qualification(required=False))
    other = dict(summary(replace(demo, settings=settings, gold={})))
    assert other["judgments needed"] == "270 (up to 3 of each; adaptive, so mostly fewer)"
    assert other["qualification sets"] == "4, not required"
    assert other["graded documents"] == "0"

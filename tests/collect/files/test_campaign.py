"""A campaign's folder is read whole, or all its problems are told."""

import json

import pytest

from adjudge.collect.files.campaign import FILES, CampaignProblems, Gold, Topic, load_campaign
from adjudge.collect.files.demo import make_demo
from adjudge.errors import InputError


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

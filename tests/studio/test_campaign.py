"""A campaign's folder is read whole, or all its problems are told; a new campaign is there whole, or not at all."""

import fcntl
import json
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.errors import CampaignProblems, InputError, UsageError
from adjudge.studio.campaign import (
    FILES,
    INSTRUCTIONS,
    Sources,
    Workload,
    advice,
    load_campaign,
    new_campaign,
    summary,
    workload,
)
from adjudge.studio.campaign_files import name_problem, topics_text
from adjudge.studio.demo import make_demo
from adjudge.studio.documents import document_line
from adjudge.studio.records import Document, FixedSet, Gold, Topic
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
    assert [entry.name for entry in campaign.sets] == ["g", "m"]
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
    rows = [f"{name}: there is no such file"]
    result = problems_of(tmp_path / "demo")
    if name == "gold.csv":  # then gold sets have no grades, which is said of the sets
        result = result[:1]
    assert result == rows


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


@pytest.fixture
def sources(tmp_path):
    """Return topics, a folder of documents, and gold for a small campaign."""
    (tmp_path / "topics.csv").write_text("topic,query\n1,one\n2,two\n")
    (tmp_path / "docs").mkdir()
    for n in range(20):
        (tmp_path / "docs" / f"d{n:02}.txt").write_text(f"document {n}")
    grades = "".join(f"{t},d{n:02},{n % 3},because {n}\n" for t in (1, 2) for n in range(9))
    (tmp_path / "gold.csv").write_text("topic,document,grade,reason\n" + grades)
    return Sources(tmp_path / "topics.csv", tmp_path / "docs", gold=tmp_path / "gold.csv")


def changed(sources, **parts):
    """Return other sources."""
    from dataclasses import replace

    return replace(sources, **parts)


def everything(folder):
    """Return all files below a folder with their content."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_campaign_is_made(sources, tmp_path):
    """All files, sets from gold, called as its folder, and loaded as it will be."""
    campaign, notes = (created := new_campaign(tmp_path / "trial", sources)).campaign, created.notes
    assert sorted(path.name for path in (tmp_path / "trial").iterdir()) == sorted(FILES)
    assert campaign.settings.campaign.name == "trial"
    assert campaign.settings.campaign.instructions.startswith("You see what somebody wants to know")
    assert (len(campaign.topics), len(campaign.documents), len(campaign.gold)) == (2, 20, 18)
    assert campaign.gold["2", "d08"] == Gold(2, "because 8")
    uses = [entry.use for entry in campaign.sets]
    assert uses.count("qualification") == 4
    assert uses.count("gold") >= 2
    fixed = {(entry.topic, name) for entry in campaign.sets for name in entry.documents}
    assert set(campaign.pool) == {(t, f"d{n:02}") for t in "12" for n in range(20)} - fixed
    assert all(isinstance(note, str) for note in notes)


def test_the_seed_decides(sources, tmp_path):
    """The same sources and seed give the same files."""
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        new_campaign(tmp_path / name, sources, name="x", seed=seed)
    a, b, c = (everything(tmp_path / name) for name in "abc")
    assert a == b
    assert a["sets.csv"] != c["sets.csv"]


def test_without_gold(sources, tmp_path):
    """The campaign asks for none, and says so."""
    created = new_campaign(tmp_path / "trial", changed(sources, gold=None), name="Plain")
    assert created.campaign.settings.assignment.gold_sets == 0
    assert not created.campaign.settings.qualification.required
    assert created.campaign.settings.campaign.name == "Plain"
    assert created.notes == (
        "there are no gold sets: assignment.gold_sets is set to 0, so that only the time of the work is checked",
        "there are too few qualification sets: qualification.required is set to false",
    )


def test_pools_and_runs(sources, tmp_path):
    """A pool is taken as it is; runs are pooled, and what they have of unknown documents is left out with a note."""
    (tmp_path / "p.csv").write_text("topic,document\n1,d10\n2,d11\n")
    created = new_campaign(tmp_path / "a", changed(sources, gold=None, pool=tmp_path / "p.csv"))
    assert created.campaign.pool == (("1", "d10"), ("2", "d11"))
    (tmp_path / "x.run").write_text("1 Q0 d12 1 3 x\n1 Q0 d99 2 2 x\n1 Q0 d13 3 1 x\n")
    created = new_campaign(tmp_path / "b", changed(sources, gold=None, runs=[tmp_path / "x.run"], depth=2))
    assert created.campaign.pool == (("1", "d12"),)
    assert created.notes[0] == (
        "1 of 2 pooled pairs have unknown topics or documents and are left out (the first is document 'd99' of topic "
        "'1')"
    )
    (tmp_path / "y.run").write_text("".join(f"{t} Q0 d{n} {n} {-n} y\n" for t in (1, 2) for n in range(9, 20)))
    created = new_campaign(tmp_path / "c", changed(sources, runs=[tmp_path / "y.run"]))
    assert "18 graded documents are in no run; they are still used as gold" in created.notes


def test_what_cannot_be_loaded_is_not_written(sources, tmp_path):
    """Where so little is pooled that the sets leave nothing to judge."""
    (tmp_path / "x.run").write_text("1 Q0 d12 1 3 x\n")
    (tmp_path / "gold.csv").write_text("topic,document,grade\n1,d12,1\n1,d13,0\n1,d14,2\n1,d15,0\n1,d16,1\n")
    with pytest.raises(CampaignProblems) as refused:
        new_campaign(tmp_path / "trial", changed(sources, runs=[tmp_path / "x.run"]))
    assert str(refused.value) == (
        "nothing was written: there is a problem\n  pool.csv: there is nothing to judge: every pair is in a set of "
        "sets.csv, or there is none"
    )
    assert not (tmp_path / "trial").exists()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"pool": Path("p"), "runs": [Path("r")]}, "give a pool or runs, not both: a pool is made of the runs"),
        ({"depth": 0}, "a depth of 0 pools nothing: give 1 or more"),
    ],
)
def test_calls_that_cannot_be_meant(sources, tmp_path, parts, message):
    """Are refused before any work."""
    with pytest.raises(UsageError) as refused:
        new_campaign(tmp_path / "trial", changed(sources, **parts))
    assert str(refused.value) == message


def test_every_problem_of_the_sources_and_nothing_written(sources, tmp_path):
    """With file and line; no folder is left behind."""
    (tmp_path / "topics.csv").write_text("topic,query\n1,one\n1,two\n")
    (tmp_path / "docs" / "empty.txt").write_text(" \n")
    (tmp_path / "docs" / "large.txt").write_bytes(b"x" * 2_000_001)
    (tmp_path / "docs" / "long.jsonl").write_text(
        '{"id": "d01", "text": "x"}\n{"id": "y", "text": "' + "x" * 2_000_001 + '"}'
    )
    (tmp_path / "gold.csv").write_text("topic,document,grade\n1,d00,5\n9,d01,1\n")
    (tmp_path / "p.csv").write_text("topic,document\n1,nope\n")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(CampaignProblems) as refused:
        new_campaign(tmp_path / "trial", changed(sources, pool=tmp_path / "p.csv"))
    assert str(refused.value).startswith("nothing was written: there are 8 problems\n")
    assert [problem.replace(f"{tmp_path}/", "") for problem in refused.value.problems] == [
        "topics.csv, line 3: topic '1' is in line 2 already",
        "docs/empty.txt: document 'empty' is empty",
        "docs/large.txt: has more than 2,000,000 bytes",
        "docs/long.jsonl, line 1: document 'd01' is there twice: rename one",
        "docs/long.jsonl, line 2: document 'y' has 2,000,001 bytes, expected at most 2,000,000",
        "gold.csv, line 2: document 'd00' of topic '1' has the grade '5', expected 0, 1 or 2",
        "gold.csv, line 3: there is no topic '9' among the topics",
        "p.csv, line 2: there is no document 'nope' among the documents",
    ]
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_without_documents(sources, tmp_path):
    """Is a problem of its own."""
    (tmp_path / "none").mkdir()
    with pytest.raises(CampaignProblems) as refused:
        new_campaign(tmp_path / "trial", changed(sources, documents=tmp_path / "none", gold=None))
    assert refused.value.problems == (f"{tmp_path / 'none'}: there are no documents in it",)


def test_nothing_is_overwritten_by_accident(sources, tmp_path):
    """Only with force; what the studio wrote stays as it is, and that is said."""
    new_campaign(tmp_path / "trial", sources, seed=1)
    (tmp_path / "trial" / "studio.db").write_text("judgments")
    (tmp_path / "trial" / "key").write_text("secret")
    before = everything(tmp_path / "trial")
    with pytest.raises(InputError) as refused:
        new_campaign(tmp_path / "trial", sources, seed=2)
    assert str(refused.value) == (
        f"{tmp_path / 'trial'}: contains 'campaign.toml', 'topics.jsonl', 'documents.jsonl', 'pool.csv', 'gold.csv', "
        "'sets.csv': choose another folder, or overwrite with force=True"
    )
    assert everything(tmp_path / "trial") == before
    created = new_campaign(tmp_path / "trial", sources, seed=2, force=True)
    after = everything(tmp_path / "trial")
    assert created.notes[0] == (
        f"{tmp_path / 'trial'} contains judgments; they stay, and are matched with topics and documents by name"
    )
    assert {name for name in before if before[name] != after[name]} == {"sets.csv"}
    assert after.keys() == before.keys()


def test_force_leaves_all_as_it_is_where_sources_are_wrong(sources, tmp_path):
    """There is never half a campaign."""
    new_campaign(tmp_path / "trial", sources)
    before = everything(tmp_path / "trial")
    (tmp_path / "topics.csv").write_text("topic,query\n")
    with pytest.raises(CampaignProblems):
        new_campaign(tmp_path / "trial", sources, force=True)
    assert everything(tmp_path / "trial") == before


def test_places_that_cannot_be_written(sources, tmp_path):
    """A file where the folder should be, or above it."""
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError) as refused:
        new_campaign(tmp_path / "file", sources)
    assert str(refused.value) == f"{tmp_path / 'file'}: is a file: a campaign needs a folder"
    with pytest.raises(InputError) as refused:
        new_campaign(tmp_path / "file" / "trial", sources)
    assert str(refused.value) == f"{tmp_path / 'file' / 'trial'}: cannot be written: Not a directory"


WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
FILLED = WORDS.filter(lambda text: text.strip())
NAMES = st.text(min_size=1, max_size=20).filter(lambda name: name_problem(name, "x") is None)


@settings(max_examples=60)
@given(
    st.dictionaries(NAMES, st.tuples(FILLED, WORDS, WORDS), min_size=1, max_size=4),
    st.dictionaries(NAMES, st.tuples(WORDS, st.sampled_from(["text", "html"]), FILLED), min_size=1, max_size=6),
)
def test_what_is_written_is_loaded_unchanged(topics, documents):
    """Odd characters, line breaks, quotation marks and all languages come back as they went in."""
    expected = {name: Topic(name, *parts) for name, parts in topics.items()}
    given_documents = [Document(name, *parts) for name, parts in documents.items()]
    with tempfile.TemporaryDirectory() as position:
        folder = Path(position)
        (folder / "t.jsonl").write_text(topics_text(expected.values()), encoding="utf8", newline="")
        lines = "".join(map(document_line, given_documents))
        (folder / "d.jsonl").write_text(lines, encoding="utf8", newline="")
        new_campaign(folder / "trial", Sources(folder / "t.jsonl", folder / "d.jsonl"))
        campaign = load_campaign(folder / "trial")
        assert campaign.topics == expected
        assert [campaign.documents.document(name) for name in campaign.documents] == given_documents
        assert campaign.pool == tuple((topic, document) for topic in topics for document in documents)


def test_a_campaign_that_is_served_is_not_overwritten(tmp_path):
    """Whoever holds the lock beside the database is working with the files; a lock that nobody holds is no matter."""
    make_demo(tmp_path / "trial")
    with open(tmp_path / "trial" / "studio.db.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(InputError, match="is being served: stop the studio"):
            make_demo(tmp_path / "trial", force=True)
    make_demo(tmp_path / "trial", force=True)


def test_they_are_plain_paragraphs():
    """Without markup, each on one line, with a word on relevance, ranks and gold."""
    paragraphs = INSTRUCTIONS.split("\n\n")
    assert len(paragraphs) == 4
    assert not any("\n" in paragraph or "*" in paragraph or "<" in paragraph for paragraph in paragraphs)
    assert all(word in INSTRUCTIONS for word in ("relevant", "rank", "known answers", "contest"))


def many_graded(sources, tmp_path, documents):
    """Return sources with so many graded documents of each of two topics."""
    for n in range(20, documents + 20):
        (tmp_path / "docs" / f"d{n:02}.txt").write_text(f"document {n}")
    rows = [f"{t},d{n:02},{n % 3},because {n}\n" for t in (1, 2) for n in range(documents)]
    (tmp_path / "gold.csv").write_text("topic,document,grade,reason\n" + "".join(rows))
    return sources


def test_enough_gold_is_drawn(sources, tmp_path):
    """A new campaign with two sets' worth of gold per topic draws it; what is drawn is not judged as work."""
    created = new_campaign(tmp_path / "trial", many_graded(sources, tmp_path, 14))
    campaign = created.campaign
    assert campaign.settings.assignment.draw_gold
    assert {entry.use for entry in campaign.sets} == {"qualification"}
    assert len(campaign.drawn) >= 20
    assert not set(campaign.pool) & set(campaign.drawn)
    assert "gold sets are drawn separately for each judge (assignment.draw_gold is true)" in created.notes
    assert dict(summary(campaign))["gold sets"].startswith("drawn for each judge from ")


def test_settings_decide_whether_gold_is_drawn(sources, tmp_path):
    """Fixed sets if they say so, and if there is too little gold to draw."""
    many = many_graded(sources, tmp_path, 14)
    fixed = Settings(assignment=Assignment(draw_gold=False))
    assert not new_campaign(tmp_path / "fixed", many, settings=fixed).campaign.drawn
    (tmp_path / "gold.csv").write_text("topic,document,grade\n1,d00,1\n2,d00,0\n")
    wanted = Settings(assignment=Assignment(draw_gold=True))
    created = new_campaign(tmp_path / "few", sources, settings=wanted)
    assert not created.campaign.settings.assignment.draw_gold
    assert "there are too few graded documents to draw gold sets: assignment.draw_gold is set to false" in created.notes


def test_too_little_gold_to_draw_is_a_problem(folder):
    """With the file and what to do."""
    toml = (folder / "campaign.toml").read_text()
    (folder / "campaign.toml").write_text(toml.replace("[assignment]", "[assignment]\ndraw_gold = true"))
    (folder / "gold.csv").write_text("topic,document,grade,reason\n")
    (folder / "sets.csv").write_text("set,use,topic,document\n")
    assert problems_of(folder) == [
        "gold.csv: assignment.draw_gold is true, but gold sets of 2 that somebody can pass cannot be drawn from 0 "
        "graded documents: grade more documents of a topic"
    ]


def test_gold_that_recurs_too_often_is_warned_about():
    """Judges who compare what they saw could tell it."""
    pool = [("t", f"d{n}") for n in range(50)]
    drawn = [("t", f"g{n}") for n in range(5)]
    settings = Settings(assignment=Assignment(draw_gold=True))
    sentences = advice(pool, {}, (), settings, drawn)
    assert sentences[1] == (
        "gold.csv: a graded document is shown to about 6 judges, any other to 3, so that judges who compare what they "
        "saw can tell which are gold: grade 5 more documents"
    )
    assert not any(
        "judges who compare" in sentence
        for sentence in advice(pool, {}, (), settings, drawn + [("t", f"h{n}") for n in range(5)])
    )

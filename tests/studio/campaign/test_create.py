"""A new campaign is there whole, or not at all."""

import fcntl
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudge.errors import CampaignProblems, InputError, UsageError
from adjudge.studio.campaign.campaign import FILES, load_campaign
from adjudge.studio.campaign.create import INSTRUCTIONS, Sources, new_campaign
from adjudge.studio.campaign.documents import document_line
from adjudge.studio.campaign.topics import name_problem, topics_text
from adjudge.studio.demo import make_demo
from adjudge.studio.records import Document, Gold, Topic


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
    campaign, notes = (made := new_campaign(tmp_path / "trial", sources)).campaign, made.notes
    assert sorted(path.name for path in (tmp_path / "trial").iterdir()) == sorted(FILES)
    assert campaign.settings.campaign.name == "trial"
    assert campaign.settings.campaign.instructions.startswith("You see what somebody wants to know")
    assert (len(campaign.topics), len(campaign.documents), len(campaign.gold)) == (2, 20, 18)
    assert campaign.gold["2", "d08"] == Gold(2, "because 8")
    uses = [one.use for one in campaign.sets]
    assert uses.count("qualification") == 4
    assert uses.count("gold") >= 2
    fixed = {(one.topic, name) for one in campaign.sets for name in one.documents}
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
    made = new_campaign(tmp_path / "trial", changed(sources, gold=None), name="Plain")
    assert made.campaign.settings.assignment.gold_sets == 0
    assert not made.campaign.settings.qualification.required
    assert made.campaign.settings.campaign.name == "Plain"
    assert made.notes == (
        "there are no gold sets: assignment.gold_sets is set to 0, so that only the time of the work is checked",
        "there are too few qualification sets: qualification.required is set to false",
    )


def test_pools_and_runs(sources, tmp_path):
    """A pool is taken as it is; runs are pooled, and what they have of unknown documents is left out with a note."""
    (tmp_path / "p.csv").write_text("topic,document\n1,d10\n2,d11\n")
    made = new_campaign(tmp_path / "a", changed(sources, gold=None, pool=tmp_path / "p.csv"))
    assert made.campaign.pool == (("1", "d10"), ("2", "d11"))
    (tmp_path / "x.run").write_text("1 Q0 d12 1 3 x\n1 Q0 d99 2 2 x\n1 Q0 d13 3 1 x\n")
    made = new_campaign(tmp_path / "b", changed(sources, gold=None, runs=[tmp_path / "x.run"], depth=2))
    assert made.campaign.pool == (("1", "d12"),)
    assert made.notes[0] == (
        "1 of 2 pooled pairs have unknown topics or documents and are left out (the first is document 'd99' of topic "
        "'1')"
    )
    (tmp_path / "y.run").write_text("".join(f"{t} Q0 d{n} {n} {-n} y\n" for t in (1, 2) for n in range(9, 20)))
    made = new_campaign(tmp_path / "c", changed(sources, runs=[tmp_path / "y.run"]))
    assert "18 graded documents are in no run; they are still used as gold" in made.notes


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
        "'sets.csv': choose another folder, or overwrite with --force"
    )
    assert everything(tmp_path / "trial") == before
    made = new_campaign(tmp_path / "trial", sources, seed=2, force=True)
    after = everything(tmp_path / "trial")
    assert made.notes[0] == (
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
    wanted = {name: Topic(name, *parts) for name, parts in topics.items()}
    given_documents = [Document(name, *parts) for name, parts in documents.items()]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "t.jsonl").write_text(topics_text(wanted.values()), encoding="utf8", newline="")
        lines = "".join(map(document_line, given_documents))
        (folder / "d.jsonl").write_text(lines, encoding="utf8", newline="")
        new_campaign(folder / "trial", Sources(folder / "t.jsonl", folder / "d.jsonl"))
        campaign = load_campaign(folder / "trial")
        assert campaign.topics == wanted
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

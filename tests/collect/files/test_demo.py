"""The campaign that ships."""

import re
from collections import Counter

import pytest

from adjudge.collect.files.campaign import FILES
from adjudge.collect.files.demo import demo_truth, make_demo
from adjudge.collect.files.settings_file import settings_text
from adjudge.collect.gate.designer import design
from adjudge.collect.settings import Settings
from adjudge.errors import InputError


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the demo, copied to a folder."""
    return make_demo(tmp_path_factory.mktemp("demos") / "demo")


def test_it_is_a_campaign_without_warnings(demo):
    """With the paper's numbers, and nothing in its folder but a campaign's files."""
    assert demo.warnings == ()
    assert sorted(path.name for path in demo.folder.iterdir()) == sorted(FILES)
    assert (demo.settings.assignment, demo.settings.gate) == (Settings().assignment, Settings().gate)
    assert (demo.settings.qualification, demo.settings.redundancy) == (Settings().qualification, Settings().redundancy)


def test_its_settings_are_written_as_new_ones_are(demo):
    """With the comments of today; where this fails, write what ``settings_text`` gives."""
    assert (demo.folder / "campaign.toml").read_text(encoding="utf8") == settings_text(demo.settings)


def test_there_is_enough_of_it(demo):
    """Topics, documents, and sets of every use; ordinary pairs fill sets."""
    assert len(demo.topics) >= 6
    assert all(topic.description and topic.narrative for topic in demo.topics.values())
    uses = Counter(one.use for one in demo.sets)
    assert (uses["qualification"], uses["monitoring"]) == (4, 2)
    assert {one.topic for one in demo.sets if one.use == "gold"} == set(demo.topics)
    assert all(count >= 10 and count % 5 == 0 for count in Counter(topic for topic, _ in demo.pool).values())


def test_documents_are_short_texts(demo):
    """Of 60 to 150 words, some of them pages with lists and tables."""
    kinds = Counter()
    for name in demo.documents:
        document = demo.documents.document(name)
        assert 60 <= len(re.sub("<[^>]+>", " ", document.content).split()) <= 150, name
        kinds[document.kind] += 1
        kinds.update(tag for tag in ("<table>", "<li>") if tag in document.content)
    assert kinds["text"] > kinds["html"] >= 8
    assert kinds["<table>"] >= 3
    assert kinds["<li>"] >= 3


def test_gold_is_explained_and_can_be_passed(demo):
    """Every grade has a reason, and of no gold set the designer warns."""
    assert all(gold.reason for gold in demo.gold.values())
    for one in demo.sets:
        if one.use == "gold":
            found = design([demo.gold[one.topic, name].grade for name in one.documents], demo.settings.gate)
            assert (found.feasible, found.warnings) == (True, ())
        if one.use == "qualification":
            assert sum((one.topic, name) in demo.gold for name in one.documents) == 1


def test_the_truth_is_known_of_every_pair(demo):
    """For simulated judges; gold says the same."""
    truth = demo_truth()
    fixed = {(one.topic, name) for one in demo.sets for name in one.documents}
    assert set(truth) == set(demo.pool) | fixed
    assert all(truth[pair] == gold.grade for pair, gold in demo.gold.items())


def test_it_overwrites_nothing(demo):
    """Unless it is told to."""
    with pytest.raises(InputError):
        make_demo(demo.folder)
    assert make_demo(demo.folder, force=True).pool == demo.pool

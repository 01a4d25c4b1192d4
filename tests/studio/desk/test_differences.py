"""Differences between two states of a campaign, in words and in lines."""

from dataclasses import replace

import pytest

from adjudge.errors import UsageError
from adjudge.studio.campaign import load_campaign
from adjudge.studio.desk import differences as d
from adjudge.studio.record.revisions import list_changes
from adjudge.studio.records import Gold, Topic
from tests.studio.conftest import write_campaign


@pytest.fixture
def campaign(tmp_path):
    """Return the small campaign."""
    return load_campaign(write_campaign(tmp_path / "trees"))


def with_settings(campaign, table, **values):
    """Return a campaign with other settings in one table."""
    part = getattr(campaign.settings, table).model_copy(update=values)
    return replace(campaign, settings=campaign.settings.model_copy(update={table: part}))


def test_changed_settings_are_said_with_both_values(campaign):
    """And what they mean for work that is under way."""
    new = with_settings(with_settings(campaign, "gate", binary=0.5), "campaign", instructions="Read.")
    assert d.describe_changes(campaign, new) == [
        "campaign.instructions: 0 -> 5 characters",
        "gate.binary: 0.85 -> 0.5",
    ]
    sentences = d.meanings(campaign, new)
    assert d.MEANINGS["gate"] in sentences
    assert any(sentence.startswith("On the worst gold set, the gate accepts") for sentence in sentences)


def test_every_table_that_may_change_has_a_meaning(campaign):
    """The database and the receivers of events are the only ones that may not."""
    assert d.MEANINGS.keys() | {"store", "webhooks"} == type(campaign.settings).model_fields.keys()


def test_topics_and_gold_are_said_one_by_one(campaign):
    """Added, changed, removed; the reasons of gold too."""
    topics = {
        **campaign.topics,
        "oak": campaign.topics["oak"]._replace(query="an oak"),
        "fir": Topic("fir", "f", "", ""),
    }
    first, second, third, *_ = campaign.gold
    gold = {**campaign.gold, first: Gold(2, "because"), second: Gold(1, "why"), ("oak", "oak-0"): Gold(1, "")}
    del gold[third]
    assert d.describe_changes(campaign, replace(campaign, topics=topics, gold=gold)) == [
        "topic 'fir' added",
        "topic 'oak': query changed",
        "gold of document 'oak-gold-0' of topic 'oak': 0 -> 2",
        "gold of document 'oak-gold-1' of topic 'oak': reason changed",
        "gold of document 'oak-gold-2' of topic 'oak': 0 removed",
        "gold of document 'oak-0' of topic 'oak': 1 (new)",
    ]


def test_pairs_and_sets_are_said_and_long_lists_cut(campaign):
    """At most twenty sentences per file."""
    new = replace(campaign, pool=(), sets=campaign.sets[1:])
    sentences = d.describe_changes(campaign, new)
    assert sentences[0] == "document 'oak-0' of topic 'oak' is no longer to be judged"
    assert sentences[-1] == "set 'oak-0' removed"
    pool = tuple(("oak", f"new-{n}") for n in range(30))
    assert d.describe_changes(replace(campaign, pool=()), replace(campaign, pool=pool))[-1] == "and 10 more"


def test_the_same_campaign_has_no_differences(campaign):
    """Neither in words nor in meanings."""
    assert d.describe_changes(campaign, campaign) == d.meanings(campaign, campaign) == []


def test_settings_are_compared_in_their_context():
    """With the lines around a change, and without the password of a database."""
    before = "".join(f"line {n}\n" for n in range(9)) + 'database = "postgresql+psycopg://me:secret@h/d"\n'
    lines = d.line_differences("campaign.toml", before, before.replace("line 8", "other"))
    assert [f"{line.sign}{line.text}" for line in lines] == [
        " ...",
        " line 6",
        " line 7",
        "-line 8",
        "+other",
        ' database = "postgresql+psycopg://...@h/d"',
    ]


def test_a_revision_is_compared_with_the_one_before(fresh_desk):
    """The first with nothing; documents are known by their hash alone."""
    with fresh_desk.store.reading() as connection:
        numbers = {row.file: row.id for row in list_changes(connection)[0].revisions}
        lines = d.revision_differences(connection, numbers["pool.csv"])
        assert d.Line("+", "oak,oak-0") in lines
        (line,) = d.revision_differences(connection, numbers["documents.jsonl"])
        assert line.text.startswith("of documents.jsonl only the SHA-256 is kept: ")
        with pytest.raises(UsageError, match="there is no revision 99"):
            d.revision_differences(connection, 99)


def test_entries_are_compared_wherever_they_are():
    """In the other files the order of lines says nothing; long differences are cut."""
    lines = d.line_differences("gold.csv", "a\nb\nc\n", "c\nb2\na\n")
    assert [f"{line.sign}{line.text}" for line in lines] == ["-b", "+b2"]
    many = d.line_differences("pool.csv", "", "".join(f"{n}\n" for n in range(500)))
    assert (len(many), many[-1].text) == (d.MOST_LINES + 1, "... and 100 more lines")

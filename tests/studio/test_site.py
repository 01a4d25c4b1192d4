"""Several campaigns in one process: which are found, which can be opened, and what people see of each."""

import shutil

import pytest

from adjudge.errors import InputError, UsageError
from adjudge.studio.access import load_key
from adjudge.studio.desk import decisions
from adjudge.studio.site import find_campaigns, open_site, overview, roles
from adjudge.studio.web.app import open_campaign
from tests.studio.conftest import write_campaign


@pytest.fixture
def folders(tmp_path):
    """Return the folders of two campaigns in one folder."""
    return [write_campaign(tmp_path / "all" / name) for name in ("elm", "oak")]


@pytest.fixture
def opened(monkeypatch):
    """Return a function that opens a site, closed at the end."""
    monkeypatch.delenv("ADJUDGE_DATABASE", raising=False)
    collected = []

    def make(folders):
        collected.append(open_site(folders, open_campaign))
        return collected[-1]

    yield make
    for site in collected:
        site.close()


def test_campaigns_are_found(folders, tmp_path):
    """By their folders, or in one folder that has them; a folder of one campaign is that campaign."""
    (tmp_path / "all" / "notes").mkdir()
    assert find_campaigns([str(tmp_path / "all")]) == folders
    assert find_campaigns([str(folder) for folder in folders]) == folders
    assert find_campaigns([str(folders[0])]) == folders[:1]
    assert find_campaigns([str(tmp_path / "nothing")]) == [tmp_path / "nothing"]
    with pytest.raises(UsageError, match="is named twice"):
        find_campaigns([str(folders[0]), f"{folders[0]}/"])


def test_a_damaged_campaign_keeps_no_other_from_being_served(opened, folders):
    """What is wrong with it is noted; if none can be opened, that is an error."""
    (folders[0] / "topics.jsonl").unlink()
    site = opened(folders)
    assert list(site.studios) == ["oak"]
    assert "topics.jsonl: there is no such file" in site.problems["elm"]
    with pytest.raises(InputError, match=r"topics\.jsonl: there is no such file"):
        open_site(folders[:1], open_campaign)


def test_a_fault_in_one_campaign_is_logged(opened, folders, caplog):
    """Whatever goes wrong in one of them, the others are served."""

    def open_or_fail(folder):
        if folder.endswith("elm"):
            raise KeyError("fault")
        return open_campaign(folder)

    site = open_site(folders, open_or_fail)
    site.close()
    assert site.problems == {"elm": "KeyError: the log of the studio says more"}
    assert "elm cannot be opened" in caplog.text


def test_a_copy_with_the_same_key_is_not_served(opened, folders):
    """Its sessions and links would be valid in the other campaign."""
    load_key(folders[0])
    shutil.copytree(folders[0], folders[0].parent / "copy")
    site = opened([*folders, folders[0].parent / "copy"])
    assert "its key is that of 'elm': delete the file 'key'" in site.problems["copy"]


def test_names_are_parts_of_addresses(opened, folders, tmp_path):
    """A name with other characters, or one that is used already, is refused."""
    other = write_campaign(tmp_path / "other" / "Elm")
    odd = write_campaign(tmp_path / "other" / "my trial")
    site = opened([*folders, other, odd])
    assert "another campaign has a folder with this name" in site.problems["Elm"]
    assert "becomes a part of an address" in site.problems["my trial"]


def test_one_database_for_all_is_refused(folders, monkeypatch):
    """The environment variable names one database, and every campaign has its own."""
    monkeypatch.setenv("ADJUDGE_DATABASE", "sqlite:///all.db")
    with pytest.raises(UsageError, match="ADJUDGE_DATABASE is one database"):
        open_site(folders, open_campaign)


def test_consensus_jobs_take_turns(opened, folders):
    """All campaigns of a site wait for the same turn."""
    first, second = opened(folders).studios.values()
    assert first.turn is second.turn


def test_a_person_sees_a_campaign_by_their_role(desk):
    """A lead sees what needs attention; a judge sees no people and no progress of others' work."""
    from adjudge.studio.studio import open_studio

    desk.do(decisions.change_standing, desk.lead, desk.bob, "paused", "wait")
    desk.store.close()
    studio = open_studio(desk.folder)
    try:
        people = studio.ledger.people
        seen = overview("trees", studio, people[desk.lead])
        assert (seen.title, seen.role, seen.state, seen.people, seen.working) == ("Trees", "lead", "open", 4, 1)
        assert seen.attention == ("A judge is paused.",)
        assert overview("trees", studio, people[desk.cid]).work
        assert not overview("trees", studio, people[desk.bob]).work
        assert overview("trees", studio, people[desk.cid]).attention == ()
        found = roles([("trees", studio), ("again", studio)])
        assert found["lea"] == {"trees": "lead", "again": "lead"}
        assert list(found) == ["lea", "ann", "bob", "cid"]
        assert list(roles([("trees", studio)], "A")) == ["lea", "ann"]
    finally:
        studio.store.close()

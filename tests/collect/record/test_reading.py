"""A campaign looked at from outside."""

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import OperationalError

from adjudge.collect.desk.judges import judges
from adjudge.collect.record import schema
from adjudge.collect.record.reading import reading_campaign
from adjudge.errors import InputError


def test_it_is_read_while_it_is_served_and_cannot_be_changed(desk):
    """The store is open for writing meanwhile."""
    with reading_campaign(desk.folder) as (campaign, connection):
        assert campaign.settings.campaign.name == "Trees"
        assert [one.name for one in judges(connection)] == ["ann", "bob", "cid"]
        with pytest.raises(OperationalError, match="readonly"):
            connection.execute(insert(schema.versions).values(version=99, at=0.0))


def test_nothing_is_made_where_nothing_is(desk_folder, monkeypatch):
    """A campaign that nobody has worked on has no database, and gets none by looking."""
    monkeypatch.delenv("ADJUDGE_DATABASE", raising=False)
    with pytest.raises(InputError, match="nobody has worked on this campaign yet"), reading_campaign(desk_folder):
        pass
    assert not (desk_folder / "studio.db").exists()

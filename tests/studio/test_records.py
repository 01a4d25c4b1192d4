"""Records of a campaign's files."""

from adjudge.studio import records
from adjudge.studio.campaign import campaign


def test_the_campaign_hands_on_its_records():
    """Who works with a campaign finds all of them beside it."""
    for name in ("Document", "FixedSet", "Gold", "Pair", "Topic"):
        assert getattr(campaign, name) is getattr(records, name)

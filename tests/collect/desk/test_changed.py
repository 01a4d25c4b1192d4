"""How files and database have come apart."""

from dataclasses import replace

from sqlalchemy import create_engine

from adjudge.collect.desk.changed import changed
from adjudge.collect.record import schema


def test_what_is_as_it_was_needs_no_word(reading, desk):
    """Nor does a campaign that nobody has worked on."""
    assert changed(reading, desk.campaign) == []
    engine = create_engine("sqlite://")
    schema.METADATA.create_all(engine)
    with engine.connect() as connection:
        assert changed(connection, desk.campaign) == []


def test_what_is_gone_and_what_is_new_is_said(reading, desk):
    """Only what was judged is missed, and named; new pairs are counted."""
    judged = {desk.store.ledger.items.pairs[item] for one in desk.first.sets for item in one.items}
    gone = next(pair for pair in desk.campaign.pool if pair in judged)
    left = [pair for pair in desk.campaign.pool if pair != gone]
    edited = replace(desk.campaign, pool=(*left, *(("oak", f"fresh-{n}") for n in range(5))))
    assert changed(reading, edited) == [
        f"1 pair is judged and in the files no more; the judgments are kept: '{' '.join(gone)}'",
        "5 pairs are new since work began: 'oak fresh-0', 'oak fresh-1', 'oak fresh-2' and 2 more",
    ]

"""What the consensus left in the campaign's folder."""

import json

import numpy as np
import pytest
from sqlalchemy import create_engine

from adjudge.studio.consensus.consensus import mark
from adjudge.studio.desk import commands as lead
from adjudge.studio.desk.consensus_view import (
    fresh_belief,
    read_belief,
    read_item_beliefs,
    read_judge_cards,
    read_looks,
    read_summary,
)
from adjudge.studio.record import schema


def leave(folder, **files):
    """Write files of a consensus."""
    (folder / "consensus").mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / "consensus" / f"{name}.json").write_text(json.dumps(content))


def test_nothing_yet(desk, reading):
    """Without files, and with broken ones, there is nothing."""
    assert read_summary(desk.folder) is None
    assert read_judge_cards(desk.folder) == ({}, "", "")
    assert read_looks(desk.folder) == {}
    assert read_belief(desk.folder) is None
    assert read_item_beliefs(reading, desk.folder) is None
    leave(desk.folder)
    (desk.folder / "consensus" / "summary.json").write_text("{")
    (desk.folder / "consensus" / "belief.npy").write_bytes(b"no array")
    assert read_summary(desk.folder) is None
    assert read_belief(desk.folder) is None


def test_cards_are_found_by_person(desk):
    """As the consensus writes them: a list of judges, each with their number."""
    leave(
        desk.folder,
        judges={"labels": [], "judges": [{"person": 7, "sentence": "good"}], "drift": "Nobody file_changes."},
    )
    found = read_judge_cards(desk.folder)
    assert found.cards[7]["sentence"] == "good"
    assert found.drift == "Nobody file_changes."


def test_the_excluded_are_not_counted(desk):
    """An item that only an excluded judge has judged rests on nothing."""
    leave(desk.folder)
    np.save(desk.folder / "consensus" / "belief.npy", np.full(len(desk.store.ledger.items.pairs), 0.5))
    desk.do(lead.change_standing, desk.lead, desk.ann, "excluded", "copies")
    with desk.store.reading() as connection:
        assert {one.judgments for one in read_item_beliefs(connection, desk.folder)} == {0}


def test_items_carry_their_belief(desk, reading):
    """Label, how sure it is, and on how many judgments it rests; items without a belief are left out."""
    leave(desk.folder)
    belief = np.full(len(desk.store.ledger.items.pairs), np.nan, np.float32)
    belief[1], belief[2] = 0.9, 0.25
    np.save(desk.folder / "consensus" / "belief.npy", belief)
    first, second = read_item_beliefs(reading, desk.folder)
    assert (first.item, first.topic, first.document, first.label) == (1, *desk.store.ledger.items.pairs[1], 1)
    assert first.probability == pytest.approx(0.9)
    assert second.label == 0
    assert second.probability == pytest.approx(0.75)
    assert second.entropy == pytest.approx(0.8113, abs=1e-4)
    assert first.judgments in (0, 1)


def test_it_is_fitted_where_there_is_none_or_an_old_one(desk):
    """What was left is taken only if nothing came since."""
    left = desk.folder / "consensus"
    with desk.store.reading() as connection:
        fitted = fresh_belief(connection, desk.campaign)
        assert fitted is not None
        left.mkdir()
        np.save(left / "belief.npy", np.full(fitted.shape, 0.25))
        model = desk.campaign.settings.consensus.model
        (left / "summary.json").write_text(json.dumps({"mark": f"{model} old"}))
        assert np.array_equal(fresh_belief(connection, desk.campaign), fitted)
        now = f"{model} {mark(connection, desk.campaign.gold)}"
        (left / "summary.json").write_text(json.dumps({"mark": now}))
        assert (fresh_belief(connection, desk.campaign) == 0.25).all()


def test_without_judgments_there_is_none(desk):
    """Not even one that is believed beforehand."""
    engine = create_engine("sqlite://")
    schema.METADATA.create_all(engine)
    with engine.connect() as connection:
        assert fresh_belief(connection, desk.campaign) is None

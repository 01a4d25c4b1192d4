"""What the consensus left in the campaign's folder."""

import json

import numpy as np
import pytest

from adjudge.studio.desk import commands as lead
from adjudge.studio.desk.consensus_view import belief_found, items_found, judges_found, looks_found, summary_found


def leave(folder, **files):
    """Write files of a consensus."""
    (folder / "consensus").mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / "consensus" / f"{name}.json").write_text(json.dumps(content))


def test_nothing_yet(desk, reading):
    """Without files, and with broken ones, there is nothing."""
    assert summary_found(desk.folder) is None
    assert judges_found(desk.folder) == ({}, "", "")
    assert looks_found(desk.folder) == {}
    assert belief_found(desk.folder) is None
    assert items_found(reading, desk.folder) is None
    leave(desk.folder)
    (desk.folder / "consensus" / "summary.json").write_text("{")
    (desk.folder / "consensus" / "belief.npy").write_bytes(b"no array")
    assert summary_found(desk.folder) is None
    assert belief_found(desk.folder) is None


def test_cards_are_found_by_person(desk):
    """As the consensus writes them: a list of judges, each with her number."""
    leave(desk.folder, judges={"labels": [], "judges": [{"person": 7, "sentence": "good"}], "drift": "Nobody changed."})
    found = judges_found(desk.folder)
    assert found.cards[7]["sentence"] == "good"
    assert found.drift == "Nobody changed."


def test_the_excluded_are_not_counted(desk):
    """An item that only an excluded judge has judged rests on nothing."""
    leave(desk.folder)
    np.save(desk.folder / "consensus" / "belief.npy", np.full(len(desk.store.ledger.items.pairs), 0.5))
    desk.do(lead.change_standing, desk.lead, desk.ann, "excluded", "copies")
    with desk.store.reading() as connection:
        assert {one.judgments for one in items_found(connection, desk.folder)} == {0}


def test_items_carry_their_belief(desk, reading):
    """Label, how sure it is, and on how many judgments it rests; items without a belief are left out."""
    leave(desk.folder)
    belief = np.full(len(desk.store.ledger.items.pairs), np.nan, np.float32)
    belief[1], belief[2] = 0.9, 0.25
    np.save(desk.folder / "consensus" / "belief.npy", belief)
    first, second = items_found(reading, desk.folder)
    assert (first.item, first.topic, first.document, first.label) == (1, *desk.store.ledger.items.pairs[1], 1)
    assert first.probability == pytest.approx(0.9)
    assert second.label == 0
    assert second.probability == pytest.approx(0.75)
    assert second.entropy == pytest.approx(0.8113, abs=1e-4)
    assert first.judgments in (0, 1)

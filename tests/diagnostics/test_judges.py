"""Cards, confusions and second looks together."""

import pandas as pd
import pytest

import adjudge
from adjudge.data.judgments import judgment_table
from adjudge.diagnostics.cards import cards
from adjudge.diagnostics.confusions import confusions
from adjudge.diagnostics.judges import judges
from adjudge.diagnostics.second_looks import second_looks
from adjudge.errors import UsageError

CROWD = adjudge.dataset("anesthesia")
FIT = adjudge.fit(CROWD, "dawid-skene")


def test_the_parts_are_those_of_their_functions():
    """Nothing is computed otherwise."""
    crowd = judges(FIT, CROWD, most=3)
    assert crowd.table.equals(cards(FIT, CROWD).table)
    assert crowd.confusions == confusions(FIT, CROWD, most=3)
    assert crowd.second_looks.table.equals(second_looks(FIT, CROWD, most=3).table)
    assert repr(crowd) == "Judges(5 judges, 315 judgments; median Youden's J 0.55)"
    assert "Youden&#x27;s J" in crowd._repr_html_()


def test_truth_is_a_table_of_items_and_labels():
    """Cards are checked against it, and every judge has a share."""
    truth = dict(zip(FIT.items.to_list(), FIT.labels["label"].to_list(), strict=True))
    assert all(card.verification is not None for card in judges(FIT, CROWD, truth).cards)


def test_a_saved_fit_with_its_judgments_is_enough(tmp_path):
    """Its folder holds both."""
    adjudge.save(FIT, tmp_path / "fit", CROWD)
    assert len(judges(tmp_path / "fit").cards) == 5
    with pytest.raises(UsageError):
        judges(FIT)


def test_a_pandas_frame_gives_pandas_tables():
    """Of all three parts."""
    crowd = judges(FIT, judgment_table(CROWD).to_pandas())
    for part in (crowd, crowd.confusions, crowd.second_looks):
        assert isinstance(part.table, pd.DataFrame)

"""The claims of paper 002, and the scores of the track."""

import numpy as np
import pytest

from studies import paper_002
from studies.comparison import STUDIES, run
from studies.measures import TRACK, track_scores
from studies.paper_002 import above_average, implied_prevalence, random_order, rows, track_section


@pytest.fixture(scope="module")
def comparison(topics):
    """Return the comparison on a small crowd with topics."""
    return run(STUDIES["vote"], topics, ["t"], draws=5)


def test_every_method_has_the_scores_of_the_track(comparison):
    """Beside those that the paper prints, and those of a random order."""
    text = track_section(comparison.by_set()["t"])
    assert "| *BUPT-WILDCAT (the paper, task 2)* | 0.941 | 0.923 | 0.983 | 0.972 | 0.816 | 0.928 | - | - |" in text
    assert all(f"\n| {method} | " in text for method in comparison.methods)
    vote = next(result for result in comparison.results if result.method == "majority")
    values = track_scores(vote.scored)
    assert tuple(values) == TRACK
    assert values["accuracy"] == vote.values["accuracy"]
    assert f"`majority` of {values['accuracy']:.3f}" in text
    assert all(0 <= value <= 1 for measure, value in values.items() if measure != "log_loss")


def test_a_random_order_is_worse_than_the_truth(comparison):
    """Its MAP is below 1, which the truth itself has."""
    scored = comparison.results[0].scored
    first, second = random_order(scored)
    assert 0 < first < 1
    assert 0 < second < 1
    perfect = scored._replace(ranked=scored.ranked._replace(score=scored.truth[scored.ranked.item].astype(float)))
    topics = np.unique(scored.ranked.topic[scored.truth[scored.ranked.item] == 1]).size
    assert track_scores(perfect)["map"] == pytest.approx(topics / np.unique(scored.ranked.topic).size)


def test_every_claim_has_a_row(comparison, monkeypatch):
    """With a verdict; the tables of the paper are held against each other."""
    monkeypatch.setattr(paper_002, "TREC", "t")
    claims = rows(comparison)
    assert {claim.reproduced for claim in claims} <= {"yes", "in shape", "no", "not tested"}
    assert above_average() == (7, 1, 4)
    assert implied_prevalence() == pytest.approx(0.031 / 0.049)
    assert claims[4].ours.startswith("0.6581843208681687; ")

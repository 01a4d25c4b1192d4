"""Crowds matched to what paper 004 tells."""

import numpy as np
import pytest

from adjudge.errors import UsageError
from studies.rerank.crowds import (
    EARLIER,
    JUDGES,
    LEAST,
    MOST,
    PANEL,
    REGIMES,
    draw_activities,
    draw_crowd,
    draw_panels,
    full_agreement,
    regime_named,
)


@pytest.fixture(scope="module")
def truth():
    """Return as many passages as the paper has, of which one in ten is relevant."""
    return np.random.default_rng(0).random(10_540) < 1_005 / 10_540


def judged(crowd, truth):
    """Return the judgments and accuracy of every judge, and the accuracy of the vote."""
    table = crowd.judgments
    count = np.bincount(table.judge, minlength=len(table.judges))
    right = np.bincount(table.judge, table.label == truth[table.item()], count.size) / count
    vote = np.bincount(table.item(), table.label, truth.size) > PANEL / 2
    return count, right, vote == truth


def test_a_crowd_is_as_large_as_the_papers(truth):
    """108 judges of 21 to 1,050 passages, five different ones a passage, 52 % full agreement."""
    crowd = draw_crowd(truth, REGIMES["paper"], np.random.default_rng(1))
    count, _, _ = judged(crowd, truth)
    assert (count.size, count.min(), count.max(), count.sum()) == (JUDGES, LEAST, MOST, 52_700)
    table = crowd.judgments
    assert np.unique(table.item() * JUDGES + table.judge).size == 52_700
    assert full_agreement(table) == pytest.approx(0.518, abs=0.015)
    assert all(0 <= trust <= 1 and (trust * EARLIER).is_integer() for trust in crowd.trust.values())


@pytest.mark.parametrize("name", REGIMES)
def test_every_regime_reaches_its_agreement(truth, name):
    """Whatever makes judges err."""
    looks = np.random.default_rng(2).normal(size=truth.size) + truth
    crowd = draw_crowd(truth, REGIMES[name], np.random.default_rng(3), looks)
    assert full_agreement(crowd.judgments) == pytest.approx(REGIMES[name].full, abs=0.02)


def test_activity_and_skill_hang_together_as_told(truth):
    """The busy are better, or worse, or it says nothing; trust follows skill."""
    result = {}
    for name in ("paper", "unrelated", "careless"):
        crowd = draw_crowd(truth, REGIMES[name], np.random.default_rng(4))
        count, right, _ = judged(crowd, truth)
        result[name] = np.corrcoef(np.log(count), right)[0, 1]
        assert np.corrcoef(list(crowd.trust.values()), right)[0, 1] > 0.6
    assert result["careless"] < -0.3 < result["unrelated"] < 0.3 < result["paper"]


def test_what_makes_passages_hard_makes_votes_wrong(truth):
    """At the same agreement, shared errors are worse than single ones."""
    looks = np.random.default_rng(2).normal(size=truth.size) + truth
    right = {
        n: judged(draw_crowd(truth, REGIMES[n], np.random.default_rng(5), looks), truth)[2].mean() for n in REGIMES
    }
    assert right["hard"] < right["lured"] < right["paper"] < right["clean"]


def test_spammers_are_the_busiest(truth):
    """And no better than a coin."""
    count, right, _ = judged(draw_crowd(truth, REGIMES["spam"], np.random.default_rng(6)), truth)
    busy = np.argsort(-count)[:11]
    assert right[busy].mean() < 0.75 < np.delete(right, busy).mean()


def test_small_sets_have_fewer_judges():
    """So that each still does something."""
    crowd = draw_crowd(np.arange(200) % 7 == 0, REGIMES["paper"], np.random.default_rng(0))
    assert len(crowd.judgments.judges) == 20
    assert len(crowd.judgments) == 1_000


def test_the_same_seed_gives_the_same_crowd():
    """And another one another."""
    truth = np.arange(300) % 9 == 0
    first, same, other = (
        draw_crowd(truth, REGIMES["paper"], np.random.default_rng(s)).judgments.label for s in (0, 0, 1)
    )
    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_panels_in_which_somebody_must_sit_twice_are_refused():
    """Four judges cannot fill five places."""
    with pytest.raises(UsageError, match="4 judges are too few for panels of 5"):
        draw_panels(np.array([5, 5, 5, 5]), 4, np.random.default_rng(0))


def test_activities_have_the_sum():
    """Between their ends."""
    count = draw_activities(5_000, 30, 400, np.random.default_rng(0))
    assert count.sum() == 5_000
    assert (count.min(), count.max()) == (21, 400)


def test_an_unknown_regime_is_refused():
    """By naming those there are."""
    with pytest.raises(UsageError, match="crowd 'magic' is not one of 'paper', 'clean', 'noisy'"):
        regime_named("magic")

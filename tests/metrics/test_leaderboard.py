"""Ranks and groups of many runs against what is known of them."""

import numpy as np
import pytest
from scipy import stats

from adjudge.metrics.leaderboard import (
    Compared,
    best_chances,
    better_pairs,
    compare_draws,
    compare_tests,
    place_rows,
    places,
    simultaneous_reach,
)

CERTAIN = np.array([0.5, 0.3, 0.4])


def board(value, compared, best=None):
    """Return the leaderboard of runs a, b, c, ..."""
    names = [chr(97 + n) for n in range(len(value))]
    return places("MAP", names, np.asarray(value), [(None, None)] * len(value), compared, best)


def test_certain_runs_have_their_ranks():
    """Without errors, every difference is distinguished, and every run is alone in its group."""
    compared = compare_draws(CERTAIN, np.repeat(CERTAIN[:, None], 50, axis=1))
    result = board(CERTAIN, compared, best_chances(np.repeat(CERTAIN[:, None], 50, axis=1)))
    assert [(place.run, place.rank, place.ranks, place.groups, place.best) for place in result] == [
        ("a", 1, "1", "1", 1.0),
        ("c", 2, "2", "2", 0.0),
        ("b", 3, "3", "3", 0.0),
    ]
    assert better_pairs("abc", compared) == {("a", "b"), ("a", "c"), ("c", "b")}
    assert place_rows(result)["rank_high"] == [1, 2, 3]


def test_runs_that_are_the_same_share_everything():
    """Three copies of one run have rank 1, one group, and a third of the chance to be best."""
    drawn = np.tile(np.random.default_rng(0).normal(size=200), (3, 1))
    result = board([0.5, 0.5, 0.5], compare_draws(np.full(3, 0.5), drawn), best_chances(drawn))
    assert {(place.rank, place.ranks, place.groups) for place in result} == {(1, "1 to 3", "1")}
    assert [place.best for place in result] == pytest.approx([1 / 3] * 3)


def test_groups_are_as_long_as_possible():
    """Five runs of which neighbours, and those two apart, cannot be distinguished, are three groups of three."""
    better = np.subtract.outer(np.arange(5), np.arange(5)) <= -3
    result = board([5, 4, 3, 2, 1], Compared(better, 1 + better.sum(axis=0), 5 - better.sum(axis=1)))
    assert [place.groups for place in result] == ["1", "1 to 2", "1 to 3", "2 to 3", "3"]
    assert [place.ranks for place in result] == ["1 to 3", "1 to 4", "1 to 5", "2 to 5", "3 to 5"]


def test_rank_intervals_hold_in_nine_of_ten_samples():
    """Twelve runs with normal errors of known size: each rank interval has the true rank in 90 % or more.

    Groups say something wrong about any pair in at most 10 %, up to the error of 400 samples.
    """
    rng = np.random.default_rng(1)
    truth = np.sort(rng.normal(size=12))[::-1]
    shared = 0.4 * rng.normal(size=(12, 12)) / 12**0.5 + 0.35 * np.eye(12)  # errors of runs are correlated
    covered, wrong = np.zeros(12), 0
    for _ in range(400):
        value = truth + shared @ rng.normal(size=12)
        drawn = value[:, None] + shared @ rng.normal(size=(12, 400))
        compared = compare_draws(value, drawn)
        rank = np.arange(1, 13)
        covered += (compared.rank_low <= rank) & (rank <= compared.rank_high)
        wrong += bool((compared.better & (truth[:, None] < truth)).any())
    assert (covered / 400).min() >= 0.9 - 3 * 0.015
    assert wrong / 400 <= 0.1 + 3 * 0.015


def test_a_single_pair_is_distinguished_by_its_interval():
    """With two runs, the limit is the 90 % quantile of a standardised normal error."""
    drawn = np.random.default_rng(2).normal(size=(2, 200_000))
    limit = stats.norm.ppf(0.95) * 2**0.5
    assert compare_draws(np.array([limit * 1.02, 0.0]), drawn).better[0, 1]
    assert not compare_draws(np.array([limit * 0.98, 0.0]), drawn).better[0, 1]


def test_tests_give_ranks_after_holms_correction():
    """Of three runs: two p-values of .04 and one of .5, with Holm .12 for all pairs and .08 for those with one run."""
    p = np.array([[1.0, 0.04, 0.04], [0.04, 1.0, 0.5], [0.04, 0.5, 1.0]])
    compared = compare_tests(np.array([3.0, 2.0, 1.0]), p)
    assert not compared.better.any()
    assert compared.rank_low.tolist() == [1, 2, 2]
    assert compared.rank_high.tolist() == [1, 3, 3]
    surer = compare_tests(np.array([3.0, 2.0, 1.0]), np.where(p == 0.04, 0.03, p))
    assert np.argwhere(surer.better).tolist() == [[0, 1], [0, 2]]


def test_one_run_is_first():
    """There is nothing to compare."""
    for compared in (compare_draws(np.ones(1), np.ones((1, 5))), compare_tests(np.ones(1), np.ones((1, 1)))):
        assert board([1.0], compared)[0][6:] == (1, 1, 1, 1, 1)


def test_simultaneous_intervals_hold_together():
    """Of ten independent normal variables: the reach is that of a 99 % interval of each (Sidak)."""
    drawn = np.random.default_rng(3).normal(size=(10, 100_000)) * np.arange(1, 11)[:, None]
    sidak = stats.norm.ppf(0.5 + 0.9**0.1 / 2)
    assert simultaneous_reach(drawn) == pytest.approx(sidak * np.arange(1, 11), rel=0.015)
    assert simultaneous_reach(np.ones((2, 9))).tolist() == [0, 0]

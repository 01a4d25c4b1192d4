"""Paired tests against their closed forms: scipy's binomial, every sign flip there is, Holm by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from adjudge.data.scale import Scale
from adjudge.errors import UsageError
from adjudge.metrics.labels import Scored
from adjudge.metrics.paired import Paired, against, holm, mcnemar, sign_flips

SHARES = st.lists(st.floats(0, 1), min_size=1, max_size=8)


def flags(both: int, only_first: int, only_second: int) -> tuple[np.ndarray, np.ndarray]:
    """Return right answers of two models, by how many items both or one of them have right, and five neither."""
    first = np.repeat([True, True, False, False], [both, only_first, only_second, 5])
    return first, np.repeat([True, False, True, False], [both, only_first, only_second, 5])


def answers(off: list[int], p: list[float] | None = None, ordinal: bool = False) -> Scored:
    """Return answers to items that are all 2 of 0, 1 and 2: how far off each is, and the chance it gave to 2."""
    truth = np.full(len(off), 2)
    chance = None if p is None else np.column_stack([1 - np.array(p), np.zeros(len(p)), p])
    return Scored(truth, truth - np.array(off), chance, Scale((0, 1, 2), ordinal), None, 1e-3, 0)


@given(st.integers(0, 9), st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_the_binomial_test(both: int, b: int, c: int) -> None:
    """Items that both or neither have right say nothing; the others are coins."""
    expected = binomtest(b, b + c).pvalue if b + c else 1
    assert mcnemar(*flags(both, b, c)) == pytest.approx(expected)
    assert mcnemar(*flags(both, c, b)) == mcnemar(*flags(both, b, c))


@pytest.mark.parametrize(("b", "c"), [(9_800, 10_200), (0, 30_000), (100_000, 100_000)])
def test_mcnemar_of_many_items(b: int, c: int) -> None:
    """Neither overflows nor loses digits."""
    assert mcnemar(*flags(0, b, c)) == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("seed", range(3))
def test_sign_flips_come_near_all_there_are(seed: int) -> None:
    """For ten items every pattern of signs can be tried; draws differ from that by chance alone."""
    difference = np.random.default_rng(seed).normal(0.3, 1, 10)
    patterns = np.array(list(product((-1, 1), repeat=10))) @ difference
    exact = (np.abs(patterns) >= abs(difference.sum()) - 1e-12).mean()
    found = float(sign_flips(difference[:, None], draws=20_000, seed=seed)[0])
    assert found == pytest.approx(exact, abs=4 * (exact * (1 - exact) / 20_000) ** 0.5 + 1e-4)


def test_equal_sums_count_however_they_are_rounded() -> None:
    """Where all differences are of one size the flips are McNemar's coins, though tenths do not add up exactly."""
    for b, c in ((7, 2), (12, 5), (9, 3)):
        difference = np.r_[np.full(b, 0.1), np.full(c, -0.1)]
        found = sign_flips(difference[:, None], draws=20_000)
        assert found == pytest.approx([mcnemar(*flags(0, b, c))], abs=0.012)


def test_p_is_never_zero_and_never_above_one() -> None:
    """The largest difference there is has p = 1 / (1 + draws), none at all has 1."""
    assert sign_flips(np.column_stack([np.ones(60), np.zeros(60)]), draws=99).tolist() == [0.01, 1]


def test_sign_flips_are_right_as_often_as_they_say() -> None:
    """Of 1,000 pairs that are as good, 5 in 100 have p up to .05, and half up to .5."""
    difference = np.random.default_rng(3).standard_t(3, (40, 1_000))
    p = sign_flips(difference, draws=399)
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.03)
    assert (p <= 0.5).mean() == pytest.approx(0.5, abs=0.07)


def test_the_seed_decides_the_draws_and_the_order_of_models_nothing() -> None:
    """Swapping the two models of a pair turns every sign: p stays."""
    difference = np.random.default_rng(0).normal(0.1, 1, (50, 1))
    assert sign_flips(difference, seed=1) == sign_flips(-difference, seed=1) == sign_flips(difference, seed=1)
    assert sign_flips(difference, seed=1) != sign_flips(difference, seed=2)


def test_holm_by_hand() -> None:
    """The smallest of three counts three times, the next twice but not less than the one before."""
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == [1, 1]
    assert holm(np.array([])).size == 0


@given(SHARES)
def test_holm_rejects_what_the_step_down_procedure_rejects(p: list[float]) -> None:
    """Going up from the smallest p, each is held against alpha / those left; the first that fails ends it."""
    adjusted = holm(np.array(p))
    for alpha in (0.01, 0.05, 0.3):
        rejected: set[int] = set()
        for left, n in zip(range(len(p), 0, -1), np.argsort(p, kind="stable"), strict=True):
            if p[n] * left > alpha:
                break
            rejected.add(int(n))
        assert set(np.flatnonzero(adjusted <= alpha)) == rejected


def test_others_are_held_against_the_best() -> None:
    """Accuracy by McNemar, losses by flips, each corrected for the two models it was asked of."""
    best = answers([0] * 10, [0.9] * 10)
    worse = answers([1] * 8 + [0] * 2, [0.2] * 8 + [0.9] * 2)
    first, second = against(best, [worse, best], draws=999)
    p = binomtest(0, 8).pvalue
    assert first["accuracy"] == pytest.approx((-0.8, p, 2 * p))
    assert second["accuracy"] == Paired(0, 1, 1)
    assert first["log_loss"].difference == pytest.approx(0.8 * np.log(0.9 / 0.2))
    assert first["brier"].difference == pytest.approx(0.8 * 2 * (0.8**2 - 0.1**2))
    assert first["brier"].p == pytest.approx(2 / 2**8, abs=0.01)
    assert first["brier"].adjusted == 2 * first["brier"].p
    assert list(first) == ["accuracy", "log_loss", "brier"]


def test_labels_in_an_order_have_an_absolute_error() -> None:
    """Two steps off is worse than one, though both are wrong."""
    best, worse = answers([1] * 9, ordinal=True), answers([2] * 9, ordinal=True)
    (found,) = against(best, [worse], draws=9_999)
    assert list(found) == ["accuracy", "absolute_error"]
    assert found["accuracy"] == Paired(0, 1, 1)
    assert found["absolute_error"].difference == 1
    assert found["absolute_error"].p == pytest.approx(2 / 2**9, abs=0.002)
    assert list(against(answers([1]), [answers([2])])[0]) == ["accuracy"]


def test_the_best_alone_has_no_tests() -> None:
    """Nothing to hold against it."""
    assert against(answers([0, 1], [0.5, 0.5]), []) == []


def test_no_draws_are_refused() -> None:
    """With the number."""
    with pytest.raises(UsageError, match=r"^draws 0 is not 1 or more$"):
        sign_flips(np.ones((3, 1)), draws=0)

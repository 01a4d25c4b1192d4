"""Estimates of shares: closed forms, and how often intervals contain the share."""

import numpy as np
import pytest
from scipy.stats import binomtest
from scipy.stats import t as student

from adjudge.evaluation.shares import (
    ESTIMATORS,
    Items,
    Share,
    Z,
    difference,
    gold_alone,
    gold_needed,
    measured_strata,
    post_stratified,
    ppi,
    residuals,
    rogan_gladen,
    strata,
    wilson,
)


def crowd(rng, size=1_000, share=0.3, error=0.1, gold=80):
    """Return items whose judges are wrong with a rate, the truths of all, and gold of a simple random sample."""
    y = (rng.random(size) < share).astype(float)
    wrong = rng.random(size) < error
    chance = np.where(wrong, 1 - y, y) * 0.8 + 0.2 * rng.random(size)
    truth = np.full(size, np.nan)
    drawn = rng.choice(size, gold, replace=False)
    truth[drawn] = y[drawn]
    return Items(chance, chance > 0.5, truth), y


@pytest.mark.parametrize(("positive", "number"), [(0, 20), (1, 50), (7, 30), (30, 30)])
def test_wilson_is_that_of_scipy(positive, number):
    """The interval of a share equals that of scipy."""
    peer = binomtest(positive, number).proportion_ci(0.9, method="wilson")
    assert wilson(positive / number, 1 / number) == pytest.approx((peer.low, peer.high), abs=1e-12)


def test_gold_alone_counts_how_many_items_there_are():
    """The variance has the factor 1 - n / N for these items, and none for a population of items."""
    truth = np.full(200, np.nan)
    truth[:50] = np.repeat([1.0, 0.0], [20, 30])
    items = Items(np.full(200, 0.5), np.zeros(200, bool), truth)
    peer = binomtest(20, 50).proportion_ci(0.9, method="wilson")
    assert gold_alone(items, True) == pytest.approx((0.4, peer.low, peer.high))
    assert gold_alone(items)[1:] == pytest.approx(wilson(0.4, (1 - 50 / 200) / 50))


def lang_reiczigel(apparent, number, se, diseased, sp, healthy):
    """Return the adjusted estimate and the interval of Lang and Reiczigel (2014), equations 4, 6, 7, 16 and 17."""
    n, n_se, n_sp = number + Z**2, diseased + 2, healthy + 2
    ap, se, sp = (apparent * number + Z**2 / 2) / n, (se * diseased + 1) / n_se, (sp * healthy + 1) / n_sp
    share = (ap + sp - 1) / (se + sp - 1)
    shift = 2 * Z**2 * (share * se * (1 - se) / n_se - (1 - share) * sp * (1 - sp) / n_sp)
    variance = ap * (1 - ap) / n + share**2 * se * (1 - se) / n_se + (1 - share) ** 2 * sp * (1 - sp) / n_sp
    half = Z * np.sqrt(variance) / (se + sp - 1)
    return share, share + shift - half, share + shift + half


def called_items(size=1_000):
    """Return items of which .3 are called, with 20 and 80 gold items: sensitivity .9 and specificity .95."""
    called, truth = np.arange(size) < 0.3 * size, np.full(size, np.nan)
    truth[:18], truth[18:22] = 1, 0  # called
    truth[-2:], truth[-78:-2] = 1, 0
    return Items(np.where(called, 0.9, 0.1), called, truth)


def test_rogan_gladen_has_the_interval_of_lang_and_reiczigel():
    """For a population, with the numbers of gold items that the finite number of items is worth."""
    expected = lang_reiczigel(0.3, 1_000, 0.9, 20 / 0.9, 0.95, 80 / 0.9)
    assert rogan_gladen(called_items(), True) == pytest.approx(expected)


def test_rogan_gladen_by_hand():
    """(.3 + .95 - 1) / (.9 + .95 - 1) is .294; one right and one wrong call are added to both rates."""
    assert rogan_gladen(called_items(100_000)).value == pytest.approx(
        (0.3 + 77 / 82 - 1) / (19 / 22 + 77 / 82 - 1), abs=1e-4
    )
    assert rogan_gladen(called_items()).value == pytest.approx(0.25 / 0.85, abs=0.02)


def test_rogan_gladen_needs_judges_and_both_truths():
    """Without them there is no estimate."""
    items = called_items()
    assert rogan_gladen(items._replace(called=~items.called)) is None
    assert rogan_gladen(items._replace(truth=np.where(items.truth == 1, np.nan, items.truth))) is None


def test_ppi_is_its_formula():
    """The estimate is lambda mean f + mean (y - lambda f), with lambda = cov(y, f) / var f, and Student's t."""
    items, _ = crowd(np.random.default_rng(0), gold=60)
    y, f = items.truth[items.gold], items.chance[items.gold]
    tuned = np.cov(y, f)[0, 1] / items.chance.var(ddof=1)
    assert 0 < tuned < 1
    error = y - tuned * f
    value = tuned * items.chance.mean() + error.mean()
    half = student.ppf(0.95, 59) * np.sqrt(error.var(ddof=1) / 60 * (1 - 60 / 1_000))
    assert ppi(items) == pytest.approx((value, value - half, value + half))


def test_lambda_of_ppi_is_never_negative():
    """Judges who say the opposite are left out."""
    items, _ = crowd(np.random.default_rng(0), gold=60)
    opposite = items._replace(chance=1 - items.chance)
    assert ppi(opposite).value == pytest.approx(gold_alone(items).value)
    assert ppi(items._replace(truth=np.where(np.arange(1_000) == items.gold[0], items.truth, np.nan))) is None


def test_strata_by_hand():
    """Two strata of 700 and 300 items, with shares .1 and .8 on 20 and 10 gold items."""
    truth = np.full(1_000, np.nan)
    truth[:20], truth[700:710] = np.repeat([1.0, 0.0], [2, 18]), np.repeat([1.0, 0.0], [8, 2])
    chance = np.repeat([0.2, 0.7], [700, 300])
    items = Items(chance, chance > 0.5, truth)
    low, high = wilson(np.array([0.1, 0.8]), np.array([1 / 20 - 1 / 700, 1 / 10 - 1 / 300]))
    below = np.hypot(0.7 * (0.1 - low[0]), 0.3 * (0.8 - low[1]))
    above = np.hypot(0.7 * (high[0] - 0.1), 0.3 * (high[1] - 0.8))
    assert post_stratified(items) == pytest.approx((0.31, 0.31 - below, 0.31 + above))


def test_strata_do_not_know_the_truths_of_gold():
    """Other truths of the same gold items give the same strata; every stratum has at least two gold items."""
    items, _ = crowd(np.random.default_rng(1))
    stratum = strata(items)
    assert (stratum == strata(items._replace(truth=1 - items.truth))).all()
    assert np.bincount(stratum[items.gold]).min() >= 2
    assert 2 <= stratum.max() + 1 <= 5


def test_judges_who_say_nothing_make_no_strata():
    """The estimate is then that of gold alone."""
    items, _ = crowd(np.random.default_rng(1))
    silent = items._replace(chance=np.full(1_000, 0.4))
    assert not strata(silent).any()
    for population in (False, True):
        assert post_stratified(silent, population) == pytest.approx(gold_alone(silent, population))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_complete_gold_is_exact(name):
    """If all items are gold, every estimate of these items is their share, without an interval."""
    items, y = crowd(np.random.default_rng(2))
    exact = ESTIMATORS[name](items._replace(truth=y), False)
    assert exact == pytest.approx((y.mean(),) * 3, abs=1e-9)
    population = ESTIMATORS[name](items._replace(truth=y), True)
    assert population.low < y.mean() < population.high


@pytest.mark.parametrize("name", ESTIMATORS)
def test_equal_probabilities_are_a_random_sample(name):
    """The probability n / N of all gold items changes nothing, within strata hardly anything."""
    items, _ = crowd(np.random.default_rng(3))
    weighted = items._replace(probability=np.full(1_000, 0.08))
    assert ESTIMATORS[name](weighted, False) == pytest.approx(ESTIMATORS[name](items, False), abs=0.004)


def covers(estimate, rounds=300, **world):
    """Return how often the interval of an estimate contains the share of the items."""
    rng, inside = np.random.default_rng(4), 0
    for _ in range(rounds):
        items, y = crowd(rng, **world)
        found = estimate(items)
        inside += found.low <= y.mean() <= found.high
    return inside / rounds


@pytest.mark.parametrize("world", [{"error": 0.1}, {"error": 0.4}, {"share": 0.05, "error": 0.2}, {"error": 0.9}])
def test_nine_in_ten_intervals_contain_the_share(world):
    """For good judges, poor ones, rare labels, and judges who are mostly wrong."""
    assert 0.86 <= covers(post_stratified, **world) <= 0.97
    assert 0.86 <= covers(gold_alone, **world) <= 0.97


def test_ppi_is_too_narrow_where_errors_are_rare():
    """Gold shows few items of a rare label, and few errors about them, so that PPI++ promises too much."""
    assert covers(ppi, share=0.02, error=0.02, gold=50) < 0.8
    assert covers(post_stratified, share=0.02, error=0.02, gold=50) >= 0.9


def test_drawing_uncertain_items_more_often_is_weighted_out():
    """Gold items that were drawn with unequal probabilities give unbiased estimates and intervals that hold."""
    rng, inside, values = np.random.default_rng(5), [], []
    for _ in range(300):
        items, y = crowd(rng, error=0.2)
        pi = np.where(items.chance > 0.5, 0.15, 0.05)
        drawn = rng.random(1_000) < pi
        items = Items(items.chance, items.called, np.where(drawn, y, np.nan), pi)
        found = [post_stratified(items), gold_alone(items)]
        inside.append([each.low <= y.mean() <= each.high for each in found])
        values.append([each.value - y.mean() for each in found])
    assert abs(np.mean(values, axis=0)).max() < 0.01
    assert ((np.mean(inside, axis=0) >= 0.86) & (np.mean(inside, axis=0) <= 0.95)).all()


def answers(rng, prompts=400, gold=60, paired=True):
    """Return the answers of two systems to the same prompts, with gold of whole prompts or of single answers."""
    hard, systems, truths, drawn = rng.normal(size=prompts), [], [], rng.choice(prompts, gold, replace=False)
    for skill in (0.2, 0.6):
        y = (skill - hard + 0.3 * rng.normal(size=prompts) > 0).astype(float)
        chance = np.where(rng.random(prompts) < 0.35, 1 - y, y) * 0.6 + 0.2
        at = drawn if paired else rng.choice(prompts, gold, replace=False)
        truth = np.full(prompts, np.nan)
        truth[at] = y[at]
        systems.append(Items(chance, chance > 0.5, truth))
        truths.append(y.mean())
    return systems, truths[0] - truths[1]


@pytest.mark.parametrize("paired", [True, False])
def test_differences_use_pairs_only_if_gold_was_drawn_by_pairs(paired):
    """Nine in ten intervals hold for both designs, and whole prompts give narrower ones."""
    rng, keys, inside, ratio = np.random.default_rng(6), np.arange(400), [], []
    for _ in range(200):
        systems, truth = answers(rng, paired=paired)
        shares, parts = [post_stratified(each) for each in systems], [residuals(each) for each in systems]
        found = difference(*shares, tuple(parts), (keys, keys), False)
        apart = difference(*shares, tuple(parts), (keys, keys + 400), False)
        inside.append(found.low <= truth <= found.high)
        ratio.append((found.high - found.low) / (apart.high - apart.low))
    assert 0.85 <= np.mean(inside) <= 0.95
    assert np.mean(ratio) < 0.85 if paired else np.mean(ratio) == pytest.approx(1, abs=0.03)


def test_difference_of_unpaired_shares_by_hand():
    """Squares of the distances to the ends are added."""
    rng = np.random.default_rng(7)
    parts = tuple(residuals(crowd(rng)[0]) for _ in range(2))
    keys = (np.arange(1_000), np.arange(1_000, 2_000))
    found = difference(Share(0.6, 0.5, 0.72), Share(0.3, 0.25, 0.33), parts, keys, False)
    assert found == pytest.approx((0.3, 0.3 - np.hypot(0.1, 0.03), 0.3 + np.hypot(0.12, 0.05)))


def test_several_items_with_one_key_are_no_pairs():
    """Nothing says which of them belong together."""
    systems, _ = answers(np.random.default_rng(8))
    shares, parts = [post_stratified(each) for each in systems], tuple(residuals(each) for each in systems)
    keys, twice = np.arange(400), np.arange(400) // 2
    single = difference(*shares, parts, (keys, keys + 400), False)
    assert difference(*shares, parts, (twice, twice), False) == single


def test_gold_that_a_width_needs():
    """The number is the least that is enough, and fewer are needed with judges."""
    one = np.ones(1)
    needed = gold_needed(one, one * 0.3, 10**6, 0.1, True)
    low, high = wilson(0.3, 1 / np.array([needed, needed - 1]))
    assert (high - low)[0] <= 0.1 < (high - low)[1]
    assert gold_needed(np.array([0.7, 0.3]), np.array([0.05, 0.9]), 10**6, 0.1, True) < needed / 2
    assert gold_needed(one, one * 0.3, 100, 0.1, True) is None
    assert gold_needed(one, one * 0.3, 100, 0.001, False) == 100


def test_effects_add_up_to_the_variance_of_a_random_sample():
    """Without strata it is (1 - n / N) p (1 - p) / n."""
    items, _ = crowd(np.random.default_rng(9))
    silent = items._replace(chance=np.full(1_000, 0.4))
    part, share = residuals(silent), gold_alone(silent).value
    assert (part.not_drawn * part.effect**2).sum() == pytest.approx(0.92 * share * (1 - share) / 80)
    assert measured_strata(silent).inverse == pytest.approx([0.92 / 80])

"""Pairs counted one by one, tails against all outcomes, and the test against its own definition."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, norm

import adjudge
from adjudge.diagnostics.leave_out import item_logs
from adjudge.diagnostics.pair_test import find_meetings, pair_tests, tail
from adjudge.kernels.block import Block

J, K = 5, 2


def crowd(rng, items=40, repeats=True):
    """Return judgments of none to six by item, judges drawn with repeats or without."""
    judges = [rng.integers(J, size=rng.integers(0, 7)) if repeats else rng.permutation(J)[:4] for _ in range(items)]
    judge = np.concatenate(judges)
    label = rng.integers(K, size=judge.size).astype(np.uint8)
    return Block(
        np.r_[0, np.cumsum([len(each) for each in judges])],
        (judge * K + label).astype(np.uint32),
        label,
        np.zeros(items, np.int32),
        np.full(items, -1, np.int32),
        np.empty(0),
        J,
        K,
        np.arange(float(K)),
    )


@pytest.mark.parametrize("least", [1, 12])
def test_pairs_are_all_who_met(least):
    """Once an item, by the first judgment of each; those who met too seldom are left out."""
    block = crowd(np.random.default_rng(0))
    judge, observed = block.cell // K, {}
    for i in range(block.topic.size):
        first = {}
        for n in range(block.start[i], block.start[i + 1]):
            first.setdefault(int(judge[n]), n)
        for a, b in combinations(sorted(first), 2):
            observed.setdefault((a, b), []).append((first[a], first[b], i))
    result = find_meetings(block, least)
    parts = [slice(result.start[p], result.start[p + 1]) for p in range(result.first.size)]
    listed = {
        (int(a), int(b)): list(zip(result.left[v], result.right[v], result.item[v], strict=True))
        for a, b, v in zip(result.first, result.second, parts, strict=True)
    }
    expected = {pair: visits for pair, visits in observed.items() if len(visits) >= least}
    assert 0 < len(expected) <= 10
    assert {pair: sorted(visits) for pair, visits in listed.items()} == expected


def test_judges_who_never_met_are_no_pair():
    """One judgment an item leaves nothing to compare."""
    block = crowd(np.random.default_rng(1))
    alone = block._replace(
        start=np.arange(4), cell=block.cell[:3], label=block.label[:3], topic=block.topic[:3], gold=block.gold[:3]
    )
    result = find_meetings(alone)
    assert result.first.size == 0
    assert result.start.tolist() == [0]
    empty = pair_tests(
        alone, item_logs(alone, np.full((1, K), 0.5), np.full((J, K, K), 0.5)), result, np.ones((J, K, K)), 0.7
    )
    assert all(column.size == 0 for column in empty)


@pytest.mark.parametrize("size", [6, 9])
def test_the_tail_is_that_of_all_outcomes(size):
    """In standard deviations the saddlepoint follows far into the tail; at the very end it is exact."""
    rng = np.random.default_rng(size)
    chance, value = rng.dirichlet(np.full(3, 2.0), size), rng.normal(size=(size, 3))
    outcomes = list(product(range(3), repeat=size))
    total = np.array([value[range(size), each].sum() for each in outcomes])
    weight = np.array([chance[range(size), each].prod() for each in outcomes])
    order = np.argsort(total)
    for share in (0.2, 0.5, 0.9, 0.99):
        at = total[order[int(share * total.size)]]
        exact = weight[total > at].sum() + weight[total == at].sum() / 2
        assert norm.isf(tail(chance, value, at)) == pytest.approx(norm.isf(exact), abs=0.1)
    assert tail(chance, value, total.max()) == pytest.approx(weight[total.argmax()])
    assert tail(chance, value, total.min()) == 1
    assert tail(chance, value, total.max() + 1) == 0
    assert tail(chance, value, total.min() - 1) == 1


def test_the_tail_is_smooth_at_the_mean():
    """Where the saddlepoint is 0 / 0, the formula that stands in agrees with its neighbours."""
    chance, value = np.full((20, 2), 0.5), np.tile([0.0, 1.0], (20, 1)) + np.arange(20)[:, None] / 100
    mean = float((chance * value).sum())
    near, at, far = (tail(chance, value, mean + step) for step in (-0.05, 0, 0.05))
    assert near > at > far
    assert at == pytest.approx((near + far) / 2, abs=1e-3)
    assert tail(np.ones((3, 1)), np.ones((3, 1)), 2.0) == 1  # what cannot vary


@pytest.mark.parametrize(("size", "right"), [(8, 0.8), (20, 0.9), (50, 0.9), (100, 0.8), (1_000, 0.95)])
def test_on_a_lattice_the_tail_is_that_of_a_binomial(size, right):
    """Where the others are certain the sum counts right labels: every count has a chance that must not be halved."""
    chance, value = np.tile([right, 1 - right], (size, 1)), np.tile([0.0, 1.0], (size, 1))
    wrong = np.arange(1, size)
    exact = binom.sf(wrong - 1, size, 1 - right)
    wrong, exact = wrong[exact > 1e-12], exact[exact > 1e-12]
    np.testing.assert_allclose([tail(chance, value, float(count)) for count in wrong], exact, rtol=0.06)
    common = exact > 1e-3
    np.testing.assert_allclose([tail(chance, value, float(count)) for count in wrong[common]], exact[common], rtol=0.03)
    scaled = [tail(chance, 0.3 * value - 1, 0.3 * count - size) for count in wrong]
    np.testing.assert_allclose(scaled, [tail(chance, value, float(count)) for count in wrong], rtol=1e-6)


def test_a_blurred_lattice_counts_as_one_until_it_is_none():
    """Others who are nearly certain make what is reached no less likely; with steps of all sizes the tail is smooth."""
    rng, size = np.random.default_rng(4), 40
    chance = np.tile([0.9, 0.1], (size, 1))
    nearly = np.stack([np.zeros(size), rng.uniform(0.995, 1, size)], axis=1)
    for count in (5, 8, 10):
        low = np.sort(nearly[:, 1])[:count].sum()  # the least sum of so many
        assert tail(chance, nearly, low) == pytest.approx(binom.sf(count - 1, size, 0.1), rel=0.03)
    anyhow = np.stack([np.zeros(size), rng.uniform(0.1, 1, size)], axis=1)
    sums = (anyhow[:, 1] * (rng.random((200_000, size)) < 0.1)).sum(axis=1)
    for at in (2.0, 4.0, 5.0):
        assert tail(chance, anyhow, at) == pytest.approx((sums >= at).mean(), rel=0.06)


def test_as_many_agree_on_what_is_wrong_as_are_expected_to():
    """Where nobody copies: wrong, expected and true counts of 40 crowds agree within their Monte Carlo error."""
    counts = []
    for seed in range(40):
        drawn = adjudge.simulate("dawid-skene", seed, items=300, judges=10, labels=2, per_item=3, accuracy=0.75)
        block = drawn.judgments.block()
        pairs, observed = find_meetings(block), item_logs(block, drawn.prevalence, drawn.confusion)
        result = pair_tests(block, observed, pairs, 1e9 * drawn.confusion, 0.7)
        answer, other = block.label[pairs.left], block.label[pairs.right]
        truth = ((answer == other) & (answer != drawn.truth[pairs.item])).sum()
        counts.append((result.wrong.sum(), result.expected_wrong.sum(), truth))
    wrong, expected, true = np.array(counts).T
    for entry, two in ((wrong, expected), (wrong, true), (expected, true)):
        assert abs((entry - two).mean()) < 3 * (entry - two).std() / np.sqrt(len(counts))
        assert entry.mean() == pytest.approx(two.mean(), rel=0.05)


def test_the_test_is_what_it_says():
    """One pair's sums, with both judges out of the truths and each out of the other's matrix."""
    rng, copying = np.random.default_rng(3), 0.7
    block = crowd(rng, repeats=False)
    prevalence, confusion = np.array([[0.4, 0.6]]), rng.dirichlet([4, 1], (J, K))
    confusion[:, 1] = confusion[:, 1, ::-1]
    prior, pairs = rng.uniform(0.5, 1, (J, K, K)), find_meetings(block)
    result = pair_tests(block, item_logs(block, prevalence, confusion), pairs, prior, copying)
    judge, item = block.cell // K, np.repeat(np.arange(block.topic.size), np.diff(block.start))

    def truth(i, without):
        chance = prevalence[0].copy()
        for n in range(block.start[i], block.start[i + 1]):
            if judge[n] not in without:
                chance *= confusion[judge[n], :, block.label[n]]
        return chance / chance.sum()

    def matrix(own, other):
        counts = prior[own].copy()
        for n in np.flatnonzero(judge == own):
            counts[:, block.label[n]] += truth(item[n], {other})
        return counts / counts.sum(axis=1, keepdims=True)

    for p in (0, pairs.first.size - 1):
        a, b = int(pairs.first[p]), int(pairs.second[p])
        hers, his = matrix(a, b), matrix(b, a)
        agreed = expected = score = wrong = expected_wrong = 0.0
        for v in range(pairs.start[p], pairs.start[p + 1]):
            q = truth(pairs.item[v], {a, b})
            both, mean = q @ (hers * his), q @ (hers + his) / 2
            k, same = block.label[pairs.left[v]], block.label[pairs.left[v]] == block.label[pairs.right[v]]
            agreed, expected = agreed + same, expected + both.sum()
            wrong += (1 - q[k] * hers[k, k] * his[k, k] / both[k]) * same
            expected_wrong += (both - q * np.diagonal(hers * his)).sum()
            score += np.log(1 - copying + copying * mean[k] / both[k]) if same else np.log(1 - copying)
        required = (agreed, expected, wrong, expected_wrong, score)
        got = (result.agreed, result.expected, result.wrong, result.expected_wrong, result.score)
        np.testing.assert_allclose([column[p] for column in got], required, rtol=1e-9)
    assert ((result.p >= 0) & (result.p <= 1)).all()
    assert ((result.copied >= 0) & (result.copied <= 1)).all()
    assert (result.deviation > 0).all()

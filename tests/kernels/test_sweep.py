"""A sweep draws from the posterior that ``truth_posterior`` computes, counts its draws, and packs them as bits."""

import numpy as np
import pytest
from scipy.stats import kstest

import adjudge
from adjudge.kernels.block import Block
from adjudge.kernels.sweep import OddsSweep, Sweep, new_key, pack, random_bits, unpack
from adjudge.kernels.truth import count, truth_posterior


@pytest.fixture
def case():
    """Return a crowd with gold and topics, and params for it."""
    crowd = adjudge.simulate("carpenter", seed=1, topics=3, items=60, judges=8, judgments=400, gold=6)
    judgments = crowd.judgments
    rng = np.random.default_rng(0)
    block = judgments.block(np.where(np.arange(60) < 6, 1, -1).astype(np.int32), by_topic=True)
    return block, rng.dirichlet([1, 1], 3), rng.dirichlet([3, 3], (8, 2))


def test_probabilities_are_the_posterior(case):
    """What is added up in a sweep is p(truth | rest), gold fixed."""
    block, prevalence, confusion = case
    probability = np.zeros((60, 2))
    Sweep(block)(prevalence, confusion, np.random.default_rng(1), probability)
    posterior, _ = truth_posterior(block, prevalence, confusion)
    np.testing.assert_allclose(probability, posterior)


def test_draws_follow_the_posterior(case):
    """Over many sweeps, truths by topic and labels by judge are counted as often as is expected of them."""
    from adjudge.kernels.truth import expect

    block, prevalence, confusion = case
    rng, none = np.random.default_rng(2), np.empty((0, 0))
    tallies = [Sweep(block)(prevalence, confusion, rng, none) for _ in range(3_000)]
    expected = expect(block, prevalence, confusion)
    truth = np.array([tally.truth for tally in tallies])
    error = truth.std(axis=0) / np.sqrt(3_000) + 1e-12
    assert (np.abs(truth.mean(axis=0) - expected.truth) < 4.5 * error).all()
    label = np.array([tally.label for tally in tallies])
    error = label.std(axis=0) / np.sqrt(3_000) + 1e-12
    assert (np.abs(label.mean(axis=0) - expected.label) < 4.5 * error).all()
    assert (truth.sum(axis=(1, 2)) == 60).all()
    assert (label.sum(axis=(1, 2, 3)) == block.cell.size).all()


def test_weights_and_long_items_do_not_underflow(case):
    """Ten thousand judgments on one item, and the same as weights, are drawn from without a NaN."""
    judged = {"item": ["a"] * 10_000, "judge": ["x"] * 10_000, "label": ["0"] * 6_000 + ["1"] * 4_000}
    import polars as pl

    block = adjudge.read(pl.DataFrame(judged)).block()
    theta, probability = np.array([[[0.7, 0.3], [0.3, 0.7]]]), np.zeros((1, 2))
    tally = Sweep(block)(np.array([[0.5, 0.5]]), theta, np.random.default_rng(0), probability)
    np.testing.assert_allclose(probability, [[1, 0]], atol=1e-300)
    assert tally.label[0, 0].tolist() == [6_000, 4_000]
    weighed = block._replace(weight=np.full(10_000, 0.5))
    again = Sweep(weighed)(np.array([[0.5, 0.5]]), theta, np.random.default_rng(0), np.zeros((1, 2)))
    assert again.label[0, 0].tolist() == [3_000, 2_000]


KEY = np.array([7, 11], np.uint64)


@pytest.mark.parametrize("first", [0, 1, 7, 8, 9, 500, 899])
def test_any_part_of_the_stream_can_be_had_alone(first):
    """Wherever it begins, and without what is before."""
    complete = random_bits(KEY, 0, 1_000)
    assert (random_bits(KEY, first, 101) == random_bits(KEY, 0, 2_000)[first : first + 101]).all()
    assert (random_bits(KEY, 0, 1_000) == complete).all()


def test_chances_are_even_and_of_their_key():
    """Even, and unlike those of another key or of the next item."""
    first, other = random_bits(KEY, 0, 20_000), random_bits(new_key(np.random.default_rng(1)), 0, 20_000)
    assert kstest(first / 2**32, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.03
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.03


def test_nothing_is_asked_for():
    """A block may have no items."""
    assert random_bits(KEY, 5, 0).size == 0


def test_keys_follow_the_stream():
    """The same stream gives the same keys."""
    first, other = np.random.default_rng(3), np.random.default_rng(3)
    assert (new_key(first) == new_key(other)).all()
    assert (new_key(first) != KEY).any()


J, K = 6, 2


def judged(lengths, cells=None, gold=None):
    """Return a block whose items have so many judgments, by chance or given."""
    rng, items = np.random.default_rng(len(lengths)), len(lengths)
    start = np.r_[0, np.cumsum(lengths)]
    cell = rng.integers(0, J * K, start[-1]).astype(np.uint32) if cells is None else np.asarray(cells, np.uint32)
    reference = np.full(items, -1, np.int32) if gold is None else np.asarray(gold, np.int32)
    topic = rng.integers(0, 3, items).astype(np.int32)
    return Block(start, cell, (cell % K).astype(np.int32), topic, reference, np.empty(0), J, K, np.arange(2.0))


def swept(block, seed=0):
    """Return what a sweep finds under some parameters, the truths it drew, and these parameters."""
    rng, items = np.random.default_rng(seed), block.topic.size
    prevalence, confusion = rng.dirichlet([2, 2], 3), rng.dirichlet([1, 1], (J, 2))
    probability, drawn = np.zeros((items, 2)), np.empty(items, np.int32)
    chance = rng.integers(0, 2**32, items, dtype=np.uint32)
    truth, label = OddsSweep(block)(prevalence, confusion, chance, probability, drawn)
    return truth, label, probability, drawn, (prevalence, confusion)


@pytest.mark.parametrize("common", [1, 2, 3, 5, 12, 13, 30])
def test_equal_to_the_posterior_whatever_the_commonest_length(common):
    """The loop compiled for the commonest length and the one for any other both give p(truth | labels)."""
    lengths = [common] * 40 + list(range(35))
    gold = np.where(np.arange(75) % 9 == 0, np.arange(75) % 2, -1)
    block = judged(np.random.default_rng(1).permutation(lengths), gold=gold)
    truth, label, probability, drawn, params = swept(block)
    np.testing.assert_allclose(probability, truth_posterior(block, *params)[0], rtol=1e-10)
    counted = count(block, np.eye(2)[drawn], topics=3)
    np.testing.assert_array_equal(truth, counted.truth)
    np.testing.assert_array_equal(label, counted.label)
    assert (drawn[gold >= 0] == gold[gold >= 0]).all()


def test_products_that_leave_the_range_of_numbers_on_their_way():
    """Ten thousand judgments for one truth and then as many against it leave what the others say."""
    one_way, other_way = [0] * 10_000, [1] * 10_000
    cells = [*one_way, *other_way, 2, *other_way, *one_way, 2, 2]
    block = judged([20_001, 20_001, 1], cells)._replace(topic=np.zeros(3, np.int32))
    prevalence, confusion = np.full((1, 2), 0.5), np.full((J, 2, 2), 0.5)
    confusion[0], confusion[1] = [[0.75, 0.25], [0.25, 0.75]], [[0.9, 0.1], [0.4, 0.6]]
    probability = np.zeros((3, 2))
    OddsSweep(block)(prevalence, confusion, np.zeros(3, np.uint32), probability, np.empty(0, np.int32))
    np.testing.assert_allclose(probability, [[0.9 / 1.3, 0.4 / 1.3]] * 3, rtol=1e-9)


def test_judgments_that_cannot_be_leave_no_nan():
    """Judges who never err and contradict each other cancel out."""
    confusion = np.repeat(np.eye(2)[None], J, axis=0)
    block = judged([4, 6], [0, 3, 5, 2, 1, 3, 5, 7, 9, 11])
    probability = np.zeros((2, 2))
    OddsSweep(block)(np.full((3, 2), 0.5), confusion, np.zeros(2, np.uint32), probability, np.empty(0, np.int32))
    np.testing.assert_allclose(probability, [[0.5, 0.5], [0, 1]], atol=1e-300)


@pytest.mark.parametrize(("labels", "planes"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (300, 9)])
def test_what_is_packed_comes_back(labels, planes):
    """For any number of labels, in as many planes as it takes, and any number of items."""
    for items in (1, 7, 8, 9, 100):
        truth = np.random.default_rng(items).integers(0, labels, items)
        bits = pack(truth, labels)
        assert bits.shape == (planes, -(-items // 8))
        np.testing.assert_array_equal(unpack(bits, items), truth)


def test_many_draws_at_once():
    """Chains and draws come first."""
    truth = np.random.default_rng(0).integers(0, 5, (2, 3, 21))
    bits = np.stack([[pack(draw, 5) for draw in chain] for chain in truth])
    np.testing.assert_array_equal(unpack(bits, 21), truth)

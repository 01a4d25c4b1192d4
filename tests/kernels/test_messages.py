"""Messages of single items, by hand."""

import numpy as np

from adjudge.kernels.block import Block, split
from adjudge.kernels.messages import in_units, pass_messages


def block(start, judge, label, judges, weight=(), gold=None):
    """Return a block of judgments with two labels."""
    judge, label, items = np.array(judge), np.array(label), len(start) - 1
    known = np.full(items, -1) if gold is None else np.array(gold)
    topic, value = np.zeros(items, np.int32), np.arange(2.0)
    return Block(np.array(start), judge * 2 + label, label, topic, known, np.array(weight, float), judges, 2, value)


def test_the_first_round_is_the_vote():
    """Every judge hears the vote of the others, times her own."""
    told = block([0, 3], [0, 1, 2], [1, 1, 0], judges=3)
    sums, score = pass_messages(told, np.empty((3, 0, 2)), 1)
    np.testing.assert_array_equal(score, [[1, 3]])
    np.testing.assert_array_equal(sums[:, 0], [[0, 0], [0, 0], [-2, 2]])  # 1 - 1, 1 - 1, and -(1 + 1)


def test_repeats_are_one_vote():
    """A judgment twice is a judgment of weight two, and one of each label is none."""
    twice = block([0, 5], [0, 0, 1, 2, 2], [1, 1, 0, 0, 1], judges=3)
    weighed = block([0, 3], [0, 1, 2], [1, 0, 0], judges=3, weight=[2, 1, 0])
    for ours, theirs in zip(*(pass_messages(b, np.empty((3, 0, 2)), 1) for b in (twice, weighed)), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_gold_speaks_with_all_its_judges_voices():
    """Three votes of one each: the message has size three, whatever they said."""
    known = block([0, 3], [0, 1, 2], [1, 1, 0], judges=3, gold=[0])
    sums, score = pass_messages(known, np.empty((3, 0, 2)), 1)
    np.testing.assert_array_equal(score, [[-3, 3]])
    np.testing.assert_array_equal(sums[:, 0, 0], [-3, -3, 3])


def test_sums_of_blocks_add_up():
    """Two halves give the sums of the whole."""
    rng = np.random.default_rng(0)
    whole = block(np.arange(0, 61, 3), rng.integers(5, size=60), rng.integers(2, size=60), judges=5)
    history = in_units(pass_messages(whole, np.empty((5, 0, 2)), 1)[0])
    parts = [pass_messages(part, history, 2)[0] for part in split(whole, 2)]
    assert len(parts) == 2
    np.testing.assert_allclose(sum(parts), pass_messages(whole, history, 2)[0])


def test_units():
    """The largest sum is one, what rounding left is zero, and where nothing was said the unit is one."""
    sums = np.array([[[4.0, 4.0], [0.0, 0.0]], [[-8.0, 9.0], [0.0, 0.0]], [[1e-15, 3.0], [0.0, 0.0]]])
    history = in_units(sums)
    np.testing.assert_array_equal(history[:, 0], [[0.5, 8], [-1, 8], [0, 8]])
    np.testing.assert_array_equal(history[:, 1], [[0, 1]] * 3)

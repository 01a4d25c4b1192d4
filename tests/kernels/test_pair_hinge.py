"""The squared hinge over pairs, against the pairs themselves."""

from itertools import combinations

import numpy as np
import pytest

from adjudge.kernels.pair_hinge import LEAST, MEAN, PRODUCT, UPPER, curve, loss_and_pull, pairs
from adjudge.learn.pairs import paired

WAYS = {"mean": lambda a, b: (a + b) / 2, "product": lambda a, b: a * b, "min": min, "positive": lambda a, b: a}


def listed(found, way):
    """Return every pair as (above, below, weight), of rows in their order."""
    rows = found.rows
    group = rows.end
    every = [(i, j) for i, j in combinations(range(found.order.size), 2) if group[i] == group[j]]
    return [
        (i, j, way(rows.weight[i], rows.weight[j]) * (rows.target[i] - rows.target[j] if rows.soft else 1.0))
        for i, j in every
        if rows.target[i] > rows.target[j]
    ]


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("how", WAYS)
def test_sums_are_those_of_the_pairs_one_by_one(how, soft):
    """Loss, pull, curve, the number of pairs and their weight, of grades in groups that are mixed."""
    rng = np.random.default_rng(1)
    y, groups, weight = rng.integers(0, 4, 60) / 3, rng.integers(0, 7, 60), rng.random(60) * (rng.random(60) > 0.2)
    found = paired(y, groups, weight, pair_weight=how, soft=soft)
    score, move = rng.normal(size=60), rng.normal(size=(60, 2))
    loss, pull, lost = 0.0, np.zeros(60), np.zeros((60, 2))
    every = listed(found, WAYS[how])
    for i, j, f in every:
        slack = max(0.0, 1 - score[i] + score[j])
        loss += f * slack**2
        pull[i] += f * slack
        pull[j] -= f * slack
        lost[i] += f * (move[i] - move[j]) * (slack > 0)
        lost[j] -= f * (move[i] - move[j]) * (slack > 0)
    assert loss_and_pull(found.rows, score) == (pytest.approx(loss), pytest.approx(pull))
    assert curve(found.rows, score, move) == pytest.approx(lost)
    assert pairs(found.rows) == (sum(f > 0 for *_, f in every), pytest.approx(sum(f for *_, f in every)))


def test_the_ways_have_numbers():
    """Which kernels know."""
    assert (MEAN, PRODUCT, LEAST, UPPER) == (0, 1, 2, 3)

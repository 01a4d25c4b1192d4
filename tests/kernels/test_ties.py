"""Expected measures over ties against every order of the tied documents."""

from itertools import permutations, product

import numpy as np
import pytest

from adjudge.kernels import ranking, ties

WORTH = np.array([0.0, 1.0, 2.0])
NAMES = ["average_precision", "reciprocal_rank", "precision", "recall", "normalised_gain"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cut", [1, 3, 5, 1000])
@pytest.mark.parametrize("ends", [[7], [2, 3, 7], [1, 5, 7], [1, 2, 3, 4, 5, 6, 7]])
def test_the_mean_of_all_orders(name, cut, ends):
    """Seven documents of which some are tied, in ten draws of labels, one of them without a relevant document."""
    rng = np.random.default_rng(cut)
    code = rng.integers(0, 3, (9, 10)).astype(np.uint16)
    code[:, 0] = 0
    order, count = rng.permutation(9)[:7], ranking.held(code, 3)
    begins = [0, *ends[:-1]]
    groups = [list(permutations(order[b:e])) for b, e in zip(begins, ends, strict=True)]
    orders = [np.array([d for group in chosen for d in group]) for chosen in product(*groups)]
    plain = getattr(ranking, name)
    exact = np.mean([plain(code, each, WORTH, count, 1.0, cut) for each in orders], axis=0)
    found = getattr(ties, name)(code, order, np.array(ends), WORTH, count, 1.0, cut)
    np.testing.assert_allclose(found, exact, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_ranked_is_zero(name):
    """A run that returns nothing has 0 everywhere."""
    code, nothing = np.ones((3, 2), np.uint16), np.empty(0, np.int64)
    assert getattr(ties, name)(code, nothing, nothing, WORTH, ranking.held(code, 3), 1.0, 5).tolist() == [0, 0]

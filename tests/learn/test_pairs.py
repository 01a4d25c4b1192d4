"""Pairs of rows, checked and counted."""

from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from adjudge.learn.pairs import (
    LEAST,
    MEAN,
    PAIR_WEIGHTS,
    PRODUCT,
    UPPER,
    NothingToLearn,
    concordance,
    constant_features,
    count_pairs,
    curve,
    differences,
    group_codes,
    groups_without_pairs,
    loss_and_pull,
    make_pairs,
    row_weights,
)


def test_groups_need_not_stand_together():
    """Rows of a group may be anywhere."""
    y = np.array([1, 0, 0, 1, 0, 1])
    mixed = make_pairs(y, ["a", "b", "a", "b", "a", "c"])
    assert (mixed.number, mixed.groups, mixed.without) == (3, 3, 1)
    assert groups_without_pairs(mixed) == (
        "1 of 3 groups have no pair, because all their rows have the same target (none or all relevant): "
        "nothing is learned from them"
    )
    assert groups_without_pairs(make_pairs([0, 1])) is None


def test_groups_are_numbered_as_they_appear():
    """And without any all rows are of one."""
    code, count = group_codes(["b", "a", "b"], 3)
    assert (code.tolist(), count) == ([0, 1, 0], 2)
    assert group_codes(None, 2)[1] == 1
    code, count = group_codes(["b", 1, "1", "b"], 4)  # kinds that do not sort, and a number that is no text
    assert (code.tolist(), count) == ([0, 1, 2, 0], 3)


@pytest.mark.parametrize("how", PAIR_WEIGHTS)
@pytest.mark.parametrize("soft", [False, True])
def test_difference_vectors_are_of_all_pairs_that_weigh_something(how, soft):
    """Each is the row above less the row below, with the pair's weight."""
    rng = np.random.default_rng(0)
    X, y, g = rng.normal(size=(30, 3)), rng.integers(0, 3, 30) / 2, rng.integers(0, 4, 30)
    weight = rng.random(30) * (rng.random(30) > 0.3)
    ways = {"mean": lambda a, b: (a + b) / 2, "product": np.multiply, "min": min, "positive": lambda a, b: a}
    expected = {}
    for i in range(30):
        for j in range(30):
            f = ways[how](weight[i], weight[j]) * (y[i] - y[j] if soft else 1)
            if g[i] == g[j] and y[i] > y[j] and f > 0:
                expected[tuple((X[i] - X[j]).round(9))] = f
    vectors, f = differences(make_pairs(y, g, weight, pair_weight=how, soft=soft), X)
    assert len(f) == len(expected)
    assert all(expected[tuple(row)] == pytest.approx(own) for row, own in zip(vectors.round(9), f, strict=True))


def test_too_many_difference_vectors_are_refused():
    """With the solver that needs none."""
    with pytest.raises(NothingToLearn, match=r"^1 pairs of 3 features do not fit into memory: use solver='newton'"):
        differences(make_pairs([0, 1]), np.zeros((2, 3)), most=2)


def test_concordance_is_the_share_of_pairs_in_order():
    """A tie counts half, and pairs weigh the mean of their rows."""
    assert concordance([3, 2, 1], [1, 0, 0]) == 1
    assert concordance([1, 2, 1], [1, 0, 0]) == 0.25
    assert concordance([1, 2, 0], [1, 0, 0], None, [1, 3, 0]) == pytest.approx(0.5 / 2.5)
    assert concordance([1, 2, 5, 9], [1, 0, 1, 0], [0, 1, 1, 0]) == 0.5
    with pytest.raises(NothingToLearn, match=r"there are 3 targets for scores of the shape \(2,\)"):
        concordance([1, 2], [1, 0, 1])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([0, 1], [1]), r"groups have the shape \(1,\), expected one for each of 2 rows"),
        (([0, 1], [1, np.nan]), "the group of row 1 is NaN"),
        (([0, 1], ["a", None]), "the group of row 1 is None: give every row a group, a name or a number"),
        (([0, 1], ["a", np.nan]), "the group of row 1 is NaN"),
        (([0, 1], np.array(["a", np.nan], dtype=object)), "the group of row 1 is NaN"),
        (([0, 1], pl.Series(["a", None])), "the group of row 1 is None"),
        (([0, 1], pd.Series(["a", pd.NA], dtype=object)), "the group of row 1 is <NA>"),
        (([0, 1], np.array(["2020", "NaT"], dtype="M8[D]")), "the group of row 1 is NaT"),
        (([0, 1], [{}, {}]), "the group of row 0 is {}"),
        (([0, 1], [[1], [1, 2]]), r"the group of row 0 is \[1\]"),
        (([0, 1], [[1], [1]]), r"groups have the shape \(2, 1\)"),
        (([0, 1], [np.zeros((2, 2)), np.zeros((2, 3))]), "groups must be one name or number for each of 2 rows"),
        (([0, 1], "ab"), r"groups have the shape \(\)"),
        (([0, np.nan], [1, 1]), "the target of row 1 is nan, expected a finite number"),
        (([[0], [1]], [1, 1]), r"the targets have the shape \(2, 1\), expected one for each row"),
        ((["no", "yes"], [1, 1]), "the targets must be numbers, one for each row"),
        (({}, [1, 1]), "the targets must be numbers"),
        (([0, 1], None, ["a", 1]), "sample_weight must be numbers, one for each row"),
        (([0, 1], None, {}), "sample_weight must be numbers"),
        (([0, 1], None, [1, np.nan]), "sample_weight of row 1 is nan"),
        (([0, 1, 0], None, [1.7e308] * 3), "the sum of the weights of pairs overflows"),
        (([0, 1], None, [1]), r"sample_weight has the shape \(1,\), expected one for each of 2 rows"),
        (([0, 1], None, [1, -1]), "sample_weight of row 1 is -1.0, expected a number of at least 0"),
        (([0, 1], None, [1, np.inf]), "sample_weight of row 1 is inf"),
        (([0, 1], None, [0, 0]), "sample_weight is zero for all 2 rows: give at least one pair a weight above 0"),
        (([0, 1, 1], [0, 1, 1]), "none of 2 groups has a pair: in each, all rows have the same target"),
        (([0, 1, 1], [0, 0, 1], [0, 0, 1]), "all 1 pairs have the weight 0"),
        (([1],), "there is 1 sample only"),
    ],
)
def test_what_can_teach_nothing_is_refused(given, message):
    """With a sentence that says what and where, as scikit-learn's users expect it."""
    with pytest.raises(NothingToLearn, match=message) as refused:
        make_pairs(*given)
    assert isinstance(refused.value, ValueError)


def test_an_unknown_way_to_weigh_pairs_is_refused():
    """By naming those there are."""
    with pytest.raises(NothingToLearn, match="pair_weight 'max' is not one of 'mean', 'product', 'min', 'positive'"):
        make_pairs([0, 1], pair_weight="max")
    with pytest.raises(NothingToLearn, match=r"pair_weight '\['max'\]' is not one of"):
        make_pairs([0, 1], pair_weight=["max"])


def test_one_weight_holds_for_all_rows():
    """As in scikit-learn."""
    assert row_weights(2, 3).tolist() == [2, 2, 2]
    assert row_weights(None, 2).tolist() == [1, 1]


def test_features_of_which_no_pair_is_made_are_found():
    """Those with one value in every group, whatever the order of rows."""
    result = make_pairs([0, 1, 1, 0], ["a", "b", "a", "b"])
    X = np.array([[1.0, 5.0, 0.0], [2.0, 5.0, 1.0], [1.0, 5.0, 2.0], [2.0, 5.0, 1.0]])
    assert constant_features(result, X).tolist() == [True, True, False]


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
    result = make_pairs(y, groups, weight, pair_weight=how, soft=soft)
    score, move = rng.normal(size=60), rng.normal(size=(60, 2))
    loss, pull, lost = 0.0, np.zeros(60), np.zeros((60, 2))
    every = listed(result, WAYS[how])
    for i, j, f in every:
        slack = max(0.0, 1 - score[i] + score[j])
        loss += f * slack**2
        pull[i] += f * slack
        pull[j] -= f * slack
        lost[i] += f * (move[i] - move[j]) * (slack > 0)
        lost[j] -= f * (move[i] - move[j]) * (slack > 0)
    assert loss_and_pull(result.rows, score) == (pytest.approx(loss), pytest.approx(pull))
    assert curve(result.rows, score, move) == pytest.approx(lost)
    assert count_pairs(result.rows) == (sum(f > 0 for *_, f in every), pytest.approx(sum(f for *_, f in every)))


def test_the_ways_have_numbers():
    """Which kernels know."""
    assert (MEAN, PRODUCT, LEAST, UPPER) == (0, 1, 2, 3)

"""Skills from agreement: what they are, whom they withstand, and how many judges it takes."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.inference.params import accurate
from adjudge.kernels.block import Block, split
from adjudge.models import mmsr
from adjudge.models.mmsr import MODELS, agreements, compare_judges, completed, pairs_seen, signs


def crowd(skill, items=400, labels=3, seed=0):
    """Return the truths, and a table in which every judge labels every item, right with their own probability."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(labels, size=items)
    right = (np.asarray(skill) * (labels - 1) + 1) / labels
    wrong = (truth[:, None] + rng.integers(1, labels, (items, right.size))) % labels
    result = np.where(rng.random((items, right.size)) < right, truth[:, None], wrong)
    item, judge = np.indices(result.shape).reshape(2, -1)
    return truth, pl.DataFrame({"item": item, "judge": judge, "label": result.ravel()})


def test_skills_are_found():
    """To the error that 400 items leave, from agreement alone; who answers the reverse is below zero."""
    skill = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2, 0.0, -0.3])
    _, table = crowd(skill)
    result = adjudge.fit(table, "m-msr").judges["skill"].to_numpy()
    np.testing.assert_allclose(result[:7], skill[:7], atol=0.12)
    assert abs(result[7]) < 0.15
    assert result[8] < -0.15


def test_colluders_mislead_the_vote_and_not_the_model():
    """Of 21 judges 8 give the same wrong label together: the vote falls for them, trimmed means do not."""
    truth, table = crowd(np.full(21, 0.35), items=600, labels=2, seed=4)
    trick = np.random.default_rng(5).random(truth.size) < 0.5
    lie = pl.Series(np.where(trick, 1 - truth, truth))[table["item"].to_list()]
    table = table.with_columns(label=pl.when(pl.col("judge") < 8).then(lie).otherwise(pl.col("label")))
    accuracy = {
        model: (adjudge.fit(table, model).labels.sort("item")["label"].to_numpy() == truth).mean()
        for model in ("majority", "m-msr")
    }
    assert accuracy["m-msr"] > accuracy["majority"] + 0.03


def test_gold_counts_as_one_more_judge():
    """Two groups with opposite answers cannot be distinguished without gold; with gold they can."""
    result = [(i, j, (i + (j > 1)) % 2) for i in range(30) for j in range(4)]
    table = pl.DataFrame(result, schema=["item", "judge", "label"], orient="row")
    assert adjudge.fit(table, "m-msr").labels["probability"].to_list() == [0.5] * 30
    fit = adjudge.fit(table, "m-msr", gold={i: i % 2 for i in range(10)})
    assert fit.labels["label"].to_list() == [i % 2 for i in range(30)]


def test_whom_nobody_met_is_as_the_others():
    """A judge without common items has the typical skill; so has everybody where no two judges met."""
    _, table = crowd([0.8, 0.7, 0.6, 0.5])
    alone = pl.DataFrame({"item": [999], "judge": [9], "label": [0]})
    fit = adjudge.fit(pl.concat([table, alone]), "m-msr")
    skill = fit.judges["skill"].to_numpy()
    assert skill[4] == pytest.approx(skill[:4].mean())
    np.testing.assert_allclose(fit.params.population, fit.params.confusion[4])
    single = adjudge.fit(table.filter(pl.col("judge") == 0), "m-msr")
    np.testing.assert_allclose(single.params.confusion[0], accurate(1, 3).population)


def test_skills_are_kept_off_their_limits():
    """By 1/sqrt(I), so that votes have finite weights."""
    table = pl.DataFrame(
        [(i, j, i % 2) for i in range(25) for j in range(3)], schema=["item", "judge", "label"], orient="row"
    )
    assert adjudge.fit(table, "m-msr").judges["skill"].to_list() == pytest.approx([1 - 1 / 5] * 3)


def test_too_many_judges_are_refused(monkeypatch):
    """Before any memory is asked for, with models that take them."""
    none = np.empty(0, np.int32)
    many = Block(np.zeros(1, np.int64), none, none, none, none, np.empty(0), 8_001, 2, np.arange(2.0))
    monkeypatch.setattr(mmsr, "agreements", lambda block: pytest.fail("asked for memory"))
    with pytest.raises(UsageError) as error:
        compare_judges(many, accurate(1, 2))
    assert str(error.value) == (
        "model 'm-msr' compares every two judges, of 8,000 at most, and there are 8,001: "
        "'one-coin' and 'vote-weight' learn one skill a judge of any number"
    )


def test_it_is_counted_once():
    """One pass over the judgments is the whole story."""
    assert (MODELS[0].rounds, list(MODELS[0].starts)) == (0, ["agreement"])


NONE = 1e-3  # a skill that cannot be told from zero


def block(start, judge, label, judges, labels=2, weight=(), gold=None):
    """Return a block of judgments."""
    judge, label, items = np.array(judge), np.array(label), len(start) - 1
    reference = np.full(items, -1) if gold is None else np.array(gold)
    cell, topic, value = judge * labels + label, np.zeros(items, np.int32), np.arange(float(labels))
    return Block(np.array(start), cell, label, topic, reference, np.array(weight, float), judges, labels, value)


def seen(matrix, common=None):
    """Return the pairs of a matrix of agreements C, all with as many common items (or as ``common`` says)."""
    J = len(matrix)
    n = (np.full((J, J), 10.0) if common is None else common)[np.triu_indices(J, 1)]
    share = (np.asarray(matrix)[np.triu_indices(J, 1)] + 1) / 2  # C = 2 share - 1
    return pairs_seen(np.column_stack([share * n, n]), J, 2)


def test_pairs_are_counted_once_and_weights_multiply():
    """Pairs (0, 1), (0, 2), (0, gold), (1, 2), (1, gold), (2, gold): agreeing, and all."""
    counted = agreements(block([0, 3, 5], [0, 1, 2, 2, 0], [1, 1, 0, 1, 1], judges=3, weight=[1, 2, 3, 4, 5]))
    np.testing.assert_array_equal(counted, [[2, 2], [20, 23], [0, 0], [0, 6], [0, 0], [0, 0]])


def test_a_judge_does_not_agree_with_herself():
    """Repeats of a judge meet those of others, and never each other."""
    counted = agreements(block([0, 4], [0, 0, 0, 1], [1, 1, 0, 1], judges=2))
    np.testing.assert_array_equal(counted, [[2, 3], [0, 0], [0, 0]])


def test_gold_is_one_more_judge():
    """It has the last place."""
    counted = agreements(block([0, 2], [0, 1], [1, 0], judges=2, gold=[1]))
    np.testing.assert_array_equal(counted, [[0, 1], [1, 1], [0, 1]])


def test_agreements_of_blocks_add_up():
    """Two halves give the whole."""
    rng = np.random.default_rng(0)
    complete = block(np.arange(0, 61, 3), rng.integers(5, size=60), rng.integers(3, size=60), judges=5, labels=3)
    parts = split(complete, 2)
    assert len(parts) == 2
    np.testing.assert_array_equal(sum(map(agreements, parts)), agreements(complete))


def test_pairs_without_common_items_are_not_seen():
    """Rows hold co-judges from both sides, with C = K/(K - 1) share - 1/(K - 1)."""
    counted = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, 2.0]])  # (0, 1), (0, 2), (1, 2)
    pairs = pairs_seen(counted, 3, 3)
    np.testing.assert_array_equal(pairs.start, [0, 1, 3, 4])
    np.testing.assert_array_equal(pairs.other, [1, 0, 2, 1])
    np.testing.assert_allclose(pairs.agreement, [0.625, 0.625, -0.5, -0.5])
    np.testing.assert_array_equal(pairs.common, [4, 4, 2, 2])


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_matrix_of_rank_one_is_completed(missing):
    """Sizes and signs come out as they went in, with pairs missing as well."""
    rng = np.random.default_rng(1)
    skill = rng.uniform(0.2, 0.95, 15) * np.where(np.arange(15) < 4, -1, 1)
    common = np.where(rng.random((15, 15)) < missing, 0.0, 10.0)
    pairs = seen(np.outer(skill, skill), common)
    np.testing.assert_allclose((size := completed(pairs, NONE)) * signs(pairs, size), skill, atol=1e-4)


def test_extremes_are_trimmed():
    """A judge in five whose agreements are made up moves the skills of the others by nothing."""
    rng = np.random.default_rng(2)
    skill = rng.uniform(0.4, 0.9, 20)
    matrix = np.outer(skill, skill)
    matrix[:4] = rng.uniform(-1, 1, (4, 20))
    matrix[:, :4] = matrix[:4].T
    np.testing.assert_allclose(completed(seen(matrix), NONE)[4:], skill[4:], atol=1e-4)


@pytest.mark.parametrize("half", [1, 3])
def test_of_two_camps_of_the_same_size_none_is_chosen(half):
    """Not by rounding either: all have the same sign, or none."""
    camp = np.repeat([1.0, -1.0], half)
    sign = signs(seen(0.7 * np.outer(camp, camp)), np.full(2 * half, 0.7))
    assert (sign == sign[0]).all()
    assert sign[0] == (half > 1)


def test_groups_that_never_met_have_signs_of_their_own():
    """The majority of each is on the crowd's side."""
    camp = np.array([1.0, 1, -1, -1, 1, 1])
    apart = np.kron(np.eye(2), np.ones((3, 3)))
    np.testing.assert_array_equal(signs(seen(np.outer(camp, camp), 10 * apart), np.ones(6)), camp)


def test_nobody_met():
    """Without pairs sizes are the least there is, and everybody is on the crowd's side."""
    pairs = pairs_seen(np.zeros((3, 2)), 3, 2)
    np.testing.assert_allclose(completed(pairs, 0.1), 0.1)
    np.testing.assert_array_equal(signs(pairs, np.ones(3)), 1)

"""Correlated errors: zero for independent judges, above zero for shared errors, and sums over pairs by hand."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference.correlation import TYPICAL, correlation_of, effective_judges, fleiss_kappa
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named
from adjudge.inference.params import Params
from adjudge.kernels.truth import label_counts

ROWS = [(0, 0, 0), (0, 1, 0), (0, 2, 1), (0, 3, 0), (1, 0, 1), (1, 1, 1), (1, 3, 1), (2, 1, 0), (2, 2, 1), (2, 3, 0)]


def judgments(rows, **more):
    """Return judgments from (item, judge, label)."""
    item, judge, label = zip(*rows, strict=True)
    return adjudge.read(pl.DataFrame({"item": item, "judge": judge, "label": label, **more}), labels=[0, 1])


def crowd(seed, shared, items=1500, judges=60, per_item=8):
    """Return two labels by judges who are right three times in four; a share of items has one answer for all."""
    rng = np.random.default_rng(seed)
    truth, judge = rng.integers(0, 2, items), np.argsort(rng.random((items, judges)), axis=1)[:, :per_item]
    right = rng.random(judge.shape) < 0.75
    together = rng.random(items) < shared
    right[together] = right[together, :1]
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    rows = {"item": np.repeat(np.arange(items), per_item), "judge": judge.ravel(), "label": label.ravel()}
    return adjudge.read(pl.DataFrame(rows))


def measured(data, **named):
    """Return the correlation under the confusions of the consensus model."""
    block = data.block()
    return correlation_of(block, infer(model_named("consensus"), data).params, label_counts(block), **named)


def test_kish_formula():
    """Independent judgments count in full, identical ones once."""
    n = np.array([1.0, 4.0, 10.0])
    np.testing.assert_allclose(effective_judges(n, 0.0), n)
    np.testing.assert_allclose(effective_judges(n, 1.0), 1.0)
    assert effective_judges(np.array(48.0), 0.2) == pytest.approx(48 / (1 + 47 * 0.2))


def test_kappa_is_that_of_agreement():
    """Fleiss' kappa of a complete table agrees with ``adjudge.agreement``."""
    data = judgments([(i, j, int((i * 7 + j * j) % 3 > 0)) for i in range(12) for j in range(4)])
    expected = dict(zip(*(adjudge.agreement(data).table[name] for name in ("measure", "value")), strict=True))
    fleiss = next(value for name, value in expected.items() if "fleiss" in name.lower())
    assert fleiss_kappa(label_counts(data.block())) == pytest.approx(fleiss)


def test_sums_over_pairs_by_hand():
    """The excess is what a loop over all pairs gives: agreement beyond the expected, given the others' posterior."""
    rng = np.random.default_rng(3)
    data = judgments(ROWS)
    params = Params(np.array([[0.3, 0.7]]), rng.dirichlet([2, 2], (4, 2)), np.full((2, 2), 0.5))
    above = disagreements = 0.0
    for item in range(3):
        rows = [(judge, label) for i, judge, label in ROWS if i == item]
        for (a, said_a), (b, said_b) in combinations(rows, 2):
            q = params.prevalence[0].copy()
            for judge, label in rows:
                q *= 1.0 if judge in (a, b) else params.confusion[judge, :, label]
            same = q / q.sum() @ (params.confusion[a] * params.confusion[b]).sum(axis=1)
            above += (said_a == said_b) - same
            disagreements += 1 - same
    block = data.block()
    assert list(data.judges) == [0, 1, 2, 3]
    assert correlation_of(block, params, label_counts(block)).excess == pytest.approx(above / disagreements)


@pytest.mark.parametrize("seed", range(4))
def test_independent_judges_have_no_excess(seed):
    """The excess is within three standard errors of zero, and the correlation small."""
    result = measured(crowd(seed, shared=0.0))
    assert abs(result.excess) < 3 * result.error
    assert result.errors < 0.1


def test_shared_errors_are_measured():
    """More items with one answer for all judges give a larger excess and a larger correlation."""
    results = [measured(crowd(7, share)) for share in (0.0, 0.15, 0.4)]
    assert results[0].excess < results[1].excess < results[2].excess
    assert results[0].errors < results[1].errors < results[2].errors
    assert results[2].excess > 3 * results[2].error


def test_rows_in_any_order():
    """The order of rows and the seed change nothing if items have few judgments."""
    order = np.random.default_rng(1).permutation(len(ROWS))
    first, other = judgments(ROWS), judgments([ROWS[n] for n in order])
    assert measured(first).errors == pytest.approx(measured(other).errors, abs=1e-12)
    assert measured(first, seed=5).errors == pytest.approx(measured(first).errors, abs=1e-12)


@pytest.mark.parametrize(("judges", "items"), [(6, 9), (40, 20)])
def test_many_judgments_of_few_and_of_many_judges(judges, items):
    """Of weights and repeats all pairs count as by hand, whether or not the agreement of judges is tabulated."""
    rng = np.random.default_rng(judges)
    rows = [(i, int(j), int(rng.integers(0, 2))) for i in range(items) for j in rng.permutation(judges)[:6]]
    rows += [(i, j, 1 - label) for i, j, label in rows[::7]]  # some judges give both labels
    weight = rng.choice([1.0, 1.0, 0.5, 2.0], len(rows))
    params = Params(np.array([[0.3, 0.7]]), rng.dirichlet([2, 2], (judges, 2)), np.full((2, 2), 0.5))
    data = judgments(rows, weight=weight)
    confusion = params.confusion[[int(name) for name in data.judges]]  # in the order of the judgments
    above = disagreements = 0.0
    for item in range(items):
        given = [(j, label, w) for (i, j, label), w in zip(rows, weight, strict=True) if i == item]
        for (a, said_a, by_a), (b, said_b, by_b) in combinations(given, 2):
            others = [each for each in given if each[0] not in (a, b)]
            if a == b or not others:
                continue
            q = params.prevalence[0].copy()
            for j, label, w in others:
                q = q * params.confusion[j, :, label] ** w
            same = q / q.sum() @ (params.confusion[a] * params.confusion[b]).sum(axis=1)
            above += by_a * by_b * ((said_a == said_b) - same)
            disagreements += by_a * by_b * (1 - same)
    block = data.block()
    result = correlation_of(block, params._replace(confusion=confusion), label_counts(block))
    assert result.excess == pytest.approx(above / disagreements)


def test_pairs_of_items_with_many_judgments_are_a_sample():
    """Judgments in another order give the same pairs, and another seed an excess within its error."""
    data = crowd(3, shared=0.3, items=120, judges=60, per_item=40)
    block, params = data.block(), infer(model_named("consensus"), data).params
    order = np.lexsort((np.random.default_rng(0).random(len(data)), data.item()))
    counts = label_counts(block)
    first = correlation_of(block, params, counts)
    other = correlation_of(block._replace(cell=block.cell[order], label=block.label[order]), params, counts)
    assert first.excess == pytest.approx(other.excess)
    again = correlation_of(block, params, counts, seed=4)
    assert again.excess != first.excess
    assert abs(again.excess - first.excess) < 2 * first.error


def test_a_weight_of_two_is_a_row_twice():
    """Repeats by one judge never count as the agreement of two."""
    twice, weighed = judgments([row for row in ROWS for _ in range(2)]), judgments(ROWS, weight=[2] * len(ROWS))
    assert measured(twice).excess == pytest.approx(measured(weighed).excess)


def test_what_cannot_be_measured():
    """Without pairs there is the usual correlation, and without a third judge kappa alone."""
    alone = measured(judgments([(i, i % 3, i % 2) for i in range(9)]))
    assert (alone.errors, alone.kappa, alone.excess) == (TYPICAL, None, None)
    pairs = measured(judgments([(i, j, (i + (i % 4 == 0) * j) % 2) for i in range(9) for j in range(2)]))
    assert pairs.excess is None
    assert pairs.errors == pytest.approx(0.02 + 0.55 * pairs.kappa)


def test_an_item_with_very_many_judgments():
    """Only some of them are compared: all pairs of 60,000 judgments would never end."""
    rng = np.random.default_rng(8)
    rows = {
        "item": np.r_[np.zeros(60_000), np.repeat([1, 2, 3], 4)],
        "judge": np.r_[np.arange(60_000), np.tile(np.arange(4), 3)],
    }
    result = measured(
        adjudge.read(pl.DataFrame({**rows, "label": rng.random(60_012) < 0.7}), item="item", judge="judge")
    )
    assert 0.01 <= result.errors <= 0.6

"""Predictive checks: they pass crowds from the model, and fail crowds that it cannot make."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.inference.chains import Run, sample
from adjudge.inference.fitted import as_fitted
from adjudge.inference.gibbs import diffuse, voted_by_chance, with_difficulty, with_priors
from adjudge.kernels.block import Block
from adjudge.kernels.replicate import count_agreement
from adjudge.kernels.sweep import Sweep
from adjudge.metrics.checks import check, mid_rank, predictive_check
from adjudge.metrics.predictive import loo, waic

ITEMS, JUDGES = 150, 10
FREE = np.ones((2, 2)) + 3 * np.eye(2)


def crowd(rng, right):
    """Return two labels by all judges on all items, right with these chances (I, J)."""
    truth = rng.integers(2, size=(ITEMS, 1))
    label = np.where(rng.random((ITEMS, JUDGES)) < right, truth, 1 - truth).reshape(-1).astype(np.uint8)
    cell = (np.tile(np.arange(JUDGES), ITEMS) * 2 + label).astype(np.uint32)
    topic, gold = np.zeros(ITEMS, np.int32), np.full(ITEMS, -1, np.int32)
    return Block(np.arange(ITEMS + 1) * JUDGES, cell, label, topic, gold, np.empty(0), JUDGES, 2, np.arange(2.0))


def fitted(block, rows=FREE, seed=0):
    """Return draws of the hybrid model."""
    step = with_priors(Sweep(block), rows, np.ones(2))
    with ThreadPoolExecutor(2) as pool:
        return sample(
            step, diffuse(partial(voted_by_chance, block), seed, 2), block.topic.size, Run(2, 100, 150), seed, pool
        )


def test_crowds_from_the_model_pass():
    """Of thirty crowds of judges who err on their own, p below .05 is no more often than one in twenty allows."""
    small, explained = [], 0
    for seed in range(30):
        rng = np.random.default_rng([1, seed])
        block = crowd(rng, rng.uniform(0.6, 0.95, JUDGES))
        result = predictive_check(fitted(block, seed=seed), block, seed=seed)
        assert result.explained == (not result.failed)
        explained += result.explained
        small.append(
            [(part.p < 0.05).mean() for part in (result.rate, result.agreement, result.overall, result.unanimous)]
        )
    assert (np.mean(small, axis=0) < 0.1).all()
    assert explained >= 29
    assert result.sentence.startswith("The model explains the crowd in all 4 checks (the smallest p is ")
    assert result.table["result"].to_list() == ["passed"] * 4


def test_p_is_even_where_the_posterior_has_not_seen_the_crowd():
    """Draws that are the very params a crowd was made from: now p is as often below any level as the level says."""
    rng, collected = np.random.default_rng(2), []
    confusion = np.repeat(np.array([[[0.8, 0.2], [0.3, 0.7]]]), JUDGES, axis=0)
    draws = fitted(crowd(rng, 0.7))
    true = draws._replace(
        prevalence=np.full_like(draws.prevalence, 0.5),
        confusion=np.broadcast_to(confusion, draws.confusion.shape),
    )
    for seed in range(150):
        truth = rng.integers(2, size=ITEMS)
        label = (rng.random((ITEMS, JUDGES)) < confusion[0, truth, 1][:, None]).reshape(-1).astype(np.uint8)
        block = crowd(rng, 0.7)
        block = block._replace(label=label, cell=(block.cell // 2 * 2 + label).astype(np.uint32))
        check = predictive_check(true, block, replications=100, seed=seed)
        collected.append(
            [check.overall.p, check.unanimous.p, check.agreement.p[0], check.rate.p[0, 0], check.agreements]
        )
    for level in (0.1, 0.5):  # within four standard errors
        below, error = (np.array(collected) < level).mean(axis=0), np.sqrt(level * (1 - level) / 150)
        assert (np.abs(below - level) < 4 * error + 0.02).all(), (level, below)


def test_items_that_are_hard_for_everybody_fail():
    """Half the items are easy and half a coin: all agree on more items than judges on their own could."""
    rng = np.random.default_rng(3)
    block = crowd(rng, np.where(rng.random((ITEMS, 1)) < 0.5, 0.97, 0.52))
    result = predictive_check(fitted(block), block)
    assert not result.explained
    assert result.overall.observed > result.overall.replicated
    assert result.overall.p < 0.05
    assert result.unanimous.observed > 1.5 * result.unanimous.replicated
    assert result.unanimous.p == pytest.approx(1 / 201)
    assert result.sentence.startswith(
        f"The model fails {len(result.failed)} of 4 checks, so it does not explain the crowd: "
    )
    assert "(p = 0.005)" in result.sentence
    assert result.table.row(1) == ("unanimous items", result.unanimous.p, "failed")
    often = f"({result.unanimous.observed:.1%}) than in crowds drawn from the model ({result.unanimous.replicated:.1%})"
    assert f"judges are unanimous more often {often}" in result.sentence


def test_a_small_p_value_is_a_failure():
    """A p of .015 of one check is not called an explanation, although there are four checks."""
    rng = np.random.default_rng(5)
    block = crowd(rng, 0.8)
    passed = predictive_check(fitted(block), block)
    assert passed.explained
    failed = passed._replace(unanimous=passed.unanimous._replace(p=np.array(0.015)))
    assert not failed.explained
    assert "fails 1 of 4 checks" in failed.sentence
    assert "(p = 0.015)" in failed.sentence


def test_items_of_differing_difficulty_explain_what_they_should():
    """A crowd whose items differ passes if the model has learned their difficulty, and fails otherwise."""
    rng = np.random.default_rng(3)
    block = crowd(rng, 1 / (1 + np.exp(-1.8 - 1.2 * rng.standard_normal((ITEMS, 1)))))
    assert not predictive_check(fitted(block), block).explained
    step = with_difficulty(Sweep(block), np.array([[2.0, 1], [1, 2]]), np.ones(2))
    starts = [start._replace(spread=np.ones(1)) for start in diffuse(partial(voted_by_chance, block), 0, 2)]
    with ThreadPoolExecutor(2) as pool:
        draws = sample(step, starts, block.topic.size, Run(2, 150, 150), 0, pool)
    assert predictive_check(draws, block).explained


def test_a_prior_that_lets_no_judge_be_herself_fails():
    """Three judges say 1 whatever they see; a prior worth 10,000 judgments insists that all are right at 90 %."""
    rng = np.random.default_rng(4)
    block = crowd(rng, 0.9)
    label = np.where(block.cell // 2 < 3, 1, block.label).astype(np.uint8)
    block = block._replace(label=label, cell=(block.cell // 2 * 2 + label).astype(np.uint32))
    strict = predictive_check(fitted(block, np.array([[9e3, 1e3], [1e3, 9e3]])), block)
    assert (strict.rate.p[:3] < 0.01).all()
    assert (strict.rate.p[3:] > 0.01).all()
    assert (strict.agreement.p[:3] < 0.01).all()
    failed = " ".join(strict.failed)
    assert "some judges agree with the others less or more than they should (p = 0.00" in failed
    assert "some judges give some labels less or more often than they should (p = 0.00" in failed
    assert predictive_check(fitted(block), block).explained


def test_tables_are_shares():
    """Rates sum to one, agreement is that of the counts; all judges together make the overall share."""
    rng = np.random.default_rng(5)
    block = crowd(rng, rng.uniform(0.6, 0.9, JUDGES))
    result, counts = predictive_check(fitted(block), block), count_agreement(block)
    np.testing.assert_allclose(result.rate.observed.sum(axis=1), 1)
    np.testing.assert_allclose(result.rate.replicated.sum(axis=1), 1)
    np.testing.assert_allclose(result.agreement.observed, counts.agreed / counts.paired)
    assert result.overall.observed == pytest.approx(result.agreement.observed.mean())  # as all have as many pairs
    assert result.rate.p.shape == (JUDGES, 2)
    assert result.agreement.p.shape == (JUDGES,)
    assert result.replications == 200


def test_who_shares_no_item_has_nothing_to_agree_on():
    """One judgment an item: rates are checked, agreement is not a number, and that is said."""
    rng = np.random.default_rng(6)
    block = crowd(rng, 0.8)
    alone = block._replace(
        start=np.arange(ITEMS + 1), cell=block.cell[::JUDGES].copy(), label=block.label[::JUDGES].copy()
    )
    result = predictive_check(fitted(alone), alone)
    assert np.isnan(result.agreement.p).all()
    assert np.isnan(result.unanimous.observed)
    assert np.isfinite(result.rate.p[0]).all()
    assert np.isnan(result.rate.p[1:]).all()
    assert result.sentence == "The model cannot be checked: no item has two judges."


def test_the_seed_decides():
    """The same seed gives the same p; another may not."""
    block = crowd(np.random.default_rng(7), 0.8)
    draws = fitted(block)
    first, same, other = (predictive_check(draws, block, seed=s).rate.p for s in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


def test_ranks_never_end_at_zero_or_one():
    """What was observed counts as one of all, and half of what equals it lies below."""
    assert mid_rank(np.array([5.0, 1, 2, 3])) == 3.5 / 4
    assert mid_rank(np.array([5.0, 5, 5, 5])) == 0.5
    assert mid_rank(np.array([0.0, 1, 2, 0])) == 1 / 4


def test_too_few_replications_are_refused():
    """A p-value below .05 must rest on more than one or two replications."""
    block = crowd(np.random.default_rng(8), 0.8)
    with pytest.raises(UsageError, match="replications 79 is too few: give at least 80"):
        predictive_check(fitted(block), block, replications=79)


@pytest.mark.filterwarnings("ignore:.*have not converged")
def test_check_holds_what_its_functions_find():
    """Convergence, predictive check, LOO and WAIC; with another fit, the difference."""
    judgments = adjudge.dataset("anesthesia")
    run = adjudge.Run(2, 100, 200)
    fit, other = (adjudge.fit(judgments, "hybrid-confusion", inference="gibbs", run=run, seed=s) for s in (1, 2))
    result = check(fit, judgments, other)
    block = as_fitted(fit, judgments)
    assert result.loo.elpd == loo(fit.draws, block).elpd
    assert result.waic.elpd == waic(fit.draws, block).elpd
    assert result.crowd.sentence == predictive_check(fit.draws, block).sentence
    assert result.difference.elpd == pytest.approx(result.loo.elpd - loo(other.draws, block).elpd)
    assert result.parameters["r_hat"].drop_nans().is_sorted(descending=True)
    assert result.table["measure"].to_list() == ["PSIS-LOO", "WAIC"]
    assert repr(result).startswith(f"ModelCheck(hybrid-confusion: {fit.stopped}; ")
    with pytest.raises(UsageError, match="has no draws"):
        check(adjudge.fit(judgments, "majority"), judgments)

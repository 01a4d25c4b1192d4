"""A fit's judgments, ready to leave judges out."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.leave_out import (
    correctness,
    item_logs,
    leave_out,
    posterior_without_judge,
    softmax,
    topic_prevalence,
)
from adjudge.errors import UsageError
from adjudge.inference.model import MODELS
from adjudge.kernels.block import Block

CROWD = adjudge.simulate("ordinal", 3, items=80, judges=6, labels=2)
CLIMBED = [name for name in MODELS if "map" in MODELS[name].inferences]


@pytest.mark.parametrize("model", CLIMBED)
def test_every_model_can_be_asked(model):
    """Whatever its own parameters are, there are chances, and none is 0."""
    fit = adjudge.fit(CROWD.judgments, model, inference="map")
    observed = leave_out(fit, CROWD.judgments)
    assert observed.posterior().shape == (len(CROWD.judgments), 2)
    np.testing.assert_allclose(observed.posterior().sum(axis=1), 1)
    np.testing.assert_allclose(observed.confusion.sum(axis=2), 1, rtol=1e-6)
    assert (observed.confusion > 0).all()
    assert topic_prevalence(fit.params).shape[1] == 2


def test_a_judge_of_few_judgments_is_nearly_average():
    """One of many is nearly what the fit says."""
    fit = adjudge.fit(CROWD.judgments, "dawid-skene")
    default = fit.params.population / fit.params.population.sum(axis=1, keepdims=True)
    none = leave_out(fit, CROWD.judgments, np.zeros(6)).confusion
    np.testing.assert_allclose(none, np.broadcast_to(default, none.shape), atol=1e-5)
    np.testing.assert_allclose(
        leave_out(fit, CROWD.judgments, np.full(6, 1e9)).confusion, fit.params.confusion, atol=1e-6
    )


def test_a_vote_is_looked_at_through_matrices():
    """Those of hybrid-confusion, gold included: a vote's own matrices know nothing of how good the others are."""
    gold = {"i1": "0", "i2": "1"}
    vote = adjudge.fit(CROWD.judgments, "majority", gold=gold)
    other = adjudge.fit(CROWD.judgments, "hybrid-confusion", inference="map", gold=gold)
    observed, expected = leave_out(vote, CROWD.judgments), leave_out(other, CROWD.judgments)
    np.testing.assert_allclose(observed.posterior(), expected.posterior())
    np.testing.assert_array_equal(observed.block.gold[:2], [0, 1])
    np.testing.assert_array_equal(observed.posterior()[0], [1, 0])


def test_one_label_says_nothing():
    """Whoever can say one thing only is like everybody else."""
    judgments = adjudge.read(pl.DataFrame({"item": ["a", "a"], "judge": ["x", "y"], "label": ["yes", "yes"]}))
    with pytest.raises(UsageError, match="judges cannot be distinguished: their only label is 'yes'"):
        leave_out(adjudge.fit(judgments, "dawid-skene"), judgments)


def test_what_is_right_is_expected_by_a_matrix():
    """The probability that a label is the truth, and its mean and variance over the judge's possible labels."""
    others, matrix = np.array([[0.9, 0.1]]), np.array([[[0.8, 0.2], [0.3, 0.7]]])
    right = correctness(others, np.array([1]), matrix)
    chance = np.array([0.9 * 0.8 + 0.1 * 0.3, 0.9 * 0.2 + 0.1 * 0.7])
    mean = chance @ others[0]
    assert right.observed.tolist() == [0.1]
    np.testing.assert_allclose(right.chance[0], chance)
    np.testing.assert_allclose(right.mean, mean)
    np.testing.assert_allclose(right.variance, chance @ (others[0] - mean) ** 2)


J, K = 4, 3


def crowd(rng, items=30, weighted=False):
    """Return judgments of none to six by item, judges drawn with repeats, some items with gold."""
    size = rng.integers(0, 7, items)
    judge, label = rng.integers(J, size=size.sum()), rng.integers(K, size=size.sum()).astype(np.uint8)
    return Block(
        np.r_[0, size.cumsum()],
        (judge * K + label).astype(np.uint32),
        label,
        rng.integers(2, size=items).astype(np.int32),
        np.where(rng.random(items) < 0.2, rng.integers(K, size=items), -1).astype(np.int32),
        rng.uniform(0.5, 2, judge.size) if weighted else np.empty(0),
        J,
        K,
        np.arange(float(K)),
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_her_votes_are_left_out(weighted):
    """All of them if a judge labelled an item twice; gold does not change."""
    rng = np.random.default_rng(0)
    block = crowd(rng, weighted=weighted)
    prevalence, confusion = rng.dirichlet(np.ones(K), 2), rng.dirichlet(np.ones(K), (J, K))
    result = posterior_without_judge(block, item_logs(block, prevalence, confusion))
    judge, weight = block.cell // K, block.weight if weighted else np.ones(block.label.size)
    for i in range(block.topic.size):
        for n in range(block.start[i], block.start[i + 1]):
            chance = prevalence[block.topic[i]].copy()
            for m in range(block.start[i], block.start[i + 1]):
                if judge[m] != judge[n]:
                    chance *= confusion[judge[m], :, block.label[m]] ** weight[m]
            if block.gold[i] >= 0:
                chance = np.eye(K)[block.gold[i]]
            np.testing.assert_allclose(result[n], chance / chance.sum(), rtol=1e-10)


def test_an_impossible_label_is_left_out_again():
    """A matrix with zeros leaves no mark once the vote is gone."""
    block = Block(
        np.array([0, 2]),
        np.array([0, K], np.uint32),
        np.zeros(2, np.uint8),
        np.zeros(1, np.int32),
        np.full(1, -1, np.int32),
        np.empty(0),
        2,
        K,
        np.arange(3.0),
    )
    sure = np.stack([np.roll(np.eye(K), 1, axis=1), np.full((K, K), 1 / K)])
    result = posterior_without_judge(block, item_logs(block, np.array([[0.2, 0.3, 0.5]]), sure))
    np.testing.assert_allclose(result[0], [0.2, 0.3, 0.5], rtol=1e-9)


def test_softmax_takes_any_logs():
    """However far below zero."""
    np.testing.assert_allclose(softmax(np.array([[-1e6, -1e6 + np.log(3)]])), [[0.25, 0.75]])

"""What gold items teach: the mode of the posterior, its limits, and the average of the candidates."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import scipy.optimize

import adjudge
from adjudge.inference.calibration import GoldMap, mapped, smoothed_votes, softmax
from adjudge.inference.gold_map import (
    EXPERT,
    JUDGE_SPREADS,
    OFFSET_SPREAD,
    PERSON,
    PERSON_FEW,
    Design,
    MapPrior,
    fit_candidate,
    learn_map,
    map_prior,
    observed_cells,
    people_weights,
)

PRIOR = MapPrior(np.array([0.6, 0.4, 1.0, 2.0]), np.diag([0.5, 0.3, 1.0, 0.8]))


def crowd(seed, items=60, labels=3, judges=6, many=4):
    """Return gold items: their block, probabilities of a base, and truths."""
    rng = np.random.default_rng(seed)
    drawn = adjudge.simulate("dawid-skene", seed=seed, items=items, judges=judges, labels=labels, per_item=many)
    block = drawn.judgments.block()
    base = softmax(np.log(smoothed_votes(block)) + 0.3 * rng.standard_normal((items, labels)))
    return block, base, drawn.truth


def design_of(seed, **sizes):
    """Return the design of gold items with random features, and their number of judges."""
    block, _, truth = crowd(seed, **sizes)
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((truth.size, block.labels, 4))
    return Design(features, *observed_cells(block), truth), block


@pytest.mark.parametrize("shape", ["none", "weight", "labels"])
def test_the_gradient_is_that_of_the_objective(shape, monkeypatch):
    """At a random point, it equals finite differences of the penalised log loss, which is also computed by a loop."""
    design, block = design_of(1, items=20)
    objective = {}

    def remember(loss, start, **options):
        objective.update(loss=loss, size=start.size)
        return scipy.optimize.OptimizeResult(x=start)

    monkeypatch.setattr(scipy.optimize, "minimize", remember)
    fit_candidate(design, PRIOR, shape)
    loss, size = objective["loss"], objective["size"]
    judges = np.unique(design.cell // 3).size
    assert size == 4 + 3 + {"none": 0, "weight": judges, "labels": 3 * design.cell.size}[shape]
    point = np.random.default_rng(2).standard_normal(size)
    value, slope = loss(point)
    ahead = [(loss(point + 1e-6 * unit)[0] - loss(point - 1e-6 * unit)[0]) / 2e-6 for unit in np.eye(size)]
    np.testing.assert_allclose(slope, ahead, rtol=1e-5, atol=1e-5)

    weights, offsets, own = point[:4], point[4:7], point[7:]
    off = weights - PRIOR.mean
    expected = off @ np.linalg.inv(PRIOR.covariance) @ off / 2 + offsets @ offsets / (2 * OFFSET_SPREAD**2)
    if own.size:
        expected += own @ own * (block.cell.size / 20) / JUDGE_SPREADS[shape] ** 2 / 2
    names = np.unique(design.cell // 3)
    for i, truth in enumerate(design.truth):
        eta = design.features[i] @ weights + offsets
        for cell in block.cell[block.start[i] : block.start[i + 1]]:
            judge, label = divmod(int(cell), 3)
            if shape == "weight":
                eta[label] += own[np.searchsorted(names, judge)]
            elif shape == "labels":
                eta += own.reshape(-1, 3)[np.searchsorted(design.cell, cell)]
        expected -= eta[truth] - np.log(np.exp(eta).sum())
    assert value == pytest.approx(expected)


@pytest.mark.parametrize("shape", ["none", "weight", "labels"])
def test_the_mode_is_a_stationary_point(shape):
    """The slope by the weights and by the offsets, written out, is zero."""
    design, _ = design_of(3, items=40, labels=2, judges=4)
    fitted = fit_candidate(design, PRIOR, shape)
    q = softmax(fitted.logs(design))
    q[np.arange(40), design.truth] -= 1
    precision = np.linalg.inv(PRIOR.covariance)
    by_weights = np.einsum("gk,gkf->f", q, design.features) + precision @ (fitted.weights - PRIOR.mean)
    by_offsets = q.sum(axis=0) + fitted.offsets / OFFSET_SPREAD**2
    np.testing.assert_allclose(np.r_[by_weights, by_offsets], 0, atol=1e-3)


def test_a_prior_that_is_certain_is_kept():
    """With a huge precision, the weights are the mean of the prior, whatever gold says."""
    design, _ = design_of(4)
    certain = MapPrior(PRIOR.mean, 1e-12 * np.eye(4))
    np.testing.assert_allclose(fit_candidate(design, certain, "none").weights, PRIOR.mean, atol=1e-6)
    assert np.abs(fit_candidate(design, PRIOR, "none").weights - PRIOR.mean).max() > 0.1


def test_many_gold_items_recover_the_weights_that_made_them():
    """Truths are drawn from known weights and offsets, which are found again; offsets up to a constant."""
    rng = np.random.default_rng(5)
    weights, offsets = np.array([0.9, 0.5, -0.7, 0.2]), np.array([0.6, -0.2, -0.4])
    block, _, _ = crowd(5, items=20_000, judges=4)
    features = rng.standard_normal((20_000, 3, 4))
    chance = softmax(features @ weights + offsets)
    truth = (rng.random((20_000, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    fitted = fit_candidate(Design(features, *observed_cells(block), truth), PRIOR, "none")
    np.testing.assert_allclose(fitted.weights, weights, atol=0.05)
    np.testing.assert_allclose(fitted.offsets - fitted.offsets.mean(), offsets, atol=0.05)


def test_shares_sum_to_one_and_the_map_is_their_average():
    """The log odds of the map are those of the candidates, weighed by their shares."""
    block, base, truth = crowd(6, items=80)
    vote, tier = smoothed_votes(block), np.zeros(block.judges, np.int64)
    learned = learn_map(base, vote, block, truth, PRIOR, tier, keep=True)
    assert {*learned.shares} == {"base", "none", "weight", "labels"}
    assert sum(learned.shares.values()) == pytest.approx(1)
    assert min(learned.shares.values()) > 0
    cells, cell = observed_cells(block)
    features = np.stack([np.log(np.maximum(base, 1e-3)), np.log(vote), *np.zeros((2, *vote.shape))], axis=2)
    design = Design(features, cells, cell, truth)
    logs = learned.shares["base"] * features[:, :, 0]
    for shape in JUDGE_SPREADS:
        logs = logs + learned.shares[shape] * fit_candidate(design, PRIOR, shape).logs(design)
    np.testing.assert_allclose(mapped(learned.gold_map, base, vote, block), softmax(logs), atol=1e-9)
    assert sum(learned.gold_map.offsets) == pytest.approx(0)


def test_an_honest_base_is_kept_and_one_that_knows_nothing_is_not():
    """Truths that are drawn from the base leave it the largest share; without ``keep`` it has none."""
    block, base, _ = crowd(7, items=300)
    vote, tier = smoothed_votes(block), np.zeros(block.judges, np.int64)
    base = np.random.default_rng(7).permutation(base)  # judges say nothing that the base does not know
    truth = (np.random.default_rng(8).random((300, 1)) > base.cumsum(axis=1)).sum(axis=1)
    shares = learn_map(base, vote, block, truth, PRIOR, tier, keep=True).shares
    assert max(shares, key=shares.get) == "base"
    flat = np.full((300, 3), 1 / 3)
    peaked = np.random.default_rng(9).dirichlet(np.full(3, 0.1), 300)  # sure, and wrong
    assert learn_map(peaked, vote, block, truth, PRIOR, tier, keep=True).shares["base"] < 1e-6
    assert "base" not in learn_map(flat, vote, block, truth, PRIOR, tier, keep=False).shares


def test_judges_without_gold_have_zeros():
    """A judge of the crowd who judged no gold item adds nothing."""
    block, base, truth = crowd(8, items=80)
    more = block._replace(judges=block.judges + 2)  # two judges who judged other items only
    learned = learn_map(base, smoothed_votes(block), more, truth, PRIOR, np.zeros(more.judges, np.int64), keep=True)
    assert learned.gold_map.judges.shape == (more.judges, 3, 3)
    assert (learned.gold_map.judges[-2:] == 0).all()
    assert (learned.gold_map.judges[:-2] != 0).any(axis=(1, 2)).all()


def test_judges_whom_gold_does_not_reach_have_no_part():
    """If judges have less than half a judgment of a gold item on average, none has weights of their own."""
    block, base, truth = crowd(9, items=20)
    many = block._replace(judges=2 * block.cell.size + 2)
    learned = learn_map(base, smoothed_votes(block), many, truth, PRIOR, np.zeros(many.judges, np.int64), keep=True)
    assert {*learned.shares} == {"base", "none"}
    assert learned.gold_map.judges.size == 0


def test_the_reported_loss_is_of_gold_that_was_held_out():
    """It is that of as many further items, within four standard errors."""
    drawn = adjudge.simulate("dawid-skene", seed=10, items=1_000, judges=8, labels=2, per_item=3, accuracy=0.65)
    told = {drawn.judgments.items[i]: drawn.judgments.scale.labels[drawn.truth[i]] for i in range(300)}
    fit = adjudge.fit(drawn.judgments, gold=told)
    chance = fit.posterior[np.arange(300, 1_000), drawn.truth[300:]]
    losses = -np.log(np.maximum(chance, 1e-3))
    assert fit.calibration.gold == 300
    error = np.hypot(fit.calibration.error, losses.std() / np.sqrt(700))
    assert abs(fit.calibration.loss - losses.mean()) < 4 * error


def test_people_count_for_more_beside_few_machines():
    """Two machines cannot be measured by their agreement."""
    assert people_weights(5.0) == (PERSON, EXPERT)
    assert people_weights(2.0) == (PERSON_FEW, EXPERT)
    prior = map_prior((1.75, 3.0))
    assert prior.mean[2:].tolist() == [1.75, 3.0]
    assert np.linalg.eigvalsh(prior.covariance).min() > 0


@pytest.mark.parametrize("gold", [5, 6, 30])
def test_a_few_gold_items_are_enough(gold):
    """From five on they are used, kept certain, and the share of right labels does not fall below the vote's."""
    drawn = adjudge.simulate("dawid-skene", seed=gold, items=300, judges=20, labels=2, per_item=5)
    told = {drawn.judgments.items[i]: drawn.judgments.scale.labels[drawn.truth[i]] for i in range(gold)}
    fit, vote = adjudge.fit(drawn.judgments, gold=told), adjudge.fit(drawn.judgments, "majority")
    assert (fit.calibration.by, fit.calibration.gold) == ("gold", gold)
    assert (fit.posterior[np.arange(gold), drawn.truth[:gold]] == 1).all()
    right = [(each.label == drawn.truth)[gold:].mean() for each in (fit, vote)]
    assert right[0] >= right[1] - 0.02


@pytest.mark.parametrize("labels", [2, 3])
def test_exchanged_labels_are_found(labels):
    """If all judges mixed up the labels, 50 gold items of 200 give as many right labels as if they had not."""
    drawn = adjudge.simulate("dawid-skene", seed=1, items=200, judges=12, labels=labels, per_item=6)
    turned = (np.arange(labels) + 1) % labels
    right = []
    for exchange in (np.arange(labels), turned):
        names = drawn.judgments.scale.labels
        table = {
            "item": drawn.judgments.items.gather(drawn.judgments.item()),
            "judge": drawn.judgments.judges.gather(drawn.judgments.judge),
            "label": [names[code] for code in exchange[drawn.judgments.label]],
        }
        judgments = adjudge.read(pl.DataFrame(table), labels=names)
        truth = dict(zip(drawn.judgments.items, drawn.truth, strict=True))
        codes = np.array([truth[name] for name in judgments.items])
        fit = adjudge.fit(judgments, gold={name: names[truth[name]] for name in judgments.items[:50]})
        right.append((fit.label == codes)[50:].mean())
        assert fit.calibration.from_gold == (exchange[0] != 0)
    assert right[1] >= right[0] - 0.05
    assert "check whether labels are exchanged" in fit.calibration.words


def test_a_map_of_other_judges():
    """Judges keep their numbers by position; one who is unknown has zeros and is fitted."""
    learned = GoldMap((1.0, 0.0, 1.0, 1.0), (), np.arange(12.0).reshape(3, 2, 2), np.array([0, 1, 2]))
    other = learned.of_judges(np.array([2, -1, 0]))
    np.testing.assert_array_equal(other.judges, [learned.judges[2], np.zeros((2, 2)), learned.judges[0]])
    assert other.tier.tolist() == [2, 0, 0]
    assert replace(learned, judges=np.empty((0, 0, 0))).of_judges(np.array([0])).judges.size == 0

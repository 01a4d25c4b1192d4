"""Judges whose scores are linear in the truth: conditionals against closed forms, EM and Gibbs sampling on data."""

import numpy as np
import pytest

from adjudge.models import linear_judges as model
from adjudge.models.linear_judges import Draw, Judged, Lines, Population, anchor, run_em, start_of, sweep


def every_pair(items, judges):
    """Return item and judge of a complete table."""
    return np.repeat(np.arange(items), judges), np.tile(np.arange(judges), items)


def simulated(rng, items=40, judges=8, per_item=4, freedom=np.inf):
    """Return data drawn from the model with its priors, and the state that they were drawn from."""
    item = np.repeat(np.arange(items), per_item)
    judge = np.concatenate([rng.choice(judges, per_item, replace=False) for _ in range(items)])
    state = prior_draw(rng, items, judges, item.size, freedom)
    return Judged(item, judge, scores_of(rng, state, item, judge), items, judges, freedom=freedom), state


def prior_draw(rng, items, judges, count, freedom, expert=False):
    """Return a state drawn from the priors that the docstring of the module names."""
    spread, a, b = 0.5 / rng.standard_gamma(1), 0.05 / rng.standard_gamma(2), 0.05 / rng.standard_gamma(2)
    v, mu = rng.standard_gamma(1) / 3, rng.standard_normal()
    bias, scale = np.sqrt(a) * rng.standard_normal(judges), 1 + np.sqrt(b) * rng.standard_normal(judges)
    if expert:
        bias[-1], scale[-1] = 0.5 * rng.standard_normal(), 1 + 0.2 * rng.standard_normal()
    variance = 3 * v / rng.standard_gamma(3, judges)
    weight = rng.standard_gamma(freedom / 2, count) / (freedom / 2) if np.isfinite(freedom) else np.ones(count)
    truth = mu + np.sqrt(spread) * rng.standard_normal(items)
    return Draw(truth, bias, scale, variance, weight, Population(mu, spread, a, b, v))


def scores_of(rng, state, item, judge):
    """Return scores that the judges of a state give."""
    noise = np.sqrt(state.variance[judge] / state.weight) * rng.standard_normal(item.size)
    return state.bias[judge] + state.scale[judge] * state.truth[item] + noise


def test_equal_judges_give_the_shrunken_mean():
    """With the same known line and noise for all judges, the posterior of a truth is the shrunken mean."""
    item, judge = every_pair(3, 4)
    score = np.random.default_rng(0).normal(size=12)
    data = Judged(item, judge, score, 3, 4)
    none = np.zeros(4)
    lines = Lines(none, np.ones(4), none, none, none)
    mean, variance = model.truths_given_lines(data, np.full(12, 1 / 0.5), lines, Population(mu=0.2, truth=2.0))
    share = 2.0 / (2.0 + 0.5 / 4)
    np.testing.assert_allclose(mean, share * score.reshape(3, 4).mean(axis=1) + (1 - share) * 0.2)
    np.testing.assert_allclose(variance, 1 / (1 / 2.0 + 4 / 0.5))


def test_a_line_is_a_penalised_regression():
    """The mean and covariance of a judge's bias and scale are those of a Bayesian linear regression."""
    rng = np.random.default_rng(1)
    truth, score, precision = rng.normal(size=5), rng.normal(size=5), rng.uniform(0.5, 2, 5)
    data = Judged(np.arange(5), np.zeros(5, int), score, 5, 1)
    population = Population(bias_variance=0.3, scale_variance=0.2)
    lines = model.lines_given_truths(data, precision, truth, np.zeros(5), population)
    design, prior = np.column_stack([np.ones(5), truth]), np.diag([1 / 0.3, 1 / 0.2])
    covariance = np.linalg.inv(prior + design.T @ (precision[:, None] * design))
    mean = covariance @ (prior @ [0, 1] + design.T @ (precision * score))
    np.testing.assert_allclose([lines.bias[0], lines.scale[0]], mean)
    np.testing.assert_allclose(
        [lines.bias_variance[0], lines.scale_variance[0], lines.covariance[0]], [*np.diag(covariance), covariance[0, 1]]
    )


@pytest.mark.parametrize(("freedom", "expert"), [(np.inf, False), (4.0, False), (np.inf, True)])
def test_sweeps_and_new_scores_leave_the_prior_as_it_is(freedom, expert):
    """Geweke's joint test: sweeps alternated with new scores visit the prior, in the means of several functions."""
    items, judges = 3, 2 + expert
    item, judge = every_pair(items, judges)

    def functions(state):
        p = state.population
        first = (p.mu, np.log(p.truth), np.log(p.bias_variance), np.log(p.scale_variance), np.log(p.noise))
        return [
            *first,
            np.log(state.variance[0]),
            np.tanh(state.bias[0]),
            np.tanh(state.scale[-1]),
            state.weight[0] < 1,
        ]

    rng = np.random.default_rng(2)
    expected = np.array([functions(prior_draw(rng, items, judges, item.size, freedom, expert)) for _ in range(4_000)])
    data, visited = Judged(item, judge, np.zeros(item.size), items, judges, expert, freedom), []
    state = prior_draw(rng, items, judges, item.size, freedom, expert)
    for _ in range(12_000):
        data = data._replace(score=scores_of(rng, state, item, judge))
        state = sweep(data, state, rng)
        visited.append(functions(state))
    batches = np.array(visited).reshape(40, 300, -1).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / 40 + expected.var(axis=0) / len(expected))
    difference = batches.mean(axis=0) - expected.mean(axis=0)
    assert (np.abs(difference) < 4 * error + 1e-12).all(), difference / np.maximum(error, 1e-12)


def test_intervals_hold_the_truth_of_simulated_data():
    """Over data sets drawn from the model, 90 % intervals hold about 90 % of anchored truths, biases and scales."""
    rng = np.random.default_rng(3)
    held = []
    for _ in range(25):
        data, true = simulated(rng, items=30, judges=6)
        line, state, draws = anchor(data, true.bias, true.scale), start_of(run_em(data)), []
        for n in range(500):
            state = sweep(data, state, rng)
            if n >= 100:
                now = anchor(data, state.bias, state.scale)
                draws.append(np.concatenate([now.truth(state.truth), *now.lines(state.bias, state.scale)]))
        low, high = np.quantile(draws, (0.05, 0.95), axis=0)
        truth = np.concatenate([line.truth(true.truth), *line.lines(true.bias, true.scale)])
        held.append((low <= truth) & (truth <= high))
    assert 0.86 < np.mean(held) < 0.94


def test_em_agrees_with_gibbs_where_there_are_many_judgments():
    """With twenty judgments per item, means of both are the same but for Monte Carlo errors."""
    rng = np.random.default_rng(4)
    data, _ = simulated(rng, items=60, judges=20, per_item=20)
    found = run_em(data)
    state, total, count = start_of(found), np.zeros(60), 0
    for n in range(600):
        state = sweep(data, state, rng)
        if n >= 100:
            total += anchor(data, state.bias, state.scale).truth(state.truth)
            count += 1
    truth = anchor(data, found.lines.bias, found.lines.scale).truth(found.truth)
    assert np.abs(truth - total / count).max() < 0.05 * truth.std()
    assert found.converged


def test_parameters_are_recovered():
    """From 200 judgments per judge, biases, scales and noises are close to the true ones, on the anchored scale."""
    rng = np.random.default_rng(5)
    item, judge = every_pair(200, 6)
    bias, scale = np.array([0, 0.3, -0.3, 0.1, 0, -0.1]), np.array([1, 1.2, 0.8, 0.5, 1.4, 1.1])
    noise, truth = np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.4]), rng.normal(size=200)
    score = bias[judge] + scale[judge] * truth[item] + noise[judge] * rng.normal(size=1200)
    data = Judged(item, judge, score, 200, 6)
    found = run_em(data)
    line = anchor(data, found.lines.bias, found.lines.scale)
    np.testing.assert_allclose(line.lines(found.lines.bias, found.lines.scale)[1], scale / scale.mean(), atol=0.06)
    np.testing.assert_allclose(np.sqrt(found.noise_rate / found.noise_shape), noise, rtol=0.2)
    assert np.corrcoef(found.truth, truth)[0, 1] > 0.99


def test_a_judge_with_one_judgment_is_taken_for_a_typical_one():
    """Their line stays near that of the crowd, whatever they said."""
    rng = np.random.default_rng(6)
    data, _ = simulated(rng, items=60, judges=6)
    one = data._replace(
        item=np.r_[data.item, 0], judge=np.r_[data.judge, 6], score=np.r_[data.score, data.score.mean() + 5], judges=7
    )
    lines = run_em(one).lines
    assert abs(lines.scale[6] - 1) < 0.5
    assert np.sqrt(lines.scale_variance[6]) > np.sqrt(lines.scale_variance[:6]).max()


def test_the_expert_has_a_wide_prior_and_is_no_part_of_the_crowd():
    """An expert who scores half a unit below all judges is believed, and the crowd's spread does not learn from it."""
    rng = np.random.default_rng(7)
    item, judge = every_pair(80, 4)
    truth = rng.normal(size=80)
    score = 0.5 + truth[item] + 0.3 * rng.normal(size=320)
    data = Judged(item, judge, score, 80, 4)
    gold = Judged(
        np.r_[item, np.arange(20)], np.r_[judge, np.full(20, 4)], np.r_[score, truth[:20]], 80, 5, expert=True
    )
    found = run_em(gold)
    line = anchor(gold, found.lines.bias, found.lines.scale)
    assert abs((line.truth(found.truth) - truth)[20:].mean()) < 0.1
    np.testing.assert_allclose(found.population.bias_variance, run_em(data).population.bias_variance, rtol=0.1)

"""Minimax entropy: its climb, its limits, and what it recovers."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import adjudge
from adjudge.models import minimax, registry
from adjudge.models.base import accurate
from adjudge.models.minimax import ALPHA, BETA, MODELS, judge_terms

NAME = MODELS[0].name


def crowd(sigma, tau, truth, seed=0):
    """Return judgments of every judge on every item, labelled as the model says: sigma (J, K, K), tau (I, K)."""
    rng = np.random.default_rng(seed)
    label = np.argmax(sigma[:, truth] + tau + rng.gumbel(size=(len(sigma), *tau.shape)), axis=2)  # (J, I)
    j, i = np.indices(label.shape).reshape(2, -1)
    names = {"item": [f"i{n:03}" for n in i], "judge": [f"j{n:02}" for n in j]}
    return adjudge.read(pl.DataFrame({**names, "label": [f"l{n}" for n in label.ravel()]}))


def joint(place, b, alpha, beta):
    """Return the penalised log likelihood of prevalence, sigma and an item's tau under every truth, written out."""
    J, K, items = b.judges, b.labels, b.topic.size
    prior, sigma, tau = np.split(place, [K, K + J * K * K])
    sigma, tau = sigma.reshape(J, K, K), tau.reshape(items, K, K)
    logs = prior - logsumexp(prior) - beta / 2 * np.square(tau).sum(axis=2)  # (I, K)
    item = np.repeat(np.arange(items), np.diff(b.start))
    said = sigma[b.cell // K] + tau[item]  # (N, K, K)
    np.add.at(logs, item, said[np.arange(item.size), :, b.label] - logsumexp(said, axis=2))
    return logsumexp(logs, axis=1).sum() - alpha / 2 * np.square(sigma).sum()


@pytest.mark.parametrize("labels", [2, 3])
def test_the_summit_is_that_of_a_general_optimiser(labels):
    """From the same start, over everything at once, it finds neither more nor another answer."""
    rng = np.random.default_rng(labels)
    sigma = rng.normal(0, 0.5, (4, labels, labels)) + 2 * np.eye(labels)
    judgments = crowd(sigma, rng.normal(0, 0.5, (7, labels)), rng.permutation(np.arange(7) % labels))
    fit, b = adjudge.fit(judgments, NAME, tolerance=1e-12), judgments.block()
    begin = MODELS[0].estimate(MODELS[0].begins["vote"](b, accurate(4, labels)), accurate(4, labels))
    sigma = judge_terms(begin.confusion).ravel()
    start = np.r_[np.log(begin.prevalence[0]), sigma, np.zeros(7 * labels**2)]
    scaled = (b, ALPHA * labels**2, BETA * labels**2)
    best = minimize(lambda place: -joint(place, *scaled), start, method="L-BFGS-B", options={"maxfun": 500_000})
    assert fit.evidence[-1] == pytest.approx(-best.fun, abs=1e-3)
    found = softmax(best.x[labels : labels + sigma.size].reshape(4, labels, labels), axis=2)
    np.testing.assert_allclose(fit.params.confusion, found, atol=0.01)


def test_without_penalties_on_judges_or_tilts_of_items_it_is_dawid_skene(monkeypatch):
    """Rows of softmax are free matrices: the limit has the posterior of Dawid and Skene."""
    simulated = adjudge.simulate("dawid-skene", seed=4, items=300, judges=12, labels=3, per_item=6).judgments
    monkeypatch.setitem(registry.MODELS, NAME, minimax.minimax(alpha=1e-9, beta=1e9))
    limit, plain = (adjudge.fit(simulated, name, tolerance=1e-12) for name in (NAME, "dawid-skene"))
    np.testing.assert_allclose(limit.posterior, plain.posterior, atol=1e-4)
    np.testing.assert_allclose(limit.params.confusion, plain.params.confusion, atol=1e-3)


def test_plain_steps_rise_from_anywhere():
    """No leap, no luck: every single step from far-off judges raises the evidence."""
    judgments = adjudge.simulate("dawid-skene", seed=1, items=60, judges=6, labels=3, per_item=4).judgments
    b, model, rng = judgments.block(), MODELS[0], np.random.default_rng(0)
    for _ in range(5):
        params = accurate(6, 3)._replace(confusion=softmax(rng.normal(0, 6, (6, 3, 3)), axis=2))
        history = []
        for _ in range(10):
            tally = model.assign(b, params)
            history.append(tally.evidence + model.log_prior(params))
            params = model.estimate(tally, params)
        assert (np.diff(history) > -1e-9).all()


def test_leaps_change_how_fast_and_not_where():
    """The accelerated climb ends where plain steps end."""
    judgments = adjudge.simulate("dawid-skene", seed=3, items=200, judges=10, labels=2, per_item=5).judgments
    fast, plain = (adjudge.fit(judgments, NAME, accelerate=on, tolerance=1e-11) for on in (True, False))
    np.testing.assert_allclose(fast.posterior, plain.posterior, atol=1e-3)
    assert fast.passes < plain.passes


def test_a_judge_is_uniform_where_nothing_is_known_of_her():
    """Gold leaves a truth out: sigma is zero there, and the average judge's too where nobody met it."""
    rows = pl.DataFrame({"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": ["l0", "l0", "l1"]})
    fit = adjudge.fit(rows, NAME, gold={"a": "l0", "b": "l0"})
    np.testing.assert_allclose(fit.params.confusion[:, 1], 0.5)
    np.testing.assert_allclose(fit.params.population[1], 0.5)
    assert fit.params.confusion[1, 0, 0] > 0.5


def test_one_label_is_certain():
    """K = 1 leaves nothing to infer."""
    fit = adjudge.fit(pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "label": ["l", "l"]}), NAME)
    np.testing.assert_array_equal(fit.posterior, 1)
    np.testing.assert_array_equal(fit.labels["difficulty"], 0)


def test_judges_and_truths_are_recovered():
    """Items that tilt nothing cost little: matrices come out, and truths as often as Dawid and Skene's."""
    simulated = adjudge.simulate("dawid-skene", seed=7, items=2_000, judges=20, labels=3, per_item=7)
    fit, plain = (adjudge.fit(simulated.judgments, name) for name in (NAME, "dawid-skene"))
    assert np.abs(fit.params.confusion - simulated.confusion).mean() < 0.03
    right, usual = ((told.label == simulated.truth).mean() for told in (fit, plain))
    assert right > usual - 2 * np.sqrt(usual * (1 - usual) / 2_000)


def test_items_that_mislead_everybody_are_found_out():
    """Where items tilt labels as judges do, it is right more often than Dawid and Skene, and knows the hard ones."""
    rng = np.random.default_rng(5)
    truth, accuracy = rng.permutation(np.arange(300) % 2), []
    sigma = np.eye(2) * rng.uniform(-0.5, 4, 20)[:, None, None]
    tau = rng.normal(0, 1, (300, 1)) * [0.5, -0.5]
    judgments = crowd(sigma, tau, truth)
    for name in (NAME, "dawid-skene"):
        fit = adjudge.fit(judgments, name)
        accuracy.append((fit.label == truth).mean())
        if name == NAME:
            wrong = (judgments.label != truth[judgments.item()]).reshape(300, 20).mean(axis=1)
            assert np.corrcoef(wrong, fit.labels["difficulty"])[0, 1] > 0.8
    assert accuracy[0] >= accuracy[1]


def test_difficulty_is_how_often_the_average_judge_errs():
    """Unanimous items are easy, divided ones are harder, and all are chances."""
    votes = {"a": "0000", "b": "1111", "c": "0000", "d": "1111", "e": "0001", "f": "1110"}
    rows = [(item, f"j{j}", label) for item, labels in votes.items() for j, label in enumerate(labels)]
    hard = adjudge.fit(pl.DataFrame(rows, ["item", "judge", "label"], orient="row"), NAME).labels["difficulty"]
    assert hard.is_between(0, 1).all()
    assert hard[4] > hard[0]

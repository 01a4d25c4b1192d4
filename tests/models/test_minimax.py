"""Minimax entropy: its optimisation, its limits, and what it recovers."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import adjudge
from adjudge.inference import model as models
from adjudge.inference.params import accurate
from adjudge.kernels.block import Block, add, split
from adjudge.kernels.truth import truth_posterior
from adjudge.models import minimax
from adjudge.models.minimax import ALPHA, BETA, MODELS, judge_terms, tilt, tilted_posterior, tilted_tally

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
    result = sigma[b.cell // K] + tau[item]  # (N, K, K)
    np.add.at(logs, item, result[np.arange(item.size), :, b.label] - logsumexp(result, axis=2))
    return logsumexp(logs, axis=1).sum() - alpha / 2 * np.square(sigma).sum()


@pytest.mark.parametrize("labels", [2, 3])
def test_the_summit_is_that_of_a_general_optimiser(labels):
    """From the same start, over everything at once, it finds neither more nor another answer."""
    rng = np.random.default_rng(labels)
    sigma = rng.normal(0, 0.5, (4, labels, labels)) + 2 * np.eye(labels)
    judgments = crowd(sigma, rng.normal(0, 0.5, (7, labels)), rng.permutation(np.arange(7) % labels))
    fit, b = adjudge.fit(judgments, NAME, tolerance=1e-12), judgments.block()
    begin = MODELS[0].estimate(MODELS[0].starts["vote"](b, accurate(4, labels)), accurate(4, labels))
    sigma = judge_terms(begin.confusion).ravel()
    start = np.r_[np.log(begin.prevalence[0]), sigma, np.zeros(7 * labels**2)]
    scaled = (b, ALPHA * labels**2, BETA * labels**2)
    best = minimize(lambda place: -joint(place, *scaled), start, method="L-BFGS-B", options={"maxfun": 500_000})
    assert fit.evidence[-1] == pytest.approx(-best.fun, abs=1e-3)
    result = softmax(best.x[labels : labels + sigma.size].reshape(4, labels, labels), axis=2)
    np.testing.assert_allclose(fit.params.confusion, result, atol=0.01)


def test_without_penalties_on_judges_or_tilts_of_items_it_is_dawid_skene(monkeypatch):
    """Rows of softmax are free matrices: the limit has the posterior of Dawid and Skene."""
    simulated = adjudge.simulate("dawid-skene", seed=4, items=300, judges=12, labels=3, per_item=6).judgments
    monkeypatch.setitem(models.MODELS._load(), NAME, minimax.minimax(alpha=1e-9, beta=1e9))
    limit, plain = (adjudge.fit(simulated, name, tolerance=1e-12) for name in (NAME, "dawid-skene"))
    np.testing.assert_allclose(limit.posterior, plain.posterior, atol=1e-4)
    np.testing.assert_allclose(limit.params.confusion, plain.params.confusion, atol=1e-3)


def test_plain_steps_rise_from_anywhere():
    """Without acceleration, every single step from a distant start increases the log-likelihood."""
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
    """Accelerated EM ends where plain EM ends."""
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
    right, default = ((result.label == simulated.truth).mean() for result in (fit, plain))
    assert right > default - 2 * np.sqrt(default * (1 - default) / 2_000)


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


ITEMS, JUDGES, LABELS = 6, 4, 3


def block(rows, gold=None, weight=None, items=ITEMS, judges=JUDGES, labels=LABELS):
    """Return judgments (item, judge, label), sorted by item, as a block."""
    rows = np.array(rows, np.int64).reshape(-1, 3)
    start = np.r_[0, np.cumsum(np.bincount(rows[:, 0], minlength=items))]
    return Block(
        start,
        (rows[:, 1] * labels + rows[:, 2]).astype(np.uint32),
        rows[:, 2].astype(np.uint8),
        np.zeros(items, np.int32),
        np.full(items, -1, np.int32) if gold is None else np.array(gold, np.int32),
        np.empty(0) if weight is None else np.array(weight, float),
        judges,
        labels,
        np.arange(float(labels)),
    )


def case(seed, **more):
    """Return a random block with random params."""
    rng = np.random.default_rng(seed)
    rows = [(i, rng.integers(JUDGES), rng.integers(LABELS)) for i in range(ITEMS) for _ in range(rng.integers(0, 6))]
    matrices = rng.dirichlet(np.ones(LABELS), (JUDGES, LABELS))
    return block(rows, **more), rng.dirichlet(np.ones(LABELS), 1), matrices


def loss(tau, b, i, matrix, beta):
    """Return the penalised loss of a tilt of item i, whose judges have these rows under a truth (J, K)."""
    logs = np.log(matrix) + tau
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    judged = range(b.start[i], b.start[i + 1])
    times = b.weight if b.weight.size else np.ones(b.cell.size)
    return beta / 2 * tau @ tau - sum(times[n] * logs[b.cell[n] // b.labels, b.label[n]] for n in judged)


def solved(b, i, k, matrices, beta):
    """Return phi and exp(tau) of an item under a truth, by our kernel."""
    odds, room = np.empty(b.labels), np.empty((3, b.labels))
    first, last = b.start[i], b.start[i + 1]
    phi = tilt(first, last, b.cell, b.label, b.weight, matrices.reshape(-1), k, beta, odds, room)
    return phi, odds


@pytest.mark.parametrize("beta", [0.1, 2.0, 50.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_tilt_is_the_optimum(seed, beta):
    """A general optimiser finds the same tilt and the same likelihood, for every item and truth."""
    b, _, matrices = case(seed)
    for i in range(ITEMS):
        for k in range(LABELS):
            best = minimize(loss, np.zeros(LABELS), (b, i, matrices[:, k], beta), method="BFGS", options={"gtol": 1e-8})
            phi, odds = solved(b, i, k, matrices, beta)
            assert phi == pytest.approx(-best.fun, abs=1e-9)
            np.testing.assert_allclose(np.log(odds), best.x, atol=1e-4)


@pytest.mark.parametrize("beta", [0.01, 1.0])
def test_a_crowd_that_contradicts_its_matrices_is_met_by_a_tilt(beta):
    """Where the curvature at the start says nothing of the way ahead, steps are short enough and arrive."""
    b = block([(0, j % 4, 2) for j in range(400)], items=1)
    matrices = np.full((JUDGES, LABELS, LABELS), 1e-9) + np.eye(LABELS) * (1 - 3e-9)
    phi, odds = solved(b, 0, 0, matrices, beta)
    tau = np.log(odds)
    result = matrices[0, 0] * odds / (matrices[0, 0] @ odds)
    np.testing.assert_allclose(400 * (np.eye(LABELS)[2] - result), beta * tau, atol=1e-5)  # the gradient is zero
    assert phi == pytest.approx(400 * np.log(result[2]) - beta / 2 * tau @ tau)


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_said_less_expected_are_the_slope_of_the_evidence(weighted):
    """By differences in sigma: tau moves along and, being at its summit, adds nothing."""
    b, prevalence, matrices = case(3, gold=[-1, 2, -1, -1, -1, -1])
    b = b._replace(weight=np.random.default_rng(0).random(b.cell.size) * 3) if weighted else b
    result, expected = tilted_tally(b, prevalence, matrices, 2.0).label

    def evidence(j, k, y, change):
        moved = matrices.copy()
        moved[j, k, y] *= np.exp(change)
        moved[j, k] /= moved[j, k].sum()
        return tilted_tally(b, prevalence, moved, 2.0).evidence

    for j, k, y in np.ndindex(matrices.shape):
        slope = (evidence(j, k, y, 1e-5) - evidence(j, k, y, -1e-5)) / 2e-5
        assert (result - expected)[j, k, y] == pytest.approx(slope, abs=1e-5)


def test_items_that_cannot_tilt_are_those_of_dawid_and_skene():
    """With an infinite penalty, to rounding, posterior, evidence and difficulty are those of the matrices alone."""
    b, prevalence, matrices = case(4, gold=[-1, -1, 0, -1, -1, -1])
    result, evidence = tilted_posterior(b, prevalence, matrices, matrices[0], 1e14)
    posterior, plain = truth_posterior(b, prevalence, matrices)
    np.testing.assert_allclose(result[:, :LABELS], posterior, atol=1e-9)
    assert evidence == pytest.approx(plain, rel=1e-9)
    np.testing.assert_allclose(result[:, LABELS], posterior @ (1 - np.diag(matrices[0])), atol=1e-9)


def test_posterior_and_tally_tell_the_same():
    """Truths add up to the posterior's, labels expected are as many as those said, and the evidence is one."""
    b, prevalence, matrices = case(5)
    result, evidence = tilted_posterior(b, prevalence, matrices, matrices[0], 2.0)
    tally = tilted_tally(b, prevalence, matrices, 2.0)
    np.testing.assert_allclose(tally.truth[0], result[:, :LABELS].sum(axis=0))
    np.testing.assert_allclose(tally.label[0].sum(axis=2), tally.label[1].sum(axis=2))
    assert tally.label[0].sum() == pytest.approx(b.cell.size)
    assert tally.evidence == evidence


def test_blocks_add_up():
    """Tallies of blocks of items are those of the whole."""
    b, prevalence, matrices = case(6)
    complete = tilted_tally(b, prevalence, matrices, 2.0)
    parts = add(tilted_tally(part, prevalence, matrices, 2.0) for part in split(b, 3))
    np.testing.assert_allclose(parts.label, complete.label, atol=1e-12)
    assert parts.evidence == pytest.approx(complete.evidence)


def test_a_row_twice_is_a_row_of_weight_two():
    """A weight is how often a judgment counts."""
    _, prevalence, matrices = case(7)
    rows = [(0, 0, 1), (0, 1, 2), (3, 2, 0)]
    twice = tilted_tally(block([row for row in rows for _ in range(2)]), prevalence, matrices, 2.0)
    weighed = tilted_tally(block(rows, weight=[2, 2, 2]), prevalence, matrices, 2.0)
    np.testing.assert_allclose(twice.label, weighed.label, atol=1e-12)
    assert twice.evidence == pytest.approx(weighed.evidence)


def test_gold_and_nobodys_items():
    """A known truth has all the weight; an item nobody judged has the prevalence, and is as hard as items are."""
    b, prevalence, matrices = case(8, gold=[1, -1, -1, -1, -1, -1])
    b = b._replace(start=np.r_[b.start[:-1], b.start[-2]], cell=b.cell[: b.start[-2]], label=b.label[: b.start[-2]])
    result, _ = tilted_posterior(b, prevalence, matrices, matrices[0], 2.0)
    np.testing.assert_array_equal(result[0, :LABELS], [0, 1, 0])
    np.testing.assert_allclose(result[-1, :LABELS], prevalence[0])
    assert result[-1, LABELS] == pytest.approx(prevalence[0] @ (1 - np.diag(matrices[0])))


def test_every_topic_has_its_prevalence():
    """Items nobody judged show it."""
    b = block([], items=2)._replace(topic=np.array([1, 0], np.int32))
    prevalence = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    result, _ = tilted_posterior(b, prevalence, case(0)[2], np.eye(LABELS), 2.0)
    np.testing.assert_allclose(result[:, :LABELS], prevalence[::-1])

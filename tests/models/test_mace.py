"""MACE: its closed form against an optimiser and against the paper's EM, and recovery of spammers."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import digamma

import adjudge
from adjudge.inference.infer import infer
from adjudge.inference.options import Options
from adjudge.models import mace


def likelihood(chance, counts):
    """Return sum n_kl log((1 - s) 1(k = l) + s xi_l) for the chances of knowing and of spamming (1 + K)."""
    return (counts * np.log(chance[0] * np.eye(len(counts)) + chance[1:])).sum()


@pytest.mark.parametrize("seed", range(10))
def test_closed_form_is_the_maximum(seed):
    """No start of a general optimiser finds a better know-or-spam matrix."""
    rng = np.random.default_rng(seed)
    K = int(rng.integers(2, 6))
    counts = rng.gamma(0.5, 5, (K, K)) + 20 * rng.random() * np.eye(K)
    smoothed = counts + mace.SMOOTHING / K

    def loss(logits):
        shares = np.exp(logits - logits.max())
        return -likelihood(shares / shares.sum(), smoothed)

    best = min(minimize(loss, rng.normal(size=K + 1), tol=1e-12).fun for _ in range(4))
    assert likelihood(mace.knowing(counts[None])[0], smoothed) >= -best - 1e-6


def test_closed_form_is_where_the_papers_em_ends():
    """EM over whether each label was spam, repeated ten thousand times, comes to the same chances."""
    counts = np.array([[30.0, 4, 1], [2, 20, 3], [5, 1, 9]])
    smoothed = counts + mace.SMOOTHING / 3
    know, spam = 0.5, np.full(3, 0.5 / 3)
    for _ in range(10_000):
        knew = np.diag(smoothed) * know / (know + spam)
        know, spam = knew.sum() / smoothed.sum(), (smoothed.sum(axis=0) - knew) / smoothed.sum()
    np.testing.assert_allclose(mace.knowing(counts[None])[0], [know, *spam], atol=1e-9)


def test_a_judge_without_a_right_label_only_spams():
    """If all labels of a judge are wrong, the judge is a spammer with their own label distribution."""
    chance = mace.knowing(np.array([[[0.0, 8.0], [2.0, 0.0]]]))[0]
    np.testing.assert_allclose(chance, [0, 0.2, 0.8], atol=0.01)


def test_spammers_are_found():
    """Of simulated judges, five spam all the time with label b; the others know nine times in ten."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    rows = []
    for i, z in enumerate(truth):
        for j in rng.choice(15, 7, replace=False):
            knows = j >= 5 and rng.random() < 0.9
            rows.append((f"i{i}", f"j{j:02}", "abc"[z] if knows else "b" if j < 5 else "abc"[rng.integers(3)]))
    fit = adjudge.fit(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"), "mace")
    judges = fit.judges.sort("judge")
    assert (judges["p_spam"][:5] > 0.95).all()
    assert (judges["spam_b"][:5] > 0.95).all()
    assert (judges["p_spam"][5:] < 0.2).all()
    names = {f"i{i}": "abc"[z] for i, z in enumerate(truth)}
    assert np.mean([names[i] == k for i, k in zip(fit.labels["item"], fit.labels["label"], strict=True)]) > 0.97


def answers():
    """Return judgments of twelve judges, of whom four spam."""
    crowd = adjudge.simulate("carpenter", seed=4, topics=1, items=80, judges=12, judgments=400, gold=1)
    return crowd.judgments


def test_the_lower_bound_never_falls():
    """Plain steps of variational Bayes raise the evidence lower bound."""
    fit = infer(mace.variational(), answers(), None, Options(accelerate=False, tolerance=1e-12, iterations=200))
    assert (np.diff(fit.evidence) > -1e-8 * abs(fit.evidence[-1])).all()


def test_variational_bayes_ends_at_a_fixed_point():
    """Judgment by judgment: q(truth, spam) follows from the pseudo-counts, and they from it."""
    judgments, alpha, beta = answers(), 0.7, 1.5
    fit = infer(mace.variational(alpha, beta), judgments, None, Options(tolerance=1e-14))
    pseudo, item = np.exp(fit.params.skill), judgments.item()
    states = np.exp(digamma(pseudo[:, :2]) - digamma(pseudo[:, :2].sum(axis=1, keepdims=True)))
    labels = np.exp(digamma(pseudo[:, 2:]) - digamma(pseudo[:, 2:].sum(axis=1, keepdims=True)))
    expected = np.tile([alpha, beta, 10.0, 10.0], (len(pseudo), 1))
    posterior = np.ones((len(judgments.items), 2)) / 2
    for i, j, k in zip(item, judgments.judge, judgments.label, strict=True):
        posterior[i] *= states[j, 0] * labels[j, k] + states[j, 1] * (np.arange(2) == k)
    posterior /= posterior.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(fit.posterior, posterior, atol=1e-9)
    for i, j, k in zip(item, judgments.judge, judgments.label, strict=True):
        spam = states[j, 0] * labels[j, k]
        knows = posterior[i, k] * states[j, 1] / (spam + states[j, 1])
        expected[j] += [1 - knows, knows, *((np.arange(2) == k) * (1 - knows))]
    np.testing.assert_allclose(pseudo, expected, rtol=1e-5)

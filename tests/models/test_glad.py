"""GLAD: the grid against plain integration, recovery of abilities, and what is said of items."""

import numpy as np
import polars as pl
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

import adjudge
from adjudge.inference.params import Params
from adjudge.models.glad import EASE as HARD_EASE
from adjudge.models.glad import MODELS, PRIOR, abilities


def right(ability, log_ease):
    """Return the paper's chance of being right."""
    return np.exp(-np.logaddexp(0, -ability * np.exp(log_ease)))


@pytest.mark.parametrize("seed", range(5))
def test_ease_is_integrated_out(seed):
    """An item's posterior and evidence are those of numerical integration over log beta ~ N(1, 1)."""
    rng = np.random.default_rng(seed)
    result, ability = rng.integers(0, 3, 4), rng.normal(1, 0.7, 4)
    frame = pl.DataFrame({"item": ["i"] * 4, "judge": list("abcd"), "label": result})
    judgments = adjudge.read(frame, labels=[0, 1, 2])
    params = Params(np.full((1, 3), 1 / 3), np.empty((4, 3, 3)), np.empty((3, 3)), ability[:, None])
    answer, evidence = MODELS[0].posterior(judgments.block(), params)

    def joint(log_ease, k):
        chances = np.where(result == k, right(ability, log_ease), (1 - right(ability, log_ease)) / 2)
        return np.prod(chances) * np.exp(-((log_ease - 1) ** 2) / 2) / np.sqrt(2 * np.pi) / 3

    exact = np.array([quad(joint, -9, 9, args=(k,), limit=200)[0] for k in range(3)])
    np.testing.assert_allclose(answer[0, :3], exact / exact.sum(), atol=1e-3)
    assert evidence == pytest.approx(np.log(exact.sum()), abs=1e-3)


def test_the_grid_is_the_prior():
    """Mean and variance of log beta are one, and its weights sum to one."""
    logs = np.log(HARD_EASE)
    assert [PRIOR.sum(), PRIOR @ logs, PRIOR @ np.square(logs - 1)] == pytest.approx([1, 1, 1], abs=5e-3)


@pytest.fixture(scope="module")
def crowd():
    """Return judgments drawn from the model: 40 judges, 1,500 items, 6 judgments each; abilities, eases, truths."""
    rng = np.random.default_rng(5)
    ability, log_ease, truth = rng.normal(1, 1, 40), rng.normal(1, 1, 1_500), rng.integers(0, 3, 1_500)
    item = np.repeat(np.arange(1_500), 6)
    judge = np.concatenate([rng.choice(40, 6, replace=False) for _ in range(1_500)])
    knows = rng.random(item.size) < right(ability[judge], log_ease[item])
    label = np.where(knows, truth[item], (truth[item] + rng.integers(1, 3, item.size)) % 3)
    table = pl.DataFrame({"item": item, "judge": judge, "label": label})
    return adjudge.read(table, item="item", judge="judge"), ability, log_ease, truth


def test_abilities_and_difficulties_are_recovered(crowd):
    """What generated the judgments is found again, and labels are better than the vote's."""
    judgments, ability, log_ease, truth = crowd
    fit = adjudge.fit(judgments, "glad")
    order = [int(name) for name in fit.judge_names]
    result = fit.judges["ability"].to_numpy()
    assert np.corrcoef(result, ability[order])[0, 1] > 0.97
    assert np.abs(result - ability[order]).mean() < 0.2
    items = [int(name) for name in fit.items]
    assert np.corrcoef(np.log(fit.labels["difficulty"].to_numpy()), -log_ease[items])[0, 1] > 0.6
    vote = adjudge.fit(judgments, "majority")
    assert (fit.label == truth[items]).mean() > (vote.label == truth[items]).mean() + 0.02


EASE = np.exp(np.linspace(-3.5, 5.5, 9))


def loss(ability, right, wrong, mean, precision):
    """Return minus the log posterior of an ability."""
    odds = ability * EASE
    likelihood = -(right * np.logaddexp(0, -odds)).sum() - (wrong * np.logaddexp(0, odds)).sum()
    return -(likelihood - precision / 2 * (ability - mean) ** 2)


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_maximum(seed):
    """Few or many judgments, good or bad judges, easy or hard items: the optimiser finds nothing better."""
    rng = np.random.default_rng(seed)
    right, wrong = rng.gamma(0.3, 10 ** rng.uniform(-2, 3), (2, 9))
    right *= 10 ** rng.uniform(-3, 3)
    result = abilities(right[None], wrong[None], EASE, 1.0, 1.0)[0]
    best = minimize_scalar(
        loss, bounds=(-60, 60), args=(right, wrong, 1.0, 1.0), method="bounded", options={"xatol": 1e-9}
    )
    assert loss(result, right, wrong, 1.0, 1.0) <= best.fun + 1e-9 * abs(best.fun)


def test_newton_does_not_bounce_for_ever():
    """Counts on which plain Newton steps go to and fro between -3.5 and 1."""
    right = np.array([5.7e-6, 6.5e-4, 8.5e-3, 1.5e-2, 7.3e-4, 6.4e-9, 0, 0, 0])
    wrong = np.array([6.1e-6, 8.4e-4, 1.9e-2, 0.15, 0.42, 0.3, 0.077, 5.7e-3, 4.7e-5])
    assert abilities(right[None], wrong[None], EASE, 1.0, 1.0)[0] == pytest.approx(-0.15, abs=0.02)


def test_nothing_known_is_the_prior():
    """A judge without judgments has the prior's mean."""
    assert abilities(np.zeros((1, 9)), np.zeros((1, 9)), EASE, 1.0, 1.0).tolist() == [1.0]

"""The Gaussian model: its M-step against an optimiser, recovery, degrees, gold and what it refuses."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import truncnorm

import adjudge
from adjudge.inference.params import accurate
from adjudge.kernels.block import Tally
from adjudge.models.gaussian import DEGREE, HALF, PRIOR, VARIANCES, chances, likeliest


def test_the_grid_integrates_polynomials():
    """Weights sum to one, and moments of a flat prior on (0, 1) come out."""
    assert [PRIOR @ DEGREE**m for m in range(4)] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])


def test_variances_are_the_likeliest_for_all_judges_at_once():
    """Within a step of the grid of what a bounded optimiser finds for each judge alone."""
    rng = np.random.default_rng(0)
    chance = chances(np.log([0.01, 0.1, 1.0]), np.full(3, 0.5), DEGREE)
    counts = rng.poisson(40 * PRIOR[:, None] * chance * 24).astype(float)  # (J, G, 2)
    params = likeliest(HALF)(Tally(np.zeros((1, 24)), counts, 0.0), accurate(3, 2))
    step = np.log(VARIANCES[1] / VARIANCES[0])
    for j in range(3):
        best = minimize_scalar(
            lambda a, j=j: -(counts[j] * np.log(chances(np.array([a]), HALF, DEGREE)[0])).sum(),
            bounds=np.log([VARIANCES[0], VARIANCES[-1]]),
            method="bounded",
        )
        assert abs(params.skill[j, 0] - best.x) <= step


@pytest.fixture(scope="module")
def crowd():
    """Return judgments drawn from the model with thresholds: 20 judges, 2,000 items, 10 judgments each."""
    rng = np.random.default_rng(7)
    degree, root = rng.random(2_000), np.sqrt(np.geomspace(0.005, 1, 20))
    threshold = np.tile([0.35, 0.5, 0.65, 0.5], 5)
    item = np.repeat(np.arange(2_000), 10)
    judge = np.concatenate([rng.choice(20, 10, replace=False) for _ in range(2_000)])
    b, s = degree[item], root[judge]
    observed = truncnorm.rvs(-b / s, (1 - b) / s, loc=b, scale=s, random_state=rng)
    table = pl.DataFrame({"item": item, "judge": judge, "label": (observed > threshold[judge]).astype(int)})
    return adjudge.read(table, item="item", judge="judge"), degree, root**2, threshold


def test_noise_thresholds_and_degrees_are_recovered(crowd):
    """What generated the judgments is found again, and degrees rank items better than vote shares do."""
    judgments, degree, variance, threshold = crowd
    fit = adjudge.fit(judgments, "gaussian-biased")
    judges, items = [int(name) for name in fit.judge_names], [int(name) for name in fit.items]
    result = fit.judges
    assert np.abs(result["threshold"].to_numpy() - threshold[judges])[variance[judges] < 0.1].max() < 0.06
    logs = np.log(result["variance"].to_numpy()) - np.log(variance[judges])
    assert np.abs(logs[variance[judges] < 0.3]).mean() < 0.25
    vote = adjudge.fit(judgments, "majority").labels["p_1"].to_numpy()
    outcome = fit.labels["degree"].to_numpy()
    assert np.sqrt(np.square(outcome - degree[items]).mean()) < 0.13
    assert np.corrcoef(outcome, degree[items])[0, 1] > np.corrcoef(vote, degree[items])[0, 1] + 0.02


def test_without_thresholds_all_are_one_half(crowd):
    """The plain model leaves T where the paper has it."""
    fit = adjudge.fit(crowd[0], "gaussian")
    assert set(fit.judges["threshold"]) == {0.5}
    assert fit.converged


def test_gold_keeps_the_degree_on_its_side():
    """A known 0 that everybody calls 1 has a degree below one half, and the probability of 1 is zero."""
    rows = [(f"i{i}", f"j{j}", str(int(i < 5))) for i in range(10) for j in range(4)]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    labels = adjudge.fit(table, "gaussian", gold={"i0": "0"}).labels
    assert labels["p_1"][0] == 0
    assert 0 < labels["degree"][0] < 0.5 < labels["degree"][1]


def test_more_than_two_labels_are_refused():
    """With the models that take them."""
    table = pl.DataFrame({"item": ["a", "a", "b"], "judge": ["x", "y", "x"], "label": ["no", "so", "yes"]})
    with pytest.raises(adjudge.UsageError) as caught:
        adjudge.fit(table, "gaussian")
    message = str(caught.value)
    assert message.startswith("model 'gaussian' takes two labels, and there are 3: 'no', 'so', 'yes'; models for more")
    assert "'dawid-skene'" in message
    assert "'gaussian-biased'" not in message


@pytest.mark.parametrize("variance", [1e-3, 0.03, 0.5, 10.0])
@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.8])
def test_chances_are_those_of_a_truncated_normal(variance, threshold):
    """The printed integrals, both divided by the mass on [0, 1], to ten digits in either tail."""
    degree = np.array([0.01, 0.3, 0.5, 0.77, 0.99])
    result = chances(np.log([variance]), np.array([threshold]), degree)[0]
    root = np.sqrt(variance)
    normal = truncnorm(-degree / root, (1 - degree) / root, loc=degree, scale=root)
    np.testing.assert_allclose(result[:, 0], normal.cdf(threshold), rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(result[:, 1], normal.sf(threshold), rtol=1e-8, atol=1e-300)
    np.testing.assert_allclose(result.sum(axis=1), 1)


def test_half_is_symmetric():
    """At the threshold of one half, a degree of B and one of 1 - B are mirror images."""
    degree = np.array([0.1, 0.4])
    first, other = (chances(np.log([0.07]), np.array([0.5]), d)[0] for d in (degree, 1 - degree))
    np.testing.assert_allclose(first[:, 0], other[:, 1])

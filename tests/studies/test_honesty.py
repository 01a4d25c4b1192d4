"""The study of honesty: training recovers what made the data, and the weights of the package are those it learns."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from studies import honesty, honesty_page
from studies.honesty import (
    Case,
    Sample,
    Score,
    family_of,
    left_out_scores,
    left_out_weights,
    margins,
    mean_scores,
    next_quantile,
    sample,
    score,
    simulate,
    size_of,
    thin,
    train,
)

QUIET = lambda text: None  # noqa: E731


def made(seed, theta, family="f", items=400, labels=3):
    """Return a sample whose truths were drawn from the conditional logit with these coefficients."""
    rng = np.random.default_rng(seed)
    judgments, _ = simulate(rng, 20, 5, 3, labels, 0.7)
    features = rng.normal(size=(items, labels, len(theta)))
    chance = honesty.softmax(features @ theta)
    truth = (rng.random((items, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    vote = np.full((items, labels), 1 / labels)
    case = Case(f"s{seed}", "crowd", family, 0, judgments, truth)
    return Sample(case, features, vote, vote, truth, 0.0, 0.0, vote, np.arange(items), np.full(items, 3.0))


def test_training_recovers_the_coefficients(monkeypatch):
    """With little penalty and many rows, the coefficients of the data are learned."""
    monkeypatch.setattr(honesty, "RIDGE", 1e-6)
    theta = np.array([1.0, -0.5, 0.3])
    learned = train([made(seed, theta) for seed in range(30)])
    np.testing.assert_allclose(learned, theta, atol=0.1)


def test_a_family_is_scored_without_itself(monkeypatch):
    """If one family follows the opposite rule, leaving it out makes its log loss worse than chance."""
    theta = np.array([2.0])
    samples = [made(seed, theta, f"f{seed}") for seed in range(4)] + [made(9, -theta, "other")]
    scores = left_out_scores(samples, left_out_weights(samples, QUIET))
    assert all(each.log_loss < np.log(3) for each in scores[:4])
    assert scores[4].log_loss > np.log(3)


def test_thinning_keeps_so_many_per_item():
    """Every item keeps at most the number asked for, and all items stay."""
    judgments, truth = simulate(np.random.default_rng(2), 50, 12, 7, 2, 0.8)
    few = thin(Case("x", "crowd", "x", 0, judgments, truth), 3)
    assert set(np.diff(few.judgments.start)) == {3}
    assert few.thinned == 3
    assert list(few.judgments.items) == list(judgments.items)


def test_simulated_judges_are_as_accurate_as_asked():
    """The share of right labels is the accuracy."""
    judgments, truth = simulate(np.random.default_rng(4), 3000, 200, 5, 4, 0.7)
    assert (judgments.label == truth[judgments.item()]).mean() == pytest.approx(0.7, abs=0.03)


def test_scores():
    """Tied labels share a hit, the loss is clipped, and the gap is claimed less right."""
    result = score(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 1]))
    assert result.accuracy == 0.25
    assert result.log_loss == pytest.approx((np.log(2) + np.log(1000)) / 2)
    assert result.gap == pytest.approx(0.75 - 0.25)


def test_families_are_left_out_together():
    """Sets of one source are one family."""
    assert {family_of(name) for name in ("nyt_2p", "nyt_3p")} == {"nyt"}
    assert family_of("tc_policy_FR") == family_of("tc_toxicity_EN") != family_of("temp")
    assert family_of("ducks") == "ducks"


def test_the_sample_has_one_row_per_gold_item():
    """Items without gold are not learned from."""
    judgments, truth = simulate(np.random.default_rng(2), 50, 12, 7, 3, 0.8)
    rows = sample(Case("x", "crowd", "x", 0, judgments, np.where(np.arange(50) < 20, truth, -1)))
    assert rows.features.shape[:2] == (20, 3)
    assert sorted(rows.gold) == list(range(20))
    assert sorted(rows.truth) == sorted(truth[:20])


def test_margins_are_quantiles_of_other_families():
    """Nine in ten gaps of the worse kind are within the margin, and those of a family that is left out do not count."""
    gaps, samples, scores = [*np.linspace(-0.09, 0.01, 10), 0.9], [], []
    for per_item in (1, 2, 3):
        judgments, _ = simulate(np.random.default_rng(1), 20, 5, per_item, 3, 0.7)
        for seed, gap in enumerate(gaps):
            each = made(seed, np.array([1.0]), f"f{seed}", items=20)
            samples.append(replace(each, case=each.case._replace(judgments=judgments)))
            scores.append(Score(0.8, 0.5, gap))
    expected = next_quantile(np.abs(gaps[:-1]))
    assert expected == pytest.approx(0.09)  # the largest of ten
    learned = margins(samples, scores, without="f10")
    assert [learned[size] for size in "123"] == pytest.approx([expected] * 3, abs=1e-3)
    panels = [replace(each, case=each.case._replace(kind="panel")) for each in samples]
    wider = [Score(0.8, 0.5, 2 * one.gap) for one in scores]
    assert margins(samples + panels, [*scores, *wider], without="f10")["2"] == pytest.approx(2 * expected, abs=1e-3)
    assert margins(samples, scores)["3"] == pytest.approx(0.9)
    assert {size_of(each.case) for each in samples} == {1, 2, 3}


def test_means_of_scores():
    """Gaps are averaged without their sign."""
    assert mean_scores([Score(0.5, 1.25, 0.1), Score(1.0, 0.25, -0.3)]) == ".750 / .750 / .200"


def test_the_weights_of_the_package_are_those_that_are_learned(shared):
    """Training again gives the numbers of ``crowds.json``, its margins, and the means on the page."""
    samples = [sample(case) for case in honesty.read_cases(shared("data"), QUIET) if case.kind != "simulated"]
    thetas = left_out_weights(samples, QUIET)
    scores = left_out_scores(samples, thetas)
    stored = json.loads(honesty_page.WEIGHTS.read_text(encoding="utf-8"))
    coefficients = thetas["simulated"].reshape(len(stored["features"]), -1)
    np.testing.assert_allclose(coefficients, np.column_stack([stored["by_crowd"], stored["by_size"]]), atol=2e-3)
    assert margins(samples, scores) == pytest.approx(stored["margins"], abs=2e-3)
    printed = honesty_page.PAGE.read_text(encoding="utf-8")
    for row in honesty_page.rows_of_means(samples, scores):
        line = next(line for line in printed.splitlines() if line.startswith(f"| {row[0]} | {row[1]} |"))
        numbers = [[float(number) for number in re.findall(r"\d*\.\d+", text)] for text in (line, " ".join(row[2:5]))]
        assert numbers[0] == pytest.approx(numbers[1], abs=2e-3)

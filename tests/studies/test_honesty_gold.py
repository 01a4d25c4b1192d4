"""What gold teaches, on small simulated crowds: priors without a family, scores, tables, and exchanged labels."""

import numpy as np
import pytest

from adjudge.inference.calibration import learned_weights
from studies import honesty_gold
from studies.honesty import Case, Score, sample, simulate
from studies.honesty_gold import (
    Exchange,
    GoldScore,
    best_weights,
    exchanges,
    fitted_scores,
    gold_changes,
    gold_content,
    gold_priors,
    gold_scores,
    gold_sets,
    rows_of_exchanges,
    rows_of_fitted,
    rows_of_gold,
    usable_sizes,
)

QUIET = lambda text: None  # noqa: E731
THETA = np.column_stack([learned_weights()["by_crowd"], learned_weights()["by_size"]]).ravel()


@pytest.fixture(scope="module")
def sets():
    """Return three simulated crowds of families of their own; the third one has exchanged labels."""
    samples = []
    for seed in range(3):
        judgments, truth = simulate(np.random.default_rng(seed), 120, 10, 5, 2, 0.75)
        truth = 1 - truth if seed == 2 else truth
        samples.append(sample(Case(f"s{seed}", "crowd" if seed else "panel", f"s{seed}", 0, judgments, truth)))
    return gold_sets(samples, {f"s{seed}": THETA for seed in range(3)})


@pytest.fixture(scope="module")
def scores(sets):
    """Return their scores with gold."""
    return gold_scores(sets, gold_priors(sets), QUIET)


def test_thinned_and_simulated_cases_are_not_taught():
    """Gold is for real sets in full."""
    judgments, truth = simulate(np.random.default_rng(1), 30, 6, 3, 2, 0.8)
    cases = [Case("a", "simulated", "simulated", 0, judgments, truth), Case("b", "crowd", "b", 2, judgments, truth)]
    assert gold_sets([sample(case) for case in cases], {"simulated": THETA, "b": THETA}) == []


def test_a_prior_does_not_know_its_family(sets):
    """The prior of a family is that of the best weights of the others, and the exchanged crowd has negative ones."""
    priors, best = gold_priors(sets), [best_weights(each) for each in sets]
    np.testing.assert_allclose(priors["s2"].mean[:2], np.mean(best[:2], axis=0))
    np.testing.assert_allclose(priors["simulated"].mean[:2], np.mean(best, axis=0))
    assert best[2].sum() < 0 < best[0].sum()


def test_gold_corrects_an_exchanged_crowd(sets, scores):
    """Fifty gold items turn a crowd that is mostly wrong, and no more than half of the items are gold."""
    assert usable_sizes(sets[0]) == [5, 10, 20, 50]
    before, after = gold_changes([each for each in scores if each.gold_set.name == "s2"], 50)[0]
    assert before.accuracy < 0.4
    assert after.accuracy > 0.6
    assert after.log_loss < before.log_loss


def test_the_package_keeps_margins_and_gains(sets, scores):
    """Sizes without scores have no margin, and gains are differences of means."""
    content = gold_content(scores, gold_priors(sets)["simulated"])
    assert list(content["margins"]) == list(content["gains"]) == ["5", "10", "20", "50"]
    assert content["gains"]["50"]["accuracy"] > 0.05
    assert np.array(content["covariance"]).shape == (2, 2)


def test_the_table_counts_sets_that_gold_makes_worse(sets):
    """Means are over sets, not over samples, and a set counts as worse by its mean log loss."""
    one, other = sets[1], sets[2]
    made = [
        GoldScore(one, 5, Score(1.0, 0.2, 0.1)),
        GoldScore(one, -5, Score(0.8, 0.4, 0.1)),
        GoldScore(one, 5, Score(0.8, 0.4, -0.1)),
        GoldScore(one, -5, Score(0.8, 0.4, 0.1)),
        GoldScore(other, 5, Score(0.5, 0.9, 0.3)),
        GoldScore(other, -5, Score(0.4, 0.8, 0.5)),
    ]
    assert list(rows_of_gold(made)) == [["crowds", "5", "2", ".600 / .600 / .300", ".700 / .600 / .200", "1"]]


def test_other_methods_know_the_same_gold(sets, monkeypatch):
    """All methods are scored on the same items, and large sets are left out."""
    priors = gold_priors(sets)
    fitted = fitted_scores(sets[:1], priors, QUIET)
    assert [each.gold for each in fitted] == [5, 10, 20, 50]
    assert all(score.accuracy > 0.6 for each in fitted for score in each.scores.values())
    assert [row[:2] for row in rows_of_fitted(fitted)] == [["5", "1"], ["10", "1"], ["20", "1"], ["50", "1"]]
    monkeypatch.setattr(honesty_gold, "MOST_FITTED", 10)
    assert fitted_scores(sets, priors, QUIET) == []


def test_exchanged_labels_are_found_by_gold(monkeypatch):
    """With gold most labels are right although they are exchanged, and without gold most are wrong."""
    monkeypatch.setattr(honesty_gold, "EXCHANGED", ((200, 50),))
    monkeypatch.setattr(honesty_gold, "EXCHANGES", 2)
    results = exchanges()
    assert [each.labels for each in results] == [2, 4]
    assert all(each.plain > 0.75 and each.exchanged > each.without + 0.3 for each in results)
    made = Exchange(1000, 100, 2, 0.9, 0.85, 0.1)
    assert list(rows_of_exchanges([made])) == [["1,000", "100", "2", "0.900", "0.850", "0.100"]]

"""Ties are settled by the seed and the name of an item alone; EM names truths as judges name them."""

import itertools

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference.em import EmResult
from adjudge.inference.infer import RENAMED, align_truths, lots, settled
from adjudge.inference.model import MODELS
from adjudge.inference.options import Options
from adjudge.inference.params import Params, best_order, renamed

NAMES = pl.Series([f"item{n}" for n in range(4_000)])


def test_a_tie_is_broken_by_name_and_seed_alone():
    """The order of rows and what else there is have no say."""
    posterior = np.tile([0.4, 0.4, 0.2], (NAMES.len(), 1))
    label = settled(posterior, NAMES, Options(seed=3))
    order = np.random.default_rng(0).permutation(NAMES.len())
    assert (settled(posterior[order], NAMES.gather(order), Options(seed=3)) == label[order]).all()
    assert (settled(posterior[:7], NAMES[:7], Options(seed=3)) == label[:7]).all()
    assert (settled(posterior, NAMES, Options(seed=4)) != label).mean() > 0.45


def test_all_that_tie_are_as_likely_and_no_other():
    """A third each."""
    label = settled(np.tile([0.3, 0.1, 0.3, 0.3], (NAMES.len(), 1)), NAMES, Options())
    share = np.bincount(label, minlength=4) / label.size
    assert share[1] == 0
    assert np.abs(share[[0, 2, 3]] - 1 / 3).max() < 0.03


def test_the_first_where_that_is_asked_for():
    """The scale's order."""
    assert settled(np.full((3, 2), 0.5), NAMES[:3], Options(ties="first")).tolist() == [0, 0, 0]


def test_numbers_are_the_names_they_are_written_as():
    """So that a CSV and a frame agree."""
    assert (lots(pl.Series([1, 2, 30]), 5) == lots(pl.Series(["1", "2", "30"]), 5)).all()
    assert (lots(NAMES, 2**70) >= 0).all()


def permuted_params(order: list[int], topics: int = 1) -> Params:
    """Return params of two judges who are mostly right, with the truths in another order."""
    confusion = np.array(
        [[[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]], [[0.9, 0.1, 0], [0, 1, 0], [0, 0.2, 0.8]]]
    )
    prevalence = np.array([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])[:topics]
    unseen = np.array([0.15, 0.45, 0.4]) if topics > 1 else np.empty(0)
    return renamed(Params(prevalence, confusion, confusion.mean(axis=0), unseen=unseen), np.array(order))


@pytest.mark.parametrize("topics", [1, 2])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("model", ["dawid-skene", "single-confusion"])
def test_permuted_truths_get_their_names_back(model, order, topics):
    """Any permutation is undone, and said; names that are right stay, bit by bit."""
    outcome = EmResult(permuted_params(list(order), topics), (), 9, "converged")
    result = align_truths(MODELS[model], outcome)
    if order == (0, 1, 2):
        assert result is outcome
        return
    assert result.stopped == f"converged; {RENAMED}"
    for actual, expected in zip(result.params, permuted_params([0, 1, 2], topics), strict=True):
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("model", ["one-coin", "hybrid-confusion", "consensus", "majority", "mace", "ordinal"])
def test_models_whose_labels_have_a_meaning_are_not_renamed(model):
    """A prior, a coin or a vote says which truth is which."""
    outcome = EmResult(permuted_params([1, 0, 2]), (), 9, "converged")
    assert align_truths(MODELS[model], outcome) is outcome


def test_an_interrupted_fit_keeps_its_names():
    """It has not ended."""
    outcome = EmResult(permuted_params([1, 0, 2]), (), 9, "interrupted")
    assert align_truths(MODELS["dawid-skene"], outcome) is outcome


def test_the_best_order_by_enumeration():
    """No other permutation has more agreement."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        agreement = rng.dirichlet(np.ones(16)).reshape(4, 4)
        order = best_order(agreement)
        best = max(agreement[list(p), range(4)].sum() for p in itertools.permutations(range(4)))
        assert agreement[order, range(4)].sum() == pytest.approx(best)


def test_a_fit_says_that_its_truths_were_renamed():
    """Few items make EM permute labels: the fit says it, and gold on one item keeps the names as they were."""
    crowd = adjudge.simulate("liu-wang", seed=3, items=20, gold=0)
    fit = adjudge.fit(crowd.judgments, "single-confusion", seed=3)
    assert fit.stopped == "converged; truths were renamed to match the judges' labels (label switching)"
    assert fit.converged
    shares = fit.params.prevalence[0][:, None] * fit.params.population
    assert all(np.trace(shares) >= shares[list(p), range(3)].sum() - 1e-9 for p in itertools.permutations(range(3)))
    gold = {crowd.judgments.items[0]: crowd.truths["label"][0]}
    assert "renamed" not in adjudge.fit(crowd.judgments, "single-confusion", gold, seed=3).stopped


def test_renaming_finds_more_truths(monkeypatch):
    """Over 100 crowds of 20 items, names that match the judges' labels are right more often than those of EM."""

    def accuracies() -> np.ndarray:
        crowds = [adjudge.simulate("liu-wang", seed=seed, items=20, gold=0) for seed in range(100)]
        fits = [adjudge.fit(crowd.judgments, "single-confusion", seed=seed) for seed, crowd in enumerate(crowds)]
        return np.array([(fit.label == crowd.truth).mean() for fit, crowd in zip(fits, crowds, strict=True)])

    aligned = accuracies()
    monkeypatch.setattr("adjudge.inference.infer.align_truths", lambda model, outcome: outcome)
    gain = aligned - accuracies()
    assert gain.mean() - 2 * gain.std(ddof=1) / np.sqrt(gain.size) > 0

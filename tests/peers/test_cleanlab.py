"""adjudge.compat.cleanlab against cleanlab: the same tables, equal where the definitions agree."""

import numpy as np
import pandas as pd
import pytest
from cleanlab import multiannotator as peer

from adjudge.compat import cleanlab


def crowd(seed=0, N=200, M=10, K=3, per=3, accuracy=0.75):
    """Return labels by annotators who differ in skill, the probabilities of a classifier, and the truths."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(K, size=N), np.linspace(0.45, 0.9, M)
    labels = np.full((N, M), np.nan)
    for n in range(N):
        chosen = rng.choice(M, per, replace=False)
        wrong = (truth[n] + rng.integers(1, K, size=per)) % K
        labels[n, chosen] = np.where(rng.random(per) < right[chosen], truth[n], wrong)
    logs = rng.normal(size=(N, K))
    logs[np.arange(N), np.where(rng.random(N) < accuracy, truth, rng.integers(K, size=N))] += 3
    return labels, np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True), truth


@pytest.mark.parametrize("frame", [False, True])
def test_tables_have_their_shape(frame):
    """Keys, columns, indexes and types are cleanlab's; the agreement of annotators is the same number."""
    labels, probabilities, _ = crowd()
    if frame:
        labels = pd.DataFrame(labels, [f"e{n}" for n in range(len(labels))], [f"a{m}" for m in range(10)])
    options = {"consensus_method": ["majority_vote", "best_quality"], "return_weights": True, "verbose": False}
    ours, theirs = (
        module.get_label_quality_multiannotator(labels, probabilities, **options) for module in (cleanlab, peer)
    )
    assert list(ours) == list(theirs)
    for name in ("label_quality", "detailed_label_quality", "annotator_stats"):
        assert list(ours[name]) == list(theirs[name])
        assert set(ours[name].index) == set(theirs[name].index)
        pd.testing.assert_series_equal(ours[name].dtypes, theirs[name].dtypes)
    for name in ("consensus_label", "annotator_agreement", "num_annotations"):  # of the majority vote
        pd.testing.assert_series_equal(ours["label_quality"][name], theirs["label_quality"][name])
    stats = theirs["annotator_stats"].loc[ours["annotator_stats"].index]
    for name in ("agreement_with_consensus", "num_examples_labeled"):
        pd.testing.assert_series_equal(ours["annotator_stats"][name], stats[name])
    assert ours["annotator_weight"].shape == theirs["annotator_weight"].shape


def test_worst_classes_are_theirs():
    """The class in which an annotator is wrong most often."""
    labels, probabilities, _ = crowd(4)
    ours, theirs = (
        module.get_label_quality_multiannotator(labels, probabilities, consensus_method="majority_vote", verbose=False)
        for module in (cleanlab, peer)
    )
    worst = theirs["annotator_stats"].loc[ours["annotator_stats"].index, "worst_class"]
    pd.testing.assert_series_equal(ours["annotator_stats"]["worst_class"], worst)


@pytest.mark.parametrize("seed", range(3))
def test_majority_votes_are_theirs(seed):
    """With a classifier, which breaks all ties."""
    labels, probabilities, _ = crowd(seed)
    ours, theirs = (module.get_majority_vote_label(labels, probabilities, verbose=False) for module in (cleanlab, peer))
    np.testing.assert_array_equal(ours, theirs)


def test_a_poor_classifier_does_not_hurt():
    """One that guesses is weighed down: the labels are nearly those without it, and better than cleanlab's."""
    labels, probabilities, truth = crowd(1, N=600, accuracy=0.0)
    alone = cleanlab.get_label_quality_multiannotator(labels)["label_quality"]["consensus_label"]
    ours, theirs = (
        module.get_label_quality_multiannotator(labels, probabilities, verbose=False)["label_quality"][
            "consensus_label"
        ]
        for module in (cleanlab, peer)
    )
    assert (ours == truth).mean() > (alone == truth).mean() - 0.03
    assert (ours == truth).mean() > (theirs == truth).mean()


def test_scores_of_what_to_label_next_correlate():
    """Examples with labels and without."""
    labels, probabilities, _ = crowd(2, N=600)
    ours, theirs = (
        module.get_active_learning_scores(labels, probabilities, probabilities[:50]) for module in (cleanlab, peer)
    )
    for own, other in zip(ours, theirs, strict=True):
        assert own.shape == other.shape
        assert np.corrcoef(own, other)[0, 1] > 0.8

"""adjudge.compat.crowdkit against crowd-kit on simulated answers: the same numbers where the definitions agree.

HRRASA, Wawa, ZeroBasedSkill and GoldMajorityVote of crowd-kit do not run with the versions of pandas and scikit-learn
that the tests use; ours are compared with their formulas in tests/compat.
"""

import numpy as np
import pandas as pd
import pytest
from crowdkit import aggregation
from crowdkit.aggregation.utils import get_accuracy
from crowdkit.metrics import data as peer_metrics
from crowdkit.metrics import workers as peer_workers
from crowdkit.postprocessing import entropy_threshold as peer_threshold
from nltk.metrics.distance import masi_distance

from adjudge.compat import crowdkit
from adjudge.compat.crowdkit import metrics
from adjudge.compat.crowdkit.postprocessing import entropy_threshold
from studies.benchmarks.crowdkit_speed import image_table, label_table, multilabel_table, pair_table, text_table

BOTH = (crowdkit, aggregation)
LABELS = label_table(items=120, judges=12, seed=3)
TWO = label_table(items=120, judges=12, labels=2, seed=3)  # five answers per task, so that there are no ties


def in_order(table):
    """Return the table with a first task that has all workers and labels in order.

    crowd-kit's MACE numbers workers and labels as they occur, and counts of labels in alphabetical order.
    """
    workers = sorted(table["worker"].unique())
    first = pd.DataFrame({"task": -1, "worker": workers, "label": np.minimum(np.arange(len(workers)), 2)})
    return pd.concat([first, table], ignore_index=True)


def test_variational_mace_is_theirs():
    """At convergence of both: spamming states, strategies and probabilities."""
    table = in_order(LABELS)
    theirs = aggregation.MACE(n_restarts=1, n_iter=100).fit(table)
    ours = crowdkit.MACE(n_iter=3_000)
    ours.tol = 1e-14
    ours.fit(table)
    np.testing.assert_allclose(ours.spamming_, theirs.spamming_, atol=1e-6)
    np.testing.assert_allclose(ours.thetas_, theirs.thetas_, atol=1e-6)
    np.testing.assert_allclose(ours.probas_, theirs.probas_.loc[ours.probas_.index, ours.probas_.columns], atol=1e-6)


def test_several_labels_are_theirs():
    """Lists of labels by Dawid-Skene on every label."""
    table = multilabel_table(1).head(500)
    ours, theirs = (module.BinaryRelevance(module.MajorityVote()).fit_predict(table) for module in BOTH)
    assert ours.to_dict() == {task: sorted(labels) for task, labels in theirs.items()}


@pytest.mark.parametrize("steps", [1, 5, 200])
def test_bradley_terry_is_theirs(steps):
    """After the same MM steps; with a tolerance crowd-kit stops after two steps, so that there is none."""
    ours, theirs = (module.BradleyTerry(steps, tol=0).fit_predict(pair_table(items=30)) for module in BOTH)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_rover_is_theirs(seed):
    """Text by text."""
    table = text_table(tasks=15, seed=seed)
    ours, theirs = (module.ROVER(str.split, " ".join).fit_predict(table) for module in BOTH)
    pd.testing.assert_series_equal(ours, theirs)


def test_rasa_is_theirs():
    """Reliabilities, means and chosen texts."""
    table = text_table(tasks=30)
    truth = pd.Series({3: np.zeros(32), 5: np.ones(32)})
    ours, theirs = (module.RASA(n_iter=20, tol=0).fit(table, truth) for module in BOTH)
    np.testing.assert_allclose(ours.skills_, theirs.skills_.loc[ours.skills_.index], rtol=1e-9)
    means = theirs.aggregated_embeddings_.loc[ours.aggregated_embeddings_.index]
    np.testing.assert_allclose(np.stack(ours.aggregated_embeddings_), np.stack(means), rtol=1e-7, atol=1e-12)
    chosen = [module.RASA().fit_predict(table)["output"] for module in BOTH]
    pd.testing.assert_series_equal(*chosen)


def test_the_closest_to_the_mean_is_theirs():
    """Scores and chosen texts."""
    table = text_table(tasks=30)
    ours, theirs = (module.ClosestToAverage(lambda a, b: float(np.abs(a - b).sum())).fit(table) for module in BOTH)
    np.testing.assert_allclose(ours.scores_["score"], theirs.scores_["score"])
    pd.testing.assert_series_equal(ours.embeddings_and_outputs_["output"], theirs.embeddings_and_outputs_["output"])


@pytest.mark.parametrize("name", ["SegmentationMajorityVote", "SegmentationEM", "SegmentationRASA"])
@pytest.mark.parametrize("workers", [4, 11])
def test_segmentations_are_theirs(name, workers):
    """Pixel by pixel."""
    table = image_table(tasks=3, workers=workers, side=40)
    ours, theirs = (getattr(module, name)().fit_predict(table) for module in BOTH)
    assert ours.index.equals(theirs.index)
    for task in ours.index:
        np.testing.assert_array_equal(ours[task], theirs[task])


def test_measures_are_theirs():
    """Consistency, uncertainty, alpha and accuracies."""
    skills = pd.Series(np.linspace(0.5, 0.9, 12), index=pd.RangeIndex(12, name="worker"))
    for options in ({"by_task": True}, {}):
        ours, theirs = (module.consistency(TWO, skills, **options) for module in (metrics, peer_metrics))
        np.testing.assert_allclose(ours, theirs)
    for by in ("task", "worker"):
        ours, theirs = (module.uncertainty(LABELS, skills, None, by, False) for module in (metrics, peer_metrics))
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    assert metrics.alpha_krippendorff(LABELS) == pytest.approx(peer_metrics.alpha_krippendorff(LABELS))
    sets = LABELS.assign(label=[frozenset({label, label * 2}) for label in LABELS["label"]])
    ours, theirs = (module.alpha_krippendorff(sets, masi_distance) for module in (metrics, peer_metrics))
    assert ours == pytest.approx(theirs)
    truth = pd.Series({task: task % 3 for task in range(50)})
    for by in ("worker", "task", "true_label"):
        np.testing.assert_allclose(metrics.get_accuracy(LABELS, truth, by), get_accuracy(LABELS, truth, by))
    ours, theirs = (module.accuracy_on_aggregates(LABELS, aggregates=truth) for module in (metrics, peer_workers))
    assert ours == pytest.approx(theirs)


def test_filters_are_theirs():
    """The same answers are kept."""
    for percentile in (5, 20):
        ours, theirs = (keep(LABELS, percentile=percentile) for keep in (entropy_threshold, peer_threshold))
        pd.testing.assert_frame_equal(ours, theirs)

"""cleanlab's functions for several annotators, computed by adjudge."""

import numpy as np
import pandas as pd
import pytest

import adjudge
from adjudge.compat.cleanlab import (
    get_active_learning_scores,
    get_label_quality_multiannotator,
    get_majority_vote_label,
)

NAN = np.nan
LABELS = np.array([[0, 0, 1], [1, 1, NAN], [0, NAN, 0], [1, 0, 1], [0, 0, 0], [1, 1, 1], [NAN, 0, 1]])
EVEN = np.full((7, 2), 0.5)


def test_scores_are_probabilities_of_the_consensus():
    """Without a classifier the result is adjudge.fit on the same labels; an annotator's quality is their accuracy."""
    item, judge = np.nonzero(~np.isnan(LABELS))
    table = pd.DataFrame({"item": item, "judge": judge, "label": LABELS[item, judge].astype(int)})
    fit = adjudge.fit(table, "dawid-skene", ties="first")
    ours = get_label_quality_multiannotator(LABELS, model="dawid-skene")
    np.testing.assert_allclose(ours["label_quality"]["consensus_quality_score"], fit.posterior.max(axis=1))
    assert ours["label_quality"]["consensus_label"].tolist() == fit.label.tolist()
    np.testing.assert_allclose(ours["annotator_stats"]["annotator_quality"].sort_index(), fit.accuracy)
    detailed = ours["detailed_label_quality"].to_numpy()
    assert np.isnan(detailed[1, 2])
    assert detailed[0, 2] == pytest.approx(fit.posterior[0, 1])


def test_a_certain_classifier_is_one_more_annotator():
    """Probabilities of 0 and 1 are labels: the consensus is that with one more column."""
    certain = np.array([0, 1, 0, 1, 0, 1, 0])
    soft = get_label_quality_multiannotator(LABELS, np.eye(2)[certain], model="dawid-skene")
    hard = get_label_quality_multiannotator(np.column_stack([LABELS, certain]), model="dawid-skene")
    pd.testing.assert_series_equal(
        soft["label_quality"]["consensus_quality_score"], hard["label_quality"]["consensus_quality_score"]
    )


def test_a_classifier_that_knows_nothing_changes_nothing():
    """Even probabilities have the same likelihood under every truth."""
    alone, beside = (
        get_label_quality_multiannotator(LABELS, probs, model="one-coin")["label_quality"] for probs in (None, EVEN)
    )
    np.testing.assert_allclose(alone["consensus_quality_score"], beside["consensus_quality_score"], atol=1e-6)


def test_agreement_is_a_quality():
    """Scores are the shares of annotators who agree."""
    ours = get_label_quality_multiannotator(LABELS, quality_method="agreement", consensus_method="majority_vote")
    quality = ours["label_quality"]
    pd.testing.assert_series_equal(
        quality["consensus_quality_score"], quality["annotator_agreement"], check_names=False
    )
    assert quality["annotator_agreement"].round(3).tolist() == [0.667, 1.0, 1.0, 0.667, 1.0, 1.0, 0.5]


def test_ties_are_broken_by_the_classifier_and_then_by_frequency():
    """One vote each."""
    tied = np.array([[0, 1], [1, 1]])
    assert get_majority_vote_label(tied).tolist() == [1, 1]
    assert get_majority_vote_label(tied, np.array([[0.9, 0.1], [0.9, 0.1]])).tolist() == [0, 1]


def test_frames_with_missing_values_are_taken():
    """pandas.NA and None are no labels; names are kept."""
    frame = pd.DataFrame({"ann": [0, 1, pd.NA], "bob": [0, None, 1]}, index=["x", "y", "z"], dtype=object)
    ours = get_label_quality_multiannotator(frame, model="majority")
    assert ours["label_quality"]["consensus_label"].to_dict() == {"x": 0, "y": 1, "z": 1}
    assert list(ours["detailed_label_quality"]) == ["quality_annotator_ann", "quality_annotator_bob"]
    assert set(ours["annotator_stats"].index) == {"ann", "bob"}


def test_without_labels_the_classifier_is_the_score():
    """The largest probability."""
    labelled, unlabelled = get_active_learning_scores(pred_probs_unlabeled=np.array([[0.9, 0.1], [0.4, 0.6]]))
    assert labelled.size == 0
    assert unlabelled.tolist() == [0.9, 0.6]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: get_majority_vote_label([[0, 1]]),
            "labels_multiannotator is a list: give a pandas frame or a numpy array",
        ),
        (
            lambda: get_majority_vote_label(np.array([0, 1])),
            "labels_multiannotator: the shape is (2,), expected one row per example, one column per annotator",
        ),
        (
            lambda: get_majority_vote_label(np.array([[0, 0.5]])),
            "labels_multiannotator: label '0.5' is not a number from 0 to K - 1",
        ),
        (
            lambda: get_majority_vote_label(np.array([[0, "cat"]], dtype=object)),
            "labels_multiannotator, row 1: label 'cat' is not a number from 0 to K - 1",
        ),
        (
            lambda: get_majority_vote_label(np.array([[0, 1], [NAN, NAN]])),
            "labels_multiannotator, row 2: the example has no label: leave it out",
        ),
        (
            lambda: get_majority_vote_label(np.array([[0, NAN], [1, NAN]])),
            "labels_multiannotator: annotator '1' gave no label: leave them out",
        ),
        (lambda: get_majority_vote_label(LABELS, EVEN[:3]), "pred_probs: there are 3 rows, and 7 examples"),
        (
            lambda: get_majority_vote_label(LABELS, np.ones((7, 1))),
            "pred_probs: there are 1 columns, and the label 1",
        ),
        (
            lambda: get_majority_vote_label(LABELS, EVEN + 1),
            "pred_probs, row 1: the values are not probabilities that sum to one",
        ),
        (
            lambda: get_majority_vote_label(LABELS, EVEN[:, 0]),
            "pred_probs: the shape is (7,), expected one row per example, one column per label",
        ),
        (
            lambda: get_label_quality_multiannotator(LABELS, consensus_method="vote"),
            "consensus_method 'vote' is not one of 'best_quality', 'majority_vote'",
        ),
        (
            lambda: get_label_quality_multiannotator(LABELS, quality_method="best"),
            "quality_method 'best' is not one of 'crowdlab', 'agreement'",
        ),
        (
            lambda: get_label_quality_multiannotator(LABELS, quality_method="agreement", return_weights=True),
            "return_weights needs quality_method 'crowdlab'",
        ),
        (
            lambda: get_label_quality_multiannotator(LABELS, label_quality_score_kwargs={"method": "x"}),
            "label_quality_score_kwargs are not supported: a score is the probability of a label",
        ),
        (
            lambda: get_active_learning_scores(pred_probs=EVEN),
            "pred_probs needs labels_multiannotator: give both, or pred_probs_unlabeled only",
        ),
        (get_active_learning_scores, "give labels_multiannotator, pred_probs_unlabeled, or both"),
        (
            lambda: get_active_learning_scores(LABELS, pred_probs_unlabeled=EVEN),
            "pred_probs_unlabeled needs pred_probs too: the classifier is learned from them",
        ),
        (
            lambda: get_active_learning_scores(LABELS, EVEN, np.full((2, 4), 0.25)),
            "pred_probs_unlabeled: there are 4 columns, expected 2",
        ),
    ],
)
def test_wrong_calls_are_refused(call, message):
    """The message says where and what, and the error is a ValueError."""
    with pytest.raises(ValueError, match=r".") as caught:
        call()
    assert str(caught.value) == message

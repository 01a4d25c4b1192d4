"""Tables of answers as codes, and what is refused in them."""

import numpy as np
import pandas as pd
import pytest

from adjudge.compat.crowdkit import DawidSkene, MajorityVote
from adjudge.compat.crowdkit.base import encode, gold_codes
from adjudge.errors import InputError

TABLE = pd.DataFrame({"task": ["b", "a", "b"], "worker": ["y", "x", "x"], "label": [10, 9, 9]})


def test_names_are_in_order_and_codes_point_to_them():
    """Workers and labels are sorted, and tasks as they occur; the codes give the table back."""
    answers = encode(TABLE)
    assert (list(answers.tasks), list(answers.workers), list(answers.labels)) == (["b", "a"], ["x", "y"], [9, 10])
    assert answers.labels.take(answers.label).tolist() == [10, 9, 9]
    assert len(answers.judgments) == 3


def test_names_that_cannot_be_sorted_are_taken_as_they_come():
    """Labels without an order keep that in which they occur."""
    answers = encode(TABLE.assign(label=pd.Series([2j, 1j, 2j], dtype=object)))
    assert list(answers.labels) == [2j, 1j]


def test_labels_that_differ_in_case_are_two_labels():
    """Unlike files, tables of crowd-kit are taken word for word."""
    table = TABLE.assign(label=["yes", "Yes", "yes"])
    assert list(MajorityVote().fit(table).probas_.columns) == ["Yes", "yes"]


def test_a_missing_value_is_refused_with_its_row():
    """The column and the row are named, and the error is a ValueError too."""
    with pytest.raises(InputError, match=r"^row 2: column 'worker' has no value$") as caught:
        encode(TABLE.assign(worker=["y", None, "x"]))
    assert isinstance(caught.value, ValueError)


def test_true_labels_extend_the_scale():
    """A true label that no worker gave is a label of the scale; unknown tasks are ignored."""
    truth = pd.Series({"a": 11, "z": 9})
    answers = encode(TABLE, truth)
    assert list(answers.labels) == [9, 10, 11]
    assert gold_codes(answers, truth).tolist() == [-1, 2]
    assert DawidSkene().fit_predict(TABLE, truth)["a"] == 11


def test_two_true_labels_of_a_task_are_refused():
    """The task is named."""
    with pytest.raises(ValueError, match=r"^true_labels: task 'a' has several true labels: give one label per task$"):
        DawidSkene().fit(TABLE, pd.Series([9, 10], index=["a", "a"]))


def test_votes_without_weight_are_equal_shares():
    """Weights that cancel out leave every label equally likely."""
    answers = encode(pd.DataFrame({"task": ["a", "a"], "worker": ["x", "y"], "label": [0, 1]}))
    np.testing.assert_array_equal(answers.weighted_votes(np.array([1.0, -1.0])), [[0.5, 0.5]])

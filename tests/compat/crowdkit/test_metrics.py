"""Measures of answers and workers."""

import numpy as np
import pandas as pd
import pytest

from adjudge.compat.crowdkit import KOS, MajorityVote
from adjudge.compat.crowdkit.metrics import (
    accuracy_on_aggregates,
    alpha_krippendorff,
    consistency,
    get_accuracy,
    uncertainty,
)
from adjudge.errors import AdjudgeError

TABLE = pd.DataFrame(
    {
        "task": ["a", "a", "a", "b", "b", "b"],
        "worker": ["x", "y", "z"] * 2,
        "label": ["no", "no", "yes", "yes", "yes", "yes"],
    }
)
SKILLS = pd.Series({"x": 0.9, "y": 0.6, "z": 0.8})


def test_consistency_is_bayes_rule():
    """By hand, for two labels that are equally likely before."""
    values = consistency(TABLE, SKILLS, by_task=True)
    no, yes = 0.9 * 0.6 * 0.2, 0.1 * 0.4 * 0.8
    assert values["a"] == pytest.approx(no / (no + yes))
    assert consistency(TABLE, SKILLS) == pytest.approx(values.mean())


def test_an_impossible_task_has_no_consistency():
    """Two workers who are never wrong contradict each other: 0, as in crowd-kit."""
    assert consistency(TABLE.iloc[[0, 2]], pd.Series({"x": 1.0, "z": 1.0})) == 0


def test_uncertainty_is_entropy():
    """By hand, of tasks and of workers."""
    by_task = uncertainty(TABLE, aggregate=False)
    assert by_task["a"] == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))
    assert by_task["b"] == pytest.approx(0)
    by_worker = uncertainty(TABLE, compute_by="worker", aggregate=False)
    assert by_worker.to_dict() == pytest.approx({"x": np.log(2), "y": np.log(2), "z": 0})
    assert uncertainty(TABLE, aggregator=MajorityVote()) > 0


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: uncertainty(TABLE, compute_by="day"), KeyError, "compute_by 'day' is not one of 'task', 'worker'"),
        (lambda: uncertainty(TABLE, SKILLS[:2]), AssertionError, "workers_skills: worker 'z' has no skill"),
        (lambda: consistency(TABLE, aggregator=KOS()), AssertionError, "KOS has no skills_: give workers_skills"),
        (
            lambda: get_accuracy(TABLE, pd.Series({"a": "no"}), by="day"),
            ValueError,
            "by 'day' is not one of 'task', 'worker', 'true_label'",
        ),
    ],
)
def test_wrong_calls_are_refused(call, kind, message):
    """The message is ours, and the type of the error crowd-kit's."""
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message
    assert isinstance(caught.value, AdjudgeError)


def test_alpha_of_equal_labels_is_one():
    """There is no disagreement, and none is expected."""
    assert alpha_krippendorff(TABLE.assign(label="yes")) == 1.0


def test_accuracy_by_any_group():
    """Shares of right answers by worker, task and true label; weights count."""
    truth = pd.Series({"a": "no"})
    assert get_accuracy(TABLE, truth) == pytest.approx(2 / 3)
    assert get_accuracy(TABLE, truth, "worker").to_dict() == {"x": 1, "y": 1, "z": 0}
    assert get_accuracy(TABLE.assign(weight=[1, 1, 2] * 2), truth, "task").to_dict() == {"a": 0.5}
    assert get_accuracy(TABLE, truth, "true_label").to_dict() == pytest.approx({"no": 2 / 3})
    assert np.isnan(get_accuracy(TABLE, pd.Series({"z": "no"})))
    assert accuracy_on_aggregates(TABLE, aggregates=truth) == pytest.approx(2 / 3)
    assert accuracy_on_aggregates(TABLE) == pytest.approx(5 / 6)

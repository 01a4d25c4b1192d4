"""The drop-in door: crowd-kit's names, shapes and attributes."""

import numpy as np
import pandas as pd
import pytest
from crowdkit import aggregation

from adjudge.compat import crowdkit
from adjudge.errors import InputError, UsageError

TABLE = pd.DataFrame(
    {
        "task": ["a", "a", "a", "b", "b", "b", "c", "c"],
        "worker": ["x", "y", "z", "x", "y", "z", "x", "y"],
        "label": ["no", "no", "yes", "yes", "yes", "yes", "no", "no"],
    }
)
CLASSES = ("MajorityVote", "DawidSkene", "OneCoinDawidSkene")


@pytest.mark.parametrize("name", CLASSES)
def test_shapes_and_names_are_theirs(name):
    """Indexes, columns and names of everything returned are those of crowd-kit."""
    ours, theirs = getattr(crowdkit, name)(), getattr(aggregation, name)()
    pd.testing.assert_series_equal(ours.fit_predict(TABLE), theirs.fit_predict(TABLE))
    probas, peer = ours.fit_predict_proba(TABLE), theirs.fit_predict_proba(TABLE)
    pd.testing.assert_index_equal(probas.index, peer.index)
    assert list(probas.columns) == list(peer.columns)
    assert probas.columns.name == "label"


@pytest.mark.parametrize("name", ["DawidSkene", "OneCoinDawidSkene"])
def test_attributes_are_theirs(name):
    """priors_ and errors_ have crowd-kit's layout, and nearly its values."""
    ours, theirs = (
        getattr(module, name)(n_iter=200, tol=tol).fit(TABLE) for module, tol in ((crowdkit, 1e-10), (aggregation, -1))
    )
    assert ours.priors_.name == theirs.priors_.name
    assert ours.errors_.index.names == theirs.errors_.index.names
    both = ours.errors_.loc[theirs.errors_.index, theirs.errors_.columns]
    np.testing.assert_allclose(both, theirs.errors_, atol=1e-3)
    assert len(ours.loss_history_) > 0


def test_skills_of_one_coin():
    """skills_ is indexed by worker."""
    skills = crowdkit.OneCoinDawidSkene().fit(TABLE).skills_
    assert skills.index.tolist() == ["x", "y", "z"]
    assert skills.name == "skill"


def test_true_labels_are_kept():
    """Known truths come back as they were given."""
    truth = pd.Series({"a": "yes"})
    assert crowdkit.DawidSkene().fit_predict(TABLE, true_labels=truth)["a"] == "yes"


def test_skills_weigh_the_vote():
    """A vote weighted by skills is crowd-kit's."""
    skills = pd.Series({"x": 0.1, "y": 0.2, "z": 0.9})
    ours, theirs = (module.MajorityVote().fit_predict_proba(TABLE, skills) for module in (crowdkit, aggregation))
    np.testing.assert_allclose(ours, theirs.loc[ours.index, ours.columns])


@pytest.mark.parametrize(("how", "default"), [("ignore", None), ("value", 0.5)])
def test_missing_skills_as_told(how, default):
    """A worker without a skill is left out, or given the default."""
    skills = pd.Series({"x": 0.1, "y": 0.2})
    ours, theirs = (
        module.MajorityVote(default, how).fit_predict_proba(TABLE, skills) for module in (crowdkit, aggregation)
    )
    np.testing.assert_allclose(ours, theirs.loc[ours.index, ours.columns].fillna(0))


def test_missing_skills_are_refused_by_default():
    """The worker is named."""
    with pytest.raises(InputError, match="skills: worker 'z' has no skill"):
        crowdkit.MajorityVote().fit(TABLE, pd.Series({"x": 1.0, "y": 1.0}))


def test_an_unknown_policy_is_refused():
    """The choices are named."""
    with pytest.raises(UsageError, match="on_missing_skill 'guess' is not one of 'error', 'ignore', 'value'"):
        crowdkit.MajorityVote(on_missing_skill="guess")


def test_skills_are_taken_by_name():
    """fit_predict(data, skills=...) as crowd-kit has it."""
    skills = pd.Series({"x": 0.1, "y": 0.2, "z": 0.9})
    ours, theirs = (module.MajorityVote().fit_predict(TABLE, skills=skills) for module in (crowdkit, aggregation))
    pd.testing.assert_series_equal(ours, theirs.loc[ours.index])


def test_few_tasks_and_many_workers_are_taken_at_their_word():
    """Columns called task and worker are what they say, whatever the numbers look like."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"task": np.repeat([1, 2, 3], 20), "worker": np.arange(60), "label": rng.integers(2, size=60)})
    assert len(crowdkit.DawidSkene().fit_predict(table)) == 3

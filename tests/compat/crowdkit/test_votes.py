"""Votes in crowd-kit's interface: names and shapes, skills, ties."""

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
EMPTY = pd.DataFrame({"task": [], "worker": [], "label": []})


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


@pytest.mark.parametrize(
    ("options", "skills", "message"),
    [
        ({}, {"x": 1, "y": 1}, "skills: worker 'z' has no skill (see on_missing_skill)"),
        ({"on_missing_skill": "ignore"}, {"z": 1}, "skills: no worker of task 'c' has a skill (see on_missing_skill)"),
        ({"on_missing_skill": "value"}, {"z": 1}, "on_missing_skill 'value' needs a default_skill"),
        ({"default_skill": 1}, {"z": 1}, "default_skill is for on_missing_skill 'value', and it is 'error'"),
    ],
)
def test_missing_skills_are_refused(options, skills, message):
    """The worker, the task or the option is named, and the error is a ValueError too."""
    with pytest.raises(ValueError, match=r".") as caught:
        crowdkit.MajorityVote(**options).fit(TABLE, pd.Series(skills, dtype=float))
    assert str(caught.value) == message
    assert isinstance(caught.value, InputError | UsageError)


def test_an_unknown_policy_is_refused():
    """The choices are named."""
    with pytest.raises(UsageError, match=r"on_missing_skill 'guess' is not one of 'error', 'ignore', 'value'"):
        crowdkit.MajorityVote(on_missing_skill="guess")


def test_skills_are_taken_by_name():
    """fit_predict(data, skills=...) as crowd-kit has it."""
    skills = pd.Series({"x": 0.1, "y": 0.2, "z": 0.9})
    ours, theirs = (module.MajorityVote().fit_predict(TABLE, skills=skills) for module in (crowdkit, aggregation))
    pd.testing.assert_series_equal(ours, theirs.loc[ours.index])


def test_agreement_with_the_majority_is_the_skill():
    """Wawa's skills are shares of agreement with the vote, its shares those of the vote weighed by them."""
    vote = crowdkit.MajorityVote().fit(TABLE)
    agrees = (TABLE["label"] == TABLE["task"].map(vote.labels_)).groupby(TABLE["worker"]).mean()
    ours = crowdkit.Wawa()
    ours.fit_predict(TABLE)
    np.testing.assert_allclose(ours.skills_, agrees)
    weighed = aggregation.MajorityVote().fit_predict_proba(TABLE, ours.skills_)
    np.testing.assert_allclose(ours.probas_, weighed.loc[ours.probas_.index, ours.probas_.columns])


def test_of_tied_labels_the_first_wins_and_workers_are_scored_by_it():
    """One vote each: the label is the first in order, and who gave it was right."""
    table = pd.DataFrame({"task": ["a", "a"], "worker": ["x", "y"], "label": ["yes", "no"]})
    vote = crowdkit.MajorityVote().fit(table)
    assert vote.labels_.to_dict() == {"a": "no"}
    assert vote.skills_.to_dict() == {"x": 0.0, "y": 1.0}


def test_zero_based_skills_follow_their_formula():
    """After n steps skills are those of the recursion, with the rate halved after every second step."""
    steps, skill = 5, pd.Series(1 / 2 + 1e-5, ["x", "y", "z"])
    rate = 0.8
    for step in range(1, steps + 1):
        rate *= 0.5 if step % 2 == 0 else 1
        label = crowdkit.MajorityVote().fit_predict(TABLE, skill)
        right = (TABLE["label"] == TABLE["task"].map(label)).groupby(TABLE["worker"]).mean()
        skill = skill + rate * (right - skill)
    ours = crowdkit.ZeroBasedSkill(steps, lr_init=0.8, lr_steps_to_reduce=2).fit(TABLE).skills_
    np.testing.assert_allclose(ours, skill)


def test_gold_gives_the_skills():
    """A skill is the share of right answers on tasks with true labels, of which a task may have several."""
    gold = crowdkit.GoldMajorityVote().fit(TABLE, pd.Series(["yes", "no", "yes"], index=["a", "b", "b"]))
    assert gold.skills_.to_dict() == {"x": 0.5, "y": 0.5, "z": 1.0}
    assert gold.predict(TABLE)["a"] == "no"
    assert gold.predict_proba(TABLE).loc["a"].to_dict() == {"no": 0.5, "yes": 0.5}


def test_gold_is_needed():
    """The argument is named."""
    with pytest.raises(ValueError, match=r"^GoldMajorityVote needs true_labels, a series indexed by task$"):
        crowdkit.GoldMajorityVote().fit_predict(TABLE)


@pytest.mark.parametrize("name", ["MajorityVote", "Wawa", "ZeroBasedSkill"])
def test_an_empty_table_has_no_labels(name):
    """No answers give empty results and no error."""
    aggregator = getattr(crowdkit, name)()
    assert len(aggregator.fit_predict(EMPTY)) == 0
    assert aggregator.skills_.name == "skill"
    assert aggregator.fit_predict_proba(EMPTY).empty


def test_predicting_before_fitting_is_refused():
    """The call to make is named."""
    with pytest.raises(UsageError, match=r"Wawa has no skills yet: call fit before predict"):
        crowdkit.Wawa().predict(TABLE)

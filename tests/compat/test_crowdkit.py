"""The drop-in door: crowd-kit's names, shapes and attributes."""

import numpy as np
import pandas as pd
import pytest
from crowdkit import aggregation

import adjudge
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


SKILLED = ("Wawa", "ZeroBasedSkill", "MMSR")
MODELS = {
    "GLAD": "glad",
    "MACE": "mace",
    "KOS": "kos",
    "Wawa": "wawa",
    "ZeroBasedSkill": "zbs",
    "MMSR": "m-msr",
}


def crowd(seed=0, items=60, judges=6):
    """Return a table of two labels in crowd-kit's names, judges right from .6 to .95 of the time, and the truths."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(2, size=items), np.linspace(0.6, 0.95, judges)
    labels = np.where(rng.random((items, judges)) < right, truth[:, None], 1 - truth[:, None])
    task, worker = np.indices(labels.shape).reshape(2, -1)
    table = pd.DataFrame({"task": task, "worker": worker, "label": np.array(["no", "yes"])[labels.ravel()]})
    return table.sample(frac=1, random_state=seed), np.array(["no", "yes"])[truth]


@pytest.mark.parametrize("name", MODELS)
def test_names_are_over_our_models(name):
    """Labels and probabilities are those of the model, indexed and named as crowd-kit does."""
    table, truth = crowd()
    ours = getattr(crowdkit, name)()
    labels, probas = ours.fit_predict(table), ours.fit_predict_proba(table)
    assert (labels.name, labels.index.name, probas.columns.name) == ("agg_label", "task", "label")
    fit = adjudge.fit(table, MODELS[name], ties="first", tolerance=ours.tol, iterations=ours.n_iter)
    np.testing.assert_array_equal(probas, fit.posterior)
    assert labels.tolist() == fit.labels["label"].tolist()
    assert (labels.sort_index() == truth).mean() > 0.9


def test_glad_is_theirs():
    """Labels agree, abilities and logs of ease correlate: ours integrates the ease out, theirs optimises it."""
    table, _ = crowd()
    ours, theirs = crowdkit.GLAD().fit(table), aggregation.GLAD().fit(table)
    assert (ours.labels_ == theirs.labels_.reindex(ours.labels_.index)).mean() > 0.95
    for name in ("alphas_", "betas_"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert (mine.name, mine.index.name) == (other.name, other.index.name)
        assert mine.corr(other.reindex(mine.index)) > 0.9
    assert len(ours.loss_history_) > 1


def test_mace_tells_who_spams():
    """Rows sum to one, the worst worker spams most, and states and labels are in crowd-kit's order."""
    table, _ = crowd()
    ours = crowdkit.MACE(n_restarts=3, n_iter=200, random_state=1).fit(table)
    assert ours.spamming_.index.name == ours.thetas_.index.name == "worker"
    np.testing.assert_allclose(ours.spamming_.sum(axis=1), 1)
    np.testing.assert_allclose(ours.thetas_.sum(axis=1), 1)
    assert ours.spamming_["spams"].idxmax() == 0
    assert ours.spamming_.iloc[:, 0].equals(ours.spamming_["spams"])  # theirs has spamming in the first column


@pytest.mark.parametrize("name", SKILLED)
def test_skills_predict_other_tasks(name):
    """skills_ is indexed by worker, and tasks never seen are labelled by them."""
    table, truth = crowd()
    observed, other = table[table["task"] < 40], table[table["task"] >= 40]
    ours = getattr(crowdkit, name)().fit(observed)
    assert (ours.skills_.name, ours.skills_.index.name, len(ours.skills_)) == ("skill", "worker", 6)
    labels, probas = ours.predict(other), ours.predict_proba(other)
    assert (labels.sort_index() == truth[40:]).mean() > 0.85
    assert list(probas.index) == list(labels.index)
    same = getattr(crowdkit, name)()
    pd.testing.assert_series_equal(same.fit_predict(observed), same.predict(observed))


def test_agreement_with_the_majority_is_the_skill():
    """Wawa's skills are shares of agreement with the vote, its shares those of the vote weighed by them."""
    table, _ = crowd(judges=7)  # an odd number: the vote has no ties
    vote = aggregation.MajorityVote().fit_predict(table)
    agrees = (table["label"] == table["task"].map(vote)).groupby(table["worker"]).mean()
    ours = crowdkit.Wawa().fit(table)
    np.testing.assert_allclose(ours.skills_.sort_index(), agrees)
    weighed = aggregation.MajorityVote().fit_predict_proba(table, ours.skills_)
    np.testing.assert_allclose(ours.probas_, weighed.loc[ours.probas_.index, ours.probas_.columns])


def test_skills_of_pairs_are_theirs():
    """MMSR's skills are vote weights, and correlate with crowd-kit's."""
    table, _ = crowd(items=200, judges=12)
    ours, theirs = crowdkit.MMSR().fit(table), aggregation.MMSR().fit(table)
    assert ours.skills_.corr(theirs.skills_) > 0.97


def test_predicting_before_fitting_is_refused():
    """The call to make is named."""
    with pytest.raises(UsageError, match="Wawa has no skills yet: call fit before predict"):
        crowdkit.Wawa().predict(TABLE)

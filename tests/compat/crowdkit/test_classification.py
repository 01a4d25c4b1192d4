"""Models in crowd-kit's interface: names, shapes and attributes."""

import numpy as np
import pandas as pd
import pytest
from crowdkit import aggregation

import adjudge
from adjudge.compat import crowdkit
from adjudge.errors import UsageError

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
    "OneCoinDawidSkene": "one-coin",
    "DawidSkene": "dawid-skene",
}


def crowd(seed=0, items=60, judges=6):
    """Return a table of two labels in crowd-kit's names, judges right from .6 to .95 of the time, and the truths."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(2, size=items), np.linspace(0.6, 0.95, judges)
    labels = np.where(rng.random((items, judges)) < right, truth[:, None], 1 - truth[:, None])
    task, worker = np.indices(labels.shape).reshape(2, -1)
    table = pd.DataFrame({"task": task, "worker": worker, "label": np.array(["no", "yes"])[labels.ravel()]})
    return table.sample(frac=1, random_state=seed), np.array(["no", "yes"])[truth]


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
    ours = crowdkit.MACE(n_restarts=3, n_iter=200, method="em", random_state=1).fit(table)
    assert ours.spamming_.index.name == ours.thetas_.index.name == "worker"
    np.testing.assert_allclose(ours.spamming_.sum(axis=1), 1)
    np.testing.assert_allclose(ours.thetas_.sum(axis=1), 1)
    assert ours.spamming_["spams"].idxmax() == 0
    assert ours.spamming_.iloc[:, 0].equals(ours.spamming_["spams"])  # theirs has spamming in the first column


@pytest.mark.parametrize("name", MODELS)
def test_names_are_over_our_models(name):
    """Labels and probabilities are those of the model, indexed and named as crowd-kit does."""
    table, truth = crowd()
    ours = getattr(crowdkit, name)(**({"method": "em"} if name == "MACE" else {}))
    labels, probas = ours.fit_predict(table), ours.fit_predict_proba(table)
    assert (labels.name, labels.index.name, probas.columns.name) == ("agg_label", "task", "label")
    if name != "MACE":  # crowd-kit's takes all truths to be equally common
        fit = adjudge.fit(table, MODELS[name], ties="first", tolerance=ours.tol, iterations=ours.n_iter - 1)
        assert np.abs(probas.loc[fit.items.to_list()] - fit.posterior).max().max() < 1e-9
        assert labels.loc[fit.items.to_list()].tolist() == fit.labels["label"].tolist()
    assert (labels.sort_index() == truth).mean() > 0.9


@pytest.mark.parametrize("name", SKILLED)
def test_skills_predict_other_tasks(name):
    """skills_ is indexed by worker, and tasks never seen are labelled by them."""
    table, truth = crowd()
    observed, other = table[table["task"] < 40], table[table["task"] >= 40]
    ours = getattr(crowdkit, name)().fit(observed)
    assert (ours.skills_.name, ours.skills_.index.name, len(ours.skills_)) == ("skill", "worker", 6)
    labels = ours.predict(other)
    shares = ours.predict_score(other) if name == "MMSR" else ours.predict_proba(other)
    assert (labels.sort_index() == truth[40:]).mean() > 0.85
    assert list(shares.index) == list(labels.index)
    same = getattr(crowdkit, name)()
    pd.testing.assert_series_equal(same.fit_predict(observed), same.predict(observed))


def test_skills_of_pairs_are_theirs():
    """MMSR's skills are vote weights, and correlate with crowd-kit's."""
    table, _ = crowd(items=200, judges=12)
    ours, theirs = crowdkit.MMSR().fit(table), aggregation.MMSR().fit(table)
    assert ours.skills_.corr(theirs.skills_) > 0.97


INITIAL = pd.DataFrame(
    [[0.9, 0.2], [0.1, 0.8]] * 3,
    pd.MultiIndex.from_product([["z", "y", "x"], ["no", "yes"]], names=["worker", "label"]),
    ["no", "yes"],
)
EMPTY = pd.DataFrame({"task": [], "worker": [], "label": []})


def test_em_starts_at_assigned_errors():
    """Without a step the errors are those that were assigned, in their order, and probabilities are vote shares."""
    ours = crowdkit.DawidSkene(0, initial_error_strategy="assign").fit(TABLE, initial_error=INITIAL)
    pd.testing.assert_frame_equal(ours.errors_, INITIAL)
    pd.testing.assert_frame_equal(ours.probas_, crowdkit.MajorityVote().fit(TABLE).probas_)


@pytest.mark.parametrize("strategy", ["assign", "addition"])
@pytest.mark.parametrize("steps", [0, 1, 3])
def test_initial_errors_are_theirs(strategy, steps):
    """Probabilities and errors after the same steps are crowd-kit's, up to its smallest probability of 1e-10."""
    ours, theirs = (
        module.DawidSkene(steps, -1, strategy).fit(TABLE, initial_error=INITIAL * (1 if strategy == "assign" else 5))
        for module in (crowdkit, aggregation)
    )
    np.testing.assert_allclose(ours.probas_, theirs.probas_.loc[ours.probas_.index, ours.probas_.columns], atol=1e-7)
    both = theirs.errors_.index
    np.testing.assert_allclose(ours.errors_.loc[both], theirs.errors_[ours.errors_.columns], atol=1e-7)


def test_initial_errors_are_added_once_however_many_blocks(monkeypatch):
    """Blocks of judgments share the initial errors, so that their sum has them once."""
    from adjudge.inference import infer

    table, _ = crowd()
    initial = INITIAL.set_axis(pd.MultiIndex.from_product([[0, 1, 2], ["no", "yes"]], names=["worker", "label"]))
    one = crowdkit.DawidSkene(0, initial_error_strategy="addition").fit(table, initial_error=initial)
    monkeypatch.setattr(infer, "BLOCK", 50)
    many = crowdkit.DawidSkene(0, initial_error_strategy="addition").fit(table, initial_error=initial)
    np.testing.assert_allclose(one.errors_, many.errors_, rtol=1e-12)


@pytest.mark.parametrize(
    ("initial", "message"),
    [
        (
            INITIAL[:4],
            "initial_error: worker 'x' has no matrix: 'assign' needs one of every worker, 'addition' does not",
        ),
        (INITIAL[["no"]], "initial_error: there is no column for the true label 'yes'"),
        (
            INITIAL / 2,
            "The sum of each worker's error matrix in initial_error should be 1.0 for every true label (column), and "
            "that of worker 'z' is not",
        ),
        (
            INITIAL.rename_axis(["w", "l"]),
            "initial_error: the index has the names 'w', 'l', expected 'worker', 'label'",
        ),
    ],
)
def test_initial_errors_that_are_none_are_refused(initial, message):
    """The message says what they lack."""
    with pytest.raises(ValueError, match=r".") as caught:
        crowdkit.DawidSkene(initial_error_strategy="assign").fit(TABLE, initial_error=initial)
    assert str(caught.value) == message


def test_unknown_choices_are_refused():
    """The choices are named."""
    with pytest.raises(UsageError, match=r"^initial_error_strategy 'add' is not one of 'assign', 'addition'$"):
        crowdkit.DawidSkene(initial_error_strategy="add")
    with pytest.raises(UsageError, match=r"^method 'mcmc' is not one of 'vb', 'em'$"):
        crowdkit.MACE(method="mcmc")


def test_labels_of_kos_are_two():
    """Three labels are refused, and the error is a ValueError too."""
    with pytest.raises(ValueError, match=r"^KOS takes two labels, and there are 3: '0', '1', '2'$"):
        crowdkit.KOS().fit(pd.DataFrame({"task": [1, 1, 1], "worker": [1, 2, 3], "label": [0, 1, 2]}))


@pytest.mark.parametrize("name", [*MODELS, "MMSR"])
def test_an_empty_table_has_no_labels(name):
    """No answers give empty results and no error."""
    aggregator = getattr(crowdkit, name)().fit(EMPTY)
    assert len(aggregator.labels_) == 0
    assert aggregator.probas_.empty


@pytest.mark.parametrize("name", ["DawidSkene", "GLAD", "MACE", "KOS", "MMSR", "OneCoinDawidSkene"])
def test_no_step_still_labels_every_task(name):
    """n_iter=0 gives the labels of the start."""
    table, truth = crowd()
    assert (getattr(crowdkit, name)(n_iter=0).fit_predict(table).sort_index() == truth).mean() > 0.8


def test_scores_are_shares_of_the_weight():
    """MMSR's scores are the weighted vote with its skills."""
    table, _ = crowd()
    ours = crowdkit.MMSR()
    scores = ours.fit_predict_score(table)
    votes = table.assign(weight=table["worker"].map(ours.skills_)).pivot_table("weight", "task", "label", "sum")
    np.testing.assert_allclose(scores.sort_index(), votes.fillna(0).div(votes.sum(axis=1), axis=0))
    assert scores is ours.scores_


def test_scores_before_fitting_are_refused():
    """The call to make is named."""
    with pytest.raises(UsageError, match=r"^MMSR has no skills yet: call fit before predict$"):
        crowdkit.MMSR().predict(TABLE)

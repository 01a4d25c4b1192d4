"""GLAD against crowd-kit's, and what of crowd-kit cannot be compared with.

- Its GLAD optimises the ease of every item, ours integrates it out: same model and priors, another estimate.
- Its Wawa, ZeroBasedSkill and GoldMajorityVote fail with today's scikit-learn: ours are held against the definitions,
  written out, in ``tests/models/test_vote.py``.
- Its MACE counts spam by workers and labels in sorted order, and reads the counts by their order of appearance: ours
  is held against the paper's EM in ``tests/models/test_mace.py``.
- Its KOS fails with ``KeyError: 0.0`` where the messages of a task cancel out, as on ``trec2011_task2``; where it runs,
  ``test_mmsr.py`` compares, and the paper's recursion is written out in ``tests/models/test_kos.py``.
- MajorityVote, DawidSkene and OneCoinDawidSkene are equal step by step: ``test_crowdkit.py``.
"""

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import GLAD

import adjudge

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # its line searches step to where Q is -inf


def whitehill_table(seed, items=200, judges=12, labels=3):
    """Return a table drawn from the paper's model, in crowd-kit's names, its truths, and the judges' abilities."""
    rng = np.random.default_rng(seed)
    truth, ability = rng.integers(labels, size=items), rng.normal(1, 1, judges)
    right = 1 / (1 + np.exp(-ability * np.exp(rng.normal(1, 1, items))[:, None]))  # (I, J)
    wrong = (truth[:, None] + rng.integers(1, labels, (items, judges))) % labels
    message = np.where(rng.random((items, judges)) < right, truth[:, None], wrong)
    task, worker = np.indices(message.shape).reshape(2, -1)
    return pd.DataFrame({"task": task, "worker": worker, "label": message.ravel()}), truth, ability


def compared(table):
    """Return both libraries' labels by item, and abilities by judge."""
    peer, fit = GLAD(n_iter=20).fit(table), adjudge.fit(table, "glad", ties="first")
    labels = pd.DataFrame({"ours": np.array(fit.scale.labels)[np.array(fit.label)]}, fit.items.to_list())
    abilities = pd.DataFrame({"ours": fit.params.skill[:, 0]}, fit.judge_names.to_list())
    return labels.assign(theirs=peer.labels_), abilities.assign(theirs=peer.alphas_)


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("seed", range(2))
def test_glad_agrees_on_what_its_model_draws(seed, labels):
    """Labels agree on all but one item in fifty, and are as often right; abilities correlate to .95.

    No closer, for two estimates of the same numbers: an item's ease is learned from twelve labels, so that its most
    likely value is far from its mean, and abilities lean on it.
    """
    table, truth, ability = whitehill_table(seed, labels=labels)
    label, abilities = compared(table)
    assert (label["ours"] == label["theirs"]).mean() >= 0.98
    right = label.eq(pd.Series(truth), axis=0).mean()
    assert right["ours"] >= right["theirs"] - 0.01
    assert abilities.corr().loc["ours", "theirs"] > 0.95
    assert abilities["ours"].corr(pd.Series(ability)) > 0.9


@pytest.mark.parametrize("name", ["rte", "bluebirds"])
def test_glad_agrees_on_real_judgments(shared, name):
    """Labels agree on all but one item in fifty, and are as often right within a standard error."""
    table = pd.read_csv(shared(f"data/{name}/labels.csv")).rename(columns={"item": "task"})[["task", "worker", "label"]]
    gold = pd.read_csv(shared(f"data/{name}/gold.csv")).set_index("item")["label"]
    label, abilities = compared(table)
    assert (label["ours"] == label["theirs"]).mean() >= 0.98
    ours, theirs = (label[side].eq(gold.reindex(label.index)).mean() for side in ("ours", "theirs"))
    assert ours >= theirs - np.sqrt(theirs * (1 - theirs) / len(label))
    assert abilities.corr(method="spearman").loc["ours", "theirs"] > 0.9

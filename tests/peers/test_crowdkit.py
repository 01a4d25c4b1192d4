"""Against crowd-kit, on the same tables: equal where the definitions agree, and a word where they do not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from crowdkit.aggregation import DawidSkene, MajorityVote, OneCoinDawidSkene

import adjudge

PEERS = {"dawid-skene": DawidSkene, "one-coin": OneCoinDawidSkene}


def random_table(seed, items=60, judges=8, labels=3):
    """Return a table in crowd-kit's names, four judgments an item, judges right two times in three."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(labels, size=items)
    task = np.repeat(np.arange(items), 4)
    message = np.where(rng.random(task.size) < 0.67, truth[task], rng.integers(labels, size=task.size))
    return pd.DataFrame({"task": task, "worker": rng.integers(judges, size=task.size), "label": message})


def assert_same(fit, peer, tolerance):
    """Compare the probabilities of two libraries, item by item and label by label."""
    ours = pd.DataFrame(np.array(fit.posterior), fit.items.to_list(), list(fit.scale.labels))
    theirs = peer.probas_.reindex(index=ours.index, columns=ours.columns)
    assert np.abs(ours.to_numpy() - theirs.to_numpy()).max() < tolerance


@pytest.mark.parametrize("steps", [2, 7])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("model", PEERS)
def test_em_steps_agree(model, seed, steps):
    """After the same number of plain EM steps from the vote, probabilities agree to 1e-8."""
    table = random_table(seed)
    peer = PEERS[model](n_iter=steps, tol=-1e9).fit(table)  # a tolerance nothing reaches: it takes every step
    fit = adjudge.fit(table, model, iterations=steps - 1, accelerate=False, tolerance=0)
    assert_same(fit, peer, 1e-8)


@pytest.mark.parametrize(("model", "name"), [("dawid-skene", "rte"), ("dawid-skene", "bluebirds"), ("one-coin", "rte")])
def test_em_steps_agree_on_real_judgments(shared, model, name):
    """The same on real data, thirty steps."""
    table = pd.read_csv(shared(f"data/{name}/labels.csv")).rename(columns={"item": "task"})
    peer = PEERS[model](n_iter=30, tol=-1e9).fit(table)
    fit = adjudge.fit(table, model, iterations=29, accelerate=False, tolerance=0)
    assert_same(fit, peer, 1e-8)


def test_gold_agrees():
    """With known truths the probabilities of the others agree too."""
    table = random_table(5)
    gold = {0: 1, 3: 2, 7: 0}
    peer = DawidSkene(n_iter=6, tol=-1e9).fit(table, true_labels=pd.Series(gold))
    fit = adjudge.fit(table, "dawid-skene", gold=gold, iterations=5, accelerate=False, tolerance=0)
    assert_same(fit, peer, 1e-8)


def test_vote_shares_agree():
    """The vote is the vote; only its ties are broken differently, by pandas' order of columns there."""
    table = random_table(9)
    assert_same(adjudge.fit(table, "majority"), MajorityVote().fit(table), 1e-12)


def test_crowdkit_stops_too_early(shared):
    """Its stop rule adds the log prior once a label, so it may stop after two steps, far below the summit.

    Ours continues: the definitions differ, so equality is not required, only that ours is higher.
    """
    table = pd.read_csv(shared("data/trec2011_task2_mini/labels.csv")).rename(columns={"item": "task"})
    assert len(DawidSkene(n_iter=100).fit(table[["task", "worker", "label"]]).loss_history_) == 2
    two, full = (adjudge.fit(table, "dawid-skene", iterations=steps, accelerate=False) for steps in (2, 500))
    assert full.evidence[-1] > two.evidence[-1] + 50  # nats


def test_frames_come_back_as_they_went_in():
    """A pandas table in crowd-kit's names gives pandas tables; a polars one polars."""
    table = random_table(2)
    assert isinstance(adjudge.fit(table).labels, pd.DataFrame)
    assert isinstance(adjudge.fit(pl.DataFrame(table.to_dict("list"))).labels, pl.DataFrame)

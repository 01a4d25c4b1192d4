"""Messages and agreement against crowd-kit."""

import numpy as np
import pandas as pd
import pytest
from crowdkit.aggregation import KOS, MMSR

import adjudge


def dense_table(seed, items=300, judges=15, labels=2):
    """Return a table in crowd-kit's names: every judge labels every item, with skills from .1 to .9."""
    rng = np.random.default_rng(seed)
    truth, skill = rng.integers(labels, size=items), np.linspace(0.1, 0.9, judges)
    guess = rng.integers(labels, size=(items, judges))
    message = np.where(rng.random((items, judges)) < skill, truth[:, None], guess)
    task, worker = np.indices(message.shape).reshape(2, -1)
    return pd.DataFrame({"task": task, "worker": worker, "label": message.ravel()})


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_skills_and_labels_agree(seed, labels):
    """On a dense crowd vote weights correlate to .98 and labels are as good as equal.

    They are not equal: trimming leaves a range of fixed points, and the start chooses among them, random there.
    """
    table = dense_table(seed, labels=labels)
    peer, fit = MMSR().fit(table), adjudge.fit(table, "m-msr")
    right = fit.params.confusion[:, 0, 0]
    weight = pd.Series(np.log((labels - 1) * right / (1 - right)), fit.judge_names.to_list())
    assert weight.corr(peer.skills_) > 0.98
    label = pd.Series(np.array(fit.label), fit.items.to_list())
    assert (label == peer.predict(table).reindex(label.index)).mean() > 0.97


@pytest.mark.parametrize("name", ["product", "possent", "rte", "bluebirds"])
def test_messages_agree(shared, name):
    """Random first messages or not: the labels are crowd-kit's on all items but those near a tie."""
    table = pd.read_csv(shared(f"data/{name}/labels.csv")).rename(columns={"item": "task"})[["task", "worker", "label"]]
    peer = KOS(n_iter=10, random_state=0).fit_predict(table)
    fit = adjudge.fit(table, "kos")
    ours = pd.Series(np.array(fit.scale.labels)[np.array(fit.label)], fit.items.to_list())
    assert (ours == peer.reindex(ours.index)).mean() > 0.99

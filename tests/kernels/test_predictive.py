"""The chance of judgments that were held back, against the sum written out."""

from dataclasses import replace

import numpy as np
import polars as pl

import adjudge
from adjudge.kernels.predictive import TRUSTED, counted_chances

ROWS = [("a", "x", 0), ("a", "y", 0), ("b", "x", 1), ("b", "y", 0), ("a", "z", 1), ("b", "x", 1), ("b", "new", 0)]


def test_truths_as_believed_and_judges_as_counted():
    """P = sum_z q_z (counts + 3 everybody) / (row + 3), with everybody's rows smoothed by one."""
    frame = pl.DataFrame(ROWS, schema=["item", "judge", "label"], orient="row")
    table = adjudge.read(frame, item="item", judge="judge")
    shown, held = table.take(np.arange(5)), table.take(np.arange(5, 7))
    posterior = np.array([[0.9, 0.1], [0.3, 0.7]])
    chance = counted_chances(shown.block(), posterior, held.block())

    counts = np.zeros((4, 2, 2))
    for i, j, k in zip(shown.item(), shown.judge, shown.label, strict=True):
        counts[j, :, k] += posterior[i]
    everybody = counts.sum(axis=0) + 1
    everybody /= everybody.sum(axis=1, keepdims=True)
    rows = (counts + TRUSTED * everybody) / (counts.sum(axis=2, keepdims=True) + TRUSTED)
    expected = [
        sum(posterior[i, z] * rows[j, z, k] for z in range(2))
        for i, j, k in zip(held.item(), held.judge, held.label, strict=True)
    ]
    np.testing.assert_allclose(chance, expected)


def test_chances_of_all_labels_sum_to_one():
    """Whoever is asked about whichever item says something."""
    rng = np.random.default_rng(0)
    crowd = adjudge.simulate("dawid-skene", seed=1, items=30, judges=6, labels=3, per_item=4).judgments
    posterior = rng.dirichlet(np.ones(3), 30)
    total = 0
    for k in range(3):
        asked = replace(crowd, label=np.full(len(crowd), k, np.uint8))
        total = total + counted_chances(crowd.block(), posterior, asked.block())
    np.testing.assert_allclose(total, 1)

"""Paper 002, section 2.1: the vote-weight algorithm, written out as its four steps say, against the model."""

from collections import defaultdict
from math import log

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.judgments import judgment_table


def four_steps(rows, labels):
    """Return the labels that the paper's steps end with, and the judges' weights (P_c smoothed by +1 and +2)."""
    votes = defaultdict(list)
    for item, judge, label in rows:
        votes[item].append((judge, label))
    weight = defaultdict(lambda: 1.0)
    correct, before = None, []
    while correct not in before:
        before.append(correct)
        # steps 1 and 3: the label with most weight, at first with one vote each
        heavy = {
            item: {label: sum(weight[judge] for judge, result in inputs if result == label) for label in labels}
            for item, inputs in votes.items()
        }
        correct = {item: max(labels, key=weights.get) for item, weights in heavy.items()}
        # step 2: how often each judge is right, and the weight that follows
        right, result = defaultdict(int), defaultdict(int)
        for item, judge, label in rows:
            right[judge] += correct[item] == label
            result[judge] += 1
        p = {judge: (right[judge] + 1) / (result[judge] + 2) for judge in result}
        weight.update({judge: log((len(labels) - 1) * p[judge] / (1 - p[judge])) for judge in p})
    return correct, dict(weight)


def untied_rows(seed, labels):
    """Return judgments on items that have one most frequent label: the paper does not say how ties are broken."""
    crowd = adjudge.simulate("dawid-skene", seed=seed, items=80, judges=9, labels=labels, per_item=7, accuracy=0.7)
    shares = np.sort(adjudge.fit(crowd.judgments, "majority").posterior, axis=1)
    clear = shares[:, -1] > shares[:, -2]
    rows = judgment_table(crowd.judgments).select("item", "judge", "label").rows()
    stored = set(crowd.judgments.items.filter(pl.Series(clear)))
    return [row for row in rows if row[0] in stored]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("labels", [2, 4])
def test_the_model_is_the_papers_algorithm(seed, labels):
    """Same labels on every item, and same weight for every judge."""
    rows = untied_rows(seed, labels)
    assert len(rows) > 300
    scale = sorted({label for _, _, label in rows})
    fit = adjudge.fit(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"), "vote-weight")
    expected, weight = four_steps(rows, scale)
    assert fit.converged
    assert dict(fit.labels.select("item", "label").rows()) == expected
    assert dict(fit.judges.select("judge", "vote_weight").rows()) == pytest.approx(weight)


def test_a_biased_judge_weighs_by_truth():
    """Who always says 1 is right on every 1 and on no 0: two weights where the plain model has one."""
    rows = [
        (f"i{i}", judge, str(i % 2) if judge != "yes" else "1") for i in range(20) for judge in ("a", "b", "c", "yes")
    ]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    judge = adjudge.fit(table, "vote-weight-biased").judges.row(by_predicate=pl.col("judge") == "yes", named=True)
    assert judge["vote_weight_1"] == pytest.approx(log(11 / 1))
    assert judge["vote_weight_0"] == pytest.approx(log(1 / 11))

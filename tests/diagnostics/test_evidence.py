"""What a fit knows of its judges."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.evidence import (
    confusion_draws,
    entropy,
    gather_evidence,
    judge_estimates,
    other_judges,
    typical_confusion,
)

ROWS = {
    "item": ["a", "a", "a", "b", "b", "c", "c", "c", "d"],
    "judge": ["x", "y", "x", "x", "y", "y", "z", "x", "z"],
    "label": ["0", "0", "1", "1", "1", "0", "1", "1", "1"],
    "weight": [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0],
}


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def known(request):
    """Return a fit with gold of a small crowd in which x judges a twice, and z alone judges d."""
    rows = ROWS if request.param else {name: column for name, column in ROWS.items() if name != "weight"}
    judgments = adjudge.read(pl.DataFrame(rows))
    fit = adjudge.fit(judgments, "dawid-skene", {"b": "1"})
    return fit, judgments


def naive_others(evidence):
    """Return p(truth | all labels of others, gold) for each judgment, one at a time."""
    item, judge, label = evidence.item, evidence.judge, evidence.block.label
    collected = []
    for n in range(item.size):
        p = evidence.prior[evidence.block.topic[item[n]]].copy()
        for m in np.flatnonzero((item == item[n]) & (judge != judge[n])):
            p *= evidence.matrix[judge[m], :, label[m]] ** evidence.weight[m]
        gold = evidence.block.gold[item[n]]
        p = p if gold < 0 else np.eye(p.size)[gold]
        collected.append(p / p.sum())
    return np.array(collected)


def test_the_others_are_everyone_but_her(known):
    """All labels of the judge are left out, repeats too; gold is known to all."""
    evidence = gather_evidence(*known)[1]
    result, expected = other_judges(evidence), naive_others(evidence)
    np.testing.assert_array_equal(result.truth, expected.argmax(axis=1))
    np.testing.assert_allclose(result.probability, expected.max(axis=1), rtol=1e-9)
    lonely = [known[1].items[int(i)] == "d" for i in evidence.item]
    np.testing.assert_array_equal(result.any, ~np.array(lonely))


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_the_others_of_many_labels(labels):
    """In larger crowds, and with topics of their own prevalence."""
    crowd = adjudge.simulate("dawid-skene", items=60, judges=6, per_item=3, labels=labels)
    evidence = gather_evidence(adjudge.fit(crowd.judgments), crowd.judgments)[1]
    np.testing.assert_allclose(other_judges(evidence).probability, naive_others(evidence).max(axis=1), rtol=1e-9)


def test_expected_counts_are_those_of_the_fit(known):
    """Every judgment counts as often as its weight says, shared among truths by the posterior."""
    evidence = gather_evidence(*known)[1]
    tally = np.zeros_like(evidence.tally)
    for n, (i, j, y) in enumerate(zip(evidence.item, evidence.judge, evidence.block.label, strict=True)):
        tally[j, :, y] += evidence.weight[n] * evidence.posterior[i]
    np.testing.assert_allclose(evidence.tally, tally)
    np.testing.assert_allclose(evidence.matrix.sum(axis=2), 1)


def test_the_typical_judge_is_not_the_busiest():
    """A judge counts for no more judgments than the median one has."""
    rows = [(f"i{n}", f"j{j}", str(n % 2)) for n in range(10) for j in range(3)]
    rows += [(f"i{n % 10}", "spammer", "1") for n in range(2_000)]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"))
    gold = {f"i{n}": str(n % 2) for n in range(10)}
    typical = typical_confusion(gather_evidence(adjudge.fit(judgments, gold=gold), judgments)[1])
    # 15 rights and 5 of the spammer's, of the truth 0, with half a judgment of no opinion on each label
    np.testing.assert_allclose(typical, [[15.5 / 21, 5.5 / 21], [0.5 / 21, 20.5 / 21]])


def test_groups_of_judges_do_not_matter(monkeypatch):
    """Draws go judge by judge, however many are in memory at a time."""
    crowd = adjudge.simulate("dawid-skene", items=50, judges=7, labels=3)
    fit = adjudge.fit(crowd.judgments)
    evidence = gather_evidence(fit, crowd.judgments)[1]
    complete = judge_estimates(fit, evidence, 5)
    monkeypatch.setattr("adjudge.diagnostics.evidence.CELLS_AT_ONCE", 20_000)
    for entry, other in zip(complete, judge_estimates(fit, evidence, 5), strict=True):
        np.testing.assert_allclose(entry, other, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("drawn", "stored", "number"), [(1 << 19, 1 << 24, 500), (1, 1 << 24, 200), (1, 1, 100)])
def test_large_crowds_have_fewer_draws(monkeypatch, drawn, stored, number):
    """Of small crowds a chain keeps 500 draws, of large ones 200, and 100 if more would not fit into memory."""
    monkeypatch.setattr("adjudge.diagnostics.evidence.DRAWN_CELLS", drawn)
    monkeypatch.setattr("adjudge.diagnostics.evidence.STORED_CELLS", stored)
    judgments = adjudge.simulate("dawid-skene", items=20, judges=4, labels=2, per_item=3).judgments
    draws = confusion_draws(*gather_evidence(adjudge.fit(judgments, "dawid-skene"), judgments))
    assert draws.confusion.shape == (2, number, 4, 2, 2)


def test_a_table_is_read_as_the_fit_reads_it():
    """A frame will do, and its labels are those of the fit even where some are missing."""
    judgments = adjudge.read(pl.DataFrame(ROWS), labels=["0", "1", "2"])
    fit = adjudge.fit(judgments)
    assert gather_evidence(fit, pl.DataFrame(ROWS))[1].tally.shape == (3, 3, 3)


def test_other_labels_are_refused(known):
    """Codes of another scale would be taken for others."""
    other = adjudge.read(pl.DataFrame(ROWS), labels=["1", "0"])
    with pytest.raises(
        adjudge.UsageError,
        match="the fit was not made from these judgments: its labels are '0', '1', and theirs '1', '0'",
    ):
        gather_evidence(known[0], other)


def test_entropy_in_bits():
    """Of a coin one, of certainty none."""
    np.testing.assert_allclose(entropy(np.array([[0.5, 0.5], [1, 0], [0.25, 0.75]])), [1, 0, 0.8112781244591328])


def coin_tossers(seed):
    """Return judgments of 200 items, three each, by twenty judges of whom five toss coins, and their true matrices."""
    rng = np.random.default_rng(seed)
    truth, right = rng.random(200) < 0.4, rng.uniform(0.6, 0.85, (20, 2))  # (J, 2) specificity, sensitivity
    right[:5, 0] = rng.random(5)
    right[:5, 1] = 1 - right[:5, 0]
    judge = np.array([rng.choice(20, 3, replace=False) for _ in range(200)])
    labels = np.where(rng.random((200, 3)) < right[judge, truth[:, None] * 1], truth[:, None], ~truth[:, None])
    rows = {"item": np.repeat(np.arange(200), 3), "judge": judge.ravel(), "label": labels.ravel() * 1}
    return adjudge.read(pl.DataFrame(rows), labels=[0, 1]), right


def test_intervals_cover_where_truths_and_matrices_are_learned_together():
    """Nine in ten, also for a fit by EM: with its posterior, which includes the judge's own labels, it was half."""
    collected, better = [], []
    for seed in range(8):
        judgments, right = coin_tossers(seed)
        for card in adjudge.judges(adjudge.fit(judgments, "dawid-skene"), judgments).cards:
            j = int(card.judge)
            collected.append(card.informedness.low <= right[j].sum() - 1 <= card.informedness.high)
            better += [card.informedness.low > 0] if j < 5 else []
    assert np.mean(collected) > 0.82  # of 160, two standard errors below nine tenths are 0.85
    assert np.mean(better) < 0.13  # of 40 coins; 0.05 is nominal

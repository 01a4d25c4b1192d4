"""Pairs who copy, and crowds in which nobody does."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.collusion import collusion
from adjudge.errors import UsageError

SIZES = {"items": 1_200, "judges": 40, "per_item": 5}


def pairs(crowd):
    """Return the pairs who collude, smaller code first."""
    return {tuple(sorted(pair)) for pair in crowd.colluders.tolist()}


@pytest.mark.parametrize("labels", [2, 4])
def test_those_who_copy_are_found(labels):
    """Nine pairs of ten, and of those named one in ten is wrong at most, over three crowds."""
    outcome = wrongly = other = 0
    for seed in range(3):
        crowd = adjudge.simulate("colluding", seed, **SIZES, labels=labels, colluders=0.15, copying=0.9)
        result = collusion(adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments)
        named = set(zip(result.first[result.flagged].tolist(), result.second[result.flagged].tolist(), strict=True))
        other += len(pairs(crowd))
        outcome += len(named & pairs(crowd))
        wrongly += len(named - pairs(crowd))
    assert other == 9
    assert outcome / other >= 0.9
    assert wrongly <= 0.1 * (outcome + wrongly)


def test_where_nobody_copies_nobody_is_named():
    """p-values are no smaller than they should be, and hardly any crowd has a discovery."""
    small, named, crowds = [], 0, 10
    for seed in range(crowds):
        crowd = adjudge.simulate("dawid-skene", 100 + seed, **SIZES, labels=2, accuracy=0.8)
        result = collusion(adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments)
        small.append((result.test.p < 0.05).mean())
        named += bool(result.flagged.any())
    assert 0.02 < np.mean(small) < 0.055
    assert named <= 2


def test_the_share_of_copied_labels_is_estimated():
    """And those who copy agree on what is wrong more often than expected."""
    crowd = adjudge.simulate("colluding", 5, **SIZES, labels=4, colluders=0.15, copying=0.8)
    result = collusion(adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments)
    other = [(a, b) in pairs(crowd) for a, b in zip(result.first.tolist(), result.second.tolist(), strict=True)]
    assert result.test.copied[other].mean() == pytest.approx(0.8, abs=0.2)
    assert (result.test.wrong[other] > result.test.expected_wrong[other]).all()
    assert (result.test.agreed[other] > result.test.expected[other]).all()
    table = result.table
    assert table["rate"].is_sorted()
    assert "same_order" not in table.columns
    assert "agreed more than the model allows: 'j" in result.sentence


def test_yekutieli_names_no_more():
    """It holds under any dependence, and pays for that."""
    crowd = adjudge.simulate("colluding", 5, **SIZES, labels=2, copying=0.6)
    fit = adjudge.fit(crowd.judgments, "dawid-skene")
    default, strict = (collusion(fit, crowd.judgments, control=control) for control in ("bh", "by"))
    assert default.flagged.sum() >= strict.flagged.sum()
    assert (strict.rate >= default.rate).all()


def test_identical_work_in_the_same_order_is_seen():
    """A judge who hands in another's work, item after item."""
    rng = np.random.default_rng(0)
    rows = []
    for n in range(120):
        result = {judge: int(rng.random() < (0.85 if n % 2 else 0.15)) for judge in "vwxyz"}
        result["copy"] = result["v"]
        rows += [(f"i{n:03}", judge, label, rng.random() if judge in "wxyz" else n) for judge, label in result.items()]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row", strict=False))
    first = collusion(adjudge.fit(judgments, "dawid-skene"), judgments).table.row(0, named=True)
    assert {first["judge"], first["other"]} == {"v", "copy"}
    assert first["flagged"]
    assert first["identical"]
    assert first["same_order"] == 1
    assert first["copied"] > 0.9


def test_nobody_shares_enough():
    """A single item, or none shared, leaves nothing to compare."""
    for rows in ([("a", "x", 0), ("a", "y", 1)], [("a", "x", 0), ("b", "y", 1)]):
        judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"))
        result = collusion(adjudge.fit(judgments, "dawid-skene"), judgments)
        assert result.sentence == "Copying cannot be detected: no two judges share 8 items."
        assert result.table.height == 0
    lone = collusion(adjudge.fit(judgments, "dawid-skene"), judgments, least=1)
    assert lone.table.height == 0


def test_a_pair_of_one_shared_item_has_a_chance():
    """And it is no number that is none."""
    judgments = adjudge.read(
        pl.DataFrame([("a", "x", 0), ("a", "y", 0)], schema=["item", "judge", "label"], orient="row"), labels=[0, 1]
    )
    result = collusion(adjudge.fit(judgments, "dawid-skene"), judgments, least=1)
    assert 0 < result.p[0] <= 1
    assert (
        result.sentence
        == "No pair of judges agreed more than the model allows, of 1 pairs with at least 1 shared items."
    )


def test_what_cannot_be_is_refused():
    """With what can."""
    crowd = adjudge.simulate("dawid-skene", 1, items=50, judges=5, labels=2)
    fit = adjudge.fit(crowd.judgments, "dawid-skene")
    with pytest.raises(UsageError, match="least 0 is not a whole number of at least 1"):
        collusion(fit, crowd.judgments, least=0)
    with pytest.raises(UsageError, match=r"level 1\.5 is not between 0 and 1"):
        collusion(fit, crowd.judgments, level=1.5)
    with pytest.raises(UsageError, match="control 'holm' is not one of 'bh', 'by'"):
        collusion(fit, crowd.judgments, control="holm")


def test_without_pairs_nothing_is_sampled(monkeypatch):
    """If no two judges share enough items, the difficulty of items is not needed, and not learned."""

    def sampled(*arguments):
        raise AssertionError("the difficulty of items was sampled")

    monkeypatch.setattr("adjudge.diagnostics.collusion.difficulty_draws", sampled)
    crowd = adjudge.simulate("dawid-skene", seed=1, items=60, judges=40, labels=2, per_item=3)
    result = collusion(adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments)
    assert result.sentence == "Copying cannot be detected: no two judges share 8 items."
    assert result.table.is_empty()


def timed(order, when):
    """Return 40 items judged by four at times ``when(n, judge)``, rows in an order, and how each pair went along."""
    rng = np.random.default_rng(8)
    rows = [
        (f"i{n:03}", judge, int(rng.random() < 0.8) ^ (n % 2), float(when(n, judge)))
        for n in range(40)
        for judge in "wxyz"
    ]
    rows = [rows[at] for at in np.random.default_rng(order).permutation(160)] if order else rows
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"), labels=[0, 1])
    table = collusion(adjudge.fit(judgments, "dawid-skene"), judgments).table
    return {frozenset((row["judge"], row["other"])): row["same_order"] for row in table.iter_rows(named=True)}


@pytest.mark.parametrize("ties", [1, 4, 20])
def test_the_order_of_rows_is_no_order_of_work(ties):
    """What share of steps two took in the same direction is the same of rows that are shuffled, ties or none."""
    moment = {judge: np.random.default_rng(seed).permutation(40) // ties for seed, judge in enumerate("wxyz")}
    result = [timed(order, lambda n, judge: moment[judge][n]) for order in range(4)]
    for other in result[1:]:
        assert other == pytest.approx(result[0])
    assert all(0 < share < 1 for share in result[0].values())


def test_steps_between_equal_times_do_not_count():
    """All at one time is no order; a day's work in any order, day after day, is the same order."""
    assert set(timed(0, lambda n, _: 1).values()) == {None}
    assert set(timed(1, lambda n, _: n // 10).values()) == {1.0}
    away = timed(1, lambda n, judge: -(n // 10) if judge == "w" else n // 7)
    assert {share for pair, share in away.items() if "w" in pair} == {0.0}
    assert {share for pair, share in away.items() if "w" not in pair} == {1.0}

"""Skills from agreement: what they are, whom they withstand, and how many judges it takes."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.kernels.block import Block
from adjudge.models import mmsr
from adjudge.models.base import accurate
from adjudge.models.mmsr import MODELS, compare_judges


def crowd(skill, items=400, labels=3, seed=0):
    """Return the truths, and a table in which every judge labels every item, right with her own probability."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(labels, size=items)
    right = (np.asarray(skill) * (labels - 1) + 1) / labels
    wrong = (truth[:, None] + rng.integers(1, labels, (items, right.size))) % labels
    said = np.where(rng.random((items, right.size)) < right, truth[:, None], wrong)
    item, judge = np.indices(said.shape).reshape(2, -1)
    return truth, pl.DataFrame({"item": item, "judge": judge, "label": said.ravel()})


def test_skills_are_found():
    """To the error that 400 items leave, from agreement alone; who answers the reverse is below zero."""
    skill = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.2, 0.0, -0.3])
    _, table = crowd(skill)
    found = adjudge.fit(table, "m-msr").judges["skill"].to_numpy()
    np.testing.assert_allclose(found[:7], skill[:7], atol=0.12)
    assert abs(found[7]) < 0.15
    assert found[8] < -0.15


def test_colluders_mislead_the_vote_and_not_the_model():
    """Of 21 judges 8 give the same wrong label together: the vote falls for them, trimmed means do not."""
    truth, table = crowd(np.full(21, 0.35), items=600, labels=2, seed=4)
    trick = np.random.default_rng(5).random(truth.size) < 0.5
    lie = pl.Series(np.where(trick, 1 - truth, truth))[table["item"].to_list()]
    table = table.with_columns(label=pl.when(pl.col("judge") < 8).then(lie).otherwise(pl.col("label")))
    accuracy = {
        model: (adjudge.fit(table, model).labels.sort("item")["label"].to_numpy() == truth).mean()
        for model in ("majority", "m-msr")
    }
    assert accuracy["m-msr"] > accuracy["majority"] + 0.03


def test_gold_counts_as_one_more_judge():
    """Two camps that answer the reverse of each other cannot be told apart; gold tells them apart."""
    said = [(i, j, (i + (j > 1)) % 2) for i in range(30) for j in range(4)]
    table = pl.DataFrame(said, schema=["item", "judge", "label"], orient="row")
    assert adjudge.fit(table, "m-msr").labels["probability"].to_list() == [0.5] * 30
    fit = adjudge.fit(table, "m-msr", gold={i: i % 2 for i in range(10)})
    assert fit.labels["label"].to_list() == [i % 2 for i in range(30)]


def test_whom_nobody_met_is_as_the_others():
    """A judge without common items has the typical skill; so has everybody where no two judges met."""
    _, table = crowd([0.8, 0.7, 0.6, 0.5])
    alone = pl.DataFrame({"item": [999], "judge": [9], "label": [0]})
    fit = adjudge.fit(pl.concat([table, alone]), "m-msr")
    skill = fit.judges["skill"].to_numpy()
    assert skill[4] == pytest.approx(skill[:4].mean())
    np.testing.assert_allclose(fit.params.population, fit.params.confusion[4])
    single = adjudge.fit(table.filter(pl.col("judge") == 0), "m-msr")
    np.testing.assert_allclose(single.params.confusion[0], accurate(1, 3).population)


def test_skills_are_kept_off_their_limits():
    """By 1/sqrt(I), so that votes have finite weights."""
    table = pl.DataFrame(
        [(i, j, i % 2) for i in range(25) for j in range(3)], schema=["item", "judge", "label"], orient="row"
    )
    assert adjudge.fit(table, "m-msr").judges["skill"].to_list() == pytest.approx([1 - 1 / 5] * 3)


def test_too_many_judges_are_refused(monkeypatch):
    """Before any memory is asked for, with models that take them."""
    none = np.empty(0, np.int32)
    many = Block(np.zeros(1, np.int64), none, none, none, none, np.empty(0), 8_001, 2, np.arange(2.0))
    monkeypatch.setattr(mmsr, "agreements", lambda block: pytest.fail("asked for memory"))
    with pytest.raises(UsageError) as error:
        compare_judges(many, accurate(1, 2))
    assert str(error.value) == (
        "model 'm-msr' compares every two judges, of 8,000 at most, and there are 8,001: "
        "'one-coin' and 'vote-weight' learn one skill a judge of any number"
    )


def test_it_is_counted_once():
    """One pass over the judgments is the whole story."""
    assert (MODELS[0].until, MODELS[0].rounds, list(MODELS[0].begins)) == ("rounds", 0, ["agreement"])

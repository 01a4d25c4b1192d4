"""Held-out likelihood: against a simulated truth, on every model, and what it refuses."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.models import holdout
from adjudge.models.holdout import MOST, even_weights, held_out, held_out_logs
from adjudge.models.registry import MODELS


@pytest.fixture(scope="module")
def crowd():
    """Return a crowd of judges with confusion matrices of their own."""
    return adjudge.simulate("dawid-skene", seed=3, items=400, judges=12, labels=2, per_item=6)


def test_it_comes_near_the_likelihood_of_the_truth(crowd):
    """No model can foretell better than the true matrices and what the other judgments say; Dawid-Skene comes near."""
    table, found = crowd.judgments, held_out(crowd.judgments, "dawid-skene")
    chance = crowd.confusion[table.judge, crowd.truth[table.item()], table.label]
    ceiling = np.log(chance).mean()  # with the truths known
    assert ceiling - 0.12 < found.mean < ceiling
    assert 0 < found.error < 0.02
    assert found.judgments == len(table)


def test_a_coin_is_foretold_as_a_coin():
    """Judges who toss coins have log 1/2 a judgment, whatever the model believes of items."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"item": np.arange(2_000) % 400, "judge": rng.integers(0, 5, 2_000), "label": 0})
    frame = frame.with_columns(label=pl.Series(rng.integers(0, 2, 2_000)))
    table = adjudge.read(frame, item="item", judge="judge")
    for model in ("majority", "dawid-skene"):
        mean, error, _ = held_out(table, model)
        assert np.log(0.5) - 0.1 < mean < np.log(0.5) + 3 * error


def test_nothing_held_back_is_seen(monkeypatch, crowd):
    """Each fit is given all judgments but its fold, and every judgment is held back once."""
    given = []
    monkeypatch.setattr(
        holdout, "fit", lambda table, *args, **named: given.append(len(table)) or real(table, "majority")
    )
    real = adjudge.fit
    logs = held_out_logs(crowd.judgments, "majority", folds=4)
    assert given == [1_800] * 4
    assert np.isfinite(logs).all()
    assert logs.size == 2_400


def test_weights_count():
    """The mean is over what judgments weigh: one of weight zero is fitted and scored as if it were not there."""
    rows = {"item": list("aabbccdd"), "judge": ["x", "y"] * 4, "label": [0, 0, 1, 1, 0, 1, 1, 1]}
    weight = [1.0, 2.0, 1.0, 0.5, 0.0, 1.0, 3.0, 1.0]
    table = adjudge.read(pl.DataFrame({**rows, "weight": weight}))
    logs = held_out_logs(table, "majority")
    assert held_out(table, "majority").mean == pytest.approx(np.average(logs, weights=table.weight))
    assert np.average(logs, weights=table.weight) != pytest.approx(logs.mean())


@pytest.mark.parametrize("model", [name for name, model in MODELS.items() if not model.ordered])
def test_every_model_foretells(crowd, model):
    """Each gives finite likelihoods, the same with the same seed, and most do better than a coin."""
    one, again = (held_out(crowd.judgments, model, seed=5) for _ in range(2))
    assert one == again
    assert np.log(0.5) < one.mean < 0


def test_too_little_to_hold_back():
    """One judgment, or one fold, cannot be foretold from others."""
    table = pl.DataFrame({"item": ["a"], "judge": ["x"], "label": ["0"]})
    with pytest.raises(adjudge.UsageError, match="one judgment cannot be foretold from others"):
        held_out(table, "majority")
    with pytest.raises(adjudge.UsageError, match="folds 1 is not a whole number of at least 2"):
        held_out(adjudge.dataset("anesthesia"), "majority", folds=1)


def test_ctrl_c_is_passed_on(monkeypatch, crowd):
    """A fit that was interrupted is none to measure."""
    real = adjudge.fit
    monkeypatch.setattr(holdout, "fit", lambda *args, **named: replace(real(*args), stopped="interrupted"))
    with pytest.raises(KeyboardInterrupt):
        held_out(crowd.judgments, "majority")


def test_no_judge_counts_for_more_than_fifteen_typical_ones():
    """Judgments of a judge with more are worth less, those of others what they were."""
    judge = ["busy"] * 100 + ["a", "b", "c", "c"]
    frame = pl.DataFrame({"item": range(104), "judge": judge, "label": [n % 2 for n in range(104)]})
    weight = even_weights(adjudge.read(frame.with_columns(weight=2.0), item="item", judge="judge", weight="weight"))
    assert weight[:100].sum() == pytest.approx(MOST * 3)  # the median of 2, 2, 4 and 200
    assert weight[100:].tolist() == [2, 2, 2, 2]

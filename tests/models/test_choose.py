"""Choosing a model: the rule, the reason, and crowds for which the choice is known."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.models.choose import CANDIDATES, choose, chosen, takes
from adjudge.models.holdout import HeldOut
from adjudge.models.registry import MODELS


def held(**means):
    """Return held-out likelihoods with a standard error of .01."""
    return {name.replace("_", "-"): HeldOut(mean, 0.01, 100) for name, mean in means.items()}


def test_the_plainest_within_a_standard_error():
    """Not the best itself, where a plainer one is as good."""
    choice = chosen(held(majority=-0.52, one_coin=-0.505, mace=-0.5, dawid_skene=-0.499))
    assert (choice.model, choice.best) == ("one-coin", "dawid-skene")
    assert choice.reason == (
        "its held-out log likelihood -0.5050 a judgment over 5 folds is within a standard error (0.0100) of the best "
        "of 4 models, -0.4990 of 'dawid-skene', and no model that is plainer comes as near"
    )


def test_the_best_where_none_is_near():
    """Then the reason is that it is the best."""
    choice = chosen(held(majority=-0.52, mace=-0.4))
    assert choice.model == choice.best == "mace"
    assert choice.reason == "its held-out log likelihood -0.4000 a judgment over 5 folds is the best of 2 models"


def test_candidates_are_models():
    """All of them are registered, and votes come first."""
    assert set(CANDIDATES) <= set(MODELS)
    assert CANDIDATES[0] == "majority"


def test_what_can_take_which_labels():
    """Ordered models need an order, and binary ones two labels."""
    plain, ordered = adjudge.Scale(("a", "b", "c")), adjudge.Scale(("a", "b", "c"), ordinal=True)
    assert [takes("ordinal", scale) for scale in (plain, ordered)] == [False, True]
    assert [takes("gaussian", scale) for scale in (plain, adjudge.Scale(("a", "b")))] == [False, True]


def test_biased_judges_are_not_voted_on():
    """Where half the judges say the opposite more often than not, no vote is taken, and the truth is found."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    item = np.repeat(np.arange(300), 8)
    judge = np.tile(np.arange(8), 300)
    right = rng.random(item.size) < np.array([0.95, 0.95, 0.95, 0.9, 0.9, 0.15, 0.2, 0.1])[judge]
    label = np.where(right, truth[item], 1 - truth[item])
    table = adjudge.read(pl.DataFrame({"item": item, "judge": judge, "label": label}), item="item", judge="judge")
    fit = adjudge.fit(table, "auto")
    assert fit.model not in ("majority", "wawa", "zbs")
    assert fit.reason.startswith("its held-out log likelihood")
    assert (fit.label == truth[[int(name) for name in fit.items]]).mean() > 0.98


def test_alike_judges_are_voted_on():
    """Where all judges are alike, the plainest model is as good as any."""
    rng = np.random.default_rng(2)
    item, judge = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    label = np.where(rng.random(1_000) < 0.85, item % 2, 1 - item % 2)
    table = adjudge.read(pl.DataFrame({"item": item, "judge": judge, "label": label}), item="item", judge="judge")
    assert choose(table).model in ("majority", "wawa", "zbs", "vote-weight", "vote-weight-biased")


def test_what_is_tried_is_told():
    """Every candidate once, with its number."""
    told = []
    choice = choose(adjudge.dataset("anesthesia"), trying=lambda *what: told.append(what))
    assert [name for name, _, _ in told] == list(choice.held)
    assert told[0] == ("majority", 1, len(told))


def test_gold_is_respected_and_a_start_refused():
    """Gold is told to the model taken; where it begins cannot be said of a model not known yet."""
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "auto", gold={"1": "4"})
    assert fit.labels["label"][0] == "4"
    with pytest.raises(adjudge.UsageError, match="start 'vote' is for a model that is named"):
        adjudge.fit(adjudge.dataset("anesthesia"), "auto", start="vote")


def test_the_reason_is_saved(tmp_path):
    """What is loaded still says why."""
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "auto")
    fit.save(tmp_path / "fit")
    assert adjudge.load(tmp_path / "fit").reason == fit.reason != ""


SETS = ("bluebirds", "ducks", "nyt_2p", "nyt_3p", "rte", "temp", "weather_amt", "wsd", "dog", "possent")


@pytest.mark.parametrize("name", SETS)
def test_auto_does_not_lose_to_the_vote(shared, name):
    """On real sets, small ones here and all in benchmarks/choosing.py, it is at most one point behind."""
    folder = shared(f"data/{name}")
    vote, taken = (
        adjudge.scores(adjudge.fit(str(folder / "labels.csv"), model), str(folder / "gold.csv")).values["accuracy"]
        for model in ("majority", "auto")
    )
    assert taken >= vote - 0.01


def test_a_spammer_who_judges_half_of_all_does_not_settle_it():
    """She is foretold by every model; what the others say tells the models apart."""
    crowd = adjudge.simulate("carpenter", seed=7, topics=10, items=600, judges=40, judgments=4_000, gold=60)
    right = {model: (adjudge.fit(crowd.judgments, model).label == crowd.truth).mean() for model in ("auto", "majority")}
    assert right["majority"] < 0.5
    assert right["auto"] > 0.75

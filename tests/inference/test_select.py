"""Choosing a model: the rule, the reason, and crowds for which the choice is known."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference import select as holdout
from adjudge.inference.model import MODELS
from adjudge.inference.select import (
    MOST,
    TRUSTED,
    Choice,
    HeldOut,
    candidates,
    choose,
    chosen,
    counted_chances,
    even_weights,
    held_out,
    held_out_logs,
    takes,
    with_share,
)


def held(**means):
    """Return held-out likelihoods with a standard error of .01."""
    return {name.replace("_", "-"): HeldOut(mean, 0.01, 100) for name, mean in means.items()}


def test_the_plainest_within_a_standard_error():
    """Not the best itself, where a plainer one is as good."""
    choice = chosen(held(majority=-0.52, one_coin=-0.505, mace=-0.5, dawid_skene=-0.499))
    assert (choice.model, choice.best) == ("one-coin", "dawid-skene")
    assert choice.reason == (
        "its held-out log-likelihood of -0.5050 per judgment over 5 folds is within a standard error (0.0100) of the "
        "best of 4 models, -0.4990 of 'dawid-skene', and no simpler model is"
    )


def test_the_best_where_none_is_near():
    """Then the reason is that it is the best."""
    choice = chosen(held(majority=-0.52, mace=-0.4))
    assert choice.model == choice.best == "mace"
    assert choice.reason == "its held-out log-likelihood of -0.4000 per judgment over 5 folds is the best of 2 models"


def test_candidates_are_ranked_models():
    """They are read from the registry, the simplest first; a model without a rank is none."""
    assert candidates() == [
        "majority",
        "wawa",
        "zbs",
        "vote-weight",
        "vote-weight-biased",
        "ordinal",
        "single-confusion",
        "glad",
        "mace",
        "hybrid-confusion",
        "dawid-skene",
        "minimax-entropy",
        "subtypes",
    ]
    assert all(MODELS[name].auto_rank is None for name in MODELS if name not in candidates())


def test_what_can_take_which_labels():
    """Ordered models need an order, and binary ones two labels."""
    plain, ordered = adjudge.Scale(("a", "b", "c")), adjudge.Scale(("a", "b", "c"), ordinal=True)
    assert [takes("ordinal", scale) for scale in (plain, ordered)] == [False, True]
    assert [takes("gaussian", scale) for scale in (plain, adjudge.Scale(("a", "b")))] == [False, True]


def table_of(item, judge, label):
    """Return judgments from columns."""
    return adjudge.read(pl.DataFrame({"item": item, "judge": judge, "label": label}), item="item", judge="judge")


def test_biased_judges_are_not_voted_on():
    """Where three of eight judges say the opposite more often than not, no vote is chosen, and auto finds the truth."""
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300)
    item = np.repeat(np.arange(300), 8)
    judge = np.tile(np.arange(8), 300)
    right = rng.random(item.size) < np.array([0.95, 0.95, 0.95, 0.9, 0.9, 0.15, 0.2, 0.1])[judge]
    table = table_of(item, judge, np.where(right, truth[item], 1 - truth[item]))
    assert choose(table).model not in ("majority", "wawa", "zbs")
    fit = adjudge.fit(table, "auto")
    assert fit.model == "consensus"
    assert (fit.label == truth[[int(name) for name in fit.items]]).mean() > 0.98


def test_a_model_that_is_better_has_a_share():
    """Each probability is the consensus with at most .3 of the model, as the reason says, and so is the claim."""
    rng = np.random.default_rng(1)
    truth, judge = rng.integers(0, 2, (1_500, 1)), np.argsort(rng.random((1_500, 20)), axis=1)[:, :4]
    right = rng.random(judge.shape) < np.where(np.arange(20) < 5, 0.99, 0.5)[judge]  # five know, fifteen guess
    label = np.where(right, truth, 1 - truth)
    judgments = table_of(np.repeat(np.arange(1_500), 4), judge.ravel(), label.ravel())
    fit, base = adjudge.fit(judgments, "auto"), adjudge.fit(judgments)
    choice, reference = choose(judgments), held_out(judgments, "consensus")
    score = choice.scores[choice.model]
    better = score.mean - reference.mean > score.error
    other = adjudge.fit(judgments, choice.model, inference=MODELS[choice.model].inferences[-1])
    apart = (base.posterior.argmax(axis=1) != other.posterior.argmax(axis=1)).mean()
    share = 0.3 * max(0, 1 - apart / 0.4)
    assert better
    assert share > 0.05
    np.testing.assert_allclose(fit.posterior, (1 - share) * base.posterior + share * other.posterior)
    assert fit.reason == (
        f"each probability is {1 - share:.0%} consensus and {share:.0%} '{choice.model}', which predicts further "
        f"judgments better (held-out log-likelihood per judgment {score.mean:.4f}, consensus {reference.mean:.4f}, "
        f"5 folds) and agrees with the consensus on {1 - apart:.0%} of the labels"
    )
    assert fit.calibration.expected == pytest.approx(fit.posterior.max(axis=1).mean())


def fits_apart(different, items=100):
    """Return the consensus of clear judgments, the judgments, and a fit that gives another label to some items."""
    item, judge = np.repeat(np.arange(items), 4), np.tile(np.arange(4), items)
    judgments = table_of(item, judge, item % 2)
    base = adjudge.fit(judgments)
    other = base.posterior.copy()
    other[:different] = other[:different, ::-1]
    return base, judgments, replace(base, posterior=other, calibration=None)


def scored(better):
    """Return a choice of glad, and a consensus whose held-out log-likelihood is lower by so many standard errors."""
    return Choice("glad", "glad", {"glad": HeldOut(-0.5, 0.01, 400)}, 5), HeldOut(-0.5 - 0.01 * better, 0.01, 400)


@pytest.mark.parametrize(("different", "share"), [(0, 0.3), (20, 0.15), (39, 0.0075)])
def test_the_share_falls_as_labels_differ(different, share):
    """From .3 where all labels are the same to none at .4 of the items."""
    base, judgments, other = fits_apart(different)
    fit = with_share(base, judgments, other, *scored(better=3))
    np.testing.assert_allclose(fit.posterior, (1 - share) * base.posterior + share * other.posterior)
    assert f"{1 - share:.0%} consensus and {share:.0%} 'glad'" in fit.reason


def test_a_model_that_contradicts_the_consensus_has_no_share():
    """Even if it predicts held-out judgments far better: shared errors are predicted too."""
    base, judgments, other = fits_apart(60)
    fit = with_share(base, judgments, other, *scored(better=50))
    assert (fit.posterior == base.posterior).all()
    assert fit.reason == (
        "'glad' predicts held-out judgments better, but gives another label to 60% of the items: without gold nothing "
        "says which of the two is right"
    )


def test_a_model_that_is_not_better_has_no_share():
    """One standard error of the held-out log-likelihood is needed."""
    base, judgments, other = fits_apart(10)
    fit = with_share(base, judgments, other, *scored(better=0.9))
    assert (fit.posterior == base.posterior).all()
    assert fit.reason.startswith(
        "it is the consensus alone: 'glad' is not better by more than a standard error (held-out"
    )
    assert "consensus -0.5090" in fit.reason


def test_where_models_are_not_compared_it_is_the_consensus_alone():
    """Few judgments per item, gold, and one label: the reason says so, and the probabilities are the default's."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 100)
    item, judge = np.repeat(np.arange(100), 2), np.tile([0, 1, 2, 3], 50)
    few = table_of(item, judge, np.where(rng.random(200) < 0.8, truth[item], 1 - truth[item]))
    many = adjudge.simulate("dawid-skene", seed=5, items=80, judges=6, labels=2, per_item=5)
    gold = {many.judgments.items[i]: many.judgments.scale.labels[many.truth[i]] for i in range(10)}
    one_label = table_of([*"aabb"], [*"uvuv"], ["yes"] * 4)
    for data, known, reason in (
        (few, None, "models cannot be compared with 2.0 judgments per item: 3 are needed"),
        (many.judgments, gold, "gold teaches more than held-out judgments can"),
        (one_label, None, "there is one label only"),
    ):
        auto, plain = adjudge.fit(data, "auto", known), adjudge.fit(data, gold=known)
        assert (auto.model, auto.reason) == ("consensus", reason)
        assert (auto.posterior == plain.posterior).all()


def test_people_beside_machines_are_not_compared():
    """Other models know no kinds of judges."""
    item, judge = np.repeat(np.arange(40), 4), np.tile([*"mnop"], 40)
    rows = pl.DataFrame({"item": item, "judge": judge, "label": item % 2})
    judges = dict.fromkeys("mno", "machine") | {"p": "person"}
    assert adjudge.fit(adjudge.read(rows, judges=judges), "auto").reason == (
        "judges are of several kinds, which other models do not know"
    )


def test_a_unanimous_crowd_is_left_as_it_is():
    """All judges agree on everything: no label changes, and nothing fails."""
    item, judge = np.repeat(np.arange(30), 3), np.tile(np.arange(3), 30)
    fit = adjudge.fit(table_of(item, judge, item % 3), "auto")
    assert (fit.label == np.array([int(name) for name in fit.items]) % 3).all()
    assert fit.reason


def test_alike_judges_are_voted_on():
    """Where all judges are alike, the plainest model is as good as any."""
    rng = np.random.default_rng(2)
    item, judge = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    label = np.where(rng.random(1_000) < 0.85, item % 2, 1 - item % 2)
    table = adjudge.read(pl.DataFrame({"item": item, "judge": judge, "label": label}), item="item", judge="judge")
    assert choose(table).model in ("majority", "wawa", "zbs", "vote-weight", "vote-weight-biased")


def test_what_is_tried_is_told():
    """Every candidate once, with its number."""
    messages = []
    choice = choose(adjudge.dataset("anesthesia"), trying=lambda *what: messages.append(what))
    assert [name for name, _, _ in messages] == list(choice.scores)
    assert messages[0] == ("majority", 1, len(messages))


def test_gold_is_respected_and_a_start_refused():
    """Gold is kept certain; where EM starts cannot be said of a model that is not known yet."""
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "auto", gold={"1": "4"})
    assert fit.labels["label"][0] == "4"
    with pytest.raises(adjudge.UsageError, match="start 'vote' is for a model that is named"):
        adjudge.fit(adjudge.dataset("anesthesia"), "auto", start="vote")


def test_the_reason_is_saved(tmp_path):
    """What is loaded still says why."""
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "auto")
    assert fit.reason
    adjudge.save(fit, tmp_path / "fit")
    assert adjudge.load(tmp_path / "fit").reason == fit.reason != ""


SETS = ("bluebirds", "ducks", "nyt_2p", "nyt_3p", "rte", "temp", "weather_amt", "wsd", "dog", "possent")


@pytest.mark.parametrize("name", SETS)
def test_auto_does_not_lose_to_the_vote(shared, name):
    """On small real sets (all are in studies/benchmarks/model_selection.py), it is at most one point behind."""
    folder = shared(f"data/{name}")
    vote, used = (
        adjudge.score(adjudge.fit(str(folder / "labels.csv"), model), str(folder / "gold.csv")).values["accuracy"]
        for model in ("majority", "auto")
    )
    assert used >= vote - 0.01


def test_a_spammer_who_judges_half_of_all_does_not_settle_it():
    """She is foretold by every model; what the others say tells the models apart."""
    crowd = adjudge.simulate("carpenter", seed=7, topics=10, items=600, judges=40, judgments=4_000, gold=60)
    right = {model: (adjudge.fit(crowd.judgments, model).label == crowd.truth).mean() for model in ("auto", "majority")}
    assert right["majority"] < 0.5
    assert right["auto"] > 0.75


@pytest.fixture(scope="module")
def crowd():
    """Return a crowd of judges with confusion matrices of their own."""
    return adjudge.simulate("dawid-skene", seed=3, items=400, judges=12, labels=2, per_item=6)


def test_it_comes_near_the_likelihood_of_the_truth(crowd):
    """No model predicts better than the true matrices with the other judgments; Dawid-Skene comes near."""
    table, result = crowd.judgments, held_out(crowd.judgments, "dawid-skene")
    chance = crowd.confusion[table.judge, crowd.truth[table.item()], table.label]
    ceiling = np.log(chance).mean()  # with the truths known
    assert ceiling - 0.12 < result.mean < ceiling
    assert 0 < result.error < 0.02
    assert result.judgments == len(table)


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
    collected, real = [], holdout.infer
    monkeypatch.setattr(
        holdout, "infer", lambda model, table, *args: collected.append(len(table)) or real(model, table)
    )
    logs = held_out_logs(crowd.judgments, "majority", folds=4)
    assert collected == [1_800] * 4
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


@pytest.mark.parametrize("model", [name for name, model in MODELS.items() if not model.labels.ordered])
def test_every_model_foretells(crowd, model):
    """Each gives finite likelihoods, the same with the same seed, and most do better than a coin."""
    first, again = (held_out(crowd.judgments, model, seed=5) for _ in range(2))
    assert first == again
    assert np.log(0.5) < first.mean < 0


def test_too_little_to_hold_back():
    """One judgment, or one fold, cannot be foretold from others."""
    table = pl.DataFrame({"item": ["a"], "judge": ["x"], "label": ["0"]})
    with pytest.raises(
        adjudge.UsageError, match="a held-out likelihood needs at least two judgments, and there is one"
    ):
        held_out(table, "majority")
    with pytest.raises(adjudge.UsageError, match="folds 1 is not a whole number of at least 2"):
        held_out(adjudge.dataset("anesthesia"), "majority", folds=1)


def test_ctrl_c_is_passed_on(monkeypatch, crowd):
    """A fit that was interrupted is none to measure."""
    real = holdout.infer
    monkeypatch.setattr(holdout, "infer", lambda *args: replace(real(*args), stopped="interrupted"))
    with pytest.raises(KeyboardInterrupt):
        held_out(crowd.judgments, "majority")


def test_no_judge_counts_for_more_than_fifteen_typical_ones():
    """Judgments of a judge with more are worth less, those of others what they were."""
    judge = ["busy"] * 100 + ["a", "b", "c", "c"]
    frame = pl.DataFrame({"item": range(104), "judge": judge, "label": [n % 2 for n in range(104)]})
    weight = even_weights(adjudge.read(frame.with_columns(weight=2.0), item="item", judge="judge", weight="weight"))
    assert weight[:100].sum() == pytest.approx(MOST * 3)  # the median of 2, 2, 4 and 200
    assert weight[100:].tolist() == [2, 2, 2, 2]


ROWS = [("a", "x", 0), ("a", "y", 0), ("b", "x", 1), ("b", "y", 0), ("a", "z", 1), ("b", "x", 1), ("b", "new", 0)]


def test_truths_as_believed_and_judges_as_counted():
    """P = sum_z q_z (counts + 3 everybody) / (row + 3), with everybody's rows smoothed by one."""
    frame = pl.DataFrame(ROWS, schema=["item", "judge", "label"], orient="row")
    table = adjudge.read(frame, item="item", judge="judge")
    displayed, stored = table.take(np.arange(5)), table.take(np.arange(5, 7))
    posterior = np.array([[0.9, 0.1], [0.3, 0.7]])
    chance = counted_chances(displayed.block(), posterior, stored.block())

    counts = np.zeros((4, 2, 2))
    for i, j, k in zip(displayed.item(), displayed.judge, displayed.label, strict=True):
        counts[j, :, k] += posterior[i]
    everybody = counts.sum(axis=0) + 1
    everybody /= everybody.sum(axis=1, keepdims=True)
    rows = (counts + TRUSTED * everybody) / (counts.sum(axis=2, keepdims=True) + TRUSTED)
    expected = [
        sum(posterior[i, z] * rows[j, z, k] for z in range(2))
        for i, j, k in zip(stored.item(), stored.judge, stored.label, strict=True)
    ]
    np.testing.assert_allclose(chance, expected)


def test_chances_of_all_labels_sum_to_one():
    """Whoever is asked about whichever item says something."""
    rng = np.random.default_rng(0)
    crowd = adjudge.simulate("dawid-skene", seed=1, items=30, judges=6, labels=3, per_item=4).judgments
    posterior = rng.dirichlet(np.ones(3), 30)
    total = 0
    for k in range(3):
        requested = replace(crowd, label=np.full(len(crowd), k, np.uint8))
        total = total + counted_chances(crowd.block(), posterior, requested.block())
    np.testing.assert_allclose(total, 1)

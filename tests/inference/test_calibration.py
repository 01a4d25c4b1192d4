"""Calibration by crowds: the weights that were learned, applied as the formula says, and what is said about them."""

import json
from dataclasses import replace
from math import comb

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.inference.calibrate import with_calibration
from adjudge.inference.calibration import (
    Calibration,
    GoldMap,
    as_arrays,
    as_dict,
    by_crowds,
    calibration_of,
    crowd_contexts,
    evidence_rule,
    expected_share,
    gold_margin,
    lean_to_vote,
    learned_weights,
    mapped,
    mixed,
    smoothed_votes,
)
from adjudge.inference.correlation import TYPICAL, Correlation
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named

ROWS = {"item": [*"aaaabbbcc"], "judge": [*"uvwxuvwuv"], "label": [0, 0, 1, 0, 1, 1, 2, 2, 0]}


@pytest.fixture(scope="module")
def judgments():
    """Return nine judgments with three labels."""
    return adjudge.read(pl.DataFrame(ROWS), labels=[0, 1, 2])


def test_the_formula_item_by_item(judgments):
    """A loop over items gives the same probabilities."""
    fit, block = infer(model_named("consensus"), judgments), judgments.block()
    prevalence = fit.params.label_prevalence
    calibration = by_crowds(Correlation(0.2, 0.4, 0.07, 0.01), 0.3, block, prevalence)
    weight, slope = np.reshape(calibration.weights, (2, 3))
    learned = learned_weights()
    contexts = crowd_contexts(0.4, 9 / 4, fit.params.label_prevalence)
    np.testing.assert_allclose(weight, np.array(learned["by_crowd"]) @ contexts)
    probability = mixed(calibration, fit.posterior, block)
    for i, name in enumerate(judgments.items):
        labels = [label for item, label in zip(ROWS["item"], ROWS["label"], strict=True) if item == name]
        n, prevalence = len(labels), np.array(calibration.prevalence)
        vote = (np.bincount(labels, minlength=3) + 1 / 3) / (n + 1)
        evidence = np.log(fit.posterior[i]) - np.log(prevalence)
        evidence = (evidence - evidence.max()) / (1 + (n - 1) * 0.2)
        evidence = calibration.cap * np.tanh(evidence / calibration.cap)
        features = np.column_stack([np.log(vote), evidence, np.log(prevalence)])
        logs = features @ (weight + slope * (np.log(n) - 1.2))
        likely = np.exp(logs) / np.exp(logs).sum()
        likely = (1 - calibration.hedge) * likely + calibration.hedge * vote
        np.testing.assert_allclose(probability[i], 0.7 * likely + 0.3 * fit.posterior[i])
    claimed = with_calibration(fit, calibration, block).calibration.expected
    assert claimed == pytest.approx(probability.max(axis=1).mean())


def test_correlated_errors_bound_the_evidence():
    """Little correlation gives a wide bound and little of the vote, strong correlation the narrowest and most."""
    little, strong = evidence_rule(0.02), evidence_rule(0.5)
    assert (little.cap, strong.cap) == (25.0, 6.0)
    assert (little.vote, strong.vote) == (pytest.approx(0.015), 0.15)


def test_gold_stays_certain(judgments):
    """A known truth has probability one."""
    fit = adjudge.fit(judgments, "consensus", gold={"b": 2})
    assert fit.posterior[1].tolist() == [0.0, 0.0, 1.0]
    assert fit.label[1] == 2


def test_a_saved_fit_predicts_as_before(judgments, tmp_path):
    """The weights are saved with the fit, and the items of the fit are predicted alike."""
    fit = adjudge.fit(judgments, "consensus")
    adjudge.save(fit, tmp_path / "fit", judgments)
    loaded = adjudge.load(tmp_path / "fit")
    assert loaded.calibration == fit.calibration
    np.testing.assert_allclose(adjudge.predict(loaded, judgments).posterior, fit.posterior, atol=1e-12)


def test_other_models_have_no_such_weights(judgments):
    """The weights belong to the evidence of the consensus model."""
    message = "calibrate 'crowds' works with model 'consensus' only: its weights were learned for that model"
    with pytest.raises(UsageError, match=message):
        adjudge.fit(judgments, "dawid-skene", calibrate="crowds")


def test_words():
    """What is said: the worth of the judgments, and the expected share of right labels with its interval."""
    calibration = Calibration("crowds", correlation=0.25, judgments=5.0, expected=0.9, margin=0.15)
    assert calibration.words == (
        "5.0 judgments per item are worth about 2.5 independent ones (estimated correlation of errors 0.25); 90% of "
        "the labels are expected to be right (75% to 100%: on crowds that were left out of training, nine in ten such "
        "intervals held the true share)"
    )
    alone = replace(calibration, judgments=1.0)
    assert alone.words.startswith("items have one judgment each, which says little about the judges; 90%")


def test_the_interval_ends_at_none_and_all():
    """It is the margin on both sides, within 0 and 1."""
    calibration = Calibration("crowds", expected=0.7, margin=0.1)
    assert calibration.interval == (pytest.approx(0.6), pytest.approx(0.8))
    assert replace(calibration, expected=0.95).interval == (pytest.approx(0.85), 1.0)
    assert replace(calibration, expected=0.05).interval == (0.0, pytest.approx(0.15))


def test_more_gold_is_worth_what_was_measured():
    """The next size of the study is named, with its gain over the present one; nothing is said where it is unknown."""
    gains = learned_weights()["gold"]["gains"]
    sizes = sorted(map(int, gains))
    reached = dict(zip(sizes, np.maximum.accumulate([gains[str(size)]["accuracy"] for size in sizes]), strict=True))
    none = Calibration("crowds", hedge=0.1)
    assert none.more_gold == (
        f"{sizes[1]} gold items would correct about {round(1000 * reached[sizes[1]])} more labels per 1,000 (mean "
        "over the crowds and panels of the study; adjudge ask chooses the items)"
    )
    some = Calibration("gold", hedge=0.1, gold=sizes[1])
    gain = max(1, round(1000 * (reached[sizes[2]] - reached[sizes[1]])))
    assert some.more_gold.startswith(
        f"{sizes[2]} gold items instead of {sizes[1]} would correct about {gain} more labels per 1,000"
    )
    assert replace(some, gold=sizes[-1]).more_gold == ""
    assert Calibration("judgments", hedge=0.4).more_gold == ""
    assert Calibration("crowds").more_gold == ""  # one label: nothing to learn


def test_more_gold_narrows_the_interval():
    """The margin falls with the number of gold items, and never exceeds that without gold."""
    margins = [gold_margin(0.2, gold) for gold in (5, 20, 50, 200, 1_000, 10_000)]
    assert margins == sorted(margins, reverse=True)
    assert margins[0] > margins[-1] > 0
    assert gold_margin(0.01, 5) == 0.01


def test_the_expected_share_leaves_gold_out(judgments):
    """Items with gold are certain, and say nothing about the others; if all have gold, all count."""
    probability = np.array([[0.9, 0.1, 0.0], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])
    assert expected_share(probability, judgments.start) == pytest.approx(2.5 / 3)
    assert expected_share(probability, judgments.start, np.array([-1, -1, 0])) == pytest.approx(0.75)
    assert expected_share(probability, judgments.start, np.array([0, 2, 0])) == pytest.approx(2.5 / 3)


def test_the_map_adds_what_it_says(judgments):
    """Log odds item by item: weights of base, vote, people and experts, offsets, and a number per judge and label."""
    rng, block = np.random.default_rng(0), judgments.block()
    base, vote = rng.dirichlet(np.full(3, 5.0), 3), rng.dirichlet(np.full(3, 5.0), 3)
    tier = np.array([0, 1, 1, 2])  # of u, v, w, x
    learned = GoldMap((0.5, 0.8, 1.2, 2.0), (0.1, -0.3, 0.2), rng.standard_normal((4, 3, 3)), tier)
    probability = mapped(learned, base, vote, block)
    for i, name in enumerate(judgments.items):
        rows = [("uvwx".index(judge), label) for item, judge, label in zip(*ROWS.values(), strict=True) if item == name]
        eta = 0.5 * np.log(base[i]) + 0.8 * np.log(vote[i]) + [0.1, -0.3, 0.2]
        for rank, weight in ((1, 1.2), (2, 2.0)):
            said = [label for judge, label in rows if tier[judge] == rank]
            if said:
                number = len(said) / (1 + (len(said) - 1) * TYPICAL)
                eta += weight * np.bincount(said, minlength=3) / len(said) * number
        eta += sum(learned.judges[judge, label] for judge, label in rows)
        np.testing.assert_allclose(probability[i], np.exp(eta) / np.exp(eta).sum())


def test_a_calibration_survives_as_plain_values_and_arrays():
    """With a map, its judges and its tiers, and the confusions."""
    rng = np.random.default_rng(1)
    learned = GoldMap((1.0, 0.5, 0.0, 0.0), (0.1, -0.1), rng.standard_normal((3, 2, 2)), np.array([0, 0, 1]))
    before = Calibration("gold", gold=7, loss=0.3, gold_map=learned, confusion=rng.dirichlet(np.ones(2), (3, 2)))
    after = calibration_of(json.loads(json.dumps(as_dict(before))), as_arrays(before))
    assert after == before
    np.testing.assert_array_equal(after.gold_map.judges, learned.judges)
    np.testing.assert_array_equal(after.gold_map.tier, learned.tier)
    np.testing.assert_array_equal(after.confusion, before.confusion)


def test_gold_weights_of_an_earlier_version_are_read():
    """They were weights of the logs of posterior and vote and offsets, which a map has too: the same probabilities."""
    saved = {"by": "gold", "weights": [0.7, 0.4, 0.2, -0.1, -0.1], "gold": 40, "loss": 0.31, "error": 0.02}
    calibration = calibration_of(saved)
    assert calibration.gold_map == GoldMap((0.7, 0.4, 0.0, 0.0), (0.2, -0.1, -0.1))
    assert (
        calibration.words == "probabilities were learned from 40 gold items (log loss 0.310 +- 0.020 on held-out gold)"
    )
    block = adjudge.read(pl.DataFrame(ROWS), labels=[0, 1, 2]).block()
    posterior = np.random.default_rng(2).dirichlet(np.ones(3), 3)
    logs = 0.7 * np.log(np.maximum(posterior, 1e-3)) + 0.4 * np.log(smoothed_votes(block)) + [0.2, -0.1, -0.1]
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(mixed(calibration, posterior, block), expected)


def test_truths_contradict_a_claim_beyond_chance_only():
    """By the binomial at the end of the interval: few truths may lie outside by chance, many may not."""
    calibration = Calibration("crowds", hedge=0.1, expected=0.9, margin=0.05)
    for right, truths in ((90, 100), (8, 10), (82, 100), (0, 0), (10, 10)):
        assert calibration.contradicted(right, truths) == ""
    assert calibration.contradicted(75, 100) == (
        "Warning: 75% of the 100 labels with a known truth are right, outside the claimed 85% to 95%"
    )
    assert calibration.contradicted(1_000, 1_000).startswith("Warning: 100% of the 1,000 labels")
    assert Calibration("judgments", hedge=0.5).contradicted(0, 100) == ""
    tail = sum(comb(40, k) * 0.85**k * 0.15 ** (40 - k) for k in range(31))
    assert tail > 0.05  # 30 of 40 may be chance, 29 may not
    assert calibration.contradicted(30, 40) == ""
    assert calibration.contradicted(29, 40) != ""


def test_one_label_leaves_nothing_to_calibrate():
    """It is certain, and no share is claimed."""
    fit = adjudge.fit(pl.DataFrame({"item": [1, 2], "judge": [1, 1], "label": ["yes", "yes"]}))
    assert (fit.posterior == 1).all()
    assert fit.calibration.words == (
        "there is nothing to calibrate: all labels are the same, or there are no judgments"
    )


def test_a_unanimous_crowd_counts_as_one_judge():
    """Five judges who always agree claim no more than one would, and are not called independent."""
    item = np.repeat(np.arange(60), 5)
    rows = {"item": item, "judge": np.tile(np.arange(5), 60), "label": item % 2}
    many = adjudge.fit(pl.DataFrame(rows)).calibration
    assert many.one_voice
    assert many.independent == 0
    assert many.expected < 0.8
    assert many.words.startswith("judges hardly ever disagree, which does not show whether they are right")


def test_a_label_without_most_votes_must_be_clearly_more_likely():
    """The likeliest of the labels with most votes counts n ** .1 times; where it leads already, nothing changes."""
    vote = np.array([[0.2, 0.5, 0.3], [0.2, 0.5, 0.3]])
    probability = np.array([[0.2, 0.35, 0.45], [0.1, 0.6, 0.3]])
    leaning = lean_to_vote(probability, vote, np.array([20.0, 20.0]))
    raised = np.array([0.2, 0.35 * 20**0.1, 0.45])
    np.testing.assert_allclose(leaning[0], raised / raised.sum())
    np.testing.assert_allclose(leaning[1], probability[1])

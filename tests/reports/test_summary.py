"""A fit in words."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.reports.case import build_case
from adjudge.reports.summary import actions, opening


def case_with(spoil, gold=None):
    """Return the case of a crowd of seven, the last of whom does otherwise."""
    drawn = adjudge.simulate("dawid-skene", seed=3, items=300, judges=7, labels=2, per_item=7)
    table = pl.DataFrame(
        {
            "item": drawn.judgments.items.gather(drawn.judgments.item()),
            "judge": drawn.judgments.judges.gather(drawn.judgments.judge),
            "label": drawn.judgments.label.astype(int),
            "truth": drawn.truth[drawn.judgments.item()],
        }
    )
    last = drawn.judgments.judges[-1]
    result = pl.when(pl.col("judge") == last).then(spoil).otherwise(pl.col("label"))
    judgments = adjudge.read(table.with_columns(label=result).drop("truth"))
    return build_case(adjudge.fit(judgments, "dawid-skene", gold), judgments), str(last)


def test_what_there_is_is_counted():
    """Judgments, items, judges and labels; how sure the answers are; the vote."""
    case, _ = case_with(pl.col("label"))
    first, sure, vote, agree = opening(case)[:4]
    assert first == "2,100 judgments of 300 items by 7 judges; labels '0', '1'."
    assert "have a probability of at least 95%" in sure
    assert vote.startswith("The consensus differs from the vote on ")
    assert agree.startswith("Two judges agree on ")


def misled():
    """Return judges who err together, since items mislead from none to most of them, and the truth by item."""
    rng = np.random.default_rng(0)
    truth, judge = rng.integers(0, 2, 600), np.argsort(rng.random((600, 20)), axis=1)[:, :9]
    chance = np.clip(rng.beta(2, 0.7, (600, 1)) + rng.uniform(-0.1, 0.1, 20)[judge], 0.05, 0.98)
    label = np.where(rng.random(judge.shape) < chance, truth[:, None], 1 - truth[:, None])
    rows = {"item": np.repeat(np.arange(600), 9), "judge": judge.ravel(), "label": label.ravel()}
    return pl.DataFrame(rows), dict(enumerate(truth.tolist()))


def test_probabilities_that_are_too_sure_are_warned_of():
    """Where a named model claims more than can be expected, whatever the order of the rows, and not if calibrated."""
    table, _ = misled()
    judgments = adjudge.read(table)
    plain, hedged, default = (
        opening(build_case(adjudge.fit(judgments, model, calibrate=how), judgments))
        for model, how in (("dawid-skene", None), ("dawid-skene", "judgments"), (None, None))
    )
    (warning,) = [line for line in plain if line.startswith("Warning")]
    assert warning.startswith("Warning: do not believe these probabilities: dawid-skene claims that ")
    assert warning.endswith("model consensus, the default, has calibrated ones.")
    assert not [line for line in hedged + default if line.startswith("Warning")]
    assert any("vote share" in line for line in hedged)
    assert any("of the labels are expected to be right" in line for line in default)
    turned = adjudge.read(table.reverse())
    again = opening(build_case(adjudge.fit(judgments, "dawid-skene"), turned))
    assert warning in again


def test_truths_that_contradict_the_claim_are_said_loudly():
    """Only where they lie outside the claimed interval beyond chance."""
    table, truths = misled()
    judgments = adjudge.read(table)
    fit = adjudge.fit(judgments)
    low, high = fit.calibration.interval
    wrong = {item: 1 - truth for item, truth in truths.items()}
    share = (fit.label == [wrong[item] for item in fit.items]).mean()
    lines = opening(build_case(fit, judgments, wrong))
    assert (
        f"Warning: {share:.0%} of the 600 labels with a known truth are right, outside the claimed {low:.0%} to "
        f"{high:.0%}."
    ) in lines
    for known in (truths, {0: wrong[0]}):
        assert not any(line.startswith("Warning") for line in opening(build_case(fit, judgments, known)))


def test_truths_that_were_not_told_are_held_against_it():
    """Their share of right answers is told."""
    drawn = adjudge.simulate("dawid-skene", seed=3, items=50, judges=7, labels=2, per_item=7)
    fit = adjudge.fit(drawn.judgments, "dawid-skene")
    right = (fit.label == drawn.truth).mean()
    lines = opening(build_case(fit, drawn.judgments, drawn.truths))
    assert f"Of 50 labels whose truth the fit did not use, {right:.1%} are right." in lines


def test_nobody_is_accused_where_nothing_tells():
    """Of judges who share no item nothing is known; a tie overrules no vote."""
    rows = {"item": range(40), "judge": [n % 2 for n in range(40)], "label": [n % 3 > 0 for n in range(40)]}
    judgments = adjudge.read(pl.DataFrame(rows).with_columns(pl.col("label").cast(pl.Int64)))
    case = build_case(adjudge.fit(judgments, "dawid-skene"), judgments)
    assert not any("chance" in line or "opposite" in line for line in actions(case))


def test_a_judge_who_says_the_opposite_is_named():
    """With what to ask."""
    case, last = case_with(1 - pl.col("truth"))
    (line,) = (line for line in actions(case) if "Wrong more often than chance" in line)
    assert f"'{last}'" in line
    assert line.endswith("of the work). Ask whether they mix up the labels.")


def test_a_judge_at_chance_is_named():
    """Who says the same of everything tells nothing."""
    case, last = case_with(pl.lit(1))
    (line,) = (line for line in actions(case) if "Hardly better than chance" in line)
    assert f"'{last}'" in line


def test_gold_that_the_crowd_contradicts_is_told():
    """And where more judgments would tell most."""
    case, _ = case_with(pl.col("label"))
    sure = int(case.fit.posterior.max(axis=1).argmax())
    wrong = {"item": [case.fit.items[sure]], "label": [1 - int(case.fit.label[sure])]}
    case, _ = case_with(pl.col("label"), pl.DataFrame(wrong))
    message = " ".join(actions(case))
    assert f"gold for 1 item ('{case.fit.items[sure]}')" in message
    assert "If you can collect more judgments" in message


def test_a_fit_that_did_not_come_to_rest_says_beware():
    """Before anything else is believed."""
    judgments = adjudge.simulate("dawid-skene", items=50, judges=5, labels=2, per_item=5).judgments
    with pytest.warns(adjudge.AdjudgeWarning):
        fit = adjudge.fit(judgments, "hybrid-confusion", run=adjudge.Run(2, 2, 6))
    assert opening(build_case(fit, judgments))[-1].startswith("Warning: the fit has not converged")

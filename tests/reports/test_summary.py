"""A fit in words."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.reports.case import build_case
from adjudge.reports.summary import Action, actions, basis, tiles, warnings_of


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
    first, vote, agree = basis(case)[:3]
    assert first == "2,100 judgments of 300 items by 7 judges; labels '0', '1'."
    assert vote.startswith("The consensus differs from the vote on ")
    assert agree.startswith("Two judges agree on ")


def test_the_verdict_has_the_share_of_right_labels_settled_ones_and_useful_judges():
    """With the interval of the calibrated model, and without one if a named model claims it."""
    case, _ = case_with(pl.col("label"))
    expected, settled, judges = tiles(case)
    chance = case.fit.posterior.max(axis=1)
    assert expected == (
        f"{chance.mean():.0%}",
        "expected to be right",
        "of the labels, as dawid-skene has it; no interval",
    )
    sure = int((chance >= 0.95).sum())
    assert settled == (f"{sure:,}", "settled labels", "of 300: their probability is at least 95%")
    standings = [card.standing for card in case.cards]
    poor, unclear = standings.count("poor"), standings.count("unclear")
    more = f", {unclear} not yet clear" if unclear else ""
    assert judges == (str(standings.count("useful")), "useful judges", f"of 7; {poor} poor{more}")
    assert poor + unclear < 7
    calibrated = build_case(adjudge.fit(case.judgments), case.judgments)
    low, high = calibrated.fit.calibration.interval
    assert tiles(calibrated)[0].note == f"of the labels; 90 % interval {low:.0%} to {high:.0%}"


def test_truths_that_were_given_are_counted_apart():
    """They settle no label, and with a truth for every item nothing is claimed about labels."""
    drawn = adjudge.simulate("dawid-skene", seed=3, items=50, judges=7, labels=2, per_item=7)
    some = drawn.truths.head(20)
    case = build_case(adjudge.fit(drawn.judgments, "dawid-skene", some), drawn.judgments)
    assert tiles(case)[1].note == "of 30: their probability is at least 95%"
    assert tiles(case)[2] == ("20", "truths given", "gold items, which are counted apart")
    whole = build_case(adjudge.fit(drawn.judgments, "dawid-skene", drawn.truths), drawn.judgments)
    assert [tile.name for tile in tiles(whole)] == ["truths given", "useful judges"]
    assert not any("not settled" in action.advice for action in actions(whole))
    assert any(line.startswith("Without being told, the consensus would be right on ") for line in basis(whole))


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
        build_case(adjudge.fit(judgments, model, calibrate=how), judgments)
        for model, how in (("dawid-skene", None), ("dawid-skene", "judgments"), (None, None))
    )
    (warning,) = warnings_of(plain)
    assert warning.startswith("Do not believe these probabilities: dawid-skene claims that ")
    assert warning.endswith("model consensus, the default, has calibrated ones.")
    assert not warnings_of(hedged) + warnings_of(default)
    assert any("vote share" in line for line in basis(hedged))
    assert any("of the labels are expected to be right" in line for line in basis(default))
    turned = adjudge.read(table.reverse())
    assert warnings_of(build_case(adjudge.fit(judgments, "dawid-skene"), turned)) == [warning]


def test_truths_that_contradict_the_claim_are_said_loudly():
    """Only where they lie outside the claimed interval beyond chance."""
    table, truths = misled()
    judgments = adjudge.read(table)
    fit = adjudge.fit(judgments)
    low, high = fit.calibration.interval
    wrong = {item: 1 - truth for item, truth in truths.items()}
    share = (fit.label == [wrong[item] for item in fit.items]).mean()
    lines = warnings_of(build_case(fit, judgments, wrong))
    assert lines == [
        f"{share:.0%} of the 600 labels with a known truth are right, outside the claimed {low:.0%} to {high:.0%}."
    ]
    for known in (truths, {0: wrong[0]}):
        assert warnings_of(build_case(fit, judgments, known)) == []


def test_truths_that_contradict_a_named_model_are_said_too():
    """The model's own claim is compared with the share of right labels."""
    table, truths = misled()
    judgments = adjudge.read(table)
    case = build_case(adjudge.fit(judgments, "dawid-skene"), judgments, truths)
    claimed = case.fit.posterior.max(axis=1).mean()
    right = (case.fit.label == [truths[item] for item in case.fit.items]).mean()
    assert warnings_of(case)[0] == (
        f"The model claims that {claimed:.0%} of the 600 labels with a known truth are right, but {right:.0%} are."
    )


def test_truths_that_were_not_told_are_held_against_it():
    """Their share of right answers is told."""
    drawn = adjudge.simulate("dawid-skene", seed=3, items=50, judges=7, labels=2, per_item=7)
    fit = adjudge.fit(drawn.judgments, "dawid-skene")
    right = int((fit.label == drawn.truth).sum())
    tile = tiles(build_case(fit, drawn.judgments, drawn.truths))[2]
    note = f"{right} of 50 labels; the fit did not use these truths"
    assert tile == (f"{right / 50:.0%}", "right where the truth is known", note)


def test_nobody_is_accused_where_nothing_tells():
    """Of judges who share no item nothing is known; a tie overrules no vote."""
    rows = {"item": range(40), "judge": [n % 2 for n in range(40)], "label": [n % 3 > 0 for n in range(40)]}
    judgments = adjudge.read(pl.DataFrame(rows).with_columns(pl.col("label").cast(pl.Int64)))
    case = build_case(adjudge.fit(judgments, "dawid-skene"), judgments)
    assert not any("judge" in action.advice and "judgment" not in action.advice for action in actions(case))


def test_a_judge_who_says_the_opposite_is_named():
    """With what to ask."""
    case, last = case_with(1 - pl.col("truth"))
    before, _ = case_with(pl.col("label"))
    named = [action for action in actions(case) if action.advice.endswith("whether they mix up labels")]
    assert actions(case)[0] == named[0]
    assert f"'{last}'" in named[0].reason
    assert named[0].reason.startswith("They are wrong more often than chance: ")
    assert not any(f"'{last}'" in action.reason for action in actions(before) if "judge" in action.advice)


def test_a_judge_at_chance_is_named():
    """Who says the same of everything tells nothing."""
    case, last = case_with(pl.lit(1))
    claim = f"Their labels are hardly better than guessing: '{last}', 14% of the work."
    assert Action("Train, replace or leave out 1 judge", claim) in actions(case)


def test_gold_that_the_crowd_contradicts_is_told():
    """And where more judgments would tell most."""
    case, _ = case_with(pl.col("label"))
    sure = int(case.fit.posterior.max(axis=1).argmax())
    wrong = {"item": [case.fit.items[sure]], "label": [1 - int(case.fit.label[sure])]}
    case, _ = case_with(pl.col("label"), pl.DataFrame(wrong))
    listed = dict(actions(case))
    assert (
        listed["Check the gold label of 1 item"] == f"The judges are sure of another label: '{case.fit.items[sure]}'."
    )
    open_labels = int((case.certainty < 0.95).sum())
    (cost,) = (reason for advice, reason in listed.items() if advice.startswith("Collect one more judgment on "))
    assert cost.startswith(f"It costs {open_labels:,} judgment")


def test_a_fit_that_did_not_come_to_rest_says_beware():
    """Before anything else is believed."""
    judgments = adjudge.simulate("dawid-skene", items=50, judges=5, labels=2, per_item=5).judgments
    with pytest.warns(adjudge.AdjudgeWarning):
        fit = adjudge.fit(judgments, "hybrid-confusion", run=adjudge.Run(2, 2, 6))
    assert warnings_of(build_case(fit, judgments))[-1].startswith("The fit has not converged")

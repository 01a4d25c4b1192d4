"""Labels held against truths that are known.

Judges on items whose truth is known.
"""

import numpy as np
import polars as pl
import pytest
from scipy.stats import beta

import adjudge
from adjudge.diagnostics.evidence import gather_evidence
from adjudge.diagnostics.gold_accuracy import gold_accuracy, reliability, share_interval
from adjudge.diagnostics.judges import UNVERIFIED, cards
from adjudge.errors import UsageError

ROWS = {
    "item": ["a", "a", "a", "b", "b", "c", "c", "c", "d"],
    "judge": ["x", "y", "x", "x", "y", "y", "z", "x", "z"],
    "label": ["0", "0", "1", "1", "1", "0", "1", "1", "1"],
    "weight": [1.0, 2.0, 1.0, 0.5, 1.0, 1.0, 3.0, 1.0, 1.0],
}


def by_hand(fit, judgments, truth):
    """Return of each judge the weighed share of right labels, and the mean probability, one judgment at a time."""
    result = {}
    item, judge = judgments.item(), judgments.judge
    for n in range(len(judgments)):
        reference = truth.get(judgments.items[int(item[n])])
        if reference is None:
            continue
        w = 1.0 if judgments.weight is None else judgments.weight[n]
        position = fit.items.to_list().index(judgments.items[int(item[n])])
        p, right = fit.posterior[position, judgments.label[n]], judgments.scale.names[judgments.label[n]] == reference
        first = result.setdefault(judgments.judges[int(judge[n])], np.zeros(4))
        first += w, w * right, w * p, 1
    return result


@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_counted_where_the_truth_is_known(weighted):
    """By truths that the fit was not told: shares and expectations, repeats and weights as often as they count."""
    rows = ROWS if weighted else {name: column for name, column in ROWS.items() if name != "weight"}
    judgments = adjudge.read(pl.DataFrame(rows))
    fit, truth = adjudge.fit(judgments, "dawid-skene"), {"a": "0", "c": "1"}
    codes = np.array([fit.scale.names.index(truth[item]) if item in truth else -1 for item in fit.items])
    result = cards(fit, judgments, codes)
    for card in result:
        total, same, answer, count = by_hand(fit, judgments, truth)[card.judge]
        assert card.verification[0] == pytest.approx(same / total)
        assert card.verification.expected == pytest.approx(answer / total)
        assert card.verification.judgments == count
        assert card.verification.low <= card.verification.value <= card.verification.high
    assert result.reliability.startswith("on 2 items whose truth is known")


def test_nothing_is_said_where_nothing_is_known():
    """The card gives the reason."""
    judgments = adjudge.read(pl.DataFrame(ROWS))
    result = cards(adjudge.fit(judgments, "dawid-skene", {"b": "1"}), judgments)
    assert result.of("z").verification is None
    assert (
        result.of("z").reasons["verification"] == "not defined because this judge judged no item whose truth is known"
    )
    assert result.of("x").verification.judgments == 1
    assert cards(adjudge.fit(judgments, "dawid-skene"), judgments).reliability == UNVERIFIED


def test_judgments_that_do_not_count_say_nothing():
    """A weight of nothing on every item whose truth is known is no truth known."""
    judgments = adjudge.read(pl.DataFrame({**ROWS, "weight": [1.0, 2.0, 1.0, 0.0, 0.0, 1.0, 3.0, 1.0, 1.0]}))
    result = cards(adjudge.fit(judgments, "dawid-skene", {"b": "1"}), judgments)
    assert result.reliability == UNVERIFIED
    assert all(card.verification is None for card in result)


@pytest.mark.parametrize("calibrate", ["none", "judgments"])
def test_truths_that_were_told_do_not_foretell_themselves(calibrate):
    """What is expected of gold items comes near what was expected before they were told, and is not certain."""
    crowd = adjudge.simulate("dawid-skene", items=400, judges=12, per_item=5, labels=3, seed=2)
    gold = {
        item: crowd.judgments.scale.names[code] for item, code in zip(crowd.judgments.items, crowd.truth, strict=True)
    }
    fitted = adjudge.fit(crowd.judgments, "dawid-skene", gold, calibrate=calibrate)
    untold = adjudge.fit(crowd.judgments, "dawid-skene", calibrate=calibrate)
    assert (fitted.posterior.max(axis=1) == 1).all()
    first = reliability(fitted, gather_evidence(fitted, crowd.judgments)[1])
    two = reliability(untold, gather_evidence(untold, crowd.judgments)[1], fitted.label)
    for a, b in zip(first.judges, two.judges, strict=True):
        assert a.value == b.value
        assert a.expected < 1
        assert a.expected == pytest.approx(b.expected, abs=0.03)
        assert a.low < a.expected < a.high


def test_an_interval_holds_its_share():
    """Of nothing it is all there is, of one judgment wide, of many narrow."""
    low, high = share_interval(np.array([0.0, 1.0, 0.0, 500.0]), np.array([0.0, 1.0, 1.0, 1_000.0]))
    assert (low <= [0, 1, 0, 0.5]).all()
    assert (high >= [0, 1, 0, 0.5]).all()
    assert high[0] - low[0] > 0.9
    assert high[3] - low[3] == pytest.approx(2 * 1.645 * np.sqrt(0.25 / 1_000), rel=0.01)


def timed(times):
    """Return judgments of two judges, of whom one is wrong from the middle on, and the truths of some items."""
    rows = [(f"i{n}", judge, (n % 2) ^ (judge == "y" and n >= 4), times[n]) for n in range(8) for judge in "xy"]
    judgments = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    return judgments, {f"i{n}": n % 2 for n in range(8) if n != 3}


def test_quality_is_a_beta_posterior():
    """Right and wrong counted period by period, from a flat prior; items without gold are not looked at."""
    result = gold_accuracy(*timed(list(range(8))), periods=2)
    table = result.table
    assert table.select("judge", "period", "judgments", "right").rows() == [
        ("x", 0, 3, 3),
        ("x", 1, 4, 4),
        ("y", 0, 3, 3),
        ("y", 1, 4, 0),
    ]
    assert table["quality"].to_list() == pytest.approx([4 / 5, 5 / 6, 4 / 5, 1 / 6])
    np.testing.assert_allclose(table["low"], beta.ppf(0.05, [4, 5, 4, 1], [1, 1, 1, 5]))
    np.testing.assert_allclose(table["high"], beta.ppf(0.95, [4, 5, 4, 1], [1, 1, 1, 5]))
    assert table["since"].to_list() == ["0", "4", "0", "4"]
    assert result.sentence == "Gold set of 7 items: 2 judges, right on 71.4% of 14 judgments."


def test_days_are_periods():
    """Where times are dates; a day without work has no row."""
    days = [f"2026-05-{1 + 2 * (n // 4):02d}" for n in range(8)]
    table = gold_accuracy(*timed(days), periods="day").table
    assert table["period"].to_list() == [0, 2, 0, 2]
    assert table["since"].to_list() == ["2026-05-01", "2026-05-03"] * 2


def test_without_times_there_is_one_period():
    """Everything, together."""
    judgments = adjudge.read(pl.DataFrame({"item": ["a", "b"], "judge": ["x", "x"], "label": [0, 1]}))
    result = gold_accuracy(judgments, {"a": 0})
    assert result.table.rows() == [("x", 0, "all", 1, 1, 2 / 3, *beta.ppf([0.05, 0.95], 2, 1))]
    assert gold_accuracy(*timed([1] * 8), periods=3).period.tolist() == [0, 0]


def test_periods_that_cannot_be_are_refused():
    """With what can."""
    judgments, gold = timed(list(range(8)))
    for wrong in (0, "week"):
        with pytest.raises(UsageError, match=f"periods {wrong!r} is neither a whole number of at least 1 nor 'day'"):
            gold_accuracy(judgments, gold, periods=wrong)
    with pytest.raises(UsageError, match="periods of a day are not defined because the times are not dates"):
        gold_accuracy(judgments, gold, periods="day")
    untimed = adjudge.read(pl.DataFrame({"item": ["a"], "judge": ["x"], "label": [0]}), labels=[0, 1])
    with pytest.raises(UsageError, match="periods of a day are not defined because the judgments have no times"):
        gold_accuracy(untimed, {"a": 0}, periods="day")

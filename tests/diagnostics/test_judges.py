"""Cards of judges, against judges whose matrices are known.

Cards, confusions and second looks together.
"""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import adjudge
from adjudge.data.judgments import judgment_table
from adjudge.diagnostics.confusions import confusions
from adjudge.diagnostics.judges import CLEAR, cards, judges
from adjudge.diagnostics.second_looks import second_looks
from adjudge.errors import UsageError
from adjudge.inference.model import MODELS

SHORT = adjudge.Run(2, 100, 200)


def table(rows, **columns):
    """Return judgments from (item, judge, label) rows, with more columns."""
    return adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row").with_columns(**columns))


def told(crowd):
    """Return a fit that was told every truth, so that intervals are exact."""
    return adjudge.fit(crowd.judgments, gold=dict(crowd.truths.iter_rows()))


def inside(estimate, value):
    """Whether an interval holds a value."""
    return estimate.low <= value <= estimate.high


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_intervals_cover_as_often_as_they_say(labels):
    """Nine in ten hold the matrix cell, the informedness and the chance of being right that made the judgments."""
    cells, informed, right = [], [], []
    for seed in range(4):
        crowd = adjudge.simulate("dawid-skene", seed, items=2_000, judges=40, per_item=4, labels=labels)
        theta, result = crowd.confusion, cards(told(crowd), crowd.judgments)
        low, high = (np.stack([getattr(card, f"confusion_{end}") for card in result]) for end in ("low", "high"))
        cells.append((low <= theta) & (theta <= high))
        diagonal = np.diagonal(theta, axis1=1, axis2=2)
        truth = (diagonal.sum(axis=1) - 1) / (labels - 1)
        informed += [inside(card.informedness, value) for card, value in zip(result, truth, strict=True)]
        right += [inside(card.right, value) for card, value in zip(result, diagonal @ crowd.prevalence[0], strict=True)]
    assert np.mean(cells) == pytest.approx(0.9, abs=0.025)
    assert np.mean(informed) == pytest.approx(0.9, abs=0.06)
    assert np.mean(right) == pytest.approx(0.9, abs=0.06)


def test_intervals_of_truths_that_are_learned_cover_nearly_as_often():
    """Given the posterior of truths they are a little too narrow; those of draws are not."""
    crowd = adjudge.simulate("dawid-skene", 5, items=1_000, judges=25, per_item=5, labels=3, accuracy=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)
        sampled = adjudge.fit(crowd.judgments, "hybrid-confusion", run=SHORT)
    shares = []
    for fit in (adjudge.fit(crowd.judgments), sampled):
        result = cards(fit, crowd.judgments)
        stored = [
            (c.confusion_low <= t) & (t <= c.confusion_high) for c, t in zip(result, crowd.confusion, strict=True)
        ]
        shares.append(np.mean(stored))
    assert 0.75 < shares[0] < 0.95
    assert shares[1] == pytest.approx(0.9, abs=0.05)


def test_a_sampled_fit_says_the_same_on_cards_and_in_its_own_table():
    """Both are read off the same draws."""
    crowd = adjudge.simulate("carpenter", topics=4, items=80, judges=6, judgments=400, gold=8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)
        fit = adjudge.fit(crowd.judgments, "hierarchical", run=SHORT)
    frame, own = cards(fit, crowd.judgments).table, fit.judges
    for card, column in (("right", "p_right"), ("informedness", "informedness"), ("bits", "bits")):
        for end in ("_low", "_high"):
            np.testing.assert_allclose(frame[card + end], own[column + end])
    np.testing.assert_allclose(frame["sensitivity_low"], own["sensitivity_low"])
    np.testing.assert_allclose(frame["p_chance"], own["no_better_than_chance"])
    np.testing.assert_allclose(frame["p_adversarial"], own["adversarial"])


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_agreement_is_that_of_a_naive_loop(labels):
    """The share of items on which a judge agrees with the others, without the judge's own label."""
    crowd = adjudge.simulate("dawid-skene", 1, items=80, judges=6, per_item=4, labels=labels)
    fit, judgments = adjudge.fit(crowd.judgments, "single-confusion"), crowd.judgments
    tally = np.zeros((6, labels, labels))
    for i, j, y in zip(judgments.item(), judgments.judge, judgments.label, strict=True):
        tally[j, :, y] += fit.posterior[i]
    matrix = (tally + 1 / labels) / (tally.sum(axis=2, keepdims=True) + 1)
    for j, card in enumerate(cards(fit, judgments)):
        same, items = 0, 0
        for i in range(80):
            at = range(judgments.start[i], judgments.start[i + 1])
            if j not in judgments.judge[at]:
                continue
            p = fit.posterior.mean(axis=0)
            for n in at:
                p = p * (matrix[judgments.judge[n], :, judgments.label[n]] if judgments.judge[n] != j else 1)
            if p.max() / p.sum() >= CLEAR:
                items += 1
                same += sum(judgments.label[n] == p.argmax() for n in at if judgments.judge[n] == j)
        assert card.agreement.items == items
        assert card.agreement.value == pytest.approx(same / items)
        assert card.agreement.low <= card.agreement.value <= card.agreement.high


def test_bias_is_the_label_rate_less_the_truth_rate():
    """Of many judgments exactly so; over all labels it is nothing."""
    crowd = adjudge.simulate("ordinal", 2, items=3_000, judges=6, per_item=4, labels=4)
    result = cards(told(crowd), crowd.judgments)
    item, judge, label = crowd.judgments.item(), crowd.judgments.judge, crowd.judgments.label
    for j, card in enumerate(result):
        mine = judge == j
        rate = np.bincount(label[mine], minlength=4) / mine.sum()
        expected = rate - np.bincount(crowd.truth[item[mine]], minlength=4) / mine.sum()
        np.testing.assert_allclose([each.value for each in card.bias], expected, atol=0.005)
        assert sum(each.value for each in card.bias) == pytest.approx(0, abs=1e-3)
        assert card.shift.value == pytest.approx(expected @ np.arange(4), abs=0.01)
    order = np.argsort(crowd.bias)
    shifts = [result[int(j)].shift.value for j in order]
    assert shifts[0] < 0 < shifts[-1]


def gang(count=400):
    """Return judgments on known items by four good judges and some who are not."""
    rng = np.random.default_rng(8)
    truth = [str(n % 2) for n in range(count)]
    rows = []
    for n, label in enumerate(truth):
        wrong = str(1 - int(label))
        rows += [(f"i{n}", f"good{g}", label if rng.random() < 0.95 else wrong) for g in range(4)]
        rows += [(f"i{n}", "swapped", wrong), (f"i{n}", "same", "1"), (f"i{n}", "blind", str(rng.integers(2)))]
    return [*rows, ("i0", "new", "0"), ("alone", "hermit", "1")] + [(f"own{n}", "hermit", "1") for n in range(9)]


@pytest.mark.parametrize("model", ["dawid-skene", "majority", "hybrid-confusion"])
def test_sentences_of_known_characters(model):
    """Whoever swaps, guesses, always says the same, has hardly begun, or judged alone, is found out."""
    judgments = table(gang())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)
        options = {"run": SHORT} if MODELS[model].sampler else {}
        result = cards(adjudge.fit(judgments, model, {f"i{n}": str(n % 2) for n in range(300)}, **options), judgments)
    says = {card.judge: card.sentence for card in result}
    assert says["swapped"].startswith("Gives the opposite of the truth more often than not")
    assert says["same"] == "Always gives the label '1'."
    assert says["blind"] == "Answers at random: the labels carry no information."
    assert says["new"] == "Too few judgments (1) for an assessment."
    assert says["hermit"] == "Nobody else judged these items, so the labels cannot be checked."
    assert result.of("hermit").agreement is None
    assert result.of("swapped").p_adversarial > 0.99
    assert result.of("good0").p_chance < 0.01
    assert result.of("blind").judgments == result.of("blind").items == 400


def test_a_card_says_why_what_is_missing_is_missing():
    """Three labels in no order, without topics and times, by judges who never meet."""
    judgments = table([("a", "x", "A"), ("b", "y", "B"), ("c", "z", "C")])
    card = cards(adjudge.fit(judgments), judgments)[0]
    assert {name: getattr(card, name) for name in card.reasons} == dict.fromkeys(
        ("abstentions", "topics", "sensitivity", "specificity", "agreement", "verification", "shift", "seconds")
    )
    many = "not defined because it needs two labels, and there are 3"
    assert card.reasons == {
        "abstentions": "not defined because no label was declared an abstention",
        "topics": "not defined because the judgments have no topics",
        "sensitivity": many,
        "specificity": many,
        "agreement": "not defined because the other judges agree on no item of this judge",
        "verification": "not defined because this judge judged no item whose truth is known",
        "shift": "not defined because the labels have no order",
        "seconds": "not defined because the judgments have no times",
    }


def test_topics_and_times_are_counted():
    """Different topics, unknown ones left out; the median gap, and the reason where there is none."""
    rows = [("a", "x", "0"), ("b", "x", "1"), ("c", "x", "1"), ("c", "y", "0"), ("d", "x", "1")]
    judgments = table(
        rows,
        topic=pl.Series(["s", "s", "t", "t", "u"]),
        time=pl.Series(["2024-01-01T00:00:00", "2024-01-01T00:00:10", "2024-01-01T00:00:30", "?", "2024-01-01T02:00"]),
    )
    judgments = replace(judgments, topic=np.array([0, 0, 1, -1]))
    x, y = cards(adjudge.fit(judgments), judgments)
    assert (x.topics, y.topics) == (2, 1)
    assert (x.items, x.judgments) == (4, 4)
    assert x.seconds == 15
    assert y.seconds is None
    assert y.reasons["seconds"] == "not defined because no two judgments are at most 600 seconds apart"


def test_a_weight_of_two_is_said_twice():
    """Judgments that count double say as much as two, and are still one judgment each."""
    rows = gang(20)
    double, plain = table([*rows, *rows]), table(rows, weight=pl.lit(2.0))
    gold = {f"i{n}": str(n % 2) for n in range(20)} | {"alone": "1"} | {f"own{n}": "1" for n in range(9)}
    twice, weighted = (cards(adjudge.fit(judgments, gold=gold), judgments) for judgments in (double, plain))
    for entry, other in zip(twice, weighted, strict=True):
        assert entry.judgments == 2 * other.judgments
        assert entry.right == pytest.approx(other.right)
        assert entry.agreement[:3] == pytest.approx(other.agreement[:3])


def test_gold_of_items_that_nobody_judged_does_no_harm():
    """They count for how common truths are, and for no judge."""
    rows = [(f"i{n}", judge, str(n % 2)) for n in range(12) for judge in ("x", "y")]
    with pytest.warns(adjudge.AdjudgeWarning, match="nobody judged gold item"):
        fit = adjudge.fit(
            pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"), gold={"i0": "0", "q": "1"}
        )
    result = cards(fit, table(rows))
    assert [card.items for card in result] == [12, 12]
    assert len(fit.items) == 13


@pytest.mark.parametrize(
    ("model", "ordinal"),
    [(name, known) for name in MODELS for known in (False, True) if known or not MODELS[name].labels.ordered],
)
def test_every_model_has_cards(model, ordinal):
    """Nothing is not a number, and every value lies within its interval."""
    crowd = adjudge.simulate("carpenter", 3, topics=3, items=50, judges=6, judgments=200, gold=6)
    judgments = replace(crowd.judgments, scale=adjudge.Scale(("0", "1"), ordinal=ordinal))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)
        options = {"run": adjudge.Run(2, 20, 40)} if MODELS[model].sampler else {}
        fit = adjudge.fit(judgments, model, dict(crowd.gold), **options)
    result = cards(fit, judgments)
    for card in result:
        for each in (card.right, card.informedness, card.bits, card.sensitivity, card.specificity, *card.bias):
            assert each.low <= each.value <= each.high
        np.testing.assert_allclose(card.confusion.sum(axis=1), 1, atol=1e-6)
        assert card.sentence.endswith(".")
    numbers = result.table.select(pl.selectors.float())
    assert not any(column.is_nan().any() for column in numbers)


def test_the_table_has_a_row_a_judge_and_the_same_seed_the_same_numbers():
    """In the order of the fit."""
    crowd = adjudge.simulate("liu-wang", items=60)
    fit = adjudge.fit(crowd.judgments)
    result = cards(fit, crowd.judgments)
    assert result.table["judge"].to_list() == fit.judge_names.to_list() == [card.judge for card in result]
    assert result.table.columns[:7] == ["judge", "judgments", "items", "topics", "right", "right_low", "right_high"]
    assert {"bias_A", "bias_C_high", "agreement_items", "sentence"} <= {*result.table.columns}
    assert result.table["sensitivity"].dtype == pl.Float64
    assert result.table.equals(cards(fit, crowd.judgments).table)
    assert not result.table.equals(cards(fit, crowd.judgments, seed=1).table)
    assert len(result) == len(result[:2]) + 1
    np.testing.assert_array_equal(result.low[1], result[1].confusion_low)


def test_a_judge_is_found_by_name():
    """And where there is none of the name, those near it are told."""
    judgments = table([("a", "ann", "0"), ("a", "rob", "0"), ("b", "rob", "1")])
    result = cards(adjudge.fit(judgments), judgments)
    assert result.of("rob").judgments == 2
    with pytest.raises(UsageError, match="judge 'bob' is not in the fit; similar names: 'rob'"):
        result.of("bob")
    with pytest.raises(
        UsageError, match="judge 'zacharias' is not in the fit; its judges are for example 'ann', 'rob'"
    ):
        result.of("zacharias")


def test_other_judgments_are_refused():
    """Cards are about what the fit was made from."""
    judgments = table([("a", "ann", "0"), ("a", "rob", "0"), ("b", "rob", "1")])
    with pytest.raises(UsageError, match="it has no judge 'eve'"):
        cards(adjudge.fit(judgments), table([("a", "eve", "0"), ("b", "eve", "1")]))


def test_times_that_cannot_be_read_are_the_reason():
    """Not that judgments are far apart."""
    rows = {"item": ["a", "b", "b"], "judge": ["x", "x", "y"], "label": [0, 1, 1], "time": ["soon", "later", "never"]}
    judgments = adjudge.read(pl.DataFrame(rows))
    card = adjudge.judges(adjudge.fit(judgments, "dawid-skene"), judgments).cards[0]
    assert card.seconds is None
    assert card.reasons["seconds"] == "not defined because no time can be read"


CROWD = adjudge.dataset("anesthesia")
FIT = adjudge.fit(CROWD, "dawid-skene")


def test_the_parts_are_those_of_their_functions():
    """Nothing is computed otherwise."""
    crowd = judges(FIT, CROWD, most=3)
    assert crowd.table.equals(cards(FIT, CROWD).table)
    assert crowd.confusions == confusions(FIT, CROWD, most=3)
    assert crowd.second_looks.table.equals(second_looks(FIT, CROWD, most=3).table)
    assert repr(crowd) == "Judges(5 judges, 315 judgments; median Youden's J 0.63)"
    assert "Youden&#x27;s J" in crowd._repr_html_()


def test_truth_is_a_table_of_items_and_labels():
    """Cards are checked against it, and every judge has a share."""
    truth = dict(zip(FIT.items.to_list(), FIT.labels["label"].to_list(), strict=True))
    assert all(card.verification is not None for card in judges(FIT, CROWD, truth).cards)


def test_a_saved_fit_with_its_judgments_is_enough(tmp_path):
    """Its folder holds both."""
    adjudge.save(FIT, tmp_path / "fit", CROWD)
    assert len(judges(tmp_path / "fit").cards) == 5
    with pytest.raises(UsageError):
        judges(FIT)


def test_a_pandas_frame_gives_pandas_tables():
    """Of all three parts."""
    crowd = judges(FIT, judgment_table(CROWD).to_pandas())
    for part in (crowd, crowd.confusions, crowd.second_looks):
        assert isinstance(part.table, pd.DataFrame)

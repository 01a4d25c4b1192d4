"""Items that deserve a second look."""

import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.evidence import gather_evidence
from adjudge.diagnostics.second_looks import abbreviate, information, second_looks, surprise


def table(rows):
    """Return judgments from (item, judge, label) rows."""
    return adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"))


@pytest.mark.parametrize("labels", [2, 3, 5])
def test_information_is_that_of_brute_force(labels):
    """The entropy now, less the entropy after each answer, weighed by how likely that answer is."""
    rng = np.random.default_rng(labels)
    posterior, matrix = rng.dirichlet(np.ones(labels), 20), rng.dirichlet(np.ones(labels), labels)

    def bits(p):
        return -sum(x * np.log2(x) for x in p if x > 0)

    for p, gain in zip(posterior, information(posterior, matrix), strict=True):
        after = 0.0
        for index in range(labels):
            chance = p @ matrix[:, index]
            after += chance * bits(p * matrix[:, index] / chance)
        assert gain == pytest.approx(bits(p) - after, abs=1e-12)


def test_information_of_certain_items_and_blind_judges_is_none():
    """Exactly none, and never below."""
    assert information(np.array([[1.0, 0.0], [0.5, 0.5]]), np.full((2, 2), 0.5)).tolist() == [0, 0]
    assert information(np.array([[1.0, 0.0], [0.5, 0.5]]), np.eye(2)) == pytest.approx([0, 1])


def test_surprise_is_that_of_a_naive_loop():
    """Bits of each label given each truth, less those expected of that judge, weighed by the posterior."""
    crowd = adjudge.simulate("dawid-skene", 2, items=40, judges=5, labels=3)
    fit, judgments = adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments
    evidence = gather_evidence(fit, judgments)[1]
    expected = np.zeros(40)
    for i, j, y in zip(judgments.item(), judgments.judge, judgments.label, strict=True):
        for k in range(3):
            row = evidence.matrix[j, k]
            default = -(row * np.log2(row)).sum()
            expected[i] += fit.posterior[i, k] * (-np.log2(row[y]) - default)
    np.testing.assert_allclose(surprise(evidence), expected, rtol=1e-9, atol=1e-9)


def quarrel():
    """Return judgments of five good judges on forty items: on i0 two of them differ, and of i1 the gold is wrong."""
    rows = [(f"i{n}", f"j{j}", str(n % 2)) for n in range(2, 40) for j in range(5)]
    rows += [("i0", f"j{j}", "0" if j < 3 else "1") for j in range(5)]
    rows += [("i1", f"j{j}", "1") for j in range(5)]
    judgments = table(rows)
    return adjudge.fit(judgments, gold={"i1": "0", "i2": "0", "i3": "1"}), judgments


def test_what_judges_quarrel_about_is_found():
    """The item on which good judges differ, with its labels and how many say otherwise."""
    fit, judgments = quarrel()
    looks = second_looks(fit, judgments)
    first = {look.item: look for look in looks.contested}["i0"]
    assert first.given == "0 0 0 1 1"
    assert first.judgments == 5
    assert first.reason.startswith("2 of 5 disagree: ")
    assert first.reason.endswith(" bits more surprising than average")
    assert {look.item for look in looks.contested} == {"i0", "i1"}


def test_gold_that_the_crowd_contradicts_is_found():
    """Without being told, the crowd is sure of another label; gold it agrees with is not doubted."""
    (doubt,) = second_looks(*quarrel()).gold
    assert (doubt.item, doubt.label, doubt.given) == ("i1", "1", "1 1 1 1 1")
    assert doubt.value == pytest.approx(doubt.probability)
    assert doubt.probability > 0.9
    assert doubt.reason == f"gold is '0', the judges say '1' with {doubt.probability:.2f}: check both"


@pytest.mark.parametrize("seed", range(3))
def test_wrong_gold_is_told_from_right_gold(seed):
    """Of gold of which a tenth is wrong, what is doubted is mostly wrong, and most of what is wrong is doubted."""
    crowd = adjudge.simulate("dawid-skene", seed, items=600, judges=12, per_item=6, labels=3, accuracy=0.8, gold=200)
    truth = dict(crowd.truths.iter_rows())
    wrong = {item: str((int(truth[item]) + 1) % 3) for item in list(crowd.gold)[:20]}
    fit = adjudge.fit(crowd.judgments, gold={**crowd.gold, **wrong})
    doubted = {look.item for look in second_looks(fit, crowd.judgments, most=999).gold}
    assert len(doubted & set(wrong)) >= 16
    assert len(doubted - set(wrong)) <= 5


def test_the_least_sure_come_first():
    """By entropy, with the two likeliest labels."""
    crowd = adjudge.simulate("dawid-skene", 2, items=60, judges=5, labels=3, per_item=2)
    fit = adjudge.fit(crowd.judgments, "hybrid-confusion", inference="map")
    looks = second_looks(fit, crowd.judgments, most=4).uncertain
    np.testing.assert_allclose([look.value for look in looks], np.sort(fit.entropy)[::-1][:4])
    i = fit.items.to_list().index(looks[0].item)
    likeliest = np.argsort(-fit.posterior[i], kind="stable")[:2]
    message = " or ".join(f"'{k}' {fit.posterior[i, k]:.2f}" for k in likeliest)
    assert looks[0].reason == f"{message}: {fit.entropy[i]:.2f} bits of uncertainty"
    assert looks[0].probability == fit.posterior[i, fit.label[i]]


def test_where_one_more_judgment_helps_most():
    """The items with the largest expected gain, which is no more than what is open."""
    crowd = adjudge.simulate("carpenter", 2, topics=3, items=60, judges=8, judgments=200, gold=6)
    fit = adjudge.fit(crowd.judgments, "hybrid-confusion", inference="map")
    looks = second_looks(fit, crowd.judgments, most=5)
    for look in looks.helpful:
        i = fit.items.to_list().index(look.item)
        assert 0 < look.value <= fit.entropy[i]
        assert (
            look.reason == f"one more judgment gives {look.value:.2f} of the {fit.entropy[i]:.2f} bits of uncertainty"
        )
        assert look.topic == fit.topics[int(fit.topic[i])]
    values = [look.value for look in looks.helpful]
    assert values == sorted(values, reverse=True)


def test_an_item_that_nobody_judged_is_listed_without_labels():
    """Gold for it is not doubted, and its truth is known."""
    rows = [(f"i{n}", judge, str(n % 2)) for n in range(12) for judge in ("x", "y")]
    judgments = table(rows)
    with pytest.warns(adjudge.AdjudgeWarning, match="nobody judged gold item"):
        fit = adjudge.fit(judgments, gold={"i0": "0", "q": "1"})
    looks = second_looks(fit, judgments)
    assert not any(look.item == "q" for each in looks for look in each)
    fitted = adjudge.fit(judgments.with_items(pl.Series(["q"])), "hybrid-confusion", inference="map")
    (open_item,) = [look for look in second_looks(fitted, judgments).uncertain if look.item == "q"]
    assert (open_item.judgments, open_item.given, open_item.topic) == (0, "", None)


def test_topics_that_are_not_known_are_none():
    """And others are named."""
    rows = {"item": list("aabb"), "judge": list("xyxy"), "label": list("0101"), "topic": list("ttuu")}
    judgments = replace(adjudge.read(pl.DataFrame(rows)), topic=np.array([0, -1]))
    looks = second_looks(adjudge.fit(judgments, "majority"), judgments).uncertain
    assert {look.item: look.topic for look in looks} == {"a": "t", "b": None}


def test_tables():
    """One of each reason, and all in one."""
    looks = second_looks(*quarrel())
    frame = looks.table
    assert frame.columns == ["why", *looks.gold.table.columns]
    assert set(frame["why"]) >= {"contested", "gold"}
    assert frame.height == sum(map(len, looks))
    assert looks.gold.table.row(0, named=True)["item"] == "i1"
    assert looks.gold[:1] == (looks.gold[0],)


def test_a_fit_that_is_sure_of_everything_asks_for_nothing():
    """Empty tables have their columns all the same."""
    judgments = table([("a", "x", "1"), ("b", "x", "1"), ("b", "y", "1")])
    looks = second_looks(adjudge.fit(judgments), judgments)
    assert looks.table.height == 0
    assert [len(each) for each in looks] == [0, 0, 0, 0]


@pytest.mark.parametrize("model", adjudge.MODELS)
def test_every_model_has_items_to_look_at(model):
    """Whatever stands for its probabilities, no value is not a number."""
    crowd = adjudge.simulate("carpenter", 3, topics=3, items=50, judges=6, judgments=200, gold=6)
    judgments = replace(crowd.judgments, scale=adjudge.Scale(("0", "1"), ordinal=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)
        options = {"run": adjudge.Run(2, 20, 40)} if adjudge.MODELS[model].sampler else {}
        fit = adjudge.fit(judgments, model, dict(crowd.gold), **options)
    frame = second_looks(fit, judgments).table
    assert not frame["value"].is_nan().any()
    assert frame["probability"].is_between(0, 1.000001).all()
    assert all(reason for reason in frame["reason"])


def test_labels_in_short():
    """One by one while few, and counted when many."""
    assert abbreviate(["1", "1", "0", "1"]) == "1 1 0 1"
    assert abbreviate(["0"] * 3 + ["1"] * 9) == "1 x9, 0 x3"
    assert abbreviate([]) == ""


def test_most_is_at_least_one():
    """None at all is not asked for."""
    with pytest.raises(adjudge.UsageError, match="most 0 is not a number of at least 1"):
        second_looks(*quarrel(), most=0)

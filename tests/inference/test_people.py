"""People beside machines: who is fitted, how much families count, and whose word stands."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.inference.calibration import smoothed_votes
from adjudge.inference.gold_map import EXPERT, PERSON, PERSON_FEW
from adjudge.inference.people import evidence_weights, judge_tiers

ROWS = {"item": [*"aaaabbbccc"], "judge": [*"mnpempnmne"], "label": [0, 0, 1, 1, 0, 1, 0, 1, 1, 1]}
KINDS = {"m": "machine", "n": "machine", "p": "person", "e": "expert"}


def read(judges=None, rows=None):
    """Return judgments with what is known about their judges."""
    return adjudge.read(pl.DataFrame(rows or ROWS), labels=[0, 1], judges=judges)


def by_name(judgments, values):
    """Return values of judges by their name."""
    return dict(zip(judgments.judges.to_list(), values.tolist(), strict=True))


def panel(seed=0, items=300, machines=2, shared=0.3, people=(0.95,), share=1.0):
    """Return machines that err together, people who judge a share of the items, and the truth.

    Every machine repeats a common error on ``shared`` of the items, and errs alone on a tenth.
    """
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    together = np.where(rng.random(items) < shared, 1 - truth, truth)
    rows = []
    for m in range(machines):
        label = np.where(rng.random(items) < 0.1, 1 - together, together)
        rows += [(i, f"m{m}", label[i]) for i in range(items)]
    for p, right in enumerate(people):
        label = np.where(rng.random(items) < right, truth, 1 - truth)
        rows += [(i, f"p{p}", label[i]) for i in range(items) if rng.random() < share]
    kinds = {name: "machine" if name[0] == "m" else "person" for _, name, _ in rows}
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    judgments = adjudge.read(table, judges=kinds)
    return judgments, truth[judgments.items.to_numpy()], table


def test_the_lowest_kind_is_fitted():
    """Machines are fitted and the others stand beside; without machines people are, and experts stand beside."""
    judgments = read(KINDS)
    assert by_name(judgments, judge_tiers(judgments)) == {"m": 0, "n": 0, "p": 1, "e": 2}
    people = read({"m": "person", "n": "person", "p": "person", "e": "expert"})
    assert by_name(people, judge_tiers(people)) == {"m": 0, "n": 0, "p": 0, "e": 2}
    for kind in ("person", "machine", "expert"):
        assert not judge_tiers(read(dict.fromkeys("mnpe", kind))).any()


def test_a_judge_of_an_unknown_kind_is_fitted():
    """And without any kinds all are."""
    judgments = read({"m": "machine", "n": {}, "p": "person", "e": {}})
    assert by_name(judgments, judge_tiers(judgments)) == {"m": 0, "n": 0, "p": 1, "e": 0}
    assert not judge_tiers(read()).any()
    assert evidence_weights(read()) is None


def test_all_are_fitted_if_machines_judged_less_than_half():
    """One of four items is too few, two of four are enough."""
    few = {"item": [*"aabcd"], "judge": [*"mpppp"], "label": [0, 0, 1, 1, 0]}
    judgments = read({"m": "machine", "p": "person"}, few)
    assert not judge_tiers(judgments).any()
    assert evidence_weights(judgments).tolist() == [1.0] * 5
    half = {"item": [*"aabbcd"], "judge": [*"mpmppp"], "label": [0, 0, 1, 1, 0, 1]}
    judgments = read({"m": "machine", "p": "person"}, half)
    assert by_name(judgments, judge_tiers(judgments)) == {"m": 0, "p": 1}


def test_families_share_their_evidence():
    """Of m judgments of one family on an item, each counts 1 / sqrt(m); people beside count nothing in EM."""
    judges = {"m": {"kind": "machine", "family": "f"}, "n": {"kind": "machine", "family": "f"}, "p": "person"}
    judgments = read(judges | {"e": "machine"})
    weight = dict(
        zip(
            zip(judgments.items.gather(judgments.item()), judgments.judges.gather(judgments.judge), strict=True),
            evidence_weights(judgments),
            strict=True,
        )
    )
    root = 1 / np.sqrt(2)
    expected = {("a", "p"): 0.0, ("b", "p"): 0.0, ("a", "e"): 1.0, ("c", "e"): 1.0}
    expected |= {(item, judge): root for item in "abc" for judge in "mn"}
    assert weight == pytest.approx(expected)


def test_weights_of_judgments_are_kept():
    """A judgment that counts twice counts twice what its family leaves it."""
    rows = ROWS | {"weight": [2.0] * 10}
    judgments = adjudge.read(pl.DataFrame(rows), weight="weight", judges=dict.fromkeys("mnpe", "machine"))
    assert (evidence_weights(judgments) == 2).all()


def test_a_person_is_not_overruled_by_two_machines():
    """Two machines that err alike say one thing and a person another: the person's label is the more likely one."""
    judgments, truth, _ = panel()
    fit = adjudge.fit(judgments)
    assert fit.calibration.gold_map.weights == (1.0, 0.0, PERSON_FEW, EXPERT)
    votes = smoothed_votes(judgments.block())
    person = np.array(
        [judgments.label[n] for n in np.flatnonzero(judgments.judge == judgments.judges.to_list().index("p0"))]
    )
    outvoted = votes.argmax(axis=1) != person
    assert outvoted.sum() > 50
    assert (fit.label[outvoted] == person[outvoted]).all()
    right = {
        "consensus": (fit.label == truth).mean(),
        "all alike": (adjudge.fit(adjudge.read(panel()[2])).label == truth).mean(),
    }
    assert right["consensus"] > 0.9 > right["all alike"]


def test_people_count_less_beside_many_machines():
    """From three machines per item on, the agreement of machines says how far they can be believed."""
    fit = adjudge.fit(panel(machines=4)[0])
    assert fit.calibration.gold_map.weights == (1.0, 0.0, PERSON, EXPERT)


def test_machines_are_fitted_as_if_alone():
    """The confusions of machines, and the probabilities of items that no person judged, are those without people."""
    judgments, _, table = panel(share=0.5)
    fit = adjudge.fit(judgments)
    alone = adjudge.fit(table.filter(pl.col("judge").str.starts_with("m")))
    machine = [fit.judge_names.to_list().index(name) for name in alone.judge_names]
    np.testing.assert_allclose(fit.params.confusion[machine], alone.params.confusion)
    judged = set(table.filter(pl.col("judge") == "p0")["item"])
    without = [n for n, name in enumerate(fit.items) if name not in judged]
    order = [alone.items.to_list().index(fit.items[n]) for n in without]
    assert len(without) > 100
    np.testing.assert_allclose(fit.posterior[without], alone.posterior[order])


def test_prediction_keeps_people_beside_machines(tmp_path):
    """The items of a fit are predicted as they were, from the record and from a saved fit."""
    judgments, _, table = panel(share=0.7, people=(0.95, 0.8))
    fit = adjudge.fit(judgments)
    adjudge.save(fit, tmp_path / "fit", judgments)
    saved = adjudge.load(tmp_path / "fit")
    np.testing.assert_array_equal(saved.calibration.gold_map.tier, fit.calibration.gold_map.tier)
    np.testing.assert_array_equal(saved.calibration.confusion, fit.calibration.confusion)
    for each in (fit, saved):
        np.testing.assert_allclose(adjudge.predict(each, judgments).posterior, fit.posterior, atol=1e-12)
    few = adjudge.read(table.filter(pl.col("item") < 20))  # kinds are known from the fit
    new = adjudge.predict(saved, few)
    order = [fit.items.to_list().index(name) for name in new.items]
    np.testing.assert_allclose(new.posterior, fit.posterior[order], atol=1e-12)


def test_a_new_person_stands_beside_machines_too():
    """A person whom the fit does not know, but whose kind the new judgments say, is not one more machine."""
    judgments, _, table = panel()
    fit = adjudge.fit(judgments)
    renamed = table.filter(pl.col("item") < 20).with_columns(pl.col("judge").replace("p0", "somebody"))
    new = adjudge.predict(fit, adjudge.read(renamed, judges={"m0": {}, "m1": {}, "somebody": "person"}))
    old = adjudge.predict(fit, adjudge.read(table.filter(pl.col("item") < 20)))
    np.testing.assert_allclose(new.posterior, old.posterior)


def test_other_models_take_all_judges_alike():
    """A named model is that of its paper."""
    judgments, _, table = panel()
    for model in ("dawid-skene", "majority"):
        known, unknown = (adjudge.fit(data, model) for data in (judgments, adjudge.read(table)))
        np.testing.assert_array_equal(known.posterior, unknown.posterior)


def test_gold_teaches_how_far_people_are_believed():
    """Gold that people contradict takes their weight away."""
    judgments, truth, _ = panel(people=(0.5,), shared=0.05)
    names = judgments.items.to_list()
    gold = {names[n]: int(truth[n]) for n in range(150)}
    fit, without = adjudge.fit(judgments, gold=gold), adjudge.fit(judgments)
    assert fit.calibration.by == "gold"
    assert fit.calibration.gold_map.weights[2] < PERSON_FEW / 2
    assert (fit.label == truth)[150:].mean() > (without.label == truth)[150:].mean() + 0.2

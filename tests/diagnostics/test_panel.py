"""What a panel is worth: all parts together, and a sentence for everything that is not defined."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics import panel as room
from adjudge.diagnostics.panel import PARTS, panel
from adjudge.errors import UsageError


@pytest.fixture(scope="module")
def crowd():
    """Return a simulated panel of three people and three families of machines."""
    return adjudge.simulate("panel", 2, items=300)


@pytest.fixture(scope="module")
def measured(crowd):
    """Return the panel with gold."""
    return panel(crowd.judgments, crowd.truths)


def test_every_part_with_gold(crowd, measured):
    """With gold there are two effective numbers, correlations of errors, values, prompts and tests of machines."""
    assert [each.source for each in measured.effective] == ["gold", "judgments"]
    assert measured.families.source == "gold"
    assert measured.values.by_gold
    assert len(measured.prompts) == 2 * 12
    assert len(measured.stand_in) == 12
    assert measured.reasons == {"positions": "no two judges of a model differ in the order of the options only"}
    assert measured.level == ""
    assert repr(measured).startswith("PanelAnalysis(15 judges; 15 judgments per item are worth about ")


def test_tables_of_parts(measured):
    """Every part has its columns, one row per judge, pair of families, prompt or machine."""
    assert len(measured.columns("effective")["source"]) == 2
    assert len(measured.columns("families")["family"]) == 6 * 7 // 2 - 3  # a person alone has no pair within
    values = measured.columns("values")
    assert sorted(values["judge"]) == sorted(measured.judges)
    assert list(values["value"]) == sorted(values["value"], reverse=True)
    left = [n for n in values["left_out"] if n is not None]
    assert sorted(left) == list(range(1, len(measured.values.dropped) + 1))
    assert len(measured.columns("prompts")["p"]) == 24
    assert set(measured.columns("stand_in")) >= {"judge", "winning_rate", "advantage", "passes"}
    assert measured.table.columns == ["part", "available", "text"]
    assert measured.table["available"].to_list() == [part != "positions" for part in PARTS]
    with pytest.raises(UsageError, match="part 'positions' is not defined because no two judges of a model differ"):
        measured.columns("positions")
    with pytest.raises(UsageError, match="part 'colour' is not one of effective, families"):
        measured.columns("colour")


def test_sentences(measured):
    """The sentences say whom to drop and who may stand in."""
    text = measured.sentences
    assert text["effective"].count("independent ones") == 2
    assert "can be left out:" in text["values"]
    assert text["positions"] == "Not defined because no two judges of a model differ in the order of the options only."
    assert "alternative annotator test, epsilon 0.1, 3 people, 300 items" in text["stand_in"]


def test_machines_alone_do_not_know_the_level(crowd):
    """Without people and gold, the level of the scale is unknown; gold is by people."""
    machines = crowd.judgments.panel.of_kind("machine")
    alone = crowd.judgments.take(np.flatnonzero(np.isin(crowd.judgments.judge, machines)))
    table = alone.table.drop("judge_family")
    result = panel(table)
    assert result.level == (
        "All judges are machines: agreement among them says nothing about how people would label. Add the labels of "
        "three people on 100 items."
    )
    assert result.sentences["stand_in"].startswith("Not defined because the panel has no people")
    assert "Nobody was chosen to be left out: without gold nobody knows who is right" in result.sentences["values"]
    assert panel(table, crowd.truths).level == ""
    half = table.with_columns(judge_kind=pl.when(pl.col("judge") == "j4").then(None).otherwise("judge_kind"))
    assert panel(half).level.startswith("No judge is a person: ")


def test_nothing_is_known_about_the_judges():
    """Without facts every judge is a family, and parts that need facts say what to give."""
    result = panel(adjudge.dataset("anesthesia"))
    assert result.level == "Nothing says which judges are people and which are machines: give judges."
    assert result.families.within is None
    assert len(result.families.families) == 5
    assert set(result.reasons) == {"prompts", "positions", "stand_in"}


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("a", "x", "0"), ("b", "x", "1")], "there is one judge, and a panel has at least two"),
        ([("a", "x", "0"), ("b", "y", "1")], "no two judges judged the same item"),
        (
            [("a", "x", "0"), ("a", "y", "0"), ("b", "x", "1"), ("b", "y", "1")],
            "all judges agree on every item, so that agreement says nothing about errors",
        ),
    ],
    ids=["one judge", "nothing shared", "unanimous"],
)
def test_bad_input_is_a_sentence(rows, reason):
    """One judge, no shared items and unanimous judges give a reason, and no error."""
    result = panel(pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"))
    assert result.reasons["effective"] == result.reasons["families"] == reason
    assert result.effective == ()
    assert result.sentences["families"] == f"Not defined because {reason}."


def test_gold_without_errors():
    """If nobody errs on gold, the number by agreement is left."""
    rows = [(f"i{i}", judge, str((i + (judge == "z") * (i % 3 == 0)) % 2)) for i in range(30) for judge in "xyz"]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    result = panel(table, {"i1": "1", "i2": "0", "i4": "0"})
    assert [each.source for each in result.effective] == ["judgments"]
    assert result.families.source == "judgments"


def test_large_tables_are_sampled(crowd, monkeypatch):
    """Of many judgments, those of random items are used, and this is said; gold stays matched."""
    everything = panel(crowd.judgments, crowd.truths)
    monkeypatch.setattr(room, "MOST", 1_507)
    result = panel(crowd.judgments, crowd.truths, seed=3)
    gold = "those of gold items and of others that were drawn at random."
    assert result.sampled == f"1,500 of 4,500 judgments were used: {gold}"
    assert abs(result.effective[0].number.value - everything.effective[0].number.value) < 1
    few = crowd.truths.tail(90)
    assert panel(crowd.judgments, few, seed=3).values.items == 90  # gold items are never left out
    without = panel(crowd.judgments, seed=3).sampled
    assert without == "1,500 of 4,500 judgments were used: those of items that were drawn at random."


def test_progress_and_seed(crowd):
    """Steps are reported, and a seed gives the same result."""
    steps: list[str] = []
    first = panel(crowd.judgments, crowd.truths, seed=4, progress=steps.append)
    assert steps[0] == "effective"
    assert any(step.startswith("leaving out judges") for step in steps)
    again = panel(crowd.judgments, crowd.truths, seed=4)
    assert first.sentences == again.sentences


def test_published_panels(shared):
    """A panel of 123 machine judges is worth a handful, families err together, and the order of options counts."""
    folder = "data/panels/llmbar_all"
    labels, judges, gold = (shared(f"{folder}/{name}.csv") for name in ("labels", "judges", "gold"))
    result = panel(labels, gold, judges=judges)
    by_gold, by_agreement = result.effective
    assert 3 < by_gold.number.value < 4
    assert by_agreement.number.low < by_gold.number.value < by_agreement.number.high
    assert result.families.within.low > result.families.between.high
    assert len(result.values.dropped) > 50
    assert len(result.positions) == 46
    assert sum(each.biased for each in result.positions) > 20

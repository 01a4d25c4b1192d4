"""Prompts and positions: by hand, and without effects on simulated panels."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.prompt_effects import FEWEST_ITEMS, position_effects, prompt_effects
from adjudge.errors import UsageError


def machines(columns, prompts, labels=None, model="m"):
    """Return judgments of machines of one model: judge -> labels of all items, judge -> prompt."""
    rows = [(f"i{i}", judge, label) for judge, given in columns.items() for i, label in enumerate(given)]
    table = pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row")
    judges = {judge: {"kind": "ai", "model": model, "prompt": prompts[judge]} for judge in columns}
    return adjudge.read(table, judges=judges, labels=labels)


def test_label_shares_by_hand():
    """Prompt b says yes on five more of twenty items: a difference of .25, in the other direction for prompt a."""
    judgments = machines({"a": "n" * 15 + "y" * 5, "b": "n" * 10 + "y" * 10}, {"a": "short", "b": "long"})
    first, second = prompt_effects(judgments)
    by_prompt = {each.prompt: each for each in (first, second)}
    long = by_prompt["long"]
    assert (long.model, long.measure, long.items) == ("m", "share of 'y'", 20)
    assert (long.share, long.others, long.difference.value) == (0.5, 0.25, 0.25)
    error = np.std([0.0] * 15 + [1.0] * 5, ddof=1) / np.sqrt(20)
    assert long.difference.high - long.difference.value == pytest.approx(1.645 * error)
    assert by_prompt["short"].difference.value == -0.25
    assert long.p == pytest.approx(2 * by_prompt["short"].p / 2)
    assert long.unusual


def test_accuracy_by_hand():
    """With gold, the accuracy of prompts is compared too."""
    judgments = machines({"a": "n" * 20, "b": "n" * 10 + "y" * 10}, {"a": "short", "b": "long"})
    effects = prompt_effects(judgments, np.zeros(20, np.int32))
    accuracy = {each.prompt: each for each in effects if each.measure == "accuracy"}
    assert accuracy["long"].difference.value == -0.5
    assert accuracy["short"].share == 1


def test_prompts_without_an_effect():
    """On simulated panels, in which prompts differ by chance only, hardly a panel has an unusual prompt."""
    unusual = 0
    for seed in range(20):
        panel = adjudge.simulate("panel", seed, items=200)
        unusual += any(each.unusual for each in prompt_effects(panel.judgments, panel.truth))
    assert unusual <= 3


def test_positions_by_hand():
    """Labels that change with the order, and how often the option shown first is chosen."""
    columns = {"straight": "1" * 20, "turned": "1" * 12 + "2" * 8}
    (effect,) = position_effects(machines(columns, {"straight": "CoT|ab", "turned": "CoT|ba"}))
    assert (effect.model, effect.prompt, effect.items) == ("m", "CoT", 20)
    assert effect.flips.value == 0.4
    assert effect.first.value == pytest.approx((20 + 8) / 40)  # in the turned order, option 2 is shown first
    assert effect.biased


def test_a_tie_is_no_position():
    """Ties count half; without two options only flips are counted."""
    columns = {"straight": "1" * 10 + "t" * 10, "turned": "2" * 10 + "t" * 10}
    prompts = {"straight": "original", "turned": "swapped"}
    tied = {judge: ["tie" if c == "t" else c for c in given] for judge, given in columns.items()}
    (effect,) = position_effects(machines(tied, prompts, labels=["1", "2", "tie"]))
    assert effect.flips.value == 0.5
    assert effect.first.value == 1.0
    graded = {"straight": "0123" * 5, "turned": "0124" * 5}
    (effect,) = position_effects(machines(graded, prompts))
    assert (effect.flips.value, effect.first, effect.p) == (0.25, None, None)


def test_judges_may_differ_in_order_by_name():
    """Without prompts, the names of judges say it."""
    names = {"x-ab": None, "x-ba": None, "y-ab": None}
    columns = {"x-ab": "12" * 15, "x-ba": "12" * 15, "y-ab": "12" * 15}
    (effect,) = position_effects(machines(columns, names))
    assert (effect.flips.value, effect.first.value, effect.biased) == (0.0, 0.5, False)


def test_what_is_missing_is_said():
    """No facts, one prompt, one order or too few shared items: each is a sentence."""
    plain = adjudge.dataset("anesthesia")
    for effects in (prompt_effects, position_effects):
        with pytest.raises(UsageError, match="nothing says which models and prompts the judges are: give judges"):
            effects(plain)
    one = machines({"a": "ny" * 20}, {"a": "ab"})
    with pytest.raises(UsageError, match="no model has two prompts: give judges with the columns model and prompt"):
        prompt_effects(one)
    with pytest.raises(UsageError, match="no two judges of a model differ in the order of the options only"):
        position_effects(one)
    few = machines({"a": "ny" * 9, "b": "yy" * 9}, {"a": "ab", "b": "ba"})
    assert FEWEST_ITEMS == 20
    with pytest.raises(UsageError, match="no two prompts of a model have 20 items in common"):
        prompt_effects(few)
    with pytest.raises(UsageError, match="no two judges that differ in the order of the options have 20 items"):
        position_effects(few)

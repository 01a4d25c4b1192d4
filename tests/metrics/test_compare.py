"""Models side by side: who is best and by what, who refuses, and what Ctrl-C leaves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import adjudge
from adjudge.data.read import read
from adjudge.data.simulate import simulate
from adjudge.errors import UsageError
from adjudge.inference.fit import fit
from adjudge.inference.model import MODELS
from adjudge.inference.select import HeldOut
from adjudge.metrics import compare as room
from adjudge.metrics.compare import Comparison, compare, truths
from adjudge.metrics.labels import scores
from adjudge.metrics.significance import mcnemar

FEW = ("majority", "one-coin", "dawid-skene")
HELD = {"majority": -0.9, "one-coin": -0.7, "dawid-skene": -0.6}
GOLD = {"d1": "yes", "d2": "no", "d4": "no"}
JUDGMENTS = pl.DataFrame(
    {
        "item": ["d1", "d1", "d1", "d2", "d2", "d2", "d3", "d3", "d3", "d4", "d4"],
        "judge": ["ann", "bob", "cy"] * 3 + ["ann", "bob"],
        "label": ["yes", "no", "yes", "no", "no", "yes", "no", "no", "no", "yes", "no"],
    }
)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the held-out likelihoods be known, so that tests are of the comparison alone."""
    monkeypatch.setattr(room, "held_out", lambda table, model, folds, seed: HeldOut(HELD.get(model, -1), 0.01, folds))


@pytest.fixture
def crowd() -> Any:
    """Return judgments of a crowd in which judges err in their own ways, with the truth."""
    return simulate("liu-wang", 2, items=300)


def ctrl_c(monkeypatch: pytest.MonkeyPatch, name: str, call: Callable[..., bool]) -> None:
    """Let Ctrl-C come when a function of the room is called in a certain way."""
    real = getattr(room, name)

    def interrupted(*arguments: Any, **named: Any) -> Any:
        if call(*arguments, **named):
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(room, name, interrupted)


def found_of(crowd: Any, **options: Any) -> Comparison:
    """Return the comparison of a few models on a crowd whose truth is known."""
    return compare(crowd.judgments, FEW, crowd.truths, draws=50, **options)


def test_with_gold_the_most_accurate_is_best(crowd: Any) -> None:
    """Models stand in the order of their accuracy, with the scores that ``scores`` gives their fits."""
    result = found_of(crowd)
    accuracy = [model.scores.values["accuracy"] for model in result.models.values()]
    assert accuracy == sorted(accuracy, reverse=True)
    assert (result.best, result.criterion, result.scored) == (next(iter(result.models)), "accuracy", True)
    for name, model in result.models.items():
        reference = scores(fit(crowd.judgments, name), crowd.truths)
        assert model.scores.rows == reference.rows
        assert set(model.intervals) == {measure for measure, value in reference.values.items() if value is not None}
        assert all(span.low <= reference.values[measure] <= span.high for measure, span in model.intervals.items())


def test_no_model_is_told_the_gold(crowd: Any) -> None:
    """Fits are those of the judgments alone, though gold scores them."""
    for name, model in found_of(crowd).models.items():
        assert model.fit.gold is None
        assert (model.fit.posterior == fit(crowd.judgments, name).posterior).all()
        assert model.scores.used == 0


def test_others_are_tested_against_the_best(crowd: Any) -> None:
    """Exact McNemar on the items with gold, corrected for two others; losses are tested too."""
    result = found_of(crowd)
    truth = truths(crowd.truths, crowd.judgments)
    right = {name: model.fit.label == truth for name, model in result.models.items()}
    best, *others = result.models
    assert result.models[best].tests == {}
    for name in others:
        tests = result.models[name].tests
        assert tests["accuracy"].p == pytest.approx(mcnemar(right[name], right[best]))
        assert tests["accuracy"].difference == pytest.approx(right[name].mean() - right[best].mean())
        assert list(tests) == ["accuracy", "log_loss", "brier"]
    pairs = [result.models[name].tests["accuracy"] for name in others]
    assert min(pair.adjusted for pair in pairs) == pytest.approx(2 * min(pair.p for pair in pairs))


def test_without_gold_held_out_likelihood_decides() -> None:
    """And nothing is said of accuracy."""
    result = compare(JUDGMENTS, FEW)
    assert list(result.models) == ["dawid-skene", "one-coin", "majority"]
    assert (result.criterion, result.scored) == ("held-out likelihood", False)
    assert all(model.scores is None and model.tests == {} for model in result.models.values())
    assert repr(result) == ("Comparison(3 models, best by held-out likelihood: dawid-skene, one-coin, majority)")


def test_a_model_without_a_held_out_likelihood_comes_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not a number is not the best."""
    monkeypatch.setitem(HELD, "one-coin", float("nan"))
    assert list(compare(JUDGMENTS, ("one-coin", "majority", "dawid-skene")).models)[-1] == "one-coin"


def test_folds_and_seed_are_handed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """To the held-out part, with the whole table."""
    calls = []
    monkeypatch.setattr(room, "held_out", lambda *given, **named: calls.append((given, named)) or HeldOut(-1, 0.1, 9))
    table = read(JUDGMENTS)
    compare(table, ["majority"], folds=3, seed=7)
    assert calls == [((table, "majority"), {"folds": 3, "seed": 7})]


@pytest.mark.parametrize(("mean", "alike"), [(-0.627, ("one-coin",)), (-0.629, ())])
def test_within_two_standard_errors_models_are_alike(
    monkeypatch: pytest.MonkeyPatch, mean: float, alike: tuple[str, ...]
) -> None:
    """Errors of .01 each make two of the difference 2 * .0141."""
    monkeypatch.setitem(HELD, "one-coin", mean)
    assert compare(JUDGMENTS, FEW).alike == alike


def test_with_gold_models_are_alike_that_the_test_cannot_tell() -> None:
    """Two judges of whom one is always right, and a vote that is right as often as the other is wrong."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    result = np.array([np.where(rng.random(200) < share, truth, 1 - truth) for share in (0.99, 0.99, 0.55, 0.55, 0.55)])
    table = {"item": np.tile(np.arange(200), 5), "judge": np.repeat(np.arange(5), 200), "label": result.ravel()}
    outcome = compare(pl.DataFrame(table), ("majority", "dawid-skene", "one-coin"), dict(enumerate(truth.tolist())))
    assert outcome.models["majority"].tests["accuracy"].adjusted < 0.05
    assert len(outcome.alike) == 1
    assert {outcome.best, *outcome.alike} == {"dawid-skene", "one-coin"}


def test_agreement_is_the_share_of_equal_labels(crowd: Any) -> None:
    """A model agrees with itself, and two with each other as often as their labels are equal."""
    result = found_of(crowd)
    labels = [model.fit.label for model in result.models.values()]
    assert np.diag(result.agreement).tolist() == [1, 1, 1]
    assert (result.agreement == result.agreement.T).all()
    assert result.agreement[0, 2] == (labels[0] == labels[2]).mean() < 1
    with pytest.raises(ValueError, match="read-only"):
        result.agreement[0, 0] = 0


def test_a_tied_vote_agrees_with_either_label() -> None:
    """Of one item with one vote each for yes and no, no answer is against the vote."""
    table = pl.DataFrame({"item": ["a", "a", "b", "b", "b"], "judge": list("xyxyz"), "label": list("01001")})
    fits = []
    for seed in range(6):
        model = compare(table, ["majority"], seed=seed).models["majority"]
        assert model.vote_agreement == 1
        fits.append(model.fit.label.tolist())
    assert fits == [fit(table, "majority", seed=seed).label.tolist() for seed in range(6)]
    assert {label[0] for label in fits} == {0, 1}


def test_agreement_with_the_vote_is_counted(crowd: Any) -> None:
    """The share of items whose label has most votes."""
    model = found_of(crowd).models["dawid-skene"]
    shares = fit(crowd.judgments, "majority").posterior
    of_label = shares[np.arange(300), model.fit.label]
    assert model.vote_agreement == np.isclose(of_label, shares.max(axis=1)).mean() < 1


def test_by_default_models_that_refuse_are_left_out_with_the_reason() -> None:
    """Those for labels in an order do on labels without one; the rest is all there."""
    result = compare(JUDGMENTS)
    assert set(result.models) | set(result.left_out) == set(MODELS)
    assert set(result.models) & set(result.left_out) == set()
    assert set(result.left_out) == {name for name, model in MODELS.items() if model.labels.ordered}
    assert result.left_out["ordinal"].startswith("model 'ordinal' needs ordered labels, and 'no', 'yes' have no order")


def test_a_model_that_refuses_late_is_left_out_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when judgments that are held out leave too few."""

    def refused(table: Any, model: str, **_: Any) -> HeldOut:
        if model == "dawid-skene":
            raise UsageError("too few")
        return HeldOut(-1, 0.1, 9)

    monkeypatch.setattr(room, "held_out", refused)
    result = compare(JUDGMENTS)
    assert result.left_out["dawid-skene"] == "too few"
    assert "dawid-skene" not in result.models
    with pytest.raises(UsageError, match=r"^too few$"):
        compare(JUDGMENTS, ["majority", "dawid-skene"])


def test_a_named_model_that_refuses_is_an_error_before_any_work() -> None:
    """Though it is named last."""
    messages: list[str] = []
    with pytest.raises(UsageError, match=r"^model 'ordinal' needs ordered labels"):
        compare(JUDGMENTS, ["majority", "ordinal"], progress=messages.append)
    assert messages == ["loading"]


def test_where_all_refuse_that_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every reason."""
    monkeypatch.setattr(room, "MODELS", {"ordinal": MODELS["ordinal"]})
    with pytest.raises(UsageError, match=r"^no model takes these judgments: model 'ordinal' needs ordered labels"):
        compare(JUDGMENTS)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"models": ["magic"]}, "model 'magic' is not one of 'consensus'"),
        ({"models": "magic"}, "model 'magic' is not one of 'consensus'"),
        ({"models": 3}, "models is a list of names such as 'dawid-skene', got int"),
        ({"models": []}, "there is no model to compare: name some of 'consensus'"),
        ({"folds": 1}, "folds 1 is not a whole number of at least 2"),
        ({"models": ["majority"], "gold": GOLD, "draws": 0}, "0 draws at level 0.95: give 1 draw or more"),
    ],
)
def test_calls_that_cannot_be_meant_are_refused(options: Any, message: str) -> None:
    """Each in a sentence."""
    with pytest.raises(UsageError) as refusal:
        compare(JUDGMENTS, **options)
    assert str(refusal.value).startswith(message)


def test_a_model_named_twice_is_compared_once() -> None:
    """The second time adds nothing."""
    assert list(compare(JUDGMENTS, ["majority", "majority"]).models) == ["majority"]


def test_ctrl_c_keeps_the_models_that_are_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are scored and shown; the one it came in is not."""
    ctrl_c(monkeypatch, "held_out", lambda table, model, **_: model == "dawid-skene")
    result = compare(JUDGMENTS, FEW, GOLD, draws=20)
    assert set(result.models) == {"majority", "one-coin"}
    assert result.interrupted
    assert result.scored
    assert result.agreement.shape == (2, 2)


def test_a_fit_that_was_cut_short_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fit ends at Ctrl-C with what it has, and that would be held against whole ones."""

    def told(what: str) -> None:
        if "dawid-skene, pass 2" in what:
            raise KeyboardInterrupt

    result = compare(JUDGMENTS, FEW, progress=told)
    assert (set(result.models), result.interrupted) == ({"majority", "one-coin"}, True)


def test_ctrl_c_before_the_first_model_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is nothing to keep."""
    ctrl_c(monkeypatch, "held_out", lambda *_, **__: True)
    with pytest.raises(KeyboardInterrupt):
        compare(JUDGMENTS, FEW)


def test_ctrl_c_while_scoring_keeps_the_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are compared by what is known without gold."""
    ctrl_c(monkeypatch, "intervals", lambda *_, **__: True)
    result = compare(JUDGMENTS, FEW, GOLD)
    assert (set(result.models), result.interrupted, result.scored) == (set(FEW), True, False)
    assert result.best == "dawid-skene"


def test_the_clock_runs_for_the_whole_fit_alone(monkeypatch: pytest.MonkeyPatch, crowd: Any) -> None:
    """A first fit of a few items has loaded what is compiled, and is not counted."""
    clock = iter(range(100))
    fitted: list[tuple[str, int, int]] = []
    monkeypatch.setattr(room.time, "perf_counter", lambda: next(clock))

    def slow(table: Any, model: str, **named: Any) -> Any:
        fitted.append((model, len(table.items), clock.__length_hint__()))
        return fit(table, model, **named)

    monkeypatch.setattr(room, "fit", slow)
    result = compare(crowd.judgments, ["majority", "dawid-skene"])
    assert [call[:2] for call in fitted] == [
        ("majority", 300), ("majority", 50), ("dawid-skene", 50), ("majority", 300), ("dawid-skene", 300),
    ]  # fmt: skip
    assert [call[2] for call in fitted] == [100, 100, 100, 99, 97]
    assert [model.seconds for model in result.models.values()] == [1, 1]


def test_every_column_of_the_judgments_may_be_there(crowd: Any) -> None:
    """Topics, weights and times are cut with the items of the first fit."""
    rows = {"item": np.repeat(np.arange(80), 2), "judge": [0, 1] * 80, "label": [0, 1, 1, 1] * 40}
    table = pl.DataFrame({**rows, "topic": np.repeat([1, 2], 80), "weight": [1.0, 2.0] * 80, "time": range(160)})
    few = room._first_items(read(table))
    assert (len(few.items), len(few), few.start[-1]) == (50, 100, 100)
    assert (few.topic.size, few.weight.size, len(few.time)) == (50, 100, 100)
    assert set(compare(table, FEW).models) == set(FEW)


def test_gold_of_items_nobody_judged_is_counted() -> None:
    """As missing, without a warning that it is kept, for it is not."""
    result = compare(JUDGMENTS, FEW, {**GOLD, "d9": "no", "d8": "yes"}, draws=20)
    assert {(model.scores.items, model.scores.missing) for model in result.models.values()} == {(3, 2)}


def test_gold_may_be_codes() -> None:
    """As ``read_gold`` and ``truths`` give them."""
    table = read(JUDGMENTS)
    codes = truths(GOLD, table)
    assert codes.tolist() == [1, 0, -1, 0]
    by_codes, by_name = (compare(table, FEW, gold, draws=20).table.drop("seconds") for gold in (codes, GOLD))
    assert by_codes.equals(by_name)


def test_the_table_holds_a_block_for_each_measure(crowd: Any) -> None:
    """One row a model, best first; p values are the corrected ones, and the best has none."""
    result = found_of(crowd)
    table = result.table
    assert table.columns[:10] == [
        "model", "vote_agreement", "held_out", "held_out_se", "seconds",
        "accuracy", "accuracy_low", "accuracy_high", "accuracy_difference", "p_value",
    ]  # fmt: skip
    assert {"mcc", "mcc_low", "mcc_high", "log_loss_p_value", "brier_difference"} < set(table.columns)
    assert table["model"].to_list() == list(result.models)
    tests = [model.tests["accuracy"].adjusted for model in list(result.models.values())[1:]]
    assert table["p_value"].to_list() == [None, *tests]
    assert tests != [model.tests["accuracy"].p for model in list(result.models.values())[1:]]
    assert table["accuracy_low"].to_list() == [model.intervals["accuracy"].low for model in result.models.values()]


def test_the_table_has_no_scores_without_gold() -> None:
    """Nor columns for them; a model alone has no tests."""
    assert compare(JUDGMENTS, FEW).table.columns == ["model", "vote_agreement", "held_out", "held_out_se", "seconds"]
    assert "p_value" not in compare(JUDGMENTS, ["majority"], GOLD, draws=5).table.columns


def test_labels_in_an_order_are_compared_by_absolute_error_too() -> None:
    """Which has a test and no value among the scores."""
    rows = pl.DataFrame({"item": [1, 1, 2, 2], "judge": list("xyxy"), "label": [1, 2, 3, 3]})
    table = read(rows, ordinal=True)
    result = compare(table, ["majority", "ordinal"], {1: 1, 2: 3}, draws=20)
    assert result.table.columns[-2:] == ["absolute_error_difference", "absolute_error_p_value"]


def test_tables_are_of_the_kind_that_came_in() -> None:
    """Pandas in, pandas out."""
    table = compare(JUDGMENTS.to_pandas(), FEW, GOLD, draws=5).table
    assert isinstance(table, pd.DataFrame)
    assert np.isnan(table["p_value"][0])


def test_progress_is_told_in_words() -> None:
    """Which model, of how many, and what is done with it."""
    messages: list[str] = []
    compare(JUDGMENTS, ["majority", "dawid-skene"], GOLD, folds=3, draws=5, progress=messages.append)
    assert messages[0] == "loading"
    assert messages[-1] == "intervals of 2 models"
    assert {"1 of 2: majority", "2 of 2: dawid-skene, pass 1", "2 of 2: dawid-skene, 3 folds"} < set(messages)


def test_the_same_seed_gives_the_same_comparison(crowd: Any) -> None:
    """All but the seconds."""
    first, again, other = (found_of(crowd, seed=seed).table.drop("seconds") for seed in (1, 1, 2))
    assert first.equals(again)
    for drawn in ("log_loss_low", "log_loss_p_value"):
        assert first[drawn].to_list() != other[drawn].to_list()


def test_what_auto_would_take_is_known_when_all_candidates_are_there(monkeypatch):
    """The choice is that of ``choose``, from the same folds; of two models, or of other folds, it is not known."""
    monkeypatch.setattr(room, "held_out", adjudge.held_out)
    table = adjudge.dataset("anesthesia")
    result = adjudge.compare(table)
    assert result.choice.model == adjudge.choose(table).model
    assert result.choice.scores == adjudge.choose(table).scores
    assert adjudge.compare(table, ["majority", "mace"]).choice is None
    assert adjudge.compare(table, folds=3).choice is None

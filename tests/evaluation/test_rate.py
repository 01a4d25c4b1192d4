"""The doorway of rates: what is read, what is estimated, and what is said about it."""

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import AdjudgeError, InputError, UsageError
from adjudge.evaluation.rate import example, rate
from adjudge.evaluation.shares import Items, gold_alone, post_stratified

HOLD = (
    "90 % intervals for these items: they hold whatever the judges' errors are, if gold is a random sample and is right"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with judgments, items and gold."""
    folder = tmp_path_factory.mktemp("answers")
    for name, text in example().items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def fit(folder):
    """Return a fit of the judgments."""
    return adjudge.fit(folder / "labels.csv")


@pytest.fixture(scope="module")
def result(fit, folder):
    """Return the rates of both systems."""
    return rate(fit, "pass", folder / "gold.csv", items=folder / "items.csv")


def test_shares_are_those_of_the_estimator(fit, folder, result):
    """The first row is the post-stratified estimate of the items of the first system."""
    truth = dict(pl.read_csv(folder / "gold.csv").iter_rows())
    rows = [n for n, item in enumerate(fit.items.to_list()) if item.startswith("base-")]
    names = [fit.items[n] for n in rows]
    y = np.array([np.nan if item not in truth else truth[item] == "pass" for item in names], float)
    items = Items(fit.posterior[rows, 1], fit.label[rows] == 1, y)
    first = result.rows[0]
    assert (first.system, first.group, first.items, first.gold) == ("base", None, 200, 60)
    assert (first.value, first.low, first.high) == pytest.approx(post_stratified(items))
    assert first.judges == pytest.approx(items.chance.mean())
    assert first.estimator == "post-stratified"
    alone = gold_alone(items)
    assert first.saved == pytest.approx(60 * (((alone.high - alone.low) / (first.high - first.low)) ** 2 - 1))


def test_systems_groups_estimators_and_pairs(result):
    """Every system has all its items and its groups, four estimates of each, and a difference in each."""
    assert [(row.system, row.group) for row in result.rows] == [
        (system, group) for system in ("base", "tuned") for group in (None, "facts", "code")
    ]
    assert result.estimate_table["estimator"].head(4).to_list() == [
        *("gold alone", "rogan-gladen", "ppi++", "post-stratified")
    ]
    assert result.estimate_table.filter("used").height == 6
    assert [(pair.group, pair.first, pair.second) for pair in result.pairs] == [
        (group, "base", "tuned") for group in (None, "facts", "code")
    ]
    assert result.pairs[0].larger == "tuned"
    assert result.pairs[0].high < 0
    assert result.pairs[0].needed is None
    assert result.notes == (HOLD,)
    assert repr(result) == f"Rates(base: {result.rows[0].value:.3f}, {result.rows[0].low:.3f} to " + (
        f"{result.rows[0].high:.3f}, 60 gold items)"
    )


def test_an_open_difference_says_how_many_labels_would_decide(fit, folder, result):
    """With these items, more than there are now and at most all; for a population None if all are not enough."""
    open_pairs = [pair for pair in result.pairs if pair.larger is None]
    assert open_pairs
    assert all(60 < pair.needed <= 200 for pair in open_pairs)
    population = rate(fit, "pass", folder / "gold.csv", items=folder / "items.csv", population=True)
    assert population.notes[0].startswith("90 % intervals for a population of items like these: ")
    for pair, wider in zip(result.pairs, population.pairs, strict=True):
        assert wider.high - wider.low > pair.high - pair.low
        assert wider.difference == pair.difference
    assert next(pair for pair in population.pairs if pair.group == "facts").needed is None


def test_judgments_fits_and_folders_give_the_same(fit, folder, result, tmp_path):
    """A table of judgments is fitted first."""
    adjudge.save(fit, tmp_path / "fit")
    for judged in (folder / "labels.csv", str(tmp_path / "fit")):
        again = rate(judged, ["pass"], str(folder / "gold.csv"), items=str(folder / "items.csv"))
        assert again.table.equals(result.table)


def test_several_labels_count_alike(fit, folder):
    """The shares of the two labels are one minus each other, and all labels together say nothing."""
    gold = folder / "gold.csv"
    passes, fails = (rate(fit, label, gold).rows[0] for label in ("pass", "fail"))
    assert passes.value == pytest.approx(1 - fails.value)
    assert (passes.low, passes.high) == pytest.approx((1 - fails.high, 1 - fails.low))
    with pytest.raises(UsageError, match=r"^all labels count: name some of 'fail', 'pass'$"):
        rate(fit, ["pass", "fail"], gold)
    with pytest.raises(UsageError, match=r"^no labels count: name some of 'fail', 'pass'$"):
        rate(fit, [], gold)


def test_without_gold_there_is_only_what_judges_say(fit, folder):
    """No share, no interval, no difference, and a note; a plan assumes several qualities."""
    result = rate(fit, "pass", items=folder / "items.csv", width=0.1)
    assert [row[4:7] for row in result.rows] == [(None, None, None)] * 6
    assert not result.pairs
    assert not result.estimates
    assert result.notes == (
        "without gold there is no interval: these shares are on the judges' scale, not the truth's",
        "give the true labels of a random sample of the items as gold",
    )
    assert repr(result) == f"Rates(base: no gold; the judges say {result.rows[0].judges:.3f})"
    sizes = [row for row in result.sizes if row.system == "base"]
    assert [row.accuracy for row in sizes] == [0.6, 0.7, 0.8, 0.9, 0.95, 0.99]
    needed = [row.gold for row in sizes]
    assert needed == sorted(needed, reverse=True)
    assert needed[0] <= sizes[0].alone


def test_a_plan_with_gold_uses_what_it_showed(fit, folder):
    """So many gold items give intervals of about the width."""
    now = rate(fit, "pass", folder / "gold.csv", items=folder / "items.csv").rows[0]
    width = now.high - now.low
    plan = rate(fit, "pass", folder / "gold.csv", items=folder / "items.csv", width=width)
    assert [(row.system, row.accuracy) for row in plan.sizes] == [("base", None), ("tuned", None)]
    assert 55 <= plan.sizes[0].gold <= 75
    assert plan.sizes[0].gold < plan.sizes[0].alone
    assert plan.plan_table.columns == ["system", "accuracy", "width", "gold", "alone"]
    with pytest.raises(UsageError, match=r"^width 2 is not a number between 0 and 1$"):
        rate(fit, "pass", width=2)


def test_gold_that_was_used_to_fit_is_not_known_to_the_judges(folder, fit, tmp_path):
    """The judgments are fitted again without it; a fit that does not hold them is refused."""
    gold = folder / "gold.csv"
    informed = adjudge.fit(folder / "labels.csv", gold=gold)
    with pytest.raises(UsageError) as error:
        rate(informed, "pass", gold)
    assert str(error.value) == (
        "this fit used gold, which its probabilities know, and does not hold its judgments: fit without gold"
    )
    adjudge.save(informed, tmp_path / "fit", folder / "labels.csv")
    again = rate(tmp_path / "fit", "pass", gold)
    assert again.rows == rate(fit, "pass", gold).rows
    assert again.notes == (HOLD, "the fit used gold: the judgments were fitted again without it")


def test_probabilities_of_gold_are_weighted_out(fit, folder):
    """Gold in which passes are drawn three times as often gives the share that the weights restore."""
    items = fit.items.to_list()
    gold = pl.DataFrame(
        {
            "item": items[:40],
            "label": ["pass"] * 30 + ["fail"] * 10,
            "probability": [0.3] * 30 + [0.1] * 10,
        }
    )
    result = rate(fit, "pass", gold)
    assert result.estimates[0].value == pytest.approx(0.5)
    assert result.notes[0] == (
        "90 % intervals for these items: they hold whatever the judges' errors are, if gold was drawn with the "
        "probabilities in its table and is right"
    )
    assert rate(fit, "pass", gold.drop("probability")).estimates[0].value == pytest.approx(0.75)


def test_an_audit_of_search_results_is_gold(tmp_path):
    """The table of adjudge evaluate --audit, filled in, gives the share of relevant documents."""
    from adjudge.data.runs import example as search
    from adjudge.evaluation.certify import audit

    for name, text in search(1).items():
        (tmp_path / name).write_text(text)
    fit = adjudge.fit(tmp_path / "labels.csv")
    truth = {tuple(line.split()[::2]): line.split()[3] for line in (tmp_path / "truth.qrels").read_text().splitlines()}
    drawn = audit(fit, [tmp_path / "bm25.run", tmp_path / "dense.run"], 60)
    answers = drawn.with_columns(
        label=pl.Series([truth[pair] for pair in drawn.select("topic", "document").iter_rows()])
    )
    result = rate(fit, 1, answers)
    assert result.rows[0].gold == len(drawn)
    assert result.rows[0].low <= np.mean([int(grade) for grade in truth.values()]) <= result.rows[0].high
    with pytest.raises(InputError, match=r"^table: there are several rounds of an audit: give the items of one round$"):
        rate(fit, 1, answers.with_columns(round=pl.Series([1, *[2] * (len(answers) - 1)])))


def test_chosen_gold_is_left_out(fit, folder):
    """Items that adjudge ask marks with calibrate = no are not a random sample."""
    gold = pl.read_csv(folder / "gold.csv").with_columns(calibrate=pl.Series(["no"] * 20 + ["yes"] * 100))
    result = rate(fit, "pass", gold)
    assert result.rows[0].gold == 100
    assert result.notes == (HOLD, "table: 20 gold items with calibrate = no are not a random sample")


def test_gold_that_differs_from_the_other_items_is_noticed(fit):
    """Gold of the items that the judges are surest of is no random sample."""
    surest = fit.posterior[:, 1].argsort()[-60:]
    result = rate(fit, "pass", {fit.items[int(n)]: "pass" for n in surest})
    chance = fit.posterior[:, 1]
    assert result.notes == (
        HOLD,
        f"gold may not be a random sample: judges give its items a mean probability of {chance[surest].mean():.2f}, "
        f"and all items {chance.mean():.2f}",
    )


def test_items_and_gold_that_do_not_match_are_named(fit, folder):
    """Judged items without a system, items that nobody judged, gold of other items, a system without gold, few gold."""
    items = pl.read_csv(folder / "items.csv").filter(pl.col("prompt") != "p1")
    more = pl.DataFrame({"item": ["x", "y"], "system": ["tuned", "new"], "prompt": ["p900"] * 2, "group": ["code"] * 2})
    gold = {"base-2": "pass", "base-3": "fail", "tuned-4": "pass", "tuned-7": "fail", "tuned-9": "pass", "z": "pass"}
    result = rate(fit, "pass", gold, items=pl.concat([items, more]))
    assert result.notes == (
        HOLD,
        "table: nobody judged 2 of 400 items; the mean stands for them",
        "table: 2 judged items are not in the table and are left out",
        "table: 1 of 6 gold items are not among the items, and left out",
        "no item of 'new', 'new, code' is gold: there is no interval",
        "fewer than 50 items of 'base', 'tuned' are gold: intervals are wide",
    )
    assert result.rows[-1][:4] == ("new", "code", 1, 0)


def test_one_item_of_two_systems_is_a_pair(fit):
    """Two systems that return the same items have no difference, and no doubt about it."""
    names = fit.items.to_list()[:100]
    items = pl.DataFrame({"item": names * 2, "system": ["a"] * 100 + ["b"] * 100})
    gold = {name: "pass" if n % 3 else "fail" for n, name in enumerate(names[:60])}
    pair = rate(fit, "pass", gold, items=items).pairs[0]
    assert (pair.difference, pair.low, pair.high, pair.larger, pair.needed) == (
        0,
        *[pytest.approx(0, abs=0.06)] * 2,
        None,
        None,
    )


def test_the_table_of_ask_has_no_probabilities_of_being_drawn(fit, folder):
    """Its column probability is that of the judges' label; rows without gold are not yet labelled."""
    truth = dict(pl.read_csv(folder / "gold.csv").iter_rows())
    asked = adjudge.ask(fit, 80).table
    gold = asked.with_columns(gold=pl.Series([truth.get(item) for item in asked["item"]]))
    result = rate(fit, "pass", gold)
    labelled = gold.filter(pl.col("gold").is_not_null())
    assert result.rows[0].gold == len(labelled)
    assert result.estimates[0].value == pytest.approx((labelled["gold"] == "pass").mean())
    assert result.notes == (HOLD, "fewer than 50 items are gold: intervals are wide")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"gold": pl.DataFrame({"item": ["base-1"], "label": ["pass"], "probability": [0.9], "entropy": [0.3]})},
            "table: this is a table of the consensus, with a column 'entropy': gold comes from experts",
        ),
        ({"label": "good"}, "label 'good' is not one of 'fail', 'pass'"),
        (
            {"gold": {"nobody": "pass"}},
            "table: none of the 1 gold items is among the items, such as 'base-1'",
        ),
        (
            {"gold": pl.DataFrame({"item": ["base-1"], "label": ["pass"], "probability": [0.0]})},
            "table, row 0: probability '0.0' is not a number above 0 and up to 1",
        ),
        (
            {"gold": pl.DataFrame({"item": ["base-1"], "label": ["pass"], "probability": [None]})},
            "table, row 0: probability 'None' is not a number above 0 and up to 1",
        ),
        (
            {"items": pl.DataFrame({"item": ["base-1"], "prompt": ["p1"]})},
            "table: there is neither a column 'system' nor a column 'group': items need one of them",
        ),
        (
            {"items": pl.DataFrame({"item": ["nobody"], "system": ["a"]})},
            "table: none of the items was judged: the first is 'nobody', and judged is 'base-1'",
        ),
        (
            {"items": pl.DataFrame({"item": ["base-1"] * 2, "system": ["a"] * 2})},
            "table, row 1: item 'base-1' of system 'a' is there twice: keep one row",
        ),
        (
            {"items": pl.DataFrame({"item": ["base-1"] * 2, "group": ["a", "b"]})},
            "table, row 1: item 'base-1' is there twice: keep one row",
        ),
    ],
)
def test_messages(fit, arguments, message):
    """Each says where, what, and what to do."""
    with pytest.raises(AdjudgeError) as error:
        rate(fit, **{"label": "pass", **arguments})
    assert str(error.value) == message

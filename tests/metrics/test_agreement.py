"""Agreement: measures with intervals, messages if a measure is undefined, pairs, and the sentence."""

import time
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.data.datasets import dataset
from adjudge.data.read import read
from adjudge.errors import UsageError
from adjudge.metrics import coincidence
from adjudge.metrics.agreement import Agreement, agreement, by_topic

NAMES = ["raw_agreement", "alpha_nominal", "alpha_ordinal", "alpha_interval", "fleiss_kappa", "cohen_kappa"]


def rows(*judgments: tuple[str, str, Any]) -> pl.DataFrame:
    """Return a table of (item, judge, label)."""
    return pl.DataFrame(list(judgments), schema=["item", "judge", "label"], orient="row")


def crowd(items: int, seed: int, judges: int = 5, right: float = 0.7) -> pl.DataFrame:
    """Return judgments of three labels; every judge sees all items."""
    rng = np.random.default_rng(seed)
    item, judge = np.repeat(np.arange(items), judges), np.tile(np.arange(judges), items)
    truth = rng.integers(3, size=items)[item]
    label = np.where(rng.random(item.size) < right, truth, rng.integers(3, size=item.size))
    return pl.DataFrame({"item": item, "judge": judge, "label": label})


def reasons(found: Agreement) -> dict[str, str]:
    """Return why measures have no value."""
    return {row.measure: row.note for row in found.rows if row.value is None}


def test_a_small_table_by_hand() -> None:
    """Two judges and four items, three agreed: .75, and by chance a half."""
    pairs = [("a", "no", "no"), ("b", "no", "no"), ("c", "yes", "yes"), ("d", "yes", "no")]
    result = agreement(
        rows(*((item, judge, label) for item, *two in pairs for judge, label in zip("xy", two, strict=True)))
    )
    values = result.values
    assert list(values) == NAMES
    assert values["raw_agreement"] == 0.75
    assert values["alpha_nominal"] == pytest.approx(1 - 2 * 7 / (64 - 25 - 9))
    assert values["fleiss_kappa"] == pytest.approx((0.75 - (25 + 9) / 64) / (1 - (25 + 9) / 64))
    assert values["cohen_kappa"] == pytest.approx(0.5)
    assert (result.items, result.alone, result.judges, result.judgments, result.repeats) == (4, 0, 2, 8, 0)
    assert result.pairs == (("x", "y", 4, 0.75, pytest.approx(0.5)),)
    assert result.rows[0].note == "of 4 pairs of votes"
    assert repr(result).startswith("Agreement(4 items, 2 judges: raw_agreement 0.7500, alpha_nominal 0.5333")


def test_intervals_hold_their_values() -> None:
    """Every interval is around its value, narrower with more items and with a lower level."""
    few, many = (agreement(read(crowd(items, 0), ordinal=True)) for items in (100, 3_000))
    for small, large in zip(few.rows, many.rows, strict=True):
        assert small.value is not None
        assert small.low is not None
        assert small.high is not None
        assert large.low is not None
        assert large.high is not None
        assert small.low < small.value < small.high
        assert 3 < (small.high - small.low) / (large.high - large.low) < 9  # about the root of 30
    half = agreement(crowd(100, 0), level=0.5).rows[0]
    assert few.rows[0].low is not None
    assert half.low is not None
    assert half.low > few.rows[0].low


@pytest.mark.parametrize("measure", ["alpha_nominal", "cohen_kappa"])
def test_intervals_cover_nine_in_ten(measure: str) -> None:
    """Crowds of 80 items from one source: their intervals hold what 60,000 items have."""
    long_run = agreement(crowd(60_000, 99), draws=1).values[measure]
    assert long_run is not None
    covered = 0
    for seed in range(150):
        row = next(row for row in agreement(crowd(80, seed), draws=200, seed=seed).rows if row.measure == measure)
        assert row.low is not None
        assert row.high is not None
        covered += row.low <= long_run <= row.high
    assert 0.82 <= covered / 150 <= 0.96


def test_the_seed_decides() -> None:
    """The same seed gives the same intervals; values need none."""
    first, same, other = (agreement(crowd(50, 1), seed=seed) for seed in (3, 3, 4))
    assert first.rows == same.rows
    assert first.rows != other.rows
    assert first.values == pytest.approx(other.values)


def test_order_and_names_change_nothing() -> None:
    """Shuffled rows and other names of judges have the same values."""
    inputs = crowd(60, 2)
    shuffled = inputs.sample(fraction=1, shuffle=True, seed=1).with_columns(judge=pl.col("judge").cast(str) + "th")
    assert agreement(shuffled).values == pytest.approx(agreement(inputs).values)


def test_repeats_count_once() -> None:
    """A judge who says the same again changes nothing but the number of repeats."""
    inputs = crowd(30, 3)
    again = agreement(pl.concat([inputs, inputs.filter(pl.col("judge") == 0)]))
    assert again.values == pytest.approx(agreement(inputs).values)
    assert (again.repeats, again.judgments) == (30, 180)


def test_the_anaesthetists_are_counted_with_their_repeats() -> None:
    """Five judges of 45 items; one of them judged three times."""
    result = agreement(dataset("anesthesia"))
    assert (result.items, result.judges, result.repeats, len(result.pairs)) == (45, 5, 90, 10)
    assert result.rows[0].note == "of 450 pairs of votes"


def test_a_single_judge_agrees_with_nobody() -> None:
    """No measure is defined, and each says so."""
    result = agreement(rows(("a", "x", "no"), ("b", "x", "yes")))
    assert reasons(result) == dict.fromkeys(NAMES, "not defined because there is a single judge")
    assert (result.items, result.alone, result.pairs) == (0, 2, ())
    assert result.sentence == "not defined because there is a single judge"
    assert repr(result) == "Agreement(0 items, 1 judges: not defined because there is a single judge)"


def test_judges_who_never_meet_do_not_agree() -> None:
    """Each item has one judge."""
    result = agreement(rows(("a", "x", "no"), ("b", "y", "yes")))
    assert reasons(result) == dict.fromkeys(NAMES, "not defined because no item was judged by two judges")


def test_one_label_is_agreement_and_nothing_more() -> None:
    """Everyone said 'no': all agree, and chance cannot be told from it."""
    result = agreement(read(rows(*((item, judge, "no") for item in "ab" for judge in "xy")), labels=["no", "yes"]))
    assert result.values["raw_agreement"] == 1
    answer = reasons(result)
    assert answer["alpha_nominal"] == answer["fleiss_kappa"] == "not defined because every vote is 'no'"
    same = "not defined because every two judges gave the same label to all items that both judged"
    assert answer["cohen_kappa"] == same
    assert result.pairs[0].kappa is None
    assert result.sentence == (
        "two judges agree on 100 % of the items that both judged; agreement beyond chance is not defined because every "
        "vote is 'no'"
    )


def test_labels_without_an_order_have_no_distances() -> None:
    """Numbers may be names; with the order said, all measures are there."""
    inputs = crowd(20, 4)
    reason = "not defined because the labels have no known order (ordered labels are declared when judgments are read)"
    assert reasons(agreement(inputs)) == {"alpha_ordinal": reason, "alpha_interval": reason}
    assert reasons(agreement(read(inputs, ordinal=True))) == {}


def test_too_many_labels_are_not_ranked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their values have a distance all the same."""
    monkeypatch.setattr(coincidence, "CELLS", 300)
    result = agreement(read(crowd(20, 4), ordinal=True))
    assert reasons(result) == {"alpha_ordinal": "not defined because 3 labels are too many to rank: see alpha_interval"}


def test_a_single_item_has_no_interval() -> None:
    """There is nothing else to draw."""
    result = agreement(rows(("a", "x", "no"), ("a", "y", "no"), ("a", "z", "yes")))
    assert result.rows[0] == (
        "raw_agreement",
        pytest.approx(1 / 3),
        None,
        None,
        "of 3 pairs of votes; no interval: a single item",
    )


def test_draws_without_a_value_are_said() -> None:
    """Only one of three items has the other label, and some draws miss it."""
    inputs = rows(*((item, judge, "yes" if item == "a" else "no") for item in "abc" for judge in "xy"))
    alpha = agreement(inputs, draws=200).rows[1]
    assert alpha.value == 1
    assert "; not defined in " in alpha.note
    assert alpha.note.endswith(" of 200 draws, which are left out")
    never = agreement(
        inputs,
        draws=1,
        seed=next(seed for seed in range(99) if agreement(inputs, draws=1, seed=seed).rows[1].low is None),
    )
    assert never.rows[1].note == "labels are the same or not; no interval: not defined in any draw"


def test_pairs_without_a_kappa_are_said() -> None:
    """Two of the three judges say only 'no'."""
    result = {"a": ("no", "no", "no"), "b": ("no", "no", "yes"), "c": ("no", "no", "yes")}
    inputs = rows(
        *((item, judge, label) for item, labels in result.items() for judge, label in zip("xyz", labels, strict=True))
    )
    note = agreement(inputs).rows[-1].note
    assert note.startswith("mean of 2 pairs of judges, weighted by shared items; 1 pairs without a kappa are left out")


def test_a_sample_of_items_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pairs of votes are too many, and where even one item has too many."""
    inputs = crowd(50, 5)
    monkeypatch.setattr(coincidence, "MOST_PAIRS", 100)
    assert agreement(inputs).rows[-1].note.endswith("; on 10 items drawn at random")
    monkeypatch.setattr(coincidence, "MOST_PAIRS", 9)
    none = agreement(inputs).rows[-1]
    assert none.value is None
    assert none.note == "not defined because every item has too many votes to compare all pairs (more than 9 pairs)"


@pytest.mark.parametrize(
    ("right", "rule"),
    [
        (0.97, "enough to rely on a single judgment, by Krippendorff's rule of 0.8"),
        (0.86, "enough for tentative conclusions, by Krippendorff's rule of 0.667"),
        (0.5, "too little to rely on a single judgment, by Krippendorff's rule of 0.667"),
    ],
)
def test_the_sentence_says_what_it_is_good_for(right: float, rule: str) -> None:
    """By the published rules of thumb."""
    result = agreement(crowd(500, 6, right=right), draws=1)
    assert result.sentence.startswith("two judges agree on ")
    assert result.sentence.endswith(f", alpha_nominal is {result.values['alpha_nominal']:.3f}: {rule}")


def test_the_sentence_knows_an_order() -> None:
    """Anaesthetists are rarely far apart: by the order of labels they agree well enough."""
    result = agreement(dataset("anesthesia"))
    assert ", alpha_ordinal is 0.792: enough for tentative conclusions" in result.sentence


def test_columns_are_rows_by_name() -> None:
    """For tables of measures and of pairs."""
    result = agreement(crowd(20, 7), pairs=3)
    assert list(result.columns()) == ["measure", "value", "low", "high", "note"]
    assert result.columns()["measure"] == NAMES
    assert list(result.pair_columns()) == ["first", "second", "shared", "agreement", "kappa"]
    assert result.pair_columns()["shared"] == [20, 20, 20]


def test_pairs_with_the_most_shared_items_come_first() -> None:
    """Of equal ones, those whose judges came first."""
    inputs = rows(*(("abc"[n], judge, "no") for judge, items in (("x", 3), ("y", 2), ("z", 3)) for n in range(items)))
    assert [(pair.first, pair.second, pair.shared) for pair in agreement(inputs).pairs] == [
        ("x", "z", 3), ("x", "y", 2), ("y", "z", 2),
    ]  # fmt: skip


def test_many_judges_cost_nothing() -> None:
    """300,000 judgments by 3,000 judges are a second's work, and no table of judges by items."""
    rng = np.random.default_rng(0)
    item, judge = (
        np.repeat(np.arange(60_000), 5),
        np.tile(np.arange(5), 60_000) + np.repeat(rng.integers(2_995, size=60_000), 5),
    )
    table = read(pl.DataFrame({"item": item, "judge": judge, "label": rng.integers(3, size=300_000)}))
    agreement(crowd(20, 7))  # what is compiled now is not timed
    began = time.process_time()
    result = agreement(table)
    assert time.process_time() - began < 10
    assert result.values["alpha_nominal"] == pytest.approx(0, abs=0.01)


def test_topics_are_measured_apart() -> None:
    """Each as if there were no other; an item without a topic is in none."""
    easy, hard = crowd(30, 8, right=0.9), crowd(20, 9, right=0.4).with_columns(pl.col("item") + 100)
    alone = pl.DataFrame({"item": [999], "judge": [0], "label": [1]})
    parts = [
        easy.with_columns(topic=pl.lit("a")),
        hard.with_columns(topic=pl.lit("b")),
        alone.with_columns(topic=pl.lit("c")),
    ]
    result = by_topic(pl.concat(parts))
    assert list(result) == ["a", "b", "c"]
    assert result["a"].values == pytest.approx(agreement(easy).values)
    assert result["b"].rows == agreement(hard).rows
    assert (result["b"].items, result["b"].alone, result["b"].pairs) == (20, 0, agreement(hard).pairs)
    assert result["c"].sentence == "not defined because there is a single judge"


def test_topics_must_be_there() -> None:
    """Or the way to name them is said."""
    with pytest.raises(UsageError, match=r"^the judgments have no topics: name their column with topic="):
        by_topic(crowd(5, 0))


def test_what_cannot_be_drawn_is_refused() -> None:
    """No draws, and a level that is none."""
    for draws, level in ((0, 0.9), (10, 1.0)):
        with pytest.raises(UsageError, match=rf"^{draws} draws at level {level}: give 1 draw or more and a level"):
            agreement(crowd(5, 0), draws=draws, level=level)

"""Weights against the paper's formula written out for every judgment, and what happens to odd tables."""

import doctest
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import adjudge
from adjudge.errors import AdjudgeWarning, InputError, UsageError
from adjudge.learn import weights as module
from adjudge.learn.weights import SCHEMES, align, item_names, scale_counts, scale_to_mean_one, scheme_named, weights

Row = tuple[str, str, int]


def crowd(seed: int, items: int = 12, judges: int = 6) -> list[Row]:
    """Return random judgments: from one to all judges an item, and work spread unevenly."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(items):
        for j in rng.permutation(judges)[: rng.integers(1, judges + 1)]:
            if j < 3 or rng.random() < 0.3:
                rows.append((f"i{i}", f"j{j}", int(rng.integers(2))))
    return rows


def table(rows: list[Row], **more: Any) -> pl.DataFrame:
    """Return judgments as a frame."""
    return pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row").with_columns(**more)


def by_hand(rows: list[Row], scheme: str, trust: dict[str, float], rate: bool = False) -> dict[str, float]:
    """Return the weights as the paper prints them, judgment by judgment."""
    votes: dict[str, list[int]] = {}
    for item, _, label in rows:
        votes.setdefault(item, []).append(2 * label - 1)
    done, agreed = Counter(judge for _, judge, _ in rows), Counter[str]()
    for item, judge, label in rows:
        total = sum(votes[item])
        agreed[judge] += 0.5 if total == 0 else float((total > 0) == (label == 1))  # type: ignore[assignment]

    def spread(counts: Counter[str], judge: str) -> float:
        low, high = min(counts[each] for each in done), max(counts[each] for each in done)
        return 1.0 if low == high else (counts[judge] - low + 1) / (high - low + 2)

    def weight(judge: str) -> float:
        P = trust[judge] if "P" in scheme else 1.0
        C = (agreed[judge] + 1) / (done[judge] + 2) if rate else spread(agreed, judge)
        return P * (spread(done, judge) * C if "TC" in scheme else 1.0)

    sums: dict[str, float] = dict.fromkeys(votes, 0.0)
    for item, judge, label in rows:
        sums[item] += weight(judge) * ((2 * label - 1) if "L" in scheme else 1)
    return {item: abs(total) for item, total in sums.items()}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("agreement", ["count", "rate"])
def test_weights_are_those_of_the_formula(scheme: str, seed: int, agreement: str) -> None:
    """Every scheme equals equation 1 summed by hand; scaled, only the mean changes."""
    rows = crowd(seed)
    trust = {f"j{j}": 0.3 + j / 10 for j in range(6)}
    expected = by_hand(rows, scheme, trust, agreement == "rate")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        raw = weights(table(rows), scheme, trust=trust, agreement=agreement, mean_one=False)
        first = weights(table(rows), scheme, trust=trust, agreement=agreement)
    np.testing.assert_allclose(raw.weight, [expected[item] for item in raw.items], atol=1e-12)
    assert first.weight.mean() == pytest.approx(1)
    np.testing.assert_allclose(first.weight * raw.weight.mean(), raw.weight)


def test_one_registry_says_what_each_scheme_has() -> None:
    """A scheme's letters are its factors."""
    for name, scheme in SCHEMES.items():
        assert scheme.name == name
        assert (scheme.signed, scheme.prior) == ("L" in name, "P" in name)
        assert (scheme.activity, scheme.agreement) == ("T" in name, "C" in name)


def test_labels_and_ties_are_those_of_the_majority_model() -> None:
    """The label to learn is that of the package's vote, seed by seed."""
    rows = crowd(5, items=80)
    for ties in ("random", "first"):
        for seed in range(3):
            vote = adjudge.fit(table(rows), "majority", ties=ties, seed=seed)
            assert list(weights(table(rows), "L", ties=ties, seed=seed).label) == vote.labels["label"].to_list()


def test_a_tied_item_weighs_nothing_in_l_and_half_an_agreement_counts() -> None:
    """Two judges who contradict each other cancel, and each has agreed by half."""
    rows = [("a", "x", 1), ("a", "y", 0), ("b", "x", 1), ("b", "y", 1)]
    result = weights(table(rows), "L", mean_one=False)
    assert result.weight.tolist() == [0, 2]
    assert result.judges["agreements"].to_list() == [1.5, 1.5]


def test_neither_the_order_of_rows_nor_names_matter() -> None:
    """Rows in another order, and other names for judges, give the same weights by item."""
    rows, order = crowd(3), np.random.default_rng(0).permutation(len(crowd(3)))
    first = weights(table(rows), "LTC", agreement="rate")
    two = weights(table([(rows[n][0], f"z{rows[n][1]}", rows[n][2]) for n in order]), "LTC", agreement="rate")
    np.testing.assert_allclose(first.weight, two.sample_weight(first.items))


def test_sides_that_cancel_weigh_exactly_nothing() -> None:
    """.1 + .2 against .3 is 0, not what rounding leaves."""
    rows = [("a", "x", 1), ("a", "y", 1), ("a", "z", 0), ("b", "z", 0)]
    result = weights(table(rows), "LP", trust={"x": 0.1, "y": 0.2, "z": 0.3}, mean_one=False)
    assert result.weight.tolist() == [0, 0.3]


def test_tables_are_of_the_kind_that_came_in() -> None:
    """A pandas frame gives pandas frames, with topics where there are any."""
    frame = pd.DataFrame(crowd(1), columns=["item", "judge", "label"]).assign(topic="t1")
    result = weights(frame, "L")
    assert isinstance(result.table, pd.DataFrame)
    assert list(result.table.columns) == ["item", "topic", "label", "weight", "judgments", "positive", "vote"]
    assert list(result.judges.columns) == [
        "judge",
        "judgments",
        "agreements",
        "prior",
        "activity",
        "agreement",
        "weight",
    ]
    assert set(result.table["topic"]) == {"t1"}
    assert repr(result).startswith("Weights(L: ")


def test_the_vote_column_tells_where_the_weighted_vote_contradicts_the_label() -> None:
    """Two trusted judges outweigh three others: the label stays the majority's, the vote has another sign."""
    rows = [("a", judge, label) for judge, label in zip("vwxyz", (1, 1, 1, 0, 0), strict=True)]
    result = weights(table(rows), "LP", trust={"v": 0.1, "w": 0.1, "x": 0.1, "y": 1, "z": 1}, mean_one=False)
    assert result.label == (1,)
    assert result.table["vote"].to_list() == pytest.approx([-1.7])
    assert result.weight.tolist() == pytest.approx([1.7])


def test_weights_of_judgments_count() -> None:
    """A judgment of weight 2 is two judgments."""
    once = [("a", "x", 1), ("a", "y", 0), ("b", "x", 1)]
    twice = [once[0], *once]
    first = weights(table(once, weight=pl.Series([2, 1, 1])), "LTC", agreement="rate", mean_one=False)
    two = weights(table(twice), "LTC", agreement="rate", mean_one=False)
    np.testing.assert_allclose(first.weight, two.weight)


def test_more_labels_need_to_be_two_sides() -> None:
    """Three labels are refused with what to do; named, one or several stand against the rest."""
    rows = [("a", "x", 0), ("a", "y", 2), ("a", "z", 1), ("b", "x", 2), ("b", "y", 2), ("b", "z", 0)]
    with pytest.raises(UsageError, match=r"3 labels, '0', '1', '2', and the schemes need two: .* positive=2$"):
        weights(table(rows), "L")
    first = weights(table(rows), "L", positive=2, mean_one=False)
    assert (first.weight.tolist(), first.label) == ([1, 1], ("0|1", 2))
    several = weights(table(rows), "L", positive=[1, 2], mean_one=False)
    assert (several.weight.tolist(), several.label) == ([1, 1], ("1|2", "1|2"))
    for wrong in (7, [0, 1, 2], []):
        with pytest.raises(UsageError, match="must be some, but not all, of the labels '0', '1', '2'"):
            weights(table(rows), "L", positive=wrong)


def test_positive_only_turns_the_sign_of_two_labels() -> None:
    """Which of two labels is +1 does not change a weight."""
    rows = crowd(2)
    up, down = (weights(table(rows), "LTC", agreement="rate", positive=label) for label in (1, 0))
    np.testing.assert_allclose(up.weight, down.weight)
    np.testing.assert_allclose(up.table["vote"], -down.table["vote"].to_numpy())


def test_one_label_one_judge_and_single_judgments_are_defined() -> None:
    """All judges agree, or there is one judge: all items weigh the same, with a warning if nothing can be learned."""
    rows = [("a", "x", 1), ("b", "x", 1)]
    with pytest.warns(AdjudgeWarning, match="every judgment has the label '1': a classifier cannot learn"):
        result = weights(table(rows), "LTC")
    assert (result.weight.tolist(), result.label) == ([1, 1], (1, 1))
    lonely = weights(table([("a", "x", 1), ("b", "x", 0)]), "LTC", mean_one=False)
    assert lonely.weight.tolist() == [1, 1]


def test_weights_that_are_all_zero_are_refused_or_said() -> None:
    """Without any weight there is no mean of 1; as printed, zeros come with a warning."""
    tied = table([("a", "x", 1), ("a", "y", 0)])
    with pytest.raises(UsageError, match=r"all weights by scheme L are 0 \(every vote is tied\)"):
        weights(tied, "L")
    with pytest.warns(AdjudgeWarning, match="all weights by scheme L are 0"):
        assert weights(tied, "L", mean_one=False).weight.tolist() == [0]
    with pytest.raises(UsageError, match=r"scheme P are 0 \(no judge has a weight, because every judge's trust is 0\)"):
        weights(tied, "P", trust={"x": 0, "y": 0})
    with pytest.raises(UsageError, match=r"LP are 0 \(every vote is tied or every judge's trust is 0\)"):
        weights(tied, "LP", trust={"x": 0, "y": 0})


def test_judges_without_trust_are_average_judges() -> None:
    """Some without: the mean, and a warning that names them; all without: P is 1, and a warning."""
    rows = [("a", "x", 1), ("a", "y", 1), ("b", "z", 0)]
    with pytest.warns(AdjudgeWarning, match=r"1 of 3 judges have no prior trust \('z'\); they get the mean, 0.5"):
        result = weights(table(rows), "LP", trust={"x": 0.2, "y": 0.8}, mean_one=False)
    assert result.weight.tolist() == pytest.approx([1, 0.5])
    with pytest.warns(AdjudgeWarning, match="no judge has a prior trust, so P is 1 for all"):
        assert weights(table(rows), "LP", mean_one=False).weight.tolist() == [2, 1]


def test_a_scheme_without_prior_does_not_ask_for_it() -> None:
    """No warning about trust where it is not used (warnings are errors here)."""
    assert weights(table([("a", "x", 1), ("b", "y", 0)]), "LTC").weight.tolist() == [1, 1]


def test_close_counts_are_said_to_be_blown_up() -> None:
    """Scaling 10 and 11 judgments makes 1/3 and 2/3, and a warning; 1 and 2 are apart enough."""
    with pytest.warns(AdjudgeWarning, match=r"numbers of judgments are close, from 10 to 11; .* from 0.333 to 0.667"):
        assert scale_counts(np.array([10.0, 11.0]), "numbers of judgments").tolist() == pytest.approx([1 / 3, 2 / 3])
    assert scale_counts(np.array([1.0, 2.0]), "judgments").tolist() == pytest.approx([1 / 3, 2 / 3])
    assert scale_counts(np.array([10.0, 11.0])).tolist() == pytest.approx([1 / 3, 2 / 3])
    assert scale_counts(np.array([4.0, 4.0]), "judgments").tolist() == [1, 1]


def test_only_those_who_judged_are_weighed() -> None:
    """Items and judges that a selection leaves without judgments have no weight, and change no scale."""
    judgments = adjudge.read(table([("a", "x", 1), ("a", "y", 1), ("b", "z", 1), ("b", "x", 0), ("b", "y", 0)]))
    result = weights(judgments.take(np.array([0, 1])), "LTC", mean_one=False)
    assert (result.items.to_list(), result.weight.tolist()) == (["a"], [2])
    assert result.judges["judge"].to_list() == ["x", "y"]
    with pytest.raises(InputError, match="item 'b' has no weight"):
        result.sample_weight(["b"])
    with pytest.raises(UsageError, match="there are no judgments"):
        weights(judgments.take(np.array([], int)), "L")


def test_sample_weight_follows_any_index() -> None:
    """Order and repeats are the caller's; a fold can have a mean of 1 of its own."""
    result = weights(table([("a", "x", 1), ("a", "y", 1), ("b", "x", 0)]), "L", mean_one=False)
    assert result.sample_weight(["b", "a", "b"]).tolist() == [1, 2, 1]
    assert result.sample_weight(["b", "b"], mean_one=True).tolist() == [1, 1]
    assert result.sample_weight(["c"], fill=0.25).tolist() == [0.25]
    with pytest.raises(UsageError, match="the weights of all 1 items are 0"):
        result.sample_weight(["c"], fill=0, mean_one=True)


def test_scaled_keeps_ratios() -> None:
    """A mean of 1, nothing else."""
    assert scale_to_mean_one(np.array([1.0, 3.0])).tolist() == [0.5, 1.5]


def test_unknown_choices_are_refused_with_what_there_is() -> None:
    """Scheme, agreement and ties name their choices."""
    rows = table([("a", "x", 1)])
    with pytest.raises(UsageError, match="scheme 'PLTC' is not one of 'L', 'P', 'LP', 'TC', 'LTC', 'LPTC'"):
        weights(rows, "PLTC")
    with pytest.raises(UsageError, match="agreement 'kappa' is not one of 'count', 'rate'"):
        weights(rows, "L", agreement="kappa")
    with pytest.raises(UsageError, match="ties 'all' is not one of 'random', 'first'"):
        weights(rows, "L", ties="all")
    assert scheme_named("TC").summary


def test_reading_options_are_those_of_read() -> None:
    """Columns with other names, and a judge's repeats."""
    frame = table([("a", "x", 1), ("a", "x", 1), ("b", "x", 0)]).rename({"item": "passage"})
    with pytest.warns(AdjudgeWarning, match="drop left out 1 judgments"):
        assert weights(frame, "L", item="passage", repeats="drop").weight.tolist() == [1, 1]


def test_examples_work() -> None:
    """Every >>> gives what it says."""
    failed, tried = doctest.testmod(module)
    assert (failed, tried > 0) == (0, True)


ITEMS, VALUES = pl.Series(["7", "8", "9"]), np.array([0.7, 0.8, 0.9])


@pytest.mark.parametrize(
    "index",
    [
        ["9", "7"],
        [9, 7],
        (9, 7),
        np.array([9, 7]),
        np.array(["9", "7"]),
        np.array(["9", "7"], object),
        np.array([9.0, 7.0]),
        pd.Index([9, 7]),
        pd.Series(["9", "7"], index=[3, 4]),
        pd.DataFrame({"x": [1, 2]}, index=["9", "7"]).index,
        pl.Series(["9", "7"]),
        pl.Series([9, 7]),
    ],
)
def test_any_sequence_is_followed(index: object) -> None:
    """Lists, arrays, columns and indexes, of numbers or text."""
    assert align(index, ITEMS, VALUES).tolist() == [0.9, 0.7]
    assert align(index, ITEMS.cast(int), VALUES).tolist() == [0.9, 0.7]


def test_no_items_have_no_numbers() -> None:
    """An empty index gives an empty vector."""
    assert align([], ITEMS, VALUES).tolist() == []


def test_unknown_items_are_refused_or_filled() -> None:
    """The message says which, where, how many, and what items look like."""
    expected = r"index, row 1: item 'x' has no weight \(2 of 3 have none; known items look like '7'\): leave it out"
    with pytest.raises(InputError, match=expected):
        align(["7", "x", None], ITEMS, VALUES)
    assert align(["7", "x", None], ITEMS, VALUES, fill=0).tolist() == [0.7, 0, 0]


def test_tables_and_texts_are_no_index() -> None:
    """A frame is not its index."""
    with pytest.raises(UsageError, match="the index is a table: give a sequence of items"):
        item_names(pd.DataFrame({"item": ["7"]}))
    with pytest.raises(UsageError, match="the index is a string"):
        item_names("789")

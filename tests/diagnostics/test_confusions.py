"""Confusions across judges."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.confusions import SCHEMA, confusions
from adjudge.diagnostics.judges import cards


def crowd_of(muddled, clear, items=60):
    """Return judgments in which so many judges call every second 'Fair' item 'Good', and the others are right."""
    truth = [("Bad", "Fair", "Good")[n % 3] for n in range(items)]
    rows = []
    for n, label in enumerate(truth):
        called = "Good" if label == "Fair" and n % 2 else label
        rows += [(f"i{n}", f"muddled{j}", called) for j in range(muddled)]
        rows += [(f"i{n}", f"clear{j}", label) for j in range(clear)]
    judgments = adjudge.read(
        pl.DataFrame(rows, schema=["item", "judge", "label"], orient="row"), labels=["Bad", "Fair", "Good"]
    )
    gold = {f"i{n}": label for n, label in enumerate(truth)}
    return adjudge.fit(judgments, gold=gold), judgments


def test_what_a_confusion_costs_is_counted():
    """Of known truths exactly, with the judges who do it and the items that show it."""
    (first,) = result = confusions(*crowd_of(6, 2))
    assert (first.truth, first.label) == ("Fair", "Good")
    assert result.errors == first.labels == 60  # ten items, six judges
    assert (first.share, first.judges, first.of) == (1, 6, 8)
    assert first.rate == pytest.approx((60 + 1 / 3) / (160 + 1))
    assert set(first.items) <= {f"i{n}" for n in range(1, 60, 6)}
    assert len(first.items) == 3
    assert first.sentence == (
        "'Fair' called 'Good' costs 60 labels, nearly all errors; 6 of 8 judges make it: "
        "explain the difference in the guidelines."
    )


def test_one_judge_is_no_matter_for_the_guidelines():
    """Feedback to this judge may help more."""
    (first,) = confusions(*crowd_of(1, 1))
    assert first.sentence.endswith("1 of 2 judges makes it: talking to 'muddled0' may help most.")
    (first,) = confusions(*crowd_of(2, 12))
    assert first.sentence.endswith("2 of 14 judges make it: talking to these judges may help most.")


def test_a_confusion_that_is_mostly_one_judges_names_her():
    """New guidelines for all would not change this judge."""
    (first,) = confusions(*crowd_of(4, 4))
    assert (first.chief, first.chief_share) == ("muddled0", 0.25)
    fit, judgments = crowd_of(3, 6)
    busy = judgments.judges.to_list().index("muddled1")
    weight = np.where(judgments.judge == busy, 8.0, 1.0)
    (first,) = confusions(
        adjudge.fit(replace(judgments, weight=weight), gold=fit.gold), replace(judgments, weight=weight)
    )
    assert (first.chief, first.chief_share) == ("muddled1", 0.8)
    assert first.sentence.endswith("3 of 9 judges make it, but four fifths of these labels are by 'muddled1'.")


def test_a_confusion_that_no_judge_surely_makes_is_no_ones():
    """Few judgments accuse nobody."""
    (first,) = confusions(*crowd_of(3, 1, items=6))
    assert first.judges == 0
    assert first.sentence.endswith("; no judge surely makes it often.")
    (first,) = confusions(*crowd_of(1, 1, items=6))
    assert "costs 1 label," in first.sentence


def test_expected_counts_are_those_of_the_posterior():
    """Where truths are not known, every error counts as far as it is one; shares are of all errors."""
    crowd = adjudge.simulate("dawid-skene", 4, items=200, judges=8, labels=4)
    fit, judgments = adjudge.fit(crowd.judgments, "dawid-skene"), crowd.judgments
    result = confusions(fit, judgments, most=99)
    cost = np.zeros((4, 4))
    for i, y in zip(judgments.item(), judgments.label, strict=True):
        cost[:, y] += fit.posterior[i]
    np.fill_diagonal(cost, 0)
    assert result.errors == pytest.approx(cost.sum())
    for each in result:
        assert each.labels == pytest.approx(cost[int(each.truth), int(each.label)])
        assert each.share == pytest.approx(each.labels / cost.sum())
    assert [each.labels for each in result] == sorted((each.labels for each in result), reverse=True)
    assert len(result) == 12
    assert len(confusions(fit, judgments, most=3)) == 3


def test_what_cards_know_need_not_be_drawn_again():
    """The same ends give the same judges."""
    crowd = adjudge.simulate("dawid-skene", 4, items=100, judges=8, labels=3)
    fit = adjudge.fit(crowd.judgments)
    low = cards(fit, crowd.judgments).low
    assert confusions(fit, crowd.judgments, low=low).table.equals(confusions(fit, crowd.judgments).table)


def test_ends_of_other_judges_are_refused():
    """They would be taken for these judges'."""
    with pytest.raises(
        adjudge.UsageError, match=r"low has the shape \(2, 3, 3\), but the judges' matrices have \(4, 3, 3\)"
    ):
        confusions(*crowd_of(2, 2), low=np.zeros((2, 3, 3)))


def test_a_crowd_without_errors_has_no_confusions():
    """Nor a table with rows, but its columns."""
    fit, judgments = crowd_of(0, 3)
    result = confusions(fit, judgments)
    assert len(result) == 0
    assert result.errors == 0
    assert result.table.columns == confusions(*crowd_of(1, 1)).table.columns == list(SCHEMA)
    assert result.table.height == 0


def test_the_table_and_slices():
    """Items stand side by side."""
    result = confusions(*crowd_of(6, 2))
    assert result.table.row(0)[:4] == ("Fair", "Good", 60, 1)
    assert result.table["items"][0] == " ".join(result[0].items)
    assert result[:1] == (result[0],)


def test_most_is_at_least_one():
    """None at all is not asked for."""
    with pytest.raises(adjudge.UsageError, match="most 0 is not a number of at least 1"):
        confusions(*crowd_of(1, 1), most=0)

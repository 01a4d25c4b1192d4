"""Votes: one a judge and item, whatever was repeated or weighed."""

import numpy as np
import polars as pl
import pytest

from adjudge.judgments.read import read
from adjudge.judgments.table import Judgments
from adjudge.score.votes import Votes, sums_of, votes


def table(*rows: tuple[str, str, str], weight: list[float] | None = None) -> Judgments:
    """Return judgments of (item, judge, label)."""
    frame = pl.DataFrame(list(rows), schema=["item", "judge", "label"], orient="row")
    return read(frame if weight is None else frame.with_columns(weight=pl.Series(weight)))


def listed(given: Votes) -> list[tuple[int, int, int, float]]:
    """Return votes as rows of item, judge, label and share."""
    columns = (given.item, given.judge, given.label, given.share)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def test_items_with_one_judge_are_left_out() -> None:
    """The others are numbered anew, and nothing else changes."""
    found = votes(table(("a", "x", "no"), ("b", "x", "no"), ("b", "y", "yes"), ("c", "y", "no")))
    assert listed(found) == [(0, 0, 0, 1), (0, 1, 1, 1)]
    assert (found.voters.tolist(), found.alone, found.repeats, found.split) == ([2], 2, 0, False)


def test_a_judge_who_repeats_herself_has_one_vote() -> None:
    """Two of three for 'no' are two thirds of a vote; the same label twice is a whole one."""
    rows = [("a", "x", "no"), ("a", "x", "yes"), ("a", "y", "no"), ("a", "x", "no"), ("a", "y", "no")]
    found = votes(table(*rows))
    assert listed(found) == [(0, 0, 0, pytest.approx(2 / 3)), (0, 0, 1, pytest.approx(1 / 3)), (0, 1, 0, 1)]
    assert (found.voters.tolist(), found.repeats, found.split) == ([2], 3, True)


def test_an_item_that_one_judge_repeats_has_one_judge() -> None:
    """She does not agree with herself."""
    found = votes(table(("a", "x", "no"), ("a", "x", "no"), ("b", "y", "no")))
    assert (found.item.size, found.alone, found.repeats) == (0, 2, 1)


def test_weights_share_a_vote() -> None:
    """They decide between labels of one judge, not between judges; without weight there is no vote."""
    rows = [("a", "x", "no"), ("a", "x", "yes"), ("a", "y", "no"), ("a", "z", "yes")]
    found = votes(table(*rows, weight=[1, 3, 9, 0]))
    assert listed(found) == [(0, 0, 0, 0.25), (0, 0, 1, 0.75), (0, 1, 0, 1)]


def test_sums_are_floats_of_the_asked_length() -> None:
    """Also where nothing is summed."""
    assert sums_of(np.array([1, 1, 3]), np.array([0.5, 1, 2]), 5).tolist() == [0, 1.5, 0, 2, 0]
    assert sums_of(np.empty(0, int), np.empty(0), 2).tolist() == [0, 0]

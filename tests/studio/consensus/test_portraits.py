"""Judges and items as the desk shows them."""

import json

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.diagnostics.cards import cards
from adjudge.studio.consensus.portraits import MOST, item_rows, judge_rows


@pytest.fixture(scope="module")
def fitted():
    """Return judgments of items by their numbers, one judge of whom turns bad, and a fit."""
    rng = np.random.default_rng(0)
    rows = []
    for item in range(1, 201):
        truth = int(rng.random() < 0.5)
        for judge in ("ann", "bob", "cem", "dot"):
            right = rng.random() < (0.95 if judge != "dot" or item < 100 else 0.3)
            rows.append((item, judge, ("no", "yes")[truth if right else 1 - truth], item * 60))
    table = adjudge.read(pl.DataFrame(rows, schema=["item", "judge", "label", "time"], orient="row"))
    return adjudge.fit(table), table


PEOPLE = {"ann": 11, "bob": 12, "cem": 13, "dot": 14}


def test_cards_are_in_plain_numbers(fitted):
    """Those of the cards, with the person's number, and JSON takes them."""
    found = judge_rows(*fitted, PEOPLE)
    assert found["labels"] == ["no", "yes"]
    assert [row["person"] for row in found["judges"]] == [11, 12, 13, 14]
    card, row = cards(*fitted)[0], found["judges"][0]
    assert row["right"] == list(card.right)
    assert row["confusion_high"] == card.confusion_high.tolist()
    assert row["sentence"] == card.sentence
    assert row["shift"] is None
    assert ["judgments", "200 of 200 items"] in row["lines"]
    json.dumps(found, allow_nan=False)


def test_who_changed_is_on_the_card(fitted):
    """With when, and how good before and after."""
    found = judge_rows(*fitted, PEOPLE)
    moved = {row["judge"]: row["drift"] for row in found["judges"]}
    assert [name for name, drift in moved.items() if drift["flagged"]] == ["dot"]
    assert moved["dot"]["before"][0] > 0.9 > 0.5 > moved["dot"]["after"][0]
    assert 80 < moved["dot"]["judgment"] < 120
    assert "'dot'" in found["drift"]


def test_without_times_nothing_is_said_of_drift(fitted):
    """Neither on cards nor above them."""
    table = adjudge.read(pl.DataFrame({"item": [1, 1], "judge": ["ann", "bob"], "label": ["no", "yes"]}))
    found = judge_rows(adjudge.fit(table), table, PEOPLE)
    assert [row["drift"] for row in found["judges"]] == [None, None]
    assert found["drift"] == "Whether judges changed cannot be told yet."


def test_items_have_the_names_of_their_pairs(fitted):
    """And their numbers; no list is long."""
    found = item_rows(*fitted, {number: ("t", f"d{number}") for number in range(1, 201)})
    assert list(found) == ["uncertain", "contested", "gold", "helpful"]
    assert 0 < len(found["uncertain"]) <= MOST
    for row in found["uncertain"]:
        assert (row["topic"], row["document"]) == ("t", f"d{row['item']}")
        assert row["reason"]
    json.dumps(found, allow_nan=False)

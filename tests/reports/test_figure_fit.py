"""Figures that say how far a fit is to be trusted."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.reports.case import build_case
from adjudge.reports.figure_fit import (
    MOST_TOPICS,
    calibration_chart,
    certainty_chart,
    convergence_chart,
    prevalence_chart,
)


def crowd(topics):
    """Return a crowd with topics."""
    sizes = {"topics": topics, "items": 6 * topics, "judges": 10, "judgments": 30 * topics, "gold": 8}
    return adjudge.simulate("carpenter", 4, **sizes)


def points_of(chart, *names):
    """Return the points of a chart of layers that have these names."""
    complete = chart.to_dict()
    data = [part["data"]["values"] for part in (complete, *complete["layer"]) if "data" in part]
    return next(values for values in data if set(names) <= set(values[0]))


@pytest.fixture(scope="module")
def case():
    """Return the case of a fit by EM, compared with the truth."""
    drawn = crowd(8)
    table = pl.DataFrame({"item": list(drawn.gold), "label": list(drawn.gold.values())})
    return build_case(adjudge.fit(drawn.judgments, "dawid-skene"), drawn.judgments, table)


def test_bars_hold_all_items_once(case):
    """Whatever their probability, other than those whose truth was given; the title says how many are settled."""
    gold = np.where(np.arange(len(case.fit.items)) < 5, case.fit.label, -1)
    displayed = certainty_chart(replace(case, fit=replace(case.fit, gold=gold))).to_dict()
    chance = case.fit.posterior[5:].max(axis=1)
    assert sum(bar["items"] for bar in displayed["data"]["values"]) == chance.size
    assert f"{(chance >= 0.95).mean():.0%} of the labels are settled" in displayed["title"]


def test_calibration_is_of_items_whose_truth_is_known(case):
    """All of them in some bin."""
    points = points_of(calibration_chart(case), "observed", "items")
    assert sum(point["items"] for point in points) == 8
    assert all(point["low"] <= point["observed"] <= point["high"] for point in points)


def test_a_climb_shows_its_evidence(case):
    """A point a pass."""
    displayed = convergence_chart(case).to_dict()
    assert [point["evidence"] for point in displayed["data"]["values"]] == pytest.approx(case.fit.evidence, abs=1e-3)


def test_chains_show_what_mixes_worst(relevance):
    """A line a chain; chains that do not move have no R-hat, and say so."""
    fit = relevance.fits["unsupervised"]
    displayed = convergence_chart(build_case(fit, relevance.crowd.judgments)).to_dict()
    assert {point["chain"] for point in displayed["data"]["values"]} == {"chain 1", "chain 2"}
    assert "R-hat" in displayed["title"]


def test_of_many_topics_the_ends_are_shown():
    """Those with most and with least, and how many there are."""
    judgments = crowd(70).judgments
    drawn = prevalence_chart(build_case(adjudge.fit(judgments, "dawid-skene"), judgments))
    displayed = drawn.to_dict()
    points = points_of(drawn, "topic")
    assert len({point["topic"] for point in points}) == MOST_TOPICS
    assert "of 70" in displayed["title"]
    means = np.array([point["mean"] for point in points])
    assert (np.diff(means) <= 1e-9).all()
    assert all(0 <= point["low"] <= point["mean"] <= point["high"] <= 1 for point in points)

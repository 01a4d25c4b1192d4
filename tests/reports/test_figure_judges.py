"""Figures of a crowd."""

import numpy as np
import pytest

import adjudge
from adjudge.diagnostics.control_chart import control_chart
from adjudge.reports.case import build_case
from adjudge.reports.figure_judges import (
    MOST_ITEMS,
    MOST_JUDGES,
    PANELS,
    confusion_chart,
    control_panels,
    label_chart,
    mean_confusion,
    rank_chart,
    vote_chart,
)


@pytest.fixture(scope="module")
def case():
    """Return the case of a crowd whose matrices are known well."""
    judgments = adjudge.simulate("dawid-skene", seed=2, items=2_000, judges=8, labels=3, per_item=5).judgments
    return build_case(adjudge.fit(judgments, "dawid-skene"), judgments)


def test_the_average_counts_judges_by_their_judgments(case):
    """It is close to that of the matrices, weighed so, and within its interval; rows sum to one."""
    mean, low, high = mean_confusion(case)
    weight = case.fit.judged / case.fit.judged.sum()
    np.testing.assert_allclose(mean, np.einsum("j,jkl->kl", weight, case.fit.params.confusion), atol=0.01)
    np.testing.assert_allclose(mean.sum(axis=1), 1, atol=1e-6)
    assert ((low < mean) & (mean < high)).all()


def test_draws_give_the_average_its_interval(relevance):
    """Means of draws, and nine tenths of them inside."""
    fit = relevance.fits["unsupervised"]
    mean, low, high = mean_confusion(build_case(fit, relevance.crowd.judgments))
    assert ((low <= mean) & (mean <= high)).all()
    theta = np.einsum("j,cdjkl->cdkl", fit.judged / fit.judged.sum(), fit.draws.confusion)
    np.testing.assert_allclose(mean, theta.mean(axis=(0, 1)))


def test_the_commonest_confusion_is_told(case):
    """In the title of the matrix."""
    mean, _, _ = mean_confusion(case)
    wrong = mean * (1 - np.eye(3))
    assert f"{wrong.max():.0%}" in confusion_chart(case).to_dict()["title"]


def test_of_many_judges_some_are_drawn_by_rank(case, monkeypatch):
    """The first and the last are among them, and the title says how many they are."""
    assert len(rank_chart(case).to_dict()["layer"][1]["data"]["values"]) == 8
    monkeypatch.setattr("adjudge.reports.figure_judges.MOST_RANKS", 3)
    chart = rank_chart(case).to_dict()
    assert [point["rank"] for point in chart["layer"][1]["data"]["values"]] == [1, 4, 8]
    assert chart["title"].endswith("of 8 judges lie above chance (the line); 3 of the judges are drawn")


def test_ratings_show_the_busy_and_what_they_share(case):
    """As many as can be seen, judges and items in places of their own."""
    cells = label_chart(case).to_dict()["data"]["values"]
    assert {cell["judge"] for cell in cells} == set(range(min(8, MOST_JUDGES)))
    assert {cell["item"] for cell in cells} == set(range(MOST_ITEMS))
    assert {cell["label"] for cell in cells} <= set(case.fit.scale.names)


def test_votes_of_more_labels_are_those_for_the_answer(case):
    """Not of one label, which would mean little."""
    displayed = vote_chart(case).to_dict()
    title = displayed["layer"][0]["encoding"]["x"]["title"]
    assert title == "share of votes for the answer"


def test_judges_who_break_most_rules_come_first():
    """A panel each, with every batch in it; the title says what was found."""
    judgments = adjudge.simulate("drifting", seed=1, judges=12, items=300).judgments
    fit = adjudge.fit(judgments, "dawid-skene")
    displayed = control_panels(build_case(fit, judgments)).to_dict()
    chart = control_chart(fit, judgments)
    assert displayed["title"] == chart.sentence
    assert len(displayed["concat"]) == PANELS
    first = fit.judge_names.to_list().index(displayed["concat"][0]["title"])
    broken = np.bincount(chart.judge, weights=[bool(flag) for flag in chart.flags])
    assert broken[first] == broken.max()
    batches = displayed["concat"][0].get("data", displayed["concat"][0]["layer"][0].get("data"))["values"]
    assert len(batches) == int((chart.judge == first).sum())
    assert {point["kind"] for point in batches} <= {"within limits", "breaks a rule"}

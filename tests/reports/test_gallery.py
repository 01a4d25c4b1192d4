"""Every figure of a report, of fits of all kinds."""

import warnings
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.errors import UsageError
from adjudge.reports.case import build_case
from adjudge.reports.drawing import svg
from adjudge.reports.gallery import FIGURES, chart, figure_files, find_figure

NAMES = [figure.name for figure in FIGURES]


@pytest.fixture(scope="module")
def sampled(relevance):
    """Return the case of a sampled fit with topics, gold and times."""
    judgments = relevance.crowd.judgments
    timed = replace(judgments, time=pl.Series(range(len(judgments))))
    truth = pl.DataFrame({"item": judgments.items, "label": np.arange(len(judgments.items)) % 2})
    return build_case(relevance.fits["gold apart"], timed, truth)


@pytest.fixture(scope="module")
def climbed():
    """Return the case of a fit by EM with five labels, without topics or gold."""
    judgments = adjudge.simulate("ordinal", seed=1, items=40, judges=6, labels=5, per_item=4).judgments
    return build_case(adjudge.fit(judgments, "dawid-skene"), judgments)


@pytest.mark.parametrize("name", NAMES)
def test_figures_of_a_sampled_fit_are_drawn(sampled, name):
    """Each has a title that says what to see, and words at its axes."""
    drawn = chart(name, sampled)
    words = [element.text for element in ElementTree.fromstring(svg(drawn)).iter() if element.text]
    assert any(len(word) > 20 for word in words)
    assert "nan" not in " ".join(words).lower().split()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sixteen", "the fit has no draws"),
        ("populations", "the fit has no draws"),
        ("calibration", "no truth is known"),
        ("prevalence", "the judgments have no topics"),
        ("control", "the judgments have no times"),
    ],
)
def test_what_cannot_be_drawn_says_why(climbed, name, reason):
    """In one line, with what to do."""
    with pytest.raises(UsageError, match=f"figure '{name}' is not defined because {reason}"):
        chart(name, climbed)


@pytest.mark.parametrize(
    "name", ["votes", "certainty", "judges", "informedness", "confusion", "ratings", "convergence"]
)
def test_figures_of_a_climbed_fit_of_five_labels(climbed, name):
    """They need neither draws nor two labels."""
    assert svg(chart(name, climbed)).startswith("<svg")


def test_reasons_of_other_fits(climbed, sampled):
    """Five labels that are sampled, a model without populations, a vote, gold that nobody judged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # chains this short have not converged
        run = adjudge.Run(2, 5, 8)
        five = adjudge.fit(climbed.judgments, "hybrid-confusion", run=run)
        two = adjudge.fit(sampled.judgments, "hybrid-confusion", run=run)
    vote = adjudge.fit(climbed.judgments, "majority")
    reasons = {
        "sensitivity and specificity need two labels": (
            "sixteen",
            build_case(five, climbed.judgments),
        ),
        "the model has no population of judges": ("populations", build_case(two, sampled.judgments)),
        "'majority' has no steps that could converge": ("convergence", build_case(vote, climbed.judgments)),
    }
    for reason, (name, case) in reasons.items():
        assert reason in find_figure(name).problem(case)


def test_an_unknown_figure_is_refused_with_those_there_are(climbed):
    """So that one can be chosen."""
    with pytest.raises(UsageError, match="figure 'pie' is not one of 'votes', 'certainty'"):
        chart("pie", climbed)


def test_files_of_all_figures_that_there_are(climbed):
    """An SVG and a PNG each; what takes long is told."""
    messages = []
    written = figure_files(climbed, messages.append)
    assert set(written) == {f"{line.split()[1]}.{kind}" for line in messages for kind in ("svg", "png")}
    assert "calibration.svg" not in written


def test_topics_by_prevalence_without_draws():
    """The share among a topic's items, whose truths are uncertain; one topic is enough."""
    rows = {"item": ["a", "b", "b"], "judge": ["x", "y", "x"], "label": ["u", "v", "v"], "topic": [1, 1, 1]}
    judgments = adjudge.read(pl.DataFrame(rows))
    assert svg(chart("prevalence", build_case(adjudge.fit(judgments, "majority"), judgments))).startswith("<svg")

"""Every figure of a report: what draws it, and when there is nothing to draw."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjudge.errors import UsageError, quote, quoted
from adjudge.reports import figure_crowd, figure_relevance, figure_trust
from adjudge.reports import figure_crowd as figure_control
from adjudge.reports.drawing import FILES, drawing

if TYPE_CHECKING:
    from adjudge.reports.case import Case


SAMPLED = "the fit has no draws (fit 'hierarchical' or 'hybrid-confusion', which are sampled)"


class Figure(NamedTuple):
    """A figure of a report."""

    name: str
    heading: str
    caption: str  # how to read it
    draw: Callable[[Case], Any]  # an Altair chart
    lacks: Callable[[Case], str]  # why it cannot be drawn, nothing where it can


def nothing(case: Case) -> str:
    """Return that nothing is lacking."""
    return ""


def two_labels_drawn(case: Case) -> str:
    """Return why judges' draws cannot be shown in a plane."""
    if case.fit.draws is None:
        return SAMPLED
    return "" if len(case.fit.scale) == 2 else "it shows sensitivity and specificity, which are of two labels"


def populations_drawn(case: Case) -> str:
    """Return why there are no populations to show."""
    lacking = two_labels_drawn(case)
    if lacking:
        return lacking
    draws = case.fit.draws
    learned = draws is not None and draws.kappa.shape[2]
    return "" if learned else "the model has no population of judges (fit 'hierarchical')"


def truths_known(case: Case) -> str:
    """Return why calibration cannot be told."""
    return "" if case.known[0].size else "no truth is known (give gold to the fit, or --truth)"


def climbed_or_drawn(case: Case) -> str:
    """Return why there is no way to show: a vote takes no steps."""
    if case.fit.draws is not None or len(case.fit.evidence) > 1:
        return ""
    return f"'{case.fit.model}' takes no steps that could converge"


def times_known(case: Case) -> str:
    """Return why nothing can be said of changes."""
    return case.untimed


def topics_known(case: Case) -> str:
    """Return why there are no topics to show."""
    return "" if case.fit.topics is not None and len(case.fit.topics) else "the judgments name no topics"


def judged_at_all(case: Case) -> str:
    """Return why there are no votes."""
    return "" if len(case.judgments) and not np.isnan(case.votes).all() else "there are no judgments"


FIGURES = tuple(
    Figure(*parts)
    for parts in (
        (
            "votes",
            "Votes and estimates",
            "Each dot an item; the line is the mean estimate. Below the diagonal the crowd says yes too easily.",
            figure_crowd.voted,
            judged_at_all,
        ),
        (
            "certainty",
            "How sure the answers are",
            "Items by the probability of their answer: those at the left are worth another judgment.",
            figure_trust.certainty,
            nothing,
        ),
        (
            "judges",
            "Judges",
            "Each dot a judge. With two labels: up and to the right is better, and on the line a label says nothing.",
            figure_crowd.skilled,
            nothing,
        ),
        (
            "informedness",
            "Judges by what they are worth",
            "A line is the interval that holds the truth in nine of ten cases; long lines are judges of few judgments.",
            figure_crowd.ranked,
            nothing,
        ),
        (
            "sixteen",
            "What is known of sixteen judges",
            "Draws from the posterior of judges from the least to the most busy: clouds shrink with judgments.",
            lambda case: figure_relevance.drawn_judges(case.fit),
            two_labels_drawn,
        ),
        (
            "populations",
            "What judges and topics have in common",
            "Draws of the mean of each population and of how alike its members are.",
            lambda case: figure_relevance.drawn_populations(case.fit),
            populations_drawn,
        ),
        (
            "confusion",
            "The crowd's average confusion",
            "Rows are truths, columns the labels given: off the diagonal are the errors, with 90 % intervals.",
            figure_crowd.average_confusion,
            nothing,
        ),
        (
            "ratings",
            "Who said what",
            "Columns are judges, rows items: a good judge's column changes colour where the truth does.",
            figure_crowd.ratings,
            judged_at_all,
        ),
        (
            "calibration",
            "Are the probabilities honest?",
            "On the dashed line, of items said to be 80 % sure 80 % are right. Gold that the fit was told has no part "
            "in what is said of its own items, but matrices have learned from it: --truth is the better test.",
            figure_trust.calibrated,
            truths_known,
        ),
        (
            "control",
            "Control charts",
            "Batches of a judge's work in order of time: outside the band, more than chance is at work.",
            figure_control.controlled,
            times_known,
        ),
        (
            "prevalence",
            "Prevalence by topic",
            "How common the label is in each topic.",
            figure_trust.prevalence,
            topics_known,
        ),
        (
            "convergence",
            "Did the inference come to rest?",
            "Chains that lie on each other have forgotten where they began; a climb ends in a plateau.",
            figure_trust.convergence,
            climbed_or_drawn,
        ),
    )
)


def figure_named(name: str) -> Figure:
    """Return a figure; refuse a name that is none."""
    for figure in FIGURES:
        if figure.name == name:
            return figure
    raise UsageError(f"figure {quote(name)} is not one of {quoted(figure.name for figure in FIGURES)}")


def chart(name: str, case: Case) -> Any:
    """Return a figure as an Altair chart, for a notebook; refuse one that cannot be drawn, with the reason."""
    figure = figure_named(name)
    lacking = figure.lacks(case)
    if lacking:
        raise UsageError(f"figure {quote(name)} is not defined because {lacking}")
    return figure.draw(case)


def figure_files(case: Case, told: Callable[[str], None] = lambda what: None) -> dict[str, bytes]:
    """Return all figures that can be drawn as the contents of files, SVG and PNG."""
    written = {}
    for figure in FIGURES:
        if not figure.lacks(case):
            told(f"drawing {figure.name} for files")
            drawn, (_, convert) = figure.draw(case), drawing()
            for kind, made in FILES.items():
                content = made(drawn, convert)
                written[f"{figure.name}.{kind}"] = content.encode() if isinstance(content, str) else content
    return written

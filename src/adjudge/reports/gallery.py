"""All figures of a report: their headings and captions, how they are drawn, and what they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjudge.errors import UsageError, not_one_of, quote
from adjudge.reports import figure_fit, figure_judges, figure_paper
from adjudge.reports.drawing import FILES, load_altair

if TYPE_CHECKING:
    from adjudge.reports.case import Case


SAMPLED = "the fit has no draws (fit 'hierarchical' or 'hybrid-confusion', which are sampled)"


class Figure(NamedTuple):
    """A figure of a report: what the page says about it, how it is drawn, and when it cannot be."""

    name: str
    section: str  # of the page
    heading: str
    caption: str  # how to read it
    draw: Callable[[Case], Any]  # an Altair chart
    problem: Callable[[Case], str]  # why it cannot be drawn, an empty text if it can


def no_problem(case: Case) -> str:
    """Return an empty text: the figure can always be drawn."""
    return ""


def certainty_problem(case: Case) -> str:
    """Return why the certainty of labels cannot be shown."""
    return "" if case.certainty.size else "all truths were given"


def sampling_problem(case: Case) -> str:
    """Return why draws of sensitivity and specificity cannot be shown."""
    if case.fit.draws is None:
        return SAMPLED
    return "" if len(case.fit.scale) == 2 else "sensitivity and specificity need two labels"


def population_problem(case: Case) -> str:
    """Return why populations cannot be shown."""
    problem = sampling_problem(case)
    if problem:
        return problem
    draws = case.fit.draws
    learned = draws is not None and draws.kappa.shape[2]
    return "" if learned else "the model has no population of judges (fit 'hierarchical')"


def truth_problem(case: Case) -> str:
    """Return why calibration cannot be shown."""
    return "" if case.known_truths[0].size else "no truth is known (give gold to the fit, or truths to the report)"


def step_problem(case: Case) -> str:
    """Return why convergence cannot be shown: a vote has no steps."""
    if case.fit.draws is not None or len(case.fit.evidence) > 1:
        return ""
    return f"'{case.fit.model}' has no steps that could converge"


def time_problem(case: Case) -> str:
    """Return why changes over time cannot be shown."""
    return case.time_problem


def topic_problem(case: Case) -> str:
    """Return why topics cannot be shown."""
    return "" if case.fit.topics is not None and len(case.fit.topics) else "the judgments have no topics"


def vote_problem(case: Case) -> str:
    """Return why votes cannot be shown."""
    return "" if len(case.judgments) and not np.isnan(case.votes).all() else "there are no judgments"


FIGURES = tuple(
    Figure(*parts)
    for parts in (
        (
            "votes",
            "labels",
            "Votes and estimates",
            "Each dot is an item; the line is the mean estimate. Below the diagonal, judges give the label too often.",
            figure_judges.vote_chart,
            vote_problem,
        ),
        (
            "certainty",
            "labels",
            "How certain the labels are",
            "Items by the probability of their label; those on the left are worth another judgment. Given truths are "
            "left out.",
            figure_fit.certainty_chart,
            certainty_problem,
        ),
        (
            "judges",
            "judges",
            "Judges",
            "Each dot is a judge. With two labels, up and right is better; on the line labels carry no information.",
            figure_judges.quality_chart,
            no_problem,
        ),
        (
            "informedness",
            "judges",
            "Judges by Youden's J",
            "Each line is a 90 % interval; long lines belong to judges with few judgments.",
            figure_judges.rank_chart,
            no_problem,
        ),
        (
            "sixteen",
            "judges",
            "The uncertainty of sixteen judges",
            "Posterior draws of judges from the fewest to the most judgments: more judgments, less spread.",
            lambda case: figure_paper.judge_draws(case.fit),
            sampling_problem,
        ),
        (
            "populations",
            "judges",
            "Populations of judges and topics",
            "Posterior draws of the mean and the precision of each population.",
            lambda case: figure_paper.population_draws(case.fit),
            population_problem,
        ),
        (
            "confusion",
            "guidelines",
            "Average confusion matrix",
            "Rows are truths, columns given labels; errors are off the diagonal. With 90 % intervals.",
            figure_judges.confusion_chart,
            no_problem,
        ),
        (
            "ratings",
            "guidelines",
            "Labels of judges",
            "Columns are judges, rows items: the column of a good judge changes colour where the truth does.",
            figure_judges.label_chart,
            vote_problem,
        ),
        (
            "calibration",
            "labels",
            "Calibration",
            "On the dashed line, 80 % of the labels with a probability of 80 % are right. Gold is left out of the "
            "probabilities of its own items, but the matrices were learned with it, so that truths given to the "
            "report are the better test.",
            figure_fit.calibration_chart,
            truth_problem,
        ),
        (
            "control",
            "watch",
            "Control charts",
            "Batches of a judge's work in order of time: outside the band the deviation is more than chance.",
            figure_judges.control_panels,
            time_problem,
        ),
        (
            "prevalence",
            "labels",
            "Prevalence by topic",
            "The prevalence of the label in each topic, with 90 % intervals.",
            figure_fit.prevalence_chart,
            topic_problem,
        ),
        (
            "convergence",
            "method",
            "Convergence",
            "Chains that overlap have converged; the log evidence of EM ends in a plateau.",
            figure_fit.convergence_chart,
            step_problem,
        ),
    )
)


def find_figure(name: str) -> Figure:
    """Return a figure by name; a name that no figure has is a ``UsageError``.

    Examples
    --------
    >>> find_figure("votes").heading
    'Votes and estimates'
    """
    for figure in FIGURES:
        if figure.name == name:
            return figure
    raise UsageError(not_one_of("figure", name, (figure.name for figure in FIGURES)))


def chart(name: str, case: Case) -> Any:
    """Draw one figure of a report.

    Parameters
    ----------
    name
        The name of a figure in ``FIGURES``, such as ``"judges"``.
    case
        The fit and its judgments.

    Returns
    -------
    altair.Chart
        The figure without the theme of the page. If it cannot be drawn, a ``UsageError`` gives the reason.
    """
    figure = find_figure(name)
    problem = figure.problem(case)
    if problem:
        raise UsageError(f"figure {quote(name)} is not defined because {problem}")
    return figure.draw(case)


def figure_files(case: Case, progress: Callable[[str], None] = lambda step: None) -> dict[str, bytes]:
    """Draw all figures that can be drawn, as SVG and PNG.

    Parameters
    ----------
    case
        The fit and its judgments.
    progress
        Called with a text before every figure.

    Returns
    -------
    dict
        The content of every file by its name, such as ``judges.svg``.
    """
    contents = {}
    for figure in FIGURES:
        if not figure.problem(case):
            progress(f"drawing {figure.name} for files")
            drawn, (_, convert) = figure.draw(case), load_altair()
            for kind, render in FILES.items():
                content = render(drawn, convert)
                contents[f"{figure.name}.{kind}"] = content.encode() if isinstance(content, str) else content
    return contents

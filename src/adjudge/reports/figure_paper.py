"""The charts of figures 1 to 4 of paper 000: votes and estimates, judges, draws of sixteen judges, and populations."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.result import Fit
from adjudge.reports.drawing import COLOURS, SIDE, data_chart, load_altair

ITEMS = 1_000  # in the figure of votes; the trend is that of all items
STEPS, BANDWIDTH = 41, 0.06  # points of the trend, and the width of its kernel in shares of votes
SIXTEEN, OF_EACH = 16, 60  # judges, and draws of each; the paper has 300, which makes the file too large
HYPER = 200  # draws of the populations, as in the paper
SMALL = 110  # pixels of a small panel
VOTED, ESTIMATED = "share of votes for relevant", "estimated relevance, E[z]"
POPULATIONS = ("specificity", "sensitivity", "prevalence")


class Trend(NamedTuple):
    """Mean estimates by share of votes, over all items."""

    vote: Floats
    estimate: Floats


def votes(share: Floats, estimate: Floats, voted: str = VOTED, estimated: str = ESTIMATED, title: str = "") -> Any:
    """Return figure 1: the share of votes of every item against its estimate, with the trend.

    Parameters
    ----------
    share, estimate
        The share of votes for a label, and its estimated probability (I). At most ``ITEMS`` items are drawn, at random;
        the trend is that of all.
    voted, estimated
        Titles of the two axes.
    title
        Title of the figure.
    """
    alt, _ = load_altair()
    rng = np.random.default_rng(0)
    chosen = rng.permutation(share.size)[:ITEMS]
    vote = share[chosen] + rng.uniform(-0.012, 0.012, chosen.size)  # few different shares: spread the dots
    points = [{"vote": float(v), "estimate": float(e)} for v, e in zip(vote, estimate[chosen], strict=True)]
    line = trend(share, estimate)
    means = [{"vote": float(v), "estimate": float(e)} for v, e in zip(*line, strict=True)]
    dots = data_chart(alt, points).mark_circle(size=9, opacity=0.45, color=COLOURS[0])
    path = data_chart(alt, means).mark_line(color=COLOURS[1], strokeWidth=2.5)
    both = [layer.encode(x=_unit(alt, "vote", voted), y=_unit(alt, "estimate", estimated)) for layer in (dots, path)]
    return alt.layer(*both).properties(width=SIDE, height=SIDE, title=title)


def trend(share: Floats, estimate: Floats) -> Trend:
    """Return the mean estimate by share of votes, smoothed with a Gaussian kernel.

    Examples
    --------
    >>> line = trend(np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.3, 0.9]))
    >>> line.estimate[[0, 20, 40]].round(2).tolist()
    [0.1, 0.3, 0.9]
    """
    at = np.linspace(0, 1, STEPS)
    votes, index = np.unique(share, return_inverse=True)  # few: items have few judgments
    count, total = np.bincount(index), np.bincount(index, estimate)
    near = np.exp(-(((at[:, None] - votes) / BANDWIDTH) ** 2) / 2)  # (G, V)
    return Trend(at, near @ total / (near @ count))


def rates(fit: Fit, title: str = "") -> Any:
    """Return figure 2: every judge's specificity and sensitivity, with the diagonal of chance.

    The fit has two labels; the size of a dot is the judge's number of judgments.
    """
    alt, _ = load_altair()
    rate = fit.params.confusion  # (J, 2, 2)
    points = [
        {"specificity": float(matrix[0, 0]), "sensitivity": float(matrix[1, 1]), "judgments": int(judged)}
        for matrix, judged in zip(rate, fit.judged, strict=True)
    ]
    size = alt.Size("judgments:Q", scale=alt.Scale(range=[6, 160]), legend=alt.Legend(title="judgments"))
    dots = data_chart(alt, points).mark_circle(opacity=0.5, color=COLOURS[0]).encode(**_square(alt), size=size)
    return alt.layer(_chance(alt), dots).properties(width=SIDE, height=SIDE, title=title)


def judge_draws(fit: Fit) -> Any:
    """Return figure 3: draws of specificity and sensitivity of sixteen judges, by number of judgments.

    The fit is sampled and has two labels. Every judge has a panel with ``OF_EACH`` draws: the more judgments, the
    smaller the cloud.
    """
    alt, _ = load_altair()
    panels = []
    for judge in sixteen(fit.judged):
        draws = _thinned(_all_draws(fit, "confusion")[:, judge], OF_EACH)  # (S, 2, 2)
        points = [{"specificity": float(d[0, 0]), "sensitivity": float(d[1, 1])} for d in draws]
        dots = data_chart(alt, points).mark_circle(size=8, opacity=0.5, color=COLOURS[0]).encode(**_square(alt, ""))
        title = f"N = {fit.judged[judge]:,}"
        panels.append(alt.layer(_chance(alt), dots).properties(width=SMALL, height=SMALL, title=title))
    note = "Horizontal: specificity. Vertical: sensitivity. Line: chance. N: judgments."
    return alt.concat(*panels, columns=4, spacing=8, title=note)


def sixteen(judged: Codes) -> list[int]:
    """Choose sixteen judges, from the fewest to the most judgments in even ratios, with the two busiest.

    Parameters
    ----------
    judged
        The number of judgments of every judge (J).

    Returns
    -------
    list of int
        The codes of the judges; all judges if there are no more than sixteen.

    Examples
    --------
    >>> chosen = sixteen(np.arange(1, 101))
    >>> len(chosen), chosen[:4], chosen[-2:]
    (16, [0, 1, 2, 3], [98, 99])
    """
    order = np.argsort(judged, kind="stable")
    rest = order[:-2]
    if rest.size <= SIXTEEN - 2:
        return [int(j) for j in order]
    index, chosen = -1, []
    for n, number in enumerate(np.geomspace(judged[rest[0]], judged[rest[-1]], SIXTEEN - 2)):
        last = rest.size - (SIXTEEN - 2) + n  # beyond it too few are left
        index = min(max(index + 1, int(np.searchsorted(judged[rest], number - 0.5))), last)
        chosen.append(int(rest[index]))
    return [*chosen, *(int(j) for j in order[-2:])]


def population_draws(fit: Fit) -> Any:
    """Return figure 4: draws of (phi, kappa) of specificity, sensitivity and prevalence.

    The fit is hierarchical and has two labels. Every population has a panel with ``HYPER`` draws.
    """
    alt, _ = load_altair()
    panels = []
    for name, (phi, kappa) in populations(fit).items():
        points = [{"phi": float(p), "kappa": float(k)} for p, k in zip(phi, kappa, strict=True)]
        near = alt.Scale(zero=False)
        x = alt.X("phi:Q", scale=near, axis=alt.Axis(tickCount=4), title="phi (mean)")
        y = alt.Y("kappa:Q", scale=near, axis=alt.Axis(tickCount=5), title="kappa (precision of the population)")
        dots = data_chart(alt, points).mark_circle(size=12, opacity=0.5, color=COLOURS[0]).encode(x=x, y=y)
        panels.append(dots.properties(width=SIDE * 0.7, height=SIDE * 0.7, title=name))
    return alt.hconcat(*panels, spacing=20)


def populations(fit: Fit, most: int = HYPER) -> dict[str, tuple[Floats, Floats]]:
    """Return draws of the mean and the precision of each population.

    Parameters
    ----------
    fit
        A hierarchical fit of two labels.
    most
        The number of draws, evenly spaced along the chains.

    Returns
    -------
    dict
        By population, the draws of phi (S) and kappa (S). phi of specificity and sensitivity is the mean probability of
        the right label, phi of prevalence that of label 1.
    """
    phi, kappa = (_thinned(_all_draws(fit, name), most) for name in ("phi", "kappa"))  # (S, 3, 2), (S, 3)
    return {
        name: (phi[:, row, label], kappa[:, row])
        for name, row, label in zip(POPULATIONS, (0, 1, 2), (0, 1, 1), strict=True)
    }


def _all_draws(fit: Fit, name: str) -> Floats:
    """Return the draws of all chains, one after another (S, ...)."""
    if fit.draws is None:
        return np.empty(0)
    draws: Floats = getattr(fit.draws, name)
    return draws.reshape(-1, *draws.shape[2:])


def _thinned(draws: Floats, most: int) -> Floats:
    """Return at most this many draws, evenly spaced along the chains."""
    index = np.unique(np.linspace(0, len(draws) - 1, min(most, len(draws))).round().astype(int))
    chosen: Floats = draws[index]
    return chosen


def _chance(alt: Any) -> Any:
    """Return the line of chance, sensitivity = 1 - specificity, on which labels carry no information."""
    ends = [{"specificity": 0, "sensitivity": 1}, {"specificity": 1, "sensitivity": 0}]
    return (
        data_chart(alt, ends).mark_line(color=COLOURS[1], strokeWidth=1.2).encode(x="specificity:Q", y="sensitivity:Q")
    )


def _square(alt: Any, title: str | None = None) -> dict[str, Any]:
    """Return the axes of specificity and sensitivity."""
    names = {"x": "specificity", "y": "sensitivity"}
    return {side: _unit(alt, name, name if title is None else title, side) for side, name in names.items()}


def _unit(alt: Any, name: str, title: str, side: str = "") -> Any:
    """Return an axis from 0 to 1."""
    kind = alt.Y if side == "y" or name == "estimate" else alt.X
    return kind(f"{name}:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=3), title=title or None)

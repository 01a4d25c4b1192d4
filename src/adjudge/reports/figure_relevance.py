"""Figures 1 to 4 of paper 000: votes and estimates, judges, what is known of sixteen of them, and the populations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.inference.fit import fit
from adjudge.reports.drawing import COLOURS, drawing, plotted, svg

if TYPE_CHECKING:
    from adjudge.inference.result import Fit
    from studies.trec2011 import Relevance


ITEMS = 1_000  # of which votes and estimates are drawn; the trend is that of all
STEPS, NEARBY = 41, 0.06  # places of the trend, and how far in votes items are near
SIXTEEN, OF_EACH = 16, 60  # judges, and draws of each; the paper has 300, which make a file too large
HYPER = 200  # draws of the populations, as in the paper
SIDE, SMALL = 300, 110  # pixels
VOTED, ESTIMATED = "share of votes for relevant", "estimated relevance, E[z]"
POPULATIONS = ("specificity", "sensitivity", "prevalence")


class Trend(NamedTuple):
    """Mean estimates along the share of votes, over all items."""

    vote: Floats
    estimate: Floats


def figures(relevance: Relevance) -> Mapping[int, Callable[[], str]]:
    """Return what draws each of the paper's figures, by its number; votes from the run with gold, the rest without."""
    fits, judgments = relevance.fits, relevance.crowd.judgments
    return {
        1: lambda: svg(votes(fit(judgments, "majority").posterior[:, 1], fits["gold apart"].posterior[:, 1])),
        2: lambda: svg(rates(fits["unsupervised"])),
        3: lambda: svg(drawn_judges(fits["unsupervised"])),
        4: lambda: svg(drawn_populations(fits["unsupervised"])),
    }


def votes(share: Floats, estimate: Floats, voted: str = VOTED, estimated: str = ESTIMATED, title: str = "") -> Any:
    """Return figure 1: the share of votes of an item (I) against its estimate (I), with the trend."""
    alt, _ = drawing()
    rng = np.random.default_rng(0)
    chosen = rng.permutation(share.size)[:ITEMS]
    vote = share[chosen] + rng.uniform(-0.012, 0.012, chosen.size)  # votes are few, and would lie on each other
    points = [{"vote": float(v), "estimate": float(e)} for v, e in zip(vote, estimate[chosen], strict=True)]
    line = trend(share, estimate)
    means = [{"vote": float(v), "estimate": float(e)} for v, e in zip(*line, strict=True)]
    dots = plotted(alt, points).mark_circle(size=9, opacity=0.45, color=COLOURS[0])
    path = plotted(alt, means).mark_line(color=COLOURS[1], strokeWidth=2.5)
    both = [layer.encode(x=_unit(alt, "vote", voted), y=_unit(alt, "estimate", estimated)) for layer in (dots, path)]
    return alt.layer(*both).properties(width=SIDE, height=SIDE, title=title)


def trend(share: Floats, estimate: Floats) -> Trend:
    """Return the mean estimate of items near each of some shares of votes: near ones count more, by a Gaussian."""
    at = np.linspace(0, 1, STEPS)
    votes, place = np.unique(share, return_inverse=True)  # few: items have few judgments
    count, total = np.bincount(place), np.bincount(place, estimate)
    near = np.exp(-(((at[:, None] - votes) / NEARBY) ** 2) / 2)  # (G, V)
    return Trend(at, near @ total / (near @ count))


def rates(known: Fit, title: str = "") -> Any:
    """Return figure 2: every judge's specificity and sensitivity, with the diagonal of chance."""
    alt, _ = drawing()
    rate = known.params.confusion  # (J, 2, 2)
    points = [
        {"specificity": float(matrix[0, 0]), "sensitivity": float(matrix[1, 1]), "judgments": int(judged)}
        for matrix, judged in zip(rate, known.judged, strict=True)
    ]
    size = alt.Size("judgments:Q", scale=alt.Scale(range=[6, 160]), legend=alt.Legend(title="judgments"))
    dots = plotted(alt, points).mark_circle(opacity=0.5, color=COLOURS[0]).encode(**_square(alt), size=size)
    return alt.layer(_chance(alt), dots).properties(width=SIDE, height=SIDE, title=title)


def drawn_judges(known: Fit) -> Any:
    """Return figure 3: draws of sixteen judges' specificity and sensitivity, by how much they judged."""
    alt, _ = drawing()
    panels = []
    for judge in sixteen(known.judged):
        draws = _thinned(_of_chains(known, "confusion")[:, judge], OF_EACH)  # (S, 2, 2)
        points = [{"specificity": float(d[0, 0]), "sensitivity": float(d[1, 1])} for d in draws]
        dots = plotted(alt, points).mark_circle(size=8, opacity=0.5, color=COLOURS[0]).encode(**_square(alt, ""))
        title = f"N = {known.judged[judge]:,}"
        panels.append(alt.layer(_chance(alt), dots).properties(width=SMALL, height=SMALL, title=title))
    note = "Across: specificity. Up: sensitivity. Line: chance. N: judgments of the judge."
    return alt.concat(*panels, columns=4, spacing=8, title=note)


def sixteen(judged: Codes) -> list[int]:
    """Return judges from the least to the most busy, in even ratios of judgments, the two busiest among them."""
    order = np.argsort(judged, kind="stable")
    rest = order[:-2]
    if rest.size <= SIXTEEN - 2:
        return [int(j) for j in order]
    place, chosen = -1, []
    for n, wanted in enumerate(np.geomspace(judged[rest[0]], judged[rest[-1]], SIXTEEN - 2)):
        last = rest.size - (SIXTEEN - 2) + n  # beyond which too few would be left
        place = min(max(place + 1, int(np.searchsorted(judged[rest], wanted - 0.5))), last)
        chosen.append(int(rest[place]))
    return [*chosen, *(int(j) for j in order[-2:])]


def drawn_populations(known: Fit) -> Any:
    """Return figure 4: draws of (phi, kappa) of specificity, sensitivity and prevalence."""
    alt, _ = drawing()
    panels = []
    for name, (phi, kappa) in populations(known).items():
        points = [{"phi": float(p), "kappa": float(k)} for p, k in zip(phi, kappa, strict=True)]
        near = alt.Scale(zero=False)
        x = alt.X("phi:Q", scale=near, axis=alt.Axis(tickCount=4), title="phi (mean)")
        y = alt.Y("kappa:Q", scale=near, axis=alt.Axis(tickCount=5), title="kappa (how alike they are)")
        dots = plotted(alt, points).mark_circle(size=12, opacity=0.5, color=COLOURS[0]).encode(x=x, y=y)
        panels.append(dots.properties(width=SIDE * 0.7, height=SIDE * 0.7, title=name))
    return alt.hconcat(*panels, spacing=20)


def populations(known: Fit, most: int = HYPER) -> dict[str, tuple[Floats, Floats]]:
    """Return draws of mean and precision of each population (S); the mean is that of the right label, or of 1."""
    phi, kappa = (_thinned(_of_chains(known, name), most) for name in ("phi", "kappa"))  # (S, 3, 2), (S, 3)
    return {
        name: (phi[:, row, label], kappa[:, row])
        for name, row, label in zip(POPULATIONS, (0, 1, 2), (0, 1, 1), strict=True)
    }


def _of_chains(known: Fit, name: str) -> Floats:
    """Return the draws of all chains one after another (S, ...)."""
    if known.draws is None:
        return np.empty(0)
    draws: Floats = getattr(known.draws, name)
    return draws.reshape(-1, *draws.shape[2:])


def _thinned(draws: Floats, most: int) -> Floats:
    """Return draws evenly spaced along the chains, as many as there may be."""
    kept: Floats = draws[np.unique(np.linspace(0, len(draws) - 1, min(most, len(draws))).round().astype(int))]
    return kept


def _chance(alt: Any) -> Any:
    """Return the line on which sensitivity is 1 - specificity: a judge there says nothing of the truth."""
    ends = [{"specificity": 0, "sensitivity": 1}, {"specificity": 1, "sensitivity": 0}]
    return plotted(alt, ends).mark_line(color=COLOURS[1], strokeWidth=1.2).encode(x="specificity:Q", y="sensitivity:Q")


def _square(alt: Any, title: str | None = None) -> dict[str, Any]:
    """Return the axes of specificity and sensitivity."""
    names = {"x": "specificity", "y": "sensitivity"}
    return {side: _unit(alt, name, name if title is None else title, side) for side, name in names.items()}


def _unit(alt: Any, name: str, title: str, side: str = "") -> Any:
    """Return an axis from 0 to 1."""
    kind = alt.Y if side == "y" or name == "estimate" else alt.X
    return kind(f"{name}:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(tickCount=3), title=title or None)

"""Figures of a crowd: judges by what they are worth, their average confusion, and who said what of what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError, quote
from adjudge.reports.drawing import COLOURS, INK, drawing, plotted
from adjudge.reports.figure_relevance import SIDE, rates, votes
from adjudge.reports.summary import FEW

if TYPE_CHECKING:
    from adjudge.diagnostics.control_chart import ControlChart
    from adjudge.reports.case import Case


# The control chart of judges over time: batches, their level, and the limits that chance sets.

FIGURE_CONTROL_MOST_JUDGES, ACROSS = 6, 3  # panels, and how many side by side
WIDTH, HEIGHT = 170, 110  # pixels of a panel


def controlled(case: Case) -> Any:
    """Return the charts of the judges who break most rules, or of the busiest where nobody does."""
    alt, _ = drawing()
    chart = case.chart
    if chart is None:
        raise UsageError(f"a control chart is not defined because {case.untimed}")
    broken = np.array([bool(flag) for flag in chart.flags], bool)
    breaks = np.bincount(chart.judge[broken], minlength=len(case.fit.judge_names))
    shown = np.lexsort((-np.asarray(case.fit.judged), -breaks))[:FIGURE_CONTROL_MOST_JUDGES].tolist()
    panels = [_panel(alt, chart, judge) for judge in shown if (chart.judge == judge).any()]
    return alt.concat(*panels, columns=ACROSS, spacing=14, title=chart.sentence)


def _panel(alt: Any, chart: ControlChart, judge: int) -> Any:
    """Return one judge's chart."""
    rows = np.flatnonzero(chart.judge == judge)
    points = [
        {
            "batch": int(chart.batch[b]) + 1,
            "right": float(chart.right[b]),
            "level": float(chart.level[b]),
            "low": float(chart.limits[b, 0]),
            "high": float(chart.limits[b, 3]),
            "kind": "breaks a rule" if chart.flags[b] else "within limits",
        }
        for b in rows
    ]
    x = alt.X("batch:Q", axis=alt.Axis(tickMinStep=1, tickCount=4, format="d"), title="batch")
    base = plotted(alt, points).encode(x=x)
    y = alt.Y("low:Q", scale=alt.Scale(domain=[0, 1]), title="share right")
    limits = base.mark_area(opacity=0.18, color=COLOURS[0]).encode(y=y, y2="high:Q")
    level = base.mark_line(color=COLOURS[0], strokeDash=[4, 3], strokeWidth=1).encode(y="level:Q")
    kinds = ["within limits", "breaks a rule"]
    dots = base.mark_point(filled=True, size=30, opacity=1).encode(
        y="right:Q",
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=list(COLOURS[:2]))),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"])),
    )
    name = str(chart.judges[judge])
    return alt.layer(limits, level, dots).properties(width=WIDTH, height=HEIGHT, title=name)


MOST_JUDGES, MOST_ITEMS = 40, 100  # of a matrix of ratings: more would be too small to see
WIDE, CELL = 560, 70  # pixels: a wide figure, and a cell of a confusion matrix
MORE_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#F0E442", "#000000")


def voted(case: Case) -> Any:
    """Return figure 1 of paper 000: the share of votes against the estimate, of one of two labels or of the answer."""
    fit, names = case.fit, case.fit.scale.names
    met = ~np.isnan(case.votes[:, 0])
    rows = np.flatnonzero(met)
    two = len(names) == 2
    label = np.ones(rows.size, int) if two else fit.label[rows]
    of = quote(names[1]) if two else "the answer"
    title = f"On {_share(case.overruled.sum(), rows.size)} of items the consensus overrules the vote"
    said = f"share of votes for {of}", f"estimated probability of {of}"
    return votes(case.votes[rows, label], fit.posterior[rows, label], *said, title)


def skilled(case: Case) -> Any:
    """Return figure 2 of paper 000: judges by specificity and sensitivity; of more labels, by informedness."""
    known = [card for card in case.cards if card.judgments >= FEW]
    lost = sum(card.p_chance > 0.5 for card in known)
    title = f"{lost:,} of {len(known):,} judges with {FEW} judgments or more are probably no better than chance"
    if len(case.fit.scale) == 2 and case.fit.params.confusion.shape[1:] == (2, 2):
        return rates(case.fit, f"{title} (the line)")
    return by_work(case, title)


def by_work(case: Case, title: str) -> Any:
    """Return judges by how much they judged and how informed they are, with intervals."""
    alt, _ = drawing()
    points = [{"judge": card.judge, "judgments": card.judgments, **card.informedness._asdict()} for card in case.cards]
    x = alt.X("judgments:Q", scale=alt.Scale(type="log", nice=False), title="judgments (logarithmic)")
    base = plotted(alt, points).encode(x=x)
    y = alt.Y("low:Q", title="informedness (0 is chance, 1 is always right)")
    lines = base.mark_rule(opacity=0.35, color=COLOURS[0]).encode(y=y, y2="high:Q")
    dots = base.mark_circle(size=18, color=COLOURS[0], opacity=1).encode(y="value:Q")
    return alt.layer(_level(alt, 0), lines, dots).properties(width=SIDE, height=SIDE, title=title)


def ranked(case: Case) -> Any:
    """Return all judges from the least to the most informed, with intervals."""
    alt, _ = drawing()
    order = sorted(case.cards, key=lambda card: card.informedness.value)
    points = [{"place": place, **card.informedness._asdict()} for place, card in enumerate(order, start=1)]
    x = alt.X("place:Q", title="judges, the least informed first", scale=alt.Scale(domain=[0, len(points) + 1]))
    base = plotted(alt, points).encode(x=x)
    y = alt.Y("low:Q", title="informedness, 90 % interval")
    lines = base.mark_rule(opacity=0.4, color=COLOURS[0]).encode(y=y, y2="high:Q")
    dots = base.mark_circle(size=14, color=COLOURS[1], opacity=1).encode(y="value:Q")
    better = sum(card.informedness.low > 0 for card in order)
    title = f"The intervals of {better:,} of {len(order):,} judges lie above chance (the line)"
    return alt.layer(_level(alt, 0), lines, dots).properties(width=WIDE, height=SIDE * 0.7, title=title)


def average_confusion(case: Case) -> Any:
    """Return the matrix of the crowd (figure 7 of paper 003): how often each truth is given each label."""
    alt, _ = drawing()
    names, (mean, low, high) = case.fit.scale.names, average(case)
    cells = [
        {
            "truth": names[k],
            "label": names[said],
            "share": float(mean[k, said]),
            "told": f"{mean[k, said]:.2f}",
            "span": f"{low[k, said]:.2f} to {high[k, said]:.2f}",
        }
        for k in range(len(names))
        for said in range(len(names))
    ]
    base = plotted(alt, cells).encode(
        x=alt.X("label:N", sort=list(names), title="label given", axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("truth:N", sort=list(names), title="truth"),
    )
    scale = alt.Scale(domain=[0, 1], range=["#ffffff", COLOURS[0]])
    squares = base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=None))
    light = alt.condition("datum.share > 0.6", alt.value("white"), alt.value("#1c1c1c"))
    told = base.mark_text(fontSize=15, dy=-6).encode(text="told:N", color=light)
    span = base.mark_text(fontSize=10, dy=11).encode(text="span:N", color=light)
    side = CELL * max(len(names), 2)
    return alt.layer(squares, told, span).properties(width=side, height=side, title=_most_confused(names, mean))


def average(case: Case) -> tuple[Floats, Floats, Floats]:
    """Return the mean of all judges' matrices, every judge counted by her judgments, and the ends of its interval."""
    weight = case.fit.judged / max(case.fit.judged.sum(), 1)  # (J)
    theta = case.matrices.confusion  # (C, D, J, K, K)
    drawn = np.tensordot(theta, weight, axes=(2, 0)).reshape(-1, *theta.shape[3:])  # (S, K, K)
    low, high = np.quantile(drawn, (0.05, 0.95), axis=0)
    return drawn.mean(axis=0), low, high


def ratings(case: Case) -> Any:
    """Return who gave which label to what (the ratings of paper 003): busy judges, and items that many of them saw."""
    alt, _ = drawing()
    names, shown = case.fit.scale.names, _shown(case)
    cells = [{"item": i, "judge": j, "label": names[k]} for i, j, k in shown]
    colours = alt.Scale(domain=list(names), range=list(MORE_COLOURS[: len(names)]))
    chart = (
        plotted(alt, cells)
        .mark_rect()
        .encode(
            x=alt.X("judge:O", title="judges, the best informed first", axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("item:O", title="items, by estimated truth", axis=alt.Axis(labels=False, ticks=False)),
            color=alt.Color("label:N", scale=colours),
        )
    )
    judges, items = (len({cell[name] for cell in cells}) for name in ("judge", "item"))
    title = (
        f"The {judges:,} busiest judges on the {items:,} items they share most: where columns break the bands, they err"
    )
    return chart.properties(width=WIDE, height=SIDE, title=title)


def _shown(case: Case) -> list[tuple[int, int, int]]:
    """Return place of item, place of judge and label of the judgments that are drawn."""
    block = case.block
    judge, item = (np.asarray(block.cell) // block.labels).astype(np.int64), case.judgments.item()
    busiest = np.argsort(-np.asarray(case.fit.judged), kind="stable")[:MOST_JUDGES]
    seen = np.isin(judge, busiest)
    shared = np.bincount(item[seen], minlength=len(case.judgments.items))
    items = np.argsort(-shared, kind="stable")[:MOST_ITEMS]
    degree = case.fit.posterior @ np.arange(len(case.fit.scale))  # (I) in the order of the fit
    place = {name: i for i, name in enumerate(case.fit.items.to_list())}
    names = case.judgments.items.gather(items).to_list()
    by_truth = _placed(items, np.array([-degree[place[name]] for name in names]))
    by_worth = _placed(busiest, np.array([-case.cards[int(j)].informedness.value for j in busiest]))
    rows = np.flatnonzero(seen & np.isin(item, items))
    return [(by_truth[int(item[n])], by_worth[int(judge[n])], int(block.label[n])) for n in rows]


def _placed(codes: Codes, value: Floats) -> dict[int, int]:
    """Return the place of each code by its value, the least first."""
    return {int(codes[at]): place for place, at in enumerate(np.argsort(value, kind="stable"))}


def _most_confused(names: Sequence[str], mean: Floats) -> str:
    """Return the commonest confusion, in words."""
    if len(names) < 2:
        return "There is one label only"
    wrong = mean * (1 - np.eye(len(names)))
    k, said = divmod(int(wrong.argmax()), len(names))
    return f"Most often confused: {quote(names[k])} is called {quote(names[said])} {wrong[k, said]:.0%} of the time"


def _level(alt: Any, value: float) -> Any:
    """Return a line across at some level."""
    return plotted(alt, [{"level": value}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(y="level:Q")


def _share(part: int, whole: int) -> str:
    """Return a share for people, small ones not as zero."""
    return f"{part / whole:.1%}" if whole else "none"

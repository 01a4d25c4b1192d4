"""Figures of judges: votes and estimates, their quality, their confusion, their labels, and control charts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.diagnostics.sentences import POOR
from adjudge.errors import UsageError, quote
from adjudge.reports.drawing import COLOURS, INK, LABEL_COLOURS, SIDE, WIDE, data_chart, load_altair
from adjudge.reports.figure_paper import rates, votes

if TYPE_CHECKING:
    from adjudge.diagnostics.control_chart import ControlChart
    from adjudge.reports.case import Case


MOST_JUDGES, MOST_ITEMS = 40, 100  # of the figure of labels; more would be too small
MOST_RANKS = 300  # judges whose intervals are drawn side by side, two pixels each
PANELS, ACROSS = 6, 3  # control charts, and how many side by side
WIDTH, HEIGHT = 170, 110  # pixels of a control chart
CELL = 70  # pixels of a cell of a confusion matrix


def vote_chart(case: Case) -> Any:
    """Return figure 1 of paper 000: the share of votes of every item against its estimate.

    With two labels, both are those of the second label, otherwise those of the answer. Items without judgments are left
    out; the title says how often the consensus differs from the vote.
    """
    fit, names = case.fit, case.fit.scale.names
    rows = np.flatnonzero(~np.isnan(case.votes[:, 0]))
    two = len(names) == 2
    label = np.ones(rows.size, int) if two else fit.label[rows]
    of = quote(names[1]) if two else "the answer"
    title = f"The consensus differs from the vote on {_share(case.overruled.sum(), rows.size)} of items"
    axes = f"share of votes for {of}", f"estimated probability of {of}"
    return votes(case.votes[rows, label], fit.posterior[rows, label], *axes, title)


def quality_chart(case: Case) -> Any:
    """Return figure 2 of paper 000: judges by specificity and sensitivity.

    With more than two labels, or a model without confusion matrices, it is ``work_chart`` instead. The title counts
    the poor judges.
    """
    poor = sum(card.standing == POOR for card in case.cards)
    title = f"{poor:,} of {len(case.cards):,} judges are poor: hardly better than guessing"
    if len(case.fit.scale) == 2 and case.fit.params.confusion.shape[1:] == (2, 2):
        return rates(case.fit, f"{title} (the line)")
    return work_chart(case, title)


def work_chart(case: Case, title: str) -> Any:
    """Return judges by their number of judgments and Youden's J, with 90 % intervals.

    Judges above the line are better than chance; the intervals of judges with few judgments are long.
    """
    alt, _ = load_altair()
    points = [{"judge": card.judge, "judgments": card.judgments, **card.informedness._asdict()} for card in case.cards]
    x = alt.X("judgments:Q", scale=alt.Scale(type="log", nice=False), title="judgments (logarithmic)")
    base = data_chart(alt, points).encode(x=x)
    y = alt.Y("low:Q", title="Youden's J (0 is chance, 1 is perfect)")
    lines = base.mark_rule(opacity=0.35, color=COLOURS[0]).encode(y=y, y2="high:Q")
    dots = base.mark_circle(size=18, color=COLOURS[0], opacity=1).encode(y="value:Q")
    return alt.layer(_level(alt, 0), lines, dots).properties(width=SIDE, height=SIDE, title=title)


def rank_chart(case: Case) -> Any:
    """Return all judges ordered by Youden's J, with intervals.

    Of more than ``MOST_RANKS`` judges, so many are drawn, evenly spaced from the first to the last, and the title says
    so.
    """
    alt, _ = load_altair()
    order = sorted(case.cards, key=lambda card: card.informedness.value)
    ranks = np.linspace(1, len(order), min(MOST_RANKS, len(order))).astype(int).tolist()
    points = [{"rank": rank, **order[rank - 1].informedness._asdict()} for rank in ranks]
    x = alt.X("rank:Q", title="judges, the lowest Youden's J first", scale=alt.Scale(domain=[0, len(order) + 1]))
    base = data_chart(alt, points).encode(x=x)
    y = alt.Y("low:Q", title="Youden's J, 90 % interval")
    lines = base.mark_rule(opacity=0.4, color=COLOURS[0]).encode(y=y, y2="high:Q")
    dots = base.mark_circle(size=14, color=COLOURS[1], opacity=1).encode(y="value:Q")
    better = sum(card.informedness.low > 0 for card in order)
    cut = f"; {len(ranks):,} of the judges are drawn" if len(ranks) < len(order) else ""
    title = f"The intervals of {better:,} of {len(order):,} judges lie above chance (the line){cut}"
    return alt.layer(_level(alt, 0), lines, dots).properties(width=WIDE, height=SIDE * 0.7, title=title)


def confusion_chart(case: Case) -> Any:
    """Return the average confusion matrix (figure 7 of paper 003): how often each truth is given each label.

    Every cell has its share and a 90 % interval, from ``mean_confusion``; the title names the most common confusion.
    """
    alt, _ = load_altair()
    names, (mean, low, high) = case.fit.scale.names, mean_confusion(case)
    cells = [
        {
            "truth": names[k],
            "label": names[y],
            "share": float(mean[k, y]),
            "text": f"{mean[k, y]:.2f}",
            "span": f"{low[k, y]:.2f} to {high[k, y]:.2f}",
        }
        for k in range(len(names))
        for y in range(len(names))
    ]
    base = data_chart(alt, cells).encode(
        x=alt.X("label:N", sort=list(names), title="label given", axis=alt.Axis(orient="top", labelAngle=0)),
        y=alt.Y("truth:N", sort=list(names), title="truth"),
    )
    scale = alt.Scale(domain=[0, 1], range=["#ffffff", COLOURS[0]])
    squares = base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=None))
    light = alt.condition("datum.share > 0.6", alt.value("white"), alt.value("#1c1c1c"))
    value = base.mark_text(fontSize=15, dy=-6).encode(text="text:N", color=light)
    span = base.mark_text(fontSize=10, dy=11).encode(text="span:N", color=light)
    side = CELL * max(len(names), 2)
    return alt.layer(squares, value, span).properties(width=side, height=side, title=_most_confused(names, mean))


def mean_confusion(case: Case) -> tuple[Floats, Floats, Floats]:
    """Return the confusion matrix of all judges together.

    Returns
    -------
    tuple
        The mean of the judges' matrices (K, K), weighted by their numbers of judgments, and the low and the high end of
        its 90 % interval, over the draws of the matrices.
    """
    weight = case.fit.judged / max(case.fit.judged.sum(), 1)  # (J)
    theta = case.confusion_draws.confusion  # (C, D, J, K, K)
    J, K, _ = theta.shape[2:]
    draws = (weight @ theta.reshape(-1, J, K * K)).reshape(-1, K, K)  # (S, K, K)
    low, high = np.quantile(draws, (0.05, 0.95), axis=0)
    return draws.mean(axis=0), low, high


def label_chart(case: Case) -> Any:
    """Return the labels that busy judges gave to the items that most of them judged (the ratings of paper 003).

    Columns are judges, the highest Youden's J first, and rows are items, by their estimated truth: judges without
    errors make bands of one colour.
    """
    alt, _ = load_altair()
    names = case.fit.scale.names
    cells = [{"item": i, "judge": j, "label": names[k]} for i, j, k in _label_cells(case)]
    colours = alt.Scale(domain=list(names), range=list(LABEL_COLOURS))
    chart = (
        data_chart(alt, cells)
        .mark_rect()
        .encode(
            x=alt.X("judge:O", title="judges, the highest Youden's J first", axis=alt.Axis(labels=False, ticks=False)),
            y=alt.Y("item:O", title="items, by estimated truth", axis=alt.Axis(labels=False, ticks=False)),
            color=alt.Color("label:N", scale=colours),
        )
    )
    judges, items = (len({cell[name] for cell in cells}) for name in ("judge", "item"))
    title = (
        f"The {judges:,} busiest judges on the {items:,} items they share most: cells that break the bands are errors"
    )
    return chart.properties(width=WIDE, height=SIDE, title=title)


def control_panels(case: Case) -> Any:
    """Return the control charts of the judges who break most rules, or of the busiest if nobody does.

    A panel has the share of right labels per batch of work, the level of the judge, and the limits within which chance
    explains a deviation. Judgments without times have no control charts, which is a ``UsageError``.
    """
    alt, _ = load_altair()
    chart = case.control_chart
    if chart is None:
        raise UsageError(f"a control chart is not defined because {case.time_problem}")
    broken = np.array([bool(flag) for flag in chart.flags], bool)
    breaks = np.bincount(chart.judge[broken], minlength=len(case.fit.judge_names))
    judges = np.lexsort((-np.asarray(case.fit.judged), -breaks))[:PANELS].tolist()
    panels = [_panel(alt, chart, judge) for judge in judges if (chart.judge == judge).any()]
    return alt.concat(*panels, columns=ACROSS, spacing=14, title=chart.sentence)


def _panel(alt: Any, chart: ControlChart, judge: int) -> Any:
    """Return the control chart of one judge."""
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
    base = data_chart(alt, points).encode(x=x)
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


def _label_cells(case: Case) -> list[tuple[int, int, int]]:
    """Return the row, the column and the label of the judgments in the figure."""
    block = case.block
    judge, item = (np.asarray(block.cell) // block.labels).astype(np.int64), case.judgments.item()
    busiest = np.argsort(-np.asarray(case.fit.judged), kind="stable")[:MOST_JUDGES]
    by_busiest = np.isin(judge, busiest)
    shared = np.bincount(item[by_busiest], minlength=len(case.judgments.items))
    items = np.argsort(-shared, kind="stable")[:MOST_ITEMS]
    degree = case.fit.posterior @ np.arange(len(case.fit.scale))  # (I) in the order of the fit
    index = {name: i for i, name in enumerate(case.fit.items.to_list())}
    names = case.judgments.items.gather(items).to_list()
    by_truth = _ranks(items, np.array([-degree[index[name]] for name in names]))
    by_quality = _ranks(busiest, np.array([-case.cards[int(j)].informedness.value for j in busiest]))
    rows = np.flatnonzero(by_busiest & np.isin(item, items))
    return [(by_truth[int(item[n])], by_quality[int(judge[n])], int(block.label[n])) for n in rows]


def _ranks(codes: Codes, value: Floats) -> dict[int, int]:
    """Return the rank of each code by its value, the smallest first."""
    return {int(codes[at]): rank for rank, at in enumerate(np.argsort(value, kind="stable"))}


def _most_confused(names: Sequence[str], mean: Floats) -> str:
    """Return the most common confusion in words."""
    if len(names) < 2:
        return "There is only one label"
    wrong = mean * (1 - np.eye(len(names)))
    k, y = divmod(int(wrong.argmax()), len(names))
    return f"Most common confusion: {quote(names[k])} is called {quote(names[y])} {wrong[k, y]:.0%} of the time"


def _level(alt: Any, value: float) -> Any:
    """Return a horizontal line at a level."""
    return data_chart(alt, [{"level": value}]).mark_rule(color=INK, strokeDash=[4, 3]).encode(y="level:Q")


def _share(part: int, total: int) -> str:
    """Return a share in percent."""
    return f"{part / total:.1%}" if total else "none"

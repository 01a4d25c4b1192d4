"""Figures about how far a fit can be trusted: its certainty, calibration, prevalence and convergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import quote
from adjudge.inference.convergence import r_hat
from adjudge.metrics.probabilities import calibration
from adjudge.reports.drawing import COLOURS, INK, LABEL_COLOURS, SHAPES, SIDE, WIDE, data_chart, load_altair
from adjudge.reports.summary import SURE

if TYPE_CHECKING:
    from adjudge.inference.chains import Draws
    from adjudge.inference.result import Fit
    from adjudge.reports.case import Case


BINS = 20
LONGEST = 250  # draws of a chain in the figure
MOST_TOPICS = 60


def certainty_chart(case: Case) -> Any:
    """Return the number of items by the probability of their label; items whose truth was given are left out.

    The histogram begins at the probability of guessing, 1 / K, which no label can be below. The title says how many
    labels are settled.
    """
    alt, _ = load_altair()
    fit, chance = case.fit, case.certainty
    count, edges = np.histogram(chance, BINS, (min(1 / max(len(fit.scale), 1), 0.999), 1))
    bars = [
        {"from": float(low), "to": float(high), "items": int(n)}
        for n, low, high in zip(count, edges[:-1], edges[1:], strict=True)
    ]
    sure = float((chance >= SURE).mean()) if chance.size else 0.0
    chart = (
        data_chart(alt, bars)
        .mark_bar(color=COLOURS[0])
        .encode(
            x=alt.X("from:Q", title="probability of the label", bin="binned"),
            x2="to:Q",
            y=alt.Y("items:Q", title="items"),
        )
    )
    title = f"{sure:.0%} of the labels are settled: their probability is at least {SURE:.0%}"
    return chart.properties(width=SIDE, height=SIDE * 0.7, title=title)


def calibration_chart(case: Case) -> Any:
    """Return predicted against observed shares on items whose truth is known.

    Truths are gold, and those that the fit did not use. The probability of a gold item is computed without its gold
    label; dots on the dashed line are calibrated. With two labels, the probability is that of the second label,
    otherwise that of the answer.
    """
    alt, _ = load_altair()
    curve, names = calibration(*case.known_truths), case.fit.scale.names
    parts = (curve.predicted, curve.observed, curve.low, curve.high, curve.count)
    points = [
        {"predicted": float(p), "observed": float(o), "low": float(a), "high": float(b), "items": int(n)}
        for p, o, a, b, n in zip(*parts, strict=True)
    ]
    of = quote(names[1]) if len(names) == 2 else "the answer"
    unit = alt.Scale(domain=[0, 1])
    base = data_chart(alt, points).encode(x=alt.X("predicted:Q", scale=unit, title=f"predicted probability of {of}"))
    y = alt.Y("low:Q", scale=unit, title="observed share, 90 % interval")
    lines = base.mark_rule(color=COLOURS[0]).encode(y=y, y2="high:Q")
    dots = base.mark_circle(color=COLOURS[0], opacity=1).encode(y="observed:Q", size=alt.Size("items:Q"))
    ends = data_chart(alt, [{"predicted": 0, "observed": 0}, {"predicted": 1, "observed": 1}])
    line = ends.mark_line(color=INK, strokeDash=[4, 3], strokeWidth=1).encode(x="predicted:Q", y="observed:Q")
    return alt.layer(line, lines, dots).properties(width=SIDE, height=SIDE, title=curve.sentence)


def convergence_chart(case: Case) -> Any:
    """Return how the fit ended: the chains that mix worst or, for EM, the log evidence of each step.

    Of a sampled fit, the parameter with the largest R-hat is shown, thinned to at most ``LONGEST`` draws per chain.
    """
    return _chains(case.fit, case.fit.draws) if case.fit.draws is not None else _evidence(case.fit)


def prevalence_chart(case: Case) -> Any:
    """Return the prevalence of each label in every topic, with intervals.

    With two labels, only the second is shown. Of more than ``MOST_TOPICS`` topics, those with the highest and the
    lowest prevalence are shown, and the title says so.
    """
    alt, _ = load_altair()
    points, title = _by_topic(case.fit)
    names = list(case.fit.scale.names)
    order = list(dict.fromkeys(point["topic"] for point in points))
    base = data_chart(alt, points).encode(
        y=alt.Y("topic:N", sort=order, title=None, axis=alt.Axis(labelFontSize=12, grid=True)),
        color=alt.Color(
            "label:N",
            scale=alt.Scale(domain=names, range=list(LABEL_COLOURS)),
            legend=None if len(names) == 2 else alt.Legend(),
        ),
    )
    x = alt.X("low:Q", scale=alt.Scale(domain=[0, 1]), title="prevalence, 90 % interval")
    lines, dots = base.mark_rule().encode(x=x, x2="high:Q"), base.mark_circle(size=30, opacity=1).encode(x="mean:Q")
    return alt.layer(lines, dots).properties(width=SIDE, height=16 * len(order) + 10, title=title)


def _by_topic(fit: Fit) -> tuple[list[dict[str, Any]], str]:
    """Return points and their title; with many topics, those with the highest and the lowest prevalence."""
    names, topics = fit.scale.names, [] if fit.topics is None else fit.topics.cast(str).to_list()
    mean, low, high = _topic_shares(fit, len(topics))
    last = mean[:, -1]
    order = np.argsort(-last, kind="stable")
    chosen = order if order.size <= MOST_TOPICS else np.r_[order[: MOST_TOPICS // 2], order[-MOST_TOPICS // 2 :]]
    which = range(1, 2) if len(names) == 2 else range(len(names))
    points = [
        {
            "topic": topics[t],
            "label": names[k],
            "mean": float(mean[t, k]),
            "low": float(low[t, k]),
            "high": float(high[t, k]),
        }
        for t in chosen
        for k in which
    ]
    cut = f"; the {MOST_TOPICS // 2} highest and lowest of {order.size:,} topics" if chosen.size < order.size else ""
    title = f"The prevalence of {quote(names[-1])} is between {last.min():.0%} and {last.max():.0%}{cut}"
    return points, title


def _topic_shares(fit: Fit, topics: int) -> tuple[Floats, Floats, Floats]:
    """Return the mean of prevalence by topic and label (T, K) and the ends of its interval.

    If the model has a single prevalence, it is the share among a topic's items, with the uncertainty of their truths.
    """
    if fit.draws is not None and fit.draws.prevalence.shape[2] > 1:
        draws = fit.draws.prevalence.reshape(-1, *fit.draws.prevalence.shape[2:])[:, :topics]
        low, high = np.quantile(draws, (0.05, 0.95), axis=0)
        return draws.mean(axis=0), low, high
    topic = np.full(len(fit.items), -1) if fit.topic is None else fit.topic
    inside = np.eye(topics)[topic[topic >= 0]]  # (I', T)
    count = np.maximum(inside.sum(axis=0), 1)[:, None]
    p = fit.posterior[topic >= 0]
    mean = inside.T @ p / count
    error = 1.645 * np.sqrt(inside.T @ (p * (1 - p))) / count
    return mean, np.maximum(mean - error, 0), np.minimum(mean + error, 1)


def _chains(fit: Fit, draws: Draws) -> Any:
    """Return the draws of the parameter with the largest R-hat, one line per chain."""
    alt, _ = load_altair()
    series = _parameters(fit, draws)
    worst = max(series, key=lambda name: float(np.nan_to_num(r_hat(series[name]))))
    chains = series[worst]  # (C, D)
    step = max(1, chains.shape[1] // LONGEST)
    points = [
        {"draw": d, "value": float(chains[c, d]), "chain": f"chain {c + 1}"}
        for c in range(chains.shape[0])
        for d in range(0, chains.shape[1], step)
    ]
    chart = (
        data_chart(alt, points)
        .mark_line(strokeWidth=1, opacity=0.8)
        .encode(
            x=alt.X("draw:Q", title="draw"),
            y=alt.Y("value:Q", scale=alt.Scale(zero=False), title=worst),
            color=alt.Color("chain:N", scale=alt.Scale(range=list(COLOURS))),
            strokeDash=alt.StrokeDash("chain:N"),
        )
    )
    value = float(r_hat(chains))
    text = "not defined because nothing moves" if np.isnan(value) else f"{value:.3f} (at most 1.01 is good)"
    title = f"Chains of the parameter that mixes worst, {worst}: R-hat {text}"
    return chart.properties(width=WIDE, height=SIDE * 0.6, title=title)


def _parameters(fit: Fit, draws: Draws) -> dict[str, Floats]:
    """Return the chains (C, D) of the parameters of populations, or of prevalence."""
    names = fit.scale.names
    if draws.kappa.shape[2]:
        of = [*(f"judges of {quote(name)}" for name in names), "topics"]
        return {f"kappa, {name}": draws.kappa[:, :, p] for p, name in enumerate(of)} | {
            f"phi, {name}": draws.phi[:, :, p, -1] for p, name in enumerate(of)
        }
    return {f"prevalence of {quote(name)}": draws.prevalence[:, :, 0, k] for k, name in enumerate(names)}


def _evidence(fit: Fit) -> Any:
    """Return the log evidence of each EM step."""
    alt, _ = load_altair()
    points = [{"step": n, "evidence": float(value)} for n, value in enumerate(fit.evidence, start=1)]
    chart = (
        data_chart(alt, points)
        .mark_line(color=COLOURS[0], point={"shape": SHAPES[0], "size": 12})
        .encode(
            x=alt.X("step:Q", title="EM step"), y=alt.Y("evidence:Q", scale=alt.Scale(zero=False), title="log evidence")
        )
    )
    return chart.properties(width=WIDE, height=SIDE * 0.6, title=f"EM: {fit.stopped}")

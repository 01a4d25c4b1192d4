"""Pictures of the desk: SVG from numbers, without scripts and styles of its own, and the same numbers as a table.

Every function is pure. Colours come from classes of desk.css, so that they follow the scheme of the reader; shapes and
words say the same as colours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import ceil, log2, log10
from typing import NamedTuple

from markupsafe import Markup

from adjudge.studio.charts import EDGES, Moment, OverTime, Pair

WIDTH = 640.0
INTERVALS = 40  # judges up to whom all intervals are drawn; of more, those of judges who may be guessing
NAMED = 14  # judges up to whom all points have a name
DAY = 86_400
SHADES = (0.5, 0.6, 0.7, 0.8, 0.9)  # agreement from which a cell of the matrix is a shade darker
Estimate = Sequence[float]  # a value and the ends of its 90 % interval


class Picture(NamedTuple):
    """A picture, what it shows in a sentence, and its numbers as a table."""

    svg: Markup
    says: str
    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


class JudgePoint(NamedTuple):
    """A judge in the picture of judges."""

    name: str
    sensitivity: Estimate  # share of relevant documents labelled relevant
    specificity: Estimate  # share of irrelevant documents labelled irrelevant
    guessing: bool  # whether the judge may be guessing


def tag(name: str, *inner: str | Markup, **attributes: object) -> Markup:
    """Return an element with escaped attributes and content; ``class_`` is ``class``, and ``_`` in names is ``-``.

    Examples
    --------
    >>> tag("text", "a < b", x=1.25, class_="soft", text_anchor="end")
    Markup('<text x="1.2" class="soft" text-anchor="end">a &lt; b</text>')
    """
    words = (
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _plain(value)) for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), Markup("").join(words), Markup("").join(inner))


def _plain(value: object) -> object:
    """Return a coordinate with one decimal; anything else unchanged."""
    return f"{value:.1f}" if isinstance(value, float) else value


def _svg(height: float, says: str, parts: Iterable[Markup], width: float = WIDTH, kind: str = "") -> Markup:
    """Return a picture of this size, which assistive technology reads as one image."""
    box = f"0 0 {width:.0f} {height:.0f}"
    return tag("svg", *parts, viewBox=box, class_=f"chart {kind}".strip(), role="img", aria_label=says)


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "soft") -> Markup:
    """Return a text at a point: its start, middle or end."""
    return tag("text", text, x=x, y=y, text_anchor=anchor, class_=kind)


def _line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Return a line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _percent(share: float) -> str:
    """Return a share as a percentage."""
    return f"{100 * share:.0f} %"


def nice_step(largest: float, steps: int = 4) -> int:
    """Return a round number, so that about so many steps of it reach the largest value.

    Examples
    --------
    >>> nice_step(870), nice_step(3)
    (250, 1)
    """
    rough = max(largest / steps, 1)
    unit = 10 ** int(log10(rough))
    return int(
        next(unit * factor for factor in (1, 2, 2.5, 5, 10) if unit * factor >= rough and unit * factor % 1 == 0)
    )


# Judgments and certainty over time


def time_picture(data: OverTime | None, history: Sequence[Moment], target: float) -> Picture | None:
    """Return judgments per span of time as bars, and the share of certain labels as a line; None without judgments.

    Parameters
    ----------
    data
        Accepted judgments by time.
    history
        The share of certain labels at some times.
    target
        The probability from which a label is certain.
    """
    if data is None:
        return None
    left, right, top, bottom = 52.0, 574.0, 54.0, 216.0
    end = data.first + data.width * len(data.judgments)
    step = nice_step(max(data.judgments))
    highest = step * ceil(max(data.judgments) / step)
    wide = (right - left) / len(data.judgments)
    points = [point for point in history if data.first <= point.at <= end]

    def x(at: float) -> float:
        return left + (right - left) * (at - data.first) / (end - data.first)

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    parts = [
        _line(left, y(value / highest), right, y(value / highest), "grid") for value in range(0, highest + 1, step)
    ]
    parts += [_text(left - 6, y(n / highest) + 4, f"{n:,}", "end") for n in range(0, highest + 1, step)]
    parts += [_text(right + 6, y(share) + 4, _percent(share)) for share in (0.0, 0.5, 1.0) if points]
    for index, n in enumerate(data.judgments):
        at = data.first + index * data.width
        words = tag("title", f"{_moment(at)}: {n:,} judgments")
        height = (bottom - top) * n / highest
        parts.append(
            tag("rect", words, x=x(at) + 0.5, y=bottom - height, width=max(wide - 1, 0.5), height=height, class_="bar")
        )
    if points:
        path = " ".join(f"{x(point.at):.1f},{y(point.certain):.1f}" for point in points)
        parts.append(tag("polyline", points=path, class_="line"))
        parts += [_moment_mark(x(point.at), y(point.certain), point) for point in points]
    parts += _time_labels(data, x, bottom + 20)
    parts += [
        tag("rect", x=left + 6, y=6.0, width=12.0, height=12.0, class_="bar"),
        _text(left + 30, 17, "judgments accepted (left)"),
    ]
    if points:
        parts += [
            _line(left, 34, left + 24, 34, "line"),
            tag("circle", cx=left + 12, cy=34.0, r=3.5, class_="dot line"),
        ]
        parts.append(_text(left + 30, 39, f"labels with a probability of {_percent(target)} or more (right)"))
    says = f"{sum(data.judgments):,} judgments since {_moment(data.first)} UTC, with those that check judges"
    says += f"; {_percent(points[-1].certain)} of the labels are certain." if points else "."
    return Picture(_svg(246, says, parts, kind="wide"), says, *_time_table(data, points))


def _moment_mark(x: float, y: float, point: Moment) -> Markup:
    """Return a point of the line of certainty."""
    words = f"{_moment(point.at)}: {_percent(point.certain)} certain after {point.judgments:,} judgments"
    return tag("circle", tag("title", words), cx=x, cy=y, r=3.0, class_="dot line")


def _time_labels(data: OverTime, x: Callable[[float], float], y: float, most: int = 5) -> list[Markup]:
    """Return labels of the axis of time; a small screen leaves out every second one."""
    step = max(ceil(len(data.judgments) / most), 1)
    days = data.width * len(data.judgments) > 4 * DAY
    starts = [data.first + index * data.width for index in range(0, len(data.judgments), step)]
    labels = [(x(at), _moment(at, days)) for at in starts if x(at) < WIDTH - 140]
    return [
        _text(left, y, text, kind="soft between" if index % 2 else "soft") for index, (left, text) in enumerate(labels)
    ]


def _moment(at: float, day: bool = False) -> str:
    """Return a time in UTC, or only its day."""
    return datetime.fromtimestamp(at, UTC).strftime("%d %b" if day else "%d %b %H:%M")


def _time_table(data: OverTime, points: Sequence[Moment]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the table of judgments over time, with the last certainty of each span."""
    rows: list[tuple[str, ...]] = []
    for index, n in enumerate(data.judgments):
        begin = data.first + index * data.width
        inside = [point.certain for point in points if begin <= point.at < begin + data.width]
        rows.append((_moment(begin), f"{n:,}", _percent(inside[-1]) if inside else "\N{EN DASH}"))
    return ("From (UTC)", "Judgments", "Certain labels"), rows


# Judges as points


def judges_picture(judges: Sequence[JudgePoint]) -> Picture | None:
    """Return every judge as a point: how well they find relevant documents, and how well they reject others."""
    if not judges:
        return None
    left, right, top, bottom = 52.0, 412.0, 34.0, 394.0

    def x(share: float) -> float:
        return left + (right - left) * share

    def y(share: float) -> float:
        return bottom - (bottom - top) * share

    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts += [_line(x(share), top, x(share), bottom, "grid"), _line(left, y(share), right, y(share), "grid")]
        parts += [
            _text(x(share), bottom + 16, _percent(share), "middle"),
            _text(left - 6, y(share) + 4, _percent(share), "end"),
        ]
    parts += [_line(x(0), y(1), x(1), y(0), "chance")]
    parts.append(
        tag(
            "text", "guessing", transform=f"rotate(45 {x(0.2):.0f} {y(0.8):.0f})", x=x(0.2), y=y(0.8) - 6, class_="soft"
        )
    )
    for judge in judges:
        if len(judges) <= INTERVALS or judge.guessing:
            parts += _intervals(judge, x, y)
    for judge in sorted(judges, key=lambda judge: judge.guessing):
        parts.append(_judge_mark(judge, x(judge.specificity[0]), y(judge.sensitivity[0])))
    if len(judges) <= NAMED:
        parts += _names([(judge.name, x(judge.specificity[0]), y(judge.sensitivity[0])) for judge in judges])
    parts += [_text(left, 12, "Relevant documents labelled relevant", kind="axis")]
    parts += [_text(right, bottom + 34, "Irrelevant documents labelled irrelevant", "end", "axis")]
    parts += [_mark("circle", left + 6, bottom + 52), _text(left + 18, bottom + 56, "better than guessing")]
    parts += [_mark("triangle", left + 206, bottom + 52), _text(left + 218, bottom + 56, "may be guessing")]
    guessing = sum(judge.guessing for judge in judges)
    says = f"{len(judges):,} judges; {guessing:,} of them may be guessing."
    head = ("Judge", "Relevant found", "Irrelevant rejected", "May be guessing")
    worst = sorted(judges, key=lambda judge: judge.sensitivity[0] + judge.specificity[0])
    rows = [
        (judge.name, _interval(judge.sensitivity), _interval(judge.specificity), "yes" if judge.guessing else "no")
        for judge in worst[:INTERVALS]
    ]
    return Picture(_svg(456, says, parts, 440, "square"), says, head, rows)


def _names(points: Sequence[tuple[str, float, float]]) -> list[Markup]:
    """Return the names of points, each where it covers no other name; a name without room is left out."""
    placed: list[tuple[float, float, float]] = []  # ends and height of names
    parts = []
    for name, x, y in points:
        width = 6.5 * len(_short(name))
        for above in (14.0, -8.0, 27.0, -21.0):
            start, end, height = x - 7 - width, x - 7, y + above
            if all(end < left or right < start or abs(height - other) >= 12 for left, right, other in placed):
                placed.append((start, end, height))
                parts.append(_text(end, height, _short(name), "end", "name"))
                if abs(above) > 14:  # a line leads from a name that is not beside its point
                    parts.append(_line(end + 1, height - 4, x - 3, y, "grid"))
                break
    return parts


def _intervals(judge: JudgePoint, x: Callable[[float], float], y: Callable[[float], float]) -> list[Markup]:
    """Return the 90 % intervals of a judge as a cross."""
    kind = "interval guess" if judge.guessing else "interval"
    (find, least, most), (reject, low, high) = judge.sensitivity, judge.specificity
    return [_line(x(low), y(find), x(high), y(find), kind), _line(x(reject), y(least), x(reject), y(most), kind)]


def _judge_mark(judge: JudgePoint, x: float, y: float) -> Markup:
    """Return the point of a judge with their name and numbers."""
    words = f"{judge.name}: finds {_interval(judge.sensitivity)}, rejects {_interval(judge.specificity)}"
    return _mark("triangle" if judge.guessing else "circle", x, y, words)


def _mark(shape: str, x: float, y: float, words: str = "") -> Markup:
    """Return a circle or a triangle."""
    inner = (tag("title", words),) if words else ()
    if shape == "circle":
        return tag("circle", *inner, cx=x, cy=y, r=4.0, class_="dot")
    corners = f"{x:.1f},{y - 6:.1f} {x + 5.5:.1f},{y + 4:.1f} {x - 5.5:.1f},{y + 4:.1f}"
    return tag("polygon", *inner, points=corners, class_="dot guess")


def _interval(estimate: Estimate) -> str:
    """Return an estimate with its interval in words."""
    value, low, high = estimate[:3]
    return f"{_percent(value)} ({_percent(low)} to {_percent(high)})"


# Time per judgment


def seconds_picture(bars: Sequence[int], gate: float) -> Picture | None:
    """Return how long judges took per document, with the line of the gate; None without any documents.

    Parameters
    ----------
    bars
        How many documents took the seconds from one of ``EDGES`` to the next.
    gate
        The fewest seconds that pass; 0 for no limit.
    """
    total = sum(bars)
    if not total:
        return None
    left, right, top, bottom = 20.0, 624.0, 34.0, 194.0
    used = max(index for index, n in enumerate(bars) if n) + 1
    wide = (right - left) / used
    highest = max(bars)
    parts = [_line(left, bottom, right, bottom, "grid")]
    fast = 0
    for index, n in enumerate(bars[:used]):
        below = index + 1 < len(EDGES) and EDGES[index + 1] <= gate
        fast += n if below else 0
        height = (bottom - top) * n / highest
        x = left + index * wide
        words = tag("title", f"{_seconds(index)}: {n:,} documents")
        kind = "bar below" if below else "bar"
        parts.append(tag("rect", words, x=x + 1, y=bottom - height, width=wide - 2, height=height, class_=kind))
        parts.append(_text(x + wide / 2, bottom - height - 4, _percent(n / total) if n else "", "middle", "value"))
        parts.append(_text(x, bottom + 20, str(EDGES[index]), "middle"))
    parts.append(_text(right, bottom + 42, "seconds per document", "end", "axis"))
    if gate > 0:
        x = left + wide * min(_edge_position(gate), used)
        parts += [_line(x, top - 12, x, bottom, "limit"), _text(x + 5, top - 3, f"gate: {gate:g} s")]
    middle = _median_bar(bars)
    says = f"Half of {total:,} documents took at least {EDGES[middle]} seconds"
    says += f"; {_percent(fast / total)} took less than the {gate:g} seconds of the gate." if gate > 0 else "."
    rows = [(_seconds(index), f"{n:,}", _percent(n / total)) for index, n in enumerate(bars[:used])]
    return Picture(_svg(246, says, parts, kind="wide"), says, ("Seconds", "Documents", "Share"), rows)


def _seconds(index: int) -> str:
    """Return the seconds of a bar in words."""
    return f"{EDGES[index]} to {EDGES[index + 1]}" if index + 1 < len(EDGES) else f"{EDGES[index]} or more"


def _edge_position(seconds: float) -> float:
    """Return where a time is among the bars: 2.5 is the middle of the third."""
    for index, (low, high) in enumerate(pairwise(EDGES)):
        if seconds < high:
            share = log2(seconds / low) / log2(high / low) if low else seconds / high
            return index + share
    return len(EDGES) - 1.0


def _median_bar(bars: Sequence[int]) -> int:
    """Return the bar with the median."""
    reached = 0
    for index, n in enumerate(bars):
        reached += n
        if 2 * reached >= sum(bars):
            return index
    return 0


# Agreement of pairs


def pairs_picture(pairs: Sequence[Pair], judges: int, names: Mapping[int, str]) -> Picture | None:
    """Return how often pairs of judges agree: all pairs of few judges, or those furthest above what is expected.

    Parameters
    ----------
    pairs
        As ``charts.pair_agreements`` returns them.
    judges
        The number of judges.
    names
        The names of people.
    """
    if not pairs:
        return None
    people = sorted({pair.first for pair in pairs} | {pair.second for pair in pairs}, key=lambda n: names.get(n, ""))
    complete = len(pairs) * 2 <= judges * (judges - 1) and len(people) <= NAMED and len(people) == judges
    picture = _matrix(pairs, people, names) if complete else _strongest(pairs, names)
    head = ("Judges", "Shared items", "Same label", "Expected", "Standard errors above")
    rows = [
        (
            f"{names.get(pair.first, pair.first)} and {names.get(pair.second, pair.second)}",
            f"{pair.shared:,}",
            _percent(pair.agreed / pair.shared),
            _percent(pair.expected / pair.shared),
            f"{pair.z:.1f}",
        )
        for pair in pairs
    ]
    return Picture(*picture, head, rows)


def _matrix(pairs: Sequence[Pair], people: Sequence[int], names: Mapping[int, str]) -> tuple[Markup, str]:
    """Return the agreement of all pairs as a triangle of cells."""
    left, top = 110.0, 12.0
    cell = min((WIDTH - left) / max(len(people) - 1, 1), 58.0)
    tall = min(cell, 30.0)
    position = {person: index for index, person in enumerate(people)}
    parts = []
    for pair in pairs:
        column, row = sorted((position[pair.first], position[pair.second]))
        share = pair.agreed / pair.shared
        x, y = left + column * cell, top + (row - 1) * tall
        words = f"{names.get(pair.first)} and {names.get(pair.second)}: {pair.agreed} of {pair.shared} items"
        shade = sum(share >= limit for limit in SHADES)
        box = {"x": x + 1, "y": y + 1, "width": cell - 2, "height": tall - 2}
        parts.append(tag("rect", tag("title", words), **box, class_=f"cell shade-{shade}"))
        parts.append(_text(x + cell / 2, y + tall / 2 + 4, f"{100 * share:.0f}", "middle", "value"))
    below = top + (len(people) - 1) * tall
    parts += [
        _text(left - 8, top + (i - 0.5) * tall + 4, _short(names.get(n, "")), "end", "name")
        for i, n in enumerate(people)
        if i
    ]
    for index, person in enumerate(people[:-1]):
        parts.append(_text(left + (index + 0.5) * cell, below + 18, _short(names.get(person, ""), 8), "middle", "name"))
    low, high = (pick(pairs, key=lambda pair: pair.agreed / pair.shared) for pick in (min, max))
    ends = (_percent(pair.agreed / pair.shared) for pair in (low, high))
    says = f"Pairs of judges give the same label to {' to '.join(ends)} of the items that both judged."
    return _svg(below + 28, says, parts, kind="wide fixed"), says


def _strongest(pairs: Sequence[Pair], names: Mapping[int, str]) -> tuple[Markup, str]:
    """Return the pairs that agree most beyond what is expected, one line each."""
    left, right, top, tall = 230.0, 600.0, 38.0, 24.0
    bottom = top + tall * len(pairs)

    def x(share: float) -> float:
        return left + (right - left) * share

    parts = [_line(x(share), top - 8, x(share), bottom, "grid") for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    parts += [_text(x(share), bottom + 18, _percent(share), "middle") for share in (0.0, 0.5, 1.0)]
    for index, pair in enumerate(pairs):
        y = top + (index + 0.5) * tall
        who = f"{_short(names.get(pair.first, ''), 14)} and {_short(names.get(pair.second, ''), 14)}"
        expected, agreed = x(pair.expected / pair.shared), x(pair.agreed / pair.shared)
        parts += [_text(left - 10, y + 4, who, "end", "name"), _line(expected, y, agreed, y, "interval")]
        parts.append(tag("circle", cx=expected, cy=y, r=4.0, class_="dot hollow"))
        words = f"{who}: {pair.agreed} of {pair.shared} items the same, {pair.expected:.1f} expected"
        parts.append(_mark("triangle", agreed, y, words))
    parts += [
        tag("circle", cx=left + 6, cy=13.0, r=4.0, class_="dot hollow"),
        _text(left + 16, 17, "expected if independent"),
    ]
    parts += [_mark("triangle", left + 226, 13), _text(left + 238, 17, "same label")]
    strongest = pairs[0]
    says = (
        "Of the pairs that agree most beyond what is expected, the first gave the same label to "
        f"{strongest.agreed} of {strongest.shared} items, where {strongest.expected:.1f} are expected."
    )
    return _svg(bottom + 28, says, parts, kind="wide fixed"), says


def _short(name: str, most: int = 16) -> str:
    """Return a name that is not longer than the room for it."""
    return name if len(name) <= most else name[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"

"""Numbers as the desk writes them: short, and a dash where there is none."""

from __future__ import annotations

from datetime import UTC, datetime

NONE = "\N{EN DASH}"
SPANS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def percent(share: float | None, digits: int = 0) -> str:
    """Return a share of one as a percentage."""
    return NONE if share is None or share != share else f"{100 * share:.{digits}f} %"


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with so many digits after the point."""
    return NONE if value is None or value != value else f"{value:,.{digits}f}"


def count(value: int | None) -> str:
    """Return how many, thousands set apart."""
    return NONE if value is None else f"{value:,}"


def span(seconds: float | None) -> str:
    """Return a length of time in its largest unit, with one digit where it is small: 45 s, 3 min, 2.5 h, 4 d."""
    if seconds is None:
        return NONE
    size, unit = next(((size, unit) for size, unit in SPANS if seconds >= size), SPANS[-1])
    many = max(seconds, 0.0) / size
    return f"{many:.1f} {unit}" if many < 10 and size >= 3_600 else f"{many:.0f} {unit}"


def ago(at: float | None, now: float) -> str:
    """Return how long ago something was."""
    return "never" if at is None else "just now" if now - at < 5 else f"{span(now - at)} ago"


def moment(at: float | None) -> str:
    """Return a point in time, in UTC, to the minute."""
    return NONE if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def precise(at: float) -> str:
    """Return a point in time as programs read it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def relevance(value: int | None) -> str:
    """Return a label in words."""
    return {1: "relevant", 0: "irrelevant"}.get(value, "cannot tell") if value is not None else "cannot tell"


def given(labels: str) -> str:
    """Return the labels of an item, counted: "2 relevant, 1 irrelevant"; another text stays as it is."""
    words = labels.replace(",", " ").split()
    if set(words) - {"relevant", "irrelevant"}:
        return labels
    return ", ".join(f"{words.count(word)} {word}" for word in ("relevant", "irrelevant") if word in words)


def grade(value: int) -> str:
    """Return a grade of gold in words."""
    return ("irrelevant", "relevant", "highly relevant")[value]

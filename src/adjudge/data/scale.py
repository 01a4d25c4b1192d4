"""Scales of labels: nominal, or ordinal with the order that the user gives or that numbers have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from adjudge.errors import UsageError, quoted

Label: TypeAlias = str | int | float | bool

READ: Mapping[type, Callable[[str], Label]] = {  # how a label of each type is read from its name
    str: str,
    int: lambda name: int(name.removesuffix(".0")),
    float: float,
    bool: {"False": False, "True": True}.__getitem__,
}


@dataclass(frozen=True)
class Scale:
    """The labels that judges may give, in order.

    Parameters
    ----------
    labels
        Every label once.
    ordinal
        Whether the order has a meaning, lowest first.

    Examples
    --------
    >>> scale = Scale(("no", "maybe", "yes"), ordinal=True)
    >>> len(scale), scale.values, scale.places(["yes", "never"])
    (3, (0.0, 1.0, 2.0), [2, None])
    """

    labels: tuple[Label, ...]
    ordinal: bool = False

    def __post_init__(self) -> None:
        if not self.labels:
            raise UsageError("a scale needs at least one label")
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise UsageError(f"the scale names {quoted(twice)} twice; give every label once")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as text, for column names and people."""
        return tuple(str(label) for label in self.labels)

    @property
    def values(self) -> tuple[float, ...]:
        """The value of each label: its number if all are numbers, else its position, 0 to K - 1."""
        numbers = [number for label in self.labels if (number := number_of(label)) is not None]
        return tuple(numbers) if len(numbers) == len(self.labels) else tuple(map(float, range(len(self.labels))))

    def places(self, labels: Iterable[Label]) -> list[int | None]:
        """Return the positions of labels on the scale, by name or else as numbers (1.0 is 1); None if there is none."""
        by_name = {name: k for k, name in enumerate(self.names)}
        by_number = {number_of(label): k for k, label in enumerate(self.labels)} | {None: None}
        return [by_name.get(str(label), by_number.get(number_of(label))) for label in labels]


def scale_of(labels: Iterable[Label], ordinal: bool = False) -> Scale:
    """Return the scale of labels that occur: numbers in numeric order, others by name.

    >>> scale_of(["10", "9"]).labels, scale_of(["yes", "no"]).labels
    (('9', '10'), ('no', 'yes'))
    """
    labels = list(labels)
    numbers = [number for label in labels if (number := number_of(label)) is not None]
    if len(numbers) == len(labels):
        return Scale(tuple(label for _, label in sorted(zip(numbers, labels, strict=True))), ordinal)
    if ordinal:
        raise UsageError(
            f"the order of the labels {quoted(sorted(map(str, labels)))} is not known: "
            "give it, lowest first, with --labels (labels=... in Python)"
        )
    return Scale(tuple(sorted(labels, key=str)))


def given_scale(labels: Sequence[Label], ordinal: bool, like: Label) -> Scale:
    """Return the scale that a user gives, in the type of the labels of the table.

    ``like`` is one of these labels. If their type cannot hold the labels that the user gives, the scale has texts.

    >>> given_scale(["0", "1", "2"], ordinal=True, like=1).labels
    (0, 1, 2)
    """
    if isinstance(labels, str):
        raise UsageError(f"labels {labels!r} is one text: give a list of labels")
    names = Scale(tuple(labels)).names
    try:
        return Scale(tuple(READ[type(like)](name) for name in names), ordinal)
    except (KeyError, ValueError):  # the type of the table cannot hold them
        return Scale(names, ordinal)


def number_of(label: Label) -> float | None:
    """Return the value of a numeric label, None for text."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if value == value and "_" not in str(label) else None  # "nan" is text, and so is "1_000"

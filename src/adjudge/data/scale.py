"""Scales of labels: nominal, or ordinal with the order that the user gives or that numbers have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias

from adjudge.errors import UsageError, quote, quoted

Label: TypeAlias = str | int | float | bool

INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))  # zero-width spaces, soft hyphens
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
    values
        The value of each label. By default its number if all labels are numbers, else its position, 0 to K - 1.

    Examples
    --------
    >>> scale = Scale(("no", "maybe", "yes"), ordinal=True)
    >>> len(scale), scale.values, scale.places(["yes", "never"])
    (3, (0.0, 1.0, 2.0), [2, None])
    """

    labels: tuple[Label, ...]
    ordinal: bool = False
    values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.labels:
            raise UsageError("a scale needs at least one label")
        twice = [name for name, count in Counter(self.names).items() if count > 1]
        if twice:
            raise UsageError(f"the scale names {quoted(twice)} twice; give every label once")
        object.__setattr__(self, "values", self.values or default_values(self.labels))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as text, for column names and people."""
        return tuple(str(label) for label in self.labels)

    @property
    def given_values(self) -> dict[Label, float] | None:
        """The values that a user gave to the labels, None if each label has its default value."""
        if self.values == default_values(self.labels):
            return None
        return dict(zip(self.labels, self.values, strict=True))

    def places(self, labels: Iterable[Label]) -> list[int | None]:
        """Return the positions of labels on the scale, by name or else as numbers (1.0 is 1); None if there is none."""
        by_name = {name: k for k, name in enumerate(self.names)}
        by_number = {number_of(label): k for k, label in enumerate(self.labels)} | {None: None}
        return [by_name.get(str(label), by_number.get(number_of(label))) for label in labels]


Labels: TypeAlias = Sequence[Label] | Scale
Values: TypeAlias = Mapping[Any, float]  # of labels


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
            "give it, lowest first, with --labels"
        )
    return Scale(tuple(sorted(labels, key=str)))


def default_values(labels: Sequence[Label]) -> tuple[float, ...]:
    """Return the number of each label if all are numbers, else its position, 0 to K - 1."""
    numbers = [number for label in labels if (number := number_of(label)) is not None]
    return tuple(numbers) if len(numbers) == len(labels) else tuple(map(float, range(len(labels))))


def given_scale(labels: Labels | None, ordinal: bool, like: Label, values: Values | None = None) -> Scale:
    """Return the scale that a user gives, in the type of the labels of the table.

    ``labels`` may be a scale already, such as that of a fit. ``like`` is one of the labels of the table: if their type
    cannot hold the labels that the user gives, the scale has texts. Labels that are given values are ordered by them.

    >>> given_scale(["0", "1", "2"], ordinal=True, like=1).labels
    (0, 1, 2)
    >>> given_scale(None, ordinal=False, like="good", values={"good": 3, "bad": 0})
    Scale(labels=('bad', 'good'), ordinal=True, values=(0.0, 3.0))
    """
    if isinstance(labels, str):
        raise UsageError(f"labels {labels!r} is one text: give a list of labels")
    if isinstance(labels, Scale):
        ordinal, values, labels = labels.ordinal, values or labels.given_values, labels.labels
    if values is not None:
        labels, numbers = _with_values(labels, values)
    names = Scale(tuple(labels or ())).names
    ordered, worth = ordinal or values is not None, () if values is None else numbers
    try:
        return Scale(tuple(READ[type(like)](name) for name in names), ordered, worth)
    except (KeyError, ValueError):  # the type of the table cannot hold them
        return Scale(names, ordered, worth)


def _with_values(labels: Sequence[Label] | None, values: Values) -> tuple[Sequence[Label], tuple[float, ...]]:
    """Return labels in the order of their values, and the values; refuse values that do not fit the labels."""
    if not isinstance(values, Mapping) or not values:
        raise UsageError(f"values {values!r} is not a mapping from every label to its value")
    wrong = [(label, value) for label, value in values.items() if not _is_finite(value)]
    if wrong:
        raise UsageError(f"the value {quote(wrong[0][1])} of label {quote(wrong[0][0])} is not a number")
    in_order = sorted(values, key=lambda label: float(values[label]))
    scale = Scale(tuple(in_order if labels is None else labels))
    value = {k: float(values[label]) for label, k in zip(values, scale.places(values), strict=True)}
    if set(value) != set(range(len(scale))):
        raise UsageError(f"values are given to {quoted(map(str, values))}, but the labels are {quoted(scale.names)}")
    numbers = tuple(value[k] for k in range(len(scale)))
    for k in range(1, len(scale)):
        if numbers[k] <= numbers[k - 1]:
            pair = f"{quote(scale.names[k - 1])} has {numbers[k - 1]:g} and {quote(scale.names[k])} has {numbers[k]:g}"
            raise UsageError(f"values must rise from each label to the next, but {pair}")
    return scale.labels, numbers


def _is_finite(value: Any) -> bool:
    """Whether a value is a finite number."""
    try:
        return isfinite(float(value))
    except (TypeError, ValueError):
        return False


def number_of(label: Label) -> float | None:
    """Return the value of a numeric label, None for text."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if value == value and "_" not in str(label) else None  # "nan" is text, and so is "1_000"

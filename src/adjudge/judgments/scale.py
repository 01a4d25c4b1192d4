"""Label scales: nominal, or ordinal with an order that is given or numeric, never guessed from text."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from adjudge.errors import UsageError, quoted

Label: TypeAlias = str | int | float | bool


@dataclass(frozen=True)
class Scale:
    """The labels judges may give, in order; the order means something only when ``ordinal``."""

    labels: tuple[Label, ...]
    ordinal: bool = False

    def __post_init__(self) -> None:
        twice = sorted({str(label) for label in self.labels if self.labels.count(label) > 1})
        if twice:
            raise UsageError(f"the scale names {quoted(twice)} twice; give every label once")

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def names(self) -> tuple[str, ...]:
        """The labels as text, for column names and people."""
        return tuple(str(label) for label in self.labels)


def scale_of(seen: Iterable[Label], ordinal: bool = False) -> Scale:
    """Return the scale of the labels seen: numeric labels in their numeric order, others by name."""
    labels = list(seen)
    numbers = [_number(label) for label in labels]
    if all(number is not None for number in numbers):
        return Scale(tuple(label for _, label in sorted(zip(numbers, labels, strict=True))), ordinal)
    if ordinal:
        raise UsageError(
            f"the order of the labels {quoted(sorted(map(str, labels)))} is not known: "
            "give it, lowest first, with --labels (labels=... in Python)"
        )
    return Scale(tuple(sorted(labels, key=str)))


def _number(label: Label) -> float | None:
    """Return the value of a numeric label, None for text."""
    try:
        value = float(label)
    except ValueError:
        return None
    return value if value == value else None  # "nan" is text

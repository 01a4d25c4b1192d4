"""What the consensus found, as the desk reads it: the files that ``consensus`` leaves in the campaign's folder.

They are written by another process, whole or not at all. Where one is missing or cannot be read there is nothing yet.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from adjudge.studio.consensus.beliefs import BELIEF, FOLDER, ITEMS, JUDGES, SUMMARY
from adjudge.studio.record.schema import counts, items, judgments

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection


class Judges(NamedTuple):
    """What the consensus says of judges."""

    cards: Mapping[int, Mapping[str, Any]]  # by person
    drift: str
    reliability: str = ""  # whether labels are right as often as the consensus says


class ItemFound(NamedTuple):
    """What the consensus says of one item."""

    item: int
    topic: str
    document: str
    relevance: float  # the probability that it is relevant
    judgments: int

    @property
    def label(self) -> int:
        """Return the more likely relevance."""
        return int(self.relevance >= 0.5)

    @property
    def probability(self) -> float:
        """Return how likely the label is."""
        return max(self.relevance, 1 - self.relevance)

    @property
    def entropy(self) -> float:
        """Return how open it is, in bits."""
        return -sum(p * log2(p) for p in (self.relevance, 1 - self.relevance) if p > 0)


def summary_found(folder: Path) -> Mapping[str, Any] | None:
    """Return what the last consensus says in a few numbers."""
    found = _read(folder, SUMMARY)
    return found if isinstance(found, dict) else None


def judges_found(folder: Path) -> Judges:
    """Return the cards of judges by the person's number, and what is said of their changes."""
    found = _read(folder, JUDGES)
    if not isinstance(found, dict):
        return Judges({}, "")
    return Judges({card["person"]: card for card in found["judges"]}, found["drift"], found.get("reliability", ""))


def looks_found(folder: Path) -> Mapping[str, Any]:
    """Return the items that deserve a second look, by reason."""
    found = _read(folder, ITEMS)
    return found if isinstance(found, Mapping) else {}


def belief_found(folder: Path) -> NDArray[np.float64] | None:
    """Return the probability that each item is relevant, (I,) by its number."""
    try:
        return np.asarray(np.load(folder / FOLDER / BELIEF, allow_pickle=False), np.float64)
    except (OSError, ValueError):
        return None


def items_found(
    connection: Connection, folder: Path, fresh: NDArray[np.float64] | None = None
) -> Iterator[ItemFound] | None:
    """Return what the consensus, or a fresh one, says of every item, in their order; None where there is none yet."""
    belief = belief_found(folder) if fresh is None else fresh
    return None if belief is None else _items(connection, belief)


def _items(connection: Connection, belief: NDArray[np.float64]) -> Iterator[ItemFound]:
    """Yield items with their belief and how often they were judged by judges who are not excluded."""
    each = select(judgments.c.item, func.count().label("n")).where(counts()).group_by(judgments.c.item).subquery()
    found = (
        select(items.c.id, items.c.topic, items.c.document, func.coalesce(each.c.n, 0))
        .select_from(items.outerjoin(each, each.c.item == items.c.id))
        .order_by(items.c.id)
    )
    for item, topic, document, n in connection.execution_options(yield_per=2_000).execute(found):
        if item < len(belief) and np.isfinite(belief[item]):
            yield ItemFound(item, topic, document, float(belief[item]), n)


def _read(folder: Path, name: str) -> Any:
    """Return what a file of the consensus says."""
    try:
        return json.loads((folder / FOLDER / name).read_text("utf-8"))
    except (OSError, ValueError):
        return None

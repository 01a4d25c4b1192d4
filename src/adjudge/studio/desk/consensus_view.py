"""What the consensus says, as the desk reads it: from the files that ``consensus`` writes to the campaign's folder.

Another process writes these files, each completely or not at all. A file that is missing or cannot be read means that
there is no consensus yet. Exports from the command line use ``fresh_belief``, which includes every judgment.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from adjudge.errors import AdjudgeWarning
from adjudge.studio.consensus.beliefs import BELIEF, FOLDER, ITEMS, JUDGES, SUMMARY
from adjudge.studio.consensus.consensus import accepted_judgments, consensus, mark
from adjudge.studio.record.schema import counts, items, judgments

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from adjudge.studio.campaign import Campaign


class JudgeCards(NamedTuple):
    """What the consensus says about judges."""

    cards: Mapping[int, Mapping[str, Any]]  # by person
    drift: str
    reliability: str = ""  # whether labels are right as often as the consensus says


class ItemBelief(NamedTuple):
    """What the consensus says about one item."""

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
        """Return the probability of the label."""
        return max(self.relevance, 1 - self.relevance)

    @property
    def entropy(self) -> float:
        """Return the entropy of the relevance, in bits."""
        return -sum(p * log2(p) for p in (self.relevance, 1 - self.relevance) if p > 0)


def read_summary(folder: Path) -> Mapping[str, Any] | None:
    """Return the numbers of the last consensus."""
    summary = _read(folder, SUMMARY)
    return summary if isinstance(summary, dict) else None


def read_judge_cards(folder: Path) -> JudgeCards:
    """Return the cards of judges by the person's number, and a sentence on drift."""
    content = _read(folder, JUDGES)
    if not isinstance(content, dict):
        return JudgeCards({}, "")
    cards = {card["person"]: card for card in content["judges"]}
    return JudgeCards(cards, content["drift"], content.get("reliability", ""))


def read_looks(folder: Path) -> Mapping[str, Any]:
    """Return the items that deserve a second look, by reason."""
    looks = _read(folder, ITEMS)
    return looks if isinstance(looks, Mapping) else {}


def read_belief(folder: Path) -> NDArray[np.float64] | None:
    """Return the probability that each item is relevant, (I,) by its number."""
    try:
        return np.asarray(np.load(folder / FOLDER / BELIEF, allow_pickle=False), np.float64)
    except (OSError, ValueError):
        return None


def fresh_belief(connection: Connection, campaign: Campaign) -> NDArray[np.float64] | None:
    """Return the probability that each item is relevant given every judgment, (I,) by its number; None without any.

    The belief in the folder is used if no judgment came since; otherwise the model is fitted in memory, so that the
    folder may be read-only and a studio that is running is not disturbed.
    """
    if not connection.scalar(select(func.count()).select_from(judgments)):
        return None
    model = campaign.settings.consensus.model
    summary, belief = read_summary(campaign.folder) or {}, read_belief(campaign.folder)
    if belief is not None and summary.get("mark") == f"{model} {mark(connection, campaign.gold)}":
        return belief
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdjudgeWarning)
        return np.asarray(consensus(accepted_judgments(connection, campaign.gold), model).belief, np.float64)


def read_item_beliefs(
    connection: Connection, folder: Path, fresh: NDArray[np.float64] | None = None
) -> Iterator[ItemBelief] | None:
    """Return what the consensus, or a fresh one, says about every item in order; None without a consensus."""
    belief = read_belief(folder) if fresh is None else fresh
    return None if belief is None else _iterate_items(connection, belief)


def _iterate_items(connection: Connection, belief: NDArray[np.float64]) -> Iterator[ItemBelief]:
    """Yield items with their belief and the number of their judgments by judges who are not excluded."""
    tally = select(judgments.c.item, func.count().label("n")).where(counts()).group_by(judgments.c.item).subquery()
    query = (
        select(items.c.id, items.c.topic, items.c.document, func.coalesce(tally.c.n, 0))
        .select_from(items.outerjoin(tally, tally.c.item == items.c.id))
        .order_by(items.c.id)
    )
    for item, topic, document, n in connection.execution_options(yield_per=2_000).execute(query):
        if item < len(belief) and np.isfinite(belief[item]):
            yield ItemBelief(item, topic, document, float(belief[item]), n)


def _read(folder: Path, name: str) -> Any:
    """Return the content of a JSON file of the consensus, or None."""
    try:
        return json.loads((folder / FOLDER / name).read_text("utf-8"))
    except (OSError, ValueError):
        return None

"""The items of a campaign in arrays: how often each was judged, how often it is out with a judge, who has met it.

It also says how much one more judgment is expected to tell about an item, and when an item needs no more. With
P(relevant) = p and a judge who gives label ``l`` to truth ``k`` with probability theta_kl, the mutual information of
truth and label is H(p theta) - sum_k p(k) H(theta_k), in bits. It is near 0 for an item that is almost settled; the
next item to judge is the one with the most expected information.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adjudge.arrays import Codes, Flags, Floats, frozen
from adjudge.studio.campaign import Campaign
from adjudge.studio.records import GRADES, Pair
from adjudge.studio.settings import Redundancy

Ids = NDArray[np.int64]
LEAST = 1e-300  # replaces a probability of 0 in a logarithm
TYPICAL = frozen(np.array([[0.85, 0.15], [0.15, 0.85]]))  # the confusion of a judge before there is any data


class Items:
    """Counts per item in arrays (I,), indexed by the item's id; ids begin at 1."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = [("", "")]
        self.ids: dict[Pair, int] = {}
        self.judged = np.zeros(1, np.int16)  # judgments that count
        self.leased = np.zeros(1, np.int16)  # slots out with judges
        self.undecided = np.zeros(1, np.int16)  # judgments "cannot tell"
        self.shown = np.zeros(1, np.int32)  # gold sets in which the item was given to a judge
        self.pooled = np.zeros(1, bool)  # whether it is to be judged; items of fixed sets are not
        self.topics: dict[str, int] = {}
        self.topic_items: list[Ids] = []  # the pooled items of each topic
        self.topic = np.zeros(1, np.int32)  # index of the topic of pooled items
        self.gold: dict[str, tuple[list[int], ...]] = {}  # by topic: items of which gold sets are drawn, by grade
        self.block = np.zeros(1, np.int32)  # pooled items of a topic in blocks as large as its gold

    def add(self, id: int, pair: Pair) -> None:  # noqa: A002
        """Add an item; arrays grow if necessary."""
        if id != len(self.pairs):
            raise ValueError(f"the id of the next item is {len(self.pairs)}, not {id}")
        self.pairs.append(pair)
        self.ids[pair] = id
        if id >= len(self.judged):
            more = np.zeros(len(self.judged), np.int16)
            self.shown = np.concatenate([self.shown, more.astype(np.int32)])
            self.judged, self.leased, self.undecided = (
                np.concatenate([counts, more]) for counts in (self.judged, self.leased, self.undecided)
            )

    def pool(self, campaign: Campaign) -> None:
        """Set which of the items are to be judged, by topic."""
        size = len(self.pairs)
        self.judged, self.leased, self.undecided = (
            counts[:size].copy() for counts in (self.judged, self.leased, self.undecided)
        )
        self.shown = self.shown[:size].copy()
        self.pooled, self.topic = np.zeros(size, bool), np.zeros(size, np.int32)
        topics = self.topics = {name: t for t, name in enumerate(campaign.topics)}
        for pair in campaign.pool:
            if (id_ := self.ids.get(pair)) is not None:
                self.pooled[id_], self.topic[id_] = True, topics[pair[0]]
        order = np.flatnonzero(self.pooled)
        order = order[np.argsort(self.topic[order], kind="stable")]
        ends = np.cumsum(np.bincount(self.topic[order], minlength=len(topics)))
        self.topic_items = np.split(order, ends[:-1]) if len(ends) else []
        self._pool_gold(campaign)

    def _pool_gold(self, campaign: Campaign) -> None:
        """Set of which items gold sets are drawn, and divide the other items of their topics into blocks.

        Sets are made of one block if possible: documents that are gold then recur together as often as others do.
        """
        self.gold, self.block = {}, np.zeros(len(self.pairs), np.int32)
        for pair in campaign.drawn:
            if (id_ := self.ids.get(pair)) is not None:
                self.gold.setdefault(pair[0], tuple([] for _ in GRADES))[campaign.gold[pair].grade].append(id_)
        for topic, by_grade in self.gold.items():
            ids = self.topic_items[self.topics[topic]]
            blocks = max(1, round(len(ids) / sum(map(len, by_grade))))
            self.block[ids] = np.arange(len(ids)) * blocks // max(len(ids), 1)

    def count(self, ids: Sequence[int] | Ids, by: int) -> None:
        """Add ``by`` to the judgments of items."""
        np.add.at(self.judged, np.asarray(ids, np.int64), by)

    def lease(self, ids: Sequence[int], by: int) -> None:
        """Add ``by`` to the slots of items that are out with judges."""
        np.add.at(self.leased, np.asarray(ids, np.int64), by)


class ItemSet:
    """A set of item ids, one bit per item."""

    __slots__ = ("_bits",)

    def __init__(self, items: int) -> None:
        self._bits = bytearray((items >> 3) + 1)

    def add(self, item: int) -> None:
        """Add an item."""
        self._reach(item)
        self._bits[item >> 3] |= 1 << (item & 7)

    def add_all(self, ids: Ids) -> None:
        """Add many items."""
        if len(ids):
            self._reach(int(ids.max()))
            bits = np.frombuffer(self._bits, np.uint8).copy()
            np.bitwise_or.at(bits, ids >> 3, (1 << (ids & 7)).astype(np.uint8))
            self._bits[:] = bits.tobytes()

    def __contains__(self, item: object) -> bool:
        return isinstance(item, int) and item >> 3 < len(self._bits) and bool(self._bits[item >> 3] >> (item & 7) & 1)

    def among(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which of these items are in the set."""
        if len(ids):
            self._reach(int(ids.max()))
        # a copy, because the bytearray cannot grow while a view of it exists
        bits = np.frombuffer(bytes(self._bits), np.uint8)
        flags: NDArray[np.bool_] = ((bits[ids >> 3] >> (ids & 7).astype(np.uint8)) & 1).astype(bool)
        return flags

    def _reach(self, item: int) -> None:
        """Make room for an item that was added after the set."""
        if item >> 3 >= len(self._bits):
            self._bits += bytearray((item >> 3) + 1 - len(self._bits))


# What one more judgment tells


def expected_information(belief: Floats, confusion: Floats) -> Floats:
    """Return the expected information of one judgment with this confusion (2, 2) about each item (I), in bits.

    ``belief`` (I) is P(relevant); ``confusion[k, l]`` is the probability that truth k gets label l.
    """
    matrix = np.asarray(confusion, dtype=float)
    truth = _probabilities(belief)  # (2, I)
    bits = _entropy(matrix.T @ truth) - _entropy(matrix.T) @ truth
    return np.maximum(bits, 0.0)  # rounding may give a value slightly below 0


def update_belief(belief: float, relevance: int, confusion: Floats) -> float:
    """Return P(relevant) after one more judgment, by Bayes' rule; a judgment of probability 0 changes nothing."""
    irrelevant, relevant = _probabilities(belief) * np.asarray(confusion, dtype=float)[:, relevance]
    total = float(irrelevant + relevant)
    return float(relevant) / total if total > 0 else float(belief)


def settled_items(belief: Floats, judged: Codes, redundancy: Redundancy) -> Flags:
    """Return which items (I) need no further judgment, by P(relevant) and how often each is judged."""
    times = np.asarray(judged)
    if not redundancy.adaptive:
        return np.asarray(times >= redundancy.judgments)
    sure = _probabilities(belief).max(axis=0) >= redundancy.target
    return np.asarray(((times >= redundancy.least) & sure) | (times >= redundancy.most))


def judgments_saved(judged: Codes, settled: Flags, redundancy: Redundancy) -> int:
    """Return how many judgments settled items have saved, compared with a fixed number for each.

    Items with more judgments than that number reduce the saving.
    """
    times = np.asarray(judged)[np.asarray(settled, dtype=bool)]
    return int(redundancy.judgments * times.size - times.sum())


def _probabilities(belief: Floats | float) -> Floats:
    """Return P(irrelevant) and P(relevant), one row each."""
    relevant = np.asarray(belief, dtype=float)
    return np.stack([1.0 - relevant, relevant])


def _entropy(probability: Floats) -> Floats:
    """Return the entropy of the columns of a table, in bits."""
    bits: Floats = -(probability * np.log2(np.maximum(probability, LEAST))).sum(axis=0)
    return bits

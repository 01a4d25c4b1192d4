"""The items of a campaign, counted: how often each is judged, how often it is out with a judge, who has met it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from adjudge.studio.campaign.campaign import Campaign, Pair

Ids = NDArray[np.int64]


class Items:
    """Arrays by the item's id, (I,); ids begin at 1."""

    def __init__(self) -> None:
        self.pairs: list[Pair] = [("", "")]
        self.ids: dict[Pair, int] = {}
        self.judged = np.zeros(1, np.int16)  # judgments that count
        self.leased = np.zeros(1, np.int16)  # slots out with judges
        self.untold = np.zeros(1, np.int16)  # judges who could not tell
        self.pooled = np.zeros(1, bool)  # to be judged; items of fixed sets are not
        self.topics: dict[str, int] = {}
        self.of_topic: list[Ids] = []  # the pooled items of each of the campaign's topics
        self.topic = np.zeros(1, np.int32)  # which topic, of pooled items

    def add(self, id: int, pair: Pair) -> None:  # noqa: A002
        """Take one more item in; arrays grow when they must."""
        if id != len(self.pairs):
            raise ValueError(f"item {id} follows item {len(self.pairs) - 1}")
        self.pairs.append(pair)
        self.ids[pair] = id
        if id >= len(self.judged):
            more = np.zeros(len(self.judged), np.int16)
            self.judged, self.leased, self.untold = (
                np.concatenate([counts, more]) for counts in (self.judged, self.leased, self.untold)
            )

    def pool(self, campaign: Campaign) -> None:
        """Note which of the items that have a number are to be judged, by topic."""
        size = len(self.pairs)
        self.judged, self.leased, self.untold = (
            counts[:size].copy() for counts in (self.judged, self.leased, self.untold)
        )
        self.pooled, self.topic = np.zeros(size, bool), np.zeros(size, np.int32)
        topics = self.topics = {name: t for t, name in enumerate(campaign.topics)}
        for pair in campaign.pool:
            if (id_ := self.ids.get(pair)) is not None:
                self.pooled[id_], self.topic[id_] = True, topics[pair[0]]
        order = np.flatnonzero(self.pooled)
        order = order[np.argsort(self.topic[order], kind="stable")]
        ends = np.cumsum(np.bincount(self.topic[order], minlength=len(topics)))
        self.of_topic = np.split(order, ends[:-1]) if len(ends) else []

    def count(self, ids: Sequence[int] | Ids, by: int) -> None:
        """Add to the judgments of items."""
        np.add.at(self.judged, np.asarray(ids, np.int64), by)

    def lease(self, ids: Sequence[int], by: int) -> None:
        """Add to the slots of items that are out."""
        np.add.at(self.leased, np.asarray(ids, np.int64), by)


class Met:
    """The items that one person has judged, a bit each."""

    __slots__ = ("_bits",)

    def __init__(self, items: int) -> None:
        self._bits = bytearray((items >> 3) + 1)

    def add(self, item: int) -> None:
        """Note an item."""
        self._reach(item)
        self._bits[item >> 3] |= 1 << (item & 7)

    def add_all(self, ids: Ids) -> None:
        """Note many items."""
        if len(ids):
            self._reach(int(ids.max()))
            bits = np.frombuffer(self._bits, np.uint8).copy()
            np.bitwise_or.at(bits, ids >> 3, (1 << (ids & 7)).astype(np.uint8))
            self._bits[:] = bits.tobytes()

    def __contains__(self, item: object) -> bool:
        return isinstance(item, int) and item >> 3 < len(self._bits) and bool(self._bits[item >> 3] >> (item & 7) & 1)

    def among(self, ids: Ids) -> NDArray[np.bool_]:
        """Return which of some items have been met."""
        if len(ids):
            self._reach(int(ids.max()))
        # a copy: a view would forbid the bits to grow while it lives
        bits = np.frombuffer(bytes(self._bits), np.uint8)
        found: NDArray[np.bool_] = ((bits[ids >> 3] >> (ids & 7).astype(np.uint8)) & 1).astype(bool)
        return found

    def _reach(self, item: int) -> None:
        """Make room for an item that came later than the person."""
        if item >> 3 >= len(self._bits):
            self._bits += bytearray((item >> 3) + 1 - len(self._bits))

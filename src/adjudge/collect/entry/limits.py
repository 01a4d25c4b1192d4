"""How often something may be asked: buckets of tokens in memory, one for each purpose and each who asks.

A bucket of (5, 60.0) holds five and is full again after a minute: five at once, then one every twelve seconds.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Mapping

MOST_BUCKETS = 20_000  # of one purpose: some 4 MB

# Purpose -> how many, in how many seconds.
USUAL = {
    "sign-in": (10, 300.0),  # of one address
    "sign-in name": (10, 300.0),  # of one account, from anywhere
    "join": (20, 300.0),
    "crowd": (30, 60.0),
    "document": (240, 60.0),
}


class Limits:
    """Token buckets. The clock is the caller's; a clock that jumps back gives nothing and takes nothing."""

    def __init__(self, rates: Mapping[str, tuple[int, float]], most: int = MOST_BUCKETS) -> None:
        self._rates, self._most = dict(rates), most
        # purpose -> key -> (tokens, when): a flood of one purpose makes no other forget whom it counts
        self._buckets: dict[str, OrderedDict[str, tuple[float, float]]] = {one: OrderedDict() for one in rates}

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))

    def take(self, purpose: str, key: str, now: float) -> float:
        """Take one token and return 0, or return after how many seconds there will be one."""
        (holds, seconds), buckets = self._rates[purpose], self._buckets[purpose]
        tokens, then = buckets.pop(key, (float(holds), now))
        tokens = min(float(holds), tokens + max(0.0, now - then) * holds / seconds)
        wait = 0.0 if tokens >= 1 else (1 - tokens) * seconds / holds
        buckets[key] = (tokens if wait else tokens - 1, now)  # last: who asked latest is dropped last
        if len(buckets) > self._most:
            buckets.popitem(last=False)  # a flood of addresses may be forgotten, but never fills the memory
        return wait


def address_of(socket: str | None) -> str:
    """Return the address to count by: the socket's, of IPv6 the /64 that one customer has."""
    if socket is None or ":" not in socket:
        return socket or "unknown"
    try:
        number = ipaddress.IPv6Address(socket.strip("[]").partition("%")[0])
    except ValueError:
        return socket
    if number.ipv4_mapped:
        return str(number.ipv4_mapped)
    return str(ipaddress.IPv6Network((number, 64), strict=False).network_address)

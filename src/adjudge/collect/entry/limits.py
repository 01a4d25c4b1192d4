"""How often something may be asked: buckets of tokens in memory, one for each purpose and each who asks.

A bucket of (5, 60.0) holds five and is full again after a minute: five at once, then one every twelve seconds.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Mapping, Sequence

MOST_BUCKETS = 50_000  # some 10 MB

# Purpose -> how many, in how many seconds.
USUAL = {
    "sign-in": (10, 300.0),  # of one address
    "sign-in name": (10, 300.0),  # of one account, from anywhere
    "join": (20, 300.0),
    "crowd": (30, 60.0),
    "api": (240, 60.0),
    "document": (240, 60.0),
    "export": (20, 60.0),
}


class Limits:
    """Token buckets. The clock is the caller's; a clock that jumps back gives nothing and takes nothing."""

    def __init__(self, rates: Mapping[str, tuple[int, float]], most: int = MOST_BUCKETS) -> None:
        self._rates, self._most = dict(rates), most
        self._buckets: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()  # (tokens, when)

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, purpose: str, key: str, now: float) -> float:
        """Take one token and return 0, or return after how many seconds there will be one."""
        holds, seconds = self._rates[purpose]
        tokens, then = self._buckets.pop((purpose, key), (float(holds), now))
        tokens = min(float(holds), tokens + max(0.0, now - then) * holds / seconds)
        wait = 0.0 if tokens >= 1 else (1 - tokens) * seconds / holds
        self._buckets[purpose, key] = (tokens if wait else tokens - 1, now)  # last: who asked latest is dropped last
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)  # a flood of addresses may be forgotten, but never fills the memory
        return wait


def address_of(socket: str | None, forwarded: str | None = None, proxies: Sequence[str] = ()) -> str:
    """Return the address to count by: the socket's, unless that is a proxy of ours, which then is believed.

    ``forwarded`` is X-Forwarded-For. It is read from its end, over the proxies one has named, to the first address
    that is none of them: what stands before that one is what a client may have written itself.
    """
    nearest = socket or "unknown"
    for said in reversed([part.strip() for part in (forwarded or "").split(",") if part.strip()]):
        if nearest not in proxies:
            break
        nearest = said[:64]
    return _network(nearest)


def _network(address: str) -> str:
    """Return an address, of IPv6 the /64 that one customer has."""
    if ":" not in address:
        return address
    try:
        number = ipaddress.IPv6Address(address.strip("[]").partition("%")[0])
    except ValueError:
        return address
    if number.ipv4_mapped:
        return str(number.ipv4_mapped)
    return str(ipaddress.IPv6Network((number, 64), strict=False).network_address)

"""Limits on wrong passwords, codes and links: failures count, successes do not, unless one person has very many.

An attempt takes a token from each of its buckets before the password is checked, so that many attempts at once are not
all let through; a success gives the tokens back. So any number of people can sign in from one address, while each
wrong password slows down the next one.

Whoever guesses the password of somebody else uses up the bucket of that account. This would lock its owner out, so a
browser in which a person has signed in before has a bucket of its own for that person, and does not use the buckets of
the account and of the address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from adjudge.studio.access import LONGEST_NAME, RateLimiter

Bucket: TypeAlias = tuple[str, str]  # (purpose, who is counted)
RATES = {  # purpose -> (failures at once, seconds in which as many are allowed again)
    "address": (120, 600.0),  # a class behind one address may mistype
    "account": (20, 3_600.0),  # from browsers in which its owner has not signed in
    "known browser": (10, 600.0),  # per account
    "code": (10, 3_600.0),  # of the second factor, per account; from browsers in which its owner has not signed in
    "code in known browser": (10, 600.0),
    "session": (10, 600.0),  # wrong passwords of somebody who is signed in
    "link": (60, 300.0),  # forged or used invitations and links, per address
    "sessions": (60, 3_600.0),  # sessions that one person begins by signing in: here successes count
    "register": (120, 600.0),  # accounts without an invitation, per address: here successes count
}


class Attempts:
    """The failures that are allowed, by purpose and by who is counted."""

    def __init__(self, rates: Mapping[str, tuple[int, float]] = RATES) -> None:
        self._limiter = RateLimiter(rates)

    def begin(self, buckets: Sequence[Bucket], now: float) -> float:
        """Begin an attempt and return 0, or return the seconds to wait until one is allowed."""
        charged: list[Bucket] = []
        for bucket in buckets:
            wait = self._limiter.take(*bucket, now)
            if wait > 0:
                self.succeed(charged)
                return wait
            charged.append(bucket)
        return 0.0

    def succeed(self, buckets: Sequence[Bucket]) -> None:
        """Give the tokens of an attempt back, because it was no failure."""
        for bucket in buckets:
            self._limiter.give_back(*bucket)


def sign_in_buckets(address: str, account: str, known_browser: str) -> list[Bucket]:
    """Return the buckets of an attempt to sign in.

    Parameters
    ----------
    address
        The client's address.
    account
        The name that is tried, in its normal form.
    known_browser
        The number of the browser if the owner of the account has signed in with it before, else an empty text.

    Examples
    --------
    >>> sign_in_buckets("9.9.9.9", "lea", ""), sign_in_buckets("9.9.9.9", "lea", "b1")
    ([('address', '9.9.9.9'), ('account', 'lea')], [('known browser', 'b1 lea')])
    """
    if known_browser:
        return [("known browser", f"{known_browser} {account[:LONGEST_NAME]}")]
    return [("address", address), ("account", account[:LONGEST_NAME])]


def code_buckets(account: str, known_browser: str) -> list[Bucket]:
    """Return the buckets of a code of the second factor, as of an attempt to sign in."""
    return [("code in known browser", f"{known_browser} {account}")] if known_browser else [("code", account)]

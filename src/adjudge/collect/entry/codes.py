"""What is given out and must not be guessed: completion codes for people to copy, tokens for addresses."""

from __future__ import annotations

import secrets

ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without 0 and O, 1, I and L: 31 letters, 4.95 bits each
GROUPS, LETTERS = 3, 4  # 59 bits: at a thousand tries a second, nine million years for one certain hit


def new_code() -> str:
    """Return a completion code, as ``ABCD-EFGH-JKMN``."""
    return "-".join("".join(secrets.choice(ALPHABET) for _ in range(LETTERS)) for _ in range(GROUPS))


def new_mark() -> str:
    """Return a token for an assignment or a set: 128 random bits in 22 letters of an address. It tells nothing."""
    return secrets.token_urlsafe(16)

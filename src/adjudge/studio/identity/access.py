"""Who somebody is and what they may do: passwords, seals, tokens of the API, roles. Knows no database and no web.

Everything the studio gives out to be shown again is sealed: signed with the campaign's key, under a salt for each
purpose, so that an invitation never passes as a session. What is forged, cut, foreign or over reads as None.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import os
import secrets
import stat
import unicodedata
from collections import OrderedDict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError
from itsdangerous import BadData, URLSafeSerializer

from adjudge.errors import InputError, UsageError, quoted
from adjudge.studio.records import Refused

# OWASP's memory (19 MiB) and one pass more than it asks for: some 30 ms of one core, and ten at once stay in 200 MB.
HASHER = PasswordHasher(time_cost=3, memory_cost=19_456, parallelism=1)
SHORTEST, LONGEST = 10, 256  # characters of a password
WORST = frozenset(
    [
        "1234567890",
        "0123456789",
        "12345678910",
        "0987654321",
        "1q2w3e4r5t",
        "1qaz2wsx3edc",
        "qwertyuiop",
        "qwertzuiop",
        "password12",
        "password123",
        "password1234",
        "passwordpassword",
        "iloveyou123",
        "letmein123",
        "changeme123",
        "administrator",
        "welcome123",
        "adjudge123",
        "adjudgeadjudge",
    ]
)

KEY_BYTES = 32
TAG_BYTES, NUMBER_BYTES = 12, 8  # of the word for an item: 32 letters, all bits used
LONGEST_SEAL = 1_000  # characters; ours are shorter
SCOPES = frozenset(("read", "export", "import"))
PREFIX = "adj_"  # so that a token found in a log or a repository is known for one

# A judge who knows gold or other judges' answers is none: who sees the desk does not judge.
ACTIONS = {
    "judge": frozenset(("judge",)),
    "reviewer": frozenset(("desk", "rule")),
    "lead": frozenset(
        ("desk", "rule", "invite", "exclude", "approve", "reassign", "pause", "export", "import", "token")
    ),
}


def may(role: str, action: str) -> bool:
    """Return whether people of a role may do something; a role or an action nobody knows may nothing."""
    return action in ACTIONS.get(role, frozenset())


# Passwords


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password, with its parameters and a salt of its own."""
    return HASHER.hash(_written_one_way(password))


def password_is(hashed: str | None, password: str) -> bool:
    """Return whether a password is the one that was hashed.

    Where there is no account (None), or one without a password (""), as much is computed as where there is one, so
    that the time tells no names.
    """
    try:
        return HASHER.verify(hashed or _nobodys(), _written_one_way(password)) and bool(hashed)
    except (Argon2Error, InvalidHashError):
        return False


def outdated(hashed: str) -> bool:
    """Return whether a hash was made with other parameters than today's: at the next sign-in it is made anew."""
    return HASHER.check_needs_rehash(hashed)


def weak(password: str, name: str) -> Refused | None:
    """Return why a password is not to be taken, or None if it may be."""
    written, lowered = _written_one_way(password), _written_one_way(password).casefold()
    own = _written_one_way(name).casefold().strip()
    if len(written) < SHORTEST:
        sentence = f"The password has {len(written)} characters; take at least {SHORTEST}."
        return Refused(422, "password_short", sentence, n=len(written), least=SHORTEST)
    if len(password) > LONGEST:
        sentence = f"The password has {len(password)} characters; take at most {LONGEST}."
        return Refused(422, "password_long", sentence, n=len(password), most=LONGEST)
    if own and lowered.replace(own, "", 1).strip("0123456789!?. -_") == "":
        return Refused(422, "password_name", "The password is the name, or hardly more; take another.")
    if lowered in WORST or len(set(lowered)) < 4:
        return Refused(422, "password_tried", "The password is one of the first that would be tried; take another.")
    return None


@cache
def _nobodys() -> str:
    """Return the hash of a password that nobody has."""
    return HASHER.hash(secrets.token_hex())


def _written_one_way(password: str) -> str:
    """Return a password as every keyboard gives it: an accent typed as one key or as two is the same."""
    return unicodedata.normalize("NFKC", password[: 4 * LONGEST])


# Seals


def key_of(folder: Path) -> bytes:
    """Return the campaign's signing key from the file ``key`` in its folder, which is made where it is missing."""
    path = folder / "key"
    if not path.exists():
        _make_key(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        what = f"others may read the signing key (mode {mode:03o}); who has read it can sign in as anybody"
        raise InputError(f"{what}: delete it (all sessions and open invitations end) or chmod 600 it", str(path))
    key = path.read_bytes()
    if len(key) < KEY_BYTES:
        what = f"the signing key has {len(key)} bytes, expected at least {KEY_BYTES}"
        raise InputError(f"{what}: delete the file, and a new one is made", str(path))
    return key


def _make_key(path: Path) -> None:
    """Write a new key, whole or not at all; if another process was first, its key stays."""
    draft = path.with_name(f".key-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a renaming, this overwrites nothing
    except FileExistsError:
        pass
    finally:
        draft.unlink()


class Session(NamedTuple):
    """What a session says: who, from which epoch of theirs, until when, and what it is bound to."""

    person: int
    epoch: int  # counted up by a new password or "sign out everywhere": older sessions are then over
    expires: float
    bound: str  # the crowd's assignment or session for which alone it holds; "" of one's own sign-in
    nonce: str


class Seal:
    """Signs what is given out, and reads what comes back."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise UsageError(f"a signing key needs {KEY_BYTES} bytes, got {len(key)}")
        self._key = key

    def session(self, person: int, epoch: int, hours: float, now: float, bound: str = "") -> str:
        """Return a session that ends after some hours."""
        return self._sign("session", [person, epoch, round(now + 3600 * hours, 3), bound, secrets.token_hex(8)])

    def session_of(self, text: str | None, now: float) -> Session | None:
        """Return what a session says, or None of one that is forged or over."""
        match self._read("session", text):
            case [int(person), int(epoch), int() | float() as expires, str(bound), str(nonce)] if now < expires:
                return Session(person, epoch, float(expires), bound, nonce)
        return None

    def csrf(self, session: str) -> str:
        """Return what a page must send along, with a session, to change anything; another session has another."""
        return hmac.new(self._key, b"adjudge csrf\0" + session.encode(), hashlib.sha256).hexdigest()

    def csrf_is(self, session: str, text: str | None) -> bool:
        """Return whether this was sent by a page of this session."""
        return hmac.compare_digest(self.csrf(session).encode(), (text or "").encode("utf-8", "replace"))

    def invitation(self, invitation: int) -> str:
        """Return the text of an invitation's link; until when and whether it was used is in the tables."""
        return self._sign("invitation", invitation)

    def invitation_of(self, text: str | None) -> int | None:
        """Return which invitation a link is."""
        return self._number("invitation", text)

    def prompt(self, item: int) -> str:
        """Return what an exported prompt calls its item: a word that tells nothing, not even an order, and no other.

        The number is hidden under a mask that is drawn from its own tag (as SIV does), so the same item has the same
        word, and who answers can neither read a number from it nor make one up.
        """
        number = item.to_bytes(NUMBER_BYTES, "big")
        tag = self._drawn("prompt tag", number)[:TAG_BYTES]
        return base64.b32encode(tag + self._masked(tag, number)).decode()

    def prompt_of(self, text: str | None) -> int | None:
        """Return which item a prompt is about."""
        try:
            whole = base64.b32decode((text or "").encode())
        except (ValueError, UnicodeError):
            return None
        tag, number = whole[:TAG_BYTES], self._masked(whole[:TAG_BYTES], whole[TAG_BYTES:])
        if len(whole) != TAG_BYTES + NUMBER_BYTES:
            return None
        known = hmac.compare_digest(tag, self._drawn("prompt tag", number)[:TAG_BYTES])
        return int.from_bytes(number, "big") if known else None

    def _masked(self, tag: bytes, number: bytes) -> bytes:
        """Return a number under the mask of its tag; twice, the number itself."""
        mask = self._drawn("prompt mask", tag)
        return bytes(a ^ b for a, b in zip(number, mask, strict=False))

    def _drawn(self, purpose: str, what: bytes) -> bytes:
        """Return bytes that only the key's owner can tell from chance."""
        return hmac.digest(self._key, f"adjudge {purpose}\0".encode() + what, "sha256")

    def _number(self, purpose: str, text: str | None) -> int | None:
        """Return the number that is sealed, or None."""
        said = self._read(purpose, text)
        return said if isinstance(said, int) and not isinstance(said, bool) else None

    def _serializer(self, purpose: str) -> URLSafeSerializer:
        """Return the signer of one purpose."""
        options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        return URLSafeSerializer(self._key, salt=f"adjudge {purpose}", signer_kwargs=options)

    def _sign(self, purpose: str, what: Any) -> str:
        """Return something sealed for one purpose."""
        sealed = self._serializer(purpose).dumps(what)
        return sealed if isinstance(sealed, str) else sealed.decode()

    def _read(self, purpose: str, text: str | None) -> Any:
        """Return what was sealed for this purpose with this key, otherwise None."""
        if not text or len(text) > LONGEST_SEAL:
            return None
        try:
            return self._serializer(purpose).loads(text.encode())
        except (BadData, UnicodeError):
            return None


# Tokens of the API


def new_token() -> tuple[str, str]:
    """Return a new token, which is shown once, and its hash, which is kept."""
    text = PREFIX + secrets.token_urlsafe(32)
    return text, token_hash(text)


def token_hash(text: str) -> str:
    """Return the hash by which a token is known; of 256 random bits no slow hash is needed."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def scopes_of(text: str) -> frozenset[str]:
    """Return the scopes that are named, separated by blanks."""
    scopes = frozenset(text.split())
    if not scopes or not scopes <= SCOPES:
        raise UsageError(f"scopes {quoted(sorted(scopes))}, expected one or more of {quoted(sorted(SCOPES))}")
    return scopes


# How often something may be asked: buckets of tokens in memory, one for each purpose and each who asks.
#
# A bucket of (5, 60.0) holds five and is full again after a minute: five at once, then one every twelve seconds.

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

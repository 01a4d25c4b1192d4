"""Who a person is and what they may do: roles, passwords, signed sessions and links, API tokens, rate limits.

Every text that the studio hands out and expects back (a session, an invitation link, the id of a prompt) is signed
with the campaign's key under one salt per purpose, so that an invitation is never accepted as a session. A text that
is forged, cut off, expired or signed by another campaign reads as None. This module knows no database and no web.
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

# People who see the desk do not judge: they know the gold labels and the answers of others.
ACTIONS = {
    "judge": frozenset(("account", "judge")),
    "reviewer": frozenset(("account", "desk", "rule")),
    "lead": frozenset(
        "account desk rule invite exclude approve reassign pause archive export import token edit".split()  # noqa: SIM905
    ),
}

# OWASP's memory cost (19 MiB) and one pass more than it asks for: about 30 ms of one core; ten at once need 200 MB.
HASHER = PasswordHasher(time_cost=3, memory_cost=19_456, parallelism=1)
SHORTEST, LONGEST = 10, 256  # characters of a password
COMMON_PASSWORDS = frozenset(
    """
    1234567890 0123456789 12345678910 0987654321 1q2w3e4r5t 1qaz2wsx3edc qwertyuiop qwertzuiop password12 password123
    password1234 passwordpassword iloveyou123 letmein123 changeme123 administrator welcome123 adjudge123 adjudgeadjudge
    """.split()  # noqa: SIM905
)

KEY_BYTES = 32
TAG_BYTES, NUMBER_BYTES = 12, 8  # of a prompt's id: 20 bytes are 32 letters without unused bits
FIRST_STEP_SECONDS = 300  # between the password and the code of the second factor
LONGEST_NAME = 100  # characters of a name
LONGEST_SIGNED = 1_000  # characters of a signed text; ours are shorter

SCOPES = frozenset(("read", "export", "import", "invite"))
PREFIX = "adj_"  # makes a token recognisable in a log or a repository

MOST_BUCKETS = 20_000  # per purpose, about 4 MB
DEFAULT_RATES = {  # purpose -> (requests, seconds)
    "crowd": (30, 60.0),
    "document": (240, 60.0),
}


def may(role: str, action: str) -> bool:
    """Return whether people of a role may do something; an unknown role or action is never allowed."""
    return action in ACTIONS.get(role, frozenset())


# Passwords


def hash_password(password: str) -> str:
    """Return the Argon2id hash of a password, which includes its parameters and a random salt."""
    return HASHER.hash(_normalise(password))


def verify_password(hashed: str | None, password: str) -> bool:
    """Return whether a password belongs to a hash.

    If there is no account (None), or the account has no password (""), a hash is computed all the same, so that the
    response time does not reveal which names exist.
    """
    try:
        return HASHER.verify(hashed or _dummy_hash(), _normalise(password)) and bool(hashed)
    except (Argon2Error, InvalidHashError):
        return False


def needs_rehash(hashed: str) -> bool:
    """Return whether a hash has other parameters than today's; it is then replaced at the next sign-in."""
    return HASHER.check_needs_rehash(hashed)


def password_problem(password: str, name: str) -> Refused | None:
    """Return why a password is not accepted, or None if it is."""
    normalised = _normalise(password)
    lowered, lowered_name = normalised.casefold(), _normalise(name).casefold().strip()
    if len(normalised) < SHORTEST:
        sentence = f"The password has {len(normalised)} characters; use at least {SHORTEST}."
        return Refused(422, "password_short", sentence, n=len(normalised), least=SHORTEST)
    if len(password) > LONGEST:
        sentence = f"The password has {len(password)} characters; use at most {LONGEST}."
        return Refused(422, "password_long", sentence, n=len(password), most=LONGEST)
    if lowered_name and lowered.replace(lowered_name, "", 1).strip("0123456789!?. -_") == "":
        return Refused(422, "password_name", "The password is almost the same as the name; choose another one.")
    if lowered in COMMON_PASSWORDS or len(set(lowered)) < 4:
        return Refused(422, "password_tried", "The password is too easy to guess; choose another one.")
    return None


@cache
def _dummy_hash() -> str:
    """Return the hash of a random password that no account has."""
    return HASHER.hash(secrets.token_hex())


def _normalise(password: str) -> str:
    """Return a password in one Unicode form: an accent typed as one key or as two is the same."""
    return unicodedata.normalize("NFKC", password[: 4 * LONGEST])


# Signed texts


def load_key(folder: Path) -> bytes:
    """Return the campaign's signing key from the file ``key`` in its folder; the file is created if it is missing."""
    path = folder / "key"
    if not path.exists():
        _create_key(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if os.name == "posix" and mode & 0o077:
        problem = f"others can read the signing key (mode {mode:03o}); anybody who read it can sign in as anybody"
        raise InputError(f"{problem}: delete it (all sessions and open invitations end) or chmod 600 it", str(path))
    key = path.read_bytes()
    if len(key) < KEY_BYTES:
        problem = f"the signing key has {len(key)} bytes, expected at least {KEY_BYTES}"
        raise InputError(f"{problem}: delete the file, and a new one is created", str(path))
    return key


def _create_key(path: Path) -> None:
    """Write a new key, completely or not at all; if another process was first, its key stays."""
    draft = path.with_name(f".key-{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)  # unlike a rename, this never overwrites
    except FileExistsError:
        pass
    finally:
        draft.unlink()


class Session(NamedTuple):
    """The content of a session token."""

    person: int
    epoch: int  # raised by a new password or by "sign out everywhere", which ends older sessions
    expires: float
    bound: str  # the platform's assignment or session that it is limited to; "" after a normal sign-in
    nonce: str


class Signer:
    """Signs the texts that the studio hands out, and reads those that come back."""

    def __init__(self, key: bytes) -> None:
        if len(key) < KEY_BYTES:
            raise UsageError(f"a signing key needs {KEY_BYTES} bytes, got {len(key)}")
        self._key = key

    def session(self, person: int, epoch: int, hours: float, now: float, bound: str = "") -> str:
        """Return a session token that expires after some hours."""
        return self._sign("session", [person, epoch, round(now + 3600 * hours, 3), bound, secrets.token_hex(8)])

    def read_session(self, text: str | None, now: float) -> Session | None:
        """Return the content of a session token, or None if it is forged or expired."""
        match self._read("session", text):
            case [int(person), int(epoch), int() | float() as expires, str(bound), str(nonce)] if now < expires:
                return Session(person, epoch, float(expires), bound, nonce)
        return None

    def csrf(self, session: str) -> str:
        """Return the CSRF token of a session, which every request that changes something must carry."""
        return hmac.new(self._key, b"adjudge csrf\0" + session.encode(), hashlib.sha256).hexdigest()

    def csrf_matches(self, session: str, text: str | None) -> bool:
        """Return whether a text is the CSRF token of a session."""
        return hmac.compare_digest(self.csrf(session).encode(), (text or "").encode("utf-8", "replace"))

    def invitation(self, invitation: int) -> str:
        """Return the text of an invitation link; its expiry and whether it was used are in the database."""
        return self._sign("invitation", invitation)

    def read_invitation(self, text: str | None) -> int | None:
        """Return the number of the invitation that a link belongs to, or None."""
        number = self._read("invitation", text)
        return number if isinstance(number, int) and not isinstance(number, bool) else None

    def reset(self, person: int, reset: int) -> str:
        """Return the text of a link by which a person sets a new password; whether it is over is in the database."""
        return self._sign("reset", [person, reset])

    def derive(self, purpose: str, message: bytes) -> bytes:
        """Return 32 bytes that follow from the key, a purpose and a message; without the key they are random."""
        return self._keyed_hash(purpose, message)

    def first_step(self, person: int, epoch: int, now: float) -> str:
        """Return the proof that somebody gave the right password, which a code of the second factor must follow."""
        return self._sign("first step", [person, epoch, round(now + FIRST_STEP_SECONDS, 3)])

    def read_first_step(self, text: str | None, now: float) -> tuple[int | None, int]:
        """Return whose password was right, and their epoch; None if the proof is forged or expired."""
        match self._read("first step", text):
            case [int(person), int(epoch), int() | float() as expires] if now < expires:
                return person, epoch
        return None, 0

    def factor_setup(self, person: int, salt: str) -> str:
        """Return the salt of a person's new second factor as a form carries it until a code confirms it."""
        return self._sign("factor setup", [person, salt])

    def read_factor_setup(self, text: str | None, person: int) -> str:
        """Return the salt of a person's new second factor, or an empty text."""
        match self._read("factor setup", text):
            case [int(number), str(salt)] if number == person:
                return salt
        return ""

    def departure(self, remembered: list[str | int], until: float) -> str:
        """Return what must be remembered while somebody signs in at an OpenID Connect provider."""
        return self._sign("departure", [*remembered, round(until, 3)])

    def read_departure(self, text: str | None, now: float) -> tuple[str, str, str, int] | None:
        """Return the state, the nonce, the PKCE verifier and the invitation (or 0) of a sign-in at a provider."""
        match self._read("departure", text):
            case [str(state), str(nonce), str(verifier), int(invitation), int() | float() as until] if now < until:
                return state, nonce, verifier, invitation
        return None

    def browser(self, number: str, people: list[int]) -> str:
        """Return the mark of a browser in which these people have signed in."""
        return self._sign("browser", [number, *people])

    def read_browser(self, text: str | None) -> tuple[str, list[int]]:
        """Return the number of a browser and the people who have signed in with it; new ones if there is no mark."""
        match self._read("browser", text):
            case [str(number), *people] if all(isinstance(person, int) for person in people):
                return number, people
        return secrets.token_hex(8), []

    def read_reset(self, text: str | None) -> tuple[int | None, int | None]:
        """Return the person and the number of a link to set a password, or two times None."""
        match self._read("reset", text):
            case [int(person), int(reset)]:
                return person, reset
        return None, None

    def prompt_id(self, item: int) -> str:
        """Return the id of an item in exported prompts: it reveals neither the item nor the order of items.

        The number is masked with a key stream derived from its own tag (as in SIV mode), so one item always has the
        same id, and a program that answers can neither decode an id nor invent one.
        """
        number = item.to_bytes(NUMBER_BYTES, "big")
        tag = self._keyed_hash("prompt tag", number)[:TAG_BYTES]
        return base64.b32encode(tag + self._mask(tag, number)).decode()

    def read_prompt_id(self, text: str | None) -> int | None:
        """Return the item of a prompt's id, or None."""
        try:
            decoded = base64.b32decode((text or "").encode())
        except (ValueError, UnicodeError):
            return None
        tag, number = decoded[:TAG_BYTES], self._mask(decoded[:TAG_BYTES], decoded[TAG_BYTES:])
        if len(decoded) != TAG_BYTES + NUMBER_BYTES:
            return None
        valid = hmac.compare_digest(tag, self._keyed_hash("prompt tag", number)[:TAG_BYTES])
        return int.from_bytes(number, "big") if valid else None

    def webhook_secret(self) -> bytes:
        """Return the secret that webhooks are signed with, unless the operator sets another one."""
        return self._keyed_hash("webhook", b"")

    def _mask(self, tag: bytes, number: bytes) -> bytes:
        """Return a number masked with the key stream of its tag; masking twice gives the number again."""
        stream = self._keyed_hash("prompt mask", tag)
        return bytes(a ^ b for a, b in zip(number, stream, strict=False))

    def _keyed_hash(self, purpose: str, message: bytes) -> bytes:
        """Return the HMAC-SHA256 of a message for one purpose."""
        return hmac.digest(self._key, f"adjudge {purpose}\0".encode() + message, "sha256")

    def _serializer(self, purpose: str) -> URLSafeSerializer:
        """Return the serializer of one purpose."""
        options = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        return URLSafeSerializer(self._key, salt=f"adjudge {purpose}", signer_kwargs=options)

    def _sign(self, purpose: str, value: Any) -> str:
        """Return a value as a text that is signed for one purpose."""
        signed = self._serializer(purpose).dumps(value)
        return signed if isinstance(signed, str) else signed.decode()

    def _read(self, purpose: str, text: str | None) -> Any:
        """Return the value that was signed for a purpose with this key, or None."""
        if not text or len(text) > LONGEST_SIGNED:
            return None
        try:
            return self._serializer(purpose).loads(text.encode())
        except (BadData, UnicodeError):
            return None


# API tokens


def new_token() -> tuple[str, str]:
    """Return a new API token, which is displayed once, and its hash, which is stored."""
    text = PREFIX + secrets.token_urlsafe(32)
    return text, hash_token(text)


def hash_token(text: str) -> str:
    """Return the hash under which a token is stored; 256 random bits need no slow hash."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def parse_scopes(text: str) -> frozenset[str]:
    """Return the scopes named in a text, separated by blanks."""
    scopes = frozenset(text.split())
    if not scopes or not scopes <= SCOPES:
        raise UsageError(f"scopes {quoted(sorted(scopes))}, expected one or more of {quoted(sorted(SCOPES))}")
    return scopes


# Rate limits


class RateLimiter:
    """Token buckets in memory, one per purpose and client.

    A rate of (5, 60.0) allows five requests at once and then one every twelve seconds. The caller provides the clock;
    a clock that jumps back neither adds nor removes tokens.
    """

    def __init__(self, rates: Mapping[str, tuple[int, float]], most: int = MOST_BUCKETS) -> None:
        self._rates, self._most = dict(rates), most
        # purpose -> client -> (tokens, time): a flood for one purpose does not evict the buckets of another
        self._buckets: dict[str, OrderedDict[str, tuple[float, float]]] = {name: OrderedDict() for name in rates}

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))

    def change_rates(self, rates: Mapping[str, tuple[int, float]]) -> None:
        """Set other rates for some purposes; what was taken stays counted."""
        self._rates.update(rates)

    def take(self, purpose: str, key: str, now: float, cost: float = 1.0) -> float:
        """Take one token, or as many as ``cost``, and return 0; or return the seconds until there are so many."""
        (capacity, seconds), buckets = self._rates[purpose], self._buckets[purpose]
        tokens, then = buckets.pop(key, (float(capacity), now))
        tokens = min(float(capacity), tokens + max(0.0, now - then) * capacity / seconds)
        wait = 0.0 if tokens >= cost else (cost - tokens) * seconds / capacity
        buckets[key] = (tokens if wait else tokens - cost, now)  # at the end: the oldest bucket is evicted first
        if len(buckets) > self._most:
            buckets.popitem(last=False)
        return wait

    def give_back(self, purpose: str, key: str) -> None:
        """Give back a token that was taken, because the request need not count."""
        capacity, bucket = self._rates[purpose][0], self._buckets[purpose].get(key)
        if bucket is not None:
            self._buckets[purpose][key] = (min(float(capacity), bucket[0] + 1), bucket[1])


def network_address(socket: str | None) -> str:
    """Return the address that requests are counted by: the client's, or for IPv6 the /64 network of one customer."""
    if socket is None or ":" not in socket:
        return socket or "unknown"
    try:
        number = ipaddress.IPv6Address(socket.strip("[]").partition("%")[0])
    except ValueError:
        return socket
    if number.ipv4_mapped:
        return str(number.ipv4_mapped)
    return str(ipaddress.IPv6Network((number, 64), strict=False).network_address)

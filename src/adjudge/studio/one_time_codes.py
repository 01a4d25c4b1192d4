"""One-time codes of the second factor: from an app (TOTP, RFC 6238), and recovery codes for when the app is lost.

The secret that an app holds is stored nowhere: it is derived from the campaign's key and a random salt, and the
database has only the salt. A clone, which has another key, has the secret of its lead masked with its key. Recovery
codes are stored as hashes that are keyed in the same way. So somebody who reads the database, and not the key, can
neither compute nor guess a code.
"""

from __future__ import annotations

import base64
import hmac
import secrets
from typing import NamedTuple

import segno
from pyotp.totp import TOTP

from adjudge.studio.access import Signer

STEP_SECONDS = 30
SECRET_BYTES = 20
CARRIED = "="  # begins the salt of a factor that a clone took over
DRIFT = 1  # steps by which the clock of an app may differ
RECOVERY_CODES = 10
RECOVERY_BYTES = 10  # of a code: 80 random bits are 16 letters


class Setup(NamedTuple):
    """What a person needs to set up an app."""

    secret: str  # to type
    image: str  # the address of a QR code, as data
    link: str  # otpauth://..., opens the app on a phone


def new_salt() -> str:
    """Return a random salt, from which the secret of one person's app is derived."""
    return secrets.token_hex(16)


def setup(signer: Signer, salt: str, name: str, campaign: str) -> Setup:
    """Return how an app is set up for a person's name in a campaign."""
    link = _totp(signer, salt).provisioning_uri(name=name, issuer_name=campaign)
    image = segno.make(link, error="m", micro=False).svg_data_uri(scale=5, border=3, light="#fff")
    return Setup(_secret(signer, salt), image, link)


def code_step(signer: Signer, salt: str, code: str, now: float, after: int) -> int | None:
    """Return the time step of an app's code, or None if it is wrong, too old, or not newer than the last one used."""
    totp, current = _totp(signer, salt), int(now // STEP_SECONDS)
    typed = "".join(code.split()).encode("utf-8", "replace")
    steps = range(max(current - DRIFT, after + 1), current + DRIFT + 1)
    valid = [step for step in steps if hmac.compare_digest(totp.generate_otp(step).encode(), typed)]
    return valid[0] if valid else None


def new_recovery_codes() -> list[str]:
    """Return random recovery codes such as ABCD-EFGH-IJKL-MNOP."""
    letters = [base64.b32encode(secrets.token_bytes(RECOVERY_BYTES)).decode() for _ in range(RECOVERY_CODES)]
    return ["-".join(text[at : at + 4] for at in range(0, len(text), 4)) for text in letters]


def recovery_hash(signer: Signer, code: str) -> str:
    """Return the hash under which a recovery code is stored, however it is typed."""
    letters = "".join(letter for letter in code.upper() if letter.isascii() and letter.isalnum())
    return signer.derive("recovery code", letters.encode()).hex()


def _totp(signer: Signer, salt: str) -> TOTP:
    """Return the generator of codes of a salt."""
    return TOTP(_secret(signer, salt), interval=STEP_SECONDS)


def carry_factor(signer: Signer, salt: str, clone: Signer) -> str:
    """Return the salt by which a clone of a campaign, which has another key, has the secret that an app holds already.

    It is the secret itself, masked with the key of the clone; this is done once for a clone, with its only person.
    """
    return CARRIED + base64.urlsafe_b64encode(_mask(clone, _secret_bytes(signer, salt))).decode()


def _secret(signer: Signer, salt: str) -> str:
    """Return the secret of a salt as apps expect it: 160 bits in base 32."""
    return base64.b32encode(_secret_bytes(signer, salt)).decode()


def _secret_bytes(signer: Signer, salt: str) -> bytes:
    """Return the secret of a salt."""
    if salt.startswith(CARRIED):
        return _mask(signer, base64.urlsafe_b64decode(salt.removeprefix(CARRIED)))
    return signer.derive("second factor", salt.encode())[:SECRET_BYTES]


def _mask(signer: Signer, secret: bytes) -> bytes:
    """Return a secret masked with bytes that follow from the key of a clone; masking twice gives the secret again."""
    stream = signer.derive("carried second factor", b"")[:SECRET_BYTES]
    return bytes(a ^ b for a, b in zip(secret, stream, strict=True))

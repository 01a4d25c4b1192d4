"""Commands on the second factor: set up, used, removed. A code is checked and spent in the same command."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.studio.access import Signer, may
from adjudge.studio.one_time_codes import code_step, recovery_hash
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger, Person
from adjudge.studio.record.store import Change, Row
from adjudge.studio.records import Refused
from adjudge.studio.settings import Settings


def may_have_factor(person: Person) -> bool:
    """Return whether a person can set up a second factor: people of the desk who sign in by a password."""
    return may(person.role, "desk") and bool(person.password)


def lacks_factor(person: Person, settings: Settings) -> bool:
    """Return whether a person must set up a second factor before they do anything else."""
    return settings.access.second_factor == "required" and may_have_factor(person) and not person.factor


def set_factor(
    ledger: Ledger,
    now: float,
    signer: Signer,
    person: int,
    salt: str,
    code: str,
    recovery: Sequence[str],
    drift: float = 0.0,
) -> Change:
    """Set up the second factor of a person, who proves with a code that their app has the secret.

    Parameters
    ----------
    ledger, now, signer
        The present state, the time, and the signer of the campaign.
    person, salt
        The person, and the salt that their app was set up with.
    code
        A code of the app.
    recovery
        New recovery codes; their hashes are stored.
    drift
        How far the machine's clock is from ``now``, in seconds (``Studio.clock_drift``).
    """
    someone = ledger.people[person]
    if not may_have_factor(someone):
        raise Refused(403, "factor_role", "Only leads and reviewers with a password have a second factor.")
    step = code_step(signer, salt, code, now + drift, 0)
    if not salt or step is None:
        raise _wrong_code()
    number = ledger.next_id(schema.factors)
    factor = {"id": number, "at": now, "person": person, "salt": salt, "by": person}
    hashes = [recovery_hash(signer, recovery_code) for recovery_code in recovery]
    rows = [
        (schema.factors, factor),
        *((schema.recovery_codes, {"hash": each, "factor": number}) for each in hashes),
        (schema.factor_uses, _use_row(ledger, now, person, step=step)),
    ]
    return Change(rows, None, (someone.name, "second factor set up", {}))


def use_code(ledger: Ledger, now: float, signer: Signer, person: int, code: str, drift: float = 0.0) -> Change:
    """Spend a code of the app, or a recovery code; each is valid once. ``drift`` is as for ``set_factor``."""
    someone = ledger.people[person]
    step = code_step(signer, someone.factor, code, now + drift, someone.step) if someone.factor else None
    if step is not None:
        return Change([(schema.factor_uses, _use_row(ledger, now, person, step=step))])
    hashed = recovery_hash(signer, code)
    if hashed not in someone.recovery:
        raise _wrong_code()
    detail = {"left": len(someone.recovery) - 1}
    row = _use_row(ledger, now, person, recovery=hashed)
    return Change([(schema.factor_uses, row)], None, (someone.name, "recovery code used", detail))


def remove_factor(ledger: Ledger, now: float, person: int, by: int | None) -> Change:
    """Remove the second factor of a person; ``by`` is None for the command line."""
    someone = ledger.people.get(person)
    if someone is None or not someone.factor:
        raise Refused(404, "factor_none", "This person has no second factor.")
    row = {"id": ledger.next_id(schema.factors), "at": now, "person": person, "salt": "", "by": by}
    who = "studio" if by is None else ledger.people[by].name
    return Change([(schema.factors, row)], None, (who, "second factor removed", {"person": someone.name}))


def _use_row(ledger: Ledger, now: float, person: int, step: int = 0, recovery: str = "") -> Row:
    """Return the row of a code that was used."""
    number = ledger.next_id(schema.factor_uses)
    return {"id": number, "at": now, "person": person, "step": step, "recovery": recovery}


def _wrong_code() -> Refused:
    """Return the refusal of a code."""
    return Refused(422, "code_wrong", "This code is wrong, expired or used. Wait for the next one.")

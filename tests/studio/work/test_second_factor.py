"""Commands on the second factor: codes are spent, also after a restart."""

import pyotp
import pytest

from adjudge.studio.access import Signer
from adjudge.studio.campaign import load_campaign
from adjudge.studio.one_time_codes import new_recovery_codes, new_salt, setup
from adjudge.studio.record import schema
from adjudge.studio.records import Refused
from adjudge.studio.studio import open_store
from adjudge.studio.work import people, second_factor

SIGNER = Signer(b"k" * 32)


@pytest.fixture
def made(file_crowd):
    """Return a campaign with a lead who has a second factor."""
    made = file_crowd()
    made.lea = made.do(people.join, made.do(people.invite, "lead"), "lea", "hash")
    made.salt, made.codes = new_salt(), new_recovery_codes()
    made.app = pyotp.TOTP(setup(SIGNER, made.salt, "lea", "Trees").secret)
    made.do(second_factor.set_factor, SIGNER, made.lea, made.salt, made.app.at(int(made.time[0])), made.codes)
    return made


def use(made, code):
    """Spend a code."""
    return made.do(second_factor.use_code, SIGNER, made.lea, code)


def test_a_code_is_spent(made):
    """The one of the set-up too; the next one is not."""
    with pytest.raises(Refused, match="wrong, expired or used"):
        use(made, made.app.at(int(made.time[0])))
    made.time[0] += 30
    use(made, made.app.at(int(made.time[0])))
    with pytest.raises(Refused, match="wrong, expired or used"):
        use(made, made.app.at(int(made.time[0])))


def test_a_recovery_code_is_spent_also_after_a_restart(made):
    """The others are left; hashes of them alone are stored."""
    use(made, made.codes[3])
    made.store.close()
    made.store = open_store(load_campaign(made.folder))
    with made.store.reading() as connection:
        stored = str(connection.execute(schema.recovery_codes.select()).all())
    assert not any(code in stored or code.replace("-", "") in stored for code in made.codes)
    lea = made.store.ledger.people[made.lea]
    assert (len(lea.recovery), lea.factor, lea.step) == (9, made.salt, int(made.time[0] // 30))
    for code, valid in ((made.codes[3], False), (made.codes[4], True)):
        command = lambda ledger, now, code=code: second_factor.use_code(ledger, now, SIGNER, made.lea, code)  # noqa: E731
        if valid:
            made.store.do(command)
        else:
            with pytest.raises(Refused):
                made.store.do(command)


def test_a_removed_factor_is_gone_with_its_codes(made):
    """The person signs in by the password alone; removing twice is refused."""
    made.do(second_factor.remove_factor, made.lea, None)
    assert made.store.ledger.people[made.lea].factor == ""
    with pytest.raises(Refused, match="wrong, expired or used"):
        use(made, made.codes[0])
    with pytest.raises(Refused, match="has no second factor"):
        made.do(second_factor.remove_factor, made.lea, None)


def test_a_wrong_code_sets_up_nothing(made):
    """Nor does a missing salt; judges have no second factor."""
    ann = made.do(people.join, made.do(people.invite, "judge"), "ann", "hash")
    for person, salt, code in (
        (made.lea, made.salt, "000000"),
        (made.lea, "", made.app.at(int(made.time[0]))),
        (ann, "x", ""),
    ):
        with pytest.raises(Refused):
            made.do(second_factor.set_factor, SIGNER, person, salt, code, [])

"""One-time codes: those of RFC 6238, from a secret that is stored nowhere, each once."""

import pyotp
import pytest

from adjudge.studio.access import Signer
from adjudge.studio.one_time_codes import code_step, new_recovery_codes, new_salt, recovery_hash, setup

SIGNER, NOW = Signer(b"k" * 32), 1_800_000_000.0


@pytest.mark.parametrize(("at", "code"), [(59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")])
def test_codes_are_those_of_the_standard(monkeypatch, at, code):
    """RFC 6238, appendix B, of its secret; six of its eight digits."""
    monkeypatch.setattr("adjudge.studio.one_time_codes._secret", lambda *_: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
    assert code_step(SIGNER, "", code, at, 0) == at // 30


def test_a_code_is_valid_for_a_step_around_its_time_and_only_once():
    """An app's clock may be half a minute wrong; blanks do not matter."""
    salt = new_salt()
    app = pyotp.TOTP(setup(SIGNER, salt, "lea", "Trees").secret)
    code, step = app.at(int(NOW)), int(NOW // 30)
    assert [code_step(SIGNER, salt, code, NOW + late, 0) for late in (-60, -30, 0, 30, 60)] == [
        None,
        step,
        step,
        step,
        None,
    ]
    assert code_step(SIGNER, salt, f"{code[:3]} {code[3:]}", NOW, step - 1) == step
    assert code_step(SIGNER, salt, code, NOW, step) is None
    assert code_step(Signer(b"x" * 32), salt, code, NOW, 0) is None
    for nonsense in ("", "12345", "\uff11\uff12\uff13\uff14\uff15\uff16", "\ud800", code + "0"):
        assert code_step(SIGNER, salt, nonsense, NOW, 0) is None


def test_an_app_learns_secret_name_and_campaign():
    """By an image that needs no other site, or by typing; the salt alone does not give the secret."""
    salt = new_salt()
    one = setup(SIGNER, salt, "lea", "Trees & shrubs")
    parsed = pyotp.parse_uri(one.link)
    assert (parsed.secret, parsed.name, parsed.issuer) == (one.secret, "lea", "Trees & shrubs")
    assert one.image.startswith("data:image/svg+xml")
    assert setup(Signer(b"x" * 32), salt, "lea", "Trees").secret != one.secret


def test_recovery_codes_differ_and_are_found_however_they_are_typed():
    """By a hash that needs the campaign's key."""
    codes = new_recovery_codes()
    assert len(set(codes)) == 10
    assert {len(code) for code in codes} == {19}
    assert recovery_hash(SIGNER, codes[0]) == recovery_hash(SIGNER, f" {codes[0].lower().replace('-', ' ')} ")
    assert recovery_hash(SIGNER, codes[0]) != recovery_hash(Signer(b"x" * 32), codes[0])

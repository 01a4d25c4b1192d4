"""Roles, passwords, signed texts, API tokens and rate limits."""

import os
import stat

import pytest

from adjudge.errors import InputError, UsageError
from adjudge.studio import access
from adjudge.studio.access import (
    DEFAULT_RATES,
    RateLimiter,
    Signer,
    hash_password,
    hash_token,
    load_key,
    may,
    network_address,
    new_token,
    parse_scopes,
    password_problem,
    verify_password,
)

NOW = 1_800_000_000.0
KEY = bytes(range(32))


@pytest.fixture
def signer():
    """Return a signer of a known key."""
    return Signer(KEY)


def test_a_password_is_known_again_and_no_other_one():
    """Hashes carry a salt, so two of one password differ."""
    hashed = hash_password("correct horse battery")
    assert hashed.startswith("$argon2id$")
    assert hashed != hash_password("correct horse battery")
    assert verify_password(hashed, "correct horse battery")
    assert not verify_password(hashed, "correct horse batterx")
    assert not verify_password(hashed, "")
    assert not access.needs_rehash(hashed)


def test_an_accent_may_be_typed_in_two_ways():
    """A letter with its accent, or a letter and an accent, are one password."""
    assert verify_password(hash_password("caf\u00e9 at the corner"), "cafe\u0301 at the corner")


def test_nobody_costs_as_much_as_somebody(monkeypatch):
    """Without an account a hash is verified all the same, and the answer is no even if it fitted."""
    calls = []

    class Yes:
        def verify(self, hashed, password):
            calls.append(hashed)
            return True

        hash = staticmethod(access.HASHER.hash)

    monkeypatch.setattr(access, "HASHER", Yes())
    for missing in (None, ""):  # nobody, and somebody whom a crowd's platform sends
        assert verify_password(missing, "correct horse battery") is False
        assert calls.pop().startswith("$argon2id$v=19$m=19456,t=3,p=1$")


def test_a_broken_hash_is_no_password():
    """What cannot be read as a hash never lets anybody in, and never fails loudly."""
    assert not verify_password("", "x")
    assert not verify_password("$argon2id$nonsense", "x")


def test_old_parameters_are_noticed():
    """A hash with weaker parameters must be computed again."""
    from argon2 import PasswordHasher

    assert access.needs_rehash(PasswordHasher(time_cost=1, memory_cost=8_192, parallelism=1).hash("x"))


@pytest.mark.parametrize(
    ("password", "sentence"),
    [
        ("short", "The password has 5 characters; use at least 10."),
        ("x" * 300, "The password has 300 characters; use at most 256."),
        ("Rosa-Luxemburg", "The password is almost the same as the name; choose another one."),
        ("rosa-luxemburg1!", "The password is almost the same as the name; choose another one."),
        ("Password123", "The password is too easy to guess; choose another one."),
        ("aaaaaaaaaaaa", "The password is too easy to guess; choose another one."),
    ],
)
def test_weak_passwords_are_refused_with_the_reason(password, sentence):
    """Short, endless, the name itself, or one that everybody tries."""
    refused = password_problem(password, "Rosa-Luxemburg")
    assert str(refused) == sentence
    assert refused.code.startswith("password_")


def test_a_good_password_is_taken():
    """Ten characters of one's own are enough, and no name is no reason to refuse."""
    assert password_problem("kopfstein pflaster", "rosa") is None
    assert password_problem("kopfstein pflaster", "") is None
    assert password_problem("rosa likes marble runs", "rosa") is None


def test_a_session_says_who_until_it_is_over(signer):
    """After its hours it reads as none."""
    text = signer.session(7, 2, 12, NOW)
    session = signer.read_session(text, NOW + 3600)
    assert (session.person, session.epoch, session.bound) == (7, 2, "")
    assert signer.read_session(text, NOW + 12 * 3600 - 1) is not None
    assert signer.read_session(text, NOW + 12 * 3600) is None


def test_a_session_can_be_bound(signer):
    """To what a crowd's platform calls the piece of work."""
    text = signer.session(7, 0, 1, NOW, bound="mturk:A1B2")
    assert signer.read_session(text, NOW).bound == "mturk:A1B2"
    assert text != signer.session(7, 0, 1, NOW, bound="mturk:A1B2")


@pytest.mark.parametrize("text", [None, "", ".", "a.b", "é" * 20, "\ud800.x", "x" * 5_000, "eyJ9.AAAA", ".eJw.AAAA"])
def test_nonsense_reads_as_nothing(signer, text):
    """Whatever comes from outside, there is no exception."""
    assert signer.read_session(text, NOW) is None
    assert signer.read_invitation(text) is None
    assert signer.read_prompt_id(text) is None
    assert not signer.csrf_matches("session", text)


def test_every_changed_letter_breaks_a_signature(signer):
    """No letter of it can be another one."""
    text = signer.invitation(12)
    for position, letter in enumerate(text):
        other = "A" if letter != "A" else "B"
        assert signer.read_invitation(text[:position] + other + text[position + 1 :]) != 12 or _same_bits(
            text, position
        )


def _same_bits(text, place):
    """Return whether this is the last letter, of whose bits base64 leaves some unused."""
    return place == len(text) - 1


def test_texts_signed_for_one_purpose_are_not_valid_for_another(signer):
    """A text signed with another key is not valid at all."""
    assert signer.read_invitation(signer.invitation(3)) == 3
    assert signer.read_prompt_id(signer.prompt_id(3)) == 3
    assert signer.read_prompt_id(signer.invitation(3)) is None
    assert signer.read_invitation(signer.prompt_id(3)) is None
    assert signer.read_session(signer.invitation(3), NOW) is None
    assert Signer(bytes(32)).read_invitation(signer.invitation(3)) is None


def test_a_page_of_one_session_changes_nothing_in_another(signer):
    """What a page sends along is bound to the session, not to the person."""
    first, two = signer.session(7, 0, 1, NOW), signer.session(7, 0, 1, NOW)
    assert signer.csrf_matches(first, signer.csrf(first))
    assert not signer.csrf_matches(two, signer.csrf(first))
    assert not signer.csrf_matches(first, "")


def test_a_short_key_is_no_key():
    """A signer refuses a key that could be guessed."""
    with pytest.raises(UsageError, match="needs 32 bytes, got 3"):
        Signer(b"abc")


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path):
    """Mode 600 whatever the umask, nothing else is left in the folder, and the next start finds the same key."""
    before = os.umask(0)
    try:
        key = load_key(tmp_path)
    finally:
        os.umask(before)
    assert len(key) == 32
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert load_key(tmp_path) == key
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_key_made_by_another_process_stays(tmp_path):
    """Who comes second takes the key of who was first."""
    key = load_key(tmp_path)
    access._create_key(tmp_path / "key")
    assert load_key(tmp_path) == key
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_key_that_others_read_is_refused(tmp_path):
    """With the file, its mode, and what to do."""
    load_key(tmp_path)
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(InputError, match=r"key: others can read the signing key \(mode 644\).*chmod 600"):
        load_key(tmp_path)


def test_a_short_key_file_is_refused(tmp_path):
    """A file that was cut is not signed with."""
    (tmp_path / "key").write_bytes(b"abc")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(InputError, match="has 3 bytes, expected at least 32: delete the file"):
        load_key(tmp_path)


def test_tokens_are_kept_as_hashes():
    """A token is known by its hash, and can be told from other secrets by its first letters."""
    text, hashed = new_token()
    assert text.startswith("adj_")
    assert len(text) >= 46
    assert hash_token(text) == hashed
    assert text not in hashed
    assert new_token()[0] != text


def test_scopes_are_words_of_a_list():
    """An unknown scope, or none, is refused."""
    assert parse_scopes("read export") == {"read", "export"}
    with pytest.raises(UsageError, match="'everything', expected one or more of 'export', 'import', 'invite', 'read'"):
        parse_scopes("everything")
    with pytest.raises(UsageError, match="scopes none"):
        parse_scopes(" ")


def test_roles_may_what_the_table_says():
    """Judges judge, reviewers rule, leads do the rest; who sees the desk does not judge."""
    assert may("judge", "judge")
    assert not may("judge", "desk")
    assert may("reviewer", "rule")
    for action in ("invite", "exclude", "export", "import", "token", "judge"):
        assert not may("reviewer", action)
    assert may("lead", "invite")
    assert not may("lead", "judge")
    assert not may("stranger", "judge")
    assert not may("lead", "anything")


RATES = {"sign-in": (5, 60.0), "document": (2, 1.0)}


def test_five_at_once_and_then_one_in_twelve_seconds():
    """Who waits as long as was said is let in, who comes earlier is not."""
    limits = RateLimiter(RATES)
    assert [limits.take("sign-in", "a", 100.0) for _ in range(5)] == [0.0] * 5
    assert limits.take("sign-in", "a", 100.0) == pytest.approx(12.0)
    assert limits.take("sign-in", "a", 106.0) == pytest.approx(6.0)
    assert limits.take("sign-in", "a", 112.1) == 0.0
    assert limits.take("sign-in", "a", 112.1) > 0


def test_asking_in_vain_costs_nothing():
    """Who knocks all the time waits no longer than who does not."""
    limits = RateLimiter(RATES)
    for _ in range(100):
        limits.take("sign-in", "a", 0.0)
    assert limits.take("sign-in", "a", 12.1) == 0.0


def test_purposes_and_keys_have_buckets_of_their_own():
    """One who is too fast stops nobody else, and nothing else."""
    limits = RateLimiter(RATES)
    while limits.take("sign-in", "a", 0.0) == 0.0:
        pass
    assert limits.take("sign-in", "b", 0.0) == 0.0
    assert limits.take("document", "a", 0.0) == 0.0


def test_a_bucket_never_holds_more_than_it_does():
    """After a day away there are five again, not a day's worth."""
    limits = RateLimiter(RATES)
    limits.take("sign-in", "a", 0.0)
    assert [limits.take("sign-in", "a", 86_400.0) == 0.0 for _ in range(7)] == [True] * 5 + [False] * 2


def test_a_clock_that_jumps_back_opens_nothing():
    """And does not shut anybody out for as long as it jumped."""
    limits = RateLimiter(RATES)
    for _ in range(6):
        limits.take("sign-in", "a", 10_000.0)
    assert limits.take("sign-in", "a", 50.0) > 0
    assert limits.take("sign-in", "a", 63.0) == 0.0


def test_memory_is_bounded():
    """The buckets of those who asked longest ago go first."""
    limits = RateLimiter(RATES, most=100)
    for number in range(1_000):
        limits.take("document", "early", float(number))
        limits.take("document", str(number), float(number))
    assert len(limits) == 100


def test_a_flood_of_one_purpose_leaves_the_others_alone():
    """Who may not sign in may not after a million requests for documents that are nobody's either."""
    limits = RateLimiter(RATES, most=10)
    while limits.take("sign-in", "a", 0.0) == 0.0:
        pass
    for number in range(100):
        limits.take("document", str(number), 0.0)
    assert limits.take("sign-in", "a", 0.0) > 0


def test_the_usual_limits_let_a_judge_work():
    """Four requests a second is more than a page sends."""
    assert DEFAULT_RATES["document"][0] / DEFAULT_RATES["document"][1] >= 4
    assert RateLimiter(DEFAULT_RATES).take("document", "a", 0.0) == 0


@pytest.mark.parametrize(
    ("socket", "address"),
    [
        ("9.9.9.9", "9.9.9.9"),
        (None, "unknown"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("fe80::1%eth0", "fe80::"),
        ("::ffff:9.9.9.9", "9.9.9.9"),
        ("not:an:address", "not:an:address"),
    ],
)
def test_neighbours_in_a_network_are_one(socket, address):
    """A customer of IPv6 has a /64, and does not get a bucket for each of its addresses."""
    assert network_address(socket) == address

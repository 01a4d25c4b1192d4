import os
import stat

import pytest

from adjudge.errors import InputError, UsageError
from adjudge.studio.identity import access
from adjudge.studio.identity.access import (
    USUAL,
    Limits,
    Seal,
    address_of,
    hash_password,
    key_of,
    may,
    new_token,
    password_is,
    scopes_of,
    token_hash,
    weak,
)

NOW = 1_800_000_000.0
KEY = bytes(range(32))


@pytest.fixture
def seal():
    """Return a seal of a known key."""
    return Seal(KEY)


def test_a_password_is_known_again_and_no_other_one():
    """Hashes carry a salt, so two of one password differ."""
    hashed = hash_password("correct horse battery")
    assert hashed.startswith("$argon2id$")
    assert hashed != hash_password("correct horse battery")
    assert password_is(hashed, "correct horse battery")
    assert not password_is(hashed, "correct horse batterx")
    assert not password_is(hashed, "")
    assert not access.outdated(hashed)


def test_an_accent_may_be_typed_in_two_ways():
    """A letter with its accent, or a letter and an accent, are one password."""
    assert password_is(hash_password("caf\u00e9 at the corner"), "cafe\u0301 at the corner")


def test_nobody_costs_as_much_as_somebody(monkeypatch):
    """Without an account a hash is verified all the same, and the answer is no even if it fitted."""
    seen = []

    class Yes:
        def verify(self, hashed, password):
            seen.append(hashed)
            return True

        hash = staticmethod(access.HASHER.hash)

    monkeypatch.setattr(access, "HASHER", Yes())
    for missing in (None, ""):  # nobody, and somebody whom a crowd's platform sends
        assert password_is(missing, "correct horse battery") is False
        assert seen.pop().startswith("$argon2id$v=19$m=19456,t=3,p=1$")


def test_a_broken_hash_is_no_password():
    """What cannot be read as a hash never lets anybody in, and never fails loudly."""
    assert not password_is("", "x")
    assert not password_is("$argon2id$nonsense", "x")


def test_old_parameters_are_noticed():
    """A hash of a weaker time is to be made anew."""
    from argon2 import PasswordHasher

    assert access.outdated(PasswordHasher(time_cost=1, memory_cost=8_192, parallelism=1).hash("x"))


@pytest.mark.parametrize(
    ("password", "word"),
    [
        ("short", "at least 10"),
        ("x" * 300, "at most 256"),
        ("Rosa-Luxemburg", "the name"),
        ("rosa-luxemburg1!", "the name"),
        ("Password123", "first that would be tried"),
        ("aaaaaaaaaaaa", "first that would be tried"),
    ],
)
def test_weak_passwords_are_refused_with_the_reason(password, word):
    """Short, endless, the name itself, or one that everybody tries."""
    refused = weak(password, "Rosa-Luxemburg")
    assert word in str(refused)
    assert refused.code.startswith("password_")


def test_a_good_password_is_taken():
    """Ten characters of one's own are enough, and no name is no reason to refuse."""
    assert weak("kopfstein pflaster", "rosa") is None
    assert weak("kopfstein pflaster", "") is None
    assert weak("rosa likes marble runs", "rosa") is None


def test_a_session_says_who_until_it_is_over(seal):
    """After its hours it reads as none."""
    text = seal.session(7, 2, 12, NOW)
    session = seal.session_of(text, NOW + 3600)
    assert (session.person, session.epoch, session.bound) == (7, 2, "")
    assert seal.session_of(text, NOW + 12 * 3600 - 1) is not None
    assert seal.session_of(text, NOW + 12 * 3600) is None


def test_a_session_can_be_bound(seal):
    """To what a crowd's platform calls the piece of work."""
    text = seal.session(7, 0, 1, NOW, bound="mturk:A1B2")
    assert seal.session_of(text, NOW).bound == "mturk:A1B2"
    assert text != seal.session(7, 0, 1, NOW, bound="mturk:A1B2")


@pytest.mark.parametrize("text", [None, "", ".", "a.b", "é" * 20, "\ud800.x", "x" * 5_000, "eyJ9.AAAA", ".eJw.AAAA"])
def test_nonsense_reads_as_nothing(seal, text):
    """Whatever comes from outside, there is no exception."""
    assert seal.session_of(text, NOW) is None
    assert seal.invitation_of(text) is None
    assert seal.prompt_of(text) is None
    assert not seal.csrf_is("session", text)


def test_every_changed_letter_breaks_a_seal(seal):
    """No letter of it can be another one."""
    text = seal.invitation(12)
    for place, letter in enumerate(text):
        other = "A" if letter != "A" else "B"
        assert seal.invitation_of(text[:place] + other + text[place + 1 :]) != 12 or _same_bits(text, place)


def _same_bits(text, place):
    """Return whether this is the last letter, of whose bits base64 leaves some unused."""
    return place == len(text) - 1


def test_seals_of_one_purpose_are_none_of_another(seal):
    """And a seal of another key is none at all."""
    assert seal.invitation_of(seal.invitation(3)) == 3
    assert seal.prompt_of(seal.prompt(3)) == 3
    assert seal.prompt_of(seal.invitation(3)) is None
    assert seal.invitation_of(seal.prompt(3)) is None
    assert seal.session_of(seal.invitation(3), NOW) is None
    assert Seal(bytes(32)).invitation_of(seal.invitation(3)) is None


def test_a_page_of_one_session_changes_nothing_in_another(seal):
    """What a page sends along is bound to the session, not to the person."""
    one, two = seal.session(7, 0, 1, NOW), seal.session(7, 0, 1, NOW)
    assert seal.csrf_is(one, seal.csrf(one))
    assert not seal.csrf_is(two, seal.csrf(one))
    assert not seal.csrf_is(one, "")


def test_a_short_key_is_no_key():
    """A seal refuses a key that could be guessed."""
    with pytest.raises(UsageError, match="needs 32 bytes, got 3"):
        Seal(b"abc")


def test_the_key_is_made_once_and_for_its_owner_only(tmp_path):
    """Mode 600 whatever the umask, nothing else is left in the folder, and the next start finds the same key."""
    before = os.umask(0)
    try:
        key = key_of(tmp_path)
    finally:
        os.umask(before)
    assert len(key) == 32
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert key_of(tmp_path) == key
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_key_made_by_another_process_stays(tmp_path):
    """Who comes second takes the key of who was first."""
    key = key_of(tmp_path)
    access._make_key(tmp_path / "key")
    assert key_of(tmp_path) == key
    assert [path.name for path in tmp_path.iterdir()] == ["key"]


def test_a_key_that_others_read_is_refused(tmp_path):
    """With the file, its mode, and what to do."""
    key_of(tmp_path)
    (tmp_path / "key").chmod(0o644)
    with pytest.raises(InputError, match=r"key: others may read the signing key \(mode 644\).*chmod 600"):
        key_of(tmp_path)


def test_a_short_key_file_is_refused(tmp_path):
    """A file that was cut is not signed with."""
    (tmp_path / "key").write_bytes(b"abc")
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(InputError, match="has 3 bytes, expected at least 32: delete the file"):
        key_of(tmp_path)


def test_tokens_are_kept_as_hashes():
    """A token is known by its hash, and can be told from other secrets by its first letters."""
    text, hashed = new_token()
    assert text.startswith("adj_")
    assert len(text) >= 46
    assert token_hash(text) == hashed
    assert text not in hashed
    assert new_token()[0] != text


def test_scopes_are_words_of_a_list():
    """An unknown scope, or none, is refused."""
    assert scopes_of("read export") == {"read", "export"}
    with pytest.raises(UsageError, match="'everything', expected one or more of 'export', 'import', 'read'"):
        scopes_of("everything")
    with pytest.raises(UsageError, match="scopes none"):
        scopes_of(" ")


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
    limits = Limits(RATES)
    assert [limits.take("sign-in", "a", 100.0) for _ in range(5)] == [0.0] * 5
    assert limits.take("sign-in", "a", 100.0) == pytest.approx(12.0)
    assert limits.take("sign-in", "a", 106.0) == pytest.approx(6.0)
    assert limits.take("sign-in", "a", 112.1) == 0.0
    assert limits.take("sign-in", "a", 112.1) > 0


def test_asking_in_vain_costs_nothing():
    """Who knocks all the time waits no longer than who does not."""
    limits = Limits(RATES)
    for _ in range(100):
        limits.take("sign-in", "a", 0.0)
    assert limits.take("sign-in", "a", 12.1) == 0.0


def test_purposes_and_keys_have_buckets_of_their_own():
    """One who is too fast stops nobody else, and nothing else."""
    limits = Limits(RATES)
    while limits.take("sign-in", "a", 0.0) == 0.0:
        pass
    assert limits.take("sign-in", "b", 0.0) == 0.0
    assert limits.take("document", "a", 0.0) == 0.0


def test_a_bucket_never_holds_more_than_it_does():
    """After a day away there are five again, not a day's worth."""
    limits = Limits(RATES)
    limits.take("sign-in", "a", 0.0)
    assert [limits.take("sign-in", "a", 86_400.0) == 0.0 for _ in range(7)] == [True] * 5 + [False] * 2


def test_a_clock_that_jumps_back_opens_nothing():
    """And does not shut anybody out for as long as it jumped."""
    limits = Limits(RATES)
    for _ in range(6):
        limits.take("sign-in", "a", 10_000.0)
    assert limits.take("sign-in", "a", 50.0) > 0
    assert limits.take("sign-in", "a", 63.0) == 0.0


def test_memory_is_bounded():
    """The buckets of those who asked longest ago go first."""
    limits = Limits(RATES, most=100)
    for number in range(1_000):
        limits.take("document", "early", float(number))
        limits.take("document", str(number), float(number))
    assert len(limits) == 100


def test_a_flood_of_one_purpose_leaves_the_others_alone():
    """Who may not sign in may not after a million requests for documents that are nobody's either."""
    limits = Limits(RATES, most=10)
    while limits.take("sign-in", "a", 0.0) == 0.0:
        pass
    for number in range(100):
        limits.take("document", str(number), 0.0)
    assert limits.take("sign-in", "a", 0.0) > 0


def test_the_usual_limits_let_a_judge_work():
    """Four requests a second is more than a page sends."""
    assert USUAL["document"][0] / USUAL["document"][1] >= 4
    Limits(USUAL).take("sign-in", "a", 0.0)


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
    assert address_of(socket) == address

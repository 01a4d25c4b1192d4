import pytest

from adjudge.collect.entry.limits import USUAL, Limits, address_of

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

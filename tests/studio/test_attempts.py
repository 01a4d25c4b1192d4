"""Limits on failures: successes are free, an account has a bound, and its owner's browser has a limit of its own."""

from adjudge.studio.attempts import RATES, Attempts, code_buckets, sign_in_buckets

HOUR = 3_600


def test_successes_are_free():
    """A thousand people sign in from one address, one after another or all at once."""
    attempts = Attempts()
    for person in range(1_000):
        buckets = sign_in_buckets("9.9.9.9", f"p{person}", "")
        assert attempts.begin(buckets, 0.0) == 0
        attempts.succeed(buckets)
    assert [attempts.begin(sign_in_buckets("9.9.9.9", f"q{n}", ""), 0.0) for n in range(100)] == [0.0] * 100


def test_many_attempts_at_once_are_counted_before_they_are_checked():
    """Nobody gets more guesses by sending them together."""
    attempts = Attempts()
    waits = [attempts.begin([("account", "lea")], 0.0) for _ in range(100)]
    assert sum(wait == 0 for wait in waits) == RATES["account"][0]


def test_an_attempt_that_one_bucket_refuses_costs_the_others_nothing():
    """The tokens of the first buckets are given back."""
    attempts = Attempts()
    while attempts.begin([("account", "lea")], 0.0) == 0:
        pass
    for _ in range(1_000):
        assert attempts.begin(sign_in_buckets("9.9.9.9", "lea", ""), 0.0) > 0
    assert attempts.begin(sign_in_buckets("9.9.9.9", "bob", ""), 0.0) == 0


def guesses(buckets_of, hours):
    """Return how many guesses an attacker gets who tries every second."""
    attempts = Attempts()
    return sum(attempts.begin(buckets_of(second), float(second)) == 0 for second in range(hours * HOUR))


def test_an_attacker_gets_few_guesses_at_one_account():
    """From as many addresses as they like: these are the numbers of docs/how-to/security.md."""
    from_everywhere = [guesses(lambda second: sign_in_buckets(f"a{second}", "lea", ""), hours) for hours in (1, 2)]
    assert from_everywhere == [39, 59]
    assert [guesses(lambda second: code_buckets("lea", ""), hours) for hours in (1, 2)] == [19, 29]


def test_an_attacker_gets_few_guesses_from_one_address():
    """At all accounts together: these are the numbers of docs/how-to/security.md."""
    assert [guesses(lambda second: sign_in_buckets("a", f"p{second}", ""), hours) for hours in (1, 2)] == [839, 1_559]


def test_strangers_do_not_lock_the_owner_out():
    """A browser that its owner has signed in with does not care how often others failed."""
    attempts = Attempts()
    for second in range(HOUR):
        attempts.begin(sign_in_buckets("9.9.9.9", "lea", ""), float(second))
    assert attempts.begin(sign_in_buckets("9.9.9.9", "lea", ""), HOUR - 0.5) > 0
    assert attempts.begin(sign_in_buckets("9.9.9.9", "lea", "b1"), HOUR - 0.5) == 0


def test_a_known_browser_may_not_guess_for_ever_either():
    """Ten wrong passwords at once, then one a minute."""
    attempts = Attempts()
    waits = [attempts.begin(sign_in_buckets("x", "lea", "b1"), 0.0) for _ in range(11)]
    assert waits[:10] == [0.0] * 10
    assert round(waits[10]) == 60

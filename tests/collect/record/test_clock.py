from adjudge.collect.record.clock import Clock


class Hands:
    """The clocks of a machine, to be set."""

    wall, steady = 1_000.0, 50.0

    def clock(self, **told):
        """Return the studio's clock on this machine."""
        return Clock(wall=lambda: self.wall, steady=lambda: self.steady, **told)


def test_it_goes_with_the_machine():
    """Time goes by as it does on the machine."""
    hands = Hands()
    clock = hands.clock()
    hands.wall, hands.steady = 1_010.0, 60.0
    assert (clock(), clock.jumped()) == (1_010.0, 0.0)


def test_jumps_do_not_move_it():
    """Whether the machine's clock is set forward or back, leases and times are as before."""
    for jump in (+86_400.0, -86_400.0):
        hands = Hands()
        clock = hands.clock()
        hands.wall, hands.steady = 1_010.0 + jump, 60.0
        assert (clock(), clock.jumped()) == (1_010.0, jump)


def test_it_does_not_begin_before_what_is_on_record():
    """A machine that wakes up in the past goes on from the last row."""
    hands = Hands()
    clock = hands.clock(not_before=5_000.0)
    hands.steady += 1
    assert clock() == 5_001.0


def test_the_real_one_goes_forward():
    """Without being told of other clocks it takes the machine's."""
    import time

    clock = Clock()
    assert abs(clock() - time.time()) < 5
    assert clock() <= clock()

"""Options are checked before any work is done."""

import math

import pytest

from adjudge.errors import UsageError
from adjudge.inference.options import Options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ties": "coin"}, "ties 'coin' is not one of 'random', 'first', 'all'"),
        ({"seed": -1}, "seed -1 is not a whole number of at least 0"),
        ({"iterations": 0}, "iterations 0 is not a whole number of at least 1"),
        ({"tolerance": -1.0}, "tolerance -1.0 is not a number of at least 0"),
        ({"tolerance": math.nan}, "tolerance nan is not a number of at least 0"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    """The message names the option, the value, and what is allowed."""
    with pytest.raises(UsageError) as caught:
        Options(**options)
    assert str(caught.value) == message


def test_defaults_are_sound():
    """Nothing chosen is a choice too."""
    assert Options().tolerance == 1e-8

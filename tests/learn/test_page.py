"""The page on weights: its examples work, and its table is the registry's."""

import doctest
from pathlib import Path

from adjudge.learn.weights import SCHEMES

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "weights.md"


def test_examples_work() -> None:
    """Every >>> gives what the page says."""
    failed, tried = doctest.testfile(str(PAGE), module_relative=False)
    assert (failed, tried > 10) == (0, True)


def test_the_table_of_schemes_is_the_registry() -> None:
    """A row a scheme, a yes for every factor."""
    text = PAGE.read_text()
    for scheme in SCHEMES.values():
        flags = (scheme.signed, scheme.prior, scheme.activity, scheme.agreement)
        assert f"| {scheme.name} |{'|'.join(' yes ' if flag else ' ' for flag in flags)}|" in text

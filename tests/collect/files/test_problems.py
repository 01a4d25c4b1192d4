"""Problems are gathered, and told at once."""

import pytest

from adjudge.collect.files.problems import CampaignProblems, Problems
from adjudge.errors import InputError


def test_nothing_found_refuses_nothing():
    """A campaign without problems goes on."""
    assert Problems().refuse("here") is None


def test_every_problem_has_a_line_of_its_own():
    """With file and line where there is one."""
    problems = Problems()
    problems.add("is missing", "a.csv")
    problems.add("is odd", "b.csv", 7)
    with pytest.raises(InputError) as refused:
        problems.refuse("trial")
    assert str(refused.value) == "trial: there are 2 problems\n  a.csv: is missing\n  b.csv, line 7: is odd"
    assert refused.value.exit_code == 1


def test_one_problem_is_one():
    """And said so."""
    assert str(CampaignProblems(["a: b"], "x")) == "x: there is a problem\n  a: b"


def test_of_many_the_first_are_shown():
    """The rest are counted, and kept for who wants them."""
    error = CampaignProblems([str(n) for n in range(1060)], "x")
    assert str(error).splitlines()[-2:] == ["  49", "  and 1,010 more"]
    assert len(error.problems) == 1060

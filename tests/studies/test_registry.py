"""Every study by name."""

import pytest

from adjudge.errors import UsageError
from studies.outcome import Asked
from studies.registry import ALL, known_study


def test_studies_are_known_by_name():
    """And an unknown one lists them."""
    assert all(known_study(name, Asked()) is study for name, study in ALL.items())
    with pytest.raises(UsageError) as error:
        known_study("magic", Asked())
    assert (
        str(error.value)
        == "study 'magic' is not one of 'ordinal', 'vote', 'spectrum', 'memory', 'trec2011', 'calibration'"
    )


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("vote", Asked(runs=3), "study 'vote' has no --runs; studies that have are 'spectrum', 'memory'"),
        ("ordinal", Asked(sizes=[3]), "study 'ordinal' has no --sizes; studies that have are 'spectrum', 'memory'"),
        ("spectrum", Asked(sets=["a"]), "study 'spectrum' has no --sets; studies that have are 'ordinal', 'vote'"),
    ],
)
def test_options_that_say_nothing_are_refused(name, asked, message):
    """With the studies to which they do."""
    with pytest.raises(UsageError) as error:
        known_study(name, asked)
    assert str(error.value).startswith(message)


def test_comparisons_are_run_on_their_sets(crowds):
    """By their own engine."""
    found = ALL["ordinal"].run(Asked(str(crowds), ["c"], draws=5))
    assert [table.title.split(":")[0] for table in found.tables()] == ["c"]

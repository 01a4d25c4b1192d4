"""Every study by name."""

import pytest

from adjudge.errors import UsageError
from studies.outcome import StudyOptions
from studies.registry import ALL, find_study


def test_studies_are_known_by_name():
    """And an unknown one lists them."""
    assert all(find_study(name, StudyOptions()) is study for name, study in ALL.items())
    with pytest.raises(UsageError) as error:
        find_study("magic", StudyOptions())
    assert (
        str(error.value)
        == "study 'magic' is not one of 'ordinal', 'vote', 'spectrum', 'memory', 'trec2011', 'calibration', "
        "'rerank'"
    )


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "vote",
            StudyOptions(runs=3),
            "study 'vote' has no --runs; studies with this option are 'ordinal', 'spectrum', 'memory'",
        ),
        (
            "ordinal",
            StudyOptions(sizes=[3]),
            "study 'ordinal' has no --sizes; studies with this option are 'spectrum', 'memory'",
        ),
        (
            "spectrum",
            StudyOptions(sets=["a"]),
            "study 'spectrum' has no --sets; studies with this option are 'ordinal', 'vote'",
        ),
    ],
)
def test_options_that_say_nothing_are_refused(name, options, message):
    """With the studies to which they do."""
    with pytest.raises(UsageError) as error:
        find_study(name, options)
    assert str(error.value).startswith(message)


def test_comparisons_are_run_on_their_sets(crowds):
    """By their own engine."""
    answer = ALL["ordinal"].run(StudyOptions(str(crowds), ["c"], draws=5))
    assert [table.title.split(":")[0] for table in answer.tables()] == ["c"]

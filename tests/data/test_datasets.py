"""The data that ship with the package are the printed tables."""

import numpy as np
import pytest

from adjudge.data.datasets import DATASETS, FOLDER, dataset
from adjudge.errors import UsageError


def test_anesthesia_is_the_size_of_the_printed_table() -> None:
    """45 patients were graded once by four anaesthetists and three times by the first."""
    judgments = dataset("anesthesia")
    assert (len(judgments.items), len(judgments.judges), len(judgments)) == (45, 5, 315)
    assert np.array_equal(np.bincount(judgments.judge), [135, 45, 45, 45, 45])


def test_anesthesia_grades_are_ordered() -> None:
    """The four grades are ordinal, 1 below 4."""
    scale = dataset("anesthesia").scale
    assert scale.labels == ("1", "2", "3", "4")
    assert scale.ordinal


def test_anesthesia_grades_are_those_printed() -> None:
    """How often each grade was given, and all grades of two patients, are the table's."""
    judgments = dataset("anesthesia")
    assert np.array_equal(np.bincount(judgments.label), [128, 124, 48, 15])
    grades = {item: list(judgments.label[judgments.start[int(item) - 1] :][:7] + 1) for item in ("2", "36")}
    assert grades == {"2": [3, 3, 3, 4, 3, 3, 4], "36": [4, 3, 3, 4, 3, 4, 3]}


def test_anesthesia_is_sorted_by_item_then_judge() -> None:
    """Items are called 1 to 45 and judges 1 to 5, in that order, within each item."""
    judgments = dataset("anesthesia")
    assert judgments.items.to_list() == [str(item) for item in range(1, 46)]
    assert judgments.judges.to_list() == ["1", "2", "3", "4", "5"]
    assert np.array_equal(judgments.judge.reshape(45, 7), np.tile([0, 0, 0, 1, 2, 3, 4], (45, 1)))


@pytest.mark.parametrize("name", DATASETS)
def test_every_dataset_is_complete(name: str) -> None:
    """A dataset is listed under its own name, says where it was printed, and has its file."""
    entry = DATASETS[name]
    assert entry.name == name
    assert entry.title
    assert entry.citation
    assert (FOLDER / entry.file).read_text().startswith("item,judge,label\n")
    assert dataset(name).scale.ordinal is entry.ordinal


def test_every_file_is_listed() -> None:
    """No file ships that nobody can ask for."""
    assert {path.name for path in FOLDER.glob("*.csv")} == {entry.file for entry in DATASETS.values()}


def test_unknown_dataset_is_refused_with_the_names() -> None:
    """Asking for a dataset that is not there lists those that are."""
    with pytest.raises(
        UsageError, match=r"^dataset 'anaesthesia' is not one of 'anesthesia': did you mean 'anesthesia'\?$"
    ):
        dataset("anaesthesia")

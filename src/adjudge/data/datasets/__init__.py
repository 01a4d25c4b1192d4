"""Data that ship with the package: small tables from the literature, there without a download."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.errors import UsageError, not_one_of

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Dataset:
    """A table of judgments and where it was first printed."""

    name: str
    title: str
    citation: str
    file: str
    ordinal: bool


DATASETS: Mapping[str, Dataset] = {
    entry.name: entry
    for entry in (
        Dataset(
            "anesthesia",
            "four grades of fitness for surgery, given to 45 patients by five anaesthetists, by the first three times",
            "A. P. Dawid and A. M. Skene, Maximum likelihood estimation of observer error-rates using the EM "
            "algorithm, Applied Statistics 28(1), 1979, table 1",
            "anesthesia.csv",
            ordinal=True,
        ),
    )
}


def dataset(name: str) -> Judgments:
    """Return the judgments of a dataset by its name.

    >>> dataset("anesthesia")
    Judgments(45 items, 5 judges, 4 labels, 315 judgments)
    """
    if not isinstance(name, str) or name not in DATASETS:
        raise UsageError(not_one_of("dataset", name, DATASETS))
    entry = DATASETS[name]
    return read(FOLDER / entry.file, ordinal=entry.ordinal)

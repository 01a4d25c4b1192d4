"""The campaign that ships with the package: short texts of our own on everyday questions, with gold."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from adjudge.collect.files.campaign import FILES, Campaign, load_campaign
from adjudge.collect.files.create import place_files
from adjudge.collect.files.lines import table_rows, text
from adjudge.collect.files.problems import Problems
from adjudge.collect.records import Pair

SHIPPED = Path(__file__).parent / "demo"
TRUTH = {name: (name,) for name in ("topic", "document", "grade")}


def make_demo(folder: str | os.PathLike[str], force: bool = False) -> Campaign:
    """Copy the demo to a folder, and load it from there."""

    def copy(staging: Path) -> None:
        for name in FILES:
            shutil.copyfile(SHIPPED / name, staging / name)

    place_files(Path(folder), copy, force)
    return load_campaign(folder)


def is_demo(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder's campaign is the demo, whatever was made of its settings."""
    place = Path(folder) / "documents.jsonl"
    return place.exists() and place.read_bytes() == (SHIPPED / "documents.jsonl").read_bytes()


def demo_truth() -> dict[Pair, int]:
    """Return the grade that we gave to every pair of the demo: what simulated judges try to tell, and no judge sees."""
    problems = Problems()
    rows = table_rows(text(SHIPPED / "truth.csv", problems) or "", "truth.csv", problems, TRUTH, tuple(TRUTH))
    truth = {(row.values["topic"], row.values["document"]): int(row.values["grade"]) for row in rows}
    problems.refuse(str(SHIPPED))
    return truth

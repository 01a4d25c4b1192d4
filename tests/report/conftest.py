"""Small crowds on disk, for studies."""

from pathlib import Path

import polars as pl
import pytest

from adjudge.judgments.rows import judgment_table
from adjudge.judgments.simulate import simulate


@pytest.fixture(scope="session")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two binary sets (a, b) and two ordinal ones (c, d)."""
    folder = tmp_path_factory.mktemp("crowds")
    designs = {"a": ("dawid-skene", 0), "b": ("dawid-skene", 1), "c": ("ordinal", 0), "d": ("ordinal", 1)}
    for name, (design, seed) in designs.items():
        drawn = simulate(design, seed, items=60, judges=9, labels=2 if name in "ab" else 4, per_item=5, gold=40)
        (folder / name).mkdir()
        judgment_table(drawn.judgments).write_csv(folder / name / "labels.csv")
        gold = pl.DataFrame({"item": list(drawn.gold), "label": list(drawn.gold.values())})
        gold.write_csv(folder / name / "gold.csv")
    return folder

"""Judgments on disk and in memory, for whoever adds the tallies."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

import adjudge
from adjudge.data.blocks import Blocks
from adjudge.data.judgments import Judgments
from adjudge.data.make_blocks import Table, make_blocks


class Shelf(NamedTuple):
    """The same judgments as blocks, as a table in memory, and as a file."""

    blocks: Blocks
    judgments: Judgments  # in the order of the blocks
    file: Path
    gold: dict[str, int]  # of some items, and of one that nobody judged


def crowd(many: int = 6_000, labels: int = 3, seed: int = 0) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return judgments in no order, five an item on average, and the truth of some items."""
    rng = np.random.default_rng(seed)
    items, judges = many // 5, 25
    truth, skill = rng.integers(0, labels, items), rng.uniform(0.35, 0.95, judges)
    item, judge = rng.integers(0, items, many), rng.integers(0, judges, many)
    wrong = (truth[item] + rng.integers(1, labels, many)) % labels
    label = np.where(rng.random(many) < skill[judge], truth[item], wrong)
    table = {"item": [f"d{i}" for i in item], "judge": [f"w{j}" for j in judge], "label": label}
    gold = {f"d{i}": int(truth[i]) for i in range(0, items, 20)} | {"nobody judged this": 1}
    return pl.DataFrame({**table, "topic": [f"t{i % 4}" for i in item]}), gold


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Return a small crowd of three labels, in six blocks or so."""
    folder = tmp_path_factory.mktemp("shelf")
    table, gold = crowd()
    table.write_parquet(folder / "labels.parquet")
    blocks = make_blocks(Table([folder / "labels.parquet"], {}, ordinal=True), folder / "blocks", block=1_000)
    return Shelf(blocks, blocks.read(), folder / "labels.parquet", gold)


def same_answer(found: "adjudge.engines.fit_blocks.FitOnDisk", fit: adjudge.Fit) -> None:
    """Hold what was written against a fit in memory: labels exactly, all numbers to 1e-9."""
    table = pl.DataFrame(fit.label_columns()).with_columns(pl.col("item").cast(str)).sort("item")
    written = found.labels.collect().with_columns(pl.col("item").cast(str)).sort("item")
    assert written["item"].equals(table["item"])
    for name in table.columns:
        if table[name].dtype.is_float():
            assert np.abs(written[name].to_numpy() - table[name].to_numpy()).max() < 1e-9, name
        else:
            assert written[name].cast(str).equals(table[name].cast(str)), name
    assert np.abs(found.fit.params.confusion - fit.params.confusion).max() < 1e-9
    assert np.abs(found.fit.accuracy - fit.accuracy).max() < 1e-9
    assert found.fit.passes == fit.passes
    assert found.fit.stopped == fit.stopped
    if fit.evidence:
        assert found.fit.evidence[-1] == pytest.approx(fit.evidence[-1], rel=1e-9)

"""What a fit of blocks said of its items, a Parquet file a block, read back into a fit where memory holds it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.arrays import Codes, frozen
from adjudge.judgments.write import columns_of, stacked
from adjudge.models.record import Fit
from adjudge.models.registry import model_named

LABELS = "labels"  # the folder of these files
ABOUT = "fit.json"  # what a saved fit says of itself
OF_MEMORY = (
    "labels.csv",
    "matrices.csv",
    "prevalence.csv",
    "ranks.csv",
    "judgments.parquet",
    "judgments.npz",
    "draws.npz",
)


def about_to_write(folder: str | Path) -> None:
    """Take away what makes a fit of a folder: were the writing of its items stopped, they would be of two fits.

    What only a fit in memory leaves there goes as well, or it would be taken for what this one says.
    """
    place = Path(folder)
    if (place / ABOUT).exists():  # or they are not files of a fit
        for name in (ABOUT, *OF_MEMORY):
            (place / name).unlink(missing_ok=True)
    for part in (place / LABELS).glob("part-*.parquet"):  # an earlier fit may have had more blocks
        part.unlink()


def with_parts(fit: Fit, folder: Path) -> Fit:
    """Return the fit with the items that its folder tells of."""
    tables = [columns_of(file.read_bytes()) for file in sorted((folder / LABELS).glob("part-*.parquet"))]
    table = stacked(tables)
    names, model = fit.scale.names, model_named(fit.model)
    posterior = np.column_stack([table[f"p_{name}"].to_numpy() for name in names])
    place = {name: k for k, name in enumerate(names)}
    told = [place.get(name, -1) for name in table["label"].cast(str).to_list()]
    label = np.where(np.array(told) >= 0, told, posterior.argmax(axis=1))  # labels that tie may be told together
    more = [table[name].to_numpy() for name in model.item_columns]
    return replace(
        fit,
        items=table["item"],
        posterior=frozen(posterior),
        label=frozen(label.astype(np.int32)),
        more=frozen(np.column_stack(more) if more else np.empty((0, 0))),
        topic=None if fit.topics is None else frozen(_places(table["topic"], fit.topics)),
        gold=frozen(_places(table["gold"], names)) if "gold" in table else None,
    )


def _places(column: Any, names: Any) -> Codes:
    """Return where each value of a column stands among names, -1 where it has none."""
    place = {str(name): n for n, name in enumerate(names)}
    found: Codes = np.array([-1 if value is None else place[str(value)] for value in column.to_list()], np.int32)
    return found

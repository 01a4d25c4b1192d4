"""Judgments back into rows, as they came in."""

from __future__ import annotations

from typing import Any

import polars as pl

from adjudge.judgments.table import Judgments


def judgment_table(judgments: Judgments) -> pl.DataFrame:
    """Return the table of judgments: item, judge, label, and topic, weight and time where there are any."""
    item = judgments.item()
    labels = pl.Series("label", judgments.scale.labels)
    columns: dict[str, Any] = {
        "item": judgments.items.gather(item),
        "judge": judgments.judges.gather(judgments.judge),
        "label": labels.gather(judgments.label),
    }
    if judgments.topics is not None and judgments.topic is not None:
        columns["topic"] = judgments.topics.gather(judgments.topic[item])
    if judgments.weight is not None:
        columns["weight"] = judgments.weight
    if judgments.time is not None:
        columns["time"] = judgments.time
    return pl.DataFrame(columns)

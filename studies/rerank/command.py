"""The study of paper 004 beside the others: learned in one room, drawn in another, and brought together here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studies.crowds import data_folder
from studies.curves import Axes, Curves, Point
from studies.outcome import Asked, Shown
from studies.registry import Known
from studies.side_by_side import side_by_side

if TYPE_CHECKING:
    from studies.rerank.study import Found


AXES = Axes(
    "rerank",
    "what slack costs",
    "c",
    "log2 of c",
    {"MRR": "MRR, percent", "MAP": "MAP, percent", "P@1": "P@1, percent"},
)


class Reranked:
    """What the study found, with its figure."""

    def __init__(self, found: Found) -> None:
        self.found = found

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.found.interrupted

    def tables(self) -> list[Shown]:
        """Return what people want to see."""
        return [Shown(*one) for one in self.found.tables()]

    def columns(self) -> dict[str, list[Any]]:
        """Return the whole study as named columns."""
        return self.found.columns()

    def warnings(self) -> list[str]:
        """Return what the reader of the tables must know."""
        return self.found.warnings()

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure, where c was varied."""
        return {".svg": lambda: figure(self.found).encode()} if self.found.curves() else {}


def figure(found: Found) -> str:
    """Return the figure of c, as an SVG."""
    from studies.curves import svg

    points = [Point(panel, log2(c), method, values) for panel, c, method, values in found.curves()]  # type: ignore[arg-type]
    runs = min(value.size for point in points for value in point.values.values())
    return svg(Curves(AXES, tuple(points), runs))


def run(asked: Asked, keep: str | None = None) -> Reranked:
    """Run the study, its cells side by side and kept in a folder if one is named."""
    from studies.rerank.study import rerank

    with side_by_side(asked.workers) as each:
        found = rerank(
            data_folder(asked.data),
            asked.sets,
            runs=asked.runs,
            seed=asked.seed,
            draws=asked.draws,
            keep=None if keep is None else Path(keep) / "cells",
            workers=asked.workers,
            say=asked.say,
            each=each,  # type: ignore[arg-type]
        )
    return Reranked(found)


def known(keep: str | None = None) -> dict[str, Known]:
    """Return the study as the registry of studies has them."""
    sets = "xquad_sentences, qa_wikiqa, trecqa_letor, cast_snippets, nyt_passages"
    title = "learning to rank from a crowd: weights, posteriors, soft labels"
    paper = "Abad and Moschitti 2016 (paper 004)"
    on = f"sets: {sets}; crowds drawn anew in each run where truth is known"
    return {"rerank": Known(title, paper, on, lambda asked: run(asked, keep), ("data", "sets", "runs"))}

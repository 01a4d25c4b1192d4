"""The study of paper 004 as an entry of the registry, with its figure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

from studies.crowds import data_folder
from studies.curves import Axes, Curves, Point
from studies.outcome import StudyOptions, Table
from studies.registry import StudyEntry
from studies.side_by_side import side_by_side

if TYPE_CHECKING:
    from studies.rerank.study import RerankStudy


AXES = Axes(
    "rerank",
    "the effect of c",
    "c",
    "log2 of c",
    {"MRR": "MRR, percent", "MAP": "MAP, percent", "P@1": "P@1, percent"},
)


class Reranked:
    """The outcome of the study, with its figure."""

    def __init__(self, study: RerankStudy) -> None:
        self.study = study

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the study."""
        return self.study.interrupted

    def tables(self) -> list[Table]:
        """Return the tables to print."""
        return self.study.tables()

    def columns(self) -> dict[str, list[Any]]:
        """Return all results as named columns."""
        return self.study.columns()

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        return self.study.warnings()

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the figure, if c was varied."""
        return {".svg": lambda: figure(self.study).encode()} if self.study.curves() else {}


def figure(study: RerankStudy) -> str:
    """Return the figure of c, as an SVG."""
    from studies.curves import svg

    points = [Point(panel, log2(c), method, values) for panel, c, method, values in study.curves()]  # type: ignore[arg-type]
    runs = min(value.size for point in points for value in point.values.values())
    return svg(Curves(AXES, tuple(points), runs))


def run(options: StudyOptions, keep: str | None = None) -> Reranked:
    """Run the study with its cells in parallel; they are stored in the folder ``keep``, if it is given."""
    from studies.rerank.study import rerank

    with side_by_side(options.workers) as each:
        study = rerank(
            data_folder(options.data),
            options.sets,
            runs=options.runs,
            seed=options.seed,
            draws=options.draws,
            keep=None if keep is None else Path(keep) / "cells",
            workers=options.workers,
            say=options.say,
            each=each,  # type: ignore[arg-type]
        )
    return Reranked(study)


def study_entry(keep: str | None = None) -> dict[str, StudyEntry]:
    """Return the entry of the study, by its name."""
    sets = "xquad_sentences, qa_wikiqa, trecqa_letor, cast_snippets, nyt_passages"
    title = "learning to rank from a crowd: weights, posteriors, soft labels"
    paper = "Abad and Moschitti 2016 (paper 004)"
    on = f"sets: {sets}; crowds are simulated in each run if the truth is known"
    return {"rerank": StudyEntry(title, paper, on, lambda options: run(options, keep), ("data", "sets", "runs"))}

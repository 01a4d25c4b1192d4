"""The data of paper 000 under its own model: what gold tells, how close to the author's own run, and a run to submit.

Three readings of the hierarchical model: without gold; with gold, which informs how common relevance is in its topic
(the printed model); with gold that does not (what the author submitted, since gold was not drawn at random). Each is
scored on gold that it was not told, and then fitted with all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes
from adjudge.data.formats import open_source
from adjudge.data.judgments import places
from adjudge.errors import UsageError
from adjudge.inference.chains import Run
from adjudge.inference.export import task2_run
from adjudge.inference.fit import fit
from adjudge.inference.prior import Prior
from adjudge.inference.result import Fit
from studies.crowds import Crowd, data_folder, read_crowd
from studies.measures import binary_measures
from studies.outcome import Asked, Shown
from studies.studies import Found, Method, Panel, Study, log_losses, run

FOLDS = 5
REFERENCE = "reference_lingpipe.csv"  # the author's own posterior means, where a set has them
HIS_DRAWS = 3_000
COLUMNS = {"unsupervised": "unsup_p", "gold apart": "semisup_p"}


class Reading(NamedTuple):
    """What the hierarchical model is told."""

    gold: bool
    informs: bool = True  # whether gold counts for how common relevance is

    @property
    def prior(self) -> Prior:
        """The prior that says so."""
        return Prior(gold_informs=self.informs)


READINGS: Mapping[str, Reading] = {
    "unsupervised": Reading(gold=False),
    "gold informs": Reading(gold=True),
    "gold apart": Reading(gold=True, informs=False),
}


class Nearness(NamedTuple):
    """How far a fit's E[z] are from the author's own."""

    reading: str
    items: int  # whose truth it was not told
    rms: float
    by_chance: float  # what the author's draws alone would give: of 3,000, each 0 or 1
    largest: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Relevance:
    """What the study found: scores on gold held back, fits with all gold, and how near these are to the author's."""

    found: Found
    crowd: Crowd
    fits: Mapping[str, Fit]  # by reading
    nearness: tuple[Nearness, ...] = ()
    stopped_early: bool = False

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.stopped_early or self.found.interrupted

    def columns(self) -> dict[str, list[Any]]:
        """Return the scores as named columns."""
        return self.found.columns()

    def tables(self) -> list[Shown]:
        """Return the scores, how the chains ended, and how near the fits are to the author's."""
        ended = [(name, known.stopped) for name, known in self.fits.items()]
        tables = [*self.found.tables(), Shown("The hierarchical model with all gold", ("reading", "chains"), ended)]
        if self.nearness:
            head = ("reading", "items not told", "rms difference", "by his draws alone", "largest", "correlation")
            tables.append(Shown("E[z] against the author's own run", head, self.nearness))
        return tables

    def warnings(self) -> list[str]:
        """Return what the reader must know."""
        missing = [name for name in READINGS if name not in self.fits]
        cut = [f"interrupted; not fitted with all gold: {', '.join(missing)}"] if self.stopped_early else []
        return [*self.found.warnings(), *cut]

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return task 2's run of every reading, the paper's figures, and the figure of scores."""
        runs = {f"_{name.replace(' ', '_')}.run": _as_run(known) for name, known in self.fits.items()}
        drawn = paper_figures(self) if set(self.fits) == set(READINGS) else {}
        return {**runs, **self.found.files(), **{f"_figure{n}.svg": _bytes(make) for n, make in drawn.items()}}


def paper_figures(relevance: Relevance) -> Mapping[int, Callable[[], str]]:
    """Return the functions that draw the paper's figures, by number; votes are from the run with gold."""
    from adjudge.inference.fit import fit
    from adjudge.reports.drawing import svg
    from adjudge.reports.figure_paper import judge_draws, population_draws, rates, votes

    fits, judgments = relevance.fits, relevance.crowd.judgments
    return {
        1: lambda: svg(votes(fit(judgments, "majority").posterior[:, 1], fits["gold apart"].posterior[:, 1])),
        2: lambda: svg(rates(fits["unsupervised"])),
        3: lambda: svg(judge_draws(fits["unsupervised"])),
        4: lambda: svg(population_draws(fits["unsupervised"])),
    }


def _methods() -> tuple[Method, ...]:
    """Return the readings of the hierarchical model, and simpler models with the same gold or without."""
    readings = (
        Method(f"hierarchical, {name}", "hierarchical", None, FOLDS if reading.gold else 0, reading.prior)
        for name, reading in READINGS.items()
    )
    return (
        Method("majority", "majority"),
        Method("weighted-vote, gold", "weighted-vote", folds=FOLDS),
        Method("dawid-skene", "dawid-skene"),
        Method("dawid-skene, gold", "dawid-skene", folds=FOLDS),
        *readings,
    )


TREC2011 = Study(
    "trec2011",
    "relevance in topics: what gold tells",
    "Carpenter 2011 (paper 000)",
    ("trec2011_task2",),
    _methods,
    binary_measures,
    log_losses,
    ("accuracy", "f1", "log_loss", "auc"),
    (Panel("accuracy (share of items)", {"": "accuracy"}), Panel("log loss", {"": "log_loss"})),
)


def trec2011(asked: Asked, chains: Run | None = None) -> Relevance:
    """Score the models on gold held back, then fit the readings with all of it. Ctrl-C keeps what is finished.

    ``chains`` may be other than the paper's, which are the usual ones.
    """
    names = list(dict.fromkeys(TREC2011.sets if asked.sets is None else asked.sets))
    if len(names) != 1:
        raise UsageError(f"the study 'trec2011' is of one set, not of {len(names)}: name it with --sets")
    folder = data_folder(asked.data)
    crowd = read_crowd(folder, names[0], ("label",), ordinal=False)
    if crowd.judgments.topics is None:
        raise UsageError(f"set '{names[0]}' has no topics, and a run ranks the items of each: add a column 'topic'")
    found = run(TREC2011, folder, names, seed=asked.seed, draws=asked.draws, progress=asked.say, chains=chains)
    fits, early = _with_all_gold(crowd, asked, chains)
    near = tuple(nearness(crowd, fits, folder / names[0] / REFERENCE))
    return Relevance(found, crowd, fits, near, early)


def all_gold(crowd: Crowd) -> Codes:
    """Return the truth of every item (I), -1 where unknown."""
    gold = np.full(len(crowd.judgments.items), -1, np.int32)
    gold[crowd.place] = crowd.truth
    return gold


def nearness(crowd: Crowd, fits: Mapping[str, Fit], path: Path) -> list[Nearness]:
    """Return how far E[z] are from the author's own, on items whose truth neither was told; empty without his file."""
    if not path.is_file():
        return []
    reference = open_source(str(path))
    place = places(crowd.judgments.items, reference.column("item"))
    rows = []
    for reading, column in COLUMNS.items():
        if reading not in fits:
            continue
        known = fits[reading].gold
        open_ = np.flatnonzero((place >= 0) & (True if known is None else known < 0))
        his = reference.column(column).cast(float).to_numpy()[place[open_]]
        ours = fits[reading].posterior[open_, 1]
        off = np.abs(ours - his)
        rms, chance = (float(np.sqrt(square.mean())) for square in (off**2, ours * (1 - ours) / HIS_DRAWS))
        correlation = float(np.corrcoef(ours, his)[0, 1])
        rows.append(Nearness(reading, off.size, rms, chance, float(off.max()), correlation))
    return rows


def _with_all_gold(crowd: Crowd, asked: Asked, chains: Run | None) -> tuple[dict[str, Fit], bool]:
    """Return the fits of all readings, and whether Ctrl-C left some out."""
    fits = dict[str, Fit]()
    try:
        for name, reading in READINGS.items():
            asked.say(f"all gold: {name}")
            gold = all_gold(crowd) if reading.gold else None
            known = fit(crowd.judgments, "hierarchical", gold, seed=asked.seed, prior=reading.prior, run=chains)
            if known.stopped == "interrupted":
                return fits, True
            fits[name] = known
    except KeyboardInterrupt:
        return fits, True
    return fits, False


def _as_run(known: Fit) -> Callable[[], bytes]:
    """Return what makes the run of a fit."""
    return lambda: task2_run(known).encode()


def _bytes(make: Callable[[], str]) -> Callable[[], bytes]:
    """Return what makes a text, as bytes."""
    return lambda: make().encode()

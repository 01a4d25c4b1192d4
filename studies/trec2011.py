"""The data of paper 000 with the hierarchical model: the effect of gold, the author's own run, and run files.

There are three variants of the model: without gold; with gold that also informs the prevalence of its topic (as in the
paper); with gold that does not (as the author submitted it, since gold was not sampled at random). Each is scored on
held-out gold, and then fitted with all gold.
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
from adjudge.inference.export import run as trec_run
from adjudge.inference.export import task2_run, task2_run_quantised
from adjudge.inference.fit import fit
from adjudge.inference.params import Prior
from adjudge.inference.result import Fit
from adjudge.metrics.labels import Scored, rank_items
from adjudge.metrics.match_gold import Answers
from adjudge.metrics.probabilities import BOUND
from studies.comparison import Comparison, Method, Panel, Study, log_losses, run
from studies.datasets import Crowd, data_folder, read_crowd
from studies.measures import binary_measures
from studies.outcome import StudyOptions, Table

FOLDS = 5
REFERENCE = "reference_lingpipe.csv"  # the author's posterior means, if a set has them
REFERENCE_DRAWS = 3_000
RUN_FILES: Mapping[str, Callable[[Fit], str]] = {  # by the end of their names
    "_fractional.txt": task2_run,
    "_quantised.txt": task2_run_quantised,
    ".run": trec_run,
}
COLUMNS = {"unsupervised": "unsup_p", "gold apart": "semisup_p"}


class Reading(NamedTuple):
    """How a variant of the hierarchical model uses gold."""

    gold: bool
    informs: bool = True  # whether gold informs the prevalence

    @property
    def prior(self) -> Prior:
        """The prior of this variant."""
        return Prior(gold_informs=self.informs)


READINGS: Mapping[str, Reading] = {
    "unsupervised": Reading(gold=False),
    "gold informs": Reading(gold=True),
    "gold apart": Reading(gold=True, informs=False),
}


class Nearness(NamedTuple):
    """The difference between E[z] of a fit and those of the author."""

    reading: str
    items: int  # without gold
    rms: float
    by_chance: float  # expected from the author's 3,000 draws alone
    largest: float
    correlation: float


@dataclass(frozen=True, eq=False)
class Relevance:
    """The outcome: scores on held-out gold, fits with all gold, and their difference to the author's run."""

    comparison: Comparison
    crowd: Crowd
    fits: Mapping[str, Fit]  # by reading
    nearness: tuple[Nearness, ...] = ()
    stopped_early: bool = False
    author: Scored | None = None  # the author's run without gold, on the items that have gold

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the study."""
        return self.stopped_early or self.comparison.interrupted

    def columns(self) -> dict[str, list[Any]]:
        """Return the scores as named columns."""
        return self.comparison.columns()

    def tables(self) -> list[Table]:
        """Return the scores, how the chains ended, and the differences to the author's run."""
        ended = [(name, result.stopped) for name, result in self.fits.items()]
        tables = [
            *self.comparison.tables(),
            Table("The hierarchical model with all gold", ("reading", "chains"), ended),
        ]
        if self.nearness:
            head = (
                "reading",
                "items without gold",
                "rms difference",
                "expected from the draws",
                "largest",
                "correlation",
            )
            tables.append(Table("E[z] against the author's own run", head, self.nearness))
        return tables

    def warnings(self) -> list[str]:
        """Return warnings for the reader of the tables."""
        missing = [name for name in READINGS if name not in self.fits]
        cut = [f"interrupted; not fitted with all gold: {', '.join(missing)}"] if self.stopped_early else []
        return [*self.comparison.warnings(), *cut]

    def files(self) -> Mapping[str, Callable[[], bytes]]:
        """Return the runs of every variant, as the paper's entries and as a TREC run, and all figures."""
        runs = {
            f"_{name.replace(' ', '_')}{end}": _as_text(make, result)
            for name, result in self.fits.items()
            for end, make in RUN_FILES.items()
        }
        drawn = paper_figures(self) if set(self.fits) == set(READINGS) else {}
        return {**runs, **self.comparison.files(), **{f"_figure{n}.svg": _bytes(make) for n, make in drawn.items()}}


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
    """Return the variants of the hierarchical model, and simpler models with and without gold."""
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


def trec2011(options: StudyOptions, chains: Run | None = None) -> Relevance:
    """Score the models on held-out gold, then fit the variants with all gold. Ctrl-C keeps what is finished.

    ``chains`` are by default those of the paper.
    """
    names = list(dict.fromkeys(TREC2011.sets if options.sets is None else options.sets))
    if len(names) != 1:
        raise UsageError(f"the study 'trec2011' needs one set, but {len(names)} are named: name one with --sets")
    folder = data_folder(options.data)
    crowd = read_crowd(folder, names[0], ("label",), ordinal=False)
    if crowd.judgments.topics is None:
        raise UsageError(
            f"set '{names[0]}' has no topics, but a run ranks the items of each topic: add a column 'topic'"
        )
    comparison = run(
        TREC2011, folder, names, seed=options.seed, draws=options.draws, progress=options.say, chains=chains
    )
    fits, early = _with_all_gold(crowd, options, chains)
    path = folder / names[0] / REFERENCE
    near = tuple(nearness(crowd, fits, path))
    return Relevance(comparison, crowd, fits, near, early, author_run(crowd, path))


def all_gold(crowd: Crowd) -> Codes:
    """Return the truth of every item (I), -1 if unknown."""
    gold = np.full(len(crowd.judgments.items), -1, np.int32)
    gold[crowd.item] = crowd.truth
    return gold


def nearness(crowd: Crowd, fits: Mapping[str, Fit], path: Path) -> list[Nearness]:
    """Return the difference to the author's E[z] on items without gold; empty without the author's file."""
    if not path.is_file():
        return []
    reference = open_source(str(path))
    row = places(crowd.judgments.items, reference.column("item"))
    rows = []
    for reading, column in COLUMNS.items():
        if reading not in fits:
            continue
        gold = fits[reading].gold
        open_ = np.flatnonzero((row >= 0) & (True if gold is None else gold < 0))
        theirs = reference.column(column).cast(float).to_numpy()[row[open_]]
        ours = fits[reading].posterior[open_, 1]
        off = np.abs(ours - theirs)
        rms, chance = (float(np.sqrt(square.mean())) for square in (off**2, ours * (1 - ours) / REFERENCE_DRAWS))
        correlation = float(np.corrcoef(ours, theirs)[0, 1])
        rows.append(Nearness(reading, off.size, rms, chance, float(off.max()), correlation))
    return rows


def author_run(crowd: Crowd, path: Path) -> Scored | None:
    """Return the author's run without gold on the items with gold, ranked by the author's ranks; None without it."""
    table = crowd.judgments
    if not path.is_file() or table.topics is None or table.topic is None:
        return None
    reference = open_source(str(path))
    row = places(table.items.gather(crowd.item), reference.column("item"))
    if (row < 0).any():
        return None
    relevance, rank = (reference.column(name).cast(float).to_numpy()[row] for name in ("unsup_p", "unsup_rank"))
    label, posterior = (relevance > 0.5).astype(np.int64), np.column_stack([1 - relevance, relevance])
    topic, items = table.topic[crowd.item], table.items.gather(crowd.item)
    answers = Answers(items, table.scale, label, posterior, topics=table.topics, topic=topic, rank=rank)
    ranked = rank_items(answers, np.arange(crowd.item.size), positive=1)
    return Scored(crowd.truth, label, posterior, table.scale, 1, BOUND, 0, ranked=ranked)


def _with_all_gold(crowd: Crowd, options: StudyOptions, chains: Run | None) -> tuple[dict[str, Fit], bool]:
    """Return the fits of all variants, and whether Ctrl-C left some out."""
    fits = dict[str, Fit]()
    try:
        for name, reading in READINGS.items():
            options.say(f"all gold: {name}")
            gold = all_gold(crowd) if reading.gold else None
            result = fit(crowd.judgments, "hierarchical", gold, seed=options.seed, prior=reading.prior, run=chains)
            if result.stopped == "interrupted":
                return fits, True
            fits[name] = result
    except KeyboardInterrupt:
        return fits, True
    return fits, False


def _as_text(make: Callable[[Fit], str], result: Fit) -> Callable[[], bytes]:
    """Return a function that makes a run file of a fit."""
    return lambda: make(result).encode()


def _bytes(make: Callable[[], str]) -> Callable[[], bytes]:
    """Return a function that makes a text as bytes."""
    return lambda: make().encode()

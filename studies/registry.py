"""All studies by name: one entry provides the command line, the list of studies and the error messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from adjudge.errors import UsageError, quoted
from studies import calibration, memory, spectrum
from studies.comparison import STUDIES, Comparison, Study, run
from studies.datasets import data_folder
from studies.ordinal import ordinal
from studies.outcome import Outcome, StudyOptions
from studies.parallel import parallel_map
from studies.trec2011 import TREC2011, trec2011


class StudyEntry(NamedTuple):
    """A study: its title, its data, and the function that runs it."""

    title: str
    paper: str
    on: str  # the sets, or the simulated crowds
    run: Callable[[StudyOptions], Outcome]
    takes: tuple[str, ...] = ("data", "sets")  # options that it accepts


def _run_comparison(study: Study, options: StudyOptions) -> Comparison:
    """Run a comparison on sets."""
    return run(
        study, data_folder(options.data), options.sets, seed=options.seed, draws=options.draws, progress=options.say
    )


def _run_rerank(options: StudyOptions) -> Outcome:
    """Run the study of rankers, with its cells in parallel; its modules need the extra ``learn``."""
    from studies.rerank.study import rerank

    with parallel_map(options.workers) as each:
        return rerank(
            data_folder(options.data),
            options.sets,
            runs=options.runs,
            seed=options.seed,
            draws=options.draws,
            keep=None if options.keep is None else Path(options.keep) / "cells",
            workers=options.workers,
            say=options.say,
            each=each,
        )


LIU_WANG = "Liu and Wang 2012 (paper 003)"
ALL: Mapping[str, StudyEntry] = {
    **{
        name: StudyEntry(study.title, study.paper, f"sets: {', '.join(study.sets)}", partial(_run_comparison, study))
        for name, study in STUDIES.items()
    },
    "ordinal": StudyEntry(
        STUDIES["ordinal"].title,
        STUDIES["ordinal"].paper,
        f"sets: {', '.join(STUDIES['ordinal'].sets)}; without --sets also curves by the number of judgments and of "
        "labels, and types of task",
        ordinal,
        ("data", "sets", "runs"),
    ),
    "spectrum": StudyEntry(
        spectrum.AXES.title,
        f"{LIU_WANG}, section 3",
        f"crowds of {', '.join(map(str, spectrum.SIZES))} items, drawn in each run (design liu-wang)",
        spectrum.spectrum,
        ("runs", "sizes"),
    ),
    "memory": StudyEntry(
        memory.AXES.title,
        f"{LIU_WANG}, section 4",
        f"sets: {', '.join(memory.SETS)}; items are split again in each run",
        memory.memory,
        ("data", "sets", "runs", "sizes"),
    ),
    "trec2011": StudyEntry(TREC2011.title, TREC2011.paper, f"sets: {', '.join(TREC2011.sets)}", trec2011),
    "calibration": StudyEntry(calibration.TITLE, calibration.PAPER, calibration.ON, calibration.calibration),
    "rerank": StudyEntry(
        "learning to rank from a crowd: weights, posteriors, soft labels",
        "Abad and Moschitti 2016 (paper 004)",
        "sets: xquad_sentences, qa_wikiqa, trecqa_letor, cast_snippets, nyt_passages; "
        "crowds are simulated in each run if the truth is known",
        _run_rerank,
        ("data", "sets", "runs"),
    ),
}


def find_study(name: str, options: StudyOptions) -> StudyEntry:
    """Return a study by its name, refusing options that it does not have."""
    if name not in ALL:
        raise UsageError(f"study '{name}' is not one of {quoted(ALL)}")
    for option in ("data", "sets", "runs", "sizes"):
        if getattr(options, option) is not None and option not in ALL[name].takes:
            able = quoted(other for other, study in ALL.items() if option in study.takes)
            raise UsageError(f"study '{name}' has no --{option}; studies with this option are {able}")
    return ALL[name]

"""All studies by name: one entry provides the command line, the list of studies and the error messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from adjudge.errors import UsageError, quoted
from studies import calibration as calibrating
from studies import memory, spectrum
from studies.crowds import data_folder
from studies.outcome import Outcome, StudyOptions
from studies.studies import STUDIES, Comparison, Study, run
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


LIU_WANG = "Liu and Wang 2012 (paper 003)"
ALL: Mapping[str, StudyEntry] = {
    **{
        name: StudyEntry(study.title, study.paper, f"sets: {', '.join(study.sets)}", partial(_run_comparison, study))
        for name, study in STUDIES.items()
    },
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
    "calibration": StudyEntry(calibrating.TITLE, calibrating.PAPER, calibrating.ON, calibrating.calibrating),
}


def find_study(name: str, options: StudyOptions, more: Mapping[str, StudyEntry] | None = None) -> StudyEntry:
    """Return a study by its name, refusing options that it does not have; ``more`` has further studies."""
    every = {**ALL, **(more or {})}
    if name not in every:
        raise UsageError(f"study '{name}' is not one of {quoted(every)}")
    for option in ("data", "sets", "runs", "sizes"):
        if getattr(options, option) is not None and option not in every[name].takes:
            able = quoted(other for other, study in every.items() if option in study.takes)
            raise UsageError(f"study '{name}' has no --{option}; studies with this option are {able}")
    return every[name]

"""Every study by name. One entry feeds the command line and its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

from adjudge.errors import UsageError, quoted
from studies import calibration as calibrating
from studies import memory, spectrum
from studies.crowds import data_folder
from studies.outcome import Asked, Outcome
from studies.studies import STUDIES, Found, Study, run
from studies.trec2011 import TREC2011, trec2011


class Known(NamedTuple):
    """A study: what it compares, on what, and how it is run."""

    title: str
    paper: str
    on: str  # sets, or what is drawn instead
    run: Callable[[Asked], Outcome]
    takes: tuple[str, ...] = ("data", "sets")  # options that say something to it


def _compared(study: Study, asked: Asked) -> Found:
    """Run a comparison on sets."""
    return run(study, data_folder(asked.data), asked.sets, seed=asked.seed, draws=asked.draws, progress=asked.say)


LIU_WANG = "Liu and Wang 2012 (paper 003)"
ALL: Mapping[str, Known] = {
    **{
        name: Known(study.title, study.paper, f"sets: {', '.join(study.sets)}", partial(_compared, study))
        for name, study in STUDIES.items()
    },
    "spectrum": Known(
        spectrum.AXES.title,
        f"{LIU_WANG}, section 3",
        f"crowds of {', '.join(map(str, spectrum.SIZES))} items, drawn in each run (design liu-wang)",
        spectrum.spectrum,
        ("runs", "sizes"),
    ),
    "memory": Known(
        memory.AXES.title,
        f"{LIU_WANG}, section 4",
        f"sets: {', '.join(memory.SETS)}; items split anew in each run",
        memory.memory,
        ("data", "sets", "runs", "sizes"),
    ),
    "trec2011": Known(TREC2011.title, TREC2011.paper, f"sets: {', '.join(TREC2011.sets)}", trec2011),
    "calibration": Known(calibrating.TITLE, calibrating.PAPER, calibrating.ON, calibrating.calibrating),
}


def known_study(name: str, asked: Asked, more: Mapping[str, Known] | None = None) -> Known:
    """Return a study by its name, of these and more that other rooms have, refusing options that say nothing to it."""
    every = {**ALL, **(more or {})}
    if name not in every:
        raise UsageError(f"study '{name}' is not one of {quoted(every)}")
    for option in ("data", "sets", "runs", "sizes"):
        if getattr(asked, option) is not None and option not in every[name].takes:
            able = quoted(other for other, study in every.items() if option in study.takes)
            raise UsageError(f"study '{name}' has no --{option}; studies that have are {able}")
    return every[name]

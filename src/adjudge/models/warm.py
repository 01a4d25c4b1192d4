"""Where a climb begins that goes on from an earlier fit: with what was learned of the judges it knew."""

from __future__ import annotations

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.errors import UsageError, quoted
from adjudge.judgments.table import Judgments
from adjudge.models.base import Model, Params, accurate
from adjudge.models.record import Fit

DOUBT = 0.001  # how much of every probability is made even again: what is zero stays zero in EM


def params_of(earlier: Fit, model: Model, judgments: Judgments) -> Params:
    """Return the params of an earlier fit for the judges of these judgments, matched by name.

    A judge it did not know begins as the judge never seen that it expects.
    """
    refuse_unlike(earlier, model, judgments)
    known, place = earlier.params, places_of(judgments, earlier)
    matrix = accurate(1, len(judgments.scale)).population
    confusion = doubted(rows_at(known.confusion, known.population, place), matrix)
    return Params(
        doubted(known.prevalence, np.full_like(known.prevalence, 1 / known.prevalence.shape[1])),
        confusion,
        doubted(known.population, matrix),
        rows_at(known.skill, known.typical, place) if known.skill.size else known.skill,
        known.typical,
        known.unseen,
    )


def places_of(judgments: Judgments, earlier: Fit) -> Codes:
    """Return where each judge (J) stands in an earlier fit, -1 where it has none of this name."""
    place = {str(name): at for at, name in enumerate(earlier.judge_names.to_list())}
    return np.array([place.get(str(name), -1) for name in judgments.judges.to_list()], np.int64)


def rows_at(known: Floats, typical: Floats, place: Codes) -> Floats:
    """Return rows by their place, the typical one where there is none."""
    rows = known[np.maximum(place, 0)]
    rows[place < 0] = typical
    return rows


def doubted(chances: Floats, even: Floats) -> Floats:
    """Return probabilities, each a little nearer to where nothing is known."""
    mixed: Floats = (1 - DOUBT) * chances + DOUBT * even
    return mixed


def refuse_unlike(earlier: Fit, model: Model, judgments: Judgments) -> None:
    """Refuse a fit that another model, or other labels, cannot go on from."""
    if model.until == "rounds":
        raise UsageError(f"start cannot be an earlier fit: model '{model.name}' does not climb, it ends where it ends")
    if earlier.model != model.name:
        raise UsageError(f"start is a fit of '{earlier.model}', and '{model.name}' cannot go on from it")
    if earlier.scale.names != judgments.scale.names:
        raise UsageError(
            f"start is a fit of the labels {quoted(earlier.scale.names)}, and these are {quoted(judgments.scale.names)}"
        )

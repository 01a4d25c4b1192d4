"""Every model by name. One entry feeds the command line, the docs, the conformance suite and the errors."""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.errors import UsageError, quoted
from adjudge.models import (
    average,
    confusion,
    gaussian,
    glad,
    kos,
    mace,
    minimax,
    mmsr,
    ordinal,
    relevance,
    subtypes,
    vote,
    voteweight,
)
from adjudge.models.base import Model

MODELS: Mapping[str, Model] = {
    model.name: model
    for room in (
        vote,
        average,
        voteweight,
        confusion,
        relevance,
        subtypes,
        glad,
        mace,
        kos,
        mmsr,
        minimax,
        ordinal,
        gaussian,
    )
    for model in room.MODELS
}


def model_named(name: str) -> Model:
    """Return a model by its name."""
    if name not in MODELS:
        raise UsageError(f"model '{name}' is not one of {quoted(MODELS, most=99)}")
    return MODELS[name]

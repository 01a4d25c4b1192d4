"""The built-in models, in the order in which they are listed: the entry point ``adjudge`` of ``adjudge.models``."""

from __future__ import annotations

from adjudge.models import (
    average,
    confusion,
    gaussian,
    glad,
    hierarchical,
    kos,
    mace,
    minimax,
    mmsr,
    ordinal,
    subtypes,
    vote,
    vote_weight,
)

MODELS = (
    *vote.MODELS,
    *average.MODELS,
    *vote_weight.MODELS,
    *confusion.MODELS,
    *hierarchical.MODELS,
    *subtypes.MODELS,
    *glad.MODELS,
    *mace.MODELS,
    *kos.MODELS,
    *mmsr.MODELS,
    *minimax.MODELS,
    *ordinal.MODELS,
    *gaussian.MODELS,
)

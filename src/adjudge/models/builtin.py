"""The built-in models, in the order in which they are listed: the entry point ``adjudge`` of ``adjudge.models``."""

from __future__ import annotations

from adjudge.models import (
    average,
    consensus,
    dawid_skene,
    gaussian,
    glad,
    hierarchical,
    hybrid_confusion,
    kos,
    mace,
    minimax,
    mmsr,
    one_coin,
    ordinal,
    single_confusion,
    subtypes,
    vote,
    vote_weight,
)

MODELS = (
    *consensus.MODELS,
    *vote.MODELS,
    *average.MODELS,
    *vote_weight.MODELS,
    *dawid_skene.MODELS,
    *hybrid_confusion.MODELS,
    *one_coin.MODELS,
    *single_confusion.MODELS,
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

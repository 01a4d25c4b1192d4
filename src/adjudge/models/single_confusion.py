"""Single confusion: all judges share one confusion matrix (Liu & Wang 2012, algorithm 2; paper 003).

It is Dawid-Skene with theta[j] = theta for every judge j, for crowds whose judges gave a few labels each.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "single-confusion")
>>> bool((fit.params.confusion[0] == fit.params.confusion[1]).all())
True
"""

from __future__ import annotations

from adjudge.inference.components import LEARNED, SHARED, SOFT
from adjudge.inference.model import Model

MODELS = (
    Model(
        "single-confusion",
        "all judges share one confusion matrix",
        "Liu & Wang 2012, algorithm 2",
        prevalence=LEARNED,
        confusion=SHARED,
        assignment=SOFT,
        auto_rank=70,
    ),
)

"""One coin: every judge is right with one probability; their wrong labels are equally likely.

    p(judge j says l | truth k) = p_j if k = l, else (1 - p_j) / (K - 1).

``one-coin`` is Dawid & Skene (1979) with one parameter per judge. ``zencrowd`` (Demartini, Difallah & Cudre-Mauroux
2012) takes all truths to be equally common; otherwise the two are the same.

>>> import adjudge
>>> fit = adjudge.fit(adjudge.dataset("anesthesia"), "one-coin")
>>> fit.judges.columns
['judge', 'judgments', 'accuracy', 'p_right']
"""

from __future__ import annotations

from adjudge.inference.components import EQUAL, LEARNED, ONE_COIN, SOFT
from adjudge.inference.model import Model

MODELS = (
    Model(
        "one-coin",
        "each judge is right with one probability",
        "Dawid & Skene 1979, with one parameter per judge",
        prevalence=LEARNED,
        confusion=ONE_COIN,
        assignment=SOFT,
    ),
    Model(
        "zencrowd",
        "the same, with truths that are all equally common",
        "Demartini, Difallah & Cudre-Mauroux 2012",
        prevalence=EQUAL,
        confusion=ONE_COIN,
        assignment=SOFT,
    ),
)

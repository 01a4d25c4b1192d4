"""Dawid-Skene: every judge has a confusion matrix, by maximum likelihood (Dawid & Skene 1979).

Judge j gives an item of truth k the label l with probability theta[j, k, l], independently of other judges:

    p(labels of item i) = sum_k pi_k prod_n theta[judge_n, k, label_n].

EM alternates p(truth | labels) of every item with the relative frequencies that follow from it.

>>> import adjudge
>>> adjudge.fit(adjudge.dataset("anesthesia"), "dawid-skene")
Fit(dawid-skene: 45 items, 5 judges; converged, log evidence -190.73)
"""

from __future__ import annotations

from adjudge.inference.components import LEARNED, OWN, SOFT
from adjudge.inference.model import Model

MODELS = (
    Model(
        "dawid-skene",
        "each judge has a confusion matrix of their own, by maximum likelihood",
        "Dawid & Skene 1979",
        prevalence=LEARNED,
        confusion=OWN,
        assignment=SOFT,
        auto_rank=110,
    ),
)

"""Filters of answers: that of ``crowdkit.postprocessing``."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from adjudge.compat.crowdkit.metrics import uncertainty
from adjudge.errors import AdjudgeWarning


def entropy_threshold(
    answers: pd.DataFrame,
    workers_skills: pd.Series | None = None,
    percentile: float = 10,
    min_answers: int = 2,
) -> pd.DataFrame:
    """Return the answers without those of workers whose labels have the least entropy.

    A worker who gives the same label to nearly all tasks has a low entropy.

    Parameters
    ----------
    answers
        A table with the columns task, worker and label.
    workers_skills
        The probability of each worker to be right, indexed by worker; see ``metrics.uncertainty``.
    percentile
        Workers whose entropy is not above this percentile (0 to 100) are removed.
    min_answers
        Workers with fewer answers are kept.

    Examples
    --------
    >>> table = pd.DataFrame({"task": [1, 2, 1, 2, 1, 2], "worker": list("aabbcc"), "label": [0, 1, 1, 1, 0, 1]})
    >>> entropy_threshold(table)["worker"].unique().tolist()
    ['a', 'c']
    """
    times = answers.groupby("worker")["label"].transform("count")
    frequent = answers[times >= min_answers]
    if not len(frequent):
        return answers.copy(deep=False)
    entropy: pd.Series = uncertainty(frequent, workers_skills, compute_by="worker", aggregate=False)
    removed = entropy.index[entropy <= np.percentile(entropy, percentile)]
    remaining = answers[~answers["worker"].isin(removed)]
    if len(remaining) <= len(answers) // 2:
        warnings.warn(
            "Removed >= 1/2 of answers with entropy_threshold. This might lead to poor annotation quality. "
            "Lower percentile, or raise min_answers.",
            AdjudgeWarning,
            stacklevel=2,
        )
    return remaining

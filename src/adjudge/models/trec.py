"""A fit as TREC's files: qrels, and the run of the 2011 crowdsourcing track's task 2."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from adjudge.arrays import Codes
from adjudge.errors import AdjudgeWarning, UsageError
from adjudge.judgments.trec import qrels_text, task2_run_text

if TYPE_CHECKING:
    from adjudge.judgments.table import Names
    from adjudge.models.record import Fit


def qrels(fit: Fit) -> str:
    """Return the consensus as relevance judgments: the label is the grade."""
    place, topic = _with_topics(fit)
    grades = [fit.scale.labels[k] for k in fit.label[place].tolist()]
    return qrels_text(fit.items.gather(place), topic, grades)


def task2_run(fit: Fit) -> str:
    """Return the consensus as a run: rank in the topic and probability of the second of two labels."""
    if len(fit.scale) != 2:
        raise UsageError(f"a task 2 run has two labels, relevant or not; this fit has {len(fit.scale)}")
    place, topic = _with_topics(fit)
    return task2_run_text(fit.items.gather(place), topic, fit.posterior[place, 1])


def _with_topics(fit: Fit) -> tuple[Codes, Names]:
    """Return the items whose topic is known, and the topics."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("a TREC file needs the topic of every item: name its column with --topic")
    place = np.flatnonzero(fit.topic >= 0)
    if place.size < fit.topic.size:
        gone = fit.topic.size - place.size
        warnings.warn(
            f"{gone:,} items that only gold knows have no topic and are left out", AdjudgeWarning, stacklevel=2
        )
    return place, fit.topics.gather(fit.topic[place])


FILES: Mapping[str, Callable[[Fit], str]] = {"qrels": qrels, "trec-task2-run": task2_run}

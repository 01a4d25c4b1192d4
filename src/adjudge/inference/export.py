"""The consensus as TREC files."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Names
from adjudge.data.runs import read_run, run_text
from adjudge.data.trec import document_of, qrels_text, task2_run_text
from adjudge.data.write import frame
from adjudge.errors import AdjudgeWarning, UsageError, quoted
from adjudge.inference.result import Fit
from adjudge.kernels.truth import value_log_odds


def qrels(fit: Fit) -> str:
    """Return the consensus as relevance judgments: the label is the grade."""
    index, topic = _with_topics(fit)
    grades = [fit.scale.labels[k] for k in fit.label[index].tolist()]
    return qrels_text(fit.items.gather(index), topic, grades)


def run(fit: Fit) -> str:
    """Return the consensus as a TREC run: the items of each topic, those with the highest expected value first.

    Scores are the log odds of the expected value between the lowest and the highest label, which for two labels are the
    log odds of the second one. Probabilities would tie near 1, because trec_eval compares scores as 32-bit floats.
    """
    if len(fit.scale) < 2 or (len(fit.scale) > 2 and not fit.scale.ordinal):
        raise UsageError(
            f"a run needs two labels, or ordered ones; this fit has {quoted(fit.scale.names)} "
            "(give their order with --labels and --ordinal, or with --values)"
        )
    index, topic = _with_topics(fit)
    names = zip(fit.items.gather(index).to_list(), topic.to_list(), strict=True)
    score = value_log_odds(fit.posterior[index], np.array(fit.scale.values))
    columns = {"topic": topic, "document": [document_of(item, name) for item, name in names], "score": score}
    return run_text(read_run(frame(columns), fit.model))


def task2_run(fit: Fit) -> str:
    """Return the consensus as a task 2 run: rank in the topic and probability of the second of two labels."""
    return _task2_run(fit, fit.posterior, digits=6)


def task2_run_quantised(fit: Fit) -> str:
    """Return the same ranks with the class label 1 from a probability above one half, else 0, as paper 000 does."""
    return _task2_run(fit, (fit.posterior > 0.5).astype(float), digits=1)


def _task2_run(fit: Fit, label: Floats, digits: int) -> str:
    """Return a task 2 run with class labels from those of all items and labels (I, K)."""
    if len(fit.scale) != 2:
        raise UsageError(f"a task 2 run has two labels, relevant or not; this fit has {len(fit.scale)}")
    index, topic = _with_topics(fit)
    score = value_log_odds(fit.posterior[index], np.arange(2.0))
    return task2_run_text(fit.items.gather(index), topic, label[index, 1], score, digits)


def _with_topics(fit: Fit) -> tuple[Codes, Names]:
    """Return the items whose topic is known, and the topics."""
    if fit.topics is None or fit.topic is None:
        raise UsageError("a TREC file needs the topic of every item: name its column with --topic")
    index = np.flatnonzero(fit.topic >= 0)
    if index.size < fit.topic.size:
        missing = fit.topic.size - index.size
        warnings.warn(
            f"{missing:,} items that only gold knows have no topic and are left out", AdjudgeWarning, stacklevel=2
        )
    return index, fit.topics.gather(fit.topic[index])


FILES: Mapping[str, Callable[[Fit], str]] = {
    "qrels": qrels,
    "run": run,
    "trec-task2-run": task2_run,
    "trec-task2-run-quantised": task2_run_quantised,
}

"""``score``: answers against the truth, whether they are labels or runs of search systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from adjudge.data.runs import COLUMNS, System, is_run
from adjudge.errors import UsageError, quoted
from adjudge.metrics.labels import Scores, scores
from adjudge.metrics.ranking import DEFAULT
from adjudge.metrics.run_scores import RunScores, score_runs

LABEL_OPTIONS = ("positive", "bound", "item", "label", "labels", "ordinal")
RUN_OPTIONS = ("level", "complete", "ties", "draws", "seed")


def score(answers: Any, truth: Any, measures: str | Sequence[str] | None = None, **options: Any) -> Scores | RunScores:
    """Score labels and probabilities against the truth, or runs of search systems against grades.

    Parameters
    ----------
    answers : Fit, path, frame, mapping or sequence
        What is scored. Labels are a fit, the folder of a saved fit, a table with the columns item, label and
        optionally ``p_<label>``, or ``{item: label}``. Runs are files with lines "topic Q0 document rank score tag",
        frames with the columns topic, document and score, or ``{topic: {document: score}}``: one of these, a sequence
        of them, or a mapping from their names.
    truth : path, frame or mapping
        For labels a table with item and label, for runs the grades of documents, such as a qrels file.
    measures : str or sequence of str, optional
        Runs only: measures such as "MAP,nDCG@10". Naming measures says that the answers are runs.
    **options
        For labels the options of ``scores``: positive, bound, item, label, labels, ordinal. For runs those of
        ``score_runs``: level, complete, ties, draws, seed.

    Returns
    -------
    Scores or RunScores

    Examples
    --------
    >>> score({"d1": "yes", "d2": "no"}, {"d1": "yes", "d2": "yes"}).values["accuracy"]
    0.5
    >>> run = {"t1": {"d1": 2.0, "d2": 1.0}}
    >>> score(run, {"t1": {"d1": 0, "d2": 1}}, "MRR").scores[0].value
    0.5

    """
    runs = find_runs(answers, named=measures is not None)
    allowed = LABEL_OPTIONS if runs is None else RUN_OPTIONS
    other = [name for name in options if name not in allowed]
    if other:
        content = "labels" if runs is None else "runs"
        raise UsageError(f"{other[0]} is not an option for {content}: their options are {quoted(allowed)}")
    if runs is not None:
        return score_runs(runs, truth, DEFAULT if measures is None else measures, **options)
    if isinstance(answers, list | tuple):
        if len(answers) != 1:
            raise UsageError(f"score takes one set of labels or several runs, but got {len(answers)} sets of labels")
        answers = answers[0]
    return scores(answers, truth, **options)


def find_runs(answers: Any, named: bool = False) -> Mapping[str, Any] | Sequence[Any] | None:
    """Return answers as several runs, None if they are labels; ``named`` says that they are runs.

    >>> find_runs({"t1": {"d1": 2.0}})
    [{'t1': {'d1': 2.0}}]
    >>> find_runs({"d1": "yes"}) is None
    True
    """
    if isinstance(answers, list | tuple):
        return answers if named or any(find_runs(each) is not None for each in answers) else None
    if isinstance(answers, Mapping):
        parts = list(answers.values())
        if _is_scored_topics(parts):
            return [answers]
        return answers if named or _all_runs(parts) else None
    return [answers] if named or _is_run(answers) else None


def _is_scored_topics(parts: Sequence[Any]) -> bool:
    """Whether the values of a mapping are those of ``{topic: {document: score}}``."""
    mappings = [part for part in parts if isinstance(part, Mapping)]
    return 0 < len(parts) == len(mappings) and not any(map(_nested, mappings))


def _all_runs(parts: Sequence[Any]) -> bool:
    """Whether the values of a mapping are all runs."""
    return len(parts) > 0 and all(find_runs(part) is not None for part in parts)


def _is_run(data: Any) -> bool:
    """Whether data are one run: a system, a file of the format, or a frame with its columns."""
    if isinstance(data, str | PathLike):
        return is_run(data)
    columns: Any = getattr(data, "column_names", None) or getattr(data, "columns", ())  # pyarrow has both
    return isinstance(data, System) or set(COLUMNS) <= {str(name) for name in columns}


def _nested(mapping: Mapping[Any, Any]) -> bool:
    """Whether a mapping holds mappings."""
    return any(isinstance(value, Mapping) for value in mapping.values())

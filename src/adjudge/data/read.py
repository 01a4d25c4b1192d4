"""``read``: judgments from files and frames.

A file is read in four steps, each in its module: ``files`` reads, decompresses and decodes its bytes, ``formats``
turns the text into columns (a ``Source``), ``exports`` brings the columns into one judgment per row, and ``encode``
turns them into the codes of ``Judgments``. Frames are columns already.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from adjudge.data.blocks import Blocks
from adjudge.data.encode import LabelOptions, encode
from adjudge.data.exports import judgment_source
from adjudge.data.formats import open_source
from adjudge.data.judgments import Judgments
from adjudge.data.panel import judge_table, match_panel
from adjudge.data.scale import Labels, Values
from adjudge.errors import AdjudgeWarning, UsageError

AnyJudgments = TypeVar("AnyJudgments", Judgments, Blocks)


def read(
    data: Any,
    *,
    item: str | None = None,
    judge: str | None = None,
    label: str | None = None,
    topic: str | None = None,
    weight: str | None = None,
    time: str | None = None,
    judges: Any = None,
    labels: Labels | None = None,
    ordinal: bool = False,
    values: Values | None = None,
    missing: Sequence[str] | None = None,
    abstain: Sequence[str] | None = None,
    keep_case: bool = False,
    repeats: str = "keep",
    format: str | None = None,  # noqa: A002
) -> Judgments:
    """Read judgments: who gave which label to which item.

    A table has one judgment per row, or one of the other shapes that are recognised: wide tables with one column per
    judge, and the exports of annotation tools and crowdsourcing platforms. Columns are found by their usual names:
    ``item`` (or task, document, ...), ``judge`` (worker, annotator, ...), ``label`` (rating, answer, vote, ...) and, if
    there are any, ``topic``, ``weight`` and ``time``. A document that is in several topics becomes an item per topic,
    ``topic_document``.

    Parameters
    ----------
    data
        A path (``-`` is standard input); a pandas, polars or pyarrow frame; a Hugging Face dataset; a numpy array of
        items by judges; a list of tuples (item, judge, label) or of dictionaries; a dictionary of columns, or
        ``{item: {judge: label}}``. A file is CSV, TSV, JSON, JSON lines, Parquet, Arrow, Excel or a TREC file; text is
        in UTF-8, UTF-16 or windows-1252, and may be compressed with gzip, bzip2, xz or Zstandard. ``Judgments`` are
        returned as they are.
    item, judge, label, topic, weight, time
        Names of columns, if they have other than the usual names. In an export with several questions, ``label``
        names one of them.
    judges
        What is known about the judges: a path or a frame with a column of judges and one or more of kind (``person``,
        ``expert``, ``machine``), family, model and prompt, or a mapping from judge to kind or to such facts. Columns of
        the judgments that say it are recognised too: ``judge_kind``, ``judge_family``, ``judge_model``,
        ``judge_prompt``.
    labels
        All labels of the scale, in order, or a ``Scale``. By default the scale has the labels that occur.
    ordinal
        Whether the order of the labels has a meaning.
    values
        The value of every label, such as ``{"bad": 0, "good": 3}``: labels are ordered by their values, and expected
        values are on this scale. By default the value of a label is its number, or its position, 0 to K - 1.
    missing
        The texts that mean that there is no label. By default NaN, None, NA, n/a, null and the like. An empty cell is
        missing in any case. Judgments without a label are left out, with a note.
    abstain
        The texts that mean that the judge could not tell, such as ``["unsure", "skip"]``. These judgments are left out,
        and counted by judge in ``abstained``.
    keep_case
        Whether ``Yes`` and ``yes`` are different labels. By default they are one, with a note.
    repeats
        What to do if a judge judged an item again: ``"keep"`` all judgments, ``"merge"`` those with the same label,
        or ``"drop"`` all but the first.
    format
        ``"csv"``, ``"tsv"``, ``"json"``, ``"jsonl"``, ``"parquet"``, ``"arrow"``, ``"excel"``, ``"qrels"``,
        ``"trec-task1"``, ``"trec-task2"`` or ``"trec-task2-run"``; or a shape, such as ``"wide"`` or ``"mturk"``. By
        default both are recognised from the content and the name of the file.

    Returns
    -------
    Judgments
        The encoded table. Its ``summary`` says how the table was read, its ``table`` has the judgments as a frame.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"item": ["a", "a", "b"], "worker": ["ann", "bob", "ann"], "label": ["no", "yes", "yes"]})
    >>> read(table)
    Judgments(2 items, 2 judges, 2 labels, 3 judgments)
    >>> read({"a": {"ann": "no", "bob": "yes"}, "b": {"ann": "unsure", "bob": "yes"}}, abstain=["unsure"]).abstained
    array([1, 0])

    """
    named = {"item": item, "judge": judge, "label": label, "topic": topic, "weight": weight, "time": time}
    if isinstance(data, Judgments):
        _refuse_options(ordinal, labels, values, format, missing, abstain, keep_case, *named.values())
        judgments = data
    else:
        source, named = judgment_source(data, format, named)
        judgments = encode(source, named, labels, ordinal, values, LabelOptions(missing, abstain, keep_case))
    if judges is not None:
        judgments = with_panel(judgments, judges, judge)
    judgments, dropped = judgments.without_repeats(repeats)
    if dropped:
        warnings.warn(f"repeats: {repeats} left out {dropped:,} judgments", AdjudgeWarning, stacklevel=2)
    return judgments


def with_panel(judgments: AnyJudgments, judges: Any, judge: str | None = None) -> AnyJudgments:
    """Return judgments or blocks with what a table says about their judges.

    ``judges`` is as that of ``read``, and ``judge`` the name of its column of judges. The table has the last word where
    it says something.
    """
    source = open_source(judge_table(judges) if isinstance(judges, Mapping) else judges)
    return replace(judgments, panel=match_panel(source, judgments.judges, judge, judgments.panel))


def _refuse_options(*options: object) -> None:
    """Refuse options for judgments that are encoded already."""
    if any(option is not None and option is not False for option in options):
        raise UsageError("these judgments are read already: give columns, labels and format when they are read")

"""Tables for LaTeX with the rules of booktabs: results of runs as papers print them, and any other table.

Names are escaped. In a table of results, the highest value of a measure is bold, and marks say which differences are
beyond doubt; the caption explains them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

SPECIAL = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
}
MOST_LETTERS = 8  # runs up to which every run has a letter


class Cell(NamedTuple):
    """The value of a run by a measure, and its interval."""

    value: float
    low: float | None
    high: float | None


def escape(text: Any) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> escape("bm25_100%")
    'bm25\\_100\\%'
    """
    return "".join(SPECIAL.get(sign, sign) for sign in str(text))


def latex_table(head: Sequence[str], rows: Sequence[Sequence[Any]], caption: str) -> str:
    r"""Return a table: numbers have three decimals and are aligned right.

    >>> print(latex_table(["run", "MAP"], [["bm25", 0.25]], "Runs"))
    \begin{table}
      \centering
      \caption{Runs}
      \begin{tabular}{lr}
        \toprule
        run & MAP \\
        \midrule
        bm25 & 0.250 \\
        \bottomrule
      \end{tabular}
    \end{table}
    <BLANKLINE>
    """
    numeric = [any(isinstance(row[c], int | float) for row in rows) for c in range(len(head))]
    return _table(
        "".join("r" if each else "l" for each in numeric), head, [[_text(v) for v in row] for row in rows], caption
    )


def latex_results(
    runs: Sequence[str],
    measures: Sequence[str],
    cells: Mapping[tuple[str, str], Cell],
    better: Mapping[str, Collection[tuple[str, str]]],
    caption: str,
    doubt: str,
    baseline: str | None = None,
) -> str:
    """Return a table with one row per run and one column per measure.

    Parameters
    ----------
    runs, measures
        Their names, in the order of rows and columns.
    cells
        The value and the interval of every run and measure.
    better
        For every measure, the pairs of runs of which the first is better beyond doubt.
    caption
        What the values are.
    doubt
        What "beyond doubt" means, such as "all marks hold together with 90 % probability".
    baseline
        A run: others are marked if they are better or worse. Otherwise runs have letters, which mark the runs that are
        better than them; of more than eight runs, those that cannot be distinguished from the best are marked.
    """
    letters = {run: chr(ord("a") + n) for n, run in enumerate(runs)}
    rows = []
    for run in runs:
        name = f"({letters[run]}) {escape(run)}" if baseline is None and len(runs) <= MOST_LETTERS else escape(run)
        row = [name]
        for measure in measures:
            of_measure = {other: cells[other, measure] for other in runs}
            mark = _mark(run, runs, of_measure, better[measure], letters, baseline)
            row.append(_cell(of_measure[run], max(cell.value for cell in of_measure.values()), mark))
        rows.append(row)
    ended = (
        f"{escape(caption)} Intervals are in brackets. The highest value is bold. {_explained(runs, baseline, doubt)}"
    )
    return _table("l" * (1 + len(measures)), ["run", *measures], rows, ended, escaped=True)


def _mark(
    run: str,
    runs: Sequence[str],
    cells: Mapping[str, Cell],
    better: Collection[tuple[str, str]],
    letters: Mapping[str, str],
    baseline: str | None,
) -> str:
    """Return the mark of a run by one measure."""
    if baseline is not None:
        return r"\dagger" if (run, baseline) in better else r"\ddagger" if (baseline, run) in better else ""
    if len(runs) > MOST_LETTERS:
        best = max(runs, key=lambda each: cells[each].value)
        return "" if run == best or (best, run) in better else "*"
    marks = "".join(letters[other] for other in runs if (run, other) in better)
    return rf"\mathrm{{{marks}}}" if marks else ""


def _explained(runs: Sequence[str], baseline: str | None, doubt: str) -> str:
    """Return the sentence about the marks."""
    if len(runs) == 1:
        return ""
    if baseline is not None:
        marks = (
            rf"$^{{\dagger}}$ marks runs that are better than {escape(baseline)}, $^{{\ddagger}}$ runs that are worse"
        )
    elif len(runs) > MOST_LETTERS:
        marks = "$^{*}$ marks runs that cannot be distinguished from the best"
    else:
        marks = "Raised letters name the runs that a run is better than"
    return f"{marks} ({escape(doubt)})."


def _cell(cell: Cell, highest: float, mark: str) -> str:
    """Return a value with its mark and its interval."""
    number = f"{cell.value:.3f}"
    bold = rf"\textbf{{{number}}}" if f"{highest:.3f}" == number else number
    raised = f"$^{{{mark}}}$" if mark else ""
    if cell.low is None or cell.high is None:
        return bold + raised
    return rf"{bold}{raised} {{\scriptsize [{cell.low:.3f}, {cell.high:.3f}]}}"


def _text(value: Any) -> str:
    """Return a value as text for LaTeX; a missing one is a dash."""
    if value is None or value != value:
        return "--"
    return f"{value:.3f}" if isinstance(value, float) else escape(value)


def _table(align: str, head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, escaped: bool = False) -> str:
    """Return a table of cells that are LaTeX already."""
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \caption{{{caption if escaped else escape(caption)}}}",
        rf"  \begin{{tabular}}{{{align}}}",
        r"    \toprule",
        f"    {' & '.join(map(escape, head))} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"

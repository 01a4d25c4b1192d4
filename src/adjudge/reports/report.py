"""``report``: one HTML page on a fit that needs nothing else, and its figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from adjudge.data.write import write_file, write_whole
from adjudge.inference.result import Fit
from adjudge.inference.save import read_fit, read_fitted
from adjudge.reports.case import Case, build_case
from adjudge.reports.gallery import chart, figure_files
from adjudge.reports.page import Progress, document, element, silent, verdict


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a fit, as ``adjudge.report`` returns it.

    The page and the figures are made when they are first used. In a notebook, the report is shown as its summary.
    """

    title: str
    case: Case = field(repr=False)
    progress: Progress = field(default=silent, repr=False)

    def __repr__(self) -> str:
        fit = self.case.fit
        return f"Report({self.title!r}: {fit.model}, {len(fit.items):,} items, {len(fit.judge_names):,} judges)"

    def _repr_html_(self) -> str:
        return element("div", element("p", repr(self)), verdict(self.case))

    @cached_property
    def html(self) -> str:
        """The whole page."""
        return document(self.case, self.title, self.progress)

    @cached_property
    def figures(self) -> dict[str, bytes]:
        """The files of all figures that can be drawn, SVG and PNG, by name."""
        return figure_files(self.case, self.progress)

    def plot(self, name: str = "judges") -> Any:
        """Return one figure as an Altair chart.

        Parameters
        ----------
        name
            ``"judges"``, ``"votes"``, ``"certainty"`` or another name of the figures on the page. A figure that needs
            what the fit does not have (draws, times, topics, known truths) is an error that says so.
        """
        return chart(name, self.case)

    def save(self, path: str | PathLike[str], figures: str | PathLike[str] | None = None) -> None:
        """Write the page to a file and, if a folder is named, the figures into it.

        Parameters
        ----------
        path
            The HTML file to write.
        figures
            A folder for every figure that can be drawn, as SVG and PNG.
        """
        write_file(self.html.encode(), Path(path))
        if figures is not None:
            write_whole(self.figures, Path(figures))


def report(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    *,
    truth: Any = None,
    earlier: Fit | str | PathLike[str] | None = None,
    title: str | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Report:
    """Report on a fit: a summary in words, figures, judges, confusions, and the items to look at.

    Parameters
    ----------
    fit : Fit or path
        A fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit.
    truth : frame, path or mapping, optional
        Truths that the fit did not use, to check it against.
    earlier : Fit or path, optional
        An earlier fit of the same judges, to compare their work with.
    title : str, optional
        The title of the page. Default: the name of the fit's folder, or "Judgments".
    seed : int
        Seed of the draws behind the intervals of a fit that was not sampled.
    progress : callable
        Called with a text when a step of the work begins.

    Returns
    -------
    Report
        With ``html``, ``figures``, ``plot(name)`` and ``save(path)``.

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> report(adjudge.fit(judgments, "dawid-skene"), judgments)
    Report('Judgments': dawid-skene, 45 items, 5 judges)

    """
    record, table = read_fitted(fit, judgments)
    name = "Judgments" if isinstance(fit, Fit) else Path(fit).resolve().name
    case = build_case(record, table, truth, seed=seed, earlier=None if earlier is None else read_fit(earlier))
    return Report(name if title is None else title, case, progress)

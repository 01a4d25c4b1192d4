"""``report``: one HTML page on a fit that needs nothing else, and its figures.

The page works as a mail attachment: it loads no script and no picture, and can be read without scripts. Names of
judges, items and labels come from anybody, so all text is escaped, and only the script of this package may run.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from adjudge.data.write import write_file, write_whole
from adjudge.inference.inputs import read_fit, read_fitted
from adjudge.inference.result import Fit
from adjudge.reports.case import MOST_ITEMS, Case, build_case
from adjudge.reports.drawing import CLEAR, FAINT, INK, load_altair, render_svg
from adjudge.reports.gallery import FIGURES, Figure, chart, figure_files
from adjudge.reports.judge_section import Markup, element, join, judge_section, sortable_head
from adjudge.reports.summary import actions, opening

if TYPE_CHECKING:
    from adjudge.diagnostics.collusion import Collusion
    from adjudge.diagnostics.drift import Drift
    from adjudge.diagnostics.new_work import NewWork

    Watched: TypeAlias = Collusion | Drift | NewWork


PAIR_COLUMNS = ("judge", "other", "shared", "agreed", "expected", "wrong", "expected_wrong", "copied", "rate")
SPANS = ("before", "before_low", "before_high", "after", "after_low", "after_high")
CONFUSION_COLUMNS = ("truth", "said", "labels", "share", "items", "sentence")
WORK_COLUMNS = ("judge", "judgments", "believed", "quality", "low", "high", "z", "p")
CHANGE_COLUMNS = ("judge", "judgments", "p_changed", "time", *SPANS)
LONG = 24  # letters from which a text is a sentence rather than a name
NARROW = 480  # pixels of a figure that fits on a phone
SECTIONS = {
    "summary": "Summary",
    "figures": "Figures",
    "judges": "Judges",
    "watch": "To watch",
    "guidelines": "Guidelines",
    "items": "Items",
}
Progress: TypeAlias = Callable[[str], None]


def _silent(step: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a fit. The page and the figures are made when they are first used."""

    title: str
    case: Case = field(repr=False)
    progress: Progress = field(default=_silent, repr=False)

    def __repr__(self) -> str:
        fit = self.case.fit
        return f"Report({self.title!r}: {fit.model}, {len(fit.items):,} items, {len(fit.judge_names):,} judges)"

    def _repr_html_(self) -> str:
        todo = _todo(actions(self.case))
        return element("div", element("p", repr(self)), *(element("p", line) for line in opening(self.case)), todo)

    @cached_property
    def html(self) -> str:
        """The whole page."""
        return document(self.case, self.title, self.progress)

    @cached_property
    def figures(self) -> dict[str, bytes]:
        """The files of all figures that can be drawn, SVG and PNG, by name."""
        return figure_files(self.case, self.progress)

    def plot(self, name: str = "judges") -> Any:
        """Return one figure as an Altair chart."""
        return chart(name, self.case)

    def save(self, path: str | PathLike[str], figures: str | PathLike[str] | None = None) -> None:
        """Write the page to a file and, if a folder is named, the figures into it."""
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
    progress: Progress = _silent,
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


def document(case: Case, title: str = "Judgments", progress: Progress = _silent) -> str:
    """Return the page; ``progress`` is called with a text when a step of the work begins."""
    parts = [
        _header(case, title),
        element("main", *(_section(name, part) for name, part in _parts(case, progress))),
    ]
    head = join(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("title", f"{title}: report on judgments"),
        Markup(f"<style>{_shipped('page.css')}</style>"),
    )
    script = Markup(f"<script>{_shipped('page.js')}</script>")
    page = element("html", element("head", head), element("body", *parts, script), lang="en")
    return f"<!doctype html>\n{page}\n"


def _parts(case: Case, progress: Progress) -> Iterator[tuple[str, Markup]]:
    """Yield the name and the content of each section."""
    progress("computing the judges")
    yield "summary", join(*(element("p", line) for line in opening(case)), _todo(actions(case)))
    drawn = []
    for figure in FIGURES:
        progress(f"drawing {figure.name}")
        drawn.append(_figure(case, figure))
    yield "figures", join(*drawn)
    progress("writing the page")
    yield "judges", judge_section(case)
    progress("looking for pairs and changes")
    yield "watch", _watch(case)
    yield "guidelines", _guidelines(case)
    looks = case.second_looks.by_reason().items()
    yield "items", join(*(_table(each.title, each.table, f"looks-{why}") for why, each in looks))


def _header(case: Case, title: str) -> Markup:
    """Return the title, the model, and links to the sections."""
    links = (element("li", element("a", name, href=f"#{section}")) for section, name in SECTIONS.items())
    text = f"Model {case.fit.model}; {case.fit.stopped}."
    settled = element("p", text, class_="soft" if case.fit.converged else "warn")
    return join(
        element("header", element("h1", title), settled),
        element("nav", element("ul", *links), aria_label="Sections"),
    )


def _section(name: str, content: Markup) -> Markup:
    """Return a section with its heading."""
    return element("section", element("h2", SECTIONS[name]), content, id=name)


def _todo(lines: Sequence[str]) -> Markup:
    """Return the list of recommended actions."""
    if not lines:
        return element("p", "No action is needed.")
    return join(element("h3", "What to do"), element("ul", *(element("li", line) for line in lines), class_="todo"))


def _figure(case: Case, figure: Figure) -> Markup:
    """Return a figure, or why it cannot be drawn."""
    problem = figure.problem(case)
    if problem:
        return join(element("h3", figure.heading), element("p", f"Not defined because {problem}.", class_="soft"))
    picture = _inline(figure, render_svg(figure.draw(case), load_altair()[1], CLEAR))
    scroll = element("div", picture, class_="scroll", tabindex=0)
    wide = "wide" if _width(picture) > NARROW else None  # on a phone it scrolls instead of shrinking
    caption = element("figcaption", figure.caption)
    content = element("figure", scroll, caption, id=f"figure-{figure.name}", class_=wide)
    return join(element("h3", figure.heading), content)


def _width(svg: str) -> int:
    """Return the width of an SVG in pixels."""
    match = re.search(r'width="(\d+)', svg)
    return int(match[1]) if match else 0


def _inline(figure: Figure, svg: str) -> Markup:
    """Return an SVG for a page: with unique ids, the colours of the page, and a label for screen readers."""
    text = re.sub(r'(id="|url\(#)(clip|gradient)', rf"\1{figure.name}-\2", svg)
    for colour, variable in ((INK, "var(--ink)"), (FAINT, "var(--rule)")):
        text = text.replace(colour, variable)
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{figure.heading}" ', 1))


def _watch(case: Case) -> Markup:
    """Return judges who agree too much, who changed, and who are worse than before."""
    parts_of: dict[str, tuple[str, Watched | None, Sequence[str], str]] = {
        "pairs": ("Judges who agree too much", case.collusion, PAIR_COLUMNS, case.label_problem),
        "changes": ("Judges who changed", case.drift, CHANGE_COLUMNS, case.time_problem),
        "work": (
            "New work",
            case.new_work,
            WORK_COLUMNS,
            case.label_problem or "there is no earlier fit (give --earlier)",
        ),
    }
    parts = []
    for name, (title, result, columns, problem) in parts_of.items():
        text = f"Not defined because {problem}." if result is None else result.sentence
        parts.append(join(element("h3", title), element("p", text, class_="soft" if result is None else None)))
        if result is not None and result.flagged.any():
            parts.append(_table("", _flagged(result, columns), name))
    return join(*parts)


def _flagged(result: Watched, columns: Sequence[str]) -> pl.DataFrame:
    """Return these columns of the first flagged rows."""
    table: pl.DataFrame = result.table
    return table.filter(pl.col("flagged")).select(columns).head(MOST_ITEMS)


def _guidelines(case: Case) -> Markup:
    """Return the confusions of all judges together."""
    wrong = f"About {case.confusions.errors:,.0f} of {len(case.judgments):,} labels are wrong."
    return join(
        element("p", wrong),
        _table("Confusions", case.confusions.table.select(CONFUSION_COLUMNS), "confusions"),
    )


def _table(title: str, table: pl.DataFrame, name: str) -> Markup:
    """Return a table under its title, or a note if it is empty."""
    if not table.height:
        return join(element("h3", title), element("p", "None.", class_="soft", id=name))
    head = element(
        "tr", *(sortable_head(name.replace("_", " "), number=table[name].dtype.is_numeric()) for name in table.columns)
    )
    rows = (element("tr", *(_cell(value) for value in row)) for row in table.iter_rows())
    content = element("table", element("thead", head), element("tbody", *rows), class_="sortable", id=name)
    heading = element("h3", title) if title else ""
    return join(heading, element("div", content, class_="scroll tall", tabindex=0))


def _cell(value: Any) -> Markup:
    """Return a cell of a table."""
    if isinstance(value, float):
        return element("td", f"{value:.3f}", class_="number", data_value=value)
    if isinstance(value, int):
        return element("td", f"{value:,}", class_="number", data_value=value)
    return element("td", value, class_="words" if value is not None and len(str(value)) > LONG else None)


def _policy() -> str:
    """Return the Content-Security-Policy: the script of the page, and nothing from elsewhere."""
    digest = b64encode(sha256(_shipped("page.js").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"


def _shipped(name: str) -> str:
    """Return a file that ships beside this module."""
    return (files("adjudge.reports") / name).read_text(encoding="utf-8")

"""``report``: one HTML page on a fit that needs nothing else, and its figures.

It works from a mail attachment: no script or picture is fetched, and without scripts it can still be read. Names of
judges, items and labels come from anybody, so all text is escaped, and only the one script that ships here may run.
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
from adjudge.reports.case import MOST_ITEMS, Case, case_of
from adjudge.reports.drawing import CLEAR, FAINT, INK, drawing, rendered
from adjudge.reports.gallery import FIGURES, Figure, chart, figure_files
from adjudge.reports.judge_section import Markup, element, joined, judge_section, sortable_head
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
LONG = 24  # letters of a text that is a sentence rather than a name
NARROW = 480  # pixels of a figure that a phone can show
SECTIONS = {
    "summary": "Summary",
    "figures": "Figures",
    "judges": "Judges",
    "watch": "To watch",
    "guidelines": "Guidelines",
    "items": "Items",
}
Told: TypeAlias = Callable[[str], None]


def _silent(step: str) -> None:
    """Ignore progress."""


@dataclass(frozen=True, eq=False)
class Report:
    """A report on a fit. The page and the figures are made when they are first used."""

    title: str
    case: Case = field(repr=False)
    progress: Told = field(default=_silent, repr=False)

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
    progress: Told = _silent,
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
    case = case_of(record, table, truth, seed=seed, earlier=None if earlier is None else read_fit(earlier))
    return Report(name if title is None else title, case, progress)


def document(case: Case, title: str = "Judgments", told: Told = lambda what: None) -> str:
    """Return the whole page; ``told`` hears what is being done, where that takes long."""
    parts = [
        _header(case, title),
        element("main", *(_section(name, part) for name, part in _parts(case, told))),
    ]
    head = joined(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("title", f"{title}: what the judges say"),
        Markup(f"<style>{_shipped('page.css')}</style>"),
    )
    script = Markup(f"<script>{_shipped('page.js')}</script>")
    page = element("html", element("head", head), element("body", *parts, script), lang="en")
    return f"<!doctype html>\n{page}\n"


def _parts(case: Case, told: Told) -> Iterator[tuple[str, Markup]]:
    """Return what each section holds."""
    told("looking at judges")
    yield "summary", joined(*(element("p", line) for line in opening(case)), _todo(actions(case)))
    drawn = []
    for figure in FIGURES:
        told(f"drawing {figure.name}")
        drawn.append(_figure(case, figure))
    yield "figures", joined(*drawn)
    told("writing the page")
    yield "judges", judge_section(case)
    told("looking for pairs and changes")
    yield "watch", _watch(case)
    yield "guidelines", _guidelines(case)
    looks = case.looks.by_reason().items()
    yield "items", joined(*(_table(each.title, each.table, f"looks-{why}") for why, each in looks))


def _header(case: Case, title: str) -> Markup:
    """Return title, what was fitted, and links to the sections."""
    links = (element("li", element("a", name, href=f"#{place}")) for place, name in SECTIONS.items())
    said = f"Model {case.fit.model}; {case.fit.stopped}."
    settled = element("p", said, class_="soft" if case.fit.converged else "warn")
    return joined(
        element("header", element("h1", title), settled),
        element("nav", element("ul", *links), aria_label="Sections"),
    )


def _section(name: str, content: Markup) -> Markup:
    """Return a section with its heading."""
    return element("section", element("h2", SECTIONS[name]), content, id=name)


def _todo(lines: Sequence[str]) -> Markup:
    """Return what is to be done."""
    if not lines:
        return element("p", "Nothing calls for action.")
    return joined(element("h3", "What to do"), element("ul", *(element("li", line) for line in lines), class_="todo"))


def _figure(case: Case, figure: Figure) -> Markup:
    """Return a figure, or why there is none."""
    lacking = figure.lacks(case)
    if lacking:
        return joined(element("h3", figure.heading), element("p", f"Not defined because {lacking}.", class_="soft"))
    picture = _inline(figure, rendered(figure.draw(case), drawing()[1], CLEAR))
    scroll = element("div", picture, class_="scroll", tabindex=0)
    wide = "wide" if _width(picture) > NARROW else None  # on a phone it is moved, not shrunk
    caption = element("figcaption", figure.caption)
    whole = element("figure", scroll, caption, id=f"figure-{figure.name}", class_=wide)
    return joined(element("h3", figure.heading), whole)


def _width(svg: str) -> int:
    """Return how many pixels wide an SVG is."""
    found = re.search(r'width="(\d+)', svg)
    return int(found[1]) if found else 0


def _inline(figure: Figure, svg: str) -> Markup:
    """Return an SVG fit to stand in a page: its names its own, its ink that of the page, and a name to be read out."""
    own = re.sub(r'(id="|url\(#)(clip|gradient)', rf"\1{figure.name}-\2", svg)
    for colour, variable in ((INK, "var(--ink)"), (FAINT, "var(--rule)")):
        own = own.replace(colour, variable)
    return Markup(own.replace("<svg ", f'<svg role="img" aria-label="{figure.heading}" ', 1))


def _watch(case: Case) -> Markup:
    """Return judges who agree too much, who changed, and who are worse than they were."""
    asked: dict[str, tuple[str, Watched | None, Sequence[str], str]] = {
        "pairs": ("Judges who agree too much", case.pairs, PAIR_COLUMNS, case.untold),
        "changes": ("Judges who changed", case.changes, CHANGE_COLUMNS, case.untimed),
        "work": (
            "Beside what was believed",
            case.new_work,
            WORK_COLUMNS,
            case.untold or "there is no earlier fit (give --earlier)",
        ),
    }
    parts = []
    for name, (title, found, columns, lacking) in asked.items():
        said = f"Not defined because {lacking}." if found is None else found.sentence
        parts.append(joined(element("h3", title), element("p", said, class_="soft" if found is None else None)))
        if found is not None and found.flagged.any():
            parts.append(_table("", _flagged(found, columns), name))
    return joined(*parts)


def _flagged(found: Watched, columns: Sequence[str]) -> pl.DataFrame:
    """Return the rows that stand out, as many as can be looked at, and what is to be seen of them."""
    table: pl.DataFrame = found.table
    return table.filter(pl.col("flagged")).select(columns).head(MOST_ITEMS)


def _guidelines(case: Case) -> Markup:
    """Return the confusions of all judges together."""
    wrong = f"About {case.confusions.errors:,.0f} of {len(case.judgments):,} labels are wrong."
    return joined(
        element("p", wrong),
        _table("What is taken for what", case.confusions.table.select(CONFUSION_COLUMNS), "confusions"),
    )


def _table(title: str, table: pl.DataFrame, name: str) -> Markup:
    """Return a table under its title; of no rows, a word."""
    if not table.height:
        return joined(element("h3", title), element("p", "None.", class_="soft", id=name))
    head = element(
        "tr", *(sortable_head(name.replace("_", " "), number=table[name].dtype.is_numeric()) for name in table.columns)
    )
    rows = (element("tr", *(_cell(value) for value in row)) for row in table.iter_rows())
    whole = element("table", element("thead", head), element("tbody", *rows), class_="sortable", id=name)
    heading = element("h3", title) if title else ""
    return joined(heading, element("div", whole, class_="scroll tall", tabindex=0))


def _cell(value: Any) -> Markup:
    """Return a cell of a table."""
    if isinstance(value, float):
        return element("td", f"{value:.3f}", class_="number", data_value=value)
    if isinstance(value, int):
        return element("td", f"{value:,}", class_="number", data_value=value)
    return element("td", value, class_="words" if value is not None and len(str(value)) > LONG else None)


def _policy() -> str:
    """Return what the page allows a browser: the script that ships with it, and nothing from elsewhere."""
    digest = b64encode(sha256(_shipped("page.js").encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'"


def _shipped(name: str) -> str:
    """Return a file that ships beside this module."""
    return (files("adjudge.reports") / name).read_text(encoding="utf-8")

"""The HTML page of a report: its sections, a table and a card of every judge, and the elements they are made of.

The page works as a mail attachment: it loads no script and no picture, and can be read without scripts. Names of
judges, items and labels come from anybody, so all text is escaped: only what ``element`` builds is markup, and only the
script of this package may run.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterator, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from adjudge.errors import quote
from adjudge.reports.case import MOST_ITEMS, Case
from adjudge.reports.drawing import CLEAR, COLOURS, FAINT, INK, load_altair, render_svg
from adjudge.reports.gallery import FIGURES
from adjudge.reports.summary import POOR_JUDGE, Action, actions, basis, tiles, warnings_of

if TYPE_CHECKING:
    from adjudge.diagnostics.collusion import Collusion
    from adjudge.diagnostics.drift import Drift
    from adjudge.diagnostics.evidence import Estimate
    from adjudge.diagnostics.judges import Card
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
    "verdict": "Verdict",
    "labels": "Labels",
    "judges": "Judges",
    "watch": "Copying and changes",
    "guidelines": "Confusions",
    "method": "Method",
}
MOST_CARDS = 1_000  # busiest judges with a card on the page, so that it stays small enough for a mail
MEASURES = {
    "right": "chance of being right",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "informedness": "Youden's J",
    "bits": "bits per judgment",
    "agreement": "agreement with the others",
    "shift": "shift on the scale",
    "verification": "right where the truth is known",
}
EMPTY = ("meta", "input", "br", "hr", "col")
PAGE_COLOURS = {INK: "ink", FAINT: "rule", **dict(zip(COLOURS, ("blue", "vermilion", "green", "ink"), strict=True))}
Progress: TypeAlias = Callable[[str], None]


def silent(step: str) -> None:
    """Ignore progress."""


def document(case: Case, title: str = "Judgments", progress: Progress = silent) -> str:
    """Return the HTML page of a report.

    Parameters
    ----------
    case
        The fit and its judgments.
    title
        The title of the page. It may be any text, and is escaped.
    progress
        Called with a text when a step of the work begins.

    Returns
    -------
    str
        The whole page, which loads nothing from elsewhere.
    """
    parts = {name: part for name, part in _parts(case, progress) if part}
    main = element("main", *(_section(name, part) for name, part in parts.items()))
    return whole_page(f"{title}: report on judgments", _header(case, title, parts), main)


def whole_page(title: str, *parts: Markup) -> str:
    """Return the parts of a body as a page with the style and the script of this package."""
    head = join(
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("title", title),
        Markup(f"<style>{_shipped('page.css')}</style>"),
    )
    script = Markup(f"<script>{_shipped('page.js')}</script>")
    page = element("html", element("head", head), element("body", *parts, script), lang="en")
    return f"<!doctype html>\n{page}\n"


def _parts(case: Case, progress: Progress) -> Iterator[tuple[str, Markup]]:
    """Yield the name and the content of each section; a section without content is empty."""
    progress("computing the judges")
    yield "verdict", verdict(case)
    drawn: dict[str, list[Markup]] = {name: [] for name in SECTIONS}
    missing = []
    for figure in FIGURES:
        problem = figure.problem(case)
        if problem:
            missing.append(f"{figure.heading} ({problem})")
            continue
        progress(f"drawing {figure.name}")
        drawn[figure.section].append(drawn_figure(figure.draw(case), figure.name, figure.heading, figure.caption))
    figures = {
        name: element("div", *charts, class_="figures") if charts else Markup("") for name, charts in drawn.items()
    }
    progress("writing the page")
    looks = case.second_looks.by_reason().items()
    tables = (table_block(each.title, each.table, f"looks-{why}") for why, each in looks)
    yield "labels", join(figures["labels"], *tables)
    yield "judges", join(figures["judges"], judge_section(case))
    progress("looking for pairs and changes")
    watched, quiet = _watch(case)
    yield "watch", join(watched, figures["watch"]) if watched or figures["watch"] else Markup("")
    yield "guidelines", join(figures["guidelines"], _guidelines(case))
    yield "method", join(_method(case, [*quiet, *missing]), figures["method"])


def verdict(case: Case) -> Markup:
    """Return what a lead needs to know: contradictions, the figures of the verdict, and what to do next."""
    alarms = (element("p", line, class_="alarm", role="alert") for line in warnings_of(case))
    entries = (
        element("li", element("strong", tile.value), element("span", tile.name), element("small", tile.note))
        for tile in tiles(case)
    )
    return join(*alarms, element("ul", *entries, class_="tiles"), todo_list(actions(case)))


def _method(case: Case, missing: Sequence[str]) -> Markup:
    """Return what the verdict rests on, and what could not be shown."""
    lines = [*(element("p", line) for line in basis(case)), element("p", POOR_JUDGE)]
    text = f"Model {case.fit.model}; {case.fit.stopped}."
    lines.append(element("p", text, class_=None if case.fit.converged else "warn"))
    if missing:
        lines.append(element("p", f"Not shown: {'; '.join(missing)}.", class_="soft"))
    return join(*lines)


def _header(case: Case, title: str, sections: Collection[str]) -> Markup:
    """Return the title, what was judged, and links to the sections."""
    links = (element("li", element("a", SECTIONS[name], href=f"#{name}")) for name in sections)
    return join(
        element("header", element("h1", title), element("p", basis(case)[0], class_="soft")),
        element("nav", element("ul", *links), aria_label="Sections"),
    )


def _section(name: str, content: Markup) -> Markup:
    """Return a section with its heading."""
    return element("section", element("h2", SECTIONS[name]), content, id=name)


def todo_list(todo: Sequence[Action]) -> Markup:
    """Return the list of recommended actions."""
    if not todo:
        return element("p", "No action is needed.")
    lines = (element("li", element("strong", f"{each.advice}. "), each.reason) for each in todo)
    return join(element("h3", "What to do next"), element("ol", *lines, class_="todo"))


def drawn_figure(chart: Any, name: str, heading: str, caption: str) -> Markup:
    """Return a chart as a figure of a page, under its heading and with its caption."""
    picture = _inline(name, heading, render_svg(chart, load_altair()[1], CLEAR))
    scroll = element("div", picture, class_="scroll", tabindex=0)
    wide = "wide" if _width(picture) > NARROW else None  # on a phone it scrolls instead of shrinking
    content = element("figure", scroll, element("figcaption", caption), id=f"figure-{name}", class_=wide)
    return element("div", element("h3", heading), content)


def _width(svg: str) -> int:
    """Return the width of an SVG in pixels."""
    match = re.search(r'width="(\d+)', svg)
    return int(match[1]) if match else 0


def _inline(name: str, heading: str, svg: str) -> Markup:
    """Return an SVG for a page: with unique ids, the colours of the page, and a label for screen readers."""
    text = re.sub(r'(id="|url\(#)(clip|gradient)', rf"\1{name}-\2", svg)
    for colour, variable in PAGE_COLOURS.items():
        text = text.replace(colour, f"var(--{variable})")
    return Markup(text.replace("<svg ", f'<svg role="img" aria-label="{heading}" ', 1))


def _watch(case: Case) -> tuple[Markup, list[str]]:
    """Return judges who agree too much, who changed, and who are worse than before; and what was not found or asked."""
    parts_of: dict[str, tuple[str, Watched | None, Sequence[str], str]] = {
        "pairs": ("Judges who agree too much", case.collusion, PAIR_COLUMNS, case.label_problem),
        "changes": ("Judges who changed", case.drift, CHANGE_COLUMNS, case.time_problem),
        "work": ("New work", case.new_work, WORK_COLUMNS, case.label_problem or "there is no earlier fit"),
    }
    parts, quiet = [], []
    for name, (title, result, columns, problem) in parts_of.items():
        if result is None:
            quiet.append(f"{title} ({problem})")
            continue
        parts.append(join(element("h3", title), element("p", result.sentence)))
        if result.flagged.any():
            parts.append(table_block("", _flagged(result, columns), name))
    return join(*parts), quiet


def _flagged(result: Watched, columns: Sequence[str]) -> pl.DataFrame:
    """Return these columns of the first flagged rows."""
    table: pl.DataFrame = result.table
    return table.filter(pl.col("flagged")).select(columns).head(MOST_ITEMS)


def _guidelines(case: Case) -> Markup:
    """Return the confusions of all judges together."""
    wrong = f"About {case.confusions.errors:,.0f} of {len(case.judgments):,} labels are wrong."
    return join(
        element("p", wrong),
        table_block("Confusions", case.confusions.table.select(CONFUSION_COLUMNS), "confusions"),
    )


def table_block(title: str, table: pl.DataFrame, name: str) -> Markup:
    """Return a table under its title, without its empty columns; nothing if it has no rows."""
    if not table.height:
        return Markup("")
    table = table.select(column.name for column in table if column.null_count() < table.height)
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


# The judges.


def judge_section(case: Case) -> Markup:
    """Return the table of all judges and the cards of the busiest."""
    return join(_judge_table(case), *(_card(case, index) for index in _card_indices(case)))


def card_lines(card: Card, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the card of a judge in words, other than its matrix and its sentence.

    Parameters
    ----------
    card
        The card of one judge.
    names
        The labels of the scale.

    Returns
    -------
    list of (str, str)
        What is measured, and its value with a 90 % interval, or the reason why it is not defined.
    """
    topics = "" if card.topics is None else f" on {card.topics:,} topics"
    texts = [("judgments", f"{card.judgments:,} of {card.items:,} items{topics}")]
    for name, words in MEASURES.items():
        estimate = getattr(card, name)
        if estimate is not None:
            texts.append((words, f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"))
        else:
            texts.append((words, card.reasons[name]))
    if card.verification is not None:
        check = card.verification
        texts.append(("expected by the fit there", f"{check.expected:.2f} of {check.judgments:,} judgments"))
    bias = (f"{quote(name)} {part.value:+.2f}" for name, part in zip(names, card.bias, strict=True))
    texts += [("given more often than true", ", ".join(bias))]
    pace = card.reasons["seconds"] if card.seconds is None else f"{card.seconds:.0f} s"
    chances = f"no better than chance {card.p_chance:.0%}, adversarial {card.p_adversarial:.0%}"
    return [*texts, ("time per judgment", pace), ("probability", chances)]


def _judge_table(case: Case) -> Markup:
    """Return the table of all judges, to be sorted and searched."""
    with_card = set(_card_indices(case))
    two = len(case.fit.scale) == 2
    heads = ["judge", "judgments", "right", *(["sensitivity", "specificity"] if two else []), "Youden's J", "bits"]
    rows = []
    for index, card in enumerate(case.cards):
        name: Content = element("a", card.judge, href=f"#judge-{index}") if index in with_card else card.judge
        measures = [card.right, *([card.sensitivity, card.specificity] if two else []), card.informedness, card.bits]
        cells = [
            element("td", name, class_="name"),
            element("td", f"{card.judgments:,}", class_="number", data_value=card.judgments),
            *(_measured(estimate) for estimate in measures),
            element("td", f"{card.p_chance:.0%}", class_="number", data_value=card.p_chance),
            element("td", card.sentence, class_="words"),
        ]
        rows.append(element("tr", *cells))
    head = [sortable_head(name, number=name != "judge") for name in [*heads, "P(chance)"]]
    body = [element("thead", element("tr", *head, sortable_head("sentence"))), element("tbody", *rows)]
    search = element("input", type="search", data_table="gallery", data_count="matches", id="search")
    label = element("label", "Search judges ", for_="search")
    find = element("div", label, search, element("span", id="matches", class_="soft", role="status"), class_="find")
    note = "Numbers in grey are 90 % intervals. Click a heading to sort, and the name of a judge to open their card."
    if len(with_card) < len(case.cards):
        note += f" The {len(with_card):,} busiest of {len(case.cards):,} judges have a card."
    note += f" {case.cards.reliability[:1].upper()}{case.cards.reliability[1:]}."
    table = element("table", *body, class_="sortable", id="gallery")
    return join(element("p", note, class_="soft"), find, element("div", table, class_="scroll tall", tabindex=0))


def _card_indices(case: Case) -> list[int]:
    """Return the judges who have a card on the page, in the order of the fit."""
    return sorted(int(j) for j in np.argsort(-np.asarray(case.fit.judged), kind="stable")[:MOST_CARDS])


def _card(case: Case, index: int) -> Markup:
    """Return the card of one judge, which is hidden until its link is clicked."""
    card = case.cards[index]
    lines = card_lines(card, case.fit.scale.names)
    listed = join(*(join(element("dt", name), element("dd", text)) for name, text in lines))
    content = [
        element("h3", f"Judge {card.judge}"),
        element("p", card.sentence),
        element("dl", listed),
        _matrix(card, case.fit.scale.names),
        element("p", element("a", "back to all judges", href="#judges")),
    ]
    return element("article", *content, class_="card", id=f"judge-{index}")


def _matrix(card: Card, names: Sequence[str]) -> Markup:
    """Return a judge's confusion matrix with intervals."""
    head = element("tr", element("th", "truth \\ label"), *(element("th", name, class_="number") for name in names))
    rows = []
    for k, name in enumerate(names):
        spans = zip(card.confusion[k], card.confusion_low[k], card.confusion_high[k], strict=True)
        cells = (element("td", f"{p:.2f}", _span(low, high), class_="number") for p, low, high in spans)
        rows.append(element("tr", element("th", name), *cells))
    table = element("table", element("thead", head), element("tbody", *rows))
    return element("div", table, class_="scroll")


def _measured(estimate: Estimate | None) -> Markup:
    """Return a cell with a number and its interval."""
    if estimate is None:
        return element("td", "not defined", class_="soft")
    span = _span(estimate.low, estimate.high)
    return element("td", f"{estimate.value:.2f}", span, class_="number", data_value=round(estimate.value, 6))


def _span(low: float, high: float) -> Markup:
    """Return an interval in small type."""
    return element("span", f"{low:.2f} to {high:.2f}", class_="span")


# HTML elements.


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Content: TypeAlias = "str | int | float | Markup | None"


def element(tag: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Markup:
    """Return an HTML element with its content, of which all text is escaped.

    Parameters
    ----------
    tag
        The name of the element.
    *content
        Texts, numbers and other elements; None is nothing.
    **attributes
        Values of attributes: ``class_`` is class, and ``data_value`` is data-value. One that is True has no value, one
        that is False or None is left out.

    Examples
    --------
    >>> element("p", "1 < 2", element("br"), class_="soft")
    '<p class="soft">1 &lt; 2<br></p>'
    """
    text = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if tag in EMPTY:
        return Markup(f"<{tag}{text}>")
    return Markup(f"<{tag}{text}>{join(*content)}</{tag}>")


def join(*content: Content) -> Markup:
    """Return pieces one after another, with text escaped.

    >>> join("a & b", element("b", "c"))
    'a &amp; b<b>c</b>'
    """
    return Markup("".join(piece if isinstance(piece, Markup) else escape(_text(piece)) for piece in content))


def _text(piece: Content) -> str:
    """Return the text of a piece, empty for None."""
    return "" if piece is None else str(piece)


def _attribute(name: str, value: str | int | float | bool | None) -> str:
    """Return an attribute with a leading blank, nothing if it is false."""
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def sortable_head(name: str, number: bool = False) -> Markup:
    """Return the heading of a column, a button that sorts."""
    return element("th", element("button", name, type="button"), class_="number" if number else None, scope="col")

"""The judges on the page: a table to sort and to search, and a card for each."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from adjudge.errors import quote

if TYPE_CHECKING:
    from adjudge.diagnostics.cards import Card
    from adjudge.diagnostics.evidence import Estimate
    from adjudge.reports.case import Case


# HTML out of nested elements: what is text is escaped, whoever wrote it, and only what was built here is markup.

EMPTY = ("meta", "input", "br", "hr", "col")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = "str | int | float | Markup | None"


def element(tag: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Markup:
    """Return an element; ``class_`` is the attribute class, and data_value is data-value."""
    given = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if tag in EMPTY:
        return Markup(f"<{tag}{given}>")
    return Markup(f"<{tag}{given}>{joined(*content)}</{tag}>")


def joined(*content: Content) -> Markup:
    """Return pieces one after another, texts escaped."""
    return Markup("".join(piece if isinstance(piece, Markup) else escape(_text(piece)) for piece in content))


def _text(piece: Content) -> str:
    """Return what is shown of a piece; of none, nothing."""
    return "" if piece is None else str(piece)


def _attribute(name: str, value: str | int | float | bool | None) -> str:
    """Return an attribute with a blank before it; one that is false is not there."""
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def sortable_head(name: str, number: bool = False) -> Markup:
    """Return the head of a column, a button that sorts."""
    return element("th", element("button", name, type="button"), class_="number" if number else None, scope="col")


MOST_CARDS = 1_000  # busiest judges who have a card on the page: it is to stay small enough for a mail
MEASURES = {
    "right": "chance of being right",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "informedness": "informedness",
    "bits": "bits a judgment",
    "agreement": "agreement with the others",
    "shift": "shift on the scale",
    "verification": "right where the truth is known",
}


def judge_section(case: Case) -> Markup:
    """Return the table of all judges and, below, the cards of the busiest."""
    return joined(_gallery(case), *(_card(case, place) for place in _carded(case)))


def lines(card: Card, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return what a card says beside its matrix and its sentence: a name and a text each."""
    topics = "" if card.topics is None else f" on {card.topics:,} topics"
    told = [("judgments", f"{card.judgments:,} of {card.items:,} items{topics}")]
    for name, words in MEASURES.items():
        estimate = getattr(card, name)
        if estimate is not None:
            told.append((words, f"{estimate.value:.2f} ({estimate.low:.2f} to {estimate.high:.2f})"))
        else:
            told.append((words, card.reasons[name]))
    if card.verification is not None:
        check = card.verification
        told.append(("as the fit expects there", f"{check.expected:.2f} of {check.judgments:,} judgments"))
    bias = (f"{quote(name)} {part.value:+.2f}" for name, part in zip(names, card.bias, strict=True))
    told += [("gives more often than true", ", ".join(bias))]
    pace = card.reasons["seconds"] if card.seconds is None else f"{card.seconds:.0f} s"
    chances = f"no better than chance {card.p_chance:.0%}, adversarial {card.p_adversarial:.0%}"
    return [*told, ("time for a judgment", pace), ("probably", chances)]


def _gallery(case: Case) -> Markup:
    """Return the table of all judges, to be sorted and searched."""
    shown = set(_carded(case))
    two = len(case.fit.scale) == 2
    heads = ["judge", "judgments", "right", *(["sensitivity", "specificity"] if two else []), "informedness", "bits"]
    rows = []
    for place, card in enumerate(case.cards):
        name: Content = element("a", card.judge, href=f"#judge-{place}") if place in shown else card.judge
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
    body = [element("thead", element("tr", *head, sortable_head("in words"))), element("tbody", *rows)]
    search = element("input", type="search", data_table="gallery", data_told="found", id="search")
    label = element("label", "Search judges ", for_="search")
    find = element("div", label, search, element("span", id="found", class_="soft", role="status"), class_="find")
    note = "Numbers in grey are 90 % intervals. A click on a heading sorts; a judge's name opens the card below."
    if len(shown) < len(case.cards):
        note += f" The {len(shown):,} busiest of {len(case.cards):,} judges have a card."
    note += f" {case.cards.reliability[:1].upper()}{case.cards.reliability[1:]}."
    table = element("table", *body, class_="sortable", id="gallery")
    return joined(element("p", note, class_="soft"), find, element("div", table, class_="scroll tall", tabindex=0))


def _carded(case: Case) -> list[int]:
    """Return the places of judges who have a card on the page, in the order of the fit."""
    return sorted(int(j) for j in np.argsort(-np.asarray(case.fit.judged), kind="stable")[:MOST_CARDS])


def _card(case: Case, place: int) -> Markup:
    """Return the card of one judge; it shows when it is asked for."""
    card = case.cards[place]
    listed = joined(
        *(joined(element("dt", name), element("dd", text)) for name, text in lines(card, case.fit.scale.names))
    )
    content = [
        element("h3", f"Judge {card.judge}"),
        element("p", card.sentence),
        element("dl", listed),
        _matrix(card, case.fit.scale.names),
        element("p", element("a", "back to all judges", href="#judges")),
    ]
    return element("article", *content, class_="card", id=f"judge-{place}")


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
    """Return an interval in small."""
    return element("span", f"{low:.2f} to {high:.2f}", class_="span")

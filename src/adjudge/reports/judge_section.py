"""The section about judges: a table to sort and search, and a card for each judge; and HTML elements.

Text is always escaped, because names come from anybody; only what ``element`` builds is markup.
"""

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


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Content: TypeAlias = "str | int | float | Markup | None"


def element(tag: str, /, *content: Content, **attributes: str | int | float | bool | None) -> Markup:
    """Return an element; ``class_`` is the attribute class, and ``data_value`` is data-value."""
    text = "".join(_attribute(key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    if tag in EMPTY:
        return Markup(f"<{tag}{text}>")
    return Markup(f"<{tag}{text}>{join(*content)}</{tag}>")


def join(*content: Content) -> Markup:
    """Return pieces one after another, with text escaped."""
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


def judge_section(case: Case) -> Markup:
    """Return the table of all judges and the cards of the busiest."""
    return join(_judge_table(case), *(_card(case, index) for index in _card_indices(case)))


def lines(card: Card, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the lines of a card other than its matrix and its sentence: a name and a text each."""
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
    listed = join(*(join(element("dt", name), element("dd", text)) for name, text in lines(card, case.fit.scale.names)))
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

"""HTML out of nested elements: what is text is escaped, whoever wrote it, and only what was built here is markup."""

from __future__ import annotations

from html import escape
from typing import TypeAlias

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

"""Pages from templates: escaped throughout, in the reader's language."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, select_autoescape

from adjudge.studio.web.sessions import studio_of

# The words of the judge's pages, in every language we have: one file, and the same keys in each.

FALLBACK = "en"


@functools.cache
def _catalogue() -> dict[str, dict[str, str]]:
    """Return the file, read once: language, key, text."""
    return tomllib.loads((files("adjudge.studio.web") / "catalogue.toml").read_text(encoding="utf-8"))


LANGUAGES = tuple(_catalogue())


def text(language: str) -> Mapping[str, str]:
    """Return all texts in a language, or in English where we do not speak it."""
    return dict(_catalogue().get(language) or _catalogue()[FALLBACK])


def filled(words: str, **values: object) -> str:
    """Return a text with its ``{names}`` filled in; of ``one|many`` the form that fits ``n``, as the page does it."""
    one, _, many = words.partition("|")
    return (many if many and values.get("n") != 1 else one).format(**values)


PAGES = Path(__file__).parent / "pages"


@functools.cache
def templates() -> Environment:
    """Return the templates, read once."""
    return Environment(loader=FileSystemLoader(PAGES), autoescape=select_autoescape(default=True), trim_blocks=True)


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page; what it says comes from the catalogue of its language."""
    studio = studio_of(request)
    about = studio.campaign.settings.campaign
    language = values.pop("language", None) or preferred(request, about.language)
    known = {"title": about.name, "language": language, "texts": text(language), "csrf": "", "session": ""}
    return HTMLResponse(templates().get_template(template).render({**known, **values}), status)


def words(request: Request) -> Mapping[str, str]:
    """Return the catalogue in the language of who asks."""
    return text(preferred(request, studio_of(request).campaign.settings.campaign.language))


def preferred(request: Request, usual: str) -> str:
    """Return the first language of ours that a browser asks for."""
    asked = [part.split(";")[0].strip()[:2].lower() for part in request.headers.get("accept-language", "").split(",")]
    return next((language for language in asked if language in LANGUAGES), usual)

"""The words of the judge's pages, in every language we have: one file, and the same keys in each."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from importlib.resources import files

FALLBACK = "en"


@functools.cache
def _catalogue() -> dict[str, dict[str, str]]:
    """Return the file, read once: language, key, text."""
    return tomllib.loads((files("adjudge.collect.web") / "catalogue.toml").read_text(encoding="utf-8"))


LANGUAGES = tuple(_catalogue())


def text(language: str) -> Mapping[str, str]:
    """Return all texts in a language, or in English where we do not speak it."""
    return dict(_catalogue().get(language) or _catalogue()[FALLBACK])


def filled(words: str, **values: object) -> str:
    """Return a text with its ``{names}`` filled in; of ``one|many`` the form that fits ``n``, as the page does it."""
    one, _, many = words.partition("|")
    return (many if many and values.get("n") != 1 else one).format(**values)

"""Hooks of MkDocs: pages from the root of the repository, and the generated pages in the navigation."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PAGES = {  # pages of the repository's root -> their place in the site
    "README.md": "index.md",
    "ARCHITECTURE.md": "explanation/architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.md",
}
GENERATED = ("reference/commands", "reference/python")  # folders that are listed in the navigation


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """List the generated pages where the navigation names their folder."""
    config.nav = _expand(config.nav)
    return config


def _expand(entry: Any) -> Any:
    """Return an entry of the navigation with folders replaced by their pages."""
    if isinstance(entry, list):
        return [_expand(inner) for inner in entry]
    if isinstance(entry, dict):
        return {title: _expand(inner) for title, inner in entry.items()}
    if entry not in GENERATED:
        return entry
    pages = sorted((ROOT / "docs" / entry).glob("*.md"), key=lambda page: (page.stem != "index", page.stem))
    return [f"{entry}/{page.name}" for page in pages]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of the repository's root."""
    for name, place in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf8")
        if name == "LICENSE":
            text = f"# License\n\n```text\n{text.strip()}\n```\n"
        files.append(File.generated(config, place, content=_relink(text, place)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Point links that leave docs/ for the root of the repository to the pages of the site."""
    folder = "docs" / Path(page.file.src_uri).parent
    if page.file.src_uri in PAGES.values():
        return markdown

    def target(match: re.Match[str]) -> str:
        path = os.path.normpath(folder / match[1])
        if path not in PAGES:
            return match[0]
        return f"]({os.path.relpath(PAGES[path], Path(page.file.src_uri).parent)}{match[2] or ''})"

    return re.sub(r"\]\(([^)#:]+)(#[^)]*)?\)", target, markdown)


def _relink(text: str, place: str) -> str:
    """Return a page of the root with its links relative to its place in the site."""

    def target(match: re.Match[str]) -> str:
        path = PAGES.get(match[1], match[1].removeprefix("docs/"))
        return f"]({os.path.relpath(path, Path(place).parent)}{match[2] or ''})"

    return re.sub(r"\]\(([^)#:]+)(#[^)]*)?\)", target, text)

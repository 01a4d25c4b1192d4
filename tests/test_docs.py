"""The documentation site: complete, in one piece, and free of anything from the network."""

import os
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.main import get_command

import adjudge
from adjudge.cli.app import app

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the site, built in strict mode."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_every_command_has_a_page():
    """The pages are called after the commands."""
    commands = {name for name, command in get_command(app).commands.items() if not command.hidden}
    pages = {page.stem for page in (REFERENCE / "commands").glob("*.md")} - {"index"}
    assert pages == commands


def test_every_public_name_is_documented_once():
    """On the page of its command or of its subpackage."""
    text = "".join(page.read_text(encoding="utf8") for page in REFERENCE.rglob("*.md"))
    names = [*adjudge.MODULES, *(name for names in adjudge.HOMES.values() for name in names)]
    assert Counter(re.findall(r"^::: adjudge\.(\w+)$", text, re.MULTILINE)) == Counter(names)


def test_the_site_is_built_and_asks_nobody_else_for_anything(site):
    """Links lead somewhere, names are found, and no page loads a script, a font or a picture from another host."""
    assert "adjudge turns many imperfect judgments into decisions" in (site / "index.html").read_text(encoding="utf8")
    assert "Infer the true label" in (site / "reference/commands/fit/index.html").read_text(encoding="utf8")
    for page in site.rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img)[^>]*(?:src|href)=\"?(https?:[^\" >]*)", page.read_text(encoding="utf8")
        )
        assert not loaded, f"{page.relative_to(site)} loads {loaded}"


def test_files_that_pages_name_exist():
    """Every path to a Python file is one of the repository or of the package, and every module can be imported."""
    pages = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    for page in pages:
        text = page.read_text(encoding="utf8")
        for path in re.findall(r"`((?:[\w.]+/)+\w+\.py)`", text):
            assert any((folder / path).exists() for folder in (ROOT, ROOT / "src" / "adjudge")), f"{page.name}: {path}"
        for module in re.findall(r"(?:from|import) (adjudge\.[\w.]+)", text):
            assert find_spec(module), f"{page.name}: {module}"
        for module in re.findall(r"python -m (studies[\w.]*)", text):
            path = ROOT / module.rstrip(".").replace(".", "/")
            assert path.is_dir() or path.with_suffix(".py").exists(), f"{page.name}: {module}"


def test_links_of_the_readme_lead_to_files():
    """The site checks the links of its own pages; these are the links of the files beside it."""
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"):
        text = (ROOT / name).read_text(encoding="utf8")
        for path in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
            assert (ROOT / path).exists(), f"{name}: {path}"

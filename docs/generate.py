"""Writes the pages that follow from the code: the CLI, models and designs, settings of campaigns, the README's picture.

``--check`` writes nothing and fails where a page is out of step.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from typer.main import get_command
from typer.testing import CliRunner

import adjudge
from adjudge.cli.app import app
from adjudge.data.simulate import DESIGNS, SIZES
from adjudge.inference.registry import MODELS
from adjudge.learn.features import FEATURES
from adjudge.studio.settings import SETTINGS

HERE = Path(__file__).parent
CELL, GAP, TOP = 26, 34, 30  # of the picture, in pixels


def cli_page() -> str:
    """Return the help of every command."""
    runner = CliRunner(env={"COLUMNS": "100", "TERMINAL_WIDTH": "100"})
    commands = [""]
    for name, command in get_command(app).commands.items():  # type: ignore[attr-defined]
        commands += [name, *(f"{name} {inner}" for inner in getattr(command, "commands", ()))]
    pages = []
    for name in commands:
        text = runner.invoke(app, [*name.split(), "--help"], prog_name="adjudge").output
        pages.append(f"## adjudge {name}".rstrip() + f"\n\n```text\n{text.rstrip()}\n```\n")
    return "# The command line\n\nWritten by `make docs` from the commands' own help.\n\n" + "\n".join(pages)


def models_page() -> str:
    """Return the registries of models and of simulated crowds."""
    models = [(f"`{m.name}`", m.needs, m.summary, m.paper) for m in MODELS.values()]
    designs = [
        (
            f"`{d.name}`",
            d.summary,
            ", ".join(f"{name}={'follows' if size is None else size}" for name, size in d.sizes.items()),
            d.paper,
        )
        for d in DESIGNS.values()
    ]
    sizes = [(f"`{name}`", size.summary) for name, size in SIZES.items()]
    parts = [
        "# Models and crowds\n\nWritten by `make docs` from the registries.\n",
        "## Models: `adjudge fit --model NAME`\n",
        _table(("name", "labels", "what it assumes", "paper"), models),
        "## Simulated crowds: `adjudge simulate DESIGN`\n",
        _table(("name", "who judges", "sizes", "paper"), designs),
        "What follows is computed from the other sizes.\n",
        _table(("size", "what it is"), sizes),
    ]
    return "\n".join(parts)


def features_page() -> str:
    """Return the page on features, with the table of the registry as it is now."""
    before, start, rest = (HERE / "features.md").read_text(encoding="utf8").partition("<!-- features -->\n")
    _, end, after = rest.partition("<!-- end of features -->")
    rows = [(f"`{f.name}`", f"`{f.group}`", f.summary) for f in FEATURES.values()]
    return before + start + _table(("feature", "group", "what it is"), rows) + end + after


def campaigns_page() -> str:
    """Return the page on campaigns, with the table of settings as it is now."""
    before, start, rest = (HERE / "campaigns.md").read_text(encoding="utf8").partition("<!-- settings -->\n")
    _, end, after = rest.partition("<!-- end of settings -->")
    rows = [(f"`{s.name}`", f"`{_toml(s.default)}`", s.expected, s.meaning) for s in SETTINGS]
    return before + start + _table(("setting", "default", "may be", "what it is"), rows) + end + after


def _toml(value: object) -> str:
    """Return a default as one writes it in campaign.toml."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, ["---"] * len(head), *rows))


def picture() -> str:
    """Return the confusion matrices of the five anaesthetists, as an SVG."""
    fit = adjudge.fit(adjudge.dataset("anesthesia"), "dawid-skene")
    labels, side = fit.scale.names, CELL * len(fit.scale)
    width, height = len(fit.judge_names) * (side + GAP) + GAP, side + TOP + GAP
    shapes = []
    for j, name in enumerate(fit.judge_names):
        left = GAP + j * (side + GAP)
        shapes.append(_text(left + side / 2, 14, f"judge {name}, {fit.accuracy[j]:.2f}", "middle"))
        for z, truth in enumerate(labels):
            shapes.append(_text(left - 6, TOP + CELL * z + 17, truth, "end"))
            for k in range(len(labels)):
                shapes.append(_cell(left + CELL * k, TOP + CELL * z, float(fit.params.confusion[j, z, k])))
        for k, said in enumerate(labels):
            shapes.append(_text(left + CELL * (k + 0.5), TOP + side + 14, said, "middle"))
    shapes.append(_text(GAP, height - 4, "rows: the truth; columns: what she says; darker: more often", "start"))
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
    )
    return "\n".join([opening, f'<rect width="{width}" height="{height}" fill="white"/>', *shapes, "</svg>\n"])


def _cell(x: float, y: float, share: float) -> str:
    """Return a square, darker the larger the share, with the share in percent where it is worth a number."""
    shade = round(255 - 205 * share)
    square = f'<rect x="{x:g}" y="{y:g}" width="{CELL - 1}" height="{CELL - 1}" fill="rgb({shade},{shade},255)"/>'
    ink = "white" if share > 0.5 else "black"
    percent = round(100 * share)
    return square + (_text(x + CELL / 2, y + 17, str(percent), "middle", ink) if percent else "")


def _text(x: float, y: float, words: str, anchor: str, ink: str = "black") -> str:
    """Return words at a place."""
    style = f'font-family="sans-serif" font-size="11" text-anchor="{anchor}" fill="{ink}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{words}</text>'


PAGES = {
    "cli.md": cli_page,
    "models.md": models_page,
    "features.md": features_page,
    "campaigns.md": campaigns_page,
    "judges.svg": picture,
}


def main() -> int:
    """Write the pages, or say which are out of step."""
    stale = [name for name, page in PAGES.items() if not _same(HERE / name, page())]
    if "--check" not in sys.argv:
        for name in stale:
            (HERE / name).write_text(PAGES[name](), encoding="utf8")
            print(f"wrote docs/{name}")
        return 0
    for name in stale:
        print(f"docs/{name} is out of step with the code: run `make docs`")
    return int(bool(stale))


def _same(path: Path, text: str) -> bool:
    """Whether a page holds exactly this text."""
    return path.is_file() and path.read_text(encoding="utf8") == text


if __name__ == "__main__":
    sys.exit(main())

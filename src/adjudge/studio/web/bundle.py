"""The scripts of the judge's page as one file, made from the modules in ``static/judge`` when the studio starts.

The modules have plain imports and exports of names only, so that each becomes a function that returns its exports, in
an order in which a module comes after those that it imports. No tool but Python is needed, and the file is always in
step with the modules. Its name contains a hash of its content, so that browsers keep it until it changes.
"""

from __future__ import annotations

import functools
import re
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"
MODULES, ENTRY = STATIC / "judge", "main"
IMPORT = re.compile(
    r'^import\s+(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<all>\w+))\s+from\s+"\./(?P<module>\w+)\.js";\n', re.M
)
EXPORT = re.compile(r"^export\s+(?=(?:async\s+)?(?:function|const|class)\s+(?P<name>\w+))", re.M)
OTHER = re.compile(r"^(?:import|export)\b.*|\bimport\(.*", re.M)  # what this module does not understand
COMMENT = re.compile(r"^[ \t]*/\*\*.*?\*/\n", re.M | re.S)  # descriptions; line comments stay
FOREVER = "public, max-age=31536000, immutable"


class Script(NamedTuple):
    """A script, and the path below ``/static`` at which it is served."""

    path: str
    text: str


@functools.cache
def judge_script() -> Script:
    """Return the script of the judge's page, made once."""
    text = bundle(MODULES, ENTRY)
    return Script(f"judge/{blake2b(text.encode(), digest_size=8).hexdigest()}.js", text)


def bundle(folder: Path, entry: str) -> str:
    """Return a module and all that it imports, directly or not, as one script.

    Parameters
    ----------
    folder
        The folder of the modules.
    entry
        The name of the first module, without ``.js``.

    Raises
    ------
    ValueError
        If modules import each other in a circle, or have an import or export of another kind.
    """
    done: dict[str, str] = {}

    def add(name: str, importers: tuple[str, ...]) -> None:
        if name in importers:
            raise ValueError(f"{name}.js: imports itself, by {', '.join(importers)}")
        source = (folder / f"{name}.js").read_text(encoding="utf-8")
        for match in IMPORT.finditer(source):
            if match["module"] not in done:
                add(match["module"], (*importers, name))
        done[name] = _as_function(name, source)

    add(entry, ())
    return "".join(done.values())


def _as_function(name: str, source: str) -> str:
    """Return a module as a function that is called at once and returns the exports."""
    exports = [match["name"] for match in EXPORT.finditer(source)]
    body = EXPORT.sub("", IMPORT.sub(_destructure, COMMENT.sub("", source)))
    if other := OTHER.search(body):
        raise ValueError(f"{name}.js: {other[0].strip()!r} is not bundled: import names, or export what is declared")
    return f"const {_variable(name)} = (() => {{\n{body}return {{ {', '.join(exports)} }};\n}})();\n"


def _destructure(match: re.Match[str]) -> str:
    """Return an import as a declaration of the imported names."""
    names = (
        match["all"] or f"{{ {', '.join(part.strip().replace(' as ', ': ') for part in match['names'].split(','))} }}"
    )
    return f"const {names} = {_variable(match['module'])};\n"


def _variable(module: str) -> str:
    """Return the variable that has the exports of a module."""
    return f"module_{module}"


class StaticFilesWithBundle(StaticFiles):
    """The files in ``static``, and the script of the judge's page."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file, or the script."""
        script = judge_script()
        if path != script.path:
            return await super().get_response(path, scope)
        if scope["method"] not in ("GET", "HEAD"):
            raise HTTPException(405)
        return Response(script.text, media_type="text/javascript", headers={"Cache-Control": FOREVER})

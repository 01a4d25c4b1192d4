"""Optional parts: said in one line where they are missing."""

from __future__ import annotations

from importlib.util import find_spec

from adjudge.errors import MissingExtra

STUDIO = ("fastapi", "uvicorn", "jinja2", "multipart", "sqlalchemy", "argon2", "itsdangerous", "nh3", "pypdf")


def studio_installed() -> None:
    """Refuse where the studio's packages are not installed, with the line to type."""
    if not all(find_spec(name) for name in STUDIO):
        raise MissingExtra("'adjudge[studio]'", "the studio")

"""What topics and documents may be called."""

from __future__ import annotations

import unicodedata

from adjudge.errors import quote

LONGEST = 200  # characters
UNSAFE = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of characters, ends of lines and paragraphs


def name_problem(name: object, what: str) -> str | None:
    """Return what keeps a value from being the name of a topic or document; None where it may be one."""
    if not isinstance(name, str):
        return f"{what} is {quote(name)}, expected a text in quotation marks"
    if not name.strip():
        return f"{what} is empty"
    if name != name.strip():
        return f"{what} {quote(name)} begins or ends with a blank"
    if len(name) > LONGEST:
        return f"{what} {quote(name)} has {len(name)} characters, expected at most {LONGEST}"
    if not name.isprintable() and any(unicodedata.category(c) in UNSAFE for c in name):
        return f"{what} {quote(name)} holds a control character or a line break"
    return None

"""What can go wrong, and what the command line answers.

::

    AdjudgeError
    ├── InputError      the data are not what they should be: where, what, what to do    exit code 1
    ├── UsageError      the call is not what it should be                                exit code 2
    └── MissingExtra    an optional part is not installed: the line to type              exit code 1
"""

from collections.abc import Iterable


class AdjudgeError(Exception):
    """Anything adjudge refuses to do, said in a sentence a person can act on."""

    exit_code = 1


class InputError(AdjudgeError):
    """The data are not what they should be; says where (file and row), what, and what to do."""

    def __init__(self, what: str, source: str | None = None, row: int | None = None) -> None:
        where = ", ".join(part for part in (source, None if row is None else f"row {row}") if part)
        super().__init__(f"{where}: {what}" if where else what)
        self.source, self.row = source, row


class UsageError(AdjudgeError):
    """The call itself is wrong: an unknown model, an option that does not fit."""

    exit_code = 2


class MissingExtra(AdjudgeError):  # noqa: N818
    """An optional part is not installed; the message is the line to type."""

    def __init__(self, package: str, need: str) -> None:
        super().__init__(f"{need} needs {package}, which is not installed: pip install {package}")


class AdjudgeWarning(UserWarning):
    """Something the user should know, and nothing that stops the work."""


def quote(name: object, most: int = 60) -> str:
    """Return a name in quotation marks, on one line, cut after ``most`` characters."""
    text = str(name) if str(name).isprintable() else repr(str(name))[1:-1]
    return f"'{text}'" if len(text) <= most else f"'{text[:most]}...'"


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Return names as ``'a', 'b', 'c'``, cut after ``most`` of them; without any, ``none``."""
    listed = list(names)
    rest = len(listed) - most
    return (", ".join(map(quote, listed[:most])) or "none") + (f" and {rest} more" if rest > 0 else "")

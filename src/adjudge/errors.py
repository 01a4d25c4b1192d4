"""Errors, their exit codes on the command line, and the words that messages are made of.

::

    AdjudgeError
    ├── InputError            the data are wrong: says where, what, and what to do    exit code 1
    │   └── CampaignProblems  all problems of a campaign's files at once              exit code 1
    ├── UsageError            the call is wrong                                       exit code 2
    └── MissingExtra          an optional package is not installed                    exit code 1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

MOST_PROBLEMS = 50  # that a message lists; more of them usually have one cause
ALIKE, LONG = 0.75, 4  # how like a name must be, and how long a part of it, to be the one that was meant


class AdjudgeError(Exception):
    """Anything that adjudge refuses to do; the message is a sentence that a person can act on."""

    exit_code = 1


class InputError(AdjudgeError):
    """The data are wrong: the message says where (file and row), what, and what to do."""

    def __init__(self, problem: str, source: str | None = None, row: int | None = None) -> None:
        where = ", ".join(part for part in (source, None if row is None else f"row {row}") if part)
        super().__init__(f"{where}: {problem}" if where else problem)
        self.problem, self.source, self.row = problem, source, row


class CampaignProblems(InputError):  # noqa: N818
    """The files of a campaign are wrong: every problem, with its file and line."""

    def __init__(self, problems: Sequence[str], where: str) -> None:
        rest = len(problems) - MOST_PROBLEMS
        lines = [*problems[:MOST_PROBLEMS], *([f"and {rest:,} more"] if rest > 0 else [])]
        head = "there is a problem" if len(problems) == 1 else f"there are {len(problems):,} problems"
        super().__init__("\n  ".join([head, *lines]), where)
        self.problems = tuple(problems)


class Problems:
    """Problems of files, collected so that a person can correct all of them in one go."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def add(self, problem: str, file: str, line: int | None = None) -> None:
        """Add a problem of a file, and of a line of it if that is known."""
        self.messages.append(f"{file}: {problem}" if line is None else f"{file}, line {line}: {problem}")

    @contextmanager
    def catch(self) -> Iterator[None]:
        """Add an input error that is raised inside the ``with`` block instead of passing it on."""
        try:
            yield
        except InputError as error:
            self.add(error.problem, error.source or "", error.row)

    def refuse(self, where: str) -> None:
        """Raise all problems, if there are any."""
        if self.messages:
            raise CampaignProblems(self.messages, where)


class UsageError(AdjudgeError):
    """The call is wrong: for example an unknown model, or options that exclude each other."""

    exit_code = 2


class MissingExtra(AdjudgeError):  # noqa: N818
    """An optional package is not installed; the message says how to install it."""

    def __init__(self, package: str, need: str) -> None:
        super().__init__(f"{need} needs {package}, which is not installed: pip install {package}")


class AdjudgeWarning(UserWarning):
    """Something that the user should know but that does not stop the work."""


def quote(name: object, most: int = 60) -> str:
    """Return a name in quotation marks, on one line, cut after ``most`` characters."""
    text = str(name) if str(name).isprintable() else repr(str(name))[1:-1]
    return f"'{text}'" if len(text) <= most else f"'{text[:most]}...'"


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Return names as ``'a', 'b', 'c'``, cut after ``most`` of them; without any, ``none``."""
    listed = list(names)
    rest = len(listed) - most
    return (", ".join(map(quote, listed[:most])) or "none") + (f" and {rest} more" if rest > 0 else "")


def not_one_of(what: str, name: object, names: Iterable[object]) -> str:
    """Return that a name is not one of the known names, with the closest one if there is any.

    >>> not_one_of("model", "dawid_skene", ["majority", "dawid-skene"])
    "model 'dawid_skene' is not one of 'majority', 'dawid-skene': did you mean 'dawid-skene'?"
    """
    listed = [str(each) for each in names]
    plain = {"".join(filter(str.isalnum, each.lower())): each for each in listed}
    word = "".join(filter(str.isalnum, str(name).lower()))
    near = get_close_matches(word, plain, n=1, cutoff=ALIKE)
    near = near or [each for each in plain if len(word) >= LONG and word in each]
    hint = f": did you mean {quote(plain[near[0]])}?" if near else ""
    return f"{what} {quote(name)} is not one of {quoted(listed, most=99)}{hint}"

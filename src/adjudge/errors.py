"""Errors, their exit codes on the command line, and the words that messages are made of.

::

    AdjudgeError
    ├── InputError            the data are wrong: says where, what, and what to do    exit code 1
    │   └── CampaignProblems  all problems of a campaign's files at once              exit code 1
    ├── UsageError            the call is wrong                                       exit code 2
    └── MissingExtra          an optional package is not installed                    exit code 1

Messages name options as the command line writes them, ``--keep-case``. For a caller in Python, an error or a warning
names the argument instead, ``keep_case=True``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches

MOST_PROBLEMS = 50  # that a message lists; more of them usually have one cause
ALIKE, LONG = 0.75, 4  # how like a name must be, and how long a part of it, to be the one that was meant

# An option that is not part of a whole command such as `adjudge fit --out`
OPTION = re.compile(r"(?P<command>`[^`]*`|adjudge(?: [a-z]+)+ --[a-z-]+)|(?<![\w'-])--(?P<name>[a-z][a-z-]*)")
ARGUMENTS = {  # option -> argument in Python, where the name and "=" do not do
    "data": "judgments=",
    "force": "force=True",
    "input-format": "format=",
    "keep-case": "keep_case=True",
    "online": "online=True",
    "ordinal": "ordinal=True",
    "raw": "mean_one=False",
    "ties": "ties=True",
}
_on_command_line = False


@contextmanager
def command_line() -> Iterator[None]:
    """Let messages inside the ``with`` block name options as the command line writes them."""
    global _on_command_line
    before, _on_command_line = _on_command_line, True
    try:
        yield
    finally:
        _on_command_line = before


def in_words_of_caller(message: str) -> str:
    """Return a message that names options, ``--labels``, with the names that its caller can use.

    >>> in_words_of_caller("give their order with --labels and --ordinal, or fit again with `adjudge fit --labels a,b`")
    'give their order with labels= and ordinal=True, or fit again with `adjudge fit --labels a,b`'
    """
    return message if _on_command_line else OPTION.sub(_as_argument, message)


def _as_argument(match: re.Match[str]) -> str:
    """Return the argument that an option is in Python; a whole command stays as it is."""
    name = match["name"]
    return match["command"] or ARGUMENTS.get(name, f"{name.replace('-', '_')}=")


def option_with(option: str, value: object) -> str:
    """Return an option with its value, or with a list of them, as the caller types it.

    >>> option_with("--abstain", ["unsure", "skip"]), option_with("--weight", "confidence")
    ("abstain=['unsure', 'skip']", "weight='confidence'")
    """
    if not _on_command_line:
        return f"{in_words_of_caller(option)}{value!r}"
    text = ",".join(value) if isinstance(value, list) else str(value)
    return f"{option} {text}" if re.fullmatch(r"[\w.,-]+", text) else f'{option} "{text}"'


class AdjudgeError(Exception):
    """Anything that adjudge refuses to do; the message is a sentence that a person can act on."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(in_words_of_caller(message))


class InputError(AdjudgeError):
    """The data are wrong: the message says where (file and row), what, and what to do."""

    def __init__(self, problem: str, source: str | None = None, row: int | None = None) -> None:
        problem = in_words_of_caller(problem)
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

    def __init__(self, message: str) -> None:
        super().__init__(in_words_of_caller(message))


def quote(name: object, most: int = 60) -> str:
    """Return a name in quotation marks, on one line, cut after ``most`` characters."""
    text = str(name) if str(name).isprintable() else repr(str(name))[1:-1]
    return f"'{text}'" if len(text) <= most else f"'{text[:most]}...'"


def quoted(names: Iterable[object], most: int = 8) -> str:
    """Return names as ``'a', 'b', 'c'``, cut after ``most`` of them; without any, ``none``."""
    listed = list(names)
    rest = len(listed) - most
    return (", ".join(map(quote, listed[:most])) or "none") + (f" and {rest} more" if rest > 0 else "")


def not_one_of(kind: str, name: object, names: Iterable[object]) -> str:
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
    return f"{kind} {quote(name)} is not one of {quoted(listed, most=99)}{hint}"

"""The command line: one file per command. It reads options and prints; the other rooms compute."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def run() -> None:
    """Run the command line as a program."""
    from adjudge.cli.app import app

    run_app(app, "adjudge")


def run_app(app: Callable[..., Any], name: str) -> None:
    """Run a typer application as a program, write its output, and end the process at once.

    The usual end of a process would first clean up the compiler, which takes longer than most commands.
    """
    code: Any = 0
    try:
        main(app=app, name=name)
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code
        with suppress(OSError):
            sys.stdout.flush()
    except KeyboardInterrupt:  # while the commands are still being imported
        code = 130
        with suppress(OSError, ValueError):
            print("adjudge: interrupted", file=sys.stderr)
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def main(arguments: list[str] | None = None, app: Callable[..., Any] | None = None, name: str = "adjudge") -> None:
    """Run the command line and exit: 0 success, 1 a problem in the data, 2 wrong options, 130 interrupted."""
    from adjudge.errors import AdjudgeError, AdjudgeWarning, command_line

    if app is None:
        from adjudge.cli.app import app as commands

        app = commands

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # names that the terminal cannot show are escaped
    try:
        with command_line(), warnings.catch_warnings():
            warnings.simplefilter("always", AdjudgeWarning)
            warnings.showwarning = _print_warning
            app(arguments, prog_name=name)
    except AdjudgeError as error:
        print(f"adjudge: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if _caused_by_ctrl_c(end):
            print("adjudge: interrupted", file=sys.stderr)
        raise
    except BrokenPipeError:  # the reader of a pipe has closed it, as in `adjudge datasets anesthesia | head`
        sys.stderr.close()
        sys.exit(0)
    except MemoryError:
        print("adjudge: not enough memory for tables of this size", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"adjudge: cannot write: {error.strerror}", file=sys.stderr)
        os._exit(1)  # a usual exit would try to write again, and report the error twice


def _caused_by_ctrl_c(end: BaseException | None) -> bool:
    """Whether Ctrl-C caused the exit: typer turns it into a silent exit if the command does not handle it."""
    while end is not None and not isinstance(end, KeyboardInterrupt):
        end = end.__cause__ or end.__context__
    return end is not None


def _print_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning as one line."""
    print(f"adjudge: warning: {message}", file=sys.stderr)

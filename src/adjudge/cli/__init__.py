"""The command line: one file per command. It prints, and never computes."""

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
    """Run a typer application as a program: what is said is written, and the process ends at once.

    Taking the compiler apart on the way out takes longer than most commands, and nothing needs it.
    """
    code: Any = 0
    try:
        main(app=app, name=name)
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code
        with suppress(OSError):
            sys.stdout.flush()
    except KeyboardInterrupt:  # before there was a command to hear it
        code = 130
        with suppress(OSError, ValueError):
            print("adjudge: interrupted", file=sys.stderr)
    with suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def main(arguments: list[str] | None = None, app: Callable[..., Any] | None = None, name: str = "adjudge") -> None:
    """Run the command line and exit: 0 done, 1 the data are wrong, 2 the call is wrong, 130 interrupted."""
    from adjudge.errors import AdjudgeError, AdjudgeWarning

    if app is None:
        from adjudge.cli.app import app as commands

        app = commands

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name the terminal cannot show is no reason to stop
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", AdjudgeWarning)
            warnings.showwarning = _say_warning
            app(arguments, prog_name=name)
    except AdjudgeError as error:
        print(f"adjudge: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except SystemExit as end:
        if _by_ctrl_c(end):
            print("adjudge: interrupted", file=sys.stderr)
        raise
    except BrokenPipeError:  # the reader of a pipe had enough, as in `adjudge datasets anesthesia | head`
        sys.stderr.close()
        sys.exit(0)
    except MemoryError:
        print("adjudge: not enough memory for tables of this size", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"adjudge: cannot write: {error.strerror}", file=sys.stderr)
        os._exit(1)  # what waits to be written cannot be, and trying again on the way out would say so twice


def _by_ctrl_c(end: BaseException | None) -> bool:
    """Whether the end came of Ctrl-C that no command had an answer to: typer turns it into a silent exit."""
    while end is not None and not isinstance(end, KeyboardInterrupt):
        end = end.__cause__ or end.__context__
    return end is not None


def _say_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Print a warning as one line for people."""
    print(f"adjudge: warning: {message}", file=sys.stderr)

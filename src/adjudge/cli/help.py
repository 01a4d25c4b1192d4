"""The layout of help: plain text with options and commands in named sections, and no description cut short.

Typer's own plain layout has one section of options and shortens what it says of commands; its rich layout draws boxes
that do not survive a pipe. The sections are typer's ``rich_help_panel``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

NAMES = 24  # characters of a name beyond which its description begins on the next line
UNCUT = 10_000  # characters of a command's description
UNBROKEN = "\u2011"  # a hyphen at which no line is broken
ARGUMENTS, COMMANDS, OPTIONS = "Arguments", "Commands", "Options"
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Command(TyperCommand):
    """A command whose help has its options in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments and options."""
        write_sections(formatter, option_sections(self, ctx))


class CommandGroup(TyperGroup):
    """A command of commands, whose help has these in sections."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options."""
        write_sections(formatter, command_sections(self, ctx))
        write_sections(formatter, option_sections(self, ctx))


Sections = dict[str, list[tuple[str, str]]]  # by heading: names and what is said of them


def option_sections(command: Any, ctx: Any) -> Sections:
    """Return the arguments and options of a command by section, those without a section last."""
    sections: Sections = {ARGUMENTS: []}
    other: list[tuple[str, str]] = []
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is None:
            continue
        heading = getattr(parameter, "rich_help_panel", None)
        if parameter.param_type_name == "argument":
            sections[ARGUMENTS].append((record[0].partition(" ")[0], record[1]))  # without its Python type
        else:
            (other if heading is None else sections.setdefault(heading, [])).append(record)
    return {**sections, OPTIONS: other}


def command_sections(group: Any, ctx: Any) -> Sections:
    """Return the commands of a group by section, with the first sentence of their help."""
    sections: Sections = {}
    for name in group.list_commands(ctx):
        command = group.get_command(ctx, name)
        heading = getattr(command, "rich_help_panel", None) or COMMANDS
        sections.setdefault(heading, []).append((name, command.get_short_help_str(UNCUT)))
    return sections


def write_sections(formatter: Any, sections: Sections) -> None:
    """Write sections below each other, all with the same width of names; values such as ``trec-task2`` stay whole."""
    lengths = [len(name) for rows in sections.values() for name, _ in rows]
    width = max((length for length in lengths if length <= NAMES), default=0)
    for heading, rows in sections.items():
        if rows:
            with formatter.section(heading):
                unbroken = [(name.ljust(width), text.replace("-", UNBROKEN)) for name, text in rows]
                formatter.write_dl(unbroken, col_max=width)
    formatter.buffer[:] = [text.replace(UNBROKEN, "-") for text in formatter.buffer]


def command_group(*, completion: bool = False, **settings: Any) -> typer.Typer:
    """Return a typer application that writes its help in sections, with or without the options of shell completion."""
    return typer.Typer(
        cls=CommandGroup,
        add_completion=completion,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
        **settings,
    )


def add_commands(
    app: typer.Typer, section: str | None, commands: Sequence[Any], *, without_arguments: Sequence[Any] = ()
) -> None:
    """Add functions to an application as commands of a section.

    A call without arguments shows the help, except of the commands that are useful ``without_arguments``. A trailing
    underscore, for functions that would be called as a Python keyword, is not part of the command's name.
    """
    for command in commands:
        name = command.__name__.rstrip("_")
        app.command(name, cls=Command, rich_help_panel=section, no_args_is_help=command not in without_arguments)(
            command
        )

"""campaign.toml, read with the line of every problem, and written with a comment on every setting."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from adjudge.errors import quote
from adjudge.studio.campaign.lines import Problems
from adjudge.studio.settings import SETTINGS, TABLES, Setting, Settings, clashes, value_of, wrong

FILE = "campaign.toml"
HEAD = """\
# The settings of this campaign. Every setting is here; one that is taken out has its default.
# `adjudge campaign check` says what is wrong, with the line.
"""
WORD = r'[A-Za-z0-9_-]+|"[^"]*"|\'[^\']*\''
TABLE_LINE = re.compile(rf"\s*\[+\s*({WORD})")
KEY_LINE = re.compile(rf"\s*({WORD})\s*(?:\.\s*({WORD})\s*)?=")
SYNTAX = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_settings(text: str, problems: Problems) -> Settings:
    """Return the settings that a file's text holds, and note what is wrong with it; what is wrong has its default."""
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _note_syntax(str(error), text, problems)
        return Settings()
    lines = line_of_keys(text)
    _note_unknown(given, lines, problems)
    parts = {table: _part(table, given.get(table, {}), lines, problems) for table in TABLES}
    settings = Settings(**parts)
    for name, what in clashes(settings):
        problems.add(what, FILE, lines.get(name))
    return settings


def settings_text(settings: Settings) -> str:
    """Return a file's text that holds every setting, each below what it means and what it may be."""
    blocks = [HEAD]
    for table in TABLES:
        part = getattr(settings, table)
        lines = [f"[{table}]"]
        for setting in SETTINGS:
            if setting.table == table:
                lines += [f"# {setting.meaning}; {setting.expected}", f"{setting.key} = {_written(setting, part)}"]
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def line_of_keys(text: str) -> dict[str, int]:
    """Return the line in which each table ("gate") and each of its keys ("gate.binary") is first written."""
    lines: dict[str, int] = {}
    table, closing = "", ""
    for number, line in enumerate(text.split("\n"), 1):
        if closing:  # inside a text of several lines, where nothing is a key
            closing = "" if closing in line else closing
            continue
        head, key = TABLE_LINE.match(line), KEY_LINE.match(line)
        if head:
            table = _bare(head[1])
            lines.setdefault(table, number)
        elif key:
            words = [table, *map(_bare, filter(None, key.groups()))]
            lines.setdefault(".".join(filter(None, words)), number)
            lines.setdefault(words[0] or words[1], number)
            closing = next((mark for mark in ('"""', "'''") if line.count(mark) == 1), "")
    return lines


def did_you_mean(word: str, known: Iterable[str], shape: str = "{}") -> str:
    """Return a question that names the known word most like this one; nothing where none is like it."""
    near = get_close_matches(word, list(known), n=1)
    return f"; did you mean {shape.format(near[0])}?" if near else ""


def _part(table: str, given: Any, lines: Mapping[str, int], problems: Problems) -> Any:
    """Return the record of one table, with the values that are right."""
    values: dict[str, Any] = {}
    if not isinstance(given, dict):
        problems.add(f"{table} is {quote(given)}, expected a table [{table}]", FILE, lines.get(table))
        return TABLES[table]()
    for setting in SETTINGS:
        if setting.table == table and setting.key in given:
            what = wrong(setting, given[setting.key])
            if what:
                problems.add(what, FILE, lines.get(setting.name, lines.get(table)))
            else:
                values[setting.key] = value_of(setting, given[setting.key])
    return TABLES[table](**values)


def _note_unknown(given: Mapping[str, Any], lines: Mapping[str, int], problems: Problems) -> None:
    """Note tables and keys that there are not."""
    for table, values in given.items():
        if table not in TABLES and isinstance(values, dict | list):
            hint = did_you_mean(table, TABLES, "[{}]")
            problems.add(f"there is no table [{table}]{hint}", FILE, lines.get(table))
        elif table not in TABLES:
            homes = [setting.name for setting in SETTINGS if setting.key == table]
            hint = f"; did you mean {homes[0]}?" if homes else ""
            problems.add(f"{quote(table)} stands in no table{hint}", FILE, lines.get(table))
        elif isinstance(values, dict):
            keys = [setting.key for setting in SETTINGS if setting.table == table]
            for key in values:
                if key not in keys:
                    what = f"there is no setting {table}.{key}{did_you_mean(key, keys, table + '.{}')}"
                    problems.add(what, FILE, lines.get(f"{table}.{key}", lines.get(table)))


def _note_syntax(error: str, text: str, problems: Problems) -> None:
    """Note what keeps the file from being TOML, with its line."""
    found = SYNTAX.search(error)
    what = SYNTAX.sub("", error)
    line = int(found[1]) if found and found[1] else text.rstrip("\n").count("\n") + 1
    column = f" in column {found[2]}" if found and found[2] else ""
    problems.add(f"is not TOML: {what[:1].lower() + what[1:]}{column}; texts need quotation marks", FILE, line)


def _bare(word: str) -> str:
    """Return a key without its quotation marks."""
    return word[1:-1] if word[:1] in ("'", '"') else word


def _written(setting: Setting, part: Any) -> str:
    """Return a value as TOML."""
    value = getattr(part, setting.key)
    if isinstance(value, tuple):
        return f"[{', '.join(map(_string, value))}]"
    if isinstance(value, str):
        return _paragraphs(value) if "\n" in value else _string(value)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) or value < 10_000 else f"{value:_}"


def _string(text: str) -> str:
    """Return a text as a TOML string: JSON's, except that TOML escapes one character more."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _paragraphs(text: str) -> str:
    """Return a text of several lines as a TOML string of several lines."""
    return '"""\n' + _string(text)[1:-1].replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\\\") + '"""'

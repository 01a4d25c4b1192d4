"""The form of a campaign's settings: its fields, what a person sent, and campaign.toml with changed values.

The fields are made from ``settings.SETTINGS``, so that a new setting needs nothing here.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args, get_origin

from adjudge.errors import Problems, quote
from adjudge.studio.settings import (
    BY_NAME,
    SETTINGS,
    TABLES,
    Setting,
    Settings,
    display_value,
    line_of_keys,
    read_settings,
    settings_text,
    toml_value,
    validate_settings,
)

INSTRUCTIONS = "campaign.instructions"  # has a page of its own
FIXED = {  # what cannot change while the studio runs, and why
    "store.database": "The studio has the database open. Stop the studio, and change this in campaign.toml.",
    **{
        setting.name: "The operator decides where events are sent. Stop the studio, and change this in campaign.toml."
        for setting in SETTINGS
        if setting.table == "webhooks"
    },
    "openid.issuer": "The operator decides who says who people are. Stop the studio, and change this in campaign.toml.",
}


SPELLINGS = {"ndcg": "NDCG", "url": "URL", "urls": "URLs", "id": "ID", "mturk": "MTurk", "openid": "OpenID"}


class Field(NamedTuple):
    """A field of the form."""

    setting: Setting
    label: str
    kind: str  # check, choice, number, whole, list, text
    value: str
    choices: Sequence[str]
    hint: str  # what it means, and what is expected
    error: str
    fixed: bool  # whether it cannot be changed while the studio runs


class Section(NamedTuple):
    """A table of campaign.toml."""

    name: str
    label: str
    about: str
    fields: Sequence[Field]


def settings_sections(
    settings: Settings, sent: Mapping[str, str] | None = None, errors: Mapping[str, str] | None = None
) -> list[Section]:
    """Return the fields of the form by section, with what was sent and the errors of an attempt before."""
    return [
        Section(
            name,
            label_of(name),
            (model.__doc__ or "").split("\n")[0],
            [
                _field(setting, settings, sent or {}, (errors or {}).get(setting.name, ""))
                for setting in SETTINGS
                if setting.table == name and setting.name != INSTRUCTIONS
            ],
        )
        for name, model in TABLES.items()
    ]


def _field(setting: Setting, settings: Settings, sent: Mapping[str, str], error: str) -> Field:
    """Return one field."""
    value, kind, fixed = value_of(settings, setting), _kind(setting), setting.name in FIXED
    text = _fixed_text(value) if fixed else sent.get(setting.name, field_text(value))
    choices = get_args(setting.field.annotation) if kind == "choice" else ()
    return Field(setting, label_of(setting.key), kind, text, choices, _hint(setting, kind), error, fixed)


def label_of(key: str) -> str:
    """Return a key of campaign.toml in words.

    Examples
    --------
    >>> label_of("gold_sets"), label_of("ndcg_of"), label_of("completion_url")
    ('Gold sets', 'NDCG of', 'Completion URL')
    """
    words = " ".join(SPELLINGS.get(word, word) for word in key.split("_"))
    return words[:1].upper() + words[1:]


def _fixed_text(value: Any) -> str:
    """Return a value that cannot be changed as a field contains it, without the password of an address."""
    if isinstance(value, tuple):
        return "\n".join(_fixed_text(entry) for entry in value)
    return display_value(value).strip("'")


def _hint(setting: Setting, kind: str) -> str:
    """Return what a setting means, and what its field expects, in sentences."""
    meaning, default = _sentence(setting.meaning.replace("`", "")), field_text(setting.default).replace("\n", ", ")
    if setting.name in FIXED:
        return f"{meaning} {FIXED[setting.name]}"
    if kind == "check":
        return f"{meaning} {'On' if default == 'true' else 'Off'} by default."
    expected = {"choice": "", "list": f"{setting.expected}, one per line"}.get(kind, setting.expected)
    parts = [part for part in (expected, f"default {default}" if default else "") if part]
    return f"{meaning} {_sentence('; '.join(parts))}" if parts else meaning


def _sentence(text: str) -> str:
    """Return a clause as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def value_of(settings: Settings, setting: Setting) -> Any:
    """Return the value of a setting."""
    return getattr(getattr(settings, setting.table), setting.key)


def field_text(value: Any) -> str:
    """Return a value as a field of a form contains it."""
    if isinstance(value, tuple):
        return "\n".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _kind(setting: Setting) -> str:
    """Return what kind of field a setting has."""
    annotation = setting.field.annotation
    if get_origin(annotation) is Literal:
        return "choice"
    kinds: dict[Any, str] = {bool: "check", int: "whole", float: "number", str: "text"}
    return kinds.get(annotation, "list")


def read_form(sent: Mapping[str, str], settings: Settings) -> tuple[Settings, dict[str, str]]:
    """Return the settings with what was sent (name -> text), and the errors by name; unsent settings stay."""
    values = settings.model_dump()
    errors: dict[str, str] = {}
    for name in BY_NAME.keys() & sent.keys() - FIXED.keys():
        setting = BY_NAME[name]
        try:
            values[setting.table][setting.key] = _parse(setting, sent[name])
        except ValueError:
            errors[name] = f"{name} is {quote(sent[name])}, expected {setting.expected}"
    changed, messages = validate_settings(values)
    for message, names in messages.items():
        for name in names:
            if name in BY_NAME:
                errors.setdefault(name, message)
    return changed, errors


def _parse(setting: Setting, text: str) -> Any:
    """Return the value that a text of the form means; raises ValueError if it is not of the kind."""
    kind = _kind(setting)
    if kind == "check":
        return text == "true"
    if kind == "list":
        return tuple(line.strip() for line in text.splitlines() if line.strip())
    if kind in ("whole", "number"):
        return int(text) if kind == "whole" else float(text)
    return text.replace("\r\n", "\n") if setting.name == INSTRUCTIONS else text.strip()


def edited_settings(text: str, settings: Settings) -> str:
    """Return the text of campaign.toml with these settings; comments and order stay if that is possible.

    If it is not (for example because a table is written in one line), every setting is written again.
    """
    before, edited = read_settings(text, Problems()), text
    for setting in SETTINGS:
        if value_of(before, setting) != (value := value_of(settings, setting)):
            edited = _replace_value(edited, setting, value)
    problems = Problems()
    same = read_settings(edited, problems) == settings and not problems.messages
    return edited if same else settings_text(settings)


def _replace_value(text: str, setting: Setting, value: Any) -> str:
    """Return the text with another value of one setting, which is added to its table if it is missing."""
    lines, numbers = text.split("\n"), line_of_keys(text)
    written = f"{setting.key} = {toml_value(value)}"
    if setting.name in numbers:
        start = numbers[setting.name] - 1
        key = lines[start].split("=")[0].rstrip()
        end = _end_of_value(lines, start)
        comment = _trailing_comment(lines[start]) if end == start + 1 else ""
        lines[start:end] = [f"{key} = {toml_value(value)}{comment}"]
    elif setting.table in numbers:
        lines.insert(numbers[setting.table], written)
    else:
        lines += [f"[{setting.table}]", written, ""]
    return "\n".join(lines)


def _end_of_value(lines: Sequence[str], start: int) -> int:
    """Return the line after the value that begins in a line."""
    return next((end for end in range(start + 1, len(lines) + 1) if _parses("\n".join(lines[start:end]))), start + 1)


def _trailing_comment(line: str) -> str:
    """Return the comment after a value, with the blanks before it."""
    for position, character in enumerate(line):
        if character == "#" and _parses(line[:position]):
            return line[len(line[:position].rstrip()) :]
    return ""


def _parses(text: str) -> bool:
    """Return whether a text is TOML."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True

"""The settings of a campaign: the pydantic models of campaign.toml, its reader and its writer.

One model per table of the file. The fields carry defaults, limits and descriptions; ``SETTINGS`` lists them for the
comments of the file that ``campaign new`` writes, for error messages and for the docs. The defaults are the numbers of
paper 002, section 1.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Container, Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from adjudge.data.files import checked_content
from adjudge.errors import Problems, quote, quoted

FILE = "campaign.toml"
HEAD = """\
# The settings of this campaign. A setting that is removed has its default.
# `adjudge campaign check` lists every problem with its line.
"""
CLASH = "clash"  # the type of an error about fields that are valid alone and not together
Model = Literal[
    "consensus",
    "graded",
    "majority",
    "weighted-vote",
    "wawa",
    "zbs",
    "mean",
    "median",
    "trimmed-mean",
    "vote-weight",
    "vote-weight-biased",
    "one-coin",
    "zencrowd",
    "single-confusion",
    "hybrid-confusion",
    "dawid-skene",
    "hierarchical",
    "subtypes",
    "glad",
    "mace",
    "kos",
    "m-msr",
    "minimax-entropy",
    "ordinal",
    "gaussian",
    "gaussian-biased",
]
MODELS: tuple[str, ...] = get_args(Model)
EventType = Literal[
    "assignment.passed",
    "assignment.returned",
    "assignment.approved",
    "contest.opened",
    "contest.ruled",
    "judge.qualified",
    "judge.unqualified",
    "judge.paused",
    "judge.excluded",
    "judge.reinstated",
    "campaign.paused",
    "campaign.resumed",
    "campaign.finished",
    "consensus.refreshed",
]
EVENTS: tuple[EventType, ...] = get_args(EventType)
StudyId = Annotated[str, Field(pattern=r"\A.+\Z")]
WebhookUrl = Annotated[str, Field(pattern=r"\Ahttps?://[!-?A-~]{1,500}\Z")]  # ASCII without blanks and without @
Host = Annotated[str, Field(pattern=r"\A[A-Za-z0-9.-]{1,250}\Z")]


class Table(BaseModel):
    """A table of campaign.toml: immutable, without unknown keys, and without conversions such as '6' to 6.

    The ``title`` of a field says what a value may be, where its limits do not say it.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, regex_engine="python-re", validate_default=True
    )


class About(Table):
    """What judges see of the campaign."""

    name: str = Field(default="Campaign", min_length=1, max_length=120, description="the name of the campaign")
    language: str = Field(
        default="en",
        pattern=r"\A[a-z]{2}(-[A-Z]{2})?\Z",
        title="a language such as 'en' or 'de'",
        description="the language of the pages until a judge chooses another",
    )
    instructions: str = Field(
        default="",
        max_length=20_000,
        description="what judges read before they begin: plain text, an empty line starts a paragraph",
    )
    contact: str = Field(default="", max_length=200, description="an address that judges can ask, or nothing")


class Assignment(Table):
    """The work that a judge takes on at once."""

    sets: int = Field(default=6, ge=1, le=100, description="sets in an assignment, each of a different topic")
    documents: int = Field(default=5, ge=2, le=9, description="documents in a set, judged and ranked together")
    gold_sets: int = Field(default=1, ge=0, le=100, description="how many of these sets are gold, at random positions")
    draw_gold: bool = Field(
        default=False,
        description="draw gold sets separately for each judge from gold.csv, not the fixed ones of sets.csv",
    )
    lease_minutes: int = Field(
        default=60, ge=1, le=10_080, description="minutes without an answer after which the work goes to other judges"
    )

    @model_validator(mode="after")
    def _leave_work(self) -> Self:
        """Refuse assignments of gold sets alone."""
        if self.gold_sets >= self.sets:
            message = f"gold_sets is {self.gold_sets} of {self.sets} sets, so nothing is left to judge: make it smaller"
            raise _clash(f"assignment.{message}", "gold_sets", "sets")
        return self


class Gate(Table):
    """What an assignment must reach to be accepted."""

    binary: float = Field(
        default=0.85, ge=0, le=1, description="the lowest binary score on gold that passes; 0 turns it off"
    )
    ndcg: float = Field(
        default=0.62, ge=0, le=1, description="the lowest NDCG of the ranks on gold that passes; 0 turns it off"
    )
    ndcg_of: Literal["printed", "attainable"] = Field(
        default="printed",
        description="the ideal that NDCG is divided by: as printed in the paper, or the best of strict ranks",
    )
    seconds: float = Field(
        default=6.0, ge=0, le=3_600, description="the fewest active seconds per document that pass; 0 turns it off"
    )


class Qualification(Table):
    """What a judge must show before the first assignment."""

    jobs: int = Field(default=4, ge=1, le=100, description="qualification sets that a judge works on")
    documents: int = Field(default=5, ge=2, le=9, description="documents in a qualification set")
    correct: int = Field(
        default=3, ge=0, le=900, description="graded documents of these sets that must be judged correctly"
    )
    attempts: int = Field(default=1, ge=1, le=100, description="how often a judge may try")
    required: bool = Field(default=True, description="whether judges must qualify at all")


class Redundancy(Table):
    """How many judgments an item gets."""

    judgments: int = Field(default=3, ge=1, le=100, description="judgments per document of a topic")
    adaptive: bool = Field(default=False, description="judge unclear documents more often and clear ones less often")
    target: float = Field(
        default=0.95, ge=0.5, le=0.9999, description="if adaptive: stop when a label has at least this probability"
    )
    least: int = Field(default=2, ge=1, le=100, description="if adaptive: the fewest judgments per document")
    most: int = Field(default=5, ge=1, le=100, description="if adaptive: the most judgments per document")

    @model_validator(mode="after")
    def _order_limits(self) -> Self:
        """Refuse a lower limit above the upper one."""
        if self.least > self.most:
            message = f"redundancy.least is {self.least}, more than redundancy.most, which is {self.most}: lower it"
            raise _clash(message, "least", "most")
        return self


class Pay(Table):
    """What an assignment is worth, and how many may be returned."""

    amount: float = Field(default=0.0, ge=0, le=10_000, description="the pay for an assignment that passes")
    currency: str = Field(
        default="USD",
        pattern=r"\A[A-Z]{3}\Z",
        title="three capital letters such as 'USD'",
        description="the currency of the amount",
    )
    most_returns: int = Field(
        default=3, ge=1, le=1_000, description="returned assignments after which a judge is paused"
    )


class Consensus(Table):
    """What the lead's desk infers while judgments come in."""

    model: Model = Field(
        default="consensus",
        description="the model that the desk shows (`adjudge models`); graded has grades from labels and ranks",
    )
    every_seconds: float = Field(default=20.0, ge=1, le=86_400, description="seconds between two fits of the desk")


class Access(Table):
    """Who gets in, and for how long."""

    registration: bool = Field(default=False, description="whether anybody may become a judge without an invitation")
    invitation_days: int = Field(default=14, ge=1, le=365, description="days that an invitation is valid")
    session_hours: int = Field(default=12, ge=1, le=720, description="hours after which people must sign in again")
    second_factor: Literal["optional", "required"] = Field(
        default="optional", description="whether leads and reviewers must have a second factor"
    )


class DocumentLimits(Table):
    """How large a document may be."""

    most_bytes: int = Field(
        default=2_000_000, ge=1_000, le=50_000_000, description="the largest document that is accepted"
    )


class Limits(Table):
    """How much one judge may store and ask for, and how fast the database may grow."""

    answers_per_document: int = Field(
        default=500, ge=20, le=1_000_000, description="how often a judge may change the answer to one document"
    )
    requests_per_minute: int = Field(
        default=300, ge=60, le=1_000_000, description="requests of one person in a minute, on average"
    )
    megabytes_per_hour: int = Field(
        default=10, ge=2, le=1_000_000, description="megabytes that one judge may send in an hour, on average"
    )
    growth_megabytes_per_day: int = Field(
        default=5_000,
        ge=1,
        le=1_000_000_000,
        description="megabytes that the database may grow in a day before the campaign is paused",
    )


class Store(Table):
    """Where judgments are stored."""

    database: str = Field(
        default="studio.db",
        pattern=r"\A(?:(?!.*://)[^\x00-\x1f]{1,500}|postgresql\+psycopg://\S{1,500})\Z",
        title="a file name or a URL that begins with postgresql+psycopg://",
        description="a file beside this one, or postgresql+psycopg://...; the variable ADJUDGE_DATABASE wins",
    )


class Prolific(Table):
    """Judges who come from Prolific, or from a platform with the same interface."""

    enabled: bool = Field(default=False, description="whether judges may come from Prolific")
    studies: tuple[StudyId, ...] = Field(
        default=(), strict=False, description="the studies whose participants are let in"
    )
    completion_code: str = Field(
        default="", max_length=60, description="the study's code; if it is empty, each assignment has its own"
    )
    completion_url: str = Field(
        default="https://app.prolific.com/submissions/complete",
        pattern=r"\Ahttps://\S{1,500}\Z",
        title="an address that begins with https://",
        description="where a judge goes after the last page",
    )

    @model_validator(mode="after")
    def _name_studies(self) -> Self:
        """Refuse a platform from which nobody could come."""
        if self.enabled and not self.studies:
            message = "prolific.enabled is true, but prolific.studies is empty, so nobody could come: name the study"
            raise _clash(message, "enabled", "studies")
        return self


class Mturk(Table):
    """Judges who come from Mechanical Turk, or from a platform with the same interface."""

    enabled: bool = Field(default=False, description="whether judges may come from Mechanical Turk")
    submit_hosts: tuple[Host, ...] = Field(
        default=("www.mturk.com", "workersandbox.mturk.com"),
        strict=False,
        title="a list of host names such as 'www.mturk.com'",
        description="the hosts that work may be submitted to",
    )

    @model_validator(mode="after")
    def _name_hosts(self) -> Self:
        """Refuse a platform to which nothing could be submitted."""
        if self.enabled and not self.submit_hosts:
            message = (
                "mturk.enabled is true, but mturk.submit_hosts is empty, so nothing could be submitted: name a host"
            )
            raise _clash(message, "enabled", "submit_hosts")
        return self


class Webhooks(Table):
    """The addresses that events are sent to."""

    urls: tuple[WebhookUrl, ...] = Field(
        default=(),
        strict=False,
        title="a list of addresses such as 'https://example.org/hook'",
        description="where events are sent, signed; the operator writes this in the file, not a lead at the desk",
    )
    events: tuple[EventType, ...] = Field(
        default=EVENTS,
        strict=False,
        title=f"a list of {', '.join(EVENTS)}",
        description="the types of events that are sent",
    )
    names: bool = Field(default=False, description="whether events have the names of judges instead of judge-7")
    private: bool = Field(
        default=False, description="whether a host name may lead to a private address, such as a container's"
    )


class OpenID(Table):
    """An OpenID Connect provider with which people may sign in."""

    issuer: str = Field(
        default="",
        pattern=r"\A(?:|https://[^\s?#]{1,300}|http://(?:127\.0\.0\.1|localhost)(?::\d{1,5})?(?:/[^\s?#]{0,300})?)\Z",
        title="an address that begins with https://, exactly as the provider's tokens have it, or nothing",
        description="the provider's issuer; nothing turns it off. The client's secret is in ADJUDGE_OPENID_SECRET",
    )
    client_id: str = Field(default="", max_length=300, description="the name that the provider has given this studio")
    label: str = Field(default="OpenID Connect", min_length=1, max_length=60, description="the provider on the pages")
    domains: tuple[Host, ...] = Field(
        default=(),
        strict=False,
        title="a list of domains such as 'example.org'",
        description="verified addresses of these domains become judges without an invitation",
    )

    @model_validator(mode="after")
    def _name_client(self) -> Self:
        """Refuse a provider that cannot know us."""
        if self.issuer and not self.client_id:
            message = "openid.issuer is set, but openid.client_id is empty: write the name that the provider gave"
            raise _clash(message, "issuer", "client_id")
        return self


class Settings(Table):
    """All settings of a campaign, by the tables of campaign.toml."""

    campaign: About = About()
    assignment: Assignment = Assignment()
    gate: Gate = Gate()
    qualification: Qualification = Qualification()
    redundancy: Redundancy = Redundancy()
    pay: Pay = Pay()
    consensus: Consensus = Consensus()
    access: Access = Access()
    documents: DocumentLimits = DocumentLimits()
    limits: Limits = Limits()
    store: Store = Store()
    prolific: Prolific = Prolific()
    mturk: Mturk = Mturk()
    webhooks: Webhooks = Webhooks()
    openid: OpenID = OpenID()


class Setting(NamedTuple):
    """One field of a table, in words."""

    table: str
    key: str
    default: Any
    meaning: str
    expected: str  # what a value may be: "a number from 0 to 1"
    field: FieldInfo

    @property
    def name(self) -> str:
        """The field as people write it: ``gate.binary``."""
        return f"{self.table}.{self.key}"


def _clash(message: str, *fields: str) -> PydanticCustomError:
    """Return the error about fields of one table that are valid alone and not together."""
    return PydanticCustomError(CLASH, "{message}", {"message": message, "fields": fields})


def _limits(field: FieldInfo) -> dict[str, float]:
    """Return the limits of a field by their pydantic names."""
    names = ("ge", "le", "min_length", "max_length")
    return {name: getattr(part, name) for part in field.metadata for name in names if hasattr(part, name)}


def _expected(field: FieldInfo) -> str:
    """Return what the value of a field may be, in words."""
    limits = _limits(field)
    if field.title:
        return field.title
    if get_origin(field.annotation) is Literal:
        return f"one of {quoted(get_args(field.annotation), most=99)}"
    if field.annotation in (int, float):
        number = "a whole number" if field.annotation is int else "a number"
        return f"{number} from {limits['ge']:,} to {limits['le']:,}"
    if field.annotation is str:
        shortest = f"{limits['min_length']} to" if "min_length" in limits else "at most"
        return f"a text of {shortest} {limits['max_length']:,} characters"
    return "true or false" if field.annotation is bool else "a list of texts"


TABLES: dict[str, type[Table]] = {name: type(field.default) for name, field in Settings.model_fields.items()}
SETTINGS: tuple[Setting, ...] = tuple(
    Setting(table, key, field.default, field.description or "", _expected(field), field)
    for table, model in TABLES.items()
    for key, field in model.model_fields.items()
)
BY_NAME = {setting.name: setting for setting in SETTINGS}

WORD = r'[A-Za-z0-9_-]+|"[^"]*"|\'[^\']*\''
TABLE_LINE = re.compile(rf"\s*\[+\s*({WORD})")
KEY_LINE = re.compile(rf"\s*({WORD})\s*(?:\.\s*({WORD})\s*)?=")
SYNTAX = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def load_settings(folder: Path, problems: Problems) -> Settings:
    """Return the settings of a campaign's folder; problems are added, and a setting with a problem has its default."""
    content = checked_content(folder / FILE, problems, FILE)
    return Settings() if content is None else read_settings(content.text, problems)


def read_settings(text: str, problems: Problems) -> Settings:
    """Return the settings in the text of campaign.toml, and note every problem with its line.

    A setting with a problem has its default, so that the rest of a campaign can be checked in the same run.
    """
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        _note_syntax(str(error), text, problems)
        return Settings()
    lines = line_of_keys(text)
    settings, messages = validate_settings(values)
    noted = [
        (next((lines[name] for name in names if name in lines), 0), message) for message, names in messages.items()
    ]
    for line, message in sorted(noted, key=lambda pair: pair[0]):
        problems.add(message, FILE, line or None)
    return settings


def settings_text(settings: Settings) -> str:
    """Return the text of a campaign.toml with every setting, each below a comment on what it means and may be."""
    blocks = [HEAD]
    for table in TABLES:
        lines = [f"[{table}]"]
        for setting in SETTINGS:
            if setting.table == table:
                value = getattr(getattr(settings, table), setting.key)
                lines += [f"# {setting.meaning}; {setting.expected}", f"{setting.key} = {toml_value(value)}"]
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


def validate_settings(values: Mapping[str, Any]) -> tuple[Settings, dict[str, list[str]]]:
    """Return the valid settings, and every problem: a message, with the names of the fields and the table it is about.

    pydantic looks at fields together only when each is valid alone, so the rest is validated again without the fields
    that have a problem.
    """
    messages: dict[str, list[str]] = {}
    while True:
        try:
            return Settings.model_validate(values), messages
        except ValidationError as error:
            new = dict(_explain(detail, values) for detail in error.errors(include_url=False))
        messages |= {message: [*names, names[0].partition(".")[0]] for message, names in new.items()}
        values = _without(values, {name for names in new.values() for name in names})


def _without(values: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    """Return the tables and keys of a file except those with these names."""
    rest = {table: part for table, part in values.items() if table not in names}
    return {
        table: {key: value for key, value in part.items() if f"{table}.{key}" not in names}
        if isinstance(part, dict)
        else part
        for table, part in rest.items()
    }


def _explain(detail: ErrorDetails, values: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the message of a pydantic error, and the names of the fields that it is about."""
    table, *keys = map(str, detail["loc"][:2])
    name = ".".join([table, *keys])
    if detail["type"] == CLASH:
        return detail["msg"], [f"{table}.{field}" for field in detail["ctx"]["fields"]]
    if detail["type"] == "extra_forbidden":
        return _unknown(table, keys, values[table]), [name]
    if not keys:
        return f"{table} is {quote(values[table])}, expected a table [{table}]", [name]
    setting, value = BY_NAME[name], values[table][keys[0]]
    return f"{name} is {display_value(value)}, expected {setting.expected}{_hint(setting.field, value)}", [name]


def _unknown(table: str, keys: list[str], value: object) -> str:
    """Return the message about a table or a key that does not exist, with the name that was probably meant."""
    if keys:
        hint = _did_you_mean(keys[0], TABLES[table].model_fields, f"{table}.{{}}")
        return f"there is no setting {table}.{keys[0]}{hint}"
    if isinstance(value, dict | list):
        return f"there is no table [{table}]{_did_you_mean(table, TABLES, '[{}]')}"
    homes = [setting.name for setting in SETTINGS if setting.key == table]
    return f"{quote(table)} is in no table" + (f"; did you mean {homes[0]}?" if homes else "")


def _did_you_mean(word: str, names: Iterable[str], template: str) -> str:
    """Return a question with the name most like a word; nothing if no name is like it."""
    near = get_close_matches(word, list(names), n=1)
    return f"; did you mean {template.format(near[0])}?" if near else ""


def _hint(field: FieldInfo, value: Any) -> str:
    """Return what was probably meant by a wrong value, in parentheses."""
    if field.annotation is float and _limits(field)["le"] == 1 and type(value) in (int, float) and 1 < value <= 100:
        return f" (for {value:g} %, write {value / 100:g})"
    if isinstance(value, str) and field.annotation in (int, float, bool):
        return " (without quotation marks)"
    return ""


def display_value(value: object) -> str:
    """Return a value as the file writes it, cut if it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quote(re.sub("//[^/@]*@", "//...@", value))  # never print the password of a database
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _note_syntax(error: str, text: str, problems: Problems) -> None:
    """Note why the file is not TOML, with its line."""
    position = SYNTAX.search(error)
    reason = SYNTAX.sub("", error)
    line = int(position[1]) if position and position[1] else text.rstrip("\n").count("\n") + 1
    column = f" in column {position[2]}" if position and position[2] else ""
    problems.add(f"is not TOML: {reason[:1].lower() + reason[1:]}{column}; texts need quotation marks", FILE, line)


def _bare(word: str) -> str:
    """Return a key without its quotation marks."""
    return word[1:-1] if word[:1] in ("'", '"') else word


def toml_value(value: Any) -> str:
    """Return a value as TOML."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_string, value))}]"
    if isinstance(value, str):
        return _paragraphs(value) if "\n" in value else _string(value)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) or value < 10_000 else f"{value:_}"


def _string(text: str) -> str:
    """Return a text as a TOML string: as JSON writes it, except that TOML escapes DEL too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _paragraphs(text: str) -> str:
    """Return a text of several lines as a TOML string of several lines."""
    return '"""\n' + _string(text)[1:-1].replace("\\\\", "\0").replace("\\n", "\n").replace("\0", "\\\\") + '"""'

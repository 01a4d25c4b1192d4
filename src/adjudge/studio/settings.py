"""The settings of a campaign: one frozen record for each table of campaign.toml, and the limits of every field as data.

``SETTINGS`` feeds the check of values, the comments of the file that ``campaign new`` writes, the error texts and the
docs. Defaults are the paper's numbers (002, section 1).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

from adjudge.errors import quote, quoted


@dataclass(frozen=True)
class About:
    """What people are told about the campaign."""

    name: str = "Campaign"
    language: str = "en"
    instructions: str = ""
    contact: str = ""


@dataclass(frozen=True)
class Assignment:
    """What one judge takes on at once."""

    sets: int = 6
    documents: int = 5
    gold_sets: int = 1
    lease_minutes: int = 60


@dataclass(frozen=True)
class Gate:
    """What an assignment must reach."""

    binary: float = 0.85
    ndcg: float = 0.62
    ndcg_of: str = "printed"
    seconds: float = 6.0


@dataclass(frozen=True)
class Qualification:
    """What a judge must show before the first assignment."""

    jobs: int = 4
    documents: int = 5
    correct: int = 3
    attempts: int = 1
    required: bool = True


@dataclass(frozen=True)
class Redundancy:
    """How many judgments an item gets."""

    judgments: int = 3
    adaptive: bool = False
    target: float = 0.95
    least: int = 2
    most: int = 5


@dataclass(frozen=True)
class Pay:
    """What an assignment is worth, and how many may be returned."""

    amount: float = 0.0
    currency: str = "USD"
    most_returns: int = 3


@dataclass(frozen=True)
class Consensus:
    """What the lead's desk infers while judgments come in."""

    model: str = "one-coin"
    every_seconds: float = 20.0


@dataclass(frozen=True)
class Access:
    """Who gets in, and for how long."""

    registration: bool = False
    invitation_days: int = 14
    session_hours: int = 12


@dataclass(frozen=True)
class DocumentLimits:
    """What a document may be."""

    most_bytes: int = 2_000_000


@dataclass(frozen=True)
class Store:
    """Where judgments are kept."""

    database: str = "studio.db"


@dataclass(frozen=True)
class Prolific:
    """Judges who come from Prolific, or from a platform that speaks like it."""

    enabled: bool = False
    studies: tuple[str, ...] = ()
    completion_code: str = ""
    completion_url: str = "https://app.prolific.com/submissions/complete"


@dataclass(frozen=True)
class Mturk:
    """Judges who come from Mechanical Turk, or from a platform that speaks like it."""

    enabled: bool = False
    submit_hosts: tuple[str, ...] = ("www.mturk.com", "workersandbox.mturk.com")


@dataclass(frozen=True)
class Settings:
    """All settings of a campaign, by the tables of campaign.toml."""

    campaign: About = field(default_factory=About)
    assignment: Assignment = field(default_factory=Assignment)
    gate: Gate = field(default_factory=Gate)
    qualification: Qualification = field(default_factory=Qualification)
    redundancy: Redundancy = field(default_factory=Redundancy)
    pay: Pay = field(default_factory=Pay)
    consensus: Consensus = field(default_factory=Consensus)
    access: Access = field(default_factory=Access)
    documents: DocumentLimits = field(default_factory=DocumentLimits)
    store: Store = field(default_factory=Store)
    prolific: Prolific = field(default_factory=Prolific)
    mturk: Mturk = field(default_factory=Mturk)


MODELS = (
    "majority",
    "weighted-vote",
    "wawa",
    "one-coin",
    "single-confusion",
    "hybrid-confusion",
    "dawid-skene",
    "glad",
)
WHOLE, NUMBER, SWITCH, TEXT, TEXTS = "a whole number", "a number", "true or false", "a text", "a list of texts"


class Setting(NamedTuple):
    """One field: what it may be, and what it means. Of texts, lowest and highest are numbers of characters."""

    table: str
    key: str
    kind: str
    meaning: str
    lowest: float | None = None
    highest: float | None = None
    choices: tuple[str, ...] = ()
    pattern: str = ""
    shape: str = ""  # the pattern in words

    @property
    def name(self) -> str:
        """The field as one writes it: ``gate.binary``."""
        return f"{self.table}.{self.key}"

    @property
    def default(self) -> Any:
        """What holds where the file says nothing."""
        return getattr(getattr(Settings(), self.table), self.key)

    @property
    def expected(self) -> str:
        """What the field may be, in words: ``a number from 0 to 1``."""
        if self.choices:
            return f"one of {quoted(self.choices, most=99)}"
        if self.shape:
            return self.shape
        if self.kind in (WHOLE, NUMBER):
            low, high = _figure(self.lowest), _figure(self.highest)
            return f"{self.kind} from {low} to {high}"
        if self.kind == TEXT and self.highest is not None:
            least = f"{self.lowest:g} to " if self.lowest else "at most "
            return f"a text of {least}{_figure(self.highest)} characters"
        return self.kind


SETTINGS: tuple[Setting, ...] = (
    Setting("campaign", "name", TEXT, "what the campaign is called", 1, 120),
    Setting(
        "campaign",
        "language",
        TEXT,
        "the language of the pages until a judge chooses another",
        pattern=r"[a-z]{2}(-[A-Z]{2})?",
        shape="a language such as 'en' or 'de'",
    ),
    Setting(
        "campaign",
        "instructions",
        TEXT,
        "what judges read before they begin: plain text, an empty line begins a paragraph",
        0,
        20_000,
    ),
    Setting("campaign", "contact", TEXT, "whom judges may ask: an address, or nothing", 0, 200),
    Setting("assignment", "sets", WHOLE, "sets of an assignment, each of another topic", 1, 100),
    Setting("assignment", "documents", WHOLE, "documents of a set, judged and ranked together", 2, 9),
    Setting("assignment", "gold_sets", WHOLE, "how many of these sets are gold, at random places", 0, 100),
    Setting("assignment", "lease_minutes", WHOLE, "minutes without an answer before it is given to others", 1, 10_080),
    Setting("gate", "binary", NUMBER, "what the binary score on gold must reach; 0 asks nothing", 0, 1),
    Setting("gate", "ndcg", NUMBER, "what the NDCG of the ranks on gold must reach; 0 asks nothing", 0, 1),
    Setting(
        "gate",
        "ndcg_of",
        TEXT,
        "the ideal that NDCG is divided by: as printed in the paper, or the best that strict ranks can attain",
        choices=("printed", "attainable"),
    ),
    Setting("gate", "seconds", NUMBER, "active seconds that every document must take; 0 asks nothing", 0, 3_600),
    Setting("qualification", "jobs", WHOLE, "qualification sets that a judge works on", 1, 100),
    Setting("qualification", "documents", WHOLE, "documents of a qualification set", 2, 9),
    Setting("qualification", "correct", WHOLE, "graded documents of these sets that must be judged right", 0, 900),
    Setting("qualification", "attempts", WHOLE, "how often a judge may try", 1, 100),
    Setting("qualification", "required", SWITCH, "whether judges must qualify at all"),
    Setting("redundancy", "judgments", WHOLE, "judgments that every document of a topic gets", 1, 100),
    Setting("redundancy", "adaptive", SWITCH, "judge what is unclear more often, what is clear less often"),
    Setting("redundancy", "target", NUMBER, "if adaptive: stop once a label is so probable", 0.5, 0.9999),
    Setting("redundancy", "least", WHOLE, "if adaptive: judgments that even a clear case gets", 1, 100),
    Setting("redundancy", "most", WHOLE, "if adaptive: judgments after which it stops in any case", 1, 100),
    Setting("pay", "amount", NUMBER, "for an assignment that passes", 0, 10_000),
    Setting("pay", "currency", TEXT, "of the amount", pattern="[A-Z]{3}", shape="three capital letters such as 'USD'"),
    Setting("pay", "most_returns", WHOLE, "returned assignments after which a judge is paused", 1, 1_000),
    Setting("consensus", "model", TEXT, "the model that the desk shows (`adjudge models` tells more)", choices=MODELS),
    Setting("consensus", "every_seconds", NUMBER, "how often the desk fits anew", 1, 86_400),
    Setting("access", "registration", SWITCH, "whether anybody may become a judge without an invitation"),
    Setting("access", "invitation_days", WHOLE, "days that an invitation holds", 1, 365),
    Setting("access", "session_hours", WHOLE, "hours after which one signs in again", 1, 720),
    Setting("documents", "most_bytes", WHOLE, "the largest document that is taken", 1_000, 50_000_000),
    Setting(
        "store",
        "database",
        TEXT,
        "a file beside this one, or postgresql+psycopg://...; the environment's ADJUDGE_DATABASE wins",
        pattern=r"(?!.*://)[^\x00-\x1f]{1,500}|postgresql\+psycopg://\S{1,500}",
        shape="a file name or a URL that begins with postgresql+psycopg://",
    ),
    Setting("prolific", "enabled", SWITCH, "whether judges may come from Prolific"),
    Setting("prolific", "studies", TEXTS, "the studies whose participants are let in"),
    Setting("prolific", "completion_code", TEXT, "the study's code; empty: each assignment has its own", 0, 60),
    Setting(
        "prolific",
        "completion_url",
        TEXT,
        "where a judge goes after the last page",
        pattern=r"https://\S{1,500}",
        shape="an address that begins with https://",
    ),
    Setting("mturk", "enabled", SWITCH, "whether judges may come from Mechanical Turk"),
    Setting(
        "mturk",
        "submit_hosts",
        TEXTS,
        "the hosts that work may be submitted to",
        pattern=r"[A-Za-z0-9.-]{1,250}",
        shape="a list of host names such as 'www.mturk.com'",
    ),
)
TABLES: dict[str, type[Any]] = {part.name: type(getattr(Settings(), part.name)) for part in fields(Settings)}
TYPES: dict[str, Any] = {
    WHOLE: (int,),
    NUMBER: (int, float),
    SWITCH: (bool,),
    TEXT: (str,),
    TEXTS: (list, tuple),
}


def wrong(setting: Setting, value: object) -> str | None:
    """Return what is wrong with a value, in a sentence; None where nothing is."""
    if _fits(setting, value):
        return None
    return f"{setting.name} is {_shown(value)}, expected {setting.expected}{_hint(setting, value)}"


def clashes(settings: Settings) -> list[tuple[str, str]]:
    """Return fields that are right by themselves and wrong together: (field to point at, what is wrong)."""
    found = []
    sets, gold_sets = settings.assignment.sets, settings.assignment.gold_sets
    if gold_sets >= sets:
        what = f"assignment.gold_sets is {gold_sets} of {sets} sets, which leaves nothing to judge: make it smaller"
        found.append(("assignment.gold_sets", what))
    least, most = settings.redundancy.least, settings.redundancy.most
    if least > most:
        what = f"redundancy.least is {least}, more than redundancy.most, which is {most}"
        found.append(("redundancy.least", what))
    if settings.prolific.enabled and not settings.prolific.studies:
        what = "prolific.enabled is true, but prolific.studies is empty, so that nobody could come: name the study"
        found.append(("prolific.enabled", what))
    if settings.mturk.enabled and not settings.mturk.submit_hosts:
        what = "mturk.enabled is true, but mturk.submit_hosts is empty, so that nothing could be submitted"
        found.append(("mturk.enabled", what))
    return found


def value_of(setting: Setting, value: Any) -> Any:
    """Return a right value as the record holds it."""
    if setting.kind == TEXTS:
        return tuple(value)
    return float(value) if setting.kind == NUMBER else value


def _fits(setting: Setting, value: Any) -> bool:
    """Whether a field may have this value."""
    if not isinstance(value, TYPES[setting.kind]) or (isinstance(value, bool) and setting.kind != SWITCH):
        return False
    if setting.kind == TEXTS:
        return all(isinstance(one, str) and re.fullmatch(setting.pattern or ".+", one) for one in value)
    if setting.kind in (WHOLE, NUMBER):
        return math.isfinite(value) and _between(setting, value)
    if setting.choices:
        return value in setting.choices
    if setting.pattern:
        return re.fullmatch(setting.pattern, value) is not None
    return setting.kind == SWITCH or _between(setting, len(value))


def _between(setting: Setting, number: float) -> bool:
    """Whether a number is within the limits, where there are any."""
    low, high = setting.lowest, setting.highest
    return (low is None or number >= low) and (high is None or number <= high)


def _hint(setting: Setting, value: Any) -> str:
    """Return what was probably meant, in parentheses."""
    if setting.kind == NUMBER and setting.highest == 1 and type(value) in (int, float) and 1 < value <= 100:
        return f" (for {value:g} %, write {value / 100:g})"
    if isinstance(value, str) and setting.kind in (WHOLE, NUMBER, SWITCH):
        return " (without quotation marks)"
    return ""


def _shown(value: object) -> str:
    """Return a value as the file writes it, cut where it is long."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return quote(re.sub("//[^/@]*@", "//...@", value))  # a database's password is for no screen
    text = str(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _figure(number: float | None) -> str:
    """Return a limit as people write it."""
    return "any" if number is None else f"{number:,g}" if number < 1e5 else f"{number:,.0f}"

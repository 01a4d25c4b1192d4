"""Pages from templates: escaped throughout, in the reader's language, with numbers in one format.

The texts of the judges' pages are in ``catalogue.toml``, one table per language with the same keys. The desk's pages
are in English; ``desk_page`` adds their navigation. The format functions (``percent``, ``count``, ``ago`` ...) are
globals of all templates.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, select_autoescape
from markupsafe import Markup

from adjudge.errors import quote
from adjudge.studio.access import may
from adjudge.studio.gate_designer import SPAMMERS
from adjudge.studio.records import Refused
from adjudge.studio.web.bundle import judge_script
from adjudge.studio.web.security import Caller, inner_path, root_of, studio_of

FALLBACK = "en"
PAGES = Path(__file__).parent / "pages"


@functools.cache
def _catalogue() -> dict[str, dict[str, str]]:
    """Return the catalogue, read once: language -> key -> text."""
    return tomllib.loads((files("adjudge.studio.web") / "catalogue.toml").read_text(encoding="utf-8"))


LANGUAGES = tuple(_catalogue())


def texts(language: str) -> Mapping[str, str]:
    """Return all texts in a language, or in English if the catalogue does not have it."""
    return dict(_catalogue().get(language) or _catalogue()[FALLBACK])


def fill(text: str, **values: object) -> str:
    """Return a text with its ``{names}`` filled in; ``n`` chooses the form of ``singular|plural``, as in text.js.

    Examples
    --------
    >>> fill("{n} set|{n} sets", n=1), fill("{n} set|{n} sets", n=3)
    ('1 set', '3 sets')
    """
    singular, _, plural = text.partition("|")
    return (plural if plural and values.get("n") != 1 else singular).format(**values)


def preferred_language(request: Request, default: str) -> str:
    """Return the first language in the browser's list that the catalogue has, or the default."""
    header = request.headers.get("accept-language", "")
    languages = [part.split(";")[0].strip()[:2].lower() for part in header.split(",")]
    return next((language for language in languages if language in LANGUAGES), default)


def request_texts(request: Request) -> Mapping[str, str]:
    """Return all texts in the language of the person who sent a request."""
    return texts(preferred_language(request, studio_of(request).campaign.settings.campaign.language))


def translate(request: Request, error: Refused) -> str:
    """Return the message of a refusal, in the reader's language if the catalogue has a text for its code.

    The values that the text needs are those that the refusal carries (``Refused.more``).
    """
    text = request_texts(request).get(error.code)
    return str(error) if text is None else fill(text, **error.more)


def page(request: Request, template: str, status: int = 200, **values: Any) -> HTMLResponse:
    """Return a page from a template.

    Parameters
    ----------
    request
        The request that is answered.
    template
        A file of the folder ``pages``.
    status
        The HTTP status.
    values
        The names that the template uses; ``language`` replaces the one that the browser prefers.
    """
    settings = studio_of(request).campaign.settings.campaign
    language = values.pop("language", None) or preferred_language(request, settings.language)
    defaults = {"title": settings.name, "language": language, "texts": texts(language), "csrf": "", "session": ""}
    defaults |= {"root": root_of(request), "site": hasattr(request.app.state, "site")}
    return HTMLResponse(_environment().get_template(template).render({**defaults, **values}), status)


def front_page(
    request: Request, template: str, status: int = 200, headers: Mapping[str, str] | None = None, **values: Any
) -> HTMLResponse:
    """Return a page that belongs to no campaign, from a template that uses these values."""
    language = preferred_language(request, FALLBACK)
    defaults = {
        "title": "adjudge",
        "language": language,
        "texts": texts(language),
        "root": "",
        "csrf": "",
        "session": "",
    }
    text = _environment().get_template(template).render({**defaults, **values})
    return HTMLResponse(text, status, headers)


@functools.cache
def _environment() -> Environment:
    """Return the template environment, created once."""
    escape = select_autoescape(default=True)
    environment = Environment(loader=FileSystemLoader(PAGES), autoescape=escape, trim_blocks=True)
    numbers = (percent, number, count, duration, ago, minute, iso_time, interval)
    names = (relevance_name, grade_name, label_counts, criterion_name, spammer_name, sentence, judge_script)
    formats: dict[str, Any] = {function.__name__: function for function in (*numbers, *names)}
    environment.globals.update(formats, DASH=DASH, LISTED=LISTED)
    environment.filters["criterion_name"] = criterion_name
    return environment


# Pages of the desk

NAVIGATION = (  # (path, name, the action that a reader must be allowed to do)
    ("/desk", "Overview", "desk"),
    ("/desk/judges", "Judges", "desk"),
    ("/desk/items", "Items", "desk"),
    ("/desk/gold", "Gold", "desk"),
    ("/desk/charts", "Charts", "desk"),
    ("/desk/people", "People", "invite"),
    ("/desk/data", "Data", "desk"),
    ("/desk/campaign", "Campaign", "desk"),
    ("/desk/audit", "Audit", "desk"),
)
PARTS = ("notices", "progress", "pictures", "quality", "topics", "work")  # of the overview, in their order
LISTED = 10  # rows of its tables; complete tables have pages of their own
DONE = {  # what the page says after an action, by the word in its address
    "paused": "The campaign is paused: nobody can start new work.",
    "resumed": "The campaign continues.",
    "archived": "The campaign is archived: it can be read and exported, and nothing is added to it.",
    "reopened": "The campaign is open again.",
    "standing": "Done. The judge is told with their next request.",
    "reassigned": "The assignment was taken back; its documents go to other judges.",
    "approved": "The assignment was approved: its judgments count.",
    "upheld": "Upheld: gold is wrong here. The assignment does not pass without this document either.",
    "upheld-approved": "Upheld: gold is wrong here. Without this document the assignment passes, so it was approved.",
    "upheld-passed": "Upheld: gold is wrong here. The assignment had passed already.",
    "rejected": "Rejected: gold stays as it is.",
    "revoked": "The token was revoked.",
    "saved": "Saved. The studio works with the change, and the history has it.",
    "withdrawn": "The invitation was withdrawn: its link admits nobody.",
    "sessions": "All sessions of this person were ended.",
    "factor": "The second factor was removed: this person signs in by the password alone, until they set up another.",
}


def desk_page(request: Request, caller: Caller, template: str, title: str, **values: Any) -> HTMLResponse:
    """Return a page of the desk: with the navigation, and a message about the action that led to it.

    Parameters
    ----------
    request
        The request that is answered.
    caller
        Who reads the page; links to pages that they may not see are left out.
    template, title
        The file of the template, and the heading.
    values
        The names that the template uses.
    """
    studio = studio_of(request)
    role = caller.person.role
    defaults = {
        "title": f"{title} · {studio.campaign.settings.campaign.name}",
        "heading": title,
        "campaign": studio.campaign,
        "archived": studio.ledger.archived,
        "changed_files": studio.changed_files,
        "reader": caller.person,
        "may": lambda action: may(role, action),
        "navigation": [(path, name) for path, name, action in NAVIGATION if may(role, action)],
        "current_path": inner_path(request.scope, root_of(request)),
        "now": studio.now(),
        "done": DONE.get(request.query_params.get("done", ""), ""),
        "csrf": studio.signer.csrf(caller.session),
    }
    return page(request, template, language="en", **{**defaults, **values})


class Part(NamedTuple):
    """A part of the overview."""

    version: str  # changes with the content
    html: Markup


def live_parts(request: Request, **values: Any) -> list[Part]:
    """Return the parts of the overview, each as an element with its version; ``values`` are those of the template."""
    template = _environment().get_template("desk_live.html")
    studio = studio_of(request)
    has_judges = any(person.role == "judge" for person in studio.ledger.people.values())
    shared = {"campaign": studio.campaign, "root": root_of(request), "has_judges": has_judges}
    result = []
    for name in PARTS:
        html = template.render(part=name, **shared, **values).strip()
        version = blake2b(html.encode(), digest_size=6).hexdigest()
        element = Markup('<div class="part" id="live-{}" data-version="{}">{}</div>')
        result.append(Part(version, element.format(name, version, Markup(html))))
    return result


def redirect_done(path: str, done: str) -> RedirectResponse:
    """Return a redirect to a page of the desk that says what was done; ``done`` is a key of ``DONE``."""
    return RedirectResponse(f"{path}?done={done}", 303)


def form_integer(text: str, name: str, least: int, most: int) -> int:
    """Return the integer in a form field, or refuse it with a sentence.

    Parameters
    ----------
    text, name
        The content and the name of the field.
    least, most
        The smallest and the largest value that is accepted.

    Examples
    --------
    >>> form_integer("14", "days", 1, 365)
    14
    """
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= most:
        raise Refused(422, name, f"{name} is {quote(text)}, expected a whole number from {least:,} to {most:,}.")
    return value


# Formats of numbers, times and labels

CRITERION_NAMES = {
    "binary": "Wrong labels on gold",
    "ndcg": "Wrong order on gold",
    "time": "Too fast",
    "qualification": "Too few right answers",
}
DASH = "\N{EN DASH}"  # for a value that does not exist
UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))


def percent(share: float | None, digits: int = 0) -> str:
    """Return a share of 1 as a percentage.

    Examples
    --------
    >>> percent(0.857), percent(0.857, 1)
    ('86 %', '85.7 %')
    """
    return DASH if share is None or share != share else f"{100 * share:.{digits}f} %"


def number(value: float | None, digits: int = 2) -> str:
    """Return a number with a fixed number of decimal places."""
    return DASH if value is None or value != value else f"{value:,.{digits}f}"


def count(value: int | None) -> str:
    """Return an integer with thousands separators."""
    return DASH if value is None else f"{value:,}"


def duration(seconds: float | None) -> str:
    """Return a duration in its largest unit, small numbers of hours and days with one decimal.

    Examples
    --------
    >>> duration(45), duration(200), duration(9_000), duration(864_000)
    ('45 s', '3 min', '2.5 h', '10 d')
    """
    if seconds is None:
        return DASH
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size), UNITS[-1])
    value = max(seconds, 0.0) / size
    return f"{value:.1f} {unit}" if value < 10 and size >= 3_600 else f"{value:.0f} {unit}"


def ago(at: float | None, now: float) -> str:
    """Return how long ago something was.

    Examples
    --------
    >>> ago(None, 100.0), ago(99.0, 100.0), ago(40.0, 100.0)
    ('never', 'just now', '1 min ago')
    """
    return "never" if at is None else "just now" if now - at < 5 else f"{duration(now - at)} ago"


def minute(at: float | None) -> str:
    """Return a time in UTC, to the minute."""
    return DASH if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")


def iso_time(at: float) -> str:
    """Return a time in ISO 8601, for programs."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def relevance_name(value: int | None) -> str:
    """Return the name of a label."""
    return {1: "relevant", 0: "irrelevant"}.get(value, "cannot tell") if value is not None else "cannot tell"


def grade_name(value: int) -> str:
    """Return the name of a gold grade."""
    return ("irrelevant", "relevant", "highly relevant")[value]


def sentence(text: str) -> str:
    """Return a clause as a sentence.

    Examples
    --------
    >>> sentence("there are no judgments yet")
    'There are no judgments yet.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def criterion_name(name: str) -> str:
    """Return a criterion of the gates in words."""
    return CRITERION_NAMES.get(name, name)


def spammer_name(name: str) -> str:
    """Return a judge who does not read, of the table of gates, in words."""
    return SPAMMERS.get(name, name)


def interval(estimate: Sequence[float]) -> str:
    """Return a share with the ends of its interval.

    Examples
    --------
    >>> interval((0.8, 0.68, 0.886, 40.0))
    '80 % (68 % to 89 %)'
    """
    value, low, high = (percent(share) for share in estimate[:3])
    return f"{value} ({low} to {high})"


def label_counts(labels: str) -> str:
    """Return the labels of an item as counts; any other text is returned unchanged.

    Examples
    --------
    >>> label_counts("relevant, irrelevant, relevant")
    '2 relevant, 1 irrelevant'
    """
    words = labels.replace(",", " ").split()
    if set(words) - {"relevant", "irrelevant"}:
        return labels
    return ", ".join(f"{words.count(word)} {word}" for word in ("relevant", "irrelevant") if word in words)

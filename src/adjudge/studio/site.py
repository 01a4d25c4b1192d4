"""A site: several campaigns that one process serves, each at an address with the name of its folder.

Every campaign stays a folder of its own, with its files, its database, its key and its people. A campaign that cannot
be opened does not keep the others from being served. Consensus jobs run one at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from adjudge.errors import AdjudgeError, InputError, UsageError, quote, quoted
from adjudge.studio.access import load_key
from adjudge.studio.desk.overview import progress
from adjudge.studio.record.ledger import Ledger, Person
from adjudge.studio.records import Refused
from adjudge.studio.settings import FILE
from adjudge.studio.studio import Studio
from adjudge.studio.work.commands import next_kind, open_assignment

LOG = logging.getLogger("adjudge")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")  # of a folder, which becomes a part of an address
NAMED = "1 to 64 letters, digits, dots, hyphens and underscores, at first a letter or a digit"


class Site:
    """The campaigns of a site: those that are served, and why others are not.

    Parameters
    ----------
    folder
        The folder that new campaigns are written to, beside the others.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.studios: dict[str, Studio] = {}
        self.problems: dict[str, str] = {}  # name of a campaign that cannot be served -> why
        self._turn = asyncio.Semaphore(1)

    @property
    def stopping(self) -> bool:
        """Whether the server finishes its last requests."""
        return any(studio.stopping for studio in self.studios.values())

    @stopping.setter
    def stopping(self, stopping: bool) -> None:
        for studio in self.studios.values():
            studio.stopping = stopping

    def open(self, path: Path, open_campaign: Callable[[str], Studio]) -> None:
        """Open a campaign, or note why it cannot be served."""
        name = path.resolve().name
        try:
            self.check_name(name)
            self._check_key(path)
            studio = open_campaign(str(path))
        except AdjudgeError as error:
            self.problems[name] = str(error)
        except Exception as error:  # a fault of ours in one campaign must not stop the others
            LOG.exception("%s cannot be opened", name)
            self.problems[name] = f"{type(error).__name__}: the log of the studio says more"
        else:
            studio.turn = self._turn
            self.studios[name] = studio

    def check_name(self, name: str) -> None:
        """Refuse the name of a folder that cannot be a part of an address, or is used already."""
        if not NAME.fullmatch(name):
            raise InputError(
                f"the name of the folder becomes a part of an address: choose another ({NAMED})", quote(name)
            )
        if name.casefold() in {other.casefold() for other in (*self.studios, *self.problems)}:
            raise InputError("another campaign has a folder with this name: choose another", quote(name))

    def _check_key(self, path: Path) -> None:
        """Refuse a campaign with the key of another: sessions and links of one would be valid in the other."""
        if not (path / "key").is_file():
            return
        mine = load_key(path)
        for name, studio in self.studios.items():
            if load_key(studio.campaign.folder) == mine:
                problem = f"its key is that of {quote(name)}: delete the file 'key' in the folder that is the copy"
                raise InputError(problem, str(path))

    def close(self) -> None:
        """Close all campaigns that no server has closed."""
        for studio in self.studios.values():
            studio.store.close()


def find_campaigns(paths: Sequence[str]) -> list[Path]:
    """Return the folders of campaigns: those that are named, or those in the one folder that is named.

    Parameters
    ----------
    paths
        Folders of campaigns, or one folder with folders of campaigns in it.
    """
    folders = [Path(path) for path in paths]
    if len(folders) == 1 and not (folders[0] / FILE).exists():
        folders = sorted(path.parent for path in folders[0].glob(f"[!.]*/{FILE}")) or folders
    twice = [str(path) for path in folders if [other.resolve() for other in folders].count(path.resolve()) > 1]
    if twice:
        raise UsageError(f"{quoted(dict.fromkeys(twice))} is named twice")
    return folders


def open_site(folders: Sequence[Path], open_campaign: Callable[[str], Studio]) -> Site:
    """Open all campaigns of a site; it is an error if none can be opened.

    Parameters
    ----------
    folders
        The folders of the campaigns.
    open_campaign
        Opens one campaign for serving, or raises an error that names what is wrong.
    """
    if os.environ.get("ADJUDGE_DATABASE"):
        raise UsageError("ADJUDGE_DATABASE is one database: set store.database in the campaign.toml of each campaign")
    site = Site(folders[0].resolve().parent)
    for folder in folders:
        site.open(folder, open_campaign)
    if not site.studios:
        raise InputError("\n".join(f"{name}: {problem}" for name, problem in site.problems.items()))
    return site


# What the front page shows


class Overview(NamedTuple):
    """A campaign as a person sees it on the front page."""

    name: str
    title: str
    role: str
    state: str  # open, paused, archived
    share: float  # of the needed judgments
    judged: int
    needed: int
    people: int
    working: int  # open assignments
    work: bool  # whether there is work for the person, if they are a judge
    attention: tuple[str, ...]  # one sentence each, for people with a desk


def overview(name: str, studio: Studio, person: Person) -> Overview:
    """Return a campaign as one of its people sees it; judges are told nothing about other people."""
    ledger, settings = studio.ledger, studio.campaign.settings
    total = progress(ledger.items, list(studio.campaign.topics), settings.redundancy, ledger.belief).total
    state = "archived" if ledger.archived else "paused" if ledger.switches.get("paused") == "1" else "open"
    desk = person.role != "judge"
    return Overview(
        name,
        settings.campaign.name,
        person.role,
        state,
        total.share,
        total.judged,
        total.needed,
        len(ledger.people),
        len(ledger.open_assignments()),
        not desk and _has_work(ledger, person),
        tuple(_attention(studio)) if desk and state != "archived" else (),
    )


def _has_work(ledger: Ledger, judge: Person) -> bool:
    """Return whether a judge has open work, or may start some."""
    try:
        return open_assignment(ledger, judge) is not None or bool(next_kind(ledger, judge))
    except Refused:
        return False


def _attention(studio: Studio) -> Iterable[str]:
    """Yield what people with a desk should look at, one sentence each."""
    ledger = studio.ledger
    if contests := len(ledger.contests.keys() - ledger.ruled):
        yield (
            f"{contests} contests of gold wait for a ruling."
            if contests > 1
            else "A contest of gold waits for a ruling."
        )
    if stopped := sum(person.standing == "paused" for person in list(ledger.people.values())):
        yield f"{stopped} judges are paused." if stopped > 1 else "A judge is paused."
    if studio.consensus_failures:
        yield "The consensus cannot be refreshed; the log of the studio says why."
    if studio.store.failures:
        yield "Some changes could not be saved; the log of the studio says why."


def roles(studios: Iterable[tuple[str, Studio]], find: str = "") -> dict[str, dict[str, str]]:
    """Return who has which role in which of some campaigns: name of a person -> name of a campaign -> role.

    Names that differ only in upper and lower case are one person's, as they are when people sign in. Those who have a
    desk are first. Only names that contain ``find`` are returned.
    """
    by_person: dict[str, tuple[str, dict[str, str]]] = {}
    for campaign, studio in studios:
        for person in list(studio.ledger.people.values()):
            if person.outside is None and find.casefold().strip() in person.name.casefold():
                by_person.setdefault(person.name.casefold(), (person.name, {}))[1][campaign] = person.role
    people = sorted(by_person.values(), key=lambda row: ({*row[1].values()} == {"judge"}, row[0].casefold()))
    return dict(people)

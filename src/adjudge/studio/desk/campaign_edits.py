"""Changes of the campaign's files while the studio runs: prepared, checked like a campaign at the start, and saved.

An ``Edit`` is staged beside the files and loaded as a whole campaign. If that has no problem and the record allows it,
one command writes the revisions, the items and the audit entry and lets the ledger work with the new campaign; then the
files are moved. ``staging`` says what happens if the process dies between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from adjudge.errors import CampaignProblems, quote, quoted
from adjudge.studio.campaign import FILES, Campaign, load_campaign
from adjudge.studio.campaign_files import (
    GOLD_FILE,
    SETS_FILE,
    TOPICS_FILE,
    describe_pair,
    gold_text,
    infeasible_reason,
    sets_text,
    topics_text,
)
from adjudge.studio.desk.decisions import actor_name
from adjudge.studio.desk.differences import describe_changes, meanings
from adjudge.studio.desk.settings_form import FIXED, value_of
from adjudge.studio.documents import DOCUMENTS_FILE
from adjudge.studio.record import schema
from adjudge.studio.record.ledger import Ledger, missing_items
from adjudge.studio.record.revisions import FileState, changed_states, revision_rows
from adjudge.studio.record.store import Change
from adjudge.studio.records import GRADES, FixedSet, Gold, Pair, Refused, Topic, Unsaved
from adjudge.studio.settings import BY_NAME
from adjudge.studio.staging import drop, publish, stage
from adjudge.studio.studio import Studio
from adjudge.studio.work.commands import Rows

Content = bytes | Callable[[Path], None]  # of a file, or what writes it
LONGEST_NOTE = 4_000  # characters
MOST_NAMED = 5  # names in a sentence
UNCHANGED = dict.fromkeys(("desk", "files"), "written differently, with the same meaning") | {"restored": "put back"}


@dataclass(frozen=True)
class Edit:
    """A change of some files, and the revisions that it is based on."""

    contents: Mapping[str, Content] = field(default_factory=dict)
    base: Mapping[str, str] = field(default_factory=dict)  # file -> SHA-256 that the editor saw
    source: str = "desk"  # desk, files (as somebody changed them outside), restored


class Prepared(NamedTuple):
    """An edit that was checked, in words and as it is recorded."""

    campaign: Campaign
    states: Sequence[FileState]
    changes: Sequence[str]  # "gate.binary: 0.85 -> 0.8"
    meanings: Sequence[str]  # for work that is under way
    warnings: Sequence[str]  # that the campaign did not have before


class EditProblems(Refused):
    """An edit that would break the campaign: all problems, each with its file and line."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__(422, "problems", "Nothing was changed: " + "; ".join(problems))
        self.problems = tuple(problems)


async def preview_edit(studio: Studio, edit: Edit) -> Prepared:
    """Return what an edit would change, or refuse it; nothing is changed."""
    async with studio.editing:
        try:
            return await _prepare(studio, edit)
        finally:
            await asyncio.to_thread(drop, studio.campaign.folder)


async def save_edit(studio: Studio, by: int | None, edit: Edit) -> Prepared:
    """Change files of the campaign, let the studio work with them, and return what has changed; or refuse."""
    # even if whoever asked has gone: what is recorded must also come into the files, before the next edit is staged
    return await asyncio.shield(_save(studio, by, edit))


async def _save(studio: Studio, by: int | None, edit: Edit) -> Prepared:
    """Prepare an edit, record it, and move its files to their places."""
    folder = studio.campaign.folder
    async with studio.editing:
        try:
            prepared = await _prepare(studio, edit)
            await studio.do(revise, by, edit, prepared)
        except Exception:  # after a cancellation, ``settle`` finds out at the next start whether it was recorded
            await asyncio.to_thread(drop, folder)
            raise
        await asyncio.to_thread(publish, folder)
        studio.note_edit()
        return prepared


async def _prepare(studio: Studio, edit: Edit) -> Prepared:
    """Stage and check an edit."""
    recorded = dict(studio.ledger.files)
    check_base(recorded, edit.base)
    outside = await asyncio.to_thread(studio.watch.changed, recorded)
    if edit.source != "files" and set(outside) - set(edit.contents if edit.source == "restored" else ()):
        raise Refused(409, "files", changed_outside(outside))
    as_is = {file: sha256 for file, sha256 in recorded.items() if file not in outside}
    prepared = await asyncio.to_thread(stage_edit, studio.campaign, edit, as_is)
    removed = await asyncio.to_thread(removed_items, studio.ledger.items.pairs, studio.campaign, prepared.campaign)
    if problems := await studio.look(refusals, prepared.campaign, removed):
        raise EditProblems(problems)
    return prepared


def changed_outside(files: Sequence[str]) -> str:
    """Return why the campaign cannot be changed or cloned now."""
    names = f"{quoted(files)} {'was' if len(files) == 1 else 'were'} changed outside of the studio"
    return f"{names}. Decide on the page History whether to use the changed files, and try again."


def check_base(recorded: Mapping[str, str], base: Mapping[str, str]) -> None:
    """Refuse an edit of a file that somebody has changed since its editor looked at it."""
    stale = [file for file, sha256 in base.items() if recorded.get(file) != sha256]
    if stale:
        sentence = f"{stale[0]} was changed while you were editing it. Your change was not saved."
        raise Refused(409, "changed", sentence, file=stale[0], base=base[stale[0]])


def stage_edit(old: Campaign, edit: Edit, as_is: Mapping[str, str]) -> Prepared:
    """Write changed files into the staging folder, and load the campaign from there.

    ``as_is`` has the SHA-256 of the files that nobody has changed outside of the studio.
    """

    def write(staging: Path) -> None:
        for name, content in edit.contents.items():
            if isinstance(content, bytes):
                (staging / name).write_bytes(content)
            else:
                content(staging / name)

    try:
        staging = stage(old.folder, write, FILES)
        same = DOCUMENTS_FILE in as_is and DOCUMENTS_FILE not in edit.contents
        loaded = load_campaign(staging, old if same else None)
        states = changed_states(staging, as_is, FILES)
    except CampaignProblems as error:
        raise EditProblems(error.problems) from error
    except OSError as error:
        raise Unsaved(f"the campaign's folder says “{error.strerror}”") from error
    loaded.documents.path = old.folder / DOCUMENTS_FILE
    new = replace(loaded, folder=old.folder)
    if not states:
        raise Refused(422, "nothing", "Nothing has changed.")
    warnings = [sentence for sentence in new.warnings if sentence not in old.warnings]
    return Prepared(new, states, describe_changes(old, new), meanings(old, new), warnings)


def removed_items(pairs: Sequence[Pair], old: Campaign, new: Campaign) -> list[int]:
    """Return the items that judges could no longer see or judge after a change."""
    before, after = _judged_pairs(old), _judged_pairs(new)

    def is_gone(pair: Pair) -> bool:
        topic, document = pair
        present = topic in old.topics and document in old.documents
        return (present and (topic not in new.topics or document not in new.documents)) or (
            pair in before and pair not in after
        )

    return [number for number, pair in enumerate(pairs) if number and is_gone(pair)]


def _judged_pairs(campaign: Campaign) -> set[Pair]:
    """Return the pairs that judges are given, without gold, which may be removed."""
    fixed = (pair for part in campaign.sets for pair in part.pairs)
    return {pair for pair in (*campaign.pool, *fixed) if pair not in campaign.gold}


def refusals(ledger: Ledger, now: float, new: Campaign, removed: Sequence[int]) -> list[str]:
    """Return why a running studio cannot work with changed files, one sentence each."""
    old = ledger.campaign
    problems = [
        f"{name} cannot be changed: {reason[:1].lower() + reason[1:]}"
        for name, reason in FIXED.items()
        if value_of(old.settings, BY_NAME[name]) != value_of(new.settings, BY_NAME[name])
    ]
    in_use = [number for number in removed if _is_in_use(ledger, number)]
    if ledger.archived:
        problems.append("the campaign is archived: reopen it on the page Overview first")
    if in_use:
        named = "; ".join(describe_pair(ledger.items.pairs[number]) for number in in_use[:MOST_NAMED])
        problems.append(
            f"{len(in_use):,} pairs that judges have judged or are judging would be removed ({named}): their judgments "
            "would be left without topic or document, so only pairs that nobody has met can be removed"
        )
    return problems


def _is_in_use(ledger: Ledger, number: int) -> bool:
    """Return whether anybody has judged an item or has it now."""
    items = ledger.items
    counted = items.judged[number] or items.undecided[number] or items.leased[number]
    return bool(counted) or any(number in person.met for person in ledger.people.values())


def revise(ledger: Ledger, now: float, by: int | None, edit: Edit, prepared: Prepared) -> Change:
    """Record changed files, and work with them from now on; the answer is the number of the change."""
    check_base(ledger.files, edit.base)
    note = "\n".join(prepared.changes)[:LONGEST_NOTE] or UNCHANGED[edit.source]
    rows: Rows = [(schema.items, row) for row in missing_items(ledger, prepared.campaign)]
    rows += revision_rows(ledger, now, by, edit.source, prepared.states, note)
    corrected = corrected_items(ledger, prepared.campaign)
    rows += [
        (schema.corrections, {"id": number, "at": now, "item": item, "by": by})
        for number, item in enumerate(corrected, ledger.next_id(schema.corrections))
    ]
    files = {state.file: state.sha256 for state in prepared.states}
    detail = {"source": edit.source, "files": files, "summary": note}
    audit = (actor_name(ledger, by), "campaign changed", detail)
    return Change(rows, ledger.next_id(schema.revisions), audit, prepared.campaign)


def corrected_items(ledger: Ledger, new: Campaign) -> list[int]:
    """Return the items whose gold was ruled wrong and has another grade in changed files."""

    def has_other_grade(item: int) -> bool:
        before, after = ledger.gold_of(item), new.gold.get(ledger.items.pairs[item])
        return before is not None and after is not None and before.grade != after.grade

    return [item for item in sorted(ledger.overruled) if has_other_grade(item)]


# Edits of topics and gold


def topic_edit(campaign: Campaign, topic: Topic, new: bool, base: Mapping[str, str]) -> Edit:
    """Return the edit that changes a topic, or adds a new one."""
    if new and topic.name in campaign.topics:
        raise Refused(409, "topic", f"There is already a topic {quote(topic.name)}.")
    if not new and topic.name not in campaign.topics:
        raise Refused(404, "topic", "There is no such topic.")
    topics = {**campaign.topics, topic.name: topic}
    return Edit({TOPICS_FILE: topics_text(topics.values()).encode()}, base)


class GoldEdit(NamedTuple):
    """An edit of gold, and the sets that nobody could be graded on afterwards."""

    edit: Edit
    broken: Mapping[str, str]  # set -> why


def gold_edit(campaign: Campaign, pair: Pair, gold: Gold | None, base: Mapping[str, str]) -> GoldEdit:
    """Return the edit that sets or removes (None) the gold of a pair; gold sets that it breaks are left out."""
    if gold is not None and gold.grade not in GRADES:
        raise Refused(422, "grade", f"The grade is {gold.grade}, expected 0, 1 or 2.")
    if gold is None and pair not in campaign.gold:
        raise Refused(404, "gold", f"There is no gold for {describe_pair(pair)}.")
    changed = {key: entry for key, entry in {**campaign.gold, pair: gold}.items() if entry is not None}
    broken = broken_sets(campaign, changed)
    contents = {GOLD_FILE: gold_text(changed).encode()}
    if broken:
        contents[SETS_FILE] = sets_text(part for part in campaign.sets if part.name not in broken).encode()
    return GoldEdit(Edit(contents, {file: base[file] for file in contents if file in base}), broken)


def broken_sets(campaign: Campaign, gold: Mapping[Pair, Gold]) -> dict[str, str]:
    """Return the fixed sets that cannot be used with other gold, each with the reason."""
    reasons = {part.name: _broken_reason(campaign, part, gold) for part in campaign.sets}
    return {name: reason for name, reason in reasons.items() if reason}


def _broken_reason(campaign: Campaign, part: FixedSet, gold: Mapping[Pair, Gold]) -> str:
    """Return why a set cannot be used with this gold; empty if it can."""
    grades = [gold[pair].grade for pair in part.pairs if pair in gold]
    if part.use == "qualification":
        return "" if grades else "it has no graded document"
    if part.use != "gold":
        return ""
    if len(grades) < len(part.documents):
        return f"of its {len(part.documents)} documents, {len(grades)} have a grade"
    return infeasible_reason(grades, campaign.settings)


def gold_rows(campaign: Campaign, find: str, contested: Mapping[Pair, Any]) -> list[tuple[Pair, Gold, list[str], Any]]:
    """Return the gold that contains a text: pair, gold, the sets that use it, and an upheld contest if there is one."""
    uses: dict[Pair, list[str]] = {}
    for part in campaign.sets:
        for pair in part.pairs:
            uses.setdefault(pair, []).append(part.name)
    text = find.casefold()
    return [
        (pair, gold, uses.get(pair, []), contested.get(pair))
        for pair, gold in campaign.gold.items()
        if not text or any(text in part.casefold() for part in (*pair, gold.reason))
    ]


def topic_rows(campaign: Campaign, find: str) -> list[Topic]:
    """Return the topics that contain a text."""
    text = find.casefold()
    return [topic for topic in campaign.topics.values() if any(text in part.casefold() for part in topic)]

"""Differences between two states of a campaign, in words and in lines, and what they mean for running work."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from adjudge.errors import UsageError, quote
from adjudge.studio.campaign import Campaign
from adjudge.studio.campaign_files import describe_pair
from adjudge.studio.desk.settings_form import INSTRUCTIONS, value_of
from adjudge.studio.gate_designer import ACCURACIES, GateRow, gate_table
from adjudge.studio.record.revisions import content_before, read_revision, text_of
from adjudge.studio.records import FixedSet, Gold, Pair, Topic
from adjudge.studio.settings import FILE as SETTINGS_FILE
from adjudge.studio.settings import SETTINGS, Settings, display_value

MOST = 20  # sentences about one file
MOST_LINES = 400  # of a difference
CONTEXT = 2  # lines around a changed line of the settings
PASSWORD = re.compile("//[^/@]*@")  # of a database
MEANINGS = {  # what a changed table means for work that is under way
    "campaign": "Judges see the new texts with their next page.",
    "assignment": "Open assignments keep their sets and their time. The change holds for assignments taken later.",
    "gate": "Open assignments are graded by the gate under which their judge began. The change holds for assignments "
    "taken from now on. What was graded stays as it is.",
    "qualification": "An open qualification is graded by the rules under which its judge began. Judges who have "
    "qualified stay qualified.",
    "redundancy": "The change holds at once for what is given out next. Judgments that were made all stay.",
    "pay": "Assignments are paid by the amount that held when their judge took them.",
    "consensus": "The consensus is fitted again in the next seconds.",
    "access": "Open sessions and invitations keep their time.",
    "limits": "The change holds at once, also for what was counted before.",
    "documents": "The change holds for documents that are added from now on.",
    "prolific": "The change holds for judges who arrive or submit from now on.",
    "mturk": "The change holds for judges who arrive or submit from now on.",
    "openid": "The change holds for people who sign in from now on. Open sessions go on.",
}
GOLD_MEANING = "What was graded stays as it was graded. Open work is graded by the gold that holds when it is finished."
TOPIC_MEANING = "Judges who have a changed topic open see the new text when they load the set again; judgments stay."
POOL_MEANING = "New pairs are given out like all others, from the next assignment on."


class Line(NamedTuple):
    """A line of a difference: added (+), removed (-), or around them (a blank)."""

    sign: str
    text: str


def describe_changes(old: Campaign, new: Campaign) -> list[str]:
    """Return what differs between two states of a campaign, one sentence each."""
    parts = (
        setting_changes(old.settings, new.settings),
        _topic_changes(old.topics, new.topics),
        _name_changes("document", old.documents, new.documents),
        _pair_changes(old.pool, new.pool),
        gold_changes(old.gold, new.gold),
        _set_changes(old.sets, new.sets),
    )
    return [sentence for part in parts for sentence in _first(part)]


def _first(sentences: Iterable[str]) -> list[str]:
    """Return the first sentences, and how many there are more."""
    rows = list(sentences)
    return rows if len(rows) <= MOST else [*rows[:MOST], f"and {len(rows) - MOST:,} more"]


def setting_changes(old: Settings, new: Settings) -> Iterator[str]:
    """Yield the settings that differ: ``gate.binary: 0.85 -> 0.8``."""
    for setting in SETTINGS:
        before, after = value_of(old, setting), value_of(new, setting)
        if before != after and setting.name == INSTRUCTIONS:
            yield f"{setting.name}: {len(before):,} -> {len(after):,} characters"
        elif before != after:
            yield f"{setting.name}: {display_value(before)} -> {display_value(after)}"


def _topic_changes(old: Mapping[str, Topic], new: Mapping[str, Topic]) -> Iterator[str]:
    """Yield the topics that differ."""
    yield from _name_changes("topic", old, new)
    for name in old.keys() & new.keys():
        fields = [field for field in Topic._fields[1:] if getattr(old[name], field) != getattr(new[name], field)]
        if fields:
            yield f"topic {quote(name)}: {', '.join(fields)} changed"


def _name_changes(noun: str, old: Iterable[str], new: Iterable[str]) -> Iterator[str]:
    """Yield the names that were added or removed."""
    before, after = dict.fromkeys(old), dict.fromkeys(new)
    yield from (f"{noun} {quote(name)} removed" for name in before if name not in after)
    yield from (f"{noun} {quote(name)} added" for name in after if name not in before)


def _pair_changes(old: Iterable[Pair], new: Iterable[Pair]) -> Iterator[str]:
    """Yield the pairs to judge that were added or removed."""
    before, after = dict.fromkeys(old), dict.fromkeys(new)
    yield from (f"{describe_pair(pair)} is no longer to be judged" for pair in before if pair not in after)
    yield from (f"{describe_pair(pair)} is to be judged" for pair in after if pair not in before)


def gold_changes(old: Mapping[Pair, Gold], new: Mapping[Pair, Gold]) -> Iterator[str]:
    """Yield the gold that differs."""
    for pair in dict.fromkeys((*old, *new)):
        before, after = old.get(pair), new.get(pair)
        if before is None and after is not None:
            yield f"gold of {describe_pair(pair)}: {after.grade} (new)"
        elif after is None and before is not None:
            yield f"gold of {describe_pair(pair)}: {before.grade} removed"
        elif before is not None and after is not None and before.grade != after.grade:
            yield f"gold of {describe_pair(pair)}: {before.grade} -> {after.grade}"
        elif before != after:
            yield f"gold of {describe_pair(pair)}: reason changed"


def _set_changes(old: Sequence[FixedSet], new: Sequence[FixedSet]) -> Iterator[str]:
    """Yield the fixed sets that differ."""
    before, after = {part.name: part for part in old}, {part.name: part for part in new}
    yield from _name_changes("set", before, after)
    yield from (f"set {quote(name)} changed" for name in before.keys() & after.keys() if before[name] != after[name])


def meanings(old: Campaign, new: Campaign) -> list[str]:
    """Return what a change means for work that is under way, one sentence each."""
    changed = [table for table in MEANINGS if getattr(old.settings, table) != getattr(new.settings, table)]
    sentences = [MEANINGS[table] for table in changed]
    sentences += [GOLD_MEANING] if old.gold != new.gold else []
    sentences += [TOPIC_MEANING] if any(new.topics.get(name) != topic for name, topic in old.topics.items()) else []
    sentences += [POOL_MEANING] if set(new.pool) - set(old.pool) else []
    return list(dict.fromkeys(sentences)) + gate_effects(old, new)


def gate_effects(old: Campaign, new: Campaign) -> list[str]:
    """Return how the gate's error rates on gold sets change, one sentence per rate; nothing if they stay."""
    if (old.gold, old.sets, old.settings.gate) == (new.gold, new.sets, new.settings.gate):
        return []
    try:
        before, after = _worst_rates(gate_table(old)), _worst_rates(gate_table(new))
    except KeyError:  # a gold set without gold, in files that were never loaded
        return []
    return [
        f"On the worst gold set, the gate {name} in {share:.1%} of cases (before: {before[name]:.1%})."
        for name, share in after.items()
        if name in before and round(share, 4) != round(before[name], 4)
    ]


def _worst_rates(rows: Sequence[GateRow]) -> dict[str, float]:
    """Return the largest error rates of the gate among gold sets."""
    accuracy = max(ACCURACIES)
    if not rows:
        return {}
    return {
        f"refuses a judge who is right about {accuracy:.0%} of documents": max(
            row.design.false_refuse[accuracy] for row in rows
        ),
        "accepts a judge who answers at random": max(row.design.false_accept["random"] for row in rows),
    }


def revision_differences(connection: Connection, number: int) -> list[Line]:
    """Return the lines in which a revision differs from the one before; all of its lines if it is the first."""
    stored = read_revision(connection, number)
    if stored is None:
        raise UsageError(f"there is no revision {number}")
    revision, content = stored
    if content is None:
        return [Line(" ", f"of {revision.file} only the SHA-256 is kept: {revision.sha256}")]
    before = content_before(connection, revision)
    return line_differences(revision.file, text_of(before), text_of(content))


def line_differences(file: str, before: str, after: str) -> list[Line]:
    """Return the lines in which two contents of a file differ; the password of a database is hidden.

    The settings are shown with the lines around a change. In the other files a line is an entry and its position says
    nothing, so that lines are compared as a collection.
    """
    old, new = (PASSWORD.sub("//...@", text).splitlines() for text in (before, after))
    lines = list(_in_context(old, new) if file == SETTINGS_FILE else _as_collections(old, new))
    rest = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([Line(" ", f"... and {rest:,} more lines")] if rest > 0 else [])]


def _in_context(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """Yield changed lines with the lines around them."""
    for line in list(difflib.unified_diff(old, new, lineterm="", n=CONTEXT))[2:]:
        yield Line(" ", "...") if line.startswith("@@") else Line(line[0], line[1:])


def _as_collections(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    """Yield the lines that only one of two files has."""
    before, after = Counter(old), Counter(new)
    yield from (Line("-", line) for line in (before - after).elements())
    yield from (Line("+", line) for line in (after - before).elements())

"""What a campaign's files hold, one record for each kind of line."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

Pair: TypeAlias = tuple[str, str]  # (topic, document)
GRADES = (0, 1, 2)  # of gold: irrelevant, relevant, highly relevant
KINDS = ("text", "html")  # of documents
USES = ("gold", "qualification", "monitoring")  # of fixed sets


class Topic(NamedTuple):
    """What somebody wants to know."""

    name: str
    query: str
    description: str
    narrative: str


class Document(NamedTuple):
    """What may or may not tell it."""

    name: str
    title: str
    kind: str  # text, html
    content: str


class Gold(NamedTuple):
    """How relevant a document is known to be, and why: the judge who erred is shown the reason."""

    grade: int
    reason: str


class FixedSet(NamedTuple):
    """Documents of one topic that the campaign's files put together; all others are put together as judges come."""

    name: str
    use: str  # gold, qualification, monitoring
    topic: str
    documents: tuple[str, ...]

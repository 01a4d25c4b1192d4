"""What a campaign's files hold, one record for each kind of line."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from adjudge.errors import AdjudgeError

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


# What the studio answers when it does not do what was asked.


class Refused(AdjudgeError):  # noqa: N818
    """A request that cannot be granted as things are: a word for programs, a sentence for people."""

    def __init__(self, status: int, code: str, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.code, self.more = status, code, more


class Unsaved(Refused):
    """What was asked could not be written, so it did not happen: it may be asked again."""

    def __init__(self, why: str) -> None:
        super().__init__(503, "unsaved", f"Nothing was saved: {why}. Please try again.")

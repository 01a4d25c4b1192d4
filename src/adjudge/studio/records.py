"""Records that the whole studio shares: the lines of a campaign's files, and refusals."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

from adjudge.errors import AdjudgeError

Pair: TypeAlias = tuple[str, str]  # (topic, document)
GRADES = (0, 1, 2)  # of gold: irrelevant, relevant, highly relevant
KINDS = ("text", "html")  # of documents
USES = ("gold", "qualification", "monitoring")  # of fixed sets


class Topic(NamedTuple):
    """What a user searches for."""

    name: str
    query: str
    description: str
    narrative: str


class Document(NamedTuple):
    """What is judged for a topic."""

    name: str
    title: str
    kind: str  # text, html
    content: str


class Gold(NamedTuple):
    """The known grade of a document for a topic, and the reason, which judges see after a mistake."""

    grade: int
    reason: str


class FixedSet(NamedTuple):
    """A set of documents of one topic in sets.csv; the studio makes all other sets when judges come."""

    name: str
    use: str  # gold, qualification, monitoring
    topic: str
    documents: tuple[str, ...]

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of topic and document in the set."""
        return tuple((self.topic, document) for document in self.documents)


class Refused(AdjudgeError):  # noqa: N818
    """A request that the studio refuses: an HTTP status, a code for programs, a sentence for people."""

    def __init__(self, status: int, code: str, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.code, self.more = status, code, more


class Unsaved(Refused):
    """A change that could not be written, so nothing was changed; it can be tried again."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(503, "unsaved", f"Nothing was saved: {reason}. Please try again.")

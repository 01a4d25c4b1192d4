"""What the studio answers when it does not do what was asked."""

from __future__ import annotations

from typing import Any

from adjudge.errors import AdjudgeError


class Refused(AdjudgeError):  # noqa: N818
    """A request that cannot be granted as things are: a word for programs, a sentence for people."""

    def __init__(self, status: int, code: str, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.code, self.more = status, code, more


class Unsaved(Refused):
    """What was asked could not be written, so it did not happen: it may be asked again."""

    def __init__(self, why: str) -> None:
        super().__init__(503, "unsaved", f"Nothing was saved: {why}. Please try again.")

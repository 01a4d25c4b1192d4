"""Everything that is wrong with a campaign's files, gathered so that it can be put right in one go."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.errors import InputError

SHOWN = 50  # problems that are printed; who has more of them has one cause for most


class CampaignProblems(InputError):  # noqa: N818
    """A campaign's files are not what they should be: every problem, with its file and line."""

    def __init__(self, problems: Sequence[str], where: str) -> None:
        rest = len(problems) - SHOWN
        lines = [*problems[:SHOWN], *([f"and {rest:,} more"] if rest > 0 else [])]
        head = "there is a problem" if len(problems) == 1 else f"there are {len(problems):,} problems"
        super().__init__("\n  ".join([head, *lines]), where)
        self.problems = tuple(problems)


class Problems:
    """What was found so far."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, what: str, file: str, line: int | None = None) -> None:
        """Note a problem: what, in which file, and in which line."""
        self.found.append(f"{file}: {what}" if line is None else f"{file}, line {line}: {what}")

    def refuse(self, where: str) -> None:
        """Raise all that was found, if anything was."""
        if self.found:
            raise CampaignProblems(self.found, where)

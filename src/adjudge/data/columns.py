"""Which column plays which role: found by its usual name, or named by the user."""

import warnings
from collections.abc import Mapping, Sequence

from adjudge.errors import AdjudgeWarning, InputError, quote, quoted

USUAL: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "task", "doc", "document", "question", "unit"),
    "judge": ("judge", "worker", "annotator", "coder", "rater", "user"),
    "label": ("label", "rating", "answer", "vote"),
    "topic": ("topic", "query"),
    "weight": ("weight",),
    "time": ("time", "timestamp"),
}
NEEDED = ("item", "judge", "label")


def find_columns(
    names: Sequence[str], chosen: Mapping[str, str | None], source: str, needed: Sequence[str] = NEEDED
) -> dict[str, str]:
    """Return role -> column: every needed role has one, and in a table of judgments others may."""
    taken = [column for column in chosen.values() if column is not None]
    wanted = USUAL if needed == NEEDED else needed
    found = {role: chosen.get(role) or _find(role, names, taken, source, role in needed) for role in wanted}
    roles = {role: column for role, column in found.items() if column is not None}
    _refuse_unknown(roles, names, source)
    _refuse_shared(roles, source)
    return roles


def is_usual(column: str, role: str) -> bool:
    """Whether a column's name is a usual one for the role: ``worker``, ``Worker ID``, ``workerId``."""
    return _plain(column) in USUAL[role]


def _find(role: str, names: Sequence[str], taken: Sequence[str], source: str, needed: bool) -> str | None:
    """Return the column whose name is usual for a role, rather one that is not taken for another."""
    usual = [name for name in names if is_usual(name, role)]
    candidates = [name for name in usual if name not in taken] or (usual if needed else [])
    if len(candidates) > 1 and needed:
        raise InputError(f"{quoted(candidates)} could each be the {role}: choose one with --{role}", source)
    if len(candidates) > 1:
        what = f"{source}: {quoted(candidates)} could each be the {role}; none is used (choose one with --{role})"
        warnings.warn(what, AdjudgeWarning, stacklevel=2)
        return None
    if needed and not candidates:
        raise InputError(
            f"no column for the {role} (columns: {quoted(names)}); usual names are "
            f"{', '.join(USUAL[role])}, or name it with --{role}",
            source,
        )
    return candidates[0] if candidates else None


def _refuse_unknown(roles: Mapping[str, str], names: Sequence[str], source: str) -> None:
    """Refuse a column that is not there."""
    for role, column in roles.items():
        if column not in names:
            raise InputError(f"there is no column {quote(column)} for the {role} (columns: {quoted(names)})", source)


def _refuse_shared(roles: Mapping[str, str], source: str) -> None:
    """Refuse one column in two roles."""
    for column in roles.values():
        sharing = [role for role, name in roles.items() if name == column]
        if len(sharing) > 1:
            raise InputError(f"column {quote(column)} is named as both {' and '.join(sharing)}", source)


def _plain(column: str) -> str:
    """Return a column's name in lower case without a trailing id: ``Worker_ID`` is ``worker``."""
    return column.strip().lower().removesuffix("id").rstrip("_- ") or column

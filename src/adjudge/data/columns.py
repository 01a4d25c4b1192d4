"""Which column plays which role: found by its usual name, or named by the user.

A name counts in any case and with or without a trailing "id": ``worker``, ``Worker ID`` and ``workerId`` are the same.
"""

import warnings
from collections.abc import Iterable, Mapping, Sequence

from adjudge.errors import AdjudgeWarning, InputError, option_with, quote, quoted

USUAL: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "task", "doc", "document", "question", "unit"),
    "judge": ("judge", "worker", "annotator", "coder", "rater", "user"),
    "label": ("label", "rating", "answer", "vote"),
    "topic": ("topic", "query"),
    "weight": ("weight",),
    "time": ("time", "timestamp"),
}
ALSO: Mapping[str, tuple[str, ...]] = {  # names that count only if no column has a usual one
    "item": ("docno", "passage", "instance", "example", "sample"),
    "judge": ("participant", "prolific_pid", "assessor", "labeler", "labeller", "reviewer", "evaluator", "grader"),
    "label": ("grade", "relevance", "rel", "judgment", "judgement", "verdict"),
    "topic": ("qid",),
}
NEEDED = ("item", "judge", "label")
SETS = ("set", "assignment")  # columns that tell the rankings of a judge in a topic apart

# Names in tables of pairs of a topic and a document, the most likely first.
TOPIC = ("topic", "topic_id", "qid", "query_id", "query", "question")
DOCUMENT = ("document", "doc", "docno", "doc_id", "docid", "passage", "item", "id")
GRADE = ("grade", "label", "relevance", "gold", "rel", "rating")

# The judgments that the studio exports. An empty label there means that the judge could not tell.
EXPORT = ("topic", "document", "judge", "label", "rank", "seconds", "comment", "use", "at", "assignment")

# The labels of the consensus that the studio exports: 0 or 1, with their uncertainty.
EXPORTED_LABELS = ("topic", "document", "label", "probability", "judgments", "entropy")


def find_columns(
    names: Sequence[str], chosen: Mapping[str, str | None], source: str, needed: Sequence[str] = NEEDED
) -> dict[str, str]:
    """Find the column of every role.

    Parameters
    ----------
    names
        The columns of the table.
    chosen
        Role -> column, for the columns that the user named; None for the others.
    source
        What messages call the table.
    needed
        The roles without which the table is refused. Tables of judgments may have the other roles of ``USUAL`` as well.

    Returns
    -------
    dict
        Role -> column.

    Examples
    --------
    >>> find_columns(["doc_id", "Worker ID", "vote", "query"], {}, "labels.csv")
    {'item': 'doc_id', 'judge': 'Worker ID', 'label': 'vote', 'topic': 'query'}
    """
    named = [column for column in chosen.values() if column is not None]
    wished = USUAL if needed == NEEDED else needed
    columns = {role: chosen.get(role) or _find(role, names, named, source, role in needed) for role in wished}
    roles = {role: column for role, column in columns.items() if column is not None}
    _refuse_unknown(roles, names, source)
    _refuse_shared(roles, source)
    return roles


def is_usual(column: str, role: str) -> bool:
    """Whether a column's name is a usual one for the role: ``worker``, ``Worker ID``, ``workerId``."""
    return _plain(column) in USUAL[role]


def has_column(role: str, names: Sequence[str]) -> bool:
    """Whether some column has a name that is known for a role."""
    return bool(_candidates(role, names))


def set_columns(names: Sequence[str]) -> list[str]:
    """Return the columns that tell the rankings of a judge in a topic apart: the set, the assignment, or both.

    >>> set_columns(["topic", "document", "rank", "Assignment ID"])
    ['Assignment ID']
    """
    return [name for name in names if _plain(name) in SETS]


def topic_column(names: Sequence[str]) -> str | None:
    """Return the column of topics, None if there is none or if several columns could be it."""
    candidates = _candidates("topic", names)
    return candidates[0] if len(candidates) == 1 else None


def match_columns(names: Iterable[str], aliases: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return role -> column, each with the first of its aliases that is a column's name in any case.

    >>> match_columns(["Doc-ID", "Grade", "note"], {"document": DOCUMENT, "grade": GRADE})
    {'document': 'Doc-ID', 'grade': 'Grade'}
    """
    columns = {_underscored(name): name for name in reversed([*names])}
    first = {role: next((alias for alias in each if alias in columns), None) for role, each in aliases.items()}
    return {role: columns[alias] for role, alias in first.items() if alias is not None}


def _candidates(role: str, names: Sequence[str]) -> list[str]:
    """Return the columns with a usual name for a role or, if there are none, those with a less usual one."""
    first = [name for name in names if is_usual(name, role)]
    return first or [name for name in names if {name.strip().lower(), _plain(name)} & {*ALSO.get(role, ())}]


def _find(role: str, names: Sequence[str], named: Sequence[str], source: str, needed: bool) -> str | None:
    """Return the column for a role, preferably one that has no other role."""
    candidates = _candidates(role, names)
    candidates = [name for name in candidates if name not in named] or (candidates if needed else [])
    if needed and len(candidates) != 1:
        raise _column_error(role, names, candidates, source)
    if len(candidates) > 1:
        message = f"{source}: {quoted(candidates)} could each be the {role}; none is used (choose one with --{role})"
        warnings.warn(message, AdjudgeWarning, stacklevel=2)
    return candidates[0] if len(candidates) == 1 else None


def _column_error(role: str, names: Sequence[str], candidates: Sequence[str], source: str) -> InputError:
    """Return the error about a needed role with no column or with several."""
    if candidates:
        return InputError(f"{quoted(candidates)} could each be the {role}: choose one with --{role}", source)
    usual_names = ", ".join((*USUAL[role], *ALSO.get(role, ())))
    problem = f"no column for the {role} (columns: {quoted(names)}); usual names are {usual_names}"
    recognised = any(_candidates(other, names) for other in USUAL)
    hint = "" if recognised or not names else "; if the first row holds data, add a header above it"
    if role == "judge" and not _candidates("label", names):
        hint = f"; if every other column is a judge, give {option_with('--input-format', 'wide')}"
    return InputError(f"{problem}, or name it with --{role}{hint}", source)


def _refuse_unknown(roles: Mapping[str, str], names: Sequence[str], source: str) -> None:
    """Refuse a column that does not exist."""
    for role, column in roles.items():
        if column not in names:
            raise InputError(f"there is no column {quote(column)} for the {role} (columns: {quoted(names)})", source)


def _refuse_shared(roles: Mapping[str, str], source: str) -> None:
    """Refuse a column that has two roles."""
    for column in roles.values():
        sharing = [role for role, name in roles.items() if name == column]
        if len(sharing) > 1:
            raise InputError(f"column {quote(column)} is named as both {' and '.join(sharing)}", source)


def _underscored(column: str) -> str:
    """Return a column's name in lower case with underscores between words."""
    return column.strip().lower().replace(" ", "_").replace("-", "_")


def _plain(column: str) -> str:
    """Return a column's name in lower case without a trailing id: ``Worker_ID`` is ``worker``."""
    return column.strip().lower().removesuffix("id").rstrip("_- ") or column

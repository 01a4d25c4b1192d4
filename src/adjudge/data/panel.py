"""``Panel``: what is known about the judges: their kind (person, expert, machine), family, model and prompt.

Facts come from a table with one row per judge, or from columns of the judgments themselves that say the same in all
rows of a judge. A family is a group of judges that share a model or a source. A judge without a family belongs to the
family of their model, and without a model they are a family of their own.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from adjudge.arrays import Codes
from adjudge.data.columns import find_columns, match_columns
from adjudge.data.source import Source
from adjudge.errors import AdjudgeWarning, UsageError, quote, quoted
from adjudge.kernels.block import NO_FAMILIES

Facts: TypeAlias = tuple[str | None, ...]  # (J)

PERSON, EXPERT, MACHINE = KINDS = ("person", "expert", "machine")
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    PERSON: ("person", "people", "persons", "human", "humans", "worker", "workers", "crowd", "crowdworker"),
    EXPERT: ("expert", "experts", "editor", "editors", "gold", "gold_annotator", "assessor"),
    MACHINE: ("machine", "machines", "llm", "llms", "model", "models", "ai", "automatic", "auto", "bot"),
}
KIND_OF = {spelling: kind for kind, spellings in SPELLINGS.items() for spelling in spellings}
FIELDS = ("kind", "family", "model", "prompt")
COLUMNS: Mapping[str, tuple[str, ...]] = {  # of a table of judges
    "kind": ("kind", "judge_kind", "type", "judge_type"),
    "family": ("family", "judge_family"),
    "model": ("model", "judge_model"),
    "prompt": ("prompt", "judge_prompt"),
}
JUDGMENT_COLUMNS: Mapping[
    str, tuple[str, ...]
] = {  # of a table of judgments, where a plain name may mean something else
    "kind": ("judge_kind", "judge_type", "kind"),
    "family": ("judge_family", "family"),
    "model": ("judge_model", "model"),
    "prompt": ("judge_prompt", "prompt"),
}


@dataclass(frozen=True)
class Panel:
    """What is known about each judge, in the order of the judges; the record is immutable.

    Examples
    --------
    >>> from adjudge.data.read import read
    >>> table = pl.DataFrame({"item": ["a", "a", "b"], "judge": ["ann", "g1", "g1"], "label": [0, 1, 1]})
    >>> judges = pl.DataFrame({"judge": ["g1", "ann"], "kind": ["LLM", "human"], "model": ["gpt", None]})
    >>> read(table, judges=judges).panel
    Panel(kind=('person', 'machine'), family=('ann', 'gpt'), model=(None, 'gpt'), prompt=(None, None))
    """

    kind: Facts  # 'person', 'expert', 'machine', or None if it is unknown
    family: tuple[str, ...]  # the model if no family is given, else the judge
    model: Facts
    prompt: Facts

    def __len__(self) -> int:
        return len(self.kind)

    def of_kind(self, *kinds: str | None) -> Codes:
        """Return the positions of the judges of some kinds, ascending."""
        return np.flatnonzero([kind in kinds for kind in self.kind])

    def family_codes(self) -> tuple[Codes, tuple[str, ...]]:
        """Return the family of each judge as a code (J), and the names of the families in order of appearance."""
        names = tuple(dict.fromkeys(self.family))
        code = {name: f for f, name in enumerate(names)}
        return np.array([code[name] for name in self.family], np.int32), names

    def shared_families(self) -> Codes:
        """Return the family of each judge as a code (J), empty if there is one family, or none with two judges."""
        code, names = self.family_codes()
        return code if 1 < len(names) < len(self) else NO_FAMILIES

    def take(self, judges: Iterable[int]) -> Panel:
        """Return the facts of the judges at these positions, in this order."""
        rows = [int(j) for j in judges]
        kind, model, prompt = (tuple(facts[j] for j in rows) for facts in (self.kind, self.model, self.prompt))
        return Panel(kind, tuple(self.family[j] for j in rows), model, prompt)

    def columns(self, prefix: str = "") -> dict[str, pl.Series]:
        """Return the facts as named columns (J); model and prompt only if one of them is known."""
        facts = {"kind": self.kind, "family": self.family, "model": self.model, "prompt": self.prompt}
        present = {name: each for name, each in facts.items() if name in FIELDS[:2] or any(each)}
        return {prefix + name: pl.Series(prefix + name, each, dtype=pl.String) for name, each in present.items()}

    def describe(self) -> dict[str, str]:
        """Return property -> value: how many judges there are of each kind, and how many families."""
        kinds = {kind or "unknown": self.kind.count(kind) for kind in (*KINDS, None) if kind in self.kind}
        sizes = {name: self.family.count(name) for name in dict.fromkeys(self.family)}
        largest = sorted(sizes.items(), key=lambda each: -each[1])[:5]
        more = f", and {len(sizes) - len(largest):,} more" if len(sizes) > len(largest) else ""
        return {
            "kinds of judges": ", ".join(f"{count:,} {kind}" for kind, count in kinds.items()),
            "families": f"{len(sizes):,} ({', '.join(f'{quote(name)} {size:,}' for name, size in largest)}{more})",
        }


def panel_of(judges: Iterable[Any], facts: Mapping[str, Sequence[str | None]]) -> Panel:
    """Return the panel of named judges: a judge without a family has that of their model, or their own.

    >>> panel_of(["a", "b"], {"model": ["m", None]}).family
    ('m', 'b')
    """
    names = [str(name) for name in judges]
    kind, family, model, prompt = (tuple(facts.get(field) or (None,) * len(names)) for field in FIELDS)
    families = tuple(
        own_family or model_name or name for own_family, model_name, name in zip(family, model, names, strict=True)
    )
    return Panel(kind, families, model, prompt)


def match_panel(source: Source, judges: pl.Series, judge: str | None = None, before: Panel | None = None) -> Panel:
    """Read a table of judges, and match it to the judges of judgments.

    Parameters
    ----------
    source
        The table: a column of judges, and kind, family, model and prompt, of which one is enough.
    judges
        The names of the judges (J).
    judge
        The column of judges, if the table has it.
    before
        What is known already; the table has the last word where it says something.

    Returns
    -------
    Panel
        The facts of every judge. Judges without a row, and rows of judges who judged nothing, are warnings.
    """
    named = judge if judge in source.columns else None
    column = find_columns(source.columns, {"judge": named}, source.name, needed=("judge",))["judge"]
    columns = match_columns([name for name in source.columns if name != column], COLUMNS)
    if not columns:
        problem = f"no column says what the judges are (columns: {quoted(source.columns)})"
        raise source.wrong(f"{problem}: give one or more of {quoted(FIELDS)}")
    rows = _text(source, column)
    facts = {field: _text(source, name) for field, name in columns.items()}
    if "kind" in facts:
        facts["kind"] = _kinds(source, facts["kind"])
    position = {str(name): j for j, name in enumerate(judges.to_list())}
    first = _first_rows(source, column, rows, facts)
    _warn_of_others(source, rows, first, position, judges)
    matched = {position[name]: values for name, values in first.items() if name in position}
    merged = {}
    for field in FIELDS:
        earlier = before if before is not None and field != "family" else None
        old = (None,) * len(judges) if earlier is None else getattr(earlier, field)
        merged[field] = [matched.get(j, {}).get(field) or old[j] for j in range(len(judges))]
    if before is not None:
        earlier_families = _given_families(before, judges)
        merged["family"] = [new or old for new, old in zip(merged["family"], earlier_families, strict=True)]
    return panel_of(judges.to_list(), merged)


def panel_columns(
    source: Source, role_columns: Iterable[str], judge: Codes, judges: pl.Series
) -> tuple[Panel | None, dict[str, str]]:
    """Return what columns of a table of judgments say about the judges, and role -> column of those that are used.

    A column is used if it says the same in all rows of a judge. A column with a plain name, such as model or prompt,
    may be about something else: it also needs a judge with several judgments. A column of kinds may hold nothing else.

    Parameters
    ----------
    source
        The table of judgments.
    role_columns
        Columns that have another role.
    judge, judges
        The judge of each row (N), and their names (J).
    """
    used = {*role_columns}
    columns = match_columns([name for name in source.columns if name not in used], JUDGMENT_COLUMNS)
    facts: dict[str, list[str | None]] = {}
    ignored: list[str] = []
    for field, column in columns.items():
        values = _per_judge(source, column, judge, len(judges))
        if values is not None and field == "kind":
            values = _known_kinds(values)
        plain = not column.strip().lower().startswith("judge")
        if values is None or (plain and judge.size == len(judges)):
            ignored.append(column)
        elif any(values):
            facts[field] = values
    if ignored:
        single = len(ignored) == 1
        words = f"column {quoted(ignored)} does" if single else f"columns {quoted(ignored)} do"
        message = f"{source.name}: {words} not say one thing about each judge, and {'is' if single else 'are'} not used"
        warnings.warn(message, AdjudgeWarning, stacklevel=4)
    if not facts:
        return None, {}
    return panel_of(judges.to_list(), facts), {field: columns[field] for field in facts}


def extend_panel(old: Panel | None, new: Panel | None, position: Codes, judges: pl.Series) -> Panel | None:
    """Return the panel of old judges and new ones; what is known of an old judge stays.

    Parameters
    ----------
    old, new
        The two panels, None if nothing is known.
    position
        The position of each judge of ``new`` among all judges.
    judges
        The names of all judges, old ones first.
    """
    if old is None and new is None:
        return None
    names = [str(name) for name in judges.to_list()]
    merged: dict[str, list[str | None]] = {field: [None] * len(names) for field in FIELDS}
    if old is not None:
        for field in FIELDS:
            facts = _given_families(old, judges) if field == "family" else getattr(old, field)
            merged[field][: len(old)] = facts
    if new is not None:
        _fill(merged, new, position, judges)
    return panel_of(names, merged)


def _fill(merged: dict[str, list[str | None]], new: Panel, position: Codes, judges: pl.Series) -> None:
    """Fill in what a new panel says about judges of whom it was not known; warn once of a contradiction."""
    contradictions = []
    families = _given_families(new, judges.gather(position))
    for n, j in enumerate(position.tolist()):
        for field in FIELDS:
            fact = families[n] if field == "family" else getattr(new, field)[n]
            earlier = merged[field][j]
            if earlier is None:
                merged[field][j] = fact
            elif fact is not None and fact != earlier:
                contradictions.append(f"judge {quote(judges[j])}: {field} {quote(earlier)}, not {quote(fact)}")
    if contradictions:
        more = f" (and {len(contradictions) - 1:,} more)" if len(contradictions) > 1 else ""
        message = f"new judgments say something else about judges, and what was known stays: {contradictions[0]}{more}"
        warnings.warn(message, AdjudgeWarning, stacklevel=5)


def _given_families(panel: Panel, judges: pl.Series) -> list[str | None]:
    """Return the families of a panel, None for a judge who is a family of their own."""
    names = judges.cast(pl.String).to_list()
    return [None if family == name else family for family, name in zip(panel.family, names, strict=False)]


def _text(source: Source, column: str) -> list[str | None]:
    """Return a column as text without blanks around it, None where it is empty."""
    series = source.column(column)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        raise source.wrong(f"column {quote(column)} holds lists, records or objects, not one value per row")
    if series.dtype.is_float():
        integers = series.cast(pl.Int64, strict=False)
        series = integers if integers.cast(pl.Float64).eq_missing(series).all() else series
    return [value or None for value in series.cast(pl.String).str.strip_chars().to_list()]


def kind_named(text: str) -> str | None:
    """Return the kind that a word means, None if it means none.

    >>> kind_named("LLM"), kind_named("Gold annotator"), kind_named("cat")
    ('machine', 'expert', None)
    """
    return KIND_OF.get(text.strip().lower().replace(" ", "_").replace("-", "_"))


def _kinds(source: Source, values: Sequence[str | None]) -> list[str | None]:
    """Return the kinds of a column of a table of judges; another word is refused with its row."""
    for n, value in enumerate(values):
        if value is not None and kind_named(value) is None:
            problem = f"the kind of a judge is {quote(value)}: write {quoted(KINDS)}"
            raise source.wrong(f"{problem}, or leave it empty if it is unknown", n)
    return [None if value is None else kind_named(value) for value in values]


def _known_kinds(values: Sequence[str | None]) -> list[str | None] | None:
    """Return the kinds that words mean, None if one of them means no kind."""
    kinds = [None if value is None else kind_named(value) for value in values]
    unknown = [value for value, kind in zip(values, kinds, strict=True) if value is not None and kind is None]
    return None if unknown else kinds


def _first_rows(
    source: Source, column: str, rows: Sequence[str | None], facts: Mapping[str, Sequence[str | None]]
) -> dict[str, dict[str, str]]:
    """Return judge -> field -> fact; a judge with two different facts is refused."""
    by_judge: dict[str, dict[str, str]] = {}
    where: dict[tuple[str, str], int] = {}
    for n, name in enumerate(rows):
        if name is None:
            raise source.wrong(f"the judge (column {quote(column)}) is empty", n)
        earlier = by_judge.setdefault(name, {})
        for field, values in facts.items():
            fact = values[n]
            if fact is None:
                continue
            if earlier.setdefault(field, fact) != fact:
                row = source.row(where[name, field])
                problem = (
                    f"judge {quote(name)} has the {field} {quote(fact)} here and {quote(earlier[field])} in row {row}"
                )
                raise source.wrong(f"{problem}: keep one of them", n)
            where.setdefault((name, field), n)
    return by_judge


def _warn_of_others(
    source: Source, rows: Sequence[str | None], first: Mapping[str, Any], position: Mapping[str, int], judges: pl.Series
) -> None:
    """Warn of rows about judges who judged nothing, and of judges without a row; refuse a table of other judges."""
    idle = [name for name in first if name not in position]
    if len(idle) == len(first):
        problem = f"none of its {len(first):,} judges judged anything: this one is {quote(idle[0])}"
        raise source.wrong(f"{problem}, and judges are such as {quote(judges[0])}", rows.index(idle[0]))
    if idle:
        where = f"{source.name}, row {source.row(rows.index(idle[0]))}"
        message = f"{where}: judge {quote(idle[0])} judged nothing ({len(idle):,} such of {len(first):,}, ignored)"
        warnings.warn(message, AdjudgeWarning, stacklevel=4)
    missing = [name for name in position if name not in first]
    if missing:
        message = (
            f"{source.name}: {len(missing):,} of {len(position):,} judges have no row, such as {quote(missing[0])}"
        )
        warnings.warn(f"{message}; their kind is unknown", AdjudgeWarning, stacklevel=4)


def _per_judge(source: Source, column: str, judge: Codes, judges: int) -> list[str | None] | None:
    """Return what a column of judgments says of each judge (J), None if it says two things of one."""
    series = source.column(column)
    if series.dtype.is_nested() or series.dtype == pl.Object:
        return None
    table = pl.DataFrame({"judge": judge, "value": series.cast(pl.String).str.strip_chars()})
    pairs = table.filter((pl.col("value") != "").fill_null(False)).unique()
    if pairs.get_column("judge").n_unique() < pairs.height:
        return None
    values: list[str | None] = [None] * judges
    for j, value in pairs.iter_rows():
        values[j] = value
    return values


def judge_table(data: Mapping[Any, Any]) -> pl.DataFrame:
    """Return a mapping from judge to kind, or from judge to a mapping of facts, as a table of judges.

    >>> judge_table({"ann": "person", "g1": {"kind": "machine", "model": "gpt"}}).rows()
    [('ann', 'person', None, None, None), ('g1', 'machine', None, 'gpt', None)]
    """
    facts = [each if isinstance(each, Mapping) else {"kind": each} for each in data.values()]
    for name, each in zip(data, facts, strict=True):
        strange = [field for field in each if field not in FIELDS]
        if strange:
            problem = f"judges: {quote(strange[0])} of judge {quote(name)} is not one of {quoted(FIELDS)}"
            raise UsageError(problem)
    values = {field: [_as_text(each.get(field)) for each in facts] for field in FIELDS}
    return pl.DataFrame(
        {"judge": [str(name) for name in data], **values}, schema_overrides=dict.fromkeys(FIELDS, pl.String)
    )


def _as_text(value: Any) -> str | None:
    """Return a fact as text."""
    return None if value is None else str(value)

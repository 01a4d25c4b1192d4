"""Gold: documents whose grade is known, with the reason that a judge who erred is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adjudge.errors import quote
from adjudge.studio.campaign import topics as pool
from adjudge.studio.campaign.lines import Problems, is_qrels, qrels_rows, table_rows, text, whole
from adjudge.studio.campaign.topics import csv_text, described
from adjudge.studio.records import GRADES, Gold, Pair

FILE = "gold.csv"
COLUMNS = {
    **pool.POOL_COLUMNS,
    "grade": ("grade", "label", "relevance", "gold", "rel", "rating"),
    "reason": ("reason", "why", "explanation", "comment"),
}
NUMBERS = {str(grade): grade for grade in GRADES}


def read_gold(path: Path, problems: Problems, name: str | None = None) -> tuple[dict[Pair, Gold], dict[Pair, int]]:
    """Return the gold of a table or of qrels, and the line of each pair; what is wrong is noted."""
    file = name or str(path)
    given = text(path, problems, name)
    gold: dict[Pair, Gold] = {}
    lines: dict[Pair, int] = {}
    if given is None:
        return gold, lines
    if is_qrels(given):
        rows = qrels_rows(given, file, problems)
    else:
        rows = table_rows(given, file, problems, COLUMNS, ("topic", "document", "grade"))
    for line, values in rows:
        pair = values["topic"], values["document"]
        if pair in lines:
            problems.add(f"{described(pair)} is in line {lines[pair]} already", file, line)
        lines.setdefault(pair, line)
        if values["grade"] in NUMBERS:
            gold.setdefault(pair, Gold(NUMBERS[values["grade"]], whole(values.get("reason", ""))))
        else:
            problems.add(f"{described(pair)} has the grade {quote(values['grade'])}, expected 0, 1 or 2", file, line)
    return gold, lines


def gold_text(gold: Mapping[Pair, Gold]) -> str:
    """Return gold as the text of the campaign's file."""
    return csv_text(("topic", "document", "grade", "reason"), ((*pair, *known) for pair, known in gold.items()))

"""Gold: documents whose grade is known, with the reason that a judge who erred is shown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from adjudge.data import columns
from adjudge.data.files import checked_content
from adjudge.data.formats import read_text_rows
from adjudge.errors import Problems, quote
from adjudge.studio.campaign.topics import POOL_COLUMNS, csv_text, described, replace_surrogates
from adjudge.studio.records import GRADES, Gold, Pair

FILE = "gold.csv"
COLUMNS = {
    **POOL_COLUMNS,
    "grade": columns.GRADE,
    "reason": ("reason", "why", "explanation", "comment"),
}
NUMBERS = {str(grade): grade for grade in GRADES}


def read_gold(path: Path, problems: Problems, name: str | None = None) -> tuple[dict[Pair, Gold], dict[Pair, int]]:
    """Return the gold of a table or of qrels, and the line of each pair; what is wrong is noted."""
    file = name or str(path)
    content = checked_content(path, problems, name)
    gold: dict[Pair, Gold] = {}
    lines: dict[Pair, int] = {}
    if content is None:
        return gold, lines
    for line, values in read_text_rows(content, problems, COLUMNS, ("topic", "document", "grade")):
        pair = values["topic"], values["document"]
        if pair in lines:
            problems.add(f"{described(pair)} is in line {lines[pair]} already", file, line)
        lines.setdefault(pair, line)
        if values["grade"] in NUMBERS:
            gold.setdefault(pair, Gold(NUMBERS[values["grade"]], replace_surrogates(values.get("reason", ""))))
        else:
            problems.add(f"{described(pair)} has the grade {quote(values['grade'])}, expected 0, 1 or 2", file, line)
    return gold, lines


def gold_text(gold: Mapping[Pair, Gold]) -> str:
    """Return gold as the text of the campaign's file."""
    return csv_text(("topic", "document", "grade", "reason"), ((*pair, *known) for pair, known in gold.items()))

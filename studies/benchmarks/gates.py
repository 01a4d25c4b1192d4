"""Write the tables of docs/how-to/gates.md: the gates of paper 002 on every composition of five documents.

``--check`` writes nothing, and fails if the page differs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from adjudge.studio.gate_designer import compositions, design, solve
from adjudge.studio.settings import Gate

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "gates.md"
HEAD = (
    "grades",
    "worst",
    "best",
    "random",
    "all relevant",
    "all irrelevant",
    "85 % right",
    "95 % right",
    "can be passed",
)
SOLVED = ("grades", "binary", "NDCG", "refused", "random", "all relevant", "all irrelevant")


def tables() -> dict[str, str]:
    """Return the tables of the page by name."""
    designs = {name: "\n".join(_table(HEAD, _designs(Gate(ndcg_of=name)))) for name in ("printed", "attainable")}
    return designs | {"solved": "\n".join(_table(SOLVED, _solved()))}


def _designs(gate: Gate) -> Iterator[list[str]]:
    """Yield the rows of a gate, one per composition."""
    for grades in compositions(5):
        result = design(grades, gate)
        scores = [f"{score:.3f}" if score == score else "0/0" for score in (result.worst, result.best)]
        rates = [f"{rate:.1%}" for rate in (*result.false_accept.values(), *result.false_refuse.values())]
        void = any("even the worst" in warning for warning in result.warnings)
        verdict = "by nobody" if not result.feasible else "by any ranking" if void else "yes"
        yield [_grades_text(grades), *scores, *rates, verdict]


def _solved() -> Iterator[list[str]]:
    """Yield the thresholds that refuse at most one in twenty of the judges who are right 95 % of the time."""
    for grades in compositions(5):
        if design(grades, Gate()).feasible:
            solution = solve(grades, 0.05, 0.95, Gate())
            rates = [f"{rate:.1%}" for rate in (solution.false_refuse, *solution.false_accept.values())]
            yield [_grades_text(grades), f"{solution.binary:g}", f"{solution.ndcg:g}", *rates]


def _grades_text(grades: tuple[int, ...]) -> str:
    """Return a composition as text."""
    return " ".join(map(str, grades))


def _table(head: tuple[str, ...], rows: Iterator[list[str]]) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def page(text: str) -> str:
    """Return the page with its tables computed again."""
    for name, table in tables().items():
        first, last = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(first)
        text = before + first + table + "\n" + last + rest.partition(last)[2]
    return text


def main() -> None:
    """Write the page, or check it."""
    text = PAGE.read_text("utf-8")
    if "--check" not in sys.argv:
        PAGE.write_text(page(text), "utf-8")
    elif page(text) != text:
        sys.exit("docs/how-to/gates.md is out of step: python -m studies.benchmarks.gates")


if __name__ == "__main__":
    main()

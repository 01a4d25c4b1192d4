"""Measure `adjudge panel` on real and simulated panels, for docs/explanation/measured/panels.md.

The effective number of judges without gold is compared with the one by gold, on all shared sets with gold; the
constants OFFSET and SPREAD of ``diagnostics.effective_judges`` are the mean and the standard deviation of the
logarithm of their ratio. ``python -m studies.benchmarks.panels`` writes the page.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.stats import spearmanr

import adjudge
from adjudge.arrays import Codes
from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments
from adjudge.diagnostics.effective_judges import (
    OFFSET,
    SPREAD,
    EffectiveJudges,
    Estimate,
    effective_by_gold,
    effective_by_judgments,
    fit_independent,
)
from adjudge.diagnostics.panel import panel
from adjudge.diagnostics.stand_in import stand_ins
from adjudge.errors import AdjudgeError
from adjudge.inference.correlation import effective_judges
from studies.benchmarks.claim import SHARED
from studies.markdown import table

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "measured" / "panels.md"
FEWEST_GOLD, MOST = 50, 300_000  # gold items and judgments of a set that is used
RUNS, ITEMS, JUDGES = 60, 300, 10  # of the simulated panels
CORRELATIONS = (0.05, 0.1, 0.2, 0.4)
ALTERNATIVE = (
    ("alt_framing", 0.15, False),
    ("alt_cebab_aspects", 0.1, False),
    ("alt_lesion", 0.15, True),
    ("pandalm", 0.1, False),
)


class Set(NamedTuple):
    """A set with gold."""

    name: str
    machines: bool
    judgments: Judgments
    gold: Codes


def sets() -> Iterator[Set]:
    """Yield the shared sets with gold; of panels, the machines, because their gold may be by the people."""
    folders = [*sorted((SHARED / "data/panels").iterdir()), *sorted((SHARED / "data").iterdir())]
    for folder in folders:
        labels, gold, judges = (folder / f"{name}.csv" for name in ("labels", "gold", "judges"))
        if not labels.exists() or not gold.exists():
            continue
        try:
            table = adjudge.read(labels, judges=judges if judges.exists() else None, repeats="drop")
            if len(table) > MOST:
                continue
            table, truth = read_gold(gold, table)
        except AdjudgeError as error:
            print(f"{folder.name} is left out: {error}", file=sys.stderr)
            continue
        if judges.exists():
            machines = table.panel.of_kind("machine") if table.panel is not None else []
            table = table.take(np.flatnonzero(np.isin(table.judge, machines)))
        if (truth >= 0).sum() >= FEWEST_GOLD:
            yield Set(folder.name, judges.exists(), table, truth)


def _numbers(each: Set) -> tuple[EffectiveJudges, EffectiveJudges, float] | None:
    """Return the effective number by gold and by agreement, and the latter before its correction."""
    try:
        fitted = fit_independent(each.judgments)
        count = np.diff(each.judgments.start).astype(float)
        raw = float(effective_judges(count[count > 1], fitted.correlation).mean())
        return effective_by_gold(each.judgments, each.gold), effective_by_judgments(each.judgments, fitted), raw
    except AdjudgeError as error:
        print(f"{each.name} is left out: {error}", file=sys.stderr)
        return None


def _effective_section(measured: list[Set]) -> str:
    """Return the section about real sets."""
    rows, ratios, covered = [], [], 0
    for each in measured:
        numbers = _numbers(each)
        if numbers is None:
            continue
        by_gold, by_agreement, raw = numbers
        inside = by_agreement.number.low <= by_gold.number.value <= by_agreement.number.high
        covered += inside
        ratios.append(np.log(by_gold.number.value / raw))
        kind = "machines" if each.machines else "crowd"
        spans = (_span(by_gold.number), _span(by_agreement.number))
        rows.append((each.name, kind, f"{by_gold.judgments:.1f}", *spans, "yes" if inside else "no"))
        print(rows[-1], file=sys.stderr)
    head = ("set", "judges", "judgments per item", "by gold", "by agreement", "covered")
    mean, spread = float(np.mean(ratios)), float(np.std(ratios, ddof=1))
    return (
        "## The effective number of judges on real sets\n\n"
        f"{table(head, rows)}\n"
        f"The interval by agreement holds the number by gold in {covered} of {len(rows)} sets. Before correction, the "
        f"logarithm of the ratio (by gold / by agreement) has the mean {mean:+.2f} and the standard deviation "
        f"{spread:.2f}; the correction uses {OFFSET:+.2f} and {SPREAD:.2f}. The same sets gave the correction and are "
        "covered here, so that the share is on the high side.\n"
    )


def _simulated_section() -> str:
    """Return the section about simulated panels."""
    rows = []
    for correlation in CORRELATIONS:
        true, inside, wide = JUDGES / (1 + (JUDGES - 1) * correlation), np.zeros(2), np.zeros(2)
        for seed in range(RUNS):
            sizes = {"items": ITEMS, "people": 0, "families": 1, "machines": JUDGES}
            drawn = adjudge.simulate("panel", seed, **sizes, within=correlation, between=correlation)
            by_agreement = effective_by_judgments(drawn.judgments, fit_independent(drawn.judgments))
            for n, result in enumerate((effective_by_gold(drawn.judgments, drawn.truth), by_agreement)):
                inside[n] += result.number.low <= true <= result.number.high
                wide[n] += result.number.high - result.number.low
        shares = [f"{share:.0%}" for share in inside / RUNS]
        widths = [f"{width:.1f}" for width in wide / RUNS]
        rows.append((correlation, f"{true:.1f}", shares[0], widths[0], shares[1], widths[1]))
        print(rows[-1], file=sys.stderr)
    head = ("correlation", "true number", "gold: covered", "gold: width", "agreement: covered", "agreement: width")
    return (
        f"## Coverage on simulated panels\n\n{JUDGES} machines that are right in 75 % of {ITEMS} items, with errors of "
        f"a known correlation ({RUNS} panels each). Intervals are 90 % intervals.\n\n{table(head, rows)}"
    )


def _value_section(measured: list[Set]) -> str:
    """Return the section about values of judges."""
    rows = []
    for each in measured:
        if not each.machines or len(np.unique(each.judgments.judge)) < 4:
            continue
        with_gold, without = panel(each.judgments, each.gold).values, panel(each.judgments).values
        if with_gold is None or without is None or with_gold.loss_before is None:
            continue
        judged = np.unique(each.judgments.judge)
        rank = float(spearmanr(with_gold.value[judged], without.value[judged]).statistic)
        after = with_gold.loss_before if with_gold.loss_without is None else with_gold.loss_without
        losses = f"{with_gold.loss_before:.3f}", f"{after:.3f}"
        rows.append((each.name, judged.size, with_gold.dropped.size, *losses, f"{rank:+.2f}"))
        print(rows[-1], file=sys.stderr)
    head = ("set", "machines", "left out", "log loss before", "log loss after", "rank correlation with entropy")
    return (
        "## The value of judges\n\nJudges are left out by one half of the gold items, and the log loss is that of the "
        "other half. The last column is the rank correlation of the value by gold with the value without gold (the "
        "change of the entropy): it is often negative, which is why nobody is chosen without gold.\n\n"
        f"{table(head, rows)}"
    )


def _stand_in_section() -> str:
    """Return the section about the alternative annotator test."""
    rows = []
    for name, epsilon, ordinal in ALTERNATIVE:
        folder = SHARED / "data/panels" / name
        judgments = adjudge.read(folder / "labels.csv", judges=folder / "judges.csv", ordinal=ordinal)
        for each in stand_ins(judgments, epsilon):
            rates = f"{each.winning_rate:.2f}", f"{each.advantage:.2f}"
            rows.append((name, each.judge, epsilon, *rates, each.people, each.items, "yes" if each.passes else "no"))
    head = ("set", "machine", "epsilon", "winning rate", "advantage", "people", "items", "may stand in")
    return (
        "## May a machine stand in for a person?\n\nThe alternative annotator test of Calderon, Reichart and Dror "
        "(2025). The winning rates and advantage probabilities of the first three sets are those that the authors "
        f"print, for all sixteen machines (`tests/diagnostics/test_stand_in.py`).\n\n{table(head, rows)}"
    )


def _span(estimate: Estimate) -> str:
    """Return a number with its interval."""
    return f"{estimate.value:.1f} ({estimate.low:.1f} to {estimate.high:.1f})"


def main() -> None:
    """Write the page."""
    warnings.simplefilter("ignore")
    measured = list(sets())
    parts = [
        "# Measured: panels\n\nThis page is written by `python -m studies.benchmarks.panels`. "
        "[Panels](../../how-to/panel.md) explains the command.\n",
        _effective_section(measured),
        _simulated_section(),
        _value_section(measured),
        _stand_in_section(),
    ]
    PAGE.write_text("\n".join(part.rstrip("\n") + "\n" for part in parts), "utf-8")


if __name__ == "__main__":
    main()

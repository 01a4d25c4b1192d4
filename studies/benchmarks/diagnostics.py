"""Claim: changes and copying are detected, and few judges are reported without cause.

Crowds are simulated, so it is known which judges changed and which copied. Every crowd is fitted (`dawid-skene`), and
the diagnostics see only the judgments. All settings are in the tables; a row sums over its crowds. The tuning
constants of the diagnostics (the prior of changes, the level at which they are reported, the share of copying for
which the test is optimal) were chosen on crowds of the same kinds with other seeds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.data import simulation
from adjudge.diagnostics.collusion import COPYING, FEWEST_SHARED, LEVEL
from adjudge.diagnostics.leave_out import item_logs
from adjudge.diagnostics.pair_test import find_meetings, pair_tests
from adjudge.metrics.significance import q_values
from studies.benchmarks.claim import DATA, Claim

MODEL = "dawid-skene"
SERIES, PER_ITEM, CHANGING, JUDGES = 200, 5, 8, 40
DRIFTS = 20  # crowds per row
COPIES = 20
SURE = 1e9  # pseudo-judgments of a known matrix
FRESH = 20_000  # the first seed; smaller ones were used for tuning
NEAR = 0.1  # share of a series: a change within this distance counts as located


class Switch(NamedTuple):
    """How judges change: specificity and sensitivity before and after, and the accuracy of all others."""

    before: tuple[float, float]
    after: tuple[float, float]
    crowd: float = 0.9

    def __str__(self) -> str:
        sides = (f"{a:g}" if a == b else f"specificity {a:g}, sensitivity {b:g}" for a, b in (self.before, self.after))
        return " to ".join(sides)


SWITCHES = (
    Switch((0.9, 0.9), (0.6, 0.6)),
    Switch((0.9, 0.9), (0.6, 0.6), crowd=0.8),
    Switch((0.9, 0.9), (0.65, 0.65)),
    Switch((0.9, 0.9), (0.7, 0.7)),
    Switch((0.85, 0.85), (0.7, 0.7)),
    Switch((0.6, 0.6), (0.9, 0.9)),
    Switch((0.95, 0.65), (0.65, 0.95)),
    Switch((0.9, 0.9), (0.9, 0.9)),
)


def changing(seed: int, switch: Switch) -> tuple[adjudge.Judgments, Codes]:
    """Return a crowd of 40 judges of whom the first 8 change half-way, and the middle of each series (J)."""
    rng, items = np.random.default_rng(seed), JUDGES * SERIES // PER_ITEM
    truth, panel = rng.integers(2, size=items), simulation.panels(rng, items, JUDGES, PER_ITEM)
    when = np.repeat(rng.permutation(items)[:, None], PER_ITEM, axis=1)
    judge, moment, item = panel.ravel(), when.ravel(), np.repeat(np.arange(items, dtype=np.int32), PER_ITEM)
    count = np.bincount(judge, minlength=JUDGES)
    order, position = np.lexsort((moment, judge)), np.empty(judge.size, np.int64)
    position[order] = np.arange(judge.size) - (np.cumsum(count) - count)[judge[order]]
    late = position >= (count // 2)[judge]
    steady = np.full((2, 2), switch.crowd)
    side = np.where((judge < CHANGING)[:, None], np.stack([switch.before, switch.after])[late.astype(int)], steady[0])
    right = rng.random(judge.size) < side[np.arange(judge.size), truth[item]]
    label = np.where(right, truth[item], 1 - truth[item])
    shape = np.broadcast_to(np.eye(2), (JUDGES, 2, 2))
    return simulation.named_judgments(item, judge, label, shape, time=pl.Series("time", moment)), count // 2


def drifted(switch: Switch) -> tuple[str, ...]:
    """Return a row of the table of changes."""
    reported, near, covered, wrongly, out, out_steady = [], [], [], [], [], []
    for seed in range(FRESH, FRESH + DRIFTS):
        judgments, middle = changing(seed, switch)
        fit = adjudge.fit(judgments, MODEL)
        result, chart = adjudge.drift(fit, judgments), adjudge.control_chart(fit, judgments)
        flags = np.array([bool(flag) for flag in chart.flags])
        changes = [change for change in result.changes[:CHANGING] if change is not None]
        reported += result.flagged[:CHANGING].tolist()
        apart = [abs(change.position - at) / SERIES for change, at in zip(changes, middle, strict=False)]
        near += [named and far <= NEAR for named, far in zip(result.flagged, apart, strict=False)]
        covered += [
            c.low <= at <= c.high for c, at, named in zip(changes, middle, result.flagged, strict=False) if named
        ]
        wrongly += result.flagged[CHANGING:].tolist()
        out += flags[chart.judge < CHANGING].tolist()
        out_steady += flags[chart.judge >= CHANGING].tolist()
    if switch.before == switch.after:
        wrongly, out_steady = reported + wrongly, out + out_steady
        return (str(switch), f"{switch.crowd:g}", "-", "-", "-", share(wrongly), "-", "-", share(out_steady))
    discoveries = [False] * sum(reported) + [True] * sum(wrongly)
    numbers = (reported, near, covered, wrongly, discoveries, out, out_steady)
    return (str(switch), f"{switch.crowd:g}", *map(share, numbers))


def share(hits: list[Any]) -> str:
    """Return the share of hits in percent, - if there are none."""
    return f"{100 * np.mean(hits):.1f} %" if hits else "-"


def drifts() -> Claim:
    """Detect changes of every kind."""
    rows = [printed(drifted(switch)) for switch in SWITCHES]
    how = (
        f"{DRIFTS} crowds per row of {JUDGES} judges with {SERIES} judgments each, two labels, {PER_ITEM} judges per "
        f"item. {CHANGING} judges change half-way; the accuracy of the others is in the second column. Judges are "
        "reported at an expected false discovery rate of 10 %. Goals: if the accuracy drops from .9 to .6, 90 % are "
        "reported within 10 % of the series, and fewer than 5 % of the judges who did not change are reported. The "
        "last two columns are batches of 25 judgments outside the judge's own limits in a control chart."
    )
    head = (
        "accuracy changes",
        "crowd",
        "reported",
        "reported within 10 % of the series",
        "90 % interval contains the change",
        "reported among those who do not change",
        "false discoveries",
        "batches out of limits, changing judges",
        "batches out of limits, other judges",
    )
    return Claim("Changes of quality", how, head, rows)


class Crowd(NamedTuple):
    """Judgments, the pairs of copying judges (smaller code first), and the true parameters."""

    judgments: adjudge.Judgments
    copying_pairs: set[tuple[int, ...]]
    prevalence: Floats
    confusion: Floats

    def detectable(self, least: int = FEWEST_SHARED) -> set[tuple[int, ...]]:
        """Return the pairs that the test reports with the true prevalence and matrices instead of estimates."""
        block = self.judgments.block()
        pairs, logs = find_meetings(block, least), item_logs(block, self.prevalence, self.confusion)
        result = pair_tests(block, logs, pairs, SURE * self.confusion, COPYING)
        named = q_values(result.p) <= LEVEL
        return set(zip(pairs.first[named].tolist(), pairs.second[named].tolist(), strict=True))


class Copying(NamedTuple):
    """A crowd with pairs of judges of whom one copies."""

    items: int
    judges: int
    labels: int
    colluders: float  # share of judges in pairs
    copying: float

    def crowd(self, seed: int) -> Crowd:
        """Simulate the crowd."""
        drawn = adjudge.simulate("colluding", seed, **self._asdict(), per_item=PER_ITEM)
        copying_pairs = {tuple(sorted(pair)) for pair in np.asarray(drawn.colluders).tolist()}
        return Crowd(drawn.judgments, copying_pairs, drawn.prevalence, drawn.confusion)

    def __str__(self) -> str:
        pairs = max(round(self.colluders * (self.judges // 2)), 1)
        return f"{pairs} pairs, one copies {self.copying:.0%} from the other"


class Ring(NamedTuple):
    """A crowd with a ring of judges who copy from the first of them on an item."""

    items: int
    judges: int
    labels: int
    size: int
    copying: float

    def crowd(self, seed: int) -> Crowd:
        """Simulate the crowd; all pairs of the ring copy."""
        rng = np.random.default_rng(seed)
        truth, prevalence = simulation.draw_truth(rng, self.items, self.labels)
        matrix = simulation.draw_confusion(rng, self.judges, self.labels, 0.8)
        judge = simulation.panels(rng, self.items, self.judges, PER_ITEM)
        label = simulation.draw_labels(rng, matrix, judge, truth[:, None])
        inside = judge < self.size
        first = inside.argmax(axis=1)
        copies = inside & (rng.random(judge.shape) < self.copying)
        label = np.where(copies, np.take_along_axis(label, first[:, None], axis=1), label)
        item = np.repeat(np.arange(self.items, dtype=np.int32), PER_ITEM)
        judgments = simulation.named_judgments(item, judge.ravel(), label.ravel(), matrix)
        return Crowd(judgments, set(combinations(range(self.size), 2)), prevalence, matrix)

    def __str__(self) -> str:
        pairs = self.size * (self.size - 1) // 2
        part = pairs / (self.judges * (self.judges - 1) / 2)
        return f"a ring of {self.size} ({part:.0%} of all pairs) who copy {self.copying:.0%}"


CROWDS = (
    Copying(2_000, 60, 2, 0.05, 0.8),
    Copying(2_000, 60, 4, 0.05, 0.8),
    Copying(2_000, 60, 2, 0.2, 0.8),
    Copying(2_000, 60, 4, 0.2, 0.8),
    Copying(2_000, 60, 2, 0.5, 0.8),
    Copying(1_000, 40, 2, 0.2, 0.8),
    Copying(1_000, 40, 4, 0.2, 0.8),
    Copying(600, 40, 2, 0.2, 0.8),
    Copying(600, 40, 4, 0.2, 0.8),
    Copying(2_000, 60, 2, 0.2, 0.5),
    Copying(2_000, 60, 4, 0.2, 0.5),
    Ring(2_000, 40, 2, 9, 0.8),
    Ring(2_000, 40, 4, 9, 0.8),
)


def copied(setting: Copying | Ring) -> tuple[str, ...]:
    """Return a row of the table of copying."""
    reported, detected_with_truth, rates, shared, estimates = [], [], [], [], []
    for seed in range(FRESH, FRESH + COPIES):
        crowd = setting.crowd(seed)
        result = adjudge.collusion(adjudge.fit(crowd.judgments, MODEL), crowd.judgments)
        pairs = list(zip(result.first.tolist(), result.second.tolist(), strict=True))
        named, best = {pair for pair, flag in zip(pairs, result.flagged, strict=True) if flag}, crowd.detectable()
        reported += [pair in named for pair in crowd.copying_pairs]
        detected_with_truth += [pair in best for pair in crowd.copying_pairs]
        rates.append(len(named - crowd.copying_pairs) / max(len(named), 1))
        shared += [n for pair, n in zip(pairs, result.shared.tolist(), strict=True) if pair in crowd.copying_pairs]
        estimates += [
            c for pair, c in zip(pairs, result.test.copied, strict=True) if pair in crowd.copying_pairs & named
        ]
    size = f"{setting.items:,} items, {setting.judges} judges, {setting.labels} labels"
    estimate = f"{np.mean(estimates):.2f}" if estimates else "-"
    rate = f"{100 * np.mean(rates):.1f} %"
    return (size, str(setting), f"{np.mean(shared):.0f}", share(reported), share(detected_with_truth), rate, estimate)


def copies() -> Claim:
    """Detect copying judges."""
    how = (
        f"{COPIES} crowds per row, {PER_ITEM} judges per item, with a mean accuracy of 80 %. Copying pairs share about "
        "half of their items (`adjudge simulate colluding`); judges of a ring meet at random, and all copy from the "
        "first of them on an item. Pairs are reported at a false discovery rate of 5 % (Benjamini and Hochberg). "
        "Goals: power above 90 % with a realised false discovery rate (mean over crowds) below 10 %. Power depends "
        "on the number of shared items; the next column is the power of the same test with the true matrices."
    )
    head = (
        "crowd",
        "copying judges",
        "shared items per pair",
        "power",
        "power with true matrices",
        "false discoveries",
        "share copied",
    )
    return Claim("Copying", how, head, [printed(copied(setting)) for setting in CROWDS])


HONEST: tuple[tuple[str, dict[str, float], int], ...] = (
    ("dawid-skene", {"items": 2_000, "judges": 60, "labels": 2, "accuracy": 0.8}, 100),
    ("dawid-skene", {"items": 2_000, "judges": 60, "labels": 4, "accuracy": 0.8}, 40),
    ("dawid-skene", {"items": 600, "judges": 40, "labels": 2, "accuracy": 0.8}, 60),
    ("carpenter", {"items": 4_000, "judges": 160, "judgments": 20_000, "topics": 20, "gold": 0}, 20),
    ("carpenter", {}, 3),
)


def honest() -> Claim:
    """Test pairs in crowds without copying."""
    rows = []
    for design, sizes, number in HONEST:
        small, smaller, any_at_all, pairs = [], [], [], 0
        for seed in range(number):
            judgments = adjudge.simulate(design, FRESH + seed, **sizes).judgments
            result = adjudge.collusion(adjudge.fit(judgments, MODEL), judgments)
            small.append((result.test.p < 0.05).mean())
            smaller.append((result.test.p < 0.001).mean())
            any_at_all.append(bool(result.flagged.any()))
            pairs = result.p.size
        size = ", ".join(f"{name} {value:g}" for name, value in sizes.items()) or "762 judges, 89,624 judgments"
        chances = (f"{100 * np.mean(small):.1f} %", f"{100 * np.mean(smaller):.2f} %")
        rows.append(printed((f"`{design}`: {size}", str(number), f"{pairs:,}", *chances, share(any_at_all))))
    how = (
        "p-values under the model, without an empirical correction. At most 5 % of the crowds may have a reported "
        "pair. The p-values include the observed value, so with few labels, where sums have few possible values, "
        "fewer than 5 % are below .05. How much of the difference this explains was not measured."
    )
    head = (
        "crowd",
        "crowds",
        "pairs",
        "p below .05 (should be 5 %)",
        "p below .001 (.1 %)",
        "crowds with a reported pair",
    )
    return Claim("Crowds without copying", how, head, rows)


def new_work() -> Claim:
    """Score new work in which some judges guess."""
    rows = []
    for labels in (2, 4):
        for guessing in (1.0, 0.5, 0.0):
            named, wrongly = [], []
            for seed in range(FRESH, FRESH + COPIES):
                early, late = halves(seed, labels, guessing)
                result = adjudge.new_work(adjudge.fit(early, MODEL), late)
                worse = np.isin(result.judges.to_list(), [f"j{j + 1}" for j in range(CHANGING if guessing else 0)])
                named += result.flagged[worse].tolist()
                wrongly += result.flagged[~worse].tolist()
            rows.append(printed((str(labels), f"{guessing:.0%}", share(named), share(wrongly))))
    how = (
        f"{COPIES} crowds per row of {JUDGES} judges with 100 judgments in a fit and 100 in new work, and a mean "
        f"accuracy of 80 %. In the new work, {CHANGING} of them answer at random on a share of the items."
    )
    return Claim(
        "Worse new work", how, ("labels", "share of random answers", "reported", "reported among the others"), rows
    )


def halves(seed: int, labels: int, guessing: float) -> Iterator[adjudge.Judgments]:
    """Return the judgments of the first and of the last items; in the last, some judges guess on some items."""
    sizes = {"items": 1_600, "judges": JUDGES, "labels": labels, "accuracy": 0.8, "per_item": PER_ITEM}
    drawn, rng = adjudge.simulate("dawid-skene", seed, **sizes), np.random.default_rng(seed)
    judgments, item = drawn.judgments, drawn.judgments.item()
    guess = (item >= 800) & (judgments.judge < CHANGING) & (rng.random(item.size) < guessing)
    label: Floats | Codes = np.where(guess, rng.integers(labels, size=item.size), judgments.label)
    columns = {"item": judgments.items.gather(item), "judge": judgments.judges.gather(judgments.judge), "label": label}
    table = pl.DataFrame(columns)
    for part in (item < 800, item >= 800):
        yield adjudge.read(table.filter(pl.Series(part)), labels=list(range(labels)))


def real() -> Claim:
    """Test the pairs of judges in the data of paper 000."""
    judgments = adjudge.read(str(DATA / "trec2011_task2" / "labels.csv"))
    fit = adjudge.fit(judgments, MODEL)
    began = time.perf_counter()
    result = adjudge.collusion(fit, judgments)
    seconds = time.perf_counter() - began
    how = (
        f"`trec2011_task2`, {len(judgments):,} judgments of {len(judgments.judges):,} judges: {result.p.size:,} pairs "
        f"share 8 items or more, tested in {seconds:.2f} s. The test statistics have a mean of {result.centre:.2f} and "
        f"a standard deviation of {result.spread:.2f} (0 and 1 if the model were right). A reported pair need not have "
        "cheated: two judges can also agree too often because they share a habit that is not part of the model."
    )
    rows = []
    for row in result.table.head(8).iter_rows(named=True):
        counts = (f"{row['agreed']:.0f} ({row['expected']:.0f})", f"{row['wrong']:.0f} ({row['expected_wrong']:.0f})")
        last = (f"{row['copied']:.2f}", f"{row['rate']:.1g}", "yes" if row["flagged"] else "no")
        rows.append((row["judge"], row["other"], str(row["shared"]), *counts, *last))
    head = (
        "judge",
        "other",
        "shared",
        "agreed (expected)",
        "agreed on a wrong label (expected)",
        "share copied",
        "false discovery rate",
        "reported",
    )
    return Claim("On real judgments", how, head, rows)


def printed(row: tuple[str, ...]) -> tuple[str, ...]:
    """Print a row on standard error, and return it."""
    print(" | ".join(row), file=sys.stderr)
    return row


def measure() -> list[Claim]:
    """Measure all diagnostics."""
    return [drifts(), copies(), honest(), new_work(), real()]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

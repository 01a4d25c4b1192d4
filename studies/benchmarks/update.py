"""Claim: an update reaches the optimum of a fit of all judgments in less time; an online update is close to it.

A million judgments (200,000 items, 500 judges, 5 labels) and 1,000 more, drawn from all, in three crowds with judges
of different accuracy. CPU seconds, median of five, from encoded judgments to a fit in memory; an update also matches
names and joins tables. "Below" is how much lower the final log-likelihood is than that of a fit of all judgments, in
units of the tolerance (1e-8 per judgment, 0.01 here): up to 1 is equal, below 0 is higher. An online update is timed
with the old judgments, and with the saved fit alone. The goal was a speed-up of 20. The exact update does not reach
it: a fit of all judgments needs so few iterations, of some milliseconds each, that the fixed parts of an update
dominate (the initial iteration, two or more to detect convergence, the posterior of all items, the labels of all
items, and the join of the tables).
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median

import numpy as np

import adjudge
from adjudge.arrays import Codes
from adjudge.data.judgments import judgment_table
from adjudge.errors import AdjudgeWarning
from studies.benchmarks.claim import Claim, cpu_seconds, description
from studies.benchmarks.model_selection import read_judged

SIZES = {"items": 200_200, "judges": 500, "labels": 5, "per_item": 5}
NEW = 1_000
MODEL = "dawid-skene"  # a named model is not calibrated, so only fit and update are timed
CROWDS = (0.85, 0.7, 0.5)
TOLERANCE = 1e-8
REAL = ("product", "web_search")
FORMS = ("{:.2%}", "{:.4f}", "{:.4f}")  # of errors
STEPS = 10  # updates of a stream, after a fit of its first half


def measure() -> Iterator[Claim]:
    """Time updates, and measure streams of updates."""
    warnings.simplefilter("ignore", AdjudgeWarning)
    yield timed()
    yield processes()
    yield streams()


def parted(accuracy: float) -> tuple[adjudge.Judgments, adjudge.Judgments]:
    """Return the judgments of a crowd and new ones, each with its own names."""
    every = adjudge.simulate("dawid-skene", **SIZES, accuracy=accuracy, seed=1).judgments
    more = np.random.default_rng(0).choice(len(every), NEW, replace=False)
    return of_rows(every, np.setdiff1d(np.arange(len(every)), more)), of_rows(every, more)


def of_rows(judgments: adjudge.Judgments, rows: Codes) -> adjudge.Judgments:
    """Return some judgments as if they were read from their own table."""
    table = judgment_table(judgments.take(rows)).select("item", "judge", "label")
    scale = judgments.scale
    return adjudge.read(table, item="item", judge="judge", labels=scale.labels, ordinal=scale.ordinal)


def timed() -> Claim:
    """Time a fit of all judgments, an update, and online updates."""
    rows = []
    for accuracy in CROWDS:
        old, new = parted(accuracy)
        fit = adjudge.fit(old, MODEL)
        updated = adjudge.update(fit, new, old)
        every = updated.judgments
        assert every is not None
        cold = adjudge.fit(every, MODEL)
        saved = adjudge.update(fit, new, old, online=True)
        seconds = [
            cpu_seconds(work, 5)
            for work in (
                lambda every=every: adjudge.fit(every, MODEL),
                lambda fit=fit, new=new, old=old: adjudge.update(fit, new, old),
                lambda fit=fit, new=new, old=old: adjudge.update(fit, new, old, online=True),
                lambda fit=fit, new=new: adjudge.update(fit, new, online=True),
            )
        ]
        below = (cold.evidence[-1] - updated.evidence[-1]) / (TOLERANCE * len(every))
        differ = [int((each.label != cold.label).sum()) for each in (updated, saved)]
        rows.append(
            (
                f"{accuracy:g}",
                f"{seconds[0]:.3f} ({cold.passes})",
                f"{seconds[1]:.3f} ({updated.passes})",
                f"{seconds[0] / seconds[1]:.1f}",
                f"{below:.2f}",
                f"{differ[0]:,}",
                f"{seconds[2]:.3f}, {seconds[3]:.3f}",
                f"{seconds[0] / seconds[2]:.0f}, {seconds[0] / seconds[3]:.0f}",
                f"{differ[1]:,}",
            )
        )
        print(" ".join(rows[-1]), file=sys.stderr)
    head = ("accuracy", "fit of all, s (iterations)", "update, s (iterations)", "speed-up", "below, tolerances")
    more = ("labels that differ", "online, s", "speed-up", "labels that differ")
    return Claim("A thousand new judgments after a million", description(__doc__), (*head, *more), rows)


def processes() -> Claim:
    """Time the same as commands that read and write files."""
    old, new = parted(0.7)
    with tempfile.TemporaryDirectory() as folder:
        folder_path = Path(folder)
        tables = {"old": judgment_table(old), "new": judgment_table(new)}
        for name, table in tables.items():
            table.write_csv(folder_path / f"{name}.csv")
        tables["old"].vstack(tables["new"]).write_csv(folder_path / "all.csv")
        _spent(folder_path, "fit", "old.csv", "--model", MODEL, "--out", "fit")
        cold = _spent(folder_path, "fit", "all.csv", "--model", MODEL, "--out", "all")
        exact = _spent(folder_path, "update", "fit", "new.csv", "--out", "grown")
        online = _spent(folder_path, "update", "fit", "new.csv", "--online", "--out", "online")
    rows = [
        ("`adjudge fit all.csv --model dawid-skene --out all`", f"{cold:.2f}", "1"),
        ("`adjudge update fit new.csv --out grown`", f"{exact:.2f}", f"{cold / exact:.1f}"),
        ("`adjudge update fit new.csv --online --out online`", f"{online:.2f}", f"{cold / online:.1f}"),
    ]
    for row in rows:
        print(" ".join(row), file=sys.stderr)
    how = (
        "CPU seconds of new processes, median of five, for the second crowd: from CSV to a folder with the tables of "
        "200,200 items. Most of the time is start-up, reading names and writing tables, which is the same for all."
    )
    return Claim("The same with commands", how, ("command", "s", "speed-up"), rows)


def _spent(folder: Path, *arguments: str) -> float:
    """Return the median CPU time of a command in a folder."""
    times = []
    for _ in range(5):
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "adjudge", *arguments], cwd=folder, check=True, capture_output=True)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(ended.ru_utime - began.ru_utime + ended.ru_stime - began.ru_stime)
    return median(times)


def streams() -> Claim:
    """Measure streams of online updates, with and without the fitted judgments."""
    crowds = {f"simulated, {a:g} right": _simulated(a) for a in (0.85, 0.7)} | {
        f"`{name}`": read_judged(name) for name in REAL
    }
    rows = [
        _followed(name, judgments, gold, with_judgments)
        for name, (judgments, gold) in crowds.items()
        for with_judgments in (True, False)
    ]
    how = (
        f"Half of a set is fitted. The rest is added in {STEPS} updates in random order, so that nearly every item "
        "and judge is affected many times. After each update, the online fit is compared with a fit of all judgments "
        "so far; the table shows means over the updates, and the last one. The simulated crowds have 4,000 items with "
        "5 judgments each by 40 judges and 4 labels. Accuracy is on gold, at the end, of the online fit and of the fit "
        "of all."
    )
    head = ("stream", "judgments kept", "labels that differ", "at the end", "error, probabilities of affected items")
    more = ("at the end", "error, accuracy of judges", "at the end", "accuracy, online and exact")
    return Claim("Streams of online updates", how, (*head, *more), rows)


def _simulated(accuracy: float) -> tuple[adjudge.Judgments, Codes]:
    """Return a simulated crowd, and the truths of all items."""
    drawn = adjudge.simulate(
        "dawid-skene", items=4_000, judges=40, labels=4, per_item=5, accuracy=accuracy, gold=4_000, seed=2
    )
    truth = np.asarray(drawn.truth)
    return drawn.judgments, truth


def _followed(name: str, judgments: adjudge.Judgments, gold: Codes, with_judgments: bool) -> tuple[str, ...]:
    """Return the row of a stream: its errors compared with fits of all judgments."""
    order = np.random.default_rng(0).permutation(len(judgments))
    first, *later = np.split(
        order, [order.size // 2 + n * (order.size - order.size // 2) // STEPS for n in range(STEPS)]
    )
    fitted_judgments = of_rows(judgments, first)
    online, sofar, errors = adjudge.fit(fitted_judgments, MODEL), first, []
    for rows in later:
        new = of_rows(judgments, rows)
        online = adjudge.update(
            online, new, fitted_judgments if with_judgments and online.judgments is None else None, online=True
        )
        sofar = np.r_[sofar, rows]
        exact = adjudge.fit(of_rows(judgments, sofar), MODEL)
        errors.append(_errors(online, exact, new))
    truth = dict(zip(judgments.items.to_list(), gold.tolist(), strict=True))
    right = [_accuracy(each, truth) for each in (online, exact)]
    columns = zip(FORMS, zip(*errors, strict=True), strict=True)
    cells = [form.format(value) for form, column in columns for value in (fmean(column), column[-1])]
    row = (name, "yes" if with_judgments else "no", *cells, f"{right[0]:.3f}, {right[1]:.3f}")
    print(" ".join(row), file=sys.stderr)
    return row


def _errors(online: adjudge.Fit, exact: adjudge.Fit, new: adjudge.Judgments) -> tuple[float, float, float]:
    """Return the share of labels that differ, and mean differences of probabilities and of judges' accuracy."""
    item_index = {name: i for i, name in enumerate(online.items.to_list())}
    item = np.array([item_index[name] for name in exact.items.to_list()])
    judge_index = {name: j for j, name in enumerate(online.judge_names.to_list())}
    judge = np.array([judge_index[name] for name in exact.judge_names.to_list()])
    concerned = np.isin(exact.items.to_list(), new.items.to_list())
    gap = np.abs(online.posterior[item] - exact.posterior)[concerned]
    return (
        float(np.mean(online.label[item] != exact.label)),
        float(gap.mean()),
        float(np.abs(online.accuracy[judge] - exact.accuracy).mean()),
    )


def _accuracy(fit: adjudge.Fit, truth: dict[object, int]) -> float:
    """Return the share of items with gold that are right."""
    gold = np.array([truth[name] for name in fit.items.to_list()])
    return float(np.mean(fit.label[gold >= 0] == gold[gold >= 0]))


if __name__ == "__main__":
    for claim in measure():
        print(claim.markdown())

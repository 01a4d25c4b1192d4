"""Compare the time of ``adjudge.compat.crowdkit`` with crowd-kit's, on simulated answers, as ratios.

``python -m studies.benchmarks.crowdkit_speed`` prints a Markdown table with one row per aggregator. Each is run once to
compile and load, and then ``RUNS`` times; the ratio is that of the least CPU times.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from crowdkit import aggregation as peer
from crowdkit.metrics import data as peer_metrics

from adjudge.compat import crowdkit as ours
from adjudge.compat.crowdkit import metrics

RUNS = 3


class Case(NamedTuple):
    """An aggregator and a table that it takes."""

    name: str
    table: pd.DataFrame
    options: dict[str, Any] = {}  # noqa: RUF012


def label_table(
    items: int = 2_000, judges: int = 50, labels: int = 3, per_item: int = 5, seed: int = 0
) -> pd.DataFrame:
    """Return answers with labels, by workers who are right from half of the time to nearly always."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(labels, size=items), np.linspace(0.5, 0.95, judges)
    task = np.repeat(np.arange(items), per_item)
    worker = np.concatenate([rng.choice(judges, per_item, replace=False) for _ in range(items)])
    guess = rng.integers(labels, size=task.size)
    label = np.where(rng.random(task.size) < right[worker], truth[task], guess)
    return pd.DataFrame({"task": task, "worker": worker, "label": label})


def pair_table(items: int = 100, answers: int = 2_000, workers: int = 20, seed: int = 0) -> pd.DataFrame:
    """Return preferences between two items, in which every item wins and loses."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=items)
    left = rng.integers(items, size=answers)
    right = (left + rng.integers(1, items, size=answers)) % items
    wins = rng.random(answers) < 1 / (1 + np.exp(theta[right] - theta[left]))
    worker = rng.integers(workers, size=answers)
    return pd.DataFrame({"worker": worker, "left": left, "right": right, "label": np.where(wins, left, right)})


def text_table(tasks: int = 100, workers: int = 10, per_task: int = 5, words: int = 20, seed: int = 0) -> pd.DataFrame:
    """Return texts with wrong, missing and additional words, and an embedding of each."""
    rng = np.random.default_rng(seed)
    rows = []
    for task in range(tasks):
        truth, center = rng.integers(1_000, size=words), rng.normal(size=32)
        for worker in rng.choice(workers, per_task, replace=False):
            noise = 0.05 + 0.02 * worker
            wrong = np.where(rng.random(words) < noise, rng.integers(1_000, size=words), truth)
            kept = wrong[rng.random(words) >= noise / 2]
            text = " ".join(f"w{word}" for word in kept)
            rows.append((task, worker, text, center + rng.normal(size=32) * noise * 3))
    table = pd.DataFrame(rows, columns=["task", "worker", "output", "embedding"])
    return table.assign(text=table["output"])


def image_table(tasks: int = 20, workers: int = 5, side: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return segmentations of a disc, with moved borders and noise."""
    rng = np.random.default_rng(seed)
    y, x = np.indices((side, side))
    rows = []
    for task in range(tasks):
        center, radius = rng.uniform(side / 3, 2 * side / 3, 2), rng.uniform(side / 8, side / 3)
        for worker in range(workers):
            shift = rng.normal(0, 1 + 2 * worker, 2)
            disc = np.hypot(y - center[0] - shift[0], x - center[1] - shift[1]) < radius
            rows.append((task, worker, disc ^ (rng.random((side, side)) < 0.01 * worker)))
    return pd.DataFrame(rows, columns=["task", "worker", "segmentation"])


def multilabel_table(seed: int = 0) -> pd.DataFrame:
    """Return answers with lists of labels."""
    table = label_table(items=500, labels=6, seed=seed)
    lists = [[f"l{label}", f"l{(label + task) % 6}"] for task, label in zip(table["task"], table["label"], strict=True)]
    return table.assign(label=lists)


def cases() -> list[Case]:
    """Return the aggregators that are compared."""
    labels, two, texts, images = label_table(), label_table(labels=2), text_table(), image_table()
    words = {"tokenizer": str.split, "detokenizer": " ".join}
    return [
        Case("MajorityVote", labels),
        Case("Wawa", labels),
        Case("ZeroBasedSkill", labels),
        Case("DawidSkene", labels),
        Case("OneCoinDawidSkene", labels),
        Case("GLAD", labels),
        Case("MACE", labels, {"n_restarts": 1}),
        Case("KOS", two),
        Case("MMSR", label_table(items=300)),
        Case("BinaryRelevance", multilabel_table()),
        Case("BradleyTerry", pair_table(), {"n_iter": 100, "tol": 0}),
        Case("NoisyBradleyTerry", pair_table()),
        Case("ROVER", texts, words),
        Case("RASA", texts),
        Case("HRRASA", texts),
        Case("SegmentationMajorityVote", images),
        Case("SegmentationEM", images),
        Case("SegmentationRASA", images),
    ]


def seconds(work: Callable[[], object]) -> float:
    """Return the least CPU time of a few runs, after one that loads and compiles."""
    least = float("inf")
    for run in range(RUNS + 1):
        start = time.process_time()
        work()
        least = min(least, time.process_time() - start) if run else least
    return least


def main() -> None:
    """Measure all cases, and print the table."""
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    print("| | crowd-kit, CPU ms | adjudge, CPU ms | times as fast |", "| --- | --: | --: | --: |", sep="\n")
    for case in cases():
        show(case.name, partial(aggregate, case), (peer, ours))
    table = label_table(items=500)
    for name in ("alpha_krippendorff", "consistency", "uncertainty"):
        show(name, partial(measure, name, table), (peer_metrics, metrics))


def aggregate(case: Case, library: Any) -> object:
    """Run the aggregator of a case."""
    return getattr(library, case.name)(**case.options).fit_predict(case.table.copy())


def measure(name: str, table: pd.DataFrame, library: Any) -> object:
    """Compute a measure."""
    return getattr(library, name)(table)


def show(name: str, work: Callable[[Any], object], libraries: tuple[Any, Any]) -> None:
    """Print the row of one case; crowd-kit's Wawa and the like fail with new versions of scikit-learn and pandas."""
    own = seconds(lambda: work(libraries[1]))
    try:
        other = seconds(lambda: work(libraries[0]))
    except (AttributeError, ValueError):
        print(f"| `{name}` | fails | {own * 1e3:,.1f} | |", flush=True)
        return
    print(f"| `{name}` | {other * 1e3:,.1f} | {own * 1e3:,.1f} | {other / own:,.1f} |", flush=True)


if __name__ == "__main__":
    main()

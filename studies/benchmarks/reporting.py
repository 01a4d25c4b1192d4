"""Claim: a report on 90,000 judgments takes seconds, and so does an evaluation of search systems for 1,000 label draws.

The page: `adjudge report` on the hierarchical fit of `trec2011_task2` with its gold (89,624 judgments, 19,033 items,
762 judges, 3,000 draws), as a process, after its kernels were compiled.
The measures: MAP, nDCG, nDCG@10, P@10 and MRR of one run for 1,000 draws of the labels of 100 topics with 200
documents each. pytrec_eval gets the same labels draw by draw, for the number of draws in its row, and must agree.
The systems: three runs on `trec2011_task2` (the vote shares with different amounts of noise) for 1,000 draws of its
labels.
The coefficients: nominal Krippendorff's alpha of 100,000 judgments by 200 judges on 20,000 items. The package
`krippendorff` needs a table of all judges and items, which is prepared in advance. adjudge computes Fleiss' and
Cohen's kappas too.
"""

from __future__ import annotations

import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytrec_eval

import adjudge
from adjudge.data.runs import read_run
from adjudge.metrics.agreement import agreement
from adjudge.metrics.ranking import parse_measures, values
from studies.benchmarks.claim import DATA, Claim

HOW = [" ".join(part.split()) for part in re.split(r"\n(?=The )", __doc__.split("\n\n")[1])]
TOPICS, DOCUMENTS, DRAWS, THEIRS = 100, 200, 1_000, 10
NAMES = {"MAP": "map", "nDCG": "ndcg", "nDCG@10": "ndcg_cut_10", "P@10": "P_10", "MRR": "recip_rank"}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the minimum CPU time of three calls after a first one, and the result."""
    result, times = work(), []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times), result


def fitted(folder: Path) -> Any:
    """Fit the data of paper 000 as a user would, and return the fit."""
    data = DATA / "trec2011_task2"
    arguments = ["fit", str(data / "labels.csv"), "--gold", str(data / "gold.csv"), "--model", "hierarchical"]
    run_adjudge(*arguments, "--out", str(folder))
    return adjudge.load(folder)


def run_adjudge(*arguments: str) -> tuple[float, float]:
    """Run the command line, and return its wall and CPU seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "adjudge", *arguments], check=True, capture_output=True)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def page(folder: Path) -> Claim:
    """Time the report."""
    run_adjudge("report", str(folder))
    walls, cpus = zip(*(run_adjudge("report", str(folder)) for _ in range(3)), strict=True)
    size = (folder / "report.html").stat().st_size / 1e6
    row = [f"{min(walls):.1f} (goal 10)", f"{min(cpus):.1f}", f"{size:.1f} (goal 5)"]
    return Claim("The report", HOW[0], ("wall, s", "CPU, s", "MB"), [row])


def ranking() -> Claim:
    """Compare the measures under many draws with trec_eval, draw by draw."""
    rng = np.random.default_rng(0)
    run = {f"t{t}": {f"d{d}": float(rng.random()) for d in range(DOCUMENTS)} for t in range(TOPICS)}
    label = rng.integers(0, 3, (TOPICS, DOCUMENTS, DRAWS)).astype(np.int8)
    order = [np.argsort([-score for score in documents.values()], kind="stable") for documents in run.values()]
    measures = parse_measures(list(NAMES))

    def ours() -> np.ndarray:
        topics = [values([order[t]], label[t], np.arange(3.0), measures, 1.0)[0] for t in range(TOPICS)]  # each (M, S)
        return np.stack(topics)

    def theirs() -> np.ndarray:
        topics = np.empty((TOPICS, len(measures), THEIRS))
        for s in range(THEIRS):
            grades = {f"t{t}": {f"d{d}": int(label[t, d, s]) for d in range(DOCUMENTS)} for t in range(TOPICS)}
            evaluated = pytrec_eval.RelevanceEvaluator(grades, set(NAMES.values())).evaluate(run)
            for t in range(TOPICS):
                topics[t, :, s] = [evaluated[f"t{t}"][name] for name in NAMES.values()]
        return topics

    (fast, our_values), (slow, their_values) = timed(ours), timed(theirs)
    np.testing.assert_allclose(our_values[:, :, :THEIRS], their_values, atol=1e-9)
    a_draw = slow / THEIRS, fast / DRAWS
    rows = [
        ["adjudge", f"{DRAWS:,}", f"{fast:.2f}", "1x"],
        ["pytrec_eval", f"{THEIRS:,}", f"{slow:.2f}", f"{a_draw[0] / a_draw[1]:,.0f}x per draw"],
    ]
    return Claim("Ranking measures for draws of labels", HOW[1], ("", "draws", "CPU, s", "relative to adjudge"), rows)


def systems(fit: Any) -> Claim:
    """Time search systems under uncertain labels."""
    rng, topics = np.random.default_rng(0), fit.topics.cast(str).to_list()
    lines: dict[str, list[str]] = {"a": [], "b": [], "c": []}
    for name, noise in zip(lines, (0.2, 0.25, 0.5), strict=True):
        for item, t, p in zip(fit.items.to_list(), fit.topic.tolist(), fit.posterior[:, 1].tolist(), strict=True):
            document = str(item).removeprefix(f"{topics[t]}_")
            lines[name].append(f"{topics[t]} Q0 {document} 1 {p + noise * rng.standard_normal():.6f} {name}")
    with tempfile.TemporaryDirectory() as temporary:
        paths = {name: Path(temporary) / f"{name}.run" for name in lines}
        for name, path in paths.items():
            path.write_text("\n".join(lines[name]) + "\n")
        runs = [read_run(str(path)) for path in paths.values()]
        took, _ = timed(lambda: adjudge.evaluate(fit, runs))
    head = ("runs", "topics", "documents", "draws", "CPU, s")
    return Claim(
        "Search systems under uncertain labels",
        HOW[2],
        head,
        [["3", "100", f"{len(fit.items):,}", "1,000", f"{took:.1f}"]],
    )


def coefficients() -> Claim:
    """Compare Krippendorff's alpha with the package of that name."""
    judgments = adjudge.simulate("dawid-skene", items=20_000, judges=200, labels=3, per_item=5).judgments
    label_table = np.full((200, 20_000), np.nan)
    label_table[judgments.judge, judgments.item()] = judgments.label
    fast, our_result = timed(lambda: agreement(judgments))
    slow, their_alpha = timed(lambda: krippendorff.alpha(label_table, level_of_measurement="nominal"))
    np.testing.assert_allclose(our_result.values["alpha_nominal"], their_alpha, rtol=1e-9)
    rows = [
        ["adjudge, with kappas and intervals", f"{fast:.3f}", "1x"],
        ["krippendorff, alpha only", f"{slow:.3f}", f"{slow / fast:.1f}x"],
    ]
    return Claim("Agreement", HOW[3], ("", "CPU, s", "relative to adjudge"), rows)


def measure() -> list[Claim]:
    """Run all benchmarks of reports and evaluation."""
    with tempfile.TemporaryDirectory() as temporary, warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)
        folder = Path(temporary) / "fit"
        fit = fitted(folder)
        return [page(folder), ranking(), systems(fit), coefficients()]


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

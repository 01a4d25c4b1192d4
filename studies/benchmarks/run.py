"""Run the benchmarks, and write their pages in docs/explanation/measured/.

``python -m studies.benchmarks.run published model-selection`` writes these two pages only.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from studies.benchmarks import (
    acceleration,
    audit,
    audit_scale,
    bayes,
    calibration_page,
    chaos,
    desk,
    diagnostics,
    difficulty,
    em_step,
    engines_dask,
    engines_spark,
    gate_quality,
    glad,
    gold_secrecy,
    graded,
    grammar,
    model_selection,
    models,
    out_of_core,
    plan,
    published,
    rate,
    reading,
    reporting,
    scaling,
    scores,
    search,
    simulation,
    soak,
    startup,
    studio,
    update,
    weights,
)
from studies.benchmarks.claim import Claim, description

DOCS = Path(__file__).parents[2] / "docs" / "explanation" / "measured"
PACKAGES = ("numpy", "numba", "polars", "crowd-kit", "pandas")
TIMED = (em_step, acceleration, scaling, glad, models, reading, startup, simulation)


def timed() -> Iterator[Claim]:
    """Run the benchmarks of run time."""
    for module in TIMED:
        claims = module.measure()
        yield from claims if isinstance(claims, list) else [claims]


def large() -> Iterator[Claim]:
    """Run the benchmarks of blocks on disk, Dask and Spark, and the estimate that uses the fixed time of Spark."""
    yield from out_of_core.measure()
    yield engines_dask.measure()
    spark = engines_spark.measure()
    yield spark
    yield from plan.measure(fixed=float(spark.rows[0][-2].split()[0]))


def machine() -> str:
    """Return the machine and the versions of libraries."""
    versions = ", ".join(f"{package} {version(package)}" for package in PACKAGES)
    return f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"


PAGES: dict[str, tuple[str, str, Callable[[], Iterator[Claim] | list[Claim]]]] = {
    "benchmarks": ("Benchmarks", f" ({machine()}). Times depend on the machine; compare the ratios.", timed),
    "bayes": (
        "Sampling, compared with JAGS, NumPyro and nutpie",
        f" ({machine()}). JAGS needs a long time.",
        bayes.measure,
    ),
    "published": ("Published results and ours", ".", published.measure),
    "model-selection": ("Model selection", ".", model_selection.measure),
    "calibration": ("Calibration of probabilities", calibration_page.OPENING, calibration_page.measure),
    "reporting": ("Reports and evaluation, measured", f" ({machine()}).", reporting.measure),
    "diagnostics": (
        "Monitoring of judges, measured",
        f". {description(diagnostics.__doc__)}",
        diagnostics.measure,
    ),
    "difficulty": (
        "Difficulty of items, measured",
        f". {description(difficulty.__doc__)}",
        difficulty.measure,
    ),
    "gate-quality": (
        "Do the gates work?",
        f". {description(gate_quality.__doc__)}",
        gate_quality.measure,
    ),
    "gold-secrecy": (
        "Does gold stay hidden?",
        f". {description(gold_secrecy.__doc__)}",
        gold_secrecy.measure,
    ),
    "audit": (
        "Evaluation with an audit, measured",
        f". {description(audit.__doc__)}",
        audit.measure,
    ),
    "audit-scale": ("Audits of many runs and topics, measured", f" ({machine()}).", audit_scale.measure),
    "rate": ("Rates from judges and gold, measured", f". {description(rate.__doc__)}", rate.measure),
    "scores": ("Scores and several labels, measured", f" ({machine()}).", scores.measure),
    "graded": ("Grades from labels and ranks, measured", f" ({machine()}).", graded.measure),
    "studio": ("The studio, measured", f" ({machine()}).", studio.measure),
    "soak": ("The studio for two hours, measured", f" ({machine()}).", soak.measure),
    "desk": ("The desk at scale, measured", f" ({machine()}).", desk.measure),
    "chaos": ("The studio under faults, measured", f" ({machine()}).", chaos.measure),
    "weights": ("Weights, measured", f" ({machine()}).", weights.measure),
    "update": ("Updates with new judgments, measured", f" ({machine()}).", update.measure),
    "search": ("Search and features, measured", f" ({machine()}).", search.measure),
    "grammar": ("Features of grammar, measured", f" ({machine()}).", grammar.measure),
    "large": ("Large data, measured", f" ({machine()}).", large),
}
FILES = {  # pages whose file has another name
    "large": "large-figures",
    "studio": "studio-figures",
    "desk": "desk-figures",
    "weights": "weights-figures",
    "search": "search-figures",
    "grammar": "grammar-features",
}


def main() -> None:
    """Run the named benchmarks, or all, and write their pages."""
    for name in sys.argv[1:] or PAGES:
        title, more, measure = PAGES[name]
        parts = [f"# {title}\n\nWritten by `make bench`{more}\n", *(claim.markdown() for claim in measure())]
        page = DOCS / f"{FILES.get(name, name)}.md"
        page.write_text("\n".join(parts), encoding="utf8")
        print(f"wrote docs/explanation/measured/{page.name}")


if __name__ == "__main__":
    main()

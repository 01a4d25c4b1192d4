"""Blocks on disk, Dask, Spark, and the plan to 10^10 judgments that follows from what these take."""

from __future__ import annotations

from collections.abc import Iterator

from studies.benchmarks import engines_dask, engines_spark, out_of_core, plan
from studies.benchmarks.claim import Claim


def measure() -> Iterator[Claim]:
    """Measure all, the plan last: it rests on what Spark costs a pass."""
    yield from out_of_core.measure()
    yield from _listed(engines_dask.measure())
    spark = _listed(engines_spark.measure())
    yield from spark
    yield from plan.measure(fixed=float(spark[0].rows[0][-2].split()[0]))


def _listed(found: Claim | list[Claim]) -> list[Claim]:
    """Return one claim or several as a list."""
    return found if isinstance(found, list) else [found]

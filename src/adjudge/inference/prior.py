"""``Prior``: what a model assumes about judges and topics before it has any judgments."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from adjudge.arrays import Floats
from adjudge.errors import InputError, UsageError, quoted

TRUST = 3.0  # lambda of paper 003: pseudo-counts of right labels in addition to one per label


@dataclass(frozen=True)
class Prior:
    """Pseudo-counts of rows and topics (hybrid-confusion), or the prior of their populations (hierarchical).

    The rows of a judge's matrix are Dirichlet(ones + trust * identity). With ``decay`` d, on labels in an order, a
    label k steps from the truth has 1 + trust * d**k instead: near errors are more likely. ``rows`` gives all
    pseudo-counts, a row a truth. Truths are Dirichlet(``prevalence``). Of the hierarchical model, kappa is
    Pareto(``shape``, ``least``). ``gold_informs`` says whether gold items count for how common truths are: no, where
    they were not drawn at random.
    """

    trust: float = TRUST
    decay: float | None = None
    rows: tuple[tuple[float, ...], ...] | None = None  # (K, K)
    prevalence: float = 1.0
    shape: float = 1.5
    least: float = 0.1
    gold_informs: bool = True

    def __post_init__(self) -> None:
        for name, least in (("trust", 0.0), ("prevalence", None), ("shape", None), ("least", None)):
            value = getattr(self, name)
            if not (math.isfinite(value) and (value >= 0 if least is not None else value > 0)):
                raise UsageError(f"prior {name} {value!r} is not a number {'of at least' if least == 0 else 'above'} 0")
        if self.decay is not None and not 0 <= self.decay < 1:
            raise UsageError(f"prior decay {self.decay!r} is not a number of at least 0 and below 1")
        if self.rows is not None:
            if self.trust != TRUST or self.decay is not None:
                raise UsageError("prior rows define the whole prior of judges: leave out trust and decay")
            object.__setattr__(self, "rows", tuple(tuple(map(float, row)) for row in self.rows))
            if any(not 0 < cell < math.inf for row in self.rows for cell in row):
                raise UsageError("prior rows hold a pseudo-count that is not a number above 0")

    def refuse_beyond(self, model: str, named: Collection[str]) -> None:
        """Refuse fields that a model does not have: it has only those named."""
        default = Prior()
        other = [name for name, value in vars(self).items() if value != getattr(default, name) and name not in named]
        if other:
            raise UsageError(f"prior {quoted(other)} is not for model '{model}', which has {quoted(named)}")

    def pseudo_counts(self, labels: int) -> Floats:
        """Return the pseudo-counts of a judge's rows (K, K)."""
        if self.rows is not None:
            if len(self.rows) != labels or any(len(row) != labels for row in self.rows):
                sizes = ", ".join(str(len(row)) for row in self.rows) or "none"
                raise UsageError(f"prior rows are not {labels} rows of {labels} pseudo-counts, but of {sizes}")
            return np.array(self.rows)
        if self.decay is None:
            return np.ones((labels, labels)) + self.trust * np.eye(labels)
        steps = np.abs(np.subtract.outer(np.arange(labels), np.arange(labels)))
        return 1 + self.trust * np.power(self.decay, steps)


def read_rows(path: str) -> tuple[tuple[float, ...], ...]:
    """Read Dirichlet pseudo-counts from a CSV file without a header, one row per true label."""
    try:
        with open(path, encoding="utf8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read ({getattr(error, 'strerror', None) or 'not text'})", path) from error
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            rows.append(tuple(float(cell) for cell in line.split(",")) if line else ())
        except ValueError as error:
            raise InputError(f"{line!r} is not a row of numbers with commas between", path, number) from error
    return tuple(row for row in rows if row)


def refuse_no_mode(prior: Prior) -> None:
    """Refuse a prior without a mode, and options that EM does not have."""
    if prior.prevalence < 1 or any(cell < 1 for row in prior.rows or () for cell in row):
        raise UsageError("pseudo-counts below 1 have no mode: use inference 'gibbs', or give at least 1")
    if not prior.gold_informs:
        raise UsageError("gold that does not inform prevalence needs sampling: use inference 'gibbs'")

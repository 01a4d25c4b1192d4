"""``check``: whether a sampled fit can be trusted.

Posterior predictive checks (Rubin 1984; Gelman, Meng & Stern 1996) ask whether the model explains the crowd. A
posterior draw of topics and judges generates new truths and new labels by the same judges on the same items. If the
model is right, the observed crowd is one more such crowd. The statistics are each judge's labels, how often judges
agree with each other, and on how many items all of them agree: if some items are hard for everybody, or judges copy,
judges agree more often than independent judges do.

The posterior was fitted to the crowd, so it replicates it too well: under the right model a p-value below .05 is much
rarer than one in twenty. So p-values are not corrected for the number of checks, and a failed check is a real failure.
A passed check may still be wrong: with three or four judges per item, two truths can be fitted to almost any share of
agreeing pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.data.show import NotebookView
from adjudge.data.write import frame
from adjudge.errors import UsageError
from adjudge.inference.chains import Draws
from adjudge.inference.fitted import as_fitted, gold_informed, refuse_other_gold
from adjudge.inference.result import Fit, draws_of
from adjudge.inference.save import read_fit, read_fitted
from adjudge.kernels.block import Block
from adjudge.kernels.replicate import Counts, count_agreement, replicate_with_truth
from adjudge.metrics.predictive import Difference, Loo, Waic, difference, loo, waic

REPLICATIONS = 200
SURE = 0.05  # p below which a check fails
CHECKS = 4
FEWEST = 80  # replications, so that a p-value below .05 rests on more than one or two of them


class Statistic(NamedTuple):
    """A statistic of the crowd and of crowds from the model: numbers, or arrays with one number per judge."""

    observed: Floats
    replicated: Floats  # its mean over replications
    p: Floats  # two-sided p-value, never 0; nan if there is nothing to count


class PredictiveCheck(NamedTuple):
    """The crowd compared with crowds from the model."""

    rate: Statistic  # (J, K) share of each label among a judge's judgments
    agreement: Statistic  # (J) share of the other judges' judgments of the same items that agree
    overall: Statistic  # () share of pairs of judgments of an item, by two judges, that agree
    unanimous: Statistic  # () share of items with at least two judges on which all agree
    rates: float  # joint p-value of all judges' rates: whether they are as far off as in crowds from the model
    agreements: float  # joint p-value of all judges' agreement
    replications: int

    @property
    def checks(self) -> dict[str, tuple[float, str]]:
        """The p-value of each check by name, and what its failure would mean."""
        return {
            "agreement of pairs": (float(self.overall.p), _phrase("pairs of judges agree", self.overall)),
            "unanimous items": (float(self.unanimous.p), _phrase("judges are unanimous", self.unanimous)),
            "agreement of single judges": (
                self.agreements,
                "some judges agree with the others less or more than they should",
            ),
            "labels of single judges": (
                self.rates,
                "some judges give some labels less or more often than they should",
            ),
        }

    @property
    def explained(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """The failed checks, in words, each with its p-value."""
        return tuple(f"{phrase} (p = {p:.3f})" for p, phrase in self.checks.values() if p < SURE)

    @property
    def table(self) -> Any:
        """A table with one row per check: its p-value, and whether it failed."""
        names, values = list(self.checks), [p for p, _ in self.checks.values()]
        result = ["cannot be made" if np.isnan(p) else "failed" if p < SURE else "passed" for p in values]
        return frame({"check": names, "p": values, "result": result})

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        if np.isnan(self.overall.observed):
            return "The model cannot be checked: no item has two judges."
        if self.explained:
            observed, expected = float(self.overall.observed), float(self.overall.replicated)
            least = min(p for p, _ in self.checks.values() if not np.isnan(p))
            return (
                f"The model explains the crowd in all {CHECKS} checks (the smallest p is {least:.3f}): {observed:.1%} "
                f"of pairs of judgments agree, and {expected:.1%} in crowds drawn from the model."
            )
        return (
            f"The model fails {len(self.failed)} of {CHECKS} checks, so it does not explain the crowd: "
            f"{'; '.join(self.failed)}."
        )


@dataclass(frozen=True, eq=False)
class ModelCheck(NotebookView):
    """Whether a sampled fit can be trusted: its chains, its account of the crowd, and its held-out likelihood."""

    model: str
    convergence: str  # how sampling ended, in words
    parameters: Any  # a table with one row per parameter, the worst R-hat first
    crowd: PredictiveCheck
    loo: Loo
    waic: Waic
    other: str | None = None  # the model that it is compared with
    difference: Difference | None = None  # in elpd; above 0, the first model is better
    kind: str = field(default="polars", repr=False)

    def __repr__(self) -> str:
        crowd = "explains the crowd" if self.crowd.explained else "does not explain the crowd"
        return f"ModelCheck({self.model}: {self.convergence}; {crowd}; elpd {self.loo.elpd:,.1f})"

    @property
    def table(self) -> Any:
        """A table of the two estimates of the expected log predictive density: PSIS-LOO and WAIC."""
        rows = [("PSIS-LOO", *self.loo[:3], self.loo.bad), ("WAIC", *self.waic[:3], self.waic.bad)]
        names = ("measure", "elpd", "error", "parameters", "doubtful_items")
        return frame({name: [row[n] for row in rows] for n, name in enumerate(names)}, self.kind)


def check(
    fit: Fit | str | PathLike[str],
    judgments: Any = None,
    other: Fit | str | PathLike[str] | None = None,
    *,
    seed: int = 0,
) -> ModelCheck:
    """Check a sampled fit: convergence of its chains, a posterior predictive check, and leave-one-item-out density.

    Parameters
    ----------
    fit : Fit or path
        A sampled fit, or the folder of a saved one.
    judgments : frame, path or Judgments, optional
        The judgments that the fit was made from. Default: those kept with the fit.
    other : Fit or path, optional
        Another sampled fit of the same judgments, to compare with.
    seed : int
        Seed of the replicated judgments.

    Returns
    -------
    ModelCheck

    Examples
    --------
    >>> import adjudge
    >>> judgments = adjudge.dataset("anesthesia")
    >>> fit = adjudge.fit(judgments, "hybrid-confusion", inference="gibbs", seed=1)
    >>> check(fit, judgments).crowd.explained  # judges agree more often than independent ones would
    False

    """
    record, table = read_fitted(fit, judgments)
    block, draws, informs = as_fitted(record, table), draws_of(record), gold_informed(record)
    second = None if other is None else read_fit(other)
    if second is not None:
        refuse_other_gold(record, second)
    left_out = loo(draws, block, gold_informs=informs)
    gain = None
    if second is not None:
        gain = difference(left_out, loo(draws_of(second), as_fitted(second, table), gold_informs=gold_informed(second)))
    parameters = replace(record, kind="polars").diagnostics.sort("r_hat", descending=True, nulls_last=True)
    return ModelCheck(
        model=record.model,
        convergence=record.stopped,
        parameters=frame(parameters.to_dict(), record.kind),
        crowd=predictive_check(draws, block, seed=seed),
        loo=left_out,
        waic=waic(draws, block, gold_informs=informs),
        other=None if second is None else second.model,
        difference=gain,
        kind=record.kind,
    )


def predictive_check(draws: Draws, block: Block, *, replications: int = REPLICATIONS, seed: int = 0) -> PredictiveCheck:
    """Compare judgments with replications, from draws that are spread evenly over all chains."""
    prevalence, confusion = (field.reshape(-1, *field.shape[2:]) for field in (draws.prevalence, draws.confusion))
    if replications < FEWEST:
        raise UsageError(f"replications {replications} is too few: give at least {FEWEST}")
    rng = np.random.default_rng(seed)
    used = np.linspace(0, prevalence.shape[0] - 1, replications).round().astype(int)
    crowds = [count_agreement(block)]
    spread = draws.spread.reshape(len(prevalence), -1) if draws.spread.size else np.zeros((len(prevalence), 1))
    for s in used:
        drawn = replicate_with_truth(block, prevalence[s], confusion[s], rng, *spread[s].tolist())
        crowds.append(count_agreement(drawn.block))
    return _compare(crowds)


def _compare(crowds: list[Counts]) -> PredictiveCheck:
    """Return the first of R + 1 crowds compared with the others."""
    labels, agreed = np.stack([crowd.labels for crowd in crowds]), np.stack([crowd.agreed for crowd in crowds])
    unanimous = np.array([float(crowd.unanimous) for crowd in crowds])
    paired, shared = crowds[0].paired, np.asarray(float(crowds[0].shared))  # these are the same in all
    return PredictiveCheck(
        rate=_statistic(labels, labels[0].sum(axis=1, keepdims=True)),
        agreement=_statistic(agreed, paired),
        overall=_statistic(agreed.sum(axis=1), np.asarray(paired.sum())),
        unanimous=_statistic(unanimous, shared),
        rates=_joint_p_value(labels),
        agreements=_joint_p_value(agreed),
        replications=len(crowds) - 1,
    )


def _statistic(count: Floats, total: Floats) -> Statistic:
    """Return shares of a total, and the p-value of the first crowd's count (R + 1, ...)."""
    share = np.full_like(count, np.nan)
    np.divide(count, total, out=share, where=total > 0)
    p = 2 * np.minimum(rank := mid_rank(count), 1 - rank)
    return Statistic(share[0], share[1:].mean(axis=0), np.where(total > 0, p, np.nan)[()])


def _joint_p_value(count: Floats) -> float:
    """Return the p-value of the first crowd's distance from the mean, counts (R + 1, ...) in units of their spread."""
    flat = count.reshape(count.shape[0], -1)
    away, spread = flat - flat.mean(axis=0), flat.std(axis=0)
    moving = spread > 0
    distance = np.square(away[:, moving] / spread[moving]).sum(axis=1)
    return float(1 - mid_rank(distance))


def mid_rank(count: Floats) -> Floats:
    """Return the rank of the first of R + 1 crowds, from 0 to 1; half of the equal ones count as below."""
    below, equal = (count < count[0]).sum(axis=0), (count == count[0]).sum(axis=0)
    rank: Floats = (below + equal / 2) / count.shape[0]
    return rank


def _phrase(event: str, statistic: Statistic) -> str:
    """Return how often an event happens, and how often it should."""
    often = "more" if statistic.observed > statistic.replicated else "less"
    share = f"({statistic.observed:.1%}) than in crowds drawn from the model ({statistic.replicated:.1%})"
    return f"{event} {often} often {share}"

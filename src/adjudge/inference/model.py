"""The records of a model: what it is, what it learns, what is asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from adjudge.arrays import Codes, Floats
from adjudge.data.scale import Scale
from adjudge.errors import UsageError
from adjudge.inference.chains import Step
from adjudge.inference.components import by_shares
from adjudge.inference.gibbs import Truths
from adjudge.inference.params import Assign, Estimate, Params
from adjudge.inference.prior import Prior
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import truth_posterior

Posterior: TypeAlias = Callable[[Block, Params], tuple[Floats, float]]  # (I, K), then what item_columns name
Predictive: TypeAlias = Callable[[Block, Params, Block], Floats]  # chances of the second block, given the first
Finer: TypeAlias = Callable[[Params, Block], tuple[Floats, Floats, Codes]]  # prior (1, S), rows (J, S, K), labels (S)
LogPrior: TypeAlias = Callable[[Params], float]
LabelColumns: TypeAlias = Callable[[Floats, Scale], dict[str, Any]]
Sampler: TypeAlias = Callable[[Truths, Floats], Step]  # (T, K) is what gold adds to the tally that is not to count
JudgeColumns: TypeAlias = Callable[[Params, tuple[str, ...]], dict[str, Floats]]


def likely_truths(block: Block, params: Params) -> tuple[Floats, float]:
    """Return p(truth | labels) and the log evidence under the params: Bayes' rule."""
    return truth_posterior(block, params.prevalence, params.confusion)


def not_climbed(block: Block, params: Params) -> Tally:
    """Refuse to climb: the model has draws only."""
    raise UsageError("the model is sampled only (inference 'gibbs')")


def not_estimated(tally: Tally, start: Params) -> Params:
    """Refuse to estimate: the model has draws only."""
    raise UsageError("the model is sampled only (inference 'gibbs')")


def no_prior(params: Params) -> float:
    """Return the log of a flat prior."""
    return 0.0


def no_columns(params: Params, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return no columns: the model says nothing of a judge beyond her accuracy."""
    return {}


def no_label_columns(posterior: Floats, scale: Scale) -> dict[str, Any]:
    """Return no columns: the model says nothing of an item beyond its label and probabilities."""
    return {}


@dataclass(frozen=True)
class Model:
    """A consensus model: how judgments are assigned to truths, and how params follow from the tally.

    The two alternate until the evidence settles (``until="evidence"``), until the labels do (``"labels"``), or for as
    many ``rounds`` as the method has (``"rounds"``). ``begins`` holds the first assignments there are, the usual one
    first. A model with a ``sampler`` is drawn from, by Markov chains; some can be climbed as well.
    """

    name: str
    summary: str
    paper: str
    assign: Assign = not_climbed
    estimate: Estimate = not_estimated
    posterior: Posterior = likely_truths
    states: Posterior | None = None  # p(truth | labels) (I, Z) where truths are finer than labels
    predictive: Predictive | None = None  # where an item has more than a truth
    finer: Finer | None = (
        None  # how judges judge truths that are finer than labels: the model knows what items are like
    )
    judge_columns: JudgeColumns = no_columns
    label_columns: LabelColumns = no_label_columns
    item_columns: tuple[str, ...] = ()  # what the posterior says of an item beyond p(truth | labels)
    log_prior: LogPrior = no_prior  # of the params, added to the evidence that is climbed
    begins: Mapping[str, Assign] = field(default_factory=lambda: {"vote": by_shares})
    until: str = "evidence"
    rounds: int = 0
    ordered: bool = False  # whether it needs labels in an order
    binary: bool = False  # whether it takes two labels only
    degrees: bool = (
        False  # whether what stands for probabilities are degrees: judges are then held against labels alone
    )
    sampler: Sampler | None = None
    populations: bool = (
        False  # whether judges come from a population that is learned, and topics, each with its prevalence
    )
    under: Callable[[Prior], Model] | None = None  # the same model under another prior

    @property
    def needs(self) -> str:
        """Which labels it takes, for people."""
        return "two" if self.binary else "in an order" if self.ordered else "any"

    @property
    def inferences(self) -> tuple[str, ...]:
        """How it can be inferred, the usual way first and the quickest last."""
        climbed = () if self.assign is not_climbed else ("map",)
        return ("gibbs", *climbed) if self.sampler is not None else climbed

    @property
    def hard(self) -> bool:
        """Whether an item counts for its most likely truth alone."""
        return self.until != "evidence"

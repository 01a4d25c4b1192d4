"""``Model``: a composition of components, and the steps that follow from it; ``MODELS``: every model by name.

A package registers models through the entry point group ``adjudge.models``; the value is a ``Model`` or a sequence of
them. The built-in models are registered in the same way (see ``pyproject.toml``), so that this module does not import
them. The command line, ``auto``, ``compare``, the documentation and the conformance tests all read ``MODELS``.

A model of another package is a file with a ``Model`` in it. One coin per judge with a prevalence per topic:

>>> from adjudge.inference.components import ONE_COIN, PER_TOPIC, SOFT
>>> from adjudge.inference.model import Model
>>> model = Model(
...     "one-coin-topics",
...     "each judge is right with one probability, and every topic has its own prevalence",
...     "Dawid & Skene 1979, with one parameter per judge",
...     prevalence=PER_TOPIC,
...     confusion=ONE_COIN,
...     assignment=SOFT,
... )
>>> model.inferences
('map',)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.scale import Scale
from adjudge.errors import UsageError, not_one_of, quoted
from adjudge.inference.chains import Step, Truths
from adjudge.inference.components import (
    ANY,
    LEARNED,
    NO_EFFECTS,
    OWN,
    SOFT,
    Assignment,
    Confusion,
    ItemEffects,
    Labels,
    Prevalence,
    by_vote_shares,
    matrices,
    winners,
)
from adjudge.inference.options import Options
from adjudge.inference.params import Assign, Params, Prior, refuse_no_mode
from adjudge.inference.people import evidence_weights
from adjudge.kernels.block import Block, Tally
from adjudge.kernels.truth import count, expect, truth_posterior

Sampler: TypeAlias = Callable[[Truths, Floats], Step]  # (T, K): gold counts that do not inform prevalence
ACCURATE = "accurate"  # the start at accurate judges, without a first assignment
GROUP = "adjudge.models"  # the entry points of packages with models
BUILT_IN = "adjudge"  # the entry point of the built-in models, which come first
EM_OPTIONS = ("tolerance", "iterations", "accelerate")
DEFAULTS = Options()
STARTS: Mapping[str, Assign | None] = MappingProxyType({"vote": by_vote_shares, ACCURATE: None})


class States(NamedTuple):
    """What Bayes' rule needs: p(state), p(label | state) and the label of every state."""

    prior: Floats  # (T, Z)
    rows: Floats  # (J, Z, K)
    label: Codes | None  # (Z), None if states are labels


@dataclass(frozen=True)
class Model:
    """A consensus model: which components it has, how it starts, and how it is inferred.

    EM alternates ``assign`` and ``estimate`` until the evidence converges (soft assignments), until nothing changes
    (hard ones), or ``rounds`` times. ``starts`` names the first assignments, the default first; None is the model's
    own assignment at accurate judges. A model with a ``sampler`` is drawn from by Markov chains; without an
    ``assignment`` it has no EM. ``auto_rank`` orders the candidates of ``auto``, the simplest first; a model without
    one is no candidate. With ``by_kind``, people beside machines do not take part in EM, and families share their
    evidence (``people.evidence_weights``).
    """

    name: str
    summary: str
    paper: str
    prevalence: Prevalence = LEARNED
    confusion: Confusion = OWN
    assignment: Assignment | None = SOFT
    items: ItemEffects = NO_EFFECTS
    labels: Labels = ANY
    starts: Mapping[str, Assign | None] = field(default_factory=lambda: STARTS)
    rounds: int | None = None
    sampler: Sampler | None = None
    with_prior: Callable[[Prior], Model] | None = None
    auto_rank: float | None = None
    by_kind: bool = False  # judgments count by the kind and the family of their judge

    @property
    def inferences(self) -> tuple[str, ...]:
        """How the model can be inferred, the default first and the fastest last."""
        em = () if self.assignment is None else ("map",)
        return ("gibbs", *em) if self.sampler is not None else em

    @property
    def hard(self) -> bool:
        """Whether an item counts for its most likely truth alone, so that there is no evidence."""
        return self.assignment is not None and self.assignment.hard

    @property
    def uses_matrices(self) -> bool:
        """Whether p(truth | labels) is Bayes' rule with the judges' matrices and nothing else."""
        own_pass = self.assignment is not None and self.assignment.posterior is not None
        return not own_pass and self.confusion.rows is matrices and self.items is NO_EFFECTS

    @property
    def exchangeable(self) -> bool:
        """Whether EM may end with the names of truths permuted: the likelihood is the same then."""
        return self.confusion.free and self.uses_matrices and not self.hard and self.rounds is None

    def variant(self, prior: Prior | None, prevalence: str = "global") -> Model:
        """Return the model with another prior, and with one prevalence per topic if ``prevalence`` is "topic"."""
        model = self if prior is None or self.with_prior is None else self.with_prior(prior)
        return model if prevalence == "global" else replace(model, prevalence=model.prevalence.per_topic())

    def weighed(self, judgments: Judgments) -> Judgments:
        """Return judgments that count by the kind and the family of their judge, if the model asks for it."""
        if not self.by_kind or judgments.panel is None:
            return judgments
        return replace(judgments, weight=evidence_weights(judgments))

    def block(self, judgments: Judgments, gold: Codes | None = None) -> tuple[Block, int]:
        """Return judgments as a block, and the number T of rows of the prevalence.

        If every topic has a row, items without a topic share one more.
        """
        judgments = self.weighed(judgments)
        if not self.prevalence.by_topic or judgments.topics is None:
            return judgments.block(gold), 1
        block, T = judgments.block(gold, by_topic=True), len(judgments.topics)
        missing = block.topic < 0
        return (block._replace(topic=np.where(missing, T, block.topic)), T + 1) if missing.any() else (block, T)

    def states(self, params: Params) -> States:
        """Return what Bayes' rule needs of the params."""
        label = None if self.items.labels is None else self.items.labels(params.confusion.shape[2])
        return States(self.items.prior(params), self.confusion.rows(params), label)

    def assign(self, block: Block, params: Params) -> Tally:
        """Return the tally of judgments assigned to truths under the params: the E-step."""
        if self.assignment is None:
            raise UsageError("the model is sampled only (inference 'gibbs')")
        if self.assignment.assign is not None:
            return self.assignment.assign(block, params)
        states = self.states(params)
        if not self.assignment.hard:
            return expect(block, *states)
        return count(block, winners(truth_posterior(block, *states)[0]), len(states.prior))

    def estimate(self, tally: Tally, start: Params) -> Params:
        """Return the params that follow from a tally: the M-step. What was never counted keeps its start."""
        prevalence, unseen = self.prevalence.estimate(tally.truth, start.prevalence)
        return Params(prevalence, *self.confusion.estimate(tally, start), unseen)

    def posterior(self, block: Block, params: Params) -> tuple[Floats, float]:
        """Return p(truth | labels) and the columns of item effects (I, K + E), and the log evidence."""
        if self.assignment is not None and self.assignment.posterior is not None:
            return self.assignment.posterior(block, params)
        if self.items.posterior is not None:
            return self.items.posterior(block, params)
        posterior, evidence = truth_posterior(block, *self.states(params))
        return posterior if self.items.summary is None else self.items.summary(posterior, block), evidence

    def log_prior(self, params: Params) -> float:
        """Return the log density of the params, up to a constant, which EM adds to the evidence."""
        return self.confusion.log_prior(params) + self.prevalence.log_prior(params)

    def credit(self, posterior: Floats) -> Floats:
        """Return the truths (I, K) against which the labels of judges are counted as right or wrong."""
        return winners(posterior) if self.hard or self.items.degrees else posterior


class Registry(Mapping[str, Model]):
    """A read-only mapping from name to model, loaded when it is first used."""

    def __init__(self) -> None:
        self._models: dict[str, Model] = {}

    def _load(self) -> dict[str, Model]:
        """Return all registered models; the first call imports the packages that define them."""
        if not self._models:
            entries = sorted(entry_points(group=GROUP), key=lambda entry: (entry.name != BUILT_IN, entry.name))
            models: dict[str, Model] = {}
            for entry in entries:
                value = entry.load()
                for model in (value,) if isinstance(value, Model) else value:
                    if model.name in models:
                        raise UsageError(
                            f"model '{model.name}' of package '{entry.name}' has the name of another model"
                        )
                    models[model.name] = model
            self._models = models
        return self._models

    def __getitem__(self, name: str) -> Model:
        return self._load()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())


MODELS: Mapping[str, Model] = Registry()


def model_named(name: str) -> Model:
    """Return a model by its name."""
    if not isinstance(name, str):
        raise UsageError(f"a model is a name such as 'dawid-skene', got {type(name).__name__}")
    if name not in MODELS:
        raise UsageError(not_one_of("model", name, MODELS))
    return MODELS[name]


def configure(model: Model, options: Options) -> Model:
    """Return the model with the prior and the prevalence of the options; refuse options that it does not have."""
    _refuse_inference(model, options)
    if options.prior is not None and options.prior.difficulty and model.with_prior is None:
        raise UsageError(
            f"model '{model.name}' has no option for the difficulty of items; the models that have it are "
            f"{_able(lambda other: other.with_prior)}"
        )
    if options.prior is not None and model.with_prior is None:
        raise UsageError(
            f"model '{model.name}' has no prior; the models that have one are {_able(lambda other: other.with_prior)}"
        )
    if options.prior is not None and options.inference == "map":
        refuse_no_mode(options.prior)
    if options.prevalence == "topic" and not model.prevalence.learned:
        able = _able(lambda other: other.prevalence.learned)
        raise UsageError(f"model '{model.name}' learns no prevalence; models with one per topic are {able}")
    return model.variant(options.prior, options.prevalence)


def _refuse_inference(model: Model, options: Options) -> None:
    """Refuse an inference that a model does not have, options of EM for sampling, and the reverse."""
    if options.inference not in model.inferences:
        able = _able(lambda other: options.inference in other.inferences)
        raise UsageError(
            f"model '{model.name}' has no inference '{options.inference}'; the models that have it are {able}"
        )
    if options.inference != "gibbs":
        if options.run is not None:
            raise UsageError(
                f"chains, draws and the like are options of sampling, and '{model.name}' is fitted by EM; "
                f"sampled models are {_able(lambda other: other.sampler)}"
            )
        return
    if any(getattr(options, name) != getattr(DEFAULTS, name) for name in EM_OPTIONS):
        raise UsageError(
            f"{quoted(EM_OPTIONS)} are options of EM, and '{model.name}' is sampled: set chains and draws instead"
        )
    if options.start is not None:
        other = "; inference 'map' is EM" if "map" in model.inferences else ""
        raise UsageError(f"start {options.start!r} is an option of EM: chains start at the vote{other}")


def refuse_other_scales(model: Model, scale: Scale, prior: Prior | None = None) -> None:
    """Refuse labels that a model or its prior cannot take, and say what to do."""
    if prior is not None and prior.decay is not None and not scale.ordinal:
        raise UsageError("prior decay needs ordered labels: give their order with --labels and --ordinal")
    if model.labels.accept(scale):
        return
    labels = quoted(scale.names)
    if model.labels.ordered:
        raise UsageError(
            f"model '{model.name}' needs ordered labels, and {labels} have no order: give it, lowest first, "
            "with --labels and --ordinal"
        )
    raise UsageError(
        f"model '{model.name}' takes two labels, and there are {len(scale)}: {labels}; "
        f"models for more are {_able(lambda other: not other.labels.binary and not other.labels.ordered)}"
    )


def _able(condition: Callable[[Model], object]) -> str:
    """Return the names of the models that meet a condition, for a message."""
    return quoted((name for name, model in MODELS.items() if condition(model)), most=99)


def refuse_no_topics(options: Options, has_topics: bool) -> None:
    """Refuse a prevalence per topic for judgments without topics."""
    if options.prevalence == "topic" and not has_topics:
        raise UsageError("prevalence 'topic' needs the topic of every item: name its column with --topic")

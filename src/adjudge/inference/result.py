"""``Fit``: the record of a fit, the tables of what it holds, and what its draws say, with 90 % intervals.

For a judge with matrix theta, under prevalence pi: the probability of being right, sum_k pi_k theta_kk; Youden's J
(informedness), (sum_k theta_kk - 1) / (K - 1), which with two labels is sensitivity + specificity - 1 and is 1 for a
perfect judge and 0 at chance; and the information of a judgment, the mutual information of truth and label in bits. A
judge is no better than chance if Youden's J is at most 0, and adversarial if it is below -1/10: anything closer to
chance may as well be chance.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments, Names
from adjudge.data.panel import Panel
from adjudge.data.scale import Scale
from adjudge.data.write import frame
from adjudge.errors import UsageError
from adjudge.inference.calibration import Calibration
from adjudge.inference.chains import Draws
from adjudge.inference.components import most_likely
from adjudge.inference.convergence import UNCONVERGED, bulk_ess, mean_error, r_hat, tail_ess
from adjudge.inference.em import CIRCLE
from adjudge.inference.model import Model
from adjudge.inference.params import Params
from adjudge.kernels.block import Tally

INTERVAL = (0.05, 0.95)
ADVERSARIAL = -0.1
TINY = 1e-300  # replaces zero in a logarithm
MEASURES = ("mean", "sd", "low", "high", "r_hat", "bulk_ess", "tail_ess", "mean_error")  # of a sampled parameter
UNSETTLED = ("interrupted", "stopped at the cap", CIRCLE, UNCONVERGED)  # beginnings of ``stopped``


class Judged(NamedTuple):
    """Measures of every judge in each draw (S, J)."""

    p_right: Floats
    informedness: Floats
    bits: Floats


def judged(draws: Draws, items: Floats) -> Judged:
    """Return the measures of judges; ``items`` (T) is the number of items of each topic."""
    theta = _flat(draws.confusion)  # (S, J, K, K)
    pi = np.einsum("t,stk->sk", items / max(items.sum(), 1), _flat(draws.prevalence))  # (S, K) over all items
    right = np.diagonal(theta, axis1=2, axis2=3)
    K = theta.shape[3]
    informedness = (right.sum(axis=2) - 1) / max(K - 1, 1)
    return Judged(np.einsum("sk,sjk->sj", pi, right), informedness, _information(pi, theta))


def judge_answers(draws: Draws, items: Floats, labels: tuple[str, ...]) -> dict[str, Floats]:
    """Return the columns of judges: means, the ends of 90 % intervals, and probabilities."""
    measures = judged(draws, items)
    columns: dict[str, Floats] = {}
    named = measures._asdict()
    if len(labels) == 2:  # of the second label, such as relevant
        theta = _flat(draws.confusion)
        named = {"sensitivity": theta[:, :, 1, 1], "specificity": theta[:, :, 0, 0], **named}
    for name, drawn in named.items():
        columns |= {name: drawn.mean(axis=0)} | _ends(name, drawn)
    columns["no_better_than_chance"] = (measures.informedness <= 0).mean(axis=0)
    columns["adversarial"] = (measures.informedness < ADVERSARIAL).mean(axis=0)
    return columns


def cell_ends(draws: Draws) -> dict[str, Floats]:
    """Return the ends of the intervals of all matrix cells, judge by judge and row by row (J * K * K)."""
    theta = _flat(draws.confusion)
    return _ends("probability", theta.reshape(theta.shape[0], -1))


def topic_answers(draws: Draws) -> dict[str, Floats]:
    """Return the prevalence of every truth in every topic (T * K), with the ends of its interval."""
    pi = _flat(draws.prevalence).reshape(draws.prevalence.shape[0] * draws.prevalence.shape[1], -1)
    return {"prevalence": pi.mean(axis=0)} | _ends("prevalence", pi)


class Ranks(NamedTuple):
    """Ranks of items within their topics, the most relevant first: expected, and the ends of 90 % intervals."""

    expected: Floats  # (I)
    low: Floats
    high: Floats


def ranks(posterior: Floats, topic: Codes, seed: int = 0, draws: int = 200) -> Ranks:
    """Return ranks within topics, with truths drawn from their posteriors (I, K): higher labels first.

    Items with the same truth share their mean rank, because their order is unknown.
    """
    rng, K = np.random.default_rng(seed), posterior.shape[1]
    edges, topics = posterior.cumsum(axis=1)[:, :-1], int(topic.max(initial=0)) + 1
    drawn = np.empty((draws, topic.size))
    for s in range(draws):
        truth = (rng.random((topic.size, 1)) >= edges).sum(axis=1)
        counts = np.bincount(topic * K + truth, minlength=topics * K).reshape(topics, K)
        above = counts[:, ::-1].cumsum(axis=1)[:, ::-1] - counts  # of higher labels
        drawn[s] = (above + (counts + 1) / 2)[topic, truth]
    low, high = np.quantile(drawn, INTERVAL, axis=0)
    return Ranks(drawn.mean(axis=0), low, high)


def _flat(drawn: Floats) -> Floats:
    """Return the draws of all chains in one row (S, ...)."""
    return drawn.reshape(-1, *drawn.shape[2:])


def _ends(name: str, drawn: Floats) -> dict[str, Floats]:
    """Return the two ends of an interval as columns."""
    low, high = np.quantile(drawn, INTERVAL, axis=0)
    return {f"{name}_low": low, f"{name}_high": high}


def _information(pi: Floats, theta: Floats) -> Floats:
    """Return the mutual information of truth and label in bits (S, J), label by label to save memory."""
    bits = np.zeros(theta.shape[:2])
    for label in range(theta.shape[3]):
        chance = theta[..., label]  # (S, J, K) given each truth
        all_in_all = np.einsum("sk,sjk->sj", pi, chance)
        gain = np.log2(np.maximum(chance, TINY)) - np.log2(np.maximum(all_in_all, TINY))[..., None]
        bits += np.einsum("sk,sjk,sjk->sj", pi, chance, gain)
    return np.maximum(bits, 0)


def everything(
    draws: Draws, labels: Sequence[str], judges: Sequence[str], topics: Sequence[str]
) -> dict[str, list[object]]:
    """Return columns about all that was drawn: populations, prevalence in topics, and judges' matrices."""
    parts = [_columns(list(named)) for named in named_draws(draws, labels, judges, topics)]
    return {name: [value for part in parts for value in part[name]] for name in ("parameter", *MEASURES)}


def named_draws(
    draws: Draws, labels: Sequence[str], judges: Sequence[str], topics: Sequence[str]
) -> Iterator[Iterable[tuple[str, Floats]]]:
    """Yield the draws of every parameter (C, D) with its name, in groups: populations, difficulty, topics, judges."""
    if draws.kappa.size:
        yield _populations(draws, labels)
    if draws.spread.size:
        yield zip(("spread of difficulty", "share of families"), np.moveaxis(draws.spread, 2, 0), strict=False)
    if draws.wrong.size:
        names = (f"kappa of wrong labels[{label}]" for label in labels)
        yield zip(names, np.moveaxis(draws.wrong, 2, 0), strict=False)
    yield _prevalence(draws, labels, topics)
    yield _cells(draws, labels, judges)


def _populations(draws: Draws, labels: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield phi and kappa of the judges under each truth and of the topics."""
    of = [*labels, "topics"][: draws.kappa.shape[2]]
    for p, population in enumerate(of):
        for k, label in enumerate(labels):
            yield f"phi[{population}, {label}]", draws.phi[:, :, p, k]
    for p, population in enumerate(of):
        yield f"kappa[{population}]", draws.kappa[:, :, p]


def _prevalence(draws: Draws, labels: Sequence[str], topics: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield the prevalence of truths in topics."""
    for t, topic in enumerate(topics):
        for k, label in enumerate(labels):
            name = f"prevalence[{topic}, {label}]" if len(topics) > 1 else f"prevalence[{label}]"
            yield name, draws.prevalence[:, :, t, k]


def _cells(draws: Draws, labels: Sequence[str], judges: Sequence[str]) -> Iterator[tuple[str, Floats]]:
    """Yield the cells of judges' matrices."""
    for j, judge in enumerate(judges):
        for z, truth in enumerate(labels):
            for k, label in enumerate(labels):
                yield f"confusion[{judge}, {truth}, {label}]", draws.confusion[:, :, j, z, k]


def _columns(named: Sequence[tuple[str, Floats]]) -> dict[str, list[object]]:
    """Return the measures of named draws (C, D) as columns."""
    drawn = np.stack([values for _, values in named], axis=2)
    low, high = np.quantile(drawn, INTERVAL, axis=(0, 1))
    measures = (
        drawn.mean(axis=(0, 1)),
        drawn.std(axis=(0, 1), ddof=1),
        low,
        high,
        *(measure(drawn) for measure in (r_hat, bulk_ess, tail_ess, mean_error)),
    )
    measured = {name: values.tolist() for name, values in zip(MEASURES, measures, strict=True)}
    return {"parameter": [name for name, _ in named], **measured}


@dataclass(frozen=True, eq=False)
class Fit:
    """The consensus on every item, and what was learned about every judge: a frozen record, and tables of it.

    Tables are frames of the kind that the judgments came in. ``predict``, ``update``, ``save`` and the exports are
    functions that take a fit.
    """

    definition: Model = field(repr=False)
    options: Mapping[str, Any]
    items: Names  # (I)
    judge_names: Names  # (J)
    scale: Scale  # K
    posterior: Floats  # (I, K) p(truth | labels)
    label: Codes  # (I) the most likely truth
    params: Params
    judged: Codes  # (J) judgments of each judge
    accuracy: Floats  # (J) expected share of right labels
    more: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (I, E) columns of item effects
    topics: Names | None = None  # (T)
    topic: Codes | None = None  # (I)
    gold: Codes | None = None  # (I), -1 where unknown
    evidence: tuple[float, ...] = ()  # log p(labels, gold | params) before each EM step, never falling
    passes: int = 0
    stopped: str = ""
    draws: Draws | None = field(default=None, repr=False)  # if the model was sampled
    calibration: Calibration | None = None  # if the posterior was calibrated
    reason: str = ""  # why ``auto`` chose this model
    kind: str = field(default="polars", repr=False)
    judgments: Judgments | None = field(default=None, repr=False)  # that it was made from, if kept
    tally: Tally | None = field(default=None, repr=False)  # the last tally, if kept
    panel: Panel | None = field(default=None, repr=False)  # what is known about the judges (J)

    def __repr__(self) -> str:
        end = f", log evidence {self.evidence[-1]:,.2f}" if self.evidence else ""
        return f"Fit({self.model}: {len(self.items):,} items, {len(self.judge_names):,} judges; {self.stopped}{end})"

    @property
    def model(self) -> str:
        """The name of the model."""
        return self.definition.name

    @property
    def converged(self) -> bool:
        """Whether the fit converged: not interrupted, not stopped at the cap, not in a cycle."""
        return not self.stopped.startswith(UNSETTLED)

    @property
    def entropy(self) -> Floats:
        """The entropy of each item's posterior in bits (I): 0 is certain, log2 K is unknown."""
        logs = np.log2(self.posterior, out=np.zeros_like(self.posterior), where=self.posterior > 0)
        bits: Floats = np.abs((self.posterior * logs).sum(axis=1))
        return bits

    @property
    def prevalence(self) -> Any:
        """A table of the prevalence of truths, per topic if each has its own; with intervals if it was sampled."""
        labels = list(self.scale.labels)
        if not self.params.unseen.size and self.draws is None:
            return frame({"label": labels, "prevalence": self.params.label_prevalence}, self.kind)
        names = self.prevalence_names()
        columns: dict[str, Any] = {"topic": np.repeat(names, len(labels)).tolist()} if len(names) > 1 else {}
        columns |= {"label": labels * len(names), "prevalence": self.params.topic_prevalence.reshape(-1)}
        return frame(columns | ({} if self.draws is None else topic_answers(self.draws)), self.kind)

    @property
    def labels(self) -> Any:
        """A table of the consensus: item, label, its probability, that of every label, entropy in bits, topic."""
        return frame(self.label_columns(), self.kind)

    @property
    def judges(self) -> Any:
        """A table of the judges: judgments, accuracy, and the columns of the model."""
        return frame(self.judge_columns(), self.kind)

    @property
    def confusion(self) -> Any:
        """A long table of all matrices: judge, truth, label, probability; with intervals if it was sampled."""
        J, Z, K = self._reported.confusion.shape
        labels = list(self.scale.labels)
        return frame(
            {
                "judge": self.judge_names.gather(np.repeat(np.arange(J), Z * K)),
                "truth": [truth for truth in labels for _ in labels] * J,
                "label": labels * (J * Z),
                "probability": self._reported.confusion.reshape(-1),
                **({} if self.draws is None else cell_ends(self.draws)),
            },
            self.kind,
        )

    @property
    def diagnostics(self) -> Any:
        """A table of all sampled parameters: mean, interval, R-hat, effective sample sizes, Monte Carlo error."""
        judges = self.judge_names.cast(str).to_list()
        return frame(everything(draws_of(self), self.scale.names, judges, self.prevalence_names()), self.kind)

    @property
    def family_words(self) -> str:
        """A sentence on the families of judges, if the fit was sampled with their effects on items; else empty."""
        if self.draws is None or self.draws.spread.shape[2:] != (2,) or self.panel is None:
            return ""
        return (
            f"the judges of a family find the same items hard ({len(set(self.panel.family)):,} families of "
            f"{len(self.panel):,} judges): on an item, a family has the difficulty that the item has for all with "
            f"probability {self.draws.spread[:, :, 1].mean():.2f}, and otherwise one of its own"
        )

    @property
    def ranks(self) -> Any:
        """A table of the ranks of items in their topics, the highest label first, with intervals."""
        topic = self.topic if self.topic is not None else np.zeros(len(self.items), np.int32)
        topic = np.where(topic < 0, topic.max(initial=0) + 1, topic)
        ranked = ranks(self.posterior, topic, self.options.get("seed", 0))
        degree = self.posterior @ np.arange(len(self.scale))
        columns: dict[str, Any] = {"item": self.items, "degree": degree, **ranked._asdict()}
        if self.topics is not None:
            names = [*self.topics.to_list(), None]
            columns = {"topic": [names[t] for t in topic.tolist()], **columns}
        order = np.lexsort((-degree, topic))
        return frame({name: list(np.asarray(column)[order]) for name, column in columns.items()}, self.kind)

    def prevalence_names(self) -> list[str]:
        """Return the names of the rows of the prevalence: "all", or the topics and "(none)"."""
        if self.topics is None or self.params.prevalence.shape[0] == 1:
            return ["all"]
        return [*self.topics.cast(str).to_list(), "(none)"][: self.params.prevalence.shape[0]]

    def label_columns(self) -> dict[str, Any]:
        """Return the consensus as named columns."""
        columns: dict[str, Any] = {
            "item": self.items,
            "label": self._label_names(),
            "probability": self.posterior[np.arange(self.label.size), self.label],
        }
        columns |= {f"p_{name}": self.posterior[:, k] for k, name in enumerate(self.scale.names)}
        columns["entropy"] = self.entropy
        columns |= {name: self.more[:, e] for e, name in enumerate(self.definition.items.columns)}
        columns |= self.definition.labels.columns(self.posterior, self.scale)
        if self.topics is not None and self.topic is not None:
            topics = self.topics.to_list()
            columns["topic"] = [topics[t] if t >= 0 else None for t in self.topic.tolist()]
        return columns

    def judge_columns(self) -> dict[str, Any]:
        """Return the judges as named columns."""
        model_columns = self.definition.confusion.columns(self._reported, self.scale.names)
        columns = {"judge": self.judge_names, "judgments": self.judged, "accuracy": self.accuracy}
        panel = {} if self.panel is None else self.panel.columns()
        return columns | self._judge_answers | model_columns | panel

    @property
    def _reported(self) -> Params:
        """The params with the confusions that follow the calibrated probabilities, if there are such."""
        counted = None if self.calibration is None else self.calibration.confusion
        return self.params if counted is None or not counted.size else self.params._replace(confusion=counted)

    @cached_property
    def _judge_answers(self) -> dict[str, Floats]:
        """The columns of judges from draws, computed once because it is slow."""
        if self.draws is None:
            return {}
        T = self.draws.prevalence.shape[2]
        topic = self.topic if T > 1 and self.topic is not None else np.zeros(len(self.items), np.int32)
        items = np.bincount(np.where(topic < 0, T - 1, topic), minlength=T).astype(float)
        items = items if items.any() else np.ones(T)  # a fit over blocks has no items: topics count the same
        return judge_answers(self.draws, items, self.scale.names)

    def _label_names(self) -> list[Any]:
        """Return the label of every item; with ties="all" as text, tied labels together."""
        labels = self.scale.labels
        if self.options.get("ties") != "all":
            return [labels[k] for k in self.label.tolist()]
        return ["|".join(compress(self.scale.names, row)) for row in most_likely(self.posterior).tolist()]


def draws_of(fit: Fit) -> Draws:
    """Return the draws of a fit; refuse one that has none."""
    if fit.draws is None:
        raise UsageError(
            f"this fit of '{fit.model}' has no draws: fit 'hierarchical' or 'hybrid-confusion', which are sampled"
        )
    return fit.draws

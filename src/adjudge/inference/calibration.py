"""``Calibration``: how a model's posterior and the vote are mixed to calibrated probabilities.

By "crowds", the weights were learned on crowds and panels with gold (``make honesty``) and are data of this package,
``crowds.json``. For an item with n judgments and labels k, the log probability is a weighted sum of

    log vote_ik,   with one more vote that is shared by all labels,
    e_ik,          the log-likelihood of the judges' confusions, times the effective share of judgments
                   1 / (1 + (n - 1) r), less its maximum over k, and bounded by ``cap`` (a hyperbolic tangent),
    log pi_k,      the prevalence,

and a small share of the vote is mixed in. A label that does not have most votes needs to be clearly more likely than
those that have (``lean_to_vote``). The weights depend on n and on the crowd: its kappa, the number of judgments
per judge, and how even the prevalence is. If errors are hardly correlated, the bound is wide and the share of the vote
small. The model's own probabilities are mixed in with the evidence of independent errors as their weight
(``dependence.independence``), which is 0 for almost all real crowds.

A ``GoldMap`` weighs once more: the log of the probabilities so far, the log of the vote, the labels of people beside
machines, an offset per label and a number for each label of each judge. It is learned from gold (``gold_map``); without
gold it only adds the labels of people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats, frozen, row_maxima, row_sums
from adjudge.data.panel import Panel
from adjudge.inference.correlation import TYPICAL, TYPICAL_KAPPA, Correlation, effective_judges
from adjudge.inference.people import EXPERT_TIER, PERSON_TIER, tiers_as_fitted
from adjudge.kernels.block import Block, item_of
from adjudge.kernels.truth import fix_gold, label_counts

CALIBRATIONS = ("none", "crowds", "judgments", "gold")
ARRAYS = ("confusion", "judges", "tier")  # names of the arrays of a calibration
LEAST = 1e-3  # smallest probability in a weighed logarithm
SHARED = 30  # items with two judges or more that are needed to measure correlated errors
UNLIKE = -3.0  # z below which errors are so much less correlated than expected that the model has fitted noise
TIED = 1e-9  # shares of votes that differ by less than this are tied
NOTED = 0.005  # weight of the vote that is worth mentioning
CAP, LOWEST_CAP, HIGHEST_CAP = 0.8, 6.0, 25.0  # bound of the evidence: this over the correlation, within limits
VOTE_SHARE, STRONG = 0.15, 0.2  # share of the vote, from this correlation on
PREVALENCE_FLOOR = 1e-3
SIZE_CLASSES = (1, 2, 3, 5, 10)  # judgments per item
LEAN = 0.1  # a label without most of n votes must be n to this power times as likely as the best that has
BY_CHANCE = 0.05  # probability of truths at an end of the interval, from which they may contradict it by chance


class EvidenceRule(NamedTuple):
    """How the evidence of judges is used, by how correlated their errors are."""

    correlation: float
    cap: float  # bound of the evidence of all judges of an item
    vote: float  # share of the vote that is mixed in


@dataclass(frozen=True)
class GoldMap:
    """Log probabilities as a weighted sum of what is known of an item, learned from gold.

    ``weights`` are those of the log of the base probabilities, of the log of the vote, and of the labels of people and
    of experts beside the judges that were fitted. ``judges[j, l, k]`` is added to truth k if judge j said l.
    """

    weights: tuple[float, ...]  # (4)
    offsets: tuple[float, ...] = ()  # (K), none if empty
    judges: Floats = field(default_factory=lambda: np.empty((0, 0, 0)), compare=False)  # (J, K, K), none if empty
    tier: Codes = field(default_factory=lambda: np.empty(0, np.int64), compare=False)  # (J), all 0 if empty

    def of_judges(self, position: Codes, fitted: Panel | None = None, panel: Panel | None = None) -> GoldMap:
        """Return the map for the judges at these positions; of a judge at -1, the kind may be known (``panel``)."""
        in_fit = position >= 0
        judges = np.where(in_fit[:, None, None], self.judges[position], 0.0) if self.judges.size else self.judges
        tier = tiers_as_fitted(self.tier, fitted, panel, position) if self.tier.size else self.tier
        return replace(self, judges=frozen(judges), tier=frozen(tier))


@dataclass(frozen=True)
class Calibration:
    """How probabilities were calibrated: by weighed logarithms (crowds, gold), or mixed with the vote (judgments)."""

    by: str
    dependence: float = 0.0  # z score of correlated errors
    hedge: float = 0.0  # weight of the vote
    weights: tuple[float, ...] = ()  # of vote, evidence and prevalence, and how much they change with log n of an item
    gold: int = 0  # number of gold items
    loss: float = 0.0  # log loss on held-out gold
    error: float = 0.0  # its standard error
    strength: float = 0.0  # standard deviation of the effect of items on the log odds of being right
    shared: int = SHARED  # items with two judges or more
    simulated: float = 0.0  # weight of the vote by simulated crowds alone
    extra: tuple[float, ...] = ()  # (K) pseudo-votes of every item, which sum to one; equal if empty
    correlation: float = 0.0  # of the errors of two judges
    cap: float = 0.0  # bound of the evidence
    prevalence: tuple[float, ...] = ()  # (K)
    judgments: float = 0.0  # per item, on average
    independent: float = 0.0  # evidence of independent errors: weight of the model's own probabilities
    expected: float = 0.0  # share of labels that is expected to be right
    margin: float = 0.0  # half of the width of its 90 % interval
    gold_map: GoldMap | None = None
    from_gold: bool = False  # whether EM started from gold, because started from the vote it contradicts gold
    confusion: Floats = field(default_factory=lambda: np.empty((0, 0, 0)), compare=False)  # (J, K, K) p(label | truth)
    # of judges under the calibrated probabilities, empty if they are those of the params

    @property
    def changes(self) -> bool:
        """Whether probabilities differ from the model's own."""
        return bool(self.hedge or self.weights or self.gold_map)

    def of_judges(
        self, position: Codes, population: Floats, fitted: Panel | None = None, panel: Panel | None = None
    ) -> Calibration:
        """Return the calibration for the judges at these positions; one at -1 has the confusion of the population.

        ``fitted`` and ``panel`` are what is known about the judges of the fit, and about these.
        """
        result = self
        if self.gold_map is not None:
            result = replace(result, gold_map=self.gold_map.of_judges(position, fitted, panel))
        if self.confusion.size:
            rows = np.where((position >= 0)[:, None, None], self.confusion[position], population)
            result = replace(result, confusion=frozen(rows))
        return result

    @property
    def one_voice(self) -> bool:
        """Whether all judgments of an item count as one, because judges hardly ever disagree."""
        return self.correlation >= 1

    @property
    def words(self) -> str:
        """What was done, in words."""
        if self.by in ("crowds", "gold") and not (self.changes or self.expected):
            return "there is nothing to calibrate: all labels are the same, or there are no judgments"
        if self.by == "crowds":
            return f"{self._worth}; {self.claim}"
        if self.by == "gold":
            return self._by_gold
        if blind(self.dependence, self.shared):
            if self.shared < SHARED:
                count = {0: "no item has", 1: "1 item has"}.get(self.shared, f"{self.shared} items have")
                needed = f"{count} judgments of two judges or more, and {SHARED} such items are needed"
                return self._softened(f"{needed} to detect correlated errors")
            return self._softened("judges have few judgments each, so that correlated errors cannot be detected")
        if self.hedge < NOTED:
            return f"probabilities are the model's own: no correlated errors were detected (z {self.dependence:.1f})"
        reasons = []
        if 1 - (1 - self.hedge) / (1 - self.simulated) >= NOTED:
            reasons.append(f"errors of judges are more correlated than the model assumes (z {self.dependence:.1f})")
        if self.simulated >= NOTED:
            reasons.append("on simulated crowds like this one the model is over-confident")
        return self._softened(", and ".join(reasons))

    @property
    def claim(self) -> str:
        """The share of labels that is expected to be right, with an interval."""
        low, high = self.interval
        labels = "labels without gold" if self.gold else "labels"
        return (
            f"{self.expected:.0%} of the {labels} are expected to be right ({low:.0%} to {high:.0%}: on crowds that "
            "were left out of training, nine in ten such intervals held the true share)"
        )

    @property
    def interval(self) -> tuple[float, float]:
        """The 90 % interval of the share of labels that is right."""
        return max(0.0, self.expected - self.margin), min(1.0, self.expected + self.margin)

    def contradicted(self, right: int, truths: int) -> str:
        """Return a warning if known truths contradict the claim beyond chance; empty if there is nothing to warn of.

        Parameters
        ----------
        right
            How many labels are right of those whose truth is known.
        truths
            How many truths are known that the fit did not use.
        """
        low, high = self.interval
        if not self.margin or not truths or low <= right / truths <= high:
            return ""
        from scipy.special import bdtr, bdtrc  # imported here because it takes as long to load as a small fit to run

        chance = bdtr(right, truths, low) if right / truths < low else bdtrc(right - 1, truths, high)
        if chance >= BY_CHANCE:
            return ""
        return (
            f"Warning: {right / truths:.0%} of the {truths:,} labels with a known truth are right, outside the claimed "
            f"{low:.0%} to {high:.0%}"
        )

    @property
    def more_gold(self) -> str:
        """What more gold items would be worth: the mean over the sets of ``make honesty``. Empty if it is unknown."""
        learned = learned_weights()["gold"]["gains"]
        sizes = sorted(map(int, learned))
        larger = [size for size in sizes if size > max(self.gold, sizes[0])]
        if self.by not in ("crowds", "gold") or not self.changes or not larger:
            return ""
        gains = np.maximum.accumulate([0.0, *(learned[str(size)]["accuracy"] for size in sizes)])
        gain = float(np.interp([larger[0], self.gold], [0, *sizes], gains) @ [1, -1])
        instead = f" instead of {self.gold:,}" if self.gold else ""
        return (
            f"{larger[0]:,} gold items{instead} would correct about {max(1, round(1000 * gain))} more labels per 1,000 "
            "(mean over the crowds and panels of the study; adjudge ask chooses the items)"
        )

    @property
    def _by_gold(self) -> str:
        """What gold taught."""
        loss = f"log loss {self.loss:.3f} +- {self.error:.3f} on held-out gold"
        text = f"probabilities were learned from {self.gold:,} gold items ({loss})"
        if self.from_gold:
            text += "; gold contradicts the vote, so that EM was started from gold: check whether labels are exchanged"
        return f"{text}; {self.claim}" if self.margin else text

    @property
    def _worth(self) -> str:
        """How many independent judgments those of an item are worth."""
        if self.judgments < 1.5:
            return "items have one judgment each, which says little about the judges"
        if self.one_voice:
            return "judges hardly ever disagree, which does not show whether they are right: they count as one judge"
        worth = float(effective_judges(np.array(self.judgments), self.correlation))
        return (
            f"{self.judgments:.1f} judgments per item are worth about {worth:.1f} independent ones "
            f"(estimated correlation of errors {self.correlation:.2f})"
        )

    def _softened(self, reason: str) -> str:
        """Return why probabilities were mixed with vote shares, and how much."""
        return (
            f"probabilities were softened: {reason}. "
            f"Each one is now {1 - self.hedge:.0%} model, {self.hedge:.0%} vote share"
        )


def blind(z: float, shared: int) -> bool:
    """Return whether correlated errors cannot be measured, by the z score and the items with two judges."""
    return shared < SHARED or z < UNLIKE


def calibration_of(saved: Mapping[str, Any], arrays: Mapping[str, Any] | None = None) -> Calibration:
    """Return a calibration from plain values, and its arrays by name (``as_arrays``)."""
    lists = {name: tuple(saved.get(name, ())) for name in ("weights", "extra", "prevalence")}
    plain, by_name = {**saved, **lists}, arrays or {}
    if saved.get("gold_map"):
        learned = saved["gold_map"]
        arrays_of_map = {name: by_name[name] for name in ("judges", "tier") if name in by_name}
        plain["gold_map"] = GoldMap(tuple(learned["weights"]), tuple(learned["offsets"]), **arrays_of_map)
    elif saved["by"] == "gold":  # of an earlier version: weights of posterior and vote, then offsets
        plain["gold_map"] = GoldMap((*lists["weights"][:2], 0.0, 0.0), lists["weights"][2:])
        plain["weights"] = ()
    if "confusion" in by_name:
        plain["confusion"] = by_name["confusion"]
    return Calibration(**plain)


def as_dict(calibration: Calibration) -> dict[str, Any]:
    """Return a calibration as plain values, without its arrays."""
    plain = {each.name: getattr(calibration, each.name) for each in fields(calibration) if each.name != "confusion"}
    learned = calibration.gold_map
    return plain | {"gold_map": learned and {"weights": learned.weights, "offsets": learned.offsets}}


def as_arrays(calibration: Calibration) -> dict[str, Any]:
    """Return the arrays of a calibration by name, those that are not empty."""
    learned = calibration.gold_map
    arrays: dict[str, Any] = {"confusion": calibration.confusion}
    arrays |= {} if learned is None else {"judges": learned.judges, "tier": learned.tier}
    return {name: array for name, array in arrays.items() if array.size}


def smoothed_votes(block: Block, extra: Sequence[float] = ()) -> Floats:
    """Return each label's share of an item's votes (I, K), with the pseudo-votes ``extra`` (K)."""
    return _vote_shares(label_counts(block), extra)


def _vote_shares(counts: Floats, extra: Sequence[float] = ()) -> Floats:
    """Return shares of votes from counts of labels (I, K), with the pseudo-votes ``extra`` (K)."""
    K = counts.shape[1]
    more = np.asarray(extra) if len(extra) else np.full(K, 1 / K)
    shares: Floats = (counts + more) / (row_sums(counts) + 1)[:, None]
    return shares


def mixed(calibration: Calibration, posterior: Floats, block: Block) -> Floats:
    """Return calibrated probabilities (I, K) from a model's posterior and the votes of a block; gold stays certain."""
    counts = label_counts(_as_one(block) if calibration.one_voice else block)
    vote = _vote_shares(counts, calibration.extra)
    if calibration.weights:
        probability = _weighed_as_learned(calibration, posterior, vote, row_sums(counts))
    else:
        probability = (1 - calibration.hedge) * posterior + calibration.hedge * vote
    if calibration.gold_map is not None:
        probability = mapped(calibration.gold_map, probability, vote, block)
    return fix_gold(probability, block.gold)


def unmixed(calibration: Calibration | None, posterior: Floats, block: Block) -> Floats:
    """Return the model's own probabilities (I, K) from a mixture with the vote; those by crowds or gold stay."""
    if calibration is None or calibration.by != "judgments" or not calibration.hedge:
        return posterior
    h, vote = calibration.hedge, smoothed_votes(block, calibration.extra)
    plain = np.maximum((posterior - h * vote) / (1 - h), 0.0)  # below zero by rounding
    return fix_gold(plain / plain.sum(axis=1, keepdims=True), block.gold)


def mapped(learned: GoldMap, base: Floats, vote: Floats, block: Block) -> Floats:
    """Return the probabilities (I, K) of a map, from those of its base and the smoothed vote (I, K)."""
    logs = map_features(base, vote, block, learned.tier) @ np.array(learned.weights)
    if learned.offsets:
        logs = logs + np.array(learned.offsets)
    if learned.judges.size:
        item = item_of(block)
        table = learned.judges.reshape(-1, block.labels)  # (J * K, K)
        added = [np.bincount(item, table[block.cell, k], minlength=block.topic.size) for k in range(block.labels)]
        logs = logs + np.stack(added, axis=1)
    return softmax(logs)


def map_features(base: Floats, vote: Floats, block: Block, tier: Codes) -> Floats:
    """Return what a map weighs (I, K, 4): log base, log vote, and the labels of people and of experts.

    Of several people on an item, the labels are scaled to their effective number.
    """
    people = [_labels_of(block, tier == rank) for rank in (PERSON_TIER, EXPERT_TIER)]
    logs = [np.log(np.maximum(each, LEAST)) for each in (base, vote)]
    return np.stack([*logs, *people], axis=2)


def _labels_of(block: Block, included: Codes) -> Floats:
    """Return how often each label was given by some judges (I, K), scaled to the effective number of judges."""
    counts = np.zeros((block.topic.size, block.labels))
    if included.any():
        item = item_of(block)
        judge, label = np.divmod(block.cell, block.labels)
        np.add.at(counts, (item[included[judge]], label[included[judge]]), 1.0)
    number = np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    scaled: Floats = counts * effective_judges(number, TYPICAL) / number
    return scaled


def softmax(logs: Floats) -> Floats:
    """Return rows of logarithms as probabilities."""
    shares = np.exp(logs - row_maxima(logs)[:, None])
    probabilities: Floats = shares / row_sums(shares)[:, None]
    return probabilities


def crowd_features(
    posterior: Floats, vote: Floats, judgments: Floats, prevalence: Floats, rule: EvidenceRule
) -> Floats:
    """Return what is weighed (I, K, 3): log vote, tempered and bounded evidence, and log prevalence.

    ``posterior`` is the model's own, ``judgments`` (I) counts those of every item, and ``prevalence`` is (K).
    """
    common = np.log(np.maximum(prevalence, PREVALENCE_FLOOR))
    evidence = np.log(np.maximum(posterior, np.finfo(float).tiny)) - common
    share = effective_judges(judgments, rule.correlation) / judgments
    evidence = share[:, None] * (evidence - row_maxima(evidence)[:, None])
    bounded = rule.cap * np.tanh(evidence / rule.cap)
    return np.stack([np.log(vote), bounded, np.broadcast_to(common, vote.shape)], axis=2)


def evidence_rule(correlation: float) -> EvidenceRule:
    """Return how evidence is tempered and bounded, and the share of the vote, for a correlation of errors."""
    cap = float(np.clip(CAP / correlation, LOWEST_CAP, HIGHEST_CAP))
    return EvidenceRule(correlation, cap, VOTE_SHARE * min(1.0, correlation / STRONG))


def crowd_contexts(kappa: float | None, per_judge: float, prevalence: Floats) -> Floats:
    """Return the numbers of a crowd on which the weights depend (4).

    They are one, kappa, the log of judgments per judge, and how even the prevalence (K) is: its entropy, which is 1 if
    all labels are equally common. Each is centred where crowds usually are.
    """
    agreement = TYPICAL_KAPPA if kappa is None else kappa
    shares = np.maximum(prevalence, np.finfo(float).tiny)
    evenness = -float((shares * np.log(shares)).sum()) / np.log(shares.size)
    return np.array([1.0, agreement - TYPICAL_KAPPA, (np.log(max(per_judge, 1.0)) - 4) / 2, evenness - 0.85])


def log_size(judgments: Floats) -> Floats:
    """Return the number of an item on which the weights depend (I): the log of its judgments."""
    return np.log(judgments) - 1.2


@cache
def learned_weights() -> Mapping[str, Any]:
    """Return the weights that were learned on crowds and panels with gold, with where they come from."""
    learned: Mapping[str, Any] = json.loads(Path(__file__).with_name("crowds.json").read_text(encoding="utf-8"))
    return learned


def by_crowds(
    correlation: Correlation, independent: float, block: Block, prevalence: Floats, per_judge: float | None = None
) -> Calibration:
    """Return the calibration by crowds of model ``consensus``, without the share that is expected to be right.

    ``per_judge`` is the number of judgments per judge, if the block is a sample of a crowd.
    """
    learned, rule = learned_weights(), evidence_rule(correlation.errors)
    judgments = row_sums(label_counts(block))
    judged = judgments > 0
    if not judged.any():
        return Calibration("crowds")
    counted = block.cell[block.weight > 0] if block.weight.size else block.cell
    per_item = float(judgments[judged].mean())
    per_judge = per_judge or judgments.sum() / np.count_nonzero(np.bincount(counted // block.labels))
    kappa, size = (None, 1) if correlation.unanimous else (correlation.kappa, size_class(per_item))
    by_crowd = np.array(learned["by_crowd"]) @ crowd_contexts(kappa, per_judge, prevalence)  # (3)
    return Calibration(
        "crowds",
        hedge=rule.vote,
        weights=tuple(map(float, [*by_crowd, *learned["by_size"]])),
        correlation=correlation.errors,
        cap=rule.cap,
        prevalence=tuple(map(float, prevalence)),
        judgments=per_item,
        independent=independent,
        margin=float(learned["margins"][str(size)]),
    )


def size_class(per_item: float) -> int:
    """Return the class of judgments per item by which the half-width of the interval was learned.

    >>> [size_class(per_item) for per_item in (1.2, 2, 4, 7, 50)]
    [1, 2, 3, 5, 10]
    """
    return max((size for size in SIZE_CLASSES if per_item >= 0.85 * size), default=SIZE_CLASSES[0])


def expected_share(probability: Floats, start: Codes, gold: Codes | None = None) -> float:
    """Return the share of judged items whose label is expected to be right; those with gold do not count.

    Item i has the judgments ``start[i]`` to ``start[i + 1]``.
    """
    judged = np.diff(start) > 0
    unknown = judged if gold is None else judged & (gold < 0)
    counted = unknown if unknown.any() else judged
    return float(row_maxima(probability)[counted].mean()) if counted.any() else 0.0


def gold_margin(margin: float, gold: int) -> float:
    """Return half of the width of the 90 % interval of the share of right labels, with so many gold items."""
    learned = learned_weights()["gold"]["margins"]  # by number of gold items
    sizes = sorted(map(int, learned))
    return float(min(margin, np.interp(np.log(gold), np.log(sizes), [learned[str(size)] for size in sizes])))


def _weighed_as_learned(calibration: Calibration, posterior: Floats, vote: Floats, judgments: Floats) -> Floats:
    """Return probabilities (I, K) by the weights that were learned on other crowds."""
    judgments = np.maximum(judgments, 1.0)
    rule = EvidenceRule(calibration.correlation, calibration.cap, calibration.hedge)
    features = crowd_features(posterior, vote, judgments, np.array(calibration.prevalence), rule)
    if calibration.one_voice:  # confusions learned from unanimous judges say nothing: the vote stands for them
        features[:, :, 1] = features[:, :, 0]
    by_crowd, by_size = np.reshape(calibration.weights, (2, -1))
    logs = np.einsum("ikf,if->ik", features, by_crowd + np.outer(log_size(judgments), by_size))
    share = calibration.independent
    learned = lean_to_vote(mix_vote(logs, vote, rule.vote), vote, judgments)
    probabilities: Floats = (1 - share) * learned + share * posterior
    return probabilities


def _as_one(block: Block) -> Block:
    """Return a block in which all judgments of an item together count as one."""
    size = np.diff(block.start)
    return block._replace(weight=np.repeat(1 / np.maximum(size, 1), size))


def lean_to_vote(probability: Floats, vote: Floats, judgments: Floats) -> Floats:
    """Return probabilities (I, K) in which the labels with most votes have a small advantage.

    Where the most likely label is not among them, the likeliest of them counts n ** LEAN times, n being the judgments
    of the item (I): the more there are, the surer it is what most judges say.

    >>> lean_to_vote(np.array([[0.51, 0.49]]), np.array([[0.4, 0.6]]), np.array([10.0])).round(3).tolist()
    [[0.453, 0.547]]
    """
    most = vote >= (row_maxima(vote) - TIED)[:, None]
    voted, others = np.where(most, probability, -1.0), np.where(most, -1.0, probability)
    other = np.flatnonzero(row_maxima(others) >= row_maxima(voted))
    leaning = probability.copy()
    leaning[other, voted[other].argmax(axis=1)] *= judgments[other] ** LEAN
    leaning /= row_sums(leaning)[:, None]
    return leaning


def mix_vote(logs: Floats, vote: Floats, share: float) -> Floats:
    """Return probabilities (I, K) from their logs up to a constant, with a share of the vote."""
    mixture: Floats = (1 - share) * softmax(logs) + share * vote
    return mixture

"""Learn how far judges can be believed: the weights of model ``consensus``, from crowds and panels with gold.

Every shared set with gold is used in full and thinned to 5, 3, 2 and 1 judgments per item, and crowds whose judges are
independent are simulated. For each, the features of ``inference.calibration`` are computed without gold, and a
conditional logit with a ridge penalty learns to predict the truth from them; every set counts the same. All figures are
of sets whose whole family was left out of training. Simulated crowds are not trained on.

``studies.honesty_page`` prints the figures and writes the weights, which are data of the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import minimize

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.inference.calibrate import crowd_evidence
from adjudge.inference.calibration import (
    SIZE_CLASSES,
    crowd_contexts,
    crowd_features,
    evidence_rule,
    lean_to_vote,
    log_size,
    mix_vote,
    size_class,
    smoothed_votes,
)
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named
from adjudge.kernels.truth import label_counts
from adjudge.metrics.compare import truths
from studies.datasets import GOLD, LABELS, list_sets

WITHOUT_GOLD = ("anesthesia", "caries", "hiv", "uterine_carcinoma", "nyt_passages")
NOT_USED = ("trec2011_task2_mini", "emotion", *WITHOUT_GOLD)  # part of another set; scores, not labels
FAMILIES = {"nyt": "nyt", "rte": "snow", "temp": "snow", "wsd": "snow", "tc_": "tc", "alt_": "alt"}  # by prefix
THINNED = (5, 3, 2, 1)  # judgments per item
TRAINED, SCORED = 400, 600  # gold items of a set that are used
RIDGE = 0.005
FEWEST_GAPS = 5  # cases of a kind and class that are needed for a quantile
CLIP = 1e-3  # smallest probability in a log loss


class Case(NamedTuple):
    """A crowd or panel, in full or thinned."""

    name: str
    kind: str  # crowd, panel or simulated
    family: str
    thinned: int  # judgments per item, 0 in full
    judgments: Judgments
    truth: Codes  # (I), -1 if unknown


@dataclass(frozen=True)
class Sample:
    """What is learned from a case: its gold items, in random order."""

    case: Case
    features: Floats  # (M, K, 15) features times contexts
    vote: Floats  # (M, K)
    shares: Floats  # (M, K) plain vote shares
    truth: Codes  # (M)
    vote_share: float
    independent: float
    own: Floats  # (M, K) the model's own posterior, if errors may be independent after more rounds
    gold: Codes  # (M) their positions among the items
    judgments: Floats  # (M) of each item

    def probabilities(self, theta: Floats) -> Floats:
        """Return the probabilities of the gold items by these coefficients."""
        learned = lean_to_vote(mix_vote(self.features @ theta, self.vote, self.vote_share), self.vote, self.judgments)
        mixture: Floats = (1 - self.independent) * learned + self.independent * self.own
        return mixture


class Score(NamedTuple):
    """The measures of probabilities on the gold items of a case."""

    accuracy: float
    log_loss: float
    gap: float  # claimed less right


def family_of(name: str) -> str:
    """Return the family of a set: sets of one source are left out of training together."""
    return next((family for prefix, family in FAMILIES.items() if name.startswith(prefix)), name)


def read_cases(folder: Path, say: Callable[[str], None]) -> list[Case]:
    """Return all sets with gold, in full and thinned, and simulated crowds."""
    cases = []
    names = [(folder, name, "crowd") for name in list_sets(folder) if name not in NOT_USED]
    names += [(folder / "panels", name, "panel") for name in list_sets(folder / "panels")]
    for place, name, kind in names:
        say(f"reading {name}")
        judgments = read(str(place / name / LABELS), label="label", labels=all_labels(place / name))
        if kind == "panel":
            judgments = only_machines(judgments, place / name / "judges.csv")
        truth = truths(str(place / name / GOLD), judgments, label="label")[: len(judgments.items)]
        full = Case(name, kind, family_of(name), 0, judgments, truth)
        per_item = len(judgments) / len(judgments.items)
        cases += [full, *(thin(full, most) for most in THINNED if per_item > 1.15 * most)]
    return cases + simulated_cases()


def all_labels(folder: Path) -> list[str]:
    """Return the labels of a set, those of gold that nobody gave included."""
    columns = [pl.read_csv(folder / file, infer_schema_length=0)["label"] for file in (LABELS, GOLD)]
    return sorted({str(label) for column in columns for label in column.drop_nulls()} - {""})


def only_machines(judgments: Judgments, path: Path) -> Judgments:
    """Return the judgments of the machines of a panel."""
    kinds = pl.read_csv(path, infer_schema_length=0)
    machines = set(kinds.filter(pl.col("kind") == "llm")["judge"].to_list())
    machine = np.array([str(name) in machines for name in judgments.judges.to_list()])
    return judgments.take(np.flatnonzero(machine[judgments.judge]))


def thin(case: Case, most: int) -> Case:
    """Return a case with at most so many judgments per item, chosen at random."""
    judgments, rng = case.judgments, np.random.default_rng(most)
    item = judgments.item()
    order = np.lexsort((rng.random(item.size), item))
    rank = np.arange(item.size) - judgments.start[item[order]]
    return case._replace(thinned=most, judgments=judgments.take(np.sort(order[rank < most])))


def simulated_cases() -> list[Case]:
    """Return crowds of independent judges: Dawid and Skene's model is true, with one or with K accuracies per judge."""
    rng, cases = np.random.default_rng(5), list[Case]()
    for labels, accuracies in ((2, (0.65, 0.75, 0.85)), (4, (0.5, 0.65, 0.8))):
        for per_item in (3, 5, 8, 15):
            for accuracy in accuracies:
                for items, judges in ((300, 20), (1500, 100)):
                    name = f"simulated: {labels} labels, {per_item} judgments per item, {accuracy} right, {items} items"
                    judgments, truth = simulate(rng, items, judges, per_item, labels, accuracy)
                    cases.append(Case(name, "simulated", "simulated", 0, judgments, truth))
    return cases


def simulate(
    rng: np.random.Generator, items: int, judges: int, per_item: int, labels: int, accuracy: float
) -> tuple[Judgments, Codes]:
    """Return judgments of independent judges with confusions of their own, and the truths of the items."""
    truth = rng.choice(labels, items, p=rng.dirichlet(np.full(labels, 5.0)))
    item, judge = np.repeat(np.arange(items), per_item), np.argsort(rng.random((items, judges)))[:, :per_item].ravel()
    right = np.clip(rng.beta(6 * accuracy, 6 * (1 - accuracy), (judges, labels)), 0.05, 0.98)
    wrong = rng.dirichlet(np.full(labels - 1, 1.5), (judges, labels)) * (1 - right)[..., None]
    rows = np.empty((judges, labels, labels))
    for k in range(labels):
        rows[:, k] = np.insert(wrong[:, k], k, right[:, k], axis=1)
    given = (rng.random((item.size, 1)) > rows[judge, truth[item]].cumsum(axis=1)).sum(axis=1)
    table = {"item": item.astype(str), "judge": judge.astype(str), "label": np.minimum(given, labels - 1).astype(str)}
    judgments = read(pl.DataFrame(table), labels=[str(k) for k in range(labels)])
    return judgments, truth[[int(name) for name in judgments.items.to_list()]]


def sample(case: Case) -> Sample:
    """Return the features of the gold items of a case; they are computed without gold."""
    fit, correlation, independent = crowd_evidence(infer(model_named("consensus"), case.judgments), case.judgments)
    block = case.judgments.block()
    counts = label_counts(block)
    gold = np.flatnonzero((case.truth >= 0) & (counts.sum(axis=1) > 0))
    gold = gold[np.random.default_rng(1).permutation(gold.size)[:SCORED]]
    judgments, vote, rule = counts[gold].sum(axis=1), smoothed_votes(block)[gold], evidence_rule(correlation.errors)
    values = crowd_features(fit.posterior[gold], vote, judgments, fit.params.label_prevalence, rule)  # (M, K, 3)
    per_judge = len(case.judgments) / np.unique(case.judgments.judge).size
    contexts = np.tile(crowd_contexts(correlation.kappa, per_judge, fit.params.label_prevalence), (gold.size, 1))
    contexts = np.column_stack([contexts, log_size(judgments)])  # (M, 5)
    features = (values[..., None] * contexts[:, None, None]).reshape(*values.shape[:2], -1)
    shares, own = counts[gold] / judgments[:, None], fit.posterior[gold]
    return Sample(case, features, vote, shares, case.truth[gold], rule.vote, independent, own, gold, judgments)


def train(samples: Sequence[Sample], start: Floats | None = None) -> Floats:
    """Return the coefficients (15) with the least penalised log loss; every set counts the same."""
    groups = [_centred(each, weight) for each, weight in zip(samples, _set_weights(samples), strict=True)]
    total = sum(weight * truth.size for _, truth, weight, _ in groups)
    squares = sum(weight * np.square(x).sum(axis=(0, 1)) / x.shape[1] for x, _, weight, _ in groups)
    scale = np.sqrt(squares / total) + 1e-9

    def loss(theta: Floats) -> tuple[float, Floats]:
        value, slope = RIDGE * float(theta @ theta), 2 * RIDGE * theta
        for x, truth, weight, (share, vote) in groups:
            q, at = softmax(x @ (theta / scale)), np.arange(truth.size)
            learned = (1 - share) * q[at, truth]
            chance = learned + share * vote
            value -= weight / total * float(np.log(np.maximum(chance, CLIP)).sum())
            q[at, truth] -= 1
            q *= (np.where(chance > CLIP, learned / chance, 0.0) * (weight / total))[:, None]
            slope = slope + np.tensordot(q, x, ((0, 1), (0, 1))) / scale
        return value, slope

    begin = np.zeros(scale.size) if start is None else start * scale
    best: Floats = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"ftol": 1e-8}).x / scale
    return best


def _centred(sample: Sample, weight: float) -> tuple[Floats, Codes, float, tuple[float, Floats]]:
    """Return the rows that are trained on, the weight of a row, and the share of the vote with that of the truth (M).

    Features are less their mean over labels.
    """
    x, truth = sample.features[:TRAINED], sample.truth[:TRAINED]
    vote = sample.vote[np.arange(truth.size), truth]
    return x - x.mean(axis=1, keepdims=True), truth, weight / truth.size, (sample.vote_share, vote)


def _set_weights(samples: Sequence[Sample]) -> list[float]:
    """Return the weight of every case: a set in full counts once, and so do all of its thinned cases together."""
    thinned: dict[str, int] = {}
    for each in samples:
        thinned[each.case.name] = thinned.get(each.case.name, 0) + (each.case.thinned > 0)
    return [1 / thinned[each.case.name] if each.case.thinned else 1.0 for each in samples]


def softmax(logs: Floats) -> Floats:
    """Return rows of logarithms as probabilities."""
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    probabilities: Floats = shares / shares.sum(axis=1, keepdims=True)
    return probabilities


def score(probability: Floats, truth: Codes) -> Score:
    """Return the measures of probabilities (M, K); tied labels share a hit."""
    at = np.arange(truth.size)
    tied = probability >= probability.max(axis=1, keepdims=True) - 1e-9
    right = float((tied[at, truth] / tied.sum(axis=1)).mean())
    loss = float(-np.log(np.clip(probability[at, truth], CLIP, 1 - CLIP)).mean())
    return Score(right, loss, float(probability.max(axis=1).mean()) - right)


def mean_scores(scores: Sequence[Score]) -> str:
    """Return the mean accuracy, log loss and |claimed - right| of scores as text."""
    values = np.mean([(each.accuracy, each.log_loss, abs(each.gap)) for each in scores], axis=0)
    return " / ".join(f"{value:.3f}".removeprefix("0") for value in values)


def left_out_weights(samples: Sequence[Sample], say: Callable[[str], None]) -> dict[str, Floats]:
    """Return the coefficients without each family, by its name; those of all sets are the family "simulated".

    Simulated crowds are not trained on.
    """
    real = [each for each in samples if each.case.kind != "simulated"]
    thetas = {"simulated": train(real)}
    for family in dict.fromkeys(each.case.family for each in real):
        say(f"training without {family}")
        thetas[family] = train([each for each in real if each.case.family != family], thetas["simulated"])
    return thetas


def left_out_scores(samples: Sequence[Sample], thetas: dict[str, Floats]) -> list[Score]:
    """Return the scores of every case by the coefficients of all other families."""
    return [score(each.probabilities(thetas[each.case.family]), each.truth) for each in samples]


def margins(samples: Sequence[Sample], scores: Sequence[Score], without: str = "") -> dict[str, float]:
    """Return the 90 % quantile of |claimed - right| by the class of judgments per item, on real sets.

    It is that of crowds or of panels, whichever is larger: nobody knows which of them a user's judges resemble. Sets of
    the family ``without`` are left out.
    """
    gaps: dict[tuple[int, str], list[float]] = {}
    for each, one in zip(samples, scores, strict=True):
        if each.case.kind != "simulated" and each.case.family != without:
            gaps.setdefault((size_of(each.case), each.case.kind), []).append(abs(one.gap))
    widths = {group: next_quantile(values) for group, values in gaps.items() if len(values) >= FEWEST_GAPS}
    overall = next_quantile([gap for values in gaps.values() for gap in values])
    return {
        str(size): round(max((width for (of, _), width in widths.items() if of == size), default=overall), 3)
        for size in SIZE_CLASSES
    }


def next_quantile(values: Sequence[float]) -> float:
    """Return the value below which a further one lies with a probability of 90 %: the largest of fewer than ten."""
    return float(np.quantile(values, min(1.0, 0.9 * (1 + 1 / len(values))), method="higher"))


def size_of(case: Case) -> int:
    """Return the class of judgments per item of a case."""
    return size_class(len(case.judgments) / len(case.judgments.items))

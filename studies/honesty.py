"""Learn how far judges can be believed: the weights of model ``consensus``, from crowds and panels with gold.

Every shared set with gold is used in full and thinned to 5, 3, 2 and 1 judgments per item, and crowds whose judges are
independent are simulated. For each, the features of ``inference.calibration`` are computed without gold, and a
conditional logit with a ridge penalty learns to predict the truth from them; every set counts the same. All figures are
of sets whose whole family was left out of training. Simulated crowds are not trained on.

``python -m studies.honesty`` prints the figures; with ``--write`` (``make honesty``) it also writes the weights, which
are data of the package, and the page docs/explanation/measured/honesty.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import minimize

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.inference.calibrate import POSSIBLE, SETTLED
from adjudge.inference.calibration import (
    crowd_contexts,
    crowd_features,
    evidence_rule,
    log_size,
    mix_vote,
    smoothed_votes,
)
from adjudge.inference.correlation import correlation_of
from adjudge.inference.dependence import independence
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named
from adjudge.kernels.truth import label_counts
from adjudge.metrics.compare import truths
from studies.datasets import GOLD, LABELS, data_folder, list_sets
from studies.markdown import table

WEIGHTS = Path(__file__).parents[1] / "src" / "adjudge" / "inference" / "crowds.json"
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "measured" / "honesty.md"
WITHOUT_GOLD = ("anesthesia", "caries", "hiv", "uterine_carcinoma", "nyt_passages")
NOT_USED = ("trec2011_task2_mini", "emotion", *WITHOUT_GOLD)  # part of another set; scores, not labels
FAMILIES = {"nyt": "nyt", "rte": "snow", "temp": "snow", "wsd": "snow", "tc_": "tc", "alt_": "alt"}  # by prefix
THINNED = (5, 3, 2, 1)  # judgments per item
TRAINED, SCORED = 200, 600  # gold items of a set that are used
RIDGE = 0.005
CLIP = 1e-3  # smallest probability in a log loss
WORSE, LOWER = 0.05, 0.01  # log loss above, and accuracy below, that of the vote which count as a failure


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

    def probabilities(self, theta: Floats) -> Floats:
        """Return the probabilities of the gold items by these coefficients."""
        learned = mix_vote(self.features @ theta, self.vote, self.vote_share)
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
    independent = independence(case.judgments)
    model = model_named("consensus")
    model = replace(model, rounds=SETTLED) if independent > POSSIBLE else model
    fit, block = infer(model, case.judgments), case.judgments.block()
    counts = label_counts(block)
    correlation = correlation_of(block, fit.params, counts)
    gold = np.flatnonzero((case.truth >= 0) & (counts.sum(axis=1) > 0))
    gold = gold[np.random.default_rng(1).permutation(gold.size)[:SCORED]]
    judgments, vote, rule = counts[gold].sum(axis=1), smoothed_votes(block)[gold], evidence_rule(correlation.errors)
    values = crowd_features(fit.posterior[gold], vote, judgments, fit.params.label_prevalence, rule)  # (M, K, 3)
    per_judge = len(case.judgments) / np.unique(case.judgments.judge).size
    contexts = np.tile(crowd_contexts(correlation.kappa, per_judge, fit.params.label_prevalence), (gold.size, 1))
    contexts = np.column_stack([contexts, log_size(judgments)])  # (M, 5)
    features = (values[..., None] * contexts[:, None, None]).reshape(*values.shape[:2], -1)
    shares, own = counts[gold] / judgments[:, None], fit.posterior[gold]
    return Sample(case, features, vote, shares, case.truth[gold], rule.vote, independent, own)


def train(samples: Sequence[Sample], start: Floats | None = None) -> Floats:
    """Return the coefficients (15) with the least penalised log loss; every set counts the same."""
    groups = [_centred(each, weight) for each, weight in zip(samples, _set_weights(samples), strict=True)]
    total = sum(weight * truth.size for _, truth, weight in groups)
    squares = sum(weight * np.square(x).sum(axis=(0, 1)) / x.shape[1] for x, _, weight in groups)
    scale = np.sqrt(squares / total) + 1e-9

    def loss(theta: Floats) -> tuple[float, Floats]:
        value, slope = RIDGE * float(theta @ theta), 2 * RIDGE * theta
        for x, truth, weight in groups:
            q, at = softmax(x @ (theta / scale)), np.arange(truth.size)
            chance = q[at, truth]
            value -= weight / total * float(np.log(np.maximum(chance, CLIP)).sum())
            q[at, truth] -= 1
            q *= (chance > CLIP)[:, None] * (weight / total)
            slope = slope + np.tensordot(q, x, ((0, 1), (0, 1))) / scale
        return value, slope

    begin = np.zeros(scale.size) if start is None else start * scale
    best: Floats = minimize(loss, begin, jac=True, method="L-BFGS-B", options={"ftol": 1e-8}).x / scale
    return best


def _centred(sample: Sample, weight: float) -> tuple[Floats, Codes, float]:
    """Return the rows that are trained on, features less their mean over labels, and the weight of a row."""
    x, truth = sample.features[:TRAINED], sample.truth[:TRAINED]
    return x - x.mean(axis=1, keepdims=True), truth, weight / truth.size


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


def left_out_scores(samples: Sequence[Sample], say: Callable[[str], None]) -> tuple[list[Score], Floats]:
    """Return the scores of every case by the coefficients of all other families, and the coefficients of all.

    Simulated crowds are scored, and not trained on.
    """
    real = [each for each in samples if each.case.kind != "simulated"]
    everything = train(real)
    scores: list[Score | None] = [None] * len(samples)
    for family in dict.fromkeys(each.case.family for each in samples):
        say(f"training without {family}")
        others = [each for each in real if each.case.family != family]
        theta = everything if family == "simulated" else train(others, everything)
        for n, each in enumerate(samples):
            if each.case.family == family:
                scores[n] = score(each.probabilities(theta), each.truth)
    return [each for each in scores if each is not None], everything


def margins(samples: Sequence[Sample], scores: Sequence[Score]) -> dict[str, float]:
    """Return the 90 % quantile of |claimed - right| by judgments per item (1, 2, 3 or more), on real sets."""
    result = {}
    for size in (1, 2, 3):
        gaps = [
            abs(one.gap)
            for each, one in zip(samples, scores, strict=True)
            if each.case.kind != "simulated" and _size(each.case) == size
        ]
        result[str(size)] = round(float(np.quantile(gaps, 0.9)), 3)
    return result


def _size(case: Case) -> int:
    """Return the judgments per item of a case: 1, 2, or 3 and more."""
    return int(np.clip(round(len(case.judgments) / len(case.judgments.items)), 1, 3))


def write_weights(theta: Floats, margin: dict[str, float], samples: Sequence[Sample]) -> None:
    """Write the coefficients as data of the package."""
    coefficients = theta.reshape(3, 5)
    real = [each.case for each in samples if each.case.kind != "simulated" and not each.case.thinned]
    content = {
        "version": 1,
        "trained_on": {kind: sorted(case.name for case in real if case.kind == kind) for kind in ("crowd", "panel")},
        "features": ["vote", "evidence", "prevalence"],
        "contexts": ["one", "kappa", "judgments per judge", "evenness of prevalence"],
        "by_crowd": coefficients[:, :4].round(6).tolist(),
        "by_size": coefficients[:, 4].round(6).tolist(),
        "margins": margin,
    }
    WEIGHTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def rows_of_means(samples: Sequence[Sample], scores: Sequence[Score]) -> Iterable[list[str]]:
    """Yield the means over sets: of the plain vote, the smoothed vote, and the consensus."""
    for kind in ("crowd", "panel"):
        for label, thinned in (("all judgments", (0,)), ("5, 3, 2 per item", (5, 3, 2)), ("1 per item", (1,))):
            index = [n for n, each in enumerate(samples) if each.case.kind == kind and each.case.thinned in thinned]
            plain = [score(samples[n].shares, samples[n].truth) for n in index]
            smoothed = [score(samples[n].vote, samples[n].truth) for n in index]
            own = [scores[n] for n in index]
            loss = sum(a.log_loss > b.log_loss + WORSE for a, b in zip(own, plain, strict=True))
            lower = sum(a.accuracy < b.accuracy - LOWER for a, b in zip(own, plain, strict=True))
            yield [
                f"{kind}s, {label}",
                str(len(index)),
                _means(plain),
                _means(smoothed),
                _means(own),
                f"{loss}, {lower}",
            ]


def _means(scores: Sequence[Score]) -> str:
    """Return accuracy, log loss and mean |claimed - right|."""
    accuracy, loss = (np.mean([getattr(one, name) for one in scores]) for name in ("accuracy", "log_loss"))
    gap = np.mean([abs(one.gap) for one in scores])
    return " / ".join(f"{value:.3f}".removeprefix("0") for value in (accuracy, loss, gap))


def rows_of_sets(samples: Sequence[Sample], scores: Sequence[Score]) -> Iterable[list[str]]:
    """Yield the figures of every set in full."""
    for each, one in zip(samples, scores, strict=True):
        if not each.case.thinned and each.case.kind != "simulated":
            vote = score(each.shares, each.truth)
            cells = (vote.accuracy, vote.log_loss, one.accuracy, one.log_loss)
            yield [each.case.name, each.case.kind, *(f"{value:.3f}" for value in cells), f"{one.gap:+.3f}"]


def rows_of_simulated(samples: Sequence[Sample], scores: Sequence[Score]) -> Iterable[list[str]]:
    """Yield the figures of simulated crowds of independent judges beside Dawid-Skene, whose model is true there."""
    simulated = [pair for pair in zip(samples, scores, strict=True) if pair[0].case.kind == "simulated"]
    for per_item in sorted({_per_item(each.case) for each, _ in simulated}):
        group = [pair for pair in simulated if _per_item(pair[0].case) == per_item]
        true = [
            score(infer(model_named("dawid-skene"), each.case.judgments).posterior, each.case.truth)
            for each, _ in group
        ]
        above = max(own.log_loss - other.log_loss for (_, own), other in zip(group, true, strict=True))
        independent = np.mean([each.independent for each, _ in group])
        columns = (_means(true), _means([own for _, own in group]), f"{above:+.3f}", f"{independent:.2f}")
        yield [str(per_item), str(len(group)), *columns]


def _per_item(case: Case) -> int:
    """Return the judgments per item of a simulated crowd."""
    return round(len(case.judgments) / len(case.judgments.items))


def page(samples: Sequence[Sample], scores: Sequence[Score], margin: dict[str, float]) -> str:
    """Return the page of the documentation."""
    worst = sorted(
        (
            (abs(one.gap), each.case.name, one.gap)
            for each, one in zip(samples, scores, strict=True)
            if not each.case.thinned and each.case.kind != "simulated"
        ),
        reverse=True,
    )[:4]
    fails = "; ".join(
        f"`{name}` claims {abs(gap) * 100:.0f} points {'more' if gap > 0 else 'less'} than is right"
        for _, name, gap in worst
    )
    means = table(["sets", "number", "vote", "vote + 1", "consensus", "worse"], list(rows_of_means(samples, scores)))
    simulated = table(
        ["judgments per item", "crowds", "Dawid-Skene", "consensus", "most above Dawid-Skene", "independent"],
        list(rows_of_simulated(samples, scores)),
    )
    sets = table(
        ["set", "kind", "vote: accuracy", "log loss", "consensus: accuracy", "log loss", "claimed - right"],
        list(rows_of_sets(samples, scores)),
    )
    return f"""# Honest probabilities

This page is written by `make honesty`. Every figure of `consensus` is that of a set whose whole family was left out of
training; log loss is clipped at {CLIP:g}.

## Where it fails

- The largest differences: {fails}.
- Without gold, agreement on the truth cannot be distinguished from shared errors. The interval of the share of right
  labels is wide for this reason: +-{margin["3"]:.0%} with three judgments per item or more, +-{margin["2"]:.0%} with
  two and +-{margin["1"]:.0%} with one, which held for nine in ten sets of families that were left out.

## Means over sets

Accuracy / log loss / mean |claimed - right|. "vote + 1" has one more vote per item, shared by all labels. "worse"
counts the sets whose log loss is more than {WORSE:g} above, and those whose accuracy is more than one point below, that
of the vote.

{means}

## Crowds of independent judges

In these simulated crowds, which were not trained on, Dawid and Skene's model is true. Columns as above; "most above" is
the largest difference of log loss, and "independent" the mean share of the model's own probabilities.

{simulated}

## Sets, all judgments

{sets}
"""


def main(arguments: Sequence[str]) -> None:
    """Print the figures, and write weights and page if asked."""

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    cases = read_cases(data_folder(), say)
    samples = []
    for case in cases:
        say(f"{case.name}{f', {case.thinned} per item' if case.thinned else ''}")
        samples.append(sample(case))
    scores, theta = left_out_scores(samples, say)
    margin = margins(samples, scores)
    text = page(samples, scores, margin)
    print(text)
    if "--write" in arguments:
        write_weights(theta, margin, samples)
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

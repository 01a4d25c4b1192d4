"""How honest other methods are on the sets of ``studies.honesty``: the models of adjudge, crowd-kit and cleanlab.

A cell is the score and the CPU time of one method on one case. ``consensus`` and ``auto`` are fitted with weights that
were learned without the family of the case; no other method is trained. Slow methods are limited to cases with few
judgments (``Method.most``). A method may refuse the labels of a case, and a peer may fail: such cells have no score.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.errors import AdjudgeError
from adjudge.inference import calibration, gold_map
from adjudge.inference.calibration import smoothed_votes
from adjudge.inference.fit import AUTO, DEFAULT, fit
from adjudge.inference.model import MODELS
from adjudge.kernels.truth import label_counts
from studies.honesty import THINNED, Case, Sample, Score, mean_scores, score, simulate
from studies.parallel import Each

VOTE, SMOOTHED, REFERENCE = "vote", "vote + 1", "dawid-skene"
SAME_AS_VOTE = ("majority", "weighted-vote")  # the sets have no weights
SLOW = {"minimax-entropy": 20_000, "gaussian": 10_000, "gaussian-biased": 10_000}  # judgments of the largest case
AUTO_MOST = 20_000  # ``auto`` fits a dozen models five times each
CROWD_KIT = {"DawidSkene": 20_000, "OneCoinDawidSkene": 20_000, "GLAD": 1_000}
CLEANLAB_MOST = 20_000
COMPARED = 5  # sets that are needed to call a method better than the consensus
WORSE, LOWER = 0.05, 0.01  # log loss above, and accuracy below, that of the vote which count as a failure
SIZES = (0, *THINNED)  # judgments per item, 0 for all


class Method(NamedTuple):
    """A way to turn judgments into probabilities."""

    name: str
    posterior: Callable[[Judgments], Floats]  # (I, K)
    most: float = np.inf  # judgments of the largest case that it is tried on


class Job(NamedTuple):
    """A case, its scored items, and the weights that were learned without its family."""

    case: Case
    gold: Codes  # (M) positions of the scored items
    truth: Codes  # (M)
    weights: Mapping[str, Any]


class Cell(NamedTuple):
    """The score of a method on a case; without a score, the reason."""

    method: str
    name: str
    kind: str
    thinned: int
    judgments: int
    score: Score | None
    seconds: float  # CPU time
    reason: str = ""


@contextmanager
def learned_without(weights: Mapping[str, Any]) -> Iterator[None]:
    """Let fits of the consensus use these weights in place of those of the package."""
    with (
        patch.object(calibration, "learned_weights", lambda: weights),
        patch.object(gold_map, "learned_weights", lambda: weights),
    ):
        yield


def methods() -> list[Method]:
    """Return all methods that are installed here."""
    own = [name for name, model in MODELS.items() if model.inferences[-1] == "map" and name != DEFAULT]
    return [
        Method(VOTE, vote_shares),
        Method(SMOOTHED, lambda judgments: smoothed_votes(judgments.block())),
        Method(DEFAULT, lambda judgments: fit(judgments).posterior),
        Method(AUTO, lambda judgments: fit(judgments, AUTO).posterior, AUTO_MOST),
        *(_model_method(name) for name in own if name not in SAME_AS_VOTE),
        *(_crowd_kit_method(name, most) for name, most in CROWD_KIT.items() if installed("crowd-kit")),
        *([Method("cleanlab", _cleanlab, CLEANLAB_MOST)] if installed("cleanlab") else []),
    ]


def installed(package: str) -> str:
    """Return the version of an installed package, empty if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def vote_shares(judgments: Judgments) -> Floats:
    """Return each label's share of the votes of an item (I, K); all are equal without a vote."""
    counts = label_counts(judgments.block())
    votes = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, votes, out=np.full_like(counts, 1 / counts.shape[1]), where=votes > 0)
    return shares


def _model_method(name: str) -> Method:
    """Return a model of adjudge, inferred by EM."""
    return Method(name, lambda judgments: fit(judgments, name, inference="map").posterior, SLOW.get(name, np.inf))


def _crowd_kit_method(name: str, most: float) -> Method:
    """Return an aggregator of crowd-kit with its defaults."""

    def posterior(judgments: Judgments) -> Floats:
        import pandas as pd
        from crowdkit import aggregation

        columns = {"task": judgments.item(), "worker": judgments.judge, "label": judgments.label}
        chances = getattr(aggregation, name)().fit_predict_proba(pd.DataFrame(columns))
        items, labels = len(judgments.items), len(judgments.scale)
        filled: Floats = chances.reindex(index=range(items), columns=range(labels)).fillna(0.0).to_numpy()
        return filled

    return Method(f"crowd-kit {name}", posterior, most)


def _cleanlab(judgments: Judgments) -> Floats:
    """Return the consensus of cleanlab with smoothed votes as the classifier.

    It gives the probability of the consensus label; the other labels share the rest equally.
    """
    from cleanlab.multiannotator import get_label_quality_multiannotator

    block, K = judgments.block(), len(judgments.scale)
    judged = np.flatnonzero(np.diff(judgments.start) > 0)
    judges, judge = np.unique(judgments.judge, return_inverse=True)
    wide = np.full((len(judgments.items), judges.size), np.nan)
    wide[judgments.item(), judge] = judgments.label
    options = {"verbose": False, "return_detailed_quality": False, "return_annotator_stats": False}
    result = get_label_quality_multiannotator(wide[judged], smoothed_votes(block)[judged], **options)
    table = result["label_quality"]
    label, chance = (table[f"consensus_{name}"].to_numpy() for name in ("label", "quality_score"))
    posterior = np.full((len(judgments.items), K), 1 / K)
    posterior[judged] = ((1 - chance) / (K - 1))[:, None]
    posterior[judged, label.astype(int)] = chance
    return posterior


def compare_case(job: Job) -> list[Cell]:
    """Return the cells of all methods on a case."""
    _warm_up()
    with learned_without(job.weights), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [_cell(method, job) for method in methods()]


def _cell(method: Method, job: Job) -> Cell:
    """Return the cell of a method on a case."""
    case, size = job.case, len(job.case.judgments)
    empty = Cell(method.name, case.name, case.kind, case.thinned, size, None, 0.0)
    if size > method.most:
        return empty._replace(reason="large")
    began = time.process_time()
    try:
        posterior = method.posterior(case.judgments)[job.gold]
    except AdjudgeError as error:
        return empty._replace(reason=f"refused: {error}")
    except Exception as error:
        if method.name in MODELS or method.name in (VOTE, SMOOTHED, AUTO):
            raise
        return empty._replace(reason=f"failed: {error!r}")  # a peer, as it is
    seconds = time.process_time() - began
    if not np.isfinite(posterior).all():
        return empty._replace(reason="failed: a probability is not a number")
    return empty._replace(score=score(posterior, job.truth), seconds=seconds)


@cache
def _warm_up() -> None:
    """Compile or load all kernels in this process, so that they are not part of the CPU time."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for labels in (2, 3):
            judgments, truth = simulate(np.random.default_rng(0), 30, 6, 3, labels, 0.8)
            case = Case("warm-up", "simulated", "simulated", 0, judgments, truth)
            for method in methods():
                if method.name in MODELS:
                    _cell(method, Job(case, np.arange(truth.size), truth, {}))


def compare(
    samples: Sequence[Sample],
    weights: Mapping[str, Mapping[str, Any]],
    say: Callable[[str], None],
    each_job: Each = map,
) -> list[Cell]:
    """Return the cells of all real cases, by the weights of each family; ``each_job`` may be parallel."""
    jobs = [
        Job(each.case, each.gold, each.truth, weights[each.case.family])
        for each in samples
        if each.case.kind != "simulated"
    ]
    jobs.sort(key=lambda job: -len(job.case.judgments))  # so that no process is left with a large one at the end
    cells = []
    for number, group in enumerate(each_job(compare_case, jobs)):
        say(f"methods on {group[0].name}, {group[0].thinned or 'all'} per item ({number + 1} of {len(jobs)})")
        cells += group
    return cells


def by_method(cells: Iterable[Cell]) -> dict[str, list[Cell]]:
    """Return the cells with a score by method, in the order of ``methods``."""
    groups: dict[str, list[Cell]] = {method.name: [] for method in methods()}
    for cell in cells:
        if cell.score is not None:
            groups.setdefault(cell.method, []).append(cell)
    return {name: group for name, group in groups.items() if group}


def pairs(group: Iterable[Cell], reference: Iterable[Cell]) -> list[tuple[Cell, Score, Score]]:
    """Return each cell with its score and that of a reference method on the same case."""
    others = {(cell.name, cell.thinned): cell.score for cell in reference}
    found = [(cell, cell.score, others.get((cell.name, cell.thinned))) for cell in group]
    return [(cell, own, other) for cell, own, other in found if own is not None and other is not None]


def rows_of_methods(cells: Sequence[Cell], kind: str) -> Iterator[list[str]]:
    """Yield the means of every method over the sets of a kind, by judgments per item.

    The last column is the mean log loss less that of the consensus on the same cases.
    """
    groups = by_method(cell for cell in cells if cell.kind == kind)
    for name, group in groups.items():
        row = [name]
        for thinned in SIZES:
            scores = [cell.score for cell in group if cell.thinned == thinned and cell.score is not None]
            number = sum(cell.thinned == thinned for cell in groups[VOTE])
            short = f" ({len(scores)} of {number})" if len(scores) < number else ""
            row.append(f"{mean_scores(scores)}{short}" if scores else "-")
        same = pairs(group, groups[DEFAULT])
        row.append(f"{np.mean([own.log_loss - other.log_loss for _, own, other in same]):+.3f}" if same else "-")
        yield row


def rows_of_worst(cells: Sequence[Cell]) -> Iterator[list[str]]:
    """Yield how often every method fails against the vote, and its worst sets in full."""
    groups = by_method(cells)
    for name, group in groups.items():
        compared = pairs(group, groups[VOTE])
        full = [each for each in compared if not each[0].thinned]
        loss = sum(own.log_loss > vote.log_loss + WORSE for _, own, vote in compared)
        lower = sum(own.accuracy < vote.accuracy - LOWER for _, own, vote in compared)
        row = [name, str(len(compared)), str(loss), str(lower)]
        if full:
            most = max(full, key=lambda each: each[1].log_loss - each[2].log_loss)
            claim = max(full, key=lambda each: abs(each[1].gap))
            row += [f"`{most[0].name}` {most[1].log_loss:.3f} ({most[1].log_loss - most[2].log_loss:+.3f})"]
            row += [f"`{claim[0].name}` {claim[1].gap:+.3f}"]
        yield row + ["-"] * (6 - len(row))


def rows_of_costs(cells: Sequence[Cell], names: Sequence[str]) -> Iterator[list[str]]:
    """Yield the CPU time of every method relative to Dawid-Skene (median over sets in full), and on some sets."""
    full = [cell for cell in cells if not cell.thinned]
    groups = by_method(full)
    reference = {cell.name: cell.seconds for cell in groups[REFERENCE]}
    for name, group in groups.items():
        ratio = np.median([cell.seconds / max(reference[cell.name], 1e-4) for cell in group])
        seconds = {cell.name: f"{cell.seconds:.2f} s" for cell in group}
        yield [name, f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}", *(seconds.get(each, "-") for each in names)]


def cost_sets(cells: Sequence[Cell]) -> list[str]:
    """Return the names of up to four sets in full, from the smallest to the largest."""
    sizes = sorted({(cell.judgments, cell.name) for cell in cells if not cell.thinned})
    chosen = [sizes[round(share * (len(sizes) - 1))] for share in (0, 1 / 3, 2 / 3, 1)]
    return list(dict.fromkeys(name for _, name in chosen))


def better_methods(cells: Sequence[Cell], kind: str) -> list[str]:
    """Return in words which methods have a clearly lower log loss or higher accuracy than the consensus in the mean.

    A mean over fewer than ``COMPARED`` sets, or a difference below twice its standard error, is not named.
    """
    groups = by_method(cell for cell in cells if cell.kind == kind)
    texts = []
    for name, group in groups.items():
        for thinned in SIZES:
            same = pairs([cell for cell in group if cell.thinned == thinned], groups[DEFAULT])
            if name == DEFAULT or not same:
                continue
            if len(same) < COMPARED:
                continue
            differences = np.array(
                [(own.log_loss - other.log_loss, own.accuracy - other.accuracy) for _, own, other in same]
            )
            (loss, accuracy), errors = differences.mean(axis=0), differences.std(axis=0, ddof=1) / np.sqrt(len(same))
            parts = [f"log loss {loss:+.3f}"] if loss < -2 * errors[0] else []
            parts += [f"accuracy {accuracy:+.3f}"] if accuracy > 2 * errors[1] else []
            if parts:
                size = f"{thinned} per item" if thinned else "all judgments"
                texts.append(f"{name} with {size} ({', '.join(parts)} on {len(same)} sets)")
    return texts

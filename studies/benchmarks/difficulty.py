"""Claim: if items differ in difficulty, intervals of judges cover what they should, and honest judges are not named.

Crowds are simulated, so the accuracy of every judge is known, and nobody copies. A normal effect of the item, with the
standard deviation of the second column, is added to the log odds of being right of all its judges; accuracies are those
averaged over items. Judges have confusion matrices of their own: their accuracy for each label is drawn from
Beta(6a, 6 - 6a) with a = .75 (two labels) or .65 (four labels). A third of the crowds have 400 items with 5 judgments
each by 30 judges, a third 300 with 10 by 20, and a third 300 with 15 by 30.
"""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import chisquare

import adjudge
from adjudge.arrays import Codes, Floats
from adjudge.data import simulation
from adjudge.data.gold import read_gold
from adjudge.data.judgments import places
from adjudge.data.panel import panel_of
from adjudge.diagnostics.collusion import COPYING, FEWEST_SHARED, LEVEL
from adjudge.diagnostics.evidence import CHAINS, MOST_DRAWS, WARMUP, Evidence, gather_evidence, judge_estimates
from adjudge.diagnostics.leave_out import leave_out
from adjudge.diagnostics.pair_test import find_meetings, pair_tests
from adjudge.inference.chains import Draws, Run, State, sample
from adjudge.inference.gibbs import (
    aligned_to,
    diffuse,
    voted_by_chance,
    with_difficulty,
    with_effects,
    with_populations,
    with_priors,
)
from adjudge.inference.result import INTERVAL
from adjudge.kernels.block import NO_FAMILIES, Block
from adjudge.kernels.conjugate import Pareto
from adjudge.kernels.difficulty import FURTHEST, GRID, LARGEST, SHARES, state_rows, stretch
from adjudge.kernels.replicate import replicate_with_truth
from adjudge.kernels.sweep import Sweep
from adjudge.metrics.significance import empirical_null, q_values
from studies.benchmarks.claim import DATA, Claim, say

MODEL = "dawid-skene"
SIZES = ((400, 30, 5), (300, 20, 10), (300, 30, 15))  # items, judges, judgments per item
EFFECTS = (0.0, 0.6, 1.0, 1.7)
CROWDS = 16  # per row
FRESH = 40_000  # the first seed; smaller ones were used to choose the method
SPARSE = 12  # crowds per row with few judgments
SAMPLED_CROWDS = 3  # one of each size
REPLICATIONS, WARM, KEPT, THIN = 400, 600, 39, 40  # of simulation-based calibration
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


PANEL = (250, 20, 5)  # items, judges and families of a simulated panel, all of whose judges judge all items
PANEL_EFFECT, FAMILY_EFFECT = 0.8, 1.2  # standard deviations of the effects of items, and of families on items
PANELS = ("babe_bias", "llmbar_all", "llmjudge_dl23", "prompts_dl20_graded")  # shared ones with families of judges
PANEL_ITEMS = 400  # of a shared panel, drawn at random
WAYS = ("none", "items", "families")  # whose effects a sampled model has


class Crowd(NamedTuple):
    """Judgments, the truth of every item, and how often every judge is right."""

    judgments: adjudge.Judgments
    truth: Codes  # (I)
    accuracy: Floats  # (J, K) averaged over items, for each truth
    right: Floats  # (J) averaged over truths too


def simulate(seed: int, labels: int, effect: float, size: tuple[int, int, int], alike: float = 1.5) -> Crowd:
    """Return a crowd without copying whose items differ in difficulty; ``alike`` are pseudo-counts of wrong labels."""
    rng, (items, judges, per_item) = np.random.default_rng(seed), size
    mean = 0.75 if labels == 2 else 0.65
    _, prevalence = simulation.draw_truth(rng, items, labels)
    right = np.clip(rng.beta(6 * mean, 6 * (1 - mean), (judges, labels)), 0.05, 0.98)
    wrong = rng.dirichlet(np.full(labels - 1, alike), (judges, labels)) * (1 - right)[..., None]
    rows = np.stack([np.insert(wrong[:, k], k, right[:, k], axis=1) for k in range(labels)], axis=1)
    judge = simulation.panels(rng, items, judges, per_item)
    item = np.repeat(np.arange(items, dtype=np.int32), per_item)
    design = simulation.named_judgments(item, judge.ravel(), np.zeros(judge.size, np.int32), rows)
    drawn = replicate_with_truth(design.block(), prevalence, rows, rng, effect)
    judgments = replace(design, label=drawn.block.label.astype(design.label.dtype))
    odds = stretch(effect) * np.log(right / (1 - right))
    accuracy = 1 / (1 + np.exp(-odds[..., None] - effect * NODES)) @ (WEIGHTS / WEIGHTS.sum())
    return Crowd(judgments, drawn.truth, accuracy, accuracy @ prevalence[0])


def covered(low: Floats, high: Floats, value: Floats) -> float:
    """Return the share of values in their intervals."""
    return float(np.mean((low <= value) & (value <= high)))


def without_difficulty(evidence: Evidence) -> Draws:
    """Return draws as the cards had them before: rows with a prior worth one judgment, items that are all alike."""
    K = evidence.block.labels
    start = State(evidence.prior, evidence.matrix, np.empty((0, K)), np.empty(0))
    step = with_priors(Sweep(evidence.block), np.full((K, K), 1 / K), np.full(K, 1 / K))
    with ThreadPoolExecutor(CHAINS) as pool:
        draws = sample(step, [start] * CHAINS, evidence.block.topic.size, Run(CHAINS, WARMUP, MOST_DRAWS), 0, pool)
    return aligned_to(draws, evidence.matrix)


def shares_right(draws: Draws) -> Floats:
    """Return how often judges are right (S, J) in every draw."""
    diagonal = np.einsum("cdjkk->cdjk", draws.confusion)
    return np.einsum("cdk,cdjk->cdj", draws.prevalence[:, :, 0], diagonal).reshape(-1, diagonal.shape[2])


def named_without_difficulty(fit: adjudge.Fit, judgments: adjudge.Judgments) -> bool:
    """Whether the test of pairs named anybody before, when it took all items to be alike."""
    left = leave_out(fit, judgments)
    test = pair_tests(left.block, left.logs, find_meetings(left.block, FEWEST_SHARED), left.prior, COPYING)
    return bool((q_values(empirical_null(test.p)[0]) <= LEVEL).any())


def ordinary_fits() -> Claim:
    """Measure cards and the test of copying for fits by EM, before and now."""
    rows, every = [], []
    for labels in (2, 4):
        for effect in EFFECTS:
            measured = []
            for seed in range(FRESH, FRESH + CROWDS):
                crowd = simulate(seed, labels, effect, SIZES[seed % len(SIZES)])
                fit, evidence = gather_evidence(adjudge.fit(crowd.judgments, MODEL), crowd.judgments)
                estimates = judge_estimates(fit, evidence)
                cells = np.einsum("ajkk->ajk", estimates.cell)
                before = np.quantile(shares_right(without_difficulty(evidence)), INTERVAL, axis=0)
                measured.append(
                    (
                        covered(*before, crowd.right),
                        covered(estimates.right[1], estimates.right[2], crowd.right),
                        covered(cells[1], cells[2], crowd.accuracy),
                        named_without_difficulty(fit, crowd.judgments),
                        adjudge.collusion(fit, crowd.judgments).flagged.any(),
                    )
                )
            every += measured
            rows.append((str(labels), f"{effect:g}", *percents(measured)))
            say("   ".join(rows[-1]))
    rows.append(("all", "", *percents(every)))
    how = (
        f"{CROWDS} crowds per row, fitted with `{MODEL}`. The first three columns are the share of 90 % intervals that "
        "contain the true value: of the chance of being right, before (items are alike, rows have a prior worth one "
        "judgment) and now, and of the diagonal of matrices. The last two are the share of crowds in which a pair of "
        "judges is said to agree too much, before and now. Goals: 85 to 95 %, and at most 5 %."
    )
    head = ("labels", "effect", "right, before", "right", "diagonal", "pairs named, before", "pairs named")
    return Claim("Cards and copying", how, head, rows)


def populations() -> Claim:
    """Measure intervals of judges at four labels and five judgments per item, with one kappa and with two."""
    rows = []
    for alike in (1.5, 6 * (1 - 0.65) / 3):  # wrong labels as elsewhere on this page, or of rows that are Dirichlet
        for effect, known in ((0.0, True), (1.0, True), (1.0, False)):
            for kappas in (1, 2) if not effect else (2,):
                measured = [_coverage(seed, effect, alike, known, kappas) for seed in range(FRESH, FRESH + SPARSE)]
                right, diagonal, bias, kappa = np.mean(measured, axis=0)
                share, truths = f"{3 * alike:g}", "known" if known else "drawn"
                cells = (f"{100 * right:.1f} %", f"{100 * diagonal:.1f} %", f"{100 * bias:+.1f}", f"{kappa:.1f}")
                rows.append((share, f"{effect:g}", truths, str(kappas), *cells))
                say("   ".join(rows[-1]))
    items, judges, per_item = SIZES[0]
    how = (
        f"Why intervals are too narrow where judgments are few: {SPARSE} crowds per row with four labels, {items} "
        f"items, {judges} judges and {per_item} judgments per item. Diagonals have a concentration of 6, and the "
        "shares of wrong labels one of 4.5, as in the other tables, or of 2.1, as if rows were Dirichlet draws with a "
        "concentration of 6. Judges are drawn with one kappa for whole rows (the model without difficulty, for crowds "
        "without it) or with one for diagonals and another for wrong labels, from truths that are known or drawn. The "
        "columns are the share of 90 % intervals that contain a judge's chance of being right and the diagonal of "
        "their matrix, the mean error of the chance of being right in points, and the median of the kappa of diagonals."
    )
    head = ("wrong labels", "effect", "truths", "kappas", "right", "diagonal", "mean error", "kappa")
    return Claim("One concentration or two", how, head, rows)


def _coverage(seed: int, effect: float, alike: float, known: bool, kappas: int) -> tuple[float, float, float, float]:
    """Return coverage of the chance of being right and of diagonals, the error of the first, and the median kappa."""
    crowd = simulate(seed, 4, effect, SIZES[0], alike)
    block, even = crowd.judgments.block(crowd.truth.astype(np.int32) if known else None), np.full(4, 1 / 4)
    tally = voted_by_chance(block, np.zeros(2, np.uint64))
    matrix = (tally.label + 1) / (tally.label.sum(axis=2, keepdims=True) + 4)
    pooled = tally.label.sum(axis=0) + 1
    start = State(even[None], matrix, pooled / pooled.sum(axis=1, keepdims=True), np.full(4, 5.0))
    if kappas == 2:
        start, step = with_effects(start, effect or 0.1), with_difficulty(Sweep(block), Pareto(), even)
    else:
        start = start._replace(phi=np.vstack([start.phi, even]), kappa=np.full(5, 5.0))
        step = with_populations(Sweep(block), Pareto())
    with ThreadPoolExecutor(CHAINS) as pool:
        draws = sample(step, [start] * CHAINS, block.topic.size, Run(CHAINS, WARMUP, MOST_DRAWS), seed, pool)
    right, diagonal = shares_right(draws), np.einsum("cdjkk->cdjk", draws.confusion).reshape(-1, *crowd.accuracy.shape)
    ends = (np.quantile(drawn, INTERVAL, axis=0) for drawn in (right, diagonal))
    covering = (covered(*end, value) for end, value in zip(ends, (crowd.right, crowd.accuracy), strict=True))
    return *covering, float((right.mean(axis=0) - crowd.right).mean()), float(np.median(draws.kappa[:, :, :4]))


def percents(measured: list[tuple[float, ...]]) -> list[str]:
    """Return the means of columns in percent."""
    return [f"{100 * value:.1f} %" for value in np.mean(np.array(measured, float), axis=0)]


def sampled_models() -> Claim:
    """Measure the sampled models without and with the option."""
    rows = []
    for model in ("hybrid-confusion", "hierarchical"):
        for labels in (2, 4):
            for effect in (0.0, 1.0):
                measured = [_sampled(model, labels, effect, seed) for seed in range(FRESH, FRESH + SAMPLED_CROWDS)]
                plain, hard = np.mean(measured, axis=0)
                shares = [f"{100 * value:.1f} %" for value in (plain[0], hard[0])]
                losses = [f"{value:.3f}" for value in (plain[1], hard[1])]
                rows.append((model, str(labels), f"{effect:g}", *shares, *losses, f"{hard[2] / plain[2]:.1f}"))
                say("   ".join(rows[-1]))
    how = (
        f"{SAMPLED_CROWDS} crowds per row, 2 chains of 300 + 500 sweeps, without and with `difficulty`: the share of "
        "90 % intervals that contain a judge's chance of being right, the log loss of the labels, and how many times "
        "longer it takes (CPU time)."
    )
    head = (
        "model",
        "labels",
        "effect",
        "coverage without",
        "coverage with",
        "log loss without",
        "log loss with",
        "time",
    )
    return Claim("Sampled models", how, head, rows)


def _sampled(model: str, labels: int, effect: float, seed: int) -> list[tuple[float, float, float]]:
    """Return coverage, log loss and CPU seconds of a fit without and with difficulty."""
    crowd, answers = simulate(seed, labels, effect, SIZES[seed % len(SIZES)]), []
    for difficulty in (False, True):
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # short chains may not have converged
            fit = adjudge.fit(crowd.judgments, model, difficulty=difficulty, run=Run(2, 300, 500))
        seconds = time.process_time() - began
        assert fit.draws is not None
        ends = np.quantile(shares_right(fit.draws), INTERVAL, axis=0)
        chance = fit.posterior[np.arange(crowd.truth.size), crowd.truth]
        loss = float(-np.log(np.maximum(chance, 1e-12)).mean())
        answers.append((covered(*ends, crowd.right), loss, seconds))
    return answers


def simulate_panel(seed: int, labels: int, effect: float) -> Crowd:
    """Return a panel whose families have normal effects of this standard deviation on every item, beside the item."""
    rng, (items, judges, families) = np.random.default_rng(seed), PANEL
    mean = 0.75 if labels == 2 else 0.65
    truth, prevalence = simulation.draw_truth(rng, items, labels)
    right = np.clip(rng.beta(6 * mean, 6 * (1 - mean), (judges, labels)), 0.05, 0.98)
    wrong = rng.dirichlet(np.full(labels - 1, 1.5), (judges, labels)) * (1 - right)[..., None]
    rows = np.stack([np.insert(wrong[:, k], k, right[:, k], axis=1) for k in range(labels)], axis=1)
    spread = float(np.hypot(PANEL_EFFECT, effect))
    odds = stretch(spread) * np.log(right / (1 - right))  # (J, K)
    shift = PANEL_EFFECT * rng.standard_normal((items, 1)) + effect * rng.standard_normal((items, families))
    item = np.repeat(np.arange(items, dtype=np.int32), judges)
    judge = np.tile(np.arange(judges, dtype=np.int32), items)
    design = simulation.named_judgments(item, judge, np.zeros(judge.size, np.int32), rows)
    chance = 1 / (1 + np.exp(-odds[judge, truth[item]] - shift[item, judge % families]))
    own = rows[judge, truth[item]].copy()
    own[np.arange(judge.size), truth[item]] = 0.0
    other = (own.cumsum(axis=1) < rng.random((judge.size, 1)) * own.sum(axis=1, keepdims=True)).sum(axis=1)
    label = np.where(rng.random(judge.size) < chance, truth[item], other)
    panel = panel_of(design.judges.to_list(), {"family": [f"family {j % families}" for j in range(judges)]})
    judgments = replace(design, label=label.astype(design.label.dtype), panel=panel)
    accuracy = 1 / (1 + np.exp(-odds[..., None] - spread * NODES)) @ (WEIGHTS / WEIGHTS.sum())
    return Crowd(judgments, truth, accuracy, accuracy @ prevalence[0])


class Measured(NamedTuple):
    """What was measured of a fit."""

    seconds: float  # CPU time
    loss: float  # mean log loss
    excess: float  # claimed - right
    draws: Draws


def sample_way(judgments: adjudge.Judgments, model: str, way: str, item: Codes, truth: Codes) -> Measured:
    """Return how well a model finds the truths of some items, with effects of nobody, of items, or of families."""
    if way != "families":
        judgments = replace(judgments, panel=None)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", adjudge.AdjudgeWarning)  # short chains may not have converged
        prior = adjudge.Prior(difficulty=way != "none", families=way == "families")
        fit = adjudge.fit(judgments, model, prior=prior, run=Run(2, 300, 500))
    seconds, posterior = time.process_time() - began, fit.posterior[item]
    chance = posterior[np.arange(item.size), truth]
    excess = float(posterior.max(axis=1).mean() - (posterior.argmax(axis=1) == truth).mean())
    assert fit.draws is not None
    return Measured(seconds, float(-np.log(np.maximum(chance, 1e-12)).mean()), excess, fit.draws)


def families() -> Claim:
    """Measure the sampled models on simulated panels whose families have effects of their own."""
    rows = []
    for model in ("hybrid-confusion", "hierarchical"):
        for labels in (2, 4):
            for effect in (0.0, FAMILY_EFFECT):
                measured = np.mean(
                    [_family_panel(model, labels, effect, seed) for seed in range(FRESH, FRESH + SAMPLED_CROWDS)],
                    axis=0,
                )  # (ways, 3)
                shares = [f"{100 * value:.1f} %" for value in measured[:, 0]]
                losses = [f"{value:.3f}" for value in measured[:, 1]]
                cost = f"{measured[2, 2] / measured[0, 2]:.1f}"
                rows.append((model, str(labels), f"{effect:g}", *shares, *losses, cost))
                say("   ".join(rows[-1]))
    items, judges, number = PANEL
    how = (
        f"{SAMPLED_CROWDS} simulated panels per row: {items} items, {judges} judges in {number} families, who judge "
        f"all items. To the log odds of being right, a normal effect of the item is added (standard deviation "
        f"{PANEL_EFFECT:g}), and one of the family on the item (third column). Fits have no such effects, those of "
        "items, or those of items and families (`difficulty` without and with families). The columns are the share of "
        "90 % intervals that contain a judge's chance of being right, the log loss of the labels, and how many times "
        "longer the last takes than the first (CPU time)."
    )
    head = ("model", "labels", "family effect", *(f"coverage, {way}" for way in WAYS))
    return Claim("Families", how, (*head, *(f"log loss, {way}" for way in WAYS), "time"), rows)


def _family_panel(model: str, labels: int, effect: float, seed: int) -> list[tuple[float, float, float]]:
    """Return coverage, log loss and CPU seconds of a fit in each way."""
    crowd, answers = simulate_panel(seed, labels, effect), []
    for way in WAYS:
        measured = sample_way(crowd.judgments, model, way, np.arange(crowd.truth.size), crowd.truth)
        ends = np.quantile(shares_right(measured.draws), INTERVAL, axis=0)
        answers.append((covered(*ends, crowd.right), measured.loss, measured.seconds))
    return answers


def shared_panels() -> Claim:
    """Measure the sampled models on the shared panels whose judges have families."""
    rows = []
    for name in PANELS:
        folder = DATA / "panels" / name
        judgments, gold = read_gold(
            folder / "gold.csv", adjudge.read(folder / "labels.csv", judges=folder / "judges.csv")
        )
        chosen = np.random.default_rng(0).permutation(np.flatnonzero(gold >= 0))[:PANEL_ITEMS]
        some = judgments.take(np.flatnonzero(np.isin(judgments.item(), chosen)))
        judgments, gold = some, gold[places(some.items, judgments.items)]
        item = np.arange(gold.size)
        assert judgments.panel is not None
        number = len(set(judgments.panel.family))
        for model in ("hybrid-confusion", "hierarchical"):
            measured = [sample_way(judgments, model, way, item, gold[item]) for way in WAYS]
            losses, excess = [f"{each.loss:.2f}" for each in measured], [f"{each.excess:+.2f}" for each in measured]
            shared = f"{measured[2].draws.spread[..., 1].mean():.2f}"
            cost = f"{measured[2].seconds / measured[0].seconds:.1f}"
            rows.append((name, f"{len(judgments.judges)} / {number}", model, *losses, *excess, shared, cost))
            say("   ".join(rows[-1]))
    how = (
        "The shared panels in which some judges have the same model: labels of language models, with gold, on "
        f"{PANEL_ITEMS} items with gold drawn at random (or all, if there are fewer). Log loss, "
        "and the mean probability of the most likely label minus the share of right ones (claimed - right), without "
        "effects, with those of items, and with those of items and families; the probability that a family shares the "
        "effect of an item; and how many times longer the last takes than the first (CPU time)."
    )
    head = ("panel", "judges / families", "model", *(f"log loss, {way}" for way in WAYS))
    return Claim("Shared panels", how, (*head, *(f"claimed - right, {way}" for way in WAYS), "shared", "time"), rows)


def calibration() -> Claim:
    """Draw params from the prior, judgments from them, and rank the params among draws from their posterior."""
    rows = []
    for model in ("hybrid-confusion", "hierarchical"):
        for labels in (2, 3):
            for way in WAYS[1:]:
                ranks = np.array([_ranks(model, labels, seed, way) for seed in range(REPLICATIONS)])  # (R, 5)
                p = [chisquare(np.bincount(column // 5, minlength=8)).pvalue for column in ranks.T]
                *cells, kappa, shared = (f"{value:.2f}" for value in p)
                last = (kappa if model == "hierarchical" else "-", shared if way == "families" else "-")
                rows.append((model, str(labels), way, *cells, *last))
                say("   ".join(rows[-1]))
    how = (
        f"Simulation-based calibration (Talts et al. 2018) of the models with effects of items, and of two families "
        f"on them. {REPLICATIONS} replications of 15 items and 4 judges, all of whom judge all items. p-values of a "
        f"chi-square test that the rank of the true value among {KEPT} draws is uniform."
    )
    head = ("model", "labels", "effects", "matrix", "prevalence", "spread", "kappa", "shared")
    return Claim("Calibration of the sampler", how, head, rows)


def _ranks(model: str, labels: int, seed: int, way: str) -> list[int]:
    """Return the ranks of a cell of a matrix, prevalence, the spread, a kappa, and what families share."""
    rng, pareto = np.random.default_rng([seed, labels]), Pareto(1.5, 1.0)
    rows = np.ones((labels, labels)) + 3 * np.eye(labels)
    confusion, kappa = np.array([[rng.dirichlet(row) for row in rows] for _ in range(4)]), np.ones(labels)
    if model == "hierarchical":
        confusion, kappa = _population_rows(rng, labels)
    prevalence, spread, shared = rng.dirichlet(np.ones(labels)), np.inf, 1.0
    while spread * shared > LARGEST:
        spread, shared = abs(rng.standard_normal()), rng.random() if way == "families" else 1.0
    block = _small_crowd(rng, confusion, prevalence, spread, shared)
    step = with_difficulty(Sweep(block), rows if model == "hybrid-confusion" else pareto, np.ones(labels))
    (start,) = diffuse(partial(voted_by_chance, block), seed, 1)
    if model == "hybrid-confusion":
        start = start._replace(phi=np.empty((0, labels)), kappa=np.empty(0))
    else:
        start = start._replace(phi=start.phi[:labels], kappa=start.kappa[:labels])
    start = with_effects(start, 0.7, way == "families")
    with ThreadPoolExecutor(1) as pool:
        draws = sample(step, [start], block.topic.size, Run(1, WARM, KEPT, THIN), seed, pool)
    parts = [
        (draws.confusion[0, :, 0, 0, 0], confusion[0, 0, 0]),
        (draws.prevalence[0, :, 0, 0], prevalence[0]),
        (draws.spread[0, :, 0], spread),
    ]
    parts.append((draws.kappa[0, :, 0], kappa[0]) if draws.kappa.size else parts[0])  # hybrid-confusion has no kappa
    parts.append((draws.spread[0, :, -1], shared if way == "families" else spread))
    return [int((drawn < true).sum()) for drawn, true in parts]


def _population_rows(rng: np.random.Generator, labels: int) -> tuple[Floats, Floats]:
    """Return matrices of four judges from populations of diagonals and of wrong labels, and the kappas of diagonals.

    The prior of the sampler ends at log odds of ``FURTHEST``, so populations with judges beyond it are drawn anew.
    """
    alike, share = rng.random(labels) ** (-1 / 1.5), rng.dirichlet(np.ones(labels - 1), labels)
    kappa, right, furthest = np.empty(labels), np.zeros((4, labels)), 1 / (1 + np.exp(-FURTHEST))
    for k in range(labels):
        while not ((1 - furthest <= right[:, k]) & (right[:, k] <= furthest)).all():
            kappa[k], mean = rng.random() ** (-1 / 1.5), rng.random()
            right[:, k] = rng.beta(kappa[k] * mean, kappa[k] * (1 - mean), 4)
    pseudo = np.maximum(alike[:, None] * share, 1e-9)
    wrong = np.array([[rng.dirichlet(row) for row in pseudo] for _ in range(4)]) * (1 - right)[..., None]
    return np.stack([np.insert(wrong[:, k], k, right[:, k], axis=1) for k in range(labels)], axis=1), kappa


def _small_crowd(
    rng: np.random.Generator, confusion: Floats, prevalence: Floats, spread: float, shared: float
) -> Block:
    """Return 15 items that 4 judges have judged, five of them with gold; two families unless all effects are shared."""
    items, (judges, K, _) = 15, confusion.shape
    rows = state_rows(confusion, spread).reshape(judges, K, GRID, K)
    truth, effect = rng.choice(K, items, p=prevalence), rng.choice(GRID, items, p=SHARES)
    item, judge = np.repeat(np.arange(items), judges), np.tile(np.arange(judges), items)
    effects = np.column_stack([effect, effect])
    if shared < 1:
        effects = np.where(rng.random((items, 2)) < shared, effects, rng.choice(GRID, (items, 2), p=SHARES))
    edge = rows[judge, truth[item], effects[item, judge // 2]].cumsum(axis=1)[:, :-1]
    label = (rng.random((item.size, 1)) >= edge).sum(axis=1).astype(np.uint8)
    return Block(
        np.arange(items + 1) * judges,
        (judge * K + label).astype(np.uint32),
        label,
        np.zeros(items, np.int32),
        np.where(np.arange(items) < 5, truth, -1).astype(np.int32),
        np.empty(0),
        judges,
        K,
        np.arange(float(K)),
        np.arange(judges, dtype=np.int32) // 2 if shared < 1 else NO_FAMILIES,
    )


def measure() -> list[Claim]:
    """Measure cards, copying, populations, the sampled models without and with families, and their calibration."""
    return [ordinary_fits(), populations(), sampled_models(), families(), shared_panels(), calibration()]

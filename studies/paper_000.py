"""The page of paper 000: its model on its own data, its claims with our results, and its four figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.fit import fit
from adjudge.inference.result import Fit
from adjudge.metrics.labels import fractional, indicator, precision, rank_correlation, recall, specificity
from adjudge.reports.figure_paper import ITEMS, OF_EACH, populations, trend
from studies.comparison import TINY, Result, svg, with_interval
from studies.markdown import (
    Page,
    PaperClaim,
    Reproduction,
    implementation_section,
    reproductions,
    section,
    table,
    verdict,
)
from studies.measures import TRACK, track_scores
from studies.paper_002 import TITLES
from studies.trec2011 import FOLDS, READINGS, REFERENCE, Relevance, paper_figures

PLACES = ("section 6", "figure 1", "section 7, figure 2", "figure 2", "section 7, figure 3", "figure 4", "figure 4")
OWN_DATA = "the paper's data and chains"
HELD_OUT = "the paper's data; the released gold, held out in folds, not the track's unpublished evaluation labels"
DRAWN = 400_000  # chances of the simulation
SURE = 0.95  # of the draws
BUSY, TOP = 10, 5  # judges
ALMOST = 0.01  # of labels that may be others where a judge passes for one who gave all the same
WIDE = 0.25  # of the way to chance within which a busy judge passes for one who says nothing
SLIGHT = 0.02  # a fall of the trend that a reader of the figure would not see
ALL_DRAWS = 10**9

OPENING = """# Paper 000: a hierarchical Bayesian model of relevance coding

Carpenter, *A Hierarchical Bayesian Model of Crowdsourced Relevance Coding* (2011).

## What the paper does
Workers decide whether a document is relevant to a topic. The true label of a pair is drawn from the prevalence of its
topic. A worker has a sensitivity and a specificity. Prevalences, sensitivities and specificities come from
populations whose mean (phi) and precision (kappa) are estimated too. All parameters are sampled, and the estimate of
a pair is E[z], with the released gold fixed or without gold. The data are those of task 2 of the TREC 2011
crowdsourcing track.

## Our choices
- The prior of kappa is Pareto(1.5) with the lower bound c = 0.1. The paper gives no bound; this is the author's
  setting.
- An option sets whether gold informs the prevalence of its topic. *gold informs* is the printed model; *gold apart*
  is the model that the author submitted, because the gold was not drawn at random.
- (phi, kappa) are drawn with theta and pi integrated out, which mixes better than plain Gibbs sampling. E[z] is the
  mean of p(z | rest), which has less noise than the mean of z. The chains are those of the paper: 3 chains of 2,000
  sweeps, half of them warm-up.
- The 1,000 labels that the track used for its evaluation are not published. Scores here are on the released gold with
  cross-validation: a model gets four fifths of the gold and is scored on the rest.
"""
IMPLEMENTATION = (
    ("the model", "models/hierarchical.py", "tests/inference/test_gibbs.py"),
    ("draws of populations", "kernels/conjugate.py", "tests/kernels/test_conjugate.py"),
    ("the run of task 2", "data/trec.py", "tests/data/test_trec.py"),
    ("the study", "studies/trec2011.py", "tests/studies/test_trec2011.py"),
    ("figures 1 to 4", "reports/figure_paper.py", "tests/reports/test_figure_paper.py"),
    ("probabilistic scoring (section 9)", "metrics/probabilities.py", "tests/papers/test_000_scoring.py"),
)
CAPTIONS: Mapping[int, str] = {
    1: f"Figure 1: votes and estimates, with the trend (*gold apart*; {ITEMS:,} pairs are shown, the trend is of all)",
    2: "Figure 2: sensitivity and specificity of every judge; judges on the line are at chance",
    3: f"Figure 3: estimates of 16 judges, by number of judgments ({OF_EACH} draws each, unsupervised)",
    4: "Figure 4: 200 draws of the mean and the precision of the three populations (unsupervised)",
}


class Judged(NamedTuple):
    """Judges against chance, by Youden's J = sensitivity + specificity - 1, which is 0 for guessing."""

    informed: Floats  # (J) its mean
    worse: Floats  # (J) share of the draws in which it is below 0


def page(study: Relevance) -> Page:
    """Return the page and its figures."""
    drawn = {f"paper-000-figure{n}.svg": make() for n, make in paper_figures(study).items()}
    pictures = [f"![{caption}](paper-000-figure{n}.svg)\n\n{caption}.\n" for n, caption in CAPTIONS.items()]
    parts = [OPENING, implementation_section(IMPLEMENTATION), *_study(study), "## Figures\n", *pictures]
    return {"paper-000.md": "\n".join(parts), "paper-000-scores.svg": svg(study.comparison), **drawn}


def claims(study: Relevance) -> list[PaperClaim]:
    """Return the claims of the paper about its data, with our results."""
    return [_mixed(study), _trend(study), *_judges(study), *_populations(study)]


def against_chance(fit: Fit) -> Judged:
    """Return the number of judges above and below chance, by the draws."""
    if fit.draws is None:
        return Judged(np.empty(0), np.empty(0))
    rate = fit.draws.confusion  # (C, D, J, 2, 2)
    informed = rate[..., 0, 0] + rate[..., 1, 1] - 1  # (C, D, J)
    return Judged(informed.mean(axis=(0, 1)), (informed < 0).mean(axis=(0, 1)))


def _mixed(study: Relevance) -> PaperClaim:
    """Return whether the chains mixed."""
    words = "; ".join(f"*{name}*: {fit.stopped}" for name, fit in study.fits.items())
    return PaperClaim(
        "the second 1,000 of 2,000 samples of each chain mixed well; all R-hat are near 1",
        words,
        verdict(all(fit.converged for fit in study.fits.values())),
    )


def _trend(study: Relevance) -> PaperClaim:
    """Return whether estimates increase with the vote share, and are further from one half."""
    share = fit(study.crowd.judgments, "majority").posterior[:, 1]
    estimate = study.fits["gold apart"].posterior[:, 1]
    rises = np.diff(trend(share, estimate).estimate)
    further = float((np.abs(estimate - 0.5) > np.abs(share - 0.5)).mean())
    fallen = -float(rises[rises < 0].sum())
    falls = f"decreases by {fallen:.3f} in total and increases otherwise" if fallen else "rises everywhere"
    split = (share > 0) & (share < 1)
    among = float((np.abs(estimate - 0.5) > np.abs(share - 0.5))[split].mean()) if split.any() else 0.0
    return PaperClaim(
        "the trend from votes to estimates is monotonic and non-linear, and estimates are more extreme",
        f"the trend {falls}; estimates are further from .5 than votes on {further:.0%} of pairs, "
        f"and on {among:.0%} of those whose votes are split",
        verdict(fallen < SLIGHT and among > 0.5, "partly" if among > 0.5 else "no"),
    )


def _judges(study: Relevance) -> list[PaperClaim]:
    """Return the claims about judges."""
    fit, judgments = study.fits["unsupervised"], study.crowd.judgments
    rate = fit.params.confusion
    specific, sensitive = float(rate[:, 0, 0].std()), float(rate[:, 1, 1].std())
    chance = against_chance(fit)
    order = np.argsort(-fit.judged, kind="stable")
    says = np.bincount(judgments.judge, judgments.label, len(judgments.judges)) / np.maximum(fit.judged, 1)
    two = "; ".join(f"{fit.judged[j]:,} judgments, {says[j]:.1%} relevant" for j in order[:TOP])
    busy = order[:BUSY]
    near = int((np.abs(chance.informed[busy]) < WIDE).sum())
    extreme = sorted(says[order[:2]].tolist())
    return [
        PaperClaim(
            "specificity is particularly variable",
            f"standard deviation over judges: specificity {specific:.3f}, sensitivity {sensitive:.3f}",
            verdict(specific > sensitive),
        ),
        PaperClaim(
            "a number of judges are no better than chance; values below chance are likely sampling error",
            f"{int((chance.informed < 0).sum())} of {rate.shape[0]:,} judges are below chance on average, "
            f"{int((chance.worse > SURE).sum())} of them in more than {SURE:.0%} of the draws",
            verdict((chance.informed < 0).any() and (chance.worse > SURE).sum() <= (1 - SURE) * rate.shape[0]),
        ),
        PaperClaim(
            "judges with very many labels are at chance; the two most active gave all zeros and all ones",
            f"of the {busy.size} most active, {near} are within {WIDE:g} of chance (sensitivity + specificity - 1); "
            f"the {TOP} most active: {two}",
            verdict(extreme[0] < ALMOST and extreme[-1] > 1 - ALMOST and near > busy.size / 2, "partly"),
        ),
    ]


def _populations(study: Relevance) -> list[PaperClaim]:
    """Return the claims about populations."""
    drawn = populations(study.fits["unsupervised"], ALL_DRAWS)
    kappa = {name: of for name, (_, of) in drawn.items()}
    least = (kappa["specificity"] < np.minimum(kappa["sensitivity"], kappa["prevalence"])).mean()
    phi = drawn["prevalence"][0]
    return [
        PaperClaim(
            "the precision of specificity is much lower than those of sensitivity and prevalence",
            ", ".join(f"{name} {of.mean():.2f}" for name, of in kappa.items())
            + f"; lowest in {least:.1%} of the draws",
            verdict(least > SURE),
        ),
        PaperClaim(
            "prevalence is high, because the pairs were retrieved by search systems",
            f"its mean over topics is {phi.mean():.3f} ({_ends(phi)}), without gold",
            verdict(np.quantile(phi, 0.025) > 0.5),
        ),
    ]


def rows(study: Relevance) -> list[Reproduction]:
    """Return a row for every claim and figure of the paper."""
    parts = zip(PLACES, claims(study), strict=True)
    measured = [
        Reproduction(place, claim.says, "in shape" if claim.holds == "partly" else claim.holds, claim.ours, OWN_DATA)
        for place, claim in parts
    ]
    return [_data(study), _entries(), *measured, _busy(study), *_scoring(), *_losses(study), *_elsewhere()]


def _data(study: Relevance) -> Reproduction:
    """Return the sizes of the data."""
    table_, gold = study.crowd.judgments, study.crowd.item
    on_gold = int(np.diff(table_.start)[gold].sum())
    ours = (len(table_.items), len(table_.judges), gold.size, on_gold, len(table_) - on_gold)
    return Reproduction(
        "section 1",
        "19,033 pairs, 762 workers, 2,275 pairs with gold, 13,749 labels of these and 75,875 of the others",
        verdict(ours == (19_033, 762, 2_275, 13_749, 75_875)),
        ", ".join(f"{number:,}" for number in ours),
        OWN_DATA,
    )


def _entries() -> Reproduction:
    """Return the three entries."""
    return Reproduction(
        "section 3",
        "three entries, two with relevance quantised to 0 or 1 and one with its probability, ranked by E[z]",
        "yes",
        "`adjudge fit --model hierarchical --format trec-task2-run-quantised` and `trec-task2-run`; the released "
        "posterior means are those of our fits, see below",
        OWN_DATA,
    )


def _busy(study: Relevance) -> Reproduction:
    """Return whether busy judges are worse."""
    fit_ = study.fits["unsupervised"]
    correlation = rank_correlation(fit_.judged.astype(float), against_chance(fit_).informed)
    return Reproduction(
        "section 7",
        "the number of labels of a worker and their quality are negatively correlated",
        verdict((correlation or 0) < 0),
        f"rank correlation of the number of judgments and sensitivity + specificity - 1: {correlation or 0:+.3f} over "
        f"all {fit_.judged.size:,} judges (posterior means, which for judges with few labels are near the average)",
        OWN_DATA,
    )


def _scoring() -> list[Reproduction]:
    """Return the printed numbers of section 9.3."""
    chance = np.array([[0.28, 0.72]])
    (tn, fp), (fn, tp) = fractional(chance, chance)
    rng = np.random.default_rng(0)
    p = rng.random(DRAWN)
    truth = indicator((rng.random(DRAWN) < p).astype(np.int64), 2)
    matrices = [fractional(truth, np.column_stack([1 - q, q])) for q in (np.round(p), p)]
    rates = [(precision(matrix, 1) or 0, recall(matrix, 1) or 0) for matrix in matrices]
    near = all(abs(rate - 0.75) < 0.005 for rate in rates[0]) and all(abs(rate - 2 / 3) < 0.005 for rate in rates[1])
    return [
        Reproduction(
            "section 9.3",
            "at a chance of .72, answering .72 expects .5184 TP, .2016 FP, .2016 FN, .0784 TN",
            verdict(np.allclose((tp, fp, fn, tn), (0.5184, 0.2016, 0.2016, 0.0784))),
            f"{tp:.4f}, {fp:.4f}, {fn:.4f}, {tn:.4f}",
            "computed by `metrics/labels.py`",
        ),
        Reproduction(
            "section 9.3",
            "simulated: precision and recall are .75 quantised and .66 fractional",
            verdict(near),
            f"quantised {rates[0][0]:.3f} and {rates[0][1]:.3f}, fractional {rates[1][0]:.3f} and {rates[1][1]:.3f} "
            "(exactly 3/4 and 2/3)",
            f"the paper's simulation, {DRAWN:,} draws",
        ),
    ]


def _losses(study: Relevance) -> list[Reproduction]:
    """Return whether the model does well under squared error, and what fractional responses cost."""
    by = {result.method: result for result in study.comparison.results}
    least = min(by.values(), key=lambda result: result.values["rmse"] or np.inf)
    alone = by["hierarchical, unsupervised"]
    scored = alone.scored
    parts = None if scored is None else scored.fractional
    exact = [alone.values[measure] or 0 for measure in ("precision", "recall", "specificity")]
    partly = [0.0] * 3 if parts is None else [measure(parts, 1) or 0 for measure in (precision, recall, specificity)]
    return [
        Reproduction(
            "section 9.2",
            "posterior means minimise the expected squared error, so the model should do well under RMSE",
            verdict(least.method.startswith("hierarchical"), "no"),
            f"the smallest RMSE has `{least.method}` with {with_interval(least, 'rmse')}; "
            f"`hierarchical, unsupervised` has {with_interval(alone, 'rmse')}, `majority` "
            f"{with_interval(by['majority'], 'rmse')}",
            HELD_OUT,
        ),
        Reproduction(
            "sections 2 and 9.3",
            "fractional responses have lower precision and recall than quantised ones",
            verdict(all(a > b for a, b in zip(exact[:2], partly[:2], strict=True))),
            f"`hierarchical, unsupervised`: precision {exact[0]:.3f} quantised and {partly[0]:.3f} fractional, recall "
            f"{exact[1]:.3f} and {partly[1]:.3f}, specificity {exact[2]:.3f} and {partly[2]:.3f}",
            HELD_OUT,
        ),
    ]


def _elsewhere() -> list[Reproduction]:
    """Return the claims that tests and other pages treat."""
    return [
        Reproduction(
            "section 8",
            "a worker whose sensitivity is one minus their specificity changes no posterior",
            "yes",
            "`tests/papers/test_relevance.py`",
            "the compiled E-step",
        ),
        Reproduction(
            "section 6",
            "JAGS takes a few hours and 2.5 GB",
            "not tested",
            "ours is another sampler; [Bayesian models](../measured/bayes.md) compares its speed with JAGS and others",
            "none",
        ),
        Reproduction(
            "section 10",
            "difficulties of items are very uncertain with up to 10 labels per item (Carpenter 2008)",
            "not tested",
            "the claim of another paper; [item difficulty](../measured/difficulty.md) measures what it is worth here",
            "none",
        ),
        Reproduction(
            "section 10",
            "maximum likelihood estimates of hierarchical models are prone to degenerate",
            "not tested",
            "general knowledge, without an experiment in the paper; the sampler has no such estimate",
            "none",
        ),
    ]


def _study(study: Relevance) -> list[str]:
    """Return the sections of the study."""
    name = study.crowd.name
    run = (
        f"Written by `make studies`; `python -m studies trec2011 --out results` does the same, and writes the run "
        f"files of task 2. The set is `{name}`: {_sizes(study)}."
    )
    return [
        section("The study", run),
        reproductions(rows(study)),
        section("The author's own run", *_nearness(study)),
        section("The populations", *_population_table(study)),
        section("Scores with gold", *_scores(study)),
        section("Scores of the track", *_track(study)),
    ]


def _track(study: Relevance) -> list[str]:
    """Return the measures of the track and the losses of section 9, for every method and for the author's run."""
    scored = {result.method: result.scored for result in study.comparison.results}
    scored |= {} if study.author is None else {"*the author's run, unsupervised*": study.author}
    rows_ = [
        (name, *(track_scores(answers)[measure] for measure in TRACK))
        for name, answers in scored.items()
        if answers is not None
    ]
    text = """The measures that the track used, and the two losses that the paper proposes, on the same held-out gold.
The paper prints no scores; the last row is computed from the posterior means and ranks that the author submitted.
MAP and nDCG rank the pairs of a topic that have gold by log-odds, as `adjudge score` and trec_eval -J do; with folds,
the pairs of a topic are ranked by fits of different folds."""
    head = ("method", *(TITLES.get(measure, measure) for measure in TRACK))
    return [" ".join(text.split()), table(head, rows_)]


def _sizes(study: Relevance) -> str:
    """Return the size of the set."""
    table_, gold = study.crowd.judgments, study.crowd.truth
    topics = 0 if table_.topics is None else len(table_.topics)
    return (
        f"{len(table_.items):,} pairs in {topics:,} topics, {len(table_.judges):,} judges, {len(table_):,} judgments, "
        f"gold for {gold.size:,} pairs, {float(gold.mean()):.1%} of them relevant (the paper: 19,033 pairs, 100 "
        "topics, 762 workers, 89,624 labels, 2,275 gold)"
    )


def _nearness(study: Relevance) -> list[str]:
    """Return the difference between E[z] and the author's."""
    if not study.nearness:
        return [f"The set has no {REFERENCE}."]
    text = """The author's posterior means are in the released files. They are shares of 3,000 draws of z, so they
differ from the exact values by the amount in the column *expected from the author's draws*, even if the models were
identical and the draws independent. *gold apart* is compared with the author's semi-supervised run, on the pairs
without gold."""
    head = ("reading", "pairs", "rms difference", "expected from the author's draws", "largest", "correlation")
    rows = [(*row[:2], *(f"{value:.4f}" for value in row[2:])) for row in study.nearness]
    return [" ".join(text.split()), table(head, rows)]


def _population_table(study: Relevance) -> list[str]:
    """Return the means and precisions of the populations, for every variant."""
    rows = [
        (name, population, *(f"{of.mean():.3f} ({_ends(of)})" for of in drawn))
        for name in READINGS
        for population, drawn in populations(study.fits[name], ALL_DRAWS).items()
    ]
    gold = study.crowd.item
    alone = study.fits["unsupervised"].posterior[:, 1]
    rest = np.ones(alone.size, dtype=bool)
    rest[gold] = False
    other = f"{float(alone[rest].mean()):.1%} of all others" if rest.any() else "there are no others"
    note = (
        f"Means of the draws, with 95 % intervals. Without gold, the model estimates that "
        f"{float(alone[gold].mean()):.1%} of the gold pairs are relevant ({float(study.crowd.truth.mean()):.1%} are) "
        f"and {other}."
    )
    return [note, table(("reading", "population", "mean phi", "precision kappa"), rows)]


def _scores(study: Relevance) -> list[str]:
    """Return the scores on held-out gold."""
    measures = ("accuracy", "f1", "log_loss", "auc")
    rows = [
        (r.method, *(with_interval(r, m) for m in measures), _p(r, "accuracy"), _p(r, "log_loss"))
        for r in study.comparison.results
    ]
    text = f"""Scores on the released gold. Methods with gold use four of {FOLDS} folds and are scored on the fifth;
no method knows the label of a pair that it is scored on. Intervals are 95 % bootstrap intervals over pairs.
p-values are of the exact McNemar test (accuracy) and of a sign-flip test (log loss) compared with the best, with
Holm's correction."""
    caveat = """The folds favour *gold informs*: held-out gold was chosen in the same way as the gold in use, so the
gold of a topic is representative for it. It need not be representative for pairs that NIST did not judge, which is
why the author kept gold apart. This study cannot decide that."""
    head = ("method", *measures, "accuracy, compared with the best", "log loss, compared with the best")
    picture = "![scores on held-out gold](paper-000-scores.svg)"
    return [" ".join(text.split()), picture, table(head, rows), _conclusion(study), " ".join(caveat.split())]


def _conclusion(study: Relevance) -> str:
    """Return the conclusions from the scores."""
    by = {result.method: result for result in study.comparison.results}
    best = max(by.values(), key=lambda r: r.values["accuracy"] or 0)
    sure = min(by.values(), key=lambda r: r.values["log_loss"] or np.inf)
    gain = {
        measure: (by["hierarchical, gold informs"].values[measure] or 0)
        - (by["hierarchical, unsupervised"].values[measure] or 0)
        for measure in ("accuracy", "log_loss")
    }
    lines = [
        f"- The highest accuracy has {best.method} with {with_interval(best, 'accuracy')}; the lowest log loss has "
        f"{sure.method} with {with_interval(sure, 'log_loss')}. The majority vote has an accuracy of "
        f"{with_interval(by['majority'], 'accuracy')}.",
        f"- *gold informs* changes the accuracy of the hierarchical model by {gain['accuracy']:+.3f} and its log loss "
        f"by {gain['log_loss']:+.3f}.",
    ]
    if (sure.values["log_loss"] or 0) > np.log(2):
        lines.append(
            f"- A log loss above {np.log(2):.3f} is worse than a probability of one half for every pair: all of these "
            "methods are over-confident on this gold."
        )
    return "\n".join(lines)


def _p(result: Result, measure: str) -> str:
    """Return a corrected p value as text."""
    p = result.p.get(measure)
    return "the best" if p is None else ("p < .001" if p < TINY else f"p = {p:.3f}")


def _ends(draws: Any) -> str:
    """Return the 95 % interval of draws."""
    low, high = np.quantile(draws, [0.025, 0.975])
    return f"{low:.3f}-{high:.3f}"

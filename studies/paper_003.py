"""The page of paper 003: its two experiments, and its claims with our results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import binomtest

from studies.curves import Curves, Point, svg
from studies.markdown import (
    Page,
    PaperClaim,
    against_the_paper,
    difference,
    implementation_section,
    section,
    table,
    verdict,
)
from studies.spectrum import CEILING, LABELS

HYBRID, STRONG, DAWID_SKENE, SINGLE, VOTE = (
    "hybrid, lambda 3",
    "hybrid, lambda 10",
    "dawid-skene",
    "single-confusion",
    "majority",
)
ABOVE = 0.9  # where the paper's HybridConfusion stays
NEAR = 0.02  # accuracies that a reader of a figure would take for one
PRINTED = (0.1, 0.15, 0.75)  # the prevalence that the vote recovers in the paper
FLAT = 0.03  # how far a curve may go that a reader would call flat

OPENING = """# Paper 003: a spectrum of models of judges

Liu and Wang, *TrueLabel + Confusions: A Spectrum of Probabilistic Models in Analyzing Multiple Ratings* (2012).

## What the paper does
An item has a true label, and the labels of a judge follow the judge's confusion matrix. Dawid and Skene estimate one
matrix per judge by maximum likelihood, which has too many parameters for few items. *SingleConfusion* has one matrix
for all judges, which has too few. *HybridConfusion* has one matrix per judge with a common prior, Dirichlet(ones +
lambda * identity), and samples. There are two experiments: simulated crowds with 3,000 items down to 5; and real
ratings, in which the matrices learned from earlier items are either used for new items (memory) or not (memoryless).

## Our choices
- The confusion matrices of the paper are only in a figure that is not available. Ours are given below; as in the
  paper, one cell is 0.
- EM models are initialised as in the paper: equal prevalence, normalised rows of ones + 3 * identity.
- The first experiment has the chains of the paper: 3 chains of 1,000 warm-up sweeps and 100 draws, one in 10 sweeps.
  That is too short for our convergence rule (bulk ESS of 400), which 300 draws cannot reach; the warning is
  suppressed here.
- The label is the most likely one by the mean of p(truth | rest), which is the mode of z with less noise.
- The prevalence and the matrices of the vote are counted with its winning labels. Ties are broken at random.
- The ratings of the paper were not published. We use the items with gold of `web_search` and `adult2`. They were
  judged by crowds; the judges of the paper were employed and trained, with about 125 per item.
- The second experiment has shorter chains, 3 of 200 + 300 sweeps, because it has 1,600 runs.
"""
IMPLEMENTATION = (
    (
        "Dawid-Skene, SingleConfusion, HybridConfusion",
        "models/dawid_skene.py`, `models/single_confusion.py`, `models/hybrid_confusion.py",
        "tests/models/test_dawid_skene.py",
    ),
    ("Gibbs sampling", "inference/gibbs.py", "tests/inference/test_gibbs.py"),
    ("the crowds of section 3", "data/designs.py", "tests/data/test_designs.py"),
    ("section 3", "studies/spectrum.py", "tests/studies/test_spectrum.py"),
    ("section 4", "studies/memory.py", "tests/studies/test_memory.py"),
)


def page(spectrum: Curves, memory: Curves) -> Page:
    """Return the page and its figures."""
    parts = [OPENING, implementation_section(IMPLEMENTATION), *_spectrum_parts(spectrum), *_memory_parts(memory)]
    return {
        "paper-003.md": "\n".join(parts),
        "paper-003-spectrum.svg": svg(spectrum),
        "paper-003-memory.svg": svg(memory),
    }


def spectrum_claims(curves: Curves) -> list[PaperClaim]:
    """Return the claims about the first experiment, with our results."""
    sizes = [x for _, x in curves.positions()]
    most = sizes[-1]
    return [_above(curves, sizes), _best_with_many(curves, most), _falls_apart(curves, sizes), *_others(curves, sizes)]


def _above(curves: Curves, sizes: Sequence[int]) -> PaperClaim:
    """Return whether HybridConfusion stays above .9."""
    mean = {x: _mean(curves.at(x, HYBRID), "accuracy") for x in sizes}
    lowest = min(mean, key=lambda x: mean[x])
    ceiling, vote = (_mean(curves.at(lowest, method), "accuracy") for method in (CEILING, VOTE))
    low = {x: (curves.at(x, HYBRID).span("accuracy") or (0.0, 0.0))[0] for x in sizes}
    doubtful = [x for x in sizes if low[x] <= ABOVE]
    words = f"{mean[lowest]:.3f} to {max(mean.values()):.3f}, lowest at {lowest:,} items"
    words += f" (the vote has {vote:.3f} there, the true parameters {ceiling:.3f})"
    words += f"; the interval of the mean includes values below .9 at {_listed(doubtful)}" if doubtful else ""
    otherwise = "on average" if mean[lowest] > ABOVE else "no"
    return PaperClaim("HybridConfusion is consistently above .9", words, verdict(not doubtful, otherwise))


def _best_with_many(curves: Curves, most: int) -> PaperClaim:
    """Return whether Dawid-Skene is the best with many items."""
    off = difference(*(curves.at(most, m).values["accuracy"] for m in (DAWID_SKENE, HYBRID)))
    others = {m: _mean(curves.at(most, m), "accuracy") for m in curves.methods if m != CEILING}
    best = max(others, key=lambda m: others[m])
    words = (
        f"{most:,} items: Dawid-Skene {others[DAWID_SKENE]:.3f}, a difference of {off} from the hybrid; best is {best}"
    )
    possible = off.mean >= 0 or off.high >= 0
    return PaperClaim(
        "with 2,000 items and more Dawid-Skene is best, the hybrid slightly weaker",
        words,
        verdict(off.low > 0, "not significant" if possible else "no"),
    )


def _falls_apart(curves: Curves, sizes: Sequence[int]) -> PaperClaim:
    """Return whether Dawid-Skene fails with few items, and HybridConfusion does not."""
    few = [f"{x:,}: {_mean(curves.at(x, DAWID_SKENE), 'accuracy'):.3f}" for x in sizes]
    off = {x: difference(*(curves.at(x, m).values["accuracy"] for m in (HYBRID, DAWID_SKENE))) for x in sizes}
    better = [x for x in sizes if off[x].low > 0]
    top = max(sizes, key=lambda x: off[x].mean)
    words = (
        f"accuracy by items: {', '.join(few)}. The hybrid is significantly better at {_listed(better)}; most at {top:,}"
    )
    falls = _mean(curves.at(sizes[0], DAWID_SKENE), "accuracy") < _mean(curves.at(sizes[-1], DAWID_SKENE), "accuracy")
    return PaperClaim(
        "Dawid-Skene deteriorates quickly with fewer items, the hybrid is significantly better",
        f"{words} ({off[top]})",
        verdict(falls and len(better) >= len(sizes) / 2, "partly"),
    )


def _others(curves: Curves, sizes: Sequence[int]) -> list[PaperClaim]:
    """Return the claims about the vote, SingleConfusion, prevalence, matrices and lambda."""
    return [*_vote_claims(curves, sizes), *_prevalence_claims(curves, sizes), *_matrix_claims(curves, sizes)]


def _vote_claims(curves: Curves, sizes: Sequence[int]) -> list[PaperClaim]:
    """Return the claims about the vote and SingleConfusion."""
    most, enough = sizes[-1], [x for x in sizes if x >= 20]
    vote = [_mean(curves.at(x, VOTE), "accuracy") for x in enough] or [0.0]
    single = [difference(*(curves.at(x, m).values["accuracy"] for m in (SINGLE, VOTE))) for x in sizes]
    beside = ", ".join(f"{x:,}: {off.mean:+.3f}" for x, off in zip(sizes, single, strict=True))
    near = [x for x, off in zip(sizes, single, strict=True) if abs(off.mean) < NEAR]
    return [
        PaperClaim(
            "the vote is constant, and saturates after 20 items",
            f"{min(vote):.3f} to {max(vote):.3f} from 20 items on",
            verdict(max(vote) - min(vote) < FLAT),
        ),
        PaperClaim(
            "SingleConfusion is the weakest, and close to the vote from 50 items on",
            f"difference from the vote, by items: {beside}; within {NEAR:g} at {_listed(near)}",
            verdict(all(x in near for x in sizes if x >= 50), "only with more items" if most in near else "no"),
        ),
    ]


def _prevalence_claims(curves: Curves, sizes: Sequence[int]) -> list[PaperClaim]:
    """Return the claims about prevalence."""
    most, enough = sizes[-1], [x for x in sizes if x >= 20]
    p = {m: _mean(curves.at(most, m), "prevalence_error") for m in (DAWID_SKENE, HYBRID, SINGLE)}
    voted = [[_mean(curves.at(x, VOTE), f"p_{label}") for label in LABELS] for x in enough] or [[0.0] * 3]
    low, high = np.min(voted, axis=0), np.max(voted, axis=0)
    far = float(np.abs((low + high) / 2 - PRINTED).max())
    ranges = ", ".join(f"{a:.2f}-{b:.2f}" for a, b in zip(low, high, strict=True))
    return [
        PaperClaim(
            "Dawid-Skene and the hybrid recover the prevalence exactly with enough data, SingleConfusion does not",
            f"sum of errors at {most:,} items: " + ", ".join(f"{m} {value:.3f}" for m, value in p.items()),
            verdict(max(p[DAWID_SKENE], p[HYBRID]) < p[SINGLE]),
        ),
        PaperClaim(
            "the prevalence of the vote is about (.1, .15, .75) for all sizes",
            f"from 20 items on: {ranges}",
            verdict(far < NEAR, "nearly" if far < 2 * NEAR else "no"),
        ),
    ]


def _matrix_claims(curves: Curves, sizes: Sequence[int]) -> list[PaperClaim]:
    """Return the claims about confusion matrices, and about a stronger prior."""
    most = sizes[-1]
    mae = {m: [_mean(curves.at(x, m), "mae") for x in sizes] for m in (DAWID_SKENE, HYBRID, SINGLE, VOTE)}
    least = min(mae, key=lambda m: mae[m][-1])
    strong = [difference(*(curves.at(x, m).values["accuracy"] for m in (STRONG, HYBRID))).mean for x in sizes]
    return [
        PaperClaim(
            "matrices: Dawid-Skene is best with enough data, SingleConfusion the worst",
            f"MAE at {most:,} items: " + ", ".join(f"{m} {value[-1]:.2f}" for m, value in mae.items()),
            verdict(least == DAWID_SKENE, f"best is {least}"),
        ),
        PaperClaim(
            "matrices: with fewer items Dawid-Skene deteriorates, the hybrid barely decays",
            f"MAE at {sizes[0]:,} items: " + ", ".join(f"{m} {value[0]:.2f}" for m, value in mae.items()),
            verdict(
                mae[HYBRID][0] - mae[HYBRID][-1] < 0.1 * (mae[DAWID_SKENE][0] - mae[DAWID_SKENE][-1]),
                "it deteriorates, but less" if mae[HYBRID][0] < mae[DAWID_SKENE][0] else "no",
            ),
        ),
        PaperClaim(
            "the results for lambda = 10 are similar",
            f"its accuracy differs by {min(strong):+.3f} to {max(strong):+.3f} from that of lambda = 3",
            verdict(max(map(abs, strong)) < NEAR, "nearly" if max(map(abs, strong)) < 2 * NEAR else "no"),
        ),
    ]


def memory_claims(curves: Curves) -> list[PaperClaim]:
    """Return the claims about the second experiment, with our results on each set."""
    return [claim for panel in curves.panels for claim in _set_claims(curves, panel)]


def _set_claims(curves: Curves, panel: str) -> list[PaperClaim]:
    """Return the claims about the second experiment, with our results on one set."""
    ratings = [R for _, R in curves.positions(panel)]
    most = {m: curves.at(ratings[-1], m, panel) for m in curves.methods}
    drop = {
        m: _mean(most[m], "memoryless") - _mean(curves.at(ratings[0], m, panel), "memoryless") for m in curves.methods
    }
    hybrid = most[HYBRID].values
    gain = difference(hybrid["memory"], hybrid["memoryless"])
    vote = most[VOTE].values
    lost = difference(vote["memory"], vote["memoryless"])
    ahead = {m: difference(hybrid["memory"], most[m].values["memory"]) for m in curves.methods if m != HYBRID}
    lead = difference(hybrid["memoryless"], vote["memoryless"])
    R = f"{ratings[-1]} labels"
    return [
        PaperClaim(
            f"`{panel}`, memoryless: all deteriorate with fewer labels, Dawid-Skene the most",
            f"from {ratings[-1]} to {ratings[0]}: " + ", ".join(f"{m} {-value:+.3f}" for m, value in drop.items()),
            verdict(max(drop, key=lambda m: drop[m]) == DAWID_SKENE, f"{max(drop, key=lambda m: drop[m])} the most"),
        ),
        PaperClaim(
            f"`{panel}`, memoryless: the hybrid beats the vote by a small margin (30 labels and more)",
            f"{R}: {lead}, {_signs(hybrid['memoryless'], vote['memoryless'])}",
            verdict(lead.low > 0),
        ),
        PaperClaim(
            f"`{panel}`, memory: the hybrid beats all others",
            f"{R}: " + ", ".join(f"{m} {off}" for m, off in ahead.items()),
            verdict(all(off.low > 0 for off in ahead.values())),
        ),
        PaperClaim(
            f"`{panel}`: the hybrid is visibly better with memory",
            f"{R}: {gain}",
            verdict(gain.low > 0, "not significant" if gain.high >= 0 else "no"),
        ),
        PaperClaim(
            f"`{panel}`: the vote drops with memory",
            f"{R}: {lost}",
            verdict(lost.high < 0, "not significant" if lost.low <= 0 else "no"),
        ),
    ]


def _spectrum_parts(curves: Curves) -> list[str]:
    """Return the sections of the first experiment."""
    run = f"Written by `make studies`; `python -m studies spectrum --out results` does the same ({curves.runs} runs)."
    crowd = [
        section("Number of items", run, *(f"{note.title}:\n\n{table(note.head, note.rows)}" for note in curves.notes))
    ]
    picture = f"![{curves.axes.title}](paper-003-spectrum.svg)\n"
    how = "Means over runs; differences have 95 % intervals over the same runs."
    return [
        *crowd,
        picture,
        section("Number of items: claims of the paper", how, against_the_paper(spectrum_claims(curves))),
        *(
            _numbers(curves, "", measure, f"{title[0].upper()}{title[1:]}")
            for measure, title in curves.axes.measures.items()
        ),
        _prevalence(curves),
    ]


def _prevalence(curves: Curves) -> str:
    """Return the prevalence that each method estimates."""
    rows = [
        (
            x,
            m,
            *(_mean(curves.at(x, m), f"p_{label}") for label in LABELS),
            *(_mean(curves.at(x, m), f"mae_judge{j}") for j in (1, 2, 3)),
        )
        for _, x in curves.positions()
        for m in curves.methods
        if m != CEILING
    ]
    head = ("items", "method", *(f"p({label})" for label in LABELS), *(f"MAE of judge {j}" for j in (1, 2, 3)))
    return section(
        "Estimated prevalence, and the error of each judge's matrix",
        "The true values are .05, .15, .80.",
        table(head, rows),
    )


def _memory_parts(curves: Curves) -> list[str]:
    """Return the sections of the second experiment."""
    run = (
        "Written by `make studies`; `python -m studies memory --out results` does the same "
        f"({curves.runs} splits per point)."
    )
    how = """Differences have 95 % intervals over splits. Splits share items, so the intervals and the sign test
(one-sided, as in the paper) show how stable a difference is on this set, not how it would be on another set."""
    far = """If a claim is not confirmed, the most likely reason is the data: the judges of the paper were trained
and had rated most of 48 items, so that an item has up to a hundred ratings and a judge about forty. Here an item
has at most ten labels, and most judges have few judgments, so that the prior dominates the labels."""
    numbers = [
        _numbers(curves, panel, measure, f"{panel}: {title}")
        for panel in curves.panels
        for measure, title in curves.axes.measures.items()
    ]
    return [
        section("Memory", run, *(f"{n.title}.\n\n{table(n.head, n.rows)}" for n in curves.notes)),
        f"![{curves.axes.title}](paper-003-memory.svg)\n",
        section(
            "Memory: claims of the paper",
            " ".join(how.split()),
            against_the_paper(memory_claims(curves)),
            " ".join(far.split()),
        ),
        *numbers,
    ]


def _numbers(curves: Curves, panel: str, measure: str, title: str) -> str:
    """Return a measure by x and method, with intervals."""
    able = [m for m in curves.methods if any(p.method == m and measure in p.values for p in curves.points)]
    rows = [
        [x, *(_spanned(curves.at(x, method, panel), measure) for method in able)] for _, x in curves.positions(panel)
    ]
    return section(title, table([curves.axes.x, *able], rows))


def _spanned(point: Point, measure: str) -> str:
    """Return a mean with half the width of its interval."""
    span = point.span(measure)
    return "-" if span is None else f"{point.mean(measure):.3f} ± {(span[1] - span[0]) / 2:.3f}"


def _signs(
    first: np.ndarray[tuple[int], np.dtype[np.float64]], second: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> str:
    """Return the runs in which the first is above and below the second, and p of the one-sided sign test."""
    won, lost = int((first > second).sum()), int((first < second).sum())
    p = float(binomtest(won, won + lost, alternative="greater").pvalue) if won + lost else 1.0
    return f"{won} : {lost} splits, sign test p {'< .001' if p < 0.0005 else f'= {p:.3f}'}"


def _mean(point: Point, measure: str) -> float:
    """Return a mean, which must exist."""
    return point.mean(measure) or 0.0


def _listed(sizes: Sequence[int]) -> str:
    """Return sizes as text."""
    return f"{', '.join(f'{x:,}' for x in sizes)} items" if sizes else "no size"

"""The page of paper 003: its two experiments, and its claims with our results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from adjudge.arrays import Floats
from studies.curves import SECONDS, Curves, Point, svg
from studies.markdown import (
    Difference,
    Page,
    difference,
    implementation_section,
    section,
    table,
)
from studies.memory import FEWEST, SHOWN, SIMULATED
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
- The prevalence and the matrices of the vote are counted with its winning labels. Ties are broken at random. With
  memory, the vote is Bayes' rule with these, as all models (`adjudge predict` does that with a fit of `majority`).
- The truths of EM fits are named as judges name them (label switching): the names with which judges are right most
  often. The paper does so, too ("a method similar to" that of another paper), without further detail.
- The ratings of the paper were not published. We simulate monitoring sets of its design, a new one in each run
  (`adjudge simulate monitoring`): 48 items, 148 judges, five ordered labels, 125 ratings of each item (the paper has
  6,008 in all, 125.2 per item), a fifth of the judges newcomers with few ratings. How judges err is our assumption:
  near errors are more frequent, some judges are too high or too low. In `monitoring`, items mislead all judges in the
  same way by a normal shift with a standard deviation of .4 labels, because the paper says that its items are hard;
  in `monitoring-shift-0` they do not.
- Two real sets are added, the items with gold of `web_search` and `adult2`. They are unlike the set of the paper: they
  were judged by crowds, with at most ten labels per item and few judgments of most judges.
- The second experiment has shorter chains, 3 of 200 + 300 sweeps, because it has 3,600 runs.
"""
REPRODUCED, SHAPE, NOT = "reproduced", "reproduced in shape", "not reproduced"
LOST = "the figure is not in the text that we have"
HARD_ITEMS, PLAIN, CROWDS = (
    "simulated monitoring sets (48 items, 148 judges), hard items",
    "simulated monitoring sets (48 items, 148 judges), judges of the model",
    "real crowd labels, unlike the paper's",
)
UNKNOWN = (
    "a judge has 32 R / 148 ratings to learn from, so that the prior dominates; whether the judges of the paper differ "
    "more than ours is not known"
)
LIU_WANG_DESIGN = "design of section 3; matrices ours"

IMPLEMENTATION = (
    (
        "Dawid-Skene, SingleConfusion, HybridConfusion",
        "models/dawid_skene.py`, `models/single_confusion.py`, `models/hybrid_confusion.py",
        "tests/models/test_dawid_skene.py",
    ),
    ("Gibbs sampling", "inference/gibbs.py", "tests/inference/test_gibbs.py"),
    ("names of truths (label switching)", "inference/infer.py", "tests/inference/test_infer.py"),
    ("the mode with memory", "inference/predict.py", "tests/inference/test_predict.py"),
    ("the crowds of section 3, monitoring sets", "data/designs.py", "tests/data/test_designs.py"),
    ("section 3", "studies/spectrum.py", "tests/studies/test_spectrum.py"),
    ("section 4", "studies/memory.py", "tests/studies/test_memory.py"),
)


class ClaimRow(NamedTuple):
    """A claim, figure or algorithm of the paper, the data on which we tried it, our result, and the outcome."""

    place: str
    says: str
    design: str
    ours: str
    holds: str


# What the paper shows without a number that could be compared.
SHOWN_ONLY = (
    ClaimRow("figure 1", "graphical models of the spectrum", "-", "implemented as models; see above", REPRODUCED),
    ClaimRow(
        "algorithms 1, 2",
        "EM with the start pi = 1/K, theta = normalised Lambda",
        "-",
        '`start="accurate"`',
        REPRODUCED,
    ),
    ClaimRow(
        "figure 2", "three confusion matrices, one with a cell of 0", "-", "our matrices, below", f"{NOT}: {LOST}"
    ),
    ClaimRow(
        "figure 6 (a)",
        "6,008 ratings of 48 items by 148 judges",
        "simulated",
        "design `monitoring`",
        f"{NOT}: the ratings were not published",
    ),
)


def outcome(holds: bool | np.bool_, otherwise: str, in_shape: bool | np.bool_ = False) -> str:
    """Return the outcome of a claim: reproduced, or else in shape or not, with the reason."""
    return REPRODUCED if holds else f"{SHAPE if in_shape else NOT}: {otherwise}"


def claims_table(rows: Sequence[ClaimRow]) -> str:
    """Return a table of claims."""
    return table(("in the paper", "what it says", "design", "our result", "outcome"), rows)


def page(spectrum: Curves, memory: Curves) -> Page:
    """Return the page and its figures."""
    parts = [OPENING, implementation_section(IMPLEMENTATION), *_spectrum_parts(spectrum), *_memory_parts(memory)]
    return {
        "paper-003.md": "\n".join(parts),
        "paper-003-spectrum.svg": svg(spectrum),
        "paper-003-memory.svg": svg(memory),
    }


def spectrum_claims(curves: Curves) -> list[ClaimRow]:
    """Return the claims about the first experiment, with our results."""
    sizes = [x for _, x in curves.positions()]
    return [
        _best_with_many(curves, sizes[-1]),
        _falls_apart(curves, sizes),
        _above(curves, sizes),
        *_vote_claims(curves, sizes),
        *_prevalence_claims(curves, sizes),
        *_matrix_claims(curves, sizes),
        _time_claim(curves, sizes),
    ]


def _spectrum_row(place: str, says: str, ours: str, holds: str) -> ClaimRow:
    """Return a claim about section 3."""
    return ClaimRow(place, says, LIU_WANG_DESIGN, ours, holds)


def _above(curves: Curves, sizes: Sequence[int]) -> ClaimRow:
    """Return whether HybridConfusion stays above .9."""
    mean = {x: _mean(curves.at(x, HYBRID), "accuracy") for x in sizes}
    lowest = min(mean, key=lambda x: mean[x])
    ceiling, vote = (_mean(curves.at(lowest, method), "accuracy") for method in (CEILING, VOTE))
    low = {x: (curves.at(x, HYBRID).span("accuracy") or (0.0, 0.0))[0] for x in sizes}
    doubtful = [x for x in sizes if low[x] <= ABOVE]
    words = f"{mean[lowest]:.3f} to {max(mean.values()):.3f}, lowest at {lowest:,} items"
    words += f" (the vote has {vote:.3f} there, the true parameters {ceiling:.3f})"
    reason = f"the interval of the mean includes values below .9 at {_listed(doubtful)}"
    return _spectrum_row(
        "figure 3",
        "HybridConfusion is consistently above .9",
        words,
        outcome(not doubtful, reason, mean[lowest] > ABOVE),
    )


def _best_with_many(curves: Curves, most: int) -> ClaimRow:
    """Return whether Dawid-Skene is the best with many items."""
    off = difference(*(curves.at(most, m).values["accuracy"] for m in (DAWID_SKENE, HYBRID)))
    others = {m: _mean(curves.at(most, m), "accuracy") for m in curves.methods if m != CEILING}
    best = max(others, key=lambda m: others[m])
    words = f"{most:,} items: Dawid-Skene {others[DAWID_SKENE]:.3f}, a difference of {off} from the hybrid"
    reason = f"best is {best}; with our matrices both are within {abs(off.mean):.3f}"
    return _spectrum_row(
        "figure 3",
        "with 2,000 items and more Dawid-Skene is best, the hybrid slightly weaker",
        words,
        outcome(off.low > 0, reason, abs(off.mean) < NEAR),
    )


def _falls_apart(curves: Curves, sizes: Sequence[int]) -> ClaimRow:
    """Return whether Dawid-Skene fails with few items, and HybridConfusion does not."""
    few = [f"{x:,}: {_mean(curves.at(x, DAWID_SKENE), 'accuracy'):.3f}" for x in sizes]
    off = {x: difference(*(curves.at(x, m).values["accuracy"] for m in (HYBRID, DAWID_SKENE))) for x in sizes}
    better = [x for x in sizes if off[x].low > 0]
    top = max(sizes, key=lambda x: off[x].mean)
    words = (
        f"accuracy by items: {', '.join(few)}. The hybrid is significantly better at {_listed(better)}; most at {top:,}"
    )
    falls = _mean(curves.at(sizes[0], DAWID_SKENE), "accuracy") < _mean(curves.at(sizes[-1], DAWID_SKENE), "accuracy")
    return _spectrum_row(
        "figure 3",
        "Dawid-Skene deteriorates quickly with fewer items, the hybrid is significantly better",
        f"{words} ({off[top]})",
        outcome(falls and len(better) >= len(sizes) / 2, f"the hybrid is better at {_listed(better)} only", falls),
    )


def _vote_claims(curves: Curves, sizes: Sequence[int]) -> list[ClaimRow]:
    """Return the claims about the vote and SingleConfusion, and about a stronger prior."""
    enough = [x for x in sizes if x >= 20]
    vote = [_mean(curves.at(x, VOTE), "accuracy") for x in enough] or [0.0]
    single = [difference(*(curves.at(x, m).values["accuracy"] for m in (SINGLE, VOTE))) for x in sizes]
    beside = ", ".join(f"{x:,}: {off.mean:+.3f}" for x, off in zip(sizes, single, strict=True))
    near = [x for x, off in zip(sizes, single, strict=True) if abs(off.mean) < NEAR]
    strong = [difference(*(curves.at(x, m).values["accuracy"] for m in (STRONG, HYBRID))).mean for x in sizes]
    return [
        _spectrum_row(
            "figure 3",
            "the vote is constant, and saturates after 20 items",
            f"{min(vote):.3f} to {max(vote):.3f} from 20 items on",
            outcome(max(vote) - min(vote) < FLAT, "it is not constant"),
        ),
        _spectrum_row(
            "figure 3",
            "SingleConfusion is the weakest, and close to the vote from 50 items on",
            f"difference from the vote, by items: {beside}; within {NEAR:g} at {_listed(near)}",
            outcome(all(x in near for x in sizes if x >= 50), f"only at {_listed(near)}", sizes[-1] in near),
        ),
        _spectrum_row(
            "figure 3 (b)",
            "the results for lambda = 10 are similar",
            f"its accuracy differs by {min(strong):+.3f} to {max(strong):+.3f} from that of lambda = 3",
            outcome(max(map(abs, strong)) < NEAR, "they differ more", max(map(abs, strong)) < 2 * NEAR),
        ),
    ]


def _prevalence_claims(curves: Curves, sizes: Sequence[int]) -> list[ClaimRow]:
    """Return the claims about prevalence."""
    most, enough = sizes[-1], [x for x in sizes if x >= 20]
    p = {m: _mean(curves.at(most, m), "prevalence_error") for m in (DAWID_SKENE, HYBRID, SINGLE)}
    voted = [[_mean(curves.at(x, VOTE), f"p_{label}") for label in LABELS] for x in enough] or [[0.0] * 3]
    low, high = np.min(voted, axis=0), np.max(voted, axis=0)
    far = float(np.abs((low + high) / 2 - PRINTED).max())
    ranges = ", ".join(f"{a:.2f}-{b:.2f}" for a, b in zip(low, high, strict=True))
    return [
        _spectrum_row(
            "figure 4",
            "Dawid-Skene and the hybrid recover the prevalence exactly with enough data, SingleConfusion does not",
            f"sum of errors at {most:,} items: " + ", ".join(f"{m} {value:.3f}" for m, value in p.items()),
            outcome(max(p[DAWID_SKENE], p[HYBRID]) < p[SINGLE], "SingleConfusion is not worse"),
        ),
        _spectrum_row(
            "section 3.1",
            "the prevalence of the vote is about (.1, .15, .75) for all sizes",
            f"from 20 items on: {ranges}",
            outcome(far < NEAR, f"it is up to {far:.3f} away, with our matrices", far < 2 * NEAR),
        ),
    ]


def _matrix_claims(curves: Curves, sizes: Sequence[int]) -> list[ClaimRow]:
    """Return the claims about confusion matrices."""
    most = sizes[-1]
    mae = {m: [_mean(curves.at(x, m), "mae") for x in sizes] for m in (DAWID_SKENE, HYBRID, SINGLE, VOTE)}
    least, worst = min(mae, key=lambda m: mae[m][-1]), max(mae, key=lambda m: mae[m][-1])
    lost = {m: mae[m][0] - mae[m][-1] for m in (DAWID_SKENE, HYBRID)}
    return [
        _spectrum_row(
            "figure 5",
            "matrices: Dawid-Skene is best with enough data, SingleConfusion the worst",
            f"MAE at {most:,} items: " + ", ".join(f"{m} {value[-1]:.2f}" for m, value in mae.items()),
            outcome(least == DAWID_SKENE and worst == SINGLE, f"best is {least}, worst {worst}", worst == SINGLE),
        ),
        _spectrum_row(
            "figure 5",
            "matrices: with fewer items Dawid-Skene deteriorates, the hybrid barely decays",
            f"MAE at {sizes[0]:,} items: " + ", ".join(f"{m} {value[0]:.2f}" for m, value in mae.items()),
            outcome(
                lost[HYBRID] < 0.1 * lost[DAWID_SKENE],
                f"the hybrid loses {lost[HYBRID]:.2f}, Dawid-Skene {lost[DAWID_SKENE]:.2f}",
                lost[HYBRID] < 0.5 * lost[DAWID_SKENE],
            ),
        ),
        _spectrum_row(
            "figure 5",
            "matrices: the vote is very competitive",
            f"at {sizes[0]:,} to {most:,} items it is better than Dawid-Skene at "
            + _listed([x for n, x in enumerate(sizes) if mae[VOTE][n] < mae[DAWID_SKENE][n]]),
            outcome(mae[VOTE][0] < mae[DAWID_SKENE][0], "it is never better than Dawid-Skene"),
        ),
    ]


def _time_claim(curves: Curves, sizes: Sequence[int]) -> ClaimRow:
    """Return how much faster Dawid-Skene is than the hybrid."""
    ratio = {x: _mean(curves.at(x, HYBRID), SECONDS) / _mean(curves.at(x, DAWID_SKENE), SECONDS) for x in sizes}
    words = ", ".join(f"{x:,}: {value:.0f}" for x, value in ratio.items())
    return _spectrum_row(
        "section 3.1",
        "Dawid-Skene is about 4 times faster than the hybrid",
        f"CPU time of the hybrid over that of Dawid-Skene, by items: {words}",
        outcome(
            all(2 < value < 8 for value in ratio.values()),
            "the ratio depends on the programs, which are not those of the paper (BUGS)",
        ),
    )


def memory_claims(curves: Curves) -> list[ClaimRow]:
    """Return the claims about the second experiment, with our results on each set."""
    rows = [claim for panel in curves.panels for claim in _set_claims(curves, panel)]
    return rows + [_figure_7(curves, panel) for panel in curves.panels if _has_matrices(curves, panel)]


def _design(panel: str) -> str:
    """Return what a panel of the second experiment is."""
    if panel not in SIMULATED:
        return f"`{panel}`: {CROWDS}"
    return f"`{panel}`: {PLAIN if SIMULATED[panel] else HARD_ITEMS}"


def _set_claims(curves: Curves, panel: str) -> list[ClaimRow]:
    """Return the claims about the second experiment, with our results on one set."""
    ratings, simulated = [R for _, R in curves.positions(panel)], panel in SIMULATED
    shown = ratings if simulated else ratings[-1:]  # real sets have few ratings: the most that there are
    many = [R for R in shown if R >= 30] or shown[-1:]
    at = {(R, m): curves.at(R, m, panel).values for R in ratings for m in curves.methods}
    drop = {
        m: float(at[ratings[-1], m]["memoryless"].mean() - at[ratings[0], m]["memoryless"].mean())
        for m in curves.methods
    }
    lead = {R: difference(at[R, HYBRID]["memoryless"], at[R, VOTE]["memoryless"]) for R in shown}
    gain = {R: difference(at[R, HYBRID]["memory"], at[R, HYBRID]["memoryless"]) for R in shown}
    lost = {R: difference(at[R, VOTE]["memory"], at[R, VOTE]["memoryless"]) for R in shown}
    ahead = {
        (R, m): difference(at[R, HYBRID]["memory"], at[R, m]["memory"])
        for R in shown
        for m in curves.methods
        if m != HYBRID
    }
    first = [R for R in shown if all(ahead[R, m].low > 0 for m in curves.methods if m != HYBRID)]
    worst = max(drop, key=lambda m: drop[m])
    signs = "; ".join(f"{R}: {lead[R]}, {_signs(at[R, HYBRID]['memoryless'], at[R, VOTE]['memoryless'])}" for R in many)

    def row(place: str, says: str, ours: str, holds: str) -> ClaimRow:
        unlike = "" if simulated or holds == REPRODUCED else "; the data are unlike the paper's"
        return ClaimRow(place, says, _design(panel), ours, f"{holds}{unlike}")

    return [
        row(
            "figure 6 (b)",
            "memoryless: all deteriorate with fewer ratings, Dawid-Skene the most",
            f"from {ratings[-1]} to {ratings[0]}: " + ", ".join(f"{m} {-value:+.3f}" for m, value in drop.items()),
            outcome(worst == DAWID_SKENE and min(drop.values()) > 0, f"{worst} the most", min(drop.values()) > 0),
        ),
        row(
            "figure 6 (b)",
            "memoryless: the hybrid does not deteriorate much even with few ratings",
            f"from {ratings[-1]} to {ratings[0]}: {-drop[HYBRID]:+.3f}; Dawid-Skene {-drop[DAWID_SKENE]:+.3f}",
            outcome(drop[HYBRID] < 0.1, f"it loses {drop[HYBRID]:.3f}", drop[HYBRID] < 0.5 * drop[DAWID_SKENE]),
        ),
        row(
            "figure 6 (b)",
            "memoryless: the vote is very close to the hybrid, which beats it by a little with 30 ratings and more",
            signs,
            outcome(
                all(lead[R].low > 0 for R in many),
                "no significant margin" if all(lead[R].high >= 0 for R in many) else "the vote is better",
                all(abs(lead[R].mean) < NEAR for R in many),
            ),
        ),
        row(
            "figure 6 (c)",
            "memory: the hybrid beats all others",
            "; ".join(
                f"{R}: " + ", ".join(f"{m} {ahead[R, m].mean:+.3f}" for m in curves.methods if m != HYBRID)
                for R in shown
            ),
            outcome(
                first == shown,
                f"significantly at {_listed(first, 'ratings')}"
                if first
                else "not significantly at any number of ratings",
                bool(first),
            ),
        ),
        row(
            "figure 6 (c)",
            "the hybrid is visibly better with memory than without",
            "; ".join(f"{R}: {gain[R]}" for R in shown),
            by_ratings(gain, 1, UNKNOWN if simulated else ""),
        ),
        row(
            "figure 6 (c)",
            "the vote drops significantly with memory",
            "; ".join(f"{R}: {lost[R]}" for R in shown),
            by_ratings(lost, -1),
        ),
    ]


def by_ratings(off: Mapping[int, Difference], sign: int, why: str = "") -> str:
    """Return the outcome of a claim that a difference has a sign, at every number of ratings, and ``why`` if not."""
    clear = [R for R, each in off.items() if min(sign * each.low, sign * each.high) > 0]
    reason = f"significant at {_listed(clear, 'ratings')}" if clear else "not significant at any number of ratings"
    text = f"{reason} only" if clear else reason
    return outcome(len(clear) == len(off), f"{text}; {why}" if why else text, bool(clear))


def _has_matrices(curves: Curves, panel: str) -> bool:
    """Whether the matrices of figure 7 were recorded."""
    return any(p.panel == panel and p.x == FEWEST and "cell_00" in p.values for p in curves.points)


def matrix_cells(curves: Curves, panel: str, method: str) -> tuple[Floats, Floats, Floats]:
    """Return the mean, the standard deviation and the true mean of every cell (K, K), over all judges and runs."""
    values = curves.at(FEWEST, method, panel).values
    K = round(sum(name.startswith("cell_") for name in values) ** 0.5)
    mean, square, true = (
        np.array([[values[f"{part}_{k}{y}"].mean() for y in range(K)] for k in range(K)])
        for part in ("cell", "square", "true")
    )
    return mean, np.sqrt(np.maximum(square - mean**2, 0)), true


def _figure_7(curves: Curves, panel: str) -> ClaimRow:
    """Return whether the matrices of Dawid-Skene differ more from judge to judge than those of the hybrid."""
    spread, decays, error = {}, {}, {}
    for method in SHOWN:
        mean, deviation, _ = matrix_cells(curves, panel, method)
        spread[method], decays[method] = float(deviation.mean()), share_decaying(mean)
        error[method] = _mean(curves.at(FEWEST, method, panel), "mae")
    words = "; ".join(
        f"{m}: mean standard deviation {spread[m]:.3f}, decays away from the diagonal in {decays[m]:.0%} of steps, "
        f"MAE of a judge's matrix {error[m]:.2f}"
        for m in SHOWN
    )
    holds = spread[HYBRID] < spread[DAWID_SKENE] and decays[HYBRID] == 1.0 and error[HYBRID] < error[DAWID_SKENE]
    return ClaimRow(
        "figure 7",
        f"R = {FEWEST}: the matrices of Dawid-Skene are chaotic; those of the hybrid decay away from the diagonal, "
        "have much smaller standard deviations, and are closer to the truth",
        _design(panel),
        words,
        outcome(holds, "not all of it", spread[HYBRID] < spread[DAWID_SKENE]),
    )


def share_decaying(matrix: Floats) -> float:
    """Return the share of steps away from the diagonal in which a cell of a matrix is smaller than the one before."""
    sides = [side for k, row in enumerate(matrix) for side in (row[k:], row[k::-1])]  # from the diagonal outwards
    steps = [near > far for side in sides for near, far in pairwise(side)]
    return float(np.mean(steps))


def _spectrum_parts(curves: Curves) -> list[str]:
    """Return the sections of the first experiment."""
    run = f"Written by `make studies`; `python -m studies spectrum --out results` does the same ({runs_text(curves)})."
    crowd = [
        section("Number of items", run, *(f"{note.title}:\n\n{table(note.head, note.rows)}" for note in curves.notes))
    ]
    picture = f"![{curves.axes.title}](paper-003-spectrum.svg)\n"
    how = "Means over runs; differences have 95 % intervals over the same runs."
    return [
        *crowd,
        picture,
        section("Number of items: claims of the paper", how, claims_table([*SHOWN_ONLY, *spectrum_claims(curves)])),
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
    run = f"Written by `make studies`; `python -m studies memory --out results` does the same ({runs_text(curves)})."
    how = """Differences have 95 % intervals over runs; the sign test is one-sided, as in the paper. A simulated set is
drawn again in each run. On a real set, splits share items, so that intervals and tests show how stable a difference is
on this set, not how it would be on another one."""
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
            claims_table(memory_claims(curves)),
        ),
        *numbers,
        *(_matrices(curves, panel) for panel in curves.panels if _has_matrices(curves, panel)),
    ]


def _matrices(curves: Curves, panel: str) -> str:
    """Return the average matrices of figure 7."""
    rows = []
    for method in SHOWN:
        mean, spread, _ = matrix_cells(curves, panel, method)
        rows += [
            (method, k + 1, *(f"{m:.2f} ({s:.2f})" for m, s in zip(mean[k], spread[k], strict=True)))
            for k in range(len(mean))
        ]
    true = matrix_cells(curves, panel, SHOWN[0])[2]
    rows += [("true", k + 1, *(f"{cell:.2f}" for cell in row)) for k, row in enumerate(true)]
    head = ("method", "truth", *(f"says {k + 1}" for k in range(len(true))))
    text = f"Means over judges and runs with R = {FEWEST}, with standard deviations, as in figure 7."
    return section(f"{panel}: average confusion matrices", text, table(head, rows))


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


def runs_text(curves: Curves) -> str:
    """Return the number of runs, with the points that have fewer: curves may come from several runs of a study."""
    fewer: dict[int, list[str]] = {}
    for panel, x in curves.positions():
        runs = next(iter(curves.at(x, curves.methods[0], panel or None).values.values())).size
        if runs != curves.runs:
            fewer.setdefault(runs, []).append(f"{panel} {x:,}".strip())
    rest = "".join(f"; {runs} at {', '.join(where)} {curves.axes.x}" for runs, where in fewer.items())
    return f"{curves.runs} runs{rest}"


def _mean(point: Point, measure: str) -> float:
    """Return a mean, which must exist."""
    return point.mean(measure) or 0.0


def _listed(sizes: Sequence[int], noun: str = "items") -> str:
    """Return sizes as text."""
    return f"{', '.join(f'{x:,}' for x in sizes)} {noun}" if sizes else "no size"

"""Write docs/explanation/measured/honesty.md and the weights of the consensus: ``make honesty``.

``python -m studies.honesty_page`` prints the figures; with ``--write`` it also writes the page, and the weights as data
of the package.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference import gold_map
from adjudge.inference.fit import DEFAULT
from adjudge.inference.gold_map import MapPrior
from adjudge.inference.infer import infer
from adjudge.inference.model import MODELS, model_named
from studies.datasets import data_folder
from studies.honesty import (
    CLIP,
    SCORED,
    Case,
    Sample,
    Score,
    left_out_scores,
    left_out_weights,
    margins,
    mean_scores,
    read_cases,
    sample,
    score,
    size_of,
)
from studies.honesty_compare import (
    AUTO_MOST,
    CLEANLAB_MOST,
    CROWD_KIT,
    LOWER,
    SLOW,
    WORSE,
    Cell,
    better_methods,
    compare,
    cost_sets,
    installed,
    learned_without,
    rows_of_costs,
    rows_of_methods,
    rows_of_worst,
)
from studies.honesty_gold import (
    EXCHANGES,
    MOST_FITTED,
    SIZES,
    Exchange,
    FittedScores,
    GoldScore,
    exchanges,
    fitted_scores,
    gold_changes,
    gold_content,
    gold_priors,
    gold_scores,
    gold_sets,
    rows_of_exchanges,
    rows_of_fitted,
    rows_of_gold,
)
from studies.honesty_mixed import GOLD, SEEDS, MixedScore, mixed_scores, rows_of_mixed, worse_than_person
from studies.markdown import table
from studies.parallel import Each, parallel_map

LEAST_COVERED = 85  # percent of cases, below which an interval of 90 % is named as a failure
WEIGHTS = Path(__file__).parents[1] / "src" / "adjudge" / "inference" / "crowds.json"
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "measured" / "honesty.md"
KINDS = ("crowd", "panel")


class Figures(NamedTuple):
    """All that the page shows."""

    samples: Sequence[Sample]
    scores: Sequence[Score]  # of the consensus, families left out
    weights: Mapping[str, Mapping[str, Any]]  # without each family; of all sets for "simulated"
    taught: Sequence[GoldScore]
    fitted: Sequence[FittedScores]
    exchanged: Sequence[Exchange]
    mixed: Sequence[MixedScore]
    cells: Sequence[Cell]


def weights_content(
    theta: Floats, margin: dict[str, float], samples: Sequence[Sample], gold: dict[str, Any]
) -> dict[str, Any]:
    """Return the coefficients as data of the package."""
    features = ["vote", "evidence", "prevalence"]
    coefficients = theta.reshape(len(features), -1)  # the last column is by the size of an item
    real = [each.case for each in samples if each.case.kind != "simulated" and not each.case.thinned]
    return {
        "version": 2,
        "trained_on": {kind: sorted(case.name for case in real if case.kind == kind) for kind in KINDS},
        "features": features,
        "contexts": ["one", "kappa", "judgments per judge", "evenness of prevalence"],
        "by_crowd": coefficients[:, :-1].round(6).tolist(),
        "by_size": coefficients[:, -1].round(6).tolist(),
        "margins": margin,
        "gold": gold,
    }


def weights_by_family(
    samples: Sequence[Sample],
    scores: Sequence[Score],
    thetas: Mapping[str, Floats],
    taught: Sequence[GoldScore],
    priors: Mapping[str, MapPrior],
) -> dict[str, dict[str, Any]]:
    """Return the data of the package as learned without each family; those of all sets are "simulated"."""
    return {
        family: weights_content(
            theta,
            margins(samples, scores, without=family),
            samples,
            gold_content([each for each in taught if each.gold_set.family != family], priors[family]),
        )
        for family, theta in thetas.items()
    }


def rows_of_means(samples: Sequence[Sample], scores: Sequence[Score]) -> Iterable[list[str]]:
    """Yield the means over sets: of the plain vote, the smoothed vote, and the consensus."""
    for kind in KINDS:
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
                mean_scores(plain),
                mean_scores(smoothed),
                mean_scores(own),
                f"{loss}, {lower}",
            ]


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
        columns = (mean_scores(true), mean_scores([own for _, own in group]), f"{above:+.3f}", f"{independent:.2f}")
        yield [str(per_item), str(len(group)), *columns]


def _per_item(case: Case) -> int:
    """Return the judgments per item of a simulated crowd."""
    return round(len(case.judgments) / len(case.judgments.items))


def rows_of_coverage(figures: Figures) -> Iterable[list[str]]:
    """Yield how often the share of right labels lies within claimed +- margin, both learned without the family."""
    real = [pair for pair in zip(figures.samples, figures.scores, strict=True) if pair[0].case.kind != "simulated"]
    for kind in KINDS:
        for label, thinned in (("all judgments", (0,)), ("5, 3, 2 per item", (5, 3, 2)), ("1 per item", (1,))):
            pairs = [
                (abs(own.gap), figures.weights[each.case.family]["margins"][str(size_of(each.case))])
                for each, own in real
                if each.case.kind == kind and each.case.thinned in thinned
            ]
            if pairs:
                yield [f"{kind}s, {label}", "0", *_coverage(pairs)]
    for size in SIZES:
        pairs = [
            (abs(each.score.gap), figures.weights[each.gold_set.family]["gold"]["margins"][str(size)])
            for each in figures.taught
            if each.gold == size
        ]
        if pairs:
            yield ["crowds and panels, all judgments", str(size), *_coverage(pairs)]


def _coverage(pairs: Sequence[tuple[float, float]]) -> list[str]:
    """Return the number of cases, the share whose gap is within the margin, and the mean margin."""
    inside = float(np.mean([gap <= margin for gap, margin in pairs]))
    return [str(len(pairs)), f"{inside:.0%}", f"+-{np.mean([margin for _, margin in pairs]):.3f}"]


def failures(figures: Figures) -> list[str]:
    """Return in words where the consensus fails, the figures computed."""
    samples, scores = figures.samples, figures.scores
    real = [pair for pair in zip(samples, scores, strict=True) if pair[0].case.kind != "simulated"]
    full = [(each.case.name, own, score(each.shares, each.truth)) for each, own in real if not each.case.thinned]
    worst = sorted(full, key=lambda each: -abs(each[1].gap))[:4]
    loss = [(name, own.log_loss - vote.log_loss) for name, own, vote in full if own.log_loss > vote.log_loss]
    lower = [(name, own.accuracy - vote.accuracy) for name, own, vote in full if own.accuracy < vote.accuracy]
    margin = figures.weights["simulated"]["margins"]
    texts = [
        "The largest differences between the claimed and the right share of labels: "
        + "; ".join(
            f"`{name}` claims {abs(own.gap) * 100:.0f} points {'more' if own.gap > 0 else 'less'} than is right"
            for name, own, _ in worst
        ),
        f"With all judgments, log loss is above that of the vote on {len(loss)} of {len(full)} sets{_listed(loss)}, "
        f"and accuracy is below it on {len(lower)}{_listed(lower)}",
        *(_thinned_failures(real, thinned) for thinned in sorted({each.case.thinned for each, _ in real} - {0})),
        "Without gold, agreement on the truth cannot be distinguished from shared errors. The interval of the share of "
        "right labels is wide for this reason: "
        + ", ".join(f"+-{width:.0%} from {size} per item on" for size, width in margin.items()),
        *(
            f"On {row[0]}, the interval of the expected share held the true one in {row[3]} of {row[2]} cases only"
            for row in rows_of_coverage(figures)
            if int(row[3].removesuffix("%")) < LEAST_COVERED
        ),
    ]
    for kind in KINDS:
        better = better_methods(figures.cells, kind)
        if better:
            texts.append(f"On {kind}s, some methods are better than the consensus in the mean: {'; '.join(better)}")
    for size in SIZES[:2]:
        changes = gold_changes(figures.taught, size)
        worse = sum(after.log_loss > before.log_loss for before, after in changes)
        if worse:
            texts.append(
                f"{size} gold items made the log loss of the consensus worse on {worse} of {len(changes)} sets"
            )
    short = worse_than_person(figures.mixed)
    if short:
        texts.append("People beside machines are worse than one of the two alone " + "; ".join(short))
    return texts


def _thinned_failures(real: Sequence[tuple[Sample, Score]], thinned: int) -> str:
    """Return on how many thinned sets the consensus is worse than the votes."""
    group = [(own, score(each.vote, each.truth)) for each, own in real if each.case.thinned == thinned]
    loss = sum(own.log_loss > vote.log_loss for own, vote in group)
    lower = sum(own.accuracy < vote.accuracy for own, vote in group)
    claimed = np.mean([abs(own.gap) for own, _ in group])
    return (
        f"With {thinned} per item, log loss is above that of the smoothed vote on {loss} of {len(group)} sets, "
        f"accuracy is below it on {lower}, and the claimed share is {claimed * 100:.0f} points off in the mean"
    )


def _listed(differences: Sequence[tuple[str, float]]) -> str:
    """Return names with differences in brackets, the largest first."""
    ordered = sorted(differences, key=lambda pair: -abs(pair[1]))
    return f" ({', '.join(f'`{name}` {value:+.3f}' for name, value in ordered)})" if ordered else ""


def not_run() -> str:
    """Return which methods and cases were left out, and why."""
    sampled = ", ".join(f"`{name}`" for name, model in MODELS.items() if model.inferences[-1] != "map")
    slow = ", ".join(f"{name} {most:,}" for name, most in {**SLOW, "auto": AUTO_MOST}.items())
    peers = ", ".join(f"{name} {most:,}" for name, most in CROWD_KIT.items())
    version, cleanlab = installed("crowd-kit"), installed("cleanlab")
    text = (
        f"cleanlab {cleanlab} gets the smoothed votes in place of a classifier. It gives the probability of its "
        "consensus label only, so that the other labels share the rest equally. It is limited to "
        f"{CLEANLAB_MOST:,} judgments."
        if cleanlab
        else "cleanlab is not installed, and missing here: `make honesty` installs it."
    )
    return f"""- Models that can only be sampled by Markov chains are left out: {sampled}.
- Slow methods are limited to cases with at most so many judgments: {slow}; of crowd-kit {version}: {peers}.
- A number such as "(9 of 16)" in a table tells how many sets a mean is over. Models for two labels have fewer sets
  too. The last column compares on the same cases. Labels are read without an order, so that models for
  ordered labels are left out.
- Other aggregators of crowd-kit give no probabilities, fail with current versions of their dependencies, or (MACE)
  have a known error (`tests/peers/test_comparators.py`).
- {text}"""


def page(figures: Figures) -> str:
    """Return the page of the documentation."""
    samples, scores, cells = figures.samples, figures.scores, figures.cells
    fails = "\n".join(f"- {text}." for text in failures(figures))
    means = table(["sets", "number", "vote", "vote + 1", "consensus", "worse"], list(rows_of_means(samples, scores)))
    sizes = ["all judgments", "5 per item", "3 per item", "2 per item", "1 per item"]
    crowds, panels = (
        table(["method", *sizes, "log loss less consensus"], list(rows_of_methods(cells, kind))) for kind in KINDS
    )
    worst = table(
        ["method", "cases", "log loss worse", "accuracy worse", "highest log loss above the vote", "claimed - right"],
        list(rows_of_worst(cells)),
    )
    named = cost_sets(cells)
    judgments = {cell.name: cell.judgments for cell in cells if not cell.thinned}
    costs = table(
        ["method", "times Dawid-Skene", *(f"`{name}` ({judgments[name]:,} judgments)" for name in named)],
        list(rows_of_costs(cells, named)),
    )
    coverage = table(["sets", "gold items", "number", "inside", "mean half-width"], list(rows_of_coverage(figures)))
    simulated = table(
        ["judgments per item", "crowds", "Dawid-Skene", "consensus", "most above Dawid-Skene", "independent"],
        list(rows_of_simulated(samples, scores)),
    )
    gold = table(
        ["sets", "gold items", "number", "without gold", "with gold", "worse"], list(rows_of_gold(figures.taught))
    )
    methods = list(figures.fitted[0].scores) if figures.fitted else []
    fitted = table(["gold items", "sets", *methods], list(rows_of_fitted(figures.fitted)))
    exchanged = table(
        ["items", "gold items", "labels", "as given, with gold", "exchanged, with gold", "exchanged, without gold"],
        list(rows_of_exchanges(figures.exchanged)),
    )
    panels_used = list(dict.fromkeys(each.name for each in figures.mixed))
    mixed = table(["answer", "gold items", *panels_used, "mean"], list(rows_of_mixed(figures.mixed)))
    sets = table(
        ["set", "kind", "vote: accuracy", "log loss", "consensus: accuracy", "log loss", "claimed - right"],
        list(rows_of_sets(samples, scores)),
    )
    return f"""# Honest probabilities

This page is written by `make honesty`, which computes all of its figures from the shared sets with gold, in full and
thinned to 5, 3, 2 and 1 judgments per item. Every figure of `consensus` and `auto` is that of a set whose whole family
was left out of training; no other method is trained. At most {SCORED} gold items of a set are scored, and log loss is
clipped at {CLIP:g}. Seeds are fixed.

## Where it fails

{fails}

## Means over sets

Accuracy / log loss / mean |claimed - right|. "vote + 1" has one more vote per item, shared by all labels. "worse"
counts the sets whose log loss is more than {WORSE:g} above, and those whose accuracy is more than {LOWER * 100:g} point
below, that of the vote.

{means}
## Every method

Columns as above. The last column is the mean log loss less that of `{DEFAULT}` on the same cases: above zero, the
consensus is better.

### Crowds

{crowds}
### Panels of machines

{panels}
### Worst sets

How often a method is worse than the vote, by the same limits as above, over sets in full and thinned; and of the sets
in full the one with the highest log loss above that of the vote, and the one with the largest difference between the
claimed and the right share of labels.

{worst}
### What was left out

{not_run()}

## Coverage of the claimed interval

How often the share of right labels lies within the claimed share +- the half-width of its 90 % interval. Weights and
half-widths were learned without the family of the set.

{coverage}
## A few gold items

Gold items are drawn at random, and the other items are scored, with and without what the gold items teach. Means over
sets and samples of gold; "worse" counts the sets whose mean log loss is higher with gold.

{gold}
On sets with at most {MOST_FITTED:,} judgments, other methods with the same gold items (one sample):

{fitted}
### Exchanged labels

In simulated crowds every judge gives the next label in place of the one that they mean. Shares of right labels among
the items without gold, means over {EXCHANGES} crowds: gold must find out that labels are exchanged.

{exchanged}
## One person beside machines

Machines and one random person per item; the truth is the majority of the other people. Means over {SEEDS} draws; {GOLD}
items are left out of all scores, because some answers know them as gold. The weights of the consensus were learned
without the family of the panel, but not those of people without gold ({gold_map.PERSON:g}, or {gold_map.PERSON_FEW:g}
beside fewer than {gold_map.FEW_FITTED} machines), which are constants.

{mixed}
## Crowds of independent judges

In these simulated crowds, which were not trained on, Dawid and Skene's model is true. Columns as above; "most above" is
the largest difference of log loss, and "independent" the mean share of the model's own probabilities.

{simulated}
## Cost

CPU time on sets in full: the median ratio to a fit of `dawid-skene` on the same set, and seconds on four sets. Times
depend on the machine.

{costs}
## Sets, all judgments

{sets}"""


def trained(
    samples: Sequence[Sample], say: Callable[[str], None], each_set: Each = map
) -> tuple[list[Score], dict[str, dict[str, Any]], list[GoldScore], list[FittedScores]]:
    """Return what is learned from samples: scores and weights by family, and the scores with gold."""
    thetas = left_out_weights(samples, say)
    scores = left_out_scores(samples, thetas)
    sets = gold_sets(samples, thetas)
    priors = gold_priors(sets)
    taught = gold_scores(sets, priors, say, each_set)
    weights = weights_by_family(samples, scores, thetas, taught, priors)
    return scores, weights, taught, fitted_scores(sets, priors, say, each_set)


def main(arguments: Sequence[str]) -> None:
    """Print the figures, and write weights and page if asked."""

    def say(text: str) -> None:
        print(f"{time.perf_counter() - began:.0f} s: {text}", file=sys.stderr, flush=True)

    began, folder = time.perf_counter(), data_folder()
    cases = read_cases(folder, say)
    with parallel_map(os.cpu_count() or 1) as each:
        say("computing features")
        samples = list(each(sample, cases))
        scores, weights, taught, fitted = trained(samples, say, each)
        cells = compare(samples, weights, say, each)
        mixed = mixed_scores(folder / "panels", weights, say, each)
    with learned_without(weights["simulated"]):
        exchanged = exchanges()
    text = page(Figures(samples, scores, weights, taught, fitted, exchanged, mixed, cells))
    print(text)
    if "--write" in arguments:
        WEIGHTS.write_text(json.dumps(weights["simulated"], indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(text, encoding="utf-8")
    say("finished")


if __name__ == "__main__":
    main(sys.argv[1:])

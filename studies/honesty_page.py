"""Write docs/explanation/measured/honesty.md and the weights of the consensus: ``make honesty``.

``python -m studies.honesty_page`` prints the figures; with ``--write`` it also writes the page, and the weights as data
of the package.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adjudge.arrays import Floats
from adjudge.inference.infer import infer
from adjudge.inference.model import model_named
from studies.datasets import data_folder
from studies.honesty import (
    CLIP,
    Case,
    Sample,
    Score,
    left_out_scores,
    left_out_weights,
    margins,
    read_cases,
    sample,
    score,
)
from studies.honesty_gold import GoldScore, gold_content, gold_scores, gold_sets, rows_of_gold
from studies.markdown import table

WEIGHTS = Path(__file__).parents[1] / "src" / "adjudge" / "inference" / "crowds.json"
PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "measured" / "honesty.md"
WORSE, LOWER = 0.05, 0.01  # log loss above, and accuracy below, that of the vote which count as a failure


def weights_content(
    theta: Floats, margin: dict[str, float], samples: Sequence[Sample], gold: dict[str, Any]
) -> dict[str, Any]:
    """Return the coefficients as data of the package."""
    coefficients = theta.reshape(3, 5)
    real = [each.case for each in samples if each.case.kind != "simulated" and not each.case.thinned]
    return {
        "version": 2,
        "trained_on": {kind: sorted(case.name for case in real if case.kind == kind) for kind in ("crowd", "panel")},
        "features": ["vote", "evidence", "prevalence"],
        "contexts": ["one", "kappa", "judgments per judge", "evenness of prevalence"],
        "by_crowd": coefficients[:, :4].round(6).tolist(),
        "by_size": coefficients[:, 4].round(6).tolist(),
        "margins": margin,
        "gold": gold,
    }


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


def page(
    samples: Sequence[Sample], scores: Sequence[Score], margin: dict[str, float], taught: Sequence[GoldScore]
) -> str:
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
    gold = table(
        ["sets", "gold items", "number", "without gold", "with gold"],
        list(rows_of_gold(taught)),
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

## A few gold items

Gold items are drawn at random, and the other items are scored, with and without what the gold items teach. Columns as
above, means over sets and samples of gold.

{gold}

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

    samples = []
    for case in read_cases(data_folder(), say):
        say(f"{case.name}{f', {case.thinned} per item' if case.thinned else ''}")
        samples.append(sample(case))
    thetas = left_out_weights(samples, say)
    scores = left_out_scores(samples, thetas)
    margin = margins(samples, scores)
    taught, prior = gold_scores(gold_sets(samples, thetas), say)
    text = page(samples, scores, margin, taught)
    print(text)
    if "--write" in arguments:
        content = weights_content(thetas["simulated"], margin, samples, gold_content(taught, prior))
        WEIGHTS.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

"""Runs the study of calibration on the shared data, for docs/explanation/measured/calibration.md and its figure.

Every number of the page comes from here, or from calibrating_tried.py. Finished cells are kept in build/,
so that an interrupted run goes on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.benchmarks import calibrating_speed, calibrating_tried
from studies.benchmarks.claim import Claim
from studies.calibration import WORSE, ByModel, CalibrationStudy, calibrating, svg
from studies.calibration_cells import BY_GOLD, JUDGMENTS, LEARNED, OWN, Cell
from studies.outcome import StudyOptions

ROOT = Path(__file__).parents[2]
KEEP = ROOT / "build" / "calibration"
TREC, GOAL, TREC_GOALS = "trec2011_task2", 0.65, (0.65, 0.62)  # log losses that were asked for
LITTLE = 0.005  # that nobody minds

OPENING = """; `python -m studies calibration --out results` does the same.

## The idea
A model assumes that judges make independent errors given the true label, and treats its estimates of the judges as
certain. Both assumptions are wrong: difficult items mislead everyone, judges share habits, some copy, and little is
known about a judge with ten judgments. Ten judgments may then be worth two or three, and a posterior that counts ten
is over-confident.

`adjudge fit --calibrate judgments` mixes every probability with the vote shares, based on the judgments alone.
Correlated errors can be detected without gold: on the same item, an error of one judge makes an error of another more
likely than in the model. The correlation is compared with judgments that are simulated from the model. Its
significance is the number of standard deviations (z). Its strength is the item effect on the log odds of all judges
that reproduces it in simulated judgments. Then the same judges and items are simulated with this correlation. The
true labels of the simulation are known, so the model is fitted to it, and the weight of the vote shares with the best
log loss is chosen. How often all judges of an item are wrong cannot be observed without gold. Therefore, if errors
are clearly correlated, the vote shares get up to half of the remaining weight, depending on the strength. They also
get half if the correlation cannot be estimated, because hardly any item has two judges or because judges have too few
judgments. The method prefers too much doubt to too little.

This calibration is the default for `auto`, if no model is named, and for the consensus of the studio. A model that is
named gives the probabilities of its paper. With gold (`--calibrate gold`), the logarithms of posterior and vote
shares are combined with weights that maximise the likelihood of the gold labels.

## What is measured
All sets of the shared data with labels and gold; every model, by its mode if it has one (`hierarchical`, which is
sampled only, by two chains of 200 draws), and `auto`. Accuracy counts ties by their shares; log loss limits
probabilities to .001 and .999; the Brier score is summed over labels; ECE has ten bins. The model's own probabilities
and those calibrated by judgments use no gold. Calibration by gold uses five folds: every item is predicted by a fit
and a calibration without its true label. `emotion` is left out, because its labels are numbers, and so are sets
without gold. `trec2011_task2_mini` is a part of `trec2011_task2`. All sets have the same weight, independent of their
size; the 90 % interval of the gain is from a bootstrap over sets.

![Mean probability of the most likely label, and how often it is right](calibration.svg)

Each pair of panels shows a model before and after calibration by judgments. Points on the dashed line are calibrated;
points below it are over-confident.

## Limits
- The constants (no change below 1.5 standard deviations; the scale of .6 for the strength; the half) were chosen with
  knowledge of the gold of these sets. "Alternatives" shows the result if they are chosen without the scored set.
- Items that mislead everyone in the same way cannot be detected without gold: if judges are otherwise independent, z
  is near 0, and nothing is changed. Copying is detected.
- If errors are only weakly correlated and every item has many judges, the doubt has a cost: on simulated crowds with
  an effect of .5 on the log odds, up to .05 of log loss (`tests/inference/test_calibrate.py` checks this limit). GLAD
  and subtypes, which model items, are compared with themselves, and left unchanged if they explain the correlation.
- Over-confident probabilities can predict held-out judgments well, because the label of a judge follows those of the
  others, whether they are right or not. Therefore, selection by held-out judgments cannot correct over-confidence.
- The mixture is limited by the vote: if the vote is wrong and certain, so is its part of the mixture.
- z is computed from 16 or 32 simulations. Another seed or order of items gives a slightly different weight."""

TRIED = (
    ("vote", "smoothed vote shares", "the baseline"),
    ("own", "Dawid-Skene, not calibrated", "to be improved"),
    ("temperature", "a temperature chosen by held-out judgments", "worse than the vote shares"),
    (
        "difficulty",
        "Dawid-Skene with item difficulty as a random effect, by EM over five levels",
        "hardly better than without; sampling instead of EM was not tried",
    ),
    ("log", "log-linear pooling of models", "worse than the vote shares"),
    ("stack", "stacking of seven models by held-out judgments", "seven fits, and worse than a weight of one half"),
    (
        "weight of the vote",
        "a mixture with a weight of 1 minus the temperature",
        "needs the temperature, and is worse than a weight of one half",
    ),
    (
        "half",
        "vote shares with a weight of one half everywhere",
        "as good here, but much worse if the plain model is true",
    ),
    (
        "simulated",
        "only the weight from simulated crowds",
        "real crowds are worse than simulated ones",
    ),
    ("equal", "equal average of seven tempered models", "seven fits, and no longer the requested model"),
    ("four", "average of vote, Dawid-Skene, single confusion and minimax entropy", "the best, but four fits"),
)


def found_by_study() -> CalibrationStudy:
    """Return the study, with every core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = calibrating(StudyOptions(keep=str(KEEP), workers=cores, say=lambda line: print(line, file=sys.stderr)))
    if found.interrupted:
        raise KeyboardInterrupt  # half a study is no page
    return found


def by_model(found: CalibrationStudy) -> Claim:
    """Return every model before and after."""
    models = found.by_model()
    head = [
        "model",
        "sets",
        "accuracy",
        "by judgments",
        "log loss",
        "by judgments",
        "gain",
        "log loss of the vote",
        "Brier",
    ]
    head += ["by judgments", "ECE", "by judgments", f"sets worse than the vote by more than {WORSE:g}"]
    return Claim("By model", " ".join(sentences(found, models)), head, [_model(one) for one in models])


def sentences(found: CalibrationStudy, models: Sequence[ByModel]) -> list[str]:
    """Return what the table says."""
    many = len(found.sets)
    full = [one for one in models if one.sets == many and one.model != "weighted-vote"]
    by = {one.model: one for one in full}
    ds, vote = by["dawid-skene"], by["majority"]
    within = [one.model for one in full if one.after["log_loss"] <= GOAL]
    safe = [one.model for one in full if not one.worse]
    best = min(full, key=lambda one: one.after["log_loss"])
    dearer = [one.model for one in models if one.after["log_loss"] > one.before["log_loss"] + LITTLE]
    poorer = [one.model for one in models if one.after["accuracy"] < one.before["accuracy"] - LITTLE]
    return [
        f"Means over {many} sets, of the model's own probabilities and of those calibrated by judgments. The own",
        f"probabilities of Dawid-Skene have a log loss of {ds.before['log_loss']:.3f}, the vote shares",
        f"{vote.before['log_loss']:.3f}, and the calibrated probabilities {ds.after['log_loss']:.3f}. The lowest has",
        f"`{best.model}` with {best.after['log_loss']:.3f}; the penalties of `minimax-entropy` were tuned on these",
        f"sets. Of the {len(full)} models for all sets, {len(within)} reach the goal of {GOAL:g}. That goal is easy",
        "here: it comes from a survey of 36 sets on which the vote shares had .76, and here they have",
        f"{vote.before['log_loss']:.3f}. On no set worse than the vote by more than {WORSE:g}: {_listed(safe)}.",
        f"Calibration increases log loss by more than {LITTLE:g} for {_listed(dearer)}, and decreases accuracy by more",
        f"than that for {_listed(poorer)}.",
        "`weighted-vote` has no gold here and equals the vote. Models on fewer sets need two labels or ordered labels;",
        "compare them with the log loss of the vote on the same sets.",
    ]


def by_set(found: CalibrationStudy, model: str) -> Claim:
    """Return one model set by set."""
    cells = found.of(model)
    votes = [found.vote(cell.job.set) for cell in cells]
    ways = [[_way(cell, way) for cell in cells] for way in (OWN, JUDGMENTS, BY_GOLD)]
    worse = [
        f"`{c.job.set}` ({c.ways[JUDGMENTS].log_loss - v:+.3f})"
        for c, v in zip(cells, votes, strict=True)
        if v is not None and c.ways[JUDGMENTS].log_loss > v + WORSE
    ]
    rows = [
        _set(cell, (vote, *losses)) for cell, vote, losses in zip(cells, votes, zip(*ways, strict=True), strict=True)
    ]
    rows.append(("mean", "", *(_number(_mean(each)) for each in (votes, *ways)), "", ""))
    how = f"Log loss. Worse than the vote by more than {WORSE:g}, by judgments: {', '.join(worse) or 'no set'}."
    trec = next((cell for cell in cells if cell.job.set == TREC), None)
    if trec is not None:
        asked = [
            f"{way} {_number(_way(trec, name))} ({_reached(_way(trec, name), goal)})"
            for (way, name), goal in zip((("by judgments", JUDGMENTS), ("by gold", BY_GOLD)), TREC_GOALS, strict=True)
        ]
        how += f" On `{TREC}`: {', '.join(asked)}."
    head = ("set", "gold items", "vote shares", "own", "by judgments", "by gold", "z", "weight of the vote")
    return Claim(f"By set: `{model}`", how, head, rows)


def tried() -> Claim:
    """Return what was tried beside, and what it came to."""
    reached, by = calibrating_tried.measure(), calibrating_tried.settings()
    how = (
        f"Mean log loss on the {len(calibrating_tried.SETS)} sets that are fitted quickly, by `calibrating_tried.py`. "
        "The method in use keeps the requested model, needs two more fits, and changes nothing if the model is true. "
        f"It has {by['used']:.3f} with Dawid-Skene here; with its three constants chosen on all sets except the one "
        f"that is scored, {by['left out']:.3f}; with the best constants of a grid, chosen on these sets, "
        f"{by['best']:.3f}."
    )
    rows = [(idea, f"{reached[name]:.3f}", remark) for name, idea, remark in TRIED]
    return Claim("Alternatives", how, ("method", "mean log loss", "remark"), rows)


def measure() -> list[Claim]:
    """Run the study, draw its figure, and return its tables."""
    found = found_by_study()
    for warning in found.warnings():
        print(warning, file=sys.stderr)
    (ROOT / "docs" / "explanation" / "measured" / "calibration.svg").write_text(svg(found), encoding="utf8")
    return [by_model(found), *(by_set(found, model) for model in LEARNED), tried(), calibrating_speed.measure()]


def _model(one: ByModel) -> tuple[str, ...]:
    """Return a model's row."""
    pairs = [[f"{way[m]:.3f}" for way in (one.before, one.after)] for m in ("accuracy", "log_loss", "brier", "ece")]
    worse = ", ".join([str(len(one.worse)), *(f"`{name}`" for name in one.worse)])
    gain = "{:.3f} ({:.3f} to {:.3f})".format(*one.gain)
    return (f"`{one.model}`", str(one.sets), *pairs[0], *pairs[1], gain, _number(one.vote), *pairs[2], *pairs[3], worse)


def _set(cell: Cell, losses: Sequence[float | None]) -> tuple[str, ...]:
    """Return a set's row."""
    measured = (f"{cell.dependence:.1f}", f"{cell.hedge:.2f}")
    return (f"`{cell.job.set}`", f"{cell.items:,}", *map(_number, losses), *measured)


def _way(cell: Cell, way: str) -> float | None:
    """Return a log loss, None where it was left out."""
    return cell.ways[way].log_loss if way in cell.ways else None


def _reached(loss: float | None, goal: float) -> str:
    """Return a goal, and whether a log loss is below it."""
    return f"goal below {goal:g}, {'reached' if loss is not None and loss < goal else 'missed'}"


def _mean(values: Sequence[float | None]) -> float | None:
    """Return a mean, None where a value is missing."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there and len(there) == len(values) else None


def _number(value: float | None) -> str:
    """Return a number as the page has it."""
    return "-" if value is None else f"{value:.3f}"


def _listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them."""
    return ", ".join(f"`{name}`" for name in names) or "none"


if __name__ == "__main__":
    print("\n".join(claim.markdown() for claim in measure()))

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
from studies.calibration import WORSE, ByModel, Found, calibrating, svg
from studies.calibration_cells import BY_GOLD, JUDGMENTS, LEARNED, OWN, Cell
from studies.outcome import Asked

ROOT = Path(__file__).parents[2]
KEEP = ROOT / "build" / "calibration"
TREC, GOAL, TREC_GOALS = "trec2011_task2", 0.65, (0.65, 0.62)  # log losses that were asked for
LITTLE = 0.005  # that nobody minds

OPENING = """; `python -m studies calibration --out results` does the same.

## The idea
A model takes judges to err independently, given the truth, and takes what it has learned of them for certain. Neither
is so: hard items mislead everybody, habits are shared, some copy; and of a judge with ten judgments little is known.
Ten judgments are then worth two or three, and a posterior that counts ten is far too sure.

`adjudge fit --calibrate judgments` gives the vote a share in every probability, from the judgments alone. That judges
err together can be seen without gold: on the same item, one judge's error makes another's likelier than the model has
it. Against judgments drawn from the model itself that is told in deviations (z); and in strength, by the effect of
items on the log odds of all their judges under which drawn judgments err together as much. Then the same judges judge
the same items anew in a simulation, erring together as far as they are seen to; the truths behind it are known, so the
model is fitted to it and the share of the vote is taken that serves it best there. How often all judges of an item are
wrong, cannot be seen without gold. So where they surely err together, the vote has up to half of the rest besides, by
how strong that is; and half where nothing can be seen, since hardly any item has two judges, or judges have too few
judgments each. It errs on the side of doubt.

`auto`, the model that is taken where none is named, and the studio's consensus are calibrated so without being asked; a
model that is named answers as its paper has it. With gold (`--calibrate gold`), the logarithms of posterior and vote
are weighed such that gold items are as likely as can be.

## What is measured
All sets of the shared data that have labels and gold; every model, by its mode where it has one (`hierarchical`, which
is sampled only, by two chains of 200 draws), and `auto`, whatever model it takes. Accuracy gives ties their shares; log
loss has probabilities kept within .001 and .999; Brier is summed over labels; ECE is of ten bins. No gold is used for a
model's own probabilities nor for those calibrated by judgments. By gold, every item is answered in five folds by a fit
and a map that were not told its truth. `emotion` is left out, since its labels are numbers, and so are sets without
gold. `trec2011_task2_mini` is a part of `trec2011_task2`. Every set counts as much as another, however many items it
has; the 90 % interval of the gain is that of sets drawn anew.

![What models say of their likeliest labels beside how often these are right](calibration.svg)

Each pair of panels is a model before and after calibration by judgments. Dots on the broken line mean what they say;
dots below it are too sure.

## Limits
- The constants (nothing is done below 1.5 deviations; the scale of .6 on which strength counts; the half) were chosen
  with an eye on the gold of these sets; "What was tried and dropped" says what they come to where they were not.
- Items that mislead everybody in the same way cannot be seen without gold: where judges are otherwise independent, z is
  near 0, and nothing is done. Judges who copy are seen.
- Where judges err together only slightly and many judge each item, doubt costs: on simulated crowds with an effect of
  .5 on the log odds up to .05 of log loss (`tests/inference/test_calibrate.py` holds it there). GLAD and subtypes,
  which know items better, are held against themselves, and left alone where they explain it.
- Judgments that are held back are foretold well by probabilities of truths that are far too sure: a judge's label
  follows the others' whether they are right or not. So no choice by held-out judgments can mend those.
- A share of the vote can be no better than the vote allows: where the vote is wrong and sure, so is that share.
- z is of 16 or 32 draws, and crowds are simulated: another seed, or order of items, gives a slightly other share."""

TRIED = (
    ("vote", "the vote, smoothed", "what calibration must not fall behind"),
    ("own", "Dawid-Skene's own probabilities", "what is to be mended"),
    ("temperature", "a temperature chosen by held-out judgments", "behind the vote"),
    (
        "difficulty",
        "Dawid-Skene with item difficulty as a random effect, by EM over five levels",
        "hardly better than without; sampling what EM learns would not mend that, and was not tried",
    ),
    ("log", "log-linear pooling of models", "behind the vote"),
    ("stack", "stacking of seven models by held-out judgments", "seven fits, and behind half a vote"),
    ("hedge", "a hedge of one less the temperature", "needs the temperature, and is behind half a vote"),
    ("half", "half a vote everywhere", "as good here, and loses much where the plain model is true"),
    (
        "simulated",
        "the share that simulated crowds ask for, and no more",
        "crowds are worse than what can be simulated",
    ),
    ("equal", "equal average of seven tempered models", "seven fits, and no longer the model asked for"),
    ("four", "average of vote, Dawid-Skene, single confusion and minimax entropy", "the least, but four fits"),
)


def found_by_study() -> Found:
    """Return the study, with every core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    found = calibrating(Asked(keep=str(KEEP), workers=cores, say=lambda line: print(line, file=sys.stderr)))
    if found.interrupted:
        raise KeyboardInterrupt  # half a study is no page
    return found


def by_model(found: Found) -> Claim:
    """Return every model before and after."""
    models = found.by_model()
    head = ["model", "sets", "accuracy", "by judgments", "log loss", "by judgments", "gain", "the vote's", "Brier"]
    head += ["by judgments", "ECE", "by judgments", f"sets worse than the vote by more than {WORSE:g}"]
    return Claim("By model", " ".join(sentences(found, models)), head, [_model(one) for one in models])


def sentences(found: Found, models: Sequence[ByModel]) -> list[str]:
    """Return what the table says."""
    many = len(found.sets)
    full = [one for one in models if one.sets == many and one.model != "weighted-vote"]
    by = {one.model: one for one in full}
    ds, vote = by["dawid-skene"], by["majority"]
    within = [one.model for one in full if one.judgments["log_loss"] <= GOAL]
    safe = [one.model for one in full if not one.worse]
    best = min(full, key=lambda one: one.judgments["log_loss"])
    dearer = [one.model for one in models if one.judgments["log_loss"] > one.own["log_loss"] + LITTLE]
    poorer = [one.model for one in models if one.judgments["accuracy"] < one.own["accuracy"] - LITTLE]
    return [
        f"Means over {many} sets, of the model's own probabilities and of those calibrated by judgments. Dawid-Skene's",
        f"own have a log loss of {ds.own['log_loss']:.3f} where the shares of votes have {vote.own['log_loss']:.3f};",
        f"calibrated, {ds.judgments['log_loss']:.3f}. The least has `{best.model}` with",
        f"{best.judgments['log_loss']:.3f}; the penalties of `minimax-entropy` were tuned on these sets. Of the",
        f"{len(full)} models that take every set, {len(within)} are at or below {GOAL:g}, the goal, which says little:",
        "it comes from a survey of 36 sets on which the vote had .76, and here the vote itself has",
        f"{vote.own['log_loss']:.3f}. On no set worse than the vote by more than {WORSE:g}: {_listed(safe)}.",
        f"Calibration costs more than {LITTLE:g} of log loss with {_listed(dearer)}, and of accuracy with",
        f"{_listed(poorer)}.",
        "`weighted-vote` has no gold to learn from here and is the vote. Models on fewer sets need two labels or an",
        "order; compare them with the vote's log loss on the same sets.",
    ]


def by_set(found: Found, model: str) -> Claim:
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
    head = ("set", "gold items", "vote shares", "own", "by judgments", "by gold", "z", "hedge")
    return Claim(f"By set: `{model}`", how, head, rows)


def tried() -> Claim:
    """Return what was tried beside, and what it came to."""
    reached, by = calibrating_tried.measure(), calibrating_tried.settings()
    how = (
        f"Mean log loss on the {len(calibrating_tried.SETS)} sets that are quickly fitted, by `calibrating_tried.py`. "
        "What is kept stays with the model that was asked for, needs two fits more, and does nothing where the model "
        f"is true. It comes to {by['used']:.3f} with Dawid-Skene here; with its three constants chosen on all sets but "
        f"the one that is scored, to {by['left out']:.3f}; with the best of a grid, chosen on these sets, to "
        f"{by['best']:.3f}."
    )
    rows = [(idea, f"{reached[name]:.3f}", remark) for name, idea, remark in TRIED]
    return Claim("What was tried and dropped", how, ("idea", "mean log loss", "remark"), rows)


def measure() -> list[Claim]:
    """Run the study, draw its figure, and return its tables."""
    found = found_by_study()
    for warning in found.warnings():
        print(warning, file=sys.stderr)
    (ROOT / "docs" / "explanation" / "measured" / "calibration.svg").write_text(svg(found), encoding="utf8")
    return [by_model(found), *(by_set(found, model) for model in LEARNED), tried(), calibrating_speed.measure()]


def _model(one: ByModel) -> tuple[str, ...]:
    """Return a model's row."""
    pairs = [[f"{way[m]:.3f}" for way in (one.own, one.judgments)] for m in ("accuracy", "log_loss", "brier", "ece")]
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

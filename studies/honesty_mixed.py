"""How far one person beside machines helps: panels of machines with one person per item, by families left out.

In four panels people judged the same items as machines. One person per item is drawn at random, and the truth is the
majority of the other people; items whose majority is tied are not scored. All methods are scored on the same items, and
those with gold do not know the truths of these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjudge.arrays import Codes, Floats
from adjudge.data.judgments import Judgments
from adjudge.data.panel import MACHINE, PERSON
from adjudge.data.read import read
from adjudge.inference.calibration import smoothed_votes
from adjudge.inference.fit import fit
from studies.datasets import LABELS
from studies.honesty import Score, all_labels, family_of, mean_scores, score
from studies.honesty_compare import learned_without
from studies.parallel import Each

MIXED = ("alt_cebab_aspects", "alt_framing", "alt_lesion", "pandalm")
SEEDS = 3
GOLD = 20


class MixedPanel(NamedTuple):
    """Machines and one person per item."""

    judgments: Judgments
    truth: Codes  # (I) the majority of the other people, -1 if there is none


class MixedScore(NamedTuple):
    """The score of a method on a panel, with one draw of people."""

    method: str
    gold: int
    name: str
    score: Score


def read_mixed(folder: Path) -> Judgments:
    """Return the judgments of people and machines of a panel, with their kinds."""
    return read(str(folder / LABELS), label="label", labels=all_labels(folder), judges=str(folder / "judges.csv"))


def draw_people(judgments: Judgments, rng: np.random.Generator) -> MixedPanel:
    """Return the machines and one random person per item, with the majority of the other people as the truth."""
    machine, person = (rows_of_kind(judgments, kind) for kind in (MACHINE, PERSON))
    item, order = judgments.item()[person], rng.permutation(person.size)
    _, first = np.unique(item[order], return_index=True)
    drawn = order[first]
    other = np.delete(person, drawn)
    counts = np.zeros((len(judgments.items), len(judgments.scale)))
    np.add.at(counts, (judgments.item()[other], judgments.label[other]), 1.0)
    most = counts.max(axis=1, keepdims=True)
    clear = (most[:, 0] > 0) & ((counts == most).sum(axis=1) == 1)
    truth = np.where(clear, counts.argmax(axis=1), -1).astype(np.int32)
    return MixedPanel(judgments.take(np.r_[machine, person[drawn]]), truth)


def rows_of_kind(judgments: Judgments, kind: str) -> Codes:
    """Return the positions of the judgments by judges of a kind."""
    if judgments.panel is None:
        return np.empty(0, np.int64)
    included = np.isin(np.arange(len(judgments.judges)), judgments.panel.of_kind(kind))
    return np.flatnonzero(included[judgments.judge])


def answers(panel: MixedPanel, gold: Codes) -> Iterator[tuple[str, int, Floats]]:
    """Yield the methods, how many gold items they know, and their probabilities (I, K)."""
    judgments = panel.judgments
    machines, people = (judgments.take(rows_of_kind(judgments, kind)) for kind in (MACHINE, PERSON))
    known = int((gold >= 0).sum())
    yield "one person", 0, smoothed_votes(people.block())
    yield "machines: consensus", 0, fit(machines).posterior
    yield "all: vote + 1", 0, smoothed_votes(judgments.block())
    yield "all: dawid-skene", 0, fit(judgments, "dawid-skene").posterior
    yield "people beside machines: consensus", 0, fit(judgments).posterior
    yield "machines: consensus", known, fit(machines, gold=gold).posterior
    yield "all: dawid-skene, calibrated by gold", known, fit(judgments, "dawid-skene", gold, calibrate="gold").posterior
    yield "people beside machines: consensus", known, fit(judgments, gold=gold).posterior


def mixed_scores(
    folder: Path, weights: Mapping[str, Mapping[str, Any]], say: Callable[[str], None], each_panel: Each = map
) -> list[MixedScore]:
    """Return the scores of all methods on all panels and draws; ``weights`` are those without each family."""
    scores = []
    jobs = [(folder / name, weights[family_of(name)]) for name in MIXED]
    for name, group in zip(MIXED, each_panel(_scores_of_panel, jobs), strict=True):
        say(f"people beside the machines of {name}")
        scores += group
    return scores


def _scores_of_panel(job: tuple[Path, Mapping[str, Any]]) -> list[MixedScore]:
    """Return the scores of all methods and draws on the panel in a folder."""
    folder, weights = job
    judgments = read_mixed(folder)
    with learned_without(weights), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        draws = [_scores_of_draw(folder.name, judgments, np.random.default_rng(seed)) for seed in range(SEEDS)]
    return [each for group in draws for each in group]


def _scores_of_draw(name: str, judgments: Judgments, rng: np.random.Generator) -> list[MixedScore]:
    """Return the scores of all methods with one draw of people and gold."""
    panel = draw_people(judgments, rng)
    judged = np.diff(panel.judgments.start) > 0
    usable = rng.permutation(np.flatnonzero((panel.truth >= 0) & judged))
    gold = np.full(panel.truth.size, -1, np.int32)
    gold[usable[:GOLD]] = panel.truth[usable[:GOLD]]
    scored = usable[GOLD:]
    return [
        MixedScore(method, known, name, score(posterior[scored], panel.truth[scored]))
        for method, known, posterior in answers(panel, gold)
    ]


def rows_of_mixed(scores: Sequence[MixedScore]) -> Iterator[list[str]]:
    """Yield the means over draws on every panel, and over all panels."""
    names = list(dict.fromkeys(each.name for each in scores))
    for method, gold in dict.fromkeys((each.method, each.gold) for each in scores):
        group = [each for each in scores if (each.method, each.gold) == (method, gold)]
        by_panel = [mean_scores([each.score for each in group if each.name == name]) for name in names]
        yield [method, str(gold), *by_panel, mean_scores([each.score for each in group])]


def worse_than_person(scores: Sequence[MixedScore], answer: str = "people beside machines: consensus") -> list[str]:
    """Return the panels on which people beside machines are less often right than one person or the machines alone.

    Those whose log loss is above that of the machines alone are named too.
    """
    found = []
    for name in dict.fromkeys(each.name for each in scores):
        accuracy = {
            method: np.mean(
                [each.score.accuracy for each in scores if (each.method, each.gold, each.name) == (method, 0, name)]
            )
            for method in (answer, "one person", "machines: consensus")
        }
        best = max(list(accuracy)[1:], key=accuracy.__getitem__)
        if accuracy[answer] < accuracy[best]:
            found.append(f"on `{name}` ({accuracy[answer]:.3f}, {best} {accuracy[best]:.3f})")
        loss = {
            method: np.mean(
                [each.score.log_loss for each in scores if (each.method, each.gold, each.name) == (method, 0, name)]
            )
            for method in (answer, "machines: consensus")
        }
        if loss[answer] > loss["machines: consensus"]:
            found.append(f"on `{name}` (log loss {loss[answer]:.3f}, machines {loss['machines: consensus']:.3f})")
    return found

"""Claim: intervals of the share of items with a label hold whatever the judges' errors are, from 50 gold items on.

Judges label all items of a population, gold is drawn from it at random, and an interval "covers" if it contains the
share of the population. "used" is what `adjudge rate` uses: the post-stratified estimate, which is gold alone where
there is one stratum; "alone" is gold alone. Each cell has the coverage of the 90 % interval and its mean width.
Estimates that are not defined in a draw are left out of theirs: Rogan-Gladen without both truths in gold, or with a
consensus that is no better than chance. The simulated populations have 1,500 items; three to five judges label each.
Their probabilities are those of `adjudge fit`. Good judges are right in 95 % of their labels and poor ones in 60 %;
biased judges give the label to 40 % of the items that do not have it; correlated judges share an error on every item.
Coverage above .95 is that of judges who hardly err: strata allow for errors that gold does not show. PPI++ does not; it
is narrower there, and covers too little where the label is rare.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

import adjudge
from adjudge.arrays import Codes, Flags, Floats
from adjudge.evaluation.shares import (
    ALONE,
    ESTIMATORS,
    STRATIFIED,
    Items,
    Share,
    difference,
    post_stratified,
    residuals,
)
from studies.benchmarks.claim import DATA, Claim, say
from studies.datasets import read_crowd

SIZES = (20, 50, 100, 200)
PREVALENCES = (0.02, 0.1, 0.3, 0.5)
POPULATIONS, DRAWS = 4, 150  # simulated populations per cell, and draws of gold from each
ITEMS = 1_500
LOW, HIGH = 0.87, 0.95  # wanted coverage
METHODS = {"used": STRATIFIED, "alone": ALONE, "Rogan-Gladen": "rogan-gladen", "PPI++": "ppi++"}
CROWDS = ("rte", "temp", "product", "sentiment_polarity", "trec2011_task2", "web_search", "adult2", "fact_eval")
PANELS = ("pandalm", "llmbar_all", "css_emotion", "babe_bias", "tc_toxicity_EN", "llmjudge_dl23", "alt_framing")
NEAR = 0.2  # of a set with more than two labels, the label whose share is nearest to this counts


class World(NamedTuple):
    """How judges err: their rates of giving the label, and how much of an error they share."""

    name: str
    hit: float  # p(label | item has it)
    alarm: float  # p(label | item does not have it)
    shared: float  # standard deviation of the shared error, in log odds
    judges: int


class Population(NamedTuple):
    """Items of known truth, and what judges say about them."""

    chance: Floats  # (I)
    called: Flags  # (I)
    truth: Floats  # (I)


WORLDS = (
    World("good judges", 0.95, 0.05, 0.0, 5),
    World("poor judges", 0.6, 0.4, 0.0, 3),
    World("biased judges", 0.9, 0.4, 0.0, 4),
    World("correlated judges", 0.8, 0.2, 2.0, 5),
)


def simulate(world: World, prevalence: float, seed: int, items: int = ITEMS) -> Population:
    """Return a population whose judges err as in a world, with the probabilities of the consensus."""
    rng = np.random.default_rng(seed)
    truth = rng.random(items) < prevalence
    rate = np.where(truth, world.hit, world.alarm)
    odds = np.log(rate / (1 - rate)) + world.shared * rng.normal(size=items)
    said = rng.random((items, world.judges)) < (1 / (1 + np.exp(-odds)))[:, None]
    return judged(said, truth)


def judged(said: Flags, truth: Flags) -> Population:
    """Return a population from the labels of judges (I, J)."""
    item, judge = np.indices(said.shape).reshape(2, -1)
    fit = adjudge.fit(
        pl.DataFrame({"item": item, "judge": judge, "label": said.ravel().astype(int)}).cast({"judge": pl.String})
    )
    order = fit.items.cast(int).to_numpy()
    return Population(fit.posterior[:, 1], fit.label == 1, truth[order].astype(float))


def real(folder: str, name: str) -> tuple[Population, str, float]:
    """Return a shared set as a population, and the label that counts with its share."""
    crowd = read_crowd(DATA / folder, name, ("label",), False)
    fit = adjudge.fit(crowd.judgments)
    shares = np.bincount(crowd.truth, minlength=len(fit.scale)) / crowd.truth.size
    label = 1 if shares.size == 2 else int(abs(shares - NEAR).argmin())
    at = crowd.item
    population = Population(fit.posterior[at, label], fit.label[at] == label, (crowd.truth == label).astype(float))
    return population, fit.scale.names[label], float(shares[label])


class Found(NamedTuple):
    """Intervals of a method: how many cover, how wide they are, and how many there are."""

    covers: float
    width: float
    number: int

    def __str__(self) -> str:
        return f"{self.covers:.2f}, {self.width:.3f}" if self.number else "-"


def draw_gold(population: Population, size: int, rng: np.random.Generator, uncertain: bool = False) -> Items:
    """Return the population with gold of a random sample, or with uncertain items drawn more often."""
    chance, called, truth = population
    if uncertain:
        weight = np.sqrt(chance * (1 - chance) + 0.05)
        probability = np.minimum(1.0, size * weight / weight.sum())
        return Items(chance, called, np.where(rng.random(truth.size) < probability, truth, np.nan), probability)
    known = np.full(truth.size, np.nan)
    drawn = rng.choice(truth.size, size, replace=False)
    known[drawn] = truth[drawn]
    return Items(chance, called, known)


def measure_cell(
    populations: Sequence[Population], size: int, draws: int, seed: int, uncertain: bool = False
) -> dict[str, Found]:
    """Return the coverage and the width of all methods, over draws of gold from some populations."""
    rng, hits = np.random.default_rng([seed, size]), {name: list[tuple[bool, float]]() for name in METHODS}
    for population in populations:
        exact = population.truth.mean()
        for _ in range(draws):
            items = draw_gold(population, size, rng, uncertain)
            if items.gold.size < 2:
                continue
            shares = {name: estimator(items, False) for name, estimator in ESTIMATORS.items()}
            for name, estimator_name in METHODS.items():
                share = shares[estimator_name]
                if share is not None:
                    hits[name].append((share.low - 1e-9 <= exact <= share.high + 1e-9, share.high - share.low))
    return {name: summary(found) for name, found in hits.items()}


def summary(found: Sequence[tuple[bool, float]]) -> Found:
    """Return how many intervals cover, and their mean width."""
    if not found:
        return Found(np.nan, np.nan, 0)
    covers, width = np.mean(np.array(found, float), axis=0)
    return Found(float(covers), float(width), len(found))


def outside(cells: Mapping[str, Found]) -> str:
    """Return sentences about the cells whose coverage, rounded, is not as wanted."""
    rounded = {name: round(found.covers, 2) for name, found in cells.items()}
    below, above = (
        [f"{name} ({covers:.2f})" for name, covers in rounded.items() if (covers - limit) * sign > 0]
        for limit, sign in ((LOW, -1), (HIGH, 1))
    )
    parts = [f"below {LOW:.2f}: {'; '.join(below)}"] * bool(below) + [f"above {HIGH:.2f}: {'; '.join(above)}"] * bool(
        above
    )
    wrong = ". ".join(part[:1].upper() + part[1:] for part in parts)
    right = sum(LOW <= covers <= HIGH for covers in rounded.values())
    return f"With 50 or more gold items, {right} of {len(cells)} coverages are {LOW:.2f} to {HIGH:.2f}. {wrong}".strip()


def simulated(world: World, uncertain: bool = False) -> Claim:
    """Return the table of a simulated world."""
    rows, cells = [], dict[str, Found]()
    for prevalence in PREVALENCES:
        seeds = [int(1_000 * prevalence) + n for n in range(POPULATIONS)]
        populations = [simulate(world, prevalence, seed) for seed in seeds]
        for size in SIZES:
            found = measure_cell(populations, size, DRAWS, seeds[0], uncertain)
            rows.append([f"{prevalence:.2f}", str(size), *map(str, found.values())])
            if size >= 50:
                cells[f"share {prevalence:.2f}, {size} gold items"] = found["used"]
    how = f"{POPULATIONS} populations with {DRAWS} draws of gold each. {outside(cells)}"
    design = ", uncertain items drawn more often" if uncertain else ""
    return Claim(f"Simulated: {world.name}{design}", how, ["share", "gold", *METHODS], rows)


def shared_sets() -> Claim:
    """Return the table of the shared crowds and panels."""
    rows, cells = [], dict[str, Found]()
    for folder, names in ((".", CROWDS), ("panels", PANELS)):
        for name in names:
            say(name)
            population, label, share = real(folder, name)
            for size in SIZES[1:]:
                if size > population.truth.size / 2:
                    continue
                found = measure_cell([population], size, 2 * DRAWS, 7)
                rows.append(
                    [name, label, f"{share:.2f}", str(population.truth.size), str(size), *map(str, found.values())]
                )
                cells[f"{name}, {size} gold items"] = found["used"]
    how = f"{2 * DRAWS} draws of gold from the items of known truth. {outside(cells)}"
    head = ["set", "label", "share", "items", "gold", *METHODS]
    return Claim("Crowds and panels with known truth", how, head, rows)


def two_systems(world: World, seed: int, prompts: int = 500) -> tuple[list[Population], Codes]:
    """Return the answers of two systems to the same prompts, and the keys of the prompts."""
    rng = np.random.default_rng(seed)
    hard, systems = rng.normal(size=prompts), []
    for skill in (0.3, 0.7):
        truth = skill - hard + 0.5 * rng.normal(size=prompts) > 0
        rate = np.where(truth, world.hit, world.alarm)
        odds = np.log(rate / (1 - rate)) + world.shared * rng.normal(size=prompts)
        systems.append(judged(rng.random((prompts, world.judges)) < (1 / (1 + np.exp(-odds)))[:, None], truth))
    return systems, np.arange(prompts)


def differences() -> Claim:
    """Return the table of differences of two systems, with gold of whole prompts and of single answers."""
    rows, cells = [], dict[str, Found]()
    for world in WORLDS:
        say(f"differences, {world.name}")
        pairs = [two_systems(world, seed) for seed in range(POPULATIONS)]
        for size in SIZES[1:]:
            rng = np.random.default_rng([size, 3])
            found: dict[str, list[tuple[bool, float]]] = {
                "whole prompts": [],
                "without pairing": [],
                "single answers": [],
            }
            for systems, keys in pairs:
                exact = float(systems[0].truth.mean() - systems[1].truth.mean())
                for _ in range(DRAWS):
                    whole = rng.choice(keys.size, size, replace=False)
                    both = [known(system, whole) for system in systems]
                    single = [known(system, rng.choice(keys.size, size, replace=False)) for system in systems]
                    gaps = [*compare(both, (keys, keys), (keys, keys + keys.size)), *compare(single, (keys, keys))]
                    for each, gap in zip(found.values(), gaps, strict=True):
                        each.append((gap.low <= exact <= gap.high, gap.high - gap.low))
            summaries = {name: summary(each) for name, each in found.items()}
            rows.append([world.name, str(size), *map(str, summaries.values())])
            cells |= {f"{world.name}, {size} {name}": summaries[name] for name in ("whole prompts", "single answers")}
    how = (
        "Two systems answer 500 prompts; gold has both answers to some prompts, or answers that are drawn one by one. "
        f'"without pairing" ignores which answers belong together. {outside(cells)}'
    )
    return Claim("Differences of two systems", how, ["judges", "gold per system", *found], rows)


def known(population: Population, drawn: Codes) -> Items:
    """Return a population with gold of some items."""
    truth = np.full(population.truth.size, np.nan)
    truth[drawn] = population.truth[drawn]
    return Items(population.chance, population.called, truth)


def compare(items: Sequence[Items], *keys: tuple[Codes, Codes]) -> list[Share]:
    """Return the difference of two systems, with each of several keys of pairs."""
    first, second = (post_stratified(each) for each in items)
    parts = (residuals(items[0]), residuals(items[1]))
    return [difference(first, second, parts, each, False) for each in keys]


def measure() -> Iterator[Claim]:
    """Measure everything."""
    for world in WORLDS:
        say(world.name)
        yield simulated(world)
    say("uncertain items more often")
    yield simulated(WORLDS[3], uncertain=True)
    yield shared_sets()
    yield differences()

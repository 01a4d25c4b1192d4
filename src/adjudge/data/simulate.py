"""``simulate``: judgments of simulated crowds, whose true labels are known.

Every design is an entry of ``DESIGNS``, which the command line, the documentation and the tests read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from adjudge.data import designs
from adjudge.data.scale import Label
from adjudge.data.simulation import Simulation
from adjudge.errors import UsageError, not_one_of, quoted

BUSY = 200  # judgments per judge, from which the default number of judges follows
KNOWN = 10  # items per gold item, from which the default number of gold items follows


@dataclass(frozen=True)
class Size:
    """An option of designs: a whole number of at least ``least``, or a share from 0 (signed: from -1) to 1."""

    summary: str
    least: int = 1
    share: bool = False
    signed: bool = False


SIZES: Mapping[str, Size] = {
    "items": Size("items to judge"),
    "judges": Size(f"judges; by default one per {BUSY} judgments"),
    "labels": Size("labels of the scale", least=2),
    "per_item": Size("judgments per item, each by a different judge"),
    "judgments": Size("judgments in all"),
    "topics": Size("topics that the items belong to"),
    "gold": Size(f"items whose true label is in gold; by default one in {KNOWN}", least=0),
    "accuracy": Size("mean accuracy of the judges", share=True),
    "spammers": Size("share of judges whose labels do not depend on the true label", share=True),
    "colluders": Size("share of judges who are in a pair in which one copies from the other", share=True),
    "copying": Size("probability of copying on an item that both judge", share=True),
    "drifters": Size("share of judges whose accuracy drops", share=True),
    "guessing": Size("share of items on which they guess at random after that", share=True),
    "noise": Size("share of wrong labels", share=True),
    "relation": Size("correlation of activity with skill, over judges", share=True, signed=True),
    "trusted": Size("correlation of prior trust with skill, over judges", share=True, signed=True),
    "newcomers": Size("share of judges who have labelled few items", share=True),
    "shift": Size("standard deviation, in labels, of how far items mislead all judges", share=True),
    "people": Size("judges who are people", least=0),
    "families": Size("families of machines"),
    "machines": Size("machines of each family, with one prompt each"),
    "within": Size("correlation of errors of two machines of one family", share=True),
    "between": Size("correlation of errors of two machines of two families", share=True),
}

ENOUGH = (  # the product on the left must reach the size on the right
    (("judgments",), "items", "every item is judged"),
    (("judgments",), "judges", "every judge judges"),
    (("items", "per_item"), "judges", "every judge judges"),
    (("judges",), "per_item", "the judges of an item are all different"),
    (("items",), "topics", "every topic has an item"),
    (("items",), "gold", "gold is about the items"),
    (("within",), "between", "machines of one family err together at least as much as those of two"),
)


@dataclass(frozen=True)
class Design:
    """A kind of crowd that can be simulated: its generative model and its default sizes."""

    name: str
    summary: str
    paper: str
    draw: Callable[..., Simulation]
    sizes: Mapping[str, int | float | None]  # None: follows from the others
    least: Mapping[str, int] = field(default_factory=dict)  # if it is more than for other designs


PANEL: Mapping[str, int | float | None] = {"items": 2_000, "judges": None, "labels": 4, "per_item": 5}

DESIGNS: Mapping[str, Design] = {
    design.name: design
    for design in (
        Design(
            "carpenter",
            "binary relevance in topics, judges of every sensitivity and specificity, busy spammers",
            "Carpenter 2011 (paper 000), sections 1, 4 and 7",
            designs.carpenter,
            {"topics": 100, "items": 19_033, "judges": 762, "judgments": 89_624, "spammers": 0.05, "gold": 2_275},
        ),
        Design(
            "liu-wang",
            "three judges with very different confusions label every item A, B or C",
            "Liu and Wang 2012 (paper 003), section 3",
            designs.liu_wang,
            {"items": 3_000, "gold": None},
        ),
        Design(
            "monitoring",
            "few hard items on an ordinal scale that many trained judges label; newcomers have labelled few of them",
            "Liu and Wang 2012 (paper 003), section 4",
            designs.monitoring,
            {
                "items": 48,
                "judges": 148,
                "labels": 5,
                "per_item": 125,
                "newcomers": 0.2,
                "shift": 0.4,
                "gold": None,
            },
        ),
        Design(
            "dawid-skene",
            "every judge has their own confusion matrix, every item the same number of judgments",
            "Dawid and Skene 1979",
            designs.dawid_skene,
            {**PANEL, "items": 10_000, "labels": 5, "accuracy": 0.7, "gold": None},
        ),
        Design(
            "ordinal",
            "judges on an ordinal scale, for whom large errors are rarer, with a bias up or down",
            "after Faridani et al. 2013 (paper 001)",
            designs.ordinal,
            {**PANEL, "labels": 5, "gold": None},
        ),
        Design(
            "gaussian",
            "judges see the degree of an item with noise and compare it with one half",
            "Xia et al. 2011 (paper 002), section 2",
            designs.gaussian,
            {"items": 2_000, "judges": None, "per_item": 5, "gold": None},
        ),
        Design(
            "colluding",
            "some judges copy the labels of another judge on the items that both judge",
            "Dawid and Skene 1979, without independence of judges",
            designs.colluding,
            {**PANEL, "colluders": 0.2, "copying": 0.8, "gold": None},
            least={"per_item": 2},
        ),
        Design(
            "drifting",
            "the accuracy of some judges drops at one point of their series; judgments have times",
            "Dawid and Skene 1979, with judges who change",
            designs.drifting,
            {**PANEL, "drifters": 0.2, "guessing": 0.6, "gold": None},
        ),
        Design(
            "panel",
            "people who err independently, and families of machines who err together, all on every item",
            "Dawid and Skene 1979, with correlated errors",
            designs.panel,
            {
                "items": 500,
                "people": 3,
                "families": 3,
                "machines": 4,
                "labels": 2,
                "accuracy": 0.75,
                "within": 0.5,
                "between": 0.2,
                "gold": None,
            },
        ),
        Design(
            "rerank",
            "passages found for questions, relevant or not; judges of many skills and workloads, with prior trust",
            "Abad and Moschitti 2016 (paper 004), section 3",
            designs.rerank,
            {
                "topics": 527,
                "items": 10_540,
                "judges": 108,
                "per_item": 5,
                "noise": 0.138,
                "relation": 0.0,
                "trusted": 0.6,
                "spammers": 0.05,
                "gold": None,
            },
        ),
    )
}


def simulate(design: str, seed: int = 0, **sizes: float | None) -> Simulation:
    """Simulate judgments, with their true labels and the parameters that they were drawn from.

    Parameters
    ----------
    design
        The name of a design: ``"carpenter"``, ``"liu-wang"``, ``"monitoring"``, ``"dawid-skene"``, ``"ordinal"``,
        ``"gaussian"``, ``"colluding"``, ``"drifting"``, ``"panel"`` or ``"rerank"``.
    seed
        The same seed and sizes give the same judgments.
    **sizes
        Sizes of the design, such as ``items``, ``judges``, ``labels`` and ``per_item``. ``DESIGNS`` has the sizes of
        each design with their defaults, ``SIZES`` says what they mean.

    Returns
    -------
    Simulation
        ``judgments``, ``truths`` (a table), ``gold`` (item to label) and the parameters.

    Examples
    --------
    >>> simulate("liu-wang", seed=1, items=50).judgments
    Judgments(50 items, 3 judges, 3 labels, 150 judgments)
    """
    if not isinstance(design, str) or design not in DESIGNS:
        raise UsageError(not_one_of("design", design, DESIGNS))
    chosen = _sizes(DESIGNS[design], {name: size for name, size in sizes.items() if size is not None})
    rng = np.random.default_rng(int(_checked("seed", seed, Size("seed", least=0))))
    gold = int(chosen.pop("gold"))
    simulation = DESIGNS[design].draw(rng, **chosen)
    return replace(simulation, gold=_gold(rng, simulation, gold))


def _sizes(design: Design, chosen: Mapping[str, float]) -> dict[str, int | float]:
    """Return all sizes of a design; sizes that it does not have or that are impossible are refused."""
    for name in chosen:
        if name not in design.sizes:
            raise UsageError(
                f"design '{design.name}' has no size '{name}'; its sizes are {quoted(design.sizes, most=99)}"
            )
    sizes = {**design.sizes, **{name: _checked(name, size, _size(design, name)) for name, size in chosen.items()}}
    return _check_products(_fill_in(sizes))


def _size(design: Design, name: str) -> Size:
    """Return what a size means in a design."""
    return replace(SIZES[name], least=design.least.get(name, SIZES[name].least))


def _checked(name: str, value: Any, size: Size) -> int | float:
    """Return a number if it is allowed for this size; others are refused."""
    numeric = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    number = float(value) if numeric else math.nan
    lowest = -1 if size.signed else 0
    fits = lowest <= number <= 1 if size.share else number.is_integer() and number >= size.least
    if not fits:
        expected = f"a number from {lowest} to 1" if size.share else f"a whole number of at least {size.least}"
        raise UsageError(f"{name} must be {expected}, not {value!r}")
    return number if size.share else int(value)


def _fill_in(sizes: Mapping[str, int | float | None]) -> dict[str, int | float]:
    """Return the sizes with those that follow from others."""
    items, each = sizes["items"] or 0, sizes.get("per_item") or 0
    follow = {"judges": max(each, items * each // BUSY), "gold": max(1, items // KNOWN)}
    return {name: follow[name] if size is None else size for name, size in sizes.items()}


def _check_products(sizes: dict[str, int | float]) -> dict[str, int | float]:
    """Return the sizes; those that contradict each other are refused."""
    for product, needed, reason in ENOUGH:
        if needed not in sizes or any(name not in sizes for name in product):
            continue
        available = math.prod(sizes[name] for name in product)
        if available < sizes[needed]:
            left = " x ".join(product)
            raise UsageError(
                f"{left} = {available:,} is less than {needed} = {sizes[needed]:,}, and {reason}: "
                f"raise {' or '.join(product)}, or lower {needed}"
            )
    return sizes


def _gold(rng: np.random.Generator, simulation: Simulation, count: int) -> Mapping[str, Label]:
    """Return the true label of some items, drawn at random: item -> label."""
    chosen = np.sort(rng.choice(simulation.truth.size, count, replace=False))
    truths = simulation.truths[chosen]
    return dict(zip(truths["item"].to_list(), truths["label"].to_list(), strict=True))

"""The doorway to simulated crowds: names, sizes, seeds, gold and errors."""

import inspect
import pickle
import re
from typing import Any

import numpy as np
import polars as pl
import pytest

from adjudge.data.gold import read_gold
from adjudge.data.judgments import Judgments
from adjudge.data.read import read
from adjudge.data.simulate import DESIGNS, SIZES, simulate
from adjudge.errors import UsageError

NAMES = (
    "'carpenter', 'liu-wang', 'monitoring', 'dawid-skene', 'ordinal', 'gaussian', 'colluding', 'drifting', 'panel', "
    "'rerank'"
)
SMALL: dict[str, dict[str, Any]] = {
    **{name: {"items": 60} for name in DESIGNS},
    "carpenter": {"topics": 5, "items": 60, "judges": 9, "judgments": 200, "gold": 7},
    "rerank": {"topics": 5, "items": 60, "judges": 9},
    "monitoring": {"items": 60, "judges": 20, "per_item": 9},
}


def table(judgments: Judgments) -> pl.DataFrame:
    """Return judgments as the table that a file of them would hold."""
    columns = {
        "item": judgments.items.gather(judgments.item()),
        "judge": judgments.judges.gather(judgments.judge),
        "label": pl.Series(judgments.scale.labels).gather(judgments.label),
    }
    return pl.DataFrame(columns if judgments.time is None else {**columns, "time": judgments.time})


@pytest.mark.parametrize("design", DESIGNS)
def test_same_seed_same_table(design: str) -> None:
    """A seed decides everything: judgments, truth, parameters and gold."""
    first, two = (simulate(design, seed=5, **SMALL[design]) for _ in range(2))
    assert table(first.judgments).equals(table(two.judgments))
    assert np.array_equal(first.truth, two.truth)
    assert np.array_equal(first.confusion, two.confusion)
    assert np.array_equal(first.prevalence, two.prevalence)
    assert first.gold == two.gold


@pytest.mark.parametrize("design", DESIGNS)
def test_other_seed_other_table(design: str) -> None:
    """Another seed gives other judgments and other truths."""
    first, two = (simulate(design, seed=seed, **SMALL[design]) for seed in (5, 6))
    assert not table(first.judgments).equals(table(two.judgments))
    assert not np.array_equal(first.truth, two.truth)


@pytest.mark.parametrize("design", DESIGNS)
def test_shapes_are_those_of_the_axes(design: str) -> None:
    """Truth is (I), prevalence (T, K), confusion (J, K, K), rows add up to one, and nothing can be changed."""
    simulation = simulate(design, **SMALL[design])
    judgments, labels = simulation.judgments, len(simulation.judgments.scale)
    assert simulation.truth.shape == (60,)
    assert simulation.prevalence.shape == (5 if judgments.topics is not None else 1, labels)
    assert simulation.confusion.shape == (len(judgments.judges), labels, labels)
    assert np.allclose(simulation.prevalence.sum(axis=1), 1)
    assert np.allclose(simulation.confusion.sum(axis=2), 1)
    for array in (simulation.truth, simulation.prevalence, simulation.confusion, judgments.label):
        assert not array.flags.writeable


@pytest.mark.parametrize("design", DESIGNS)
def test_gold_is_some_of_the_truth(design: str) -> None:
    """Gold has a tenth of the items unless said, agrees with the truth, and is what a fit reads."""
    simulation = simulate(design, **SMALL[design])
    assert len(simulation.gold) == SMALL[design].get("gold", 6)
    truths = dict(simulation.truths.iter_rows())
    assert all(truths[item] == label for item, label in simulation.gold.items())
    _, code = read_gold(simulation.gold, simulation.judgments)
    assert np.array_equal(code[code >= 0], simulation.truth[code >= 0])
    assert (code >= 0).sum() == len(simulation.gold)


def test_gold_does_not_change_the_judgments() -> None:
    """How much gold is asked for leaves the judgments as they are; none and all may be."""
    none, everything = (simulate("liu-wang", items=40, gold=gold) for gold in (0, 40))
    assert table(none.judgments).equals(table(everything.judgments))
    assert none.gold == {}
    assert everything.gold == dict(everything.truths.iter_rows())


@pytest.mark.parametrize("design", DESIGNS)
def test_judgments_survive_being_written_and_read(design: str) -> None:
    """The table written to a file and read again holds the same judgments."""
    judgments = simulate(design, **SMALL[design]).judgments
    again = read(table(judgments), labels=judgments.scale.labels, ordinal=judgments.scale.ordinal)
    assert table(again).equals(table(judgments))
    assert again.scale == judgments.scale


def test_simulations_can_be_sent_to_other_processes() -> None:
    """A simulation can be pickled, since studies run many side by side."""
    simulation = simulate("liu-wang", items=10)
    again = pickle.loads(pickle.dumps(simulation))
    assert table(again.judgments).equals(table(simulation.judgments))


@pytest.mark.parametrize("design", DESIGNS)
def test_registry_names_the_sizes_of_the_function(design: str) -> None:
    """The sizes of an entry are the parameters of its function and gold, and each is explained."""
    entry = DESIGNS[design]
    parameters = list(inspect.signature(entry.draw).parameters)
    assert parameters[0] == "rng"
    assert {*parameters[1:], "gold"} == set(entry.sizes)
    assert set(entry.sizes) <= set(SIZES)
    assert entry.name == design
    assert entry.summary
    assert entry.paper


def test_every_size_belongs_to_a_design() -> None:
    """No size is explained that no design has."""
    assert set(SIZES) == {size for design in DESIGNS.values() for size in design.sizes}


def test_judges_follow_from_the_judgments() -> None:
    """Unless said, there is a judge for every 200 judgments, and never fewer than an item needs."""
    assert len(simulate("dawid-skene", items=800, per_item=5).judgments.judges) == 20
    assert len(simulate("dawid-skene", items=3, per_item=7).judgments.judges) == 7
    assert len(simulate("dawid-skene", items=800, per_item=5, judges=None).judgments.judges) == 20


def test_sizes_may_be_numbers_of_numpy_and_whole_floats() -> None:
    """Sizes computed elsewhere are taken as they come: 1e2 items are 100."""
    complete: Any = np.int64(30)
    assert len(simulate("liu-wang", items=complete).judgments.items) == 30
    assert len(simulate("liu-wang", items=1e2).judgments.items) == 100


@pytest.mark.parametrize(
    ("design", "sizes", "message"),
    [
        ("skene", {}, f"design 'skene' is not one of {NAMES}: did you mean 'dawid-skene'?"),
        ("liu-wang", {"judges": 4}, "design 'liu-wang' has no size 'judges'; its sizes are 'items', 'gold'"),
        ("liu-wang", {"items": 0}, "items must be a whole number of at least 1, not 0"),
        ("liu-wang", {"items": 2.5}, "items must be a whole number of at least 1, not 2.5"),
        ("liu-wang", {"items": "ten"}, "items must be a whole number of at least 1, not 'ten'"),
        ("liu-wang", {"items": True}, "items must be a whole number of at least 1, not True"),
        ("liu-wang", {"items": float("nan")}, "items must be a whole number of at least 1, not nan"),
        ("liu-wang", {"gold": -1}, "gold must be a whole number of at least 0, not -1"),
        ("liu-wang", {"seed": -3}, "seed must be a whole number of at least 0, not -3"),
        ("dawid-skene", {"judges": 0}, "judges must be a whole number of at least 1, not 0"),
        ("dawid-skene", {"labels": 1}, "labels must be a whole number of at least 2, not 1"),
        ("dawid-skene", {"accuracy": 1.2}, "accuracy must be a number from 0 to 1, not 1.2"),
        ("carpenter", {"spammers": float("nan")}, "spammers must be a number from 0 to 1, not nan"),
        ("rerank", {"relation": -1.5}, "relation must be a number from -1 to 1, not -1.5"),
        ("rerank", {"noise": -0.1}, "noise must be a number from 0 to 1, not -0.1"),
        ("colluding", {"per_item": 1}, "per_item must be a whole number of at least 2, not 1"),
        (
            "carpenter",
            {"judgments": 19_000},
            "judgments = 19,000 is less than items = 19,033, and every item is judged: raise judgments, or lower items",
        ),
        (
            "carpenter",
            {"items": 500, "judges": 800, "judgments": 700},
            "judgments = 700 is less than judges = 800, and every judge judges: raise judgments, or lower judges",
        ),
        (
            "carpenter",
            {"items": 90},
            "items = 90 is less than topics = 100, and every topic has an item: raise items, or lower topics",
        ),
        (
            "carpenter",
            {"items": 2_000},
            "items = 2,000 is less than gold = 2,275, and gold is about the items: raise items, or lower gold",
        ),
        (
            "ordinal",
            {"items": 10, "judges": 51},
            "items x per_item = 50 is less than judges = 51, and every judge judges: "
            "raise items or per_item, or lower judges",
        ),
        (
            "gaussian",
            {"judges": 4},
            "judges = 4 is less than per_item = 5, and the judges of an item are all different: "
            "raise judges, or lower per_item",
        ),
    ],
)
def test_what_cannot_be_is_refused(design: str, sizes: dict[str, Any], message: str) -> None:
    """An unknown design or size, or one that cannot be, is refused with what to do."""
    with pytest.raises(UsageError, match=f"^{re.escape(message)}$"):
        simulate(design, **sizes)

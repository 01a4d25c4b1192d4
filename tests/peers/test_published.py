"""Real judgments with gold, against the figures that papers and peers print for them.

Every row of the file of figures is checked, or falls under an exception with a reason (see
``studies/benchmarks/published.py``); what misses is listed there too.
Errors of the mean and the median of scores are held in ``tests/models/test_average``.
"""

import importlib
import sys
from collections import Counter
from pathlib import Path

import pytest

import adjudge

ROWS = {
    "checked": 58,
    "neighbour": 26,
    "checked elsewhere": 4,
    "other experiment": 85,
    "set not here": 98,
    "gold not here": 12,
    "no such model": 45,
}


@pytest.fixture
def published(shared, monkeypatch):
    """Return the benchmark that holds the rows and their exceptions."""
    shared("data/published_results.csv")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "studies" / "benchmarks"))
    yield importlib.import_module("published")
    for name in ("published", "claim"):
        sys.modules.pop(name, None)


def test_every_row_is_checked_or_excepted(published):
    """No row disappears: each is of one kind, each kind of exception has a reason, and the kinds are as large."""
    assert Counter(published.kind(row) for row in published.rows()) == ROWS
    assert {*published.EXCEPTIONS} == {*ROWS} - {"checked"}


def test_figures_are_reached(published):
    """Each printed accuracy or F1 is reached within two standard errors of the gold at hand, but for those listed."""
    result = [published.checked(row) for row in published.rows() if published.kind(row) == "checked"]
    missed = {
        entry.row.key: f"{entry.model} {entry.ours:.4f} against {entry.row}" for entry in result if not entry.reached
    }
    assert {*missed} == {*published.MISSES}, missed


@pytest.mark.parametrize(("name", "low"), [("bluebirds", 0.88), ("web_search", 0.8), ("nyt_2p", 0.75)])
def test_dawid_skene_beats_the_vote_where_judges_are_biased(shared, name, low):
    """On sets with biased judges the model wins clearly."""
    vote, model = accuracies(shared, name)
    assert model > max(low, vote + 0.03)


@pytest.mark.parametrize("name", ["ducks", "fact_eval"])
def test_dawid_skene_loses_to_the_vote_where_it_is_known_to(shared, name):
    """On sets whose items mislead everybody the model loses: a later model must do better, not this one."""
    vote, model = accuracies(shared, name)
    assert model < vote


def accuracies(shared, name):
    """Return the accuracy of the vote, and of Dawid and Skene."""
    folder = shared(f"data/{name}")
    fits = (adjudge.fit(str(folder / "labels.csv"), model) for model in ("majority", "dawid-skene"))
    return [adjudge.score(fit, str(folder / "gold.csv")).values["accuracy"] for fit in fits]

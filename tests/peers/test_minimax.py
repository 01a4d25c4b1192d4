"""Minimax entropy on real judgments with gold: against the vote, and Dawid and Skene."""

import numpy as np
import pytest

import adjudge


def accuracy(shared, name, model="minimax-entropy"):
    """Return the share of right labels, and of how many."""
    folder = shared(f"data/{name}")
    scores = adjudge.score(adjudge.fit(str(folder / "labels.csv"), model), str(folder / "gold.csv"))
    return scores.values["accuracy"], scores.items


@pytest.mark.parametrize("name", ["bluebirds", "dog", "web_search", "rte", "temp", "wsd", "trec2011_task2_mini"])
def test_where_items_do_not_mislead_it_is_as_good_as_dawid_skene(shared, name):
    """Within two standard errors."""
    (ours, items), (plain, _) = accuracy(shared, name), accuracy(shared, name, "dawid-skene")
    assert ours > plain - 2 * np.sqrt(plain * (1 - plain) / items)


def test_items_that_mislead_everybody_are_found_out(shared):
    """On ducks, where Dawid and Skene lose to the vote, tilts of items win over both."""
    ours, vote, plain = (
        accuracy(shared, "ducks", model)[0] for model in ("minimax-entropy", "majority", "dawid-skene")
    )
    assert ours > 0.9 > vote > plain

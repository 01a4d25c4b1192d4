"""Items for an expert: a systematic sample first, then the most uncertain ones, which calibrate nothing."""

import numpy as np
import pytest

import adjudge
from adjudge.errors import UsageError


@pytest.fixture(scope="module")
def crowd():
    """Return a simulated crowd of 300 items."""
    return adjudge.simulate("dawid-skene", seed=3, items=300, judges=20, labels=3, per_item=4)


@pytest.fixture(scope="module")
def fit(crowd):
    """Return its consensus."""
    return adjudge.fit(crowd.judgments)


def test_a_systematic_sample_has_the_labels_and_the_certainty_of_all_items(fit):
    """Each label has its share of the sample to within one item, and the mean entropy is near that of all items."""
    table = adjudge.ask(fit, 60).table
    assert table["item"].n_unique() == 60
    for k, label in enumerate(fit.scale.labels):
        assert abs((table["label"] == label).sum() - 60 * (fit.label == k).mean()) <= 1
    chosen = np.isin(fit.items.to_numpy(), table["item"].to_numpy())
    assert abs(fit.entropy[chosen].mean() - fit.entropy.mean()) < 0.05
    assert table["calibrate"].all()
    assert table["gold"].is_null().all()


def test_the_most_uncertain_items_are_marked(fit):
    """No other item has a larger entropy, and none of them is for calibration."""
    table = adjudge.ask(fit, 10, how="uncertain").table
    chosen = np.isin(fit.items.to_numpy(), table["item"].to_numpy())
    assert fit.entropy[chosen].min() >= fit.entropy[~chosen].max() - 1e-12
    assert not table["calibrate"].any()


def test_from_fifty_gold_items_on_uncertain_items_are_asked_for(crowd):
    """And no item that has gold already."""
    names, labels = crowd.judgments.items.to_list(), crowd.judgments.scale.labels
    known = {names[i]: labels[crowd.truth[i]] for i in range(50)}
    questions = adjudge.ask(adjudge.fit(crowd.judgments, gold=known), 20)
    assert questions.how == "uncertain"
    assert not {*questions.table["item"]} & {*known}
    assert questions.gold == 50
    fewer = adjudge.fit(crowd.judgments, gold=dict([*known.items()][:49]))
    assert adjudge.ask(fewer, 20).how == "systematic"


def test_a_filled_in_table_is_gold(crowd, fit):
    """Empty rows are unknown, and rows that are not for calibration fix their item and teach nothing."""
    table = adjudge.ask(fit, 12).table.to_pandas()
    truth = dict(zip(crowd.judgments.items, (crowd.judgments.scale.labels[k] for k in crowd.truth), strict=True))
    table["gold"] = [truth[item] if n < 10 else "" for n, item in enumerate(table["item"])]
    table.loc[0, "calibrate"] = False
    taught = adjudge.fit(crowd.judgments, gold=table)
    assert taught.calibration.gold == 9
    assert (taught.gold >= 0).sum() == 10
    first = taught.items.to_list().index(table["item"][0])
    assert taught.posterior[first].max() == 1


def test_what_cannot_be_asked_is_refused(fit):
    """In words; more items than there are gives all of them."""
    with pytest.raises(UsageError, match="items 0 is not a whole number of at least 1"):
        adjudge.ask(fit, 0)
    with pytest.raises(UsageError, match="how 'perhaps' is not one of 'systematic', 'uncertain'"):
        adjudge.ask(fit, 5, how="perhaps")
    assert len(adjudge.ask(fit, 10_000)) == 300


def test_the_same_seed_asks_for_the_same_items(fit):
    """And another seed for others."""
    first, again, other = (adjudge.ask(fit, 20, seed=seed).table["item"].to_list() for seed in (1, 1, 2))
    assert first == again != other


def test_a_number_of_items_that_is_a_text():
    """It is refused in words."""
    with pytest.raises(UsageError, match="items '5' is not a whole number of at least 1"):
        adjudge.ask(adjudge.fit(adjudge.dataset("anesthesia"), "majority"), "5")
